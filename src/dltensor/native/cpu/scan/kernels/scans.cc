// SPDX-License-Identifier: Apache-2.0
// Running sums of one block of float32 or float64, in an order that is the same at every level.
#include <string.h>

#include <utility>

#include "native/cpu/runtime/kernels/doubles.h"
#include "native/cpu/scan/kernels.h"
#include "native/ops/scans.h"

namespace dlt::DLT_LEVEL {
namespace {

using doubles = pack<double>;
using V = doubles::type;
constexpr int lanes = doubles::lanes, group = scans::group, vectors = group / lanes;
static_assert(group % lanes == 0, "a group is a whole number of registers");

// Register m of a run of float64 or float32 at any address.
template <class T>
DLT_FN V load(const void* from, int m) {
  if constexpr (is_same<T, double>::value) return static_cast<const doubles::loose*>(from)[m];
  else return widened(static_cast<const float*>(from) + m * lanes);
}
template <class T>
DLT_FN void save(void* to, int m, V x) {
  if constexpr (is_same<T, double>::value) static_cast<doubles::loose*>(to)[m] = x;
  else static_cast<half_vector*>(to)[m] = narrowed(x);
}

// Lanes `Distance` places before those of `after`; `before` is the register ahead of it.
template <int Distance, int... I>
DLT_FN V shifted(V before, V after, std::integer_sequence<int, I...>) {
#if defined(__AVX512F__)
  // With a mask of all lanes: gcc 12 warns that the intrinsic without one reads an uninitialized register.
  return V(_mm512_maskz_alignr_epi64(0xff, __m512i(after), __m512i(before), lanes - Distance));
#else
  return __builtin_shufflevector(before, after, (I + lanes - Distance)...);
#endif
}

template <int... I>
DLT_FN V last_lane(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I * 0 + lanes - 1)...);
}

// Adds to each element of a group the one `Distance` places before it; -0.0 changes nothing.
template <int Distance>
DLT_FN void add_shifted(V* v, const Fused& fused) {
  const V none = -V{};
  for (int m = vectors - 1; m >= 0; --m) {
    if constexpr (Distance % lanes == 0) {
      constexpr int whole = Distance / lanes;
      if (m >= whole) v[m] = fused.plus(v[m - whole], v[m]);
    } else {
      v[m] = fused.plus(shifted<Distance>(m > 0 ? v[m - 1] : none, v[m], std::make_integer_sequence<int, lanes>{}), v[m]);
    }
  }
}

// The processor decides which of two NaNs an addition keeps: all become the one of positive sign.
template <class T>
void settle_nans(void* to, int64_t n) {
  loose_t<T>* const out = static_cast<loose_t<T>*>(to);
  for (int64_t i = 0; i < n; ++i)
    if (out[i] != out[i]) out[i] = T(__builtin_nan(""));
}

// The first n elements of a group, those behind them -0.0, and back. Copies of so many bytes would be calls, and loads after them wait.
template <class T>
DLT_FN void take_few(T* few, const loose_t<T>* from, int64_t n) {
#if defined(__AVX512F__)
  const auto there = __mmask8((1u << n) - 1);
  if constexpr (is_same<T, double>::value) _mm512_storeu_pd(few, _mm512_mask_loadu_pd(_mm512_set1_pd(-0.0), there, from));
  else _mm256_storeu_ps(few, _mm256_mask_loadu_ps(_mm256_set1_ps(-0.0f), there, from));
#else
  for (int64_t k = 0; k < group; ++k) few[k] = k < n ? from[k] : T(-0.0);
#endif
}
template <class T>
DLT_FN void give_few(loose_t<T>* to, const T* few, int64_t n) {
#if defined(__AVX512F__)
  const auto there = __mmask8((1u << n) - 1);
  if constexpr (is_same<T, double>::value) _mm512_mask_storeu_pd(to, there, _mm512_loadu_pd(few));
  else _mm256_mask_storeu_ps(to, there, _mm256_loadu_ps(few));
#else
  for (int64_t k = 0; k < n; ++k) to[k] = few[k];
#endif
}

// Groups one after the other in memory, step by step together: each step of a group waits for the one before.
constexpr int together = register_bytes / 16;  // as there are registers for

