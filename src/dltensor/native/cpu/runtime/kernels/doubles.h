// SPDX-License-Identifier: Apache-2.0
// Registers of float64: out of float32 and back, sums by the units that multiply, and several joined lane by lane.
#pragma once
#include "native/cpu/runtime/kernels/registers.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {

typedef float half_vector __attribute__((vector_size(register_bytes / 2), aligned(1), may_alias));

// A register of float64 out of float32 at any address. Of the conversion of a whole vector, gcc 12 makes two of half the width,
// which it reads through the stack at the level v3, and single conversions at v2.
DLT_FN pack<double>::type widened(const float* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<pack<double>::type>(_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p)));
#elif defined(__AVX2__)
  return reinterpret_cast<pack<double>::type>(_mm256_cvtps_pd(_mm_loadu_ps(p)));
#elif defined(__SSE2__)
  const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(p));
  return reinterpret_cast<pack<double>::type>(_mm_cvtps_pd(_mm_castsi128_ps(two)));
#else
  return __builtin_convertvector(*reinterpret_cast<const half_vector*>(p), pack<double>::type);
#endif
}
// The opposite: rounded to float32.
DLT_FN half_vector narrowed(pack<double>::type x) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return reinterpret_cast<half_vector>(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(x)));
#else
  return __builtin_convertvector(x, half_vector);
#endif
}

// x + y and x - y by the units that multiply: where others add, a loop has twice as many.
struct Fused {
  using V = pack<double>::type;
#if defined(__AVX512F__)
  __m512d one = _mm512_set1_pd(1);
  DLT_FN V plus(V x, V y) const { return V(_mm512_fmadd_pd(__m512d(x), one, __m512d(y))); }
  DLT_FN V minus(V x, V y) const { return V(_mm512_fmsub_pd(__m512d(x), one, __m512d(y))); }
#elif defined(__FMA__)
  __m256d one = _mm256_set1_pd(1);
  DLT_FN V plus(V x, V y) const { return V(_mm256_fmadd_pd(__m256d(x), one, __m256d(y))); }
  DLT_FN V minus(V x, V y) const { return V(_mm256_fmsub_pd(__m256d(x), one, __m256d(y))); }
#else
  DLT_FN V plus(V x, V y) const { return x + y; }
  DLT_FN V minus(V x, V y) const { return x - y; }
#endif
  // The compiler must not know the factor: it would make additions.
#if defined(__FMA__)
  DLT_FN Fused() { asm("" : "+x"(one)); }
#endif
};

namespace {

#if defined(__AVX512F__)
DLT_FN __mmask8 first_lanes(int64_t n) { return __mmask8(n <= 0 ? 0 : n >= 8 ? 0xff : (1u << n) - 1); }
#endif
// The first n elements in a register, and those of `others` behind them. None are where n is below 0, all where it is large.
DLT_FN pack<double>::type load_first(const double* from, int64_t n, pack<double>::type others = pack<double>::type{}) {
#if defined(__AVX512F__)
  return pack<double>::type(_mm512_mask_loadu_pd(__m512d(others), first_lanes(n), from));
#elif defined(__AVX2__)
  const __m256i there = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  return pack<double>::type(_mm256_blendv_pd(__m256d(others), _mm256_maskload_pd(from, there), _mm256_castsi256_pd(there)));
#else
  for (int j = 0; j < pack<double>::lanes; ++j)
    if (j < n) others[j] = static_cast<const loose_t<double>*>(from)[j];
  return others;
#endif
}
DLT_FN pack<double>::type load_first(const float* from, int64_t n, pack<double>::type others = pack<double>::type{}) {
#if defined(__AVX512F__)
  const __mmask8 there = first_lanes(n);
  return pack<double>::type(_mm512_mask_cvtps_pd(__m512d(others), there, _mm256_maskz_loadu_ps(there, from)));
#elif defined(__AVX2__)
  const __m128i there = _mm_cmpgt_epi32(_mm_set1_epi32(int(n)), _mm_setr_epi32(0, 1, 2, 3));
  const __m256d mask = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(there));
  return pack<double>::type(_mm256_blendv_pd(__m256d(others), _mm256_cvtps_pd(_mm_maskload_ps(from, there)), mask));
#else
  for (int j = 0; j < pack<double>::lanes; ++j)
    if (j < n) others[j] = double(static_cast<const loose_t<float>*>(from)[j]);
  return others;
#endif
}

// Lanes of two registers in turns of S, the even turns of both and the odd ones.
template <int S, bool ODD, class X, int... I>
DLT_FN X turns_of(X x, X y, std::integer_sequence<int, I...>) {
  constexpr int count = sizeof...(I);
  return __builtin_shufflevector(x, y, (I / (2 * S) * (2 * S) + I % S + (ODD ? S : 0) + (I % (2 * S) < S ? 0 : count))...);
}
template <int S, bool ODD, class X>
DLT_FN X turns_of(X x, X y) {
  return turns_of<S, ODD>(x, y, std::make_integer_sequence<int, int(sizeof x / sizeof x[0])>());
}
// Lane k of the result joins the lanes of x[k]; lanes in the second half are joined to those in the first one.
template <int S = 1, int COUNT = pack<double>::lanes, class X, class Join>
DLT_FN X joined(X* x, const Join& join) {
  if constexpr (S == COUNT) return x[0];
  else {
    each<COUNT / (2 * S)>([&](int k) __attribute__((always_inline)) {
      x[k] = join(turns_of<S, false>(x[2 * k], x[2 * k + 1]), turns_of<S, true>(x[2 * k], x[2 * k + 1]));
    });
    return joined<2 * S, COUNT>(x, join);
  }
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
