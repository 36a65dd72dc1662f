// SPDX-License-Identifier: Apache-2.0
// Products of matrices that fit the caches: blocks of rows by registers of columns. Tiling, packing and the choice
// between this and a BLAS are in gemm.cc and packing.cc. An element is a chain of fused multiply-adds in the order of the
// depth, so that its bits depend on no block, register or thread; level v2, which has no such instruction, rounds twice.
#if defined(__clang__)
#pragma clang fp contract(fast)
#pragma clang diagnostic ignored "-Wfor-loop-analysis"  // the loops advance in a lambda
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/linalg/kernels/parts.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"

namespace dlt::DLT_LEVEL {
namespace {

struct Factors {
  char* c;
  int64_t c_row;
  const char* a;
  int64_t a_row, a_column;
  const char* b;
  int64_t b_row;
  int64_t depth;
  bool fresh;
};

// c is prefetched this many steps before the sums are complete: later would stall, earlier would let the panel of b
// evict it.
constexpr int64_t last_steps = 48;

// Rows of b are prefetched so many steps before they are read, for those that do not follow one another.
constexpr int64_t rows_ahead = 12;

// Registers of columns of a block.
constexpr int most_registers = registers == 32 ? 4 : 2;

// The addresses of R rows. Only every fourth is kept, hidden from the compiler, which would otherwise keep all R in
// more registers than there are; the three between are computed by an addition.
template <int R, class Byte>
struct RowPointers {
  Byte* fourth[(R + 3) / 4];
  int64_t stride;

  DLT_FN RowPointers(Byte* first, int64_t row_stride) : stride(row_stride) {
#pragma GCC unroll 4
    for (int q = 0; q < (R + 3) / 4; ++q) {
      fourth[q] = first + 4 * q * stride;
      asm("" : "+r"(fourth[q]));
    }
  }
  DLT_FN Byte* operator[](int r) const { return fourth[r / 4] + r % 4 * stride; }
  DLT_FN void advance(int64_t by) {
#pragma GCC unroll 4
    for (int q = 0; q < (R + 3) / 4; ++q) fourth[q] += by;
  }
};

// The number in the sums of products of bfloat16: float32, with the order of decision 76. Blocks of terms have two chains, of even
// terms and of odd ones, which are added to each other and then to the sum of the blocks before.
struct alternating {};
template <class T>
struct number_of {
  using type = T;
};
template <>
struct number_of<alternating> {
  using type = float;
};

// A complex element has P = 2 parts and two chains for each: of a.re * b.re and a.im * b.im, and of a.re * b.im and
// a.im * b.re. Parts of b and c stay interleaved; a product of transposed matrices has the same chains.
template <class T, int P, int N>
DLT_FN typename pack<T>::type joined(const typename pack<T>::type (&sums)[P][N], int v) {
  if constexpr (P == 1) return sums[0][v];
  else {
    const auto crossed = exchanged<T, 1>(sums[1][v]);
    return alternate<T>(sums[0][v] - crossed, sums[0][v] + crossed);
  }
}

// R rows by N registers of columns; PART: the last register is not full.
template <class T, int P, int R, int N, bool PART>
void block(const Factors& f, int part) {
  using V = typename pack<T>::type;
  V sums[R][P][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < P * N; ++i) sums[r][i / N][i % N] = V{};
  RowPointers<R, const char> a(f.a, f.a_row);
  const char* b = f.b;
  const int64_t ends[] = {f.depth - last_steps, f.depth};
  int64_t k = 0;
#pragma GCC unroll 1
  for (const int64_t end : ends) {
    for (; k < end; ++k, a.advance(f.a_column), b += f.b_row) {
      V row[N];
      if constexpr (R * N >= 12)
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v) __builtin_prefetch(b + rows_ahead * f.b_row + v * register_bytes);
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v)
        row[v] = PART && v == N - 1 ? load_part<T>(b + v * register_bytes, part) : load<T>(b + v * register_bytes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int p = 0; p < P; ++p) {
          const T x = one<T>(a[r] + p * int(sizeof(T)));
#pragma GCC unroll 4
          for (int v = 0; v < N; ++v) sums[r][p][v] = sums[r][p][v] + row[v] * x;
        }
    }
    if (end == f.depth) break;
    const RowPointers<R, char> c(f.c, f.c_row);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) __builtin_prefetch(c[r] + v * register_bytes, 1);
  }
  const RowPointers<R, char> c(f.c, f.c_row);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      char* to = c[r] + v * register_bytes;
      V total = joined<T, P, N>(sums[r], v);
      if (PART && v == N - 1) {
        if (!f.fresh) total += load_part<T>(to, part);
        save_part<T>(to, total, part);
      } else {
        if (!f.fresh) total += load<T>(to);
        *reinterpret_cast<typename pack<T>::loose*>(to) = total;
      }
    }
}

