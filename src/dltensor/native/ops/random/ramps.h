// SPDX-License-Identifier: Apache-2.0
// Evenly spaced numbers, each rounded once from the exact value in fixed point of 128 bits: on the CPU and on CUDA devices.
#pragma once
#include "native/ops/reduce/exact_sums.h"
#include "native/ops/random/steps.h"

namespace dlt {

namespace ramps {

// An integer of 128 bits, in the complement of two where it is negative; operations are modulo 2^128.
struct Wide {
  uint64_t high, low;
};
DLT_FN bool is_negative(Wide a) { return (a.high >> 63) != 0; }
DLT_FN Wide plus(Wide a, Wide b) {
  const uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low), low};
}
DLT_FN Wide inverted(Wide a) { return {~a.high, ~a.low}; }
DLT_FN Wide negated(Wide a) { return plus(inverted(a), {0, 1}); }
DLT_FN Wide product(uint64_t a, uint64_t b) {
#if defined(__CUDACC_RTC__)
  return {__umul64hi(a, b), a * b};
#else
  __extension__ const auto all = static_cast<unsigned __int128>(a) * b;
  return {uint64_t(all >> 64), uint64_t(all)};
#endif
}
DLT_FN Wide times(Wide a, uint64_t b) {
  const Wide low = product(a.low, b);
  return {low.high + a.high * b, low.low};
}
DLT_FN double as_double(Wide a) {
  return double(a.high) * 0x1p64 + double(a.low);
}  // of no negative one; rounded several times

// The quotient by a number below 2^63, which is itself below 2^63, and the rest.
DLT_FN uint64_t divide(Wide n, uint64_t by, uint64_t* rest) {
  if (n.high == 0) {
    const uint64_t quotient = n.low / by;
    *rest = n.low - quotient * by;
    return quotient;
  }
  // An estimate has 50 digits, and what it leaves is divided again.
  uint64_t quotient = uint64_t(as_double(n) / double(by));
  Wide left = plus(n, negated(product(quotient, by)));
  while (left.high != 0 || left.low >= by) {
    const bool negative = is_negative(left);
    const uint64_t more = uint64_t(as_double(negative ? negated(left) : left) / double(by)), change = more ? more : 1;
    const Wide part = product(change, by);
    quotient = negative ? quotient - change : quotient + change;
    left = plus(left, negative ? part : negated(part));
  }
  *rest = left.low;
  return quotient;
}

DLT_FN int leading_zeros(uint64_t bits) {  // of a number above 0
#if defined(__CUDACC_RTC__)
  return __clzll(int64_t(bits));
#else
  return __builtin_clzll(bits);
#endif
}

// 2^exponent times 0 or a value in [2^63, 2^64]: products are exact until the last one is rounded.
DLT_FN double scaled(double value, int exponent) {
  using exact_sums::power_of_two;
  if (exponent < -1022) return value * 0x1p-1000 * power_of_two(exponent < -2022 ? -1022 : exponent + 1000);
  if (exponent > 1023) return value * 0x1p1023 * power_of_two(exponent > 2046 ? 1023 : exponent - 1023);
  return value * power_of_two(exponent);
}

// The current number: exactly `floor`, or between `floor` and `floor` + 1 where `more` is true.
struct At {
  Wide floor;
  bool more;
  int fraction;

  // Toward 0; the low 64 bits.
  DLT_FN uint64_t whole() const {
    const bool negative = is_negative(floor);
    uint64_t down;
    bool dropped = more;  // something that is not 0
    if (fraction > 126) {  // a shift by the width of the type would not be one
      down = negative ? ~uint64_t(0) : 0;
      dropped |= (floor.high | floor.low) != 0;
    } else if (fraction > 64) {
      down = uint64_t(int64_t(floor.high) >> (fraction - 64));
      dropped |= floor.low != 0 || floor.high << (128 - fraction) != 0;
    } else if (fraction == 64) {
      down = floor.high;
      dropped |= floor.low != 0;
    } else if (fraction > 0) {
      down = floor.high << (64 - fraction) | floor.low >> fraction;
      dropped |= floor.low << (64 - fraction) != 0;
    } else {
      down = floor.low;
    }
    return down + (negative && dropped);
  }

  // The leading 64 bits times 2^exponent; the last bit is a sticky bit: set if any dropped bit is set.
  DLT_FN uint64_t leading(bool* negative, int* exponent) const {
    *negative = is_negative(floor);
    // The complement of a negative number is its magnitude less 1, which is its floor where there is more.
    const Wide size = *negative ? (more ? inverted(floor) : negated(floor)) : floor;
    *exponent = -fraction;
    if (size.high == 0) {
      if (size.low == 0) return 0;
      const int left = leading_zeros(size.low);
      *exponent -= left;
      return size.low << left | uint64_t(more);
    }
    const int right = 64 - leading_zeros(size.high);
    *exponent += right;
    const bool below = right == 64 ? size.low != 0 : size.low << (64 - right) != 0;
    const uint64_t bits = right == 64 ? size.high : size.high << (64 - right) | size.low >> right;
    return bits | uint64_t(below || more);
  }

  DLT_FN double nearest() const {
    bool negative;
    int exponent;
    const uint64_t bits = leading(&negative, &exponent);
    const double size = scaled(double(bits), exponent);
    return negative ? -size : size;
  }

  // A double that rounds to fewer digits exactly as the number itself does (round to odd).
  DLT_FN double odd() const {
    bool negative;
    int exponent;
    const uint64_t bits = leading(&negative, &exponent);
    const double size = scaled(to_odd(bits), exponent);
    return negative ? -size : size;
  }

  // The nearest float, or an integer of the number's low bits.
  template <class T>
  DLT_FN T as() const {
    if constexpr (is_same<T, double>::value) return nearest();
    else if constexpr (is_same<T, float>::value || is_half<T>) return from<T>(odd());
    else return T(whole());
  }
};

// The running sum of a ramp: number i is (floor + over / steps) / 2^fraction.
struct Place {
  Wide floor;
  uint64_t over;
  DLT_FN At at(const Ramp& r) const { return {floor, over != 0, r.fraction}; }
  DLT_FN void advance(const Ramp& r) {
    floor = plus(floor, {uint64_t(r.step_high), r.step_low});
    over += r.rest;
    if (over >= r.steps) {
      over -= r.steps;
      floor = plus(floor, {0, 1});
    }
  }
};

DLT_FN Place place(const Ramp& r, uint64_t i) {
  uint64_t over;
  const uint64_t carry = divide(product(i, r.rest), r.steps, &over);
  const Wide first{uint64_t(r.first_high), r.first_low}, step{uint64_t(r.step_high), r.step_low};
  return {plus(plus(first, times(step, i)), {0, carry}), over};
}

// ---- numbers in float64, which stand where no rounding of the exact one could be another

// False where the number is in doubt.
template <class T>
DLT_FN bool round_quickly(const Quick& q, uint64_t i, T* out) {
  const double n = double(i), shift = n * q.step;
  T other;
  if constexpr (is_same<T, double>::value) {
    const Pair sum = exact_sum(q.first, shift);
    const double low = sum.low + (fused(n, q.step, -shift) + (q.first_low + n * q.step_low));
    *out = sum.high + (low - q.fine);
    other = sum.high + (low + q.fine);
  } else {
    const double sum = q.first + shift;
    *out = from<T>(sum - q.coarse);
    other = from<T>(sum + q.coarse);
  }
  return q.known && exact_sums::same_bits(*out, other);
}

}  // namespace ramps
}  // namespace dlt
