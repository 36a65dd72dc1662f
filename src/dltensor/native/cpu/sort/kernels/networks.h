// SPDX-License-Identifier: Apache-2.0
// Networks that sort values in registers: Batcher's, whose values are whole registers, and one over all lanes of registers.
#pragma once
#include <utility>

#include "native/cpu/runtime/kernels/registers.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

// Batcher's odd-even merge of N sorted values, `apart` each from the next, and the sort that it makes.
template <class Rows, int LOW, int N, int APART>
DLT_FN void merge_values(typename Rows::value* v) {
  if constexpr (2 * APART < N) {
    merge_values<Rows, LOW, N, 2 * APART>(v);
    merge_values<Rows, LOW + APART, N, 2 * APART>(v);
    each<(N - APART - 1) / (2 * APART)>([&](int i) __attribute__((always_inline)) {
      Rows::exchange(v + LOW + APART + i * 2 * APART, v + LOW + 2 * APART + i * 2 * APART);
    });
  } else {
    Rows::exchange(v + LOW, v + LOW + APART);
  }
}
template <class Rows, int LOW, int N>
DLT_FN void sort_values(typename Rows::value* v) {
  if constexpr (N > 1) {
    sort_values<Rows, LOW, N / 2>(v);
    sort_values<Rows, LOW + N / 2, N / 2>(v);
    merge_values<Rows, LOW, N, 1>(v);
  }
}
// Values at distance N / 2, N / 4 ... 1, each pair in order.
template <class Rows, int LOW, int N>
DLT_FN void clean_values(typename Rows::value* v) {
  if constexpr (N > 1) {
    each<N / 2>([&](int i) __attribute__((always_inline)) { Rows::exchange(v + LOW + i, v + LOW + N / 2 + i); });
    clean_values<Rows, LOW, N / 2>(v);
    clean_values<Rows, LOW + N / 2, N / 2>(v);
  }
}

#if defined(__AVX2__)
// Registers of signed keys of 32 or 64 bits.
template <class K>
struct Lanes {
  typedef typename pack<K>::type value;
  typedef typename pack<K>::loose loose;
  static constexpr int lanes = pack<K>::lanes;
  static constexpr std::make_integer_sequence<int, lanes> all{};

#if defined(__AVX512F__)
  typedef unsigned mask;
  static constexpr mask every = (1u << lanes) - 1;
  DLT_FN static mask below(value a, value b) {
    if constexpr (sizeof(K) == 4) return _mm512_cmplt_epi32_mask(__m512i(a), __m512i(b));
    else return _mm512_cmplt_epi64_mask(__m512i(a), __m512i(b));
  }
  DLT_FN static value choose(mask second, value a, value b) {
    if constexpr (sizeof(K) == 4) return value(_mm512_mask_blend_epi32(__mmask16(second), __m512i(a), __m512i(b)));
    else return value(_mm512_mask_blend_epi64(__mmask8(second), __m512i(a), __m512i(b)));
  }
  DLT_FN static bool any(value v) { return _mm512_test_epi32_mask(__m512i(v), __m512i(v)) != 0; }
  // Adds one to the lanes of a count where two keys are equal.
  DLT_FN static value count(value sum, value a, value b) {
    const __m512i one = _mm512_set1_epi32(-1);
    if constexpr (sizeof(K) == 4)
      return value(_mm512_mask_sub_epi32(__m512i(sum), _mm512_cmpeq_epi32_mask(__m512i(a), __m512i(b)), __m512i(sum), one));
    else return value(_mm512_mask_sub_epi64(__m512i(sum), _mm512_cmpeq_epi64_mask(__m512i(a), __m512i(b)), __m512i(sum), one));
  }
  // The lanes whose number has a bit.
  template <int BIT, int... I>
  static constexpr mask with_bit(std::integer_sequence<int, I...>) {
    return (((I & BIT) != 0 ? 1u << I : 0u) | ...);
  }
  template <int BIT>
  DLT_FN static value blended(value clear, value set) {
    return choose(with_bit<BIT>(all), clear, set);
  }
  // The first `count` elements, then `rest`.
  DLT_FN static mask first(int64_t count) { return count >= lanes ? every : count <= 0 ? 0 : (1u << count) - 1; }
  DLT_FN static value load(const void* from, mask there) {
    if constexpr (sizeof(K) == 4) return value(_mm512_maskz_loadu_epi32(__mmask16(there), from));
    else return value(_mm512_maskz_loadu_epi64(__mmask8(there), from));
  }
  DLT_FN static void store(void* to, mask there, value v) {
    if constexpr (sizeof(K) == 4) _mm512_mask_storeu_epi32(to, __mmask16(there), __m512i(v));
    else _mm512_mask_storeu_epi64(to, __mmask8(there), __m512i(v));
  }
  // Comparing to a mask leaves the minimum and maximum of 64 bits, of two instructions each, out.
  DLT_FN static void exchange(value* a, value* b) {
    const value x = *a, y = *b;
    if constexpr (sizeof(K) == 8) {
      const mask swap = below(y, x);
      *a = choose(swap, x, y);
      *b = choose(swap, y, x);
    } else {
      *a = y < x ? y : x;
      *b = y < x ? x : y;
    }
  }
  // The lower of two in lanes that have no BIT, the higher one in the others.
  template <int BIT>
  DLT_FN static value ordered(value a, value b) {
    constexpr mask high = with_bit<BIT>(all);
    if constexpr (sizeof(K) == 8) return choose(below(a, b) ^ high, b, a);
    else return value(_mm512_mask_max_epi32(__m512i(a < b ? a : b), __mmask16(high), __m512i(a), __m512i(b)));
  }
  template <int BIT>
  DLT_FN static void exchange_ordered(value* a, value* b) {
    const value x = *a, y = *b;
    if constexpr (sizeof(K) == 8) {
      const mask keep = below(x, y) ^ with_bit<BIT>(all);
      *a = choose(keep, y, x);
      *b = choose(keep, x, y);
    } else {
      const value low = y < x ? y : x, high = y < x ? x : y;
      *a = blended<BIT>(low, high);
      *b = blended<BIT>(high, low);
    }
  }
#else
  typedef value mask;
  DLT_FN static bool any(value v) { return !_mm256_testz_si256(__m256i(v), __m256i(v)); }
  DLT_FN static value count(value sum, value a, value b) { return sum - (a == b); }
  template <int BIT, int... I>
  DLT_FN static value blend(value clear, value set, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(clear, set, ((I & BIT) != 0 ? I + lanes : I)...);
  }
  template <int BIT>
  DLT_FN static value blended(value clear, value set) {
    return blend<BIT>(clear, set, all);
  }
  DLT_FN static mask first(int64_t count) {
    alignas(32) static constexpr K bounds[2 * lanes] = {
        -1, -1, -1, -1, lanes == 8 ? -1 : 0, lanes == 8 ? -1 : 0, lanes == 8 ? -1 : 0, lanes == 8 ? -1 : 0};
    return *reinterpret_cast<const loose*>(bounds + lanes - (count >= lanes ? lanes : count <= 0 ? 0 : count));
  }
  DLT_FN static value choose(mask second, value a, value b) { return second ? b : a; }
  DLT_FN static value load(const void* from, mask there) {
    if constexpr (sizeof(K) == 4) return value(_mm256_maskload_epi32(static_cast<const int*>(from), __m256i(there)));
    else return value(_mm256_maskload_epi64(static_cast<const long long*>(from), __m256i(there)));
  }
  DLT_FN static void store(void* to, mask there, value v) {
    if constexpr (sizeof(K) == 4) _mm256_maskstore_epi32(static_cast<int*>(to), __m256i(there), __m256i(v));
    else _mm256_maskstore_epi64(static_cast<long long*>(to), __m256i(there), __m256i(v));
  }
  DLT_FN static void exchange(value* a, value* b) {
    const value x = *a, y = *b;
    *a = y < x ? y : x;
    *b = y < x ? x : y;
  }
  template <int BIT>
  DLT_FN static value ordered(value a, value b) {
    return blended<BIT>(b < a ? b : a, b < a ? a : b);
  }
  template <int BIT>
  DLT_FN static void exchange_ordered(value* a, value* b) {
    exchange(a, b);
    const value low = *a, high = *b;
    *a = blended<BIT>(low, high);
    *b = blended<BIT>(high, low);
  }
#endif

