// SPDX-License-Identifier: Apache-2.0
// Reductions: axes in the order of memory, how threads and blocks share the elements, and one or two launches.
#include <stdlib.h>

#include <algorithm>

#include "native/cpu/reduce/reduce_pass.h"
#include "native/cuda/reduce/axes.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/reduce/reduce.h"
#include "native/cuda/runtime/thread_state.h"
#include "native/ops/reduce/reductions.h"

namespace dlt::cuda {
namespace {

using kernels::divider;

constexpr int64_t block_threads = 256;
constexpr int64_t product_lanes = 16;

#define DLT_NAME(name, in_order) #name,
const char* const body_names[] = {DLT_REDUCTION_BODIES(DLT_NAME)};
#undef DLT_NAME
#define DLT_IN_ORDER(name, in_order) in_order != 0,
constexpr bool in_order[] = {DLT_REDUCTION_BODIES(DLT_IN_ORDER)};
#undef DLT_IN_ORDER

// The choices that a kernel is compiled for.
struct Name {
  ReductionChoice choice;
  int element, result;  // rows
  bool ordered, many, masked;
  bool columns = false;  // adjacent results are read together
};

std::string body_text(const ReductionChoice& choice, bool ordered) {
  std::string body = body_names[choice.body];
  switch (choice.end) {
    case End::sum: body = "exact_sum"; break;
    case End::mean: body = "exact_mean"; break;
    case End::moments: body = "exact_moments"; break;
    case End::wide_moments: body = "integer_moments"; break;
    case End::deviations: body = "exact_deviations"; break;
    case End::wide_sum: body = "clamped_sums"; break;
    case End::wide_mean: body = "integer_means"; break;
    default:
      if (ordered) body = "ordered_products";
  }
  return body + "<" + type_name(choice.type) + ">";
}

std::string expression_of(const Name& name, const char* kernel) {
  return std::string("reduce::") + kernel + "<dlt::kernels::reduce::" + body_text(name.choice, name.ordered) + ", " +
         type_name(name.element) + ", " + type_name(name.result) + ", " + std::to_string(name.many ? most_dims : few_dims) +
         (name.masked ? ", true>" : ", false>");
}

enum class Step : unsigned { partial, joined };

constexpr const char* reduce_header = "native/cuda/kernels/reduce/reduce.cuh";

const char* kernel_name(const Name& name, Step step) noexcept {
  return step == Step::partial ? name.columns ? "columns" : "partial" : name.ordered ? "joined_in_order" : "joined";
}

KernelKey key_of(const Name& name, Step step) noexcept {
  KernelKey key;
  key.add(3, 2);
  key.add(63, 6);  // no dtype: kernels of products have one there
  key.add(static_cast<uint64_t>(step), 1);
  key.add(static_cast<uint64_t>(name.choice.body), 6);
  key.add(static_cast<uint64_t>(name.choice.end), 4);
  key.add(static_cast<uint64_t>(name.choice.type), 6);
  key.add(static_cast<uint64_t>(name.element), 6);
  key.add(static_cast<uint64_t>(name.result), 6);
  key.add(name.many, 1);
  key.add(name.masked, 1);
  key.add(name.columns && step == Step::partial, 1);
  return key;
}

Status find(Device& device, const Name& name, Step step, bool both, Kernel* out) noexcept {
  const auto expression = [&](Step of) { return expression_of(name, kernel_name(name, of)); };
  const auto wanted = [&] {
    if (both) prepare_kernels(device, {{reduce_header, expression(Step::partial)}, {reduce_header, expression(Step::joined)}});
    return expression(step);
  };
  return kernel_of(device, key_of(name, step), reduce_header, wanted, out);
}

// Bytes of a state as reduce.cuh has it.
int64_t state_bytes(const Name& name) noexcept {
  const bool is_complex = type_table[name.choice.type].kind == Kind::complex;
  switch (name.choice.end) {
    case End::sum:
    case End::mean: return is_complex ? 56 : 32;
    case End::moments: return is_complex ? 104 : 56;
    case End::wide_moments: return 48;
    case End::deviations: return 32;
    default: return 24;
  }
}

struct Shape {
  Axis kept[most_dims], reduced[most_dims];
  int kept_dims, reduced_dims;
  int64_t results, count;
};

void read_shape(const DLTensor& in, const DLTensor* mask, uint64_t axes, const DLTensor& out, const DLTensor* centers,
                bool ordered, Shape* shape) noexcept {
  shape->kept_dims = shape->reduced_dims = 0;
  shape->results = shape->count = 1;
  for (int d = 0; d < in.ndim; ++d) {
    const Axis axis{in.shape[d], in.strides[d], mask ? mask->strides[d] : 0, out.strides[d], centers ? centers->strides[d] : 0};
    const bool reduced = axes >> d & 1;
    (reduced ? shape->count : shape->results) *= axis.size;
    if (reduced) shape->reduced[shape->reduced_dims++] = {axis.size, axis.in, axis.mask, 0};
    else shape->kept[shape->kept_dims++] = axis;
  }
  shape->kept_dims = arrange(shape->kept, shape->kept_dims, true);
  shape->reduced_dims = shape->count == 0 ? 0 : arrange(shape->reduced, shape->reduced_dims, !ordered);
}

// Are `pack` elements of a result adjacent wherever they begin at a multiple of that?
bool has_packs(const Shape& shape, int64_t pack) noexcept {
  const int last = shape.reduced_dims - 1;
  if (pack == 1 || last < 0 || shape.reduced[last].in != 1 || (last > 0 && shape.reduced[last].size % pack)) return false;
  for (int d = 0; d < last; ++d)
    if (shape.reduced[d].in % pack) return false;
  for (int d = 0; d < shape.kept_dims; ++d)
    if (shape.kept[d].in % pack) return false;
  return true;
}

// Do results lie closer than the elements of each?
bool is_across(const Shape& shape) noexcept {
  const int64_t step = shape.reduced_dims ? magnitude(shape.reduced[shape.reduced_dims - 1].in) : 0;
  const int last = shape.kept_dims - 1;
  return last >= 0 && step > magnitude(shape.kept[last].in) && shape.kept[last].size > 1;
}

// Are results so wide that a thread can take several, of which each begins where a read of all of them may?
bool has_columns(const Shape& shape, const Name& name) noexcept {
  constexpr int64_t wide = kernels::reduce_columns;
  const int last = shape.kept_dims - 1;
  if (name.ordered || name.masked || name.choice.end == End::deviations || type_table[name.element].bytes > 4) return false;
  if (!is_across(shape) || shape.kept[last].in != 1 || shape.kept[last].size % wide || shape.kept[last].size < 32 * wide)
    return false;
  for (int d = 0; d < shape.reduced_dims; ++d)
    if (shape.reduced[d].in % wide) return false;
  for (int d = 0; d < last; ++d)
    if (shape.kept[d].in % wide) return false;
  return true;
}

// In how many parts `groups` are divided, for the least time in which some of `resident` blocks have nothing to do.
int64_t parts_for(int64_t groups, int64_t resident) noexcept {
  int64_t best = 1;
  double most = 0;
  for (int64_t waves = 1; waves <= 4; ++waves) {
    const int64_t parts = std::max<int64_t>(1, waves * resident / groups), blocks = groups * parts;
    const double busy = double(blocks) / double(up(blocks, resident) * resident);
    if (busy > 1.03 * most) best = parts, most = busy;
  }
  return best;
}

// Shares the elements of a result among threads, and among blocks, of which `resident` run at a time.
template <int DIMS>
void share(const Shape& shape, int64_t resident, const Name& name, kernels::Reduce<DIMS>* p) noexcept {
  const bool ordered = name.ordered, across = is_across(shape);
  const int64_t inner = shape.kept_dims ? shape.kept[shape.kept_dims - 1].size : 1;
  const int64_t pack = kernels::reduce_pack(type_table[name.element].bytes), wide = name.columns ? kernels::reduce_columns : 1;
  const bool packed = !ordered && !across && has_packs(shape, pack);
  // Elements that a thread has to have: as many packs as it has in flight, for parts.
  const int64_t few = packed ? std::max<int64_t>(4, pack) : 4, least = 4 * few;
  int64_t lanes;
  if (ordered) {
    lanes = product_lanes;
  } else if (across) {
    // 32 adjacent results read whole sectors; more lanes only where there are elements for them.
    lanes = std::clamp<int64_t>(power_up(up(shape.count, 4)), 1, block_threads / std::min<int64_t>(32, power_up(inner)));
  } else {
    lanes = std::clamp<int64_t>(power_up(up(shape.count, few)), 1, shape.count <= 256 * few ? 32 : block_threads);
  }
  p->lane_bits = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(lanes)));
  p->across = across;
  p->packed = packed;
  const int64_t groups = up(shape.results / wide, block_threads / lanes);
  int64_t part = std::max<int64_t>(shape.count, 1);
  if (ordered) {
    part = reductions::product_block;
  } else if (groups < 4 * resident && shape.count > least * lanes) {
    // Parts that are worth a state. One begins with a pack: there are more threads than elements in one.
    const int64_t parts = std::min(parts_for(groups, resident), up(shape.count, least * lanes));
    part = up(up(shape.count, parts), lanes) * lanes;
  }
  p->part = static_cast<uint64_t>(part);
  p->parts = static_cast<uint64_t>(std::max<int64_t>(1, up(shape.count, part)));
  p->groups = divider<uint64_t>(static_cast<uint64_t>(groups));
  p->tiles = static_cast<uint64_t>(groups) * p->parts;
}

