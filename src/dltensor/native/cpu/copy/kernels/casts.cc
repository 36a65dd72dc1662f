// SPDX-License-Identifier: Apache-2.0
// The casts between all arithmetic dtypes.
#include "native/cpu/copy/kernels/convert.h"
#include "native/cpu/runtime/kernels/halves.h"

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__F16C__)
// Two registers at a time; the tail goes through a padded buffer, so that the result does not depend on an element's position.
template <class To, class From, void STEP(To*, const From*)>
void half_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  if (scalars & 1) return cast_loop<To, From, false, false>(out, a, nullptr, nullptr, n, scalars);
  constexpr int64_t step = 2 * lanes;
  const From* from = static_cast<const From*>(a);
  To* to = static_cast<To*>(out);
  int64_t i = 0;
  for (; i + step <= n; i += step) STEP(to + i, from + i);
  if (i < n) {
    From in[step] = {};
    To back[step];
    __builtin_memcpy(in, from + i, size_t(n - i) * sizeof(From));
    STEP(back, in);
    __builtin_memcpy(to + i, back, size_t(n - i) * sizeof(To));
  }
}
DLT_FN void halves_in(float* to, const float16* from) {
  for (int k = 0; k < 2 * lanes; k += lanes) keep_floats(to + k, widened(load(from + k)));
}
template <class T>
DLT_FN void halves_out(T* to, const float* from) {
  save_both<T>(to, floats_from(from), floats_from(from + lanes));
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
    kernels->casts[mode][type_float32][type_float16] = half_loop<float16, float, halves_out<float16>>;
    kernels->casts[mode][type_float32][type_bfloat16] = half_loop<bfloat16, float, halves_out<bfloat16>>;
  }
#endif
}

}  // namespace dlt::DLT_LEVEL
