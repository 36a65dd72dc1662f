// SPDX-License-Identifier: Apache-2.0
// The loops of exact sums of floats, over runs and over rows.
#include "native/cpu/reduce/kernels/binned_sum.h"
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class T, int PARTS>
void run_exact(void* states, const void* a, int64_t n, int64_t, const double*) {
  auto* const w = static_cast<double*>(states);
  double local[PARTS][words];
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) local[k][m] = w[m * PARTS + k];
  const T* const p = static_cast<const T*>(a);
  const int64_t count = n * PARTS;
  if constexpr (is_same<T, float>::value) {
    constexpr int64_t block = 4096;
    if (count < 16) {
      for (int64_t i = 0; i < count; ++i) put(local[i % PARTS], double(element<float>(p, i)));
    } else {
      for (int64_t i = 0; i < count; i += block) deposit_block<PARTS>(local, p + i, count - i < block ? count - i : block);
    }
  } else {
    if (count < 512) deposit_all<T, PARTS>(local, p, count);
    else deposit_binned<PARTS>(local, p, count);
  }
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) w[m * PARTS + k] = local[k][m];
}

// Sums with the errors of errors, which leave little in doubt: for sums far smaller than their elements.
template <class T, int PARTS>
void run_again(void* states, const void* a, int64_t n) {
  auto* const local = static_cast<double(*)[words]>(states);
  const T* const p = static_cast<const T*>(a);
  const int64_t count = n * PARTS;
  int64_t i = 0;
  if (count >= 4 * lanes) {
    TwoSum both[2] = {{-V{}, V{}, V{}}, {-V{}, V{}, V{}}};
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      both[0].deposit(load(p + i));
      both[1].deposit(load(p + i + lanes));
    }
    both[0].merge(both[1]);
    both[0].flush(local, PARTS);
  }
  for (; i < count; ++i) put(local[i % PARTS], double(element<T>(p, i)));
}

// With fewer rows more sums lie just between two floats, where a bound would have them read again.
constexpr int64_t many_rows = 32, cached_bytes = 32 << 10;
template <class T>
void deposit_rows(double* w, int64_t capacity, const char* a, int64_t row_bytes, int64_t rows, int64_t from, int64_t n) {
  const int64_t wide_end = from + (n - from) / lanes * lanes;
  const auto row = [&](int64_t r) { return reinterpret_cast<const T*>(a + r * row_bytes); };
  const Fused fused;
  int64_t r = 0;
  // Rows in the first cache are taken all at once.
  const int64_t together = row_bytes > 0 && rows * row_bytes <= cached_bytes ? rows : rows_together;
  for (; rows >= many_rows && r + together <= rows; r += together) {
    const auto take = [&]<int K>(int64_t c) {
      TwoSumLanes<K> local;
      local.clear();
      for (int64_t k = 0; k < together; ++k)
        for (int j = 0; j < K; ++j) local.deposit(j, load(row(r + k) + c + j * lanes), fused);
      for (int j = 0; j < K; ++j) merge_columns(w, capacity, c + j * lanes, local.state(j, together));
    };
    int64_t c = from;
    for (; c + 2 * lanes <= wide_end; c += 2 * lanes) take.template operator()<2>(c);  // one waits for its own additions
    if (c < wide_end) take.template operator()<1>(c);
  }
  for (; r < rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      TwoSum local;
      local.load_from(w + c, capacity);
      for (int64_t k = 0; k < rows_next(rows - r); ++k) local.deposit(load(row(r + k) + c));
      local.save_to(w + c, capacity);
    }
  for (r = 0; r < rows; ++r)
    for (int64_t c = wide_end; c < n; ++c) deposit_column(w, capacity, c, double(element<T>(row(r), c)));
}

template <int ROWS>
DLT_FN void add_rows(double* sums, Span* exponents, const char* from, int64_t row_bytes, int64_t n) {
  Span local = *exponents;
  for (int64_t c = 0; c < n; c += Span::lanes) {
    V x = load(sums + c), y = load(sums + c + lanes);
    for (int r = 0; r < ROWS; ++r) {
      const float* const row = reinterpret_cast<const float*>(from + r * row_bytes) + c;
      x += load(row);
      y += load(row + lanes);
      local.deposit(row);
    }
    save(sums + c, x);
    save(sums + c + lanes, y);
  }
  *exponents = local;
}

