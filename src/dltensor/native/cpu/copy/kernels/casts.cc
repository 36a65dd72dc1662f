// SPDX-License-Identifier: Apache-2.0
// The casts between all arithmetic dtypes. Those to float16 and bfloat16, of floats to integers and of wide integers to floats are
// in registers where the compiler's own loops are slower.
#include "native/cpu/copy/kernels/convert.h"
#include "native/cpu/runtime/kernels/halves.h"
#include "native/cpu/runtime/kernels/registers.h"

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__F16C__) && defined(__AVX2__)
// ---- float16 and bfloat16

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

typedef int32_t integers __attribute__((vector_size(lanes * 4)));

// Integers of at most 16 bits; true is 1.
template <class From>
DLT_FN integers extended(const From* from) {
#if defined(__AVX512F__)
  if constexpr (is_same<From, boolean>::value) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return integers(_mm512_maskz_cvtepu8_epi32(0xffff, _mm_min_epu8(x, _mm_set1_epi8(1))));
  } else if constexpr (sizeof(From) == 1) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return integers(range<From>::is_signed ? _mm512_maskz_cvtepi8_epi32(0xffff, x) : _mm512_maskz_cvtepu8_epi32(0xffff, x));
  } else {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return integers(range<From>::is_signed ? _mm512_maskz_cvtepi16_epi32(0xffff, x) : _mm512_maskz_cvtepu16_epi32(0xffff, x));
  }
#else
  if constexpr (is_same<From, boolean>::value) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(from));
    return integers(_mm256_cvtepu8_epi32(_mm_min_epu8(x, _mm_set1_epi8(1))));
  } else if constexpr (sizeof(From) == 1) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(from));
    return integers(range<From>::is_signed ? _mm256_cvtepi8_epi32(x) : _mm256_cvtepu8_epi32(x));
  } else {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return integers(range<From>::is_signed ? _mm256_cvtepi16_epi32(x) : _mm256_cvtepu16_epi32(x));
  }
#endif
}

// The float32 nearest to integers or, where there is none and bfloat16 is to be rounded from it, one that is odd: it and the
// integer lie between the same two of bfloat16 and of the numbers halfway between them. float16 ends below what is not exact.
template <class T, class From>
DLT_FN floats odd_floats_of(const From* from) {
  if constexpr (sizeof(From) < 4) return __builtin_convertvector(extended(from), floats);
  else {
    constexpr uint32_t exact = 1 << 24;
    words x;
    __builtin_memcpy(&x, from, sizeof x);
    if constexpr (!is_same<T, float16>::value) {
      const words folded = (x | ((x & 0xff) + 0xff)) & ~uint32_t(0xff);
      x = (range<From>::is_signed ? x + exact <= 2 * exact : x <= exact) ? x : folded;
    }
    if constexpr (range<From>::is_signed) return __builtin_convertvector(reinterpret_cast<integers>(x), floats);
    else return __builtin_convertvector(x, floats);
  }
}
template <class T, class From>
DLT_FN void integers_out(T* to, const From* from) {
  save_both<T, false>(to, odd_floats_of<T>(from), odd_floats_of<T>(from + lanes));
}

