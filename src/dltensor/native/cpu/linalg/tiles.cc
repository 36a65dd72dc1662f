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
// Packed operands are whole: no more than so many bytes of them, nor of a depth below that part of a block.
constexpr int64_t most_packed = int64_t(1) << 30, short_of_terms = 2;
constexpr int64_t least_work = 1 << 15, least_shared_work = 1 << 23, most_piece = 512, least_piece = 64;
constexpr int64_t group_bytes = 4;  // of terms that lie together in b

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
  bool of_bytes;
  char *a = nullptr, *b = nullptr;
  Range a_range{}, b_range{};
  int64_t piece_rows = most_piece, piece_columns = most_piece;

  int64_t width() const { return of_bytes ? 1 : 2; }
  int64_t terms() const { return tile_row / width(); }  // of a block
  int64_t steps() const { return ceil_divide(p->a.columns, terms()); }
  int64_t strip() const { return steps() * tile_bytes; }  // the tiles of 16 rows of a, or columns of b
  int64_t terms_of(int64_t step) const { return smaller(terms(), p->a.columns - step * terms()); }

  static MagnitudeRange no_range() {
    MagnitudeRange range;
    memset(range.least, 0xff, sizeof range.least);
    memset(range.greatest, 0, sizeof range.greatest);
    return range;
  }

  void pack_rows(int64_t index) {
    const int64_t first = index * tile_side, rows = smaller(tile_side, p->a.rows - first);
    MagnitudeRange range = no_range();
    char* to = a + index * strip();
    for (int64_t step = 0; step < steps(); ++step, to += tile_bytes) {
      const Matrix from = p->a.part(first, step * terms(), rows, terms_of(step));
      if (from.column == width()) {
        loops->pack_rows(to, from.data, from.row, rows, from.columns * width(), &range);
        continue;
      }
      if (rows < tile_side || from.columns < terms()) memset(to, 0, tile_bytes);
      kernels().copy->moves[width_index(width())](to, tile_row, width(), from.data, from.row, from.column, rows, from.columns);
      loops->find_range(to, &range);
    }
    a_range.add(range);
  }

  // One block of terms of all columns.
  void pack_block(int64_t step) {
    const Matrix from = p->b.part(step * terms(), 0, terms_of(step), p->b.columns);
    MagnitudeRange range = no_range();
    char* to = b + step * tile_bytes;
    for (int64_t j = 0; j < from.columns; j += 2 * tile_side, to += 2 * strip()) {
      const char* const corner = from.data + j * from.column;
      const int64_t columns = smaller(2 * tile_side, from.columns - j);
      if (from.column == width()) {
        loops->pack_columns[of_bytes](to, strip(), corner, from.row, from.rows, columns, &range);
        continue;
      }
      pack_tile(to, corner, from, smaller(tile_side, columns), &range);
      if (columns > tile_side) pack_tile(to + strip(), corner + tile_side * from.column, from, columns - tile_side, &range);
    }
    b_range.add(range);
  }

  // One tile of a b with any strides.
  void pack_tile(char* tile, const char* corner, const Matrix& from, int64_t columns, MagnitudeRange* range) const {
    const int64_t group = group_bytes / width();
    const CopyKernels& copy = *kernels().copy;
    if (columns < tile_side || from.rows < terms()) memset(tile, 0, tile_bytes);
    if (from.row == width() && from.rows % group == 0) {  // groups of terms are elements
      copy.moves[width_index(group_bytes)](tile, tile_row, group_bytes, corner, group_bytes, from.column, from.rows / group,
                                           columns);
    } else {
      for (int64_t i = 0; i < smaller(group, from.rows); ++i)
        copy.moves[width_index(width())](tile + i * width(), tile_row, group_bytes, corner + i * from.row, group * from.row,
                                         from.column, ceil_divide(from.rows - i, group), columns);
    }
    loops->find_range(tile, range);
  }

  // Returns whether every partial sum is an integer, 0 or a normal number.
  bool is_in_range() const {
    if (of_bytes) return true;
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
    const auto multiply_block = loops->multiply[op()];
    const int64_t chain = of_bytes ? steps() : chain_depth / terms();
    TileBlock t{nullptr, p->c.row, nullptr, nullptr, strip(), strip(), 0, 0};
    loops->begin();
    for (int64_t step = 0; step < steps(); step += chain)
      for (int64_t j = column; j < end_column; j += 2 * tile_side)
        for (int64_t i = row; i < end_row; i += 2 * tile_side) {
          t.c = p->c.data + i * p->c.row + j * p->width;
          t.a = a + i / tile_side * strip() + step * tile_bytes;
          t.b = b + j / tile_side * strip() + step * tile_bytes;
          t.rows = end_row - i;
          t.columns = end_column - j;
          multiply_block(t, smaller(chain, steps() - step), step == 0);
        }
    loops->end();
  }

  int op() const {
    return of_bytes ? tiles_of_bytes + 2 * (p->a_type == type_int8) + (p->b_type == type_int8) : tiles_of_bfloat16;
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
  Tiles tiles{&p, &loops, p.type == type_int32};
  const int64_t strips_a = ceil_divide(p.c.rows, tile_side), strips_b = ceil_divide(p.c.columns, tile_side);
  const int64_t packed_bytes = (strips_a + strips_b) * tiles.strip();
  if (p.a.columns * short_of_terms < tiles.terms() || packed_bytes > most_packed) return success;
  BlockRef memory;
  memory.block = allocate(size_t(packed_bytes));
  if (memory.block == nullptr) return success;  // the loops need less
  tiles.a = static_cast<char*>(memory.block->data);
  tiles.b = tiles.a + strips_a * tiles.strip();
  const int64_t threads = p.work() >= least_shared_work ? num_threads() : 1;
  parallel_if(threads > 1, strips_a, [&](int64_t i) { tiles.pack_rows(i); });
  parallel_if(threads > 1, tiles.steps(), [&](int64_t i) { tiles.pack_block(i); });
  if (!tiles.is_in_range()) return success;
  parallel_if(threads > 1, tiles.cut(threads), [&](int64_t i) { tiles.multiply(i); });
  *done = true;
  return success;
}

}  // namespace dlt
