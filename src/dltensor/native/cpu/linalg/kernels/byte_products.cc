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

typedef uint8_t Sixteen __attribute__((vector_size(16)));
typedef int8_t SignedSixteen __attribute__((vector_size(16)));
typedef uint8_t LooseSixteen __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t SixteenWords __attribute__((vector_size(32)));
typedef uint16_t LooseWords __attribute__((vector_size(32), aligned(1), may_alias));

// Elements of two registers one after the other: of their lower halves, or of the upper ones.
template <bool HIGH, class V, int... I>
DLT_FN V interleaved(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I), first = HIGH ? n / 2 : 0;
  return __builtin_shufflevector(a, b, (first + I / 2 + I % 2 * n)...);
}
template <bool HIGH>
DLT_FN Sixteen interleaved_bytes(Sixteen a, Sixteen b) {
  return interleaved<HIGH>(a, b, std::make_integer_sequence<int, 16>());
}
template <bool HIGH>
DLT_FN void save_pairs(uint8_t* to, Sixteen a, Sixteen b) {
  typedef uint16_t Pairs __attribute__((vector_size(16)));
  const auto joined = interleaved<HIGH>(Pairs(a), Pairs(b), std::make_integer_sequence<int, 8>());
  *reinterpret_cast<LooseSixteen*>(to) = Sixteen(joined);
}
DLT_FN Sixteen sixteen_of(const uint8_t* from) { return *reinterpret_cast<const LooseSixteen*>(from); }

// Two products of each pair of words.
struct Words {
  static constexpr int unit = 2;
  using Element = int16_t;
  static constexpr int registers_of_columns = registers == 32 ? 4 : 2, rows = 6;
  DLT_FN static Element in_a(uint8_t byte, bool is_signed) { return is_signed ? Element(int8_t(byte)) : Element(byte); }
  DLT_FN static void save(uint8_t* to, Sixteen bytes, bool is_signed) {
    *reinterpret_cast<LooseWords*>(to) = is_signed ? __builtin_convertvector(SignedSixteen(bytes), SixteenWords)
                                                   : __builtin_convertvector(bytes, SixteenWords);
  }
  // Sixteen columns from j on, of as many rows as a unit has.
  DLT_FN static void pack(uint8_t* to, const uint8_t* const* rows, int64_t j, bool is_signed) {
    const Sixteen first = sixteen_of(rows[0] + j), second = sixteen_of(rows[1] + j);
    save(to, interleaved_bytes<false>(first, second), is_signed);
    save(to + 32, interleaved_bytes<true>(first, second), is_signed);
  }
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
#define DLT_DOT_PRODUCT "vpdpbusd"
#elif defined(__AVX2__) && defined(DLT_HAS_AVX_VNNI)
#define DLT_DOT_PRODUCT "%{vex%} vpdpbusd"
#endif
#if defined(DLT_DOT_PRODUCT)
// Four products of bytes without a sign, of a, with bytes with one. As assembly, because g++ 12 spills sums of the intrinsic, and
// the level does not include the instruction.
struct Bytes {
  static constexpr int unit = 4;
  using Element = uint8_t;
  static constexpr int registers_of_columns = registers == 32 ? 4 : 2, rows = 6;
  DLT_FN static Element in_a(uint8_t byte, bool is_signed) { return Element(byte ^ (is_signed ? 0x80 : 0)); }
  DLT_FN static void pack(uint8_t* to, const uint8_t* const* rows, int64_t j, bool) {
    const Sixteen r0 = sixteen_of(rows[0] + j), r1 = sixteen_of(rows[1] + j);
    const Sixteen r2 = sixteen_of(rows[2] + j), r3 = sixteen_of(rows[3] + j);
    const Sixteen low = interleaved_bytes<false>(r0, r1), high = interleaved_bytes<true>(r0, r1);
    const Sixteen next_low = interleaved_bytes<false>(r2, r3), next_high = interleaved_bytes<true>(r2, r3);
    save_pairs<false>(to, low, next_low);
    save_pairs<true>(to + 16, low, next_low);
    save_pairs<false>(to + 32, high, next_high);
    save_pairs<true>(to + 48, high, next_high);
  }
  DLT_FN static void add(Sums& sums, Sums a, Sums b) {
#if defined(__AVX512BW__)
    asm(DLT_DOT_PRODUCT " %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
#else
    asm(DLT_DOT_PRODUCT " %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
#endif
  }
};
#endif

template <class P>
void pack_panel(void* panel, const uint8_t* b, int64_t row, int64_t depth, int64_t columns, bool is_signed) {
  constexpr int64_t width = P::registers_of_columns * lanes, at_once = width < 16 ? 16 : width, bytes = width * 4;
  uint8_t part[P::unit][at_once] = {};
  auto* to = static_cast<uint8_t*>(panel);
  for (int64_t k = 0; k < depth; k += P::unit, to += bytes) {
    const bool whole = columns >= at_once && k + P::unit <= depth;
    const uint8_t* rows[P::unit];
    for (int u = 0; u < P::unit; ++u) {
      const uint8_t* const from = b + (k + u) * row;
      if (!whole && k + u < depth) __builtin_memcpy(part[u], from, size_t(columns));
      else if (!whole) __builtin_memset(part[u], 0, at_once);
      rows[u] = whole ? from : part[u];
    }
    alignas(64) uint8_t unit[at_once * 4];
    for (int64_t j = 0; j < at_once; j += 16) P::pack((width < 16 ? unit : to) + j * 4, rows, j, is_signed);
    if (width < 16) __builtin_memcpy(to, unit, bytes);
  }
}

template <class P>
void pack_row(void* out, const uint8_t* a, int64_t depth, bool is_signed) {
  auto* to = static_cast<typename P::Element*>(out);
  DLT_IVDEP
  for (int64_t k = 0; k < depth; ++k) to[k] = P::in_a(a[k], is_signed);
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
#elif defined(DLT_DOT_PRODUCT)
  if (__builtin_cpu_supports("avxvnni")) kernels->byte_products[1] = products_by<Bytes>(true);
#endif
}

}  // namespace dlt::DLT_LEVEL
