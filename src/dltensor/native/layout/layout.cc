// SPDX-License-Identifier: Apache-2.0
// The arithmetic of shapes and strides that layout.h declares.
#include "native/layout/layout.h"

#include "dltensor/array.h"
#include "dltensor/validate.h"

namespace dlt {
namespace {

static_assert(max_dims == DLT_MAX_NDIM && max_dims == DLT_ARRAY_MAX_NDIM, "one limit of dimensions");

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

int64_t greatest_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The end of an element in bytes, counted from its first byte.
int64_t footprint(const DLTensor& tensor) { return item_bytes(tensor.dtype); }

bool same_walk(const DLTensor& a, const DLTensor& b) {
  if (a.data != b.data || a.ndim != b.ndim || footprint(a) != footprint(b)) return false;
  for (int d = 0; d < a.ndim; ++d) {
    if (a.shape[d] != b.shape[d]) return false;
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// The bytes of `tensor` modulo `period`: strides that divide by it vanish, the others span a window.
struct Window {
  int64_t low, length;
};
Window window(const DLTensor& tensor, int64_t period) {
  const int64_t bytes = footprint(tensor);
  Window result{0, bytes};
  for (int d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] <= 1) continue;  // its stride may be anything
    const int64_t stride = tensor.strides[d] * bytes;
    if (stride % period == 0) continue;
    const int64_t span = stride * (tensor.shape[d] - 1);
    if (span < 0) result.low += span;
    result.length += magnitude(span);
  }
  return result;
}

// Repeated every `period` bytes, the two never overlap.
bool apart_modulo(const DLTensor& a, const DLTensor& b, int64_t distance, int64_t period) {
  const Window wa = window(a, period), wb = window(b, period);
  int64_t gap = (distance + wb.low - wa.low) % period;
  if (gap < 0) gap += period;
  return wa.length <= gap && wb.length <= period - gap;
}

bool apart_at_any_stride(const DLTensor& of, const DLTensor& a, const DLTensor& b, int64_t distance) {
  for (int d = 0; d < of.ndim; ++d) {
    if (of.shape[d] <= 1) continue;  // its stride may be anything
    const int64_t period = magnitude(of.strides[d] * footprint(of));
    if (period > 0 && apart_modulo(a, b, distance, period)) return true;
  }
  return false;
}

int64_t add_to_divisor(int64_t divisor, const DLTensor& tensor) {
  for (int d = 0; d < tensor.ndim; ++d)
    if (tensor.shape[d] > 1) divisor = greatest_common_divisor(magnitude(tensor.strides[d] * footprint(tensor)), divisor);
  return divisor;
}

}  // namespace

// Products are unsigned where the shape may be that of a foreign empty tensor: they may wrap, and are then not used.
void contiguous_strides(int ndim, const int64_t* shape, int64_t* strides) {
  uint64_t stride = 1;
  for (int d = ndim - 1; d >= 0; --d) {
    strides[d] = int64_t(stride);
    if (shape[d] > 1) stride *= uint64_t(shape[d]);
  }
}

bool is_contiguous(int ndim, const int64_t* shape, const int64_t* strides) {
  uint64_t expected = 1;
  bool in_order = true;
  for (int d = ndim - 1; d >= 0; --d) {
    if (shape[d] == 0) return true;
    if (shape[d] == 1) continue;
    in_order &= strides[d] == int64_t(expected);
    expected *= uint64_t(shape[d]);
  }
  return in_order;
}

Extent extent(int ndim, const int64_t* shape, const int64_t* strides) {
  Extent result{0, 1};
  for (int d = 0; d < ndim; ++d)
    if (shape[d] == 0) return {0, 0};
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == 1) continue;  // its stride may be anything
    const int64_t span = strides[d] * (shape[d] - 1);
    (span < 0 ? result.low : result.high) += span;
  }
  return result;
}

bool checked_strides(int ndim, const int64_t* shape, int64_t* strides) noexcept {
  int64_t stride = 1;
  bool fits = true;
  for (int d = ndim - 1; d >= 0; --d) {
    if (!fits) return false;  // the last product is not a stride
    strides[d] = stride;
    fits = shape[d] <= 1 || !__builtin_mul_overflow(stride, shape[d], &stride);
  }
  return true;
}

