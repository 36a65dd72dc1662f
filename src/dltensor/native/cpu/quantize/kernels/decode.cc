// SPDX-License-Identifier: Apache-2.0
// Codes of 8 bits as numbers: times the number of their block.
#include "native/cpu/copy/kernels/narrow.h"
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/quantize/kernels/stores.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class T>
DLT_FN float number_of(T code) {
  if constexpr (requires { code.bits; }) return to_float(code);
  else return float(code);
}

// Apart from the loop over whole registers, which has few registers to keep without it.
template <class T>
[[gnu::noinline]] void decode_singles(float* y, const uint8_t* codes, float number, int64_t n) {
  DLT_IVDEP
  for (int64_t i = 0; i < n; ++i) write_at(y, i, number_of(read_at<T>(codes, i)) * number);
}

#if defined(__F16C__)
DLT_FN void save_times(float* y, __m128i codes, bool is_signed, float number, bool streams) {
#if defined(__AVX512F__)
  const __m512i words = is_signed ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes);
  save_past(y, _mm512_mul_ps(_mm512_cvtepi32_ps(words), _mm512_set1_ps(number)), streams);
#else
  for (int part = 0; part < 2; ++part, codes = _mm_unpackhi_epi64(codes, codes), y += 8) {
    const __m256i words = is_signed ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
    save_past(y, _mm256_mul_ps(_mm256_cvtepi32_ps(words), _mm256_set1_ps(number)), streams);
  }
#endif
}
DLT_FN void save_times(float* y, __m256i halves, float number, bool streams) {
#if defined(__AVX512F__)
  save_past(y, _mm512_mul_ps(_mm512_cvtph_ps(halves), _mm512_set1_ps(number)), streams);
#else
  save_past(y, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_set1_ps(number)), streams);
  save_past(y + 8, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)), _mm256_set1_ps(number)), streams);
#endif
}

// The first multiples of sixteen elements of a block; returns how many.
template <class T>
DLT_FN int64_t decode_sixteens(float* y, const uint8_t* codes, float number, int64_t n, bool streams) {
  int64_t i = 0;
  if constexpr (requires { T::mantissa; }) {
    // The product of the scales is exact, and that with an element is rounded once.
    const float both = number * scale_of_halves<T>;
    if (scale_of_halves<T> != 1 && !(__builtin_fabsf(both) <= 0x1p120f)) return 0;  // infinite, NaN or near them
    for (; i + 16 <= n; i += 16) {
      const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
      if (__builtin_expect(has_nan<T>(sixteen), 0)) decode_singles<T>(y + i, codes + i, number, 16);
      else save_times(y + i, halves_of<T>(sixteen), both, streams);
    }
  } else {
    for (; i + 16 <= n; i += 16)
      save_times(y + i, _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i)), std::is_signed_v<T>, number, streams);
  }
  return i;
}
#else
template <class T>
DLT_FN int64_t decode_sixteens(float*, const uint8_t*, float, int64_t, bool) {
  return 0;
}
#endif

template <class T>
void decode(float* y, const uint8_t* codes, const float* numbers, int64_t blocks, int64_t block, bool streams) {
  for (int64_t b = 0; b < blocks; ++b, codes += block, y += block) {
    const float number = read_at<float>(numbers, b);
    const int64_t i = decode_sixteens<T>(y, codes, number, block, streams);
    if (i < block) decode_singles<T>(y + i, codes + i, number, block - i);
  }
}

}  // namespace

void fill_decode(QuantizeKernels* kernels) {
  kernels->decode[type_float8_e4m3fn] = decode<float8_e4m3fn>;
  kernels->decode[type_float8_e5m2] = decode<float8_e5m2>;
  kernels->decode[type_int8] = decode<int8_t>;
  kernels->decode[type_uint8] = decode<uint8_t>;
#if defined(__F16C__)
  kernels->has_streams = true;
#endif
}

}  // namespace dlt::DLT_LEVEL
