// SPDX-License-Identifier: Apache-2.0
// Extremes of floats, by extremes of their bits: as signed integers the greatest is the greatest float that is not
// negative; as unsigned ones the greatest tells whether any is negative, and the least is wanted only where all have one sign
#pragma once
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/reduce/reductions.h"

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

// Each lane keeps the first best element that it has met, and its place; the lanes are compared at the end.
template <class Body, class T>
DLT_FN int64_t first_in_row(const char* row, int64_t n, bool* has_nan) {
  using I = typename reductions::signed_of<sizeof(T)>::type;
  using V = typename pack<T>::type;
  using VI = typename pack<I>::type;
  constexpr int lanes = pack<T>::lanes;
  const auto is_better = [](V x, V y) __attribute__((always_inline)) { return VI(Body::greatest ? x > y : x < y); };
  VI place{};
  for (int j = 0; j < lanes; ++j) place[j] = I(j);
  V best[2];  // one waits for its own comparisons
  VI at[2], nan;
  for (V& x : best) x = *reinterpret_cast<const typename pack<T>::loose*>(row);
  for (VI& i : at) i = place;
  nan = VI(best[0] != best[0]);
  const auto take = [&](int k, int64_t from) __attribute__((always_inline)) {
    const V x = *reinterpret_cast<const typename pack<T>::loose*>(row + from * int64_t(sizeof(T)));
    const VI better = is_better(x, best[k]);
    best[k] = better ? x : best[k];
    at[k] = better ? place + I(from) : at[k];
    nan |= VI(x != x);
  };
  const auto join = [&](V x, VI place_of) __attribute__((always_inline)) {
    const VI better = is_better(x, best[0]) | (VI(x == best[0]) & VI(place_of < at[0]));
    best[0] = better ? x : best[0];
    at[0] = better ? place_of : at[0];
  };
  constexpr int64_t many = 512;
  int64_t i = lanes;
  if (n >= many) {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      take(0, i);
      take(1, i + lanes);
    }
    join(best[1], at[1]);
  }
  // The last elements once more, which are no better than themselves.
  for (; i < n; i += lanes) take(0, i + lanes <= n ? i : n - lanes);
  each<__builtin_ctz(lanes)>([&](auto step) __attribute__((always_inline)) {
    constexpr int by = 1 << step();
    join(exchanged<T, by>(best[0]), exchanged<I, by>(at[0]));
    if constexpr (is_float<T>) nan |= exchanged<I, by>(nan);
  });
  *has_nan = is_float<T> && nan[0] != 0;
  return at[0][0];
}
}  // namespace
}  // namespace dlt::DLT_LEVEL
