// SPDX-License-Identifier: Apache-2.0
// Shapes and strides as plain numbers: what is contiguous, what broadcasts, what overlaps. No element is read here.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/export.h"

namespace dlt {

inline constexpr int max_dims = 64;
inline constexpr int max_dims_twice = 2 * max_dims;  // room for a shape and its strides

// Bytes of one addressable element: all lanes, packed types rounded up.
inline int64_t item_bytes(DLDataType dtype) { return (int64_t(dtype.bits) * dtype.lanes + 7) / 8; }

// A stride in bytes. That of a dimension of one element, or of an empty tensor, may be any number and is not used: it wraps.
inline int64_t byte_stride(int64_t stride, int64_t bytes) { return int64_t(uint64_t(stride) * uint64_t(bytes)); }

// Counts the elements of a tensor that exists. The product wraps only where a later extent of 0 makes it 0, hence the unsigned type.
inline int64_t numel(int ndim, const int64_t* shape) {
  uint64_t count = 1;
  for (int d = 0; d < ndim; ++d) count *= uint64_t(shape[d]);
  return int64_t(count);
}

// Bytes that a call moves which moves `bytes` for each element, to decide whether threads or the GIL matter. At most 2^56: a view that
// repeats elements may have 2^63 - 1 of them, and calls add several.
inline int64_t work_bytes(int ndim, const int64_t* shape, int64_t bytes) {
  constexpr int64_t most = int64_t(1) << 56;
  const int64_t count = numel(ndim, shape);
  return count > most / bytes ? most : count * bytes;
}

// Bytes of `count` contiguous elements. Elements below a byte are packed unless they are padded.
inline int64_t bytes_of(int64_t count, DLDataType dtype, bool padded) {
  const int64_t bits = int64_t(dtype.bits) * dtype.lanes;
  // Counted in groups of eight, which are whole bytes: the total number of bits may exceed int64.
  return dtype.bits < 8 && bits % 8 != 0 && !padded ? count / 8 * bits + (count % 8 * bits + 7) / 8 : count * item_bytes(dtype);
}

// The number of elements of a shape, none of whose extents is negative. False when int64 cannot count its bytes, types
// of fewer than 8 bits taken as padded, as validate.h does. Extents of 0 count as 1 in that: strides in C order are
// products of the others.
inline bool count_elements(int ndim, const int64_t* shape, DLDataType dtype, int64_t* count) {
  int64_t bytes = dtype.bits < 8 ? dtype.lanes : item_bytes(dtype);
  bool fits = true;
  for (int d = 0; d < ndim; ++d) fits &= !__builtin_mul_overflow(bytes, shape[d] == 0 ? 1 : shape[d], &bytes);
  *count = fits ? numel(ndim, shape) : 0;
  return fits;
}

// C order in elements. A dimension of extent 0 counts as 1, so that an empty tensor has the strides of a full one.
DLT_API void contiguous_strides(int ndim, const int64_t* shape, int64_t* strides);

// Strides in C order; false when one exceeds int64.
DLT_API bool checked_strides(int ndim, const int64_t* shape, int64_t* strides) noexcept;

// C order: the strides of dimensions of extent 1 do not matter, and nothing matters in an empty tensor.
DLT_API bool is_contiguous(int ndim, const int64_t* shape, const int64_t* strides);

inline bool same_shape(const DLTensor& a, const DLTensor& b) {
  for (int d = 0; d < a.ndim && a.ndim == b.ndim; ++d)
    if (a.shape[d] != b.shape[d]) return false;
  return a.ndim == b.ndim;
}

// The first and one past the last element that the strides reach, counted from element 0. Both 0 when empty.
struct Extent {
  int64_t low, high;
};
DLT_API Extent extent(int ndim, const int64_t* shape, const int64_t* strides);

// The extent of numbers of any size; false when an end exceeds int64.
DLT_API bool checked_extent(int ndim, const int64_t* shape, const int64_t* strides, Extent* out) noexcept;

// Finds whether two indices reach the same element, as after broadcast_to. The question is NP-hard: the exact search ends
// after a limited number of steps, which only strides that no dimension steps over need at all.
enum class Sharing { none, some, unknown };
DLT_API Sharing find_sharing(int ndim, const int64_t* shape, const int64_t* strides) noexcept;

// For writers, which must not write an element twice: unknown counts as true.
inline bool repeats_elements(int ndim, const int64_t* shape, const int64_t* strides) {
  // In C order, with gaps or without, each dimension steps over everything inside it: no search.
  int64_t span = 0, inner;
  for (int d = ndim - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (strides[d] <= span || __builtin_mul_overflow(strides[d], shape[d] - 1, &inner) ||
        __builtin_add_overflow(span, inner, &span))
      return find_sharing(ndim, shape, strides) != Sharing::none;
  }
  return false;
}

enum class Overlap {
  none,  // no byte in common
  identical,  // every index has the same address in both: an element-wise function may write over its input
  some,  // otherwise, or not decided within the search limit
};
DLT_API Overlap overlap(const DLTensor& a, const DLTensor& b);

// Drops dimensions of extent 1 and merges adjacent dimensions that are contiguous in every operand. Works in place on
// `shape` and on each strides[k]; returns the new number of dimensions. Every empty shape becomes (0).
DLT_API int coalesce(int ndim, int64_t* shape, int operands, int64_t* const* strides);

enum class Align { trailing, leading };

// The common shape of `count` shapes, written to `out` (max_dims entries). The number of its dimensions,
// or -1 when two extents differ and neither is 1.
DLT_API int broadcast_shapes(int count, const int* ndims, const int64_t* const* shapes, Align align, int64_t* out);

// Strides that broadcast a tensor to shape `to`: 0 where it is repeated. False when it does not broadcast.
DLT_API bool broadcast_strides(int ndim, const int64_t* shape, const int64_t* strides, int to_ndim, const int64_t* to,
                               Align align, int64_t* out);

}  // namespace dlt
