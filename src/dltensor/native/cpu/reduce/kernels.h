// SPDX-License-Identifier: Apache-2.0
// Loops that reduce runs and rows of elements to states, and states to results.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"
#include "native/ops/reduce/rows.h"

namespace dlt {

#define DLT_NUMBER(name, ...) reduce_##name,
enum ReductionBody : int { DLT_REDUCTION_BODIES(DLT_NUMBER) reduction_body_count };
#undef DLT_NUMBER

// The loops of one body of reductions.h over one dtype. States lie as arrays, one for each word: word m of state c is at
// (m * capacity + c) * width. A complex element has `parts` states where its parts are reduced apart, else one.
struct Reducer {
  int members, width, parts;
  int result;  // the dtype that `end` writes, or -1 where the engine ends by itself
  void (*start)(void* states, int64_t capacity, int64_t n);
  // n contiguous elements into one element's states, whose capacity is `parts`; `first` is the index of the first.
  // `center` is what deviations are taken from, one for each state.
  void (*run)(void* states, const void* a, int64_t n, int64_t first, const double* center);
  // Rows of n contiguous states' values, each into the states of its column.
  void (*rows)(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t first,
               const double* center);
  // Rows of n contiguous elements, all of a result, each into the state of its own. Null where a transpose and `rows` are as fast.
  void (*each)(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n);
  void (*join)(void* states, int64_t capacity, const void* from, int64_t from_capacity, int64_t n);
  void (*end)(void* out, const void* states, int64_t capacity, int64_t n);
  // Results of n columns of few rows, without states in memory. Null for most bodies.
  void (*columns)(void* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) = nullptr;
  // Results of rows of n contiguous elements, at least a register of them, without states in memory. Null for most bodies.
  void (*row_results)(void* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) = nullptr;
};

// A sum in three words, and the size of what they lack.
struct SumAgain {
  double high, low, third, lost;
};
// n contiguous elements into the sums of each part of a complex number, which may be far smaller than the elements: less is in
// doubt than `run` of reduce_sums leaves.
typedef void (*sum_again_t)(SumAgain* states, const void* a, int64_t n);

// Products of n contiguous elements in float64, exact for float32; for float64 with what rounding takes from each, 0 where the
// product is not finite.
typedef void (*terms_t)(double* products, double* rests, const void* a, const void* b, int64_t n);

// Two rows of each result, `a_bytes` and `b_bytes` apart.
struct RowPair {
  const char *a, *b;
  int64_t a_bytes, b_bytes;
};
// Floats of up to 32 bits that loops read as they are; a loop is null where a processor does not convert them.
enum FloatSource : int { source_float32, source_bfloat16, source_float16, float_sources };
// Terms of sums of rows: elements, and products.
enum RowTerms : int { terms_float64, terms_products32, terms_products64, row_terms };

// Loops over few elements for each result, which lie in rows of n columns.
typedef double (*plain_sums_t)(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n);
struct FewKernels {
  // Sums of n columns, or of `rows` rows, of floats in float64. Returns at most what each is off by: 0 where all are exact, infinity
  // where elements are not finite.
  plain_sums_t column_sums[float_sources], row_sums[float_sources];
  // The same of 16 bits, added in float32 for a few steps at a time: faster, with a larger bound. Null for float32.
  plain_sums_t rough_column_sums[float_sources], rough_row_sums[float_sources];
  // Rounds (sum + initial) * each of at most 64 sums, off by `margin` and by `rounding` of itself. Returns a bit for each that is not
  // known.
  uint64_t (*near_floats)(float* out, const double* sums, int64_t n, double initial, double each, double margin,
                          double rounding);
  // The greatest and the least of what these may be, rounded to odd.
  void (*near_ends)(float* above, float* below, const double* sums, int64_t n, double initial, double each, double margin,
                    double rounding);
  // Sums of products of rows of n terms, as row_sums.
  double (*row_dots[float_sources])(double* sums, const RowPair& from, int64_t rows, int64_t n);
  // Exact sums divided by `count`, rounded once, or to odd: what is rounded to fewer bits then is rounded once.
  void (*round_means[2])(float* out, const double* sums, int64_t n, double count);
  // Half the differences of two rows of n float32, rounded to odd; NaN with infinities and NaN.
  void (*half_differences)(double* out, const void* a, int64_t row_bytes, int64_t n);
  // Sums of n columns of float64, at most 64, divided by `count` and rounded once to float32 or float64. Returns a bit for each column
  // that is not decided, of which `out` does not count, and leaves the states of these, whose words are `capacity` apart.
  uint64_t (*rounded_columns[2])(void* out, double* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows,
                                 int64_t n, double count);
  // The same of rows, at most 64 of n terms each, rounded to float32 or float64. Null for sums of float64 as float32.
  uint64_t (*rounded_rows[row_terms][2])(void* out, double* states, int64_t capacity, const RowPair& from, int64_t rows,
                                         int64_t n, double count);
  // Sums of the squared deviations of n columns of float32 from their means, off by at most (rows + 8) * 2^-52 of them; NaN with
  // infinities and NaN.
  void (*column_deviations)(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n);
  // Rounds n sums, off by `margin` of them, divided by `divisor`, or the roots of that. False, with nothing that counts written, where
  // one is not decided.
  bool (*round_variances)(float* out, const double* sums, int64_t n, double divisor, bool root, double margin);
  // Variances of n columns of float64 about their rounded means, at most 64, or the roots, rounded once: sums of squared_deviation()
  // divided by `divisor`. Returns a bit for each column that is not decided, and where the rounding of the mean may show.
  uint64_t (*rounded_variances)(double* out, const double* means, const void* a, int64_t row_bytes, int64_t rows, int64_t n,
                                double divisor, bool root);
  // Products of n columns of float32, and of float64, in the order of reductions.h: at most 4096 rows.
  void (*column_products[2])(double* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n);
  void (*row_products[2])(double* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n);  // the same of rows
};

struct ReduceKernels {
  FewKernels few;
  Reducer reducers[reduction_body_count][computed_types];
  sum_again_t sums_again[computed_types];  // of float32, float64, complex64, complex128
  terms_t terms[computed_types];  // of float32 and float64
};

}  // namespace dlt
