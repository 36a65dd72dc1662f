// SPDX-License-Identifier: Apache-2.0
// Elements and rows moved between dense memory and the places of a tensor that index arrays name.
#pragma once
#include <stdint.h>

#include "native/export.h"
#include "native/layout/layout.h"

namespace dlt {

// Indices along one axis, one for each position, in C order. The memory may be foreign, and change while it is read.
struct IndexArray {
  const int64_t* data;
  int64_t size, stride;  // of the axis, in elements of the tensor
};

// For all o, i < count and k: the element of the tensor at o, k and the indices number i, beside the dense one at o, i, k.
// Strides count elements.
struct Indexed {
  char* tensor;
  char* dense;
  int64_t width;  // bytes of an element
  int outer, inner;
  int64_t outer_shape[max_dims], outer_tensor[max_dims], outer_dense[max_dims];
  int64_t inner_shape[max_dims], inner_tensor[max_dims], inner_dense[max_dims];
  int64_t count, dense_step;
  int arrays;
  IndexArray array[max_dims];
  // Positions may have strides of the tensor too: of a shape whose elements number `count`. 0 dimensions: none.
  int spread;
  int64_t spread_shape[max_dims], spread_tensor[max_dims];
};

// The first position, in C order, that has an index out of range; `at` is -1 where there is none.
struct BadIndex {
  int64_t at;
  int array;
  int64_t value;
};

// Each function checks every index in the copy that it uses. Shapes and strides are the caller's to lose.
DLT_API BadIndex check_indices(const Indexed& indexed) noexcept;
// To the dense memory. After a bad index what it holds is of no meaning.
DLT_API BadIndex gather(Indexed* indexed) noexcept;
// From the dense memory, in C order of the positions, whatever the number of threads: of equal indices the last one wins.
// The caller has checked the indices; that one is bad now means that other threads change them: those before it are done.
DLT_API BadIndex scatter(Indexed* indexed) noexcept;
// Scatters with tensor = op(tensor, dense), one position after the other; `op` of two operands has a loop for `type`.
DLT_API BadIndex accumulate(Indexed* indexed, int op, int type) noexcept;

// One array along the first axis of a tensor in C order, on this thread: rows of `row` bytes; no structure to fill.
DLT_API int64_t gather_rows(char* to, const char* from, const int64_t* indices, int64_t count, int64_t size,
                            int64_t row) noexcept;

// The other way, for at most 4096 elements of 1, 2, 4, 8 or 16 bytes; nothing is written when an index is out of range.
// Both return the number of indices ahead of the first that is: `count` when there is none.
DLT_API int64_t scatter_few(char* to, const char* from, int64_t step, int64_t width, const int64_t* indices, int64_t count,
                            int64_t size) noexcept;

}  // namespace dlt
