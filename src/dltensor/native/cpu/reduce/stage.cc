// SPDX-License-Identifier: Apache-2.0
// Elements of a pass that do not lie as the loops want them, brought together in the memory of a stage.
#include <string.h>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/index/kernels.h"
#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

// n elements `step` bytes apart as contiguous ones, through a pipeline. What needs nothing stays.
const char* brought(const ReducePass& pass, const CastPipeline& pipeline, int64_t width, const char* from, int64_t step,
                    int64_t n, char* moved, char* spare, char* other_spare) {
  if (step != width) {
    pass.kernels->copy->moves[width_index(width)](moved, n * width, width, from, 0, step, 1, n);
    from = moved;
  }
  for (int k = 0; k < pipeline.count; ++k) {
    char* const to = k & 1 ? other_spare : spare;
    pipeline.loops[k](to, from, nullptr, nullptr, n, 0);
    from = to;
  }
  return from;
}

// Products of n contiguous elements and as many factors, and their rests.
const char* multiplied(const ReducePass& pass, const char* run, const char* by, int64_t n, Stage* stage) {
  if (pass.terms != nullptr) pass.terms(stage->products, stage->rests, run, by, n);
  else find_loop(op_multiply, pass.type)(stage->products, run, by, nullptr, n, 0);
  return reinterpret_cast<const char*>(stage->products);
}

}  // namespace

bool is_direct(const ReducePass& pass, int64_t step) {
  return step == pass.in_width && pass.pipeline.count == 0 && pass.mask == nullptr && pass.factor == nullptr;
}

const char* staged(const ReducePass& pass, const Place& from, const Place& step, int64_t n, const void* blank,
                   int64_t blank_step, Stage* stage) {
  if (is_direct(pass, step.in)) return pass.in + from.in;
  const char* const run = brought(pass, pass.pipeline, pass.in_width, pass.in + from.in, step.in, n, stage->moved,
                                  stage->spare[0], stage->spare[1]);
  if (pass.factor != nullptr) {
    const char* const by = brought(pass, pass.factor_pipeline, pass.factor_width, pass.factor + from.factor, step.factor, n,
                                   stage->factor[0], stage->factor[1], stage->factor[2]);
    return multiplied(pass, run, by, n, stage);
  }
  if (pass.mask == nullptr) return run;
  const uint8_t* mask = pass.mask + from.mask;
  if (step.mask != 1) {
    pass.kernels->copy->moves[0](reinterpret_cast<char*>(stage->mask), n, 1, reinterpret_cast<const char*>(mask), 0, step.mask,
                                 1, n);
    mask = stage->mask;
  }
  pass.kernels->index->choose[width_index(pass.width)](stage->moved, mask, run, blank, n, blank_step == 0 ? 4 : 0);
  return stage->moved;
}

Place place_of(const Axis* axes, int ndim, int64_t index) {
  Place place{};
  for (int d = ndim - 1; d >= 0; --d) {
    place = place + index % axes[d].size * axes[d].step;
    index /= axes[d].size;
  }
  return place;
}

const char* turned(const ReducePass& pass, const Place& from, const Place& row, const Place& step, int64_t n, int64_t rows,
                   Stage* stage) {
  const int64_t width = pass.in_width, by_width = pass.factor_width;
  pass.kernels->copy->moves[width_index(width)](stage->moved, n * width, width, pass.in + from.in, row.in, step.in, rows, n);
  const char* const tile = brought(pass, pass.pipeline, width, stage->moved, width, n * rows, nullptr, stage->spare[0],
                                   stage->spare[1]);
  if (pass.factor == nullptr) return tile;
  pass.kernels->copy->moves[width_index(by_width)](stage->factor[0], n * by_width, by_width, pass.factor + from.factor,
                                                   row.factor, step.factor, rows, n);
  const char* const by = brought(pass, pass.factor_pipeline, by_width, stage->factor[0], by_width, n * rows, nullptr,
                                 stage->factor[1], stage->factor[2]);
  return multiplied(pass, tile, by, n * rows, stage);
}

namespace {
// The longest runs of exact sums that are copied one after another: what a run ends with costs as much as that many elements.
int64_t longest_copied(const ReducePass& pass) {
  const bool is_sum = (pass.end == End::sum || pass.end == End::mean) && type_table[pass.type].kind == Kind::real;
  if (!is_sum || pass.mask != nullptr || pass.factor != nullptr || pass.reduced_ndim < 2) return 0;
  return pass.type == type_float64 ? 256 : 128;
}
// Whole runs along the axis before the innermost one, `n` of `inner` elements, one after another and in the pass's type.
const char* copied_runs(const ReducePass& pass, const Place& from, int64_t n, Stage* stage) {
  const Axis &inner = pass.reduced[pass.reduced_ndim - 1], &outer = pass.reduced[pass.reduced_ndim - 2];
  const int64_t width = pass.in_width;
  pass.kernels->copy->moves[width_index(width)](stage->moved, inner.size * width, width, pass.in + from.in, outer.step.in,
                                                inner.step.in, n, inner.size);
  return brought(pass, pass.pipeline, width, stage->moved, width, n * inner.size, nullptr, stage->spare[0], stage->spare[1]);
}
}  // namespace

void each_run(const ReducePass& pass, const Place& place, int64_t begin, int64_t end, const void* blank, Stage* stage,
              take_run_t take, void* context) {
  if (pass.reduced_ndim == 0) {
    if (begin < end) {
      take(context, staged(pass, place, {pass.in_width, 0, pass.factor_width}, 1, blank, 0, stage), 1, 0);
      if (pass.factor != nullptr && pass.with_rests) take(context, stage->rests, 1, 0);
    }
    return;
  }
  const Axis& inner = pass.reduced[pass.reduced_ndim - 1];
  const int64_t longest = is_direct(pass, inner.step.in) ? INT64_MAX : pass.factor != nullptr ? product_count : staged_count;
  const bool copies = stage != nullptr && inner.size <= longest_copied(pass);
  for (int64_t at = begin; at < end;) {
    const int64_t row = at / inner.size, column = at - row * inner.size;
    const Place from = place + place_of(pass.reduced, pass.reduced_ndim - 1, row) + column * inner.step;
    if (copies && column == 0) {
      const int64_t outer = pass.reduced[pass.reduced_ndim - 2].size;
      const int64_t runs = smaller(smaller(outer - row % outer, (end - at) / inner.size), staged_count / inner.size);
      if (runs > 1) {
        take(context, copied_runs(pass, from, runs, stage), runs * inner.size, at);
        at += runs * inner.size;
        continue;
      }
    }
    const int64_t n = smaller(smaller(inner.size - column, end - at), longest);
    take(context, staged(pass, from, inner.step, n, blank, 0, stage), n, at);
    if (pass.factor != nullptr && pass.with_rests) take(context, stage->rests, n, at);
    at += n;
  }
}

}  // namespace dlt
