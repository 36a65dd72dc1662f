// SPDX-License-Identifier: Apache-2.0
// The error function, its complement and the logarithm of the gamma function.
#pragma once
#include "native/ops/elementary/exponentials.h"
#include "native/ops/elementary/gamma_zeros.h"
#include "native/ops/elementary/powers.h"

namespace dlt::elementary {

// erf(x) / x - 9/8 for |x| at most 1/2, by the square of x: to 2^-65, or 2^-36 for floats.
template <class M, bool SINGLE>
DLT_FN typename M::Float erf_slope(typename M::Float square) {
  if constexpr (SINGLE) {
    return polynomial<M>(square, -0x1.936a4a7830bd8p-11, 0x1.54d076df271bdp-8, -0x1.b8203032a45abp-6, 0x1.ce2ef239ee029p-4,
                         -0x1.8127466f5b8a1p-2, 0x1.baea08369d3efp-9);
  } else {
    return polynomial<M>(square, -0x1.39fb524e9c1f7p-23, 0x1.b776442df3041p-20, -0x1.f4bb9f7301dedp-17, 0x1.f9a2a6635fe79p-14,
                         -0x1.c02db23d41138p-11, 0x1.565bcd0aa6349p-8, -0x1.b82ce3127f739p-6, 0x1.ce2f21a042b29p-4,
                         -0x1.812746b0379e6p-2, 0x1.baea08536da23p-9);
  }
}

// erfc(x) = p 2^k for x from 1/2 to 28, p = high + low: exp(-x^2), whose square is a pair, times the scaled function
// erfcx(x) = u S(u), u = 1 / (x + 1), by one polynomial (after Shepherd and Laframboise, 1981). The error of u is put right by
// erfcx' = 2 x erfcx - 2 / sqrt(pi). The pair is right to 2^-56.
template <class M>
struct Complement {
  typename M::Float high, low, k;
};
template <class M>
DLT_FN Complement<M> complement_of(typename M::Float x) {
  using V = typename M::Float;
  const V one = M::all(1.0);
  // exp(-x^2)
  const Sum<M> square = two_product<M>(x, x);
  const V k = M::fma(square.high, M::all(-0x1.71547652b82fep0), M::all(0x1.8p52)) - 0x1.8p52;
  const V near = M::fma(k, M::all(-0x1.62e42fefa38p-1), -square.high);
  const Sum<M> r = fast_sum<M>(near, M::fma(k, M::all(-0x1.ef35793c7673p-45), -square.low));
  const V q = polynomial<M>(r.high, 0x1.1f7628950c7cfp-29, 0x1.af4df84f831acp-26, 0x1.27e4d9b176e45p-22, 0x1.71de022a75ef9p-19,
                            0x1.a01a01a77ae89p-16, 0x1.a01a01abea3d7p-13, 0x1.6c16c16c1614fp-10, 0x1.11111111100d7p-7,
                            0x1.5555555555556p-5, 0x1.5555555555557p-3, 0x1.0000000000000p-1);
  const Sum<M> w = fast_sum<M>(one, r.high);
  const Sum<M> power = fast_sum<M>(w.high, w.low + M::fma(r.high * r.high, q, r.low * w.high));
  // erfcx(x)
  const Sum<M> shifted = fast_sum<M>(one, x);
  const V u = 1.0 / shifted.high;
  const V wrong = M::fma(u, shifted.low, M::fma(u, shifted.high, -one)) * shifted.high;  // x + 1 - 1 / u
  const V t = u - 0.375, t_low = u - (t + 0.375);
  const V inner = polynomial<M>(t, 0x1.73f49b706e7adp+14, -0x1.ae24f2a24d7c8p+10, -0x1.e98a9e2bc05e4p+13, 0x1.a82f446ce6897p+11,
                                0x1.93e67bff5eeecp+11, -0x1.2feffd14cc1d3p+10, 0x1.974d39b6c2155p+6, -0x1.4ebb555ab50bap+6,
                                -0x1.b69e8cd836129p+3, 0x1.54dd0bdafa498p+6, -0x1.0261babbbdc30p+6, 0x1.606375e16648cp+4,
                                0x1.60c7e4f793487p+2, -0x1.b953409877d30p+3, 0x1.3ecff158ebb3fp+3, -0x1.6c14df0ad3ecdp+1,
                                -0x1.f50e7f06bf1bbp+0, 0x1.837a9ff372845p+1, -0x1.aaabb1db693eap+0, -0x1.df6a4b527876cp-4,
                                0x1.fd39a46f95985p-1, -0x1.7f4a0468b786fp-1, -0x1.a310f646655e8p-6, 0x1.128190c4535cap-1,
                                -0x1.6a846814fad29p-2, -0x1.30397229bd1d9p-2);
  const Sum<M> first = two_product<M>(t, inner);
  const Sum<M> a = fast_sum<M>(M::all(0x1.1fd69f63a9260p-1), first.high);
  const Sum<M> second = two_product<M>(t, a.high);
  const Sum<M> s = fast_sum<M>(M::all(0x1.9487fab2bf497p-1), second.high);
  const V s_low = s.low + (M::fma(t_low, a.high, M::fma(t, a.low + first.low, second.low)) + 0x1.a82244ba0b47fp-58);
  const Sum<M> e = two_product<M>(u, s.high);
  const V e_low = M::fma(wrong, M::fma(x + x, e.high, M::all(-0x1.20dd750429b6dp+0)), M::fma(u, s_low, e.low));
  // Their product
  const Sum<M> p = two_product<M>(power.high, e.high);
  return {p.high, M::fma(power.low, e.high, M::fma(power.high, e_low, p.low)), k};
}
// The same for the results of floats, x from 1/2 to 10.2: to 2^-36.
template <class M>
DLT_FN Complement<M> short_complement_of(typename M::Float x) {
  using V = typename M::Float;
  const V square = x * x;
  const V k = M::fma(square, M::all(-0x1.71547652b82fep0), M::all(0x1.8p52)) - 0x1.8p52;
  const V r = M::fma(k, M::all(-0x1.62e42fefa39efp-1), -square);
  const V q = polynomial<M>(r, 0x1.a1175695a25a9p-16, 0x1.a1518ddc151d3p-13, 0x1.6c16830566644p-10, 0x1.1110c62904215p-7,
                            0x1.5555555d40947p-5, 0x1.5555556756a2ap-3, 0x1.ffffffffffe28p-2);
  const V u = 1.0 / (x + 2.0);
  const V s = polynomial<M>(u - 0.25, -0x1.b90217fba2dfep+8, -0x1.2d577f4cfd4cfp+6, 0x1.392d127e5f624p+7, -0x1.5b7ec51d9a925p+3,
                            -0x1.5cb1163a83818p+5, 0x1.b7ca656944fefp+3, 0x1.95246f8fc0ae2p+3, -0x1.a8a17df9da83bp+2,
                            -0x1.606e63c819b7ap+2, 0x1.2a88ea555c6b8p+1, 0x1.1e2deeb79cea1p+2, 0x1.5fd386745c76ap+1,
                            0x1.058671b527245p+0);
  return {M::fma(r * r, q, r + 1.0) * (u * s), M::all(0.0), k};
}

// The error function: 9/8 x + x P(x^2) up to 1/2, then 1 - erfc(x): at most 0.75 ULP. Of floats: x + x P(x^2 - 1/2) up to 1, then
// 1 - exp(x Q(x) - x): at most 0.93 ULP.
template <class M>
DLT_FN typename M::Float erf(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 8) {
    const V ax = magnitude<M>(x), one = M::all(1.0);
    const V near = M::at_least(ax, 0x1p-500), slope = erf_slope<M, false>(near * near);
    const Sum<M> line = fast_sum<M>(near, near * 0.125);
    V r = line.high + M::fma(near, slope, line.low);
    const Complement<M> c = complement_of<M>(M::at_least(M::at_most(ax, 6.0), 0.5));
    const V scale = M::value((M::bits(c.k + 0x1.8p52) << 52) + 0x3ff0000000000000);
    const Sum<M> rest = fast_sum<M>(one, -(scale * c.high));
    r = ax > 0.5 ? rest.high + M::fma(-scale, c.low, rest.low) : r;
    // No product below the normal numbers.
    const typename M::Mask tiny = ax < 0x1p-500;
    if (M::any(tiny)) {
      const V large = ax * 0x1p500;
      const Sum<M> up = fast_sum<M>(large, large * 0.125);
      r = tiny ? (up.high + M::fma(large, slope, up.low)) * 0x1p-500 : r;
    }
    return with_sign_of<M>(r, x);
  } else {
    const V ax = magnitude<M>(x), far = M::at_most(ax, 4.0f);
    const V slope = polynomial<M>(M::fma(ax, ax, M::all(-0.5f)), 0x1.503948p-14f, -0x1.288f1p-11f, 0x1.c8175cp-9f,
                                  -0x1.2b8d9ep-6f, 0x1.454374p-4f, -0x1.1fd164p-2f, -0x1.1ae14ep-5f);
    const V curve = polynomial<M>(far, 0x1.b8ce5cp-13f, -0x1.a13acep-9f, 0x1.755504p-6f, -0x1.ae7a5p-4f, -0x1.458d9ep-1f,
                                  -0x1.071e4p-3f);
    const Sixteenths<M> a = sixteenths<M>(M::fma(far, curve, -far));
    const Sum<M> e = sixteenth<M>(a.n, small_rise<M>(a.r));
    const V scale = M::value((sixteenth_power<M>(a.n) + 127) << 23);
    const Sum<M> rest = fast_sum<M>(M::all(1.0f), -scale * e.high);
    const V r = ax > 1.0f ? rest.high + M::fma(-scale, e.low, rest.low) : M::fma(ax, slope, ax);
    return with_sign_of<M>(r, x);
  }
}

