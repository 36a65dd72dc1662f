// SPDX-License-Identifier: Apache-2.0
// Both operands are packed as tiles, in parallel, and their magnitudes are read once: the instructions take subnormal numbers for zeros.
// A product of numbers that are multiples of 2^i and 2^j is a multiple of 2^(i + j), and so are all its sums: where that is a normal
// number, no subnormal one occurs.
#include "native/cpu/linalg/tiles.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// Multiplications from which packing pays, and from which threads are used; rows and columns of c of a piece: the operands of a chain stay in
// the second cache.
constexpr int64_t least_work = 1 << 15, least_shared_work = 1 << 23, most_piece = 512, least_piece = 64;
constexpr int64_t chain_steps = chain_depth / block_terms;
constexpr int64_t width = 2, row_bytes = block_terms * width;  // of bfloat16, of a tile of a

// The range of magnitudes that threads have found in their parts of an operand.
struct Range {
  std::atomic<uint16_t> least{0xffff}, greatest{0};

  void add(const MagnitudeRange& some) {
    const uint16_t low = *std::min_element(some.least, some.least + 32),
                   high = *std::max_element(some.greatest, some.greatest + 32);
    for (uint16_t old = least.load(); low < old && !least.compare_exchange_weak(old, low);) {
    }
    for (uint16_t old = greatest.load(); high > old && !greatest.compare_exchange_weak(old, high);) {
    }
  }
  int least_exponent() const { return least.load() == 0xffff ? 254 : (least.load() + 1) >> 7; }  // all are 0
  int greatest_exponent() const { return greatest.load() >> 7; }
};

struct Tiles {
  const Product* p;
  const TileProducts* loops;
  int64_t steps;  // blocks of terms
  char *a, *b;
  Range a_range{}, b_range{};
  int64_t piece_rows = most_piece, piece_columns = most_piece;

  int64_t strip() const { return steps * tile_bytes; }  // the tiles of 16 rows of a, or columns of b
  int64_t terms_of(int64_t step) const { return smaller(block_terms, p->a.columns - step * block_terms); }

  static MagnitudeRange no_range() {
    MagnitudeRange range;
    memset(range.least, 0xff, sizeof range.least);
    memset(range.greatest, 0, sizeof range.greatest);
    return range;
  }

  void pack_rows(int64_t index) {
    const int64_t first = index * tile_side, rows = smaller(tile_side, p->a.rows - first);
    const move_t move = kernels().copy->moves[width_index(width)];
    MagnitudeRange range = no_range();
    char* to = a + index * strip();
    for (int64_t step = 0; step < steps; ++step, to += tile_bytes) {
      const int64_t terms = terms_of(step);
      const Matrix from = p->a.part(first, step * block_terms, rows, terms);
      if (from.column == width) {
        loops->pack_rows(to, from.data, from.row, rows, terms, &range);
        continue;
      }
      if (rows < tile_side || terms < block_terms) memset(to, 0, tile_bytes);
      move(to, block_terms * width, width, from.data, from.row, from.column, rows, terms);
      loops->find_range(to, &range);
    }
    a_range.add(range);
  }

  // One block of terms of all columns.
  void pack_block(int64_t step) {
    const int64_t terms = terms_of(step);
    const Matrix from = p->b.part(step * block_terms, 0, terms, p->b.columns);
    const bool in_rows = from.column == width;
    MagnitudeRange range = no_range();
    char* to = b + step * tile_bytes;
    for (int64_t j = 0; j < p->b.columns; j += 2 * tile_side, to += 2 * strip()) {
      const char* const corner = from.data + j * from.column;
      const int64_t columns = smaller(2 * tile_side, p->b.columns - j);
      if (in_rows) {
        loops->pack_pairs(to, strip(), corner, from.row, terms, columns, &range);
        continue;
      }
      pack_columns(to, corner, from, smaller(tile_side, columns), &range);
      if (columns > tile_side) pack_columns(to + strip(), corner + tile_side * from.column, from, columns - tile_side, &range);
    }
    b_range.add(range);
  }

