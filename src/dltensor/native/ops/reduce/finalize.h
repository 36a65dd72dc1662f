// SPDX-License-Identifier: Apache-2.0
// Rules of the ends of var and std that the CPU and CUDA kernels share: deviations, and the range in which two words decide.
// For g++ and NVRTC; no arrays are read here.
#pragma once
#include "native/ops/reduce/exact_moments.h"

namespace dlt::exact_sums {

// Returns whether a variance of `count` elements is not defined.
DLT_FN bool is_undefined(double count, double divisor) { return !(divisor > 0) || count == 0; }

// (x - center) ** 2 as two float64, which are both summed: its rounding depends on the element alone.
DLT_FN Pair squared_deviation(double x, double center) {
  const Pair difference = dlt::exact_sum(x, -center);
  const double product = difference.high * difference.high;
  return {product, fused(difference.high, difference.high, -product) + 2.0 * difference.high * difference.low};
}

// Returns whether squares of deviations with this variance stay in float64's range.
DLT_FN bool is_in_range(double variance) { return variance > 0x1p-800 && variance < 0x1p900; }

// Returns whether a mean of this magnitude is so far from 0 that its own rounding shows in the variance.
DLT_FN bool shows_rounding(double mean, double variance) { return mean * 0x1p-24 > square_root(variance); }

// The exact sum of elements, less count times their rounded mean.
DLT_FN double sum_beyond(Accumulator* sum, double count, double mean) {
  const double times = count * mean;
  add(sum, -times);
  add(sum, -fused(count, mean, -times));
  return round_accumulator<double>(sum, 1);
}

// The power of two that brings elements of this largest magnitude near 1, where their squares are in range.
DLT_FN int scale_exponent(double largest) {
  const int exponent = int(bits_as<uint64_t>(largest) >> 52) - 1023;  // at most -1023 for subnormals
  return exponent < -1000 ? 1000 : exponent > 1000 ? -1000 : -exponent;
}

}  // namespace dlt::exact_sums
