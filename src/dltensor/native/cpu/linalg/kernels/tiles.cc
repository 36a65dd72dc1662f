// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 and of bytes by tiles, for which some processors have instructions (AMX). That of bfloat16 adds a block of terms
// with the bits of kernels/products.cc, as long as no number is subnormal and none overflows: packing finds this out.
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/linalg/kernels/parts.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/registers.h"

#if defined(__AVX512F__) && defined(DLT_HAS_AMX) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#define DLT_TILES
#endif

namespace dlt::DLT_LEVEL {

#if defined(DLT_TILES)
namespace {

// As the instruction reads it: all eight tiles have 16 rows of 64 bytes.
struct TileShapes {
  uint8_t palette = 1, start = 0, unused[14]{};
  uint16_t row_bytes[16]{64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16]{16, 16, 16, 16, 16, 16, 16, 16};
};
alignas(64) constexpr TileShapes shapes;

// The system saves tiles for processes that have asked for them.
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

void begin() { asm volatile("ldtilecfg %0" ::"m"(shapes)); }
void end() { asm volatile("tilerelease"); }

#define DLT_LOAD_TILE(tile, from) asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"(int64_t(64)) : "memory")
#define DLT_SAVE_TILE(tile, to, step) asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(step) : "memory")
#define DLT_DOT(name, sum, a, b) asm volatile(name " %tmm" #b ", %tmm" #a ", %tmm" #sum)
#define DLT_ADD_PRODUCT(sum, a, b)                                              \
  do {                                                                          \
    if constexpr (OP == tiles_of_bfloat16) DLT_DOT("tdpbf16ps", sum, a, b);     \
    else if constexpr (OP == tiles_of_bytes) DLT_DOT("tdpbuud", sum, a, b);     \
    else if constexpr (OP == tiles_of_bytes + 1) DLT_DOT("tdpbusd", sum, a, b); \
    else if constexpr (OP == tiles_of_bytes + 2) DLT_DOT("tdpbsud", sum, a, b); \
    else DLT_DOT("tdpbssd", sum, a, b);                                         \
  } while (false)

// Adds products to tiles 0 to 3: of one or two tiles of rows and as many of columns.
template <int OP, int ROWS, int COLUMNS>
void add_steps(const char* a, int64_t a_step, const char* b, int64_t b_step, int64_t steps) {
#pragma GCC unroll 1
  for (int64_t i = 0; i < steps; ++i, a += tile_bytes, b += tile_bytes) {
    DLT_LOAD_TILE(4, a);
    DLT_LOAD_TILE(6, b);
    DLT_ADD_PRODUCT(0, 4, 6);
    if constexpr (COLUMNS == 2) {
      DLT_LOAD_TILE(7, b + b_step);
      DLT_ADD_PRODUCT(1, 4, 7);
    }
    if constexpr (ROWS == 2) {
      DLT_LOAD_TILE(5, a + a_step);
      DLT_ADD_PRODUCT(2, 5, 6);
      if constexpr (COLUMNS == 2) DLT_ADD_PRODUCT(3, 5, 7);
    }
  }
}

// The first rows and columns of a tile, written or added to c.
template <class T>
void save_sums(char* to, int64_t row, const char* sums, int64_t rows, int64_t columns, bool fresh) {
  for (int64_t r = 0; r < rows; ++r, to += row, sums += tile_row) {
    auto total = load<T>(sums);
    if (columns >= tile_side) {
      if (!fresh) total += load<T>(to);
      *reinterpret_cast<typename pack<T>::loose*>(to) = total;
    } else if (columns > 0) {
      if (!fresh) total += load_part<T>(to, int(columns));
      save_part<T>(to, total, int(columns));
    }
  }
}

template <int OP>
void multiply(const TileBlock& t, int64_t steps, bool fresh) {
  using Sum = std::conditional_t<OP == tiles_of_bfloat16, float, uint32_t>;  // integers wrap
  const bool two_rows = t.rows > tile_side, two_columns = t.columns > tile_side;
  asm volatile("tilezero %tmm0; tilezero %tmm1; tilezero %tmm2; tilezero %tmm3");
  if (two_rows && two_columns) add_steps<OP, 2, 2>(t.a, t.a_step, t.b, t.b_step, steps);
  else if (two_rows) add_steps<OP, 2, 1>(t.a, t.a_step, t.b, t.b_step, steps);
  else if (two_columns) add_steps<OP, 1, 2>(t.a, t.a_step, t.b, t.b_step, steps);
  else add_steps<OP, 1, 1>(t.a, t.a_step, t.b, t.b_step, steps);
  if (fresh && t.rows >= 2 * tile_side && t.columns >= 2 * tile_side) {
    char* const below = t.c + tile_side * t.c_row;
    DLT_SAVE_TILE(0, t.c, t.c_row);
    DLT_SAVE_TILE(1, t.c + tile_row, t.c_row);
    DLT_SAVE_TILE(2, below, t.c_row);
    DLT_SAVE_TILE(3, below + tile_row, t.c_row);
    return;
  }
  alignas(64) char sums[4][tile_bytes];
  DLT_SAVE_TILE(0, sums[0], tile_row);
  DLT_SAVE_TILE(1, sums[1], tile_row);
  DLT_SAVE_TILE(2, sums[2], tile_row);
  DLT_SAVE_TILE(3, sums[3], tile_row);
  for (int i = 0; i < 4; ++i) {
    const int64_t row = i / 2 * tile_side, column = i % 2;
    const int64_t some = t.rows - row < tile_side ? t.rows - row : tile_side;
    save_sums<Sum>(t.c + row * t.c_row + column * tile_row, t.c_row, sums[i], some, t.columns - column * tile_side, fresh);
  }
}

typedef uint16_t Words __attribute__((vector_size(64)));
typedef uint16_t LooseWords __attribute__((vector_size(64), aligned(1), may_alias));

// The first bytes of a register, and zeros.
DLT_FN Words some_bytes(const char* from, int64_t bytes) {
  const __mmask64 mask = bytes >= register_bytes ? ~__mmask64(0) : (__mmask64(1) << bytes) - 1;
  return reinterpret_cast<Words>(_mm512_maskz_loadu_epi8(mask, from));
}

// The magnitudes of numbers, in registers.
struct Range {
  Words least, greatest;

