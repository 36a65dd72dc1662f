// SPDX-License-Identifier: Apache-2.0
// Shapes and strides as plain numbers: what is contiguous, what broadcasts, what overlaps. No element is read here.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/export.h"

namespace dlt {

inline constexpr int max_dims = 64;

// Bytes of one element when it has an address of its own: lanes together, packed types rounded up.
inline int64_t item_bytes(DLDataType dtype) { return (int64_t(dtype.bits) * dtype.lanes + 7) / 8; }

// Of a tensor that exists. The product wraps only where a later extent of 0 makes it 0, hence the unsigned type.
inline int64_t numel(int ndim, const int64_t* shape) {
  uint64_t count = 1;
  for (int d = 0; d < ndim; ++d) count *= uint64_t(shape[d]);
  return int64_t(count);
}

// Bytes of `count` elements side by side. Elements of few bits that are no whole bytes share them, unless they are padded.
inline int64_t bytes_of(int64_t count, DLDataType dtype, bool padded) {
  const int64_t bits = int64_t(dtype.bits) * dtype.lanes;
  // By eights, whose bits are whole bytes: the bits of all together may be more than int64 counts.
  return dtype.bits < 8 && bits % 8 != 0 && !padded ? count / 8 * bits + (count % 8 * bits + 7) / 8 : count * item_bytes(dtype);
}

// The number of elements of a shape, none of whose extents is negative. False when int64 cannot count its bytes, types of
// fewer than 8 bits taken as padded, as validate.h does. Extents of 0 count as 1 in that: strides in C order are products
// of the others.
inline bool count_elements(int ndim, const int64_t* shape, DLDataType dtype, int64_t* count) {
  int64_t bytes = dtype.bits < 8 ? dtype.lanes : item_bytes(dtype);
  bool fits = true;
  for (int d = 0; d < ndim; ++d) fits &= !__builtin_mul_overflow(bytes, shape[d] == 0 ? 1 : shape[d], &bytes);
  *count = fits ? numel(ndim, shape) : 0;
  return fits;
}

// C order in elements. A dimension of extent 0 counts as 1, so that an empty tensor has the strides of a full one.
DLT_API void contiguous_strides(int ndim, const int64_t* shape, int64_t* strides);

// C order: the strides of dimensions of extent 1 do not matter, and nothing matters in an empty tensor.
DLT_API bool is_contiguous(int ndim, const int64_t* shape, const int64_t* strides);

// The first and one past the last element that a walk touches, counted from element 0. Both 0 when empty.
struct Extent {
  int64_t low, high;
};
DLT_API Extent extent(int ndim, const int64_t* shape, const int64_t* strides);

// Bytes from the lowest to one past the highest byte of the walk; packed elements share bytes.
DLT_API int64_t extent_bytes(const DLTensor& tensor, bool padded);

// Whether two indices reach the same element, as after broadcast_to. The question is NP-hard: the exact search ends after a
// limited number of steps, which only strides that no dimension steps over need at all.
enum class Sharing { none, some, unknown };
DLT_API Sharing find_sharing(int ndim, const int64_t* shape, const int64_t* strides) noexcept;

// The same for those who must not write twice: unknown counts as true.
inline bool repeats_elements(int ndim, const int64_t* shape, const int64_t* strides) {
  return find_sharing(ndim, shape, strides) != Sharing::none;
}

enum class Overlap {
  none,       // no byte in common
  identical,  // every index has the same address in both: an element-wise function may write over its input
  some,       // otherwise, or too intricate to tell
};
DLT_API Overlap overlap(const DLTensor& a, const DLTensor& b);

// Drops dimensions of extent 1 and joins neighbours that every operand walks as one. Works in place on `shape` and on
// each strides[k]; returns the new number of dimensions. Shape (0) stands for every empty one.
DLT_API int coalesce(int ndim, int64_t* shape, int operands, int64_t* const* strides);

enum class Align { trailing, leading };

// The common shape of `count` shapes, written to `out` (max_dims entries). The number of its dimensions,
// or -1 when two extents differ and neither is 1.
DLT_API int broadcast_shapes(int count, const int* ndims, const int64_t* const* shapes, Align align, int64_t* out);

// Strides that walk a tensor as if it had shape `to`: 0 where it is repeated. False when it does not broadcast.
DLT_API bool broadcast_strides(int ndim, const int64_t* shape, const int64_t* strides, int to_ndim, const int64_t* to,
                               Align align, int64_t* out);

}  // namespace dlt
