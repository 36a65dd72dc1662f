// SPDX-License-Identifier: Apache-2.0
// The loops of exact sums of floats, over runs and over rows, and those of few elements for each result.
#include "native/cpu/reduce/kernels/biased_lanes.h"
#include "native/cpu/reduce/kernels/binned_sum.h"
#include "native/cpu/reduce/kernels/narrow_floats.h"
#include "native/ops/reduce/reductions.h"

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

// Differences of numbers, as Fused has those of lanes.
struct Plain {
  DLT_FN static double minus(double x, double y) { return x - y; }
};
// A number, or numbers in lanes, as three words and the size of what they lack.
template <class N, class By>
struct ThreeWords {
  N high, low, third, lost;
  // Returns the error of the addition.
  DLT_FN static N add(N* to, N x, const By& by) {
    const N sum = *to + x, part = by.minus(sum, *to), error = (*to - by.minus(sum, part)) + by.minus(x, part);
    *to = sum;
    return error;
  }
  DLT_FN void deposit_third(N x, const By& by) {
    const N error = add(&third, x, by);
    if constexpr (is_same<N, double>::value) lost += magnitude_of(error);
    else lost += size_of(error);
  }
  DLT_FN void deposit_low(N x, const By& by) { deposit_third(add(&low, x, by), by); }
  DLT_FN void deposit(N x, const By& by) { deposit_low(add(&high, x, by), by); }
  DLT_FN void merge(const ThreeWords& other, const By& by) {
    deposit(other.high, by);
    deposit_low(other.low, by);
    deposit_third(other.third, by);
    lost += other.lost;
  }
};

template <class T, int PARTS>
void run_again(SumAgain* states, const void* a, int64_t n) {
  const Fused by;
  ThreeWords<double, Plain> local[PARTS];
  for (int k = 0; k < PARTS; ++k) local[k] = {states[k].high, states[k].low, states[k].third, states[k].lost};
  const T* const p = static_cast<const T*>(a);
  const int64_t count = n * PARTS;
  int64_t i = 0;
  if (count >= 4 * lanes) {
    ThreeWords<V, Fused> both[2] = {};
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      both[0].deposit(load(p + i), by);
      both[1].deposit(load(p + i + lanes), by);
    }
    both[0].merge(both[1], by);
    const ThreeWords<V, Fused>& all = both[0];
    for (int j = 0; j < lanes; ++j) local[j % PARTS].merge({all.high[j], all.low[j], all.third[j], all.lost[j]}, {});
  }
  for (; i < count; ++i) local[i % PARTS].deposit(double(element<T>(p, i)), {});
  for (int k = 0; k < PARTS; ++k) states[k] = {local[k].high, local[k].low, local[k].third, local[k].lost};
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

// Sums of ROWS rows, `first` instead of what is in `sums`, where there is room for whole registers.
template <class T, int ROWS, bool first>
void add_rows(double* sums, Span* exponents, const char* from, int64_t row_bytes, int64_t n) {
  Span local = *exponents;
  const auto row = [&](int r) { return reinterpret_cast<const T*>(from + r * row_bytes); };
  int64_t c = 0;
  for (; c + Span::lanes <= n; c += Span::lanes) {
    V x = -V{}, y = -V{};
    if constexpr (!first) x = load(sums + c), y = load(sums + c + lanes);
    for (int r = 0; r < ROWS; ++r) add_floats(row(r) + c, &x, &y, &local);
    save(sums + c, x);
    save(sums + c + lanes, y);
  }
  if (c < n) {
    V x = -V{}, y = -V{};
    if constexpr (!first) x = load(sums + c), y = load(sums + c + lanes);
    for (int r = 0; r < ROWS; ++r) {
      T rest[Span::lanes];
      take_first(rest, row(r) + c, n - c);
      add_floats(rest, &x, &y, &local);
    }
    save(sums + c, x);
    save(sums + c + lanes, y);
  }
  *exponents = local;
}

