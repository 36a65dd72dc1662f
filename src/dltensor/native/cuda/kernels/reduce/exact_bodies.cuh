// SPDX-License-Identifier: Apache-2.0
// Bodies of reductions for kernels: exact sums of floats, over native/ops/reduce/exact_sums.h, and the statistics of them.
#pragma once
#include "native/cuda/kernels/reduce/bodies.cuh"
#include "native/ops/reduce/finalize.h"

namespace dlt::kernels::reduce {

// The parts of a number that are summed on their own.
template <class C>
struct parts_of {
  using type = C;
  static constexpr int count = 1;
  DLT_FN static double part(C x, int) { return double(x); }
  DLT_FN static C number(C x, int) { return x; }
  DLT_FN static void put(C* x, int, C value) { *x = value; }
};
template <class F>
struct parts_of<complex_of<F>> {
  using type = F;
  static constexpr int count = 2;
  DLT_FN static double part(complex_of<F> x, int k) { return double(k == 0 ? x.re : x.im); }
  DLT_FN static F number(complex_of<F> x, int k) { return k == 0 ? x.re : x.im; }
  DLT_FN static void put(complex_of<F>* x, int k, F value) { (k == 0 ? x->re : x->im) = value; }
};

// SUMS exact sums, and the number of their elements, which float64 counts exactly.
template <class T, int SUMS>
struct exact_state : without_initial {
  using type = T;
  using C = typename computed<T>::type;
  using parts = parts_of<C>;
  using word = double;
  static constexpr int members = exact_sums::words * SUMS + 1;
  DLT_FN static void start(word* w) {
    for (int k = 0; k < SUMS; ++k) exact_sums::start(w + k * exact_sums::words);
    w[members - 1] = 0;
  }
  DLT_FN static void counted(word* w, uint64_t n) { w[members - 1] += double(n); }
  DLT_FN static void join(word* w, const word* other) {
    for (int k = 0; k < SUMS; ++k) exact_sums::join(w + k * exact_sums::words, other + k * exact_sums::words);
    w[members - 1] += other[members - 1];
  }
};

DLT_FAR_FN void put_each(double* state, const double* x, int count) {
  DLT_ROLLED
  for (int j = 0; j < count; ++j) exact_sums::put(state, x[j]);
}

// The same of elements in memory: `vec` adjacent ones, then those `step` further.
template <class T, class M>
DLT_FAR_FN void put_apart(double* state, const M* from, unsigned step, int vec, int count, int part) {
  DLT_ROLLED
  for (int j = 0; j < count; ++j)
    exact_sums::put(state, parts_of<typename computed<T>::type>::part(
                               element<T, M>(from + unsigned(j / vec) * int64_t(step) + j % vec), part));
}

// Sums of elements, of each part.
template <class T, bool MEAN>
struct exact_floats : exact_state<T, parts_of<typename computed<T>::type>::count> {
  using state = exact_state<T, parts_of<typename computed<T>::type>::count>;
  using typename state::C, typename state::parts, typename state::word;
  using state::members;
  static constexpr Again again = Again::sum;
  static constexpr bool mean = MEAN, takes_packs = is_same<typename parts::type, float>::value, takes_batches = takes_packs;
  DLT_FN static void step(word* w, C x, int64_t) {
    for (int k = 0; k < parts::count; ++k) exact_sums::put(w + k * exact_sums::words, parts::part(x, k));
  }
  // Part k of the initial value, which may be wider than the elements.
  DLT_FN static double first_part(const Immediate& first, int k) {
    double part[2];
    memcpy(part, first.bytes, sizeof part);
    return part[k];
  }
  DLT_FN static void put_first(word* w, const Immediate& first) {
    for (int k = 0; k < parts::count; ++k) exact_sums::put(w + k * exact_sums::words, first_part(first, k));
  }
  // True if no sum of these is rounded in float64: from the first bit of the largest to the last of the smallest are 53 bits,
  // carries included. Always so for float16.
  template <int COUNT>
  DLT_FN static bool is_narrow(const C* x, int k) {
    static_assert(COUNT <= 64, "six bits of carries");
    if constexpr (is_same<T, float16>::value) return true;
    uint32_t most = 0, least = ~uint32_t(0);
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const uint32_t size = bits_as<uint32_t>(float(parts::number(x[j], k))) & 0x7fffffff,
                     below = size - 1;  // 0 is no smallest
      most = size > most ? size : most;
      least = below < least ? below : least;
    }
    return most - least < uint32_t(COUNT <= 8 ? 26 : COUNT <= 16 ? 25 : COUNT <= 32 ? 24 : 23) << 23;
  }
  // One addition to the state for all of them where their sum is exact, else one for each.
  template <int COUNT>
  DLT_FN static void step_pack(word* w, const C* x, uint64_t, uint64_t) {
#pragma unroll
    for (int k = 0; k < parts::count; ++k) {
      word* const s = w + k * exact_sums::words;
      if (is_narrow<COUNT>(x, k)) {
        double sum[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; ++j) sum[j] = parts::part(x[j], k);
#pragma unroll
        for (int left = COUNT / 2; left > 0; left /= 2)
#pragma unroll
          for (int j = 0; j < left; ++j) sum[j] += sum[j + left];
        exact_sums::put(s, sum[0]);
      } else {
        double state[exact_sums::words], each[COUNT];  // copies: an array whose address is passed on is not kept in registers
#pragma unroll
        for (int m = 0; m < exact_sums::words; ++m) state[m] = s[m];
#pragma unroll
        for (int j = 0; j < COUNT; ++j) each[j] = parts::part(x[j], k);
        put_each(state, each, COUNT);
#pragma unroll
        for (int m = 0; m < exact_sums::words; ++m) s[m] = state[m];
      }
    }
  }
  // The same of elements that are read again where that sum is not exact: copies of more of them take too many registers.
  template <int COUNT, class M>
  DLT_FN static void step_batch(word* w, const C* x, const M* from, unsigned step, int vec) {
#pragma unroll
    for (int k = 0; k < parts::count; ++k) {
      word* const s = w + k * exact_sums::words;
      if (is_narrow<COUNT>(x, k)) {
        double sum[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[j] = parts::part(x[j], k);
#pragma unroll
        for (int j = 4; j < COUNT; ++j) sum[j % 4] += parts::part(x[j], k);
        exact_sums::put(s, (sum[0] + sum[1]) + (sum[2] + sum[3]));
      } else {
        double state[exact_sums::words];
#pragma unroll
        for (int m = 0; m < exact_sums::words; ++m) state[m] = s[m];
        put_apart<T, M>(state, from, step, vec, COUNT, k);
#pragma unroll
        for (int m = 0; m < exact_sums::words; ++m) s[m] = state[m];
      }
    }
  }
  template <class F>
  DLT_FN static bool end_part(double above, double below, double error, double count, F* out) {
    using namespace exact_sums;
    if (MEAN && count == 0) return *out = from<F>(not_a_number()), true;
    // Sums of float32 stay in float64's range: a sum is not finite only if an element is not.
    if (is_same<typename parts::type, float>::value && !ops::isfinite(above))
      return *out = from<F>(above == above ? above : not_a_number()), true;
    if (above == 0 && below == 0 && error == 0) return *out = from<F>(0.0), true;
    if constexpr (MEAN) {
      Quotient q;
      return ops::isfinite(above) && ops::isfinite(below) && exact_sums::divide(above, below, error, count, &q) &&
             round_sum(q.above, q.below, q.error, out);
    } else {
      return round_sum(above, below, error, out);
    }
  }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending&, R* out) {
    bool known = true;
    for (int k = 0; k < parts::count; ++k) {
      const word* s = w + k * exact_sums::words;
      typename parts_of<R>::type part{};
      known &= end_part(s[exact_sums::high], s[exact_sums::low], s[exact_sums::bound], w[members - 1], &part);
      parts_of<R>::put(out, k, part);
    }
    return known;
  }
};
template <class T>
struct exact_sum : exact_floats<T, false> {};
template <class T>
struct exact_mean : exact_floats<T, true> {};

