// SPDX-License-Identifier: Apache-2.0
// exp, exp2, expm1, sinh, cosh, tanh and sigmoid, in the arithmetic of their type. Largest errors in ULP, measured:
//            exp   exp2  expm1 sinh  cosh  tanh  sigmoid
//   float32  0.55  0.55  0.83  0.87  0.55  0.56  0.55    (subnormal results of exp, exp2 and sigmoid 0.76: rounded twice)
//   float64  0.78  0.65  0.80  0.82  0.80  0.86  0.75
//
// The argument is k ln 2 + r + rest with |r| at most ln 2 / 2 (Cody and Waite's reduction by two parts of ln 2, the first of so
// few bits that its product with k is exact); a polynomial gives e^r, and every sum that rounds is kept as a number and its
// error until the last one. exp, exp2 and cosh of floats take sixteenths of powers of two from a table; tanh is all by table.
// Arguments so small that products would be subnormal (slow on some processors) are replaced by one with the same result.
#pragma once
#include "native/ops/elementary/machine.h"

namespace dlt::elementary {

// 2^(i / 16) as the nearest float and its error.
DLT_TABLE float sixteenths_high[16] = {0x1p0f,        0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f, 0x1.306fep0f,  0x1.3dea64p0f,
                                       0x1.4bfdaep0f, 0x1.5ab07ep0f, 0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f,
                                       0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
DLT_TABLE float sixteenths_low[16] = {0.0f,
                                      0x1.9f3122p-25f,
                                      -0x1.c15742p-27f,
                                      0x1.ceac48p-25f,
                                      0x1.4636e2p-25f,
                                      0x1.824684p-25f,
                                      -0x1.593abcp-25f,
                                      -0x1.5bd5ecp-27f,
                                      0x1.9fcef4p-26f,
                                      -0x1.829fdp-25f,
                                      0x1.15506ep-27f,
                                      0x1.51f848p-27f,
                                      -0x1.a94b14p-26f,
                                      -0x1.3d56b2p-27f,
                                      -0x1.822dbcp-27f,
                                      0x1.52486cp-27f};

// A number whose lowest bits of the mantissa are those of the whole number added to it.
template <class F>
inline constexpr F whole_shift = sizeof(F) == 4 ? F(0x1.8p23) : F(0x1.8p52);

// `scaled`, and 0 where x, below which k and p may be anything, is less than `least`. AVX-512 does it with a mask: an underflow to 0
// takes microcode on some processors.
template <class M>
DLT_FN typename M::Float scaled_from([[maybe_unused]] typename M::Float least, [[maybe_unused]] typename M::Float x,
                                     typename M::Float p, typename M::Float k) {
#if defined(__AVX512F__) && !defined(__CUDACC_RTC__)
  using V = typename M::Float;
  if constexpr (M::lanes == 16)
    return V(_mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(__m512(x), __m512(least), _CMP_NLT_UQ), __m512(p), __m512(k)));
  else if constexpr (M::lanes == 8 && sizeof(typename M::Number) == 8)
    return V(_mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(__m512d(x), __m512d(least), _CMP_NLT_UQ), __m512d(p), __m512d(k)));
  else
#endif
    return scaled<M>(p, k);
}
// Limits the arguments of scaled_from() where it is `scaled`.
template <class M>
DLT_FN typename M::Float limited_for_scaling(typename M::Float x, [[maybe_unused]] typename M::Number least) {
#if defined(__AVX512F__) && !defined(__CUDACC_RTC__)
  if constexpr (M::lanes * sizeof(typename M::Number) == 64) return x;
#endif
  return M::at_least(x, least);
}

// 2^(k + by) of n = k + whole_shift, for results in the normal range.
template <class M>
DLT_FN typename M::Float power_of_two(typename M::Float n, int by) {
  using F = typename M::Number;
  using I = typename integer_of<F>::type;
  return M::value((M::bits(n) << wide<F>::mantissa) + (I(wide<F>::bias + by) << wide<F>::mantissa));
}

