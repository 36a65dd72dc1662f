// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima: rows are shared among threads, and the blocks of long running sums.
#include "native/cpu/scan/scan.h"

#include <string.h>

#include <atomic>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/scan/columns.h"
#include "native/cpu/scan/kernels.h"
#include "native/cpu/sort/along_axis.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/layout/axis_last.h"
#include "native/memory/block.h"
#include "native/ops/reduce/reductions.h"
#include "native/ops/scans.h"

namespace dlt {
namespace {

using scans::Before, scans::block;

constexpr int64_t share_from = 1 << 17, share_awake_from = 1 << 15, chunk = 1 << 13;  // elements
constexpr int64_t most_blocks = 64;
constexpr int64_t few_elements = 1 << 12;  // fewer are moved by lines
constexpr int64_t most_transposed = 4;

void multiply_integers(uint64_t* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) a[i] *= a[i - 1];
}

// The parts of complex numbers, which lie two apart: in the same order.
void sum_parts(double* a, int64_t n) {
  const running_sums_t sums = kernels().scan->running_sums[type_float64];
  Before before;
  double part[block];
  for (int64_t first = 0; first < n; first += block) {
    const int64_t count = smaller(block, n - first);
    for (int64_t i = 0; i < count; ++i) part[i] = a[2 * (first + i)];
    before.add(sums(part, part, count, before.get()));
    for (int64_t i = 0; i < count; ++i) a[2 * (first + i)] = part[i];
  }
}

template <class T>
void multiply_floats(T* a, int64_t n) {
  T before{};
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = smaller(first + block, n);
    T local = a[first];
    if (first > 0) a[first] = ops::multiply(before, local);
    for (int64_t i = first + 1; i < end; ++i) {
      local = ops::multiply(local, a[i]);
      a[i] = first > 0 ? ops::multiply(before, local) : local;
    }
    before = a[end - 1];
  }
}

// Running results of a reduction whose bits do not depend on the order of its elements.
template <class BODY, class T>
void reduce_along(T* a, int64_t n) {
  typename BODY::word state[BODY::members];
  BODY::start(state);
  for (int64_t i = 0; i < n; ++i) {
    BODY::step(state, a[i], i);
    a[i] = BODY::end(state);
  }
}
template <class T>
void extremes(Scan op, T* a, int64_t n) {
  if (op == Scan::maximum) reduce_along<reductions::largest<T>>(a, n);
  else reduce_along<reductions::smallest<T>>(a, n);
}

// Exact running sums of 64-bit integers, clamped.
template <class T>
void sum_saturating(T* a, int64_t n) {
  using Sums = reductions::wide_sums<T>;
  uint64_t state[Sums::members];
  Sums::start(state);
  for (int64_t i = 0; i < n; ++i) {
    Sums::step(state, a[i], i);
    const auto low = T(state[0]);
    const int64_t high = int64_t(state[1]);
    if constexpr (range<T>::is_signed) a[i] = high == low >> 63 ? low : high < 0 ? range<T>::lowest : range<T>::highest;
    else a[i] = high == 0 ? low : range<T>::highest;
  }
}
template <class T>
void saturate(Scan op, T* a, int64_t n) {
  if (op == Scan::saturating_sum) sum_saturating(a, n);
  else reduce_along<reductions::saturated_products<T>>(a, n);
}

struct Work {
  Scan op;
  int type;
  char* data;
  int64_t rows, n, pitch_bytes, rows_per_task;
};