  DLT_FN explicit Range(const MagnitudeRange& r)
      : least(*reinterpret_cast<const LooseWords*>(r.least)), greatest(*reinterpret_cast<const LooseWords*>(r.greatest)) {}
  DLT_FN void add(Words numbers) {
    const Words magnitude = numbers & 0x7fff, below = magnitude - 1;
    least = below < least ? below : least;
    greatest = magnitude > greatest ? magnitude : greatest;
  }
  DLT_FN void save(MagnitudeRange* r) const {
    *reinterpret_cast<LooseWords*>(r->least) = least;
    *reinterpret_cast<LooseWords*>(r->greatest) = greatest;
  }
};

void pack_rows(char* to, const char* from, int64_t row, int64_t rows, int64_t bytes, MagnitudeRange* range) {
  Range all(*range);
  for (int64_t r = 0; r < tile_side; ++r, from += row, to += tile_row) {
    const Words words = r < rows ? some_bytes(from, bytes) : Words{};
    *reinterpret_cast<LooseWords*>(to) = words;
    all.add(words);
  }
  all.save(range);
}

// Elements of two registers one after the other, of the first or the second half of each.
template <int HALF, class V, int... I>
DLT_FN V interleaved(V first, V second, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(first, second, (HALF * n / 2 + I / 2 + I % 2 * n)...);
}
template <int HALF, class V>
DLT_FN V interleaved(V first, V second) {
  return interleaved<HALF>(first, second, std::make_integer_sequence<int, int(sizeof(V) / sizeof(first[0]))>());
}

void pack_pairs(char* to, int64_t tile_step, const char* from, int64_t row, int64_t terms, int64_t columns,
                MagnitudeRange* range) {
  Range all(*range);
  for (int64_t k = 0; k < 2 * tile_side; k += 2, to += tile_row) {
    const Words first = k < terms ? some_bytes(from + k * row, 2 * columns) : Words{};
    const Words second = k + 1 < terms ? some_bytes(from + (k + 1) * row, 2 * columns) : Words{};
    *reinterpret_cast<LooseWords*>(to) = interleaved<0>(first, second);
    if (columns > tile_side) *reinterpret_cast<LooseWords*>(to + tile_step) = interleaved<1>(first, second);
    all.add(first);
    all.add(second);
  }
  all.save(range);
}

void pack_fours(char* to, int64_t tile_step, const char* from, int64_t row, int64_t terms, int64_t columns, MagnitudeRange*) {
  typedef uint8_t Bytes __attribute__((vector_size(32)));
  for (int64_t k = 0; k < 4 * tile_side; k += 4, to += tile_row) {
    Bytes rows[4];
    for (int i = 0; i < 4; ++i) {
      const __mmask32 mask = columns >= 32 ? ~__mmask32(0) : (__mmask32(1) << columns) - 1;
      rows[i] = k + i < terms ? reinterpret_cast<Bytes>(_mm256_maskz_loadu_epi8(mask, from + (k + i) * row)) : Bytes{};
    }
    typedef uint16_t Pairs __attribute__((vector_size(32)));
    typedef uint16_t LoosePairs __attribute__((vector_size(32), aligned(1), may_alias));
    const auto save = [&](char* at, Bytes first, Bytes second) {
      *reinterpret_cast<LoosePairs*>(at) = interleaved<0>(Pairs(first), Pairs(second));
      *reinterpret_cast<LoosePairs*>(at + 32) = interleaved<1>(Pairs(first), Pairs(second));
    };
    save(to, interleaved<0>(rows[0], rows[1]), interleaved<0>(rows[2], rows[3]));
    if (columns > tile_side) save(to + tile_step, interleaved<1>(rows[0], rows[1]), interleaved<1>(rows[2], rows[3]));
  }
}

void find_range(const char* tile, MagnitudeRange* range) {
  Range all(*range);
  for (int64_t i = 0; i < tile_bytes; i += register_bytes) all.add(*reinterpret_cast<const LooseWords*>(tile + i));
  all.save(range);
}

}  // namespace
#endif

void fill_tiles(LinalgKernels* kernels) {
  kernels->tiles = {};
#if defined(DLT_TILES)
  TileProducts& tiles = kernels->tiles;
  if (!__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-int8")) return;
  constexpr int bytes = tiles_of_bytes;
  tiles = {may_use_tiles, begin, end, {}, pack_rows, {pack_pairs, pack_fours}, find_range};
  tiles.multiply[tiles_of_bfloat16] = multiply<tiles_of_bfloat16>;
  tiles.multiply[bytes] = multiply<bytes>;
  tiles.multiply[bytes + 1] = multiply<bytes + 1>;
  tiles.multiply[bytes + 2] = multiply<bytes + 2>;
  tiles.multiply[bytes + 3] = multiply<bytes + 3>;
#endif
}

}  // namespace dlt::DLT_LEVEL
