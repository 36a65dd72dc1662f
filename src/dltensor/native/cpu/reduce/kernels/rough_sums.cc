// SPDX-License-Identifier: Apache-2.0
// Sums of rows of floats of up to 32 bits, and of columns of 16 bits, added in float32 for a few steps at a time: faster than in
// float64, and most of them are near enough to be rounded.
#include "native/cpu/reduce/kernels/narrow_floats.h"

namespace dlt::DLT_LEVEL {
namespace {

constexpr float margin = 2;  // of the greatest element over those of a sample

// How chains begin, and what tells their errors.
template <class T>
struct Bounds {
  PlainStart start;
  NarrowSpan<T> extent;

  bool choose(const T*, int64_t) { return extent.clear(), true; }
  bool is_within() { return true; }
  bool choose_again() { return true; }
  // Sums of n elements are off by at most so much. `singles`: the additions in float32 that an element takes part in, on average.
  double error_of(int64_t n, int singles, int64_t doubles) const {
    constexpr int digits = 24;
    const double most = double(to_float(bits_as<T>(extent.greatest())));
    if (!(most < 0x1p100)) return __builtin_inf();
    if (extent.places() + log2_above(2 * Chains<T>::longest) <= digits) return 0;
    return most * double(n) * double(singles) * 0x1p-24 + loss_of(most, n, doubles);
  }
};
template <>
struct Bounds<float> {
  LargeStart start;
  Greatest extent;

  // By the first row of n elements.
  bool choose(const float* row, int64_t n) {
    extent.clear();
    int64_t c = 0;
    for (; c + floats <= n; c += floats) extent.deposit(*reinterpret_cast<const pack<float>::loose*>(row + c));
    for (; c < n; ++c) extent.deposit(F{} + element<float>(row, c));
    return choose_again();
  }
  bool is_within() const { return extent.is_below(F{} + start.limit()); }
  bool choose_again() { return start.choose(margin * extent.greatest()); }
  double error_of(int64_t n, int, int64_t doubles) const {
    return start.error_of(n) + loss_of(double(start.limit()), n, 2 * doubles);
  }
};
bool are_finite(const double* sums, int64_t n) {
  integers odd{};  // a difference is 0, or NaN
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) odd |= reinterpret_cast<integers>(load(sums + i) - load(sums + i));
  int64_t others = 0;
  for (; i < n; ++i) others |= bits_as<int64_t>(sums[i] - sums[i]);
  for (int j = 0; j < lanes; ++j) others |= odd[j];
  return others == 0;
}
// ---- rows

template <class T, int K>
DLT_FN void add_rows(V* sums, Bounds<T>* bounds, const Rows& rows, int64_t first, int64_t n) {
  using Sum = Chains<T>;
  V x[K], y[K];
  const T* from[K];
  for (int k = 0; k < K; ++k) {
    x[k] = y[k] = V{};
    from[k] = reinterpret_cast<const T*>(rows(first + k));
  }
  const auto add = [&]<int J>(Sum* chains, int64_t c) __attribute__((always_inline)) {
    for (int k = 0; k < K; ++k) chains[k].template add<J>(from[k] + c, &bounds->extent);
  };
  constexpr int64_t step = Sum::joined * Sum::elements;
  for (int64_t c = 0; c < n;) {
    Sum chains[K];
    for (int k = 0; k < K; ++k) chains[k].start(bounds->start);
    int left = Sum::longest / Sum::joined;
    for (; left > 0 && c + step <= n; --left, c += step)
      each<Sum::joined>([&](auto j)
                            __attribute__((always_inline)) { add.template operator()<j>(chains, c + j * Sum::elements); });
    if (left > 0 && c < n) {
      each<Sum::joined - 1>([&](auto j) __attribute__((always_inline)) {
        if (c + Sum::elements > n) return;
        add.template operator()<j>(chains, c);
        c += Sum::elements;
      });
      for (int k = 0; c < n && k < K; ++k) {
        T rest[Sum::elements];
        take_first(rest, from[k] + c, n - c);
        chains[k].template add<Sum::joined - 1>(rest, &bounds->extent);
      }
      c = n;
    }
    for (int k = 0; k < K; ++k) chains[k].end_row(&x[k], &y[k], bounds->start);
  }
  for (int k = 0; k < K; ++k) sums[first + k] = x[k] + y[k];
}

template <class T>
double row_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int together = 2, singles = Sum::longest / 2 + 2;
  const int64_t doubles = n / (Sum::elements * Sum::longest) + 2 + log2_above(floats);
  Bounds<T> bounds;
  if (!bounds.choose(static_cast<const T*>(a), n)) return __builtin_inf();
  for (int64_t r = 0; r < rows;) {
    const Rows from{static_cast<const char*>(a) + r * row_bytes, row_bytes, rows - r};
    V all[lanes] = {};
    for (int k = 0; k < lanes && r + k < rows; k += together) add_rows<T, together>(all, &bounds, from, k, n);
    if (!bounds.is_within()) {  // once more
      if (!bounds.choose_again()) return __builtin_inf();
      continue;
    }
    const V ended = joined(all, Add());
    __builtin_memcpy(sums + r, &ended, size_t(rows - r < lanes ? rows - r : lanes) * 8);
    r += lanes;
  }
  if (is_same<T, float>::value && !are_finite(sums, rows)) return __builtin_inf();
  return bounds.error_of(n, singles, doubles);
}

