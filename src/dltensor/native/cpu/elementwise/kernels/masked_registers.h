// SPDX-License-Identifier: Apache-2.0
// Registers of AVX-512, whose parts memory is read and written by.
#pragma once
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

#if defined(__AVX512F__)
namespace dlt::DLT_LEVEL {
namespace {

// Registers of elements of 4 or 8 bytes, whole and in parts.
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

}  // namespace
}  // namespace dlt::DLT_LEVEL
#endif
