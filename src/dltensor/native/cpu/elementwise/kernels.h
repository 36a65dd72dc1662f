// SPDX-License-Identifier: Apache-2.0
// Loops over contiguous elements of one dtype, one for each operation and dtype.
#pragma once
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"

namespace dlt {

// Rows of n elements of two operands, whose results go past the caches. Steps from row to row in bytes: of the output, which is
// aligned to 64 bytes in every row, and of both operands.
typedef void (*streamed_t)(void* out, const void* a, const void* b, int64_t n, int64_t rows, const int64_t steps[3]);
struct StreamedLoop {
  loop_t loop;  // what it does as well; null where there is none
  streamed_t streamed;
};
inline constexpr int streamed_count = 6;

struct ElementwiseKernels {
  loop_t ops[op_count][computed_types];
  loop_t unlike[comparison_count][unlike_count];  // null where complex numbers have no order
  loop_t saturating[saturating_count][computed_types];
  loop_t fma_unsigned[computed_types];  // saturating fma: a and b signed, c and out unsigned; at the unsigned type
  real_loop_t real_scalar[real_count][computed_types];
  StreamedLoop streamed[streamed_count];
  loop_t half_roots[2];  // powers to 0.5 of float16 and bfloat16; null without instructions for them
};

}  // namespace dlt
