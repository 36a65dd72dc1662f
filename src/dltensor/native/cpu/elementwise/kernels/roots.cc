// SPDX-License-Identifier: Apache-2.0
// Square roots by AVX-512, from approximations: faster than the instruction, with the bits of the loops of floats.cc, which other
// levels use.
#include "native/cpu/elementwise/kernels/masked_registers.h"

namespace dlt::DLT_LEVEL {

#if defined(__AVX512F__)
namespace {

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

}  // namespace

void fill_roots(ElementwiseKernels* kernels) {
  kernels->ops[op_sqrt][type_float32] = each<root, float>;
  kernels->ops[op_sqrt][type_float64] = each<root, double>;
}

#else

void fill_roots(ElementwiseKernels*) {}

#endif

}  // namespace dlt::DLT_LEVEL
