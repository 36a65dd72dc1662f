// SPDX-License-Identifier: Apache-2.0
// Exact products of bytes in int32: blocks of rows by registers of columns of a packed panel. Sums are of pairs of products of
// 16-bit words, or of four products of bytes.
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

using Sums = pack<int32_t>::type;
constexpr int lanes = pack<int32_t>::lanes;

// Two products of each pair of words.
struct Words {
  static constexpr int unit = 2;
  using Element = int16_t;
  static constexpr int registers_of_columns = registers == 32 ? 4 : 2, rows = 6;
  DLT_FN static Element in(uint8_t byte, bool is_signed) { return is_signed ? Element(int8_t(byte)) : Element(byte); }
  DLT_FN static Element in_a(uint8_t byte, bool is_signed) { return in(byte, is_signed); }
  DLT_FN static void add(Sums& sums, Sums a, Sums b) {
#if defined(__AVX512BW__)
    sums += reinterpret_cast<Sums>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
    sums += reinterpret_cast<Sums>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
    sums += reinterpret_cast<Sums>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
    sums += (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
  }
};

#if defined(__AVX512BW__)
// Four products of bytes without a sign, of a, with bytes with one. As assembly, because g++ 12 spills sums of the intrinsic, and
// the level does not include the instruction.
struct Bytes {
  static constexpr int unit = 4;
  using Element = uint8_t;
  static constexpr int registers_of_columns = 4, rows = 6;
  DLT_FN static Element in(uint8_t byte, bool) { return byte; }
  DLT_FN static Element in_a(uint8_t byte, bool is_signed) { return Element(byte ^ (is_signed ? 0x80 : 0)); }
  DLT_FN static void add(Sums& sums, Sums a, Sums b) { asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b)); }
};
#endif

template <class P>
void pack_panel(void* panel, const uint8_t* b, int64_t row, int64_t column, int64_t depth, int64_t columns, bool is_signed) {
  constexpr int width = P::registers_of_columns * lanes;
  auto* out = static_cast<typename P::Element*>(panel);
  const int64_t units = (depth + P::unit - 1) / P::unit;
  if (columns < width || depth % P::unit != 0) __builtin_memset(panel, 0, size_t(units * width * P::unit) * sizeof *out);
  for (int64_t k = 0; k < depth; ++k) {
    typename P::Element* const to = out + k / P::unit * width * P::unit + k % P::unit;
    const uint8_t* const from = b + k * row;
    if (column == 1) {
      DLT_IVDEP
      for (int64_t j = 0; j < columns; ++j) to[j * P::unit] = P::in(from[j], is_signed);
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j * P::unit] = P::in(from[j * column], is_signed);
    }
  }
}

template <class P>
void pack_row(void* out, const uint8_t* a, int64_t column, int64_t depth, bool is_signed) {
  auto* to = static_cast<typename P::Element*>(out);
  if (column == 1) {
    DLT_IVDEP
    for (int64_t k = 0; k < depth; ++k) to[k] = P::in_a(a[k], is_signed);
  } else {
    for (int64_t k = 0; k < depth; ++k) to[k] = P::in_a(a[k * column], is_signed);
  }
  for (int64_t k = depth; k % P::unit != 0; ++k) to[k] = 0;
}

template <class P, int R>
void block(int32_t* c, int64_t c_row, const char* a, int64_t a_row, const char* panel, const int32_t* start, int64_t units) {
  constexpr int N = P::registers_of_columns;
  Sums sums[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n)
      sums[r][n] = load<int32_t>(reinterpret_cast<const char*>((start != nullptr ? start : c + r * c_row) + n * lanes));
  for (int64_t k = 0; k < units; ++k, a += 4, panel += N * register_bytes) {
    Sums row[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      row[n] = load<int32_t>(panel + n * register_bytes);
#if defined(__SSE2__)
      asm volatile("" : "+v"(row[n]));  // in a register: the compiler would read it for each row
#endif
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Sums x = Sums{} + one<int32_t>(a + r * a_row);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) P::add(sums[r][n], x, row[n]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) *reinterpret_cast<pack<int32_t>::loose*>(c + r * c_row + n * lanes) = sums[r][n];
}

template <class P>
void multiply(int32_t* c, int64_t c_row, const void* a, int64_t a_row, const void* panel, const int32_t* start, int64_t rows,
              int64_t units) {
  const char* from = static_cast<const char*>(a);
  const char* const packed = static_cast<const char*>(panel);
  const auto advance = [&](int by) {
    from += by * a_row;
    c += by * c_row;
    rows -= by;
  };
  for (; rows >= P::rows; advance(P::rows)) block<P, P::rows>(c, c_row, from, a_row, packed, start, units);
  for (; rows >= 2; advance(2)) block<P, 2>(c, c_row, from, a_row, packed, start, units);
  for (; rows >= 1; advance(1)) block<P, 1>(c, c_row, from, a_row, packed, start, units);
}

template <class P>
constexpr ByteProducts products_by(bool offset) {
  return {P::unit,    int(sizeof(typename P::Element)), P::registers_of_columns * lanes, offset, pack_panel<P>, pack_row<P>,
          multiply<P>};
}

}  // namespace

void fill_byte_products(LinalgKernels* kernels) {
  kernels->byte_products[0] = products_by<Words>(false);
  kernels->byte_products[1] = {};
#if defined(__AVX512BW__)
  if (__builtin_cpu_supports("avx512vnni")) kernels->byte_products[1] = products_by<Bytes>(true);
#endif
}

}  // namespace dlt::DLT_LEVEL
