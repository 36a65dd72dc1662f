// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/sort/along_axis.h"

#include <stdlib.h>
#include <string.h>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int most_sides = 3;              // the input and two outputs
constexpr int64_t group_bytes = 256 << 10;  // lines are staged together up to this size, so that they are read by cache lines
constexpr int64_t most_grouped = 64, most_strided = 1024;
constexpr int64_t threads_from = 1 << 15;  // element moves

// One tensor by lines; strides in bytes.
struct Side {
  char* data;
  int64_t width, n, step;  // of one line
  int64_t group_stride;  // between neighbouring lines of a group
  int64_t strides[max_dims];
  int64_t stage;  // where its lines are staged in the scratch, or -1
  bool staged() const { return stage >= 0; }
};

struct Lines {
  Side sides[most_sides];
  int count;  // of sides
  int ndim;  // of the dimensions outside of groups
  int64_t shape[max_dims];
  int64_t grouped;  // extent of the dimension whose lines form groups
  int64_t group, groups;  // lines of one, and how many there are along that dimension
  int64_t units;  // groups in all
  int64_t scratch_bytes;  // of one chunk
  int64_t chunks;
  bool alone;
  char* scratch;
  const LineWork* work;
};

int64_t line_width(const DLTensor& t) { return item_bytes(t.dtype); }

void run_group(const Lines& lines, int64_t unit, char* scratch) {
  char* at[most_sides];
  for (int k = 0; k < lines.count; ++k) at[k] = lines.sides[k].data;
  const int64_t first = unit % lines.groups * lines.group;
  int64_t rest = unit / lines.groups;
  for (int d = lines.ndim - 1; d >= 0; --d) {
    const int64_t place = rest % lines.shape[d];
    rest /= lines.shape[d];
    for (int k = 0; k < lines.count; ++k) at[k] += place * lines.sides[k].strides[d];
  }
  const int64_t rows = smaller(lines.group, lines.grouped - first);
  const auto* moves = kernels().copy->moves;
  int64_t row_bytes[most_sides];
  char* line[most_sides] = {};
  for (int k = 0; k < lines.count; ++k) {
    const Side& side = lines.sides[k];
    at[k] += first * side.group_stride;
    line[k] = side.staged() ? scratch + side.stage : at[k];
    row_bytes[k] = side.staged() ? side.n * side.width : side.group_stride;
  }
  const Side& in = lines.sides[0];
  const auto move_of = [&](const Side& side) { return moves[width_index(side.width)]; };
  // A move of no elements may still read one.
  if (in.staged() && in.n > 0) move_of(in)(line[0], row_bytes[0], in.width, at[0], in.group_stride, in.step, rows, in.n);
  if (lines.work->group != nullptr)
    lines.work->group(lines.work->context,
                      {line[0], line[1], rows, row_bytes[0], row_bytes[1], scratch, lines.alone, in.step, lines.sides[1].step});
  else
    for (int64_t r = 0; r < rows; ++r) {
      const Line one{line[0] + r * row_bytes[0],
                     {line[1] + r * row_bytes[1], lines.count > 2 ? line[2] + r * row_bytes[2] : nullptr},
                     scratch,
                     lines.alone};
      lines.work->work(lines.work->context, one);
    }
  for (int k = 1; k < lines.count; ++k) {
    const Side& out = lines.sides[k];
    if (out.staged() && out.n > 0)
      move_of(out)(at[k], out.group_stride, out.step, line[k], row_bytes[k], out.width, rows, out.n);
  }
}

void run_chunk(void* context, int64_t chunk) {
  const Lines& lines = *static_cast<const Lines*>(context);
  const int64_t each = lines.units / lines.chunks, more = lines.units % lines.chunks;
  const int64_t first = chunk * each + smaller(chunk, more);
  for (int64_t unit = first; unit < first + each + (chunk < more); ++unit)
    run_group(lines, unit, lines.scratch + chunk * lines.scratch_bytes);
}

