// SPDX-License-Identifier: Apache-2.0
// Running sums in the lanes of registers, with the errors of their additions: states are those of native/ops/reduce/exact_sums.h.
// Any order of additions leads to the same rounded result, so lanes are as many as the registers have.
#pragma once
#include "native/cpu/reduce/kernels/reductions.h"
#include "native/ops/reduce/exact_sums.h"

namespace dlt::DLT_LEVEL {

void fill_moments(ReduceKernels* kernels);  // called by fill_exact_sums()
void fill_row_results(ReduceKernels* kernels);  // the same
void fill_narrow_sums(ReduceKernels* kernels);  // the same
double float_row_sums(double* sums, const void* a, int64_t row_bytes, int64_t rows,
                      int64_t n);  // FewKernels::row_sums of float32

namespace {

using namespace exact_sums;

using doubles = pack<double>;
using V = doubles::type;
constexpr int lanes = doubles::lanes;
typedef int64_t integers __attribute__((vector_size(register_bytes)));

DLT_FN V load(const double* p) { return *reinterpret_cast<const doubles::loose*>(p); }
DLT_FN V load(const float* p) { return widened(p); }
DLT_FN void save(double* p, V x) { *reinterpret_cast<doubles::loose*>(p) = x; }
DLT_FN V size_of(V x) { return reinterpret_cast<V>(reinterpret_cast<integers>(x) & int64_t(~uint64_t(0) >> 1)); }

// A bit for each lane that is true.
constexpr unsigned all_lanes = (1u << lanes) - 1;
DLT_FN unsigned bits_of(integers mask) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask(__m512i(mask));
#elif defined(__AVX2__)
  return unsigned(_mm256_movemask_pd(__m256d(mask)));
#else
  unsigned bits = 0;
  for (int j = 0; j < lanes; ++j) bits |= unsigned(mask[j] & 1) << j;
  return bits;
#endif
}
DLT_FN bool has_any(integers x) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(__m512i(x), __m512i(x)) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256(__m256i(x), __m256i(x));
#else
  int64_t all = 0;
  for (int j = 0; j < lanes; ++j) all |= x[j];
  return all != 0;
#endif
}
// c - a * b, rounded once.
DLT_FN V rest_of(V c, V a, V b) {
#if defined(__AVX512F__)
  return V(_mm512_fnmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif defined(__FMA__)
  return V(_mm256_fnmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#else
  for (int j = 0; j < lanes; ++j) c[j] = fused(-a[j], b[j], c[j]);
  return c;
#endif
}

// Sums in lanes with the errors of errors, as put() and join() of native/ops/reduce/exact_sums.h. Half of the additions run as FMAs,
// on the multiply ports.
struct TwoSum {
  V above, below, lost;
  DLT_FN void deposit_below(V x, const Fused& by = {}) {
    const V rest = below + x, share = by.minus(rest, below);
    lost += size_of((below - by.minus(rest, share)) + by.minus(x, share));
    below = rest;
  }
  DLT_FN void deposit(V x, const Fused& by = {}) {
    const V sum = above + x, part = by.minus(sum, above), error = (above - by.minus(sum, part)) + by.minus(x, part);
    above = sum;
    deposit_below(error, by);
  }
  DLT_FN void merge(const TwoSum& other, const Fused& by = {}) {
    deposit(other.above, by);
    deposit_below(other.below, by);
    lost += other.lost;
  }
  // Lane j goes into state j % parts.
  DLT_FN void flush(double (*states)[words], int parts) const {
    for (int j = 0; j < lanes; ++j) {
      const double one[words] = {above[j], below[j], lost[j]};
      exact_sums::join(states[j % parts], one);
    }
  }
  DLT_FN void load_from(const double* w, int64_t capacity) {
    above = load(w);
    below = load(w + capacity);
    lost = load(w + 2 * capacity);
  }
  DLT_FN void save_to(double* w, int64_t capacity) const {
    save(w, above);
    save(w + capacity, below);
    save(w + 2 * capacity, lost);
  }
};

// Sums in lanes. The errors are added up without theirs being kept: the bound has room for as many steps as there were.
template <int K>
struct TwoSumLanes {
  V high[K], low[K], size[K];
  DLT_FN void clear() {
    for (int k = 0; k < K; ++k) {
      high[k] = -V{};
      low[k] = size[k] = V{};
    }
  }
  DLT_FN void deposit(int k, V x, const Fused& fused = {}) {
    const V sum = high[k] + x, part = fused.minus(sum, high[k]);
    const V error = (high[k] - fused.minus(sum, part)) + fused.minus(x, part);
    high[k] = sum;
    low[k] = fused.plus(error, low[k]);
    size[k] += size_of(error);
  }
  // Each lane has taken `steps` elements at most.
  DLT_FN TwoSum state(int k, int64_t steps) const { return {high[k], low[k], size[k] * (double(steps) * 0x1p-52)}; }
  // Lane j goes into state j % parts.
  DLT_FN void flush(double (*states)[words], int parts, int64_t steps) const {
    TwoSum all = state(0, steps);
    for (int k = 1; k < K; ++k) all.merge(state(k, steps));
    all.flush(states, parts);
  }
};

template <class T>
DLT_FN T element(const void* a, int64_t i) {
  return static_cast<const loose_t<T>*>(a)[i];
}

// Rows `row_bytes` apart, of which the last one stands for those that follow.
struct Rows {
  const char* at;
  int64_t row_bytes, count;
  DLT_FN const char* operator()(int64_t r) const { return at + (r < count ? r : count - 1) * row_bytes; }
};

// The first n < COUNT elements, and zeros behind them. A copy of so many bytes would be a call, and what is loaded after it would wait.
template <class T, int COUNT>
DLT_FN void take_first(T (&to)[COUNT], const T* from, int64_t n) {
#if defined(__AVX512F__)
  const uint64_t there = (uint64_t(1) << (n * int64_t(sizeof(T)))) - 1;
  if constexpr (sizeof to == 64) return _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(__mmask64(there), from));
  if constexpr (sizeof to == 32)
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_maskz_loadu_epi8(__mmask32(there), from));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) >= 4 && sizeof to == 32) {
    const __m256i count = sizeof(T) == 4 ? _mm256_set1_epi32(int(n)) : _mm256_set1_epi32(int(2 * n));
    const __m256i there = _mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                               _mm256_maskload_epi32(reinterpret_cast<const int*>(from), there));
  }