bool checked_extent(int ndim, const int64_t* shape, const int64_t* strides, Extent* out) noexcept {
  *out = {0, 0};
  for (int d = 0; d < ndim; ++d)
    if (shape[d] == 0) return true;
  out->high = 1;
  for (int d = 0; d < ndim; ++d) {
    int64_t span;
    if (shape[d] == 1) continue;  // its stride may be anything
    if (__builtin_mul_overflow(strides[d], shape[d] - 1, &span)) return false;
    int64_t* end = span < 0 ? &out->low : &out->high;
    if (__builtin_add_overflow(*end, span, end)) return false;
  }
  return true;
}

Overlap overlap(const DLTensor& a, const DLTensor& b) {
  const Extent ea = extent(a.ndim, a.shape, a.strides), eb = extent(b.ndim, b.shape, b.strides);
  if (ea.low == ea.high || eb.low == eb.high) return Overlap::none;  // of no elements
  const uintptr_t pa = reinterpret_cast<uintptr_t>(a.data), pb = reinterpret_cast<uintptr_t>(b.data);
  const int64_t bytes_a = footprint(a), bytes_b = footprint(b);
  const uintptr_t low_a = pa + uintptr_t(ea.low * bytes_a), high_a = pa + uintptr_t(ea.high * bytes_a);
  const uintptr_t low_b = pb + uintptr_t(eb.low * bytes_b), high_b = pb + uintptr_t(eb.high * bytes_b);
  if (high_a <= low_b || high_b <= low_a) return Overlap::none;
  if (same_walk(a, b)) return Overlap::identical;
  const int64_t distance = int64_t(pb - pa);
  const int64_t divisor = add_to_divisor(add_to_divisor(0, a), b);
  if (divisor > 0 && apart_modulo(a, b, distance, divisor)) return Overlap::none;
  if (apart_at_any_stride(a, a, b, distance) || apart_at_any_stride(b, a, b, distance)) return Overlap::none;
  return Overlap::some;
}

int coalesce(int ndim, int64_t* shape, int operands, int64_t* const* strides) {
  int kept = 0;
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == 0) {
      shape[0] = 0;
      for (int k = 0; k < operands; ++k) strides[k][0] = 1;
      return 1;
    }
    const int64_t extent = shape[d];
    if (extent == 1) continue;
    bool joins = kept > 0;
    for (int64_t k = 0, step; joins && k < operands; ++k)
      joins = !__builtin_mul_overflow(extent, strides[k][d], &step) && strides[k][kept - 1] == step;
    int64_t joined = extent;  // what cannot be counted stays apart: a dimension that follows may be empty
    joins = joins && !__builtin_mul_overflow(extent, shape[kept - 1], &joined);
    kept += !joins;
    shape[kept - 1] = joins ? joined : extent;
    for (int k = 0; k < operands; ++k) strides[k][kept - 1] = strides[k][d];
  }
  return kept;
}

int broadcast_shapes(int count, const int* ndims, const int64_t* const* shapes, Align align, int64_t* out) {
  int ndim = 0;
  for (int k = 0; k < count; ++k) ndim = ndims[k] > ndim ? ndims[k] : ndim;
  for (int d = 0; d < ndim; ++d) out[d] = 1;
  for (int k = 0; k < count; ++k) {
    const int shift = align == Align::trailing ? ndim - ndims[k] : 0;
    for (int d = 0; d < ndims[k]; ++d) {
      const int64_t extent = shapes[k][d];
      if (extent == 1 || extent == out[d + shift]) continue;
      if (out[d + shift] != 1) return -1;
      out[d + shift] = extent;
    }
  }
  return ndim;
}

bool broadcast_strides(int ndim, const int64_t* shape, const int64_t* strides, int to_ndim, const int64_t* to, Align align,
                       int64_t* out) {
  if (ndim > to_ndim) return false;
  const int shift = align == Align::trailing ? to_ndim - ndim : 0;
  for (int d = 0; d < to_ndim; ++d) out[d] = 0;
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == to[d + shift]) out[d + shift] = strides[d];
    else if (shape[d] != 1) return false;
  }
  return true;
}

}  // namespace dlt
