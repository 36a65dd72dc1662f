// SPDX-License-Identifier: Apache-2.0
// Runs strided loops tile by tile: which operands are packed into buffers, and which are passed to the loops in place.
#include "native/cpu/elementwise/strided_loop.h"

#include <string.h>

#include <utility>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/copy/packed.h"
#include "native/cpu/elementwise/streaming.h"
#include "native/cpu/runtime/bits.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/elementwise/tiling.h"

namespace dlt {
namespace {

struct Plan {
  const Kernels* kernels;
  const StridedLoop* loop_nest;
  int64_t rows, columns;  // of the last two dimensions
  Tiling tiling;
};

// ---- bringing the dimensions into the output's order

void swap_dims(StridedLoop* w, int i, int j) {
  std::swap(w->shape[i], w->shape[j]);
  std::swap(w->out.strides[i], w->out.strides[j]);
  for (int k = 0; k < w->inputs; ++k) std::swap(w->in[k].strides[i], w->in[k].strides[j]);
}

// The axis of a packed operand cannot be flipped: its last element may not start at a byte.
bool any_packed(const StridedLoop* w) {
  bool packed = w->out.bits != 0;
  for (int k = 0; k < w->inputs; ++k) packed |= w->in[k].bits != 0;
  return packed;
}

void flip_axis(StridedLoop* w, int d) {
  const auto flip = [&](Operand* o) {
    o->data += o->strides[d] * (w->shape[d] - 1) * o->width;
    o->strides[d] = -o->strides[d];
  };
  flip(&w->out);
  for (int k = 0; k < w->inputs; ++k) flip(&w->in[k]);
}

void canonicalize_axes(StridedLoop* w) {
  if (!any_packed(w))
    for (int d = 0; d < w->ndim; ++d)
      if (w->out.strides[d] < 0 && w->shape[d] > 1) flip_axis(w, d);
  for (int d = 1; d < w->ndim; ++d)
    for (int e = d; e > 0 && magnitude(w->out.strides[e]) > magnitude(w->out.strides[e - 1]); --e) swap_dims(w, e, e - 1);
  int64_t* strides[4] = {w->out.strides, w->in[0].strides, w->in[1].strides, w->in[2].strides};
  w->ndim = coalesce(w->ndim, w->shape, 1 + w->inputs, strides);
}

// The dimension along which some input is read in steps smaller than along the last one, or -1.
int find_transposed(const StridedLoop* w) {
  const int last = w->ndim - 1;
  for (int k = 0; k < w->inputs; ++k) {
    const uint64_t inner = magnitude(w->in[k].strides[last]);
    if (inner <= 1) continue;
    for (int d = 0; d < last; ++d)
      if (w->in[k].strides[d] != 0 && magnitude(w->in[k].strides[d]) < inner && w->in[k].bits == 0) return d;
  }
  return -1;
}

// Of moves: brings a long dimension beside the last one where those two have few elements, since a tile is of these two.
void lengthen_tiles(StridedLoop* w) {
  constexpr int64_t few = 128;
  const int last = w->ndim - 1;
  if (last < 2 || w->shape[last - 1] * w->shape[last] >= few) return;
  int longest = last - 1;
  for (int d = last - 2; d >= 0; --d)
    if (w->shape[d] > w->shape[longest]) longest = d;
  for (int d = longest; d < last - 1; ++d) swap_dims(w, d, d + 1);
}

// Of moves: short rows that are repeated become elements: each line of the output is then written once.
void join_repeated_rows(StridedLoop* w) {
  const int last = w->ndim - 1;
  if (last < 1 || any_packed(w) || w->out.strides[last] != 1 || w->in[0].strides[last] != 1 || w->in[0].strides[last - 1] != 0)
    return;
  const int64_t row = w->shape[last], width = row * w->out.width;
  if (width > 32 || (width & (width - 1)) != 0) return;
  for (Operand* o : {&w->out, &w->in[0]})
    for (int d = 0; d < last; ++d)
      if (o->strides[d] % row != 0) return;
  for (Operand* o : {&w->out, &w->in[0]}) {
    for (int d = 0; d < last; ++d) o->strides[d] /= row;
    o->width = width;
  }
  w->loop_width = width;
  --w->ndim;
}

// ---- one tile

bool is_direct(const Operand& o, int64_t inner) { return o.pipeline.count == 0 && o.bits == 0 && (inner == 1 || inner == 0); }

void move(const Kernels& kernels, char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row,
          int64_t from_column, int64_t rows, int64_t columns, int64_t width) {
  if (width <= 32 && (width & (width - 1)) == 0)
    return kernels.copy->moves[width_index(width)](to, to_row, to_column, from, from_row, from_column, rows, columns);
  for (int64_t r = 0; r < rows; ++r)  // lanes, and whatever else is as wide as no register
    for (int64_t c = 0; c < columns; ++c)
      memcpy(to + r * to_row + c * to_column, from + r * from_row + c * from_column, size_t(width));
}

struct Tile {
  int64_t rows, columns;
  int64_t offset[4];  // of the first element of each operand, the output first, in elements
};

// One operand of a loop: the address, the distance to the next row, and whether one element serves the
// whole row.
struct Run {
  const char* data;
  int64_t row;  // bytes
  bool scalar;
};

// The part of an operand that its buffer holds: none where it has no rows. Its first element may have any offset.
struct Held {
  int64_t first = 0, rows = 0, columns = 0;
  Run run{};
};

struct Buffers {
  alignas(64) char in[3][buffer_bytes];
  alignas(64) char out[buffer_bytes];
  alignas(64) char spare[2][buffer_bytes];
  Held held[3];
};

// Returns whether rows that a loop could read where they are, are packed. Short rows of one repeated element are expanded too: a call
// per row would cost more.
bool is_packed(const Tile& tile, int64_t inner, int64_t outer, int64_t width, bool far) {
  const bool spreads = inner == 0 && outer != 0 && tile.rows > 1 && tile.columns < short_row;
  return spreads || (inner == 1 && has_short_rows(tile.rows, tile.columns, outer, width, far));
}

Run pack_operand(const Plan& plan, const Operand& o, const Tile& tile, int64_t first, int number, Buffers* buffers) {
  const StridedLoop& w = *plan.loop_nest;
  const int last = w.ndim - 1;
  const int64_t inner = o.strides[last], outer = last > 0 ? o.strides[last - 1] : 0;
  const int64_t width = o.width;
  const char* from = o.data + first * width;
  if (is_direct(o, inner) && !is_packed(tile, inner, outer, width, plan.tiling.far)) return {from, outer * width, inner == 0};

  char* own = buffers->in[number];
  const int64_t to_width = o.pipeline.count > 0 ? type_table[o.pipeline.types[o.pipeline.count]].bytes : width;
  const bool one = inner == 0 && (outer == 0 || tile.rows == 1);
  const int64_t rows = one ? 1 : tile.rows, columns = one ? 1 : tile.columns;
  if (o.bits != 0) {
    char* to = o.pipeline.count > 0 ? buffers->spare[1] : own;
    const bool joined = inner == 1 && (rows == 1 || outer == columns);
    for (int64_t r = 0; r < (joined ? 1 : rows); ++r)
      if (inner == 1) unpack_elements(to + r * columns, o.data, first + r * outer, o.bits, joined ? rows * columns : columns);
      else
        for (int64_t c = 0; c < columns; ++c)
          to[r * columns + c] = char(load_bits(o.data, (first + r * outer + c * inner) * o.bits, o.bits));
    from = to;
  } else if (!(rows == 1 || outer == columns) || !(columns == 1 || inner == 1)) {
    char* to = o.pipeline.count > 0 ? buffers->spare[1] : own;
    move(*plan.kernels, to, columns * width, width, from, outer * width, inner * width, rows, columns, width);
    from = to;
  }
  if (o.pipeline.count > 0) run_pipeline(o.pipeline, own, from, rows * columns, buffers->spare[0], buffers->spare[1]);
  if (one) return {own, 0, true};
  return {o.pipeline.count > 0 ? own : from, columns * to_width, false};
}

// One element, of which `from` holds a buffer full, to a tile of the output.
void stream_constant(const StridedLoop& w, const Kernels& kernels, const Tile& tile, const char* from) {
  const int64_t width = w.out.width, outer = w.ndim > 1 ? w.out.strides[w.ndim - 2] : 0, bytes = tile.columns * width;
  for (int64_t r = 0; r < tile.rows; ++r) {
    char* to = w.out.data + (tile.offset[0] + r * outer) * width;
    const int64_t off = int64_t(-reinterpret_cast<uintptr_t>(to) & 63);
    int64_t part = off % width == 0 ? off : 0;
    for (int64_t done = 0; done < bytes; part = buffer_bytes) {
      part = smaller(part > 0 ? part : buffer_bytes, bytes - done);
      stream_row(kernels, to + done, from, part);
      done += part;
    }
  }
}

void store_tile(const Plan& plan, const Operand& o, const Tile& tile, const char* from, int64_t from_row, int64_t from_column) {
  const StridedLoop& w = *plan.loop_nest;
  const int last = w.ndim - 1;
  const int64_t inner = o.strides[last], outer = last > 0 ? o.strides[last - 1] : 0, width = o.width;
  if (o.bits != 0) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t at = tile.offset[0] + r * outer;
      if (inner == 1 && from_column == 1) pack_elements(o.data, at, o.bits, from + r * from_row, tile.columns);
      else
        for (int64_t c = 0; c < tile.columns; ++c)
          store_bits(o.data, (at + c * inner) * o.bits, o.bits, uint8_t(from[r * from_row + c * from_column]));
    }
    return;
  }
  char* to = o.data + tile.offset[0] * width;
  if (plan.tiling.stream && inner == 1 && (from_column == width || tile.columns == 1)) {
    for (int64_t r = 0; r < tile.rows; ++r)
      stream_row(*plan.kernels, to + r * outer * width, from + r * from_row, tile.columns * width);
    return;
  }
  move(*plan.kernels, to, outer * width, inner * width, from, from_row, from_column, tile.rows, tile.columns, width);
}

