// SPDX-License-Identifier: Apache-2.0
// The loops of exact sums, moments and squared deviations of floats. States are those of native/ops/reduce/exact_sums.h: any order
// of additions leads to the same rounded result, so lanes are as many as the registers have.
#include "native/cpu/reduce/kernels/reductions.h"
#include "native/ops/reduce/exact_sums.h"

namespace dlt::DLT_LEVEL {
namespace {

using namespace exact_sums;

using doubles = vector_of<double>;
using V = doubles::type;
constexpr int lanes = doubles::lanes;
typedef int64_t integers __attribute__((vector_size(vector_bytes)));

DLT_FN V load(const double* p) { return *reinterpret_cast<const doubles::loose*>(p); }
DLT_FN V load(const float* p) { return widened(p); }
DLT_FN void save(double* p, V x) { *reinterpret_cast<doubles::loose*>(p) = x; }
DLT_FN V size_of(V x) { return reinterpret_cast<V>(reinterpret_cast<integers>(x) & int64_t(~uint64_t(0) >> 1)); }

// Sums in lanes with the errors of errors, as put() and join() of native/ops/reduce/exact_sums.h.
struct States {
  V above, below, lost;
  DLT_FN void put_below(V x) {
    const V rest = below + x, share = rest - below;
    lost += size_of((below - (rest - share)) + (x - share));
    below = rest;
  }
  DLT_FN void put(V x) {
    const V sum = above + x, part = sum - above, error = (above - (sum - part)) + (x - part);
    above = sum;
    put_below(error);
  }
  DLT_FN void join(const States& other) {
    put(other.above);
    put_below(other.below);
    lost += other.lost;
  }
  // Lane j goes into state j % parts.
  DLT_FN void end(double (*states)[words], int parts) const {
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
struct Lanes {
  V high[K], low[K], size[K];
  DLT_FN void start() {
    for (int k = 0; k < K; ++k) {
      high[k] = -V{};
      low[k] = size[k] = V{};
    }
  }
  // Half of it by the units that multiply.
  DLT_FN void put(int k, V x, const Fused& fused = {}) {
    const V sum = high[k] + x, part = fused.minus(sum, high[k]);
    const V error = (high[k] - fused.minus(sum, part)) + fused.minus(x, part);
    high[k] = sum;
    low[k] = fused.plus(error, low[k]);
    size[k] += size_of(error);
  }
  // Each lane has taken `steps` elements at most.
  DLT_FN States state(int k, int64_t steps) const { return {high[k], low[k], size[k] * (double(steps) * 0x1p-52)}; }
  // Lane j goes into state j % parts.
  DLT_FN void end(double (*states)[words], int parts, int64_t steps) const {
    States all = state(0, steps);
    for (int k = 1; k < K; ++k) all.join(state(k, steps));
    all.end(states, parts);
  }
};

template <class T>
DLT_FN T element(const void* a, int64_t i) {
  return static_cast<const loose_t<T>*>(a)[i];
}

// The processor does not read ahead beyond a page of 4 KiB. Past the end too: a prefetch does not fault.
DLT_FN void look_ahead(const void* at, int64_t bytes) {
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(at) + 4096;
  for (int64_t k = 0; k < bytes; k += 64) __builtin_prefetch(reinterpret_cast<const void*>(ahead + uintptr_t(k)));
}

// ---- runs

template <class T, int PARTS>
void put_all(double (*states)[words], const T* p, int64_t n) {
  constexpr int K = vector_bytes == 64 ? 4 : 2;
  const Fused fused;
  int64_t i = 0;
  if (n >= 2 * K * lanes) {
    Lanes<K> mine;
    mine.start();
    for (; i + K * lanes <= n; i += K * lanes) {
      look_ahead(p + i, K * lanes * int64_t(sizeof(T)));
      for (int k = 0; k < K; ++k) mine.put(k, load(p + i + k * lanes), fused);
    }
    mine.end(states, PARTS, n / (K * lanes) + 1);
  }
  for (; i < n; ++i) put(states[i % PARTS], double(element<T>(p, i)));
}

// The lowest and the highest exponent of floats, zeros left out.
struct Span {
  typedef uint32_t U __attribute__((vector_size(vector_bytes)));
  typedef uint32_t loose __attribute__((vector_size(vector_bytes), aligned(1), may_alias));
  static constexpr int lanes = vector_bytes / 4;
  U low, high;
  DLT_FN void start() {
    low = ~U{};
    high = U{};
  }
  DLT_FN void put(const float* p) {
    const U bits = *reinterpret_cast<const loose*>(p) & 0x7fffffffu, less = bits - 1u;
    low = less < low ? less : low;
    high = bits > high ? bits : high;
  }
  // Sums of fewer than 2^(30 - span) such elements are exact in float64. 99 with infinities and NaN.
  int span() const {
    uint32_t least = 0x7f7fffff, most = 0;
    for (int j = 0; j < lanes; ++j) {
      least = low[j] < least ? low[j] : least;
      most = high[j] > most ? high[j] : most;
    }
    return most >> 23 == 255 ? 99 : int(most >> 23) - int((least + 1) >> 23);
  }
};
DLT_FN int log2_above(int64_t n) { return n <= 1 ? 0 : 64 - __builtin_clzll(uint64_t(n - 1)); }
constexpr int spare_bits = 53 - 24;  // of a float in a float64
// Registers of sums. Where there are 16 registers, four leave room for the spans of exponents.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int sum_registers = 8;
#else
constexpr int sum_registers = 4;
#endif

// A block of floats is added plainly in lanes; the span of exponents says afterwards whether that was exact.
template <int PARTS>
void put_block(double (*states)[words], const float* p, int64_t n) {
  constexpr int A = sum_registers, width = A * lanes, S = width / Span::lanes;
  constexpr bool by_multipliers = vector_bytes == 32;  // the units that add convert
  V sums[A];
  const Fused fused;
  Span exponents;
  exponents.start();
  for (int k = 0; k < A; ++k) sums[k] = -V{};
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    look_ahead(p + i, width * 4);
    for (int k = 0; k < A; k += 2) {
      if constexpr (by_multipliers) sums[k] = fused.plus(load(p + i + k * lanes), sums[k]);
      else sums[k] += load(p + i + k * lanes);
      sums[k + 1] = fused.plus(load(p + i + (k + 1) * lanes), sums[k + 1]);
    }
    for (int k = 0; k < S; ++k) exponents.put(p + i + k * Span::lanes);
  }
  if (i < n) {
    float rest[width];
    for (int64_t k = 0; k < width; ++k) rest[k] = i + k < n ? element<float>(p, i + k) : -0.0f;
    for (int k = 0; k < A; ++k) sums[k] += load(rest + k * lanes);
    for (int k = 0; k < S; ++k) exponents.put(rest + k * Span::lanes);
  }
  const int span = exponents.span();
  if (span > spare_bits - log2_above((n + width - 1) / width)) return put_all<float, PARTS>(states, p, n);
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
  Lanes<1> all;
  all.start();
  for (int k = 0; k < A; ++k) all.put(0, sums[k], fused);
  all.end(states, PARTS, A);
}

// ---- runs of float64: a large number takes the upper bits of each element by an exact addition; what it leaves is added apart

DLT_FN integers bits_of(V x) { return reinterpret_cast<integers>(x); }
// all | (x ^ y)
DLT_FN integers with_changes(integers all, integers x, integers y) {
#if defined(__AVX512F__)
  return integers(_mm512_ternarylogic_epi64(__m512i(all), __m512i(x), __m512i(y), 0xf6));
#else
  return all | (x ^ y);
#endif
}
DLT_FN uint64_t any_of(integers x) {
  uint64_t all = 0;
  for (int j = 0; j < lanes; ++j) all |= uint64_t(x[j]);
  return all;
}
constexpr uint64_t sign = uint64_t(1) << 63, mantissa = (uint64_t(1) << 52) - 1;

// The greatest of the bits without signs.
uint64_t most_of(const double* p, int64_t n) {
  uint64_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = static_cast<const loose_t<uint64_t>*>(static_cast<const void*>(p))[i] & ~sign;
    most = bits > most ? bits : most;
  }
  return most;
}

// Sums of elements that are small beside `large`. As long as `large` + the elements before lies between two powers of two, its
// bits count how many multiples of `unit` were added, and `rests` has what is below.
class Split {
 public:
  static constexpr int64_t block = 4096, blocks = 32;  // of which 64 bits hold the multiples

