// SPDX-License-Identifier: Apache-2.0
// A block of b is packed as panels: as many columns as the kernel keeps sums of in registers. Panels stream from L2,
// which holds the block, while the matching rows of a stay in L1. Panels are deep because each call of the kernel pays
// the same for reading and writing c. Pieces of c are then computed from them in any order. Element by element, every
// depth_step terms are one chain of the kernel, and chains are added in order: the bits depend on the depth alone.
#include "native/cpu/linalg/packing.h"

#include <string.h>

#include <atomic>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/runtime/sizes.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// The part of b that is packed at a time; the part of that which one call of the kernel reads; rows of c that the kernel takes without a
// rest. The depth of a block is a multiple of depth_step.
constexpr int64_t block_bytes = 1 << 20, block_row_bytes = 2048;
constexpr int64_t depth_step = chain_depth, row_unit = 12;
// Rows of such a b are read where they are.
constexpr int64_t most_row_bytes_of_a_panel = 256;
// The part of a, or of a panel of c, that a piece has: where rows are short, a piece costs more than its products.
constexpr int64_t piece_bytes = 48 << 10;
// Rows per thread from which each packs a block of b for itself: cache lines written by another core are slower to
// read.
constexpr int64_t rows_to_pack_for = 64;
// Rows of a thread's only piece.
constexpr int64_t most_rows_of_a_panel = 128;
// The largest c of which threads compute parts of the depth; these parts; the sums of their chains at a time.
constexpr int64_t most_rows_of_parts = 128, most_row_bytes_of_parts = 512, least_depth_of_part = 1024, most_parts = 16;
constexpr int64_t bytes_of_parts = 1 << 20;
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
  (void)pack(from, p.b_type, panels.at(slot, step, panel), p.type);
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
  const bool as_it_lies = p.a_type == p.type && (p.a.column == p.width || p.a.columns == 1 || near_columns);
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
      (void)pack(a, p.a_type, memory->data, p.type);
      a = {static_cast<char*>(memory->data), rows, depth, depth * p.width, p.width};
    }
    for (int64_t panel = first; panel < end; ++panel) {
      const Matrix c = p.c.part(row, panels.column + panel * panels.width, rows, panels.columns_of(panel));
      p.kernel(c.data + k / depth_step * p.chain_step, c.row, a.data, a.row, a.column, panels.at(slot, step, panel),
               c.columns * p.width, rows, c.columns, depth, !p.add && (k == 0 || p.chain_step != 0));
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
  panels.width = kernels().linalg->panel_bytes / p.width;
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
                depth = smaller(block_bytes / columns / p.width / depth_step * depth_step, p.a.columns);
  Panels panels{&p};
  panels.most_bytes = size_t(depth * columns * p.width);
  // Such a b is its only panel where it is.
  const bool is_panel = p.b_type == p.type && columns == p.c.columns && columns * p.width <= most_row_bytes_of_a_panel &&
                        p.b.column == p.width && p.b.row == columns * p.width;
  panels.width = is_panel ? columns : kernels().linalg->panel_bytes / p.width;
  // Several pieces per thread balance the load.
  const int64_t longest = larger(smaller(depth, depth_step), smaller(columns, panels.width)) * p.width;
  panels.rows = smaller(ceil_divide(ceil_divide(p.c.rows, threads * 8), row_unit),
                        larger(piece_bytes / longest / row_unit, 2)) *
                row_unit;
  // Few rows of c are computed step by step of depth, so that no line of a transposed a is read from memory twice.
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

// Rows of c up to which it costs less to read b where it is: in one pass, or in several if it stays in L2; and of such a b with
// contiguous columns.
constexpr int64_t most_rows_at_once = 8, most_few_rows = 16, most_few_columns = 48, most_bytes_read_again = 2 << 20;

// Few rows of c: b is read where it is. Threads take columns of c.
void multiply_few_rows(const Product& p, int64_t threads) {
  const int64_t width = kernels().linalg->panel_bytes / p.width;
  const int64_t columns = ceil_divide(ceil_divide(p.c.columns, 2 * threads), width) * width;
  const int64_t piece = threads > 1 ? columns : p.c.columns;
  parallel_if(threads > 1, ceil_divide(p.c.columns, piece), [&](int64_t i) {
    const int64_t first = i * piece, count = smaller(piece, p.c.columns - first);
    for (int64_t k = 0; k < p.a.columns; k += depth_step) {
      const int64_t depth = smaller(depth_step, p.a.columns - k);
      const Matrix a = p.a.part(0, k, p.a.rows, depth), b = p.b.part(k, first, depth, count);
      p.kernel(p.c.data + first * p.width, p.c.row, a.data, a.row, a.column, b.data, b.row, p.c.rows, count, depth,
               !p.add && k == 0);
    }
  });
}

Matrix transposed(const Matrix& m) { return {m.data, m.columns, m.rows, m.column, m.row}; }

// The same where b has contiguous columns: the transpose of c is their product with a transposed copy of a.
Status multiply_few_columns(const Product& p, int64_t threads) {
  const int64_t size_a = p.a.rows * p.a.columns * p.width, row = p.c.rows * p.width;
  BlockRef memory;
  DLT_TRY(allocate(size_t(size_a + p.c.columns * row), &memory));
  Product q = p;
  q.b = {static_cast<char*>(memory.block->data), p.a.columns, p.a.rows, row, p.width};
  q.a = transposed(p.b);
  q.c = {q.b.data + size_a, p.c.columns, p.c.rows, row, p.width};
  const move_t move = kernels().copy->moves[width_index(p.width)];
  move(q.b.data, row, p.width, p.a.data, p.a.column, p.a.row, q.b.rows, q.b.columns);
  if (p.add) move(q.c.data, row, p.width, p.c.data, p.width, p.c.row, q.c.rows, q.c.columns);
  const int64_t rows = threads > 1 ? ceil_divide(ceil_divide(q.c.rows, 2 * threads), 16) * 16 : q.c.rows;
  parallel_if(threads > 1, ceil_divide(q.c.rows, rows), [&](int64_t i) {
    const int64_t first = i * rows, count = smaller(rows, q.c.rows - first);
    for (int64_t k = 0; k < q.a.columns; k += depth_step) {
      const int64_t depth = smaller(depth_step, q.a.columns - k);
      const Matrix a = q.a.part(first, k, count, depth), b = q.b.part(k, 0, depth, q.b.columns);
      p.kernel(q.c.data + first * row, row, a.data, a.row, a.column, b.data, row, count, q.c.columns, depth, !p.add && k == 0);
    }
  });
  move(p.c.data, p.c.row, p.width, q.c.data, p.width, row, p.c.rows, p.c.columns);
  return success;
}

// A small c that sums many products: threads compute parts of the depth, whose chains are kept apart and added in order.
struct Parts {
  const Product* p;
  int64_t first, end, depth;  // the terms that are computed at once; those of a part
  int64_t bytes;  // of the sums of a chain
  char* sums;  // null: they are added to c at once
  std::atomic<bool> failed{false};
};

// Rows and columns whose chains are computed side by side, and the terms that are packed for it.
constexpr int64_t most_chain_rows = 7, most_chain_row_bytes = 64, packed_terms = 4 * chain_depth;

bool has_one_type(const Product& p) { return p.a_type == p.type && p.b_type == p.type; }

// Writes some terms of b to contiguous rows. Columns that are contiguous are converted first.
void pack_terms(const Product& p, const Matrix& b, char* out, char* scratch) {
  const int64_t bytes = type_table[p.b_type].bytes;
  const loop_t convert = kernels().copy->casts[0][p.b_type][p.type];
  const bool same_type = p.b_type == p.type;
  if (b.row != bytes || (!same_type && convert == nullptr)) return (void)pack(b, p.b_type, out, p.type);
  Matrix from = b;
  if (!same_type) {
    from = {scratch, b.rows, b.columns, p.width, b.rows * p.width};
    for (int64_t j = 0; j < b.columns; ++j)
      convert(scratch + j * from.column, b.data + j * b.column, nullptr, nullptr, b.rows, 0);
  }
  const move_t move = kernels().copy->moves[width_index(p.width)];
  move(out, b.columns * p.width, p.width, from.data, p.width, from.column, b.rows, b.columns);
}

Status multiply_chains(const Product& p) {
  const chains_t multiply = kernels().linalg->chains[p.type];
  const bool same_type = has_one_type(p), packs_b = !same_type || p.b.column != p.width;
  const int64_t at_once = smaller(packs_b ? packed_terms : p.a.columns, p.a.columns);
  const int64_t size_a = same_type ? 0 : p.a.rows * at_once * p.width, size_b = packs_b ? at_once * p.b.columns * p.width : 0;
  BlockRef memory;
  if (packs_b) DLT_TRY(allocate(size_t(size_a + size_b + (same_type ? 0 : size_b)), &memory));
  for (int64_t k = 0; k < p.a.columns; k += at_once) {
    const int64_t depth = smaller(at_once, p.a.columns - k);
    Matrix a = p.a.part(0, k, p.a.rows, depth), b = p.b.part(k, 0, depth, p.b.columns);
    if (packs_b) {
      char* const out = static_cast<char*>(memory.block->data);
      if (!same_type) {
        (void)pack(a, p.a_type, out, p.type);
        a = {out, a.rows, depth, depth * p.width, p.width};
      }
      pack_terms(p, b, out + size_a, out + size_a + size_b);
      b = {out + size_a, depth, b.columns, b.columns * p.width, p.width};
    }
    multiply({p.c.data + k / chain_depth * p.chain_step, a.data, b.data, 0, 0, 0, p.c.row, a.row, a.column, b.row, b.column,
              p.c.rows, p.c.columns, depth, 1},
             p.chain_step, !p.add && (k == 0 || p.chain_step != 0));
  }
  return success;
}

void multiply_part(Parts& parts, int64_t index) {
  Product p = *parts.p;
  const int64_t k = parts.first + index * parts.depth, depth = smaller(parts.depth, parts.end - k);
  p.a = p.a.part(0, k, p.a.rows, depth);
  p.b = p.b.part(k, 0, depth, p.b.columns);
  p.add = p.add || k > 0;
  if (parts.sums != nullptr) {
    p.c = {parts.sums + index * (parts.depth / depth_step) * parts.bytes, p.c.rows, p.c.columns, p.c.columns * p.width,
           p.width};
    p.chain_step = parts.bytes;
    p.add = false;
  }
  const bool by_chains = p.c.rows > 1 && p.c.rows <= most_chain_rows && p.c.columns * p.width <= most_chain_row_bytes &&
                         p.kernel == kernels().linalg->products[p.type] && kernels().linalg->chains[p.type] != nullptr;
  if (!(by_chains ? multiply_chains(p) : multiply_blocks(p, 1)).ok()) parts.failed.store(true);
}

// c = the sums of the first chain + those of the second + ...
void add_chains(const Parts& parts) {
  const Product& p = *parts.p;
  const loop_t add = find_loop(op_add, p.type);
  const bool is_contiguous = p.c.row == p.c.columns * p.width;
  const int64_t rows = is_contiguous ? 1 : p.c.rows, columns = is_contiguous ? p.c.rows * p.c.columns : p.c.columns;
  const int64_t count = ceil_divide(parts.end - parts.first, depth_step);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      char* const c = p.c.data + r * p.c.row;
      const char* const sums = parts.sums + i * parts.bytes + r * p.c.columns * p.width;
      if (i == 0 && parts.first == 0 && !p.add) memcpy(c, sums, size_t(columns * p.width));
      else add(c, c, sums, nullptr, columns, 0);
    }
}

