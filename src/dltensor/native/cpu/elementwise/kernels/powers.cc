// SPDX-License-Identifier: Apache-2.0
// Powers to one of the exponents that ops::pow takes without the library, by the loops of other operations; square roots by AVX-512,
// from approximations: faster than the instruction, with its bits.
#include "native/cpu/elementwise/kernels/masked_registers.h"

namespace dlt::DLT_LEVEL {
namespace {

struct Loops {
  loop_t any, square, copy, divide;
};
template <class T>
Loops loops{};

template <class T>
DLT_FN bool is_number(T a, int number) {
  if constexpr (is_complex<T>::value) return ops::equal(a, T{decltype(a.re)(number), 0});
  else return a == T(number);
}

template <class T>
void powers(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const Loops& use = loops<T>;
  if ((scalars & 3) == 2 && n > 0) {
    const T exponent = fetch<T>(b, 0);
    if (is_number(exponent, 2)) return use.square(out, a, nullptr, nullptr, n, 0);
    if (is_number(exponent, 1)) return use.copy(out, a, nullptr, nullptr, n, 0);
    if constexpr (is_float<T>) {
      const T one = 1;
      if (exponent == -1) return use.divide(out, &one, a, nullptr, n, 1);
      if (exponent == T(0.5)) {
        DLT_EACH keep(out, i, ops::root(fetch<T>(a, i)));
        return;
      }
    }
  }
  use.any(out, a, b, c, n, scalars);
}

template <class T>
void fill(ElementwiseKernels* kernels, int type) {
  auto& ops = kernels->ops;
  loops<T> = {ops[op_pow][type], ops[op_square][type], ops[op_positive][type], ops[op_divide][type]};
  ops[op_pow][type] = powers<T>;
}

#if defined(__AVX512F__)
// ---- square roots

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
#endif

}  // namespace

void fill_powers(ElementwiseKernels* kernels) {
#if defined(__AVX512F__)
  kernels->ops[op_sqrt][type_float32] = each<root, float>;
  kernels->ops[op_sqrt][type_float64] = each<root, double>;
#endif
#define DLT_FILL(type, name) fill<type>(kernels, type_##name);
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
  fill<float>(kernels, type_float32);
  fill<double>(kernels, type_float64);
  fill<complex64>(kernels, type_complex64);
  fill<complex128>(kernels, type_complex128);
}

}  // namespace dlt::DLT_LEVEL
