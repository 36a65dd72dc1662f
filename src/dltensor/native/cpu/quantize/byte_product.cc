// SPDX-License-Identifier: Apache-2.0
// Products of bytes: both operands are packed once, then threads compute pieces of c, part by part of the depth, so that a part of a
// panel stays in the first cache.
#include "native/cpu/quantize/byte_product.h"

#include <string.h>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/linalg/tiles.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t panel_part_bytes = 32 << 10;
constexpr int64_t rows_of_piece = 96;

// Where elements of a row lie apart, so many rows are brought together, and so much of the depth at a time.
constexpr int64_t rows_together = 64, depth_together = 256;

struct BytePanels {
  const Product& p;
  const ByteProducts& loops;
  bool a_signed, b_signed;
  int64_t units, a_row, panel_bytes;  // of depth; bytes of a packed row and panel
  char *rows, *panels;
  int32_t* starts;  // of each packed column

  int64_t panel_count() const { return ceil_divide(p.c.columns, loops.columns); }
  void pack_panel(int64_t index) const;
  void pack_rows(int64_t index) const;
  void multiply_piece(int64_t index) const;
};

// Part of a matrix of bytes as contiguous rows, `step` bytes apart.
void bring_together(uint8_t* to, int64_t step, const Matrix& from) {
  kernels().copy->moves[0](reinterpret_cast<char*>(to), step, 1, from.data, from.row, from.column, from.rows, from.columns);
}

void BytePanels::pack_rows(int64_t index) const {
  const int64_t first = index * rows_together, count = smaller(rows_together, p.a.rows - first);
  char* const out = rows + first * a_row;
  alignas(64) uint8_t together[rows_together * depth_together];
  for (int64_t k = 0; k < p.a.columns; k += depth_together) {
    const int64_t depth = p.a.column == 1 ? p.a.columns : smaller(depth_together, p.a.columns - k);
    const Matrix part = p.a.part(first, k, count, depth);
    if (p.a.column != 1) bring_together(together, depth_together, part);
    for (int64_t r = 0; r < count; ++r)
      loops.pack_row(
          out + r * a_row + k * loops.element_bytes,
          p.a.column == 1 ? reinterpret_cast<const uint8_t*>(part.data + r * part.row) : together + r * depth_together, depth,
          a_signed);
    if (p.a.column == 1) return;
  }
}

// A panel, and what its sums begin with: 128 times the sum of each column less where elements of a are 128 more.
void BytePanels::pack_panel(int64_t index) const {
  const int64_t first = index * loops.columns, columns = smaller(loops.columns, p.c.columns - first);
  char* const panel = panels + index * panel_bytes;
  const int64_t step = panel_bytes / units;
  const Matrix b = p.b.part(0, first, p.b.rows, columns);
  alignas(64) uint8_t together[depth_together * 64];
  if (b.column == 1 || columns == 1) {
    loops.pack(panel, reinterpret_cast<const uint8_t*>(b.data), b.row, b.rows, columns, b_signed);
  } else {
    for (int64_t k = 0; k < b.rows; k += depth_together) {
      const Matrix part = b.part(k, 0, smaller(depth_together, b.rows - k), columns);
      bring_together(together, columns, part);
      loops.pack(panel + k / loops.unit * step, together, columns, part.rows, columns, b_signed);
    }
  }
  int32_t* const start = starts + first;
  memset(start, 0, size_t(loops.columns) * sizeof *start);
  if (!loops.offset || !a_signed) return;
  // The sums of columns are the product with a row of ones.
  uint8_t ones[1024];
  memset(ones, 1, sizeof ones);
  const int64_t most = int64_t(sizeof ones) / loops.unit;
  for (int64_t k = 0; k < units; k += most)
    loops.multiply(start, 0, ones, 0, panel + k * step, nullptr, 1, smaller(most, units - k));
  for (int64_t j = 0; j < loops.columns; ++j) start[j] = int32_t(0 - uint32_t(start[j]) * 128);
}

void BytePanels::multiply_piece(int64_t index) const {
  const int64_t panel = index % panel_count(), row = index / panel_count() * rows_of_piece;
  const int64_t count = smaller(rows_of_piece, p.c.rows - row), first = panel * loops.columns;
  const int64_t columns = smaller(loops.columns, p.c.columns - first), step = panel_bytes / units;
  alignas(64) int32_t piece[rows_of_piece * 64];
  const bool whole = columns == loops.columns;
  char* const c = p.c.data + row * p.c.row + first * int64_t(sizeof(int32_t));
  int32_t* const out = whole ? reinterpret_cast<int32_t*>(c) : piece;
  const int64_t out_row = whole ? p.c.row / int64_t(sizeof(int32_t)) : loops.columns;
  const int64_t most = larger(panel_part_bytes / step, 1);
  for (int64_t k = 0; k < units; k += most)
    loops.multiply(out, out_row, rows + row * a_row + k * 4, a_row, panels + panel * panel_bytes + k * step,
                   k == 0 ? starts + first : nullptr, count, smaller(most, units - k));
  for (int64_t r = 0; !whole && r < count; ++r)
    memcpy(c + r * p.c.row, piece + r * loops.columns, size_t(columns) * sizeof *piece);
}

}  // namespace

Status multiply_bytes(const Product& p) noexcept {
  bool done = false;
  DLT_TRY(multiply_tiles(p, &done));
  if (done) return success;
  const LinalgKernels& linalg = *kernels().linalg;
  const bool by_bytes = linalg.byte_products[1].unit != 0 && p.b_type == type_int8;
  const ByteProducts& loops = linalg.byte_products[by_bytes];
  BytePanels all{
      p,       loops,  p.a_type == type_int8, p.b_type == type_int8, ceil_divide(p.a.columns, loops.unit), 0, 0, nullptr,
      nullptr, nullptr};
  all.a_row = ceil_divide(all.units * 4, 64) * 64 + 64;  // not a multiple of a page: rows would share sets of the cache
  all.panel_bytes = all.units * loops.columns * 4;
  const int64_t panels = all.panel_count();
  BlockRef memory;
  const int64_t rows_bytes = p.c.rows * all.a_row, panels_bytes = panels * all.panel_bytes;
  DLT_TRY(allocate(size_t(rows_bytes + panels_bytes + panels * loops.columns * 4), &memory));
  all.rows = static_cast<char*>(memory.block->data);
  all.panels = all.rows + rows_bytes;
  all.starts = reinterpret_cast<int32_t*>(all.panels + panels_bytes);
  const bool shared = p.work() >= shared_work;
  parallel_if(shared, panels, [&](int64_t i) { all.pack_panel(i); });
  parallel_if(shared, ceil_divide(p.c.rows, rows_together), [&](int64_t i) { all.pack_rows(i); });
  parallel_if(shared, panels * ceil_divide(p.c.rows, rows_of_piece), [&](int64_t i) { all.multiply_piece(i); });
  return success;
}

}  // namespace dlt