// `COUNT` groups at `p`, their results to `q`: what lies before them, `sum` in every lane, grows by each group.
template <class T, bool Write, bool First, int COUNT>
DLT_FN void add_groups(void* q, const void* p, V* sum, V high, V low, const Fused& fused) {
  static_assert(group == 8, "the distances are those of groups of 8");
  V v[COUNT][vectors], start[COUNT];
  for (int g = 0; g < COUNT; ++g)
    for (int m = 0; m < vectors; ++m) v[g][m] = load<T>(p, g * vectors + m);
  for (int g = 0; g < COUNT; ++g) add_shifted<1>(v[g], fused);
  for (int g = 0; g < COUNT; ++g) add_shifted<2>(v[g], fused);
  for (int g = 0; g < COUNT; ++g) add_shifted<4>(v[g], fused);
  for (int g = 0; g < COUNT; ++g) {
    start[g] = *sum;
    *sum += last_lane(v[g][vectors - 1], std::make_integer_sequence<int, lanes>{});
  }
  if constexpr (Write)
    for (int g = 0; g < COUNT; ++g) {
      if constexpr (!First) start[g] = high + (low + start[g]);
      for (int m = 0; m < vectors; ++m) save<T>(q, g * vectors + m, v[g][m] + start[g]);
    }
}

template <class T, bool Write, bool First>
double running_sums(void* to, const void* from, int64_t n, const double* before) {
  loose_t<T>* const out = static_cast<loose_t<T>*>(to);
  const loose_t<T>* const in = static_cast<const loose_t<T>*>(from);
  const V high = V{} + (First ? 0 : before[0]), low = V{} + (First ? 0 : before[1]);
  const Fused fused;
  V sum = -V{};
  int64_t i = 0;
  for (constexpr int all = together * group; i + all <= n; i += all)
    add_groups<T, Write, First, together>(Write ? out + i : out, in + i, &sum, high, low, fused);
  for (; i + group <= n; i += group) add_groups<T, Write, First, 1>(Write ? out + i : out, in + i, &sum, high, low, fused);
  if (i < n) {
    T few[group];
    take_few(few, in + i, n - i);
    add_groups<T, Write, First, 1>(few, few, &sum, high, low, fused);
    if (Write) give_few(out + i, few, n - i);
  }
  return sum[0];
}

template <class T>
double sum_block(void* out, const void* in, int64_t n, const double* before) {
  if (out == nullptr) return running_sums<T, false, true>(out, in, n, before);
  const double sum = before == nullptr ? running_sums<T, true, true>(out, in, n, before)
                                       : running_sums<T, true, false>(out, in, n, before);
  if (sum != sum || (before != nullptr && before[0] + sum != before[0] + sum)) settle_nans<T>(out, n);
  return sum;
}

// ---- sums of whole blocks, one block in each lane: the sum of a group is that of its halves, and so on

// The sum of both halves of each run of 2 * Width lanes: of the first run of `a`, of the first of `b`, and so on.
template <int Width, int... I>
DLT_FN V added_halves(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int pair = 2 * Width;
  const V first = __builtin_shufflevector(a, b, (I % pair / Width * lanes + I / pair * pair + I % Width)...);
  const V second = __builtin_shufflevector(a, b, (I % pair / Width * lanes + I / pair * pair + I % Width + Width)...);
  return first + second;
}

// The sums of all lanes of `count` registers, in lanes of `count / lanes` registers.
template <int Width, int Count>
DLT_FN void add_lanes(V* v) {
  if constexpr (Width < lanes) {
    for (int k = 0; k < Count / 2; ++k)
      v[k] = added_halves<Width>(v[2 * k], v[2 * k + 1], std::make_integer_sequence<int, lanes>{});
    add_lanes<2 * Width, Count / 2>(v);
  }
}

template <class T>
DLT_FN V group_sums(const T* in, int m) {
  V v[lanes];
  for (int b = 0; b < lanes; ++b) v[b] = load<T>(in + b * scans::block, m);
  add_lanes<1, lanes>(v);
  return v[0];
}

template <class T>
void block_sums(double* sums, const void* from, int64_t blocks) {
  const T* const in = static_cast<const T*>(from);
  int64_t k = 0;
  for (; k + lanes <= blocks; k += lanes) {
    V sum = -V{};
    for (int64_t i = 0; i < scans::block; i += group) {
      V part[vectors];
      for (int m = 0; m < vectors; ++m) part[m] = group_sums(in + k * scans::block + i, m);
      for (int count = vectors; count > 1; count /= 2)
        for (int m = 0; m < count / 2; ++m) part[m] = part[2 * m] + part[2 * m + 1];
      sum += part[0];
    }
    memcpy(sums + k, &sum, sizeof sum);
  }
  for (; k < blocks; ++k) sums[k] = running_sums<T, false, true>(nullptr, in + k * scans::block, scans::block, nullptr);
}

// ---- lines of one group, one in each lane

// As add_shifted() of all distances, of N elements of one line, or of as many lines as a register has lanes.
template <int N, class Number>
DLT_FN void add_before(Number* v) {
#pragma GCC unroll 3
  for (int distance = 1; distance < N; distance *= 2)
#pragma GCC unroll 8
    for (int i = N - 1; i >= distance; --i) v[i] = v[i - distance] + v[i];
}