// The dimension with the input's smallest stride becomes that of the groups.
void choose_group(Lines* lines) {
  int chosen = -1;
  for (int d = 0; d < lines->ndim; ++d) {
    const auto stride = [&](int at) { return llabs(lines->sides[0].strides[at]); };
    if (chosen < 0 || stride(d) < stride(chosen)) chosen = d;
  }
  lines->grouped = 1;
  for (int k = 0; k < lines->count; ++k) lines->sides[k].group_stride = chosen < 0 ? 0 : lines->sides[k].strides[chosen];
  if (chosen < 0) return;
  lines->grouped = lines->shape[chosen];
  --lines->ndim;
  for (int d = chosen; d < lines->ndim; ++d) {
    lines->shape[d] = lines->shape[d + 1];
    for (int k = 0; k < lines->count; ++k) lines->sides[k].strides[d] = lines->sides[k].strides[d + 1];
  }
}

}  // namespace

void move_elements(int64_t width, void* to, int64_t to_row, int64_t to_column, const void* from, int64_t from_row,
                   int64_t from_column, int64_t rows, int64_t columns) noexcept {
  kernels().copy->moves[width_index(width)](static_cast<char*>(to), to_row, to_column, static_cast<const char*>(from), from_row,
                                            from_column, rows, columns);
}

Status for_each_line(const DLTensor& x, const DLTensor* const* out, int outputs, int axis, const LineWork& work) noexcept {
  Lines lines;
  lines.count = 1 + outputs;
  lines.work = &work;
  const DLTensor* tensors[most_sides] = {&x, out[0], outputs > 1 ? out[1] : nullptr};
  int64_t* strides[most_sides];
  const bool point = x.ndim == 0;  // one line of one element
  int kept = 0;
  for (int d = 0; d < x.ndim; ++d)
    if (d != axis) lines.shape[kept++] = x.shape[d];
  for (int k = 0; k < lines.count; ++k) {
    Side& side = lines.sides[k];
    const DLTensor& t = *tensors[k];
    side.data = static_cast<char*>(t.data);
    side.width = line_width(t);
    side.n = point ? 1 : t.shape[axis];
    side.step = side.n == 1 ? side.width : byte_stride(t.strides[axis], side.width);
    side.stage = -1;
    strides[k] = side.strides;
    for (int d = 0, at = 0; d < t.ndim; ++d)
      if (d != axis) side.strides[at++] = byte_stride(t.strides[d], side.width);
  }
  lines.ndim = kept == 0 ? 0 : coalesce(kept, lines.shape, lines.count, strides);
  const int64_t count = numel(lines.ndim, lines.shape);
  if (count == 0) return success;
  // No memory holds them, but a broadcast tensor may have them.
  for (int k = 0; k < lines.count; ++k)
    if (lines.sides[k].n > longest_line) return no_temporary();
  choose_group(&lines);

  int64_t line_bytes = 1;
  for (int k = 0; k < lines.count; ++k) line_bytes += lines.sides[k].n * lines.sides[k].width;
  lines.group = group_bytes / line_bytes;
  lines.group = lines.group < 1 ? 1 : smaller(smaller(lines.group, work.strided ? most_strided : most_grouped), lines.grouped);
  const int threads = num_threads();
  const bool split = threads > 1 && count * work.line_cost >= threads_from;
  // Few lines in one group are shared out, too.
  if (split && ceil_divide(lines.grouped, lines.group) * (count / lines.grouped) < threads)
    lines.group = lines.group > threads ? ceil_divide(lines.group, threads) : 1;
  int64_t bytes = (work.scratch_bytes * (work.group != nullptr ? lines.group : 1) + 63) / 64 * 64;
  for (int k = 0; k < lines.count; ++k) {
    Side& side = lines.sides[k];
    if (side.step == side.width || work.strided) continue;
    side.stage = bytes;
    bytes += (lines.group * side.n * side.width + 63) / 64 * 64;
  }
  lines.groups = ceil_divide(lines.grouped, lines.group);
  lines.units = lines.groups * (count / lines.grouped);
  lines.alone = lines.units < threads;
  lines.chunks = split && !lines.alone ? smaller(lines.units, bytes <= group_bytes ? 4 * threads : threads) : 1;
  lines.scratch_bytes = bytes;
  BlockRef memory;
  if (bytes > 0) {
    DLT_TRY(allocate(size_t(bytes * lines.chunks), &memory));
  }
  lines.scratch = memory.block == nullptr ? nullptr : static_cast<char*>(memory.block->data);
  if (lines.chunks > 1) parallel(lines.chunks, run_chunk, &lines);
  else run_chunk(&lines, 0);
  return success;
}

}  // namespace dlt