#if defined(__AVX512F__)
// Toward zero, and odd where that is not exact: eight numbers of 64 bits.
DLT_FN __m256 odd_floats(const double* from) {
  constexpr int toward_zero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  const __m512d value = _mm512_loadu_pd(from);
  const __m256 cut = _mm512_maskz_cvt_roundpd_ps(__mmask8(0xff), value, toward_zero);
  const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_maskz_cvtps_pd(__mmask8(0xff), cut), value, _CMP_NEQ_UQ);
  const __m256i bits = _mm256_castps_si256(cut);
  return _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1)));
}
template <class From>
DLT_FN __m256 odd_floats(const From* from) {
  constexpr int toward_zero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  constexpr bool is_signed = range<From>::is_signed;
  const __m512i value = _mm512_loadu_si512(from);
  const __m256 cut = is_signed ? _mm512_maskz_cvt_roundepi64_ps(__mmask8(0xff), value, toward_zero)
                               : _mm512_maskz_cvt_roundepu64_ps(__mmask8(0xff), value, toward_zero);
  const __m512i back = is_signed ? _mm512_maskz_cvttps_epi64(__mmask8(0xff), cut)
                                 : _mm512_maskz_cvttps_epu64(__mmask8(0xff), cut);
  const __m256i bits = _mm256_castps_si256(cut);
  return _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, _mm512_cmpneq_epi64_mask(back, value), bits, _mm256_set1_epi32(1)));
}
template <class From>
DLT_FN floats odd_floats_of_wide(const From* from) {
  const __m512d low = _mm512_castpd256_pd512(_mm256_castps_pd(odd_floats(from)));
  return floats(_mm512_maskz_insertf64x4(0xff, low, _mm256_castps_pd(odd_floats(from + 8)), 1));
}
#else
// Clears bits, and sets the one above them if one of them was set: whole numbers, or floats' bits, that lie between the same two
// of fewer digits.
DLT_FN __m256i folded(__m256i x, uint64_t below) {
  const __m256i low = _mm256_set1_epi64x(int64_t(below));
  return _mm256_andnot_si256(low, _mm256_or_si256(x, _mm256_add_epi64(_mm256_and_si256(x, low), low)));
}
// Integers as the nearest float64: both halves and the difference are exact, the sum is rounded.
template <bool SIGNED>
DLT_FN __m256d nearest_doubles(__m256i x) {
  if constexpr (SIGNED) x = _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN));
  const __m256i upper = _mm256_or_si256(_mm256_srli_epi64(x, 32), _mm256_castpd_si256(_mm256_set1_pd(0x1p84)));
  const __m256i lower = _mm256_blend_epi32(x, _mm256_castpd_si256(_mm256_set1_pd(0x1p52)), 0xaa);
  const __m256d offset = _mm256_set1_pd(SIGNED ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52);
  return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(upper), offset), _mm256_castsi256_pd(lower));
}
// 0 in lanes whose integers float64 has, as it has all of at most 53 bits.
template <bool SIGNED>
DLT_FN __m256i excess_of(__m256i x) {
  if constexpr (SIGNED) return _mm256_srli_epi64(_mm256_add_epi64(x, _mm256_set1_epi64x(int64_t(1) << 53)), 54);
  else return _mm256_srli_epi64(x, 53);
}
// Integers as the nearest float64, or an odd one where that is not exact.
template <bool SIGNED>
DLT_FN __m256d odd_doubles(__m256i x) {
  const __m256i is_exact = _mm256_cmpeq_epi64(excess_of<SIGNED>(x), _mm256_setzero_si256());
  return nearest_doubles<SIGNED>(_mm256_blendv_epi8(folded(x, 0x7ff), x, is_exact));
}
template <class From>
DLT_FN __m256d odd_doubles(const From* from) {
  if constexpr (is_same<From, double>::value) return _mm256_loadu_pd(from);
  else return odd_doubles<range<From>::is_signed>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
template <class From>
DLT_FN floats odd_floats_of_wide(const From* from) {
  const auto half = [](const From* at) __attribute__((always_inline)) {
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(folded(_mm256_castpd_si256(odd_doubles(at)), 0x1fffffff)));
  };
  return floats(_mm256_set_m128(half(from + 4), half(from)));
}
// One subnormal float32 has fewer digits than folding leaves, and bfloat16 is not to be rounded from it.
DLT_FN bool has_subnormal(floats a, floats b) {
  const auto is_subnormal = [](floats v) __attribute__((always_inline)) {
    const words size = reinterpret_cast<words>(v) << 1;
    return (size - 1) < 0x00ffffff;
  };
  const auto found = is_subnormal(a) | is_subnormal(b);
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(found), reinterpret_cast<__m256i>(found));
}
#endif
template <class T, class From>
DLT_FN void wide_out(T* to, const From* from) {
  const floats first = odd_floats_of_wide(from), second = odd_floats_of_wide(from + lanes);
#if !defined(__AVX512F__)
  if constexpr (is_float<From> && is_same<T, bfloat16>::value)
    if (has_subnormal(first, second)) return cast_loop<T, From, false, false>(to, from, nullptr, nullptr, 2 * lanes, 0);
#endif
  save_both<T, is_float<From>>(to, first, second);
}

template <class T, class From>
void fill_half(CopyKernels* kernels, int from, int to) {
  loop_t loop;
  if constexpr (is_same<From, float>::value) loop = half_loop<T, From, halves_out<T>>;
  else if constexpr (sizeof(From) <= 4) loop = half_loop<T, From, integers_out<T, From>>;
  else loop = half_loop<T, From, wide_out<T, From>>;
  for (auto& mode : kernels->casts) mode[from][to] = loop;
}

// ---- floats as integers

// Numbers as integers that packing to To brings into its range: those below it and, of unsigned types, NaN are the lowest integer
// of 32 bits.
// Numbers of at most 32 bits as float32.
template <class From>
DLT_FN floats floats_of(const From* from) {
  if constexpr (is_same<From, float>::value) return floats_from(from);
  else if constexpr (is_same<From, float16>::value) return widened(load(from));
  else return reinterpret_cast<floats>(__builtin_convertvector(load(from), words) << 16);
}

