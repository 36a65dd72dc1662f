// SPDX-License-Identifier: Apache-2.0
// Complex functions from the real ones: the principal values and branch cuts of C99, signs of zero included. Accurate to the last
// digits; where |z| is near the ends of the exponent range some lose them. W. Kahan, "Branch cuts for complex elementary functions",
// 1987.
#pragma once
#include "native/ops/elementary/numbers.h"

namespace dlt::principal {

template <class F>
using C = complex_of<F>;

template <class F>
DLT_FN C<F> times(C<F> a, C<F> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Smith's method: scaled by the larger part of the divisor, so that nothing overflows before the result does.
template <class F>
DLT_FN C<F> quotient(C<F> a, C<F> b) {
  const bool wide_real = !(magnitude_of(b.re) < magnitude_of(b.im));
  const F large = wide_real ? b.re : b.im, small = wide_real ? b.im : b.re;
  if (large == 0 && small == 0) return {a.re / magnitude_of(large), a.im / magnitude_of(large)};
  const F ratio = small / large, scale = 1 / (large + small * ratio);
  return wide_real ? C<F>{(a.re + a.im * ratio) * scale, (a.im + negated(a.re) * ratio) * scale}
                   : C<F>{(a.re * ratio + a.im) * scale, (a.im * ratio + negated(a.re)) * scale};
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
DLT_FN bool is_infinite(F x) {
  return magnitude_of(x) == infinity_of<F>();
}
template <class F>
DLT_FN bool is_finite(F x) {
  return magnitude_of(x) < infinity_of<F>();
}

// A product with a constant that is a number and a rest.
template <class F>
struct Product {
  F high, low;
};
template <class F>
DLT_FN Product<F> product_with(F x, double constant, double rest) {
  const F factor = F(constant), high = x * factor;
  return {high, fused(x, factor, -high) + x * F((constant - double(factor)) + rest)};
}
template <class F>
DLT_FN Product<F> times_pi(F x) {
  return product_with(x, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
}
template <class F>
DLT_FN C<F> unit_at(Product<F> angle) {  // low is far below 1
  const F c = numbers::cos(angle.high), s = numbers::sin(angle.high);
  return {c - angle.low * s, s + angle.low * c};
}

// Of a power with a real base: the power of the real part, `size`, at an angle.
template <class F>
DLT_FN C<F> power_at(F size, C<F> z, Product<F> angle) {
  if (z.im == 0) return {size, z.im};
  if (!is_finite(z.im)) {
    if (z.re == -infinity_of<F>()) return {F(0), with_sign(F(0), z.im)};
    if (z.re == infinity_of<F>()) return {z.re, z.im - z.im};
    return {z.im - z.im, z.im - z.im};
  }
  const C<F> unit = unit_at(angle);
  if (size == 0) return {with_sign(F(0), unit.re), with_sign(F(0), unit.im)};
  return {size * unit.re, size * unit.im};
}
template <class F>
DLT_FN C<F> exp(C<F> z) {
  return power_at(numbers::exp(z.re), z, Product<F>{z.im, 0});
}
template <class F>
DLT_FN C<F> exp2(C<F> z) {
  return power_at(numbers::exp2(z.re), z, product_with(z.im, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56));
}

template <class F>
DLT_FN C<F> log(C<F> z) {
  const F x = magnitude_of(z.re), y = magnitude_of(z.im), angle = numbers::atan2(z.im, z.re);
  const F large = x > y ? x : y, small = x > y ? y : x;
  // Near the unit circle log |z| is small, and the rounding of |z| would be all of it.
  if (large > F(0.5) && large < F(1.5) && small < F(1.2))
    return {F(0.5) * numbers::log1p((large - 1) * (large + 1) + small * small), angle};
  return {numbers::log(numbers::hypot(z.re, z.im)), angle};
}

template <class F>
DLT_FN C<F> sqrt(C<F> z) {
  if (is_infinite(z.im)) return {infinity_of<F>(), z.im};
  if (z.re == 0 && z.im == 0) return {F(0), z.im};
  if (is_infinite(z.re)) {
    const F none = z.im - z.im;
    return z.re < 0 ? C<F>{magnitude_of(none), with_sign(infinity_of<F>(), z.im)} : C<F>{z.re, with_sign(none, z.im)};
  }
  // A quarter first, so that the sum cannot overflow.
  const F x = z.re / 4, y = z.im / 4;
  const F root = 2 * library_sqrt((magnitude_of(x) + numbers::hypot(x, y)) / 2);
  if (z.re >= 0) return {root, z.im / (2 * root)};
  return {magnitude_of(z.im) / (2 * root), with_sign(root, z.im)};
}

// The values at infinities and NaNs below are those of the array API's tables, which are C99's but for tanh and expm1.
template <class F>
DLT_FN F not_a_number() {
  return infinity_of<F>() - infinity_of<F>();
}
template <class F>
DLT_FN C<F> sinh(C<F> z) {
  if (z.im == 0) return {numbers::sinh(z.re), z.im};
  if (is_infinite(z.re) && !is_finite(z.im)) return {z.re, not_a_number<F>()};
  if (z.re == 0) return {with_sign(F(0), z.re * numbers::cos(z.im)), numbers::sin(z.im)};
  return {numbers::sinh(z.re) * numbers::cos(z.im), numbers::cosh(z.re) * numbers::sin(z.im)};
}
template <class F>
DLT_FN C<F> cosh(C<F> z) {
  if (z.im == 0) return {numbers::cosh(z.re), with_sign(z.im, with_sign(F(1), z.re) * with_sign(F(1), z.im))};
  if (z.re == 0) return {numbers::cos(z.im), with_sign(F(0), z.re * numbers::sin(z.im))};
  if (is_infinite(z.re) && !is_finite(z.im)) return {infinity_of<F>(), not_a_number<F>()};
  return {numbers::cosh(z.re) * numbers::cos(z.im), numbers::sinh(z.re) * numbers::sin(z.im)};
}
template <class F>
DLT_FN C<F> tanh(C<F> z) {
  if (is_infinite(z.re)) return {with_sign(F(1), z.re), with_sign(F(0), z.im)};
  if (z.im == 0) return {numbers::tanh(z.re), z.im};
  if (!is_finite(z.im)) return {z.re == 0 ? z.re : not_a_number<F>(), not_a_number<F>()};
  if (magnitude_of(z.re) > F(22))
    return {with_sign(F(1), z.re), numbers::sin(2 * z.im) * 2 * numbers::exp(-2 * magnitude_of(z.re))};
  const F t = numbers::tan(z.im), beta = 1 + t * t, s = numbers::sinh(z.re), rho = library_sqrt(1 + s * s);
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
// sin(pi x + i pi y) / (pi x + i pi y), by the rest of x to the nearest whole number.
template <class F>
DLT_FN C<F> sinc(C<F> z) {
  if (z.re == 0 && z.im == 0) return {F(1), F(0)};
  const F whole = library_rint(z.re), turns = whole - 2 * library_floor(whole / 2);
  const C<F> unit = unit_at(times_pi(turns == 0 ? z.re - whole : whole - z.re)), a = {times_pi(z.re).high, times_pi(z.im).high};
  const F cosine = turns == 0 ? unit.re : -unit.re;
  const Product<F> y = times_pi(z.im);
  const F height = magnitude_of(y.high);
  if (height > 30 && is_finite(height)) {  // cosh and sinh are e^height / 2, which may be infinite where the quotient is not
    const F half = numbers::exp(height / 2), low = 1 + with_sign(F(1), z.im) * y.low;
    const C<F> r = quotient(C<F>{unit.im * half, with_sign(half, z.im) * cosine}, a);
    return {r.re * (half / 2) * low, r.im * (half / 2) * low};
  }
  const F cosh = numbers::cosh(y.high), sinh = numbers::sinh(y.high);
  return quotient(C<F>{unit.im * (cosh + y.low * sinh), cosine * (sinh + y.low * cosh)}, a);
}
template <class F>
DLT_FN C<F> tan(C<F> z) {
  return times_minus_i(principal::tanh(times_i(z)));
}

template <class F>
DLT_FN C<F> acos(C<F> z) {
  if (is_infinite(z.re) || is_infinite(z.im))
    return {numbers::atan2(magnitude_of(z.im), z.re), with_sign(infinity_of<F>(), -z.im)};
  if (z.re == 0 && z.im != z.im) return {F(half_pi), z.im};
  const C<F> below = principal::sqrt(C<F>{1 - z.re, -z.im}), above = principal::sqrt(C<F>{1 + z.re, z.im});
  return {2 * numbers::atan2(below.re, above.re), numbers::asinh(above.re * below.im - above.im * below.re)};
}
template <class F>
DLT_FN C<F> asin(C<F> z) {
  if (is_infinite(z.re) || is_infinite(z.im))
    return {numbers::atan2(z.re, magnitude_of(z.im)), with_sign(infinity_of<F>(), z.im)};
  if (z.re == 0 && z.im != z.im) return z;
  const C<F> below = principal::sqrt(C<F>{1 - z.re, -z.im}), above = principal::sqrt(C<F>{1 + z.re, z.im});
  return {numbers::atan2(z.re, below.re * above.re - below.im * above.im),
          numbers::asinh(below.re * above.im - below.im * above.re)};
}
template <class F>
DLT_FN C<F> acosh(C<F> z) {
  if (is_infinite(z.re) || is_infinite(z.im)) return {infinity_of<F>(), numbers::atan2(z.im, z.re)};
  if (z.re == 0 && z.im != z.im) return {z.im, F(half_pi)};
  const C<F> below = principal::sqrt(C<F>{z.re - 1, z.im}), above = principal::sqrt(C<F>{z.re + 1, z.im});
  return {numbers::asinh(below.re * above.re + below.im * above.im), 2 * numbers::atan2(below.im, above.re)};
}
template <class F>
DLT_FN C<F> asinh(C<F> z) {
  return times_minus_i(principal::asin(times_i(z)));
}
template <class F>
DLT_FN C<F> atanh(C<F> z) {
  // Odd in the real part: of a negative one the logarithm would cancel.
  const F x = magnitude_of(z.re), apart = (1 - x) * (1 - x) + z.im * z.im;
  const F angle = numbers::atan2(2 * z.im, (1 - z.re) * (1 + z.re) - z.im * z.im) / 2;
  if (is_infinite(z.re) || is_infinite(z.im) || is_infinite(apart))
    return {with_sign(F(0), z.re), z.im == z.im ? with_sign(F(half_pi), z.im) : z.im};
  if (z.re == 0 && z.im != z.im) return z;
  return {with_sign(numbers::log1p(4 * x / apart) / 4, z.re), angle};
}
template <class F>
DLT_FN C<F> atan(C<F> z) {
  return times_minus_i(principal::atanh(times_i(z)));
}

// A product with an infinite factor is infinite where the formula gives NaN (ISO C, annex G.5.1).
template <class F>
DLT_FN C<F> product_with_infinities(C<F> a, C<F> b) {
  const C<F> product = times(a, b);
  if (product.re == product.re || product.im == product.im) return product;
  const auto direction = [](F x) { return with_sign(F(is_infinite(x) ? 1 : 0), x); };
  const auto number = [](F x) { return x == x ? x : with_sign(F(0), x); };
  const bool first = is_infinite(a.re) || is_infinite(a.im), second = is_infinite(b.re) || is_infinite(b.im);
  if (!first && !second) return product;
  const C<F> x = first ? C<F>{direction(a.re), direction(a.im)} : C<F>{number(a.re), number(a.im)};
  const C<F> y = second ? C<F>{direction(b.re), direction(b.im)} : C<F>{number(b.re), number(b.im)};
  const C<F> unit = times(x, y);
  return {infinity_of<F>() * unit.re, infinity_of<F>() * unit.im};
}

template <class F>
DLT_FN C<F> pow(C<F> a, C<F> b) {
  if (b.re == 0 && b.im == 0) return {F(1), F(0)};
  if (a.re == 0 && a.im == 0) {  // the length is that of 0 ** b.re, and a length but 0 has no angle here
    const F undefined = infinity_of<F>() - infinity_of<F>();
    if (b.re > 0 && b.im == b.im) return {F(0), F(0)};
    return {b.re < 0 && b.im == b.im ? infinity_of<F>() : undefined, undefined};
  }
  return principal::exp(product_with_infinities(b, principal::log(a)));
}

template <class F>
DLT_FN C<F> log1p(C<F> z) {
  if (!(z.re * z.re + z.im * z.im < F(0.25))) return principal::log(C<F>{1 + z.re, z.im});
  return {F(0.5) * numbers::log1p(z.re * (2 + z.re) + z.im * z.im), numbers::atan2(z.im, 1 + z.re)};
}
template <class F>
DLT_FN C<F> expm1(C<F> z) {
  if (z.im == 0) return {numbers::expm1(z.re) + F(0), z.im};  // of -0, too, the real part is +0
  if (!is_finite(z.re) || !is_finite(z.im)) {
    const C<F> e = principal::exp(z);
    return {e.re - 1, e.im};
  }
  const F half = numbers::sin(z.im / 2);
  return {numbers::expm1(z.re) * numbers::cos(z.im) - 2 * half * half, numbers::exp(z.re) * numbers::sin(z.im)};
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
