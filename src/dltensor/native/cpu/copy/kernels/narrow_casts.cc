// SPDX-License-Identifier: Apache-2.0
// The casts between float32 and elements of fewer than 8 bits, in registers. They replace loops of small_casts.cc.
#include "native/cpu/copy/kernels/convert.h"
#include "native/cpu/copy/kernels/narrow.h"

namespace dlt::DLT_LEVEL {
namespace {

// Results are packed before the next part is read: that is brought to the second cache meanwhile.
constexpr int64_t ahead = 4096;

// The code of any number in the lowest byte: of NaN as convert() has it.
template <class T, bool NEAREST>
DLT_FN Words code_of_any(const Coder<T>& coder, Floats x) {
  const Words bits = reinterpret_cast<Words>(x), code = coder.of(x, bits);
  if constexpr (requires { T::mantissa; }) {
    static_assert(T::special == Special::none, "NaN becomes the zero of the opposite sign");
    const Words sign = (bits >> Coder<T>::places) & int32_t(T::sign_bit);
    return (bits & 0x7fffffff) > 0x7f800000 ? sign ^ int32_t(T::sign_bit) : code;
  } else {
    const Words whole = NEAREST ? code : __builtin_convertvector(coder.clamped(x), Words);
    return whole & (x == x) & ((1 << T::width) - 1);
  }
}

template <class T, bool NEAREST>
void to_codes(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  auto* const to = static_cast<uint8_t*>(out);
  const auto* const from = static_cast<const float*>(a);
  const Coder<T> coder;
  int64_t i = 0;
  for (; !(scalars & 1) && i + float_lanes <= n; i += float_lanes) {
    if (i * int64_t(sizeof(float)) % 64 == 0) __builtin_prefetch(from + i + ahead, 0, 2);
    store_codes(to + i, code_of_any<T, NEAREST>(coder, load_floats(from + i)));
  }
  cast_loop<T, float, NEAREST, false>(to + i, from + i, nullptr, nullptr, n - i, scalars);
}

#if defined(__AVX512F__)
// Elements in a table: all sixteen of 4 bits, or the thirty-two magnitudes of 6 bits.
template <class T>
struct Table {
  static constexpr bool has_signs = [] {
    if constexpr (requires { T::mantissa; }) return T::sign_bit == 32;
    else return false;
  }();
  __m512 low, high;

  Table() {
    float all[32];
    for (int k = 0; k < 32; ++k) all[k] = to_float(T{uint8_t(k)});
    low = _mm512_loadu_ps(all);
    high = _mm512_loadu_ps(all + 16);
  }
  DLT_FN Floats of(const uint8_t* codes) const {
    const __m512i words = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    if constexpr (has_signs) {
      const Words sign = Words(_mm512_slli_epi32(words, 26)) & INT32_MIN;
      return Floats(Words(_mm512_permutex2var_ps(low, words, high)) | sign);
    } else {
      return Floats(_mm512_permutexvar_ps(words, low));
    }
  }
};
#elif defined(__F16C__)
// By way of integers, or of float16 whose exponent has another zero.
template <class T>
struct Table {
  DLT_FN Floats of(const uint8_t* codes) const {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(codes));
    if constexpr (requires { T::mantissa; }) {
      constexpr int places = 10 - T::mantissa, sign_places = 15 - T::exponent - T::mantissa;
      const __m128i words = _mm_cvtepu8_epi16(eight);
      const __m128i magnitude = _mm_slli_epi16(_mm_and_si128(words, _mm_set1_epi16(short(T::sign_bit - 1))), places);
      const __m128i sign = _mm_slli_epi16(_mm_and_si128(words, _mm_set1_epi16(short(T::sign_bit))), sign_places);
      const Floats scale = Floats{} + bits_as<float>(uint32_t(127 + 15 - T::bias) << 23);
      return Floats(_mm256_cvtph_ps(_mm_or_si128(magnitude, sign))) * scale;
    } else {
      const __m256i high = _mm256_slli_epi32(_mm256_cvtepu8_epi32(eight), 32 - T::width);
      return Floats(
          _mm256_cvtepi32_ps(T::is_signed ? _mm256_srai_epi32(high, 32 - T::width) : _mm256_srli_epi32(high, 32 - T::width)));
    }
  }
};
#endif

#if defined(__F16C__)
template <class T>
void from_codes(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  auto* const to = static_cast<float*>(out);
  const auto* const from = static_cast<const uint8_t*>(a);
  const Table<T> table;
  int64_t i = 0;
  for (; !(scalars & 1) && i + float_lanes <= n; i += float_lanes) save_floats(to + i, table.of(from + i));
  cast_loop<float, T, false, false>(to + i, from + i, nullptr, nullptr, n - i, scalars);
}
#endif

template <class T>
void fill_pair(CopyKernels* kernels, int type) {
  for (int mode = 0; mode < cast_modes; ++mode) {
    kernels->casts[mode][type_float32][type] = mode & cast_nearest ? to_codes<T, true> : to_codes<T, false>;
#if defined(__F16C__)
    kernels->casts[mode][type][type_float32] = from_codes<T>;
#endif
  }
}

}  // namespace

void fill_narrow_casts(CopyKernels* kernels) {
  fill_pair<float6_e2m3fn>(kernels, type_float6_e2m3fn);
  fill_pair<float6_e3m2fn>(kernels, type_float6_e3m2fn);
  fill_pair<float4_e2m1fn>(kernels, type_float4_e2m1fn);
  fill_pair<int4>(kernels, type_int4);
  fill_pair<uint4>(kernels, type_uint4);
}

}  // namespace dlt::DLT_LEVEL
