// SPDX-License-Identifier: Apache-2.0
// Sums of float64: a large number takes the upper bits of each element by an exact addition, what it leaves is added apart.
#pragma once
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

typedef uint64_t naturals __attribute__((vector_size(register_bytes)));

DLT_FN integers bits_of(V x) { return reinterpret_cast<integers>(x); }
// all | (x ^ y)
DLT_FN integers with_changes(integers all, integers x, integers y) {
#if defined(__AVX512F__)
  return integers(_mm512_ternarylogic_epi64(__m512i(all), __m512i(x), __m512i(y), 0xf6));
#else
  return all | (x ^ y);
#endif
}
DLT_FN uint64_t any_of(integers x) {
  uint64_t all = 0;
  for (int j = 0; j < lanes; ++j) all |= uint64_t(x[j]);
  return all;
}
constexpr uint64_t sign = uint64_t(1) << 63, mantissa = (uint64_t(1) << 52) - 1;

// Largest magnitude of every `step`-th element, as a bit pattern.
uint64_t largest_magnitude(const double* p, int64_t n, int64_t step) {
  uint64_t most = 0;
  for (int64_t i = 0; i < n; i += step) {
    const uint64_t bits = static_cast<const loose_t<uint64_t>*>(static_cast<const void*>(p))[i] & ~sign;
    most = bits > most ? bits : most;
  }
  return most;
}

// Sums of elements that are small beside `large`. As long as `large` + the elements before lies between two powers of two, its
// bits count how many multiples of `unit` were added, and `rests` has what is below.
class BinnedSum {
 public:
  static constexpr int64_t block = 4096, blocks = 32;  // of which 64 bits hold the multiples

  void clear() {
    counts_ = integers{};
    rests_.clear();
    steps_ = 0;
    bound_ = 0;
  }
  // For elements whose bits are `most` at most, of which a lane takes a block's. False when they are too large or not finite.
  bool choose(uint64_t most) {
    const uint64_t field = (most >> 52) + 3 + uint64_t(log2_above(block / width));
    if (field > 1900) return false;
    const uint64_t bits = (field < 300 ? 300 : field) << 52;
    large_ = integers{} + int64_t(bits | uint64_t(1) << 51);
    unit_ = bits_as<double>(bits - (uint64_t(52) << 52));
    return true;
  }
  // False when an element is too large; then nothing is taken.
  bool deposit(const double* p, int64_t n) {
    const bool tried = plain_;
    if (plain_ && deposit_plain(p, n)) return true;
    plain_ = false;
    V rests[K];
    integers counts, any{};
    if (add<true>(p, n, &counts, rests) != 0) return false;
    for (int k = 0; k < K; ++k) any |= bits_of(rests[k]);
    if (!tried && (any_of(any) & ~sign) == 0 && deposit_plain(p, n)) return plain_ = true;
    counts_ += counts;
    rests_.deposit(0, (rests[0] + rests[1]) + (rests[2] + rests[3]));
    ++steps_;
    const double steps = double(n / width + 3);
    bound_ += 4 * steps * steps * unit_ *
              0x1p-54;  // rests are half a unit, their sums `steps` halves, the errors 2^-53 of that
    return true;
  }
  // Lane j goes into state j % parts.
  void flush(double (*states)[words], int parts) {
    for (int k = 0; k < parts; ++k) {
      int64_t count = 0;
      for (int j = k; j < lanes; j += parts) count += counts_[j];
      const double above = double(count);
      if (count != 0) {
        exact_sums::put(states[k], above * unit_);
        exact_sums::put(states[k], double(count - int64_t(above)) * unit_);
      }
      states[k][bound] += bound_ * (lanes / parts);
    }
    rests_.flush(states, parts, steps_);
    clear();
  }

 private:
  static constexpr int K = 4, width = K * lanes;

  // Without rests; false when there are any.
  bool deposit_plain(const double* p, int64_t n) {
    integers counts;
    const uint64_t lost = add<false>(p, n, &counts, nullptr);
    if ((lost & ~sign) != 0) return false;  // a sign alone is that of a -0.0
    counts_ += counts;
    rests_.deposit(0, V{});
    ++steps_;
    return true;
  }

  // Not 0 when `large` was too small or, without RESTS, when there were rests.
  template <bool RESTS>
  uint64_t add(const double* p, int64_t n, integers* counts, V* rests) const {
    const Fused fused;
    V sums[K], below[K];
    integers changes[K], lost[K];
    for (int k = 0; k < K; ++k) {
      sums[k] = reinterpret_cast<V>(large_);
      below[k] = -V{};
      changes[k] = lost[k] = integers{};
    }
    const auto take = [&](const double* from) {
      for (int k = 0; k < K; ++k) {
        const V x = load(from + k * lanes), sum = sums[k] + x, taken = fused.minus(sum, sums[k]);
        changes[k] = with_changes(changes[k], bits_of(sum), large_);
        if constexpr (RESTS) below[k] = fused.plus(x - taken, below[k]);
        else lost[k] = with_changes(lost[k], bits_of(taken), bits_of(x));
        sums[k] = sum;
      }
    };
    int64_t i = 0;
    for (; i + width <= n; i += width) {
      prefetch_page(p + i, width * 8);
      take(p + i);
    }
    if (i < n) {
      double last[width];
      for (int k = 0; k < width; ++k) last[k] = i + k < n ? element<double>(p, i + k) : 0.0;
      take(last);
    }
    integers all{};
    naturals counted{};  // of any bits where `large` was too small
    for (int k = 0; k < K; ++k) {
      counted += naturals(sums[k]) - naturals(large_);
      all |= (changes[k] & int64_t(~mantissa)) | lost[k];
      if constexpr (RESTS) rests[k] = below[k];
    }
    *counts = integers(counted);
    return any_of(all);
  }

  integers large_{}, counts_{};
  double unit_ = 0, bound_ = 0;
  TwoSumLanes<1> rests_;
  int64_t steps_ = 0;
  bool plain_ = false;  // whether the last block left no rests
};

constexpr int64_t sampled = 61;  // not of the period of a short row
template <int PARTS>
void deposit_binned(double (*states)[words], const double* p, int64_t n) {
  BinnedSum sums;
  sums.clear();
  bool chosen = false;
  for (int64_t i = 0, taken = 0; i < n; i += BinnedSum::block) {
    const int64_t m = n - i < BinnedSum::block ? n - i : BinnedSum::block;
    if (chosen && taken < BinnedSum::blocks && sums.deposit(p + i, m)) {
      ++taken;
      continue;
    }
    if (chosen) sums.flush(states, PARTS);
    taken = 1;
    constexpr uint64_t spare = uint64_t(2) << 52;  // elements that are not seen may be four times as large
    chosen = (sums.choose(largest_magnitude(p + i, m, sampled) + spare) && sums.deposit(p + i, m)) ||
             (sums.choose(largest_magnitude(p + i, m, 1)) && sums.deposit(p + i, m));
    if (!chosen) deposit_all<double, PARTS>(states, p + i, m);
  }
  if (chosen) sums.flush(states, PARTS);
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