// Sums of elements and of their squares, of each part. Squares of float32 are exact in float64.
template <class T>
struct exact_moments : exact_state<T, 2 * parts_of<typename computed<T>::type>::count> {
  using state = exact_state<T, 2 * parts_of<typename computed<T>::type>::count>;
  using typename state::C, typename state::parts, typename state::word;
  using state::members;
  static constexpr Again again = Again::moments;
  DLT_FN static void step(word* w, C x, int64_t) {
    for (int k = 0; k < parts::count; ++k) {
      const double part = parts::part(x, k);
      exact_sums::put(w + 2 * k * exact_sums::words, part);
      exact_sums::put(w + (2 * k + 1) * exact_sums::words, part * part);
    }
  }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending& ending, R* out) {
    const double count = w[members - 1], divisor = count - ending.correction;
    if (exact_sums::is_undefined(count, divisor)) return *out = from<R>(exact_sums::not_a_number()), true;
    return exact_sums::round_moments(w, parts::count, count, divisor, ending.root, out);
  }
};

// Sums of squared deviations from the mean, of all parts together.
template <class T>
struct exact_deviations : exact_state<T, 1> {
  using state = exact_state<T, 1>;
  using typename state::C, typename state::parts, typename state::word;
  using state::members;
  static constexpr Again again = Again::deviations;
  DLT_FN static void step(word* w, C x, const double* center) {
    for (int k = 0; k < parts::count; ++k) {
      const Pair square = exact_sums::squared_deviation(parts::part(x, k), center[k]);
      exact_sums::put(w, square.high);
      exact_sums::put(w, square.low);
    }
  }
  DLT_FN static double farthest(const double* center) {
    double most = 0;
    for (int k = 0; k < parts::count; ++k) {
      const double size = magnitude_of(center[k]);
      most = size > most ? size : most;
    }
    return most;
  }
  template <class R>
  DLT_FN static bool end(const word* w, const Ending& ending, R* out) {
    using namespace exact_sums;
    const double count = w[members - 1], divisor = count - ending.correction;
    if (exact_sums::is_undefined(count, divisor)) return *out = from<R>(not_a_number()), true;
    Quotient q;
    double variance;
    if (!exact_sums::divide(w[high], w[low], w[bound], divisor, &q) || !round_sum(q.above, q.below, q.error, &variance) ||
        !is_in_range(variance) || shows_rounding(farthest(ending.center), variance))
      return false;
    if (ending.root) q = root_of(q);
    return round_sum(q.above, q.below, q.error, out);
  }
};

}  // namespace dlt::kernels::reduce
