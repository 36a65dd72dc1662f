// SPDX-License-Identifier: Apache-2.0
// Comparisons of elements of 4 and 8 bytes, whose lanes' masks are packed to bytes: fewer instructions than the compiler's own loops
// have. Same bits as those.
#include "native/cpu/elementwise/kernels/masked_registers.h"
#include "native/cpu/runtime/kernels/registers.h"

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX512F__)
// A bit for each lane in which `a` and `b` compare as the predicate for floats, or that for integers, says.
template <class T, int FLOATS, int INTEGERS>
DLT_FN unsigned compared(__m512i a, __m512i b) {
  if constexpr (is_same<T, float>::value) return _mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), FLOATS);
  else if constexpr (is_same<T, double>::value)
    return _mm512_cmp_pd_mask(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), FLOATS);
  else if constexpr (is_same<T, int32_t>::value) return _mm512_cmp_epi32_mask(a, b, INTEGERS);
  else if constexpr (is_same<T, uint32_t>::value) return _mm512_cmp_epu32_mask(a, b, INTEGERS);
  else if constexpr (is_same<T, int64_t>::value) return _mm512_cmp_epi64_mask(a, b, INTEGERS);
  else return _mm512_cmp_epu64_mask(a, b, INTEGERS);
}

template <class T, int FLOATS, int INTEGERS>
void compare(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  using W = wide_of<T>;
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  char* to = static_cast<char*>(out);
  const __m128i ones = _mm_set1_epi8(1);
  if (n == 0) return;  // then not even the first element may be read
  const bool x_runs = !(scalars & 1), y_runs = !(scalars & 2);
  const auto over = [&](auto left, auto right) {
    int64_t i = 0;
#pragma GCC unroll 4
    for (; i + W::lanes <= n; i += W::lanes) {
      const __m128i truth = _mm_maskz_mov_epi8(__mmask16(compared<T, FLOATS, INTEGERS>(left(i, W::lanes), right(i, W::lanes))),
                                               ones);
      if constexpr (W::lanes == 16) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), truth);
      else _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i), truth);
    }
    if (i == n) return;
    const int rest = int(n - i);
    const unsigned mask = compared<T, FLOATS, INTEGERS>(left(i, rest), right(i, rest));
    _mm_mask_storeu_epi8(to + i, __mmask16((1u << rest) - 1), _mm_maskz_mov_epi8(__mmask16(mask), ones));
  };
  const auto run_of = [](const char* from) {
    return [=](int64_t i, int count) {
      const char* at = from + i * int64_t(sizeof(T));
      return count == W::lanes ? W::load(at) : W::load_part(at, count);
    };
  };
  const auto one_of = [](const char* from) { return [v = W::splat(from)](int64_t, int) { return v; }; };
  if (x_runs && y_runs) over(run_of(x), run_of(y));
  else if (x_runs) over(run_of(x), one_of(y));
  else if (y_runs) over(one_of(x), run_of(y));
  else over(one_of(x), one_of(y));
}

template <class T>
void fill_comparisons_of(ElementwiseKernels* kernels, int type) {
  kernels->ops[op_less][type] = compare<T, _CMP_LT_OQ, _MM_CMPINT_LT>;
  kernels->ops[op_less_equal][type] = compare<T, _CMP_LE_OQ, _MM_CMPINT_LE>;
  kernels->ops[op_greater][type] = compare<T, _CMP_GT_OQ, _MM_CMPINT_NLE>;
  kernels->ops[op_greater_equal][type] = compare<T, _CMP_GE_OQ, _MM_CMPINT_NLT>;
  kernels->ops[op_equal][type] = compare<T, _CMP_EQ_OQ, _MM_CMPINT_EQ>;
  kernels->ops[op_not_equal][type] = compare<T, _CMP_NEQ_UQ, _MM_CMPINT_NE>;
}

#elif defined(__AVX2__)
// ---- masks as wide as the elements, 32 elements at a time

// Lanes that are 0 or -1, of as many registers as hold 32 of them, as bytes that are 0 or 1.
template <class M>
DLT_FN void save_truths(char* to, const M (&masks)[4])
  requires(sizeof(masks[0][0]) == 4)
{
  const __m256i low = _mm256_packs_epi32(__m256i(masks[0]), __m256i(masks[1]));
  const __m256i high = _mm256_packs_epi32(__m256i(masks[2]), __m256i(masks[3]));
  const __m256i bytes = _mm256_and_si256(_mm256_packs_epi16(low, high), _mm256_set1_epi8(1));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}
