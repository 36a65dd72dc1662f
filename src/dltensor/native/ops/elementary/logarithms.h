// SPDX-License-Identifier: Apache-2.0
// log, log1p, log2 and log10. Every argument is 2^k m, and k ln 2 + log m is put together as a number and its rest, so that
// only the last rounding counts: errors are the largest ones measured.
#pragma once
#include "native/ops/elementary/machine.h"

namespace dlt::elementary {

// ---- what all logarithms share

// 2^k m, with the scale 2^(1 - k) (0 where k is 1024), and k as a number: of floats, k 2^23.
template <class M>
struct LogOctave {
  typename M::Float power, m, scale;
};
// The octave of a positive normal number: m from sqrt(1/2) to sqrt(2); of floats from 0.673, so that log2 m is at most 1/2.
// `bias` is octave_bias, and more where the number was multiplied by a power of two.
template <class F>
inline constexpr F octave_bias = sizeof(F) == 4 ? F(0) : F(0x1p52 + 1023);
template <class M>
DLT_FN LogOctave<M> log_octave(typename M::Float x, typename M::Float bias) {
  using I = typename M::Int;
  if constexpr (sizeof(typename M::Number) == 4) {
    const I k = (M::bits(x) - 0x3f2c5c80) & ~0x7fffff;
    return {M::to_float(k) - bias, M::value(M::bits(x) - k), M::value(0x40000000 - k)};
  } else {
    // The exponent as a number: its bits below those of 2^52.
    constexpr int64_t half = 0x3fe6a09e00000000, mantissa = 0xfffffffffffff;
    const I moved = M::bits(x) + (0x3ff0000000000000 - half);
    return {M::value(M::right(moved, 52) | 0x4330000000000000) - bias, M::value((moved & mantissa) + half),
            M::value(0x7ff0000000000000 - (moved & ~mantissa))};
  }
}

// log as k ln 2 + high + low, high a number whose rounding does not matter.
template <class M>
struct LogParts {
  typename M::Float power, high, low;
};

// log(x + c) of doubles, c at most a few units of x (or none): S = 2 (m - 1 + c) / (m + 1 + c) as a quotient and its rest, and
// log m = S + S^3 / 12 + S^5 / 80 + ... within 2^-59.
template <class M, bool PAIR>
DLT_FN LogParts<M> log_parts(typename M::Float x, typename M::Float c, typename M::Float bias) {
  using V = typename M::Float;
  const LogOctave<M> o = log_octave<M>(x, bias);
  const V f = o.m - 1.0, inverse = 1.0 / M::fma(f, M::all(0.5), M::all(1.0)), s = f * inverse, half = s * -0.5;
  V rest = M::fma(half, f, f - s);  // f - s (1 + f / 2), of which f - s is exact
  if constexpr (PAIR) rest = M::fma(c * o.scale, M::fma(half, M::all(0.5), M::all(0.5)), rest);
  const V z = s * s;
  const V p = polynomial<M>(z, 0x1.2f0564f541a92p-18, 0x1.39a1c5dcb7f1ep-16, 0x1.74663dfa1a9f5p-14, 0x1.c71c5210bff8cp-12,
                            0x1.24924941e3cb1p-9, 0x1.999999997ff0cp-7, 0x1.5555555555592p-4);
  return {o.power, s, M::fma(s * z, p, rest * inverse)};
}

// log(m + c) of floats as f - f^2/2, a number and its rest, and f^3 p(f), within 2^-27; f = m - 1.
// c / (1 + f) is c (1 - f + f^2).
template <class M, bool PAIR>
DLT_FN LogParts<M> log_parts_of_floats(typename M::Float x, typename M::Float c, typename M::Float bias) {
  using V = typename M::Float;
  const LogOctave<M> o = log_octave<M>(x, bias);
  const V f = o.m - 1.0f, g = f * -0.5f, high = M::fma(g, f, f);
  V low = M::fma(g, f, f - high);
  if constexpr (PAIR) low = M::fma(c * o.scale, M::fma(f, M::fma(f, M::all(0.5f), M::all(-0.5f)), M::all(0.5f)), low);
  const V p = polynomial<M>(f, -0x1.e5768ep-4f, 0x1.1deac6p-3f, -0x1.fbf9d6p-4f, 0x1.1eea40p-3f, -0x1.5553fap-3f,
                            0x1.99cf4ap-3f, -0x1.000030p-2f, 0x1.555508p-2f);
  return {o.power, high, M::fma((f * f) * f, p, low)};
}

// power times a constant in two parts, of which the product with the first one is exact, plus high and low.
template <class M>
DLT_FN typename M::Float put_together(typename M::Float power, typename M::Number one, typename M::Number two,
                                      typename M::Float high, typename M::Float low) {
  const typename M::Float sum = M::fma(power, M::all(one), high), rest = M::fma(power, M::all(one), -sum) + high;
  return sum + (rest + M::fma(power, M::all(two), low));
}
template <class M>
DLT_FN typename M::Float natural_log(const LogParts<M>& l) {
  if constexpr (sizeof(typename M::Number) == 4) return put_together<M>(l.power, 0x1.62e4p-24f, 0x1.7f7d1cp-43f, l.high, l.low);
  else return put_together<M>(l.power, 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, l.high, l.low);
}

// `call(x, bias)` of positive normal numbers; of subnormals their bits as a number are taken, the rest is selected.
template <class M, class CALL>
DLT_FN typename M::Float any_logarithm(typename M::Float x, CALL call) {
  using V = typename M::Float;
  using F = typename M::Number;
  constexpr bool single = sizeof(F) == 4;
  constexpr F least = single ? F(0x1p-126) : F(0x1p-1022), most = single ? F(0x1.fffffep127) : F(0x1.fffffffffffffp1023);
  V normal = x, bias = M::all(octave_bias<F>);
  const bool special = any_special<M>(x);
  if (__builtin_expect(special, 0)) {
    const auto tiny = (x > F(0)) & (x < least);
    normal = ((x >= least) & (x <= most)) ? x : M::all(F(1));
    if constexpr (single) normal = tiny ? M::to_float(M::bits(x)) : normal;
    else normal = tiny ? M::value(M::bits(x) | 0x4330000000000000) - 0x1p52 : normal;
    bias = tiny ? M::all(single ? F(149) * F(0x1p23) : octave_bias<F> + F(1074)) : bias;
  }
  V r = call(normal, bias);
  if (__builtin_expect(special, 0)) {
    r = x >= F(0) ? r : M::all(not_a_number<F>);
    r = x == F(0) ? M::all(-infinity<F>) : r;
    r = x == infinity<F> ? x : r;
  }
  return r;
}

// ---- the functions

// float32 0.65 ULP, float64 0.55.
template <class M>
DLT_FN typename M::Float log(typename M::Float x) {
  return any_logarithm<M>(x, [](auto v, auto bias) {
    if constexpr (sizeof(typename M::Number) == 4) return natural_log<M>(log_parts_of_floats<M, false>(v, v, bias));
    else return natural_log<M>(log_parts<M, false>(v, v, bias));
  });
}

// log of 1 + x, a sum and its rounding error. float32 and float64 0.88 ULP.
template <class M>
DLT_FN typename M::Float log1p(typename M::Float x) {
  using V = typename M::Float;
  using F = typename M::Number;
  constexpr bool single = sizeof(F) == 4;
  // Products of subnormal numbers are slow.
  const bool special = any_special<M>(x + F(1)) || M::any_outside(magnitude<M>(x), F(0x1p-60), infinity<F>);
  V v = x;
  if (__builtin_expect(special, 0)) v = ((x > F(-1)) & (x < infinity<F>)) & (magnitude<M>(x) >= F(0x1p-60)) ? x : M::all(F(0));
  const Sum<M> sum = two_sum<M>(M::all(F(1)), v);
  V r;
  if constexpr (single) r = natural_log<M>(log_parts_of_floats<M, true>(sum.high, sum.low, M::all(octave_bias<F>)));
  else r = natural_log<M>(log_parts<M, true>(sum.high, sum.low, M::all(octave_bias<F>)));
  r = with_sign_of<M>(r, x);  // -0
  if (__builtin_expect(special, 0)) {
    r = magnitude<M>(x) < F(0x1p-60) ? x : r;
    r = x > F(-1) ? r : M::all(not_a_number<F>);
    r = x == F(-1) ? M::all(-infinity<F>) : r;
    r = x == infinity<F> ? x : r;
  }
  return r;
}

// Of floats: m from 0.6875 to 1.375, in 16 parts by its upper bits; 1 / c of each part is nearly a float, log c nearly one of
// 16 or 17 bits, both 1 and 0 around 1. log m = log c + log(1 + f), f = m / c - 1 from -1/29 to 1/16, f / log(base) plus f^2
// p(f) within 2^-28.
DLT_TABLE float log2_inverses[16] = {0x1.6b7b36p0f,  0x1.5afaaep0f,  0x1.4d0912p0f,  0x1.424e88p0f,
                                     0x1.366308p0f,  0x1.28cc0ep0f,  0x1.2086dep0f,  0x1.15375ep0f,
                                     0x1.0bb80ap0f,  0x1p0f,         0x1p0f,         0x1.d384dep-1f,
                                     0x1.bd5fc6p-1f, 0x1.a1f1dep-1f, 0x1.8df568p-1f, 0x1.7b3576p-1f};
DLT_TABLE float log2_logs[16] = {-0x1.02fp-1f,  -0x1.c13cp-2f, -0x1.84a4p-2f, -0x1.5444p-2f, -0x1.1c98p-2f, -0x1.b4e8p-3f,
                                 -0x1.6168p-3f, -0x1.d68p-4f,  -0x1.088p-4f,  0.0f,          0.0f,          0x1.0c88p-3f,
                                 0x1.9be8p-3f,  0x1.2bdcp-2f,  0x1.744p-2f,   0x1.bb8cp-2f};
DLT_TABLE float log10_inverses[16] = {0x1.6be2c8p0f,  0x1.5bc47ap0f,  0x1.4dd974p0f,  0x1.3fdbc2p0f,
                                      0x1.34bd50p0f,  0x1.28c784p0f,  0x1.1f614cp0f,  0x1.16af3cp0f,
                                      0x1.0d9f12p0f,  0x1p0f,         0x1p0f,         0x1.d1b628p-1f,
                                      0x1.babc4ap-1f, 0x1.a24e42p-1f, 0x1.8d904cp-1f, 0x1.7c88e0p-1f};
DLT_TABLE float log10_logs[16] = {-0x1.38c8p-3f, -0x1.107cp-3f, -0x1.d85p-4f, -0x1.8c28p-4f, -0x1.4d38p-4f, -0x1.06fp-4f,
                                  -0x1.9b6p-5f,  -0x1.2e1p-5f,  -0x1.70ep-6f, 0.0f,          0.0f,          0x1.512p-5f,
                                  0x1.029p-4f,   0x1.6788p-4f,  0x1.c2p-4f,   0x1.07fp-3f};
// k 2^23 and f, and k log(2) + log(c), exact where `unit` has 15 bits.
template <class M>
DLT_FN LogParts<M> log_parts_of_table(typename M::Float x, typename M::Float bias, const float* inverses, const float* logs,
                                      float unit) {
  const typename M::Int t = M::bits(x) - 0x3f300000, k = t & ~0x7fffff, which = t >> 19;
  const typename M::Float power = M::to_float(k) - bias;
  return {power, M::fma(power, M::all(unit), M::look(logs, which)),
          M::fma(M::value(M::bits(x) - k), M::look(inverses, which), M::all(-1.0f))};
}

// The parts of log times 1 / log(base). float32 0.72 (log10 0.98), float64 0.68 ULP.
template <class M>
DLT_FN typename M::Float log2(typename M::Float x) {
  using V = typename M::Float;
  return any_logarithm<M>(x, [](V v, V bias) {
    if constexpr (sizeof(typename M::Number) == 4) {
      const LogParts<M> l = log_parts_of_table<M>(v, bias, log2_inverses, log2_logs, 0x1p-23f);
      const V f = l.low, c = M::all(0x1.715476p0f), sum = M::fma(f, c, l.high), rest = M::fma(f, c, l.high - sum);
      const V p = polynomial<M>(f, 0x1.16dc82p-2f, -0x1.717358p-2f, 0x1.ec74c8p-2f, -0x1.715476p-1f);
      return sum + M::fma(f * f, p, M::fma(f, M::all(0x1.4ae0c0p-26f), rest));
    } else {
      const LogParts<M> l = log_parts<M, false>(v, v, bias);
      const V c = M::all(0x1.71547652b82fep0), sum = M::fma(l.high, c, l.power), rest = M::fma(l.high, c, l.power - sum);
      return sum + M::fma(l.low, c, rest);
    }
  });
}
template <class M>
DLT_FN typename M::Float log10(typename M::Float x) {
  using V = typename M::Float;
  return any_logarithm<M>(x, [](V v, V bias) {
    if constexpr (sizeof(typename M::Number) == 4) {
      const LogParts<M> l = log_parts_of_table<M>(v, bias, log10_inverses, log10_logs, 0x1.344p-25f);
      const V f = l.low, c = M::all(0x1.bcb7b2p-2f), sum = M::fma(f, c, l.high), rest = M::fma(f, c, l.high - sum);
      const V p = polynomial<M>(f, 0x1.50f00cp-4f, -0x1.bcf534p-4f, 0x1.287d1cp-3f, -0x1.bcb7b0p-3f);
      return sum + M::fma(f * f, p, M::fma(l.power, M::all(0x1.3509f8p-41f), M::fma(f, M::all(-0x1.5b235ep-27f), rest)));
    } else {
      const LogParts<M> l = log_parts<M, false>(v, v, bias);
      const V c = M::all(0x1.bcb7b1526e50ep-2), k = l.power * 0x1.34413509f7p-2, sum = M::fma(l.high, c, k);
      const V rest = M::fma(l.high, M::all(0x1.95355baaafad3p-57), M::fma(l.high, c, k - sum));
      return sum + M::fma(l.low, c, M::fma(l.power, M::all(0x1.3fde623e2566bp-43), rest));
    }
  });
}

}  // namespace dlt::elementary