void scan_row(const Work& work, char* row) {
  if (work.op == Scan::maximum || work.op == Scan::minimum) {
    switch (work.type) {
      case type_float64: return extremes(work.op, reinterpret_cast<double*>(row), work.n);
      case type_uint64: return extremes(work.op, reinterpret_cast<uint64_t*>(row), work.n);
      default: return extremes(work.op, reinterpret_cast<int64_t*>(row), work.n);
    }
  }
  if (work.op == Scan::saturating_sum || work.op == Scan::saturating_product) {
    if (work.type == type_uint64) return saturate(work.op, reinterpret_cast<uint64_t*>(row), work.n);
    return saturate(work.op, reinterpret_cast<int64_t*>(row), work.n);
  }
  const bool sum = work.op == Scan::sum;
  auto* const integers = reinterpret_cast<uint64_t*>(row);
  auto* const floats = reinterpret_cast<double*>(row);
  switch (work.type) {
    case type_float64: return multiply_floats(floats, work.n);
    case type_complex128:
      if (!sum) return multiply_floats(reinterpret_cast<complex128*>(row), work.n);
      sum_parts(floats, work.n);
      return sum_parts(floats + 1, work.n);
    default:
      if (!sum) return multiply_integers(integers, work.n);
      kernels().scan->integer_sums(integers, integers, 1, work.n, 0, 0, 0);
  }
}

// Calls row(r) for each of `rows` rows, of which a task has several.
template <class Row>
void each_row(int64_t rows, int64_t rows_per_task, const Row& row) {
  parallel(ceil_divide(rows, rows_per_task), [&](int64_t number) {
    const int64_t last = smaller((number + 1) * rows_per_task, rows);
    for (int64_t r = number * rows_per_task; r < last; ++r) row(r);
  });
}

// ---- running sums of floats: rows apart, or the blocks of a long row

// The sum of what lies before a block: see Before.
struct Part {
  double sum[2];
};

struct Sums {
  running_sums_t run;
  block_sums_t add_up;  // of whole blocks
  char* out;
  const char* in;
  int64_t rows, n, out_pitch, in_pitch, width;  // pitches in bytes
  int64_t rows_per_task, blocks_per_task;
  Part* before;  // of each block of one row; `sums` before they are added up
  double* sums;
};

void sum_row(const Sums& all, int64_t row) {
  Before before;
  for (int64_t first = 0; first < all.n; first += block) {
    char* const out = all.out + row * all.out_pitch + first * all.width;
    const char* const in = all.in + row * all.in_pitch + first * all.width;
    before.add(all.run(out, in, smaller(block, all.n - first), before.get()));
  }
}

// Rows of at most `most_transposed` elements: longer ones are exchanged with columns in registers.
void sum_short_rows(const Sums& all, int type, int64_t first, int64_t last) {
  constexpr int64_t at_once = 128;
  alignas(64) char tile[at_once * most_transposed * 8];
  const Kernels& of = kernels();
  for (int64_t r = first; r < last; r += at_once) {
    const int64_t count = smaller(at_once, last - r), pitch = count * all.width;
    of.copy->moves[width_index(all.width)](tile, pitch, all.width, all.in + r * all.in_pitch, all.width, all.in_pitch, all.n,
                                           count);
    of.scan->column_sums[type](tile, tile, count, all.n, pitch, pitch);
    of.copy->moves[width_index(all.width)](all.out + r * all.out_pitch, all.out_pitch, all.width, tile, all.width, pitch, count,
                                           all.n);
  }
}

// The sums of blocks `from` to `to` of a row.
void add_blocks(const Sums& all, int64_t from, int64_t to, double* sums) {
  const int64_t whole = smaller(to, all.n / block);
  all.add_up(sums, all.in + from * block * all.width, whole - from);
  if (whole < to) sums[whole - from] = all.run(nullptr, all.in + whole * block * all.width, all.n - whole * block, nullptr);
}

double write_block(const Sums& all, int64_t k, const double* before) {
  const int64_t at = k * block * all.width;
  return all.run(all.out + at, all.in + at, smaller(block, all.n - k * block), before);
}

template <bool Write>
void block_task(void* context, int64_t number) {
  const Sums& all = *static_cast<const Sums*>(context);
  const int64_t first = number * all.blocks_per_task;
  const int64_t last = smaller(first + all.blocks_per_task, ceil_divide(all.n, block));
  if (!Write) return add_blocks(all, first, last, all.sums + first);
  for (int64_t k = first; k < last; ++k) write_block(all, k, k ? all.before[k].sum : nullptr);
}