#if defined(__AVX512F__)
template <class To, bool NEAREST, class From>
DLT_FN words words_of(const From* from) {
  const __m512 value = __m512(floats_of(from));
  const __mmask16 known = range<To>::is_signed ? _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q) : __mmask16(0xffff);
  if constexpr (sizeof(To) == 4) {  // too large for float32 to have the highest
    const __m512i whole = NEAREST ? _mm512_maskz_cvtps_epi32(known, value) : _mm512_maskz_cvttps_epi32(known, value);
    const __mmask16 above = _mm512_cmp_ps_mask(value, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    return words(_mm512_mask_mov_epi32(whole, above, _mm512_set1_epi32(INT32_MAX)));
  } else {
    const __m512 below = _mm512_maskz_min_ps(0xffff, _mm512_set1_ps(float(range<To>::highest)), value);  // value if that is NaN
    return words(NEAREST ? _mm512_maskz_cvtps_epi32(known, below) : _mm512_maskz_cvttps_epi32(known, below));
  }
}
template <class To, bool NEAREST>
DLT_FN __m256i half_of(const double* from) {
  const __m512d value = _mm512_loadu_pd(from);
  const __mmask8 known = range<To>::is_signed ? _mm512_cmp_pd_mask(value, value, _CMP_ORD_Q) : __mmask8(0xff);
  const __m512d below = _mm512_maskz_min_pd(0xff, _mm512_set1_pd(double(range<To>::highest)), value);
  return NEAREST ? _mm512_maskz_cvtpd_epi32(known, below) : _mm512_maskz_cvttpd_epi32(known, below);
}
template <class To, bool NEAREST>
DLT_FN words words_of(const double* from) {
  const __m512i low = _mm512_castsi256_si512(half_of<To, NEAREST>(from));
  return words(_mm512_maskz_inserti64x4(0xff, low, (half_of<To, NEAREST>(from + 8)), 1));
}
template <bool SIGNED>
DLT_FN void save_bytes(void* to, const words* x) {
  const auto pair = [&](int k) { return _mm512_packs_epi32(__m512i(x[k]), __m512i(x[k + 1])); };
  const __m512i packed = SIGNED ? _mm512_packs_epi16(pair(0), pair(2)) : _mm512_packus_epi16(pair(0), pair(2));
  const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(to, _mm512_maskz_permutexvar_epi32(0xffff, places, packed));
}
#else
template <class To, bool NEAREST, class From>
DLT_FN words words_of(const From* from) {
  const __m256 value = __m256(floats_of(from));
  const auto whole_of = [](__m256 x) { return NEAREST ? _mm256_cvtps_epi32(x) : _mm256_cvttps_epi32(x); };
  const __m256i known = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_ORD_Q));
  if constexpr (sizeof(To) == 4) {  // too large for float32 to have the highest, which is the lowest with all bits turned
    const __m256i above = _mm256_castps_si256(_mm256_cmp_ps(value, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ));
    return words(_mm256_and_si256(_mm256_xor_si256(whole_of(value), above), known));
  } else {
    const __m256i whole = whole_of(_mm256_min_ps(_mm256_set1_ps(float(range<To>::highest)), value));  // value if that is NaN
    return words(range<To>::is_signed ? _mm256_and_si256(whole, known) : whole);
  }
}
template <class To, bool NEAREST>
DLT_FN __m128i half_of(const double* from) {
  __m256d value = _mm256_loadu_pd(from);
  if constexpr (range<To>::is_signed) value = _mm256_and_pd(value, _mm256_cmp_pd(value, value, _CMP_ORD_Q));
  const __m256d below = _mm256_min_pd(_mm256_set1_pd(double(range<To>::highest)), value);
  return NEAREST ? _mm256_cvtpd_epi32(below) : _mm256_cvttpd_epi32(below);
}
template <class To, bool NEAREST>
DLT_FN words words_of(const double* from) {
  return words(_mm256_set_m128i(half_of<To, NEAREST>(from + 4), half_of<To, NEAREST>(from)));
}
template <bool SIGNED>
DLT_FN void save_bytes(void* to, const words* x) {
  const auto pair = [&](int k) { return _mm256_packs_epi32(__m256i(x[k]), __m256i(x[k + 1])); };
  const __m256i packed = SIGNED ? _mm256_packs_epi16(pair(0), pair(2)) : _mm256_packus_epi16(pair(0), pair(2));
  const __m256i places = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(packed, places));
}
#endif