// Its complement, 1 - erf(x): 1 - 9/8 x - x P(x^2) from -1/2 to 1/2; beyond, see above, 2 less it for negative numbers: at most
// 0.8 ULP (0.9 where the result is subnormal); floats in doubles.
template <class M>
DLT_FN typename M::Float erfc(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 8) {
    const V ax = magnitude<M>(x), one = M::all(1.0);
    const Sum<M> line = fast_sum<M>(x, x * 0.125), less = fast_sum<M>(one, -line.high);
    const V inside = less.high + M::fma(-x, erf_slope<M, false>(x * x), less.low - line.low);
    const Complement<M> c = complement_of<M>(M::at_least(M::at_most(ax, 28.0), 0.5));
    V beyond = scaled<M>(c.high + c.low, c.k);
    beyond = x < 0.0 ? 2.0 - beyond : beyond;
    return ax > 0.5 ? beyond : inside;
  } else {
    return M::in_double(x, [](auto m, auto v) {
      using D = decltype(m);
      const auto av = magnitude<D>(v);
      const auto inside = D::fma(-v, erf_slope<D, true>(v * v) + 1.125, D::all(1.0));
      const auto c = short_complement_of<D>(D::at_least(D::at_most(av, 10.2), 0.5));
      auto beyond = c.high * D::value((D::bits(c.k + 0x1.8p52) << 52) + 0x3ff0000000000000);
      beyond = v < 0.0 ? 2.0 - beyond : beyond;
      return av > 0.5 ? beyond : inside;
    });
  }
}

