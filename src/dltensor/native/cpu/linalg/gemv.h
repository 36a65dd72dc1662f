// SPDX-License-Identifier: Apache-2.0
// Products of a matrix and a vector: how they are split and who computes which piece.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

// True if multiply_vector() takes products of this shape. The shape alone decides, so that the bits depend on that: with
// fewer terms the order of multiply_panels() costs less.
inline constexpr int64_t least_vector_depth = 9;
inline bool is_vector_product(int64_t rows, int64_t columns, int64_t depth) {
  return (rows == 1 || columns == 1) && depth >= least_vector_depth;
}

// Terms of which each element of the result has partial sums: the blocks are added in order.
inline constexpr int64_t vector_block = 4096;

// Any type that has a kernel, any strides of a and b; of c any between its elements. p.add is ignored.
Status multiply_vector(const Product& p) noexcept;

}  // namespace dlt
