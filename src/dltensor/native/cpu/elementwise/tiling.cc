// SPDX-License-Identifier: Apache-2.0
// The choice of tiles: long runs where operands are read in place, squares or one cache line of width where something
// is transposed.
#include "native/cpu/elementwise/tiling.h"

#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

constexpr int64_t run_elements = 16384;                      // of a tile that needs no buffer
constexpr int64_t streamed_elements = 32768;                 // of one that is streamed strip by strip
constexpr int64_t staged_elements = 1024;                    // of a tile that does
// From so many bytes of all operands on it is the same. An AMD Zen 4 reads two operands of every second element from memory at
// 14 GB/s in turns of 1,024 elements, at 30 in turns of 512.
constexpr int64_t far_staged_elements = 512, far_from = int64_t(8) << 20;
constexpr int64_t packed_elements = 4096;                    // of a tile whose results are packed: no stores past the caches
constexpr int64_t square_elements = 4096;                    // of a tile in which something is transposed
// Bytes of output that are streamed: smaller ones are still cached when they are read. The last-level cache decides,
// within limits: virtual machines report the cache of a whole socket.
constexpr int64_t default_cache = int64_t(32) << 20, least_cache = int64_t(16) << 20, most_cache = default_cache;
constexpr int64_t stream_clashing_from = int64_t(4) << 20;  // of one whose rows would evict each other from the cache
constexpr int64_t share_from = int64_t(1) << 20;  // bytes of all operands from which a second thread is faster
constexpr int64_t chunk_bytes = 64 << 10;
// A streamed output waits: after each chunk the stores in flight are waited for, which takes 0.3 us.
constexpr int64_t least_streamed_chunk = 256 << 10, most_streamed_chunk = 2 << 20;
// Bytes and rows of a transposed plane from which long tiles are faster; fewer rows than a square's are as one tile.
constexpr int64_t long_from = 64 << 10, least_long_rows = 9;

bool has_move_kernel(int64_t width) { return width > 0 && width <= 16 && (width & (width - 1)) == 0; }

// The loops read it where it is.
bool is_direct(const TiledOperand& o) { return !o.converted && !o.packed && (o.inner == 1 || o.inner == 0); }

// Its steps along the rows are the smaller ones.
bool is_transposed(const TiledOperand& o) { return o.outer != 0 && magnitude(o.outer) < magnitude(o.inner); }

// Returns whether the output leaves the cache before it is read again: it, or all operands together, are larger than the cache.
// Rows and columns that are repeated stay in the cache.
bool exceeds_cache(const TilingProblem& p, int64_t count, bool clashing) {
  const int64_t cache = p.last_cache <= 0 ? default_cache : larger(least_cache, smaller(p.last_cache, most_cache));
  const int64_t output = count * p.out.width;
  if (clashing) return output >= stream_clashing_from;
  int64_t element_bytes = p.out.width;
  for (int k = 0; k < p.inputs; ++k)
    if (p.in[k].inner != 0 && (p.in[k].outer != 0 || p.rows == 1)) element_bytes += p.in[k].width;
  return output >= cache || (output >= cache / 2 && count * element_bytes >= cache + cache / 2);
}

// Rows of the output that are so short that each store would send a part of a cache line to memory. What is computed from
// transposed inputs leaves a buffer as whole tiles.
bool has_short_runs(const TilingProblem& p) {
  const int64_t run = p.columns * p.out.width;
  if (p.rows == 1) return false;
  return p.moves ? run < cache_line : !p.transposed && run <= 2 * cache_line;
}

struct Chooser {
  const TilingProblem& p;
  int64_t bytes;  // of all operands
  Tiling t{};

  void count_tiles() {
    t.row_tiles = ceil_divide(p.rows, t.tile_rows);
    t.column_tiles = ceil_divide(p.columns, t.tile_columns);
  }

  // Squares of at most so many elements; narrower planes get longer tiles.
  void square_tiles(int64_t elements) {
    const int64_t side = elements >= 16384 ? 128 : elements >= 4096 ? 64 : elements >= 1024 ? 32 : larger(elements / 32, 1);
    t.tile_columns = p.rows < side ? smaller(p.columns, elements / p.rows) : even_part(p.columns, side);
    t.tile_rows = p.columns < side ? smaller(p.rows, elements / p.columns) : even_part(p.rows, side);
    count_tiles();
  }

  // For moves without a buffer: one cache line wide in the output, and long, because the
  // prefetcher tracks few streams of input but runs far ahead in each.
  void long_tiles(int64_t width) {
    t.tile_columns = smaller(p.columns, cache_line / width);
    t.tile_rows = smaller(p.rows, 256);
    t.row_tiles = p.rows / t.tile_rows;
    t.column_tiles = p.columns / t.tile_columns;
  }