// The natural logarithm of 2^more_k x (1 + low), x positive and normal, as a pair, to 2^-66 of its value; of x as one double.
template <class M>
DLT_FN Sum<M> pair_log(typename M::Float x, typename M::Float low, typename M::Float more_k) {
  const typename M::Float ln2 = M::all(0x1.62e42fefa39efp-1);
  const Sum<M> l = pair_log2<M>(x, more_k), p = two_product<M>(l.high, ln2);
  return fast_sum<M>(p.high, M::fma(l.high, M::all(0x1.abc9e3b39803fp-56), M::fma(l.low, ln2, p.low)) + low);
}
template <class M>
DLT_FN typename M::Float short_log(typename M::Float x) {
  return short_log2<M>(x) * 0x1.62e42fefa39efp-1;
}

// sin(pi d) / (pi d) - 1 for |d| at most 1/2, over the square of d: less its first term to 2^-58; whole to 2^-55.
template <class M, bool SINGLE>
DLT_FN typename M::Float sine_slope(typename M::Float square) {
  if constexpr (SINGLE) {
    return polynomial<M>(square, 0x1.080d6f89e0a7bp-22, -0x1.d3f28cd7ed530p-18, 0x1.3746c57917ca7p-13, -0x1.33816a0620ac5p-9,
                         0x1.ac6805cdf308ap-6, -0x1.86a8e4720c749p-3, 0x1.9f9cb402bc45dp-1, -0x1.a51a6625307d3p+0);
  } else {
    return polynomial<M>(square, -0x1.e8dfbd9fab477p-28, 0x1.0fb11c8c637adp-22, -0x1.d4243615e629dp-18, 0x1.374719867986ep-13,
                         -0x1.33816aa3bfab6p-9, 0x1.ac6805cf34106p-6, -0x1.86a8e4720db5bp-3, 0x1.9f9cb402bc46cp-1);
  }
}

