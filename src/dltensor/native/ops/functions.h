// SPDX-License-Identifier: Apache-2.0
// The bodies based on the C library's exp, log, sin and similar functions, real and complex. Accurate to a few ULP,
// not correctly rounded: unlike the rest of bodies.h, results may differ between machines.
#ifndef DLTENSOR_FUNCTIONS_H_
#define DLTENSOR_FUNCTIONS_H_

#include "native/ops/bodies.h"

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
    if (equal(b, T{2, 0})) return multiply(a, a);
    if (equal(b, T{1, 0})) return a;
    return library_pow(a, b);
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
