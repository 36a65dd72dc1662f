// SPDX-License-Identifier: Apache-2.0
// Sums of floats of up to 32 bits in float64, and the end that tells whether they are near enough. Internal to this folder.
#pragma once
#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/runtime/features.h"

namespace dlt {

inline bool is_mean(const ReducePass& pass) { return pass.end == End::mean; }
inline bool is_exact_sum(const ReducePass& pass) {
  return (pass.end == End::sum || is_mean(pass)) && pass.type != type_complex128;
}
// Floats that the loops of sums and of products read without a conversion; -1: none.
inline int source_of(const ReducePass& pass) {
  const int source = pass.in_type == type_float32    ? source_float32
                     : pass.in_type == type_bfloat16 ? source_bfloat16
                     : pass.in_type == type_float16  ? source_float16
                                                     : -1;
  return source >= 0 && pass.kernels->reduce->few.row_sums[source] != nullptr ? source : -1;
}
inline int float_source(const ReducePass& pass) { return pass.type == type_float32 ? source_of(pass) : -1; }

// How many sums may be added again, and where they are rows the loop that does.
struct InDoubt {
  int64_t most;
  plain_sums_t rows = nullptr;
};
// Loops over the same elements: one in float32 for a few steps at a time, or null, and one in float64.
struct SumLoops {
  plain_sums_t rough, near;
  InDoubt again;  // after the rough one
};
// The rough loops for rows or columns of n elements of a pass that has a float_source(), where they pay.
plain_sums_t rough_row_sums(const ReducePass& pass, int64_t n);
plain_sums_t rough_column_sums(const ReducePass& pass, int64_t n);
// One of so many rough sums of columns, at most, is worth adding again: their elements lie apart.
constexpr int64_t few_in_doubt = 32;

// Sums of n columns of floats from `where` on. Returns by how much they are off at most, 0 where they are exact, infinity where the loop
// is rough and would leave too many in doubt.
double sum_columns(const ReducePass& pass, const ResultRun& where, int64_t n, plain_sums_t loop, double* sums);
// Columns that the loops of sums read as they are. Many sums near the middle of two float64 would have to be read again.
bool columns_in_place(const ReducePass& pass);

// Rounds n sums that are off by `error` at most; false where it cannot tell one, and where more than `again` says are in doubt.
bool end_plain(const ReducePass& pass, const ResultRun& where, double* sums, int64_t n, double error, InDoubt again,
               Stage* stage, char* results);

}  // namespace dlt