  void start() {
    counts_ = integers{};
    rests_.start();
    steps_ = 0;
    bound_ = 0;
  }
  // For elements whose bits are `most` at most, of which a lane takes a block's. False when they are too large or not finite.
  bool choose(uint64_t most) {
    const uint64_t field = (most >> 52) + 3 + uint64_t(log2_above(block / width));
    if (field > 1900) return false;
    const uint64_t bits = (field < 300 ? 300 : field) << 52;
    large_ = integers{} + int64_t(bits | uint64_t(1) << 51);
    unit_ = bits_as<double>(bits - (uint64_t(52) << 52));
    return true;
  }
  // False when an element is too large; then nothing is taken.
  bool put(const double* p, int64_t n) {
    const bool tried = plain_;
    if (plain_ && put_plain(p, n)) return true;
    plain_ = false;
    V rests[K];
    integers counts, any{};
    if (add<true>(p, n, &counts, rests) != 0) return false;
    for (int k = 0; k < K; ++k) any |= bits_of(rests[k]);
    if (!tried && (any_of(any) & ~sign) == 0 && put_plain(p, n)) return plain_ = true;
    counts_ += counts;
    rests_.put(0, (rests[0] + rests[1]) + (rests[2] + rests[3]));
    ++steps_;
    const double steps = double(n / width + 3);
    bound_ += 4 * steps * steps * unit_ *
              0x1p-54;  // rests are half a unit, their sums `steps` halves, the errors 2^-53 of that
    return true;
  }
  // Lane j goes into state j % parts.
  void end(double (*states)[words], int parts) {
    for (int k = 0; k < parts; ++k) {
      int64_t count = 0;
      for (int j = k; j < lanes; j += parts) count += counts_[j];
      const double above = double(count);
      if (count != 0) {
        exact_sums::put(states[k], above * unit_);
        exact_sums::put(states[k], double(count - int64_t(above)) * unit_);
      }
      states[k][bound] += bound_ * (lanes / parts);
    }
    rests_.end(states, parts, steps_);
    start();
  }

