// SPDX-License-Identifier: Apache-2.0
// Elements of 2, 4 and 6 bits out of and into whole bytes. An array begins and ends with a byte here.
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"

#if defined(__SSSE3__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

// One unit of packed bytes spread over as many bytes as it has elements, and back.
DLT_FN uint32_t spread_pairs(uint32_t w) { return (w | w << 6 | w << 12 | w << 18) & 0x03030303u; }
DLT_FN uint16_t spread_nibbles(uint16_t w) { return uint16_t((w | w << 4) & 0x0f0f); }
template <class W>
DLT_FN W spread_sixes(W w) {
  return (w & 0x3f) | (w << 2 & 0x3f00) | (w << 4 & 0x3f0000) | (w << 6 & 0x3f000000u);
}
DLT_FN uint8_t join_pairs(uint32_t w) {
  w &= 0x03030303u;
  return uint8_t(w | w >> 6 | w >> 12 | w >> 18);
}
DLT_FN uint8_t join_nibbles(uint16_t w) { return uint8_t((w & 0x0f) | (w >> 4 & 0xf0)); }
DLT_FN uint32_t join_sixes(uint32_t w) { return (w & 0x3f) | (w >> 2 & 0xfc0) | (w >> 4 & 0x3f000) | (w >> 6 & 0xfc0000); }

void unpack_pairs(void* codes, const void* packed, int64_t n) {
  DLT_EACH write_at(codes, i, spread_pairs(read_at<uint8_t>(packed, i)));
}
void unpack_nibbles(void* codes, const void* packed, int64_t n) {
  DLT_EACH write_at(codes, i, spread_nibbles(read_at<uint8_t>(packed, i)));
}

#if defined(__SSSE3__)
// A register of four elements in 24 bits for each word of 32, and back. Bytes move within 16 of them, so that each 16 take or
// give 12.
using Units = pack<uint32_t>::type;
constexpr int unit_lanes = pack<uint32_t>::lanes, unit_bytes = 3 * unit_lanes;
DLT_FN __m128i spread_order() { return _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1); }
DLT_FN __m128i join_order() { return _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1); }

#if defined(__AVX512BW__)
DLT_FN Units read_units(const char* from) {
  const __m512i order = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
  const __m512i bytes = _mm512_maskz_permutexvar_epi32(0xffff, order, _mm512_maskz_loadu_epi32(0xfff, from));
  return Units(_mm512_shuffle_epi8(bytes, _mm512_maskz_broadcast_i32x4(0xffff, spread_order())));
}
DLT_FN void write_units(char* to, Units codes) {
  const __m512i order = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
  const __m512i pairs = _mm512_maddubs_epi16(__m512i(codes & 0x3f3f3f3f), _mm512_set1_epi16(0x4001));
  const __m512i joined = _mm512_shuffle_epi8(_mm512_madd_epi16(pairs, _mm512_set1_epi32(0x10000001)),
                                             _mm512_maskz_broadcast_i32x4(0xffff, join_order()));
  _mm512_mask_storeu_epi32(to, 0xfff, _mm512_maskz_permutexvar_epi32(0xffff, order, joined));
}
#elif defined(__AVX2__)
DLT_FN Units read_units(const char* from) {
  const __m256i bytes = _mm256_maskload_epi32(reinterpret_cast<const int*>(from),
                                              _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0));
  const __m256i apart = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5));
  return Units(_mm256_shuffle_epi8(apart, _mm256_broadcastsi128_si256(spread_order())));
}
DLT_FN void write_units(char* to, Units codes) {
  const __m256i pairs = _mm256_maddubs_epi16(__m256i(codes & 0x3f3f3f3f), _mm256_set1_epi16(0x4001));
  const __m256i joined = _mm256_shuffle_epi8(_mm256_madd_epi16(pairs, _mm256_set1_epi32(0x10000001)),
                                             _mm256_broadcastsi128_si256(join_order()));
  const __m256i order = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  _mm256_maskstore_epi32(reinterpret_cast<int*>(to), _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0),
                         _mm256_permutevar8x32_epi32(joined, order));
}
#else
DLT_FN Units read_units(const char* from) {
  int64_t first;
  int32_t last;
  __builtin_memcpy(&first, from, 8);
  __builtin_memcpy(&last, from + 8, 4);
  return Units(_mm_shuffle_epi8(_mm_set_epi64x(last, first), spread_order()));
}
DLT_FN void write_units(char* to, Units codes) {
  const __m128i pairs = _mm_maddubs_epi16(__m128i(codes & 0x3f3f3f3f), _mm_set1_epi16(0x4001));
  const __m128i joined = _mm_shuffle_epi8(_mm_madd_epi16(pairs, _mm_set1_epi32(0x10000001)), join_order());
  const int64_t first = _mm_cvtsi128_si64(joined);
  const int32_t last = _mm_extract_epi32(joined, 2);
  __builtin_memcpy(to, &first, 8);
  __builtin_memcpy(to + 8, &last, 4);
}
#endif
DLT_FN int64_t unpack_registers(char* codes, const char* packed, int64_t n) {
  int64_t i = 0;
  for (; i + unit_lanes <= n; i += unit_lanes)
    *reinterpret_cast<pack<uint32_t>::loose*>(codes + 4 * i) = spread_sixes(read_units(packed + 3 * i));
  return i;
}
DLT_FN int64_t pack_registers(char* packed, const char* codes, int64_t n) {
  int64_t i = 0;
  for (; i + unit_lanes <= n; i += unit_lanes) write_units(packed + 3 * i, load<uint32_t>(codes + 4 * i));
  return i;
}
#else
DLT_FN int64_t unpack_registers(char*, const char*, int64_t) { return 0; }
DLT_FN int64_t pack_registers(char*, const char*, int64_t) { return 0; }
#endif

void unpack_sixes(void* codes, const void* packed, int64_t n) {
  for (int64_t i = unpack_registers(static_cast<char*>(codes), static_cast<const char*>(packed), n); i < n; ++i) {
    const uint32_t low = read_at<uint8_t>(packed, 3 * i), middle = read_at<uint8_t>(packed, 3 * i + 1);
    write_at(codes, i, spread_sixes(low | middle << 8 | uint32_t(read_at<uint8_t>(packed, 3 * i + 2)) << 16));
  }
}
void pack_pairs(void* packed, const void* codes, int64_t n) {
  DLT_EACH write_at(packed, i, join_pairs(read_at<uint32_t>(codes, i)));
}
void pack_nibbles(void* packed, const void* codes, int64_t n) {
  DLT_EACH write_at(packed, i, join_nibbles(read_at<uint16_t>(codes, i)));
}
void pack_sixes(void* packed, const void* codes, int64_t n) {
  for (int64_t i = pack_registers(static_cast<char*>(packed), static_cast<const char*>(codes), n); i < n; ++i) {
    const uint32_t joined = join_sixes(read_at<uint32_t>(codes, i));
    write_at(packed, 3 * i, uint8_t(joined));
    write_at(packed, 3 * i + 1, uint8_t(joined >> 8));
    write_at(packed, 3 * i + 2, uint8_t(joined >> 16));
  }
}

}  // namespace

void fill_packed(CopyKernels* kernels) {
  kernels->unpack[0] = unpack_pairs;
  kernels->unpack[1] = unpack_nibbles;
  kernels->unpack[2] = unpack_sixes;
  kernels->pack[0] = pack_pairs;
  kernels->pack[1] = pack_nibbles;
  kernels->pack[2] = pack_sixes;
}

}  // namespace dlt::DLT_LEVEL
