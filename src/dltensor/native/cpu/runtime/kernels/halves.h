// SPDX-License-Identifier: Apache-2.0
// Registers of float16 and bfloat16 as registers of float32 and back, at the levels that have instructions for float16.
#pragma once
#include <string.h>

#include "native/cpu/runtime/kernels/elements.h"

#if defined(__F16C__) && defined(__AVX2__)
#include <immintrin.h>

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#else
constexpr int lanes = 8;
#endif
typedef float floats __attribute__((vector_size(lanes * 4)));
typedef uint32_t words __attribute__((vector_size(lanes * 4)));
typedef uint16_t shorts __attribute__((vector_size(lanes * 2)));

DLT_FN shorts load(const void* from) {
  shorts v;
  memcpy(&v, from, sizeof v);
  return v;
}
DLT_FN void save(void* to, shorts v) { memcpy(to, &v, sizeof v); }

// The bits of float32 that begin with the bfloat16 they round to; what follows in the lower half is left. `NAN_TOO`: some are NaN.
template <bool NAN_TOO = true>
DLT_FN words rounded_up(floats v) {
  const words bits = reinterpret_cast<words>(v), up = bits + 0x7fff + ((bits >> 16) & 1);
  if constexpr (!NAN_TOO) return up;
  else return v == v ? up : (bits & 0x80000000) | 0x7fc00000;
}

#if defined(__AVX512F__)
DLT_FN floats widened(shorts v) {
  return reinterpret_cast<floats>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(v)));
}
DLT_FN shorts narrowed(floats v) {
  return reinterpret_cast<shorts>(
      _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// Two registers of integers with a sign as ones of 16 bits, clamped, in order.
template <bool SIGNED = false>
DLT_FN void save_halves(void* to, words low, words high) {
  const __m512i first = reinterpret_cast<__m512i>(low), second = reinterpret_cast<__m512i>(high);
  const __m512i packed = SIGNED ? _mm512_packs_epi32(first, second) : _mm512_packus_epi32(first, second);
  _mm512_storeu_si512(to, _mm512_maskz_permutexvar_epi64(0xff, _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed));
}
#else
DLT_FN floats widened(shorts v) { return reinterpret_cast<floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(v))); }
DLT_FN shorts narrowed(floats v) {
  return reinterpret_cast<shorts>(_mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
template <bool SIGNED = false>
DLT_FN void save_halves(void* to, words low, words high) {
  const __m256i first = reinterpret_cast<__m256i>(low), second = reinterpret_cast<__m256i>(high);
  const __m256i packed = SIGNED ? _mm256_packs_epi32(first, second) : _mm256_packus_epi32(first, second);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
}
#endif

// Rounds and saves two registers, in order.
template <class T, bool NAN_TOO = true>
DLT_FN void save_both(void* to, floats first, floats second) {
  if constexpr (is_same<T, float16>::value) {
    save(to, narrowed(first));
    save(static_cast<char*>(to) + sizeof(shorts), narrowed(second));
  } else {
    save_halves(to, rounded_up<NAN_TOO>(first) >> 16, rounded_up<NAN_TOO>(second) >> 16);
  }
}

// Two registers in an order that save_pair() turns back. Two bfloat16 are one word: the second begins it as a float32, the first
// does after a shift. No register is shuffled.
template <class T>
DLT_FN void load_pair(floats* first, floats* second, const void* from) {
  if constexpr (is_same<T, float16>::value) {
    *first = widened(load(from));
    *second = widened(load(static_cast<const char*>(from) + sizeof(shorts)));
  } else {
    words both;
    memcpy(&both, from, sizeof both);
    *first = reinterpret_cast<floats>(both << 16);
    *second = reinterpret_cast<floats>(both & 0xffff0000);
  }
}
template <class T>
DLT_FN void save_pair(void* to, floats first, floats second) {
  if constexpr (is_same<T, float16>::value) {
    save_both<T>(to, first, second);
  } else {
    const words both = rounded_up(first) >> 16 | (rounded_up(second) & 0xffff0000);
    memcpy(to, &both, sizeof both);
  }
}

DLT_FN floats floats_from(const float* from) {
  floats v;
  memcpy(&v, from, sizeof v);
  return v;
}
DLT_FN void keep_floats(float* to, floats v) { memcpy(to, &v, sizeof v); }

}  // namespace
}  // namespace dlt::DLT_LEVEL
#endif
