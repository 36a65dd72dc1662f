// SPDX-License-Identifier: Apache-2.0
// Registers of float64: out of float32 and back, and sums by the units that multiply.
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

}  // namespace dlt::DLT_LEVEL