#endif
  for (int k = 0; k < COUNT; ++k) to[k] = T{};
  __builtin_memcpy(to, from, size_t(n) * sizeof(T));
}

// The processor does not read ahead beyond a page of 4 KiB. Past the end too: a prefetch does not fault.
DLT_FN void prefetch_page(const void* at, int64_t bytes) {
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(at) + 4096;
  for (int64_t k = 0; k < bytes; k += 64) __builtin_prefetch(reinterpret_cast<const void*>(ahead + uintptr_t(k)));
}

template <class T, int PARTS>
void deposit_all(double (*states)[words], const T* p, int64_t n) {
  constexpr int K = register_bytes == 64 ? 4 : 2;
  const Fused fused;
  int64_t i = 0;
  if (n >= 2 * K * lanes) {
    TwoSumLanes<K> local;
    local.clear();
    for (; i + K * lanes <= n; i += K * lanes) {
      prefetch_page(p + i, K * lanes * int64_t(sizeof(T)));
      for (int k = 0; k < K; ++k) local.deposit(k, load(p + i + k * lanes), fused);
    }
    local.flush(states, PARTS, n / (K * lanes) + 1);
  }
  for (; i < n; ++i) put(states[i % PARTS], double(element<T>(p, i)));
}

template <class U>
uint32_t greatest_of(U all) {
  uint32_t most = 0;
  for (int j = 0; j < register_bytes / 4; ++j) most = all[j] > most ? all[j] : most;
  return most;
}
// The lowest and the highest exponent of floats, zeros left out.
struct Span {
  typedef uint32_t U __attribute__((vector_size(register_bytes)));
  typedef uint32_t loose __attribute__((vector_size(register_bytes), aligned(1), may_alias));
  static constexpr int lanes = register_bytes / 4;
  U low, high;
  DLT_FN void clear() {
    low = ~U{};
    high = U{};
  }
  DLT_FN void deposit(const float* p) { deposit(*reinterpret_cast<const loose*>(p)); }
  DLT_FN void deposit(U floats) {
    const U bits = floats & 0x7fffffffu, less = bits - 1u;
    low = less < low ? less : low;
    high = bits > high ? bits : high;
  }
  uint32_t greatest() const { return greatest_of(high); }
  // Sums of fewer than 2^(30 - span) such elements are exact in float64. 99 with infinities and NaN.
  int span() const {
    uint32_t least = 0x7f7fffff;
    for (int j = 0; j < lanes; ++j) least = low[j] < least ? low[j] : least;
    const uint32_t most = greatest();
    return most >> 23 == 255 ? 99 : int(most >> 23) - int((least + 1) >> 23);
  }
  inline double error_of(int64_t n, int64_t additions) const;
};
DLT_FN int log2_above(int64_t n) { return n <= 1 ? 0 : 64 - __builtin_clzll(uint64_t(n - 1)); }
constexpr int spare_bits = 53 - 24;  // of a float in a float64
// At most what a sum of n such elements in float64 is off by, after so many additions one after the other, with room for the
// rounding of more operations: 0 where it is exact, infinity where they are not finite. Partial sums are below n times the greatest.
inline double Span::error_of(int64_t n, int64_t additions) const {
  if (span() <= spare_bits - log2_above(n)) return 0;
  const double most = double(bits_as<float>(greatest()));
  return most < __builtin_inf() ? most * double(n) * double(additions + 2) * 0x1p-53 : __builtin_inf();
}
// Registers of sums. Where there are 16 registers, four leave room for the spans of exponents.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int sum_registers = 8;
#else
constexpr int sum_registers = 4;
#endif

