// SPDX-License-Identifier: Apache-2.0
// Products of a matrix and a vector, of up to a block of terms for each element of the result. How larger ones are split is
// decided in gemv.cc of the folder above.
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include <bit>
#include <type_traits>
#include <utility>

#include "native/cpu/linalg/kernels.h"
#include "native/cpu/linalg/kernels/parts.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"

namespace dlt::DLT_LEVEL {
namespace {

// An element of the result has several partial sums, as many for every instruction set. Term k is added to number
// k % partial_sums by a fused multiply-add, and at the end the upper half of them is added to the lower half until one is
// left. This order is the same for rows and columns, so that the bits do not depend on how the matrix lies. A complex element
// has P = 2 parts and two such sets: of re * re and im * im, and of im * re and re * im.
// Their bytes are two registers of 64 bytes: with one, sums wait for each other.
constexpr int sums_bytes = partial_sums_bytes;
template <class T, int P>
constexpr int partial_sums = sums_bytes / P / int(sizeof(T)) / P;
// Registers of a set.
template <int P>
constexpr int chains = sums_bytes / P / register_bytes;
// Rows whose sums fit the registers.
#if defined(__aarch64__)
constexpr int most_rows = 3;
#else
constexpr int most_rows = register_bytes == 64 ? 4 : register_bytes == 32 ? 3 : 1;
#endif

// Lanes without bit By: sums of pairs of lanes of a, which differ by that bit; lanes with it: of b.
template <int By, class V, int... I>
DLT_FN V merged(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, ((I & By) != 0 ? I + n : I)...) +
         __builtin_shufflevector(a, b, ((I & By) != 0 ? (I ^ By) + n : I ^ By)...);
}

// Adds the lanes with an equal remainder by P of each of N registers, of two registers at a time. Register i then has them in
// lanes that place_of() names.
template <class T, int P, int N, int Half = pack<T>::lanes / 2>
DLT_FN void join(typename pack<T>::type* v) {
  if constexpr (Half >= P) {
    each<(N + 1) / 2>([&](int i) __attribute__((always_inline)) {
      if (2 * i + 1 < N) v[i] = merged<Half>(v[2 * i], v[2 * i + 1], std::make_integer_sequence<int, pack<T>::lanes>());
      else v[i] = v[2 * i] + exchanged<T, Half>(v[2 * i]);
    });
    join<T, P, (N + 1) / 2, Half / 2>(v);
  }
}
struct Place {
  int number, lane;
};
template <class T, int P>
constexpr Place place_of(int i) {
  Place place{i, 0};
  for (int half = pack<T>::lanes / 2; half >= P; half /= 2, place.number /= 2) place.lane += place.number % 2 * half;
  return place;
}

// A sum of 0 is +0, however many lanes had no term.
template <class T, int P>
DLT_FN void store(char* to, const T (&sums)[P][P]) {
  if constexpr (P == 1) {
    *reinterpret_cast<loose_t<T>*>(to) = T(sums[0][0] + T{});
  } else {
    reinterpret_cast<loose_t<T>*>(to)[0] = sums[0][0] - sums[0][1] + T{};
    reinterpret_cast<loose_t<T>*>(to)[1] = sums[1][0] + sums[1][1] + T{};
  }
}

// ---- contiguous rows of the matrix

struct Rows {
  char* c;
  int64_t c_step;
  const char* m;
  int64_t row;
  const char* v;
  int64_t v_row;  // 0: one vector for all rows
  int64_t depth;
};

// R rows at once. SHARED: one vector for all rows.
template <class T, int P, int R, bool SHARED>
void dot_rows(const Rows& f) {
  using V = typename pack<T>::type;
  constexpr int lanes = pack<T>::lanes;
  V sums[R][P][chains<P>];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 8
      for (int u = 0; u < chains<P>; ++u) sums[r][p][u] = V{};
  const char *m = f.m, *v = f.v;
  int64_t left = f.depth * P;
  const auto add = [&](int u) __attribute__((always_inline)) {
    V y[P];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      if (!SHARED || r == 0) {
        y[0] = load<T>(v + (SHARED ? 0 : r * f.v_row) + u * register_bytes);
        if constexpr (P == 2) y[1] = exchanged<T, 1>(y[0]);
      }
      const V x = load<T>(m + r * f.row + u * register_bytes);
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) sums[r][p][u] = sums[r][p][u] + x * y[p];
    }
  };
  // 0 is added to the other lanes.
  const auto add_last = [&](int u) __attribute__((always_inline)) {
    const int count = int(left);
    V y[P];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      if (!SHARED || r == 0) {
        y[0] = load_part<T>(v + (SHARED ? 0 : r * f.v_row) + u * register_bytes, count);
        if constexpr (P == 2) y[1] = exchanged<T, 1>(y[0]);
      }
      const V x = load_part<T>(m + r * f.row + u * register_bytes, count);
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) sums[r][p][u] = sums[r][p][u] + x * y[p];
    }
  };
