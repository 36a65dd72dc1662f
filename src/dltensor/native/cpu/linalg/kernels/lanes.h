// SPDX-License-Identifier: Apache-2.0
// Registers with a number of one matrix in each lane, which native/ops/linalg/small_matrices.h computes with.
#pragma once
#include <string.h>

#include "native/cpu/runtime/kernels/registers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

template <class F>
struct lanes_of {
  using type = typename pack<F>::type;
};
using Floats = pack<float>::type;
using Doubles = pack<double>::type;

#if defined(__AVX512F__)
DLT_FN Floats root(Floats v) { return Floats(_mm512_maskz_sqrt_ps(0xffff, __m512(v))); }
DLT_FN Doubles root(Doubles v) { return Doubles(_mm512_maskz_sqrt_pd(0xff, __m512d(v))); }
#elif defined(__AVX2__)
DLT_FN Floats root(Floats v) { return Floats(_mm256_sqrt_ps(__m256(v))); }
DLT_FN Doubles root(Doubles v) { return Doubles(_mm256_sqrt_pd(__m256d(v))); }
#elif defined(__x86_64__)
DLT_FN Floats root(Floats v) { return Floats(_mm_sqrt_ps(__m128(v))); }
DLT_FN Doubles root(Doubles v) { return Doubles(_mm_sqrt_pd(__m128d(v))); }
#else
DLT_FN Floats root(Floats v) {
  for (int k = 0; k < pack<float>::lanes; ++k) v[k] = __builtin_sqrtf(v[k]);
  return v;
}
DLT_FN Doubles root(Doubles v) {
  for (int k = 0; k < pack<double>::lanes; ++k) v[k] = __builtin_sqrt(v[k]);
  return v;
}
#endif

}  // namespace
}  // namespace dlt::DLT_LEVEL

#include "native/ops/linalg/lane_numbers.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class M>
DLT_FN bool any(M mask) {
  M zero{};
  return memcmp(&mask, &zero, sizeof mask) != 0;
}

// A power of two near 1 / v, and its inverse; for every v, also 0 and infinity.
DLT_FN Floats inverse_power(Floats v, Floats* inverse) {
  typedef int32_t I __attribute__((vector_size(sizeof(Floats))));
  I exponent = (I(v) >> 23) & 0xff;
  exponent = exponent < 1 ? I{} + 1 : exponent > 253 ? I{} + 253 : exponent;
  *inverse = Floats(exponent << 23);
  return Floats((254 - exponent) << 23);
}
DLT_FN Doubles inverse_power(Doubles v, Doubles* inverse) {
  typedef int64_t I __attribute__((vector_size(sizeof(Doubles))));
  I exponent = (I(v) >> 52) & 0x7ff;
  exponent = exponent < 1 ? I{} + 1 : exponent > 2045 ? I{} + 2045 : exponent;
  *inverse = Doubles(exponent << 52);
  return Doubles((2046 - exponent) << 52);
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
