// SPDX-License-Identifier: Apache-2.0
// The rows of ops.h as numbers, and the comparisons and forms that have numbers of their own.
#pragma once
#include "native/ops/elementwise/ops.h"

namespace dlt {

#define DLT_NUMBER(name, ...) op_##name,
enum Op : int { DLT_OPS(DLT_NUMBER) op_count };
#undef DLT_NUMBER
#define DLT_NUMBER(name, ...) saturating_##name,
enum Saturating : int { DLT_SATURATING_OPS(DLT_NUMBER) saturating_count };
#undef DLT_NUMBER

// Comparisons by value of elements whose dtypes have none in common that holds both. Row: the dtypes of `a` and `b`.
#define DLT_UNLIKE(X) X(int64, uint64) X(int64, float64) X(uint64, float64) X(int64, complex128) X(uint64, complex128)
#define DLT_NUMBER(name) comparison_##name,
enum Comparison : int { DLT_COMPARISONS(DLT_NUMBER) comparison_count };
#undef DLT_NUMBER
#define DLT_NUMBER(a, b) unlike_##a##_##b,
enum Unlike : int { DLT_UNLIKE(DLT_NUMBER) unlike_count };
#undef DLT_NUMBER

// The number of an operation among the comparisons, or -1.
inline int comparison_of(int op) noexcept {
  switch (op) {
#define DLT_CASE(name) \
  case op_##name: return comparison_##name;
    DLT_COMPARISONS(DLT_CASE)
#undef DLT_CASE
    default: return -1;
  }
}

// An integer op a real number, exactly rounded and clamped: the saturating ops where the dtype does not hold the
// scalar.
enum Real : int { real_add, real_rsub, real_multiply, real_divide, real_rdivide, real_fma, real_count };

}  // namespace dlt
