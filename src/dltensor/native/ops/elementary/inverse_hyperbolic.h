// SPDX-License-Identifier: Apache-2.0
// asinh, acosh and atanh: logarithms of pairs in float64; float32 through doubles, within about 2^-35 before the last rounding.
#pragma once
#include "native/ops/elementary/logarithms.h"

namespace dlt::elementary {

// log of a double from 2^-1000 to 2^1000 within 2^-37 of its own size and 2^-52: for float results.
template <class M>
DLT_FN typename M::Float light_log(typename M::Float x) {
  using V = typename M::Float;
  const LogOctave<M> o = log_octave<M>(x, M::all(octave_bias<double>));
  const V f = o.m - 1.0, s = f / (f + 2.0);
  const V p = polynomial<M>(s * s, 0x1.e2f8a22700425p-3, 0x1.2438c9bf75ed6p-2, 0x1.999a7abffe326p-2, 0x1.555554fd7b662p-1, 2.0);
  return M::fma(o.power, M::all(0x1.62e42fefa39efp-1), s * p);
}

// 1 / (2 w) within 6 %, exact for 1: the bits of a power of two less those of w, nearly a logarithm.
template <class M>
DLT_FN typename M::Float half_of_inverse(typename M::Float w) {
  return M::value(0x7fd0000000000000 - M::bits(w));
}
// The rest of the square root w of q + rest.
template <class M>
DLT_FN typename M::Float root_rest(typename M::Float w, typename M::Float q, typename M::Float rest) {
  return (M::fma(-w, w, q) + rest) * half_of_inverse<M>(w);
}
// log of the pair x + c, or of 2 `large` where that is above 2^300.
template <class M>
DLT_FN typename M::Float log_or_of_twice(Sum<M> x, typename M::Float large) {
  const auto far = large > 0x1p300;
  LogParts<M> l = log_parts<M, true>(far ? large : x.high, far ? M::all(0.0) : x.low, M::all(octave_bias<double>));
  l.power = far ? l.power + 1.0 : l.power;
  return natural_log<M>(l);
}

// log(x + sqrt(x^2 + 1)), the root and the sum as pairs. float64 0.62 ULP.
template <class M>
DLT_FN typename M::Float asinh(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 4) {
    const V a = magnitude<M>(x);
    V r = M::in_double(a, [](auto m, auto v) {
      using D = decltype(m);
      return light_log<D>(v + D::sqrt_inside(D::fma(v, v, D::all(1.0))));
    });
    if (__builtin_expect(M::any_outside(a, 0x1p-10f, infinity<float>), 0)) {
      const V small = M::in_double(
          a, [](auto m, auto v) { return decltype(m)::fma((v * v) * v, decltype(m)::all(-0x1.5555555555555p-3), v); });
      r = a < 0x1p-10f ? small : r;
      r = a < infinity<float> ? r : a;
    }
    return with_sign_of<M>(r, x);
  } else {
    const V a = magnitude<M>(x), v = M::at_most(a, 0x1p300);
    const Sum<M> square = two_product<M>(v, v), q = two_sum<M>(M::all(1.0), square.high);
    const V w = M::sqrt(q.high), w_low = root_rest<M>(w, q.high, q.low + square.low);
    Sum<M> sum = fast_sum<M>(w, v);
    sum.low = sum.low + w_low;
    const V r = log_or_of_twice<M>(sum, a);
    return with_sign_of<M>(a < infinity<double> ? r : a, x);
  }
}