// Keeps the compiler from reading a register's memory again in each instruction that takes it.
template <class V>
DLT_FN void in_register(V& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
}

// Adds one term to R rows by N registers of columns.
template <int R, int N, bool PART>
DLT_FN void add_term(typename pack<float>::type (&sums)[R][N], const RowPointers<R, const char>& a, const char* b, int part) {
  typename pack<float>::type row[N];
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v) {
    row[v] = PART && v == N - 1 ? load_part<float>(b + v * register_bytes, part) : load<float>(b + v * register_bytes);
    if constexpr (R > 1) in_register(row[v]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const float x = one<float>(a[r]);
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) sums[r][v] = sums[r][v] + row[v] * x;
  }
}

// R rows by N registers of columns of a block of terms, added to the sums of the blocks before, in memory.
template <int R, int N, bool PART>
void alternating_block(const Factors& f, int part, int64_t terms, bool first, float* totals) {
  using V = pack<float>::type;
  V even[R][N], odd[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) even[r][v] = odd[r][v] = V{};
  RowPointers<R, const char> a(f.a, f.a_row);
  const char* b = f.b;
#pragma GCC unroll 4
  for (int64_t pair = 0; pair < terms / 2; ++pair) {
    add_term<R, N, PART>(even, a, b, part);
    a.advance(f.a_column);
    add_term<R, N, PART>(odd, a, b + f.b_row, part);
    a.advance(f.a_column);
    b += 2 * f.b_row;
  }
  if (terms % 2 != 0) add_term<R, N, PART>(even, a, b, part);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      V& total = *reinterpret_cast<V*>(totals + (r * N + v) * pack<float>::lanes);
      const V sum = even[r][v] + odd[r][v];
      total = (first ? V{} : total) + sum;
    }
}

// Rows whose sums are kept at a time: each reads a block of b from the first cache.
constexpr int64_t alternating_rows = 24;

template <int N, bool PART>
void rows_of_alternating(Factors f, int64_t rows, int part) {
  constexpr int most = registers == 32 ? (N == 4 ? 3 : N == 3 ? 4 : N == 2 ? 6 : 8) : (N == 2 ? 3 : 6);
  constexpr int row_numbers = N * pack<float>::lanes;
  alignas(64) float totals[alternating_rows * row_numbers];
  for (; rows > 0; rows -= alternating_rows, f.a += alternating_rows * f.a_row, f.c += alternating_rows * f.c_row) {
    const int64_t some = rows < alternating_rows ? rows : alternating_rows;
    Factors g = f;
    for (int64_t k = 0; k < f.depth; k += block_terms, g.a += block_terms * f.a_column, g.b += block_terms * f.b_row) {
      const int64_t terms = f.depth - k < block_terms ? f.depth - k : block_terms;
      Factors h = g;
      int64_t r = 0;
      const auto add = [&](auto count) {
        constexpr int R = decltype(count)::value;
        alternating_block<R, N, PART>(h, part, terms, k == 0, totals + r * row_numbers);
        h.a += R * f.a_row;
        r += R;
      };
      while (r + most <= some) add(std::integral_constant<int, most>());
      while (r + 2 <= some) add(std::integral_constant<int, 2>());
      if (r < some) add(std::integral_constant<int, 1>());
    }
    for (int64_t r = 0; r < some; ++r)
      for (int v = 0; v < N; ++v) {
        char* const to = f.c + r * f.c_row + v * register_bytes;
        auto total = load<float>(reinterpret_cast<const char*>(totals + r * row_numbers) + v * register_bytes);
        if (PART && v == N - 1) {
          if (!f.fresh) total += load_part<float>(to, part);
          save_part<float>(to, total, part);
        } else {
          if (!f.fresh) total += load<float>(to);
          *reinterpret_cast<pack<float>::loose*>(to) = total;
        }
      }
  }
}

