// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders of many integers by one: a multiplication and shifts each, in place of a division.
// Granlund, Montgomery: Division by Invariant Integers using Multiplication, PLDI 1994.
#pragma once
#include <bit>
#include <type_traits>

#include "native/cpu/elementwise/kernels/loops.h"
#include "native/cpu/runtime/kernels/registers.h"

namespace dlt::DLT_LEVEL {

__extension__ typedef unsigned __int128 uint128_t;

// An unsigned type of twice the width.
template <class U>
using twice_t = std::conditional_t<sizeof(U) == 8, uint128_t, std::conditional_t<sizeof(U) == 4, uint64_t, uint32_t>>;

// The quotient of unsigned integers by one from 2 on.
template <class U>
struct Inverse {
  static constexpr int bits = 8 * sizeof(U);
  using Wide = twice_t<U>;

  explicit Inverse(U divisor) {
    const int log2 = bits - std::countl_zero(U(divisor - 1));  // rounded up
    const U excess = U((log2 == bits ? U(0) : U(U(1) << log2)) - divisor);
    multiplier = U((Wide(excess) << bits) / divisor + 1);
    shift = log2 - 1;
  }
  DLT_FN U of(U x) const {
    const U high = U((Wide(multiplier) * x) >> bits);
    return U(U(high + U(U(x - high) >> 1)) >> shift);
  }

  U multiplier;
  int shift;
};

// floor(x / divisor), for a divisor other than 0, 1 and -1. Where that is negative, it is -1 - floor((-1 - y) / d) of
// y = x or -x and d = abs(divisor). The arithmetic is unsigned: the smallest integer has a magnitude too.
template <class T, bool NEGATIVE>
struct FloorDivision {
  using U = std::make_unsigned_t<T>;
  static constexpr bool is_signed = std::is_signed_v<T>;

  explicit FloorDivision(T divisor) : inverse(NEGATIVE ? U(0 - U(divisor)) : U(divisor)) {}
  DLT_FN T of(T x) const {
    if constexpr (is_signed) {
      const U below = (NEGATIVE ? x > 0 : x < 0) ? U(-1) : U(0);
      return T(U(inverse.of(U((NEGATIVE ? U(0 - U(x)) : U(x)) ^ below)) ^ below));
    } else {
      return inverse.of(x);
    }
  }

  Inverse<U> inverse;
};

// The same of bytes, in registers of 16 bits, where one multiplication is exact and nothing overflows.
template <class T>
struct ByteDivision {
  explicit ByteDivision(T divisor)
      : divisor(divisor),
        multiplier(uint16_t((1 << 16) / (divisor < 0 ? -divisor : divisor) + 1)),
        negated(divisor < 0 ? -1 : 0) {}
  DLT_FN int16_t of(int16_t x) const {
    const int16_t dividend = int16_t((x ^ negated) - negated);
    const int16_t below = int16_t(dividend >> 15);
    return int16_t(uint16_t((uint32_t(uint16_t(dividend ^ below)) * multiplier) >> 16) ^ below);
  }
  template <class Body>
  DLT_FN uint16_t half(int16_t x) const {
    const int16_t quotient = of(x);
    return uint8_t(std::is_same_v<Body, body_floor_divide> ? quotient : x - quotient * divisor);
  }
  // Two bytes at once.
  template <class Body>
  DLT_FN uint16_t pair(uint16_t both) const {
    constexpr bool is_signed = std::is_signed_v<T>;
    const int16_t low = is_signed ? int16_t(int16_t(both << 8) >> 8) : int16_t(both & 0xff);
    const int16_t high = is_signed ? int16_t(int16_t(both) >> 8) : int16_t(both >> 8);
    return uint16_t(half<Body>(low) | uint16_t(half<Body>(high) << 8));
  }

