// SPDX-License-Identifier: Apache-2.0
// Euclidean norms from sums of squares whose error is bounded, and whether that bound leaves one rounded value. norms.cc of the
// folder above decides what is summed how, and computes what is left in doubt.
#include <string.h>

#include "native/cpu/linalg/kernels.h"
#include "native/cpu/linalg/kernels/lanes.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/doubles.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt::DLT_LEVEL {
namespace {

using V = pack<double>::type;
constexpr int lanes = pack<double>::lanes;

DLT_FN double root(double x) { return __builtin_sqrt(x); }

template <class X>
DLT_FN X read(const float* p) {
  if constexpr (sizeof(X) == sizeof(double)) return double(one<float>(reinterpret_cast<const char*>(p)));
  else return widened(p);
}
template <class X>
DLT_FN X read(const double* p) {
  return *reinterpret_cast<const typename loose<X>::type*>(p);
}

#if defined(__FMA__) || defined(__aarch64__)
// x * x + c, rounded once.
DLT_FN double square_plus(double x, double c) { return __builtin_fma(x, x, c); }
DLT_FN V square_plus(V x, V c) {
#if defined(__AVX512F__)
  return V(_mm512_fmadd_pd(__m512d(x), __m512d(x), __m512d(c)));
#elif defined(__AVX2__)
  return V(_mm256_fmadd_pd(__m256d(x), __m256d(x), __m256d(c)));
#else
  for (int j = 0; j < lanes; ++j) c[j] = __builtin_fma(x[j], x[j], c[j]);
  return c;
#endif
}
// The part of x * x that rounding took from `square`.
template <class X>
DLT_FN X rest_of(X x, X square) {
  return square_plus(x, -square);
}
// Adds x * x, which is not above `sum`, and to `rest` what rounding takes from that.
template <class X>
DLT_FN void add_smaller(X* sum, X* rest, X x) {
  const X before = *sum;
  *sum = square_plus(x, before);
  *rest += square_plus(x, before - *sum);
}
#else
// The same by Veltkamp's halves, whose products are exact.
template <class X>
DLT_FN X rest_of(X x, X square) {
  const X split = x * 134217729.0, high = split - (split - x), low = x - high;
  return ((high * high - square) + 2 * high * low) + low * low;
}
template <class X>
DLT_FN void add_smaller(X* sum, X* rest, X x) {
  const X before = *sum, square = x * x;
  *sum = before + square;
  *rest += (square - (*sum - before)) + rest_of(x, square);
}
#endif

template <class X>
DLT_FN void add(X* sum, X* rest, X x) {
  const X total = *sum + x, part = total - *sum;
  *rest += (*sum - (total - part)) + (x - part);
  *sum = total;
}

// Adds all lanes into the first, each half to the other one.
template <int By>
DLT_FN void halve(V* sum, V* rest) {
  const V other = exchanged<double, By>(*sum), rests = exchanged<double, By>(*rest);
  add(sum, rest, other);
  *rest += rests;
  if constexpr (By > 1) halve<By / 2>(sum, rest);
}

// ---- bounds

// The sum of n squares of float64 in two numbers is this near to the exact one, relative to it, and so are the sums that norms.cc
// carries errors in.
DLT_FN double slack_of(int64_t n) {
  const double steps = double(n) / 8 + 16;
  return 0x1p-80 + steps * steps * 0x1p-104;
}
// In this range no square of an element has left that of float64, whatever n is.
constexpr double least_sum = 0x1p-760, most_sum = 0x1p800;

// A power of two above a sum of squares, and above each of these.
DLT_FN double above_of(double size) { return bits_as<double>(((bits_as<uint64_t>(size) >> 52) + 1) << 52); }
DLT_FN V above_of(V size) {
  typedef uint64_t bits __attribute__((vector_size(register_bytes)));
  return reinterpret_cast<V>(((reinterpret_cast<bits>(size) >> 52) + 1) << 52);
}

// ---- one run of contiguous elements

constexpr int chains = 4;

template <class F>
double plain_sum(const F* a, int64_t n) {
  V sums[chains] = {};
  int64_t i = 0;
  for (; i + chains * lanes <= n; i += chains * lanes)
#pragma GCC unroll 4
    for (int u = 0; u < chains; ++u) {
      const V x = read<V>(a + i + u * lanes);
#if defined(__FMA__) || defined(__aarch64__)
      sums[u] = square_plus(x, sums[u]);
#else
      sums[u] = sums[u] + x * x;
#endif
    }
  for (; i < n; i += lanes) {
    const V x = i + lanes <= n ? read<V>(a + i) : load_first(a + i, n - i);
    sums[0] = sums[0] + x * x;
  }
  const V all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total[lanes];
  memcpy(total, &all, sizeof total);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) total[j] += total[j + half];
  return total[0];
}