// The first n > 0 lanes of a register to memory, all where n is large.
template <class T>
DLT_FN void save_some(void* to, V x, int64_t n) {
  if (n >= lanes) return save<T>(to, 0, x);
#if defined(__AVX512F__)
  const auto there = __mmask8((1u << n) - 1);
  if constexpr (is_same<T, double>::value) _mm512_mask_storeu_pd(to, there, __m512d(x));
  else _mm256_mask_storeu_ps(to, there, __m256(narrowed(x)));
#elif defined(__AVX2__)
  T* const at = static_cast<T*>(to);
  if constexpr (is_same<T, double>::value) {
    const __m128d low = _mm256_castpd256_pd128(__m256d(x)), high = _mm256_extractf128_pd(__m256d(x), 1);
    if (n & 2) _mm_storeu_pd(at, low);
    if (n & 1) _mm_store_sd(at + (n & 2), n & 2 ? high : low);
  } else {
    const __m128 all = _mm256_cvtpd_ps(__m256d(x));
    if (n & 2) _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_castps_si128(all));
    if (n & 1) _mm_store_ss(at + (n & 2), n & 2 ? _mm_movehl_ps(all, all) : all);
  }
#else
  for (int64_t k = 0; k < n; ++k) static_cast<loose_t<T>*>(to)[k] = T(x[k]);
#endif
}

// N rows of lines: `sums`, of the rows before them, whole registers, are added and grow by these. Null: there are none.
template <class T, int N>
void sum_columns(char* out, const char* in, int64_t columns, int64_t out_pitch, int64_t in_pitch, double* sums) {
  const V nan = V{} + __builtin_nan("");
  const auto take = [&](int64_t c, auto load_row, auto save_row) __attribute__((always_inline)) {
    V v[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) v[i] = load_row(in + i * in_pitch + c * int64_t(sizeof(T)));
    add_before<N>(v);
    if (sums != nullptr) {
      const V start = load<double>(sums + c, 0);
      save<double>(sums + c, 0, start + v[N - 1]);
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) v[i] = v[i] + start;
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) save_row(out + i * out_pitch + c * int64_t(sizeof(T)), v[i] == v[i] ? v[i] : nan);
  };
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes)
    take(c, [](const char* at) { return load<T>(at, 0); }, [](char* at, V x) { save<T>(at, 0, x); });
  if (const int64_t left = columns - c; left > 0)
    take(
        c, [&](const char* at) { return load_first(reinterpret_cast<const T*>(at), left); },
        [&](char* at, V x) { save_some<T>(at, x, left); });
}

template <class T>
void sum_few_rows(char* out, const char* in, int64_t columns, int64_t n, int64_t out_pitch, int64_t in_pitch, double* sums) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    static constexpr void (*of[])(char*, const char*, int64_t, int64_t, int64_t, double*) = {sum_columns<T, I + 1>...};
    of[n - 1](out, in, columns, out_pitch, in_pitch, sums);
  }(std::make_integer_sequence<int, group>{});
}

template <class T>
void sum_lines(void* out, const void* in, int64_t columns, int64_t n, int64_t out_pitch, int64_t in_pitch) {
  constexpr int64_t strip = 128;
  char* const to = static_cast<char*>(out);
  const char* const from = static_cast<const char*>(in);
  if (n <= group) return sum_few_rows<T>(to, from, columns, n, out_pitch, in_pitch, nullptr);
  double sums[strip];
  for (int64_t first = 0; first < columns; first += strip) {
    const int64_t count = columns - first < strip ? columns - first : strip, at = first * int64_t(sizeof(T));
    for (int64_t c = 0; c < strip; ++c) sums[c] = -0.0;
    for (int64_t i = 0; i < n; i += group)
      sum_few_rows<T>(to + at + i * out_pitch, from + at + i * in_pitch, count, n - i < group ? n - i : group, out_pitch,
                      in_pitch, sums);
  }
}

// ---- short rows, one in each lane

// Exchanges rows and columns of as many registers as one has lanes.
template <int S = 1>
DLT_FN void transpose(V* v) {
  if constexpr (S < lanes) {
    each<lanes>([&](int k) __attribute__((always_inline)) {
      if ((k & S) != 0) return;
      const V x = v[k], y = v[k + S];
      v[k] = turns_of<S, false>(x, y);
      v[k + S] = turns_of<S, true>(x, y);
    });
    transpose<2 * S>(v);
  }
}

