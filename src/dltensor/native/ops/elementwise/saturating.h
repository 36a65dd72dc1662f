// SPDX-License-Identifier: Apache-2.0
// The bodies behind saturate=True: the exact result, rounded half to even, clamped to the dtype. Floats are as always.
#pragma once
#include "native/ops/elementwise/bodies.h"

namespace dlt {

// A signed type that holds every sum and product of two T; 64 bits have none.
template <int BYTES>
struct twice {
  using type = int64_t;
};
template <>
struct twice<1> {
  using type = int32_t;
};
template <class T>
using doubled = typename twice<sizeof(T)>::type;

#if !defined(__CUDACC_RTC__)
__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;
#endif

namespace saturated {

template <class T>
DLT_FN T bound(bool negative) {
  return negative ? range<T>::lowest : range<T>::highest;
}

template <class T>
DLT_FN T add(T a, T b) {
  if constexpr (!is_integer<T>) return ops::add(a, b);
  else if constexpr (sizeof(T) < 4) return clamp_integer<T>(int32_t(a) + int32_t(b));
  else if constexpr (!range<T>::is_signed) {
    const T sum = T(a + b);
    return sum < a ? range<T>::highest : sum;
  } else {
    const T sum = ops::add(a, b);
    return ((a ^ sum) & (b ^ sum)) < 0 ? bound<T>(a < 0) : sum;
  }
}

template <class T>
DLT_FN T subtract(T a, T b) {
  if constexpr (!is_integer<T>) return ops::subtract(a, b);
  else if constexpr (sizeof(T) < 4) return clamp_integer<T>(int32_t(a) - int32_t(b));
  else if constexpr (!range<T>::is_signed) return a < b ? T(0) : T(a - b);
  else {
    const T rest = ops::subtract(a, b);
    return ((a ^ b) & (a ^ rest)) < 0 ? bound<T>(a < 0) : rest;
  }
}

template <class T>
DLT_FN T multiply(T a, T b) {
  if constexpr (!is_integer<T>) return ops::multiply(a, b);
  else if constexpr (sizeof(T) < 4) {
    if constexpr (range<T>::is_signed || sizeof(T) == 1) return clamp_integer<T>(int32_t(a) * int32_t(b));
    else return clamp_integer<T>(uint32_t(a) * uint32_t(b));
  } else if constexpr (sizeof(T) == 4) {
    if constexpr (range<T>::is_signed) return clamp_integer<T>(int64_t(a) * int64_t(b));
    else return clamp_integer<T>(uint64_t(a) * uint64_t(b));
  } else {
#if defined(__CUDACC_RTC__)
    if constexpr (range<T>::is_signed) {
      const int64_t high = __mul64hi(a, b), low = int64_t(uint64_t(a) * uint64_t(b));
      return high == (low >> 63) ? low : bound<T>((a < 0) != (b < 0));
    } else {
      return __umul64hi(a, b) == 0 ? a * b : range<T>::highest;
    }
#else
    T product;
    return __builtin_mul_overflow(a, b, &product) ? bound<T>((a < T(0)) != (b < T(0))) : product;
#endif
  }
}

// A quotient of two integers of up to 32 bits that is not a half way point differs from one by at least 1 / (2 a) of
// itself, which a float of twice the digits distinguishes.
template <class T>
DLT_FN T divide(T a, T b) {
  if constexpr (!is_integer<T>) return ops::divide(a, b);
  else if constexpr (sizeof(T) < 4) return clamp_float<T>(library_rint(float(a) / float(b)));
  else if constexpr (sizeof(T) == 4) return clamp_float<T>(library_rint(double(a) / double(b)));
  else {
    if (b == 0) return a == 0 ? T(0) : bound<T>(a < T(0));
    const bool negative = (a < T(0)) != (b < T(0));
    const uint64_t x = a < T(0) ? uint64_t(0) - uint64_t(a) : uint64_t(a),
                   y = b < T(0) ? uint64_t(0) - uint64_t(b) : uint64_t(b);
    uint64_t quotient = x / y;
    const uint64_t rest = x % y;
    quotient += rest > y - rest || (rest == y - rest && (quotient & 1)) ? 1 : 0;
    if constexpr (!range<T>::is_signed) return quotient;
    else return negative ? T(uint64_t(0) - quotient) : quotient > uint64_t(range<T>::highest) ? range<T>::highest : T(quotient);
  }
}

template <class T>
DLT_FN T negative(T a) {
  if constexpr (!is_integer<T>) return ops::negative(a);
  else if constexpr (!range<T>::is_signed) return T(0);
  else return a == range<T>::lowest ? range<T>::highest : ops::negative(a);
}
template <class T>
DLT_FN T abs(T a) {
  if constexpr (!is_integer<T>) return ops::abs(a);
  else if constexpr (!range<T>::is_signed) return a;
  else return a < T(0) ? negative(a) : a;
}

// a * b + c where c and the result may be the unsigned twin of a and b.
template <class T, class C>
DLT_FN C fma(T a, T b, C c) {
  if constexpr (!is_integer<T>) return ops::fma(a, b, c);
  else if constexpr (sizeof(T) < 4) return clamp_integer<C>(int64_t(a) * int64_t(b) + int64_t(c));
  else if constexpr (sizeof(T) == 4) {
    if constexpr (range<T>::is_signed) return clamp_integer<C>(int64_t(a) * int64_t(b) + int64_t(c));
    else return clamp_integer<C>(uint64_t(a) * uint64_t(b) + uint64_t(c));
  } else {
#if defined(__CUDACC_RTC__)
    // High and low words, with the carry by hand.
    const uint64_t low = uint64_t(a) * uint64_t(b), sum = low + uint64_t(c);
    const uint64_t carry = sum < low ? 1 : 0;
    const int64_t extension = range<C>::is_signed && c < C(0) ? -1 : 0;
    if constexpr (!range<T>::is_signed) {
      const uint64_t high = __umul64hi(a, b) + carry;
      return high != 0 ? range<C>::highest : C(sum);
    } else {
      const int64_t high = __mul64hi(a, b) + extension + int64_t(carry);
      if constexpr (range<C>::is_signed) return high == (int64_t(sum) >> 63) ? C(sum) : bound<C>(high < 0);
      else return high < 0 ? C(0) : high > 0 ? range<C>::highest : C(sum);
    }
#else
    if constexpr (range<T>::is_signed) {
      const int128_t exact = int128_t(a) * b + int128_t(c);
      return exact < int128_t(range<C>::lowest)    ? range<C>::lowest
             : exact > int128_t(range<C>::highest) ? range<C>::highest
                                                   : C(exact);
    } else {
      const uint128_t exact = uint128_t(a) * b + uint128_t(c);
      return exact > uint128_t(range<C>::highest) ? range<C>::highest : C(exact);
    }
#endif
  }
}

// ---- an integer of up to 32 bits op any real number: rounded as float64, then clamped

DLT_FN Pair exact_product(double a, double b) {
  const double product = a * b;
  return {product, fused(a, b, -product)};
}
// The integer nearest to high + low, half to even by the exact sum: only a half way `high` needs to look at `low`.
DLT_FN double round_pair(Pair value) {
  const double whole = library_rint(value.high), rest = value.high - whole;
  const bool half = magnitude_of(rest) == 0.5 && value.low != 0;
  const double upward = library_floor(value.high) + (value.low > 0 ? 1.0 : 0.0);
  return half ? upward : whole;
}
DLT_FN double real_sum(double a, double s) { return round_pair(exact_sum(a, s)); }
DLT_FN double real_difference(double a, double s) { return round_pair(exact_sum(s, -a)); }
DLT_FN double real_product(double a, double s) { return round_pair(exact_product(a, s)); }
DLT_FN double real_quotient(double a, double b) {
  const double quotient = a / b;
  const double rest = fused(-quotient, b, a);  // exact; over b it has the sign of what was rounded away
  return round_pair({quotient, (rest < 0) != (b < 0) ? -magnitude_of(rest) : magnitude_of(rest)});
}
// s * a + c of integers a and c: the product's rest and the sum's rest are far below a half, and added up keep their sign.
DLT_FN double real_fused(double a, double s, double c) {
  const Pair product = exact_product(a, s);
  const Pair sum = exact_sum(product.high, c);
  const Pair total = exact_sum(sum.high, sum.low + product.low);
  // An infinite scalar has no rests.
  return ops::finite_part(sum.high) ? round_pair(total) : sum.high;
}

template <class T>
DLT_FN T add_real(T a, double s) {
  return clamp_float<T>(real_sum(double(a), s));
}
template <class T>
DLT_FN T rsub_real(T a, double s) {
  return clamp_float<T>(real_difference(double(a), s));
}
template <class T>
DLT_FN T multiply_real(T a, double s) {
  return clamp_float<T>(real_product(double(a), s));
}
template <class T>
DLT_FN T divide_real(T a, double s) {
  return clamp_float<T>(real_quotient(double(a), s));
}
template <class T>
DLT_FN T rdivide_real(T a, double s) {
  return clamp_float<T>(real_quotient(s, double(a)));
}
template <class T, class C>
DLT_FN C fma_real(T a, double s, C c) {
  return clamp_float<C>(real_fused(double(a), s, double(c)));
}

}  // namespace saturated
}  // namespace dlt