// A launch, or two, that any operands of one form can use.
template <int DIMS>
struct ReducePlan {
  kernels::Reduce<DIMS> p;
  Kernel first, second;
  Geometry first_grid, second_grid;
  int64_t state_bytes;  // of all parts, 0 where there is one
};

template <int DIMS>
Status make_plan(Name name, const Shape& shape, bool root, Device& device, ReducePlan<DIMS>* plan) noexcept {
  name.columns = has_columns(shape, name);
  kernels::Reduce<DIMS>& p = plan->p;
  p.states = nullptr;
  p.results = static_cast<uint64_t>(shape.results);
  p.count = static_cast<uint64_t>(shape.count);
  p.kept = shape.kept_dims;
  p.reduced = shape.reduced_dims;
  p.root = root;
  for (int d = 0; d < p.kept + p.reduced; ++d) {
    const Axis& axis = d < p.kept ? shape.kept[d] : shape.reduced[d - p.kept];
    p.axis[d] = {divider<uint64_t>(static_cast<uint64_t>(std::max<int64_t>(axis.size, 1))), axis.in, axis.mask, axis.out,
                 axis.center};
  }
  const int64_t multiprocessors = std::max(1, device.properties.multiprocessor_count);
  share(shape, multiprocessors * 4, name, &p);  // whether there are parts: then both kernels are one program
  const auto blocks = [&](const Kernel& kernel, uint64_t items) {
    return blocks_for(device, kernel, items, static_cast<unsigned>(block_threads));
  };
  plan->state_bytes = 0;
  DLT_TRY(find(device, name, Step::partial, p.parts > 1, &plan->first));
  share(shape, multiprocessors * plan->first.blocks_per_multiprocessor, name, &p);
  plan->first_grid = blocks(plan->first, p.tiles);
  if (p.parts == 1) return success;
  DLT_TRY(find(device, name, Step::joined, false, &plan->second));
  plan->second_grid = blocks(plan->second, p.results);
  if (__builtin_mul_overflow(shape.results, static_cast<int64_t>(p.parts) * state_bytes(name), &plan->state_bytes))
    return fail(Fault::memory, "reduce: states of %lld results exceed the address space",
                static_cast<long long>(shape.results));
  return success;
}

