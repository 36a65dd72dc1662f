// SPDX-License-Identifier: Apache-2.0
// AVX-512 loops that are faster than what the compiler generates: masks for comparisons, approximations for square
// roots, and own exp, log and tanh. All but these three give the same bits as the loops of integers.cc and floats.cc,
// which other levels use.
#include "native/cpu/elementwise/kernels/loops.h"

#if defined(__AVX512F__)
// GCC 12 warns of the undefined registers in its own header (bug 105593).
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace dlt::DLT_LEVEL {

#if defined(__AVX512F__)
namespace {

// Registers of T: load, compare, square root. T is of 4 or 8 bytes.
template <class T>
struct wide_of {
  static constexpr int lanes = 64 / int(sizeof(T));
  using type = __m512i;
  static type load(const char* from) { return _mm512_loadu_si512(from); }
  // The first `count`; memory past them is not touched.
  static type load_part(const char* from, int count) {
    const unsigned mask = (1u << count) - 1;
    if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_epi32(__mmask16(mask), from);
    else return _mm512_maskz_loadu_epi64(__mmask8(mask), from);
  }
  static void save(char* to, type v) { _mm512_storeu_si512(to, v); }
  static void save_part(char* to, type v, int count) {
    const unsigned mask = (1u << count) - 1;
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(to, __mmask16(mask), v);
    else _mm512_mask_storeu_epi64(to, __mmask8(mask), v);
  }
  static type splat(const char* from) {
    if constexpr (sizeof(T) == 4) return _mm512_set1_epi32(*reinterpret_cast<const loose_t<int32_t>*>(from));
    else return _mm512_set1_epi64(*reinterpret_cast<const loose_t<int64_t>*>(from));
  }
};

// A bit for each lane in which `a` and `b` compare as the predicate for floats, or that for integers, says.
template <class T, int FLOATS, int INTEGERS>
DLT_FN unsigned compared(__m512i a, __m512i b) {
  if constexpr (is_same<T, float>::value) return _mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), FLOATS);
  else if constexpr (is_same<T, double>::value)
    return _mm512_cmp_pd_mask(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), FLOATS);
  else if constexpr (is_same<T, int32_t>::value) return _mm512_cmp_epi32_mask(a, b, INTEGERS);
  else if constexpr (is_same<T, uint32_t>::value) return _mm512_cmp_epu32_mask(a, b, INTEGERS);
  else if constexpr (is_same<T, int64_t>::value) return _mm512_cmp_epi64_mask(a, b, INTEGERS);
  else return _mm512_cmp_epu64_mask(a, b, INTEGERS);
}

template <class T, int FLOATS, int INTEGERS>
void compare(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  using W = wide_of<T>;
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  char* to = static_cast<char*>(out);
  const __m128i ones = _mm_set1_epi8(1);
  if (n == 0) return;  // then not even the first element may be read
  const bool x_runs = !(scalars & 1), y_runs = !(scalars & 2);
  const auto over = [&](auto left, auto right) {
    int64_t i = 0;
#pragma GCC unroll 4
    for (; i + W::lanes <= n; i += W::lanes) {
      const __m128i truth = _mm_maskz_mov_epi8(__mmask16(compared<T, FLOATS, INTEGERS>(left(i, W::lanes), right(i, W::lanes))),
                                               ones);
      if constexpr (W::lanes == 16) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), truth);
      else _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i), truth);
    }
    if (i == n) return;
    const int rest = int(n - i);
    const unsigned mask = compared<T, FLOATS, INTEGERS>(left(i, rest), right(i, rest));
    _mm_mask_storeu_epi8(to + i, __mmask16((1u << rest) - 1), _mm_maskz_mov_epi8(__mmask16(mask), ones));
  };
  const auto run_of = [](const char* from) {
    return [=](int64_t i, int count) {
      const char* at = from + i * int64_t(sizeof(T));
      return count == W::lanes ? W::load(at) : W::load_part(at, count);
    };
  };
  const auto one_of = [](const char* from) { return [v = W::splat(from)](int64_t, int) { return v; }; };
  if (x_runs && y_runs) over(run_of(x), run_of(y));
  else if (x_runs) over(run_of(x), one_of(y));
  else if (y_runs) over(one_of(x), run_of(y));
  else over(one_of(x), one_of(y));
}