// A polynomial by Horner's rule in z = x^2 over pairs of coefficients, the highest first: as many operations, half the delay.
template <class M, class... REST>
DLT_FN typename M::Float pairs(typename M::Float z, typename M::Float x, typename M::Float sum, typename M::Number odd,
                               typename M::Number even, REST... rest) {
  sum = M::fma(sum, z, M::fma(x, M::all(odd), M::all(even)));
  if constexpr (sizeof...(rest) > 0) return pairs<M>(z, x, sum, rest...);
  else return sum;
}
template <class M, class... REST>
DLT_FN typename M::Float by_pairs(typename M::Float x, typename M::Float z, typename M::Number top, typename M::Number next,
                                  REST... rest) {
  if constexpr (sizeof...(rest) % 2 == 0) return pairs<M>(z, x, M::fma(x, M::all(top), M::all(next)), rest...);
  else return pairs<M>(z, x, M::all(top), next, rest...);
}

// x = k ln 2 + r + rest: k whole, also as n = k + whole_shift, |r| at most 0.3467, the error below 2^-80 of a float (2^-140).
template <class M>
struct Reduced {
  typename M::Float n, k, r, rest;
};
template <class M>
DLT_FN Reduced<M> reduced(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  constexpr bool single = sizeof(F) == 4;
  constexpr F high = single ? F(0x1.62e4p-1) : F(0x1.62e42fefa38p-1);
  constexpr F low = single ? F(0x1.7f7d1cp-20) : F(0x1.ef35793c7673p-45);
  const V n = M::fma(x, M::all(single ? F(0x1.715476p0) : F(0x1.71547652b82fep0)), M::all(whole_shift<F>));
  const V k = n - whole_shift<F>;
  const V near = M::fma(k, M::all(-high), x), r = M::fma(k, M::all(-low), near);
  return {n, k, r, M::fma(k, M::all(-low), near - r)};
}

// (e^r - 1 - r - r^2 / 2) / r^3 for |r| at most 0.3467: e^r - 1 is right to 2^-31.1 (float), 2^-61.6 (double).
template <class M>
DLT_FN typename M::Float exp_curve(typename M::Float r, typename M::Float z) {
  if constexpr (sizeof(typename M::Number) == 4)
    return by_pairs<M>(r, z, 0x1.a242fcp-13f, 0x1.6d3c98p-10f, 0x1.111004p-7f, 0x1.5554f6p-5f, 0x1.555556p-3f);
  else
    return by_pairs<M>(r, z, 0x1.1f70c751ba5c5p-29, 0x1.af5fca14c7a5ep-26, 0x1.27e4dc04fdd6ep-22, 0x1.71ddf7c13f8f9p-19,
                       0x1.a01a01a6e2e26p-16, 0x1.a01a01b01c23cp-13, 0x1.6c16c16c161d7p-10, 0x1.111111110f62ep-7,
                       0x1.5555555555556p-5, 0x1.5555555555559p-3);
}

// 2^(k / 16) e^r of n = k + whole_shift and rise = e^r - 1, without its factor 2^floor(k / 16), as a number and a rest
// of at most 1 / 40 of it.
template <class M>
DLT_FN Sum<M> sixteenth(typename M::Float n, typename M::Float rise) {
  const typename M::Float t = M::look(sixteenths_high, M::bits(n));
  return {t, M::fma(t, rise, M::look(sixteenths_low, M::bits(n)))};
}
// floor(k / 16)
template <class M>
DLT_FN typename M::Int sixteenth_power(typename M::Float n) {
  return (M::bits(n) << 10) >> 14;
}
template <class M>
DLT_FN typename M::Float scaled_sixteenth(typename M::Float p, typename M::Float n, [[maybe_unused]] typename M::Float k,
                                          [[maybe_unused]] typename M::Float x, [[maybe_unused]] typename M::Number least) {
#if defined(__AVX512F__) && !defined(__CUDACC_RTC__)
  // An instruction that rounds the power down.
  if constexpr (M::lanes == 16) return scaled_from<M>(M::all(least), x, p, k * 0.0625f);
#endif
  const typename M::Int e = sixteenth_power<M>(n), half = e >> 1;
  return (p * M::value((half + 127) << 23)) * M::value((e - half + 127) << 23);
}
// k, n and r of x = k ln 2 / 16 + r, |r| at most 0.0217, right to 2^-30. Then e^r - 1, right to 2^-30.
template <class M>
struct Sixteenths {
  typename M::Float n, k, r;
};
template <class M>
DLT_FN Sixteenths<M> sixteenths(typename M::Float x) {
  using V = typename M::Float;
  const V n = M::fma(x, M::all(0x1.715476p4f), M::all(0x1.8p23f)), k = n - 0x1.8p23f;
  const V r = M::fma(k, M::all(-0x1.7f7d1cp-24f), M::fma(k, M::all(-0x1.62e4p-5f), x));
  return {n, k, r};
}
template <class M>
DLT_FN typename M::Float small_rise(typename M::Float r) {
  const typename M::Float z = r * r;
  return M::fma(z, by_pairs<M>(r, z, 0x1.5556b4p-5f, 0x1.55571ep-3f, 0.5f), r);
}