template <int DIMS>
Status launch_parts(ReducePlan<DIMS>& plan, Stream& stream) noexcept {
  Scratch states;
  DLT_TRY(states.make(static_cast<uint64_t>(plan.state_bytes), stream));
  plan.p.states = states.as<void>();
  DLT_TRY(launch_kernel(*stream.device, plan.first, plan.first_grid, stream, &plan.p));
  return launch_kernel(*stream.device, plan.second, plan.second_grid, stream, &plan.p);
}
// The caller has set addresses and options.
template <int DIMS>
inline Status launch_plan(ReducePlan<DIMS>& plan, Stream& stream) noexcept {
  if (plan.state_bytes != 0) return launch_parts(plan, stream);
  return launch_kernel(*stream.device, plan.first, plan.first_grid, stream, &plan.p);
}

template <int DIMS>
Status launch_reduce(const Name& name, const Shape& shape, const Operand& in, const Operand* mask, const Operand* centers,
                     const Operand& out, const ReduceOptions& options, bool root, const LaunchContext& context) noexcept {
  ReducePlan<DIMS> plan;
  DLT_TRY(make_plan(name, shape, root, *context.stream->device, &plan));
  kernels::Reduce<DIMS>& p = plan.p;
  p.in = reinterpret_cast<const void*>(address(*in.tensor));
  p.mask = mask ? reinterpret_cast<const void*>(address(*mask->tensor)) : nullptr;
  p.centers = centers ? reinterpret_cast<const void*>(address(*centers->tensor)) : nullptr;
  p.out = reinterpret_cast<void*>(address(*out.tensor));
  p.correction = options.correction;
  p.has_initial = options.initial != nullptr;
  if (options.initial) memcpy(p.initial.bytes, options.initial, static_cast<size_t>(type_table[options.initial_type].bytes));
  return launch_plan(plan, *context.stream);
}

