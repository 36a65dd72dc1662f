// SPDX-License-Identifier: Apache-2.0
// Numbers of matrices for a thread of a device, whose lane is one number, and the addresses of matrices in a batch.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

#define DLT_LEVEL matrix_lanes

// A lane is one number.
namespace dlt::DLT_LEVEL {
namespace {

constexpr int small_side = 8;
constexpr int64_t capacity = 1;

template <class F>
struct lanes_of {
  static constexpr int count = 1;
  using type = F;
};
DLT_FN float root(float v) { return sqrtf(v); }
DLT_FN double root(double v) { return sqrt(v); }
DLT_FN bool any(bool mask) { return mask; }
DLT_FN float inverse_power(float v, float* inverse) {
  int32_t exponent = bits_as<int32_t>(v) >> 23 & 0xff;
  exponent = exponent < 1 ? 1 : exponent > 253 ? 253 : exponent;
  *inverse = bits_as<float>(exponent << 23);
  return bits_as<float>((254 - exponent) << 23);
}
DLT_FN double inverse_power(double v, double* inverse) {
  int64_t exponent = bits_as<int64_t>(v) >> 52 & 0x7ff;
  exponent = exponent < 1 ? 1 : exponent > 2045 ? 2045 : exponent;
  *inverse = bits_as<double>(exponent << 52);
  return bits_as<double>((2046 - exponent) << 52);
}

}  // namespace
}  // namespace dlt::DLT_LEVEL

#include "native/ops/linalg/small_matrices.h"

namespace dlt::kernels::matrices {

namespace lanes = dlt::DLT_LEVEL;

template <class F, int PARTS>
struct number_of {
  using type = lanes::RealLanes<F>;
};
template <class F>
struct number_of<F, 2> {
  using type = lanes::ComplexLanes<F>;
};
template <class F, int PARTS>
using Number = typename number_of<F, PARTS>::type;

// Matrix `i` of so many elements.
template <class F, int PARTS>
DLT_FN F* at(void* data, uint64_t i, int64_t elements) {
  return data ? static_cast<F*>(data) + int64_t(i) * elements * PARTS : nullptr;
}

}  // namespace dlt::kernels::matrices
#undef DLT_LEVEL