// ---- columns

// Sums of `rows` rows, ROWS where that is known, added to those in `sums`, where there is room for whole registers.
template <class T, int ROWS>
void add_columns(double* sums, Bounds<T>* bounds, const char* from, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int parts = Sum::elements / lanes;
  Bounds<T> local = *bounds;
  const auto add = [&](int64_t c, auto take) __attribute__((always_inline)) {
    Sum chains;
    chains.start(local.start);
    const auto row = [&](int64_t r) { return reinterpret_cast<const T*>(from + r * row_bytes) + c; };
    if constexpr (ROWS > 0) each<ROWS>([&](auto r) __attribute__((always_inline)) { take(&chains, row(r)); });
    else
      for (int64_t r = 0; r < rows; ++r) take(&chains, row(r));
    V all[parts];
    for (int k = 0; k < parts; ++k) all[k] = load(sums + c + k * lanes);
    chains.end(all);
    for (int k = 0; k < parts; ++k) save(sums + c + k * lanes, all[k]);
  };
  int64_t c = 0;
  for (; c + Sum::elements <= n; c += Sum::elements)
    add(c, [&](Sum* chains, const T* at) __attribute__((always_inline)) { chains->template add<0>(at, &local.extent); });
  if (c < n)
    add(c, [&](Sum* chains, const T* at) __attribute__((always_inline)) {
      T rest[Sum::elements];
      take_first(rest, at, n - c);
      chains->template add<0>(rest, &local.extent);
    });
  *bounds = local;
}

template <class T>
double column_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int singles = Sum::longest / 2 + 1;
  const char* const from = static_cast<const char*>(a);
  Bounds<T> bounds;
  bounds.extent.clear();
  for (int64_t c = 0; c < n; ++c) sums[c] = 0;
  int64_t r = 0;
  for (; r + Sum::longest <= rows; r += Sum::longest)
    add_columns<T, Sum::longest>(sums, &bounds, from + r * row_bytes, row_bytes, Sum::longest, n);
  if (r < rows) add_columns<T, 0>(sums, &bounds, from + r * row_bytes, row_bytes, rows - r, n);
  return bounds.error_of(rows, singles, rows / Sum::longest + 1);
}

template <class T>
void fill(FewKernels* few, int source) {
  few->rough_column_sums[source] = column_sums<T>;
  few->rough_row_sums[source] = row_sums<T>;
}

}  // namespace

void fill_rough_sums(ReduceKernels* kernels) {
  kernels->few.rough_row_sums[source_float32] = row_sums<float>;
  fill<bfloat16>(&kernels->few, source_bfloat16);
#if defined(__F16C__)
  fill<float16>(&kernels->few, source_float16);
#endif
}

}  // namespace dlt::DLT_LEVEL
