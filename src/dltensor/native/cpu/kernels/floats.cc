// SPDX-License-Identifier: Apache-2.0
// The loops over float32 and float64. Of float16 and bfloat16 only nextafter, which depends on the width;
// the rest of theirs is in halves.cc or computed in float32 by elementwise.cc.
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

// nextafter on the bits of a 16-bit float; the order of magnitudes is that of the patterns.
struct next_short {
  template <class T>
  DLT_FN static T of(T a, T b) {
    const float x = to_float(a), y = to_float(b);
    const bool away = (x < y) == ((a.bits & 0x8000) == 0);
    const uint16_t step = uint16_t(away ? a.bits + 1 : a.bits - 1);
    const uint16_t from_zero = uint16_t((b.bits & 0x8000) | 1);
    return {((x != x) | (y != y)) ? from<T>(x + y).bits : x == y ? b.bits : x == 0 ? from_zero : step};
  }
};

}  // namespace

void fill_floats(Kernels* kernels) {
  fill_column<float>(kernels, type_float32);
  fill_column<double>(kernels, type_float64);
  kernels->ops[op_nextafter][type_float16] = loop2<next_short, float16>;
  kernels->ops[op_nextafter][type_bfloat16] = loop2<next_short, bfloat16>;
}

}  // namespace dlt::DLT_LEVEL
