// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/sort/short_lines.h"

#include <string.h>

#include "native/cpu/runtime/features.h"
#include "native/cpu/sort/keys.h"
#include "native/cpu/sort/sort.h"

namespace dlt {
namespace {

// The keys, or the keys and indices, of a tile of more lines leave the first cache.
constexpr int64_t most_long_rows = 64;
constexpr int64_t tile_bytes = most_ranked * short_row > most_long_rows* long_row ? most_ranked* short_row
                                                                                  : most_long_rows* long_row;

int64_t row_bytes_of(int64_t n, int64_t lines, int64_t width) {
  return n > most_long_rows || lines * width <= short_row ? short_row : long_row;
}

// Lines of a group from `first` on, `count` of them, as the columns of a tile of `row_bytes`; the columns that are left are zeros.
void bring(void* tile, const LineGroup& lines, int64_t first, int64_t count, int64_t n, int64_t width, int64_t row_bytes) {
  if (count * width < row_bytes) memset(tile, 0, size_t(n * row_bytes));
  move_elements(width, tile, row_bytes, width, lines.in + first * lines.in_pitch, lines.in_step, lines.in_pitch, n, count);
}

// Lines whose zeros or NaNs the keys do not tell apart, one by one.
void sort_each(const SortWork& work, const LineGroup& lines, int64_t first, int64_t count, int64_t width) {
  alignas(64) char line[most_ranked * 8], sorted[most_ranked * 8];
  for (int64_t k = first; k < first + count; ++k) {
    move_elements(width, line, 0, width, lines.in + k * lines.in_pitch, 0, lines.in_step, 1, work.n);
    sort_line(sorted, line, work.n, work.type, work.descending, nullptr, false);
    move_elements(width, lines.out + k * lines.out_pitch, 0, lines.out_step, sorted, 0, width, 1, work.n);
  }
}

template <class U>
void sort_tiles(const SortWork& work, const LineGroup& lines) {
  constexpr int64_t width = int64_t(sizeof(U));
  const SortLoops& loops = sort_loops(width);
  const KeyForm form = key_form(work.type, work.descending, false);
  const int64_t row_bytes = row_bytes_of(work.n, lines.rows, width), columns = row_bytes / width, all = work.n * columns;
  alignas(64) U tile[tile_bytes / width];
  for (int64_t first = 0; first < lines.rows; first += columns) {
    const int64_t count = smaller(columns, lines.rows - first);
    bring(tile, lines, first, count, work.n, width, row_bytes);
    loops.keys(tile, tile, all, form);
    if (!loops.tells_apart(tile, all, form)) {
      sort_each(work, lines, first, count, width);
      continue;
    }
    loops.columns(tile, work.n, row_bytes);
    loops.elements(tile, tile, all, form);
    move_elements(width, lines.out + first * lines.out_pitch, lines.out_step, lines.out_pitch, tile, row_bytes, width, work.n,
                  count);
  }
}

// Keys of up to 32 bits and their indices are one word.
template <class U>
void argsort_tiles(const SortWork& work, const LineGroup& lines) {
  constexpr int64_t width = int64_t(sizeof(U));
  constexpr bool is_wide = width == 8;
  const SortKernels& sorts = *kernels().sort;
  const KeyForm form = key_form(work.type, work.descending, true);
  const int64_t row_bytes = row_bytes_of(work.n, lines.rows, 8), columns = row_bytes / 8, all = work.n * columns;
  alignas(64) U keys[tile_bytes / 8];
  alignas(64) uint64_t words[tile_bytes / 8];
  for (int64_t first = 0; first < lines.rows; first += columns) {
    const int64_t count = smaller(columns, lines.rows - first);
    bring(keys, lines, first, count, work.n, width, columns * width);
    sort_loops(width).keys(keys, keys, all, form);
    for (int64_t r = 0; r < work.n; ++r)
      for (int64_t c = r * columns; c < (r + 1) * columns; ++c)
        words[c] = is_wide ? uint64_t(r) : uint64_t(keys[c]) << 32 | uint64_t(r);
    if constexpr (is_wide) {
      sorts.column_pairs(keys, reinterpret_cast<int64_t*>(words), work.n, row_bytes);
    } else {
      sorts.sorts[3].columns(words, work.n, row_bytes);
      for (int64_t c = 0; c < all; ++c) words[c] &= 0xffffffff;
    }
    move_elements(8, lines.out + first * lines.out_pitch, lines.out_step, lines.out_pitch, words, row_bytes, 8, work.n, count);
  }
}

}  // namespace

bool suits_columns(int64_t lines, int64_t n, int64_t width) {
  return n > 1 && n <= most_ranked && 2 * lines * width >= short_row;
}

void sort_columns(const void* context, const LineGroup& lines) {
  const auto& work = *static_cast<const SortWork*>(context);
  with_key_type(type_table[work.type].bytes, [&]<class U>(U) { sort_tiles<U>(work, lines); });
}

void argsort_columns(const void* context, const LineGroup& lines) {
  const auto& work = *static_cast<const SortWork*>(context);
  with_key_type(type_table[work.type].bytes, [&]<class U>(U) { argsort_tiles<U>(work, lines); });
}

}  // namespace dlt