// Squares of float32 are exact in float64: only additions are rounded.
bool norm_run(const float* a, int64_t n, float* out) {
  const double total = plain_sum(a, n);
  if (!(total < __builtin_inf())) return false;
  const double value = root(total), slack = value * (double(n / 8 + 24) * 0x1p-53 + 0x1p-50);
  *out = float(value - slack);
  return *out == float(value + slack);
}

bool norm_run(const double* a, int64_t n, double* out) {
  constexpr int64_t block = 1024;
  V high{}, low{};
  for (int64_t first = 0; first < n; first += block) {
    const int64_t count = n - first < block ? n - first : block;
    const double* const p = a + first;
    const double size = plain_sum(p, count);
    if (!(size < most_sum)) return false;
    if (size < 0x1p-900) continue;  // less than the bound leaves in doubt
    // Sums begin with a power of two above all squares, so that what rounding takes from each addition takes one more to find.
    const V start = above_of(size) - V{};
    V sums[chains], rests[chains] = {};
    for (int u = 0; u < chains; ++u) sums[u] = start;
    int64_t i = 0;
    for (; i + chains * lanes <= count; i += chains * lanes)
#pragma GCC unroll 4
      for (int u = 0; u < chains; ++u) add_smaller(&sums[u], &rests[u], read<V>(p + i + u * lanes));
    for (; i < count; i += lanes)
      add_smaller(&sums[0], &rests[0], i + lanes <= count ? read<V>(p + i) : load_first(p + i, count - i));
    for (int u = 0; u < chains; ++u) {
      add(&high, &low, sums[u] - start);
      low += rests[u];
    }
  }
  halve<lanes / 2>(&high, &low);
  const double sum = high[0], rest = low[0];
  const double slack = sum * slack_of(n), total = sum + (rest - slack);
  *out = root(total);
  return total == sum + (rest + slack) && total > least_sum && total < most_sum;
}

template <class F>
bool run(const void* a, int64_t n, void* out) {
  return norm_run(static_cast<const F*>(a), n, static_cast<F*>(out));
}

// ---- columns

DLT_FN float narrow(double x) { return float(x); }
DLT_FN half_vector narrow(V x) { return narrowed(x); }
DLT_FN bool is_zero(float x) { return x == 0; }
DLT_FN bool is_zero(double x) { return x == 0; }
// Lanes that are not below 0.
template <class W>
DLT_FN bool is_zero(const W& v) {
  auto sum = v[0];
  for (int j = 1; j < lanes; ++j) sum += v[j];
  return sum == 0;
}

// The roots of the sums of squares of N registers X of columns. `certain` is changed where a norm is not.
template <class X, int N>
DLT_FN void end_columns(X* sums, int64_t n, float* out, bool* certain) {
  constexpr int width = int(sizeof(X) / sizeof(double));
  const double slack = double(n + 8) * 0x1p-53 + 0x1p-50;
  auto doubt = narrow(X{});
#pragma GCC unroll 4
  for (int u = 0; u < N; ++u) {
    const X value = root(sums[u]);
    const auto below = narrow(value - value * slack), above = narrow(value + value * slack);
    memcpy(out + u * width, &below, sizeof below);
    sums[u] = value;
    doubt += above - below;  // NaN of infinities
  }
  if (is_zero(doubt)) return;
  for (int c = 0; c < N * width; ++c) {
    double value;
    memcpy(&value, reinterpret_cast<const double*>(sums) + c, sizeof value);
    certain[c] = float(value - value * slack) == float(value + value * slack) && value < __builtin_inf();
  }
}
template <class X, int N>
DLT_FN void end_columns(const X* sums, const X* rests, int64_t n, double* out, bool* certain) {
  constexpr int width = int(sizeof(X) / sizeof(double));
  const double relative = 8 * slack_of(8 * n);
  X doubt{}, differs[N];
#pragma GCC unroll 4
  for (int u = 0; u < N; ++u) {
    const X slack = sums[u] * relative, below = sums[u] + (rests[u] - slack), above = sums[u] + (rests[u] + slack);
    const X value = root(below);
    memcpy(out + u * width, &value, sizeof value);
    differs[u] = ((below > least_sum) & (below < most_sum)) ? above - below : X{} + 1.0;
    doubt += differs[u];
  }
  if (is_zero(doubt)) return;
  for (int c = 0; c < N * width; ++c) {
    double difference;
    memcpy(&difference, reinterpret_cast<const double*>(differs) + c, sizeof difference);
    certain[c] = difference == 0;
  }
}