// Rows of floats are added plainly, and the span of their exponents says afterwards how far the sums may be off.
template <class T>
double column_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  static_assert(rows_together == 8);
  const char* const from = static_cast<const char*>(a);
  Span exponents;
  exponents.clear();
  int64_t r = 0;
  if constexpr (is_same<T, float>::value) {
    static constexpr decltype(&add_rows<T, 1, true>) begin[] = {
        add_rows<T, 1, true>, add_rows<T, 2, true>, add_rows<T, 3, true>, add_rows<T, 4, true>,
        add_rows<T, 5, true>, add_rows<T, 6, true>, add_rows<T, 7, true>, add_rows<T, 8, true>};
    r = (rows - 1) % rows_together + 1;
    begin[r - 1](sums, &exponents, from, row_bytes, n);
  } else {
    add_rows<T, 1, true>(sums, &exponents, from, row_bytes, n);
    for (r = 1; (rows - r) % rows_together != 0; ++r)
      add_rows<T, 1, false>(sums, &exponents, from + r * row_bytes, row_bytes, n);
  }
  for (; r < rows; r += rows_together) add_rows<T, rows_together, false>(sums, &exponents, from + r * row_bytes, row_bytes, n);
  return exponents.error_of(rows, rows);
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
    const int64_t count = n - first < strip ? n - first : strip, wide_end = count / lanes * lanes;
    for (int64_t r = 0; r < rows; r += block) {
      const int64_t rows_now = rows - r < block ? rows - r : block;
      const char* const at = from + r * row_bytes;
      if (column_sums<float>(sums, at + 4 * first, row_bytes, rows_now, count) != 0) {
        deposit_rows<float>(w, capacity, at, row_bytes, rows_now, first, first + count);
        continue;
      }
      for (int64_t c = 0; c < wide_end; c += lanes) deposit_columns(w, capacity, first + c, load(sums + c));
      for (int64_t c = wide_end; c < count; ++c) deposit_column(w, capacity, first + c, sums[c]);
    }
  }
}

void each_exact(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  auto* const w = static_cast<double*>(states);
  constexpr int64_t block = 64;
  alignas(64) double sums[block];
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t count = rows - first < block ? rows - first : block;
    const char* const at = static_cast<const char*>(a) + first * row_bytes;
    const bool is_exact = float_row_sums(sums, at, row_bytes, count, n) == 0;
    const int64_t wide_end = is_exact ? count / lanes * lanes : 0;
    for (int64_t r = 0; r < wide_end; r += lanes) deposit_columns(w, capacity, first + r, load(sums + r));
    for (int64_t r = wide_end; r < count; ++r) {
      if (is_exact) {
        deposit_column(w, capacity, first + r, sums[r]);
        continue;
      }
      double* const state = w + first + r;
      double local[words] = {state[0], state[capacity], state[2 * capacity]};
      run_exact<float, 1>(local, at + r * row_bytes, n, 0, nullptr);
      for (int m = 0; m < words; ++m) state[m * capacity] = local[m];
    }
  }
}

// ---- few elements for each result: columns in registers, without states in memory

