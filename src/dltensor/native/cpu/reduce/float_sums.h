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

// Sums of n columns of floats from `where` on. Returns by how much they are off at most, 0 where they are exact.
double sum_columns(const ReducePass& pass, const ResultRun& where, int64_t n, double* sums);
// Columns that the loops of sums read as they are. Many sums near the middle of two float64 would have to be read again.
bool columns_in_place(const ReducePass& pass);

// Rounds n sums that are off by `error` at most; false where it cannot tell one.
bool end_plain(const ReducePass& pass, const ResultRun& where, double* sums, int64_t n, double error, Stage* stage,
               char* results);

}  // namespace dlt
