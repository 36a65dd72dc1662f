// SPDX-License-Identifier: Apache-2.0
// The loops of saturate=True over integers of 64 bits with any real number as scalar, in integers of 128 bits. No level has
// instructions for these, so they are compiled for the lowest one alone.
#include "native/ops/elementwise/saturating.h"

#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

// ---- exactly rounded, half to even, and clamped: in integers, since no float is wide enough
namespace exact {

// scalar = mantissa * 2^exponent, exactly. Infinite and NaN scalars are handled before.
struct Parts {
  int64_t mantissa;
  int exponent;
};
DLT_FN Parts parts(double s) {
  const uint64_t bits = bits_as<uint64_t>(s);
  const int field = int(bits >> 52 & 0x7ff);
  int64_t mantissa = int64_t(bits & ((uint64_t(1) << 52) - 1)) + (field != 0 ? int64_t(1) << 52 : 0);
  int exponent = (field != 0 ? field : 1) - 1075;
  if (mantissa == 0) return {0, 0};
  const int zeros = __builtin_ctzll(uint64_t(mantissa));
  mantissa >>= zeros;
  return {bits >> 63 ? -mantissa : mantissa, exponent + zeros};
}

template <class T>
DLT_FN T clamp(int128_t v) {
  return v < int128_t(range<T>::lowest) ? range<T>::lowest : v > int128_t(range<T>::highest) ? range<T>::highest : T(v);
}

// Clamps value * 2^exponent + c, rounded once. |value| < 2^118.
template <class T>
DLT_FN T scaled(int128_t value, int exponent, int128_t c) {
  if (value == 0) return clamp<T>(c);
  if (exponent >= 0) {
    // A shift of 66 moves even a 1 past the combined range of c and T.
    const int shift = exponent > 66 ? 66 : exponent;
    const int128_t limit = int128_t(1) << (126 - shift);
    if (value > limit || value < -limit) return value > 0 ? range<T>::highest : range<T>::lowest;
    return clamp<T>((value << shift) + c);
  }
  const int shift = -exponent > 126 ? 126 : -exponent;
  const int128_t whole = (value >> shift) + c;
  const uint128_t rest = uint128_t(value) & ((uint128_t(1) << shift) - 1), half = uint128_t(1) << (shift - 1);
  // Shifts beyond 126 leave less than a half on either side of 0.
  if (-exponent > 126) return clamp<T>(c);
  return clamp<T>(whole + (rest > half || (rest == half && (whole & 1)) ? 1 : 0));
}

// numerator * 2^exponent / denominator, rounded half to even: binary long division.
template <class T>
DLT_FN T quotient(uint128_t numerator, int exponent, uint128_t denominator, bool negative) {
  // Bring both to one power of two as far as the word size allows; beyond that the result is out of range or 0.
  while (exponent > 0 && (numerator >> 126) == 0) numerator <<= 1, --exponent;
  while (exponent < 0 && (denominator >> 126) == 0) denominator <<= 1, ++exponent;
  const T far = negative ? range<T>::lowest : range<T>::highest;
  if (exponent > 0) return far;
  if (exponent < 0) return T(0);
  const uint128_t whole = numerator / denominator, rest = numerator % denominator;
  if (whole >> 65) return far;
  const uint128_t gap = denominator - rest;
  const int128_t rounded = int128_t(whole) + (rest > gap || (rest == gap && (whole & 1)) ? 1 : 0);
  return clamp<T>(negative ? -rounded : rounded);
}

template <class T>
DLT_FN bool special(double s, T* out) {
  if (ops::isfinite(s)) return false;
  *out = clamp_float<T>(s);
  return true;
}
template <class T>
DLT_FN uint128_t size_of(T a) {
  return a < T(0) ? uint128_t(-int128_t(a)) : uint128_t(a);
}

template <class T>
T add(T a, double s) {
  T out;
  if (special(s, &out)) return out;
  const Parts p = parts(s);
  return scaled<T>(p.mantissa, p.exponent, a);
}
template <class T>
T rsub(T a, double s) {
  T out;
  if (special(s, &out)) return out;
  const Parts p = parts(s);
  return scaled<T>(p.mantissa, p.exponent, -int128_t(a));
}
template <class T>
T fma(T a, double s, T c) {
  if (!ops::isfinite(s)) return clamp_float<T>(double(a) * s);
  const Parts p = parts(s);
  return scaled<T>(int128_t(a) * p.mantissa, p.exponent, c);
}
template <class T>
T multiply(T a, double s) {
  return fma<T>(a, s, T(0));
}
template <class T>
T divide(T a, double s) {
  if (!ops::isfinite(s) || s == 0) return clamp_float<T>(double(a) / s);
  const Parts p = parts(s);
  return quotient<T>(size_of(a), -p.exponent, size_of(p.mantissa), (a < T(0)) != (s < 0));
}
template <class T>
T rdivide(T a, double s) {
  if (!ops::isfinite(s) || a == 0) return clamp_float<T>(s / double(a));
  const Parts p = parts(s);
  return quotient<T>(size_of(p.mantissa), p.exponent, size_of(a), (a < T(0)) != (s < 0));
}

}  // namespace exact

// ---- loops

template <class T>
struct real_bodies {
  template <T F(T, double)>
  static void one(void* out, const void* a, double s, const void*, int64_t n, unsigned scalars) {
    if (scalars & 1) {
      keep_all(out, F(fetch<T>(a, 0), s), n);
    } else {
      DLT_EACH keep(out, i, F(fetch<T>(a, i), s));
    }
  }
  template <T F(T, double, T)>
  static void two(void* out, const void* a, double s, const void* c, int64_t n, unsigned scalars) {
    const int64_t sa = ~scalars & 1, sc = ~scalars >> 2 & 1;
    DLT_EACH keep(out, i, F(fetch<T>(a, i * sa), s, fetch<T>(c, i * sc)));
  }
};

template <class T>
void fill_exact(ElementwiseKernels* kernels, int type) {
  using L = real_bodies<T>;
  auto& table = kernels->real_scalar;
  table[real_add][type] = L::template one<exact::add<T>>;
  table[real_rsub][type] = L::template one<exact::rsub<T>>;
  table[real_multiply][type] = L::template one<exact::multiply<T>>;
  table[real_divide][type] = L::template one<exact::divide<T>>;
  table[real_rdivide][type] = L::template one<exact::rdivide<T>>;
  table[real_fma][type] = L::template two<exact::fma<T>>;
}

}  // namespace

void fill_saturating_exact(ElementwiseKernels* kernels) {
  fill_exact<int64_t>(kernels, type_int64);
  fill_exact<uint64_t>(kernels, type_uint64);
}

}  // namespace dlt::DLT_LEVEL
