// SPDX-License-Identifier: Apache-2.0
// Powers, the length of a vector of two parts, and the cube root.
#pragma once
#include "native/ops/elementary/machine.h"

namespace dlt::elementary {

// Tables of 16 by the first four bits of a number from 0.6875 to 1.375: a number in the middle, its logarithm to base 2 as a
// multiple of 2^-40 and the rest; 1 in both entries beside 1. And 2^(i / 16) as a pair.
DLT_TABLE double log2_center[16] = {0x1.6800p-1, 0x1.7800p-1, 0x1.8800p-1, 0x1.9800p-1, 0x1.a800p-1, 0x1.b800p-1,
                                    0x1.c800p-1, 0x1.d800p-1, 0x1.e800p-1, 0x1.0000p+0, 0x1.0000p+0, 0x1.1800p+0,
                                    0x1.2800p+0, 0x1.3800p+0, 0x1.4800p+0, 0x1.5800p+0};
DLT_TABLE double log2_high[16] = {-0x1.042bd4b9a8000p-1,
                                  -0x1.c819dc2d44000p-2,
                                  -0x1.8a8980abfc000p-2,
                                  -0x1.4f6fbb2cec000p-2,
                                  -0x1.169c053640000p-2,
                                  -0x1.bfc67a8000000p-3,
                                  -0x1.563dc29ff8000p-3,
                                  -0x1.e0b1ae8f30000p-4,
                                  -0x1.1bb32a6000000p-4,
                                  0x0.0p+0,
                                  0x0.0p+0,
                                  0x1.08c588cda8000p-3,
                                  0x1.acf5e2db50000p-3,
                                  0x1.24407ab0e0000p-2,
                                  0x1.6e221cd9d0000p-2,
                                  0x1.b47ebf7388000p-2};
DLT_TABLE double log2_low[16] = {0x1.b3b3864c60011p-44,
                                 -0x1.fe43895d8ac46p-42,
                                 0x1.66cccab240e90p-45,
                                 -0x1.661e393a16b95p-44,
                                 0x1.d4f1b95e0ff45p-43,
                                 0x1.667f21fa8423fp-44,
                                 -0x1.6590643906f2ap-42,
                                 0x1.54cda62d3926ep-47,
                                 -0x1.52743318a8a57p-42,
                                 0x0.0p+0,
                                 0x0.0p+0,
                                 -0x1.871a7610e40bdp-45,
                                 -0x1.36c101ee13440p-43,
                                 0x1.ce60916e52e91p-44,
                                 0x1.9bcaf1aa4168ap-43,
                                 0x1.50520a377c7ecp-45};
DLT_TABLE double exp2_high[16] = {0x1.0000p+0,          0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
                                  0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
                                  0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
                                  0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
DLT_TABLE double exp2_low[16] = {0x0.0p+0,
                                 0x1.8a62e4adc610bp-54,
                                 -0x1.19041b9d78a76p-55,
                                 0x1.9b07eb6c70573p-54,
                                 0x1.6f46ad23182e4p-55,
                                 0x1.ada0911f09ebcp-55,
                                 0x1.d4397afec42e2p-56,
                                 0x1.6324c054647adp-54,
                                 -0x1.bdd3413b26456p-54,
                                 -0x1.41577ee04992fp-55,
                                 0x1.6e9f156864b27p-54,
                                 0x1.c7c46b071f2bep-56,
                                 0x1.7a1cd345dcc81p-54,
                                 0x1.11065895048ddp-55,
                                 0x1.2ed02d75b3707p-55,
                                 -0x1.e9c23179c2893p-54};
// The logarithm to base 2 of the reciprocals by which the logarithm of a float is reduced.
DLT_TABLE double log2_inverse[16] = {0x1.6cp+0, 0x1.5dp+0, 0x1.4ep+0, 0x1.41p+0, 0x1.35p+0, 0x1.2ap+0, 0x1.1fp+0, 0x1.16p+0,
                                     0x1.0dp+0, 0x1p+0,    0x1p+0,    0x1.d4p-1, 0x1.bap-1, 0x1.a4p-1, 0x1.9p-1,  0x1.7ep-1};
DLT_TABLE double log2_once[16] = {-0x1.03fda8b97997fp-1,
                                  -0x1.c9d02f6ca47b4p-2,
                                  -0x1.88e9c72e0b226p-2,
                                  -0x1.4e43880e8fb6ap-2,
                                  -0x1.15fa676bb08ffp-2,
                                  -0x1.c0db6cdd94deep-3,
                                  -0x1.51bab907a5c8ap-3,
                                  -0x1.e72ec117fa5b2p-4,
                                  -0x1.24b5b7e135a3dp-4,
                                  0x0.0p+0,
                                  0x0.0p+0,
                                  0x1.097e38ce60649p-3,
                                  0x1.b2602497d5346p-3,
                                  0x1.249cd2b13cd6cp-2,
                                  0x1.6cb0f6865c8eap-2,
                                  0x1.b0b67f4f46810p-2};

// A positive normal double as 2^k z, z from 0.6875 to 1.375, and the number of its entry in the tables.
template <class M>
struct Octave {
  typename M::Float k, z;
  typename M::Int entry;
};
template <class M>
DLT_FN Octave<M> octave_of(typename M::Float x) {
  const typename M::Int t = M::bits(x) - 0x3fe6000000000000;
  // The exponent as a double: its bits, moved to be positive, below those of 2^52.
  const typename M::Float k = M::value(M::right(t + 0x3fe0000000000000, 52) | 0x4330000000000000) - (0x1p52 + 1022);
  return {k, M::value(M::bits(x) - (t & int64_t(0xfff0000000000000))), M::right(t, 48)};
}

// The logarithm to base 2 of a positive normal double as an unnormalized pair, to 2^-67 of its value: with a number a of a
// table, s = (z - a) / (z + a) as a pair, 2 artanh(s) = 2 (s + s^3 P(s^2)), the cube's term and its rounding errors kept.
template <class M>
DLT_FN Sum<M> pair_log2(typename M::Float x, typename M::Float more_k) {
  using V = typename M::Float;
  const Octave<M> o = octave_of<M>(x);
  const V a = M::look(log2_center, o.entry);
  const V top = o.z - a;
  const Sum<M> below = fast_sum<M>(a, o.z);
  const V inverse = 1.0 / below.high;
  const V s = top * inverse;
  const V s_low = M::fma(-s, below.low, M::fma(-s, below.high, top)) * inverse;
  const Sum<M> z = two_product<M>(s, s);
  const V q = polynomial<M>(z.high, 0x1.74f1897689a0fp-4, 0x1.c71c5bf035934p-4, 0x1.2492492515dd6p-3, 0x1.999999999998ap-3);
  const V third = M::all(0x1.5555555555555p-2);
  const V p = M::fma(z.high, q, third);
  const V p_low = M::fma(z.high, q, third - p) + 0x1.5555555555555p-56;
  const Sum<M> cube = two_product<M>(z.high, s);
  const Sum<M> term = two_product<M>(cube.high, p);
  const V cube_low = M::fma(z.low, s, cube.low);
  const V small = M::fma(s_low, z.high, s_low) + M::fma(cube_low, p, M::fma(cube.high, p_low, term.low));
  const Sum<M> g = fast_sum<M>(s, term.high);
  const V g_low = g.low + small;
  const V scale = M::all(0x1.71547652b82fep+1);
  const Sum<M> u = two_product<M>(g.high, scale);
  const V u_low = M::fma(g.high, M::all(0x1.777d0ffda0d24p-55), M::fma(g_low, scale, u.low));
  const Sum<M> sum = fast_sum<M>((o.k + more_k) + M::look(log2_high, o.entry), u.high);
  return {sum.high, sum.low + (u_low + M::look(log2_low, o.entry))};
}

// The logarithm to base 2 of a positive normal double, to 2^-52 of its value: with f = z c - 1 for a number c of a table.
template <class M>
DLT_FN typename M::Float short_log2(typename M::Float x) {
  const Octave<M> o = octave_of<M>(x);
  const typename M::Float f = M::fma(o.z, M::look(log2_inverse, o.entry), M::all(-1.0));
  const typename M::Float q = polynomial<M>(
      f, -0x1.01cbe1ff613b8p-3, 0x1.4716e5b0683bcp-3, -0x1.7163e3b56631bp-3, 0x1.a61845671256cp-3, -0x1.ec709c767d59bp-3,
      0x1.2776c4f860613p-2, -0x1.71547652afe3fp-2, 0x1.ec709dc3a1cafp-2, -0x1.71547652b8303p-1, 0x1.71547652b82fep0);
  return M::fma(f, q, o.k + M::look(log2_once, o.entry));
}

// C99's values of pow where x is not positive and finite or the result is no normal number; `r` is |x|^y as far as it is finite
// arithmetic.
template <class M>
DLT_FN typename M::Float power_edges(typename M::Float x, typename M::Float y, typename M::Float r) {
  using F = typename M::Number;
  using V = typename M::Float;
  using K = typename M::Mask;
  constexpr F whole = sizeof(F) == 4 ? F(0x1p23) : F(0x1p52);  // adding it leaves whole numbers below it alone
  const V inf = M::all(infinity<F>), zero = M::all(F(0)), one = M::all(F(1)), ax = magnitude<M>(x), ay = magnitude<M>(y);
  const V half = ay * F(0.5);
  const K broken = ((ay + whole) - whole != ay) & (ay < whole), half_broken = ((half + whole) - whole != half) & (half < whole);
  const K negative = M::bits(x) < 0, nothing = ax == F(0);
  r = ax == F(1) ? one : r;
  r = (nothing | (ax == inf)) ? ((y > F(0)) ^ nothing ? inf : zero) : r;
  const V other = broken ? (((x < F(0)) & (ax < inf)) ? M::all(not_a_number<F>) : r) : -r;
  r = negative & (broken | half_broken) ? other : r;
  r = ((x != x) | (y != y)) ? x + y : r;
  return ((y == F(0)) | (x == F(1))) ? one : r;
}

// |x|^y = 2^(y log2|x|) of floats in doubles, right to 2^-45 before it is rounded.
template <class M>
DLT_FN typename M::Float power_of_floats(typename M::Float x, typename M::Float y) {
  using V = typename M::Float;
  const V t = M::at_least(M::at_most(y * short_log2<M>(magnitude<M>(x)), 200.0), -200.0);
  const V n = t + 0x1.8p52, r = t - (n - 0x1.8p52);
  const V p = polynomial<M>(r, 0x1.e3fe325e5303fp-28, 0x1.b673da5761075p-24, 0x1.62c111ae25b13p-20, 0x1.ffcb56287b499p-17,
                            0x1.43091283ef5f9p-13, 0x1.5d87fe9cab4p-10, 0x1.3b2ab6fbce392p-7, 0x1.c6b08d703d59ep-5,
                            0x1.ebfbdff82c472p-3, 0x1.62e42fefa3a17p-1, 1.0);
  return M::value(M::bits(p) + (M::bits(n) << 52));
}

// |x|^y = 2^(y log2|x|). Doubles: the logarithm as a pair, of 16 numbers a table; 2^t by 16 numbers 2^(i / 16) as pairs and a
// polynomial (at most 0.57 ULP; 0.8 where the result is subnormal).
template <class M>
DLT_FN typename M::Float pow(typename M::Float x, typename M::Float y) {
  using V = typename M::Float;
  using I = typename M::Int;
  if constexpr (sizeof(typename M::Number) == 8) {
    V ax = magnitude<M>(x), more_k = M::all(0.0);
    const bool special = any_special<M>(x);
    if (__builtin_expect(special, 0)) {
      more_k = ax < 0x1p-1022 ? M::all(-1074.0) : more_k;
      ax = ax < 0x1p-1022 ? M::value(M::bits(ax) | 0x4330000000000000) - 0x1p52 : ax;  // its bits are a whole number
    }
    const Sum<M> l = pair_log2<M>(ax, more_k);
    // No product overflows: the smallest logarithm but 0 is 2^-53.
    const V factor = M::at_least(M::at_most(y, 0x1p66), -0x1p66);
    V t = factor * l.high;
    const V t_low = M::fma(factor, l.low, M::fma(factor, l.high, -t));
    t = M::at_least(M::at_most(t, 1024.5), -1100.0);
    const V n = t + 0x1.8p48, k = n - 0x1.8p48, r = (t - k) + t_low;
    const V e = polynomial<M>(r, 0x1.ffcd7ad9a7c4bp-17, 0x1.430a49611032cp-13, 0x1.5d87fe7846d2cp-10, 0x1.3b2ab6fb09b31p-7,
                              0x1.c6b08d704a0c1p-5, 0x1.ebfbdff82c594p-3, 0x1.62e42fefa39efp-1) *
                r;
    const I ni = M::bits(n);
    const V base = M::look(exp2_high, ni);
    const V p = base + M::fma(base, e, M::look(exp2_low, ni));
    V v = p * M::value(((ni & ~int64_t(15)) << 48) + 0x3ff0000000000000);
    if (__builtin_expect(special || M::any_outside(magnitude<M>(t), 0.0, 1021.0), 0)) {
      const typename M::Mask odd = (x <= 0.0) | (magnitude<M>(t) >= 1021.0) | (x >= infinity<double>) | (x != x) | (t != t);
      V s = scaled<M>(p, ((t < 1024.5) & (t > -1100.0)) ? M::value(ni & ~int64_t(15)) - 0x1.8p48 : M::all(0.0));
      s = t == 1024.5 ? M::all(infinity<double>) : t == -1100.0 ? M::all(0.0) : s;
      v = odd ? power_edges<M>(x, y, s) : v;
    }
    return v;
  } else {
    V v = M::in_double(x, y, [](auto m, auto a, auto b) { return power_of_floats<decltype(m)>(a, b); });
    if (__builtin_expect(any_special<M>(x) || M::any_outside(magnitude<M>(y), 0.0f, infinity<float>), 0)) {
      const typename M::Mask plain = ((x > 0.0f) & (x < infinity<float>)) & (magnitude<M>(y) < infinity<float>);
      v = plain ? v : power_edges<M>(x, y, v);
    }
    return v;
  }
}

// sqrt(x^2 + y^2): the sum of squares as a number and its rest, the root of the number, and what both lack divided by twice
// the root (from the bits of the root, to 6 %), added with one rounding: at most 0.53 ULP (0.8 where the result is subnormal).
// Where the sum is not from 2^-511 to 2^513 (floats: 2^-63 to 2^65), both are scaled by a power of two.
template <class M>
DLT_FN typename M::Float hypot(typename M::Float x, typename M::Float y) {
  using F = typename M::Number;
  using V = typename M::Float;
  using N = typename integer_of<F>::type;
  constexpr bool single = sizeof(F) == 4;
  const V ax = magnitude<M>(x), ay = magnitude<M>(y);
  V a = ax > ay ? ax : ay, b = ax > ay ? ay : ax;
  V a2 = a * a, s = M::fma(b, b, a2);
  // The exponent in the middle half of all; a NaN's is not.
  constexpr N quarter = N((wide<F>::bias + 1) / 2) << wide<F>::mantissa;
  const typename M::Mask outside = ((M::bits(s) - quarter) & (sign_bit<F> | (quarter << 1))) != 0;
  const bool some = M::any(outside);
  V up = M::all(F(1));
  if (some) {
    // A NaN leaves the other number as it is: no product is then below the normal numbers, which would be slow.
    constexpr F much = single ? F(0x1p66) : F(0x1p600), little = single ? F(0x1p-90) : F(0x1p-600);
    const typename M::Mask large = outside & (a > F(0x1p20)), small = outside & (a < F(0x1p-20));
    const V down = large ? M::all(F(1) / much) : small ? M::all(F(1) / little) : M::all(F(1));
    up = large ? M::all(much) : small ? M::all(little) : up;
    // A square below half of the smallest number adds nothing, and subnormal factors are slow.
    b = ((b < (single ? F(0x1p-76) : F(0x1p-540))) & (a > F(0x1p-20))) ? M::all(F(0)) : b;
    a = a * down;
    b = b * down;
    a2 = a * a;
    s = M::fma(b, b, a2);
    s = s < infinity<F> ? s : M::all(F(1));  // roots of NaNs are slow
  }
  const V root = M::sqrt(s);
  const V half_inverse = M::value((single ? N(0x7e7311c7) : N(0x7fce623822835eea)) - M::bits(root));
  // a2 is at least half of s, so that their difference is exact.
  const V rest = M::fma(-root, root, s) + (M::fma(b, b, a2 - s) + M::fma(a, a, -a2));
  V r = M::fma(rest, half_inverse, root);
  if (some) {
    r = r * up;
    r = ((ax == infinity<F>) | (ay == infinity<F>)) ? M::all(infinity<F>) : r;
  }
  return r;
}

// The cube root: x = 2^(3k) m, m from 1/2 to 4; m^(-1/3) by a polynomial and a step of second order; m times its square,
// corrected by what m lacks, with an exact square, before one rounding (0.51 ULP).
template <class M>
DLT_FN typename M::Float cbrt(typename M::Float x0) {
  using F = typename M::Number;
  using V = typename M::Float;
  using N = typename integer_of<F>::type;
  constexpr bool single = sizeof(F) == 4;
  constexpr int mantissa = wide<F>::mantissa;
  constexpr F least = single ? F(0x1p-126) : F(0x1p-1022), whole = single ? F(0x1p23) : F(0x1p52), shift = F(1.5) * whole;
  const typename M::Int above = M::all_int(N(wide<F>::bias + mantissa) << mantissa);
  V x = magnitude<M>(x0), more = M::all(F(0));
  const typename M::Mask odd = (x < least) | (x == infinity<F>) | (x != x);
  if (M::any(odd)) {
    // A subnormal number is its bits, a whole number, times the smallest one.
    more = x < least ? M::all(F(1 - wide<F>::bias - mantissa)) : more;
    x = x < least ? M::value(M::bits(x) | above) - whole : x;
  }
  const V exponent = M::value(M::right(M::bits(x), mantissa) | above) - F(whole + wide<F>::bias) + more;
  const V n = M::fma(exponent, M::all(F(1) / F(3)), M::all(shift));
  const V j = M::fma(n - shift, M::all(F(-3)), exponent);  // -1, 0 or 1
  const V f = M::value((M::bits(x) & ((N(1) << mantissa) - 1)) | (N(wide<F>::bias) << mantissa));
  const V m = f * (j > F(0) ? M::all(F(2)) : j < F(0) ? M::all(F(0.5)) : M::all(F(1)));
  const V part = j > F(0) ? M::all(F(0x1.965fea53d6e3dp-1)) : j < F(0) ? M::all(F(0x1.428a2f98d728bp+0)) : M::all(F(1));
  V g;
  if constexpr (single) {
    g = part *
        polynomial<M>(f, F(-0x1.8e66e7b396750p-5), F(0x1.3f54e3e89a473p-2), F(-0x1.9a40a90fa4facp-1), F(0x1.89aaa824baf04p+0));
    g = M::fma(g, M::fma(-m * g, g * g, M::all(F(1))) * F(0x1.5555555555555p-2), g);
  } else {
    g = part * polynomial<M>(f, F(0x1.c731837107b28p-6), F(-0x1.bb1bec900c2fdp-3), F(0x1.5e8accb9a7d37p-1),
                             F(-0x1.2992df8a9809cp+0), F(0x1.aa913e4c930ecp+0));
    const V h = M::fma(-m * g, g * g, M::all(F(1)));
    g = M::fma(g * h, M::fma(h, M::all(F(0x1.c71c71c71c71cp-3)), M::all(F(0x1.5555555555555p-2))), g);
  }
  const V g2 = g * g, y = m * g2;
  const Sum<M> square = two_product<M>(y, y);
  const V rest = M::fma(-square.low, y, M::fma(-square.high, y, m));
  const V root = M::fma(rest, g2 * F(0x1.5555555555555p-2), y);
  const V r = with_sign_of<M>(M::value(M::bits(root) + (M::bits(n) << mantissa)), x0);
  return odd ? (((x == F(0)) | (x == infinity<F>) | (x != x)) ? x0 + x0 : r) : r;
}

}  // namespace dlt::elementary