#pragma GCC unroll 1
  for (; left >= chains<P> * lanes; left -= chains<P> * lanes, m += chains<P> * register_bytes, v += chains<P> * register_bytes)
    each<chains<P>>(add);
  each<chains<P>>([&](int u) __attribute__((always_inline)) {
    if (left >= lanes) {
      add(u);
      left -= lanes;
    } else if (left > 0) {
      add_last(u);
      left = 0;
    }
  });
  V all[R * P];
  each<R * P>([&](int i) __attribute__((always_inline)) { all[i] = halved<chains<P>>(sums[i / P][i % P]); });
  join<T, P, R * P>(all);
  each<R>([&](auto r) __attribute__((always_inline)) {
    T parts[P][P];
    each<P * P>([&](auto i) __attribute__((always_inline)) {
      constexpr int p = decltype(i)::value / P, q = decltype(i)::value % P;
      constexpr Place place = place_of<T, P>(decltype(r)::value * P + p);
      parts[p][q] = all[place.number][place.lane + q];
    });
    store<T, P>(f.c + r * f.c_step, parts);
  });
}

template <class T, int P>
void all_rows(Rows f, int64_t rows) {
  const auto advance = [&](int by) {
    f.c += by * f.c_step;
    f.m += by * f.row;
    f.v += by * f.v_row;
  };
  if constexpr (most_rows >= 2) {
    if (f.v_row != 0)
      for (; rows >= 2; rows -= 2, advance(2)) dot_rows<T, P, 2, false>(f);
    for (; rows >= most_rows; rows -= most_rows, advance(most_rows)) dot_rows<T, P, most_rows, true>(f);
    for (; rows >= 2; rows -= 2, advance(2)) dot_rows<T, P, 2, true>(f);
  }
  for (; rows >= 1; rows -= 1, advance(1)) dot_rows<T, P, 1, true>(f);
}

// ---- contiguous columns of the matrix

constexpr int most_columns = 4;        // that one pass over a set of partial sums adds

// Sums of integers have the same bits in any order.
template <class T, int P>
constexpr int column_sums = std::is_integral_v<T> ? 1 : partial_sums<T, P>;
// The strip of a column that is computed at a time: long enough for the processor to fetch rows of the strip by itself, while the
// sums of all levels stay in L1.
constexpr int64_t strip_bytes = 4096;

// Columns that are added next.
struct Next {
  const char* m;
  int64_t step, count;

  DLT_FN const char* at(int64_t k) const { return m + (k < count ? k : count - 1) * step; }
};

// An element of the vector in all lanes; of a complex one the two orders of its parts.
template <class T, int P>
DLT_FN void spread(typename pack<T>::type* x, const char* v) {
  using V = typename pack<T>::type;
  const V first = read_at<T>(v, 0) - V{};  // a sum with 0 would change -0
  if constexpr (P == 1) {
    x[0] = first;
  } else {
    const V second = read_at<T>(v, 1) - V{};
    x[0] = alternate<T>(first, second);
    x[1] = alternate<T>(second, first);
  }
}