// ---- for other families

// e^x = (high + low) 2^k with high + low from 0.7 to 2 and |low| at most half an ULP of high; the error is below 2^-27.7 of it
// for floats, 2^-55.9 for doubles. |x| at most 170 (1400), which the callers see to. `scaled<M>(high + low, k)` is e^x.
template <class M>
struct Exponential {
  typename M::Float high, low, k;
};
template <class M>
DLT_FN Exponential<M> exp_parts(const Sixteenths<M>& a) {
  const Sum<M> t = sixteenth<M>(a.n, small_rise<M>(a.r)), s = fast_sum<M>(t.high, t.low);
  return {s.high, s.low, M::to_float(sixteenth_power<M>(a.n))};
}
template <class M>
DLT_FN Exponential<M> exp_parts(const Reduced<M>& a) {
  const typename M::Float z = a.r * a.r, q = M::fma(a.r, exp_curve<M>(a.r, z), M::all(typename M::Number(0.5)));
  const Sum<M> w = fast_sum<M>(M::all(typename M::Number(1)), a.r);
  const Sum<M> s = fast_sum<M>(w.high, M::fma(z, q, M::fma(a.r, a.rest, a.rest) + w.low));
  return {s.high, s.low, a.k};
}
template <class M>
DLT_FN Exponential<M> exp_parts(typename M::Float x) {
  if constexpr (sizeof(typename M::Number) == 4) return exp_parts<M>(sixteenths<M>(x));
  else return exp_parts<M>(reduced<M>(x));
}
// Of x + more, |more| at most an ULP of x.
template <class M>
DLT_FN Exponential<M> exp_parts(typename M::Float x, typename M::Float more) {
  if constexpr (sizeof(typename M::Number) == 4) {
    const Sixteenths<M> a = sixteenths<M>(x);
    return exp_parts<M>(Sixteenths<M>{a.n, a.k, a.r + more});
  } else {
    const Reduced<M> a = reduced<M>(x);
    const Sum<M> r = fast_sum<M>(a.r, a.rest + more);
    return exp_parts<M>(Reduced<M>{a.n, a.k, r.high, r.low});
  }
}

// ---- the functions

// The lowest argument gives a power of two whose factors in `scaled` are zeros: 0 without an underflow. A small number is added, so that no
// argument is subnormal.
template <class M>
DLT_FN typename M::Float exp(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 4) {
    x = limited_for_scaling<M>(M::at_most(x, 100.0f), -176.0f);
    const Sixteenths<M> a = sixteenths<M>(x + 0x1p-50f);
    const Sum<M> t = sixteenth<M>(a.n, small_rise<M>(a.r));
    return scaled_sixteenth<M>(t.high + t.low, a.n, a.k, x, -104.0f);
  } else {
    x = limited_for_scaling<M>(M::at_most(x, 800.0), -1418.2);
    const V v = x + 0x1p-80, k = M::fma(v, M::all(0x1.71547652b82fep0), M::all(0x1.8p52)) - 0x1.8p52;
    const V r = M::fma(k, M::all(-0x1.ef35793c7673p-45), M::fma(k, M::all(-0x1.62e42fefa38p-1), v));
    const V z = r * r;
    const V p = by_pairs<M>(r, z, 0x1.af35d72720b8p-26, 0x1.28b1b4dd1c5dbp-22, 0x1.71de0ddd6ac68p-19, 0x1.a01995070c7ccp-16,
                            0x1.a01a01a82faa6p-13, 0x1.6c16c1863c4fcp-10, 0x1.11111111107cdp-7, 0x1.555555554fd6bp-5,
                            0x1.5555555555556p-3, 0x1.000000000000cp-1);
    const Sum<M> w = fast_sum<M>(M::all(1.0), r);
    return scaled_from<M>(M::all(-746.0), x, w.high + M::fma(z, p, w.low), k);
  }
}

