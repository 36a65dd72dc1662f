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
DLT_FN Magnitudes magnitudes_of(const float* x) { return load<int32_t>(reinterpret_cast<const char*>(x)) & 0x7fffffff; }

// The larger ones of pairs of lanes that differ by bit By: of a in the lanes without that bit, of b in those with it.
template <int By, int... I>
DLT_FN Magnitudes merged(Magnitudes a, Magnitudes b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return larger(__builtin_shufflevector(a, b, ((I & By) != 0 ? I + n : I)...),
                __builtin_shufflevector(a, b, ((I & By) != 0 ? (I ^ By) + n : I ^ By)...));
}
// The largest magnitudes of 2 * By blocks, each in the lanes whose number has the same bits up to By.
template <int By>
DLT_FN Magnitudes largest_of_blocks(const float* x, int64_t block) {
  if constexpr (By == 0) {
    Magnitudes most = magnitudes_of(x);
    for (int64_t i = lanes; i < block; i += lanes) most = larger(most, magnitudes_of(x + i));
    return most;
  } else {
    const Magnitudes first = largest_of_blocks<By / 2>(x, block);
    return merged<By>(first, largest_of_blocks<By / 2>(x + By * block, block), std::make_integer_sequence<int, lanes>());
  }
}

DLT_FN uint32_t largest_of(const float* x, int64_t n) {
  Magnitudes most{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) most = larger(most, magnitudes_of(x + i));
  int32_t found = 0;
#pragma GCC unroll 16
  for (int k = 0; k < lanes; ++k) found = most[k] > found ? most[k] : found;
  for (; i < n; ++i) {
    const int32_t magnitude = int32_t(magnitude_bits(read_at<float>(x, i)));
    found = magnitude > found ? magnitude : found;
  }
  return uint32_t(found);
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
  int64_t i = 0;
  for (; block % lanes == 0 && i + lanes <= blocks; i += lanes) {
    auto* const to = reinterpret_cast<char*>(out + i);
    const Magnitudes most = larger(load<int32_t>(to), largest_of_blocks<lanes / 2>(x + i * block, block));
    *reinterpret_cast<pack<int32_t>::loose*>(to) = most;
  }
  for (; i < blocks; ++i) {
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