// The square root of what is neither tiny, nor huge, nor negative, nor a NaN, correctly rounded: an estimate of 14 bits
// is refined until the root is right but for its last bit, and half its reciprocal too; what the square of the root
// lacks is then exact in a fused sum, and so small that the last rounding is the only one. (Goldschmidt; Markstein,
// "IA-64 and Elementary Functions", 2000.)
DLT_FN __m512 refined(__m512 x) {
  const __m512 half = _mm512_set1_ps(0.5f), estimate = _mm512_rsqrt14_ps(x);
  __m512 root = _mm512_mul_ps(x, estimate), part = _mm512_mul_ps(estimate, half);
  const __m512 error = _mm512_fnmadd_ps(root, part, half);
  root = _mm512_fmadd_ps(root, error, root);
  part = _mm512_fmadd_ps(part, error, part);
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x), part, root);
}
DLT_FN __m512d refined(__m512d x) {
  const __m512d half = _mm512_set1_pd(0.5), estimate = _mm512_rsqrt14_pd(x);
  __m512d root = _mm512_mul_pd(x, estimate), part = _mm512_mul_pd(estimate, half);
#pragma GCC unroll 2
  for (int step = 0; step < 2; ++step) {
    const __m512d error = _mm512_fnmadd_pd(root, part, half);
    root = _mm512_fmadd_pd(root, error, root);
    part = _mm512_fmadd_pd(part, error, part);
  }
  return _mm512_fmadd_pd(_mm512_fnmadd_pd(root, root, x), part, root);
}

// From 2^-60 to 2^120, from 2^-700 to 2^800. Values outside use the square root instruction.
DLT_FN __m512i root_of(__m512i bits, float) {
  const __m512 x = _mm512_castsi512_ps(bits);
  const __mmask16 outside = _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(bits, _mm512_set1_epi32((127 - 60) << 23)),
                                                    _mm512_set1_epi32(180 << 23));
  const __m512 root = refined(x);
  return _mm512_castps_si512(outside == 0 ? root : _mm512_mask_sqrt_ps(root, outside, x));
}
DLT_FN __m512i root_of(__m512i bits, double) {
  const __m512d x = _mm512_castsi512_pd(bits);
  const __mmask8 outside = _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(bits, _mm512_set1_epi64(int64_t(1023 - 700) << 52)),
                                                   _mm512_set1_epi64(int64_t(1500) << 52));
  const __m512d root = refined(x);
  return _mm512_castpd_si512(outside == 0 ? root : _mm512_mask_sqrt_pd(root, outside, x));
}

DLT_FN __m512d all(double v) { return _mm512_set1_pd(v); }
DLT_FN __m512 all(float v) { return _mm512_set1_ps(v); }

// exp by Tang's method: x is n steps of ln 2 / 16 and a remainder, whose exp is a short polynomial; the exp of the
// steps is one of 16 table entries times a power of two, which scalef applies with correct overflow and subnormals. The
// polynomial is (exp(r) - 1 - r) / r^2 at Chebyshev's nodes.
struct Steps {
  __m512d count, step, rise;  // exp(x) = 2^(count / 16, rounded down) * step * (1 + rise)
  __m512i entry;  // of the 16
};
DLT_FN Steps steps_of(__m512d x) {
  const __m512d low = _mm512_setr_pd(0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
                                     0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0);
  const __m512d high = _mm512_setr_pd(0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
                                      0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0);
  const __m512d shifted = _mm512_fmadd_pd(x, all(0x1.71547652b82fep+4), all(0x1.8p52)),
                count = _mm512_sub_pd(shifted, all(0x1.8p52));
  __m512d rest = _mm512_fnmadd_pd(count, all(0x1.62e42fe800000p-5), x);
  rest = _mm512_fnmadd_pd(count, all(0x1.e8e7bcd5e4f1ep-35), rest);
  const __m512d square = _mm512_mul_pd(rest, rest);
  const __m512d first = _mm512_fmadd_pd(rest, all(0x1.5555555555556p-3), all(0x1.0000000000001p-1));
  const __m512d second = _mm512_fmadd_pd(rest, all(0x1.11111110e0d94p-7), all(0x1.55555554e8d7bp-5));
  const __m512d third = _mm512_fmadd_pd(rest, all(0x1.a01b0cb76698bp-13), all(0x1.6c17ede661f5cp-10));
  const __m512d sum = _mm512_fmadd_pd(square, _mm512_fmadd_pd(square, third, second), first);
  const __m512i entry = _mm512_castpd_si512(shifted);
  return {count, _mm512_permutex2var_pd(low, entry, high), _mm512_fmadd_pd(square, sum, rest), entry};
}

