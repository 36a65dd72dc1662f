// SPDX-License-Identifier: Apache-2.0
// Reductions of CPU tensors: the rows of native/ops/reduce/reductions.h as a table, and running one.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/cpu/runtime/engine.h"
#include "native/export.h"
#include "native/ops/reduce/rows.h"
#include "native/status.h"

namespace dlt {

#define DLT_NUMBER(name, ...) reduction_##name,
enum Reduction : int { DLT_REDUCTIONS(DLT_NUMBER) reduction_count };
#undef DLT_NUMBER

struct ReductionRow {
  const char* name;
  int body;            // ReductionBody
  unsigned kinds;
  const char* result;  // "wide", "same", "real", "part", "mask" or "index"
  const char* empty;   // the value of no elements, "" where there is none
  unsigned takes;      // DLT_TAKES_DTYPE | ...
  const char* text;
  const char* doc;
};
DLT_API extern const ReductionRow reduction_table[reduction_count];

// The dtype of the result of reducing elements of `type`; -1 when the row does not take them. `keep`: sum and prod keep the
// dtype of integers, because they saturate or the caller has named it.
DLT_API int reduction_result(int reduction, int type, bool keep);

struct ReduceOptions {
  bool saturate = false;
  bool keep = false;  // see reduction_result
  int result = -1;    // the dtype that the exact result is rounded to, if it is not that of the row
  double correction = 0;
  // One element that each result takes once more: for sums and products float64, complex128, int64 or uint64 by the kind of
  // `type`, for extremes `type`.
  const void* initial = nullptr;
  int initial_type = -1;
};

// out[...] = the reduction of `in` over the axes whose bits are set in `axes`, its elements converted to dtype number `type`
// first. `out` has as many dimensions as `in`, of extent 1 along those axes, any strides, and shares no memory with `in`; its
// dtype is the result's or one that is a cast away. `mask` (may be null): bools of the shape of `in`, what is false is left
// out.
DLT_API Status reduce(int reduction, const ReduceOptions& options, int type, const DLTensor& in, const DLTensor* mask,
                      uint64_t axes, const DLTensor& out) noexcept;

// out[...] = the sum of a * b over axes as in reduce(), both of one shape and converted to dtype number `type`, an integer or a
// float, first. Products of floats of 32 bits and fewer are added exactly and the sum is rounded once; those of float64 with
// what rounding takes from them, which is exact where it is a float64. Integers wrap.
DLT_API Status sum_products(int type, const DLTensor& a, const DLTensor& b, uint64_t axes, const DLTensor& out) noexcept;

// Fast path: `rows` runs of n contiguous elements of `type`, each into one element of the result's dtype. False, with
// nothing done, where the row and dtype need more than one pass or a conversion.
DLT_API bool reduce_runs(int reduction, int type, const void* a, int64_t n, int64_t rows, double correction,
                         void* out) noexcept;

}  // namespace dlt
