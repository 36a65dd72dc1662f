// SPDX-License-Identifier: Apache-2.0
// AVX-512 loops that are faster than what the compiler generates: masks for comparisons, approximations for square roots. They give
// the same bits as the loops of integers.cc and floats.cc, which other levels use.
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

// From 2^-60 to 2^120, from 2^-700 to 2^800. Values outside use the square root instruction; of subnormal ones, which are slow in it, as
// whole numbers: m 2^-149 = (2 m) 2^-150, m 2^-1074.
DLT_FN __m512i root_of(__m512i bits, float) {
  const __m512 x = _mm512_castsi512_ps(bits);
  const __mmask16 outside = _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(bits, _mm512_set1_epi32((127 - 60) << 23)),
                                                    _mm512_set1_epi32(180 << 23));
  if (outside == 0) return _mm512_castps_si512(refined(x));
  const __mmask16 subnormal = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(bits, _mm512_set1_epi32(1)),
                                                      _mm512_set1_epi32(0x7fffff));
  const __m512 whole = _mm512_cvtepi32_ps(_mm512_add_epi32(bits, bits));
  const __m512 root = _mm512_mask_sqrt_ps(refined(_mm512_mask_mov_ps(x, outside, _mm512_set1_ps(1))), outside,
                                          _mm512_mask_mov_ps(x, subnormal, whole));
  return _mm512_castps_si512(_mm512_mask_mul_ps(root, subnormal, root, _mm512_set1_ps(0x1p-75f)));
}
DLT_FN __m512i root_of(__m512i bits, double) {
  const __m512d x = _mm512_castsi512_pd(bits);
  const __mmask8 outside = _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(bits, _mm512_set1_epi64(int64_t(1023 - 700) << 52)),
                                                   _mm512_set1_epi64(int64_t(1500) << 52));
  if (outside == 0) return _mm512_castpd_si512(refined(x));
  const __mmask8 subnormal = _mm512_cmplt_epu64_mask(_mm512_sub_epi64(bits, _mm512_set1_epi64(1)),
                                                     _mm512_set1_epi64(0xfffffffffffff));
  const __m512d root = _mm512_mask_sqrt_pd(refined(_mm512_mask_mov_pd(x, outside, _mm512_set1_pd(1))), outside,
                                           _mm512_mask_mov_pd(x, subnormal, _mm512_cvtepi64_pd(bits)));
  return _mm512_castpd_si512(_mm512_mask_mul_pd(root, subnormal, root, _mm512_set1_pd(0x1p-537)));
}

struct root {
  template <class T>
  DLT_FN static __m512i of(__m512i bits) {
    return root_of(bits, T());
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
}

#else

void fill_wide(ElementwiseKernels*) {}

#endif

}  // namespace dlt::DLT_LEVEL
