// SPDX-License-Identifier: Apache-2.0
// Largest magnitudes of blocks, and the scales that follow from them.
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/quantize/scales.h"

namespace dlt::DLT_LEVEL {
namespace {

// Magnitudes are integers without a sign bit: their order is that of signed ones, which every level compares.
using Magnitudes = pack<int32_t>::type;
constexpr int lanes = pack<int32_t>::lanes;

DLT_FN Magnitudes larger(Magnitudes a, Magnitudes b) { return a > b ? a : b; }
template <int By>
DLT_FN Magnitudes largest_lane(Magnitudes most) {
  most = larger(most, exchanged<int32_t, By>(most));
  if constexpr (By > 1) return largest_lane<By / 2>(most);
  else return most;
}

DLT_FN uint32_t largest_of(const float* x, int64_t n) {
  Magnitudes most{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) most = larger(most, load<int32_t>(reinterpret_cast<const char*>(x + i)) & 0x7fffffff);
  uint32_t found = uint32_t(largest_lane<lanes / 2>(most)[0]);
  for (; i < n; ++i) {
    const uint32_t magnitude = magnitude_bits(read_at<float>(x, i));
    found = magnitude > found ? magnitude : found;
  }
  return found;
}

void largest(uint32_t* out, const float* x, int64_t blocks, int64_t block) {
  if (block == 1) {
    DLT_IVDEP
    for (int64_t i = 0; i < blocks; ++i) {
      const uint32_t magnitude = magnitude_bits(read_at<float>(x, i));
      out[i] = magnitude > out[i] ? magnitude : out[i];
    }
    return;
  }
  for (int64_t i = 0; i < blocks; ++i) {
    const uint32_t most = largest_of(x + i * block, block);
    out[i] = most > out[i] ? most : out[i];
  }
}

uint32_t largest_finite(const uint32_t* largest, int64_t n) {
  int32_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t magnitude = int32_t(largest[i]), finite = magnitude < int32_t(infinite_magnitude) ? magnitude : 0;
    most = finite > most ? finite : most;
  }
  return uint32_t(most);
}

void powers(uint8_t* scales, float* factors, const uint32_t* largest, int64_t n, uint32_t carry, int32_t top) {
  DLT_EACH scales[i] = power_scale(largest[i], carry, top);
  DLT_EACH factors[i] = power_factor(scales[i]);
}

void ratios(float* scales, const uint32_t* largest, int64_t n, float most) {
  DLT_EACH scales[i] = ratio_scale(largest[i], most);
}

void two_level(uint8_t* scales, float* divisors, const uint32_t* largest, int64_t n, float tensor_scale, float most) {
  DLT_EACH scales[i] = two_level_scale(largest[i], tensor_scale, most).bits;
  DLT_EACH divisors[i] = two_level_divisor(float8_e4m3fn{scales[i]}, tensor_scale);
}

}  // namespace

void fill_scales(QuantizeKernels* kernels) {
  kernels->largest = largest;
  kernels->largest_finite = largest_finite;
  kernels->powers = powers;
  kernels->ratios = ratios;
  kernels->two_level = two_level;
}

}  // namespace dlt::DLT_LEVEL
