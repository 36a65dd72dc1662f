// SPDX-License-Identifier: Apache-2.0
// Element-wise operations: operands are checked, overlap and misalignment resolved by copies, then one kernel is
// launched.
#include <stdlib.h>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/runtime/thread_state.h"

namespace dlt::cuda {
namespace {

struct Row {
  const char* name;
  int operands;
  unsigned kinds;
};
const Row plain_rows[] = {
#define DLT_ROW(name, operands, kinds, ...) {#name, operands, kinds},
    DLT_OPS(DLT_ROW)
#undef DLT_ROW
};
const Row saturating_rows[] = {
#define DLT_ROW(name, operands) {#name, operands, DLT_NUMBERS},
    DLT_SATURATING_OPS(DLT_ROW)
#undef DLT_ROW
};
const Row real_rows[] = {
#define DLT_ROW(name, operands) {#name, operands, DLT_INTEGERS},
    DLT_CUDA_REAL_OPS(DLT_ROW)};
const Row twin_rows[] = {DLT_CUDA_TWIN_OPS(DLT_ROW)
#undef DLT_ROW
};
const Row unlike_rows[] = {
#define DLT_ROW(name) {#name, 2, DLT_ANY},
    DLT_COMPARISONS(DLT_ROW)
#undef DLT_ROW
};
struct Table {
  const Row* rows;
  int count;
  const char* prefix;
};
const Table tables[] = {{plain_rows, sizeof plain_rows / sizeof(Row), "op_"},
                        {saturating_rows, sizeof saturating_rows / sizeof(Row), "saturating_"},
                        {real_rows, sizeof real_rows / sizeof(Row), "real_"},
                        {twin_rows, sizeof twin_rows / sizeof(Row), "twin_"},
                        {unlike_rows, sizeof unlike_rows / sizeof(Row), "unlike_"}};

constexpr uint32_t variant_shift = 8;

}  // namespace

std::string body_name(uint32_t code) {
  const Table& table = tables[code >> variant_shift];
  return std::string("dlt::kernels::") + table.prefix + table.rows[code & ((1u << variant_shift) - 1)].name;
}

namespace {

Status check(const Operation& operation, int count, const Row** row) noexcept {
  const Table& table = tables[static_cast<int>(operation.variant)];
  if (operation.op < 0 || operation.op >= table.count)
    return fail(Fault::value, "elementwise: there is no operation number %d", operation.op);
  *row = &table.rows[operation.op];
  if (count != (*row)->operands)
    return fail(Fault::value, "%s: expected %d operands, got %d", (*row)->name, (*row)->operands, count);
  if (operation.type < 0 || operation.type >= computed_types || !((*row)->kinds & kind_bit_of(operation.type)))
    return fail(Fault::type, "%s: not defined for %s", (*row)->name,
                operation.type >= 0 && operation.type < type_count ? type_table[operation.type].name : "this dtype");
  if (operation.variant == OpVariant::real && type_table[operation.type].bytes == 8)
    return fail(Fault::type, "%s: 64-bit integers with saturate=True take integer scalars only on CUDA; compute on the CPU",
                (*row)->name);
  return success;
}

// Different blocks of ours never share memory; everything else is compared.
bool may_overlap(const Operand& in, const Operand& out) noexcept {
  if (in.block && out.block && in.block != out.block) {
    const Memory* a = memory_of(in.block);
    const Memory* b = memory_of(out.block);
    if (a && b && a->kind != Memory::Kind::foreign && b->kind != Memory::Kind::foreign) return false;
  }
  switch (overlap(*in.tensor, *out.tensor)) {
    case Overlap::none: return false;
    case Overlap::identical: return item_bytes(in.tensor->dtype) != item_bytes(out.tensor->dtype);
    default: return true;
  }
}

bool same_run(const DLTensor& a, const DLTensor& out) noexcept {
  return same_shape(a, out) && is_contiguous(a.ndim, a.shape, a.strides);
}

bool is_askew(const DLTensor& t, int type) noexcept {
  return ((reinterpret_cast<uintptr_t>(t.data) + t.byte_offset) & static_cast<uint64_t>(type_alignment(type) - 1)) != 0;
}

// Bodies that take their operands unconverted.
Status check_exact_types(const Operation& operation, const Row& row, const Operand* in, int count, const Plan& plan) noexcept {
  const auto type = [&](int k) { return in[k].tensor ? plan.types[k + 1] : in[k].type; };
  const bool real = operation.variant == OpVariant::real;
  if (real && (in[1].tensor || in[1].type != type_float64))
    return fail(Fault::type, "%s: the second operand must be a float64 scalar", row.name);
  bool good = type(0) == operation.type && (real || type(1) == operation.type);
  if (count == 3) good = good && type(2) == plan.types[0] && type_table[type(2)].bytes == type_table[operation.type].bytes;
  else good = good && plan.types[0] == operation.type;
  return good ? success
              : fail(Fault::type,
                     "%s: with saturate=True expected %s everywhere, or its unsigned twin as addend and "
                     "result",
                     row.name, type_table[operation.type].name);
}

Status run(const Operation& operation, const Row& row, const Operand* in, int count, const Operand& out,
           const LaunchContext& context) noexcept {
  const DLTensor& target = *out.tensor;
  const int64_t elements = numel(target.ndim, target.shape);
  Plan plan;
  plan.body = {static_cast<uint32_t>(operation.op) | static_cast<uint32_t>(operation.variant) << variant_shift, body_name};
  plan.operands = count;
  plan.type = operation.type;
  DLT_TRY(type_of(row.name, target, &plan.types[0]));
  bool plain = is_contiguous(target.ndim, target.shape, target.strides);
  const bool out_plain = plain;
  bool misaligned = is_askew(target, plan.types[0]), overlaps = false;
  for (int k = 0; k < count; ++k) {
    if (!in[k].tensor) continue;
    DLT_TRY(type_of(row.name, *in[k].tensor, &plan.types[k + 1]));
    plain = plain && same_run(*in[k].tensor, target);
    misaligned |= is_askew(*in[k].tensor, plan.types[k + 1]);
    overlaps |= may_overlap(in[k], out);
  }
  if (operation.variant == OpVariant::real || operation.variant == OpVariant::twin)
    DLT_TRY(check_exact_types(operation, row, in, count, plan));
  if (elements == 0) return success;
  if (!out_plain && repeats_elements(target.ndim, target.shape, target.strides))
    return fail(Fault::value, "%s: the output repeats elements (a stride is 0): copy it first", row.name);

  if (misaligned) [[unlikely]] {
    // Kernels read whole elements: misaligned ones are first copied bytewise.
    Temporary copies[most_operands];
    Operand straight[most_operands];
    for (int k = 0; k < count; ++k) {
      straight[k] = in[k];
      if (!in[k].tensor || !is_misaligned(*in[k].tensor)) continue;
      DLT_TRY(copies[k].make(*in[k].tensor, *context.stream));
      DLT_TRY(copy_bytes(in[k], copies[k].operand(), context));
      straight[k] = copies[k].operand();
    }
    Temporary result;
    DLT_TRY(result.make(target, *context.stream));
    DLT_TRY(run(operation, row, straight, count, result.operand(), context));
    return copy_bytes(result.operand(), out, context);
  }
  if (overlaps) [[unlikely]] {
    Temporary result;
    DLT_TRY(result.make(target, *context.stream));
    DLT_TRY(run(operation, row, in, count, result.operand(), context));
    return copy(result.operand(), out, context);
  }

  if (plain) {  // the most common case by far: one run each
    plan.dims = 1;
    plan.shape[0] = elements;
    plan.pointers[0] = static_cast<char*>(target.data) + target.byte_offset;
    plan.strides[0][0] = 1;
    for (int k = 0; k < count; ++k) {
      if (!in[k].tensor) {
        DLT_TRY(add_operand(row.name, plan, k + 1, in[k]));
        continue;
      }
      plan.immediate[k + 1] = false;
      plan.pointers[k + 1] = static_cast<char*>(in[k].tensor->data) + in[k].tensor->byte_offset;
      plan.strides[k + 1][0] = 1;
    }
  } else {
    plan.dims = target.ndim;
    memcpy(plan.shape, target.shape, sizeof(int64_t) * static_cast<size_t>(target.ndim));
    DLT_TRY(add_operand(row.name, plan, 0, out));
    for (int k = 0; k < count; ++k) DLT_TRY(add_operand(row.name, plan, k + 1, in[k]));
  }
  for (int k = 0; k < count; ++k)
    if (in[k].tensor) DLT_TRY(use(in[k].block, *context.stream, false));
  DLT_TRY(use(out.block, *context.stream, true));
  return execute(plan, *context.stream->device, context);
}

}  // namespace

Status elementwise(const Operation& operation, const Operand* in, int count, const Operand& out,
                   const LaunchContext& context) noexcept {
  const Row* row = nullptr;
  DLT_TRY(check(operation, count, &row));
  const LaunchContext resolved = with_launch(context);
  if (resolved.launch) DLT_TRY(check_launch(*resolved.launch));
  return run(operation, *row, in, count, out, resolved);
}

Status element(const ElementCall& call, const Operand* in, int count, const Operand& out,
               const LaunchContext& context) noexcept {
  if (call.type < 0) return elementwise({comparison_of(call.op), OpVariant::unlike, type_bool}, in, count, out, context);
  if (!call.saturate) return elementwise({call.op, OpVariant::plain, call.type}, in, count, out, context);
  for (int k = 0; call.op == op_fma && in[2].tensor && k < 2; ++k) {
    const int type = in[k].tensor ? find_type(in[k].tensor->dtype) : -1;
    if (type < 0 || type == find_type(in[2].tensor->dtype)) continue;
    // Signed factors and an unsigned addend; a scalar factor has been stored in the addend's type.
    if (in[1 - k].tensor) return elementwise({0, OpVariant::twin, type}, in, count, out, context);
    uint64_t value = 0;
    memcpy(&value, in[1 - k].value, static_cast<size_t>(type_table[in[1 - k].type].bytes));
    const auto number = static_cast<double>(value);
    const Operand operands[] = {in[k], Operand::scalar(type_float64, &number), in[2]};
    return elementwise({real_fma, OpVariant::real, type}, operands, 3, out, context);
  }
  return elementwise({call.saturating, OpVariant::saturating, call.type}, in, count, out, context);
}

Status real(Real form, double number, const Operand& x, const Operand* c, const Operand& out,
            const LaunchContext& context) noexcept {
  const Operand operands[] = {x, Operand::scalar(type_float64, &number), c ? *c : Operand()};
  return elementwise({form, OpVariant::real, find_type(x.tensor->dtype)}, operands, c ? 3 : 2, out, context);
}

namespace {

// Shared memory, unless each element is read where its result is written.
bool mixes(const Run& in, int64_t in_bytes, const Run& out, int64_t out_bytes) noexcept {
  const char *a = static_cast<const char*>(in.data), *b = static_cast<const char*>(out.data);
  return a == b ? in_bytes != out_bytes : a < b + out_bytes && b < a + in_bytes;
}

// Takes the slow path, which handles alignment and overlap.
[[gnu::noinline]] Status runs_slow(int op, int type, int to, int64_t count, const Run* in, int operands, const Run& out,
                                   const LaunchContext& context) noexcept {
  int64_t step = 1;
  const DLDevice here{kDLCUDA, context.stream->device->ordinal};
  DLTensor tensors[most_operands];
  Operand views[most_operands];
  for (int k = 0; k <= operands; ++k) {
    const Run& run = k ? in[k - 1] : out;
    const int row = k ? type : to;
    tensors[k] = {run.data, here, 1, type_table[row].dtype, &count, &step, 0};
    views[k] = run.number ? Operand::scalar(row, run.data) : Operand(&tensors[k], run.block);
  }
  return elementwise({op, OpVariant::plain, type}, views + 1, operands, views[0], context);
}

}  // namespace

namespace {

// Launches of the fast path, of each thread: found by what they are made of.
struct RunKey {
  uint64_t word;  // 0: of nothing
  int64_t count;
};
struct RunPlan {
  RunKey key;
  RunLaunch launch;
};
constexpr int run_plan_bits = 6;

// The place of a key; null where there is no memory to keep it.
RunPlan* run_plan(const RunKey& key) noexcept {
  ThreadState& state = thread_state();
  if (!state.run_plans) [[unlikely]] {
    if (!state.number) return nullptr;
    if (!(state.run_plans = calloc(size_t{1} << run_plan_bits, sizeof(RunPlan)))) return nullptr;
  }
  const uint64_t hash = (key.word ^ static_cast<uint64_t>(key.count) << 13) * 0x9E3779B97F4A7C15u;
  return static_cast<RunPlan*>(state.run_plans) + (hash >> (64 - run_plan_bits));
}

bool is_askew(const Run* in, int operands, int type, const Run& out, int to) noexcept {
  uintptr_t low = reinterpret_cast<uintptr_t>(out.data) & static_cast<uintptr_t>(type_alignment(to) - 1);
  for (int k = 0; k < operands; ++k)
    if (!in[k].number) low |= reinterpret_cast<uintptr_t>(in[k].data) & static_cast<uintptr_t>(type_alignment(type) - 1);
  return low != 0;
}

// With its kernel still to be chosen.
[[gnu::noinline]] Status runs_new(int op, int type, int to, int64_t count, const Run* in, int operands, const Run& out,
                                  const LaunchContext& context, RunLaunch* chosen) noexcept {
  Plan plan;
  plan.body = {static_cast<uint32_t>(op), body_name};
  plan.operands = operands;
  plan.type = type;
  plan.dims = 1;
  plan.shape[0] = count;
  plan.types[0] = to;
  plan.pointers[0] = out.data;
  plan.strides[0][0] = 1;
  for (int k = 1; k <= operands; ++k) {
    const Run& run = in[k - 1];
    plan.types[k] = type;
    plan.immediate[k] = run.number;
    if (run.number) {
      memcpy(plan.values[k - 1].bytes, run.data, static_cast<size_t>(type_table[type].bytes));
      continue;
    }
    plan.pointers[k] = run.data;
    plan.strides[k][0] = 1;
  }
  plan.chosen = chosen;
  return execute(plan, *context.stream->device, context);
}

// `FRESH`: out is new memory of the stream, which nothing overlaps and nothing else has used.
template <bool FRESH>
[[gnu::always_inline]] inline Status launch_runs(int op, int type, int to, int64_t count, const Run* in, int operands,
                                                 const Run& out, Stream& stream) noexcept {
  Device& device = *stream.device;
  const int64_t bytes = type_table[type].bytes, in_bytes = count * bytes, out_bytes = count * type_table[to].bytes;
  uintptr_t low = reinterpret_cast<uintptr_t>(out.data);  // the bits of all addresses
  uint64_t numbers = 0;  // as wide as the word it becomes a part of, so that it is read as it was stored
  bool mixed = false;
  kernels::Contiguous p;
  p.out = out.data;
  p.count = static_cast<uint64_t>(count);
  for (int k = 0; k < operands; ++k) {
    const Run& run = in[k];
    if (run.number) {
      numbers |= uint64_t{1} << k;
      p.in[k] = nullptr;
      memcpy(p.value[k].bytes, run.data, static_cast<size_t>(bytes));
      continue;
    }
    p.in[k] = run.data;
    low |= reinterpret_cast<uintptr_t>(run.data);
    if (!FRESH) mixed |= mixes(run, in_bytes, out, out_bytes);
  }
  const bool packed = (low & 15) == 0;
  if (mixed || (!packed && is_askew(in, operands, type, out, to))) [[unlikely]]
    return runs_slow(op, type, to, count, in, operands, out, {&stream, nullptr});
  if (count == 0) return success;
  for (int k = 0; k < operands; ++k) DLT_TRY(use(in[k].block, stream, false));
  if (!FRESH) DLT_TRY(use(out.block, stream, true));
  const Launch* const settings = thread_launch_here();
  if (!settings && packed) [[likely]] {
    const RunKey key{uint64_t{1} << 63 | static_cast<uint64_t>(device.ordinal) << 40 | numbers << 32 |
                         static_cast<uint64_t>(operands) << 28 | static_cast<uint64_t>(to) << 20 |
                         static_cast<uint64_t>(type) << 12 | static_cast<uint64_t>(op),
                     count};
    RunPlan* const plan = run_plan(key);
    if (plan && plan->key.word == key.word && plan->key.count == key.count) [[likely]]
      return launch_function(device, plan->launch.function, plan->launch.geometry, stream, &p);
    if (plan) plan->key.word = 0;  // not known by the key before, if this fails
    RunLaunch chosen{};
    DLT_TRY(runs_new(op, type, to, count, in, operands, out, {&stream, nullptr}, &chosen));
    if (plan && chosen.function) *plan = {key, chosen};
    return success;
  }
  return runs_new(op, type, to, count, in, operands, out, {&stream, settings}, nullptr);
}

}  // namespace

Status runs_here(int device, int op, int type, int to, int64_t count, const Run* in, int operands, bool fresh,
                 Run* out) noexcept {
  Stream* stream = nullptr;
  DLT_TRY(current_stream(device, &stream));
  if (!fresh) return launch_runs<false>(op, type, to, count, in, operands, *out, *stream);
  DLT_TRY(allocate(*stream, static_cast<size_t>(count * type_table[to].bytes), &out->block));
  out->data = out->block->data;
  return launch_runs<true>(op, type, to, count, in, operands, *out, *stream);
}

}  // namespace dlt::cuda
