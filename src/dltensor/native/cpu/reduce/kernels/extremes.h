// SPDX-License-Identifier: Apache-2.0
// Extremes of floats, by extremes of their bits: as signed integers the greatest is the greatest float that is not
// negative; as unsigned ones the greatest tells whether any is negative, and the least is wanted only where all have one sign
#pragma once
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/reduce/reductions.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

template <class F>
struct Extremes {
  using S = typename reductions::signed_of<sizeof(F)>::type;
  using U = typename wide<F>::bits;
  static constexpr S infinity = S(U(2 * wide<F>::bias + 1) << wide<F>::mantissa);
  S top;
  U high;
  bool nan() const { return top > infinity || high > (U(infinity) | sign_mask<F>()); }
};

template <class F>
Extremes<F> extremes_of(const void* a, int64_t n) {
  using S = typename Extremes<F>::S;
  using U = typename Extremes<F>::U;
  using VS = pack<S>;
  using VU = pack<U>;
  constexpr int K = 4, lanes = VS::lanes;
  Extremes<F> all{range<S>::lowest, 0};
  int64_t i = 0;
  if (n >= K * lanes) {
    typename VS::type top[K];
    typename VU::type high[K];
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
      top[k] = typename VS::type{} + range<S>::lowest;
      high[k] = typename VU::type{};
    }
    for (; i + K * lanes <= n; i += K * lanes)
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) {
        const char* const from = static_cast<const char*>(a) + (i + k * lanes) * int64_t(sizeof(F));
        const typename VU::type x = *reinterpret_cast<const typename VU::loose*>(from);
        const typename VS::type y = reinterpret_cast<typename VS::type>(x);
        top[k] = y > top[k] ? y : top[k];
        high[k] = x > high[k] ? x : high[k];
      }
#pragma GCC unroll 4
    for (int k = 1; k < K; ++k) {
      top[0] = top[k] > top[0] ? top[k] : top[0];
      high[0] = high[k] > high[0] ? high[k] : high[0];
    }
    for (int j = 0; j < lanes; ++j) {
      all.top = top[0][j] > all.top ? top[0][j] : all.top;
      all.high = high[0][j] > all.high ? high[0][j] : all.high;
    }
  }
  for (; i < n; ++i) {
    const U x = static_cast<const loose_t<U>*>(a)[i];
    all.top = S(x) > all.top ? S(x) : all.top;
    all.high = x > all.high ? x : all.high;
  }
  return all;
}

template <class U>
U least_bits(const void* a, int64_t n) {
  U low = range<U>::highest;
  for (int64_t i = 0; i < n; ++i) {
    const U x = static_cast<const loose_t<U>*>(a)[i];
    low = x < low ? x : low;
  }
  return low;
}

// The greatest or the least of n > 0 floats that the cache holds; NaN where there is one.
template <class F, bool GREATEST>
F extreme_of(const void* a, int64_t n) {
  using U = typename wide<F>::bits;
  const Extremes<F> found = extremes_of<F>(a, n);
  if (found.nan()) return bits_as<F>(U(reductions::ordered<F>::highest));
  if (GREATEST && found.top >= 0) return bits_as<F>(found.top);
  if (!GREATEST && (found.high & sign_mask<F>()) != 0) return bits_as<F>(found.high);
  return bits_as<F>(least_bits<U>(a, n));
}

