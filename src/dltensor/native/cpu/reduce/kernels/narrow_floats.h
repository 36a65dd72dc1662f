// SPDX-License-Identifier: Apache-2.0
// Registers of floats of up to 32 bits: as two registers of float64, and as the bits of float32.
#pragma once
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

struct Floats {
  V low, high;
  Span::U bits;
};
DLT_FN Floats floats_at(const float* from) {
  return {load(from), load(from + lanes), *reinterpret_cast<const Span::loose*>(from)};
}

DLT_FN Floats floats_of(Span::U bits) {
#if defined(__AVX512F__)
  const __m512 all = reinterpret_cast<__m512>(bits);
  __m256 low;
  __builtin_memcpy(&low, &all, sizeof low);
  return {V(_mm512_maskz_cvtps_pd(0xff, low)), V(_mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, all, 1))),
          bits};
#elif defined(__AVX2__)
  const __m256 all = reinterpret_cast<__m256>(bits);
  return {V(_mm256_cvtps_pd(_mm256_castps256_ps128(all))), V(_mm256_cvtps_pd(_mm256_extractf128_ps(all, 1))), bits};
#else
  float floats[Span::lanes];
  __builtin_memcpy(floats, &bits, sizeof floats);
  return {load(floats), load(floats + lanes), bits};
#endif
}
DLT_FN Floats floats_at(const bfloat16* from) {
  typedef uint16_t halves __attribute__((vector_size(register_bytes / 2), aligned(1), may_alias));
  return floats_of(__builtin_convertvector(*reinterpret_cast<const halves*>(from), Span::U) << 16);
}
#if defined(__F16C__)
DLT_FN Floats floats_at(const float16* from) {
#if defined(__AVX512F__)
  return floats_of(Span::U(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))));
#else
  return floats_of(Span::U(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))));
#endif
}
#endif

// Adds a register to two of float64, and its exponents to a span.
template <class T>
DLT_FN void add_floats(const T* from, V* x, V* y, Span* exponents) {
  const Floats all = floats_at(from);
  *x += all.low;
  *y += all.high;
  exponents->deposit(all.bits);
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