  // For computations: one cache line wide in the input, and long, so that the loops and their memory streams
  // are long.
  void wide_tiles(int64_t elements, int64_t width) {
    t.tile_rows = smaller(p.rows, cache_line / width);
    t.tile_columns = even_part(p.columns, elements / t.tile_rows);
    count_tiles();
  }

  void run_tiles(int64_t elements) {
    t.tile_columns = smaller(p.columns, elements);
    t.tile_rows = smaller(p.rows, larger(elements / t.tile_columns, 1));
    count_tiles();
  }

  int64_t run_length(bool staged, int64_t fits) const {
    if (staged && p.out.packed) return smaller(packed_elements, fits);
    if (staged) return smaller(t.far ? far_staged_elements : staged_elements, fits);
    if (!t.stream) return run_elements;
    const bool buffered = p.moves && !t.constant && p.in[0].inner != 1;
    return buffered ? smaller(square_elements, fits) : streamed_elements;
  }

  void choose() {
    bool staged = p.out.converted || p.out.packed || p.out.inner != 1;
    const bool straight = p.moves && !staged && !t.stream && !p.in[0].packed;
    const auto has_gaps = [&](const TiledOperand& o) {
      return !p.moves && o.inner == 1 && has_short_rows(p.rows, p.columns, o.outer, o.width, t.far);
    };
    staged |= has_gaps(p.out);
    int64_t width = larger(larger(p.out.widest, p.loop_width), 1), narrowest = cache_line;
    for (int k = 0; k < p.inputs; ++k) {
      if (is_transposed(p.in[k])) narrowest = smaller(narrowest, larger(p.in[k].width, 1));
      // Elements repeated along short rows are expanded into a buffer: a call per row would cost more.
      staged |= !is_direct(p.in[k]) || has_gaps(p.in[k]) || (p.in[k].inner == 0 && p.in[k].outer != 0 && p.columns < short_row);
      width = larger(width, p.in[k].widest);
    }
    const int64_t fits = larger(buffer_bytes / width, 1);
    if (!p.transposed) run_tiles(run_length(staged, fits));
    else if (straight && !t.clashing && (width == 4 || width == 8) && p.rows >= least_long_rows &&
             p.rows * p.columns * width >= long_from)
      long_tiles(width);
    else if (!p.moves && narrowest < cache_line && p.rows >= cache_line && p.columns >= cache_line)
      wide_tiles(smaller(square_elements, fits), narrowest);
    else square_tiles(p.moves && t.clashing && t.stream ? fits : smaller(square_elements, fits));
    t.tiles = t.row_tiles * t.column_tiles * p.planes;
  }
};

}  // namespace

Tiling choose_tiling(const TilingProblem& p) noexcept {
  const int64_t count = p.rows * p.columns * p.planes;
  int64_t bytes = p.out.width, weight = p.weight;
  for (int k = 0; k < p.inputs; ++k) bytes += p.in[k].width;
  Chooser chooser{p, count * bytes};
  Tiling& t = chooser.t;
  t.far = count * bytes >= far_from;
  t.rows_first = p.transposed;
  t.clashing = p.transposed && p.rows >= cache_line && p.out.outer * p.out.width % 2048 == 0;
  const bool far = exceeds_cache(p, count, t.clashing) && has_move_kernel(p.out.width) && p.out.inner == 1 && !p.out.packed &&
                   !p.overwrites && !has_short_runs(p);
  t.stream = far && !(p.constant && p.cached);
  t.constant = t.stream && p.constant;
  chooser.choose();
  if (p.out.converted) weight = larger(weight, 3);
  bytes *= weight;
  // Neighbours of a packed output share bytes: one thread, unless each tile begins with a byte.
  const bool is_apart = !p.out.packed || (p.rows == 1 && p.planes == 1 && p.out.inner == 1 && t.tile_columns % 8 == 0);
  const bool alone = count * bytes < share_from || t.tiles == 1 || !is_apart;
  const int64_t tile_bytes = larger(count / t.tiles * bytes, 1);
  const int64_t share = count * bytes / (8 * larger(p.threads, 1));
  const int64_t streamed = larger(smaller(share, most_streamed_chunk), least_streamed_chunk);
  t.tiles_per_chunk = alone ? t.tiles : larger((far ? streamed : chunk_bytes) / tile_bytes, 1);
  return t;
}

}  // namespace dlt
