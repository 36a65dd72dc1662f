// SPDX-License-Identifier: Apache-2.0
// Sums of rows and columns of floats of 16 bits, added in float32 for a few steps at a time: faster than in float64, and most of them
// are near enough to be rounded.
#include "native/cpu/reduce/kernels/narrow_floats.h"

namespace dlt::DLT_LEVEL {
namespace {

// Sums of n elements are off by at most so much. `singles`: the additions in float32 that an element takes part in, on average.
template <class T>
double error_of(const NarrowSpan<T>& extent, int64_t n, int singles, int64_t doubles) {
  constexpr int digits = 24;
  const double most = double(to_float(bits_as<T>(extent.greatest())));
  if (!(most < 0x1p100)) return __builtin_inf();
  if (extent.places() + log2_above(2 * Chains<T>::longest) <= digits) return 0;
  return most * double(n) * double(singles) * 0x1p-24 + loss_of(most, n, doubles);
}

// ---- rows

template <class T, int K>
DLT_FN void add_rows(V* sums, NarrowSpan<T>* extent, const Rows& rows, int64_t first, int64_t n) {
  using Sum = Chains<T>;
  V x[K], y[K];
  const T* from[K];
  for (int k = 0; k < K; ++k) {
    x[k] = y[k] = V{};
    from[k] = reinterpret_cast<const T*>(rows(first + k));
  }
  for (int64_t c = 0; c < n;) {
    Sum chains[K];
    for (int k = 0; k < K; ++k) chains[k].start();
    int left = Sum::longest;
    for (; left > 0 && c + Sum::elements <= n; --left, c += Sum::elements)
      for (int k = 0; k < K; ++k) chains[k].add(from[k] + c, extent);
    if (left > 0 && c < n) {
      for (int k = 0; k < K; ++k) {
        T rest[Sum::elements];
        take_first(rest, from[k] + c, n - c);
        chains[k].add(rest, extent);
      }
      c = n;
    }
    for (int k = 0; k < K; ++k) chains[k].end_row(&x[k], &y[k]);
  }
  for (int k = 0; k < K; ++k) sums[first + k] = x[k] + y[k];
}

template <class T>
double row_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int together = 2, singles = Sum::longest / 2 + 2;
  NarrowSpan<T> extent;
  extent.clear();
  for (int64_t r = 0; r < rows; r += lanes) {
    const Rows from{static_cast<const char*>(a) + r * row_bytes, row_bytes, rows - r};
    V all[lanes] = {};
    for (int k = 0; k < lanes && r + k < rows; k += together) add_rows<T, together>(all, &extent, from, k, n);
    const V ended = joined(all, Add());
    __builtin_memcpy(sums + r, &ended, size_t(rows - r < lanes ? rows - r : lanes) * 8);
  }
  return error_of(extent, n, singles, n / (Sum::elements * Sum::longest) + 2 + log2_above(floats));
}

// ---- columns

// Sums of `rows` rows, ROWS where that is known, added to those in `sums`, where there is room for whole registers.
template <class T, int ROWS>
void add_columns(double* sums, NarrowSpan<T>* extent, const char* from, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int parts = Sum::elements / lanes;
  NarrowSpan<T> local = *extent;
  const auto add = [&](int64_t c, auto take) __attribute__((always_inline)) {
    Sum chains;
    chains.start();
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
    add(c, [&](Sum* chains, const T* at) __attribute__((always_inline)) { chains->add(at, &local); });
  if (c < n)
    add(c, [&](Sum* chains, const T* at) __attribute__((always_inline)) {
      T rest[Sum::elements];
      take_first(rest, at, n - c);
      chains->add(rest, &local);
    });
  *extent = local;
}

template <class T>
double column_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int singles = Sum::longest / 2 + 1;
  const char* const from = static_cast<const char*>(a);
  NarrowSpan<T> extent;
  extent.clear();
  for (int64_t c = 0; c < n; ++c) sums[c] = 0;
  int64_t r = 0;
  for (; r + Sum::longest <= rows; r += Sum::longest)
    add_columns<T, Sum::longest>(sums, &extent, from + r * row_bytes, row_bytes, Sum::longest, n);
  if (r < rows) add_columns<T, 0>(sums, &extent, from + r * row_bytes, row_bytes, rows - r, n);
  return error_of(extent, rows, singles, rows / Sum::longest + 1);
}

template <class T>
void fill(FewKernels* few, int source) {
  few->rough_column_sums[source] = column_sums<T>;
  few->rough_row_sums[source] = row_sums<T>;
}

}  // namespace

void fill_rough_sums(ReduceKernels* kernels) {
  fill<bfloat16>(&kernels->few, source_bfloat16);
#if defined(__F16C__)
  fill<float16>(&kernels->few, source_float16);
#endif
}

}  // namespace dlt::DLT_LEVEL
