// SPDX-License-Identifier: Apache-2.0
// Codes of 8 bits as numbers: times the number of their block.
#include "native/cpu/copy/kernels/narrow.h"
#include "native/cpu/quantize/kernels.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class T>
DLT_FN float number_of(T code) {
  if constexpr (requires { code.bits; }) return to_float(code);
  else return float(code);
}

#if defined(__F16C__)
DLT_FN void save_times(float* y, __m128i codes, bool is_signed, float number) {
#if defined(__AVX512F__)
  const __m512i words = is_signed ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes);
  _mm512_storeu_ps(y, _mm512_mul_ps(_mm512_cvtepi32_ps(words), _mm512_set1_ps(number)));
#else
  for (int part = 0; part < 2; ++part, codes = _mm_unpackhi_epi64(codes, codes), y += 8) {
    const __m256i words = is_signed ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
    _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_cvtepi32_ps(words), _mm256_set1_ps(number)));
  }
#endif
}
DLT_FN void save_times(float* y, __m256i halves, float number) {
#if defined(__AVX512F__)
  _mm512_storeu_ps(y, _mm512_mul_ps(_mm512_cvtph_ps(halves), _mm512_set1_ps(number)));
#else
  _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_set1_ps(number)));
  _mm256_storeu_ps(y + 8, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)), _mm256_set1_ps(number)));
#endif
}

// The first multiples of sixteen elements of a block; returns how many.
template <class T>
DLT_FN int64_t decode_sixteens(float* y, const uint8_t* codes, float number, int64_t n) {
  int64_t i = 0;
  if constexpr (requires { T::mantissa; }) {
    // The product of the scales is exact, and that with an element is rounded once.
    const float both = number * scale_of_halves<T>;
    if (scale_of_halves<T> != 1 && !(__builtin_fabsf(both) <= 0x1p120f)) return 0;  // infinite, NaN or near them
    for (; i + 16 <= n; i += 16) {
      const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
      if (__builtin_expect(has_nan<T>(sixteen), 0))
        for (int64_t k = i; k < i + 16; ++k) write_at(y, k, to_float(read_at<T>(codes, k)) * number);
      else save_times(y + i, halves_of<T>(sixteen), both);
    }
  } else {
    for (; i + 16 <= n; i += 16)
      save_times(y + i, _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i)), std::is_signed_v<T>, number);
  }
  return i;
}
#else
template <class T>
DLT_FN int64_t decode_sixteens(float*, const uint8_t*, float, int64_t) {
  return 0;
}
#endif

template <class T>
void decode(float* y, const uint8_t* codes, const float* numbers, int64_t blocks, int64_t block) {
  for (int64_t b = 0; b < blocks; ++b, codes += block, y += block) {
    const float number = read_at<float>(numbers, b);
    const int64_t i = decode_sixteens<T>(y, codes, number, block);
    DLT_IVDEP
    for (int64_t k = i; k < block; ++k) write_at(y, k, number_of(read_at<T>(codes, k)) * number);
  }
}

}  // namespace

void fill_decode(QuantizeKernels* kernels) {
  kernels->decode[type_float8_e4m3fn] = decode<float8_e4m3fn>;
  kernels->decode[type_float8_e5m2] = decode<float8_e5m2>;
  kernels->decode[type_int8] = decode<int8_t>;
  kernels->decode[type_uint8] = decode<uint8_t>;
}

}  // namespace dlt::DLT_LEVEL