// Elements of as many rows as a register has lanes, from element `at` on: N of them, or the first `count` of so many. `sums`, of those
// before them, grows by them.
template <class T, int N, bool WHOLE>
DLT_FN void sum_part(char* const (&to)[lanes], const char* const (&from)[lanes], int64_t at, int64_t count, V* sums) {
  const V nan = V{} + __builtin_nan(""), start = *sums;
  V v[N];
  each<N / lanes>([&](int m) __attribute__((always_inline)) {
    each<lanes>([&](int r) __attribute__((always_inline)) {
      const T* const row = reinterpret_cast<const T*>(from[r]) + at;
      v[m * lanes + r] = WHOLE ? load<T>(row, m) : load_first(row + m * lanes, count - m * lanes);
    });
    transpose(v + m * lanes);
  });
  add_before<N>(v);
  *sums = start + v[N - 1];
  each<N>([&](int i) __attribute__((always_inline)) {
    const V sum = v[i] + start;
    v[i] = sum == sum ? sum : nan;
  });
  each<N / lanes>([&](int m) __attribute__((always_inline)) {
    transpose(v + m * lanes);
    const int64_t left = count - m * lanes;
    each<lanes>([&](int r) __attribute__((always_inline)) {
      T* const row = reinterpret_cast<T*>(to[r]) + at;
      if (WHOLE) save<T>(row, m, v[m * lanes + r]);
      else if (left > 0) save_some<T>(row + m * lanes, v[m * lanes + r], left);
    });
  });
}

template <class T>
void sum_rows(void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch, int64_t in_pitch) {
  constexpr int64_t most_in_lanes = 64;
  int64_t r = 0;
  if (n <= most_in_lanes)
    for (; r + lanes <= rows; r += lanes) {
      char* to[lanes];
      const char* from[lanes];
      for (int k = 0; k < lanes; ++k) {
        to[k] = static_cast<char*>(out) + (r + k) * out_pitch;
        from[k] = static_cast<const char*>(in) + (r + k) * in_pitch;
      }
      V sums = -V{};
      int64_t i = 0;
      for (; i + group <= n; i += group) sum_part<T, group, true>(to, from, i, group, &sums);
      if (n - i > lanes) sum_part<T, group, false>(to, from, i, n - i, &sums);
      else if (i < n) sum_part<T, lanes, false>(to, from, i, n - i, &sums);
    }
  for (; r < rows; ++r) {
    char* const to = static_cast<char*>(out) + r * out_pitch;
    const double sum = running_sums<T, true, true>(to, static_cast<const char*>(in) + r * in_pitch, n, nullptr);
    if (sum != sum) settle_nans<T>(to, n);
  }
}

// ---- integers of 64 bits, whose order does not matter

using integers = pack<uint64_t>;

template <int Distance>
DLT_FN void add_shifted(integers::type* v) {
  if constexpr (Distance < lanes) *v += integers::type(shifted<Distance>(V{}, V(*v), std::make_integer_sequence<int, lanes>{}));
}

uint64_t sum_integers(void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch, int64_t in_pitch,
                      uint64_t before) {
  uint64_t last = before;
  for (int64_t r = 0; r < rows; ++r) {
    loose_t<uint64_t>* const to = reinterpret_cast<loose_t<uint64_t>*>(static_cast<char*>(out) + r * out_pitch);
    const loose_t<uint64_t>* const from = reinterpret_cast<const loose_t<uint64_t>*>(static_cast<const char*>(in) +
                                                                                     r * in_pitch);
    integers::type sum = integers::type{} + before;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      integers::type v = *reinterpret_cast<const integers::loose*>(from + i);
      add_shifted<1>(&v);
      add_shifted<2>(&v);
      add_shifted<4>(&v);
      *reinterpret_cast<integers::loose*>(to + i) = v + sum;
      sum += integers::type(last_lane(V(v), std::make_integer_sequence<int, lanes>{}));
    }
    last = sum[0];
    for (; i < n; ++i) to[i] = last += from[i];
  }
  return last;
}

void add_integers(void* out, const void* a, const void* b, int64_t n) {
  loose_t<uint64_t>* const to = static_cast<loose_t<uint64_t>*>(out);
  const loose_t<uint64_t>*const x = static_cast<const loose_t<uint64_t>*>(a), *const y = static_cast<const loose_t<uint64_t>*>(
                                                                                  b);
  DLT_EACH to[i] = x[i] + y[i];
}

}  // namespace

void fill_scans(ScanKernels* kernels) {
  kernels->column_sums[type_float32] = sum_lines<float>;
  kernels->column_sums[type_float64] = sum_lines<double>;
  kernels->row_sums[type_float32] = sum_rows<float>;
  kernels->row_sums[type_float64] = sum_rows<double>;
  kernels->integer_sums = sum_integers;
  kernels->add_integers = add_integers;
  kernels->running_sums[type_float32] = sum_block<float>;
  kernels->running_sums[type_float64] = sum_block<double>;
  kernels->block_sums[type_float32] = block_sums<float>;
  kernels->block_sums[type_float64] = block_sums<double>;
}

}  // namespace dlt::DLT_LEVEL