// N registers X of columns, whose elements lie `step` bytes apart.
template <class X, int N>
DLT_FN void norm_columns(const float* a, int64_t step, int64_t n, float* out, bool* certain) {
  constexpr int width = int(sizeof(X) / sizeof(double));
  X sums[N] = {};
  for (int64_t k = 0; k < n; ++k, a = reinterpret_cast<const float*>(reinterpret_cast<const char*>(a) + step))
#pragma GCC unroll 4
    for (int u = 0; u < N; ++u) {
      const X x = read<X>(a + u * width);
      sums[u] = sums[u] + x * x;
    }
  end_columns<X, N>(sums, n, out, certain);
}
template <class X>
DLT_FN void add_square(X* sum, X* rest, X x) {
  const X square = x * x;
  add(sum, rest, square);
  *rest += rest_of(x, square);
}
// Rows of at least `least_read_twice` are read for the size of their squares first, in blocks that stay in the first cache.
template <class X, int N>
DLT_FN void norm_columns(const double* a, int64_t step, int64_t n, double* out, bool* certain) {
  constexpr int width = int(sizeof(X) / sizeof(double));
  constexpr int64_t least_read_twice = 16, block = 64;
  X high[N] = {}, low[N] = {};
  const auto each_row = [&](int64_t first, int64_t end, auto take) __attribute__((always_inline)) {
    for (int64_t k = first; k < end; ++k) {
      const double* const row = reinterpret_cast<const double*>(reinterpret_cast<const char*>(a) + k * step);
#pragma GCC unroll 4
      for (int u = 0; u < N; ++u) take(u, read<X>(row + u * width));
    }
  };
  if (n < least_read_twice)
    each_row(0, n, [&](int u, X x) __attribute__((always_inline)) { add_square(&high[u], &low[u], x); });
  for (int64_t first = 0; n >= least_read_twice && first < n; first += block) {
    const int64_t end = first + block < n ? first + block : n;
    X sums[N] = {}, rests[N] = {}, above[N];
    each_row(first, end, [&](int u, X x) __attribute__((always_inline)) { sums[u] = sums[u] + x * x; });
    for (int u = 0; u < N; ++u) sums[u] = above[u] = above_of(sums[u]);
    each_row(first, end, [&](int u, X x) __attribute__((always_inline)) { add_smaller(&sums[u], &rests[u], x); });
    for (int u = 0; u < N; ++u) {
      add(&high[u], &low[u], sums[u] - above[u]);
      low[u] += rests[u];
    }
  }
  end_columns<X, N>(high, low, n, out, certain);
}

// COUNT columns, fewer than a register has lanes, whose rows follow one another: as many registers hold as many rows as there are lanes.
template <int COUNT>
void few_columns(const float* a, int64_t n, float* out, bool* certain) {
  V sums[COUNT] = {};
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes, a += COUNT * lanes)
    each<COUNT>([&](int r) __attribute__((always_inline)) {
      const V x = read<V>(a + r * lanes);
      sums[r] += x * x;
    });
  double total[COUNT] = {};
  for (int i = 0; i < COUNT * lanes; ++i) total[i % COUNT] += sums[i / lanes][i % lanes];
  for (; k < n; ++k, a += COUNT)
    for (int c = 0; c < COUNT; ++c) total[c] += double(a[c]) * double(a[c]);
  for (int c = 0; c < COUNT; ++c) end_columns<double, 1>(total + c, n, out + c, certain + c);
}
template <int COUNT>
void few_columns(const double* a, int64_t n, double* out, bool* certain) {
  V sums[COUNT] = {}, rests[COUNT] = {};
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes, a += COUNT * lanes)
    each<COUNT>([&](int r) __attribute__((always_inline)) { add_square(&sums[r], &rests[r], read<V>(a + r * lanes)); });
  double total[COUNT] = {}, rest[COUNT] = {};
  for (int i = 0; i < COUNT * lanes; ++i) {
    add(&total[i % COUNT], &rest[i % COUNT], double(sums[i / lanes][i % lanes]));
    rest[i % COUNT] += rests[i / lanes][i % lanes];
  }
  for (; k < n; ++k, a += COUNT)
    for (int c = 0; c < COUNT; ++c) add_square(&total[c], &rest[c], a[c]);
  for (int c = 0; c < COUNT; ++c) end_columns<double, 1>(total + c, rest + c, n, out + c, certain + c);
}

