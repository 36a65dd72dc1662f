// SPDX-License-Identifier: Apache-2.0
// Moving elements without reading their values: strided, transposed, interleaved, and with non-temporal stores.
#include <string.h>

#include <bit>
#include <utility>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/cpu/runtime/kernels/unit.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

// The side of the square of elements of width W that is transposed in registers.
template <int W>
constexpr int square = W <= 2 ? 16 / W : register_bytes / W;  // narrow ones: 16 or 8 lines are enough

template <int W, int N>
struct lanes_of {
  using U = typename unit<W>::type;
  typedef U type __attribute__((vector_size(N * W)));
  typedef U loose __attribute__((vector_size(N * W), aligned(1), may_alias));
};

template <class V, int... I>
DLT_FN V interleave_low(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int N = sizeof...(I);
  return __builtin_shufflevector(a, b, ((I & 1) ? N + I / 2 : I / 2)...);
}
template <class V, int... I>
DLT_FN V interleave_high(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int N = sizeof...(I), half = N / 2;
  return __builtin_shufflevector(a, b, ((I & 1) ? N + half + I / 2 : half + I / 2)...);
}

// N lines of N elements become their transpose: interleaving line i with line i + N/2, log2(N) times over.
template <int W, int N>
DLT_FN void transpose_square(char* to, int64_t to_row, const char* from, int64_t from_line) {
  using V = typename lanes_of<W, N>::type;
  using L = typename lanes_of<W, N>::loose;
  using Order = std::make_integer_sequence<int, N>;
  V a[N], b[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) a[i] = *reinterpret_cast<const L*>(from + i * from_line);
#pragma GCC unroll 4
  for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < N / 2; ++i) {
      b[2 * i] = interleave_low<V>(a[i], a[i + N / 2], Order());
      b[2 * i + 1] = interleave_high<V>(a[i], a[i + N / 2], Order());
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) *reinterpret_cast<L*>(to + i * to_row) = a[i];
}

template <class U>
DLT_FN void one(char* to, const char* from) {
  *reinterpret_cast<loose_t<U>*>(to) = *reinterpret_cast<const loose_t<U>*>(from);
}

template <class U>
void any(char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row, int64_t from_column, int64_t rows,
         int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) one<U>(to + r * to_row + c * to_column, from + r * from_row + c * from_column);
}

// Rows of contiguous elements from lines that lie a step apart: STEP elements, known here so that it can be unrolled.
template <class U, int STEP>
void stepped(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    loose_t<U>* out = reinterpret_cast<loose_t<U>*>(to + r * to_row);
    const loose_t<U>* in = reinterpret_cast<const loose_t<U>*>(from + r * from_row);
    DLT_IVDEP
    for (int64_t c = 0; c < columns; ++c) out[c] = in[c * STEP];
  }
}

// PLANES rows out of elements that come in groups of PLANES: HWC to CHW.
template <class U, int PLANES>
void split(char* to, int64_t to_row, const char* from, int64_t columns) {
  const loose_t<U>* in = reinterpret_cast<const loose_t<U>*>(from);
  loose_t<U>* out[PLANES];
  for (int k = 0; k < PLANES; ++k) out[k] = reinterpret_cast<loose_t<U>*>(to + k * to_row);
  int64_t c = 0;
  if constexpr (sizeof(U) == 8 && PLANES == 4 && register_bytes >= 32)
    for (; c + 4 <= columns; c += 4) transpose_square<8, 4>(to + c * 8, to_row, from + c * 32, 32);
  DLT_IVDEP
  for (; c < columns; ++c)
#pragma GCC unroll 4
    for (int k = 0; k < PLANES; ++k) out[k][c] = in[c * PLANES + k];
}
// The inverse: CHW to HWC.
template <class U, int PLANES>
void join(char* to, const char* from, int64_t from_column, int64_t rows) {
  loose_t<U>* out = reinterpret_cast<loose_t<U>*>(to);
  const loose_t<U>* in[PLANES];
  for (int k = 0; k < PLANES; ++k) in[k] = reinterpret_cast<const loose_t<U>*>(from + k * from_column);
  DLT_IVDEP
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int k = 0; k < PLANES; ++k) out[r * PLANES + k] = in[k][r];
}

// Lines that lie a step apart from rows of contiguous elements, or of one: STEP as above.
template <class U, int STEP>
void spaced(char* to, int64_t to_row, const char* from, int64_t from_row, bool one, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    loose_t<U>* out = reinterpret_cast<loose_t<U>*>(to + r * to_row);
    const loose_t<U>* in = reinterpret_cast<const loose_t<U>*>(from + r * from_row);
    const U first = in[0];
    if (one) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < columns; ++c) out[c * STEP] = first;
      continue;
    }
#pragma GCC unroll 8
    for (int64_t c = 0; c < columns; ++c) out[c * STEP] = in[c];
  }
}

template <class U>
void repeat(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    const U value = *reinterpret_cast<const loose_t<U>*>(from + r * from_row);
    loose_t<U>* out = reinterpret_cast<loose_t<U>*>(to + r * to_row);
    DLT_IVDEP
    for (int64_t c = 0; c < columns; ++c) out[c] = value;
  }
}

