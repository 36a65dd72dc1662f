// SPDX-License-Identifier: Apache-2.0
// Computes one pass: results or parts of them are tasks for threads.
#include <string.h>

#include "native/cpu/copy/copy.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/reduce/float_sums.h"
#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"
#include "native/ops/reduce/reductions.h"

namespace dlt {
namespace {

// Bytes from which a second thread pays: always, and where calls follow one another.
constexpr int64_t share_from = int64_t(1) << 20, share_awake_from = int64_t(1) << 18;
constexpr int64_t chunk_bytes = 64 << 10;
constexpr int64_t state_bytes = 48 << 10;         // of the states of one task
constexpr int64_t turned_columns = 128;  // the elements of so many results fit into the first cache
constexpr int64_t part_bytes = 256 << 10, least_part_bytes = 128 << 10;

// ---- one task

struct Work {
  const ReducePass* pass;
  int64_t strips, strip;  // of the innermost kept axis, when it is read in rows
  int64_t units;  // results, or strips of them
  int64_t units_per_task;
  int64_t parts, part;  // of the reduced elements of one unit, and how many are in each
  char* partial;  // states of every unit and part, when there are several
  int64_t slot;  // bytes of the states of a unit
};

struct RunContext {
  const ReducePass* pass;
  void* states;
  const double* center;
};
void take_run(void* context, const void* run, int64_t n, int64_t first) {
  const auto& c = *static_cast<RunContext*>(context);
  c.pass->reducer->run(c.states, run, n, first, c.center);
}

// The value in the place of an element that is masked out: of deviations the center itself.
void blank_of(const ReducePass& pass, int64_t index, unsigned char* blank, double* centers) {
  memcpy(blank, pass.identity, 16);
  if (pass.centers == nullptr) return;
  const int parts = pass.reducer->parts;
  for (int k = 0; k < parts; ++k) {
    centers[k] = pass.centers[index * parts + k];
    memcpy(blank + 8 * k, &centers[k], 8);
  }
}

// Returns whether the elements of columns and their factors are contiguous, and the terms of their products come from these as they are.
bool has_plain_terms(const ReducePass& pass, const Place& step) {
  return pass.factor != nullptr && pass.terms != nullptr && pass.pipeline.count == 0 && pass.factor_pipeline.count == 0 &&
         step.in == pass.in_width && step.factor == pass.factor_width;
}
// Adds the terms of rows of n columns, as many rows at a time as the stage holds. `index` is that of the first row.
void add_terms(const ReducePass& pass, const Place& from, int64_t n, int64_t rows, int64_t index, void* states,
               int64_t capacity, Stage* stage) {
  const Place row = pass.reduced[pass.reduced_ndim - 1].step;
  const int64_t together = row.in == n * pass.in_width && row.factor == n * pass.factor_width ? product_count / n : 1;
  for (int64_t r = 0, count; r < rows; r += count) {
    count = smaller(product_count / n, rows - r);
    for (int64_t k = 0; k < count; k += together) {
      const Place at = from + (r + k) * row;
      pass.terms(stage->products + k * n, stage->rests + k * n, pass.in + at.in, pass.factor + at.factor,
                 smaller(together, count - k) * n);
    }
    pass.reducer->rows(states, capacity, stage->products, n * 8, count, n, index + r, nullptr);
    if (pass.with_rests) pass.reducer->rows(states, capacity, stage->rests, n * 8, count, n, index + r, nullptr);
  }
}

void reduce_one(const ReducePass& pass, const ResultRun& where, int64_t begin, int64_t end, void* states, Stage* stage) {
  const int parts = pass.reducer->parts;
  alignas(16) unsigned char blank[16];
  double centers[2];
  blank_of(pass, where.index, blank, centers);
  pass.reducer->start(states, parts, parts);
  RunContext context{&pass, states, centers};
  each_run(pass, where.at, begin, end, blank, stage, take_run, &context);
}

// Rows of few contiguous columns: a power of two of them is taken as one row of as many states, which are joined.
constexpr int64_t wide_row = 128, most_words = 8;
int64_t turns_of(const ReducePass& pass, int64_t row_bytes, int64_t states, int64_t rows) {
  if (!joins_rows(pass, row_bytes, states / pass.reducer->parts, rows)) return 1;
  int64_t turns = 2;
  while (2 * turns * states <= wide_row) turns *= 2;
  return turns;
}
// Rows of n states' values where they lie, the first of which is number `index`.
void reduce_direct_rows(const ReducePass& pass, const char* from, int64_t rows, int64_t n, int64_t index, const double* centers,
                        void* states, int64_t capacity) {
  const Reducer& reducer = *pass.reducer;
  const int64_t row_bytes = pass.reduced[pass.reduced_ndim - 1].step.in, turns = turns_of(pass, row_bytes, n, rows);
  if (turns == 1) return reducer.rows(states, capacity, from, row_bytes, rows, n, index, centers);
  alignas(64) char wide[wide_row * most_words * 8];
  const int64_t whole = rows / turns;
  reducer.start(wide, wide_row, turns * n);
  reducer.rows(wide, wide_row, from, turns * row_bytes, whole, turns * n, 0, nullptr);
  for (int64_t k = 0; k < turns; ++k) reducer.join(states, capacity, wide + k * n * reducer.width, wide_row, n);
  reducer.rows(states, capacity, from + whole * turns * row_bytes, row_bytes, rows % turns, n, 0, nullptr);
}

// Columns of the innermost kept axis from `where` on, rows begin to end of the reduced axes.
void reduce_strip(const ReducePass& pass, const ResultRun& where, int64_t n, int64_t begin, int64_t end, void* states,
                  int64_t capacity, Stage* stage) {
  const int parts = pass.reducer->parts;
  double centers[2 * strip_columns];
  if (pass.centers != nullptr)
    for (int64_t c = 0; c < n; ++c)
      for (int k = 0; k < parts; ++k) centers[c * parts + k] = pass.centers[(where.index + c * where.index_step) * parts + k];
  const void* const blank = pass.centers != nullptr ? static_cast<const void*>(centers) : pass.identity;
  const int64_t blank_step = pass.centers != nullptr ? pass.width : 0;
  pass.reducer->start(states, capacity, n * parts);
  const auto take_row = [&](const Place& from, int64_t index) {
    const char* const row = staged(pass, from, where.step, n, blank, blank_step, stage);
    pass.reducer->rows(states, capacity, row, 0, 1, n * parts, index, centers);
    if (pass.factor != nullptr && pass.with_rests)
      pass.reducer->rows(states, capacity, stage->rests, 0, 1, n * parts, index, centers);
  };
  if (pass.reduced_ndim == 0) return take_row(where.at, 0);
  const Axis& inner = pass.reduced[pass.reduced_ndim - 1];
  const bool direct = is_direct(pass, where.step.in);
  for (int64_t at = begin; at < end;) {
    const int64_t outer = at / inner.size, first = at - outer * inner.size;
    const int64_t rows = smaller(inner.size - first, end - at);
    const Place from = where.at + place_of(pass.reduced, pass.reduced_ndim - 1, outer) + first * inner.step;
    if (direct) {
      reduce_direct_rows(pass, pass.in + from.in, rows, n * parts, at, centers, states, capacity);
    } else if (pass.turns && pass.factor == nullptr && pass.reducer->each != nullptr && inner.size >= least_each &&
               pass.pipeline.count == 0 && rows == pass.reduced_count) {
      pass.reducer->each(states, capacity, pass.in + from.in, where.step.in, n, rows);
    } else if (pass.turns) {
      const int64_t most = (pass.factor != nullptr ? product_count : staged_count) / n;
      for (int64_t r = 0; r < rows; r += most) {
        const int64_t count = smaller(most, rows - r);
        const char* const tile = turned(pass, from + r * inner.step, inner.step, where.step, n, count, stage);
        pass.reducer->rows(states, capacity, tile, n * pass.width, count, n * parts, at + r, centers);
        if (pass.factor != nullptr && pass.with_rests)
          pass.reducer->rows(states, capacity, stage->rests, n * pass.width, count, n * parts, at + r, centers);
      }
    } else if (pass.mask == nullptr && pass.factor == nullptr && pass.pipeline.count == 1 && where.step.in == pass.in_width) {
      const int64_t most = staged_count / n;
      for (int64_t r = 0; r < rows; r += most) {
        const int64_t count = smaller(most, rows - r);
        for (int64_t k = 0; k < count; ++k)
          pass.pipeline.loops[0](stage->moved + k * n * pass.width, pass.in + from.in + (r + k) * inner.step.in, nullptr,
                                 nullptr, n, 0);
        pass.reducer->rows(states, capacity, stage->moved, n * pass.width, count, n * parts, at + r, centers);
      }
    } else if (has_plain_terms(pass, where.step)) {
      add_terms(pass, from, n, rows, at, states, capacity, stage);
    } else {
      for (int64_t r = 0; r < rows; ++r) take_row(from + r * inner.step, at + r);
    }
    at += rows;
  }
}

// Results to where they belong, as the dtype of `out`.
void write_results(const ReducePass& pass, const char* results, int64_t n, int64_t out, int64_t step, Stage* stage) {
  for (int k = 0; k < pass.out_pipeline.count; ++k) {
    pass.out_pipeline.loops[k](stage->spare[k & 1], results, nullptr, nullptr, n, 0);
    results = stage->spare[k & 1];
  }
  if (step == pass.out_width) memcpy(pass.out + out, results, size_t(n * pass.out_width));
  else
    for (int64_t i = 0; i < n; ++i) memcpy(pass.out + out + i * step, results + i * pass.out_width, size_t(pass.out_width));
}

// The unit's first result: where it is read and written.
struct Unit {
  ResultRun where;
  int64_t n, out, out_step;
};
Unit unit_of(const Work& work, int64_t number) {
  const ReducePass& pass = *work.pass;
  Unit unit{};
  unit.n = 1;
  int axes = pass.kept_ndim;
  if (pass.columns) {
    const Axis& inner = pass.kept[--axes];
    const int64_t strip = number % work.strips;
    number /= work.strips;
    unit.n = smaller(work.strip, inner.size - strip * work.strip);
    unit.where = {strip * work.strip * inner.step, strip * work.strip * inner.index, inner.step, inner.index};
    unit.out = strip * work.strip * inner.out;
    unit.out_step = inner.out;
  }
  for (int d = axes - 1; d >= 0; --d) {
    const int64_t i = number % pass.kept[d].size;
    number /= pass.kept[d].size;
    unit.where.at = unit.where.at + i * pass.kept[d].step;
    unit.where.index += i * pass.kept[d].index;
    unit.out += i * pass.kept[d].out;
  }
  return unit;
}

void reduce_unit(const Work& work, const Unit& unit, int64_t begin, int64_t end, void* states, Stage* stage) {
  const ReducePass& pass = *work.pass;
  if (pass.columns) reduce_strip(pass, unit.where, unit.n, begin, end, states, work.strip * pass.reducer->parts, stage);
  else reduce_one(pass, unit.where, begin, end, states, stage);
}

// The value that every result takes once more.
void take_initial(const Work& work, const Unit& unit, void* states) {
  const ReducePass& pass = *work.pass;
  if (pass.initial_type < 0) return;
  const int parts = pass.reducer->parts;
  const int64_t capacity = pass.columns ? work.strip * parts : parts;
  alignas(16) char one[36 * 16];
  pass.reducer->start(one, parts, parts);
  // Its states are those of every dtype that the body sums or multiplies.
  pass.kernels->reduce->reducers[pass.body][pass.initial_type].run(one, pass.initial, 1, 0, nullptr);
  for (int64_t c = 0; c < unit.n; ++c)
    pass.reducer->join(static_cast<char*>(states) + c * parts * pass.reducer->width, capacity, one, parts, parts);
}

void write_unit(const ReducePass& pass, const Unit& unit, const char* results, Stage* stage) {
  write_results(pass, results, unit.n, unit.out, unit.out_step != 0 ? unit.out_step : pass.out_width, stage);
}

void end_unit(const Work& work, const Unit& unit, void* states, Stage* stage) {
  const ReducePass& pass = *work.pass;
  const int64_t capacity = pass.columns ? work.strip * pass.reducer->parts : pass.reducer->parts;
  take_initial(work, unit, states);
  alignas(64) char results[strip_columns * 16];
  end_results(pass, states, capacity, unit.n, unit.where, stage, results);
  write_unit(pass, unit, results, stage);
}

// Returns whether each result is that of one run of elements where they lie, and ended by the body.
bool takes_runs(const ReducePass& pass) {
  return !pass.columns && pass.end == End::plain && pass.kept_ndim == 1 && pass.reduced_ndim == 1 && pass.centers == nullptr &&
         pass.initial_type < 0 && is_direct(pass, pass.reduced[0].step.in);
}
void reduce_runs(const ReducePass& pass, int64_t first, int64_t last, Stage* stage) {
  constexpr int64_t at_once = 128;
  const Reducer& reducer = *pass.reducer;
  const Axis& kept = pass.kept[0];
  const int64_t width = type_table[pass.result].bytes;
  alignas(64) char states[36 * 16], results[at_once * 16];
  for (int64_t k = first; k < last; k += at_once) {
    const int64_t count = smaller(at_once, last - k);
    for (int64_t r = 0; r < count; ++r) {
      reducer.start(states, reducer.parts, reducer.parts);
      reducer.run(states, pass.in + (k + r) * kept.step.in, pass.reduced_count, 0, nullptr);
      reducer.end(results + r * width, states, reducer.parts, 1);
    }
    write_results(pass, results, count, k * kept.out, kept.out, stage);
  }
}

void run_task(void* context, int64_t number) {
  const Work& work = *static_cast<const Work*>(context);
  const ReducePass& pass = *work.pass;
  Stage stage;
  if (work.parts > 1) {
    const int64_t part = number % work.parts;
    const Unit unit = unit_of(work, number / work.parts);
    const int64_t begin = part * work.part;
    reduce_unit(work, unit, begin, smaller(begin + work.part, pass.reduced_count), work.partial + number * work.slot, &stage);
    return;
  }
  alignas(64) char states[state_bytes];
  const int64_t first = number * work.units_per_task, last = smaller(first + work.units_per_task, work.units);
  if (takes_runs(pass)) return reduce_runs(pass, first, last, &stage);
  alignas(64) char results[strip_columns * 16];
  bool few = takes_few(pass), near = takes_near(pass);
  for (int64_t k = first; k < last; ++k) {
    const Unit unit = unit_of(work, k);
    few = few && reduce_few(pass, unit.where, unit.n, results, &stage);
    near = near && reduce_near(pass, unit.where, results, &stage);
    if (few || near) {
      write_unit(pass, unit, results, &stage);
      continue;
    }
    if (pass.undecided != nullptr) return pass.undecided->store(true, std::memory_order_relaxed);
    reduce_unit(work, unit, 0, pass.reduced_count, states, &stage);
    end_unit(work, unit, states, &stage);
  }
}

void join_parts(const Work& work, Stage* stage) {
  const ReducePass& pass = *work.pass;
  const int parts = pass.reducer->parts;
  const int64_t capacity = pass.columns ? work.strip * parts : parts;
  for (int64_t k = 0; k < work.units; ++k) {
    const Unit unit = unit_of(work, k);
    char* const states = work.partial + k * work.parts * work.slot;
    alignas(64) char fresh[state_bytes];
    pass.reducer->start(fresh, capacity, unit.n * parts);
    for (int64_t p = 0; p < work.parts; ++p)
      pass.reducer->join(fresh, capacity, states + p * work.slot, capacity, unit.n * parts);
    end_unit(work, unit, fresh, stage);
  }
}

// Copies the results along a repeated axis to all its other places, and those of the axes that follow with them.
void repeat_results(const ReducePass& pass) {
  DLTensor to{};
  int64_t shape[max_dims], strides[max_dims], from_strides[max_dims];
  const auto add = [&](const Axis& axis) {
    shape[to.ndim] = axis.size;
    from_strides[to.ndim] = strides[to.ndim] = axis.out / pass.out_width;
    ++to.ndim;
  };
  for (int d = 0; d < pass.kept_ndim; ++d) add(pass.kept[d]);
  to.shape = shape;
  to.strides = strides;
  to.dtype = {uint8_t(kDLUInt), uint8_t(pass.out_width * 8), 1};
  for (int d = 0; d < pass.repeated_ndim; ++d) {
    const Axis& axis = pass.repeated[d];
    add(axis);
    DLTensor from = to;
    from.strides = from_strides;
    from.data = pass.out;
    from_strides[to.ndim - 1] = 0;
    shape[to.ndim - 1] = axis.size - 1;
    to.data = pass.out + axis.out;
    copy(to, from, false);  // apart from one another: it cannot fail
    shape[to.ndim - 1] = axis.size;
    from_strides[to.ndim - 1] = strides[to.ndim - 1];
  }
}

Status run_results(const ReducePass& pass) {
  Work work{};
  work.pass = &pass;
  const Reducer& reducer = *pass.reducer;
  const int64_t per_column = int64_t(reducer.members) * reducer.width * reducer.parts;
  work.units = pass.kept_count;
  work.strips = work.strip = 1;
  if (pass.columns) {
    const int64_t size = pass.kept[pass.kept_ndim - 1].size;
    work.strip = smaller(smaller(pass.turns ? turned_columns : strip_columns, state_bytes / per_column / 16 * 16), size);
    // One strip for each thread at least, but whole lines of the cache.
    work.strips = ceil_divide(size, work.strip);
    work.units = pass.kept_count / size * work.strips;
  }
  if (work.units == 0) return success;
  work.slot = (per_column * work.strip + 63) / 64 * 64;
  work.parts = 1;
  work.units_per_task = work.units;
  const int64_t bytes = pass.kept_count * pass.reduced_count * pass.in_width;
  const int threads = num_threads();
  const bool is_large = bytes >= share_from;
  if (threads > 1 && (is_large || (bytes >= share_awake_from && in_succession()))) {
    const int64_t unit_bytes = bytes / work.units;
    if (work.units >= 4 * threads) {
      const int64_t by_size = ceil_divide(chunk_bytes, unit_bytes + 1);
      work.units_per_task = smaller(by_size < 1 ? 1 : by_size, ceil_divide(work.units, 4 * threads));
    } else if (takes_few(pass) && (work.units >= threads || !is_large || pass.undecided != nullptr || columns_in_place(pass))) {
      work.units_per_task = ceil_divide(work.units, threads);
    } else {
      const bool ordered = reducer.members > 8;  // products in order: whole groups
      const int64_t parts = is_large ? smaller(ceil_divide(unit_bytes, part_bytes), 8 * threads)
                                     : smaller(ceil_divide(unit_bytes, least_part_bytes), threads);
      work.part = ordered ? reductions::product_group : ceil_divide(pass.reduced_count, parts);
      const int64_t whole = is_large ? 4096 : 512;  // a block of the loops, or what their registers take at a time
      if (!ordered && !pass.columns) work.part = ceil_divide(work.part, whole) * whole;
      work.parts = ceil_divide(pass.reduced_count, work.part);
    }
  }
  if (work.parts > 1) {
    Block* const block = allocate(size_t(work.units * work.parts * work.slot));
    if (block == nullptr) return no_temporary();
    BlockRef memory;
    memory.block = block;
    work.partial = static_cast<char*>(block->data);
    parallel(work.units * work.parts, run_task, &work);
    Stage stage;
    join_parts(work, &stage);
    return success;
  }
  const int64_t tasks = ceil_divide(work.units, work.units_per_task);
  if (tasks > 1) parallel(tasks, run_task, &work);
  else run_task(&work, 0);
  return success;
}

}  // namespace

bool joins_rows(const ReducePass& pass, int64_t row_bytes, int64_t n, int64_t rows) {
  const Reducer& reducer = *pass.reducer;
  const bool has_order = in_order[pass.body] || pass.body == reduce_deviations;  // and centers for each state
  return !has_order && pass.mask == nullptr && pass.factor == nullptr && pass.pipeline.count == 0 &&
         rows >= 128 * reducer.members && row_bytes == n * pass.width && 2 * n * reducer.parts <= wide_row &&
         reducer.members * reducer.width <= most_words * 8;
}

Status multiply_results(const DLTensor& out, int type, int64_t by) {
  const double real = double(by);
  const float single = float(by);
  const void* const number = type == type_float32   ? static_cast<const void*>(&single)
                             : type == type_float64 ? static_cast<const void*>(&real)
                                                    : &by;
  const DLTensor factor{const_cast<void*>(number), {kDLCPU, 0}, 0, out.dtype, nullptr, nullptr, 0};
  const DLTensor* const operands[] = {&out, &factor};
  return run(op_multiply, 0, type, operands, out, 0);
}

Status run_pass(const ReducePass& pass) {
  DLT_TRY(run_results(pass));
  if (pass.repeated_ndim > 0) repeat_results(pass);
  return success;
}

}  // namespace dlt