template <class T>
void rows_exact(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t,
                const double*) {
  auto* const w = static_cast<double*>(states);
  const char* from = static_cast<const char*>(a);
  if constexpr (!is_same<T, float>::value) return deposit_rows<T>(w, capacity, from, row_bytes, rows, 0, n);
  constexpr int64_t block = 64, strip = 1024;
  double sums[strip];
  for (int64_t first = 0; first < n; first += strip) {
    const int64_t end = n - first < strip ? n : first + strip, wide_end = first + (end - first) / Span::lanes * Span::lanes;
    for (int64_t r = 0; r < rows; r += block) {
      const int64_t count = rows - r < block ? rows - r : block;
      const char* const rows_at = from + r * row_bytes;
      deposit_rows<float>(w, capacity, rows_at, row_bytes, count, wide_end, end);
      if (wide_end == first) continue;
      Span exponents;
      exponents.clear();
      for (int64_t c = 0; c < wide_end - first; ++c) sums[c] = 0.0;
      int64_t k = 0;
      for (; k + rows_together <= count; k += rows_together)
        add_rows<rows_together>(sums, &exponents, rows_at + k * row_bytes + 4 * first, row_bytes, wide_end - first);
      for (; k < count; ++k) add_rows<1>(sums, &exponents, rows_at + k * row_bytes + 4 * first, row_bytes, wide_end - first);
      if (exponents.span() > spare_bits - log2_above(count)) {
        deposit_rows<float>(w, capacity, rows_at, row_bytes, count, first, wide_end);
        continue;
      }
      for (int64_t c = 0; c < wide_end - first; c += lanes) deposit_columns(w, capacity, first + c, load(sums + c));
    }
  }
}

// Rows of floats are added plainly, and the span of the exponents of some rows together says afterwards whether that was exact.
void each_exact(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  auto* const w = static_cast<double*>(states);
  constexpr int64_t block = 64;
  alignas(64) double sums[block];
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t count = rows - first < block ? rows - first : block;
    const auto row = [&](int64_t r) {
      return reinterpret_cast<const float*>(static_cast<const char*>(a) + (first + r) * row_bytes);
    };
    Span exponents;
    exponents.clear();
    for (int64_t r = 0; r < count; ++r) {
      const float* const p = row(r);
      V x = -V{}, y = -V{};
      int64_t c = 0;
      for (; c + Span::lanes <= n; c += Span::lanes) {
        x += load(p + c);
        y += load(p + c + lanes);
        exponents.deposit(p + c);
      }
      if (c < n) {
        float rest[Span::lanes];
        for (int k = 0; k < Span::lanes; ++k) rest[k] = c + k < n ? element<float>(p, c + k) : -0.0f;
        x += load(rest);
        y += load(rest + lanes);
        exponents.deposit(rest);
      }
      double last[lanes];
      save(last, x + y);
      for (int half = lanes / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) last[j] += last[j + half];
      sums[r] = last[0];
    }
    const bool is_exact = exponents.span() <= spare_bits - log2_above(n);
    const int64_t wide_end = is_exact ? count / lanes * lanes : 0;
    for (int64_t r = 0; r < wide_end; r += lanes) deposit_columns(w, capacity, first + r, load(sums + r));
    for (int64_t r = wide_end; r < count; ++r) {
      if (is_exact) {
        deposit_column(w, capacity, first + r, sums[r]);
        continue;
      }
      double* const at = w + first + r;
      double local[words] = {at[0], at[capacity], at[2 * capacity]};
      run_exact<float, 1>(local, row(r), n, 0, nullptr);
      for (int m = 0; m < words; ++m) at[m * capacity] = local[m];
    }
  }
}

template <class T>
void fill(ReduceKernels* kernels, int type, int complex_type) {
  Reducer* const sums = kernels->reducers[reduce_sums];
  sums[type] = {words, 8, 1, -1, start_sums<1>, run_exact<T, 1>, rows_exact<T>, nullptr, merge_sums<1>, nullptr};
  sums[complex_type] = {words, 8, 2, -1, start_sums<1>, run_exact<T, 2>, rows_exact<T>, nullptr, merge_sums<1>, nullptr};
  if constexpr (is_same<T, float>::value) sums[type].each = each_exact;
  kernels->sums_again[type] = run_again<T, 1>;
  kernels->sums_again[complex_type] = run_again<T, 2>;
}

}  // namespace

void fill_exact_sums(ReduceKernels* kernels) {
  fill<float>(kernels, type_float32, type_complex64);
  fill<double>(kernels, type_float64, type_complex128);
  fill_moments(kernels);
}

}  // namespace dlt::DLT_LEVEL