// Packed elements of several lanes can be wider than a byte and than a buffer: process eight bits at a time.
void move_lanes(const StridedLoop& w, const Tile& tile) {
  const Operand &from = w.in[0], &to = w.out;
  const int64_t bits = larger(from.bits, to.bits);
  const int last = w.ndim - 1;
  const int64_t from_bits = from.bits != 0 ? from.bits : from.width * 8, to_bits = to.bits != 0 ? to.bits : to.width * 8;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t c = 0; c < tile.columns; ++c) {
      int64_t read = tile.offset[1] + c * from.strides[last], written = tile.offset[0] + c * to.strides[last];
      if (last > 0) read += r * from.strides[last - 1], written += r * to.strides[last - 1];
      for (int64_t done = 0; done < bits; done += 8) {
        const int part = bits - done < 8 ? static_cast<int>(bits - done) : 8;
        store_bits(to.data, written * to_bits + done, part, load_bits(from.data, read * from_bits + done, part));
      }
    }
}

void move_tile(const Plan& plan, const Tile& tile, Buffers* buffers) {
  const StridedLoop& w = *plan.loop_nest;
  const Operand& o = w.in[0];
  if (o.bits > 8 || w.out.bits > 8) return move_lanes(w, tile);
  if (plan.tiling.constant) return stream_constant(w, *plan.kernels, tile, buffers->in[0]);
  const int last = w.ndim - 1;
  const int64_t inner = o.strides[last] * o.width, outer = last > 0 ? o.strides[last - 1] * o.width : 0;
  const bool through_buffer = o.bits != 0 || (plan.tiling.stream && inner != o.width && w.out.strides[last] == 1);
  if (!through_buffer) return store_tile(plan, w.out, tile, o.data + tile.offset[1] * o.width, outer, inner);
  const char* from = o.data + tile.offset[1] * o.width;
  if (o.bits != 0) {
    const Run run = pack_operand(plan, o, tile, tile.offset[1], 0, buffers);
    return store_tile(plan, w.out, tile, run.data, run.scalar ? 0 : run.row, run.scalar ? 0 : o.width);
  }
  char* between = buffers->in[0];
  if (plan.tiling.clashing && o.width <= 2 && outer == o.width) {
    // A cache line of narrow elements is read by several squares, and would be evicted between them: read whole lines
    // first.
    const int64_t line = tile.rows * o.width;
    for (int64_t c = 0; c < tile.columns; ++c) memcpy(buffers->in[1] + c * line, from + c * inner, size_t(line));
    move(*plan.kernels, between, tile.columns * o.width, o.width, buffers->in[1], o.width, line, tile.rows, tile.columns,
         o.width);
    return store_tile(plan, w.out, tile, between, tile.columns * o.width, o.width);
  }
  move(*plan.kernels, between, tile.columns * o.width, o.width, from, outer, inner, tile.rows, tile.columns, o.width);
  store_tile(plan, w.out, tile, between, tile.columns * o.width, o.width);
}

