// SPDX-License-Identifier: Apache-2.0
// The operations of ops.h that ops/elementary computes; read by the preprocessor alone, too.
#pragma once

// Functions of one operand that complex numbers have too, those of real numbers alone, and all. Row: name, operands.
// clang-format off
#define DLT_ELEMENTARY_UNARY_OPS(X)                                                                                   \
  X(acos, 1) X(acosh, 1) X(asin, 1) X(asinh, 1) X(atan, 1) X(atanh, 1) X(cos, 1) X(cosh, 1) X(exp, 1) X(exp2, 1)      \
  X(expm1, 1) X(log, 1) X(log1p, 1) X(log2, 1) X(log10, 1) X(sin, 1) X(sinc, 1) X(sinh, 1) X(tan, 1) X(tanh, 1)
#define DLT_ELEMENTARY_REAL_OPS(X) X(cbrt, 1) X(erf, 1) X(erfc, 1) X(gammaln, 1) X(sigmoid, 1)
#define DLT_ELEMENTARY_OPS(X)                                                                                         \
  DLT_ELEMENTARY_UNARY_OPS(X) DLT_ELEMENTARY_REAL_OPS(X) X(atan2, 2) X(hypot, 2) X(logaddexp, 2) X(pow, 2)
// clang-format on