// Halves of the lanes of two registers are the lanes of one; what the packing instructions put in turns is put right at the end.
template <class M>
DLT_FN void save_truths(char* to, const M (&masks)[8]) {
  __m256i pairs[4];
  each<4>([&](int k) __attribute__((always_inline)) {
    pairs[k] = _mm256_blend_epi32(__m256i(masks[2 * k]), __m256i(masks[2 * k + 1]), 0xaa);
  });
  const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(pairs[0], pairs[1]), _mm256_packs_epi32(pairs[2], pairs[3]));
  const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
  const __m256i ones = _mm256_and_si256(_mm256_shuffle_epi8(bytes, order), _mm256_set1_epi8(1));
  const __m128i low = _mm256_castsi256_si128(ones), high = _mm256_extracti128_si256(ones, 1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi16(low, high));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16), _mm_unpackhi_epi16(low, high));
}

// The lanes for which a body is true.
template <class Body, class T>
DLT_FN auto truth_of(typename pack<T>::type x, typename pack<T>::type y) {
  if constexpr (is_same<Body, body_less>::value) return x < y;
  else if constexpr (is_same<Body, body_less_equal>::value) return x <= y;
  else if constexpr (is_same<Body, body_greater>::value) return x > y;
  else if constexpr (is_same<Body, body_greater_equal>::value) return x >= y;
  else if constexpr (is_same<Body, body_equal>::value) return x == y;
  else if constexpr (is_same<Body, body_not_equal>::value) return x != y;
  else if constexpr (is_same<Body, body_isnan>::value) return x != x;
  else {
    using bits = typename pack<typename wide<T>::bits>::type;
    const auto size = reinterpret_cast<typename pack<T>::type>(reinterpret_cast<bits>(x) & ~sign_mask<T>());
    constexpr T infinity = T(__builtin_inf());
    if constexpr (is_same<Body, body_isinf>::value) return size == infinity;
    else return size < infinity;
  }
}

template <class Body, int OPERANDS, class T>
void truths(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  constexpr int64_t lanes = pack<T>::lanes, width = int64_t(sizeof(T)), step = 32;
  constexpr int parts = int(step / lanes);
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  char* const to = static_cast<char*>(out);
  int64_t i = 0;
  const auto over = [&](auto left, auto right) __attribute__((always_inline)) {
    for (; i + step <= n; i += step) {
      decltype(truth_of<Body, T>(left(0), right(0))) masks[parts];
      each<parts>([&](int k) __attribute__((always_inline)) {
        masks[k] = truth_of<Body, T>(left(i + k * lanes), right(i + k * lanes));
      });
      save_truths(to + i, masks);
    }
  };
  const auto run_of = [](const char* from) { return [=](int64_t at) { return load<T>(from + at * width); }; };
  const auto one_of = [](const char* from) { return [v = one<T>(from) - typename pack<T>::type{}](int64_t) { return v; }; };
  scalars &= OPERANDS == 1 ? 1 : 3;
  if (n >= step) {
    if constexpr (OPERANDS == 1) {
      if (scalars == 0) over(run_of(x), [](int64_t) { return typename pack<T>::type{}; });
    } else {
      if (scalars == 0) over(run_of(x), run_of(y));
      else if (scalars == 1) over(one_of(x), run_of(y));
      else if (scalars == 2) over(run_of(x), one_of(y));
    }
  }
  if (i < n)
    loop_for<Body, OPERANDS, T>()(to + i, scalars & 1 ? x : x + i * width, scalars & 2 ? y : y + i * width, c, n - i, scalars);
}

template <class T>
void fill_comparisons_of(ElementwiseKernels* kernels, int type) {
#define DLT_FILL(name, operands) kernels->ops[op_##name][type] = truths<body_##name, operands, T>;
  DLT_FILL(less, 2)
  DLT_FILL(less_equal, 2)
  DLT_FILL(greater, 2)
  DLT_FILL(greater_equal, 2)
  DLT_FILL(equal, 2)
  DLT_FILL(not_equal, 2)
  if constexpr (is_float<T>) {
    DLT_FILL(isnan, 1)
    DLT_FILL(isinf, 1)
    DLT_FILL(isfinite, 1)
  }
#undef DLT_FILL
}
#endif

}  // namespace

#if defined(__AVX2__)
void fill_comparisons(ElementwiseKernels* kernels) {
  fill_comparisons_of<float>(kernels, type_float32);
  fill_comparisons_of<double>(kernels, type_float64);
  fill_comparisons_of<int32_t>(kernels, type_int32);
  fill_comparisons_of<uint32_t>(kernels, type_uint32);
  fill_comparisons_of<int64_t>(kernels, type_int64);
  fill_comparisons_of<uint64_t>(kernels, type_uint64);
}
#else
void fill_comparisons(ElementwiseKernels*) {}
#endif

}  // namespace dlt::DLT_LEVEL