// A tile as its loop is called: operands in place or packed, and where results are written.
struct TileCall {
  Run runs[3];
  int64_t steps[3];  // bytes from one element to the next
  unsigned scalars;
  bool direct;  // results are written to the output, else to the buffer
  bool joined;  // every operand continues from row to row, and so do the results
  bool whole;  // the tile is one run of the output
  char* to;
  int64_t to_row;
};

TileCall plan_tile(const Plan& plan, const Tile& tile, Buffers* buffers) {
  const StridedLoop& w = *plan.loop_nest;
  const int last = w.ndim - 1;
  TileCall call{};
  call.joined = true;
  for (int k = 0; k < w.inputs; ++k) {
    Held& held = buffers->held[k];
    if (held.first != tile.offset[1 + k] || held.rows != tile.rows || held.columns != tile.columns)
      held = {tile.offset[1 + k], tile.rows, tile.columns, pack_operand(plan, w.in[k], tile, tile.offset[1 + k], k, buffers)};
    if (k == 0 && w.out.pipeline.count > 0) held.rows = 0;  // results are converted into its buffer
    const Run run = call.runs[k] = held.run;
    call.scalars |= unsigned(run.scalar) << k;
    const CastPipeline& pipeline = w.in[k].pipeline;
    const int64_t width = pipeline.count > 0 ? type_table[pipeline.types[pipeline.count]].bytes : w.in[k].width;
    call.steps[k] = run.scalar ? 0 : width;
    call.joined &= run.row == tile.columns * call.steps[k];
  }
  const int64_t inner = w.out.strides[last], outer = last > 0 ? w.out.strides[last - 1] : 0;
  call.direct = w.out.pipeline.count == 0 && w.out.bits == 0 && inner == 1 && !plan.tiling.stream &&
                !has_short_rows(tile.rows, tile.columns, outer, w.out.width, false);
  call.to = call.direct ? w.out.data + tile.offset[0] * w.out.width : buffers->out;
  call.to_row = call.direct ? outer * w.out.width : tile.columns * w.loop_width;
  call.joined &= tile.rows == 1 || call.to_row == tile.columns * w.loop_width;
  call.whole = tile.rows == 1 || (call.joined && outer == tile.columns);
  return call;
}

