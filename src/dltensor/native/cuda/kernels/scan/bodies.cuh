// SPDX-License-Identifier: Apache-2.0
// Bodies of running results. `total` is what a group of elements comes to, `carry` what lies before it in its block; both have `members`
// words. In global memory a block has `kept` words: its total first, then what lies before it; of float sums, in its batch.
#pragma once
#include "native/cuda/kernels/reduce/exact_bodies.cuh"
#include "native/ops/scans.h"

namespace dlt::kernels::scan {

inline constexpr int each = scans::group;  // elements of a group

// Sums of floats and of both parts of complex numbers: by distances in a group, one group after the other in a block.
template <class T>
struct float_sums {
  using C = typename computed<T>::type;
  using parts = reduce::parts_of<C>;
  using word = double;
  static constexpr bool serial = false, chained = true;
  static constexpr int members = parts::count, kept = 2 * parts::count;
  struct Group {
    double v[parts::count][each];
  };
  DLT_FN static void start(word* carry) {
    for (int k = 0; k < parts::count; ++k) carry[k] = -0.0;
  }
  DLT_FN static void advance(word* carry, const word* total) {
    for (int k = 0; k < parts::count; ++k) carry[k] += total[k];
  }
  DLT_FN static void gather(const C* x, int n, Group* group, word* total) {
#pragma unroll
    for (int k = 0; k < parts::count; ++k) {
      double* const v = group->v[k];
#pragma unroll
      for (int j = 0; j < each; ++j) v[j] = j < n ? parts::part(x[j], k) : -0.0;
#pragma unroll
      for (int by = 1; by < each; by *= 2)
#pragma unroll
        for (int j = each - 1; j >= by; --j) v[j] += v[j - by];
      total[k] = v[each - 1];
    }
  }
  template <class R>
  DLT_FN static R rounded(double re, double im) {
    if constexpr (parts::count == 2) return reduce::as_element<R>(complex128{re, im});
    else return reduce::as_element<R>(re);
  }
  // `before` is null in the first block.
  template <class R>
  DLT_FN static void finish(const C*, int, const Group& group, const word* before, const word* carry, R* out) {
    double start[2] = {};
#pragma unroll
    for (int k = 0; k < parts::count; ++k)
      start[k] = before == nullptr ? carry[k] : before[2 * k] + (before[2 * k + 1] + carry[k]);
#pragma unroll
    for (int j = 0; j < each; ++j)
      out[j] = rounded<R>(reductions::plain_nan(group.v[0][j] + start[0]),
                          reductions::plain_nan(group.v[parts::count - 1][j] + start[parts::count - 1]));
  }
};

// A reduction whose bits do not depend on the order of its elements.
template <class BODY>
struct reduced {
  using C = typename computed<typename BODY::type>::type;
  using word = typename BODY::word;
  static constexpr bool serial = false, chained = false;
  static constexpr int members = BODY::members, kept = BODY::members;
  struct Group {};
  DLT_FN static void start(word* carry) { BODY::start(carry); }
  DLT_FN static void advance(word* carry, const word* total) { BODY::join(carry, total); }
  DLT_FN static void step(word* carry, C x) { BODY::step(carry, x, 0); }
  template <class R>
  DLT_FN static void end(word* carry, R* out) {
    BODY::end(carry, reduce::Ending{}, out);
  }
  DLT_FN static void gather(const C* x, int n, Group*, word* total) {
    BODY::start(total);
#pragma unroll
    for (int j = 0; j < each; ++j)
      if (j < n) BODY::step(total, x[j], 0);
  }
  template <class R>
  DLT_FN static void finish(const C* x, int n, const Group&, const word* before, const word* carry, R* out) {
    word w[members];
    for (int k = 0; k < members; ++k) w[k] = carry[k];
    if (before != nullptr) BODY::join(w, before);
#pragma unroll
    for (int j = 0; j < each; ++j) {
      if (j >= n) continue;
      BODY::step(w, x[j], 0);
      BODY::end(w, reduce::Ending{}, out + j);
    }
  }
};

// Products of floats: one element after the other in a block, by one thread.
template <class T>
struct serial_products {
  using C = typename computed<T>::type;
  using P = reductions::product_of<C>;
  using word = typename P::word;
  static constexpr bool serial = true, chained = false;
  static constexpr int members = 1, kept = 1;
};

}  // namespace dlt::kernels::scan