// x = k + r (sixteenths of k in floats) is exact.
template <class M>
DLT_FN typename M::Float exp2(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 4) {
    x = limited_for_scaling<M>(M::at_most(x, 200.0f), -254.0f);
    const V v = x + 0x1p-50f;
    const V n = M::fma(v, M::all(16.0f), M::all(0x1.8p23f)), k = n - 0x1.8p23f, r = M::fma(k, M::all(-0.0625f), v);
    const Sum<M> t = sixteenth<M>(n, r * polynomial<M>(r, 0x1.3b299ep-7f, 0x1.c6ad94p-5f, 0x1.ebfbep-3f, 0x1.62e43p-1f));
    return scaled_sixteenth<M>(t.high + t.low, n, k, x, -151.0f);
  } else {
    x = limited_for_scaling<M>(M::at_most(x, 1100.0), -2046.0);
    const V k = (x + 0x1.8p52) - 0x1.8p52, r = (x + 0x1p-80) - k;
    const V z = r * r;
    const V q = by_pairs<M>(r, z, 0x1.ea04438256d22p-32, 0x1.e61c45f53b5bfp-28, 0x1.b524de09ca2cep-24, 0x1.62bfc705fee24p-20,
                            0x1.ffcbfc729f72ap-17, 0x1.4309130f19fa8p-13, 0x1.5d87fe78a377cp-10, 0x1.3b2ab6fb9ffa8p-7,
                            0x1.c6b08d704a0c5p-5, 0x1.ebfbdff82c5a5p-3);
    const Sum<M> line = two_product<M>(r, M::all(0x1.62e42fefa39efp-1)), w = fast_sum<M>(M::all(1.0), line.high);
    const V line_low = M::fma(r, M::all(0x1.abc9e3b39803fp-56), line.low);
    return scaled_from<M>(M::all(-1076.0), x, w.high + M::fma(z, q, w.low + line_low), k);
  }
}

// 2^(k + by) e^r - 2^by of n = k + whole_shift, as a sum whose low part is not small.
template <class M>
DLT_FN Sum<M> exp_less_one(const Reduced<M>& a, int by, typename M::Number one) {
  using F = typename M::Number;
  using V = typename M::Float;
  const V s = power_of_two<M>(a.n, by), z = a.r * a.r;
  const Sum<M> first = fast_sum<M>(s, M::all(-one)), w = fast_sum<M>(first.high, s * a.r);
  V rest = a.rest;
  if constexpr (sizeof(F) == 8) rest = M::fma(a.r, rest, rest);
  const V low = M::fma(s, M::fma(z * a.r, exp_curve<M>(a.r, z), rest), w.low + first.low);
  return {w.high, M::fma(s * F(0.5), z, low)};
}
// By half the result, so that k = 128 (1024) does not overflow.
template <class M>
DLT_FN typename M::Float expm1(typename M::Float x) {
  using F = typename M::Number;
  constexpr bool single = sizeof(F) == 4;
  const typename M::Float size = magnitude<M>(x);
  const bool special = M::any_outside(size, F(0x1p-60), single ? F(17) : F(37));
  typename M::Float v = x;
  if (__builtin_expect(special, 0)) {
    v = M::at_least(M::at_most(x, single ? F(89) : F(710)), single ? F(-17.4) : F(-37.5));
    v = size < F(0x1p-60) ? M::all(F(0)) : v;
  }
  const Reduced<M> a = reduced<M>(v);
  const Sum<M> w = exp_less_one<M>(a, -1, F(0.5));
  v = w.high + w.low;
  v = v + v;
  if (__builtin_expect(special, 0)) v = size < F(0x1p-60) ? x : v;
  return v;
}

