// SPDX-License-Identifier: Apache-2.0
// Sine, cosine and tangent, and sinc.
//
// The reduction x = k pi/2 + r, |r| at most about pi/4, takes away pi/2 in three parts (Cody and Waite): the first has all
// bits, so that x - k p1 is exact with a fused multiply-add; the second is so short that k p2 is exact; the third gives what is
// left. Numbers for which k is too long for that take Payne and Hanek's reduction, all lanes at once.
#pragma once
#include "native/ops/elementary/machine.h"

namespace dlt::elementary {

// The quarter turns, whose lowest two bits count, and the rest as a number and a far smaller one.
template <class M>
struct Turn {
  typename M::Int quarters;
  typename M::Float high, low;
};

// 48 bits of 2 / pi as whole numbers, each entry a byte further: entry i ends with byte i - 2, and zeros stand before the
// first.
DLT_TABLE double two_over_pi[147] = {0,
                                     0,
                                     0xa2,
                                     0xa2f9,
                                     0xa2f983,
                                     0xa2f9836e,
                                     0xa2f9836e4e,
                                     0xa2f9836e4e44,
                                     0xf9836e4e4415,
                                     0x836e4e441529,
                                     0x6e4e441529fc,
                                     0x4e441529fc27,
                                     0x441529fc2757,
                                     0x1529fc2757d1,
                                     0x29fc2757d1f5,
                                     0xfc2757d1f534,
                                     0x2757d1f534dd,
                                     0x57d1f534ddc0,
                                     0xd1f534ddc0db,
                                     0xf534ddc0db62,
                                     0x34ddc0db6295,
                                     0xddc0db629599,
                                     0xc0db6295993c,
                                     0xdb6295993c43,
                                     0x6295993c4390,
                                     0x95993c439041,
                                     0x993c439041fe,
                                     0x3c439041fe51,
                                     0x439041fe5163,
                                     0x9041fe5163ab,
                                     0x41fe5163abde,
                                     0xfe5163abdebb,
                                     0x5163abdebbc5,
                                     0x63abdebbc561,
                                     0xabdebbc561b7,
                                     0xdebbc561b724,
                                     0xbbc561b7246e,
                                     0xc561b7246e3a,
                                     0x61b7246e3a42,
                                     0xb7246e3a424d,
                                     0x246e3a424dd2,
                                     0x6e3a424dd2e0,
                                     0x3a424dd2e006,
                                     0x424dd2e00649,
                                     0x4dd2e006492e,
                                     0xd2e006492eea,
                                     0xe006492eea09,
                                     0x6492eea09d1,
                                     0x492eea09d192,
                                     0x2eea09d1921c,
                                     0xea09d1921cfe,
                                     0x9d1921cfe1d,
                                     0xd1921cfe1deb,
                                     0x921cfe1deb1c,
                                     0x1cfe1deb1cb1,
                                     0xfe1deb1cb129,
                                     0x1deb1cb129a7,
                                     0xeb1cb129a73e,
                                     0x1cb129a73ee8,
                                     0xb129a73ee882,
                                     0x29a73ee88235,
                                     0xa73ee88235f5,
                                     0x3ee88235f52e,
                                     0xe88235f52ebb,
                                     0x8235f52ebb44,
                                     0x35f52ebb4484,
                                     0xf52ebb4484e9,
                                     0x2ebb4484e99c,
                                     0xbb4484e99c70,
                                     0x4484e99c7026,
                                     0x84e99c7026b4,
                                     0xe99c7026b45f,
                                     0x9c7026b45f7e,
                                     0x7026b45f7e41,
                                     0x26b45f7e4139,
                                     0xb45f7e413991,
                                     0x5f7e413991d6,
                                     0x7e413991d639,
                                     0x413991d63983,
                                     0x3991d6398353,
                                     0x91d639835339,
                                     0xd639835339f4,
                                     0x39835339f49c,
                                     0x835339f49c84,
                                     0x5339f49c845f,
                                     0x39f49c845f8b,
                                     0xf49c845f8bbd,
                                     0x9c845f8bbdf9,
                                     0x845f8bbdf928,
                                     0x5f8bbdf9283b,
                                     0x8bbdf9283b1f,
                                     0xbdf9283b1ff8,
                                     0xf9283b1ff897,
                                     0x283b1ff897ff,
                                     0x3b1ff897ffde,
                                     0x1ff897ffde05,
                                     0xf897ffde0598,
                                     0x97ffde05980f,
                                     0xffde05980fef,
                                     0xde05980fef2f,
                                     0x5980fef2f11,
                                     0x980fef2f118b,
                                     0xfef2f118b5a,
                                     0xef2f118b5a0a,
                                     0x2f118b5a0a6d,
                                     0x118b5a0a6d1f,
                                     0x8b5a0a6d1f6d,
                                     0x5a0a6d1f6d36,
                                     0xa6d1f6d367e,
                                     0x6d1f6d367ecf,
                                     0x1f6d367ecf27,
                                     0x6d367ecf27cb,
                                     0x367ecf27cb09,
                                     0x7ecf27cb09b7,
                                     0xcf27cb09b74f,
                                     0x27cb09b74f46,
                                     0xcb09b74f463f,
                                     0x9b74f463f66,
                                     0xb74f463f669e,
                                     0x4f463f669e5f,
                                     0x463f669e5fea,
                                     0x3f669e5fea2d,
                                     0x669e5fea2d75,
                                     0x9e5fea2d7527,
                                     0x5fea2d7527ba,
                                     0xea2d7527bac7,
                                     0x2d7527bac7eb,
                                     0x7527bac7ebe5,
                                     0x27bac7ebe5f1,
                                     0xbac7ebe5f17b,
                                     0xc7ebe5f17b3d,
                                     0xebe5f17b3d07,
                                     0xe5f17b3d0739,
                                     0xf17b3d0739f7,
                                     0x7b3d0739f78a,
                                     0x3d0739f78a52,
                                     0x739f78a5292,
                                     0x39f78a5292ea,
                                     0xf78a5292ea6b,
                                     0x8a5292ea6bfb,
                                     0x5292ea6bfb5f,
                                     0x92ea6bfb5fb1,
                                     0xea6bfb5fb11f,
                                     0x6bfb5fb11f8d,
                                     0xfb5fb11f8d5d,
                                     0x5fb11f8d5d08,
                                     0xb11f8d5d0856};

// The entries of a table by index.
template <class M>
DLT_FN typename M::Float two_over_pi_at(typename M::Int i) {
  return M::each(M::value(i), [](double lane) { return two_over_pi[bits_as<int64_t>(lane)]; });
}

// The turn of |x| from 2^22 up (Payne and Hanek). x = y 256^i, y from 1 to 2^8; the bits of 2/pi that give multiples of 4 are
// left out, and 192 of those that follow, four pieces of a double each, are multiplied by y. Products and sums are kept with
// their rounding errors: what is lost is below 2^-126 of a quarter turn, and no double is nearer than 2^-62 to a multiple.
template <class M>
DLT_FN Turn<M> turn_of_far(typename M::Float x) {
  using V = typename M::Float;
  const typename M::Int i = M::right(M::bits(x) - (int64_t(1023) << 52), 55) & 127;
  const V y0 = M::value(M::bits(x) - (i << 55)) * 0x1p8, y1 = y0 * 0x1p-48, y2 = y1 * 0x1p-48, y3 = y2 * 0x1p-48;
  const Sum<M> p0 = two_product<M>(y0, two_over_pi_at<M>(i)), p1 = two_product<M>(y1, two_over_pi_at<M>(i + 6));
  const Sum<M> p2 = two_product<M>(y2, two_over_pi_at<M>(i + 12));
  const V p3 = y3 * two_over_pi_at<M>(i + 18);
  // Sums from the largest: the first without multiples of 2^14, then without the nearest whole number.
  const Sum<M> a = two_sum<M>(p0.high - ((p0.high + 0x1.8p66) - 0x1.8p66), p0.low), b = two_sum<M>(a.high, p1.high);
  const V n = b.high + 0x1.8p52, f = b.high - (n - 0x1.8p52);
  const Sum<M> c = two_sum<M>(a.low, b.low), d = two_sum<M>(p2.high, p1.low), e = two_sum<M>(c.high, d.high);
  const Sum<M> g = two_sum<M>(f, e.high), h = fast_sum<M>(g.high, g.low + (e.low + (c.low + (d.low + (p3 + p2.low)))));
  const V r = h.high * 0x1.921fb54442d18p0, rest = M::fma(h.high, M::all(0x1.921fb54442d18p0), -r);
  const V low = M::fma(h.high, M::all(0x1.1a62633145c07p-54), M::fma(h.low, M::all(0x1.921fb54442d18p0), rest));
  const Sum<M> t = fast_sum<M>(r, low);
  return {M::bits(n), t.high, t.low};
}

// The turn of |x|, in registers of doubles: pi/2 in parts of 53, 31 and 53 bits, so that k has up to 22 bits. The rest is wrong
// by at most 2^-106 of itself and 2^-116.
constexpr double far_double = 0x1p22, below_far = 0x1.fffffffffffffp21;
template <class M>
DLT_FN Turn<M> turn_of(typename M::Float x) {
  using V = typename M::Float;
  const V n = M::fma(x, M::all(0x1.45f306dc9c883p-1), M::all(0x1.8p52)), k = n - 0x1.8p52;
  const V d = M::fma(k, M::all(-0x1.921fb54442d18p0), x), r = M::fma(k, M::all(-0x1.1a62633p-54), d);
  Turn<M> t = {M::bits(n), r, M::fma(k, M::all(-0x1.45c06e0e68948p-86), M::fma(k, M::all(-0x1.1a62633p-54), d - r))};
  if (__builtin_expect(M::any_outside(x, 0.0, far_double), 0)) {
    const typename M::Mask far = (x > below_far) & (x < infinity<double>);
    if (!M::any(far)) return t;
    const Turn<M> f = turn_of_far<M>(far ? x : M::all(far_double));
    t.quarters = far ? f.quarters : t.quarters;
    t.high = far ? f.high : t.high;
    t.low = far ? f.low : t.low;
  }
  return t;
}

// The rest as above, for floats up to 2^10, in parts of 24, 13 and 24 bits.
constexpr float far_float = 0x1p10f, below_far_float = 0x1.fffffep9f;
// Numbers that are their sines and tangents. Products of subnormal ones are slow: 0 takes their place.
constexpr float tiny_float = 0x1p-60f;
template <class M>
DLT_FN typename M::Float without_tiny(typename M::Float size) {
  return size < tiny_float ? M::all(0.0f) : size;
}
template <class M>
DLT_FN Turn<M> turn_of_near_float(typename M::Float x) {
  using V = typename M::Float;
  const V n = M::fma(x, M::all(0x1.45f306p-1f), M::all(0x1.8p23f)), k = n - 0x1.8p23f;
  const V d = M::fma(k, M::all(-0x1.921fb6p0f), x), r = M::fma(k, M::all(0x1.778p-25f), d);
  return {M::bits(n), r, M::fma(k, M::all(-0x1.68c234p-39f), M::fma(k, M::all(0x1.778p-25f), d - r))};
}
// The turn of a float from 2^10 up, as a double. x = y 256^i, y from 2 to 2^9, has 24 bits: 96 bits of 2/pi do, and what is
// lost is below 2^-63 of a quarter turn; no float is nearer than 2^-31 to a multiple.
template <class M>
DLT_FN Turn<M> turn_of_far_float(typename M::Float x) {
  using V = typename M::Float;
  const typename M::Int i = M::right(M::bits(x) - (int64_t(1024) << 52), 55) & 15;
  const V y = M::value(M::bits(x) - (i << 55)), y0 = y * 0x1p-24, y1 = y * 0x1p-72;
  const Sum<M> p = two_product<M>(y0, M::look(two_over_pi + 4, i));
  const V high = p.high - ((p.high + 0x1.8p54) - 0x1.8p54), low = M::fma(y1, M::look(two_over_pi + 10, i), p.low);
  const V n = high + 0x1.8p52;
  return {M::bits(n), ((high - (n - 0x1.8p52)) + low) * 0x1.921fb54442d18p0, V{}};
}

// The sine or cosine (by SHIFT, 0 or 1) of a turn, changed in sign where `sign` has the sign bit. The sine of the rest is r +
// r^3 S(r^2), the cosine is 1 - r^2/2, with its rounding error, and r^4 C(r^2): one polynomial whose coefficients are chosen by
// lane. S and C are fitted for the least relative error: 2^-57.8 and 2^-63.9 (floats: 2^-27.9 and 2^-33.0).
template <class M, int SHIFT>
DLT_FN typename M::Float sine_of_turn(Turn<M> t, typename M::Int sign) {
  using F = typename M::Number;
  using V = typename M::Float;
  constexpr int bits = 8 * sizeof(F);
  const typename M::Int q = t.quarters + SHIFT;
  const typename M::Mask odd = (q & 1) != 0;
  const V r = t.high, z = r * r, half = r * F(-0.5);
  const V high = M::fma(half, r, M::all(F(1))), rest = M::fma(half, r, F(1) - high);
  const V base = odd ? high : r, low = odd ? M::fma(-r, t.low, rest) : t.low, power = z * (odd ? z : r);
  const auto either = [odd](F cosine, F sine) { return odd ? M::all(cosine) : M::all(sine); };
  V p;
  if constexpr (sizeof(F) == 8) {
    const V p01 = M::fma(z, either(-0x1.6c16c16c15010p-10, 0x1.111111110f730p-7),
                         either(0x1.555555555554bp-5, -0x1.5555555555548p-3));
    const V p23 = M::fma(z, either(-0x1.27e4f7f0c4372p-22, 0x1.71de35552a5b1p-19),
                         either(0x1.a01a019c8e510p-16, -0x1.a01a019be9213p-13));
    const V p45 = M::fma(z, either(-0x1.8fa61de53476bp-37, 0x1.5d8b47b89797fp-33),
                         either(0x1.1ee9db24b580bp-29, -0x1.ae5e4b7381402p-26));
    p = M::fma(z * z, M::fma(z * z, p45, p23), p01);
  } else {
    p = M::fma(z, either(0x1.99e80cp-16f, -0x1.9952fap-13f), either(-0x1.6c0c28p-10f, 0x1.110776p-7f));
    p = M::fma(z, p, either(0x1.55554ap-5f, -0x1.555546p-3f));
  }
  return M::value(M::bits(base + M::fma(power, p, low)) ^ (((q << (bits - 2)) ^ sign) & sign_bit<F>));
}
// Of a float from 2^10 up, in doubles, wrong by 2^-37 before it is rounded.
template <class M, int SHIFT>
DLT_FN typename M::Float sine_of_far_float(typename M::Float x) {
  using V = typename M::Float;
  const Turn<M> t = turn_of_far_float<M>(magnitude<M>(x));
  const typename M::Int q = t.quarters + SHIFT;
  const V r = t.high, z = r * r;
  const V sine = M::fma(
      z * r, polynomial<M>(z, 0x1.6cd0a85c4ff66p-19, -0x1.a00f79c9c8ab1p-13, 0x1.11110863c1387p-7, -0x1.5555554c68c3fp-3), r);
  const V cosine = polynomial<M>(z, -0x1.23c86ef4313e6p-22, 0x1.a00eb3da880c2p-16, -0x1.6c16b33dc5a27p-10, 0x1.55555545b4fcdp-5,
                                 -0x1.ffffffffe96dep-2, 1.0);
  const V v = (q & 1) == 0 ? sine : cosine;
  return M::value(M::bits(v) ^ (((q << 62) ^ (SHIFT == 0 ? M::bits(x) : q ^ q)) & sign_bit<double>));
}

// SHIFT 0 is the sine, 1 the cosine; at most 0.9 ULP.
template <class M, int SHIFT>
DLT_FN typename M::Float sine_or_cosine(typename M::Float x) {
  using V = typename M::Float;
  const V size = magnitude<M>(x);
  const typename M::Int sign = SHIFT == 0 ? M::bits(x) : M::bits(size);
  if constexpr (sizeof(typename M::Number) == 8) {
    return sine_of_turn<M, SHIFT>(turn_of<M>(size), sign);
  } else {
    const bool special = M::any_outside(size, tiny_float, far_float);
    V v = sine_of_turn<M, SHIFT>(turn_of_near_float<M>(special ? without_tiny<M>(size) : size), sign);
    if (__builtin_expect(special, 0)) {
      const typename M::Mask far = (size > below_far_float) & (size < infinity<float>);
      if (SHIFT == 0) v = size < tiny_float ? x : v;
      if (!M::any(far)) return v;
      const V from = far ? x : M::all(far_float);
      v = far ? M::in_double(from, [](auto m, auto wide) { return sine_of_far_float<decltype(m), SHIFT>(wide); }) : v;
    }
    return v;
  }
}
template <class M>
DLT_FN typename M::Float sin(typename M::Float x) {
  return sine_or_cosine<M, 0>(x);
}
template <class M>
DLT_FN typename M::Float cos(typename M::Float x) {
  return sine_or_cosine<M, 1>(x);
}

// tan(r) = r + r^3 T(r^2), T fitted for a relative error of 2^-56.2 (floats: 2^-29.5), as a sum and its rest; in odd quarters
// the reciprocal with its remainder. At most 0.98 ULP.
template <class M>
DLT_FN typename M::Float tan_of_turn(Turn<M> t, typename M::Int sign) {
  using F = typename M::Number;
  using V = typename M::Float;
  const V r = t.high, z = r * r;
  V p;
  if constexpr (sizeof(F) == 8)
    p = polynomial<M>(z, 0x1.5eac793d959f9p-16, -0x1.79ca4d2d13b8cp-15, 0x1.786cc483a723fp-14, -0x1.c0098cd5ba304p-16,
                      0x1.1ec98b5d46303p-13, 0x1.d222cdaed2d28p-13, 0x1.38012b5ffb13bp-11, 0x1.7d5a92474bf3cp-10,
                      0x1.d6d94473fcd08p-9, 0x1.226e11e2e8b60p-7, 0x1.664f49acb6053p-6, 0x1.ba1ba1b45431ep-5,
                      0x1.11111111184d4p-3, 0x1.55555555554f0p-2);
  else
    p = polynomial<M>(z, 0x1.1eca60p-8f, 0x1.80bc9ep-14f, 0x1.62f366p-7f, 0x1.5cb9dep-6f, 0x1.bada50p-5f, 0x1.110d9cp-3f,
                      0x1.555560p-2f);
  // The derivative for the smaller part of r, 1 + tan(r)^2, is 1 + z + z^2 to 2 %; that for the rounding error of z is near 0.59 r
  // where it counts.
  const V low = M::fma(M::fma(r, r, -z), r * F(0.59375), M::fma(t.low, M::fma(z, z, z), t.low));
  const Sum<M> v = fast_sum<M>(r, M::fma(z * r, p, low));
  const V q = F(1) / v.high, rest = M::fma(-q, v.low, M::fma(-q, v.high, M::all(F(1))));
  const V w = (t.quarters & 1) == 0 ? v.high : -M::fma(q, rest, q);
  return M::value(M::bits(w) ^ (sign & sign_bit<F>));
}
template <class M>
DLT_FN typename M::Float tan(typename M::Float x) {
  using V = typename M::Float;
  const V size = magnitude<M>(x);
  if constexpr (sizeof(typename M::Number) == 8) {
    return tan_of_turn<M>(turn_of<M>(size), M::bits(x));
  } else {
    const bool special = M::any_outside(size, tiny_float, far_float);
    V v = tan_of_turn<M>(turn_of_near_float<M>(special ? without_tiny<M>(size) : size), M::bits(x));
    if (__builtin_expect(special, 0)) {
      const typename M::Mask far = (size > below_far_float) & (size < infinity<float>);
      v = size < tiny_float ? x : v;
      if (!M::any(far)) return v;
      const auto call = [](auto m, auto wide) {
        using D = decltype(m);
        const Turn<D> t = turn_of_far_float<D>(magnitude<D>(wide));
        const auto r = t.high, z = r * r;
        const auto p = polynomial<D>(z, 0x1.0bbe0dd901556p-9, -0x1.3a4ab9ac2459ap-11, 0x1.476d9e8afcd6cp-8,
                                     0x1.10f2b13434185p-7, 0x1.68344a3bc365fp-6, 0x1.b9feecfea73e6p-5, 0x1.11117954cca66p-3,
                                     0x1.555554542014fp-2);
        const auto v = D::fma(z * r, p, r);
        return D::value(D::bits((t.quarters & 1) == 0 ? v : -1.0 / v) ^ (D::bits(wide) & sign_bit<double>));
      };
      v = far ? M::in_double(far ? x : M::all(far_float), call) : v;
    }
    return v;
  }
}

// sin(pi x) / (pi x). x = k/2 + r is exact; sin(pi r) / pi = r + r^3 S(r^2), or cos(pi r) / pi = 1/pi - pi/2 r^2 + r^4 C(r^2),
// as a sum and its rest, is divided by x with the remainder. S and C are fitted for 2^-57.2 and 2^-63.9 (floats: 2^-28.0 and
// 2^-32.9). At most 0.75 ULP; 0 for whole x, 1 for 0, NaN for infinities.
template <class M>
DLT_FN typename M::Float sinc(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  constexpr bool is_double = sizeof(F) == 8;
  constexpr F shift = is_double ? F(0x1p52) : F(0x1p23);
  const V size = magnitude<M>(x), a = M::at_most(M::at_least(size, is_double ? F(0x1p-30) : F(0x1p-15)), shift);
  const V b = a >= shift / 2 ? a - shift / 2 : a;
  const V n = M::fma(b, M::all(F(2)), M::all(shift)), r = M::fma(n - shift, M::all(F(-0.5)), b), z = r * r;
  V s, c;
  if constexpr (is_double) {
    s = polynomial<M>(z, 0x1.341ddeeff2a8bp-13, -0x1.337d206e34f07p-9, 0x1.ac6800128a30fp-6, -0x1.86a8e46e2b466p-3,
                      0x1.9f9cb402b9da9p-1, -0x1.a51a6625307c3p+0);
    c = polynomial<M>(z, -0x1.14a656eacf682p-15, 0x1.4200a51ce4e73p-11, -0x1.0d2cf386bc954p-7, 0x1.32d2cce373bfep-4,
                      -0x1.b33a5df476b30p-2, 0x1.4abbce625be48p+0);
  } else {
    s = polynomial<M>(z, -0x1.8038b8p-3f, 0x1.9f8da4p-1f, -0x1.a51a52p+0f);
    c = polynomial<M>(z, 0x1.2e4feep-4f, -0x1.b32e12p-2f, 0x1.4abbc4p+0f);
  }
  // 1/pi and pi/2 in two parts.
  constexpr F ih = is_double ? F(0x1.45f306dc9c883p-2) : F(0x1.45f306p-2);
  constexpr F ph = is_double ? F(0x1.921fb54442d18p0) : F(0x1.921fb6p0);
  constexpr F il = is_double ? F(-0x1.6b01ec5417056p-56) : F(0x1.b9391p-27);
  constexpr F pl = is_double ? F(0x1.1a62633145c07p-54) : F(-0x1.777a5cp-25);
  const V top = M::fma(z, M::all(-ph), M::all(ih)), lost = M::fma(z, M::all(-ph), ih - top);
  const V tail = M::fma(z * z, c, lost + M::fma(z, M::all(-pl), M::all(il)));
  const typename M::Mask even = (M::bits(n) & 1) == 0;
  const Sum<M> v = fast_sum<M>(even ? r : top, even ? z * r * s : tail);
  const V turn = F(1) / a, q = v.high * turn, rest = M::fma(-q, a, v.high) + v.low;
  const V w = M::fma(rest, turn, q);
  const V y = M::value(M::bits(w) ^ ((M::bits(n) << (8 * int(sizeof(F)) - 2)) & sign_bit<F>));
  return size == infinity<F> ? M::all(not_a_number<F>) : w == F(0) ? V{} : y;
}

}  // namespace dlt::elementary
