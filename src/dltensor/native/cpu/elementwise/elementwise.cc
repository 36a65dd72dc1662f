// SPDX-License-Identifier: Apache-2.0
// Runs an op, a cast or a where: operands become a strided loop; overlapping ones are copied to a temporary first.
#include <string.h>
#include <initializer_list>

#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/copy/copy.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/element_loop.h"
#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/elementwise/rows.h"
#include "native/cpu/elementwise/strided_loop.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// Returns whether the loop reads and writes the operands as they are.
bool is_plain(const ElementLoop& found, int count) {
  for (int k = 0; k < count; ++k)
    if (found.in[k].count != 0) return false;
  return found.out.count == 0;
}

// The elements of two tensors of one shape in C order, whole bytes each, that one call of a loop may take, else 0.
constexpr int64_t few_bytes = 64 << 10;
int64_t elements_at_once(const DLTensor& in, const DLTensor& out) {
  if (in.ndim != out.ndim || in.dtype.bits < 8 || out.dtype.bits < 8) return 0;
  const int64_t n = numel(out.ndim, out.shape);
  if (n * larger(item_bytes(in.dtype), item_bytes(out.dtype)) > few_bytes) return 0;
  const bool in_order = is_contiguous(in.ndim, in.shape, in.strides) && is_contiguous(out.ndim, out.shape, out.strides);
  return in_order && overlap(in, out) == Overlap::none ? n : 0;
}
// The bytes of a tensor whose elements below a byte may be packed.
struct Bytes {
  uintptr_t low, high;
};
Bytes bytes_of(const DLTensor& t, bool is_padded) {
  const Extent elements = extent(t.ndim, t.shape, t.strides);
  const int64_t bits = t.dtype.bits < 8 && t.dtype.lanes == 1 && !is_padded ? t.dtype.bits : item_bytes(t.dtype) * 8;
  const auto from = reinterpret_cast<uintptr_t>(t.data);
  return {from + uintptr_t(elements.low * bits >> 3), from + uintptr_t((elements.high * bits + 7) >> 3)};
}

struct LoopBuilder {
  const Kernels& kernels;
  bool is_out_padded = false;
  StridedLoop loop_nest;
  BlockRef copies[3];  // copies of inputs, freed after the loop
  explicit LoopBuilder(const Kernels& table) : kernels(table) {}

  Status start(const DLTensor& out, unsigned padded) {
    loop_nest.ndim = out.ndim;
    loop_nest.inputs = 0;
    loop_nest.real_loop = nullptr;
    loop_nest.weight = 1;
    if (out.ndim > 0) memcpy(loop_nest.shape, out.shape, size_t(out.ndim) * sizeof(int64_t));
    is_out_padded = padded >> 3 & 1;
    return set(&loop_nest.out, out, is_out_padded);
  }

  Status set(Operand* o, const DLTensor& t, bool is_padded) {
    set_elements(o, t, is_padded);
    const bool fits = broadcast_strides(t.ndim, t.shape, t.strides, loop_nest.ndim, loop_nest.shape, Align::trailing,
                                        o->strides);
    return fits ? success : does_not_broadcast();
  }

  // Adds an input that reaches the loop in dtype number `type`.
  Status add(const DLTensor& in, const DLTensor& out, int type, int mode, bool is_padded) {
    DLT_TRY(add(in, out, is_padded));
    Operand& o = loop_nest.in[loop_nest.inputs - 1];
    return find_pipeline(*kernels.copy, find_type(in.dtype), type, mode, &o.pipeline) ? success
                                                                                      : undefined_for(find_type(in.dtype));
  }

  // Adds an input that reaches the loop as it is.
  Status add(const DLTensor& in, const DLTensor& out, bool is_padded) {
    DLTensor source = in;
    int64_t strides[max_dims];
    // overlap() counts a byte for each packed element, and would find some in memory that follows a packed result.
    const Bytes read = bytes_of(in, is_padded), written = bytes_of(out, is_out_padded);
    const bool is_apart = read.high <= written.low || written.high <= read.low;
    if (!is_apart && overlap(in, out) == Overlap::some) {
      const int64_t count = numel(in.ndim, in.shape);
      Block* block = allocate(size_t(count * item_bytes(in.dtype)));
      if (block == nullptr) return no_temporary();
      copies[loop_nest.inputs].block = block;
      contiguous_strides(in.ndim, in.shape, strides);
      source.data = block->data;
      source.strides = strides;
      if (!copy(source, in, is_padded)) return no_temporary();
    }
    return set(&loop_nest.in[loop_nest.inputs++], source, is_padded);
  }

