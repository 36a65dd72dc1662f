// SPDX-License-Identifier: Apache-2.0
// Sums of floats of up to 32 bits. Rows in float64, a register for each; rows and columns of 16 bits in float32 for a few steps at a
// time, which is faster, and near enough for most of their results.
#include "native/cpu/reduce/kernels/narrow_floats.h"

namespace dlt::DLT_LEVEL {
namespace {

// ---- sums of floats of up to 32 bits: added plainly, and their magnitudes say how far they may be off

// The sums of rows, as many as a register has lanes at a time: take(all, rows, k) leaves those of TOGETHER rows from k on in all[k] ...
template <int TOGETHER, class Take>
DLT_FN void each_group(double* sums, const void* a, int64_t row_bytes, int64_t rows, Take take) {
  for (int64_t r = 0; r < rows; r += lanes) {
    const Rows from{static_cast<const char*>(a) + r * row_bytes, row_bytes, rows - r};
    V all[lanes] = {};
    for (int k = 0; k < lanes && r + k < rows; k += TOGETHER) take(all, from, k);
    const V ended = joined(all, Add());
    __builtin_memcpy(sums + r, &ended, size_t(rows - r < lanes ? rows - r : lanes) * 8);
  }
}

// The error of sums of few elements by the span of their exponents: many of them lie in the middle of two floats, but are exact.
struct SpanOfFew {
  Span exponents;
  DLT_FN void clear() { exponents.clear(); }
  DLT_FN void deposit(Span::U bits) { exponents.deposit(bits); }
  double error_of(const double*, int64_t, int64_t n, int64_t additions) const { return exponents.error_of(n, additions); }
};
// That of many elements by the greatest one.
struct GreatestOfMany {
  Greatest magnitudes;
  DLT_FN void clear() { magnitudes.clear(); }
  DLT_FN void deposit(Span::U bits) { magnitudes.deposit(as_floats(bits)); }
  double error_of(const double* sums, int64_t rows, int64_t n, int64_t additions) const {
    return are_finite(sums, rows) ? loss_of(double(magnitudes.greatest()), n, additions) : __builtin_inf();
  }
};

template <class T, int K, class Extent>
DLT_FN void add_rows(V* sums, Extent* extent, const Rows& rows, int64_t first, int64_t n) {
  const Fused by;  // the units that add convert
  V x[K], y[K];
  const T* from[K];
  for (int k = 0; k < K; ++k) {
    x[k] = y[k] = -V{};
    from[k] = reinterpret_cast<const T*>(rows(first + k));
  }
  const auto add = [&](int k, const T* at) __attribute__((always_inline)) {
    const Floats all = floats_at(at);
    x[k] = by.plus(all.low, x[k]);
    y[k] = by.plus(all.high, y[k]);
    extent->deposit(all.bits);
  };
  int64_t c = 0;
  for (; c + floats <= n; c += floats)
    for (int k = 0; k < K; ++k) add(k, from[k] + c);
  for (int k = 0; c < n && k < K; ++k) {
    T rest[floats];
    take_first(rest, from[k] + c, n - c);
    add(k, rest);
  }
  for (int k = 0; k < K; ++k) sums[first + k] = x[k] + y[k];
}

template <class T, class Extent>
double row_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int together = register_bytes == 64 ? 4 : 2;
  Extent extent;
  extent.clear();
  each_group<together>(sums, a, row_bytes, rows, [&](V* all, const Rows& from, int k) __attribute__((always_inline)) {
    add_rows<T, together>(all, &extent, from, k, n);
  });
  return extent.error_of(sums, rows, n, n / floats + 1 + log2_above(floats));
}
template <class T>
double row_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int64_t many = 128;
  return (n < many ? row_sums<T, SpanOfFew> : row_sums<T, GreatestOfMany>)(sums, a, row_bytes, rows, n);
}

// ---- sums of products of the same, each exact in float64

DLT_FN V plus_product(V sum, V x, V y) { return -rest_of(-sum, x, y); }