// log(x + sqrt(x^2 - 1)), the root and the sum as pairs. float64 0.62 ULP.
template <class M>
DLT_FN typename M::Float acosh(typename M::Float x) {
  using V = typename M::Float;
  if constexpr (sizeof(typename M::Number) == 4) {
    V r = M::in_double(x, [](auto m, auto v) {
      using D = decltype(m);
      return light_log<D>(v + D::sqrt_inside(D::fma(v, v, D::all(-1.0))));
    });
    if (__builtin_expect(M::any_outside(x, 0x1.000002p0f, infinity<float>), 0)) {
      r = x > 1.0f ? r : x == 1.0f ? V{} : M::all(not_a_number<float>);
      r = x == infinity<float> ? x : r;
    }
    return r;
  } else {
    const V v = M::at_least(M::at_most(x, 0x1p300), 1.0);
    const Sum<M> square = two_product<M>(v, v), less = fast_sum<M>(square.high, M::all(-1.0));
    const Sum<M> q = fast_sum<M>(less.high, less.low + square.low);
    const V w = M::sqrt(q.high), w_low = root_rest<M>(w, q.high, q.low);
    Sum<M> sum = fast_sum<M>(v, w);
    sum.low = sum.low + w_low;
    V r = log_or_of_twice<M>(sum, x);
    r = x < infinity<double> ? r : x;
    return x >= 1.0 ? r : M::all(not_a_number<double>);
  }
}

// Half the logarithm of (1 + x) / (1 - x) = 2^k m, |log2 m| at most 0.587: artanh(s), s = (1 + x - 2^k (1 - x)) / (1 + x + 2^k
// (1 - x)), a quotient and its rest, plus k ln(2) / 2. k is found from the difference of the bits, nearly that of the
// logarithms. float64 0.6 ULP.
template <class M, bool SINGLE>
DLT_FN typename M::Float atanh_of_double(typename M::Float x) {
  using V = typename M::Float;
  const V a = magnitude<M>(x), v = M::at_most(a, 0x1.fffffffffffffp-1);
  const V up = v + 1.0, down = 1.0 - v;
  const typename M::Int t = M::bits(up) - M::bits(down) + 0x3ff8000000000000;
  const V power = M::value(M::right(t, 52) | 0x4330000000000000) - octave_bias<double>;
  const V two_k = M::value(t & ~int64_t(0xfffffffffffff));
  V r;
  if constexpr (SINGLE) {
    const V s = M::fma(v, two_k + 1.0, 1.0 - two_k) / M::fma(v, 1.0 - two_k, two_k + 1.0);
    const V p = polynomial<M>(s * s, 0x1.edbd21c7c0be2p-4, 0x1.23e7fe33b166bp-3, 0x1.999be422086c8p-3, 0x1.5555541c40f54p-2,
                              1.0);
    r = M::fma(power, M::all(0x1.62e42fefa39efp-2), s * p);
  } else {
    const V up_low = v - (up - 1.0), down_low = (1.0 - down) - v;
    const V top = M::fma(-two_k, down, up), top_low = M::fma(-two_k, down_low, up_low);  // top is exact
    const V bottom = M::fma(two_k, down, up), bottom_low = M::fma(two_k, down, up - bottom) + M::fma(two_k, down_low, up_low);
    const V inverse = 1.0 / bottom, s = top * inverse;
    const V rest = M::fma(-s, bottom, top) + M::fma(-s, bottom_low, top_low), z = s * s;
    const V p = polynomial<M>(z, 0x1.1b9b8875026b6p-4, 0x1.0dc7e22c7f02dp-4, 0x1.3b35f68327e9ep-4, 0x1.745c4952a3c0bp-4,
                              0x1.c71c7495a4b73p-4, 0x1.24924921dec46p-3, 0x1.999999999c1b7p-3, 0x1.555555555554fp-2);
    r = put_together<M>(power, 0x1.62e42fefa3p-2, 0x1.3de6af278ece6p-43, s, M::fma(s * z, p, rest * inverse));
  }
  if (__builtin_expect(M::any(v != a), 0)) {
    r = a < 1.0 ? r : M::all(not_a_number<double>);
    r = a == 1.0 ? M::all(infinity<double>) : r;
  }
  return with_sign_of<M>(r, x);
}
template <class M>
DLT_FN typename M::Float atanh(typename M::Float x) {
  if constexpr (sizeof(typename M::Number) == 4)
    return M::in_double(x, [](auto m, auto v) { return atanh_of_double<decltype(m), true>(v); });
  else return atanh_of_double<M, false>(x);
}

}  // namespace dlt::elementary
