// SPDX-License-Identifier: Apache-2.0
// Numbers at equal steps from a first one, on the CPU and on CUDA devices.
#pragma once
#include "native/ops/arithmetic.h"

namespace dlt {

// Number i is first + i * step. Integers are computed modulo 2^64 and read as signed or unsigned; of complex numbers both parts
// are in double precision, rounded after the product and after the sum.
enum class StepForm : int { signed_integer, unsigned_integer, complex };
struct Steps {
  StepForm form;
  uint64_t first, step;
  double re, step_re, im, step_im;
};

namespace steps {

// `count` numbers to contiguous memory of a device.
struct Run {
  void* out;
  uint64_t count;
  Steps steps;
};

// Number i as T, of real numbers.
template <class T, StepForm FORM>
DLT_FN T value(const Steps& s, uint64_t i) {
  if constexpr (FORM == StepForm::complex) {
    return T(s.re + double(i) * s.step_re);
  } else {
    const uint64_t x = s.first + i * s.step;
    if constexpr (FORM == StepForm::signed_integer) return T(int64_t(x));
    else return T(x);
  }
}

}  // namespace steps
}  // namespace dlt
