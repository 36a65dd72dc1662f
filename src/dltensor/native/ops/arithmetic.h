// SPDX-License-Identifier: Apache-2.0
// Properties of the types that are computed in, the C library's functions by overload, signs, and exact sums of two numbers: what
// bodies of operations, reductions and scans share. For g++ and NVRTC.
#pragma once
#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

#include "native/ops/integers.h"

namespace dlt {

template <class T>
struct is_complex {
  static constexpr bool value = false;
};
template <class T>
struct is_complex<complex_of<T>> {
  static constexpr bool value = true;
};
template <class T>
struct part_of {
  using type = T;
};
template <class T>
struct part_of<complex_of<T>> {
  using type = T;
};
template <class T>
inline constexpr bool is_float = is_same<T, float>::value || is_same<T, double>::value;
template <class T>
inline constexpr bool is_half = is_same<T, float16>::value || is_same<T, bfloat16>::value;
template <class T>
inline constexpr bool is_bool = is_same<T, bool>::value;
template <class T>
inline constexpr bool is_integer = !is_float<T> && !is_bool<T> && !is_complex<T>::value;

template <class T>
inline constexpr unsigned kind_bit = is_bool<T>      ? 1
                                     : is_integer<T> ? 2
                                     : is_float<T>   ? 4
                                                     : 8;

// Arithmetic that wraps: in an unsigned type at least as wide as unsigned, so that nothing is promoted to signed.
template <int BYTES>
struct unsigned_of {
  using type = uint32_t;
};
template <>
struct unsigned_of<8> {
  using type = uint64_t;
};
template <class T>
using wrapping = typename unsigned_of<sizeof(T)>::type;

// ---- the C library's functions by overload: expf for float, exp for double
#define DLT_LIBRARY_1(name)                                     \
  DLT_FN float library_##name(float a) { return ::name##f(a); } \
  DLT_FN double library_##name(double a) { return ::name(a); }
#define DLT_LIBRARY_2(name)                                                 \
  DLT_FN float library_##name(float a, float b) { return ::name##f(a, b); } \
  DLT_FN double library_##name(double a, double b) { return ::name(a, b); }
DLT_LIBRARY_1(ceil)
DLT_LIBRARY_1(floor)
DLT_LIBRARY_1(trunc)
DLT_LIBRARY_1(rint)
DLT_LIBRARY_1(sqrt)
DLT_LIBRARY_2(fmod)

template <class F>
DLT_FN typename wide<F>::bits sign_mask() {
  return typename wide<F>::bits(typename wide<F>::bits(1) << (sizeof(F) * 8 - 1));
}
template <class F>
DLT_FN F infinity_of() {
  return bits_as<F>(typename wide<F>::bits(2 * wide<F>::bias + 1) << wide<F>::mantissa);
}

// Operations on the sign bit, of halves too. A NaN keeps its other bits (IEEE 754, 5.5.1), as it does in no arithmetic of a GPU.
template <class F>
DLT_FN F magnitude_of(F a) {
  using U = typename wide<F>::bits;
  return bits_as<F>(U(bits_as<U>(a) & ~sign_mask<F>()));
}
template <class F>
DLT_FN F with_sign(F a, F of) {
  using U = typename wide<F>::bits;
  return bits_as<F>(U((bits_as<U>(a) & ~sign_mask<F>()) | (bits_as<U>(of) & sign_mask<F>())));
}
// Before a sum, too: of -a the compiler may make a difference.
template <class F>
DLT_FN F negated(F a) {
  using U = typename wide<F>::bits;
  return bits_as<F>(U(bits_as<U>(a) ^ sign_mask<F>()));
}

// The sum of two doubles as a sum that is rounded and the exact rest.
struct Pair {
  double high, low;
};
DLT_FN Pair exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
// `sum.high` with its last bit set when the rest is not 0: rounding that to at most 50 bits rounds the exact sum.
DLT_FN double odd_sum(Pair sum) {
  const int64_t bits = bits_as<int64_t>(sum.high);
  const bool away = (sum.low > 0) == (sum.high > 0);
  const bool adjust = sum.low != 0 && (bits & 1) == 0;
  return bits_as<double>(adjust ? (away ? bits + 1 : bits - 1) : bits);
}

// a * b + c with one rounding, with or without an instruction for it.
DLT_FN float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDACC_RTC__) || defined(__aarch64__)
  return ::fmaf(a, b, c);
#else
  const double product = double(a) * double(b);  // exact: 48 bits
  const double sum = product + double(c);
  // Infinities and NaNs have no remainder.
  const double odd = odd_sum(exact_sum(product, double(c)));
  return float(magnitude_of(sum) < bits_as<double>(uint64_t(0x7ff) << 52) ? odd : sum);
#endif
}
DLT_FN double fused(double a, double b, double c) { return ::fma(a, b, c); }

}  // namespace dlt