Status multiply_parts(const Product& p, bool shared) {
  const int64_t depth = p.a.columns, bytes = p.c.rows * p.c.columns * p.width;
  const int64_t at_once = smaller(larger(bytes_of_parts / bytes, most_parts) * depth_step, depth);
  const int64_t count = smaller(at_once / least_depth_of_part, most_parts);
  Parts parts{&p, 0, 0, ceil_divide(ceil_divide(at_once, count), depth_step) * depth_step, bytes, nullptr};
  BlockRef memory;
  if (shared) {
    DLT_TRY(allocate(size_t(ceil_divide(at_once, depth_step) * bytes), &memory));
    parts.sums = static_cast<char*>(memory.block->data);
  }
  for (; parts.first < depth && !parts.failed.load(); parts.first += at_once) {
    parts.end = smaller(parts.first + at_once, depth);
    parallel_if(shared, ceil_divide(parts.end - parts.first, parts.depth), [&](int64_t i) { multiply_part(parts, i); });
    if (shared) add_chains(parts);
  }
  return parts.failed.load() ? no_temporary() : success;
}

}  // namespace

Status multiply_panels(const Product& p) noexcept {
  const int64_t threads = p.work() >= shared_work ? num_threads() : 1;
  if (has_one_type(p) && p.chain_step == 0 && p.c.columns >= kernels().linalg->panel_bytes / p.width) {
    const bool is_long = p.b.rows * p.b.columns * p.width > most_bytes_read_again;
    if (p.b.column == p.width && p.c.rows <= (is_long ? most_rows_at_once : most_few_rows)) {
      multiply_few_rows(p, threads);
      return success;
    }
    if (p.b.row == p.width && p.c.rows <= most_few_columns) return multiply_few_columns(p, threads);
  }
  const bool few = p.c.rows <= most_rows_of_parts && p.c.columns * p.width <= most_row_bytes_of_parts;
  return few && p.a.columns >= 2 * least_depth_of_part ? multiply_parts(p, threads > 1) : multiply_blocks(p, threads);
}

