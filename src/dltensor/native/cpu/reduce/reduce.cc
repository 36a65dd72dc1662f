// SPDX-License-Identifier: Apache-2.0
// Reductions: axes are brought into the order of memory, and dtypes and ends are chosen. A pass is computed in run_pass.cc.
#include "native/cpu/reduce/reduce.h"

#include <string.h>

#include "native/cpu/reduce/reduce_pass.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

bool is_extreme(int body) { return body == reduce_largest || body == reduce_smallest; }

// ---- making a pass

// The operands: all of one shape, null what there is none of. `type`: what elements are converted to, if not to the dtype that
// they are reduced in.
struct Inputs {
  const DLTensor *in, *mask, *factor;
  int type = -1;
};

// Axes in the order of memory, the innermost last, and joined where they are adjacent in memory.
int arrange(Axis* axes, int ndim, bool sort) {
  int count = 0;
  for (int d = 0; d < ndim; ++d)
    if (axes[d].size != 1) axes[count++] = axes[d];
  if (sort)
    for (int d = 1; d < count; ++d)
      for (int e = d; e > 0 && magnitude(axes[e].step.in) > magnitude(axes[e - 1].step.in); --e) {
        const Axis kept = axes[e];
        axes[e] = axes[e - 1];
        axes[e - 1] = kept;
      }
  int last = -1;
  for (int d = 0; d < count; ++d) {
    const Axis& axis = axes[d];
    if (last >= 0 && axes[last].step == axis.size * axis.step && axes[last].out == axis.out * axis.size &&
        axes[last].index == axis.index * axis.size) {
      const int64_t size = axes[last].size * axis.size;
      axes[last] = axis;
      axes[last].size = size;
    } else {
      axes[++last] = axis;
    }
  }
  return last + 1;
}

// An order-free pass goes forward in memory.
void face_forward(ReducePass* pass) {
  for (int d = 0; d < pass->reduced_ndim; ++d) {
    Axis& axis = pass->reduced[d];
    if (axis.step.in >= 0) continue;
    const Place last = (axis.size - 1) * axis.step;
    pass->in += last.in;
    if (pass->mask != nullptr) pass->mask += last.mask;
    if (pass->factor != nullptr) pass->factor += last.factor;
    axis.step = -1 * axis.step;
  }
}

// Rows where the innermost kept axis lies closer in memory than the innermost reduced one, or runs would be short: a run costs as
// much as some hundred elements in the lanes of registers.
constexpr int64_t short_run = 257, short_each = 8193, short_product_run = 65, few_results = 32;
bool turns(const ReducePass& pass) {
  return pass.mask == nullptr && pass.kept_ndim > 0 && pass.reduced_ndim > 0 &&
         pass.reduced[pass.reduced_ndim - 1].step.in == pass.in_width && pass.kept[pass.kept_ndim - 1].step.in != pass.in_width;
}
// The same of runs that the body ends: registers hold many narrow elements, and places of extremes come slowly from them.
int64_t short_plain_run(const ReducePass& pass) {
  const bool is_float = type_table[pass.type].kind == Kind::real || type_table[pass.type].kind == Kind::complex;
  const bool is_place = pass.body == reduce_first_largest || pass.body == reduce_first_smallest;
  if ((pass.body == reduce_products && is_float) || (pass.width == 1 && (is_place || is_extreme(pass.body)))) return short_run;
  return is_place ? 129 : pass.width >= 8 ? 25 : pass.width == 4 ? 57 : pass.width == 2 ? 97 : 129;
}
constexpr int64_t small_bytes = 128 << 10;
bool is_float_sum(const ReducePass& pass) { return pass.body == reduce_sums && pass.type == type_float32; }
bool by_columns(const ReducePass& pass) {
  if (pass.kept_ndim == 0) return false;
  if (pass.reduced_ndim == 0) return true;
  const Axis &kept = pass.kept[pass.kept_ndim - 1], &run = pass.reduced[pass.reduced_ndim - 1];
  if (kept.step.in == 0) return false;
  if (magnitude(kept.step.in) < magnitude(run.step.in) || run.step.in == 0)
    return kept.size >= 8 || run.size < 64 ||
           (kept.size >= 5 && (is_float_sum(pass) || joins_rows(pass, run.step.in, kept.size, run.size))) ||
           (pass.in_type == type_float32 && is_float_sum(pass) && run.size >= 256 && run.step.in == kept.size * pass.in_width);
  const int64_t longest = !turns(pass)                                                                ? 16
                          : rows_in_place(pass)                                                       ? short_each
                          : pass.factor != nullptr                                                    ? short_product_run
                          : pass.reducer->each != nullptr && pass.pipeline.count == 0                 ? short_each
                          : pass.end == End::plain && pass.kept_ndim == 1 && pass.pipeline.count == 0 ? short_plain_run(pass)
                                                                                                      : short_run;
  // Few results with few elements are no work for threads, each of which would take its own.
  const bool is_small = rows_in_place(pass) && pass.kept_count * pass.reduced_count * pass.in_width <= small_bytes;
  return run.size < longest && (kept.size >= few_results || (kept.size > 1 && is_small));
}