// log |Gamma(x)| for x above -1/2 as an unnormalized pair. From 5/2 on by Stirling's formula, (x - 1/2)(log x - 1) + (log(2
// pi) - 1) / 2 + W(1 / x) / x, the logarithm as a pair and W by a polynomial (right to 2^-58); below, with d = x, x - 1 or x -
// 2 from -1/2 to 1/2, by log Gamma(2 + d) = d (1 + d) Q(d), which keeps the zeros at 1 and 2, less log |x (1 + x)|, log x or
// nothing.
template <class M>
DLT_FN Sum<M> pair_gammaln(typename M::Float x) {
  using V = typename M::Float;
  const V one = M::all(1.0), zero = M::all(0.0);
  const V d = x < 0.5 ? x : x < 1.5 ? x - 1.0 : x - 2.0;
  const Sum<M> e = fast_sum<M>(one, d);
  // The argument of the logarithm: x (1 + x), x or 1; subnormal numbers times 2^54.
  const V ax = magnitude<M>(x);
  V more_k = zero, up = ax;
  if (M::any(ax < 0x1p-1022)) {
    more_k = ax < 0x1p-1022 ? M::all(-54.0) : more_k;
    up = ax < 0x1p-1022 ? ax * 0x1p54 : ax;
  }
  const Sum<M> below = two_product<M>(up, x < 0.5 ? e.high : one);
  const V part = ((x >= 1.5) & (x < 2.5)) ? one : below.high;
  const V inverse = 1.0 / part;
  const Sum<M> l = pair_log<M>(part, x < 0.5 ? M::fma(up, e.low, below.low) * inverse : zero, more_k);
  // d (1 + d) Q(d)
  const V inner = polynomial<M>(d, 0x1.e6b9d8a5c1b18p-26, -0x1.fc7276230df2fp-25, 0x1.7482e86e50452p-24, -0x1.878418021b21ep-23,
                                0x1.b30be3afb6099p-22, -0x1.cb8dbcabe79bcp-21, 0x1.e54888e7ceab9p-20, -0x1.02264d7c67cfbp-18,
                                0x1.13e45cc64be68p-17, -0x1.2850a3350849dp-16, 0x1.402f0f7315160p-15, -0x1.5c86b4d821319p-14,
                                0x1.7ed733aeb7daep-13, -0x1.a96a401523a2cp-12, 0x1.dfebcf8e7ce17p-11, -0x1.145121f999bd7p-9,
                                0x1.47974853aa1b7p-8, -0x1.95ce223a9cbebp-7, 0x1.0e0c9df293531p-5);
  const Sum<M> first = two_product<M>(d, inner);
  const Sum<M> a = fast_sum<M>(M::all(-0x1.9ae6509ea109fp-4), first.high);
  const Sum<M> second = two_product<M>(d, a.high);
  const Sum<M> q = fast_sum<M>(M::all(0x1.b0ee6072093cep-2), second.high);
  const V q_low = q.low + (M::fma(d, (a.low + first.low) - 0x1.0b3983f4ec757p-58, second.low) + 0x1.6cb90701fbfabp-58);
  const Sum<M> m = two_product<M>(d, e.high), t = two_product<M>(m.high, q.high);
  const V t_low = M::fma(m.high, q_low, M::fma(M::fma(d, e.low, m.low), q.high, t.low));
  const Sum<M> near = two_sum<M>(t.high, -l.high);
  const V near_low = near.low + (t_low - l.low);
  // Stirling's formula
  const V w = polynomial<M>(inverse - 0.1875, -0x1.60b5a63f56063p-7, 0x1.55a402ee71807p-7, -0x1.15a2bcc71a2dbp-9,
                            -0x1.4bc342662bffep-9, 0x1.42135f0eab902p-9, -0x1.82c842979b398p-11, -0x1.179d63031e6a2p-11,
                            0x1.8f3f990c2b8abp-11, -0x1.267501a3e5ddap-12, -0x1.222be685dcff1p-12, 0x1.c8dded6adc533p-12,
                            -0x1.8c013f332258bp-14, -0x1.ceaf244114e40p-12, 0x1.1a78e395667a4p-11, 0x1.13d8a4fcfad13p-11,
                            -0x1.577919de82052p-9, -0x1.0bc8e8cf9c69bp-10, 0x1.54efefa006954p-4);
  const Sum<M> less = fast_sum<M>(x, M::all(-0.5)), g = two_sum<M>(l.high, -one);
  const V scale = x > 0x1p900 ? M::all(0x1p-128) : one;
  const V lh = less.high * scale;
  const Sum<M> product = two_product<M>(lh, g.high);
  const V product_low = M::fma(lh, g.low + l.low, M::fma(less.low, g.high, product.low));
  const Sum<M> far = two_sum<M>(product.high, M::all(0x1.acfe390c97d69p-2));
  const V far_low = far.low + (M::fma(inverse, w, product_low) + 0x1.3494bc9001442p-56);
  const V more = x > 0x1p900 ? M::all(0x1p128) : one;
  return {x < 2.5 ? near.high : far.high * more, x < 2.5 ? near_low : far_low * more};
}
// The same for the results of floats, to 2^-49.
template <class M>
DLT_FN typename M::Float short_gammaln(typename M::Float x) {
  using V = typename M::Float;
  const V one = M::all(1.0);
  const V d = x < 0.5 ? x : x < 1.5 ? x - 1.0 : x - 2.0, e = d + 1.0;
  const V part = ((x >= 1.5) & (x < 2.5)) ? one : magnitude<M>(x) * (x < 0.5 ? e : one);
  const V l = short_log<M>(part), inverse = 1.0 / part;
  const V q = polynomial<M>(d, -0x1.20268103fd281p-20, 0x1.30f95c58e4ddfp-19, -0x1.f7d04dafd237cp-19, 0x1.0d4795294121cp-17,
                            -0x1.28a737659524dp-16, 0x1.408a7ec9e3e1fp-15, -0x1.5c8422bae78d8p-14, 0x1.7ed47d9b39c3ap-13,
                            -0x1.a96a4aa30ae2bp-12, 0x1.dfebdaae05050p-11, -0x1.145121eeff064p-9, 0x1.479748487e153p-8,
                            -0x1.95ce223aa4d7dp-7, 0x1.0e0c9df297971p-5, -0x1.9ae6509ea1097p-4, 0x1.b0ee6072093cap-2);
  const V near = M::fma(d * e, q, -l);
  const V w = polynomial<M>(inverse - 0.1875, -0x1.94823d27b9b5dp-12, 0x1.5f0dbcfe10c18p-11, -0x1.26b07cd5c5d78p-12,
                            -0x1.1e2b25682656ep-12, 0x1.c8b527b22874dp-12, -0x1.8c4e35d80fba2p-14, -0x1.ceae31bce1a91p-12,
                            0x1.1a78f86dcf3dep-11, 0x1.13d8a41483d2dp-11, -0x1.577919e2a6219p-9, -0x1.0bc8e8cf630dbp-10,
                            0x1.54efefa006998p-4);
  const V far = M::fma(x - 0.5, l - 1.0, M::fma(inverse, w, M::all(0x1.acfe390c97d69p-2)));
  return x < 2.5 ? near : far;
}