// A block of floats is added plainly in lanes; the span of exponents says afterwards whether that was exact.
template <int PARTS>
void deposit_block(double (*states)[words], const float* p, int64_t n) {
  constexpr int A = sum_registers, width = A * lanes, S = width / Span::lanes;
  constexpr bool by_multipliers = register_bytes == 32;  // the units that add convert
  V sums[A];
  const Fused fused;
  Span exponents;
  exponents.clear();
  for (int k = 0; k < A; ++k) sums[k] = -V{};
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    prefetch_page(p + i, width * 4);
    for (int k = 0; k < A; k += 2) {
      if constexpr (by_multipliers) sums[k] = fused.plus(load(p + i + k * lanes), sums[k]);
      else sums[k] += load(p + i + k * lanes);
      sums[k + 1] = fused.plus(load(p + i + (k + 1) * lanes), sums[k + 1]);
    }
    for (int k = 0; k < S; ++k) exponents.deposit(p + i + k * Span::lanes);
  }
  if (i < n) {
    float rest[width];
    for (int64_t k = 0; k < width; ++k) rest[k] = i + k < n ? element<float>(p, i + k) : -0.0f;
    for (int k = 0; k < A; ++k) sums[k] += load(rest + k * lanes);
    for (int k = 0; k < S; ++k) exponents.deposit(rest + k * Span::lanes);
  }
  const int span = exponents.span();
  if (span > spare_bits - log2_above((n + width - 1) / width)) return deposit_all<float, PARTS>(states, p, n);
  if (span <= spare_bits - log2_above(n)) {
    for (int half = A / 2; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
    double last[lanes];
    save(last, sums[0]);
    for (int half = lanes / 2; half >= PARTS; half /= 2)
      for (int j = 0; j < half; ++j) last[j] += last[j + half];
    for (int j = 0; j < PARTS; ++j) put(states[j], last[j]);
    return;
  }
  TwoSumLanes<1> all;
  all.clear();
  for (int k = 0; k < A; ++k) all.deposit(0, sums[k], fused);
  all.flush(states, PARTS, A);
}

// ---- rows: one state for each column

DLT_FN void deposit_column(double* w, int64_t capacity, int64_t c, double x) {
  double local[words] = {w[c], w[capacity + c], w[2 * capacity + c]};
  put(local, x);
  for (int m = 0; m < words; ++m) w[m * capacity + c] = local[m];
}
// Adds to columns c, c + 1 ...
DLT_FN void deposit_columns(double* w, int64_t capacity, int64_t c, V x) {
  TwoSum local;
  local.load_from(w + c, capacity);
  local.deposit(x);
  local.save_to(w + c, capacity);
}
DLT_FN void merge_columns(double* w, int64_t capacity, int64_t c, const TwoSum& other) {
  TwoSum local;
  local.load_from(w + c, capacity);
  local.merge(other);
  local.save_to(w + c, capacity);
}

