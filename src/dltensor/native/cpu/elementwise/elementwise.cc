// SPDX-License-Identifier: Apache-2.0
// Runs an op, a cast or a where: operands become a strided loop; overlapping ones are copied to a temporary first.
#include <string.h>
#include <initializer_list>

#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/copy/copy.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/elementwise/rows.h"
#include "native/cpu/elementwise/strided_loop.h"
#include "native/memory/block.h"
#include "native/ops/elementwise/bodies.h"

namespace dlt {
namespace {

// float16 and bfloat16 without a loop of their own are computed in float32, or in float64 where float32 would round
// twice.
int loop_type(int op, int type, unsigned flags) {
  if (type != type_float16 && type != type_bfloat16) return type;
  if (!(flags & run_saturate) && find_loop(op, type) != nullptr) return type;
  return op == op_fma ? type_float64 : type_float32;
}

// Returns whether the loop of `type` reads and writes these as they are.
bool is_plain(int op, int type, const DLTensor* const* in, const DLTensor& out) {
  for (int k = 0; k < op_table[op].operands; ++k)
    if (find_type(in[k]->dtype) != type) return false;
  return find_type(out.dtype) == result_type(op, type);
}

struct LoopBuilder {
  const Kernels& kernels;
  StridedLoop loop_nest;
  BlockRef copies[3];  // copies of inputs, freed after the loop
  explicit LoopBuilder(const Kernels& table) : kernels(table) {}

  Status start(const DLTensor& out, unsigned padded) {
    loop_nest.ndim = out.ndim;
    loop_nest.inputs = 0;
    loop_nest.real_loop = nullptr;
    loop_nest.weight = 1;
    if (out.ndim > 0) memcpy(loop_nest.shape, out.shape, size_t(out.ndim) * sizeof(int64_t));
    return set(&loop_nest.out, out, padded >> 3 & 1);
  }

  Status set(Operand* o, const DLTensor& t, bool is_padded) {
    set_elements(o, t, is_padded);
    const bool fits = broadcast_strides(t.ndim, t.shape, t.strides, loop_nest.ndim, loop_nest.shape, Align::trailing,
                                        o->strides);
    return fits ? success : does_not_broadcast();
  }

  // Adds an input that reaches the loop in dtype number `type`.
  Status add(const DLTensor& in, const DLTensor& out, int type, int mode, bool is_padded) {
    DLTensor source = in;
    int64_t strides[max_dims];
    const Overlap shared = overlap(in, out);
    if (shared == Overlap::some) {
      const int64_t count = numel(in.ndim, in.shape);
      Block* block = allocate(size_t(count * item_bytes(in.dtype)));
      if (block == nullptr) return no_temporary();
      copies[loop_nest.inputs].block = block;
      contiguous_strides(in.ndim, in.shape, strides);
      source.data = block->data;
      source.strides = strides;
      if (!copy(source, in, is_padded)) return no_temporary();
    }
    Operand* o = &loop_nest.in[loop_nest.inputs++];
    DLT_TRY(set(o, source, is_padded));
    const bool known = type < 0 || find_pipeline(*kernels.copy, find_type(in.dtype), type, mode, &o->pipeline);
    return known ? success : undefined_for(find_type(in.dtype));
  }