// tanh of floats: 16 intervals of |x|, four to each doubling of |x| + 0.625; at a middle m (0 in the first one), whose tanh is
// nearly a float, tanh(m + u) = value + u c1 + u^2 (c2 + ... + u^4 c6), right to 2^-28.2 of it.
DLT_TABLE float tanh_middle[16] = {0x1.9fff1p0f,   0x1.0ffa5ep1f,  0x1.500474p1f,  0x1.8ff904p1f,
                                   0x1.f01ec6p1f,  0x1.3d312ap2f,  0x1.829cep2f,   0x1.ab77e6p2f,
                                   0x1.0a2b24p3f,  0.0f,           0x1.8004aap-3f, 0x1.40042ep-2f,
                                   0x1.ffffd8p-2f, 0x1.7ffcb6p-1f, 0x1.ffff6ep-1f, 0x1.40015ep0f};
DLT_TABLE float tanh_value[16] = {0x1.d9c6b6p-1f, 0x1.f1980ep-1f, 0x1.faa7f2p-1f, 0x1.fe06b4p-1f,
                                  0x1.ff8f58p-1f, 0x1.fff302p-1f, 0x1.fffe84p-1f, 0x1.ffff96p-1f,
                                  0x1.fffffcp-1f, 0.0f,           0x1.7b947ap-3f, 0x1.35fd56p-2f,
                                  0x1.d9351ep-2f, 0x1.453048p-1f, 0x1.85ef6ep-1f, 0x1.b253p-1f};
DLT_TABLE float tanh_1[16] = {0x1.266028p-3f,  0x1.c681f6p-5f,  0x1.543a96p-6f,  0x1.f852b2p-8f,
                              0x1.c270b8p-10f, 0x1.9fbb68p-13f, 0x1.7bfd6ap-16f, 0x1.a7fe6ep-18f,
                              0x1.005708p-22f, 0x1p0f,          0x1.ee6978p-1f,  0x1.d1144ep-1f,
                              0x1.92a956p-1f,  0x1.31763p-1f,   0x1.ae0e7cp-2f,  0x1.1f2278p-2f};
DLT_TABLE float tanh_2[16] = {-0x1.106616p-3f,  -0x1.b9b822p-5f,  -0x1.50ad7cp-6f,  -0x1.f660fp-8f,
                              -0x1.c20d1cp-10f, -0x1.9fbe28p-13f, -0x1.7c0a62p-16f, -0x1.a7fa0ep-18f,
                              -0x1.ffb892p-23f, -0x1.4ed446p-25f, -0x1.6e8a76p-3f,  -0x1.1994d2p-2f,
                              -0x1.742734p-2f,  -0x1.8404aap-2f,  -0x1.47871ap-2f,  -0x1.e72588p-3f};
DLT_TABLE float tanh_3[16] = {0x1.33ea5ep-4f,  0x1.15cc1p-5f,   0x1.b77edcp-7f,  0x1.4c5116p-8f,
                              0x1.2b37cap-10f, 0x1.14f366p-13f, 0x1.fb382ep-17f, 0x1.1adf6p-18f,
                              0x1.4fa98p-23f,  -0x1.55542cp-2f, -0x1.27a1b2p-2f, -0x1.c197eap-3f,
                              -0x1.81e12cp-4f, 0x1.56665cp-5f,  0x1.a85b58p-4f,  0x1.bba7f4p-4f};
DLT_TABLE float tanh_4[16] = {-0x1.9d41dep-6f,  -0x1.eaf77ap-7f,  -0x1.a4f10cp-8f,  -0x1.472f8ap-9f,
                              -0x1.2a37bcp-11f, -0x1.130824p-14f, -0x1.f5e6cap-18f, -0x1.1c0d9ap-19f,
                              -0x1.56772ap-24f, -0x1.57a7cap-13f, 0x1.cfabf4p-4f,   0x1.43a34ep-3f,
                              0x1.513d88p-3f,   0x1.98a7d2p-4f,   0x1.c5efecp-6f,   -0x1.9c91cep-7f};