// Several rows at a time: as many streams for the processor to read ahead, and fewer loads and stores of the sums.
constexpr int rows_together = 8;
DLT_FN int64_t rows_next(int64_t rows) { return rows < rows_together ? rows : rows_together; }

// ---- states of one sum or of two

template <int SUMS>
void start_sums(void* states, int64_t capacity, int64_t n) {
  auto* const w = static_cast<double*>(states);
  for (int m = 0; m < SUMS * words; ++m)
    for (int64_t c = 0; c < n; ++c) w[m * capacity + c] = 0.0;
}
template <int SUMS>
void merge_sums(void* states, int64_t capacity, const void* from, int64_t from_capacity, int64_t n) {
  auto* const w = static_cast<double*>(states);
  const auto* const others = static_cast<const double*>(from);
  for (int s = 0; s < SUMS; ++s)
    for (int64_t c = 0; c < n; ++c) {
      double local[words], other[words];
      for (int m = 0; m < words; ++m) {
        local[m] = w[(s * words + m) * capacity + c];
        other[m] = others[(s * words + m) * from_capacity + c];
      }
      join(local, other);
      for (int m = 0; m < words; ++m) w[(s * words + m) * capacity + c] = local[m];
    }
}

// ---- the ends of sums: as many registers as one has lanes become one, which is divided and rounded once, where the bound on the errors
// leaves one value

template <int S, bool ODD>
DLT_FN TwoSum turns_of(const TwoSum& x, const TwoSum& y) {
  return {turns_of<S, ODD>(x.above, y.above), turns_of<S, ODD>(x.below, y.below), turns_of<S, ODD>(x.lost, y.lost)};
}
struct Add {
  Fused by;
  template <class X>
  DLT_FN X operator()(X x, X y) const {
    return x + y;
  }
  DLT_FN TwoSum operator()(TwoSum x, TwoSum y) const {
    x.merge(y, by);
    return x;
  }
};
// The numbers as a dtype has them.
template <class R>
DLT_FN V as_result(V x) {
  if constexpr (is_same<R, double>::value) return x;
  else {
    const half_vector rounded = narrowed(x);
    return widened(reinterpret_cast<const float*>(&rounded));
  }
}
DLT_FN void save_result(double* to, V x) { save(to, x); }
DLT_FN void save_result(float* to, V x) {
  const half_vector rounded = narrowed(x);
  __builtin_memcpy(to, &rounded, sizeof rounded);
}
// A register of sums, divided by `count` and rounded once, and which are known.
template <class R>
DLT_FN integers rounded(const TwoSum& local, double count, V* out) {
  const bool is_power = (int64_t(count) & (int64_t(count) - 1)) == 0;  // of two: the quotients are exact
  const double each = 1 / count;
  V above = local.above, below = local.below, margin{};
  if (is_power) {
    if (has_any(local.lost != 0)) margin = local.lost == 0 ? V{} : local.lost * 2 + size_of(below) * 0x1p-52;
  } else {  // as divide_exactly(): of few elements many quotients lie just between two floats
    const V sum = above + below, part = sum - above, rest = (above - (sum - part)) + (below - part);
    above = sum * each;
    const V high = rest_of(sum, above, V{} + count), left = high + rest, taken = left - high;
    const V error = (high - (left - taken)) + (rest - taken), rough = left * each;
    below = rough + rest_of(left, rough, V{} + count) * each;
    const integers is_exact = (rest_of(left, below, V{} + count) == 0) & (error == 0) & (local.lost == 0);
    margin = is_exact ? V{} : (local.lost + size_of(error)) * 2 * each + size_of(below) * 0x1p-50;
  }
  const V up = as_result<R>(above + (below + margin)), down = as_result<R>(above + (below - margin)), size = size_of(up);
  *out = (is_power ? up * each : up) + 0.0;
  // Remainders, and quotients by a power of two, are exact in this range; infinities and NaN are added again.
  integers known = (up == down) & (size < (is_same<R, float>::value ? 0x1p127 : 0x1p900));
  if (count != 1) known &= (size > 0x1p-900) | ((local.above == 0) & (local.below == 0) & (local.lost == 0));
  return known;
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
