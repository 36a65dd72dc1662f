// SPDX-License-Identifier: Apache-2.0
// The loops over float32 and float64. Of float16 and bfloat16 only those that are defined by their own bits: nextafter and changes
// of signs; the rest of theirs is in float16.cc or computed in float32 by elementwise.cc.
#include "native/cpu/elementwise/kernels/float_division.h"

namespace dlt::DLT_LEVEL {

void fill_floats(ElementwiseKernels* kernels) {
  fill_column<float>(kernels, type_float32);
  fill_column<double>(kernels, type_float64);
  kernels->ops[op_floor_divide][type_float32] = floored_division<body_floor_divide, float>;
  kernels->ops[op_floor_divide][type_float64] = floored_division<body_floor_divide, double>;
  kernels->ops[op_remainder][type_float32] = floored_division<body_remainder, float>;
  kernels->ops[op_remainder][type_float64] = floored_division<body_remainder, double>;
#if defined(__FMA__)
#if defined(__AVX512F__)
  kernels->ops[op_divide][type_float32] = divide_by_one<float>;  // eight divisions at a time take no longer
#endif
  kernels->ops[op_divide][type_float64] = divide_by_one<double>;
#endif
#define DLT_FILL(name, operands)                                                      \
  kernels->ops[op_##name][type_float16] = loop_for<body_##name, operands, float16>(); \
  kernels->ops[op_##name][type_bfloat16] = loop_for<body_##name, operands, bfloat16>();
  DLT_FILL(nextafter, 2)
  DLT_SIGN_OPS(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
