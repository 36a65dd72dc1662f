// SPDX-License-Identifier: Apache-2.0
// The bodies based on the C library's exp, log, sin and similar functions, real and complex. Accurate to a few ULP,
// not correctly rounded: unlike the rest of bodies.h, results may differ between machines.
#ifndef DLTENSOR_FUNCTIONS_H_
#define DLTENSOR_FUNCTIONS_H_

#include "native/ops/elementwise/bodies.h"

namespace dlt {
#if !defined(__CUDACC_RTC__)
// C99's complex functions implement the branch cuts and every special case that the array API requires.
DLT_FN _Complex float as_c(complex64 a) {
  _Complex float r;
  __real__ r = a.re;
  __imag__ r = a.im;
  return r;
}
DLT_FN _Complex double as_c(complex128 a) {
  _Complex double r;
  __real__ r = a.re;
  __imag__ r = a.im;
  return r;
}
DLT_FN complex64 from_c(_Complex float a) { return {__real__ a, __imag__ a}; }
DLT_FN complex128 from_c(_Complex double a) { return {__real__ a, __imag__ a}; }
#define DLT_COMPLEX_1(name)                                                                      \
  DLT_FN complex64 library_##name(complex64 a) { return from_c(__builtin_c##name##f(as_c(a))); } \
  DLT_FN complex128 library_##name(complex128 a) { return from_c(__builtin_c##name(as_c(a))); }
DLT_COMPLEX_1(acos)
DLT_COMPLEX_1(acosh)
DLT_COMPLEX_1(asin)
DLT_COMPLEX_1(asinh)
DLT_COMPLEX_1(atan)
DLT_COMPLEX_1(atanh)
DLT_COMPLEX_1(cos)
DLT_COMPLEX_1(cosh)
DLT_COMPLEX_1(exp)
DLT_COMPLEX_1(log)
DLT_COMPLEX_1(sin)
DLT_COMPLEX_1(sinh)
DLT_COMPLEX_1(sqrt)
#undef DLT_COMPLEX_1
DLT_FN complex64 c_tanh(complex64 a) { return from_c(__builtin_ctanhf(as_c(a))); }
DLT_FN complex128 c_tanh(complex128 a) { return from_c(__builtin_ctanh(as_c(a))); }
template <class F>
DLT_FN complex_of<F> library_tanh(complex_of<F> a) {
  // Two cases in which C differs: the sign of 0 follows sin(2 im) there, and before C23 tanh(0 + inf i) has no real
  // part.
  if (ops::infinite_part(a.re) && ops::finite_part(a.im)) return {with_sign(F(1), a.re), with_sign(F(0), a.im)};
  if (a.re == 0 && !ops::finite_part(a.im)) return {a.re, a.im - a.im};
  return c_tanh(a);
}
template <class F>
DLT_FN complex_of<F> library_tan(complex_of<F> a) {
  const complex_of<F> turned = library_tanh(complex_of<F>{-a.im, a.re});
  return {turned.im, -turned.re};
}
DLT_FN complex128 library_pow(complex128 a, complex128 b) { return from_c(__builtin_cpow(as_c(a), as_c(b))); }
// In double: the exponential of a product of logarithms loses as many digits as the result has bits of exponent.
DLT_FN complex64 library_pow(complex64 a, complex64 b) {
  const complex128 r = library_pow(complex128{a.re, a.im}, complex128{b.re, b.im});
  return {float(r.re), float(r.im)};
}
template <class F>
DLT_FN complex_of<F> library_log1p(complex_of<F> a) {
  // log |1 + a| = log1p(2 re + re^2 + im^2) / 2: no digits are lost where a is small.
  const double re = a.re, im = a.im;
  if (!(re * re + im * im < 0.25)) return library_log(complex_of<F>{F(1) + a.re, a.im});
  return {F(0.5 * library_log1p(re * (2 + re) + im * im)), library_atan2(a.im, F(1) + a.re)};
}
template <class F>
DLT_FN complex_of<F> library_expm1(complex_of<F> a) {
  // exp(a) - 1 = expm1(re) cos(im) - 2 sin(im/2)^2 + i exp(re) sin(im).
  if (a.im == 0) return {library_expm1(a.re) + F(0), a.im};  // of -0, too, the real part is +0
  if (!ops::isfinite(a)) {
    const complex_of<F> e = library_exp(a);
    return {e.re - 1, e.im};
  }
  const F half = library_sin(a.im / 2);
  return {library_expm1(a.re) * library_cos(a.im) - 2 * half * half, library_exp(a.re) * library_sin(a.im)};
}
template <class F>
DLT_FN complex_of<F> library_log2(complex_of<F> a) {
  const complex_of<F> e = library_log(a);
  return {F(e.re * 1.44269504088896340736), F(e.im * 1.44269504088896340736)};
}
template <class F>
DLT_FN complex_of<F> library_log10(complex_of<F> a) {
  const complex_of<F> e = library_log(a);
  return {F(e.re * 0.43429448190325182765), F(e.im * 0.43429448190325182765)};
}
#endif

namespace ops {

#define DLT_FUNCTION(name)    \
  template <class T>          \
  DLT_FN T name(T a) {        \
    return library_##name(a); \
  }
DLT_LIBRARY_FUNCTIONS(DLT_FUNCTION)

// The power to 0.5: of -0 it is 0, of -infinity infinity.
template <class F>
DLT_FN F root(F a) {
  return a == -infinity_of<F>() ? infinity_of<F>() : library_sqrt(a + F(0));
}

// A complex number whose parts are sums of two doubles: about 100 bits, so that powers of it are rounded once.
struct WideComplex {
  Pair re, im;
};
DLT_FN Pair pair_sum(Pair a, Pair b) {
  const Pair high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  const Pair sum = exact_sum(high.high, high.low + low.high);
  return exact_sum(sum.high, sum.low + low.low);
}
DLT_FN Pair pair_product(Pair a, Pair b) {
  const double product = a.high * b.high;
  return exact_sum(product, fused(a.high, b.low, fused(a.low, b.high, fused(a.high, b.high, -product))));
}
DLT_FN WideComplex product_of(WideComplex a, WideComplex b) {
  const Pair turned{-a.im.high, -a.im.low};
  return {pair_sum(pair_product(a.re, b.re), pair_product(turned, b.im)),
          pair_sum(pair_product(a.re, b.im), pair_product(a.im, b.re))};
}
DLT_FN complex128 product_of(complex128 a, complex128 b) { return multiply(a, b); }
DLT_FN WideComplex as_wide(complex128 a) { return {{a.re, 0}, {a.im, 0}}; }
// 1 / a, by one step of Newton's method from what divide() gives.
DLT_FN WideComplex wide_reciprocal(complex128 a) {
  const complex128 near = reciprocal(a);
  const WideComplex product = product_of(as_wide(a), as_wide(near));
  const complex128 rest = {(1 - product.re.high) - product.re.low, -product.im.high};
  const complex128 step = multiply(near, rest);
  return {exact_sum(near.re, step.re), exact_sum(near.im, step.im)};
}

// The product of n >= 1 factors. Each power on the way lies between the factor and the result, so none overflows alone.
template <class C>
DLT_FN C repeated_product(C a, uint64_t n) {
  uint64_t bit = 1;
  while (bit <= n >> 1) bit <<= 1;
  C result = a;
  while (bit >>= 1) {
    result = product_of(result, result);
    if (n & bit) result = product_of(result, a);
  }
  return result;
}
// The power of an infinity without NaN: the direction to the same power, with parts that are infinite or, for n < 0, 0.
DLT_FN complex128 power_of_infinity(complex128 a, int64_t n) {
  const complex128 unit = {with_sign(infinite_part(a.re) ? 1.0 : 0.0, a.re), with_sign(infinite_part(a.im) ? 1.0 : 0.0, a.im)};
  const complex128 turn = repeated_product(unit, uint64_t(n < 0 ? -n : n));
  if (n < 0) return {with_sign(0.0, turn.re), with_sign(0.0, -turn.im)};
  const double infinity = infinity_of<double>();
  return {turn.re == 0 ? turn.re : with_sign(infinity, turn.re), turn.im == 0 ? turn.im : with_sign(infinity, turn.im)};
}
DLT_FN complex128 whole_power(complex128 a, int64_t n) {
  const WideComplex power = repeated_product(n < 0 ? wide_reciprocal(a) : as_wide(a), uint64_t(n < 0 ? -n : n));
  return {power.re.high, power.im.high};
}
// To a real exponent by length and angle: their errors do not grow with the logarithm, as those of its exponential do.
// A template, since CUDA's functions of complex numbers are declared after this header.
template <class F>
DLT_FN complex_of<F> real_power(complex_of<F> a, F b) {
  constexpr double most = 1 << 30;
  if (magnitude_of(b) <= most && library_trunc(b) == b) {
    if (isinf(a) && !isnan(a)) return power_of_infinity(a, int64_t(b));
    const complex_of<F> power = whole_power(a, int64_t(b));
    if (isfinite(power)) return power;
  }
  const F length = library_pow(library_hypot(a.re, a.im), b), angle = b * library_atan2(a.im, a.re);
  if (length > 0 && finite_part(length)) return {length * library_cos(angle), length * library_sin(angle)};
  if (a.re == 0 && a.im == 0 && b > 0) return {0, 0};
  const complex_of<F> logarithm = library_log(a);
  return library_exp(complex_of<F>{b * logarithm.re, b * logarithm.im});
}

template <class F>
DLT_FN complex_of<F> complex_power(complex_of<F> a, complex_of<F> b) {
  if (b.im != 0 || b.re != b.re || b.im != b.im) return library_pow(a, b);
  if (b.re == 0) return {F(1), F(0)};
  if (b.re == 1) return a;
  if (b.re == 2) return multiply(a, a);
  if (b.re == -1) return reciprocal(a);
  if (b.re == F(0.5)) return library_sqrt(a);
  const complex128 power = real_power(complex128{double(a.re), double(a.im)}, double(b.re));
  return {F(power.re), F(power.im)};
}

template <class T>
DLT_FN T pow(T a, T b) {
  if constexpr (is_integer<T>) {
    return integer_power(a, b);
  } else if constexpr (is_float<T>) {
    // Rounded once, which no library's function promises, and all that most programs need.
    if (b == T(2)) return a * a;
    if (b == T(1)) return a;
    if (b == T(-1)) return T(1) / a;
    if (b == T(0.5)) return root(a);
    return library_pow(a, b);
  } else {
    return complex_power(a, b);
  }
}
template <class T>
DLT_FN T atan2(T a, T b) {
  return library_atan2(a, b);
}
template <class T>
DLT_FN T hypot(T a, T b) {
  return library_hypot(a, b);
}
template <class T>
DLT_FN T logaddexp(T a, T b) {
  const T high = maximum(a, b), distance = a == b ? T(0) : magnitude_of(a - b);
  return high + library_log1p(library_exp(-distance));
}

}  // namespace ops
}  // namespace dlt

#endif  // DLTENSOR_FUNCTIONS_H_
