// SPDX-License-Identifier: Apache-2.0
// Numbers at equal steps from a first one, on the CPU and on CUDA devices; those of a ramp are computed in ramps.h.
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

// Number i is (first + i * step + i * rest / steps) / 2^fraction, where first and step are integers of 128 bits in two
// halves, 0 <= rest < steps, and neither the numbers nor the step reach 2^126.
struct Ramp {
  int64_t first_high, step_high;
  uint64_t first_low, step_low;
  uint64_t rest, steps;  // steps is below 2^63
  int32_t fraction;
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

namespace ramps {

// A ramp in float64, for round_quickly(): `first` and `step` as two numbers each. A number computed of both lies within `fine` of
// the exact one, and a number computed of the higher ones within `coarse`; both are 0 where everything is exact. `known`: they are
// far from the ends of float64's range.
struct Quick {
  double first, first_low, step, step_low, fine, coarse;
  bool known;
};

// Numbers to elements of contiguous memory of a device.
struct Run {
  void* out;
  uint64_t count;
  Ramp ramp;
  Quick quick;
};

}  // namespace ramps
}  // namespace dlt