 private:
  static constexpr int K = 4, width = K * lanes;

  // Without rests; false when there are any.
  bool put_plain(const double* p, int64_t n) {
    integers counts;
    const uint64_t lost = add<false>(p, n, &counts, nullptr);
    if ((lost & ~sign) != 0) return false;  // a sign alone is that of a -0.0
    counts_ += counts;
    rests_.put(0, V{});
    ++steps_;
    return true;
  }

  // Not 0 when `large` was too small or, without RESTS, when there were rests.
  template <bool RESTS>
  uint64_t add(const double* p, int64_t n, integers* counts, V* rests) const {
    const Fused fused;
    V sums[K], below[K];
    integers changes[K], lost[K];
    for (int k = 0; k < K; ++k) {
      sums[k] = reinterpret_cast<V>(large_);
      below[k] = -V{};
      changes[k] = lost[k] = integers{};
    }
    const auto take = [&](const double* from) {
      for (int k = 0; k < K; ++k) {
        const V x = load(from + k * lanes), sum = sums[k] + x, taken = fused.minus(sum, sums[k]);
        changes[k] = with_changes(changes[k], bits_of(sum), large_);
        if constexpr (RESTS) below[k] = fused.plus(x - taken, below[k]);
        else lost[k] = with_changes(lost[k], bits_of(taken), bits_of(x));
        sums[k] = sum;
      }
    };
    int64_t i = 0;
    for (; i + width <= n; i += width) {
      look_ahead(p + i, width * 8);
      take(p + i);
    }
    if (i < n) {
      double last[width];
      for (int k = 0; k < width; ++k) last[k] = i + k < n ? element<double>(p, i + k) : 0.0;
      take(last);
    }
    integers all{};
    *counts = integers{};
    for (int k = 0; k < K; ++k) {
      *counts += bits_of(sums[k]) - large_;
      all |= (changes[k] & int64_t(~mantissa)) | lost[k];
      if constexpr (RESTS) rests[k] = below[k];
    }
    return any_of(all);
  }

  integers large_{}, counts_{};
  double unit_ = 0, bound_ = 0;
  Lanes<1> rests_;
  int64_t steps_ = 0;
  bool plain_ = false;  // whether the last block left no rests
};

template <int PARTS>
void put_split(double (*states)[words], const double* p, int64_t n) {
  Split sums;
  sums.start();
  bool chosen = false;
  for (int64_t i = 0, taken = 0; i < n; i += Split::block) {
    const int64_t m = n - i < Split::block ? n - i : Split::block;
    if (chosen && taken < Split::blocks && sums.put(p + i, m)) {
      ++taken;
      continue;
    }
    if (chosen) sums.end(states, PARTS);
    taken = 1;
    chosen = sums.choose(most_of(p + i, m));
    if (!chosen || !sums.put(p + i, m)) put_all<double, PARTS>(states, p + i, m);
  }
  if (chosen) sums.end(states, PARTS);
}

template <class T, int PARTS>
void run_exact(void* states, const void* a, int64_t n, int64_t, const double*) {
  auto* const w = static_cast<double*>(states);
  double mine[PARTS][words];
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) mine[k][m] = w[m * PARTS + k];
  const T* const p = static_cast<const T*>(a);
  const int64_t count = n * PARTS;
  if constexpr (is_same<T, float>::value) {
    constexpr int64_t block = 4096;
    if (count < 16) {
      for (int64_t i = 0; i < count; ++i) put(mine[i % PARTS], double(element<float>(p, i)));
    } else {
      for (int64_t i = 0; i < count; i += block) put_block<PARTS>(mine, p + i, count - i < block ? count - i : block);
    }
  } else {
    if (count < 512) put_all<T, PARTS>(mine, p, count);
    else put_split<PARTS>(mine, p, count);
  }
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) w[m * PARTS + k] = mine[k][m];
}

