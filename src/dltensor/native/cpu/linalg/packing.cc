// SPDX-License-Identifier: Apache-2.0
// A block of b is packed as panels: as many columns as the kernel keeps sums of in registers. Panels stream from L2,
// which holds the block, while the matching rows of a stay in L1. Panels are deep because each call of the kernel pays
// the same for reading and writing c. Pieces of c are then computed from them in any order.
#include "native/cpu/linalg/packing.h"

#include <atomic>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/runtime/sizes.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// The part of b that is packed at a time; the part of that which one call of the kernel reads; rows of c that the kernel takes without a
// rest.
constexpr int64_t block_bytes = 1 << 20, block_row_bytes = 2048;
constexpr int64_t depth_step = 512, panel_bytes = 256, row_unit = 12;
// The part of a, or of a panel of c, that a piece has: where rows are short, a piece costs more than its products.
constexpr int64_t piece_bytes = 48 << 10;
// Rows per thread from which each packs a block of b for itself: cache lines written by another core are slower to
// read.
constexpr int64_t rows_to_pack_for = 64;
// Rows of a thread's only piece.
constexpr int64_t most_rows_of_a_panel = 128;
// The largest c of which parts of the depth have sums of their own, and these parts.
constexpr int64_t most_rows_of_parts = 128, most_row_bytes_of_parts = 512, least_depth_of_part = 1024, most_parts = 16;
// Bytes between the columns of a transposed a up to which the kernel reads it where it is: a multiple of this, of which
// many columns share a set of the cache, is slower than packing.
constexpr int64_t most_pitch = 1024;

struct Panels {
  const Product* p;
  int64_t column = 0, columns = 0, k = 0, depth = 0;  // the block of b
  int64_t width = 0, count = 0;  // of a panel, in columns; panels of one step
  int64_t rows = 0;  // of a piece of c
  int64_t groups = 0, group = 0;  // a piece has one of so many groups of so many panels
  size_t most_bytes = 0;  // of a packed block
  bool packs_alone = false;  // each thread for itself
  Block* packed[most_threads] = {};  // by lane, or for all at 0
  char* memory = nullptr;  // in their place
  int64_t packed_for[most_threads] = {};  // the block, counted from 0
  int64_t block = 0;
  std::atomic<bool> failed{false};

  int64_t steps() const { return ceil_divide(depth, depth_step); }
  int64_t depth_of(int64_t step) const { return smaller(depth_step, depth - step * depth_step); }
  int64_t columns_of(int64_t panel) const { return smaller(width, columns - panel * width); }
  char* at(int slot, int64_t step, int64_t panel) const {
    const int64_t before = step * depth_step * columns + panel * width * depth_of(step);
    return (memory != nullptr ? memory : static_cast<char*>(packed[slot]->data)) + before * p->width;
  }
};

void pack_panel(const Panels& panels, int slot, int64_t index) {
  const Product& p = *panels.p;
  const int64_t step = index / panels.count, panel = index % panels.count;
  const Matrix from = p.b.part(panels.k + step * depth_step, panels.column + panel * panels.width, panels.depth_of(step),
                               panels.columns_of(panel));
  (void)pack(from, p.operand_type, panels.at(slot, step, panel), p.type);
}

// The packed block that this thread reads, or -1 without memory for it.
int packed_slot(Panels& panels) {
  if (!panels.packs_alone) return 0;
  const int slot = lane();
  if (panels.packed[slot] == nullptr) {
    panels.packed[slot] = allocate(panels.most_bytes);
    panels.packed_for[slot] = -1;
  }
  if (panels.packed[slot] == nullptr) return -1;
  if (panels.packed_for[slot] != panels.block)
    for (int64_t i = 0; i < panels.steps() * panels.count; ++i) pack_panel(panels, slot, i);
  panels.packed_for[slot] = panels.block;
  return slot;
}

