// SPDX-License-Identifier: Apache-2.0
// One pass over the elements of a reduction: its axes in the order of memory, and what ends its states. Internal to
// this folder.
#pragma once
#include <atomic>

#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/reduce/kernels.h"
#include "native/cpu/runtime/kernels.h"
#include "native/layout/layout.h"
#include "native/status.h"

namespace dlt {

enum class End : uint8_t {
  plain,      // by the body
  sum,        // an exact sum of floats
  mean,
  moments,    // var and std of a sum and a sum of squares
  wide_moments,  // the same of integers in words
  deviations, // var and std of squared deviations
  wide_sum,   // 128 bits of integers, clamped
  wide_mean,
};

// The body and the end of a row for a dtype, and the type that its elements are reduced in.
struct ReductionChoice {
  int body, type;
  End end;
};

#define DLT_IN_ORDER(name, ordered) ordered != 0,
inline constexpr bool in_order[] = {DLT_REDUCTION_BODIES(DLT_IN_ORDER)};  // by body: the order of elements decides
#undef DLT_IN_ORDER
ReductionChoice choose_reduction(int reduction, int type, bool saturate);

// Bytes from the first element of each of what is read to another one. Not set by default: a pass holds 192 of them.
struct Place {
  int64_t in, mask, factor;
};
inline Place operator+(const Place& a, const Place& b) { return {a.in + b.in, a.mask + b.mask, a.factor + b.factor}; }
inline Place operator*(int64_t times, const Place& a) { return {times * a.in, times * a.mask, times * a.factor}; }
inline bool operator==(const Place& a, const Place& b) { return a.in == b.in && a.mask == b.mask && a.factor == b.factor; }

struct Axis {
  int64_t size;
  Place step;
  int64_t out, index;  // of a kept axis: in bytes of the result, and in elements of a result in C order
};

// Elements that are brought together: of sums of products fewer, since five arrays are then in the first cache.
inline constexpr int64_t staged_count = 4096, product_count = 2048;
struct Stage {
  alignas(64) char moved[staged_count * 16];
  alignas(64) char spare[2][staged_count * 16];
  alignas(64) uint8_t mask[staged_count];
  alignas(64) char factor[3][product_count * 8];
  alignas(64) double products[product_count];
  alignas(64) double rests[product_count];
  bool is_rough_vague = false;  // sums in float32 left many results in doubt: the next ones are added in float64
};

struct ReducePass {
  const Kernels* kernels;
  const Reducer* reducer;
  int body;
  End end;
  bool root;      // std instead of var
  int in_type;    // of the elements in memory
  int type;       // that elements are reduced in
  int result;     // the dtype of the result; `out_pipeline` leads from there to the dtype of `out`
  int kept_ndim, reduced_ndim, repeated_ndim;
  Axis kept[max_dims], reduced[max_dims], repeated[max_dims];  // results along a repeated axis are those of its first place
  int64_t kept_count, reduced_count;
  const char* in;
  const uint8_t* mask;
  // Sums of products: what elements are multiplied by. `terms` of floats, else they are multiplied in the pass's type; whether
  // what rounding takes from a product is added too.
  const char* factor;
  terms_t terms;
  bool with_rests;
  int64_t in_width, factor_width, width;
  CastPipeline pipeline, factor_pipeline, out_pipeline;
  char* out;
  int64_t out_width;
  bool columns;  // the innermost kept axis is read in rows
  bool turns;  // and its elements are transposed for that: those of one result follow one another in memory
  alignas(16) unsigned char identity[16];
  alignas(16) unsigned char initial[16];
  int initial_type;  // that of `initial`; -1: there is none
  double correction;
  const int64_t* counts;  // of elements that the mask keeps, by `index`; null: reduced_count
  const double* centers;  // by `index`, the mean for each state
  // Not null for deviations without centers, which few elements need not: set where a result is not decided, and all count for
  // nothing.
  std::atomic<bool>* undecided;
};

// Places of the states of consecutive results: their first element and mask, their place in C order, and the steps.
struct ResultRun {
  Place at;
  int64_t index;
  Place step;
  int64_t index_step;
};

// Returns whether elements are used where they lie.
bool is_direct(const ReducePass& pass, int64_t step);
// n elements from `from` on, `step` apart, contiguous and in the pass's type; masked ones as `blank`. Of sums of products, these
// and their rests. What needs nothing stays, and no stage either, which may then be null.
const char* staged(const ReducePass& pass, const Place& from, const Place& step, int64_t n, const void* blank,
                   int64_t blank_step, Stage* stage);
// The place of element `index` of the reduced axes but the last `inner` ones.
Place place_of(const Axis* axes, int ndim, int64_t index);

// Elements of one result in order, as contiguous runs of `pass.type`: work(context, run, n, index of the first). Of sums of
// products with rests these follow as a run with the same index.
typedef void (*take_run_t)(void* context, const void* run, int64_t n, int64_t first);
void each_run(const ReducePass& pass, const Place& place, int64_t begin, int64_t end, const void* blank, Stage* stage,
              take_run_t take, void* context);

// Elements of n results, `step` apart, in rows that are `row` apart: transposed, and in the pass's type. Of sums of products,
// these and their rests.
const char* turned(const ReducePass& pass, const Place& from, const Place& row, const Place& step, int64_t n, int64_t rows,
                   Stage* stage);

// Results of few elements, without states. `reduce_few` returns false, with nothing that counts in `results`, where it cannot
// tell how one is rounded.
bool takes_few(const ReducePass& pass);
bool reduce_few(const ReducePass& pass, const ResultRun& where, int64_t n, void* results, Stage* stage);
// One result that is the sum of floats in rows: the same.
bool takes_near(const ReducePass& pass);
bool reduce_near(const ReducePass& pass, const ResultRun& where, void* results, Stage* stage);
inline constexpr int64_t strip_columns = 1024;  // the results that are reduced together, at most
inline constexpr int64_t least_each = 32;  // shorter rows are transposed
// Returns whether the rows of results, of at least so many elements, are reduced in place, without a transposed copy.
bool rows_in_place(const ReducePass& pass);

// Returns whether rows of n contiguous elements are few, and the body such, that several are taken as one.
bool joins_rows(const ReducePass& pass, int64_t row_bytes, int64_t n, int64_t rows);

// Computes all results of a pass. Fails for want of memory only.
Status run_pass(const ReducePass& pass);

// Multiplies results of dtype number `type`, which holds the factor.
Status multiply_results(const DLTensor& out, int type, int64_t by);

// Ends the states of n results into `results`, of dtype number `pass.result` and contiguous.
void end_results(const ReducePass& pass, const void* states, int64_t capacity, int64_t n, const ResultRun& where, Stage* stage,
                 void* results);

}  // namespace dlt