// The same with the errors of errors, which leave little in doubt: for sums far smaller than their elements.
template <class T, int PARTS>
void run_again(void* states, const void* a, int64_t n) {
  auto* const mine = static_cast<double(*)[words]>(states);
  const T* const p = static_cast<const T*>(a);
  const int64_t count = n * PARTS;
  int64_t i = 0;
  if (count >= 4 * lanes) {
    States both[2] = {{-V{}, V{}, V{}}, {-V{}, V{}, V{}}};
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      both[0].put(load(p + i));
      both[1].put(load(p + i + lanes));
    }
    both[0].join(both[1]);
    both[0].end(mine, PARTS);
  }
  for (; i < count; ++i) put(mine[i % PARTS], double(element<T>(p, i)));
}

// ---- rows: one state for each column

DLT_FN void put_column(double* w, int64_t capacity, int64_t c, double x) {
  double mine[words] = {w[c], w[capacity + c], w[2 * capacity + c]};
  put(mine, x);
  for (int m = 0; m < words; ++m) w[m * capacity + c] = mine[m];
}
// The same for columns c, c + 1 ...
DLT_FN void put_columns(double* w, int64_t capacity, int64_t c, V x) {
  States mine;
  mine.load_from(w + c, capacity);
  mine.put(x);
  mine.save_to(w + c, capacity);
}
DLT_FN void join_columns(double* w, int64_t capacity, int64_t c, const States& other) {
  States mine;
  mine.load_from(w + c, capacity);
  mine.join(other);
  mine.save_to(w + c, capacity);
}

// Several rows at a time: as many streams for the processor to read ahead, and fewer loads and stores of the sums.
constexpr int rows_together = 8;
// Of fewer rows more sums lie just between two floats, where a bound would have them read again.
constexpr int64_t many_rows = 32;
DLT_FN int64_t rows_next(int64_t rows) { return rows < rows_together ? rows : rows_together; }

template <class T>
void put_rows(double* w, int64_t capacity, const char* a, int64_t row_bytes, int64_t rows, int64_t from, int64_t n) {
  const int64_t wide_end = from + (n - from) / lanes * lanes;
  const auto row = [&](int64_t r) { return reinterpret_cast<const T*>(a + r * row_bytes); };
  const Fused fused;
  int64_t r = 0;
  for (; rows >= many_rows && r + rows_together <= rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      Lanes<1> mine;
      mine.start();
      for (int k = 0; k < rows_together; ++k) mine.put(0, load(row(r + k) + c), fused);
      join_columns(w, capacity, c, mine.state(0, rows_together));
    }
  for (; r < rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      States mine;
      mine.load_from(w + c, capacity);
      for (int64_t k = 0; k < rows_next(rows - r); ++k) mine.put(load(row(r + k) + c));
      mine.save_to(w + c, capacity);
    }
  for (r = 0; r < rows; ++r)
    for (int64_t c = wide_end; c < n; ++c) put_column(w, capacity, c, double(element<T>(row(r), c)));
}

template <int ROWS>
DLT_FN void add_rows(double* sums, Span* exponents, const char* from, int64_t row_bytes, int64_t n) {
  Span mine = *exponents;
  for (int64_t c = 0; c < n; c += Span::lanes) {
    V x = load(sums + c), y = load(sums + c + lanes);
    for (int r = 0; r < ROWS; ++r) {
      const float* const row = reinterpret_cast<const float*>(from + r * row_bytes) + c;
      x += load(row);
      y += load(row + lanes);
      mine.put(row);
    }
    save(sums + c, x);
    save(sums + c + lanes, y);
  }
  *exponents = mine;
}