// One row whose blocks are shared among threads: a pass for their sums, and one for the results. False, with nothing done,
// where there is no memory for them.
bool sum_blocks(Sums all) {
  const int64_t blocks = ceil_divide(all.n, block);
  BlockRef memory;
  memory.block = allocate(size_t(blocks) * (sizeof(Part) + sizeof(double)));
  if (memory.block == nullptr) return false;
  all.before = static_cast<Part*>(memory.block->data);
  all.sums = reinterpret_cast<double*>(all.before + blocks);
  // Sums of blocks are added in up to 8 lanes.
  const int64_t share = ceil_divide(blocks, 4 * num_threads());
  all.blocks_per_task = smaller(most_blocks, ceil_divide(share, 8) * 8);
  parallel(ceil_divide(blocks, all.blocks_per_task), block_task<false>, &all);
  Before before;
  for (int64_t k = 0; k < blocks; ++k) {
    if (k) memcpy(all.before[k].sum, before.get(), sizeof(Part));
    before.add(all.sums[k]);
  }
  all.blocks_per_task = smaller(most_blocks, share);
  parallel(ceil_divide(blocks, all.blocks_per_task), block_task<true>, &all);
  return true;
}

// One row by two threads: one writes blocks from the first on. The other adds the same blocks up, in a fraction of the time that
// their results take; from how far both have come it sees where the first one should end, and writes the rest.
struct TwoParts {
  Sums sums;
  int64_t blocks;
  std::atomic<uint64_t> progress;  // 32 bits each: the blocks that the first thread has begun, and where it ends

  int64_t begun() const { return int64_t(uint32_t(progress.load(std::memory_order_relaxed))); }
  // The next block of the first thread, or -1.
  int64_t take() {
    uint64_t now = progress.load(std::memory_order_relaxed);
    do {
      if (uint32_t(now) >= now >> 32) return -1;
    } while (!progress.compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
    return int64_t(uint32_t(now));
  }
  // Lets the first thread end before block `end`; false when it has begun that.
  bool end_at(int64_t end) {
    uint64_t now = progress.load(std::memory_order_relaxed);
    do {
      if (int64_t(uint32_t(now)) > end) return false;
    } while (!progress.compare_exchange_weak(now, uint64_t(end) << 32 | uint32_t(now), std::memory_order_relaxed));
    return true;
  }
};

void write_first(TwoParts& all) {
  Before before;
  for (int64_t k; (k = all.take()) >= 0;) before.add(write_block(all.sums, k, before.get()));
}

void write_rest(TwoParts& all) {
  constexpr int64_t at_once = 8;
  const int64_t start = all.begun();
  Before before;
  double sums[at_once];
  int64_t split = all.blocks;
  for (int64_t k = 0; k < split;) {
    const int64_t last = smaller(k + at_once, split);
    add_blocks(all.sums, k, last, sums);
    for (int64_t i = k; i < last; ++i) before.add(sums[i - k]);
    k = last;
    if (split < all.blocks) continue;
    // Both end together where (split - begun) blocks are written while (split - k) are added up and the others written. Of the
    // block that was begun last, half is done.
    const int64_t begun = all.begun();
    const double measured = (double(begun - start) - (start == 0 ? 0.5 : 0.0)) / double(k),
                 cost = measured < 0.9 ? measured : 0.9;
    const double best = (double(all.blocks) + double(begun) - 0.5 - double(k) * cost) / (2 - cost);
    const int64_t least = begun < k ? k : begun, end = best + 0.5 < double(least) ? least : int64_t(best + 0.5);
    if (end >= all.blocks) return;  // too late to be of use
    if (all.end_at(end)) split = end;
  }
  for (int64_t k = split; k < all.blocks; ++k) before.add(write_block(all.sums, k, before.get()));
}

void sum_two_parts(const Sums& row) {
  const int64_t blocks = ceil_divide(row.n, block);
  TwoParts parts{row, blocks, {uint64_t(blocks) << 32}};
  parallel(2, [&](int64_t number) { number == 0 ? write_first(parts) : write_rest(parts); });
}

}  // namespace

