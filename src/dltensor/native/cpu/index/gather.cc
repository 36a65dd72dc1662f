// SPDX-License-Identifier: Apache-2.0
// Positions in parts: their indices are staged as offsets in memory of this thread, checked there, and used from there.
#include "native/cpu/index/gather.h"

#include <string.h>

#include <atomic>
#include <mutex>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"

namespace dlt {
namespace {

constexpr int64_t most_staged = 4096;               // offsets at a time: 32 KiB
constexpr int64_t most_in_lines = 1024;             // the same where what is gathered is in the first cache as well
constexpr int64_t share_from = int64_t(1) << 20;    // bytes moved from which a second thread pays
constexpr int64_t task_bytes = 64 << 10;
constexpr int64_t long_row = 64;                    // bytes of a row that is worth a prefetch
constexpr int64_t ahead = 8;                        // rows
constexpr int64_t long_line = 32;                   // elements of a line that is worth a call

bool is_width(int64_t width) { return width > 0 && width <= 32 && (width & (width - 1)) == 0; }

enum class Mode { gather, scatter, accumulate };

struct Job {
  Indexed* x;
  const IndexKernels* kernels;
  Mode mode;
  int width;          // its number in the tables
  bool rows;          // the inner dimension is one run of bytes on both sides
  bool lines;         // elements are gathered from one line at a time, and offsets count from its beginning
  bool empty;         // nothing is moved
  int64_t row_bytes;
  int op, type;
  loop_t loop;
  scatter_t join;
  // Tasks: so many positions times so many outer indices.
  int64_t outer, positions, positions_per_task, outer_per_task, position_tasks;
  std::atomic<int64_t> first_bad{INT64_MAX};
  std::mutex reporting;
  BadIndex bad{-1, 0, 0};
};

// ---- offsets

// Calls each(done, count, base) for the parts of n positions that are in one line of their shape, with the offset that
// the first of the part has by its place.
template <class Each>
void each_line(const Indexed& x, int64_t first, int64_t n, Each each) {
  const int last = x.spread - 1;
  const int64_t columns = x.spread_shape[last];
  int64_t done = 0, column = first % columns;
  for (int64_t row = first / columns; done < n; ++row, column = 0) {
    int64_t base = 0, rest = row;
    for (int d = last - 1; d >= 0; --d) {
      base += rest % x.spread_shape[d] * x.spread_tensor[d];
      rest /= x.spread_shape[d];
    }
    const int64_t count = smaller(columns - column, n - done);
    each(done, count, base + column * x.spread_tensor[last]);
    done += count;
  }
}

// Offsets of n positions; returns how many come before a bad index, which goes to `bad`.
int64_t stage(const Job& job, int64_t first, int64_t n, int64_t* offsets, BadIndex* bad) {
  const Indexed& x = *job.x;
  if (x.arrays == 0) memset(offsets, 0, size_t(n) * sizeof *offsets);
  for (int k = 0; k < x.arrays; ++k) {
    const IndexArray& array = x.array[k];
    const int64_t good = job.kernels->check(offsets, array.data + first, n, array.size, array.stride, k > 0);
    if (good == n) continue;
    *bad = {first + good, k, array.data[first + good]};
    n = good;
  }
  if (x.spread > 0 && !job.lines && !job.empty)
    each_line(x, first, n, [&](int64_t done, int64_t count, int64_t base) {
      job.kernels->add_steps(offsets + done, base, x.spread_tensor[x.spread - 1], count);
    });
  return n;
}

// ---- what is moved for one position

// Calls each(tensor, dense) for all rows of the inner dimensions but the last two, with their places in bytes.
template <class Each>
void each_plane(const Indexed& x, char* tensor, char* dense, Each each) {
  const int planes = x.inner - 2;
  int64_t at[max_dims] = {};
  for (;;) {
    each(tensor, dense);
    int d = planes - 1;
    for (; d >= 0; --d) {
      tensor += x.inner_tensor[d] * x.width;
      dense += x.inner_dense[d] * x.width;
      if (++at[d] < x.inner_shape[d]) break;
      tensor -= at[d] * x.inner_tensor[d] * x.width;
      dense -= at[d] * x.inner_dense[d] * x.width;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

void move_inner(const Job& job, char* tensor, char* dense) {
  const Indexed& x = *job.x;
  const int last = x.inner - 1, row = x.inner - 2;
  const int64_t rows = row >= 0 ? x.inner_shape[row] : 1, columns = x.inner_shape[last], w = x.width;
  const int64_t tensor_row = row >= 0 ? x.inner_tensor[row] * w : 0, dense_row = row >= 0 ? x.inner_dense[row] * w : 0;
  const int64_t tensor_column = x.inner_tensor[last] * w, dense_column = x.inner_dense[last] * w;
  const move_t move = kernels().copy->moves[job.width];
  each_plane(x, tensor, dense, [&](char* t, char* d) {
    if (job.mode == Mode::gather) move(d, dense_row, dense_column, t, tensor_row, tensor_column, rows, columns);
    else move(t, tensor_row, tensor_column, d, dense_row, dense_column, rows, columns);
  });
}

void apply(const Job& job, char* tensor, const char* dense, int64_t n, bool one) {
  if (job.loop != nullptr) {
    job.loop(tensor, tensor, dense, nullptr, n, one ? 2 : 0);
    return;
  }
  // 16-bit floats have no loop of their own for every operation.
  int64_t shape = n, stride = 1, none = 0;
  DLTensor a{tensor, {kDLCPU, 0}, 1, type_table[job.type].dtype, &shape, &stride, 0};
  DLTensor b = a;
  b.data = const_cast<char*>(dense);
  if (one) b.strides = &none;
  const DLTensor* const operands[2] = {&a, &b};
  (void)run(job.op, 0, job.type, operands, a, 0);
}

void apply_inner(const Job& job, char* tensor, char* dense) {
  const Indexed& x = *job.x;
  if (x.inner == 0) return apply(job, tensor, dense, 1, false);
  const int last = x.inner - 1, row = x.inner - 2;
  const int64_t rows = row >= 0 ? x.inner_shape[row] : 1, columns = x.inner_shape[last], w = x.width;
  const bool runs = x.inner_tensor[last] == 1 && (x.inner_dense[last] == 1 || x.inner_dense[last] == 0);
  each_plane(x, tensor, dense, [&](char* t, char* d) {
    for (int64_t r = 0; r < rows; ++r) {
      char* to = row >= 0 ? t + r * x.inner_tensor[row] * w : t;
      const char* from = row >= 0 ? d + r * x.inner_dense[row] * w : d;
      if (runs) {
        apply(job, to, from, columns, x.inner_dense[last] == 0);
        continue;
      }
      for (int64_t c = 0; c < columns; ++c)
        apply(job, to + c * x.inner_tensor[last] * w, from + c * x.inner_dense[last] * w, 1, false);
    }
  });
}

// Rows of H to 2 H bytes at offsets, as their first and their last H.
template <size_t H>
void gather_short(char* to, int64_t step, const char* from, const int64_t* offsets, int64_t width, int64_t n, int64_t bytes) {
  const int64_t rest = bytes - int64_t(H);
  for (int64_t i = 0; i < n; ++i, to += step) {
    const char* const row = from + offsets[i] * width;
    char first[H], last[H];
    memcpy(first, row, H);
    if (rest == 0) {
      memcpy(to, first, H);
      continue;
    }
    memcpy(last, row + rest, H);
    memcpy(to, first, H);
    memcpy(to + rest, last, H);
  }
}
// False, with nothing done, for rows that are longer or shorter.
bool gather_short_rows(char* to, int64_t step, const char* from, const int64_t* offsets, int64_t width, int64_t n,
                       int64_t bytes) {
  if (bytes < 4 || bytes >= long_row) return false;
  if (bytes < 8) gather_short<4>(to, step, from, offsets, width, n, bytes);
  else if (bytes < 16) gather_short<8>(to, step, from, offsets, width, n, bytes);
  else if (bytes < 32) gather_short<16>(to, step, from, offsets, width, n, bytes);
  else gather_short<32>(to, step, from, offsets, width, n, bytes);
  return true;
}

void move_positions(const Job& job, char* tensor, char* dense, const int64_t* offsets, int64_t n) {
  const Indexed& x = *job.x;
  const int64_t w = x.width, step = x.dense_step * w;
  if (job.mode == Mode::accumulate) {
    if (x.inner == 0 && job.join != nullptr) return job.join(tensor, dense, x.dense_step, offsets, n);
    for (int64_t i = 0; i < n; ++i) apply_inner(job, tensor + offsets[i] * w, dense + i * step);
    return;
  }
  if (x.inner == 0) {
    if (job.mode == Mode::gather) job.kernels->gather[job.width](dense, tensor, offsets, n);
    else job.kernels->scatter[job.width](tensor, dense, x.dense_step, offsets, n);
    return;
  }
  if (!job.rows) {
    for (int64_t i = 0; i < n; ++i) move_inner(job, tensor + offsets[i] * w, dense + i * step);
    return;
  }
  if (job.mode == Mode::gather && gather_short_rows(dense, step, tensor, offsets, w, n, job.row_bytes)) return;
  const bool fetch = job.row_bytes >= long_row;
  for (int64_t i = 0; i < n; ++i) {
    if (fetch && i + ahead < n) __builtin_prefetch(tensor + offsets[i + ahead] * w);
    char* t = tensor + offsets[i] * w;
    if (job.mode == Mode::gather) memcpy(dense + i * step, t, size_t(job.row_bytes));
    else memcpy(t, dense + i * step, size_t(job.row_bytes));
  }
}

// ---- all positions

void report(Job* job, const BadIndex& bad) {
  const std::lock_guard<std::mutex> guard(job->reporting);
  if (job->bad.at >= 0 && job->bad.at <= bad.at) return;
  job->bad = bad;
  job->first_bad.store(bad.at, std::memory_order_relaxed);
}

void run_part(Job* job, int64_t first, int64_t n, int64_t first_outer, int64_t past_outer) {
  const Indexed& x = *job->x;
  if (first > job->first_bad.load(std::memory_order_relaxed)) return;
  int64_t offsets[most_staged];
  BadIndex bad{-1, 0, 0};
  n = stage(*job, first, n, offsets, &bad);
  if (bad.at >= 0) {
    report(job, bad);
    if (job->mode == Mode::gather) return;
  }
  if (job->empty) return;
  for (int64_t o = first_outer; o < past_outer; ++o) {
    int64_t rest = o, tensor = 0, dense = first * x.dense_step;
    for (int d = x.outer - 1; d >= 0; --d) {
      const int64_t at = rest % x.outer_shape[d];
      rest /= x.outer_shape[d];
      tensor += at * x.outer_tensor[d];
      dense += at * x.outer_dense[d];
    }
    char *from = x.tensor + tensor * x.width, *to = x.dense + dense * x.width;
    if (!job->lines) {
      move_positions(*job, from, to, offsets, n);
      continue;
    }
    each_line(x, first, n, [&](int64_t done, int64_t count, int64_t base) {
      move_positions(*job, from + base * x.width, to + done * x.dense_step * x.width, offsets + done, count);
    });
  }
}

void run_task(Job* job, int64_t index) {
  const int64_t outer = index / job->position_tasks * job->outer_per_task;
  int64_t first = index % job->position_tasks * job->positions_per_task;
  const int64_t past = smaller(first + job->positions_per_task, job->positions);
  const int64_t most = job->lines ? most_in_lines : most_staged;
  for (; first < past; first += most)
    run_part(job, first, smaller(most, past - first), outer, smaller(outer + job->outer_per_task, job->outer));
}

// Elements of another width than a register's, and short rows, as elements of one that is.
void choose_width(Indexed* x) {
  if (!is_width(x->width)) {
    const auto scale = [x](int n, int64_t* strides) {
      for (int d = 0; d < n; ++d) strides[d] = int64_t(uint64_t(strides[d]) * uint64_t(x->width));
    };
    scale(x->outer, x->outer_tensor);
    scale(x->outer, x->outer_dense);
    scale(x->inner, x->inner_tensor);
    scale(x->inner, x->inner_dense);
    scale(x->spread, x->spread_tensor);
    scale(1, &x->dense_step);
    for (int k = 0; k < x->arrays; ++k) scale(1, &x->array[k].stride);
    x->inner_shape[x->inner] = x->width;
    x->inner_tensor[x->inner] = x->inner_dense[x->inner] = 1;
    ++x->inner;
    x->width = 1;
  }
  int64_t* outer[2] = {x->outer_tensor, x->outer_dense};
  int64_t* inner[2] = {x->inner_tensor, x->inner_dense};
  x->outer = coalesce(x->outer, x->outer_shape, 2, outer);
  x->inner = coalesce(x->inner, x->inner_shape, 2, inner);
}

void widen(Indexed* x) {
  while (x->inner == 1 && x->inner_tensor[0] == 1 && x->inner_dense[0] == 1 && x->width < 32 && x->inner_shape[0] % 2 == 0) {
    int64_t odd = x->dense_step;
    for (int d = 0; d < x->outer; ++d) odd |= x->outer_tensor[d] | x->outer_dense[d];
    for (int d = 0; d < x->spread; ++d) odd |= x->spread_tensor[d];
    for (int k = 0; k < x->arrays; ++k) odd |= x->array[k].stride;
    if (odd & 1) return;
    x->dense_step /= 2;
    for (int d = 0; d < x->outer; ++d) x->outer_tensor[d] /= 2, x->outer_dense[d] /= 2;
    for (int d = 0; d < x->spread; ++d) x->spread_tensor[d] /= 2;
    for (int k = 0; k < x->arrays; ++k) x->array[k].stride /= 2;
    x->width *= 2;
    x->inner_shape[0] /= 2;
    if (x->inner_shape[0] == 1) x->inner = 0;
  }
}

BadIndex run_indexed(Indexed* x, Mode mode, int op, int type) {
  choose_width(x);
  Job job;
  job.x = x;
  job.kernels = kernels().index;
  job.mode = mode;
  job.op = op;
  job.type = type;
  job.loop = mode == Mode::accumulate ? find_loop(op, type) : nullptr;
  const int join = op == op_add ? join_add : op == op_maximum ? join_maximum : op == op_minimum ? join_minimum : -1;
  job.join = mode == Mode::accumulate && join >= 0 ? job.kernels->joins[join][type] : nullptr;
  job.outer = numel(x->outer, x->outer_shape);
  job.positions = x->count;
  if (x->count == 0) return job.bad;
  const int64_t inner = numel(x->inner, x->inner_shape);
  job.empty = job.outer == 0 || inner == 0;
  if (!job.empty && mode != Mode::accumulate) widen(x);
  job.width = is_width(x->width) ? width_index(x->width) : 0;
  job.rows = x->inner == 1 && x->inner_tensor[0] == 1 && x->inner_dense[0] == 1;
  job.row_bytes = numel(x->inner, x->inner_shape) * x->width;
  job.lines = mode == Mode::gather && x->inner == 0 && x->spread > 0 && x->spread_tensor[x->spread - 1] == 0 &&
              x->spread_shape[x->spread - 1] >= long_line;
  if (job.empty) job.outer = 1;
  const int64_t each = larger(job.row_bytes, 8);
  if (mode == Mode::gather) {
    job.positions_per_task = larger(smaller(smaller(most_staged, task_bytes / each), job.positions), 1);
    job.outer_per_task = smaller(larger(task_bytes / (job.positions_per_task * each), 8), job.outer);
  } else {
    // The last of equal indices wins: all positions of an outer index are one thread's, in order.
    job.positions_per_task = job.positions;
    job.outer_per_task = smaller(larger(task_bytes / each / job.positions, 1), job.outer);
  }
  job.position_tasks = ceil_divide(job.positions, job.positions_per_task);
  const int64_t tasks = job.position_tasks * ceil_divide(job.outer, job.outer_per_task);
  // Sizes whose product would overflow have elements that share memory: such a result was never allocated.
  parallel_if(tasks > 1 && job.outer * job.positions >= share_from / each, tasks, [&](int64_t k) { run_task(&job, k); });
  return job.bad;
}

}  // namespace

BadIndex check_indices(const Indexed& x) noexcept {
  Job job;
  Indexed own = x;
  own.spread = 0;
  job.x = &own;
  job.kernels = kernels().index;
  job.mode = Mode::gather;
  job.empty = true;
  job.lines = false;
  job.outer = job.outer_per_task = 1;
  job.positions = x.count;
  job.positions_per_task = most_staged * 4;
  job.position_tasks = ceil_divide(job.positions, job.positions_per_task);
  parallel_if(job.position_tasks > 8, job.position_tasks, [&](int64_t k) { run_task(&job, k); });
  return job.bad;
}

BadIndex gather(Indexed* indexed) noexcept { return run_indexed(indexed, Mode::gather, 0, 0); }
// One value for whole rows becomes a row of values, which is copied as one run of bytes.
void repeat_value(Indexed* x, char* row, int64_t room) {
  if (x->inner != 1 || x->inner_dense[0] != 0 || x->inner_tensor[0] != 1 || x->dense_step != 0) return;
  const int64_t bytes = x->inner_shape[0] * x->width;
  if (bytes > room || bytes <= x->width) return;
  for (int d = 0; d < x->outer; ++d)
    if (x->outer_dense[d] != 0) return;
  for (int64_t k = 0; k < x->inner_shape[0]; ++k) memcpy(row + k * x->width, x->dense, size_t(x->width));
  x->dense = row;
  x->inner_dense[0] = 1;
}

BadIndex scatter(Indexed* indexed) noexcept {
  alignas(64) char row[4096];
  repeat_value(indexed, row, int64_t(sizeof row));
  return run_indexed(indexed, Mode::scatter, 0, 0);
}
BadIndex accumulate(Indexed* indexed, int op, int type) noexcept { return run_indexed(indexed, Mode::accumulate, op, type); }

int64_t scatter_few(char* to, const char* from, int64_t step, int64_t width, const int64_t* indices, int64_t count,
                    int64_t size) noexcept {
  const IndexKernels& k = *kernels().index;
  int64_t offsets[most_staged];
  const int64_t good = k.check(offsets, indices, count, size, 1, false);
  if (good == count) k.scatter[width_index(width)](to, from, step, offsets, count);
  return good;
}

int64_t gather_rows(char* to, const char* from, const int64_t* indices, int64_t count, int64_t size, int64_t row) noexcept {
  const IndexKernels& k = *kernels().index;
  int64_t offsets[most_staged];
  const bool element = is_width(row);
  for (int64_t first = 0; first < count; first += most_staged) {
    const int64_t n = smaller(most_staged, count - first);
    const int64_t good = k.check(offsets, indices + first, n, size, 1, false);
    if (good < n) return first + good;
    if (element) {
      k.gather[width_index(row)](to + first * row, from, offsets, n);
      continue;
    }
    if (gather_short_rows(to + first * row, row, from, offsets, row, n, row)) continue;
    for (int64_t i = 0; i < n; ++i) {
      if (row >= long_row && i + ahead < n) __builtin_prefetch(from + offsets[i + ahead] * row);
      memcpy(to + (first + i) * row, from + offsets[i] * row, size_t(row));
    }
  }
  return count;
}

Status cpu::gather(Indexed& x, const EngineOperand&, const EngineOperand&, Block* const*, BadIndex* bad,
                   const LaunchContext&) noexcept {
  const BadIndex first = dlt::gather(&x);
  if (bad) *bad = first;
  return success;
}

Status cpu::scatter(Indexed& x, int op, int type, const EngineOperand&, const EngineOperand&, Block* const*, BadIndex* bad,
                    const LaunchContext&) noexcept {
  if (bad) *bad = check_indices(x);
  if (bad && bad->at >= 0) return success;
  const BadIndex first = op < 0 ? dlt::scatter(&x) : accumulate(&x, op, type);
  if (bad) *bad = first;
  return success;
}

}  // namespace dlt