template <class T>
void rows_exact(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t,
                const double*) {
  auto* const w = static_cast<double*>(states);
  const char* from = static_cast<const char*>(a);
  if constexpr (!is_same<T, float>::value) return put_rows<T>(w, capacity, from, row_bytes, rows, 0, n);
  constexpr int64_t block = 64, strip = 1024;
  double sums[strip];
  for (int64_t first = 0; first < n; first += strip) {
    const int64_t end = n - first < strip ? n : first + strip, wide_end = first + (end - first) / Span::lanes * Span::lanes;
    for (int64_t r = 0; r < rows; r += block) {
      const int64_t count = rows - r < block ? rows - r : block;
      const char* const rows_at = from + r * row_bytes;
      put_rows<float>(w, capacity, rows_at, row_bytes, count, wide_end, end);
      if (wide_end == first) continue;
      Span exponents;
      exponents.start();
      for (int64_t c = 0; c < wide_end - first; ++c) sums[c] = 0.0;
      int64_t k = 0;
      for (; k + rows_together <= count; k += rows_together)
        add_rows<rows_together>(sums, &exponents, rows_at + k * row_bytes + 4 * first, row_bytes, wide_end - first);
      for (; k < count; ++k) add_rows<1>(sums, &exponents, rows_at + k * row_bytes + 4 * first, row_bytes, wide_end - first);
      if (exponents.span() > spare_bits - log2_above(count)) {
        put_rows<float>(w, capacity, rows_at, row_bytes, count, first, wide_end);
        continue;
      }
      for (int64_t c = 0; c < wide_end - first; c += lanes) put_columns(w, capacity, first + c, load(sums + c));
    }
  }
}

// ---- moments: the sum of the elements and that of their squares, which float64 holds exactly

// Sums of squares in lanes. They only add up, so that the last sum bounds the errors of all before it.
template <int K>
struct SquareLanes {
  V high[K], low[K];
  DLT_FN void start() {
    for (int k = 0; k < K; ++k) high[k] = low[k] = V{};
  }
  DLT_FN V put_high(int k, V x) {
    const V sum = high[k] + x, part = sum - high[k];
    const V error = (high[k] - (sum - part)) + (x - part);
    high[k] = sum;
    return error;
  }
  DLT_FN void put(int k, V x) { low[k] += put_high(k, x); }
  DLT_FN void put(int k, V above, V below) { low[k] += put_high(k, above) + below; }  // |below| at most 2^-51 of above
  // Each lane has taken `steps` elements.
  DLT_FN States state(int k, int64_t steps) const {
    return {high[k], low[k], high[k] * (double(steps) * double(steps + 1) * 0x1p-102)};
  }
  // Lane j goes into state j % PARTS.
  template <int PARTS>
  DLT_FN void end(double (*states)[words], int64_t steps) const {
    States all = state(0, steps);
    for (int k = 1; k < K; ++k) all.join(state(k, steps));
    all.end(states, PARTS);
  }
};

// sum + x * x for squares that float64 holds: rounded once, with or without a fused operation.
DLT_FN V plus_square(V sum, V x) {
#if defined(__AVX512F__)
  const auto d = reinterpret_cast<__m512d>(x);
  return reinterpret_cast<V>(_mm512_fmadd_pd(d, d, reinterpret_cast<__m512d>(sum)));
#elif defined(__FMA__)
  const auto d = reinterpret_cast<__m256d>(x);
  return reinterpret_cast<V>(_mm256_fmadd_pd(d, d, reinterpret_cast<__m256d>(sum)));
#else
  return sum + x * x;
#endif
}

// Sums whose additions were rounded, `steps` in a row at most, are near enough where they leave a sixteenth of the squares as
// deviation: the variance of all elements together is not less than what the blocks have within themselves. Then 2^-40 of it
// is in doubt. False with infinities and NaN.
DLT_FN bool is_enough(double count, double sum, double squares) { return count * squares - sum * sum >= count * squares / 16; }
DLT_FN double sum_in_doubt(double count, double squares, double steps) {
  return steps * 0x1p-53 * __builtin_sqrt(count * squares);  // not less than the sum of the magnitudes
}