// Of two rows the processor rounds the sums once, and halves them without an error that another rounding would not make.
DLT_FN integers rounded_pair(V x, V y, double each, V* out) {
  const V sum = x + y;
  *out = sum * each + 0.0;
  return size_of(sum) < 0x1p900;
}
// Registers of columns from `a` on.
struct Columns {
  const char* a;
  int64_t row_bytes, rows;
  DLT_FN V at(int64_t r, int k) const { return load(reinterpret_cast<const double*>(a + r * row_bytes) + k * lanes); }
  // The columns that come next: rows lie too far apart for the processor to read ahead. Past the end too: a prefetch does not fault.
  template <int K>
  DLT_FN void prefetch_next(int64_t r) const {
    const uintptr_t next = reinterpret_cast<uintptr_t>(a + r * row_bytes) + K * register_bytes;
    for (int at = 0; at < K * register_bytes; at += 64) __builtin_prefetch(reinterpret_cast<const void*>(next + uintptr_t(at)));
  }
};
// The sums of K registers of columns, by errors and errors of errors.
template <int K>
DLT_FN void sum_columns(TwoSum (&local)[K], const Columns& from) {
  const Fused by;
  for (int k = 0; k < K; ++k) local[k] = {from.at(0, k), V{}, V{}};
  for (int64_t r = 1; r < from.rows; ++r)
    for (int k = 0; k < K; ++k) local[k].deposit(from.at(r, k), by);
}
// The same beside a bias; false where they are not known.
template <bool EXACT, int K>
DLT_FN bool sum_biased(TwoSum (&local)[K], const Bias& bias, const Columns& from) {
  const Fused by;
  BiasedLanes<K, EXACT> sums(bias);
  constexpr int64_t kept_rows = 128;  // so many are still in the first cache when their turn comes
  const auto add = [&](bool prefetches) __attribute__((always_inline)) {
    for (int64_t r = 0; r < from.rows; ++r) {
      if (prefetches) from.prefetch_next<K>(r);
      for (int k = 0; k < K; ++k) sums.deposit(k, from.at(r, k), by);
    }
  };
  if (from.rows <= kept_rows) add(true);
  else add(false);
  const V error = V{} + (EXACT ? 0.0 : rest_error(bias, from.rows));
  for (int k = 0; k < K; ++k) local[k] = {sums.above(k), sums.below(k), error};
  return !has_any(sums.unknown());
}
template <int K>
DLT_FN bool choose_bias(Bias* bias, const Columns& from) {
  Magnitudes sizes;
  for (const int64_t r : {int64_t(0), from.rows / 2, from.rows - 1})
    for (int k = 0; k < K; ++k) sizes.deposit(from.at(r, k));
  return bias->choose(sizes.most(), from.rows);
}
// Rounds K registers of columns. Returns a bit for each column that is not known.
template <class R, int K>
DLT_FN uint64_t round_registers(R* out, const TwoSum (&local)[K], double count) {
  uint64_t unknown = 0;
  for (int k = 0; k < K; ++k) {
    V results;
    const integers known = rounded<R>(local[k], count, &results);
    save_result(out + k * lanes, results);
    unknown |= uint64_t(~bits_of(known) & all_lanes) << (k * lanes);
  }
  return unknown;
}
template <class R, int K>
DLT_FN uint64_t rounded_pairs(double* out, const Columns& from, double count) {
  uint64_t unknown = 0;
  for (int k = 0; k < K; ++k) {
    V results;
    const integers known = rounded_pair(from.at(0, k), from.at(1, k), 1 / count, &results);
    save_result(out + k * lanes, results);
    unknown |= uint64_t(~bits_of(known) & all_lanes) << (k * lanes);
  }
  return unknown;
}
template <class R, int K>
DLT_FN uint64_t rounded_registers(R* out, const Columns& from, double count) {
  constexpr int64_t few = 8, many = 128;  // of fewer elements many sums lie between two floats
  if constexpr (is_same<R, double>::value)
    if (from.rows == 2 && (count == 1 || count == 2)) return rounded_pairs<R, K>(out, from, count);
  TwoSum local[K];
  if (Bias bias; from.rows >= few && choose_bias<K>(&bias, from)) {
    if (from.rows >= many && sum_biased<false>(local, bias, from) && round_registers(out, local, count) == 0) return 0;
    if (sum_biased<true>(local, bias, from) && round_registers(out, local, count) == 0) return 0;
  }
  sum_columns(local, from);
  return round_registers(out, local, count);
}

// Sums of up to 64 columns of float64, divided by `count` and rounded once. Returns the columns that are not decided, whose states are
// left.
template <class R>
uint64_t rounded_columns(void* results, double* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows,
                         int64_t n, double count) {
  R* const out = static_cast<R*>(results);
  const auto row = [&](int64_t r) { return reinterpret_cast<const double*>(static_cast<const char*>(a) + r * row_bytes); };
  uint64_t unknown = 0;
  int64_t c = 0;
  constexpr int together = register_bytes == 64 ? 4 : 2;  // as many streams of memory, and registers
  for (; c + together * lanes <= n; c += together * lanes)
    unknown |= rounded_registers<R, together>(out + c, {static_cast<const char*>(a) + 8 * c, row_bytes, rows}, count) << c;
  for (; c + lanes <= n; c += lanes)
    unknown |= rounded_registers<R, 1>(out + c, {static_cast<const char*>(a) + 8 * c, row_bytes, rows}, count) << c;
  if (c < n && n >= lanes) {  // some columns of the last register once more
    c = n - lanes;
    unknown |= rounded_registers<R, 1>(out + c, {static_cast<const char*>(a) + 8 * c, row_bytes, rows}, count) << c;
    c = n;
  }
  if (c < n) unknown |= ~uint64_t(0) >> (64 - (n - c)) << c;
  for (uint64_t left = unknown; left != 0; left &= left - 1) {
    const int k = __builtin_ctzll(left);
    double local[words];
    exact_sums::start(local);
    for (int64_t r = 0; r < rows; ++r) put(local, element<double>(row(r), k));
    for (int m = 0; m < words; ++m) states[m * capacity + k] = local[m];
  }
  return unknown;
}

// The product of the lanes of reductions.h, of which USED are taken.
template <int USED, int HALF = reductions::product_lanes / 2, class N>
DLT_FN N product_of_lanes(N* lane) {
  if constexpr (HALF == 0) return lane[0];
  else {
    constexpr int pairs = USED <= HALF ? 0 : USED - HALF < HALF ? USED - HALF : HALF;
    each<pairs>([&](int k) __attribute__((always_inline)) { lane[k] *= lane[k + HALF]; });
    return product_of_lanes<(USED < HALF ? USED : HALF), HALF / 2>(lane);
  }
}
DLT_FN V plain_nans(V x) { return x == x ? x : V{} + reductions::plain_nan(__builtin_nan("")); }