template <class T>
double row_dots(double* sums, const RowPair& from, int64_t rows, int64_t n) {
  typedef typename Span::U U;
  U most{}, most_of_b{};
  for (int64_t r = 0; r < rows; r += lanes) {
    const Rows a{from.a + r * from.a_bytes, from.a_bytes, rows - r}, b{from.b + r * from.b_bytes, from.b_bytes, rows - r};
    V all[lanes];
    for (int k = 0; k < lanes; ++k) {
      const T *const x = reinterpret_cast<const T*>(a(k)), *const y = reinterpret_cast<const T*>(b(k));
      V low{}, high{};
      const auto take = [&](const T* p, const T* q) __attribute__((always_inline)) {
        const Floats one = floats_at(p), other = floats_at(q);
        low = plus_product(low, one.low, other.low);
        high = plus_product(high, one.high, other.high);
        const U size = one.bits & 0x7fffffffu, other_size = other.bits & 0x7fffffffu;
        most = size > most ? size : most;
        most_of_b = other_size > most_of_b ? other_size : most_of_b;
      };
      int64_t c = 0;
      for (; c + Span::lanes <= n; c += Span::lanes) take(x + c, y + c);
      if (c < n) {
        T rest[Span::lanes], other[Span::lanes];
        take_first(rest, x + c, n - c);
        take_first(other, y + c, n - c);
        take(rest, other);
      }
      all[k] = low + high;
    }
    const V ended = joined(all, Add());
    __builtin_memcpy(sums + r, &ended, size_t(rows - r < lanes ? rows - r : lanes) * 8);
  }
  const double largest = double(bits_as<float>(greatest_of(most))) * double(bits_as<float>(greatest_of(most_of_b)));
  const double additions = double(n / Span::lanes + 3 + log2_above(Span::lanes));
  return largest < __builtin_inf() ? largest * double(n) * additions * 0x1p-53 : __builtin_inf();
}

// Sums of n elements are off by at most so much. `singles`: the additions in float32 that an element takes part in, on average.
template <class T>
double error_of(const NarrowSpan<T>& extent, int64_t n, int singles, int64_t doubles) {
  constexpr int digits = 24;
  const double most = double(to_float(bits_as<T>(extent.greatest())));
  if (!(most < 0x1p100)) return __builtin_inf();
  if (extent.places() + log2_above(2 * Chains<T>::longest) <= digits) return 0;
  return most * double(n) * double(singles) * 0x1p-24 + loss_of(most, n, doubles);
}

// ---- rows of 16 bits in float32

template <class T, int K>
DLT_FN void add_rough_rows(V* sums, NarrowSpan<T>* extent, const Rows& rows, int64_t first, int64_t n) {
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
double rough_rows(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int together = 2, singles = Sum::longest / 2 + 2;
  NarrowSpan<T> extent;
  extent.clear();
  each_group<together>(sums, a, row_bytes, rows, [&](V* all, const Rows& from, int k) __attribute__((always_inline)) {
    add_rough_rows<T, together>(all, &extent, from, k, n);
  });
  return error_of(extent, n, singles, n / (Sum::elements * Sum::longest) + 2 + log2_above(floats));
}

// ---- columns of 16 bits

// Sums of `rows` rows, ROWS where that is known, added to those in `sums`, where there is room for whole registers.
template <class T, int ROWS>
void add_rough_columns(double* sums, NarrowSpan<T>* extent, const char* from, int64_t row_bytes, int64_t rows, int64_t n) {
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
double rough_columns(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using Sum = Chains<T>;
  constexpr int singles = Sum::longest / 2 + 1;
  const char* const from = static_cast<const char*>(a);
  NarrowSpan<T> extent;
  extent.clear();
  for (int64_t c = 0; c < n; ++c) sums[c] = 0;
  int64_t r = 0;
  for (; r + Sum::longest <= rows; r += Sum::longest)
    add_rough_columns<T, Sum::longest>(sums, &extent, from + r * row_bytes, row_bytes, Sum::longest, n);
  if (r < rows) add_rough_columns<T, 0>(sums, &extent, from + r * row_bytes, row_bytes, rows - r, n);
  return error_of(extent, rows, singles, rows / Sum::longest + 1);
}

template <class T>
void fill(FewKernels* few, int source) {
  few->row_sums[source] = row_sums<T>;
  few->row_dots[source] = row_dots<T>;
  if constexpr (sizeof(T) == 2) {
    few->rough_column_sums[source] = rough_columns<T>;
    few->rough_row_sums[source] = rough_rows<T>;
  }
}

}  // namespace

double float_row_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  return row_sums<float, SpanOfFew>(sums, a, row_bytes, rows, n);
}

void fill_narrow_sums(ReduceKernels* kernels) {
  fill<float>(&kernels->few, source_float32);
  fill<bfloat16>(&kernels->few, source_bfloat16);
#if defined(__F16C__)
  fill<float16>(&kernels->few, source_float16);
#endif
}

}  // namespace dlt::DLT_LEVEL