// Lanes in which one of two numbers is NaN.
#if defined(__AVX512F__)
using Unordered = uint16_t;
DLT_FN Unordered unordered(pack<float>::type x, pack<float>::type y) {
  return _mm512_cmp_ps_mask(__m512(x), __m512(y), _CMP_UNORD_Q);
}
DLT_FN Unordered unordered(pack<double>::type x, pack<double>::type y) {
  return _mm512_cmp_pd_mask(__m512d(x), __m512d(y), _CMP_UNORD_Q);
}
DLT_FN pack<int32_t>::type chosen(Unordered which, pack<int32_t>::type x, pack<int32_t>::type y) {
  return pack<int32_t>::type(_mm512_mask_mov_epi32(__m512i(y), which, __m512i(x)));
}
DLT_FN pack<int64_t>::type chosen(Unordered which, pack<int64_t>::type x, pack<int64_t>::type y) {
  return pack<int64_t>::type(_mm512_mask_mov_epi64(__m512i(y), __mmask8(which), __m512i(x)));
}
DLT_FN bool any_of(Unordered lanes) { return lanes != 0; }
#else
using Unordered = pack<int64_t>::type;
#if defined(__AVX2__)
DLT_FN Unordered unordered(pack<float>::type x, pack<float>::type y) {
  return Unordered(_mm256_cmp_ps(__m256(x), __m256(y), _CMP_UNORD_Q));
}
DLT_FN Unordered unordered(pack<double>::type x, pack<double>::type y) {
  return Unordered(_mm256_cmp_pd(__m256d(x), __m256d(y), _CMP_UNORD_Q));
}
#else
template <class V>
DLT_FN Unordered unordered(V x, V y) {
  return Unordered((x != x) | (y != y));
}
#endif
DLT_FN bool any_of(Unordered lanes) {
  int64_t all = 0;
  for (int j = 0; j < pack<int64_t>::lanes; ++j) all |= lanes[j];
  return all != 0;
}
template <class VI>
DLT_FN VI chosen(Unordered which, VI x, VI y) {
  return (x & VI(which)) | (y & ~VI(which));
}
#endif

// ---- the first extreme of a row

// Each lane keeps the first best element that it has met, and its place; the lanes are compared at the end.
template <class Body, class T>
DLT_FN int64_t first_in_row(const char* row, int64_t n, bool* has_nan) {
  using I = typename reductions::signed_of<sizeof(T)>::type;
  using V = typename pack<T>::type;
  using VI = typename pack<I>::type;
  constexpr int lanes = pack<T>::lanes, K = 4;  // registers: one waits for its own comparisons
  const auto is_better = [](V x, V y) __attribute__((always_inline)) { return VI(Body::greatest ? x > y : x < y); };
  const auto at_place = [&](int64_t i) __attribute__((always_inline)) { return load<T>(row + i * int64_t(sizeof(T))); };
  VI place{};
  for (int j = 0; j < lanes; ++j) place[j] = I(j);
  V best = at_place(0);
  VI at = place;
  Unordered nan{};
  const auto note_nan = [&](V x, V y) __attribute__((always_inline)) {
    if constexpr (is_float<T>) nan |= unordered(x, y);
  };
  const auto join = [&](V x, VI place_of) __attribute__((always_inline)) {
    const VI better = is_better(x, best) | (VI(x == best) & VI(place_of < at));
    best = better ? x : best;
    at = better ? place_of : at;
  };
  note_nan(best, best);
  int64_t i = lanes;
  if (n >= 2 * K * lanes) {
    V bests[K];
    VI places[K], now = place;
    each<K>([&](int k) __attribute__((always_inline)) {
      bests[k] = at_place(k * lanes);
      places[k] = place;
    });
    each<K / 2>([&](int k) __attribute__((always_inline)) { note_nan(bests[2 * k], bests[2 * k + 1]); });
    for (i = K * lanes; i + K * lanes <= n; i += K * lanes) {
      V x[K];
      now += I(K * lanes);
      each<K>([&](int k) __attribute__((always_inline)) {
        x[k] = at_place(i + k * lanes);
        const VI better = is_better(x[k], bests[k]);
        bests[k] = better ? x[k] : bests[k];
        places[k] = better ? now : places[k];
      });
      each<K / 2>([&](int k) __attribute__((always_inline)) { note_nan(x[2 * k], x[2 * k + 1]); });
    }
    best = bests[0];
    at = places[0];
    each<K - 1>([&](int k) __attribute__((always_inline)) { join(bests[k + 1], places[k + 1] + I((k + 1) * lanes)); });
  }
  // The last elements once more, which are no better than themselves.
  for (; i < n; i += lanes) {
    const int64_t from = i + lanes <= n ? i : n - lanes;
    const V x = at_place(from);
    const VI better = is_better(x, best);
    best = better ? x : best;
    at = better ? place + I(from) : at;
    note_nan(x, x);
  }
  each<__builtin_ctz(lanes)>([&](auto step) __attribute__((always_inline)) {
    constexpr int by = 1 << step();
    join(exchanged<T, by>(best), exchanged<I, by>(at));
  });
  *has_nan = is_float<T> && any_of(nan);
  return at[0];
}

// ---- columns

