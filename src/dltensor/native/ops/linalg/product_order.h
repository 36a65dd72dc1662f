// SPDX-License-Identifier: Apache-2.0
// The order in which the terms of a product are added, for the CPU and CUDA alike (decisions 70 and 76).
#pragma once
#include "native/ops/floats.h"

namespace dlt {

// A chain of fused multiply-adds, from 0. Further terms are chains of their own, which are added in order.
inline constexpr int64_t chain_depth = 512;

// Products of bfloat16 have alternating chains: in each block of so many terms one of the even and one of the odd ones, which are added
// to each other and then to the sum of the blocks before.
inline constexpr int64_t block_terms = 32;

// One row or one column with at least so many terms has partial sums, and the shape alone decides that: with fewer terms the order above
// costs less. Term k of a block is added to partial sum k modulo their number, and the upper half of them to the lower until one is
// left. The blocks are added in order.
inline constexpr int64_t least_vector_depth = 9, vector_block = 4096;
inline constexpr int partial_sums_bytes = 128;  // of an element; a complex one has two sets of them, of two parts each
inline bool is_vector_product(int64_t rows, int64_t columns, int64_t depth) {
  return (rows == 1 || columns == 1) && depth >= least_vector_depth;
}

}  // namespace dlt