  // One tile of a b with any strides.
  void pack_columns(char* tile, const char* corner, const Matrix& from, int64_t columns, MagnitudeRange* range) const {
    constexpr int64_t pair = 2 * width, row = tile_side * pair;
    const CopyKernels& copy = *kernels().copy;
    if (columns < tile_side || from.rows < block_terms) memset(tile, 0, tile_bytes);
    if (from.row == width && from.rows % 2 == 0) {  // pairs of terms are elements of 4 bytes
      copy.moves[width_index(pair)](tile, row, pair, corner, pair, from.column, from.rows / 2, columns);
    } else {
      for (int64_t odd = 0; odd < 2; ++odd)
        copy.moves[width_index(width)](tile + odd * width, row, pair, corner + odd * from.row, 2 * from.row, from.column,
                                       (from.rows + 1 - odd) / 2, columns);
    }
    loops->find_range(tile, range);
  }

  // Returns whether every partial sum is 0 or a normal number.
  bool is_in_range() const {
    constexpr int bias = 127, digits = 7, least_normal = -126;
    const int least = a_range.least_exponent() + b_range.least_exponent() - 2 * (bias + digits);
    const int greatest = a_range.greatest_exponent() + b_range.greatest_exponent() - 2 * (bias - 1);
    const auto is_normal = [](const Range& r) { return r.least_exponent() > 0 && r.greatest_exponent() < 255; };
    return is_normal(a_range) && is_normal(b_range) && least >= least_normal && greatest + 9 <= bias;  // 2^9 terms of a chain
  }

  void multiply(int64_t index) const {
    const int64_t groups = ceil_divide(p->c.columns, piece_columns);
    const int64_t row = index / groups * piece_rows, column = index % groups * piece_columns;
    const int64_t end_row = smaller(row + piece_rows, p->c.rows), end_column = smaller(column + piece_columns, p->c.columns);
    TileBlock t{nullptr, p->c.row / int64_t(sizeof(float)), nullptr, nullptr, strip(), strip(), 0, 0};
    loops->begin();
    for (int64_t step = 0; step < steps; step += chain_steps)
      for (int64_t j = column; j < end_column; j += 2 * tile_side)
        for (int64_t i = row; i < end_row; i += 2 * tile_side) {
          t.c = reinterpret_cast<float*>(p->c.data) + i * t.c_row + j;
          t.a = a + i / tile_side * strip() + step * tile_bytes;
          t.b = b + j / tile_side * strip() + step * tile_bytes;
          t.rows = end_row - i;
          t.columns = end_column - j;
          loops->multiply(t, smaller(chain_steps, steps - step), step == 0);
        }
    loops->end();
  }

  // Smaller pieces where there would be too few for all threads. Returns their number.
  int64_t cut(int64_t threads) {
    const auto count = [&] { return ceil_divide(p->c.rows, piece_rows) * ceil_divide(p->c.columns, piece_columns); };
    while (threads > 1 && count() < 4 * threads && larger(piece_rows, piece_columns) > least_piece)
      (piece_rows >= piece_columns ? piece_rows : piece_columns) /= 2;
    return count();
  }
};

}  // namespace

Status multiply_tiles(const Product& p, bool* done) noexcept {
  *done = false;
  const TileProducts& loops = kernels().linalg->tiles;
  if (p.work() < least_work || loops.ask == nullptr) return success;
  static const bool is_allowed = loops.ask();
  if (!is_allowed) return success;
  Tiles tiles{&p, &loops, ceil_divide(p.a.columns, block_terms), nullptr, nullptr};
  const int64_t strips_a = ceil_divide(p.c.rows, tile_side), strips_b = ceil_divide(p.c.columns, tile_side);
  BlockRef memory;
  DLT_TRY(allocate(size_t((strips_a + strips_b) * tiles.strip()), &memory));
  tiles.a = static_cast<char*>(memory.block->data);
  tiles.b = tiles.a + strips_a * tiles.strip();
  const int64_t threads = p.work() >= least_shared_work ? num_threads() : 1;
  parallel_if(threads > 1, strips_a, [&](int64_t i) { tiles.pack_rows(i); });
  parallel_if(threads > 1, tiles.steps, [&](int64_t i) { tiles.pack_block(i); });
  if (!tiles.is_in_range()) return success;
  parallel_if(threads > 1, tiles.cut(threads), [&](int64_t i) { tiles.multiply(i); });
  *done = true;
  return success;
}

}  // namespace dlt