// Fails where the kernels do not compute it.
Status name_of(int reduction, int type, bool saturate, int result, bool masked, Name* name) noexcept {
  const char* function = reduction_table[reduction].name;
  if (result < 0) return fail(Fault::type, "%s: not defined for %s", function, type_table[type].name);
  *name = {choose_reduction(reduction, type, saturate), 0, result, false, false, masked};
  // Halves are computed as float32 by the kernel itself.
  const bool squares = name->choice.end == End::moments || name->choice.end == End::deviations;
  if (!squares || kind_bit_of(type) >= DLT_FLOATS) name->choice.type = type;
  name->ordered = name->choice.body == reduce_products && kind_bit_of(type) >= DLT_FLOATS;
  return success;
}

// Plans of the fast path, of each thread: found by what they are made of.
struct RowsKey {
  const Device* device;
  int reduction, type;
  int64_t outer, count, inner;
  bool operator==(const RowsKey&) const = default;
};
struct RowsPlan {
  RowsKey key;
  ReducePlan<few_dims> plan;
};

Status make_rows(const RowsKey& key, int to, Device& device, ReducePlan<few_dims>* plan) noexcept {
  Name name;
  DLT_TRY(name_of(key.reduction, key.type, false, to, false, &name));
  name.element = key.type;
  Shape shape;
  shape.kept[0] = {key.outer, key.count * key.inner, 0, key.inner};
  shape.kept[1] = {key.inner, 1, 0, 1};
  shape.reduced[0] = {key.count, key.inner, 0, 0};
  shape.kept_dims = arrange(shape.kept, 2, true);
  shape.reduced_dims = key.count == 0 ? 0 : arrange(shape.reduced, 1, false);
  shape.results = key.outer * key.inner;
  shape.count = key.count;
  DLT_TRY(make_plan(name, shape, key.reduction == reduction_std, device, plan));
  plan->p.mask = plan->p.centers = nullptr;
  plan->p.has_initial = false;
  return success;
}

// The place of a plan; null where there is no memory to keep it.
RowsPlan* rows_plan(const RowsKey& key) noexcept {
  constexpr size_t kept = 32;
  ThreadState& state = thread_state();
  if (!state.reduce_plans) [[unlikely]] {
    if (!state.number) return nullptr;
    if (!(state.reduce_plans = calloc(kept, sizeof(RowsPlan)))) return nullptr;
  }
  uint64_t hash = static_cast<uint64_t>(key.reduction * 64 + key.type) + static_cast<uint64_t>(key.count) * 31;
  hash = (hash + static_cast<uint64_t>(key.inner) * 1021 + static_cast<uint64_t>(key.outer) * 7919) * 0x9E3779B97F4A7C15u;
  static_assert(kept == size_t{1} << 5, "the upper bits of a hash are the place");
  return static_cast<RowsPlan*>(state.reduce_plans) + (hash >> 59);
}

struct RowsCall {
  const Run &in, &out;
  double correction;
  Stream& stream;
};

// Into new memory of the stream, which nothing else has used.
inline Status launch_rows(ReducePlan<few_dims>& plan, const RowsCall& call) noexcept {
  plan.p.in = call.in.data;
  plan.p.out = call.out.data;
  plan.p.correction = call.correction;
  DLT_TRY(use(call.in.block, call.stream, false));
  return launch_plan(plan, call.stream);
}

[[gnu::noinline]] Status launch_new_rows(const RowsKey& key, int to, RowsPlan* plan, const RowsCall& call) noexcept {
  Device& device = *call.stream.device;
  if (!plan) {
    ReducePlan<few_dims> once;
    DLT_TRY(make_rows(key, to, device, &once));
    return launch_rows(once, call);
  }
  plan->key = {};  // not known by the key before, if this fails
  DLT_TRY(make_rows(key, to, device, &plan->plan));
  plan->key = key;
  return launch_rows(plan->plan, call);
}

}  // namespace

KernelBody kernel_body(int reduction, int type, bool saturate) {
  Name name;
  if (!name_of(reduction, type, saturate, type, false, &name).ok() || name.ordered) return {};
  return {body_text(name.choice, false), name.choice.end == End::deviations ? name.choice.type : -1};
}

