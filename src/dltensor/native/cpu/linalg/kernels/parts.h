// SPDX-License-Identifier: Apache-2.0
// The first lanes of a register in memory, for the ends of rows.
#pragma once
#include <string.h>

#include "native/cpu/runtime/kernels/registers.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX2__) && !defined(__AVX512F__)
// Masks of up to eight lanes of 32 bits: those of n lanes begin n before the zeros.
alignas(64) constexpr int32_t lane_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#endif

// Copies `bytes`, fewer than a register has, in parts of constant size: without a call.
DLT_FN void copy_part(char* to, const char* from, int bytes) {
#pragma GCC unroll 8
  for (int size = register_bytes / 2; size > 0; size /= 2)
    if ((bytes & size) != 0) {
      memcpy(to, from, size_t(size));
      to += size;
      from += size;
    }
}

// The first `count` lanes; memory past them is not accessed.
template <class T>
DLT_FN typename pack<T>::type load_part(const char* from, int count) {
  typename pack<T>::type v{};
#if defined(__AVX512F__)
  const uint64_t mask = (uint64_t(1) << count) - 1;
  __m512i r;
  if constexpr (sizeof(T) == 1) r = _mm512_maskz_loadu_epi8(mask, from);
  else if constexpr (sizeof(T) == 2) r = _mm512_maskz_loadu_epi16(__mmask32(mask), from);
  else if constexpr (sizeof(T) == 4) r = _mm512_maskz_loadu_epi32(__mmask16(mask), from);
  else r = _mm512_maskz_loadu_epi64(__mmask8(mask), from);
  memcpy(&v, &r, sizeof v);
#else
#if defined(__AVX2__)
  if constexpr (sizeof(T) >= 4) {
    const int words = count * int(sizeof(T) / 4);
    const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lane_masks + 8 - words));
    const __m256i r = _mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask);
    memcpy(&v, &r, sizeof v);
    return v;
  }
#endif
  copy_part(reinterpret_cast<char*>(&v), from, count * int(sizeof(T)));
#endif
  return v;
}
template <class T>
DLT_FN void save_part(char* to, typename pack<T>::type v, int count) {
#if defined(__AVX512F__)
  const uint64_t mask = (uint64_t(1) << count) - 1;
  __m512i r;
  memcpy(&r, &v, sizeof v);
  if constexpr (sizeof(T) == 1) _mm512_mask_storeu_epi8(to, mask, r);
  else if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(to, __mmask32(mask), r);
  else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(to, __mmask16(mask), r);
  else _mm512_mask_storeu_epi64(to, __mmask8(mask), r);
#else
  copy_part(to, reinterpret_cast<const char*>(&v), count * int(sizeof(T)));
#endif
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