// Adds K columns, `step` bytes apart, times elements of the vector, `v_step` bytes apart, to one partial sum of each of n
// numbers; FRESH: there are none yet. Those that are added next are prefetched: columns are not in the order of memory.
template <class T, int P, int K, bool FRESH>
void add_columns(char* sums, const char* m, int64_t step, const char* v, int64_t v_step, int64_t n, const Next& next) {
  using V = typename pack<T>::type;
  constexpr int lanes = pack<T>::lanes;
  const char* const ahead[most_columns] = {next.at(0), next.at(1), next.at(2), next.at(3)};
  V x[K][P];
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) spread<T, P>(x[k], v + k * v_step);
  int64_t i = 0;
  const auto add = [&](auto is_part) __attribute__((always_inline)) {
    constexpr bool PART = decltype(is_part)::value;
    const int part = PART ? int(n - i) : lanes;
    const char* const from = m + i * int64_t(sizeof(T));
    char* const to = sums + i * int64_t(sizeof(T));
    V s[P];
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p) s[p] = FRESH ? V{} : load<T>(to + p * strip_bytes);
#pragma GCC unroll 4
    for (int k = 0; k < most_columns; ++k) __builtin_prefetch(ahead[k] + i * int64_t(sizeof(T)));
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
      const V y = PART ? load_part<T>(from + k * step, part) : load<T>(from + k * step);
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) s[p] = s[p] + y * x[k][p];
    }
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p) *reinterpret_cast<typename pack<T>::loose*>(to + p * strip_bytes) = s[p];
  };
#pragma GCC unroll 2
  for (; i + lanes <= n; i += lanes) add(std::false_type());
  if (i < n) add(std::true_type());
}

template <class T>
void add_sums(char* to, const char* from, int64_t n) {
  DLT_EACH write_at(to, i, T(read_at<T>(to, i) + read_at<T>(from, i)));
}

// Few terms: every partial sum of W registers of the result is computed and joined in registers.
template <class T, int P, int W>
struct Joined {
  typename pack<T>::type sums[P][W];
};
template <class T, int P, int W, int First, int Step>
DLT_FN Joined<T, P, W> short_sums(const char* m, int64_t column, const char* v, int64_t depth) {
  using V = typename pack<T>::type;
  if constexpr (Step < partial_sums<T, P>) {
    Joined<T, P, W> low = short_sums<T, P, W, First, 2 * Step>(m, column, v, depth);
    const Joined<T, P, W> high = short_sums<T, P, W, First + Step, 2 * Step>(m, column, v, depth);
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) low.sums[p][w] = low.sums[p][w] + high.sums[p][w];
    return low;
  } else {
    Joined<T, P, W> all{};
#pragma GCC unroll 1
    for (int64_t k = First; k < depth; k += Step) {
      V x[P];
      spread<T, P>(x, v + k * P * int64_t(sizeof(T)));
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) {
        const V y = load<T>(m + k * column + w * register_bytes);
#pragma GCC unroll 2
        for (int p = 0; p < P; ++p) all.sums[p][w] = all.sums[p][w] + y * x[p];
      }
    }
    return all;
  }
}

template <class T, int P, int W>
void short_columns(char* c, const char* m, int64_t column, const char* v, int64_t c_step, int64_t depth) {
  constexpr int elements = pack<T>::lanes / P;
  const Joined<T, P, W> all = short_sums<T, P, W, 0, 1>(m, column, v, depth);
#pragma GCC unroll 2
  for (int w = 0; w < W; ++w) {
    if (P == 1 && c_step == sizeof(T)) {
      *reinterpret_cast<typename pack<T>::loose*>(c + w * register_bytes) = all.sums[0][w] + typename pack<T>::type{};
      continue;
    }
    for (int i = 0; i < elements; ++i) {
      T parts[P][P];
      for (int p = 0; p < P; ++p)
        for (int q = 0; q < P; ++q) parts[p][q] = all.sums[p][w][i * P + q];
      store<T, P>(c + (w * elements + i) * c_step, parts);
    }
  }
}

template <int P>
constexpr int64_t most_short_depth = P == 1 ? 100 : 64;

// The last register of the result overlaps the one before it: its sums have the same bits.
template <class T, int P>
void all_short_columns(char* c, const char* m, int64_t column, const char* v, int64_t c_step, int64_t rows, int64_t depth) {
  constexpr int64_t elements = pack<T>::lanes / P;
  int64_t r = 0;
  for (; r + 2 * elements <= rows; r += 2 * elements)
    short_columns<T, P, 2>(c + r * c_step, m + r * P * int64_t(sizeof(T)), column, v, c_step, depth);
  for (; r < rows; r += elements) {
    const int64_t at = r + elements <= rows ? r : rows - elements;
    short_columns<T, P, 1>(c + at * c_step, m + at * P * int64_t(sizeof(T)), column, v, c_step, depth);
  }
}

// Columns of n numbers, whose partial sums are computed one after the other.
template <class T, int P>
struct Columns {
  static constexpr int64_t sets = column_sums<T, P>;
  const char* m;
  int64_t column;
  const char* v;
  int64_t n, depth;