void sum_rows(int type, void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch, int64_t in_pitch) noexcept {
  if (rows == 0 || n == 0) return;
  const int64_t width = type_table[type].bytes;
  Sums all{};
  all.run = kernels().scan->running_sums[type];
  all.add_up = kernels().scan->block_sums[type];
  all.out = static_cast<char*>(out);
  all.in = static_cast<const char*>(in);
  all.rows = all.rows_per_task = rows;
  all.n = n;
  all.out_pitch = out_pitch * width;
  all.in_pitch = in_pitch * width;
  all.width = width;
  const int threads = num_threads();
  if (threads > 1 && rows < 2 * threads && n >= share_from) {
    for (int64_t r = 0; r < rows; ++r) {
      Sums row = all;
      row.out += r * all.out_pitch;
      row.in += r * all.in_pitch;
      if (!sum_blocks(row)) sum_row(all, r);
    }
    return;
  }
  const bool is_apart = all.out + n * width <= all.in || all.in + n * width <= all.out;
  if (threads > 1 && rows == 1 && n >= share_awake_from && is_apart && in_succession()) return sum_two_parts(all);
  if (rows > 1 && rows * n >= share_from) all.rows_per_task = ceil_divide(chunk, n);
  if (n <= most_transposed && rows >= 8) {
    return parallel(ceil_divide(rows, all.rows_per_task), [&](int64_t number) {
      const int64_t first = number * all.rows_per_task;
      sum_short_rows(all, type, first, smaller(first + all.rows_per_task, rows));
    });
  }
  if (n > block) return each_row(rows, all.rows_per_task, [&](int64_t r) { sum_row(all, r); });
  parallel(ceil_divide(rows, all.rows_per_task), [&](int64_t number) {
    const int64_t first = number * all.rows_per_task, count = smaller(all.rows_per_task, rows - first);
    kernels().scan->row_sums[type](all.out + first * all.out_pitch, all.in + first * all.in_pitch, count, n, all.out_pitch,
                                   all.in_pitch);
  });
}

void scan_rows(Scan op, int type, void* data, int64_t rows, int64_t n, int64_t pitch) noexcept {
  if (rows == 0 || n == 0) return;
  if (op == Scan::sum && type == type_float64) return sum_rows(type, data, data, rows, n, pitch, pitch);
  Work work{op, type, static_cast<char*>(data), rows, n, pitch * type_table[type].bytes, rows};
  if (rows > 1 && rows * n >= share_from) work.rows_per_task = ceil_divide(chunk, n);
  each_row(rows, work.rows_per_task, [&](int64_t r) { scan_row(work, work.data + r * work.pitch_bytes); });
}

// ---- tensors of any strides and dtypes