// Some rows of c, in the columns of one group.
void multiply_piece(Panels& panels, int64_t index) {
  const Product& p = *panels.p;
  const int64_t row = index / panels.groups * panels.rows, rows = smaller(panels.rows, p.c.rows - row);
  const int64_t first = index % panels.groups * panels.group, end = smaller(first + panels.group, panels.count);
  const bool near_columns = p.a.row == p.width && p.a.column <= most_pitch && p.a.column >= -most_pitch;
  const bool as_it_lies = p.operand_type == p.type && (p.a.column == p.width || p.a.columns == 1 || near_columns);
  const int slot = packed_slot(panels);
  Block* memory = nullptr;
  if (slot >= 0 && !as_it_lies) memory = allocate(size_t(rows * smaller(depth_step, panels.depth) * p.width));
  if (slot < 0 || (memory == nullptr && !as_it_lies)) {
    panels.failed.store(true);
    return;
  }
  for (int64_t step = 0; step < panels.steps(); ++step) {
    const int64_t k = panels.k + step * depth_step, depth = panels.depth_of(step);
    Matrix a = p.a.part(row, k, rows, depth);
    if (memory != nullptr) {
      (void)pack(a, p.operand_type, memory->data, p.type);
      a = {static_cast<char*>(memory->data), rows, depth, depth * p.width, p.width};
    }
    for (int64_t panel = first; panel < end; ++panel) {
      const Matrix c = p.c.part(row, panels.column + panel * panels.width, rows, panels.columns_of(panel));
      p.kernel(c.data, c.row, a.data, a.row, a.column, panels.at(slot, step, panel), c.columns * p.width, rows, c.columns,
               depth, k == 0 && !p.add);
    }
  }
  if (memory != nullptr) release(memory);
}

// If no thread has to be woken, each takes columns, all rows of them: no block of b is packed twice.
struct Columns {
  const Product* p;
  int64_t columns, depth;  // of a block
  int64_t threads;  // whose blocks are parts of `memory`: a thread finds the one that is still in its cache
  char* memory;
  std::atomic<bool> failed{false};

  int64_t bytes() const { return ceil_divide(columns * depth * p->width, 4096) * 4096; }
};

void multiply_columns(Columns& all, int64_t index) {
  const Product& p = *all.p;
  Panels panels{&p};
  panels.width = panel_bytes / p.width;
  panels.rows = row_unit * 2;
  panels.groups = 1;
  panels.column = index * all.columns;
  panels.columns = smaller(all.columns, p.c.columns - panels.column);
  panels.group = panels.count = ceil_divide(panels.columns, panels.width);
  BlockRef own;  // of a thread that began after `threads` was read
  if (lane() >= all.threads && (own.block = allocate(size_t(all.bytes()))) == nullptr) return all.failed.store(true);
  panels.memory = own.block != nullptr ? static_cast<char*>(own.block->data) : all.memory + lane() * all.bytes();
  for (panels.k = 0; panels.k < p.a.columns; panels.k += all.depth) {
    panels.depth = smaller(all.depth, p.a.columns - panels.k);
    for (int64_t i = 0; i < panels.steps() * panels.count; ++i) pack_panel(panels, 0, i);
    for (int64_t i = 0; i < ceil_divide(p.c.rows, panels.rows); ++i) multiply_piece(panels, i);
  }
  if (panels.failed.load()) all.failed.store(true);
}