  int64_t count_from(int64_t k) const {
    const int64_t left = (depth - k + sets - 1) / sets;
    return left < most_columns ? left : most_columns;
  }
  // Terms `first`, first + sets, ... in order; `then`: the first of the partial sum that is computed next.
  void add_set(char* sums, int64_t first, int64_t then) const {
    for (int64_t k = first; k < depth;) {
      const int64_t count = count_from(k), next = k + count * sets < depth ? k + count * sets : then;
      const auto add = [&](auto terms) {
        constexpr int K = decltype(terms)::value;
        constexpr int64_t width = P * sizeof(T);
        const Next ahead{m + next * column, sets * column, count_from(next)};
        const auto loop = k == first ? add_columns<T, P, K, true> : add_columns<T, P, K, false>;
        loop(sums, m + k * column, sets * column, v + k * width, sets * width, n, ahead);
      };
      if (count == 4) add(std::integral_constant<int, 4>());
      else if (count == 3) add(std::integral_constant<int, 3>());
      else if (count == 2) add(std::integral_constant<int, 2>());
      else add(std::integral_constant<int, 1>());
      k += count * sets;
    }
  }
  // The sum of the partial sums first, first + Step, ..., the upper half of them added to the lower half.
  template <int Step>
  void sum(char* sums, int64_t first, int64_t then) const {
    if constexpr (Step < sets) {
      const bool is_pair = first + Step < depth;
      sum<2 * Step>(sums, first, is_pair ? first + Step : then);
      if (!is_pair) return;
      char* const other = sums + P * strip_bytes;
      sum<2 * Step>(other, first + Step, then);
      for (int p = 0; p < P; ++p) add_sums<T>(sums + p * strip_bytes, other + p * strip_bytes, n);
    } else {
      add_set(sums, first, then);
    }
  }
};

template <class T, int P>
void all_columns(char* c, const char* m, int64_t column, const char* v, int64_t c_step, int64_t rows, int64_t depth) {
  constexpr int64_t width = P * sizeof(T), strip = strip_bytes / width;
  constexpr uint64_t sets = column_sums<T, P>;
  if constexpr (sets > 1)
    if (depth <= most_short_depth<P> && rows >= pack<T>::lanes / P)
      return all_short_columns<T, P>(c, m, column, v, c_step, rows, depth);
  alignas(64) char sums[std::bit_width(sets) * P * strip_bytes];
  for (int64_t first = 0; first < rows; first += strip, m += strip_bytes, c += strip * c_step) {
    const int64_t here = rows - first < strip ? rows - first : strip;
    Columns<T, P>{m, column, v, here * P, depth}.template sum<1>(sums, 0, 0);
    for (int64_t i = 0; i < here; ++i) {
      T all[P][P];
      for (int p = 0; p < P; ++p)
        for (int q = 0; q < P; ++q) all[p][q] = read_at<T>(sums + p * strip_bytes, i * P + q);
      store<T, P>(c + i * c_step, all);
    }
  }
}

template <class T, int P>
void vector_product(void* c, int64_t c_step, const void* m, int64_t row, int64_t column, const void* v, int64_t v_row,
                    int64_t rows, int64_t depth) {
  char* const to = static_cast<char*>(c);
  const char *const from = static_cast<const char*>(m), *const x = static_cast<const char*>(v);
  if (column == int64_t(P * sizeof(T))) all_rows<T, P>({to, c_step, from, row, x, v_row, depth}, rows);
  else all_columns<T, P>(to, from, column, x, c_step, rows, depth);
}

}  // namespace

void fill_vectors(LinalgKernels* kernels) {
  vector_product_t* p = kernels->vector_products;
  p[type_float32] = vector_product<float, 1>;
  p[type_float64] = vector_product<double, 1>;
  p[type_int8] = p[type_uint8] = vector_product<uint8_t, 1>;
  p[type_int16] = p[type_uint16] = vector_product<uint16_t, 1>;
  p[type_int32] = p[type_uint32] = vector_product<uint32_t, 1>;
  p[type_int64] = p[type_uint64] = vector_product<uint64_t, 1>;
  p[type_complex64] = vector_product<float, 2>;
  p[type_complex128] = vector_product<double, 2>;
}

}  // namespace dlt::DLT_LEVEL
