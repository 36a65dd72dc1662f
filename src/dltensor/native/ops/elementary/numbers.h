// SPDX-License-Identifier: Apache-2.0
// The elementary functions of one number, as functions that are called: complex functions, and kernels that compute one element at a
// time, use several of them.
#pragma once
#include "native/ops/elementary/exponentials.h"
#include "native/ops/elementary/inverse_hyperbolic.h"
#include "native/ops/elementary/inverse_trigonometry.h"
#include "native/ops/elementary/logaddexp.h"
#include "native/ops/elementary/logarithms.h"
#include "native/ops/elementary/powers.h"
#include "native/ops/elementary/rows.h"
#include "native/ops/elementary/special.h"
#include "native/ops/elementary/trigonometry.h"

#if defined(__CUDACC_RTC__)
#define DLT_CALLED static __device__ __noinline__
#else
#define DLT_CALLED static inline __attribute__((noinline))
#endif

namespace dlt::numbers {

#define DLT_NUMBER_1(name)                                                               \
  DLT_CALLED float name(float a) { return elementary::name<elementary::One<float>>(a); } \
  DLT_CALLED double name(double a) { return elementary::name<elementary::One<double>>(a); }
#define DLT_NUMBER_2(name)                                                                           \
  DLT_CALLED float name(float a, float b) { return elementary::name<elementary::One<float>>(a, b); } \
  DLT_CALLED double name(double a, double b) { return elementary::name<elementary::One<double>>(a, b); }
#define DLT_NUMBER(name, operands) DLT_NUMBER_##operands(name)
DLT_ELEMENTARY_OPS(DLT_NUMBER)
#undef DLT_NUMBER
#undef DLT_NUMBER_1
#undef DLT_NUMBER_2

}  // namespace dlt::numbers