void set_axes(ReducePass* pass, const Inputs& inputs, uint64_t axes, const DLTensor& out, bool ordered) {
  const DLTensor &in = *inputs.in, *const mask = inputs.mask, *const factor = inputs.factor;
  int64_t index[max_dims], place = 1;
  for (int d = in.ndim - 1; d >= 0; --d) {
    index[d] = axes >> d & 1 ? 0 : place;
    if (!(axes >> d & 1)) place *= in.shape[d];
  }
  pass->in = static_cast<const char*>(in.data);
  pass->in_width = item_bytes(in.dtype);
  pass->mask = mask == nullptr ? nullptr : static_cast<const uint8_t*>(mask->data);
  pass->factor = factor == nullptr ? nullptr : static_cast<const char*>(factor->data);
  pass->factor_width = factor == nullptr ? 0 : item_bytes(factor->dtype);
  pass->out = static_cast<char*>(out.data);
  pass->out_width = item_bytes(out.dtype);
  pass->kept_ndim = pass->reduced_ndim = pass->repeated_ndim = 0;
  pass->kept_count = pass->reduced_count = 1;
  const bool is_empty = numel(in.ndim, in.shape) == 0, no_result = numel(out.ndim, out.shape) == 0;
  for (int d = 0; d < in.ndim; ++d) {
    Axis axis{in.shape[d], {}, 0, 0};
    // A stride that leads to no other element may be anything.
    if (axis.size > 1 && !is_empty)
      axis.step = {in.strides[d] * pass->in_width, mask == nullptr ? 0 : mask->strides[d],
                   factor == nullptr ? 0 : factor->strides[d] * pass->factor_width};
    if (axes >> d & 1) {
      pass->reduced[pass->reduced_ndim++] = axis;
      pass->reduced_count *= axis.size;
    } else {
      if (axis.size > 1 && !no_result) axis.out = out.strides[d] * pass->out_width;
      axis.index = index[d];
      if (axis.size > 1 && !is_empty && axis.step == Place{}) {
        pass->repeated[pass->repeated_ndim++] = axis;
        continue;
      }
      pass->kept[pass->kept_ndim++] = axis;
      pass->kept_count *= axis.size;
    }
  }
  if (pass->kept_count == 0 || pass->reduced_count == 0) {
    // No elements: one axis of each kind, so that every result is ended.
    pass->reduced_ndim = 0;
    pass->kept_ndim = arrange(pass->kept, pass->kept_ndim, false);
    pass->columns = pass->turns = false;
    return;
  }
  pass->kept_ndim = arrange(pass->kept, pass->kept_ndim, true);
  pass->reduced_ndim = arrange(pass->reduced, pass->reduced_ndim, !ordered);
  if (!ordered) {
    face_forward(pass);
    pass->reduced_ndim = arrange(pass->reduced, pass->reduced_ndim, true);
  }
  pass->columns = by_columns(*pass);
  pass->turns = pass->columns && turns(*pass);
}

