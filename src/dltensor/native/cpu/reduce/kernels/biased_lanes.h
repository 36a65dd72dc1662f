// SPDX-License-Identifier: Apache-2.0
// Sums of float64 beside a large number in lanes: an addition to it is exact but for the bits below its last one, which are added
// apart. Half as many operations as the errors of plain sums.
#pragma once
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

// The large number and the unit of its last bit. A lane is known as long as its sum keeps the number's first bits.
struct Bias {
  static constexpr uint64_t free_bits = (uint64_t(1) << 49) - 1;
  integers bits{};
  double unit = 0;
  // For sums of `n` elements a lane, and of all lanes, whose bits are not far above `most`; false when they are too large.
  DLT_FN bool choose(uint64_t most, int64_t n) {
    const uint64_t field = (most >> 52) + 7 + uint64_t(log2_above(n));
    const uint64_t first = (field < 300 ? 300 : field) << 52;
    bits = integers{} + int64_t(first | uint64_t(9) << 48);  // 1.5625 2^k: sums stay within 2^k / 16 of it
    unit = bits_as<double>(first - (uint64_t(52) << 52));
    return field < 1900;
  }
  DLT_FN V number() const { return reinterpret_cast<V>(bits); }
};

// The magnitudes in registers, of which the largest chooses a bias. Of a NaN the sum leaves its bits.
struct Magnitudes {
  V all = V{};
  DLT_FN void deposit(V x) {
    const V size = size_of(x);
    all = size > all ? size : all;
  }
  uint64_t most() const {
    double largest = 0;
    for (int j = 0; j < lanes; ++j) largest = all[j] > largest ? all[j] : largest;
    return bits_as<uint64_t>(largest);
  }
};

// K registers of sums. EXACT: what is added apart has a large number of its own, and is exact or not known; else it is bounded.
template <int K, bool EXACT>
class BiasedLanes {
 public:
  DLT_FN explicit BiasedLanes(const Bias& bias) : bias_(bias.bits), rest_bias_(V{} + bias.unit * 0x1.8p13) {
    for (int k = 0; k < K; ++k) {
      sums_[k] = bias.number();
      rests_[k] = EXACT ? rest_bias_ : V{};
    }
  }
  DLT_FN void deposit(int k, V x, const Fused& by) {
    const V sum = sums_[k] + x, part = by.minus(sum, sums_[k]);
    changed_ |= reinterpret_cast<integers>(sum) ^ bias_;
    sums_[k] = sum;
    deposit_rest(k, by.minus(x, part), by);
  }
  // Numbers of at most the unit.
  DLT_FN void deposit_rest(int k, V x, const Fused& by) {
    if constexpr (EXACT) {
      const V rest = rests_[k] + x;
      lost_ |= reinterpret_cast<integers>(x - by.minus(rest, rests_[k]));
      rests_[k] = rest;
    } else {
      rests_[k] = by.plus(x, rests_[k]);
    }
  }
  DLT_FN V above(int k) const { return sums_[k] - reinterpret_cast<V>(bias_); }
  DLT_FN V below(int k) const { return EXACT ? rests_[k] - rest_bias_ : rests_[k]; }
  // The bits of what is not known.
  DLT_FN integers unknown() const {
    const integers changed = changed_ & int64_t(~Bias::free_bits);
    return EXACT ? changed | (lost_ & int64_t(~uint64_t(0) >> 1)) : changed;
  }

 private:
  integers bias_, changed_{}, lost_{};
  V rest_bias_, sums_[K], rests_[K];
};
// At most what the bounded rests of `n` additions a lane, and of all lanes, are off by.
DLT_FN double rest_error(const Bias& bias, int64_t n) { return double(n + 8) * double(n + 8) * bias.unit * 0x1p-52; }

}  // namespace
}  // namespace dlt::DLT_LEVEL