// Within 1.2 units in the last place.
DLT_FN __m512i exponential_of(__m512i bits, double) {
  // Far enough for 0 and infinity; a NaN passes through both, because it is the second operand.
  const Steps s = steps_of(_mm512_min_pd(all(800.0), _mm512_max_pd(all(-800.0), _mm512_castsi512_pd(bits))));
  return _mm512_castpd_si512(_mm512_scalef_pd(_mm512_fmadd_pd(s.step, s.rise, s.step), _mm512_mul_pd(s.count, all(0.0625))));
}
DLT_FN __m512i exponential_of(__m512i bits, float) {
  const __m512 x = _mm512_min_ps(all(200.0f), _mm512_max_ps(all(-200.0f), _mm512_castsi512_ps(bits)));
  const __m512 shifted = _mm512_fmadd_ps(x, all(0x1.715476p+0f), all(0x1.8p23f)),
               steps = _mm512_sub_ps(shifted, all(0x1.8p23f));
  __m512 rest = _mm512_fnmadd_ps(steps, all(0x1.62e000p-1f), x);
  rest = _mm512_fnmadd_ps(steps, all(0x1.0bfbe8p-15f), rest);
  const __m512 square = _mm512_mul_ps(rest, rest);
  const __m512 first = _mm512_fmadd_ps(rest, all(0.166665767f), all(0.5f));
  const __m512 second = _mm512_fmadd_ps(rest, all(0.00836323288f), all(0.0416665542f));
  const __m512 sum = _mm512_fmadd_ps(square, _mm512_fmadd_ps(square, all(0.00139262508f), second), first);
  const __m512 rise = _mm512_fmadd_ps(square, sum, rest);
  return _mm512_castps_si512(_mm512_scalef_ps(_mm512_add_ps(rise, all(1.0f)), steps));
}

// (exp(2 |x|) - 1) / (exp(2 |x|) + 1), with the rounding error of the table entries added back, because 1 is
// subtracted.
DLT_FN __m512i tangent_of(__m512i bits, double) {
  const __m512d low = _mm512_setr_pd(0, 0x1.8a62e4adc610bp-54, -0x1.19041b9d78a76p-55, 0x1.9b07eb6c70573p-54,
                                     0x1.6f46ad23182e4p-55, 0x1.ada0911f09ebcp-55, 0x1.d4397afec42e2p-56,
                                     0x1.6324c054647adp-54);
  const __m512d high = _mm512_setr_pd(-0x1.bdd3413b26456p-54, -0x1.41577ee04992fp-55, 0x1.6e9f156864b27p-54,
                                      0x1.c7c46b071f2bep-56, 0x1.7a1cd345dcc81p-54, 0x1.11065895048ddp-55,
                                      0x1.2ed02d75b3707p-55, -0x1.e9c23179c2893p-54);
  const __m512i sign = _mm512_set1_epi64(INT64_MIN);
  const __m512d size = _mm512_castsi512_pd(_mm512_andnot_si512(sign, bits));
  // From 20 on it is 1. A NaN is the second operand.
  const Steps s = steps_of(_mm512_min_pd(all(40.0), _mm512_add_pd(size, size)));
  const __m512d power = _mm512_scalef_pd(all(1.0), _mm512_mul_pd(s.count, all(0.0625)));
  const __m512d step = _mm512_mul_pd(power, s.step), lacks = _mm512_mul_pd(power, _mm512_permutex2var_pd(low, s.entry, high));
  const __m512d less_one = _mm512_add_pd(_mm512_sub_pd(step, all(1.0)), _mm512_fmadd_pd(step, s.rise, lacks));
  const __m512d result = _mm512_div_pd(less_one, _mm512_add_pd(less_one, all(2.0)));
  return _mm512_or_si512(_mm512_castpd_si512(result), _mm512_and_si512(sign, bits));
}