// The element that changes no result of the body, in the pass's type.
void set_identity(ReducePass* pass, int body) {
  memset(pass->identity, 0, 16);
  Scalar value{};
  value.kind = Kind::real;
  const Kind kind = type_table[pass->type].kind;
  const bool is_real = kind == Kind::real || kind == Kind::complex;
  switch (body) {
    case reduce_products:
    case reduce_saturated_products:
    case reduce_every: value.re = 1; break;
    case reduce_largest: value.re = is_real ? -__builtin_inf() : kind == Kind::boolean ? 0 : -1e30; break;
    case reduce_smallest: value.re = is_real ? __builtin_inf() : kind == Kind::boolean ? 1 : 1e30; break;
    default: break;
  }
  value.im = value.re;
  if (body == reduce_products) value.im = 0;
  if (kind == Kind::complex) value.kind = Kind::complex;
  store_scalar(pass->identity, 0, type_table[pass->type].dtype, true, value, Rounding::truncate, true);
}

Status prepare(ReducePass* pass, const ReductionChoice& choice, int result, const Inputs& inputs, int from, uint64_t axes,
               const DLTensor& out) {
  pass->kernels = &kernels();
  pass->reducer = &pass->kernels->reduce->reducers[choice.body][choice.type];
  if (pass->reducer->start == nullptr) return undefined_for(from);
  pass->end = choice.end;
  pass->in_type = find_type(inputs.in->dtype);
  pass->type = choice.type;
  pass->width = type_table[choice.type].bytes;
  // The end of the body is a cast away from the row's result, and that from `out`.
  pass->result = choice.end == End::plain ? pass->reducer->result : result;
  const int type = inputs.type >= 0 ? inputs.type : choice.type;
  // Elements are cast as an argument is that promotes first.
  const CopyKernels& casts = *pass->kernels->copy;
  if (!find_pipeline_through(casts, find_type(inputs.in->dtype), from, type, 0, &pass->pipeline)) return undefined_for(from);
  if (inputs.factor != nullptr &&
      !find_pipeline_through(casts, find_type(inputs.factor->dtype), from, type, 0, &pass->factor_pipeline))
    return undefined_for(from);
  // A uint8 takes the 0 and 1 of bools as they are.
  const int to = find_type(out.dtype), last = result == type_bool && to == type_uint8 ? result : to;
  if (!find_pipeline_through(casts, pass->result, result, last, 0, &pass->out_pipeline)) return undefined_for(from);
  pass->body = choice.body;
  pass->initial_type = -1;
  set_axes(pass, inputs, axes, out, in_order[choice.body]);
  set_identity(pass, choice.body);
  pass->root = false;
  pass->correction = 0;
  pass->counts = nullptr;
  pass->centers = nullptr;
  pass->undecided = nullptr;
  return success;
}

// A tensor of one number for each result, in C order, over the axes that are kept.
struct ResultArray {
  BlockRef memory;
  int64_t strides[max_dims];
  DLTensor tensor;
  Status allocate_for(const DLTensor& out, int type) {
    DLT_TRY(allocate(size_t(numel(out.ndim, out.shape) * type_table[type].bytes + 16), &memory));
    contiguous_strides(out.ndim, out.shape, strides);
    tensor = out;
    tensor.strides = strides;
    tensor.dtype = type_table[type].dtype;
    tensor.data = memory.block->data;
    return success;
  }
};

Status count_mask(const DLTensor& mask, uint64_t axes, const DLTensor& counts) {
  ReducePass pass;
  const ReductionChoice choice{reduce_nonzero, type_bool, End::plain};
  const Status status = prepare(&pass, choice, type_int64, {&mask, nullptr, nullptr}, type_bool, axes, counts);
  return status.ok() ? run_pass(pass) : status;
}