template <int PARTS>
bool put_moments(double (*plain)[words], double (*squared)[words], const float* p, int64_t n) {
  constexpr int A = 4, width = A * lanes;
  V sums[A], squares[A];
  for (int k = 0; k < A; ++k) sums[k] = squares[k] = V{};
  int64_t i = 0;
  const auto take = [&](const float* from) {
    for (int k = 0; k < A; ++k) {
      const V x = load(from + k * lanes);
      sums[k] += x;
      squares[k] = plus_square(squares[k], x);
    }
  };
  for (; i + width <= n; i += width) {
    look_ahead(p + i, width * 4);
    take(p + i);
  }
  if (i < n) {
    float rest[width];
    for (int k = 0; k < width; ++k) rest[k] = i + k < n ? element<float>(p, i + k) : 0.0f;
    take(rest);
  }
  double last[2][lanes];
  save(last[0], (sums[0] + sums[1]) + (sums[2] + sums[3]));
  save(last[1], (squares[0] + squares[1]) + (squares[2] + squares[3]));
  for (auto& one : last)
    for (int w = lanes / 2; w >= PARTS; w /= 2)
      for (int j = 0; j < w; ++j) one[j] += one[j + w];
  const double count = double(n / PARTS), steps = double(n / width + 8);
  for (int j = 0; j < PARTS; ++j)
    if (!is_enough(count, last[0][j], last[1][j])) return false;
  for (int j = 0; j < PARTS; ++j) {
    const double sum[words] = {last[0][j], 0, sum_in_doubt(count, last[1][j], steps)};
    const double square[words] = {last[1][j], 0, last[1][j] * steps * 0x1p-53};
    join(plain[j], sum);
    join(squared[j], square);
  }
  return true;
}

// The same with every error.
template <int PARTS>
void put_moments_exactly(double (*plain)[words], double (*squared)[words], const float* p, int64_t n) {
  constexpr int K = 4;
  int64_t i = 0;
  if (n >= 2 * K * lanes) {
    put_block<PARTS>(plain, p, n);
    SquareLanes<K> sums;
    sums.start();
    for (; i + K * lanes <= n; i += K * lanes)
      for (int k = 0; k < K; ++k) {
        const V x = load(p + i + k * lanes);
        sums.put(k, x * x);
      }
    sums.template end<PARTS>(squared, n / (K * lanes));
  } else {
    for (int64_t k = 0; k < n; ++k) put(plain[k % PARTS], double(element<float>(p, k)));
  }
  for (; i < n; ++i) {
    const double x = double(element<float>(p, i));
    put(squared[i % PARTS], x * x);
  }
}

template <int PARTS>
void run_moments(void* states, const void* a, int64_t n, int64_t, const double*) {
  auto* const w = static_cast<double*>(states);
  constexpr int64_t block = 4096, least = 8 * lanes;
  double plain[PARTS][words], squared[PARTS][words];
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) {
      plain[k][m] = w[m * PARTS + k];
      squared[k][m] = w[(words + m) * PARTS + k];
    }
  const float* const p = static_cast<const float*>(a);
  const int64_t count = n * PARTS;
  bool enough = true;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t m = count - first < block ? count - first : block;
    enough = enough && m >= least && put_moments<PARTS>(plain, squared, p + first, m);
    if (!enough) put_moments_exactly<PARTS>(plain, squared, p + first, m);
  }
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) {
      w[m * PARTS + k] = plain[k][m];
      w[(words + m) * PARTS + k] = squared[k][m];
    }
}

// Rows whose columns are added to `sums` and `squares`.
template <int ROWS>
DLT_FN void add_moments(double* sums, double* squares, const char* from, int64_t row_bytes, int64_t n) {
  for (int64_t c = 0; c < n; c += lanes) {
    V sum = load(sums + c), square = load(squares + c);
    for (int r = 0; r < ROWS; ++r) {
      const V x = load(reinterpret_cast<const float*>(from + r * row_bytes) + c);
      sum += x;
      square = plus_square(square, x);
    }
    save(sums + c, sum);
    save(squares + c, square);
  }
}

void put_rows_moments(double* w, int64_t capacity, const char* a, int64_t row_bytes, int64_t rows, int64_t from, int64_t n) {
  double* const squares = w + words * capacity;
  const int64_t wide_end = from + (n - from) / lanes * lanes;
  const auto row = [&](int64_t r) { return reinterpret_cast<const float*>(a + r * row_bytes); };
  const Fused fused;
  int64_t r = 0;
  for (; r + rows_together <= rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      Lanes<1> mine;
      SquareLanes<1> mine_squared;
      mine.start();
      mine_squared.start();
      for (int k = 0; k < rows_together; ++k) {
        const V x = load(row(r + k) + c);
        mine.put(0, x, fused);
        mine_squared.put(0, x * x);
      }
      join_columns(w, capacity, c, mine.state(0, rows_together));
      join_columns(squares, capacity, c, mine_squared.state(0, rows_together));
    }
  for (; r < rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      States mine, mine_squared;
      mine.load_from(w + c, capacity);
      mine_squared.load_from(squares + c, capacity);
      for (int64_t k = 0; k < rows_next(rows - r); ++k) {
        const V x = load(row(r + k) + c);
        mine.put(x);
        mine_squared.put(x * x);
      }
      mine.save_to(w + c, capacity);
      mine_squared.save_to(squares + c, capacity);
    }
  for (r = 0; r < rows; ++r)
    for (int64_t c = wide_end; c < n; ++c) {
      const double x = double(element<float>(row(r), c));
      put_column(w, capacity, c, x);
      put_column(squares, capacity, c, x * x);
    }
}