template <class F>
void columns(const void* a, int64_t step, int64_t n, int64_t count, void* out, bool* certain) {
  const F* const from = static_cast<const F*>(a);
  F* const to = static_cast<F*>(out);
  constexpr int64_t group = chains * lanes;
  memset(certain, 1, size_t(count));
  // The last columns overlap those before.
  const auto all = [&]<class X, int N>() {
    constexpr int64_t width = N * int64_t(sizeof(X) / sizeof(double));
    for (int64_t c = 0; c < count; c += width) {
      const int64_t at = c + width <= count ? c : count - width;
      norm_columns<X, N>(from + at, step, n, to + at, certain + at);
    }
  };
  if (count >= group) return all.template operator()<V, chains>();
  if (count >= lanes) return all.template operator()<V, 1>();
  bool is_done = false;
  if (step == count * int64_t(sizeof(F)))
    each<lanes>([&](auto number) __attribute__((always_inline)) {
      if constexpr (number > 1)
        if (number == count) few_columns<number>(from, n, to, certain), is_done = true;
    });
  if (!is_done) all.template operator()<double, 1>();
}

// ---- rows of few elements: their lanes are joined to one register, which is rounded at once

struct Pair {
  V sum, rest;
};
template <int S, bool ODD>
DLT_FN Pair turns_of(const Pair& x, const Pair& y) {
  return {turns_of<S, ODD>(x.sum, y.sum), turns_of<S, ODD>(x.rest, y.rest)};
}
struct Plus {
  DLT_FN V operator()(V x, V y) const { return x + y; }
  DLT_FN Pair operator()(Pair x, const Pair& y) const {
    add(&x.sum, &x.rest, y.sum);
    x.rest += y.rest;
    return x;
  }
};

// Calls take(r, x) with each register of each of as many rows as a register has lanes.
template <class F, class Take>
DLT_FN void each_register(const F* const (&rows)[lanes], int64_t n, Take take) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) each<lanes>([&](int r) __attribute__((always_inline)) { take(r, read<V>(rows[r] + i)); });
  if (i < n) each<lanes>([&](int r) __attribute__((always_inline)) { take(r, load_first(rows[r] + i, n - i)); });
}
template <class F>
DLT_FN V plain_sums(const F* const (&rows)[lanes], int64_t n) {
  V sums[lanes] = {};
  each_register(rows, n, [&](int r, V x) __attribute__((always_inline)) { sums[r] += x * x; });
  return joined(sums, Plus{});
}
DLT_FN void end_rows(const float* const (&rows)[lanes], int64_t n, float* out, bool* certain) {
  V sums[1] = {plain_sums(rows, n)};
  end_columns<V, 1>(sums, n, out, certain);
}
DLT_FN void end_rows(const double* const (&rows)[lanes], int64_t n, double* out, bool* certain) {
  const V start = above_of(plain_sums(rows, n));
  V sums[lanes], rests[lanes] = {};
  each<lanes>([&](int r) __attribute__((always_inline)) { sums[r] = V{} + start[r]; });
  each_register(rows, n, [&](int r, V x) __attribute__((always_inline)) { add_smaller(&sums[r], &rests[r], x); });
  Pair pairs[lanes];
  each<lanes>([&](int r) __attribute__((always_inline)) { pairs[r] = {sums[r] - start[r], rests[r]}; });
  const Pair all = joined(pairs, Plus{});
  end_columns<V, 1>(&all.sum, &all.rest, n, out, certain);
}

template <class F>
void rows(const void* a, int64_t step, int64_t n, int64_t count, void* out, bool* certain) {
  F* const to = static_cast<F*>(out);
  for (int64_t first = 0; first < count; first += lanes) {
    const F* row[lanes];
    for (int64_t r = 0; r < lanes; ++r)
      row[r] = reinterpret_cast<const F*>(static_cast<const char*>(a) + smaller(first + r, count - 1) * step);
    F norms[lanes];
    bool known[lanes];
    memset(known, 1, sizeof known);
    end_rows(row, n, norms, known);
    const int64_t left = smaller(count - first, lanes);
    memcpy(to + first, norms, size_t(left) * sizeof(F));
    memcpy(certain + first, known, size_t(left));
  }
}

}  // namespace

void fill_norms(LinalgKernels* kernels) {
  kernels->norms[0] = {run<float>, columns<float>, rows<float>};
  kernels->norms[1] = {run<double>, columns<double>, rows<double>};
}

}  // namespace dlt::DLT_LEVEL