DLT_TABLE float tanh_5[16] = {0x1.2f32d4p-10f, 0x1.23feeap-8f,  0x1.35184cp-9f,  0x1.ff856p-11f,
                              0x1.ed5d02p-13f, 0x1.c674fcp-16f, 0x1.89d202p-19f, 0x1.bb408p-21f,
                              0x1.3f6fd4p-25f, 0x1.167e64p-3f,  0x1.84849ap-4f,  0x1.5c9038p-5f,
                              -0x1.b06714p-6f, -0x1.044dfap-4f, -0x1.7a7be6p-5f, -0x1.3fc1p-6f};
DLT_TABLE float tanh_6[16] = {0x1.14f824p-8f,   -0x1.18a54p-11f,  -0x1.4d928ap-11f, -0x1.3d6d16p-12f,
                              -0x1.43b2e8p-14f, -0x1.66278p-17f,  -0x1.85e93ep-20f, -0x1.a9355cp-23f,
                              -0x1.7d262ep-27f, -0x1.3fd41ep-6f,  -0x1.115d2ep-4f,  -0x1.f4f92ep-5f,
                              -0x1.9813d4p-5f,  -0x1.a550cap-10f, 0x1.389ad4p-6f,   0x1.f1a20cp-7f};
template <class M>
DLT_FN typename M::Float tanh_by_table(typename M::Float size) {
  using V = typename M::Float;
  const V limited = M::at_most(size, 9.3f);
  const typename M::Int i = M::right(M::bits(limited + 0.625f), 21);
  const V u = M::at_least(limited, 0x1p-30f) - M::look(tanh_middle, i), z = u * u;
  const V value = M::look(tanh_value, i), c1 = M::look(tanh_1, i);
  const V line = M::fma(u, c1, value), line_low = M::fma(u, c1, value - line);
  const V q0 = M::fma(u, M::look(tanh_3, i), M::look(tanh_2, i)), q2 = M::fma(u, M::look(tanh_5, i), M::look(tanh_4, i));
  const V v = line + M::fma(z, M::fma(z, M::fma(z, M::look(tanh_6, i), q2), q0), line_low);
  return size < 0x1p-30f ? size : v;
}
// tanh of doubles: (e^y - 1) / (e^y + 1) for y = 2 |x|, numerator and denominator as number and rest; the quotient is put right
// by what it leaves.
template <class M>
DLT_FN typename M::Float tanh(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  const V size = magnitude<M>(x);
  if constexpr (sizeof(F) == 4) return with_sign_of<M>(tanh_by_table<M>(size), x);
  const V half = M::at_least(M::at_most(size, F(20)), F(0x1p-30));
  const V y = half + half;
  const Reduced<M> a = reduced<M>(y);
  const V s = power_of_two<M>(a.n, 0);
  const Sum<M> w = fast_sum<M>(s - F(1), s * a.r);
  const V z = a.r * a.r, q2 = M::fma(a.r, exp_curve<M>(a.r, z), M::all(F(0.5)));
  const Sum<M> num = fast_sum<M>(w.high, M::fma(s, M::fma(z, q2, a.rest), w.low));
  const Sum<M> den = fast_sum<M>(M::at_least(num.high, F(2)), M::at_most(num.high, F(2)));
  const V inverse = F(1) / den.high, q = num.high * inverse;
  const V left = M::fma(-q, den.high, num.high) + M::fma(-q, den.low + num.low, num.low);
  return with_sign_of<M>(size < F(0x1p-30) ? size : M::fma(left, inverse, q), x);
}

