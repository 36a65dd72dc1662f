// SPDX-License-Identifier: Apache-2.0
// Complex functions for devices, which have no C99 complex library: the same principal values and branch cuts, signs of
// zero included. Accurate to the last digits; where |z| is near the ends of the exponent range some lose them. W. Kahan,
// "Branch cuts for complex elementary functions", 1987. g++ reads this too, for the tests.
#pragma once
#include "native/ops/elementwise/bodies.h"

namespace dlt::principal {

template <class F>
using C = complex_of<F>;

template <class F>
DLT_FN C<F> times(C<F> a, C<F> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// i * f(-i * z) and its like turn circular functions into hyperbolic ones.
template <class F>
DLT_FN C<F> times_i(C<F> z) {
  return {-z.im, z.re};
}
template <class F>
DLT_FN C<F> times_minus_i(C<F> z) {
  return {z.im, -z.re};
}
inline constexpr double half_pi = 1.57079632679489661923;
template <class F>
DLT_FN F infinity() {
  return bits_as<F>(typename wide<F>::bits(2 * wide<F>::bias + 1) << wide<F>::mantissa);
}
template <class F>
DLT_FN bool is_infinite(F x) {
  return magnitude_of(x) == infinity<F>();
}
template <class F>
DLT_FN bool is_finite(F x) {
  return magnitude_of(x) < infinity<F>();
}

template <class F>
DLT_FN C<F> exp(C<F> z) {
  const F size = library_exp(z.re);
  if (z.im == 0) return {size, z.im};
  if (!is_finite(z.im)) {
    if (z.re == -infinity<F>()) return {F(0), with_sign(F(0), z.im)};
    if (z.re == infinity<F>()) return {z.re, z.im - z.im};
    return {z.im - z.im, z.im - z.im};
  }
  if (size == 0) return {with_sign(F(0), library_cos(z.im)), with_sign(F(0), library_sin(z.im))};
  return {size * library_cos(z.im), size * library_sin(z.im)};
}

template <class F>
DLT_FN C<F> log(C<F> z) {
  const F x = magnitude_of(z.re), y = magnitude_of(z.im), angle = library_atan2(z.im, z.re);
  const F large = x > y ? x : y, small = x > y ? y : x;
  // Near the unit circle log |z| is small, and the rounding of |z| would be all of it.
  if (large > F(0.5) && large < F(1.5) && small < F(1.2))
    return {F(0.5) * library_log1p((large - 1) * (large + 1) + small * small), angle};
  return {library_log(library_hypot(z.re, z.im)), angle};
}

template <class F>
DLT_FN C<F> sqrt(C<F> z) {
  if (is_infinite(z.im)) return {infinity<F>(), z.im};
  if (z.re == 0 && z.im == 0) return {F(0), z.im};
  if (is_infinite(z.re)) {
    const F none = z.im - z.im;
    return z.re < 0 ? C<F>{magnitude_of(none), with_sign(infinity<F>(), z.im)} : C<F>{z.re, with_sign(none, z.im)};
  }
  // A quarter first, so that the sum cannot overflow.
  const F x = z.re / 4, y = z.im / 4;
  const F root = 2 * library_sqrt((magnitude_of(x) + library_hypot(x, y)) / 2);
  if (z.re >= 0) return {root, z.im / (2 * root)};
  return {magnitude_of(z.im) / (2 * root), with_sign(root, z.im)};
}

// The values at infinities and NaNs below are those of the array API's tables, which are C99's but for tanh and expm1.
template <class F>
DLT_FN F not_a_number() {
  return infinity<F>() - infinity<F>();
}
template <class F>
DLT_FN C<F> sinh(C<F> z) {
  if (z.im == 0) return {library_sinh(z.re), z.im};
  if (is_infinite(z.re) && !is_finite(z.im)) return {z.re, not_a_number<F>()};
  if (z.re == 0) return {with_sign(F(0), z.re * library_cos(z.im)), library_sin(z.im)};
  return {library_sinh(z.re) * library_cos(z.im), library_cosh(z.re) * library_sin(z.im)};
}
template <class F>
DLT_FN C<F> cosh(C<F> z) {
  if (z.im == 0) return {library_cosh(z.re), with_sign(z.im, with_sign(F(1), z.re) * with_sign(F(1), z.im))};
  if (z.re == 0) return {library_cos(z.im), with_sign(F(0), z.re * library_sin(z.im))};
  if (is_infinite(z.re) && !is_finite(z.im)) return {infinity<F>(), not_a_number<F>()};
  return {library_cosh(z.re) * library_cos(z.im), library_sinh(z.re) * library_sin(z.im)};
}
template <class F>
DLT_FN C<F> tanh(C<F> z) {
  if (is_infinite(z.re)) return {with_sign(F(1), z.re), with_sign(F(0), z.im)};
  if (z.im == 0) return {library_tanh(z.re), z.im};
  if (!is_finite(z.im)) return {z.re == 0 ? z.re : not_a_number<F>(), not_a_number<F>()};
  if (magnitude_of(z.re) > F(22))
    return {with_sign(F(1), z.re), library_sin(2 * z.im) * 2 * library_exp(-2 * magnitude_of(z.re))};
  const F t = library_tan(z.im), beta = 1 + t * t, s = library_sinh(z.re), rho = library_sqrt(1 + s * s);
  if (is_infinite(t)) return {rho / s, 1 / t};
  const F below = 1 + beta * s * s;
  return {beta * rho * s / below, t / below};
}

template <class F>
DLT_FN C<F> sin(C<F> z) {
  return times_minus_i(principal::sinh(times_i(z)));
}
template <class F>
DLT_FN C<F> cos(C<F> z) {
  return principal::cosh(times_i(z));
}
template <class F>
DLT_FN C<F> tan(C<F> z) {
  return times_minus_i(principal::tanh(times_i(z)));
}

template <class F>
DLT_FN C<F> acos(C<F> z) {
  if (is_infinite(z.re) || is_infinite(z.im)) return {library_atan2(magnitude_of(z.im), z.re), with_sign(infinity<F>(), -z.im)};
  if (z.re == 0 && z.im != z.im) return {F(half_pi), z.im};
  const C<F> below = principal::sqrt(C<F>{1 - z.re, -z.im}), above = principal::sqrt(C<F>{1 + z.re, z.im});
  return {2 * library_atan2(below.re, above.re), library_asinh(above.re * below.im - above.im * below.re)};
}
template <class F>
DLT_FN C<F> asin(C<F> z) {
  if (is_infinite(z.re) || is_infinite(z.im)) return {library_atan2(z.re, magnitude_of(z.im)), with_sign(infinity<F>(), z.im)};
  if (z.re == 0 && z.im != z.im) return z;
  const C<F> below = principal::sqrt(C<F>{1 - z.re, -z.im}), above = principal::sqrt(C<F>{1 + z.re, z.im});
  return {library_atan2(z.re, below.re * above.re - below.im * above.im),
          library_asinh(below.re * above.im - below.im * above.re)};
}
template <class F>
DLT_FN C<F> acosh(C<F> z) {
  if (is_infinite(z.re) || is_infinite(z.im)) return {infinity<F>(), library_atan2(z.im, z.re)};
  if (z.re == 0 && z.im != z.im) return {z.im, F(half_pi)};
  const C<F> below = principal::sqrt(C<F>{z.re - 1, z.im}), above = principal::sqrt(C<F>{z.re + 1, z.im});
  return {library_asinh(below.re * above.re + below.im * above.im), 2 * library_atan2(below.im, above.re)};
}
template <class F>
DLT_FN C<F> asinh(C<F> z) {
  return times_minus_i(principal::asin(times_i(z)));
}
template <class F>
DLT_FN C<F> atanh(C<F> z) {
  // Odd in the real part: of a negative one the logarithm would cancel.
  const F x = magnitude_of(z.re), apart = (1 - x) * (1 - x) + z.im * z.im;
  const F angle = library_atan2(2 * z.im, (1 - z.re) * (1 + z.re) - z.im * z.im) / 2;
  if (is_infinite(z.re) || is_infinite(z.im) || is_infinite(apart))
    return {with_sign(F(0), z.re), z.im == z.im ? with_sign(F(half_pi), z.im) : z.im};
  if (z.re == 0 && z.im != z.im) return z;
  return {with_sign(library_log1p(4 * x / apart) / 4, z.re), angle};
}
template <class F>
DLT_FN C<F> atan(C<F> z) {
  return times_minus_i(principal::atanh(times_i(z)));
}

template <class F>
DLT_FN C<F> pow(C<F> a, C<F> b) {
  if (b.re == 0 && b.im == 0) return {F(1), F(0)};
  if (a.re == 0 && a.im == 0) return {F(0), F(0)};
  return principal::exp(times(b, principal::log(a)));
}

template <class F>
DLT_FN C<F> log1p(C<F> z) {
  if (!(z.re * z.re + z.im * z.im < F(0.25))) return principal::log(C<F>{1 + z.re, z.im});
  return {F(0.5) * library_log1p(z.re * (2 + z.re) + z.im * z.im), library_atan2(z.im, 1 + z.re)};
}
template <class F>
DLT_FN C<F> expm1(C<F> z) {
  if (z.im == 0) return {library_expm1(z.re) + F(0), z.im};  // of -0, too, the real part is +0
  if (!is_finite(z.re) || !is_finite(z.im)) {
    const C<F> e = principal::exp(z);
    return {e.re - 1, e.im};
  }
  const F half = library_sin(z.im / 2);
  return {library_expm1(z.re) * library_cos(z.im) - 2 * half * half, library_exp(z.re) * library_sin(z.im)};
}
template <class F>
DLT_FN C<F> log2(C<F> z) {
  const C<F> e = principal::log(z);
  return {F(e.re * 1.44269504088896340736), F(e.im * 1.44269504088896340736)};
}
template <class F>
DLT_FN C<F> log10(C<F> z) {
  const C<F> e = principal::log(z);
  return {F(e.re * 0.43429448190325182765), F(e.im * 0.43429448190325182765)};
}

}  // namespace dlt::principal

// The functions that functions.h calls, by its names.
#if defined(__CUDACC_RTC__)
namespace dlt {
#define DLT_COMPLEX_FUNCTION(name)                                            \
  DLT_FN complex64 library_##name(complex64 z) { return principal::name(z); } \
  DLT_FN complex128 library_##name(complex128 z) { return principal::name(z); }
DLT_LIBRARY_FUNCTIONS(DLT_COMPLEX_FUNCTION)
DLT_COMPLEX_FUNCTION(sqrt)
#undef DLT_COMPLEX_FUNCTION
DLT_FN complex64 library_pow(complex64 a, complex64 b) { return principal::pow(a, b); }
DLT_FN complex128 library_pow(complex128 a, complex128 b) { return principal::pow(a, b); }
}  // namespace dlt
#endif
