// SPDX-License-Identifier: Apache-2.0
// Every reduction: one row each, read by g++, NVRTC and the preprocessor alike. Bodies are in reductions.h.
#pragma once
#include "native/ops/kinds.h"

// Keyword parameters that a row has beside axis, keepdims and out.
#define DLT_TAKES_DTYPE 1
#define DLT_TAKES_SATURATE 2
#define DLT_TAKES_WHERE 4
#define DLT_TAKES_INITIAL 8
#define DLT_TAKES_CORRECTION 16
#define DLT_TAKES_ONE_AXIS 32

// Row: name, body, kinds, result, value when there is no element ("" raises), parameters, the value in words of Python,
// documentation. Result: wide (64 bits of integers, else the operand's dtype), same, real (the operand's dtype, float64 of
// integers of 32 and 64 bits, float32 of others), part (as real, of a complex dtype its real one), mask (bool), index (int64).
// clang-format off
#define DLT_REDUCTIONS(X)                                                                                             \
  X(sum, sums, DLT_ANY, wide, "0", DLT_TAKES_DTYPE | DLT_TAKES_SATURATE | DLT_TAKES_WHERE | DLT_TAKES_INITIAL,        \
    "x[0] + x[1] + ...", "Add the elements; of floats the exact sum, rounded once.")                                  \
  X(prod, products, DLT_ANY, wide, "1", DLT_TAKES_DTYPE | DLT_TAKES_SATURATE | DLT_TAKES_WHERE | DLT_TAKES_INITIAL,   \
    "x[0] * x[1] * ...", "Multiply the elements.")                                                                    \
  X(max, largest, DLT_ORDERED, same, "", DLT_TAKES_WHERE | DLT_TAKES_INITIAL,                                         \
    "max(x[0], x[1], ...)", "Take the greatest element; NaN where there is one, and 0.0 is above -0.0.")              \
  X(min, smallest, DLT_ORDERED, same, "", DLT_TAKES_WHERE | DLT_TAKES_INITIAL,                                        \
    "min(x[0], x[1], ...)", "Take the least element; NaN where there is one, and -0.0 is below 0.0.")                 \
  X(mean, sums, DLT_ANY, real, "nan", DLT_TAKES_DTYPE | DLT_TAKES_WHERE,                                              \
    "sum(x) / size(x)", "Take the arithmetic mean; the exact one, rounded once.")                                     \
  X(var, moments, DLT_ANY, part, "nan", DLT_TAKES_DTYPE | DLT_TAKES_WHERE | DLT_TAKES_CORRECTION,                     \
    "sum(abs(x - mean(x)) ** 2) / (size(x) - correction)", "Take the variance.")                                      \
  X(std, moments, DLT_ANY, part, "nan", DLT_TAKES_DTYPE | DLT_TAKES_WHERE | DLT_TAKES_CORRECTION,                     \
    "var(x) ** 0.5", "Take the standard deviation: the square root of the variance.")                                 \
  X(all, every, DLT_ANY, mask, "True", DLT_TAKES_WHERE,                                                               \
    "x[0] and x[1] and ...", "Test whether every element is not 0; NaN is not 0.")                                    \
  X(any, some, DLT_ANY, mask, "False", DLT_TAKES_WHERE,                                                               \
    "x[0] or x[1] or ...", "Test whether any element is not 0; NaN is not 0.")                                        \
  X(count_nonzero, nonzero, DLT_ANY, index, "0", DLT_TAKES_WHERE,                                                     \
    "(x[0] != 0) + (x[1] != 0) + ...", "Count the elements that are not 0.")                                          \
  X(argmax, first_largest, DLT_ORDERED, index, "", DLT_TAKES_ONE_AXIS,                                                \
    "x.index(max(x))", "Find the index of the first greatest element; of the first NaN where there is one.")          \
  X(argmin, first_smallest, DLT_ORDERED, index, "", DLT_TAKES_ONE_AXIS,                                               \
    "x.index(min(x))", "Find the index of the first least element; of the first NaN where there is one.")

// The bodies, and whether their elements must come in logical order. wide_sums and saturated_products are those of sum and
// prod with saturate=True; wide_moments is that of var and std for integers of 32 and 64 bits; deviations is their second pass
// over float64.
#define DLT_REDUCTION_BODIES(X)                                                                                       \
  X(sums, 0) X(wide_sums, 0) X(products, 1) X(saturated_products, 0) X(largest, 0) X(smallest, 0) X(every, 0)         \
  X(some, 0) X(nonzero, 0) X(first_largest, 1) X(first_smallest, 1) X(moments, 0) X(wide_moments, 0) X(deviations, 0)
// clang-format on
