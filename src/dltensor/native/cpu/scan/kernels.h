// SPDX-License-Identifier: Apache-2.0
// Loops of running sums.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"

namespace dlt {

// out[i] = before + (in[0] + ... + in[i]) of one block, rounded to the dtype; returns the sum of the block. `before` is what
// lies before the block, in two float64, or null. `out` may be `in`, or null where only the sum is wanted. Order: in groups of
// `scans::group` elements, each gets those at distances 1, 2 and 4 before it; then what the groups before it come to.
typedef double (*running_sums_t)(void* out, const void* in, int64_t n, const double* before);
// Sums as that function does, of blocks of `scans::block` elements, one after the other in memory.
typedef void (*block_sums_t)(double* sums, const void* in, int64_t blocks);

// Running sums of `columns` lines of at most `scans::block` elements, as the first function gives them. Elements of one line lie in
// n rows; pitches in bytes. `out` may be `in`.
typedef void (*column_sums_t)(void* out, const void* in, int64_t columns, int64_t n, int64_t out_pitch, int64_t in_pitch);

// Running sums of each of `rows` rows of n elements, as the first function gives them for one block at most. Pitches in bytes.
typedef void (*row_sums_t)(void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch, int64_t in_pitch);

// Running sums of each of `rows` rows of n 64-bit integers, which wrap, with `before` added to all; returns the last one. `out` may
// be `in`.
typedef uint64_t (*integer_sums_t)(void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch, int64_t in_pitch,
                                   uint64_t before);

struct ScanKernels {
  column_sums_t column_sums[computed_types];  // of float32 and float64
  row_sums_t row_sums[computed_types];  // of float32 and float64
  integer_sums_t integer_sums;
  void (*add_integers)(void* out, const void* a, const void* b, int64_t n);  // n sums of two; `out` may be `b`
  running_sums_t running_sums[computed_types];  // of float32 and float64
  block_sums_t block_sums[computed_types];  // of the same
};

}  // namespace dlt
