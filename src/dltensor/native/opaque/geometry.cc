// SPDX-License-Identifier: Apache-2.0
// Counting elements and bytes without ever overflowing.
#include "native/opaque/geometry.h"

namespace dlt::opaque {
namespace {

// More than any machine addresses; below it no sum or product of two strides overflows 64 bits.
constexpr int64_t beyond_memory = int64_t{1} << 60;

}  // namespace

Element element_of(DLDataType dtype, uint64_t flags) noexcept {
  int64_t bits = int64_t{dtype.bits} * dtype.lanes;
  bool packed = dtype.bits < 8 && !(flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
  return {packed ? bits : (bits + 7) / 8 * 8};
}

bool bytes_of(int64_t count, Element element, size_t* bytes) noexcept {
  int64_t bits;
  // Eight elements are whole bytes, of any type.
  if (__builtin_mul_overflow(count / 8, element.bits, &bits) || bits > beyond_memory) return false;
  *bytes = static_cast<size_t>(bits + (count % 8 * element.bits + 7) / 8);
  return true;
}

bool count_of(int32_t ndim, const int64_t* shape, int64_t* count) noexcept {
  int64_t product = 1;
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    empty |= shape[i] == 0;
    if (shape[i] != 0 && (__builtin_mul_overflow(product, shape[i], &product) || product > beyond_memory)) return false;
  }
  *count = empty ? 0 : product;
  return true;
}

DetailedStatus read_shape(const char* function, const uintptr_t* shape, uintptr_t count, Element element, int64_t* out,
                          int64_t* elements, size_t* bytes) {
  std::string_view name(function);
  if (count > DLT_ARRAY_MAX_NDIM) return failure(name, ": expected at most ", DLT_ARRAY_MAX_NDIM, " dimensions, got ", count);
  if (count > 0 && !shape) return failure(name, ": expected ", count, " dimensions, got NULL for them");
  auto ndim = static_cast<int32_t>(count);
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] > INT64_MAX)
      return failure(name, ": expected dimensions of at most ", INT64_MAX, ", got ", shape[i], " for axis ", i);
    out[i] = static_cast<int64_t>(shape[i]);
  }
  if (!count_of(ndim, out, elements) || !bytes_of(*elements, element, bytes))
    return failure(name, ": the shape ", Dims{out, ndim}, " has more elements than memory can hold");
  return {};
}

}  // namespace dlt::opaque
