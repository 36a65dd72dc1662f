// SPDX-License-Identifier: Apache-2.0
// The loops over float32 and float64. Of float16 and bfloat16 only nextafter, which depends on the width;
// the rest of theirs is in halves.cc or computed in float32 by elementwise.cc.
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {

void fill_floats(Kernels* kernels) {
  fill_column<float>(kernels, type_float32);
  fill_column<double>(kernels, type_float64);
  kernels->ops[op_nextafter][type_float16] = loop2<body_nextafter, float16>;
  kernels->ops[op_nextafter][type_bfloat16] = loop2<body_nextafter, bfloat16>;
}

}  // namespace dlt::DLT_LEVEL
