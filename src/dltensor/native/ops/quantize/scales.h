// SPDX-License-Identifier: Apache-2.0
// The scale of a block of float32, out of its largest magnitude, and the factor or divisor that its elements take. For g++ and
// NVRTC; no loops, no arrays. docs/quantised-files.md has these definitions as a table.
#ifndef DLTENSOR_SCALES_H_
#define DLTENSOR_SCALES_H_

#include "native/ops/floats.h"

namespace dlt {

// Magnitudes as the bits that order them: a block with an infinity or NaN has the largest of all.
inline constexpr uint32_t infinite_magnitude = 0x7f800000u;
DLT_FN uint32_t magnitude_bits(float x) { return bits_as<uint32_t>(x) & 0x7fffffffu; }

// How a format makes scales.
enum class ScaleKind : int {
  power,  // a power of two, float8_e8m0fnu
  ratio,  // the largest magnitude over the largest element, float32
  two_level,  // that ratio as a float8_e4m3fn, times one float32 of the tensor
};

// How the exponent of a power of two follows from the largest magnitude of a block: `carry` is what is added to the magnitude before
// its exponent is taken, `top` the exponent of the largest element. The rules are those of ScaleRule, by number.
struct PowerOf {
  uint32_t carry;
  int32_t top;
};
DLT_FN PowerOf power_of(int rule, float largest_element, int mantissa) {
  const uint32_t bits = bits_as<uint32_t>(largest_element);
  const uint32_t half = uint32_t(1) << (22 - mantissa), rest = 0x7fffffu - (bits & 0x7fffffu);
  return {rule == 0 ? 0u : rule == 1 ? half : rest, int32_t(bits >> 23) - 127};
}

// A factor or divisor that says: the block has an infinity or NaN, and its elements are 0.
DLT_FN float not_finite() { return bits_as<float>(0x7fc00000u); }

// The byte of a power of two. `carry` is the rule: what is added to the magnitude before its exponent is taken; `top` the exponent
// of the largest element. 0 is 2^-127, also of a block of zeros.
DLT_FN uint8_t power_scale(uint32_t largest, uint32_t carry, int32_t top) {
  const int32_t exponent = int32_t((largest + carry) >> 23) - top;
  const int32_t clamped = exponent > 0 ? exponent : 0;
  return uint8_t(largest >= infinite_magnitude ? 255 : clamped);
}
// The factor of the elements: 1 / scale, which is exact.
DLT_FN float power_factor(uint8_t scale) {
  const float factor = bits_as<float>(uint32_t(254 - int32_t(scale)) << 23);
  return scale == 255 ? not_finite() : factor;
}

// The scale that elements are divided by; 1 where it would be 0.
DLT_FN float ratio_scale(uint32_t largest, float most) {
  const float ratio = bits_as<float>(largest) / most;
  const float scale = ratio == 0 ? 1.0f : ratio;
  return largest >= infinite_magnitude ? not_finite() : scale;
}

// The scale of a block that has another one of the whole tensor: at least the smallest positive one, 1 of a block of zeros.
DLT_FN float8_e4m3fn two_level_scale(uint32_t largest, float tensor_scale, float most) {
  const float8_e4m3fn rounded = round_to<float8_e4m3fn>(bits_as<float>(largest) / (tensor_scale * most), true);
  const uint8_t positive = rounded.bits == 0 ? uint8_t(1) : rounded.bits;
  const uint8_t finite = largest == 0 ? uint8_t(0x38) : positive;
  return {uint8_t(largest >= infinite_magnitude ? 0x7f : finite)};
}
DLT_FN float two_level_divisor(float8_e4m3fn scale, float tensor_scale) {
  const float both = to_float(scale) * tensor_scale, divisor = both == 0 ? 1.0f : both;
  return scale.bits == 0x7f ? not_finite() : divisor;
}

}  // namespace dlt

#endif  // DLTENSOR_SCALES_H_
