// SPDX-License-Identifier: Apache-2.0
// The casts between all arithmetic dtypes.
#include "native/cpu/copy/kernels/convert.h"

#if defined(__AVX512F__) || defined(__F16C__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
DLT_FN void halves_in(const char* from, char* to) {
  _mm512_storeu_ps(to, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
}
DLT_FN void halves_out(const char* from, char* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(__F16C__)  // with AVX2: the level v3
constexpr int lanes = 8;
DLT_FN void halves_in(const char* from, char* to) {
  _mm256_storeu_ps(reinterpret_cast<float*>(to), _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
DLT_FN void halves_out(const char* from, char* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(_mm256_loadu_ps(reinterpret_cast<const float*>(from)),
                                                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// Round as round_to() does; the compiler's own way from words to halves of words takes a quarter longer.
DLT_FN void bfloats_out(const char* from, char* to) {
  const __m256 value = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  const __m256i bits = _mm256_castps_si256(value), nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i sign = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MIN));
  const __m256i words = _mm256_srli_epi32(
      _mm256_blendv_epi8(rounded, _mm256_or_si256(sign, _mm256_set1_epi32(0x7fc00000)), nan), 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}
#endif

#if defined(__F16C__)
// The processor's own conversion; the tail goes through a padded buffer, so that the result does not depend on an
// element's position.
template <class To, class From, void STEP(const char*, char*)>
void half_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  if (scalars & 1) return cast_loop<To, From, false, false>(out, a, nullptr, nullptr, n, scalars);
  const char* from = static_cast<const char*>(a);
  char* to = static_cast<char*>(out);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) STEP(from + i * int64_t(sizeof(From)), to + i * int64_t(sizeof(To)));
  if (i < n) {
    From in[lanes] = {};
    To back[lanes];
    __builtin_memcpy(in, from + i * int64_t(sizeof(From)), size_t(n - i) * sizeof(From));
    STEP(reinterpret_cast<const char*>(in), reinterpret_cast<char*>(back));
    __builtin_memcpy(to + i * int64_t(sizeof(To)), back, size_t(n - i) * sizeof(To));
  }
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)  // which packs by instructions that the compiler uses
// Eight numbers as integers that packing to To brings into its range: those below it and, of unsigned types, NaN are the lowest
// integer of 32 bits here.
template <class To, bool NEAREST>
DLT_FN __m256i words_of(const float* from) {
  const __m256 value = _mm256_loadu_ps(from);
  const __m256 below = _mm256_min_ps(_mm256_set1_ps(float(range<To>::highest)), value);  // the second one if that is NaN
  const __m256i words = NEAREST ? _mm256_cvtps_epi32(below) : _mm256_cvttps_epi32(below);
  if constexpr (!range<To>::is_signed) return words;
  return _mm256_and_si256(words, _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_ORD_Q)));
}

// float32 as integers of 8 or 16 bits, clamped: 32 bytes at a time, and the rest one by one.
template <class To, bool NEAREST>
void packed_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  constexpr bool is_signed = range<To>::is_signed;
  constexpr int64_t step = 32 / int64_t(sizeof(To));
  const float* const from = static_cast<const float*>(a);
  To* const to = static_cast<To*>(out);
  int64_t i = 0;
  for (; !(scalars & 1) && i + step <= n; i += step) {
    const __m256i first = words_of<To, NEAREST>(from + i), second = words_of<To, NEAREST>(from + i + 8);
    __m256i packed;
    if constexpr (sizeof(To) == 2) {
      packed = is_signed ? _mm256_packs_epi32(first, second) : _mm256_packus_epi32(first, second);
      packed = _mm256_permute4x64_epi64(packed, 0xd8);
    } else {
      const __m256i third = words_of<To, NEAREST>(from + i + 16), fourth = words_of<To, NEAREST>(from + i + 24);
      const __m256i low = _mm256_packs_epi32(first, second), high = _mm256_packs_epi32(third, fourth);
      packed = is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
      packed = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), packed);
  }
  cast_loop<To, float, NEAREST, false>(to + i, from + i, nullptr, nullptr, n - i, scalars);
}

template <class To>
void fill_packed(CopyKernels* kernels, int to) {
  for (int mode = 0; mode < cast_modes; ++mode)
    kernels->casts[mode][type_float32][to] = mode & cast_nearest ? packed_loop<To, true> : packed_loop<To, false>;
}
#endif

template <class From>
void fill_from(CopyKernels* kernels, int from) {
#define DLT_FILL(name, type, code, bits, format) fill_cast<type, From>(kernels, from, type_##name);
  DLT_COMPUTED_DTYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace

void fill_casts(CopyKernels* kernels) {
#define DLT_FILL(name, type, code, bits, format) fill_from<type>(kernels, type_##name);
  DLT_COMPUTED_DTYPES(DLT_FILL)
#undef DLT_FILL
#if defined(__AVX2__) && !defined(__AVX512F__)
  fill_packed<uint8_t>(kernels, type_uint8);
  fill_packed<int8_t>(kernels, type_int8);
  fill_packed<uint16_t>(kernels, type_uint16);
  fill_packed<int16_t>(kernels, type_int16);
#endif
#if defined(__F16C__)
  for (int mode = 0; mode < cast_modes; ++mode) {
    kernels->casts[mode][type_float16][type_float32] = half_loop<float, float16, halves_in>;
    kernels->casts[mode][type_float32][type_float16] = half_loop<float16, float, halves_out>;
#if !defined(__AVX512F__)
    kernels->casts[mode][type_float32][type_bfloat16] = half_loop<bfloat16, float, bfloats_out>;
#endif
  }
#endif
}

}  // namespace dlt::DLT_LEVEL
