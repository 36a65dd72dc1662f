// SPDX-License-Identifier: Apache-2.0
// The inverses of sine, cosine and tangent.
#pragma once
#include "native/ops/elementary/machine.h"

namespace dlt::elementary {

// pi/2 in two parts.
template <class F>
inline constexpr F half_pi = sizeof(F) == 8 ? F(0x1.921fb54442d18p0) : F(0x1.921fb6p0);
template <class F>
inline constexpr F half_pi_rest = sizeof(F) == 8 ? F(0x1.1a62633145c07p-54) : F(-0x1.777a5cp-25);

// asin(s) = s + s^3 A(s^2) for s up to 1/2, A fitted for a relative error of 2^-59.3 (floats: 2^-27.6). Above, with w = (1 -
// |x|) / 2, which is exact, asin(|x|) = pi/2 - 2 asin(sqrt(w)) and acos(|x|) = 2 asin(sqrt(w)) (fdlibm's way). The square root
// s lacks (w - s^2) / (2 s), for which 1 / (2 s) to 6 % is enough: an integer less the bits of s. Numbers so small that asin(x)
// and atan(x) are x are replaced, so that nothing on the way is subnormal, which is slow.
template <class F>
inline constexpr F tiny_arc = sizeof(F) == 8 ? F(0x1p-100) : F(0x1p-40);
template <class M>
struct Arc {
  typename M::Mask outer;  // |x| above 1/2
  typename M::Float s, low;  // asin of |x| or of sqrt(w)
};
template <class M>
DLT_FN Arc<M> arc_of(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  const V a = M::at_least(magnitude<M>(x), tiny_arc<F>);
  const typename M::Mask outer = a > F(0.5);
  const V w = M::fma(a, M::all(F(-0.5)), M::all(F(0.5))), root = M::sqrt(w);
  const V z = outer ? w : a * a, s = outer ? root : a;
  V p, guess;
  if constexpr (sizeof(F) == 8) {
    guess = M::value(0x7fce600000000000 - M::bits(root));
    const V z2 = z * z, z4 = z2 * z2;
    const V p01 = M::fma(z, M::all(0x1.333333332e10ap-4), M::all(0x1.5555555555577p-3));
    const V p23 = M::fma(z, M::all(0x1.f1c71a9391c45p-6), M::all(0x1.6db6db7215500p-5));
    const V p45 = M::fma(z, M::all(0x1.1c49ecb8a4f58p-6), M::all(0x1.6e8bdf0de3d2ep-6));
    const V p67 = M::fma(z, M::all(0x1.75821384e5062p-7), M::all(0x1.ca1fef209c39ap-7));
    const V p89 = M::fma(z, M::all(0x1.e4931bc6cfe2bp-9), M::all(0x1.6151ede255579p-7));
    const V pab = M::fma(z, M::all(-0x1.58b3306efb3a1p-6), M::all(0x1.6412485df2297p-6));
    const V top = M::fma(z4, M::fma(z2, M::fma(z2, M::all(0x1.0b8475eceacd5p-5), pab), p89), M::fma(z2, p67, p45));
    p = M::fma(z4, top, M::fma(z2, p23, p01));
  } else {
    guess = M::value(0x7e730000 - M::bits(root));
    p = polynomial<M>(z, 0x1.596df2p-5f, 0x1.8c2d5cp-6f, 0x1.747d08p-5f, 0x1.3301fcp-4f, 0x1.5555c8p-3f);
  }
  const V lost = outer ? M::fma(-root, root, w) * guess : V{};
  return {outer, s, M::fma(z * s, p, lost)};
}

// At most 0.9 ULP; NaN outside of -1 to 1.
template <class M>
DLT_FN typename M::Float asin(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  const Arc<M> t = arc_of<M>(x);
  const Sum<M> big = fast_sum<M>(M::all(half_pi<F>), t.s * F(-2));
  const V low = M::fma(t.low, M::all(F(-2)), big.low + half_pi_rest<F>);
  const V v = (t.outer ? big.high : t.s) + (t.outer ? low : t.low);
  return magnitude<M>(x) <= tiny_arc<F> ? x : with_sign_of<M>(v, x);
}
// At most 0.9 ULP; NaN outside of -1 to 1. Inside of 1/2 it is pi/2 - asin(x), outside 2 asin(sqrt(w)) or pi less that.
template <class M>
DLT_FN typename M::Float acos(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  const Arc<M> t = arc_of<M>(x);
  const typename M::Mask negative = M::bits(x) < 0;
  // base + factor (s + low)
  const V factor = t.outer ? (negative ? M::all(F(-2)) : M::all(F(2))) : (negative ? M::all(F(1)) : M::all(F(-1)));
  const V base = t.outer ? (negative ? M::all(F(2) * half_pi<F>) : V{}) : M::all(half_pi<F>);
  const V rest = t.outer ? (negative ? M::all(F(2) * half_pi_rest<F>) : V{}) : M::all(half_pi_rest<F>);
  const V part = t.s * factor, high = base + part, lost = (base - high) + part;
  return high + M::fma(t.low, factor, lost + rest);
}

// atan(a / b) for 0 <= a <= b, or its negative where `minus` is the sign bit and not 0, as t + (low + power T(t^2)), where b and 1 / b
// are normal numbers: t is the quotient and `low` the remainder of the division times the derivative, 1 / (1 + t^2), or nearly.
// In doubles, above tan(pi/8), it is atan of (a - b) / (a + b), with what the sums lost, and pi/4 is to be added. T is fitted
// for an error of 2^-59.4 up to tan(pi/8) (floats: 2^-28.5 up to 1).
template <class M>
struct Angle {
  typename M::Mask outer;  // pi/4 is to be added; not for floats
  typename M::Float t, low, power, p;
};
template <class M>
DLT_FN Angle<M> angle_of(typename M::Float a, typename M::Float b, typename M::Int minus) {
  using F = typename M::Number;
  using V = typename M::Float;
  if constexpr (sizeof(F) == 8) {
    const typename M::Mask outer = a > b * F(0.41421356);
    const Sum<M> sum = fast_sum<M>(b, a), less = fast_sum<M>(b, -a);
    const V bottom = outer ? sum.high : b, inverse = F(1) / bottom;
    const V top = M::value(M::bits(outer ? -less.high : a) ^ minus);
    const V top_rest = M::value(M::bits(outer ? -less.low : V{}) ^ minus);
    const V t = top * inverse, lost = M::fma(-t, bottom, top) + M::fma(-t, outer ? sum.low : V{}, top_rest);
    const V z = t * t, z2 = z * z, z4 = z2 * z2;
    const V p01 = M::fma(z, M::all(0x1.9999999995860p-3), M::all(-0x1.555555555553dp-2));
    const V p23 = M::fma(z, M::all(0x1.c71c70e5dc267p-4), M::all(-0x1.24924922acf72p-3));
    const V p45 = M::fma(z, M::all(0x1.3b11189ed0897p-4), M::all(-0x1.745cf8d5e0c6cp-4));
    const V p67 = M::fma(z, M::all(0x1.df0ef39fec7e3p-5), M::all(-0x1.10ebb2702cac6p-4));
    const V p89 = M::fma(z, M::all(0x1.37d19528e5b5cp-5), M::all(-0x1.9cd129f573f51p-5));
    const V high = M::fma(z2, M::fma(z2, M::all(-0x1.25615a5757b86p-6), p89), p67);
    const V low = lost * inverse;
    return {outer, t, M::fma(-z, low, low), z * t, M::fma(z4, M::fma(z2, high, p45), M::fma(z2, p23, p01))};
  } else {
    const V top = M::value(M::bits(a) ^ minus), inverse = F(1) / b, t = top * inverse, lost = M::fma(-t, b, top), z = t * t;
    // T with 1/4 added, which keeps its rounding errors small: t - t^3 / 4 is a sum and its rest.
    const V p = polynomial<M>(z, -0x1.d32d8cp-10f, 0x1.6410dcp-7f, -0x1.fd6fbap-6f, 0x1.da24cap-5f, -0x1.580814p-4f,
                              0x1.c08c1ap-4f, -0x1.242084p-3f, 0x1.9991e4p-3f, -0x1.5554f8p-4f);
    const V low = lost * inverse, power = z * t, quarter = M::all(F(-0.25)), high = M::fma(power, quarter, t);
    return {a > b, high, M::fma(power, quarter, t - high) + M::fma(z * F(-0.5), low, low), power, p};
  }
}
// A multiple of pi/4, which is 0 or no smaller than the angle, with its rest, and the angle.
template <class M>
DLT_FN typename M::Float angle_from(typename M::Float base, typename M::Float rest, Angle<M> g) {
  const typename M::Float high = base + g.t, lost = ((base - high) + g.t) + rest;
  return high + M::fma(g.power, g.p, g.low + lost);
}

// At most 0.9 ULP.
template <class M>
DLT_FN typename M::Float atan(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  constexpr F large = sizeof(F) == 8 ? F(0x1p60) : F(0x1p30);
  const V size = magnitude<M>(x), one = M::all(F(1));
  const bool special = M::any_outside(size, tiny_arc<F>, large);
  const V a = special ? M::at_least(M::at_most(size, large), tiny_arc<F>) : size;
  const typename M::Mask above = size > F(1);
  const typename M::Int none = M::all_int(0), minus = sizeof(F) == 8 ? (above ? M::all_int(sign_bit<F>) : none) : none;
  const Angle<M> g = angle_of<M>(above ? (sizeof(F) == 8 ? one : -one) : a, above ? a : one, minus);
  // pi/2, less pi/4 or nothing, less the angle; or pi/4 or nothing and the angle.
  V base = above ? M::all(half_pi<F>) : V{}, rest = above ? M::all(half_pi_rest<F>) : V{};
  if constexpr (sizeof(F) == 8) {
    base = g.outer ? M::all(half_pi<F> / 2) : base;
    rest = g.outer ? M::all(half_pi_rest<F> / 2) : rest;
  }
  const V v = with_sign_of<M>(angle_from<M>(base, rest, g), x);
  return special ? (size <= tiny_arc<F> ? x : v) : v;
}

// The angle of the point (x, y), by the smaller coordinate over the larger one. At most 0.9 ULP.
template <class M>
DLT_FN typename M::Float atan2(typename M::Float y, typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  constexpr bool is_double = sizeof(F) == 8;
  // Numbers whose reciprocal or remainder is none are multiplied by a power of two.
  constexpr F large = is_double ? F(0x1p900) : F(0x1p100), small = is_double ? F(0x1p-900) : F(0x1p-90);
  constexpr F middle = is_double ? F(0x1p-600) : F(1), up = is_double ? F(0x1p200) : F(0x1p60);
  const V ay = magnitude<M>(y), ax = magnitude<M>(x), one = M::all(F(1));
  const typename M::Mask steep = ay > ax, negative = M::bits(x) < 0;
  V a = steep ? ax : ay, b = steep ? ay : ax, back = one;
  if (__builtin_expect(M::any((b >= large) | (a <= small)), 0)) {
    const typename M::Mask endless = b == infinity<F>, huge = b >= large, tiny = a <= small;
    const V by_b = huge ? M::all(F(1) / up) : (tiny & (b <= middle)) ? M::all(up) : one;
    const V by_a = (tiny & (b < large)) ? M::all(up) : by_b;
    // The angle of a tiny a and a usual b, which is the quotient, is then too large; beside a multiple of pi/2 it is nothing.
    back = (by_a > by_b) & ((ax >= ay) & (M::bits(x) >= 0)) ? M::all(F(1) / up) : one;
    a = endless ? (a == infinity<F> ? one : a * F(0)) : a * by_a;
    b = (endless | (b == F(0))) ? one : b * by_b;
  }
  const typename M::Int turned = M::bits(x) ^ M::bits(steep ? M::all(F(-1)) : V{});
  const Angle<M> g = angle_of<M>(a, b, turned & sign_bit<F>);
  V turn = steep ? one : negative ? M::all(F(2)) : V{};
  if constexpr (is_double) turn = g.outer ? turn + M::value((turned & sign_bit<F>) | M::bits(M::all(F(0.5)))) : turn;
  return with_sign_of<M>(angle_from<M>(turn * half_pi<F>, turn * half_pi_rest<F>, g) * back, y);
}

}  // namespace dlt::elementary