// How often a broadcast tensor repeats its elements along the axes, and whether each result takes one element alone.
struct Repetitions {
  int64_t times = 1;
  bool alone = true;
};
Repetitions repetitions(const DLTensor& in, uint64_t axes) {
  Repetitions found;
  for (int d = 0; d < in.ndim; ++d) {
    if (!(axes >> d & 1) || in.shape[d] == 1) continue;
    if (in.shape[d] == 0) return {};
    if (in.strides[d] == 0) found.times *= in.shape[d];
    else found.alone = false;
  }
  return found;
}
// Returns whether the reduction without repetitions is that with them, in the dtype of the result, or `times` it, rounded once.
bool reduces_equal(int reduction, int type, const DLTensor& out, const Repetitions& found) {
  switch (reduction) {
    case reduction_mean:
    case reduction_max:
    case reduction_min:
    case reduction_all:
    case reduction_any: return true;
    case reduction_sum:
      return find_type(out.dtype) == type &&
             ((type == type_float32 && found.alone && found.times < int64_t(1) << 24) ||
              (type == type_float64 && found.alone) || type == type_int64 || type == type_uint64);
    default: return false;
  }
}
Status reduce_equal(int reduction, const ReduceOptions& options, int type, const DLTensor& in, uint64_t axes,
                    const DLTensor& out, int64_t times) {
  int64_t shape[max_dims];
  for (int d = 0; d < in.ndim; ++d) shape[d] = (axes >> d & 1) != 0 && in.strides[d] == 0 ? 1 : in.shape[d];
  DLTensor one = in;
  one.shape = shape;
  DLT_TRY(reduce(reduction, options, type, one, nullptr, axes, out));
  return reduction == reduction_sum ? multiply_results(out, type, times) : success;
}

}  // namespace

Status reduce(int reduction, const ReduceOptions& options, int type, const DLTensor& in, const DLTensor* mask, uint64_t axes,
              const DLTensor& out) noexcept {
  int result = reduction_result(reduction, type, options.saturate || options.keep);
  if (result < 0) return undefined_for(type);
  if (options.result >= 0) result = options.result;
  if (const Repetitions found = repetitions(in, axes); found.times > 1 && mask == nullptr && options.initial == nullptr &&
                                                       !options.saturate && reduces_equal(reduction, type, out, found))
    return reduce_equal(reduction, options, type, in, axes, out, found.times);
  const ReductionChoice choice = choose_reduction(reduction, type, options.saturate);
  ReducePass pass;
  Status status = prepare(&pass, choice, result, {&in, mask, nullptr}, type, axes, out);
  if (!status.ok()) return status;
  pass.root = reduction == reduction_std;
  pass.correction = options.correction;
  if (options.initial != nullptr) {
    pass.initial_type = is_extreme(choice.body) ? choice.type : options.initial_type;
    CastPipeline more;
    if (!find_pipeline(*pass.kernels->copy, options.initial_type, pass.initial_type, 0, &more)) return undefined_for(type);
    memcpy(pass.initial, options.initial, size_t(type_table[options.initial_type].bytes));
    if (more.count == 1) more.loops[0](pass.initial, options.initial, nullptr, nullptr, 1, 0);
  }
  ResultArray counts, centers;
  if (mask != nullptr && choice.end != End::plain && choice.end != End::sum && choice.end != End::wide_sum) {
    DLT_TRY(counts.allocate_for(out, type_int64));
    DLT_TRY(count_mask(*mask, axes, counts.tensor));
    pass.counts = static_cast<const int64_t*>(counts.tensor.data);
  }
  if (choice.end == End::deviations) {
    std::atomic<bool> undecided{false};
    pass.undecided = &undecided;
    if (takes_few(pass)) {
      DLT_TRY(run_pass(pass));
      if (!undecided) return success;
    }
    pass.undecided = nullptr;
    DLT_TRY(centers.allocate_for(out, choice.type));
    ReducePass first;
    status = prepare(&first, {reduce_sums, choice.type, End::mean}, choice.type, {&in, mask, nullptr}, type, axes,
                     centers.tensor);
    if (!status.ok()) return status;
    first.counts = pass.counts;
    DLT_TRY(run_pass(first));
    pass.centers = static_cast<const double*>(centers.tensor.data);
  }
  return run_pass(pass);
}