Status multiply_blocks(const Product& p, int64_t threads) {
  const int64_t columns = smaller(block_row_bytes / p.width, p.c.columns),
                depth = smaller(block_bytes / columns / p.width, p.a.columns);
  Panels panels{&p};
  panels.most_bytes = size_t(depth * columns * p.width);
  panels.width = panel_bytes / p.width;
  // Several pieces per thread balance the load.
  const int64_t longest = larger(smaller(depth, depth_step), smaller(columns, panels.width)) * p.width;
  panels.rows = smaller(ceil_divide(ceil_divide(p.c.rows, threads * 8), row_unit),
                        larger(piece_bytes / longest / row_unit, 2)) *
                row_unit;
  // Such a b is its only panel where it is. Few rows of c are computed step by step of depth, so that no line of a
  // transposed a is read from memory twice.
  const bool is_panel = p.operand_type == p.type && columns == p.c.columns && columns <= panels.width &&
                        p.b.column == p.width && p.b.row == columns * p.width;
  const int64_t row_share = ceil_divide(ceil_divide(p.c.rows, threads), 4) * 4;
  if (is_panel && row_share <= most_rows_of_a_panel && (threads == 1 || workers_are_awake())) panels.rows = row_share;
  const int64_t row_pieces = ceil_divide(p.c.rows, panels.rows), panel_count = ceil_divide(columns, panels.width);
  panels.groups = row_pieces < threads * 2 ? smaller(ceil_divide(threads * 2, row_pieces), panel_count) : 1;
  panels.group = ceil_divide(panel_count, panels.groups);
  panels.packs_alone = !is_panel && panels.groups == 1 && p.c.rows >= threads * rows_to_pack_for;
  const int64_t all_panels = ceil_divide(p.c.columns, panels.width);
  const bool is_even = all_panels % threads == 0 && 16 * p.c.columns >= 15 * all_panels * panels.width;
  if (panels.groups == 1 && threads > 1 && is_even && workers_are_awake()) {
    Columns all{&p, smaller(columns, all_panels / threads * panels.width), depth, threads, nullptr};
    BlockRef memory;
    DLT_TRY(allocate(size_t(threads * all.bytes()), &memory));
    all.memory = static_cast<char*>(memory.block->data);
    parallel(ceil_divide(p.c.columns, all.columns), [&](int64_t i) { multiply_columns(all, i); });
    return all.failed.load() ? no_temporary() : success;
  }
  const bool packs_shared = !panels.packs_alone && !is_panel;
  if (packs_shared && (panels.packed[0] = allocate(panels.most_bytes)) == nullptr) return no_temporary();
  for (panels.column = 0; panels.column < p.c.columns; panels.column += columns) {
    panels.columns = smaller(columns, p.c.columns - panels.column);
    panels.count = ceil_divide(panels.columns, panels.width);
    for (panels.k = 0; panels.k < p.a.columns; panels.k += depth, ++panels.block) {
      panels.depth = smaller(depth, p.a.columns - panels.k);
      if (is_panel) panels.memory = p.b.data + panels.k * p.b.row;
      if (packs_shared) parallel_if(threads > 1, panels.steps() * panels.count, [&](int64_t i) { pack_panel(panels, 0, i); });
      parallel_if(threads > 1, row_pieces * panels.groups, [&](int64_t i) { multiply_piece(panels, i); });
    }
  }
  for (Block* memory : panels.packed)
    if (memory != nullptr) release(memory);
  return panels.failed.load() ? no_temporary() : success;
}

// A small c that sums many products: each part of the depth has sums of its own, which are added in order. How many there
// are follows from the shapes alone, and so do the bits.
struct Parts {
  const Product* p;
  int64_t depth;  // of a part
  char* memory;  // for the sums of all but the first
  int64_t bytes;  // of these sums
  std::atomic<bool> failed{false};

  Matrix sums(int64_t index) const {
    const int64_t row = p->c.columns * p->width;
    return index == 0 ? p->c : Matrix{memory + (index - 1) * bytes, p->c.rows, p->c.columns, row, p->width};
  }
};

void multiply_part(Parts& parts, int64_t index) {
  Product p = *parts.p;
  const int64_t k = index * parts.depth, depth = smaller(parts.depth, p.a.columns - k);
  p.a = p.a.part(0, k, p.a.rows, depth);
  p.b = p.b.part(k, 0, depth, p.b.columns);
  p.c = parts.sums(index);
  p.add = p.add && index == 0;
  if (!multiply_blocks(p, 1).ok()) parts.failed.store(true);
}

Status multiply_parts(const Product& p, int64_t count, bool shared) {
  Parts parts{&p, ceil_divide(ceil_divide(p.a.columns, count), depth_step) * depth_step, nullptr,
              p.c.rows * p.c.columns * p.width};
  count = ceil_divide(p.a.columns, parts.depth);
  BlockRef memory;
  DLT_TRY(allocate(size_t((count - 1) * parts.bytes), &memory));
  parts.memory = static_cast<char*>(memory.block->data);
  parallel_if(shared, count, [&](int64_t i) { multiply_part(parts, i); });
  if (parts.failed.load()) return no_temporary();
  int64_t shape[4], strides[4];
  const DLTensor c = tensor_of(p.c, p.type, shape, strides);
  for (int64_t i = 1; i < count; ++i) {
    const DLTensor sums = tensor_of(parts.sums(i), p.type, shape + 2, strides + 2);
    const DLTensor* operands[] = {&c, &sums};
    DLT_TRY(run(op_add, 0, p.type, operands, c, 0));
  }
  return success;
}

}  // namespace

Status multiply_panels(const Product& p) noexcept {
  const int64_t threads = p.work() >= shared_work ? num_threads() : 1;
  const bool few = p.c.rows <= most_rows_of_parts && p.c.columns * p.width <= most_row_bytes_of_parts;
  const int64_t parts = few ? smaller(p.a.columns / least_depth_of_part, most_parts) : 1;
  return parts > 1 ? multiply_parts(p, parts, threads > 1) : multiply_blocks(p, threads);
}

}  // namespace dlt