// Terms shared by sinh and cosh, for |x| = k ln 2 + r + rest: 2^k and 2^-k by a unit, of which the second one stays above 2^-60
// of the first (2^-120); (cosh(r) - 1) / r^2 and (sinh(r) - r) / r^3, right to 2^-33 of cosh(r) and 2^-34 of sinh(r) (2^-58,
// 2^-61).
// The unit is 1/4 for floats and 2^-70 for doubles, whose largest products then stay in the range of an fma by software.
template <class M>
struct Hyperbolic {
  typename M::Float r, rest, grow, shrink, even, odd, square;
};
template <class F>
inline constexpr F hyperbolic_scale = sizeof(F) == 4 ? F(2) : F(0x1p69);  // half of what 2^k and 2^-k lack
template <class M>
DLT_FN Hyperbolic<M> hyperbolic(typename M::Float size) {
  using F = typename M::Number;
  using V = typename M::Float;
  using I = typename integer_of<F>::type;
  constexpr bool single = sizeof(F) == 4;
  constexpr int mantissa = wide<F>::mantissa, by = single ? -2 : -70;
  const Reduced<M> a = reduced<M>(M::at_least(M::at_most(size, single ? F(89.5) : F(710.5)), F(0x1p-30)));
  const V grow = power_of_two<M>(a.n, by);
  const V near = M::at_most(grow, single ? F(0x1p28) : F(0x1p-10));
  const V shrink = M::value((I(2 * (wide<F>::bias + by)) << mantissa) - M::bits(near));
  const V z = a.r * a.r;
  if constexpr (single)
    return {a.r,
            a.rest,
            grow,
            shrink,
            polynomial<M>(z, 0x1.6d4f14p-10f, 0x1.5554e6p-5f, 0.5f),
            polynomial<M>(z, 0x1.a2e31cp-13f, 0x1.110fbep-7f, 0x1.555556p-3f),
            z};
  else
    return {a.r,
            a.rest,
            grow,
            shrink,
            polynomial<M>(z, 0x1.28b1b99bf1fe9p-22, 0x1.a01995034cb7ap-16, 0x1.6c16c1863d32ep-10, 0x1.555555554fd69p-5,
                          0x1.000000000000cp-1),
            polynomial<M>(z, 0x1.af5ff56c1cfd9p-26, 0x1.71ddf7af53d17p-19, 0x1.a01a01b020602p-13, 0x1.111111110f62ap-7,
                          0x1.5555555555559p-3),
            z};
}

// sinh(x) = (2^k - 2^-k) / 2 cosh(r) + (2^k + 2^-k) / 2 sinh(r), cosh(x) with sinh(r) and cosh(r) exchanged: no division, and
// no cancellation at k = 0. Both by half their size.
template <class M>
DLT_FN typename M::Float sinh(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  const V size = magnitude<M>(x);
  const Hyperbolic<M> a = hyperbolic<M>(size);
  const V sum = a.grow + a.shrink, less = a.grow - a.shrink, less_low = (a.grow - less) - a.shrink;
  const Sum<M> line = two_product<M>(sum, a.r), w = fast_sum<M>(less, line.high);
  const V low = (M::fma(sum, a.rest, line.low) + less_low) + w.low;
  const V v = w.high + M::fma(a.square, M::fma(line.high, a.odd, less * a.even), low);
  return with_sign_of<M>(size < F(0x1p-30) ? size : v * hyperbolic_scale<F>, x);
}
// cosh of floats, (2^(k / 16) e^r + 2^(-k / 16) e^-r) / 2 by sixteenths, at half its size, needs no rest of r.
DLT_TABLE float inverse_sixteenths_high[16] = {0x1p0f,         0x1.ea4afap-1f, 0x1.d5818ep-1f, 0x1.c199bep-1f,
                                               0x1.ae89fap-1f, 0x1.9c4918p-1f, 0x1.8ace54p-1f, 0x1.7a1148p-1f,
                                               0x1.6a09e6p-1f, 0x1.5ab07ep-1f, 0x1.4bfdaep-1f, 0x1.3dea64p-1f,
                                               0x1.306fep-1f,  0x1.2387a6p-1f, 0x1.172b84p-1f, 0x1.0b5586p-1f};