  // The loop writes dtype number `type`; the result is then cast to the dtype of `out`.
  Status finish(const DLTensor& out, int type, int mode) {
    if (type < 0) return undefined_for(type);
    loop_nest.loop_width = type_table[type].bytes;
    const bool known = find_pipeline(*kernels.copy, type, find_type(out.dtype), mode, &loop_nest.out.pipeline);
    return known ? success : undefined_for(find_type(out.dtype));
  }
};

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

// `loop`, where it is not null, takes the place of that of the operation.
static Status run(int op, unsigned flags, int type, const DLTensor* const* in, const DLTensor& out, unsigned padded,
                  loop_t loop) noexcept {
  if (op < 0 || op >= op_count) return undefined_for(type, flags);
  int types[3];
  const int count = op_table[op].operands;
  for (int k = 0; k < count; ++k) types[k] = find_type(in[k]->dtype);
  ElementLoop found;
  DLT_TRY(find_element_loop(op, flags, type, types, find_type(out.dtype), &found));
  if (loop != nullptr) found.loop = loop;
  if (type >= 0 && is_plain(found, count) &&
      run_rows(found.loop, count, in, out, type_table[type].bytes, type_table[found.loop_type].bytes))
    return success;
  LoopBuilder builder(kernels());
  DLT_TRY(builder.start(out, padded));
  StridedLoop& nest = builder.loop_nest;
  nest.loop = found.loop;
  nest.loop_width = type_table[found.loop_type].bytes;
  nest.weight = found.weight;
  nest.out.pipeline = found.out;
  for (int k = 0; k < count; ++k) {
    const int from = found.swapped ? 1 - k : k;
    DLT_TRY(builder.add(*in[from], out, padded >> from & 1));
    nest.in[k].pipeline = found.in[k];
  }
  run_strided(&nest);
  return success;
}

Status run(int op, unsigned flags, int type, const DLTensor* const* in, const DLTensor& out, unsigned padded) noexcept {
  return run(op, flags, type, in, out, padded, nullptr);
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
  const int mode = (options.rounding == Rounding::nearest ? cast_nearest : 0) | (options.saturate ? cast_saturate : 0);
  if (const loop_t loop = kernels().copy->casts[mode][from][to];
      loop != nullptr && from != to && !options.scaled && padded == 0) {
    if (const int64_t n = elements_at_once(a, out); n > 0) {
      loop(out.data, a.data, nullptr, nullptr, n, 0);
      return success;
    }
  }
  LoopBuilder builder(kernels());
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
  DLT_TRY(builder.add(a, out, true));
  DLT_TRY(builder.add(b, out, true));
  run_strided(&builder.loop_nest);
  return success;
}

// The operation that takes the place of a power, by one number, of a dtype whose powers are computed in a wider one.
static int simpler_power(const EngineOperand& exponent, int type, loop_t* loop) {
  if (exponent.tensor != nullptr || exponent.type != type || (type != type_float16 && type != type_bfloat16)) return op_pow;
  uint16_t bits;
  memcpy(&bits, exponent.value, sizeof bits);
  if (bits == 0x4000) return op_square;  // 2 in both
  const bool is_half = bits == (type == type_float16 ? 0x3800 : 0x3f00);
  if (is_half) *loop = kernels().elementwise->half_roots[type == type_bfloat16];
  return *loop != nullptr ? op_sqrt : op_pow;
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
  loop_t loop = nullptr;
  const int op = call.op == op_pow ? simpler_power(in[1], call.type, &loop) : call.op;
  return run(op, call.saturate ? run_saturate : 0, call.type, views, *out.tensor, padded, loop);
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