namespace {

struct LineScan {
  Scan op;
  int from, wide, to;
  int mode;  // of the cast of results
  bool direct;  // float32 or float64 from one array to another
  bool in_place;  // results are computed where they are wanted
  int64_t n;
};

void convert(void* out, int to, const void* in, int from, int64_t n, int mode) {
  if (out == in) return;
  if (n < share_from) {
    if (from == to) return void(memcpy(out, in, size_t(n * type_table[to].bytes)));
    if (const loop_t loop = kernels().copy->casts[mode][from][to]) return loop(out, in, nullptr, nullptr, n, 0);
  }
  int64_t one = 1;
  const DLTensor a{const_cast<void*>(in), {kDLCPU, 0}, 1, type_table[from].dtype, &n, &one, 0};
  const DLTensor b{out, {kDLCPU, 0}, 1, type_table[to].dtype, &n, &one, 0};
  CastOptions options;
  options.saturate = mode == cast_saturate;
  [[maybe_unused]] const Status status = cast(b, a, options, 0);  // dtypes with arithmetic: it cannot fail
}

// Rows of n elements, pitches in bytes; at once where they lie one behind another.
void convert_rows(char* out, int to, int64_t out_pitch, const char* in, int from, int64_t in_pitch, int64_t rows, int64_t n,
                  int mode) {
  if (out_pitch == n * type_table[to].bytes && in_pitch == n * type_table[from].bytes) n *= rows, rows = 1;
  for (int64_t r = 0; r < rows; ++r) convert(out + r * out_pitch, to, in + r * in_pitch, from, n, mode);
}

// Running sums of integers where they are wanted, in one pass: those of other dtypes than the sums are converted there, long rows by
// parts that stay in the first cache.
void sum_integers(const LineScan& all, const LineGroup& lines) {
  constexpr int64_t part = 1024;
  const integer_sums_t run = kernels().scan->integer_sums;
  if (type_table[all.from].bytes == 8 && type_table[all.from].kind != Kind::real)
    return void(run(lines.out, lines.in, lines.rows, all.n, lines.out_pitch, lines.in_pitch, 0));
  if (all.n <= part) {
    convert_rows(lines.out, all.wide, lines.out_pitch, lines.in, all.from, lines.in_pitch, lines.rows, all.n, 0);
    return void(run(lines.out, lines.out, lines.rows, all.n, lines.out_pitch, lines.out_pitch, 0));
  }
  for (int64_t r = 0; r < lines.rows; ++r) {
    uint64_t before = 0;
    for (int64_t first = 0; first < all.n; first += part) {
      const int64_t count = smaller(part, all.n - first);
      char* const to = lines.out + r * lines.out_pitch + first * 8;
      convert(to, all.wide, lines.in + r * lines.in_pitch + first * type_table[all.from].bytes, all.from, count, 0);
      before = run(to, to, 1, count, 0, 0, before);
    }
  }
}

void scan_group(const void* context, const LineGroup& lines) {
  const LineScan& all = *static_cast<const LineScan*>(context);
  if (all.op == Scan::sum && all.in_place && all.wide != type_float64 && all.wide != type_complex128)
    return sum_integers(all, lines);
  const int64_t wide_bytes = type_table[all.wide].bytes, to_bytes = type_table[all.to].bytes;
  if (all.direct)
    return sum_rows(all.to, lines.out, lines.in, lines.rows, all.n, lines.out_pitch / to_bytes, lines.in_pitch / to_bytes);
  char* const wide = all.in_place ? lines.out : lines.scratch;
  const int64_t pitch = all.in_place ? lines.out_pitch : all.n * wide_bytes;
  convert_rows(wide, all.wide, pitch, lines.in, all.from, lines.in_pitch, lines.rows, all.n, 0);
  scan_rows(all.op, all.wide, wide, lines.rows, all.n, pitch / wide_bytes);
  if (!all.in_place) convert_rows(lines.out, all.to, lines.out_pitch, wide, all.wide, pitch, lines.rows, all.n, all.mode);
}

// The dtype that results of dtype `type` are computed in.
int wide_type(int type) {
  switch (type_table[type].kind) {
    case Kind::complex: return type_complex128;
    case Kind::real: return type_float64;
    case Kind::unsigned_integer: return type_uint64;
    default: return type_int64;
  }
}

// Lines across the order of memory: moved and converted by whole tensors, which goes by tiles and threads.
Status scan_moved(const LineScan& all, const DLTensor& x, int axis, const DLTensor& out) {
  const AxisLast from(x, axis), to(out, axis);
  const int type = all.direct ? all.to : all.wide;
  const int64_t count = numel(x.ndim, x.shape);
  int64_t strides[max_dims];
  contiguous_strides(x.ndim, from.shape, strides);
  BlockRef memory;
  DLT_TRY(allocate(size_t(count * type_table[type].bytes), &memory));
  DLTensor rows = from.tensor;
  rows.data = memory.block->data, rows.strides = strides, rows.dtype = type_table[type].dtype, rows.byte_offset = 0;
  CastOptions options;
  DLT_TRY(cast(rows, from.tensor, options, 0));
  if (all.direct) sum_rows(type, rows.data, rows.data, count / all.n, all.n, all.n, all.n);
  else scan_rows(all.op, type, rows.data, count / all.n, all.n, all.n);
  options.saturate = all.mode == cast_saturate;
  return cast(to.tensor, rows, options, 0);
}

// Returns whether elements along an axis lie closer than those along the others: a line is read from few cache lines.
bool is_innermost(const DLTensor& x, int axis) {
  for (int d = 0; d < x.ndim; ++d)
    if (d != axis && x.shape[d] > 1 && x.strides[d] != 0 && magnitude(x.strides[d]) < magnitude(x.strides[axis])) return false;
  return true;
}

// Rows of contiguous elements at equal distances: false, with nothing done, where these are no such rows.
bool sum_as_rows(const DLTensor& x, int axis, const DLTensor& out, int type) {
  const int64_t n = x.shape[axis];
  if (axis != x.ndim - 1 || (n != 1 && (x.strides[axis] != 1 || out.strides[axis] != 1))) return false;
  int64_t shape[max_dims], in[max_dims], to[max_dims];
  for (int d = 0; d < axis; ++d) shape[d] = x.shape[d], in[d] = x.strides[d], to[d] = out.strides[d];
  int64_t* const strides[] = {in, to};
  const int dims = coalesce(axis, shape, 2, strides);
  if (dims > 1) return false;
  sum_rows(type, out.data, x.data, dims ? shape[0] : 1, n, dims ? to[0] : n, dims ? in[0] : n);
  return true;
}

}  // namespace