// With m from 0.75 to 1.5 and x = 2^e m: log(m) = 2 artanh(s), s = (m - 1) / (m + 1), whose first term is put together
// from m - 1 and its square, which are nearly exact (as in fdlibm). The polynomial is the other terms, in s^2, at
// Chebyshev's nodes.
DLT_FN __m512i logarithm_of(__m512i bits, double) {
  const __m512d x = _mm512_add_pd(_mm512_castsi512_pd(bits), all(0.0));  // -0 is 0
  const __m512d m = _mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  const __m512d power = _mm512_sub_pd(_mm512_getexp_pd(x), _mm512_getexp_pd(m));
  const __m512d f = _mm512_sub_pd(m, all(1.0)), s = _mm512_div_pd(f, _mm512_add_pd(f, all(2.0)));
  const __m512d z = _mm512_mul_pd(s, s), z2 = _mm512_mul_pd(z, z), z4 = _mm512_mul_pd(z2, z2);
  const __m512d p01 = _mm512_fmadd_pd(z, all(0x1.9999999999f30p-2), all(0x1.5555555555555p-1));
  const __m512d p23 = _mm512_fmadd_pd(z, all(0x1.c71c72e2f7925p-3), all(0x1.24924923dba69p-2));
  const __m512d p45 = _mm512_fmadd_pd(z, all(0x1.3b29fcbbf585cp-3), all(0x1.745cab272633ap-3));
  const __m512d p67 = _mm512_fmadd_pd(z, all(0x1.16b68349a863bp-3), all(0x1.0e88ea449af7bp-3));
  const __m512d p = _mm512_fmadd_pd(z4, _mm512_fmadd_pd(z2, p67, p45), _mm512_fmadd_pd(z2, p23, p01));
  const __m512d half_square = _mm512_mul_pd(_mm512_mul_pd(f, f), all(0.5));
  const __m512d small = _mm512_fmadd_pd(power, all(0x1.3de6af278ece6p-42),
                                        _mm512_mul_pd(s, _mm512_fmadd_pd(z, p, half_square)));
  const __m512d result = _mm512_fmadd_pd(power, all(0x1.62e42fefa3000p-1), _mm512_sub_pd(f, _mm512_sub_pd(half_square, small)));
  return _mm512_castpd_si512(result);
}

struct root {
  template <class T>
  DLT_FN static __m512i of(__m512i bits) {
    return root_of(bits, T());
  }
};
struct exponential {
  template <class T>
  DLT_FN static __m512i of(__m512i bits) {
    return exponential_of(bits, T());
  }
};
struct tangent {
  template <class T>
  DLT_FN static __m512i of(__m512i bits) {
    return tangent_of(bits, T());
  }
};
struct logarithm {
  template <class T>
  DLT_FN static __m512i of(__m512i bits) {
    return logarithm_of(bits, T());
  }
};

template <class F, class T>
void each(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  using W = wide_of<T>;
  const char* from = static_cast<const char*>(a);
  char* to = static_cast<char*>(out);
  if (n == 0) return;
  const bool runs = !(scalars & 1);
  const __m512i one = runs ? __m512i{} : F::template of<T>(W::splat(from));
  const int64_t whole = n / W::lanes * W::lanes, bytes = whole * int64_t(sizeof(T));
  const int rest = int(n - whole);
#pragma GCC unroll 2
  for (int64_t i = 0; i < bytes; i += 64) W::save(to + i, runs ? F::template of<T>(W::load(from + i)) : one);
  if (rest != 0) W::save_part(to + bytes, runs ? F::template of<T>(W::load_part(from + bytes, rest)) : one, rest);
}

template <class T>
void fill_wide_column(ElementwiseKernels* kernels, int type) {
  kernels->ops[op_less][type] = compare<T, _CMP_LT_OQ, _MM_CMPINT_LT>;
  kernels->ops[op_less_equal][type] = compare<T, _CMP_LE_OQ, _MM_CMPINT_LE>;
  kernels->ops[op_greater][type] = compare<T, _CMP_GT_OQ, _MM_CMPINT_NLE>;
  kernels->ops[op_greater_equal][type] = compare<T, _CMP_GE_OQ, _MM_CMPINT_NLT>;
  kernels->ops[op_equal][type] = compare<T, _CMP_EQ_OQ, _MM_CMPINT_EQ>;
  kernels->ops[op_not_equal][type] = compare<T, _CMP_NEQ_UQ, _MM_CMPINT_NE>;
}

}  // namespace

void fill_wide(ElementwiseKernels* kernels) {
  fill_wide_column<float>(kernels, type_float32);
  fill_wide_column<double>(kernels, type_float64);
  fill_wide_column<int32_t>(kernels, type_int32);
  fill_wide_column<uint32_t>(kernels, type_uint32);
  fill_wide_column<int64_t>(kernels, type_int64);
  fill_wide_column<uint64_t>(kernels, type_uint64);
  kernels->ops[op_sqrt][type_float32] = each<root, float>;
  kernels->ops[op_sqrt][type_float64] = each<root, double>;
  kernels->ops[op_exp][type_float32] = each<exponential, float>;
  kernels->ops[op_exp][type_float64] = each<exponential, double>;
  kernels->ops[op_log][type_float64] = each<logarithm, double>;
  kernels->ops[op_tanh][type_float64] = each<tangent, double>;
}

#else

void fill_wide(ElementwiseKernels*) {}

#endif

}  // namespace dlt::DLT_LEVEL
