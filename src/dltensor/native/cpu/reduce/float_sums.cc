// SPDX-License-Identifier: Apache-2.0
// Sums of floats of up to 32 bits in columns and in rows, in blocks whose errors are bounded.
#include "native/cpu/reduce/float_sums.h"

#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"
#include "native/ops/arithmetic.h"

namespace dlt {
namespace {

constexpr int64_t least_run = 64;
constexpr int64_t rows_together = 1024;  // the bound of a block grows with the square of its rows
constexpr int64_t shared_bytes = int64_t(1) << 20;  // from which threads share rows

// A sum of blocks: by how much they are off, and the largest sums of all of them together.
struct Added {
  double error = 0, size = 0;
  int64_t blocks = 0;
  void join(const Added& other) {
    error += other.error;
    size += other.size;
    blocks += other.blocks;
  }
  double off_by() const { return error + double(blocks + 2) * size * 0x1p-53; }
};
// Rows of n columns. `turns`: so many rows that follow one another are added as one, for narrow rows leave lanes of registers empty.
struct ColumnRows {
  const char* from;
  int64_t row_bytes, rows, n, turns;
};

// Where a loop is rough: multiples of an error, relative to a sum, at which it is in doubt, and how many of the sums may be. Else 0.
struct Doubts {
  double digits = 0, share = 0;
};
Doubts doubts_of(const ReducePass& pass, double share) {
  return {pass.result == type_bfloat16 ? 0x1p8 : pass.result == type_float16 ? 0x1p11 : 0x1p24, share};
}
// Returns whether more rough sums are going to be in doubt, whose size is `size` on average after `done` of `all` elements. Sums of
// elements of two signs grow as the root of their number, and those that are smaller than others are in doubt more often.
bool grows_vague(const Added& added, double size, double done, double all, const Doubts& doubts) {
  constexpr double smaller_sums = 8;
  return smaller_sums * added.off_by() * doubts.digits * __builtin_sqrt(all / done) > doubts.share * size;
}
double mean_size(const double* sums, int64_t n) {
  double all = 0;
  for (int64_t c = 0; c < n; ++c) all += magnitude_of(sums[c]);
  return all / double(n);
}

// The error is infinite where too many of them are going to be in doubt.
Added add_columns(plain_sums_t loop, double* total, const ColumnRows& a, const Doubts& doubts) {
  Added added;
  double part[strip_columns];
  for (int64_t c = 0; c < a.n; ++c) total[c] = 0;
  const auto add = [&](const char* at, int64_t count, int64_t together) {
    double most = 0;
    added.error += double(together) * loop(part, at, together * a.row_bytes, count, together * a.n);
    for (int64_t c = 0; c < together * a.n; ++c) most = magnitude_of(part[c]) > most ? magnitude_of(part[c]) : most;
    for (int64_t k = 0; k < together; ++k)
      for (int64_t c = 0; c < a.n; ++c) total[c] += part[k * a.n + c];
    added.size += double(together) * most;
    added.blocks += together;
  };
  const char* from = a.from;
  const int64_t all = a.rows / a.turns;
  int64_t left = all;
  for (; left > 0; left -= rows_together, from += a.turns * rows_together * a.row_bytes) {
    add(from, smaller(rows_together, left), a.turns);
    if (doubts.digits == 0 || left <= rows_together) continue;
    if (grows_vague(added, mean_size(total, a.n), double(all - left + rows_together), double(all), doubts)) {
      added.error = __builtin_inf();
      return added;
    }
  }
  from += a.turns * left * a.row_bytes;  // where the last block had fewer
  if (a.rows % a.turns != 0) add(from, a.rows % a.turns, 1);
  return added;
}

}  // namespace

double sum_columns(const ReducePass& pass, const ResultRun& where, int64_t n, plain_sums_t loop, double* sums) {
  const Axis& inner = pass.reduced[0];
  const char* const from = pass.in + where.at.in;
  constexpr int64_t few_rows = 256, wide_row = 64, trial = 64, least_tried = 4 * trial;
  const int64_t turns = inner.step.in == n * pass.in_width && 2 * n <= wide_row ? wide_row / n : 1;
  Doubts doubts;
  if (loop == pass.kernels->reduce->few.rough_column_sums[float_source(pass)]) {
    doubts = doubts_of(pass, 1 / double(few_in_doubt));
    if (inner.size >= least_tried) {
      const double error = loop(sums, from, inner.step.in, trial, n);
      if (grows_vague({error, 0, 0}, mean_size(sums, n), trial, double(inner.size), doubts)) return __builtin_inf();
    }
  }
  if (inner.size <= (turns > 1 ? few_rows : rows_together)) return loop(sums, from, inner.step.in, inner.size, n);
  const int threads = inner.size * n * pass.in_width >= shared_bytes ? num_threads() : 1;
  const int64_t part = ceil_divide(inner.size, threads);
  BlockRef memory;
  if (threads > 1) memory.block = allocate(size_t(threads * (n * 8 + int64_t(sizeof(Added)))));
  if (memory.block == nullptr) return add_columns(loop, sums, {from, inner.step.in, inner.size, n, turns}, doubts).off_by();
  auto* const each = static_cast<Added*>(memory.block->data);
  auto* const totals = reinterpret_cast<double*>(each + threads);
  parallel(threads, [&](int64_t k) {
    const int64_t first = k * part, count = smaller(part, inner.size - first);
    const ColumnRows rows{from + first * inner.step.in, inner.step.in, count < 0 ? 0 : count, n, turns};
    each[k] = add_columns(loop, totals + k * n, rows, doubts);
  });
  Added all;
  for (int64_t c = 0; c < n; ++c) sums[c] = 0;
  for (int k = 0; k < threads; ++k) {
    for (int64_t c = 0; c < n; ++c) sums[c] += totals[k * n + c];
    all.join(each[k]);
  }
  all.blocks += threads;
  return all.off_by();
}

namespace {

// Results of 16 bits, of floats of 16 bits, have so few digits that sums in float32 are near enough.
constexpr int64_t least_rough_halves = 16;
bool are_rough_halves(const ReducePass& pass, int64_t n) {
  return pass.in_type != type_float32 && pass.result == pass.in_type && n >= least_rough_halves;
}

}  // namespace

plain_sums_t rough_row_sums(const ReducePass& pass, int64_t n) {
  return are_rough_halves(pass, n) ? pass.kernels->reduce->few.rough_row_sums[float_source(pass)] : nullptr;
}
plain_sums_t rough_column_sums(const ReducePass& pass, int64_t n) {
  return are_rough_halves(pass, n) ? pass.kernels->reduce->few.rough_column_sums[float_source(pass)] : nullptr;
}

bool columns_in_place(const ReducePass& pass) {
  return is_exact_sum(pass) && !pass.turns && pass.result != type_float64 && float_source(pass) >= 0 &&
         pass.kept[pass.kept_ndim - 1].step.in == pass.in_width;
}

bool takes_near(const ReducePass& pass) {
  if (pass.columns || pass.reduced_count == 0 || pass.reduced_ndim == 0 || pass.mask != nullptr || pass.factor != nullptr ||
      pass.centers != nullptr)
    return false;
  const Axis& inner = pass.reduced[pass.reduced_ndim - 1];
  return is_exact_sum(pass) && float_source(pass) >= 0 && pass.result != type_float64 && pass.initial_type < 0 &&
         pass.reducer->parts == 1 && inner.step.in == pass.in_width && inner.size >= least_run;
}

namespace {

// The sum of one result's rows. The error is infinite as in add_columns().
Added add_rows(const ReducePass& pass, const Place& where, plain_sums_t loop, const Doubts& doubts, double* total) {
  constexpr int64_t at_once = 64, longest = 4096;
  const int axes = pass.reduced_ndim;
  const Axis& inner = pass.reduced[axes - 1];
  Added added;
  int64_t done = 0;
  *total = 0;
  const auto add = [&](const char* from, int64_t row_bytes, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r += at_once) {
      double sums[at_once];
      const int64_t count = smaller(at_once, rows - r);
      added.error += double(count) * loop(sums, from + r * row_bytes, row_bytes, count, n);
      for (int64_t k = 0; k < count; ++k) {
        *total += sums[k];
        added.size += magnitude_of(sums[k]);
      }
      done += count * n;
      if (doubts.digits != 0 && done < pass.reduced_count &&
          grows_vague(added, magnitude_of(*total), double(done), double(pass.reduced_count), doubts))
        added.error = __builtin_inf();
      if (!(added.error < 0x1p900)) return;
    }
    added.blocks += rows;
  };
  const int64_t rows = axes > 1 ? pass.reduced[axes - 2].size : 1, row_bytes = axes > 1 ? pass.reduced[axes - 2].step.in : 0;
  const int64_t whole = inner.size / longest, rest = inner.size % longest, outer = pass.reduced_count / (inner.size * rows);
  for (int64_t i = 0; i < outer && added.error < 0x1p900; ++i) {
    const char* const from = pass.in + (axes > 2 ? where + place_of(pass.reduced, axes - 2, i) : where).in;
    if (whole == 0 || inner.size == longest) {
      add(from, row_bytes, rows, inner.size);
      continue;
    }
    for (int64_t r = 0; r < rows && added.error < 0x1p900; ++r) {
      const char* const row = from + r * row_bytes;
      add(row, longest * pass.in_width, whole, longest);
      if (rest > 0) add(row + whole * longest * pass.in_width, 0, 1, rest);
    }
  }
  return added;
}

}  // namespace

bool reduce_near(const ReducePass& pass, const ResultRun& where, void* results, Stage* stage) {
  const auto reduce = [&](plain_sums_t loop, const Doubts& doubts, int64_t most_again) {
    double total;
    const Added added = add_rows(pass, where.at, loop, doubts, &total);
    return added.error < 0x1p900 &&
           end_plain(pass, where, &total, 1, added.off_by(), {most_again}, stage, static_cast<char*>(results));
  };
  constexpr double most_doubts = 0.25;  // a rough sum that is in doubt more often is not worth its while
  const plain_sums_t rough = rough_row_sums(pass, pass.reduced[pass.reduced_ndim - 1].size);
  if (rough != nullptr && !stage->is_rough_vague && reduce(rough, doubts_of(pass, most_doubts), 0)) return true;
  return reduce(pass.kernels->reduce->few.row_sums[float_source(pass)], {}, 1);
}

}  // namespace dlt
