// SPDX-License-Identifier: Apache-2.0
// The bodies of exp, log, sin and similar functions, real and complex, from ops/elementary: within 1 ULP where they are real, and
// the same bits on every machine.
#pragma once
#include "native/ops/elementwise/bodies.h"

namespace dlt {

namespace ops {

#define DLT_FUNCTION(name, operands)                               \
  template <class T>                                               \
  DLT_FN T name(T a) {                                             \
    if constexpr (is_complex<T>::value) return principal::name(a); \
    else return numbers::name(a);                                  \
  }
DLT_ELEMENTARY_UNARY_OPS(DLT_FUNCTION)
#undef DLT_FUNCTION
#define DLT_FUNCTION(name, operands) \
  template <class T>                 \
  DLT_FN T name(T a) {               \
    return numbers::name(a);         \
  }
DLT_ELEMENTARY_REAL_OPS(DLT_FUNCTION)
#undef DLT_FUNCTION

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
  const F length = numbers::pow(numbers::hypot(a.re, a.im), b), angle = b * numbers::atan2(a.im, a.re);
  if (length > 0 && finite_part(length)) return {length * numbers::cos(angle), length * numbers::sin(angle)};
  if (a.re == 0 && a.im == 0 && b > 0) return {0, 0};
  const complex_of<F> logarithm = principal::log(a);
  return principal::exp(complex_of<F>{b * logarithm.re, b * logarithm.im});
}

// In double: the exponential of a product of logarithms loses as many digits as the result has bits of exponent.
template <class F>
DLT_FN complex_of<F> complex_power_of(complex_of<F> a, complex_of<F> b) {
  const complex128 r = principal::pow(complex128{a.re, a.im}, complex128{b.re, b.im});
  return {F(r.re), F(r.im)};
}
template <class F>
DLT_FN complex_of<F> complex_power(complex_of<F> a, complex_of<F> b) {
  if (b.im != 0 || b.re != b.re || b.im != b.im) return complex_power_of(a, b);
  if (b.re == 0) return {F(1), F(0)};
  if (b.re == 1) return a;
  if (b.re == 2) return multiply(a, a);
  if (b.re == -1) return reciprocal(a);
  if (b.re == F(0.5)) return principal::sqrt(a);
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
    return numbers::pow(a, b);
  } else {
    return complex_power(a, b);
  }
}
template <class T>
DLT_FN T atan2(T a, T b) {
  return numbers::atan2(a, b);
}
template <class T>
DLT_FN T hypot(T a, T b) {
  return numbers::hypot(a, b);
}
template <class T>
DLT_FN T logaddexp(T a, T b) {
  return numbers::logaddexp(a, b);
}

}  // namespace ops
}  // namespace dlt