// Computes a tile whose results go past the caches.
void stream_tile(const Plan& plan, const Tile& tile, const TileCall& call, char* strip) {
  const StridedLoop& w = *plan.loop_nest;
  const int last = w.ndim - 1;
  unsigned from_memory = 0;  // a row that is repeated stays in the cache
  for (int k = 0; k < w.inputs; ++k)
    if (call.steps[k] != 0 && (last == 0 || w.in[k].strides[last - 1] != 0)) from_memory |= 1u << k;
  const int streams = __builtin_popcount(from_memory);
  const bool ahead = streams == 1 || (streams == 2 && (strip_tuning().pairs == Pairs::all || has_short_strips(w)));
  const int64_t rows = call.whole ? 1 : tile.rows, out_step = (last > 0 ? w.out.strides[last - 1] : 0) * w.out.width;
  StreamedRun run{};
  run.n = call.whole ? tile.rows * tile.columns : tile.columns;
  run.scalars = call.scalars;
  run.prefetched = ahead ? from_memory : 0;
  for (int k = 0; k < 3; ++k) {
    run.steps[k] = call.steps[k];
    run.turns[k] = call.whole ? run.n * call.steps[k] : call.runs[k].row;
  }
  char* const out = w.out.data + tile.offset[0] * w.out.width;
  if ((reinterpret_cast<uintptr_t>(out) | uintptr_t(call.whole ? 0 : out_step)) % cache_line == 0 &&
      (streams == 2 || !call.whole))
    if (const streamed_t loop = loop_without_strip(w, *plan.kernels, run, streams == 1); loop != nullptr) {
      const int64_t row_steps[3] = {out_step, call.runs[0].row, call.runs[1].row};
      return loop(out, call.runs[0].data, call.runs[1].data, run.n, rows, row_steps);
    }
  for (int64_t r = 0; r < rows; ++r) {
    run.to = out + r * out_step;
    for (int k = 0; k < 3; ++k) run.from[k] = call.runs[k].data + r * call.runs[k].row;
    stream_run(w, *plan.kernels, run, strip);
  }
}