Status cpu::scan(Scan op, const EngineOperand& in, int axis, const EngineOperand& to_be, const LaunchContext&) noexcept {
  const DLTensor &x = *in.tensor, &out = *to_be.tensor;
  const int from = find_type(x.dtype), to = find_type(out.dtype), wide = wide_type(to);
  const bool saturates = op == Scan::saturating_sum || op == Scan::saturating_product;
  LineScan all{op, from, wide, to, saturates ? cast_saturate : 0, false, false, x.shape[axis]};
  all.direct = op == Scan::sum && from == to && (to == type_float32 || to == type_float64);
  all.in_place = to == wide && reinterpret_cast<uintptr_t>(out.data) % sizeof(double) == 0;
  const int64_t scratch = all.direct || all.in_place ? 0 : all.n * type_table[wide].bytes;
  alignas(64) char few[2048];
  if (x.ndim == 1 && x.strides[0] == 1 && out.strides[0] == 1 && scratch <= int64_t(sizeof few)) {
    const int64_t in_pitch = all.n * type_table[from].bytes, out_pitch = all.n * type_table[to].bytes;
    scan_group(&all, {static_cast<const char*>(x.data), static_cast<char*>(out.data), 1, in_pitch, out_pitch, few, true});
    return success;
  }
  if (numel(x.ndim, x.shape) == 0) return success;
  if (all.n > longest_line) return no_temporary();
  if (all.direct && (sum_as_rows(x, axis, out, to) || (all.n <= block && sum_float_columns(x, axis, out)))) return success;
  if (op == Scan::sum && sum_integer_columns(x, axis, out)) return success;
  const bool staged = x.strides[axis] != 1 && !(out.strides[axis] == 1 && is_innermost(x, axis));
  if (numel(x.ndim, x.shape) >= few_elements && (staged || out.strides[axis] != 1)) return scan_moved(all, x, axis, out);
  const DLTensor* outputs[] = {&out};
  return for_each_line(x, outputs, 1, axis, {nullptr, &all, scratch, ceil_divide(all.n, 2), scan_group});
}

}  // namespace dlt