// ---- small matrices

void spread(Matrix* m, int64_t step, int64_t parts, int64_t width, int64_t count, char* runs) noexcept {
  const bool in_columns = magnitude(m->row) < magnitude(m->column);
  int64_t inner = in_columns ? m->rows : m->columns, outer = in_columns ? m->columns : m->rows;
  const int64_t inner_step = in_columns ? m->row : m->column, outer_step = in_columns ? m->column : m->row;
  const int64_t inner_run = parts * lane_bytes, outer_run = inner * inner_run;
  int64_t n = parts, by = width;  // numbers that are moved at once
  const auto join = [&](int64_t* extent, int64_t next) {
    if (n != 1 && next != n * by) return;
    if (n == 1) by = next;
    n *= *extent;
    *extent = 1;
  };
  join(&inner, inner_step);
  if (inner == 1) join(&outer, outer_step);
  const move_t move = kernels().copy->moves[width_index(width)];
  char* to = runs;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j, to += n * lane_bytes)
      move(to, lane_bytes, width, m->data + i * outer_step + j * inner_step, by, step, n, count);
  if (const int64_t bytes = count * width, rest = bytes % 64;
      rest != 0)  // numbers of no matrix, which are not slow to multiply
    for (char* run = runs; run < to; run += lane_bytes) memset(run + bytes, 0, size_t(64 - rest));
  *m = {runs, m->rows, m->columns, in_columns ? inner_run : outer_run, in_columns ? outer_run : inner_run};
}

bool is_block(const Matrix& m, int64_t bytes, int64_t step) noexcept {
  const bool in_rows = (m.column == bytes || m.columns == 1) && (m.row == m.columns * bytes || m.rows == 1);
  const bool in_columns = (m.row == bytes || m.rows == 1) && (m.column == m.rows * bytes || m.columns == 1);
  return (in_rows || in_columns) && (step == 0 || step == m.rows * m.columns * bytes);
}
void convert_block(Matrix* m, int from, int to, int64_t* step, int64_t count, char* out) noexcept {
  const int64_t scale = type_table[to].bytes / type_table[from].bytes;
  kernels().copy->casts[0][from][to](out, m->data, nullptr, nullptr, m->rows * m->columns * (*step == 0 ? 1 : count), 0);
  *m = {out, m->rows, m->columns, m->row * scale, m->column * scale};
  *step *= scale;
}

}  // namespace dlt
