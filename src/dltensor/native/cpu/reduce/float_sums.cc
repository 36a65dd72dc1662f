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
// `turns`: so many rows that follow one another are added as one, for narrow rows leave lanes of registers empty.
Added add_columns(plain_sums_t loop, double* total, const char* from, int64_t row_bytes, int64_t rows, int64_t n,
                  int64_t turns) {
  Added added;
  double part[strip_columns];
  for (int64_t c = 0; c < n; ++c) total[c] = 0;
  const auto add = [&](const char* at, int64_t count, int64_t together) {
    double most = 0;
    added.error += double(together) * loop(part, at, together * row_bytes, count, together * n);
    for (int64_t c = 0; c < together * n; ++c) most = magnitude_of(part[c]) > most ? magnitude_of(part[c]) : most;
    for (int64_t k = 0; k < together; ++k)
      for (int64_t c = 0; c < n; ++c) total[c] += part[k * n + c];
    added.size += double(together) * most;
    added.blocks += together;
  };
  int64_t left = rows / turns;
  for (; left > 0; left -= rows_together, from += turns * rows_together * row_bytes)
    add(from, smaller(rows_together, left), turns);
  from += turns * left * row_bytes;  // where the last block had fewer
  if (rows % turns != 0) add(from, rows % turns, 1);
  return added;
}

}  // namespace

double sum_columns(const ReducePass& pass, const ResultRun& where, int64_t n, double* sums) {
  const plain_sums_t loop = pass.kernels->reduce->few.column_sums[float_source(pass)];
  const Axis& inner = pass.reduced[0];
  const char* const from = pass.in + where.at.in;
  constexpr int64_t few_rows = 256, wide_row = 64;
  const int64_t turns = inner.step.in == n * pass.in_width && 2 * n <= wide_row ? wide_row / n : 1;
  if (inner.size <= (turns > 1 ? few_rows : rows_together)) return loop(sums, from, inner.step.in, inner.size, n);
  const int threads = inner.size * n * pass.in_width >= shared_bytes ? num_threads() : 1;
  const int64_t part = ceil_divide(inner.size, threads);
  BlockRef memory;
  if (threads > 1) memory.block = allocate(size_t(threads * (n * 8 + int64_t(sizeof(Added)))));
  if (memory.block == nullptr) return add_columns(loop, sums, from, inner.step.in, inner.size, n, turns).off_by();
  auto* const each = static_cast<Added*>(memory.block->data);
  auto* const totals = reinterpret_cast<double*>(each + threads);
  parallel(threads, [&](int64_t k) {
    const int64_t first = k * part, count = smaller(part, inner.size - first);
    each[k] = add_columns(loop, totals + k * n, from + first * inner.step.in, inner.step.in, count < 0 ? 0 : count, n, turns);
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

bool reduce_near(const ReducePass& pass, const ResultRun& where, void* results, Stage* stage) {
  constexpr int64_t at_once = 64, longest = 4096;
  const FewKernels& few = pass.kernels->reduce->few;
  const int axes = pass.reduced_ndim;
  const plain_sums_t loop = few.row_sums[float_source(pass)];
  const Axis& inner = pass.reduced[axes - 1];
  double total = 0, size = 0, error = 0;
  int64_t added = 0;
  const auto add = [&](const char* from, int64_t row_bytes, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r += at_once) {
      double sums[at_once];
      const int64_t count = smaller(at_once, rows - r);
      error += double(count) * loop(sums, from + r * row_bytes, row_bytes, count, n);
      for (int64_t k = 0; k < count; ++k) {
        total += sums[k];
        size += magnitude_of(sums[k]);
      }
    }
    added += rows;
  };
  const int64_t rows = axes > 1 ? pass.reduced[axes - 2].size : 1, row_bytes = axes > 1 ? pass.reduced[axes - 2].step.in : 0;
  const int64_t whole = inner.size / longest, rest = inner.size % longest, outer = pass.reduced_count / (inner.size * rows);
  for (int64_t i = 0; i < outer && error < 0x1p900; ++i) {
    const char* const from = pass.in + (axes > 2 ? where.at + place_of(pass.reduced, axes - 2, i) : where.at).in;
    if (whole == 0 || inner.size == longest) {
      add(from, row_bytes, rows, inner.size);
      continue;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const char* const row = from + r * row_bytes;
      add(row, longest * pass.in_width, whole, longest);
      if (rest > 0) add(row + whole * longest * pass.in_width, 0, 1, rest);
    }
  }
  const double rounding = double(added + 2) * size * 0x1p-53;
  return error < 0x1p900 && end_plain(pass, where, &total, 1, error + rounding, stage, static_cast<char*>(results));
}

}  // namespace dlt