template <class T, int P, int N, bool PART>
void rows_of(Factors f, int64_t rows, int part) {
  if constexpr (std::is_same_v<T, alternating>) return rows_of_alternating<N, PART>(f, rows, part);
  else {
    constexpr int most = (registers == 32 ? (N == 1   ? 16
                                             : N == 2 ? 12
                                             : N == 3 ? 8
                                                      : 6)
                                          : (N == 1   ? 12
                                             : N == 2 ? 6
                                             : N == 3 ? 3
                                                      : 2)) /
                         P;
    const auto advance = [&](int by) {
      f.a += by * f.a_row;
      f.c += by * f.c_row;
      rows -= by;
    };
    for (; rows >= most; advance(most)) block<T, P, most, N, PART>(f, part);
    if constexpr (most > 4)
      for (; rows >= 4; advance(4)) block<T, P, 4, N, PART>(f, part);
    if constexpr (most > 2)
      for (; rows >= 2; advance(2)) block<T, P, 2, N, PART>(f, part);
    for (; rows >= 1; advance(1)) block<T, P, 1, N, PART>(f, part);
  }
}

template <class T, int P>
void product(void* c, int64_t c_row, const void* a, int64_t a_row, int64_t a_column, const void* b, int64_t b_row, int64_t rows,
             int64_t columns, int64_t depth, bool fresh) {
  using Number = typename number_of<T>::type;
  constexpr int lanes = pack<Number>::lanes;
  columns *= P;  // of real numbers
  Factors f{static_cast<char*>(c),
            c_row,
            static_cast<const char*>(a),
            a_row,
            a_column,
            static_cast<const char*>(b),
            b_row,
            depth,
            fresh};
  const auto advance = [&](int64_t by) {
    f.b += by * int64_t(sizeof(Number));
    f.c += by * int64_t(sizeof(Number));
    columns -= by;
  };
  constexpr int N = most_registers;
  if constexpr (std::is_integral_v<T>) {  // rare: fewer blocks are compiled
    for (; columns >= N * lanes; advance(N * lanes)) rows_of<T, P, N, false>(f, rows, 0);
    for (; columns >= lanes; advance(lanes)) rows_of<T, P, 1, false>(f, rows, 0);
    if (columns > 0) rows_of<T, P, 1, true>(f, rows, int(columns));
    return;
  }
  if constexpr (N == 4 && P == 1) {  // so many rows are one block, which reads b once, of fewer registers
    for (; columns > 4 * lanes && (rows == 7 || rows == 8); advance(3 * lanes)) rows_of<T, P, 3, false>(f, rows, 0);
    for (; columns > 4 * lanes && rows == 12; advance(2 * lanes)) rows_of<T, P, 2, false>(f, rows, 0);
  }
  for (; columns >= 4 * lanes && N == 4; advance(4 * lanes)) rows_of<T, P, 4, false>(f, rows, 0);
  for (; columns >= 2 * lanes && N == 2; advance(2 * lanes)) rows_of<T, P, 2, false>(f, rows, 0);
  if (columns == 0) return;
  const int full = int(columns / lanes), part = int(columns % lanes);
  switch (full * 2 + (part != 0)) {
    case 1: return rows_of<T, P, 1, true>(f, rows, part);
    case 2: return rows_of<T, P, 1, false>(f, rows, 0);
    case 3: return rows_of<T, P, 2, true>(f, rows, part);
  }
  if constexpr (N == 4) switch (full * 2 + (part != 0)) {
      case 4: return rows_of<T, P, 2, false>(f, rows, 0);
      case 5: return rows_of<T, P, 3, true>(f, rows, part);
      case 6: return rows_of<T, P, 3, false>(f, rows, 0);
      case 7: return rows_of<T, P, 4, true>(f, rows, part);
    }
}