// Computes a tile row by row, or at once where its rows continue each other.
void run_rows(const StridedLoop& w, const Tile& tile, const TileCall& call) {
  const int64_t calls = call.joined || tile.rows == 1 ? 1 : tile.rows;
  const int64_t n = calls == 1 ? tile.rows * tile.columns : tile.columns;
  // Stores that straddle cache lines cost 25 % more: a long run is split where its output is aligned to one.
  const bool cut_heads = call.direct && n >= 512 && w.loop != nullptr;
  for (int64_t r = 0; r < calls; ++r) {
    char* at = call.to + r * call.to_row;
    const char* from[3];
    for (int k = 0; k < 3; ++k) from[k] = call.runs[k].data + r * call.runs[k].row;
    if (w.real_loop != nullptr) {
      w.real_loop(at, from[0], w.scalar, from[2], n, call.scalars);
      continue;
    }
    const int64_t off = cut_heads ? int64_t(-reinterpret_cast<uintptr_t>(at) & 63) : 0;
    const int64_t head = off % w.loop_width == 0 ? off / w.loop_width : 0;
    if (head > 0) {
      w.loop(at, from[0], from[1], from[2], head, call.scalars);
      at += head * w.loop_width;
      for (int k = 0; k < w.inputs; ++k) from[k] += head * call.steps[k];
    }
    w.loop(at, from[0], from[1], from[2], n - head, call.scalars);
  }
}

void compute_tile(const Plan& plan, const Tile& tile, Buffers* buffers) {
  const StridedLoop& w = *plan.loop_nest;
  const TileCall call = plan_tile(plan, tile, buffers);
  // Rows that are not one run of the output, and fit the buffer together, are computed by one call.
  const bool at_once = !call.whole && tile.rows * tile.columns * w.loop_width <= buffer_bytes;
  if (plan.tiling.stream && w.out.pipeline.count == 0 && !at_once) return stream_tile(plan, tile, call, buffers->out);
  run_rows(w, tile, call);
  if (call.direct) return;
  const char* done = buffers->out;
  if (w.out.pipeline.count > 0) {
    run_pipeline(w.out.pipeline, buffers->in[0], done, tile.rows * tile.columns, buffers->spare[0], buffers->spare[1]);
    done = buffers->in[0];
  }
  store_tile(plan, w.out, tile, done, tile.columns * w.out.width, w.out.width);
}

// ---- all tiles

void run_tiles(const Plan& plan, int64_t first, int64_t past) {
  const StridedLoop& w = *plan.loop_nest;
  const int last = w.ndim - 1, outer_dims = last > 0 ? last - 1 : 0;
  Buffers buffers;
  if (plan.tiling.constant) {
    const int64_t width = w.out.width;
    move(*plan.kernels, buffers.in[0], buffer_bytes, width, w.in[0].data, 0, 0, 1, buffer_bytes / width, width);
  }
  for (int64_t index = first; index < past; ++index) {
    Tile tile;
    int64_t rest = index;
    // A transposed input is read along its own cache lines, which the prefetcher follows; the stores are scattered.
    const int64_t step = plan.tiling.rows_first ? plan.tiling.row_tiles : plan.tiling.column_tiles;
    const int64_t fast = rest % step;
    rest /= step;
    const int64_t other_step = plan.tiling.rows_first ? plan.tiling.column_tiles : plan.tiling.row_tiles;
    const int64_t slow = rest % other_step;
    rest /= other_step;
    const int64_t column = (plan.tiling.rows_first ? slow : fast) * plan.tiling.tile_columns;
    const int64_t row = (plan.tiling.rows_first ? fast : slow) * plan.tiling.tile_rows;
    // The last tile of a row or column takes the remainder, which may be smaller or larger.
    tile.rows = row / plan.tiling.tile_rows + 1 < plan.tiling.row_tiles ? plan.tiling.tile_rows : plan.rows - row;
    tile.columns = column / plan.tiling.tile_columns + 1 < plan.tiling.column_tiles ? plan.tiling.tile_columns
                                                                                    : plan.columns - column;
    for (int k = 0; k <= w.inputs; ++k) {
      const int64_t* strides = k == 0 ? w.out.strides : w.in[k - 1].strides;
      tile.offset[k] = column * strides[last] + (last > 0 ? row * strides[last - 1] : 0);
    }
    for (int d = outer_dims - 1; d >= 0; --d) {
      const int64_t at = rest % w.shape[d];
      rest /= w.shape[d];
      tile.offset[0] += at * w.out.strides[d];
      for (int k = 0; k < w.inputs; ++k) tile.offset[1 + k] += at * w.in[k].strides[d];
    }
    if (w.loop == nullptr && w.real_loop == nullptr) move_tile(plan, tile, &buffers);
    else compute_tile(plan, tile, &buffers);
  }
  if (plan.tiling.stream) end_streaming(*plan.kernels);
}

