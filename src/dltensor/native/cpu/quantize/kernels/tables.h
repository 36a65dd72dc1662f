// SPDX-License-Identifier: Apache-2.0
// Tables of the elements of 4 bits, for loops that look them up in registers.
#pragma once
#include "native/cpu/runtime/kernels/registers.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

// Elements of 4 bits, two a byte, times a number: every product is computed once.
#if defined(__AVX512F__)
struct ScaledTable {
  __m512 entries;
  ScaledTable() = default;
  DLT_FN ScaledTable(const float* table, float scale, float factor)
      : entries(_mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(table), _mm512_set1_ps(scale)), _mm512_set1_ps(factor))) {}
  // The products of one register of elements.
  DLT_FN pack<float>::type of(const uint8_t* packed) const {
    const __m512i half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i both = _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(packed)));
    const __m512i codes = _mm512_maskz_srlv_epi32(0xffff, _mm512_maskz_permutexvar_epi32(0xffff, half, both), shifts);
    return pack<float>::type(_mm512_maskz_permutexvar_ps(0xffff, codes, entries));
  }
};
#elif defined(__AVX2__)
struct ScaledTable {
  __m256 low, high;
  ScaledTable() = default;
  DLT_FN static __m256 products(const float* table, float scale, float factor) {
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(table), _mm256_set1_ps(scale)), _mm256_set1_ps(factor));
  }
  DLT_FN ScaledTable(const float* table, float scale, float factor)
      : low(products(table, scale, factor)), high(products(table + 8, scale, factor)) {}
  DLT_FN pack<float>::type of(const uint8_t* packed) const {
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i codes = _mm256_srlv_epi32(_mm256_set1_epi32(one<int32_t>(reinterpret_cast<const char*>(packed))), shifts);
    const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
    return pack<float>::type(
        _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, codes), _mm256_permutevar8x32_ps(high, codes), upper));
  }
};
#else
struct ScaledTable {
  float entries[16];
  DLT_FN ScaledTable(const float* table, float scale, float factor) {
    for (int k = 0; k < 16; ++k) entries[k] = table[k] * scale * factor;
  }
  DLT_FN pack<float>::type of(const uint8_t* packed) const {
    pack<float>::type all;
    for (int k = 0; k < pack<float>::lanes; ++k) all[k] = entries[packed[k / 2] >> k % 2 * 4 & 15];
    return all;
  }
};
#endif

}  // namespace
}  // namespace dlt::DLT_LEVEL