Status reduce(int reduction, const ReduceOptions& options, int type, const Operand& in, const Operand* mask, uint64_t axes,
              const Operand& out, const LaunchContext& context) noexcept {
  const char* function = reduction_table[reduction].name;
  const int result = options.result >= 0 ? options.result : reduction_result(reduction, type, options.saturate || options.keep);
  Name name;
  DLT_TRY(name_of(reduction, type, options.saturate, result, mask != nullptr, &name));
  int target;
  DLT_TRY(type_of(function, *in.tensor, &name.element));
  DLT_TRY(type_of(function, *out.tensor, &target));
  if (target != result) {
    DLTensor like = *out.tensor;
    like.dtype = type_table[result].dtype;
    Temporary exact;
    DLT_TRY(exact.make(like, *context.stream));
    DLT_TRY(reduce(reduction, options, type, in, mask, axes, exact.operand(), context));
    return cast(exact.operand(), out, {}, context);
  }
  if (is_misaligned(*in.tensor)) [[unlikely]]
    return with_aligned(in, context,
                        [&](const Operand& x) { return reduce(reduction, options, type, x, mask, axes, out, context); });
  if (is_misaligned(*out.tensor)) [[unlikely]]
    return through_aligned(out, context,
                           [&](const Operand& x) { return reduce(reduction, options, type, in, mask, axes, x, context); });
  Temporary means;
  Operand center;
  const Operand* centers = nullptr;
  if (name.choice.end == End::deviations) {
    // The second of two passes: what is squared is how far elements are from their mean.
    DLTensor like = *out.tensor;
    like.dtype = type_table[name.choice.type].dtype;
    DLT_TRY(means.make(like, *context.stream));
    center = means.operand();
    centers = &center;
    DLT_TRY(reduce(reduction_mean, {}, name.choice.type, in, mask, axes, center, context));
  }
  Shape shape;
  read_shape(*in.tensor, mask ? mask->tensor : nullptr, axes, *out.tensor, centers ? &means.tensor : nullptr,
             in_order[name.choice.body], &shape);
  if (shape.results == 0) return success;
  DLT_TRY(use(in.block, *context.stream, false));
  if (mask) DLT_TRY(use(mask->block, *context.stream, false));
  DLT_TRY(use(out.block, *context.stream, true));
  name.many = shape.kept_dims + shape.reduced_dims > few_dims;
  return name.many ? launch_reduce<most_dims>(name, shape, in, mask, centers, out, options, reduction == reduction_std, context)
                   : launch_reduce<few_dims>(name, shape, in, mask, centers, out, options, reduction == reduction_std, context);
}

namespace {

// Without a kept plan: a new one, but not for runs that are not aligned, which reduce() moves, and for what is read twice.
[[gnu::noinline]] Status reduce_rows(const RowsKey& key, int to, const RowsCall& call, bool askew, RowsPlan* plan) noexcept {
  if (!askew && choose_reduction(key.reduction, key.type, false).end != End::deviations)
    return launch_new_rows(key, to, plan, call);
  const DLDevice here{kDLCUDA, key.device->ordinal};
  int64_t shape[] = {key.outer, key.count, key.inner}, steps[] = {key.count * key.inner, key.inner, 1};
  int64_t results[] = {key.outer, 1, key.inner}, places[] = {key.inner, 0, 1};
  const DLTensor from{call.in.data, here, 3, type_table[key.type].dtype, shape, steps, 0};
  const DLTensor target{call.out.data, here, 3, type_table[to].dtype, results, places, 0};
  ReduceOptions options;
  options.correction = call.correction;
  return reduce(key.reduction, options, key.type, {&from, call.in.block}, nullptr, 2, {&target, call.out.block},
                {&call.stream, nullptr});
}

}  // namespace

Status reduce_rows_here(int device, int reduction, int type, double correction, const Run& in, int64_t outer, int64_t count,
                        int64_t inner, int to, Run* out) noexcept {
  Stream* stream = nullptr;
  DLT_TRY(current_stream(device, &stream));
  DLT_TRY(allocate(*stream, static_cast<size_t>(outer * inner * type_table[to].bytes), &out->block));
  out->data = out->block->data;
  if (outer == 0 || inner == 0) return success;
  const RowsKey key{stream->device, reduction, type, outer, count, inner};
  const RowsCall call{in, *out, correction, *stream};
  const bool askew = (reinterpret_cast<uintptr_t>(in.data) & static_cast<uintptr_t>(type_alignment(type) - 1)) != 0;
  RowsPlan* const plan = rows_plan(key);
  if (plan && plan->key == key && !askew) [[likely]]
    return launch_rows(plan->plan, call);
  return reduce_rows(key, to, call, askew, plan);
}

}  // namespace dlt::cuda