void rows_moments(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t,
                  const double*) {
  auto* const w = static_cast<double*>(states);
  const char* const from = static_cast<const char*>(a);
  constexpr int64_t block = 64, strip = 512, least = 16;
  double sums[strip], squares[strip];
  for (int64_t first = 0; first < n; first += strip) {
    const int64_t end = n - first < strip ? n : first + strip, wide_end = first + (end - first) / lanes * lanes;
    for (int64_t r = 0; r < rows; r += block) {
      const int64_t count = rows - r < block ? rows - r : block, wide = count < least ? 0 : wide_end - first;
      const char* const rows_at = from + r * row_bytes;
      for (int64_t c = 0; c < wide; ++c) sums[c] = squares[c] = 0;
      int64_t k = 0;
      for (; k + rows_together <= count; k += rows_together)
        add_moments<rows_together>(sums, squares, rows_at + k * row_bytes + 4 * first, row_bytes, wide);
      for (; k < count; ++k) add_moments<1>(sums, squares, rows_at + k * row_bytes + 4 * first, row_bytes, wide);
      bool enough = wide != 0;
      for (int64_t c = 0; c < wide; ++c) enough &= is_enough(double(count), sums[c], squares[c]);
      put_rows_moments(w, capacity, rows_at, row_bytes, count, enough ? wide_end : first, end);
      if (!enough) continue;
      const double steps = double(count);
      double* const bounds = w + bound * capacity + first;
      double* const bounds_of_squares = w + (words + bound) * capacity + first;
      for (int64_t c = 0; c < wide; c += lanes) {
        put_columns(w, capacity, first + c, load(sums + c));
        put_columns(w + words * capacity, capacity, first + c, load(squares + c));
      }
      for (int64_t c = 0; c < wide; ++c) {
        bounds[c] += sum_in_doubt(steps, squares[c], steps);
        bounds_of_squares[c] += squares[c] * steps * 0x1p-53;
      }
    }
  }
}

// ---- squared deviations of float64 from a center, to 106 bits: what is rounded depends on the element alone

// (x - center) ** 2 as two float64, which are both summed.
struct Square {
  V above, below;
};
DLT_FN Square square_of(V x, V center) {
  const V minus = -center, d = x + minus, part = d - x;
  const V rest = (x - (d - part)) + (minus - part);
  const V product = d * d;
#if defined(__AVX512F__)
  const V error = reinterpret_cast<V>(
      _mm512_fmsub_pd(reinterpret_cast<__m512d>(d), reinterpret_cast<__m512d>(d), reinterpret_cast<__m512d>(product)));
#elif defined(__FMA__)
  const V error = reinterpret_cast<V>(
      _mm256_fmsub_pd(reinterpret_cast<__m256d>(d), reinterpret_cast<__m256d>(d), reinterpret_cast<__m256d>(product)));
#else
  V error;
  for (int j = 0; j < lanes; ++j) error[j] = fused(d[j], d[j], -product[j]);
#endif
  return {product, error + 2.0 * d * rest};
}

template <int PARTS>
void run_deviations(void* states, const void* a, int64_t n, int64_t, const double* center) {
  auto* const w = static_cast<double*>(states);
  constexpr int K = 4, block = 1 << 14;
  double mine[PARTS][words];
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) mine[k][m] = w[m * PARTS + k];
  const double* const p = static_cast<const double*>(a);
  const int64_t count = n * PARTS;
  V centers;
  for (int j = 0; j < lanes; ++j) centers[j] = center[j % PARTS];
  for (int64_t first = 0; first < count; first += block) {
    const int64_t end = count - first < block ? count : first + block;
    int64_t i = first;
    if (end - first >= 2 * K * lanes) {
      SquareLanes<K> sums;
      sums.start();
      for (; i + K * lanes <= end; i += K * lanes)
        for (int k = 0; k < K; ++k) {
          if (k == 0) look_ahead(p + i, K * lanes * 8);
          const Square square = square_of(load(p + i + k * lanes), centers);
          sums.put(k, square.above, square.below);
        }
      sums.template end<PARTS>(mine, (end - first) / (K * lanes));
    }
    for (; i < end; ++i) {
      const Square square = square_of(V{} + element<double>(p, i), V{} + center[i % PARTS]);
      put(mine[i % PARTS], square.above[0]);
      put(mine[i % PARTS], square.below[0]);
    }
  }
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) w[m * PARTS + k] = mine[k][m];
}

