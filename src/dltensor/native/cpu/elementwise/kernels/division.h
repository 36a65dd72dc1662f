// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders of many integers by one: a multiplication and shifts each, in place of a division.
// Granlund, Montgomery: Division by Invariant Integers using Multiplication, PLDI 1994.
#pragma once
#include <bit>
#include <type_traits>

#include "native/cpu/elementwise/kernels/loops.h"

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

// From so many elements on, the multiplier is worth its own division.
inline constexpr int64_t least_divided = 16;

// The loop of an operation over integers, where the second operand may be one number.
template <class Body, class T>
void divided(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const T divisor = (scalars & 3) == 2 && n >= least_divided ? fetch<T>(b, 0) : T(0);
  const bool is_one = divisor == T(1) || (std::is_signed_v<T> && divisor == T(-1));
  if (divisor == 0 || is_one) loop2<Body, T>(out, a, b, c, n, scalars);
  else if constexpr (sizeof(T) == 1) bytes_divided_by<Body, T>(out, a, divisor, n);
  else if (divisor > 0) divided_by<Body, T, false>(out, a, divisor, n);
  else if constexpr (std::is_signed_v<T>) divided_by<Body, T, true>(out, a, divisor, n);
}

}  // namespace dlt::DLT_LEVEL