// The extremes of a register of columns. Comparisons do not tell zeros, so the signs of floats are found apart: the greatest is
// negative if all are, the least if one is.
template <class T, bool GREATEST>
struct ColumnExtremes {
  using V = typename pack<T>::type;
  using VI = typename pack<typename reductions::signed_of<sizeof(T)>::type>::type;
  V best;
  VI signs;
  Unordered nan;

  DLT_FN void start(V x) {
    best = x;
    signs = VI(x);
    nan = Unordered{};
  }
  DLT_FN void take(V x, V y) {
    const V pair = GREATEST ? (x > y ? x : y) : (x < y ? x : y);
    best = GREATEST ? (pair > best ? pair : best) : (pair < best ? pair : best);
    if constexpr (is_float<T>) {
      signs = GREATEST ? signs & VI(x) & VI(y) : signs | VI(x) | VI(y);
      nan |= unordered(x, y);
    }
  }
  DLT_FN V end() const {
    if constexpr (!is_float<T>) return best;
    else {
      const VI sign = VI{} + typename Extremes<T>::S(sign_mask<T>()), magnitude = VI(best) & ~sign;
      const VI none = VI(V{} + reductions::ordered<T>::value(reductions::ordered<T>::highest));
      return V(chosen(nan, none, magnitude | (signs & sign)));
    }
  }
};

// Takes ROWS rows of n columns, at least as many as a register has lanes. The last registers overlap.
template <class T, bool GREATEST, int ROWS>
DLT_FN void take_rows(void* out, ColumnExtremes<T, GREATEST>* states, const char* const* rows, int64_t n, bool is_first,
                      bool is_last) {
  using V = typename pack<T>::type;
  constexpr int64_t lanes = pack<T>::lanes;
  for (int64_t c = 0; c < n; c += lanes) {
    const int64_t at = (c + lanes <= n ? c : n - lanes) * int64_t(sizeof(T));
    ColumnExtremes<T, GREATEST> all;
    if (is_first) all.start(load<T>(rows[0] + at));
    else all = states[c / lanes];
    each<ROWS / 2>([&](int r) __attribute__((always_inline)) {
      const V x = load<T>(rows[2 * r] + at), y = load<T>(rows[2 * r + 1] + at);
      all.take(x, y);
    });
    if (is_last) *reinterpret_cast<typename pack<T>::loose*>(static_cast<char*>(out) + at) = all.end();
    else states[c / lanes] = all;
  }
}

// Takes all rows, ROWS at a time; the last ones overlap, or are the last row again.
template <class T, bool GREATEST, int ROWS>
void take_all_rows(void* out, ColumnExtremes<T, GREATEST>* states, const char* a, int64_t row_bytes, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r += ROWS) {
    const int64_t first = r + ROWS <= rows || rows < ROWS ? r : rows - ROWS;
    const char* row[ROWS];
    for (int k = 0; k < ROWS; ++k) row[k] = a + (first + k < rows ? first + k : rows - 1) * row_bytes;
    take_rows<T, GREATEST, ROWS>(out, states, row, n, r == 0, r + ROWS >= rows);
  }
}

// The extremes of columns, as many at a time as the first cache holds with what is known of them.
template <class Body, class T, bool GREATEST>
void column_extremes(void* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int64_t lanes = pack<T>::lanes, block = 2048 / int64_t(sizeof(T));
  const char* from = static_cast<const char*>(a);
  char* to = static_cast<char*>(out);
  if (n < lanes) {
    for (int64_t c = 0; c < n; ++c) {
      typename Body::word word;
      Body::start(&word);
      for (int64_t r = 0; r < rows; ++r) Body::step(&word, one<T>(from + r * row_bytes + c * int64_t(sizeof(T))), 0);
      keep(to, c, Body::end(&word));
    }
    return;
  }
  ColumnExtremes<T, GREATEST> states[block / lanes];
  for (int64_t c = 0, count; c < n; c += count, from += count * int64_t(sizeof(T)), to += count * int64_t(sizeof(T))) {
    const int64_t left = n - c;
    count = left <= block ? left : left < block + lanes ? block - lanes : block;
    if (rows <= 2) take_all_rows<T, GREATEST, 2>(to, states, from, row_bytes, rows, count);
    else if (rows < 8) take_all_rows<T, GREATEST, 4>(to, states, from, row_bytes, rows, count);
    else take_all_rows<T, GREATEST, 8>(to, states, from, row_bytes, rows, count);
  }
}
}  // namespace
}  // namespace dlt::DLT_LEVEL
