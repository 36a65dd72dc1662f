// SPDX-License-Identifier: Apache-2.0
// logaddexp(a, b) = log(e^a + e^b): the larger argument plus log1p of the exponential of the distance, all as pairs, within
// 2^-58. Where the two terms nearly cancel (results near 0), e^a + e^b - 1 is computed in triples of doubles and its log1p
// taken.
#pragma once
#include "native/ops/elementary/logarithms.h"

namespace dlt::elementary {

// ---- triples of doubles, about 155 bits

template <class M>
struct Triple {
  typename M::Float a, b, c;
};
template <class M>
DLT_FN Triple<M> triple_of(typename M::Float a, typename M::Float b, typename M::Float c) {
  const Sum<M> bc = two_sum<M>(b, c), ab = two_sum<M>(a, bc.high), rest = two_sum<M>(ab.low, bc.low);
  return {ab.high, rest.high, rest.low};
}
template <class M>
DLT_FN Triple<M> triple_sum(Triple<M> x, Triple<M> y) {
  const Sum<M> a = two_sum<M>(x.a, y.a), b = two_sum<M>(x.b, y.b), t = two_sum<M>(b.high, a.low);
  return triple_of<M>(a.high, t.high, ((x.c + y.c) + b.low) + t.low);
}
template <class M>
DLT_FN Triple<M> triple_product(Triple<M> x, Triple<M> y) {
  const Sum<M> p = two_product<M>(x.a, y.a), q = two_product<M>(x.a, y.b), r = two_product<M>(x.b, y.a);
  const Sum<M> s = two_sum<M>(q.high, r.high), t = two_sum<M>(s.high, p.low);
  const typename M::Float c = M::fma(x.a, y.c, M::fma(x.b, y.b, x.c * y.a));
  return triple_of<M>(p.high, t.high, (c + (q.low + r.low)) + (s.low + t.low));
}

// 1/13!, 1/12!, ... 1 as triples.
DLT_TABLE double inverse_factorials[13][3] = {{0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87, -0x1.7b2c4c8a840bcp-141},
                                              {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83, 0x1.2fb0073dd2d9ep-139},
                                              {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80, 0x1.c7880adcbc46ep-136},
                                              {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76, -0x1.c6d278883e8f5p-132},
                                              {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73, 0x1.71de3a556c734p-127},
                                              {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76, 0x1.a01a01a01a01ap-136},
                                              {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73, 0x1.a01a01a01a01ap-133},
                                              {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65, -0x1.27d27d27d27d2p-119},
                                              {0x1.1111111111111p-7, 0x1.1111111111111p-63, 0x1.1111111111111p-119},
                                              {0x1.5555555555555p-5, 0x1.5555555555555p-59, 0x1.5555555555555p-113},
                                              {0x1.5555555555555p-3, 0x1.5555555555555p-57, 0x1.5555555555555p-111},
                                              {0x1p-1, 0.0, 0.0},
                                              {0x1p0, 0.0, 0.0}};

// e^x as 2^k (1 + E), x from -800 to 0: k ln 2 in parts whose products are exact, and E by doubling E(x / 16), a Taylor series
// of 19 terms, four times: E(2 x) = E(x) (2 + E(x)). Relative error of E about 2^-150.
template <class M>
struct Raised {
  typename M::Float k;
  Triple<M> rise;
};
template <class M>
DLT_FN Raised<M> raised_to(typename M::Float x) {
  using V = typename M::Float;
  const V zero = M::all(0.0), k = M::fma(x, M::all(0x1.71547652b82fep0), M::all(0x1.8p52)) - 0x1.8p52;
  Triple<M> r = triple_of<M>(M::fma(k, M::all(-0x1.62e42fefa38p-1), x), k * -0x1.ef35793c76p-45, k * -0x1.cc01f97b578p-87);
  r = triple_sum<M>(r, {k * -0x1.03cd0c99ca62ep-130, zero, zero});
  r = {r.a * 0x1p-4, r.b * 0x1p-4, r.c * 0x1p-4};
  Triple<M> e = {polynomial<M>(r.a, 0x1.2f49b46814157p-57, 0x1.6827863b97d97p-53, 0x1.952c77030ad4ap-49, 0x1.ae7f3e733b81fp-45,
                               0x1.ae7f3e733b81fp-41, 0x1.93974a8c07c9dp-37),
                 zero, zero};
#pragma GCC unroll 1
  for (int i = 0; i < 13; ++i) {
    const double* c = inverse_factorials[i];
    e = triple_sum<M>(triple_product<M>(e, r), {M::all(c[0]), M::all(c[1]), M::all(c[2])});
  }
  e = triple_product<M>(e, r);
#pragma GCC unroll 1
  for (int i = 0; i < 4; ++i) e = triple_product<M>(e, triple_sum<M>({M::all(2.0), zero, zero}, e));
  return {k, e};
}
template <class M>
DLT_FN typename M::Float two_to_the(typename M::Float k) {
  return M::value((M::bits(k + (0x1.8p52 + 1023)) << 52));
}
// log(e^high + e^low) near 0, high from -0.8 to 0: log1p of e^low + (e^high - 1). A tiny `high` is its own e^high - 1; it and
// e^low are then taken 2^600 times as large.
template <class M>
DLT_FN typename M::Float logaddexp_near_zero(typename M::Float high, typename M::Float low) {
  using V = typename M::Float;
  const V zero = M::all(0.0);
  const auto tiny = high > -0x1p-800;
  const Raised<M> l = raised_to<M>(low), h = raised_to<M>(tiny ? high * 0x1p600 : high);
  const V p = two_to_the<M>(tiny ? l.k + 600.0 : l.k), q = two_to_the<M>(h.k);
  Triple<M> y = triple_sum<M>({l.rise.a * p, l.rise.b * p, l.rise.c * p}, {h.rise.a * q, h.rise.b * q, h.rise.c * q});
  y = triple_sum<M>({q - 1.0, zero, zero}, triple_sum<M>({p, zero, zero}, y));
  const Sum<M> sum = two_sum<M>(M::all(1.0), y.a);
  V r = natural_log<M>(log_parts<M, true>(sum.high, sum.low + y.b, M::all(octave_bias<double>)));
  const V few_terms = y.a + M::fma(y.a * y.a, M::fma(y.a, M::all(0x1.5555555555555p-2), M::all(-0.5)), y.b);
  r = magnitude<M>(y.a) < 0x1p-20 ? few_terms : r;
  return tiny ? (y.a + y.b) * 0x1p-600 : r;
}

// ---- the function

// log(1 + e^d) of a pair d from -800 to 0, as a pair: e^d = 2^k (1 + r + r^2/2 + r^3 p(r)) with the sums' rests, then the
// logarithm of 1 + e from f = e or (e - 1) / 2 as in log_parts.
template <class M>
DLT_FN Sum<M> log1p_of_exp(Sum<M> d) {
  using V = typename M::Float;
  const V k = M::fma(d.high, M::all(0x1.71547652b82fep0), M::all(0x1.8p52)) - 0x1.8p52;
  const V first = M::fma(k, M::all(-0x1.62e42fefa38p-1), d.high), second = k * -0x1.ef35793c7673p-45;
  const V second_low = M::fma(k, M::all(-0x1.ef35793c7673p-45), -second);
  const Sum<M> r = two_sum<M>(first, second);
  const V r_low = r.low + (second_low + d.low), square = r.high * r.high, square_low = M::fma(r.high, r.high, -square);
  const V p = polynomial<M>(r.high, 0x1.1f7968aeee8a5p-29, 0x1.af6f15ef0629fp-26, 0x1.27e4d7c1f6575p-22, 0x1.71ddee206eec2p-19,
                            0x1.a01a01a83b988p-16, 0x1.a01a01b4620d7p-13, 0x1.6c16c16c15fb2p-10, 0x1.111111110e9c5p-7,
                            0x1.5555555555556p-5, 0x1.555555555555cp-3);
  const Sum<M> one = fast_sum<M>(M::all(1.0), r.high), two = fast_sum<M>(one.high, square * 0.5);
  const V rest = M::fma(r_low, two.high, M::fma(square_low, M::all(0.5), one.low + two.low));
  const Sum<M> e = fast_sum<M>(two.high, M::fma(square * r.high, p, rest));
  const V e_high = scaled<M>(e.high, k), e_low = scaled<M>(e.low, k);

  const auto large = e_high > 0.40625;
  const Sum<M> less = fast_sum<M>(M::all(-1.0), e_high);
  const V f = large ? less.high * 0.5 : e_high, f_low = large ? (less.low + e_low) * 0.5 : e_low;
  const V inverse = 1.0 / M::fma(f, M::all(0.5), M::all(1.0)), s = f * inverse, half = s * -0.5, z = s * s;
  const V left = M::fma(f_low, half + 1.0, M::fma(half, f, f - s));
  const V q = polynomial<M>(z, 0x1.2f0564f541a92p-18, 0x1.39a1c5dcb7f1ep-16, 0x1.74663dfa1a9f5p-14, 0x1.c71c5210bff8cp-12,
                            0x1.24924941e3cb1p-9, 0x1.999999997ff0cp-7, 0x1.5555555555592p-4);
  const V low = M::fma(s * z, q, left * inverse);
  const V sum = s + 0x1.62e42fefa39efp-1, sum_low = (0x1.62e42fefa39efp-1 - sum) + s;
  return {large ? sum : s, large ? sum_low + (low + 0x1.abc9e3b39803fp-56) : low};
}
template <class M>
DLT_FN typename M::Float logaddexp_of_doubles(typename M::Float a, typename M::Float b) {
  using V = typename M::Float;
  const V high = a > b ? a : b, low = a > b ? b : a;
  Sum<M> d = two_sum<M>(low, -high);
  const auto far = d.high > -800.0;
  d = {far ? d.high : M::all(-800.0), far ? d.low : M::all(0.0)};
  const Sum<M> l = log1p_of_exp<M>(d), sum = two_sum<M>(high, l.high);
  V r = sum.high + (sum.low + l.low);
  const auto near_zero = magnitude<M>(r) < high * -0x1.8p-4;
  if (__builtin_expect(M::any(near_zero), 0)) {
    const V exact = logaddexp_near_zero<M>(near_zero ? high : M::all(-0.5), near_zero ? low : M::all(-1.0));
    r = near_zero ? exact : r;
  }
  const auto plain = (high < infinity<double>)&(low > -infinity<double>);
  if (__builtin_expect(M::any(plain == 0), 0)) {
    r = plain ? r : high;
    r = ((a == a) & (b == b)) ? r : M::all(not_a_number<double>);
  }
  return r;
}

// For float results: within 2^-35 where nothing cancels.
template <class M>
DLT_FN typename M::Float logaddexp_of_floats(typename M::Float a, typename M::Float b) {
  using V = typename M::Float;
  const V high = a > b ? a : b, low = a > b ? b : a, d = M::at_least(low - high, -300.0);
  const V n = M::fma(d, M::all(0x1.71547652b82fep0), M::all(0x1.8p52)), k = n - 0x1.8p52;
  const V r = M::fma(k, M::all(-0x1.62e42fefa39efp-1), d);
  const V p = polynomial<M>(r, 0x1.a18bad0513941p-16, 0x1.a1872d26be85ep-13, 0x1.6c1622d41b984p-10, 0x1.1110a116934a5p-7,
                            0x1.5555558a2e376p-5, 0x1.5555557eaa4d4p-3, 0x1.ffffffffeb301p-2, 1.0, 1.0);
  const V e = M::value(M::bits(p) + (M::bits(n) << 52));
  const auto large = e > 0.40625;
  const V f = large ? M::fma(e, M::all(0.5), M::all(-0.5)) : e;
  const V q = polynomial<M>(f, -0x1.eab6c03a74ee2p-5, 0x1.b73e0342f5fdep-4, -0x1.bd442672e9eacp-4, 0x1.c374c3801e7b4p-4,
                            -0x1.fc6cd9f85de8ep-4, 0x1.2491dccb0c848p-3, -0x1.55687a1ac765bp-3, 0x1.999a1df11e663p-3,
                            -0x1.ffffad5fd8dd6p-3, 0x1.555554693b072p-2, -0x1.000000182a5eap-1);
  V v = high + M::fma(f * f, q, large ? f + 0x1.62e42fefa39efp-1 : f);
  const auto near_zero = magnitude<M>(v) < high * -0x1p-6;
  if (__builtin_expect(M::any(near_zero), 0)) v = near_zero ? logaddexp_of_doubles<M>(a, b) : v;
  const auto plain = (high < infinity<double>)&(low > -infinity<double>);
  v = plain ? v : high;
  return ((a == a) & (b == b)) ? v : M::all(not_a_number<double>);
}

// float32 0.53 ULP, float64 0.85.
template <class M>
DLT_FN typename M::Float logaddexp(typename M::Float a, typename M::Float b) {
  if constexpr (sizeof(typename M::Number) == 4)
    return M::in_double(a, b, [](auto m, auto x, auto y) { return logaddexp_of_floats<decltype(m)>(x, y); }) + 0.0f;
  else return logaddexp_of_doubles<M>(a, b) + 0.0;  // log(1) is +0, of -0 and -infinity too
}

}  // namespace dlt::elementary