  // The loop writes dtype number `type`; the result is then cast to the dtype of `out`.
  Status finish(const DLTensor& out, int type, int mode) {
    if (type < 0) return undefined_for(type);
    loop_nest.loop_width = type_table[type].bytes;
    // Comparisons write 0 and 1, which a uint8 takes as they are.
    if (type == type_bool && out.dtype.code == kDLUInt && out.dtype.bits == 8 && out.dtype.lanes == 1) return success;
    const bool known = find_pipeline(*kernels.copy, type, find_type(out.dtype), mode, &loop_nest.out.pipeline);
    return known ? success : undefined_for(find_type(out.dtype));
  }
};

bool is_heavy(int op) {
  switch (op) {
#define DLT_CASE(name) case op_##name:
    DLT_LIBRARY_FUNCTIONS(DLT_CASE)
#undef DLT_CASE
    case op_pow:
    case op_atan2:
    case op_hypot:
    case op_logaddexp:
    case op_floor_divide:
    case op_remainder: return true;
    default: return false;
  }
}

// The widest dtype of a kind, which those without a dtype in common are compared as.
int widest_type(int type) {
  switch (type_table[type].kind) {
    case Kind::signed_integer: return type_int64;
    case Kind::real: return type_float64;
    case Kind::complex: return type_complex128;
    default: return type_uint64;
  }
}

// The loop that compares two dtypes by value, null where there is none; or with `swapped` that of the operands swapped.
loop_t find_unlike(const Kernels& kernels, int op, int a, int b, bool* swapped) {
  constexpr int pairs[unlike_count][2] = {
#define DLT_PAIR(a, b) {type_##a, type_##b},
      DLT_UNLIKE(DLT_PAIR)
#undef DLT_PAIR
  };
  for (int k = 0; k < unlike_count; ++k) {
    *swapped = a == pairs[k][1] && b == pairs[k][0];
    const int comparison = comparison_of(*swapped ? mirrored_comparison(op) : op);
    if (*swapped || (a == pairs[k][0] && b == pairs[k][1]))
      return comparison < 0 ? nullptr : kernels.elementwise->unlike[comparison][k];
  }
  return nullptr;
}

// Rounded to odd on the way, so that the cast to 16 bits rounds once.
void odd_fma(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const auto at = [](const void* from, int64_t i) { return static_cast<const double*>(from)[i]; };
  const int64_t sa = ~scalars & 1, sb = ~scalars >> 1 & 1, sc = ~scalars >> 2 & 1;
  for (int64_t i = 0; i < n; ++i) {
    const double product = at(a, i * sa) * at(b, i * sb), addend = at(c, i * sc), sum = product + addend;
    const double odd = odd_sum(exact_sum(product, addend));
    static_cast<double*>(out)[i] = ops::isfinite(sum) ? odd : sum;
  }
}

}  // namespace

Status undefined_for(int type, unsigned flags) noexcept {
  const char* name = type < 0 || type >= type_count ? "this dtype" : type_table[type].name;
  return fail(Fault::type, "not defined for %s%s", name, flags & run_saturate ? " with saturate=True" : "");
}

Status does_not_broadcast() noexcept { return fail(Fault::value, "the operands do not broadcast to the output"); }

Status no_temporary() noexcept { return fail(Fault::memory, "no memory left for a temporary"); }

Status allocate(size_t bytes, BlockRef* memory) noexcept {
  memory->block = allocate(bytes);
  return memory->block ? success : no_temporary();
}

namespace {

Status compare_unlike(int op, const DLTensor* const* in, const DLTensor& out, unsigned padded) noexcept {
  LoopBuilder builder(kernels());
  const int rows[2] = {find_type(in[0]->dtype), find_type(in[1]->dtype)};
  if (rows[0] < 0 || rows[1] < 0 || rows[0] >= computed_types || rows[1] >= computed_types) return undefined_for(-1);
  const int types[2] = {widest_type(rows[0]), widest_type(rows[1])};
  bool swapped = false;
  const loop_t loop = find_unlike(builder.kernels, op, types[0], types[1], &swapped);
  if (loop == nullptr) return undefined_for(types[kind_bit_of(types[0]) != DLT_COMPLEXES]);
  DLT_TRY(builder.start(out, padded));
  builder.loop_nest.loop = loop;
  for (const int k : {int(swapped), int(!swapped)}) DLT_TRY(builder.add(*in[k], out, types[k], 0, padded >> k & 1));
  DLT_TRY(builder.finish(out, type_bool, 0));
  run_strided(&builder.loop_nest);
  return success;
}

}  // namespace

Status run(int op, unsigned flags, int type, const DLTensor* const* in, const DLTensor& out, unsigned padded) noexcept {
  if (type == -1 && comparison_of(op) >= 0) return compare_unlike(op, in, out, padded);
  if (op < 0 || op >= op_count || type < 0 || type >= computed_types) return undefined_for(type, flags);
  LoopBuilder builder(kernels());
  const int inner = loop_type(op, type, flags);
  loop_t loop = flags & run_saturate ? find_saturating_loop(op, inner) : find_loop(op, inner);
  int types[3] = {inner, inner, inner};
  const int factor = (flags & run_saturate) && op == op_fma ? find_type(in[1]->dtype) : -1;
  if (factor >= 0 && type_table[type].kind == Kind::unsigned_integer && type_table[factor].kind == Kind::signed_integer) {
    loop = builder.kernels.elementwise->fma_unsigned[type];
    types[0] = types[1] = find_type({kDLInt, type_table[type].dtype.bits, 1});
  }
  if (loop == nullptr) return undefined_for(type, flags);
  if (inner == type && types[0] == type && is_plain(op, type, in, out) &&
      run_rows(loop, op_table[op].operands, in, out, type_table[type].bytes, type_table[result_type(op, type)].bytes))
    return success;
  DLT_TRY(builder.start(out, padded));
  builder.loop_nest.loop = inner == type || op != op_fma ? loop : odd_fma;
  builder.loop_nest.weight = is_heavy(op) ? 8 : op == op_sqrt || type == type_float16 || type == type_bfloat16 ? 3 : 1;
  const int mode = flags & run_saturate ? cast_saturate : 0;
  for (int k = 0; k < op_table[op].operands; ++k) DLT_TRY(builder.add(*in[k], out, types[k], mode, padded >> k & 1));
  // A 16-bit float result is rounded to 16 bits before any further conversion.
  const int result = result_type(op, inner), rounded = result_type(op, type);
  if (result != rounded && find_type(out.dtype) != rounded) {
    if (!find_pipeline_through(*builder.kernels.copy, result, rounded, find_type(out.dtype), mode,
                               &builder.loop_nest.out.pipeline))
      return undefined_for(type, flags);
    builder.loop_nest.loop_width = type_table[result].bytes;
  } else {
    DLT_TRY(builder.finish(out, result, mode));
  }
  run_strided(&builder.loop_nest);
  return success;
}

Status run_real(Real op, double scalar, const DLTensor& a, const DLTensor* c, const DLTensor& out) noexcept {
  const int type = find_type(a.dtype);
  if (type < 0 || type >= computed_types) return undefined_for(type, run_saturate);
  LoopBuilder builder(kernels());
  const real_loop_t loop = builder.kernels.elementwise->real_scalar[op][type];
  if (loop == nullptr) return undefined_for(type, run_saturate);
  DLT_TRY(builder.start(out, 0));
  builder.loop_nest.loop = nullptr;
  builder.loop_nest.real_loop = loop;
  builder.loop_nest.scalar = scalar;
  builder.loop_nest.weight = 8;
  DLT_TRY(builder.add(a, out, type, cast_saturate, false));
  if (op == real_fma) {
    // The scalar is operand 1; the addend is operand 2.
    DLT_TRY(builder.add(a, out, type, cast_saturate, false));
    DLT_TRY(builder.add(*c, out, type, cast_saturate, false));
  }
  DLT_TRY(builder.finish(out, type, cast_saturate));
  run_strided(&builder.loop_nest);
  return success;
}

Status cast(const DLTensor& out, const DLTensor& a, const CastOptions& options, unsigned padded) noexcept {
  const int from = find_type(a.dtype), to = find_type(out.dtype);
  if (from < 0 || to < 0) return undefined_for(from < 0 ? from : to);
  LoopBuilder builder(kernels());
  const int mode = (options.rounding == Rounding::nearest ? cast_nearest : 0) | (options.saturate ? cast_saturate : 0);
  DLT_TRY(builder.start(out, padded));
  if (options.scaled) {
    const int middle = scaling_type(from, to);
    if (middle < 0) return undefined_for(from);
    const float narrow[2] = {float(options.scale), float(options.offset)};
    const double full[2] = {options.scale, options.offset};
    int64_t one = 1;
    DLTensor factor{};
    factor.dtype = type_table[middle].dtype;
    factor.shape = factor.strides = &one;
    DLTensor addend = factor;
    factor.data = middle == type_float64 ? static_cast<void*>(const_cast<double*>(full)) : const_cast<float*>(narrow);
    addend.data = static_cast<char*>(factor.data) + type_table[middle].bytes;
    builder.loop_nest.loop = find_loop(op_fma, middle);
    DLT_TRY(builder.add(a, out, middle, mode, padded & 1));
    DLT_TRY(builder.add(factor, out, middle, mode, false));
    DLT_TRY(builder.add(addend, out, middle, mode, false));
    DLT_TRY(builder.finish(out, middle, mode));
    run_strided(&builder.loop_nest);
    return success;
  }
  DLT_TRY(builder.add(a, out, to, mode, padded & 1));
  builder.loop_nest.loop = nullptr;
  builder.loop_nest.loop_width = builder.loop_nest.out.width;
  CastPipeline& pipeline = builder.loop_nest.in[0].pipeline;
  if (pipeline.count > 0) {
    // The last step writes to the output.
    builder.loop_nest.loop = pipeline.loops[--pipeline.count];
  }
  run_strided(&builder.loop_nest);
  return success;
}

Status where(const DLTensor& condition, const DLTensor& a, const DLTensor& b, const DLTensor& out) noexcept {
  LoopBuilder builder(kernels());
  DLT_TRY(builder.start(out, 8));
  const int64_t width = item_bytes(out.dtype);
  if (width > 16 || (width & (width - 1)) != 0) return undefined_for(find_type(out.dtype));
  builder.loop_nest.loop = kernels().index->choose[width_index(width)];
  builder.loop_nest.loop_width = width;
  DLT_TRY(builder.add(condition, out, type_bool, 0, true));
  DLT_TRY(builder.add(a, out, -1, 0, true));
  DLT_TRY(builder.add(b, out, -1, 0, true));
  run_strided(&builder.loop_nest);
  return success;
}

Status cpu::element(const ElementCall& call, const EngineOperand* in, int count, const EngineOperand& out,
                    const LaunchContext&) noexcept {
  const DLTensor* views[3];
  DLTensor numbers[3];
  int64_t none = 0;
  unsigned padded = 0;
  for (int k = 0; k < count; ++k) {
    views[k] = in[k].tensor;
    padded |= unsigned(in[k].padded) << k;
    if (in[k].tensor != nullptr) continue;
    numbers[k] = {const_cast<unsigned char*>(in[k].value), {kDLCPU, 0}, 0, type_table[in[k].type].dtype, &none, &none, 0};
    views[k] = &numbers[k];
  }
  return run(call.op, call.saturate ? run_saturate : 0, call.type, views, *out.tensor, padded);
}

Status cpu::real(Real form, double number, const EngineOperand& x, const EngineOperand* c, const EngineOperand& out,
                 const LaunchContext&) noexcept {
  return run_real(form, number, *x.tensor, c ? c->tensor : nullptr, *out.tensor);
}

Status cpu::cast(const EngineOperand& x, const EngineOperand& out, const CastOptions& options, const LaunchContext&) noexcept {
  return dlt::cast(*out.tensor, *View(x), options, unsigned(x.padded) | unsigned(out.padded) << 3);
}

Status cpu::choose(const EngineOperand& condition, const EngineOperand& a, const EngineOperand& b, const EngineOperand& out,
                   const LaunchContext&) noexcept {
  return where(*View(condition), *View(a), *View(b), *out.tensor);
}

}  // namespace dlt