// A register of the result at a time, clamped, and the rest one by one.
template <class To, class From, bool NEAREST>
void whole_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  constexpr int parts = 4 / int(sizeof(To));
  constexpr int64_t step = parts * lanes;
  const From* const from = static_cast<const From*>(a);
  To* const to = static_cast<To*>(out);
  int64_t i = 0;
  for (; !(scalars & 1) && i + step <= n; i += step) {
    words x[parts];
    each<parts>([&](int k) __attribute__((always_inline)) { x[k] = words_of<To, NEAREST>(from + i + k * lanes); });
    if constexpr (parts == 4) save_bytes<range<To>::is_signed>(to + i, x);
    else if constexpr (parts == 2) save_halves<range<To>::is_signed>(to + i, x[0], x[1]);
    else keep_floats(reinterpret_cast<float*>(to + i), reinterpret_cast<floats>(x[0]));
  }
  cast_loop<To, From, NEAREST, false>(to + i, from + i, nullptr, nullptr, n - i, scalars);
}

template <class To, class From>
void fill_whole(CopyKernels* kernels, int from, int to) {
  for (int mode = 0; mode < cast_modes; ++mode)
    kernels->casts[mode][from][to] = mode & cast_nearest ? whole_loop<To, From, true> : whole_loop<To, From, false>;
}
template <class From>
void fill_wholes(CopyKernels* kernels, int from) {
  fill_whole<int8_t, From>(kernels, from, type_int8);
  fill_whole<uint8_t, From>(kernels, from, type_uint8);
  fill_whole<int16_t, From>(kernels, from, type_int16);
  fill_whole<uint16_t, From>(kernels, from, type_uint16);
  fill_whole<int32_t, From>(kernels, from, type_int32);
}

#if !defined(__AVX512F__)
// ---- integers of 64 bits as floats

template <class To, class From>
void wide_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  constexpr bool is_signed = range<From>::is_signed;
  const From* const from = static_cast<const From*>(a);
  To* const to = static_cast<To*>(out);
  const auto read = [](const From* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); };
  int64_t i = 0;
  for (; !(scalars & 1) && i + 8 <= n; i += 8) {
    const __m256i low = read(from + i), high = read(from + i + 4);
    if constexpr (is_same<To, double>::value) {
      _mm256_storeu_pd(to + i, nearest_doubles<is_signed>(low));
      _mm256_storeu_pd(to + i + 4, nearest_doubles<is_signed>(high));
    } else {
      const __m256i excess = _mm256_or_si256(excess_of<is_signed>(low), excess_of<is_signed>(high));
      const bool is_exact = _mm256_testz_si256(excess, excess);
      const __m256d first = is_exact ? nearest_doubles<is_signed>(low) : odd_doubles<is_signed>(low);
      const __m256d second = is_exact ? nearest_doubles<is_signed>(high) : odd_doubles<is_signed>(high);
      _mm256_storeu_ps(to + i, _mm256_set_m128(_mm256_cvtpd_ps(second), _mm256_cvtpd_ps(first)));
    }
  }
  cast_loop<To, From, false, false>(to + i, from + i, nullptr, nullptr, n - i, scalars);
}
template <class From>
void fill_wide_integers(CopyKernels* kernels, int from) {
  for (auto& mode : kernels->casts) {
    mode[from][type_float32] = wide_loop<float, From>;
    mode[from][type_float64] = wide_loop<double, From>;
  }
}
#endif

void fill_registers(CopyKernels* kernels) {
#define DLT_FILL(type, name)                                    \
  fill_half<float16, type>(kernels, type_##name, type_float16); \
  fill_half<bfloat16, type>(kernels, type_##name, type_bfloat16);
  DLT_INTEGER_TYPES(DLT_FILL)
  DLT_FILL(boolean, bool)
  DLT_FILL(float, float32)
  DLT_FILL(double, float64)
#undef DLT_FILL
  for (auto& mode : kernels->casts) mode[type_float16][type_float32] = half_loop<float, float16, halves_in>;
  fill_wholes<float16>(kernels, type_float16);
  fill_wholes<bfloat16>(kernels, type_bfloat16);
  fill_wholes<float>(kernels, type_float32);
  fill_wholes<double>(kernels, type_float64);
#if !defined(__AVX512F__)
  fill_wide_integers<int64_t>(kernels, type_int64);
  fill_wide_integers<uint64_t>(kernels, type_uint64);
#endif
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
#if defined(__F16C__) && defined(__AVX2__)
  fill_registers(kernels);
#endif
}

}  // namespace dlt::DLT_LEVEL
