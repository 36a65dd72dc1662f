// SPDX-License-Identifier: Apache-2.0
// Reductions: axes in the order of memory, how threads and blocks share the elements, and one or two launches.
#include <algorithm>

#include "native/cpu/reduce_pass.h"
#include "native/cuda/axes.h"
#include "native/cuda/plan.h"
#include "native/cuda/reduce.h"
#include "native/ops/reductions.h"

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

// What a kernel is compiled for.
struct Name {
  ReductionChoice choice;
  int element, result;  // rows
  bool ordered, many, masked;
};

std::string expression_of(const Name& name, const char* kernel) {
  std::string body = body_names[name.choice.body];
  switch (name.choice.end) {
    case End::sum: body = "exact_sum"; break;
    case End::mean: body = "exact_mean"; break;
    case End::moments: body = "exact_moments"; break;
    case End::wide_sum: body = "clamped_sums"; break;
    case End::wide_mean: body = "integer_means"; break;
    default:
      if (name.ordered) body = "ordered_products";
  }
  const std::string space = "dlt::kernels::fold::";
  return space + kernel + "<" + space + body + "<" + type_name(name.choice.type) + ">, " + type_name(name.element) + ", " +
         type_name(name.result) + ", " + std::to_string(name.many ? most_dims : few_dims) +
         (name.masked ? ", true>" : ", false>");
}

enum class Step : unsigned { partial, joined };

Status kernel_of(Device& device, const Name& name, Step step, Kernel* out) noexcept {
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
  if (find_kernel(device, key.word, out)) return success;
  DLT_TRY(guarded("compile", [&] {
    const char* kernel = step == Step::partial ? "partial" : name.ordered ? "joined_in_order" : "joined";
    return get_kernel(device, "native/cuda/kernels/fold.cuh", expression_of(name, kernel), out);
  }));
  keep_kernel(device, key.word, *out);
  return success;
}

// Bytes of a state as fold.cuh has it.
int64_t state_bytes(const Name& name) noexcept {
  const bool is_complex = type_table[name.choice.type].kind == Kind::complex;
  switch (name.choice.end) {
    case End::sum:
    case End::mean: return is_complex ? 56 : 32;
    case End::moments: return is_complex ? 104 : 56;
    default: return 24;
  }
}

struct Shape {
  Axis kept[most_dims], reduced[most_dims];
  int kept_dims, reduced_dims;
  int64_t results, count;
};

void read_shape(const DLTensor& in, const DLTensor* mask, uint64_t axes, const DLTensor& out, bool ordered,
                Shape* shape) noexcept {
  shape->kept_dims = shape->reduced_dims = 0;
  shape->results = shape->count = 1;
  for (int d = 0; d < in.ndim; ++d) {
    const Axis axis{in.shape[d], in.strides[d], mask ? mask->strides[d] : 0, out.strides[d]};
    const bool reduced = axes >> d & 1;
    (reduced ? shape->count : shape->results) *= axis.size;
    if (reduced) shape->reduced[shape->reduced_dims++] = {axis.size, axis.in, axis.mask, 0};
    else shape->kept[shape->kept_dims++] = axis;
  }
  shape->kept_dims = arrange(shape->kept, shape->kept_dims, true);
  shape->reduced_dims = shape->count == 0 ? 0 : arrange(shape->reduced, shape->reduced_dims, !ordered);
}

// How many threads share the elements of a result, and how blocks do.
template <int DIMS>
void share(const Shape& shape, const Device& device, bool ordered, kernels::Fold<DIMS>* p) noexcept {
  const int64_t inner = shape.kept_dims ? shape.kept[shape.kept_dims - 1].size : 1;
  const int64_t step = shape.reduced_dims ? magnitude(shape.reduced[shape.reduced_dims - 1].in) : 0;
  const bool across = shape.kept_dims && step > magnitude(shape.kept[shape.kept_dims - 1].in) && inner > 1;
  int64_t lanes;
  if (ordered) {
    lanes = product_lanes;
  } else if (across) {
    // 32 adjacent results read whole sectors; more lanes only where there are elements for them.
    lanes = std::clamp<int64_t>(power_up(up(shape.count, 4)), 1, block_threads / std::min<int64_t>(32, power_up(inner)));
  } else {
    lanes = std::clamp<int64_t>(power_up(up(shape.count, 4)), 1, shape.count <= 1024 ? 32 : block_threads);
  }
  p->lanes = static_cast<uint32_t>(lanes);
  p->columns = static_cast<uint32_t>(block_threads / lanes);
  p->across = across;
  const int64_t groups = up(shape.results, p->columns);
  // Enough blocks for every multiprocessor, and parts that are worth a state.
  const int64_t wanted = int64_t{std::max(1, device.properties.multiprocessor_count)} * 8;
  int64_t part = std::max<int64_t>(shape.count, 1);
  if (ordered) {
    part = reductions::product_block;
  } else if (groups < wanted && shape.count > 16 * lanes) {
    const int64_t parts = std::min(up(wanted, groups), up(shape.count, 16 * lanes));
    part = up(up(shape.count, parts), lanes) * lanes;
  }
  p->part = static_cast<uint64_t>(part);
  p->parts = static_cast<uint64_t>(std::max<int64_t>(1, up(shape.count, part)));
  p->groups = divider<uint64_t>(static_cast<uint64_t>(groups));
  p->tiles = static_cast<uint64_t>(groups) * p->parts;
}