  int16_t divisor;
  uint16_t multiplier;
  int16_t negated;
};

template <class Body, class T, bool NEGATIVE>
void divided_by(void* out, const void* a, T divisor, int64_t n) {
  using U = std::make_unsigned_t<T>;
  const FloorDivision<T, NEGATIVE> division(divisor);
  if constexpr (std::is_same_v<Body, body_floor_divide>) {
    DLT_EACH keep(out, i, division.of(fetch<T>(a, i)));
  } else {
    DLT_EACH {
      const T x = fetch<T>(a, i);
      keep(out, i, T(U(U(x) - U(U(division.of(x)) * U(divisor)))));
    }
  }
}

template <class Body, class T>
void bytes_divided_by(void* out, const void* a, T divisor, int64_t count) {
  const ByteDivision<T> division(divisor);
  const int64_t n = count / 2;
  DLT_EACH keep<uint16_t>(out, i, division.template pair<Body>(fetch<uint16_t>(a, i)));
  if (count % 2) keep<T>(out, count - 1, T(division.template half<Body>(fetch<T>(a, count - 1))));
}

// Integers below this magnitude divide as float64: the quotient of such numbers that is no integer differs from the nearest one by
// more than its rounding. Integers of 32 bits are all below.
inline constexpr int64_t divided_as_floats = int64_t(1) << 51;
template <class T>
DLT_FN uint64_t bits_above(T x) {
  if constexpr (sizeof(T) < 8) return 0;
  else return (uint64_t(x) + uint64_t(std::is_signed_v<T> ? divided_as_floats : 0)) >> (std::is_signed_v<T> ? 52 : 51);
}

// The smallest integer of 32 bits divided by -1 wraps.
template <class T>
DLT_FN T as_integer(double x) {
  if constexpr (std::is_same_v<T, int32_t>) return T(x == 0x1p31 ? -0x1p31 : x);
  else return T(int64_t(x));
}

// The quotients or remainders of integers of 32 and 64 bits, by float64 where that is exact.
template <class Body, class T>
void divided_pairs(void* out, const void* a, const void* b, int64_t count, bool one_dividend) {
  constexpr int64_t block = 512;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t n = count - first < block ? count - first : block;
    const char* const x = static_cast<const char*>(a) + (one_dividend ? 0 : first * int64_t(sizeof(T)));
    const char* const y = static_cast<const char*>(b) + first * int64_t(sizeof(T));
    char* const to = static_cast<char*>(out) + first * int64_t(sizeof(T));
    uint64_t above = one_dividend ? bits_above(fetch<T>(x, 0)) : 0;
    if (!one_dividend) DLT_EACH above |= bits_above(fetch<T>(x, i));
    DLT_EACH above |= bits_above(fetch<T>(y, i));
    if (above != 0) {
      loop2<Body, T>(to, x, y, nullptr, n, one_dividend ? 1 : 0);
      continue;
    }
    const auto divide = [&](auto dividend) __attribute__((always_inline)) {
      DLT_EACH {
        const double p = dividend(i), q = double(fetch<T>(y, i)), divisor = q == 0 ? 1 : q;
        const double quotient = __builtin_floor(p / divisor);
        if constexpr (std::is_same_v<Body, body_floor_divide>) keep(to, i, as_integer<T>(q == 0 ? 0 : quotient));
        else keep(to, i, as_integer<T>(p - quotient * divisor));
      }
    };
    if (const double only = double(fetch<T>(x, 0)); one_dividend) divide([only](int64_t) { return only; });
    else divide([x](int64_t i) { return double(fetch<T>(x, i)); });
  }
}

// By one of 64 bits of a magnitude from 2 on, where all are small enough, with a product in place of a high one of twice the width:
// the quotient times the reciprocal is less than a third off, and so the integer nearest to it is floor(x / divisor) or one more.
template <class Body, class T>
void divided_by_small(void* out, const void* a, T divisor, int64_t count) {
  constexpr int64_t block = 512;
  constexpr double anchor = 0x1.8p52;  // its last place is 1: the adder rounds, and the low bits of sums are integers
  const uint64_t anchor_bits = bits_as<uint64_t>(anchor);
  const double sign = divisor < T(0) ? -1 : 1, magnitude = double(divisor) * sign, reciprocal = 1 / magnitude;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t n = count - first < block ? count - first : block;
    const char* const x = static_cast<const char*>(a) + first * int64_t(sizeof(T));
    char* const to = static_cast<char*>(out) + first * int64_t(sizeof(T));
    uint64_t above = 0;
    DLT_EACH above |= bits_above(fetch<T>(x, i));
    if (above != 0) {
      if (divisor > T(0)) divided_by<Body, T, false>(to, x, divisor, n);
      else if constexpr (std::is_signed_v<T>) divided_by<Body, T, true>(to, x, divisor, n);
      continue;
    }
    DLT_EACH {
      const double dividend = (bits_as<double>(uint64_t(fetch<T>(x, i)) + anchor_bits) - anchor) * sign;
      const double sum = dividend * reciprocal + anchor, rest = dividend - (sum - anchor) * magnitude;
      if constexpr (std::is_same_v<Body, body_floor_divide>) {
        keep(to, i, T(bits_as<uint64_t>(sum) - anchor_bits - uint64_t(rest < 0 ? 1 : 0)));
      } else {
        const double remainder = (rest < 0 ? rest + magnitude : rest) * sign;
        keep(to, i, T(bits_as<uint64_t>(remainder + anchor) - anchor_bits));
      }
    }
  }
}

// From so many elements on, the multiplier is worth its own division.
inline constexpr int64_t least_divided = 16;

// The loop of an operation over integers, where the second operand may be one number.
template <class Body, class T>
void divided(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const T divisor = (scalars & 3) == 2 && n >= least_divided ? fetch<T>(b, 0) : T(0);
  const bool is_one = divisor == T(1) || (std::is_signed_v<T> && divisor == T(-1));
  if constexpr (sizeof(T) >= 4 && register_bytes > 16)
    if ((scalars & 2) == 0 && n >= least_divided) return divided_pairs<Body, T>(out, a, b, n, (scalars & 1) != 0);
  if (divisor == 0 || is_one) loop2<Body, T>(out, a, b, c, n, scalars);
  else if constexpr (sizeof(T) == 1) bytes_divided_by<Body, T>(out, a, divisor, n);
  else if (sizeof(T) == 8 && register_bytes > 16 && bits_above(divisor) == 0) divided_by_small<Body, T>(out, a, divisor, n);
  else if (divisor > 0) divided_by<Body, T, false>(out, a, divisor, n);
  else if constexpr (std::is_signed_v<T>) divided_by<Body, T, true>(out, a, divisor, n);
}

}  // namespace dlt::DLT_LEVEL