DLT_TABLE float inverse_sixteenths_low[16] = {0.0f,
                                              0x1.52486cp-28f,
                                              -0x1.822dbcp-28f,
                                              -0x1.3d56b2p-28f,
                                              -0x1.a94b14p-27f,
                                              0x1.51f848p-28f,
                                              0x1.15506ep-28f,
                                              -0x1.829fdp-26f,
                                              0x1.9fcef4p-27f,
                                              -0x1.5bd5ecp-28f,
                                              -0x1.593abcp-26f,
                                              0x1.824684p-26f,
                                              0x1.4636e2p-26f,
                                              0x1.ceac48p-26f,
                                              -0x1.c15742p-28f,
                                              0x1.9f3122p-26f};
template <class M>
DLT_FN typename M::Float cosh_by_table(typename M::Float size) {
  using V = typename M::Float;
  const V x = M::at_least(M::at_most(size, 89.5f), 0x1p-30f), n = M::fma(x, M::all(0x1.715476p4f), M::all(0x1.8p23f)),
          k = n - 0x1.8p23f;
  const V r = M::fma(k, M::all(-0x1.7f7d1cp-24f), M::fma(k, M::all(-0x1.62e4p-5f), x)), z = r * r;
  const typename M::Int i = M::bits(n);
  const V grow = M::value(((i & ~15) << 19) + (125 << 23));  // 2^(floor(k / 16) - 2)
  const V shrink = M::value((250 << 23) - M::bits(M::at_most(grow, 0x1p28f)));
  const V a = grow * M::look(sixteenths_high, i), b = shrink * M::look(inverse_sixteenths_high, i);
  const Sum<M> sum = fast_sum<M>(a, b);
  const V low = M::fma(shrink, M::look(inverse_sixteenths_low, i), M::fma(grow, M::look(sixteenths_low, i), sum.low));
  const V sine = M::fma(z * r, M::all(0x1.5555c4p-3f), r), cosine = z * M::fma(z, M::all(0x1.5556b4p-5f), M::all(0.5f));
  const V v = sum.high + M::fma(a - b, sine, M::fma(sum.high, cosine, low));
  return v + v;
}
template <class M>
DLT_FN typename M::Float cosh(typename M::Float x) {
  using V = typename M::Float;
  const V size = magnitude<M>(x);
  if constexpr (sizeof(typename M::Number) == 4) return cosh_by_table<M>(size);
  const Hyperbolic<M> a = hyperbolic<M>(size);
  const V sum = a.grow + a.shrink, less = a.grow - a.shrink, sum_low = (a.grow - sum) + a.shrink;
  const Sum<M> line = two_product<M>(less, a.r), w = fast_sum<M>(sum, line.high);
  const V low = (M::fma(less, a.rest, line.low) + sum_low) + w.low;
  const V v = w.high + M::fma(a.square, M::fma(line.high, a.odd, sum * a.even), low);
  return v * hyperbolic_scale<typename M::Number>;
}

// 1 / (1 + u) or u / (1 + u) for u = e^-|x| = (high + low) 2^k, divided as in tanh; 2^k only at the end, for subnormal results.
template <class M>
DLT_FN typename M::Float sigmoid(typename M::Float x) {
  using F = typename M::Number;
  using V = typename M::Float;
  constexpr bool single = sizeof(F) == 4;
  const Exponential<M> e = exp_parts<M>(-M::at_least(M::at_most(magnitude<M>(x), single ? F(176) : F(1418.2)), F(0x1p-60)));
  const V s = power_of_two<M>(M::at_least(e.k, single ? F(-40) : F(-80)) + whole_shift<F>, 0);
  Sum<M> den = fast_sum<M>(M::all(F(1)), s * e.high);
  den.low = M::fma(s, e.low, den.low);
  const typename M::Mask minus = x < F(0);
  const V num = minus ? e.high : M::all(F(1)), num_low = minus ? e.low : M::all(F(0));
  const V inverse = F(1) / den.high, q = num * inverse;
  const V left = M::fma(-q, den.high, num) + M::fma(-q, den.low, num_low);
  return scaled_from<M>(M::all(single ? F(-104) : F(-746)), x, M::fma(left, inverse, q), minus ? e.k : M::all(F(0)));
}

}  // namespace dlt::elementary
