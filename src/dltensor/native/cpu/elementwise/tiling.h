// SPDX-License-Identifier: Apache-2.0
// Division of a strided loop into tiles, and of tiles into chunks for threads: a pure function of shapes, strides and
// widths. Nothing is read or computed here.
#pragma once
#include <stdint.h>

namespace dlt {

inline constexpr int64_t buffer_bytes = 16384;  // of each buffer that a tile may be packed into
inline constexpr int64_t cache_line = 64;
inline constexpr int64_t short_row = 64;  // elements: shorter rows of one repeated element are expanded
inline constexpr int64_t short_row_bytes = 128;  // shorter rows that do not continue each other are packed

// Returns whether a call of a loop for each row of a tile would take longer than moving the rows to and from a buffer. `far`: the
// operands are in no cache, and their memory takes longer than the calls.
inline bool has_short_rows(int64_t rows, int64_t columns, int64_t outer, int64_t width, bool far) {
  if (rows <= 4 || columns <= 1 || outer == columns) return false;
  if (outer == 0 && !far) return columns * width <= short_row_bytes;  // one row, which is packed once for all tiles
  return columns < short_row && columns * width < short_row_bytes;
}

// One operand of a loop, as far as tiles depend on it.
struct TiledOperand {
  int64_t inner, outer;  // strides of the last two dimensions, in elements
  int64_t width;  // bytes of one element
  int64_t widest;  // of its widest form on the way through a cast pipeline
  bool converted;  // by a cast pipeline
  bool packed;  // elements share bytes
};

struct TilingProblem {
  int64_t rows, columns;  // of the last two dimensions; one row when there is one dimension
  int64_t planes;  // the product of the other extents
  int inputs;
  TiledOperand out, in[3];
  int64_t loop_width;  // bytes of one element that the loop writes
  int weight;  // work per byte relative to a float addition
  bool moves;  // nothing is computed
  bool transposed;  // an input has smaller steps along the rows than along the columns
  bool overwrites;  // the output is one of the inputs
  bool constant;  // moves: every element of the output gets the one element of the input
  bool cached;  // such outputs are stored through the caches, whatever their size
  int threads;  // that share the work
  int64_t last_cache;  // bytes of the last-level cache, 0 when the system does not say
};

struct Tiling {
  int64_t tile_rows, tile_columns;
  int64_t row_tiles, column_tiles;  // the last one of a row or column takes the remainder
  int64_t tiles, tiles_per_chunk;  // one chunk is one thread's: all tiles where one thread is faster
  bool far;  // the operands have so many bytes that memory decides
  bool stream;  // the output is written with non-temporal stores
  bool rows_first;  // tiles follow each other along the rows
  bool clashing;  // rows of the output map to few cache sets
  bool constant;  // one element is streamed from a buffer that holds copies of it
};

Tiling choose_tiling(const TilingProblem& problem) noexcept;

}  // namespace dlt
