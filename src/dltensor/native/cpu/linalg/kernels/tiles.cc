// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by tiles of 16 x 32 and 32 x 16 elements, for which some processors have instructions (AMX). One of them adds a
// block of terms with the bits of kernels/products.cc, as long as no number is subnormal and none overflows: packing finds this out.
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
#define DLT_ADD_PRODUCT(sum, a, b) asm volatile("tdpbf16ps %tmm" #b ", %tmm" #a ", %tmm" #sum)

// Adds products to tiles 0 to 3: of one or two tiles of rows and as many of columns.
template <int ROWS, int COLUMNS>
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
void save_sums(float* c, int64_t c_row, const float* sums, int64_t rows, int64_t columns, bool fresh) {
  for (int64_t r = 0; r < rows; ++r, c += c_row, sums += tile_side) {
    auto total = load<float>(reinterpret_cast<const char*>(sums));
    char* const to = reinterpret_cast<char*>(c);
    if (columns >= tile_side) {
      if (!fresh) total += load<float>(to);
      *reinterpret_cast<pack<float>::loose*>(to) = total;
    } else if (columns > 0) {
      if (!fresh) total += load_part<float>(to, int(columns));
      save_part<float>(to, total, int(columns));
    }
  }
}

void multiply(const TileBlock& t, int64_t steps, bool fresh) {
  const bool two_rows = t.rows > tile_side, two_columns = t.columns > tile_side;
  asm volatile("tilezero %tmm0; tilezero %tmm1; tilezero %tmm2; tilezero %tmm3");
  if (two_rows && two_columns) add_steps<2, 2>(t.a, t.a_step, t.b, t.b_step, steps);
  else if (two_rows) add_steps<2, 1>(t.a, t.a_step, t.b, t.b_step, steps);
  else if (two_columns) add_steps<1, 2>(t.a, t.a_step, t.b, t.b_step, steps);
  else add_steps<1, 1>(t.a, t.a_step, t.b, t.b_step, steps);
  if (fresh && t.rows >= 2 * tile_side && t.columns >= 2 * tile_side) {
    const int64_t row = t.c_row * int64_t(sizeof(float));
    float* const below = t.c + tile_side * t.c_row;
    DLT_SAVE_TILE(0, t.c, row);
    DLT_SAVE_TILE(1, t.c + tile_side, row);
    DLT_SAVE_TILE(2, below, row);
    DLT_SAVE_TILE(3, below + tile_side, row);
    return;
  }
  alignas(64) float sums[4][tile_side * tile_side];
  constexpr int64_t sums_row = tile_side * sizeof(float);
  DLT_SAVE_TILE(0, sums[0], sums_row);
  DLT_SAVE_TILE(1, sums[1], sums_row);
  DLT_SAVE_TILE(2, sums[2], sums_row);
  DLT_SAVE_TILE(3, sums[3], sums_row);
  for (int i = 0; i < 4; ++i) {
    const int64_t row = i / 2 * tile_side, column = i % 2 * tile_side;
    const int64_t some = t.rows - row < tile_side ? t.rows - row : tile_side;
    save_sums(t.c + row * t.c_row + column, t.c_row, sums[i], some, t.columns - column, fresh);
  }
}

typedef uint16_t Words __attribute__((vector_size(64)));
typedef uint16_t LooseWords __attribute__((vector_size(64), aligned(1), may_alias));
constexpr int most_words = 32;

DLT_FN Words some_words(const char* from, int64_t count) {
  const __mmask32 mask = count >= most_words ? ~0u : (1u << count) - 1;
  return reinterpret_cast<Words>(_mm512_maskz_loadu_epi16(mask, from));
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

void pack_rows(char* to, const char* from, int64_t row, int64_t rows, int64_t terms, MagnitudeRange* range) {
  Range all(*range);
  for (int64_t r = 0; r < tile_side; ++r, from += row, to += register_bytes) {
    const Words words = r < rows ? some_words(from, terms) : Words{};
    *reinterpret_cast<LooseWords*>(to) = words;
    all.add(words);
  }
  all.save(range);
}

template <int HALF, int... I>
DLT_FN Words pairs_of(Words first, Words second, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(first, second, (HALF * 16 + I / 2 + I % 2 * most_words)...);
}

void pack_pairs(char* to, int64_t tile_step, const char* from, int64_t row, int64_t terms, int64_t columns,
                MagnitudeRange* range) {
  Range all(*range);
  for (int64_t k = 0; k < block_terms; k += 2, to += register_bytes) {
    const Words first = k < terms ? some_words(from + k * row, columns) : Words{};
    const Words second = k + 1 < terms ? some_words(from + (k + 1) * row, columns) : Words{};
    *reinterpret_cast<LooseWords*>(to) = pairs_of<0>(first, second, std::make_integer_sequence<int, most_words>());
    if (columns > tile_side)
      *reinterpret_cast<LooseWords*>(to + tile_step) = pairs_of<1>(first, second,
                                                                   std::make_integer_sequence<int, most_words>());
    all.add(first);
    all.add(second);
  }
  all.save(range);
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
  if (__builtin_cpu_supports("amx-bf16"))
    kernels->tiles = {may_use_tiles, begin, end, multiply, pack_rows, pack_pairs, find_range};
#endif
}

}  // namespace dlt::DLT_LEVEL