template <int DIMS>
Status launch_fold(const Name& name, const Shape& shape, const Operand& in, const Operand* mask, const Operand& out,
                   const ReduceOptions& options, bool root, const Where& where) noexcept {
  Device& device = *where.stream->device;
  kernels::Fold<DIMS> p;
  p.in = reinterpret_cast<const void*>(address(*in.tensor));
  p.mask = mask ? reinterpret_cast<const void*>(address(*mask->tensor)) : nullptr;
  p.out = reinterpret_cast<void*>(address(*out.tensor));
  p.states = nullptr;
  p.results = static_cast<uint64_t>(shape.results);
  p.count = static_cast<uint64_t>(shape.count);
  p.kept = shape.kept_dims;
  p.reduced = shape.reduced_dims;
  p.root = root;
  p.correction = options.correction;
  p.has_initial = options.initial != nullptr;
  if (options.initial) memcpy(p.initial.bytes, options.initial, static_cast<size_t>(type_table[name.choice.type].bytes));
  for (int d = 0; d < p.kept + p.reduced; ++d) {
    const Axis& axis = d < p.kept ? shape.kept[d] : shape.reduced[d - p.kept];
    p.axis[d] = {divider<uint64_t>(static_cast<uint64_t>(std::max<int64_t>(axis.size, 1))), axis.in, axis.mask, axis.out};
  }
  share(shape, device, name.ordered, &p);
  Kernel first, second;
  DLT_TRY(kernel_of(device, name, Step::partial, &first));
  if (p.parts > 1) DLT_TRY(kernel_of(device, name, Step::joined, &second));
  Block* states = nullptr;
  if (p.parts > 1) {
    int64_t bytes;
    if (__builtin_mul_overflow(shape.results, static_cast<int64_t>(p.parts) * state_bytes(name), &bytes))
      return fail(Fault::memory, "reduce: states of %lld results exceed the address space",
                  static_cast<long long>(shape.results));
    DLT_TRY(allocate(*where.stream, static_cast<size_t>(bytes), &states));
    p.states = states->data;
  }
  const auto blocks = [&](const Kernel& kernel, uint64_t items) {
    const int64_t resident = int64_t{device.properties.multiprocessor_count} * kernel.blocks_per_multiprocessor;
    const int64_t wanted = static_cast<int64_t>(std::min<uint64_t>(items, 2147483647));
    return Geometry{static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, resident))), block_threads};
  };
  Status status = launch_kernel(device, first, blocks(first, p.tiles), *where.stream, &p);
  if (status.ok() && p.parts > 1) status = launch_kernel(device, second, blocks(second, p.results), *where.stream, &p);
  if (states) release(states);
  return status;
}

}  // namespace

Status reduce(int reduction, const ReduceOptions& options, int type, const Operand& in, const Operand* mask, uint64_t axes,
              const Operand& out, const Where& where) noexcept {
  const char* function = reduction_table[reduction].name;
  const int result = options.result >= 0 ? options.result : reduction_result(reduction, type, options.saturate || options.keep);
  if (result < 0) return fail(Fault::type, "%s: not defined for %s", function, type_table[type].name);
  Name name{choose_reduction(reduction, type, options.saturate), 0, result, false, false, mask != nullptr};
  if (name.choice.end == End::deviations)
    return fail(Fault::device, "%s: not computed of %s on CUDA devices; convert it to float32, or move it with .to(\"cpu\")",
                function, type_table[type].name);
  // Halves are computed as float32 by the kernel itself.
  if (name.choice.end != End::moments || kind_bit_of(type) >= DLT_FLOATS) name.choice.type = type;
  name.ordered = name.choice.body == reduce_products && kind_bit_of(type) >= DLT_FLOATS;
  int target;
  DLT_TRY(type_of(function, *in.tensor, &name.element));
  DLT_TRY(type_of(function, *out.tensor, &target));
  if (target != result)
    return fail(Fault::type, "%s: the result is %s, got an output of %s", function, type_table[result].name,
                type_table[target].name);
  if (is_misaligned(*in.tensor)) [[unlikely]] {
    Temporary straight;
    DLT_TRY(straight.make(*in.tensor, *where.stream));
    DLT_TRY(copy_bytes(in, straight.operand(), where));
    return reduce(reduction, options, type, straight.operand(), mask, axes, out, where);
  }
  if (is_misaligned(*out.tensor)) [[unlikely]] {
    Temporary straight;
    DLT_TRY(straight.make(*out.tensor, *where.stream));
    DLT_TRY(reduce(reduction, options, type, in, mask, axes, straight.operand(), where));
    return copy_bytes(straight.operand(), out, where);
  }
  Shape shape;
  read_shape(*in.tensor, mask ? mask->tensor : nullptr, axes, *out.tensor, in_order[name.choice.body], &shape);
  if (shape.results == 0) return success;
  DLT_TRY(use(in.block, *where.stream, false));
  if (mask) DLT_TRY(use(mask->block, *where.stream, false));
  DLT_TRY(use(out.block, *where.stream, true));
  name.many = shape.kept_dims + shape.reduced_dims > few_dims;
  return name.many ? launch_fold<most_dims>(name, shape, in, mask, out, options, reduction == reduction_std, where)
                   : launch_fold<few_dims>(name, shape, in, mask, out, options, reduction == reduction_std, where);
}

}  // namespace dlt::cuda