void run_chunk(void* context, int64_t index) {
  const Plan& plan = *static_cast<const Plan*>(context);
  const int64_t first = index * plan.tiling.tiles_per_chunk;
  run_tiles(plan, first, smaller(first + plan.tiling.tiles_per_chunk, plan.tiling.tiles));
}

int64_t widest(const Operand& o) {
  int64_t width = o.width;
  for (int k = 0; k <= o.pipeline.count && o.pipeline.count > 0; ++k)
    width = larger(width, type_table[o.pipeline.types[k]].bytes);
  return width;
}

// The loop as tiles see it.
TilingProblem describe(const StridedLoop& w, bool transposed) {
  const int last = w.ndim - 1;
  const auto tiled = [&](const Operand& o) {
    return TiledOperand{o.strides[last], last > 0 ? o.strides[last - 1] : 0, o.width, widest(o), o.pipeline.count > 0,
                        o.bits != 0};
  };
  TilingProblem p{};
  p.columns = w.shape[last];
  p.rows = last > 0 ? w.shape[last - 1] : 1;
  p.planes = 1;
  for (int d = 0; d < last - 1; ++d) p.planes *= w.shape[d];
  p.inputs = w.inputs;
  p.out = tiled(w.out);
  for (int k = 0; k < w.inputs; ++k) {
    p.in[k] = tiled(w.in[k]);
    p.overwrites |= w.in[k].data == w.out.data;
  }
  p.loop_width = w.loop_width;
  p.weight = w.weight;
  p.moves = w.loop == nullptr && w.real_loop == nullptr;
  p.transposed = transposed;
  p.constant = p.moves && w.in[0].bits == 0;
  for (int d = 0; d < w.ndim; ++d) p.constant = p.constant && w.in[0].strides[d] == 0;
  p.cached = strip_tuning().cached_fill;
  p.threads = num_threads();
  p.last_cache = last_cache_bytes();
  return p;
}

}  // namespace

void set_elements(Operand* operand, const DLTensor& tensor, bool padded) {
  const int bits = tensor.dtype.bits * tensor.dtype.lanes;
  operand->data = static_cast<char*>(tensor.data);
  operand->width = item_bytes(tensor.dtype);
  operand->bits = tensor.dtype.bits < 8 && bits % 8 != 0 && !padded ? bits : 0;
  operand->pipeline.count = 0;
}

void run_strided(StridedLoop* loop_nest) noexcept {
  StridedLoop& w = *loop_nest;
  if (numel(w.ndim, w.shape) == 0) return;
  canonicalize_axes(loop_nest);
  if (w.ndim == 0) {
    w.ndim = 1;
    w.shape[0] = 1;
    w.out.strides[0] = 1;
    for (int k = 0; k < w.inputs; ++k) w.in[k].strides[0] = 1;
  }
  const int64_t count = numel(w.ndim, w.shape);
  if (count == 0) return;
  int transposed = find_transposed(loop_nest);
  for (; transposed >= 0 && transposed < w.ndim - 2; ++transposed) swap_dims(loop_nest, transposed, transposed + 1);
  if (transposed < 0 && w.loop == nullptr && w.real_loop == nullptr) {
    join_repeated_rows(loop_nest);
    lengthen_tiles(loop_nest);
  }

  const TilingProblem problem = describe(w, transposed >= 0);
  Plan plan{&kernels(), loop_nest, problem.rows, problem.columns, choose_tiling(problem)};
  const Tiling& t = plan.tiling;
  if (t.tiles_per_chunk >= t.tiles) return run_tiles(plan, 0, t.tiles);
  parallel(ceil_divide(t.tiles, t.tiles_per_chunk), run_chunk, &plan);
}

}  // namespace dlt