template <class T, int P>
void stack_product(const StackProduct& s) {
  constexpr int64_t width = P * sizeof(T);
  const bool in_rows = s.b_column == width || s.columns == 1;
  alignas(64) T packed[most_stacked * P];
  const auto pack = [&](const char* from) {
    T* to = packed;
    for (int64_t k = 0; k < s.depth; ++k, from += s.b_row)
      for (int64_t j = 0; j < s.columns; ++j)
        for (int p = 0; p < P; ++p) *to++ = one<T>(from + j * s.b_column + p * int64_t(sizeof(T)));
  };
  for (int64_t i = 0; i < s.count; ++i) {
    const char *a = s.a + i * s.a_step, *b = s.b + i * s.b_step;
    if (!in_rows && s.rows == 1) {  // the product of the transposes
      product<T, P>(s.c + i * s.c_step, width, b, s.b_column, s.b_row, a, s.a_column, s.columns, 1, s.depth, true);
      continue;
    }
    if (!in_rows && (i == 0 || s.b_step != 0)) pack(b);
    product<T, P>(s.c + i * s.c_step, s.c_row, a, s.a_row, s.a_column, in_rows ? b : reinterpret_cast<const char*>(packed),
                  in_rows ? s.b_row : s.columns * width, s.rows, s.columns, s.depth, true);
  }
}

// Each lane has the chains of one matrix.
template <class T, int P>
void lane_product(const StackProduct& s) {
  using V = typename pack<T>::type;
  for (int64_t lane = 0; lane < s.count * int64_t(sizeof(T)); lane += register_bytes)
    for (int64_t r = 0; r < s.rows; ++r)
      for (int64_t j = 0; j < s.columns; ++j) {
        const char *a = s.a + r * s.a_row + lane, *b = s.b + j * s.b_column + lane;
        V sums[P][P]{};
#pragma GCC unroll 1
        for (int64_t k = 0; k < s.depth; ++k, a += s.a_column, b += s.b_row)
#pragma GCC unroll 2
          for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
            for (int q = 0; q < P; ++q) sums[p][q] = sums[p][q] + load<T>(a + p * lane_bytes) * load<T>(b + q * lane_bytes);
        char* const c = s.c + r * s.c_row + j * P * lane_bytes + lane;
        const auto save = [c](int part, V v) { *reinterpret_cast<typename pack<T>::loose*>(c + part * lane_bytes) = v; };
        if constexpr (P == 1) {
          save(0, sums[0][0]);
        } else {
          save(0, sums[0][0] - sums[1][1]);
          save(1, sums[0][1] + sums[1][0]);
        }
      }
}

// The same of at most one block of terms of bfloat16, as float32: the order of decision 76.
void alternating_lane_product(const StackProduct& s) {
  using V = pack<float>::type;
  for (int64_t lane = 0; lane < s.count * int64_t(sizeof(float)); lane += register_bytes)
    for (int64_t r = 0; r < s.rows; ++r)
      for (int64_t j = 0; j < s.columns; ++j) {
        const char *a = s.a + r * s.a_row + lane, *b = s.b + j * s.b_column + lane;
        V even{}, odd{};
        for (int64_t k = 0; k < s.depth; k += 2, a += 2 * s.a_column, b += 2 * s.b_row) {
          even = even + load<float>(a) * load<float>(b);
          if (k + 1 < s.depth) odd = odd + load<float>(a + s.a_column) * load<float>(b + s.b_row);
        }
        *reinterpret_cast<pack<float>::loose*>(s.c + r * s.c_row + j * lane_bytes + lane) = even + odd;
      }
}

// ---- few rows and columns of a great depth, whose sums would wait for each other: H chains at once

template <class T, int P, int R, int H, bool PART>
void chain_block(const StackProduct& f, int64_t chain_step, bool fresh, int part) {
  using V = typename pack<T>::type;
  V sums[H][R][P][1];
#pragma GCC unroll 4
  for (int h = 0; h < H; ++h)
#pragma GCC unroll 8
    for (int i = 0; i < R * P; ++i) sums[h][i / P][i % P][0] = V{};
  const char *a[H], *b[H];
#pragma GCC unroll 4
  for (int h = 0; h < H; ++h) {
    a[h] = f.a + h * chain_depth * f.a_column;
    b[h] = f.b + h * chain_depth * f.b_row;
  }
#pragma GCC unroll 1
  for (int64_t k = 0; k < chain_depth; ++k)
#pragma GCC unroll 4
    for (int h = 0; h < H; ++h) {
      const V row = PART ? load_part<T>(b[h], part) : load<T>(b[h]);
#pragma GCC unroll 8
      for (int i = 0; i < R * P; ++i) {
        V& sum = sums[h][i / P][i % P][0];
        sum = sum + row * one<T>(a[h] + i / P * f.a_row + i % P * int(sizeof(T)));
      }
      a[h] += f.a_column;
      b[h] += f.b_row;
    }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    char* to = f.c + r * f.c_row;
    V total = !fresh && chain_step == 0 ? PART ? load_part<T>(to, part) : load<T>(to) : V{};
#pragma GCC unroll 4
    for (int h = 0; h < H; ++h) {
      const V sum = joined<T, P, 1>(sums[h][r], 0);
      total = chain_step != 0 || (fresh && h == 0) ? sum : total + sum;
      if (h == H - 1 || chain_step != 0) {
        if (PART) save_part<T>(to, total, part);
        else *reinterpret_cast<typename pack<T>::loose*>(to) = total;
      }
      to += chain_step;
    }
  }
}