  template <int BY, int... I>
  DLT_FN static value swap(value v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (I ^ BY)...);
  }
  // Lanes whose numbers differ by the bits of BY, exchanged.
  template <int BY>
  DLT_FN static value swapped(value v) {
    return swap<BY>(v, all);
  }
  template <int FROM, int... I>
  DLT_FN static value interleave(value a, value b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (FROM + I / 2 + (I % 2 != 0 ? lanes : 0))...);
  }

  // The keys of a run of R registers, number `lane * R + row`: sorted groups of WIDTH lanes are merged until all are one.
  template <int R, int WIDTH>
  DLT_FN static void clean_lanes(value* v) {
    if constexpr (WIDTH > 0) {
      each<R>([&](int r) __attribute__((always_inline)) { v[r] = ordered<WIDTH>(v[r], swapped<WIDTH>(v[r])); });
      clean_lanes<R, WIDTH / 2>(v);
    }
  }
  template <int R, int WIDTH>
  DLT_FN static void merge_columns(value* v) {
    if constexpr (WIDTH < lanes) {
      constexpr int mirror = 2 * WIDTH - 1;
      if constexpr (R == 1) v[0] = ordered<WIDTH>(v[0], swapped<mirror>(v[0]));
      else
        each<R / 2>([&](int r) __attribute__((always_inline)) {
          value other = swapped<mirror>(v[R - 1 - r]);
          exchange_ordered<WIDTH>(v + r, &other);
          v[R - 1 - r] = swapped<mirror>(other);
        });
      clean_lanes<R, WIDTH / 2>(v);
      clean_values<Lanes, 0, R>(v);
      merge_columns<R, 2 * WIDTH>(v);
    }
  }
  // From `lane * R + row` to the order of memory, `row * lanes + lane`: each step moves one bit.
  template <int R, int LEFT>
  DLT_FN static void transpose(value* v) {
    if constexpr (LEFT > 1) {
      value t[R];
      each<R / 2>([&](int i) __attribute__((always_inline)) {
        t[2 * i] = interleave<0>(v[i], v[i + R / 2], all);
        t[2 * i + 1] = interleave<lanes / 2>(v[i], v[i + R / 2], all);
      });
      each<R>([&](int i) __attribute__((always_inline)) { v[i] = t[i]; });
      transpose<R, LEFT / 2>(v);
    }
  }
  // Sorts the keys of R registers, whatever their order was, into the order of memory.
  template <int R>
  DLT_FN static void sort(value* v) {
    sort_values<Lanes, 0, R>(v);
    merge_columns<R, 1>(v);
    transpose<R, R>(v);
  }
};
#endif

}  // namespace
}  // namespace dlt::DLT_LEVEL