void rows_deviations(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t,
                     const double* center) {
  auto* const w = static_cast<double*>(states);
  const int64_t wide_end = n / lanes * lanes;
  const auto row = [&](int64_t r) { return reinterpret_cast<const double*>(static_cast<const char*>(a) + r * row_bytes); };
  int64_t r = 0;
  for (; r + rows_together <= rows; r += rows_together)
    for (int64_t c = 0; c < wide_end; c += lanes) {
      const V centers = load(center + c);
      SquareLanes<1> mine;
      mine.start();
      for (int k = 0; k < rows_together; ++k) {
        const Square square = square_of(load(row(r + k) + c), centers);
        mine.put(0, square.above, square.below);
      }
      join_columns(w, capacity, c, mine.state(0, rows_together));
    }
  for (; r < rows; r += rows_together)
    for (int64_t c = 0; c < wide_end; c += lanes) {
      const V centers = load(center + c);
      States mine;
      mine.load_from(w + c, capacity);
      for (int64_t k = 0; k < rows_next(rows - r); ++k) {
        const Square square = square_of(load(row(r + k) + c), centers);
        mine.put(square.above);
        mine.put(square.below);
      }
      mine.save_to(w + c, capacity);
    }
  for (r = 0; r < rows; ++r)
    for (int64_t c = wide_end; c < n; ++c) {
      const Square square = square_of(V{} + element<double>(row(r), c), V{} + center[c]);
      put_column(w, capacity, c, square.above[0]);
      put_column(w, capacity, c, square.below[0]);
    }
}

// ---- states of one sum or of two

template <int SUMS>
void start_sums(void* states, int64_t capacity, int64_t n) {
  auto* const w = static_cast<double*>(states);
  for (int m = 0; m < SUMS * words; ++m)
    for (int64_t c = 0; c < n; ++c) w[m * capacity + c] = 0.0;
}
template <int SUMS>
void join_sums(void* states, int64_t capacity, const void* from, int64_t from_capacity, int64_t n) {
  auto* const w = static_cast<double*>(states);
  const auto* const others = static_cast<const double*>(from);
  for (int s = 0; s < SUMS; ++s)
    for (int64_t c = 0; c < n; ++c) {
      double mine[words], other[words];
      for (int m = 0; m < words; ++m) {
        mine[m] = w[(s * words + m) * capacity + c];
        other[m] = others[(s * words + m) * from_capacity + c];
      }
      join(mine, other);
      for (int m = 0; m < words; ++m) w[(s * words + m) * capacity + c] = mine[m];
    }
}

template <class T>
void fill(Kernels* kernels, int type, int complex_type) {
  Reducer* const sums = kernels->reducers[reduce_sums];
  sums[type] = {words, 8, 1, -1, start_sums<1>, run_exact<T, 1>, rows_exact<T>, join_sums<1>, nullptr};
  sums[complex_type] = {words, 8, 2, -1, start_sums<1>, run_exact<T, 2>, rows_exact<T>, join_sums<1>, nullptr};
  kernels->sums_again[type] = run_again<T, 1>;
  kernels->sums_again[complex_type] = run_again<T, 2>;
}

}  // namespace

void fill_exact_sums(Kernels* kernels) {
  fill<float>(kernels, type_float32, type_complex64);
  fill<double>(kernels, type_float64, type_complex128);
  Reducer* const moments = kernels->reducers[reduce_moments];
  moments[type_float32] = {2 * words, 8, 1, -1, start_sums<2>, run_moments<1>, rows_moments, join_sums<2>, nullptr};
  moments[type_complex64] = {2 * words, 8, 2, -1, start_sums<2>, run_moments<2>, rows_moments, join_sums<2>, nullptr};
  Reducer* const deviations = kernels->reducers[reduce_deviations];
  deviations[type_float64] = {words, 8, 1, -1, start_sums<1>, run_deviations<1>, rows_deviations, join_sums<1>, nullptr};
  deviations[type_complex128] = {words, 8, 2, -1, start_sums<1>, run_deviations<2>, rows_deviations, join_sums<1>, nullptr};
}

}  // namespace dlt::DLT_LEVEL