// log |Gamma(x)|; below -1/2 by Euler's reflection, -log(|x| |sin(pi x)| / pi) - log Gamma(-x), both as pairs; near the zeros
// between the poles by their table. At most 0.8 ULP. Floats in doubles, to 0.51 ULP at those zeros too.
template <class M>
DLT_FN typename M::Float gammaln(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 8) {
    const V ax = magnitude<M>(x);
    const typename M::Mask mirrored = x < -0.5;
    const bool some = M::any(mirrored);
    const Sum<M> g = pair_gammaln<M>(mirrored ? ax : x);
    V r = g.high + g.low;
    V whole = M::all(1.0);  // 0 at the poles
    if (some) {
      // The distance to the nearest whole number, which is all of 2^52 and more.
      const V nearest = (ax + 0x1p52) - 0x1p52, d = ax >= 0x1p52 ? M::all(0.0) : ax - nearest;
      whole = mirrored ? d : whole;
      const V distance = mirrored ? (d == 0.0 ? M::all(0.5) : magnitude<M>(d)) : M::all(0.5);
      const Sum<M> z = two_product<M>(distance, distance), first = two_product<M>(z.high, sine_slope<M, false>(z.high));
      const Sum<M> a = fast_sum<M>(M::all(-0x1.a51a6625307d3p+0), first.high);
      const Sum<M> second = two_product<M>(z.high, a.high), v = fast_sum<M>(M::all(1.0), second.high);
      const V a_low = (a.low + first.low) - 0x1.1873d8912200cp-55;
      const V v_low = v.low + M::fma(z.low, a.high, M::fma(z.high, a_low, second.low));
      const Sum<M> m = two_product<M>((mirrored & (ax < 0x1p52)) ? ax : M::all(1.0), distance);
      const Sum<M> p = two_product<M>(m.high, v.high);
      const V p_low = M::fma(m.high, v_low, M::fma(m.low, v.high, p.low));
      const Sum<M> l = pair_log<M>(p.high, p_low / p.high, M::all(0.0));
      const Sum<M> sum = two_sum<M>(-l.high, -g.high);
      r = mirrored ? sum.high + (sum.low - (l.low + g.low)) : r;
      const typename M::Mask near = mirrored & (magnitude<M>(r) < 0.127) & (x < -2.385);
      if (M::any(near)) r = near ? M::each(x, [](double v) { return gammaln_near_zero(v); }) : r;
    }
    const typename M::Mask odd = (x == 0.0) | (whole == 0.0) | (ax == infinity<double>) | (x != x);
    if (M::any(odd)) {
      r = ((x == 0.0) | (whole == 0.0) | (ax == infinity<double>)) ? M::all(infinity<double>) : r;
      r = x != x ? x : r;
    }
    return r;
  } else {
    return M::in_double(x, [](auto m, auto v) {
      using D = decltype(m);
      using W = typename D::Float;
      const W av = magnitude<D>(v);
      const typename D::Mask mirrored = v < -0.5;
      W r = short_gammaln<D>(mirrored ? av : v);
      W whole = D::all(1.0);
      if (D::any(mirrored)) {
        const W d = av >= 0x1p52 ? D::all(0.0) : av - ((av + 0x1p52) - 0x1p52);
        whole = mirrored ? d : whole;
        const W z = d * d;
        const W sine = magnitude<D>(D::fma(z * d, sine_slope<D, true>(z), d));
        r = mirrored ? -short_log<D>(whole == 0.0 ? D::all(1.0) : av * sine) - r : r;
      }
      r = ((v == 0.0) | (whole == 0.0) | (av == infinity<double>)) ? D::all(infinity<double>) : r;
      return v != v ? v : r;
    });
  }
}

}  // namespace dlt::elementary