template <class T, int P, int R, bool PART>
void rows_of_chains(StackProduct f, int64_t chain_step, bool fresh, int part) {
  constexpr int most = (registers == 32 ? 24 : 12) / (R * P), H = most >= 4 ? 4 : most >= 2 ? 2 : 1;
  if constexpr (H > 1)
    for (; f.depth >= H * chain_depth; f.depth -= H * chain_depth) {
      chain_block<T, P, R, H, PART>(f, chain_step, fresh, part);
      f.a += H * chain_depth * f.a_column;
      f.b += H * chain_depth * f.b_row;
      f.c += H * chain_step;
      fresh = fresh && chain_step != 0;
    }
  while (f.depth > 0) {
    const int64_t depth = f.depth < chain_depth ? f.depth : chain_depth;
    rows_of<T, P, 1, PART>({f.c, f.c_row, f.a, f.a_row, f.a_column, f.b, f.b_row, depth, fresh}, R, part);
    f.depth -= depth;
    f.a += depth * f.a_column;
    f.b += depth * f.b_row;
    f.c += chain_step;
    fresh = fresh && chain_step != 0;
  }
}

template <class T, int P>
void chains(const StackProduct& all, int64_t chain_step, bool fresh) {
  constexpr int lanes = pack<T>::lanes;
  StackProduct f = all;
  const auto multiply_rows = [&](auto rows) {
    constexpr int R = decltype(rows)::value;
    StackProduct g = f;
    for (int64_t left = f.columns * P; left > 0; left -= lanes, g.b += register_bytes, g.c += register_bytes) {
      if (left >= lanes) rows_of_chains<T, P, R, false>(g, chain_step, fresh, 0);
      else rows_of_chains<T, P, R, true>(g, chain_step, fresh, int(left));
    }
    f.a += R * f.a_row;
    f.c += R * f.c_row;
    f.rows -= R;
  };
  while (f.rows > 0) switch (f.rows % 4 == 1 ? 3 : f.rows) {  // 5 are 3 and 2
      case 2: multiply_rows(std::integral_constant<int, 2>()); break;
      case 3: multiply_rows(std::integral_constant<int, 3>()); break;
      default: multiply_rows(std::integral_constant<int, 4>());
    }
}

template <class T, int P = 1>
void fill(LinalgKernels* kernels, int type) {
  kernels->products[type] = product<T, P>;
  kernels->stack_products[type] = stack_product<T, P>;
  kernels->lane_products[type] = lane_product<T, P>;
  if constexpr (!std::is_integral_v<T>) kernels->chains[type] = chains<T, P>;
}

}  // namespace

void fill_products(LinalgKernels* kernels) {
  kernels->panel_bytes = register_bytes > 16 ? most_registers * register_bytes : 64;
  fill<float>(kernels, type_float32);
  fill<double>(kernels, type_float64);
  for (const int type : {type_int8, type_uint8}) fill<uint8_t>(kernels, type);
  for (const int type : {type_int16, type_uint16}) fill<uint16_t>(kernels, type);
  for (const int type : {type_int32, type_uint32}) fill<uint32_t>(kernels, type);
  for (const int type : {type_int64, type_uint64}) fill<uint64_t>(kernels, type);
  fill<float, 2>(kernels, type_complex64);
  fill<double, 2>(kernels, type_complex128);
  kernels->alternating_product = product<alternating, 1>;
  kernels->alternating_lane_product = alternating_lane_product;
}

}  // namespace dlt::DLT_LEVEL