// Of up to ROWS rows in registers, with ones for those that are missing.
template <class T, int ROWS>
void few_row_products(double* out, const char* a, int64_t row_bytes, int64_t rows, int64_t n) {
  const auto row = [&](int64_t r) { return reinterpret_cast<const T*>(a + r * row_bytes); };
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    V lane[ROWS];
    each<ROWS>([&](int r) __attribute__((always_inline)) { lane[r] = r < rows ? load(row(r) + c) : V{} + 1.0; });
    save(out + c, plain_nans(product_of_lanes<ROWS>(lane)));
  }
  for (; c < n; ++c) {
    double lane[ROWS];
    for (int r = 0; r < ROWS; ++r) lane[r] = r < rows ? double(element<T>(row(r), c)) : 1.0;
    out[c] = reductions::plain_nan(product_of_lanes<ROWS>(lane));
  }
}

template <class T>
void column_products(double* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int width = 64, ordered = reductions::product_lanes;
  const char* const from = static_cast<const char*>(a);
  if (rows <= 2) return few_row_products<T, 2>(out, from, row_bytes, rows, n);
  if (rows <= 4) return few_row_products<T, 4>(out, from, row_bytes, rows, n);
  if (rows <= 8) return few_row_products<T, 8>(out, from, row_bytes, rows, n);
  if (rows <= ordered) return few_row_products<T, ordered>(out, from, row_bytes, rows, n);
  for (int64_t first = 0; first < n; first += width) {
    const int64_t m = n - first < width ? n - first : width;
    const auto value = [&](int64_t r, int64_t c) { return double(element<T>(from + r * row_bytes, first + c)); };
    double lane[ordered][width];
    // Products of the rows of each lane, in N registers from column c on, the last of which ends with column `end`.
    const auto multiply = [&]<int N>(int64_t c, int64_t end) __attribute__((always_inline)) {
      const auto column = [&](int j) { return j + 1 < N ? c + j * lanes : end - lanes; };
      for (int64_t k = 0; k < ordered; ++k) {
        V all[N];
        const auto at = [&](int64_t r, int j) {
          return load(reinterpret_cast<const T*>(from + r * row_bytes) + first + column(j));
        };
        each<N>([&](int j) __attribute__((always_inline)) { all[j] = at(k, j); });
        for (int64_t r = k + ordered; r < rows; r += ordered)
          each<N>([&](int j) __attribute__((always_inline)) { all[j] *= at(r, j); });
        each<N>([&](int j) __attribute__((always_inline)) { save(lane[k] + column(j), all[j]); });
      }
    };
    constexpr int wide = 8;  // registers
    int64_t done = 0;
    for (; done + wide * lanes <= m; done += wide * lanes) multiply.template operator()<wide>(done, done + wide * lanes);
    if (done < m && m >= lanes) {
      const int64_t left = (m - done + lanes - 1) / lanes;
      each<wide>([&](auto n) __attribute__((always_inline)) {
        if (n + 1 == left) multiply.template operator()<n + 1>(done, m);
      });
      done = m;
    }
    for (; done < m; ++done)
      for (int64_t k = 0; k < ordered; ++k) {
        lane[k][done] = value(k, done);
        for (int64_t r = k + ordered; r < rows; r += ordered) lane[k][done] *= value(r, done);
      }
    const auto end = [&](int64_t columns) {
      for (int64_t half = ordered / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; ++k)
          for (int64_t c = 0; c < columns; ++c) lane[k][c] *= lane[k + half][c];
      for (int64_t c = 0; c < columns; ++c) out[first + c] = reductions::plain_nan(lane[0][c]);
    };
    if (m == width) end(width);
    else end(m);
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
  FewKernels* const few = &kernels->few;
  few->rounded_columns[0] = rounded_columns<float>;
  few->rounded_columns[1] = rounded_columns<double>;
  few->column_products[0] = column_products<float>;
  few->column_products[1] = column_products<double>;
  few->column_sums[source_float32] = column_sums<float>;
  few->column_sums[source_bfloat16] = column_sums<bfloat16>;
#if defined(__F16C__)
  few->column_sums[source_float16] = column_sums<float16>;
#endif
  fill<float>(kernels, type_float32, type_complex64);
  fill<double>(kernels, type_float64, type_complex128);
  fill_moments(kernels);
  fill_row_results(kernels);
  fill_narrow_sums(kernels);
}

}  // namespace dlt::DLT_LEVEL