template <int W, int N = square<W>>
void transpose(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows, int64_t columns) {
  using U = typename unit<W>::type;
  if constexpr (W < 16) {
    if (rows < N || columns < N) {
      if constexpr (N * W > 16 || N > 4) return transpose<W, N / 2>(to, to_row, from, from_column, rows, columns);
      else return any<U>(to, to_row, W, from, W, from_column, rows, columns);
    }
    // The last square of a row or column overlaps its neighbour, so that some elements are moved twice.
    for (int64_t row = 0; row < rows; row += N) {
      const int64_t r = row + N <= rows ? row : rows - N;
      for (int64_t column = 0; column < columns; column += N) {
        const int64_t c = column + N <= columns ? column : columns - N;
        transpose_square<W, N>(to + r * to_row + c * W, to_row, from + r * W + c * from_column, from_column);
      }
    }
  } else {
    any<U>(to, to_row, W, from, W, from_column, rows, columns);
  }
}

// Rows of H to 2 H bytes, as their first and their last H.
template <size_t H>
void short_rows(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t bytes) {
  const int64_t rest = bytes - int64_t(H);
  if (rest == 0) {
    for (int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) memcpy(to, from, H);
    return;
  }
  for (int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) {
    char first[H], last[H];
    memcpy(first, from, H);
    memcpy(last, from + rest, H);
    memcpy(to, first, H);
    memcpy(to + rest, last, H);
  }
}
void copy_rows(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t bytes) {
  if (rows > 1 && bytes < 128) switch (std::bit_floor(uint64_t(bytes))) {
      case 2: return short_rows<2>(to, to_row, from, from_row, rows, bytes);
      case 4: return short_rows<4>(to, to_row, from, from_row, rows, bytes);
      case 8: return short_rows<8>(to, to_row, from, from_row, rows, bytes);
      case 16: return short_rows<16>(to, to_row, from, from_row, rows, bytes);
      case 32: return short_rows<32>(to, to_row, from, from_row, rows, bytes);
      case 64: return short_rows<64>(to, to_row, from, from_row, rows, bytes);
      default: break;
    }
  for (int64_t r = 0; r < rows; ++r) memcpy(to + r * to_row, from + r * from_row, size_t(bytes));
}

template <int W>
void move(char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row, int64_t from_column, int64_t rows,
          int64_t columns) {
  using U = typename unit<W>::type;
  if (columns > 1 && (from_column == W || from_column == 0)) {
    const bool one = from_column == 0;
    if (to_column == 2 * W) return spaced<U, 2>(to, to_row, from, from_row, one, rows, columns);
    if (to_column == 3 * W) return spaced<U, 3>(to, to_row, from, from_row, one, rows, columns);
    if (to_column == 4 * W) return spaced<U, 4>(to, to_row, from, from_row, one, rows, columns);
  }
  if (to_column != W) return any<U>(to, to_row, to_column, from, from_row, from_column, rows, columns);
  if (from_column == W) return copy_rows(to, to_row, from, from_row, rows, columns * W);
  if (from_row == W && rows > 1) {
    if (rows == 3 && from_column == 3 * W) return split<U, 3>(to, to_row, from, columns);
    if (rows == 2 && from_column == 2 * W) return split<U, 2>(to, to_row, from, columns);
    if (rows == 4 && from_column == 4 * W) return split<U, 4>(to, to_row, from, columns);
    if (columns == 3 && to_row == 3 * W) return join<U, 3>(to, from, from_column, rows);
    if (columns == 2 && to_row == 2 * W) return join<U, 2>(to, from, from_column, rows);
    if (columns == 4 && to_row == 4 * W) return join<U, 4>(to, from, from_column, rows);
    return transpose<W>(to, to_row, from, from_column, rows, columns);
  }
  if (from_column == 0) return repeat<U>(to, to_row, from, from_row, rows, columns);
  if (from_column == 2 * W) return stepped<U, 2>(to, to_row, from, from_row, rows, columns);
  if (from_column == 3 * W) return stepped<U, 3>(to, to_row, from, from_row, rows, columns);
  if (from_column == 4 * W) return stepped<U, 4>(to, to_row, from, from_row, rows, columns);
  if (from_column == -W) return stepped<U, -1>(to, to_row, from, from_row, rows, columns);
  any<U>(to, to_row, to_column, from, from_row, from_column, rows, columns);
}

void stream(void* to, const void* from, size_t bytes) {
#if defined(__x86_64__)
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  size_t i = 0;
  const bool is_long = bytes >= 4096;  // shorter ones come from a buffer
  for (; i + 64 <= bytes; i += 64) {
    if (is_long) __builtin_prefetch(in + i + 2048);  // past the end too: a prefetch does not fault
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_loadu_si512(in + i));
#elif defined(__AVX__)
    for (size_t k = 0; k < 64; k += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i + k),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i + k)));
#else
    for (size_t k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + i + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i + k)));
#endif
  }
  if (i < bytes) memcpy(out + i, in + i, bytes - i);
#else
  memcpy(to, from, bytes);
#endif
}

// Non-temporal stores are not ordered with later stores before this fence.
void stream_end() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

template <int... I>
void fill_widths(CopyKernels* kernels, std::integer_sequence<int, I...>) {
  ((kernels->moves[I] = move<1 << I>), ...);
}

}  // namespace

void fill_moves(CopyKernels* kernels) {
  fill_widths(kernels, std::make_integer_sequence<int, 6>());
  kernels->stream = stream;
  kernels->stream_end = stream_end;
}

}  // namespace dlt::DLT_LEVEL