Status sum_products(int type, const DLTensor& a, const DLTensor& b, uint64_t axes, const DLTensor& out) noexcept {
  const Kind kind = type_table[type].kind;
  const bool is_float = kind == Kind::real;
  if (!is_float && kind != Kind::signed_integer && kind != Kind::unsigned_integer) return undefined_for(type);
  const int converted = !is_float || type == type_float64 ? type : type_float32, term = is_float ? type_float64 : type;
  ReducePass pass;
  const Status status = prepare(&pass, choose_reduction(reduction_sum, term, false), type, {&a, nullptr, &b, converted}, type,
                                axes, out);
  if (!status.ok()) return status;
  pass.terms = is_float ? pass.kernels->reduce->terms[converted] : nullptr;
  pass.with_rests = type == type_float64;
  return run_pass(pass);
}

bool reduce_runs(int reduction, int type, const void* a, int64_t n, int64_t rows, double correction, void* out) noexcept {
  const ReductionChoice choice = choose_reduction(reduction, type, false);
  if (choice.type != type || choice.end == End::deviations) return false;
  const Reducer& reducer = kernels().reduce->reducers[choice.body][type];
  const int result = reduction_result(reduction, type, false);
  ReducePass pass;
  pass.kernels = &kernels();
  pass.reducer = &reducer;
  pass.end = choice.end;
  pass.in_type = pass.type = type;
  pass.root = reduction == reduction_std;
  pass.correction = correction;
  pass.result = choice.end == End::plain ? reducer.result : result;
  if (!find_pipeline(*pass.kernels->copy, pass.result, result, 0, &pass.out_pipeline)) return false;
  pass.in = static_cast<const char*>(a);
  pass.in_width = pass.width = type_table[type].bytes;
  pass.reduced_ndim = 1;
  pass.repeated_ndim = 0;
  pass.reduced_count = n;
  pass.reduced[0] = {n, {pass.width, 0, 0}, 0, 0};
  pass.pipeline.count = 0;
  pass.mask = nullptr;
  pass.factor = nullptr;
  pass.factor_width = 0;
  pass.counts = nullptr;
  pass.centers = nullptr;
  pass.undecided = nullptr;
  pass.initial_type = -1;
  alignas(16) char states[36 * 16];
  const int parts = reducer.parts;
  for (int64_t r = 0; r < rows; ++r) {
    reducer.start(states, parts, parts);
    reducer.run(states, static_cast<const char*>(a) + r * n * pass.width, n, 0, nullptr);
    char* const to = static_cast<char*>(out) + r * type_table[result].bytes;
    alignas(16) char ended[16];
    const bool direct = pass.out_pipeline.count == 0;
    end_results(pass, states, parts, 1, {{r * n * pass.width, 0, 0}, r, {}, 0}, nullptr, direct ? to : ended);
    if (!direct) pass.out_pipeline.loops[0](to, ended, nullptr, nullptr, 1, 0);
  }
  return true;
}

Status cpu::reduce(int reduction, const ReduceOptions& options, int type, const EngineOperand& x, const EngineOperand* mask,
                   uint64_t axes, const EngineOperand& out, const LaunchContext&) noexcept {
  return dlt::reduce(reduction, options, type, *x.tensor, mask ? mask->tensor : nullptr, axes, *out.tensor);
}

}  // namespace dlt
