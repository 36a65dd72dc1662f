// SPDX-License-Identifier: Apache-2.0
// Dequantization on a device: one launch, or one for each operand where merged axes are many.
#include "native/cpu/quantize/block_layout.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/quantize/quantize.h"
#include "native/cuda/reduce/axes.h"

namespace dlt::cuda {
namespace {

using kernels::codes_pack;

constexpr int most_operands_at_once = BlockLayout::most_operands;

// How the numbers of an operand lie for a pack of neighbouring elements.
enum class PackOf { one, adjacent, any };
PackOf pack_of(const BlockLayout& layout, int operand) noexcept {
  const int last = layout.ndim - 1;
  const int64_t length = layout.of[operand].block[last];
  if (length % codes_pack == 0 || (last == 0 && layout.of[operand].count[0] == 1)) return PackOf::one;
  return length == 1 && (last == 0 || layout.extent[last] % codes_pack == 0) ? PackOf::adjacent : PackOf::any;
}

template <int DIMS, int OPERANDS>
Status run(const BlockLayout& layout, const Operand& values, int type, const DLTensor* const* operands, bool subtracts,
           const Operand& out, int result, const LaunchContext& context) noexcept {
  Device& device = *context.stream->device;
  kernels::Dequantize<DIMS, OPERANDS> p{};
  p.values = reinterpret_cast<const void*>(address(*values.tensor));
  p.out = reinterpret_cast<void*>(address(*out.tensor));
  p.n = static_cast<uint64_t>(numel(values.tensor->ndim, values.tensor->shape));
  p.aligned = address(*values.tensor) % 16 == 0;
  p.out_aligned = address(*out.tensor) % 16 == 0;
  p.subtracts = subtracts;
  p.operands = layout.operands;
  p.dims = layout.ndim;
  for (int d = 0; d < layout.ndim; ++d) p.extent[d] = kernels::divider(static_cast<uint64_t>(layout.extent[d]));
  for (int o = 0; o < layout.operands; ++o) {
    p.numbers[o] = reinterpret_cast<const float*>(address(*operands[o]));
    const PackOf pack = pack_of(layout, o);
    p.adjacent[o] = pack == PackOf::adjacent;
    p.singly |= pack == PackOf::any;
    int64_t step = 1;
    for (int d = layout.ndim - 1; d >= 0; --d) {
      p.length[o][d] = kernels::divider(static_cast<uint64_t>(layout.of[o].block[d]));
      p.step[o][d] = step;
      step *= layout.of[o].count[d];
    }
  }
  Kernel kernel;
  const uint64_t number = uint64_t{1} << 49 | static_cast<uint64_t>(type) << 7 | static_cast<uint64_t>(result) << 1 |
                          (DIMS != few_dims);
  DLT_TRY(family_kernel(
      device, Family::quantize, number, "native/cuda/kernels/quantize/dequantize.cuh",
      [&] {
        return std::string("dequantize::values<") + type_name(type) + ", " + type_name(result) + ", " + std::to_string(DIMS) +
               ", " + std::to_string(OPERANDS) + ">";
      },
      &kernel));
  constexpr unsigned threads = 256;
  return launch_kernel(device, kernel, blocks_for(device, kernel, p.n / codes_pack / threads + 1, threads), *context.stream,
                       &p);
}

// Calls `next` with operands that kernels can read: those that are not aligned are copied.
template <class Next>
Status with_aligned_operands(const DLTensor** tensors, const Operand* const* operands, int count, const LaunchContext& context,
                             const Next& next) noexcept {
  Temporary aligned[BlockLayout::most_operands];
  for (int k = 0; k < count; ++k) {
    DLT_TRY(use(operands[k]->block, *context.stream, false));
    tensors[k] = operands[k]->tensor;
    if (!is_misaligned(*tensors[k])) continue;
    DLT_TRY(aligned[k].make(*tensors[k], *context.stream));
    DLT_TRY(copy_bytes(*operands[k], aligned[k].operand(), context));
    tensors[k] = &aligned[k].tensor;
  }
  return next();
}

// Of many axes: each operand in a launch of its own, which is what its rounding to float32 allows.
Status run_singly(const Operand& values, int type, const DLTensor* const* operands, int count, bool subtracts,
                  const Operand& out, int result, const LaunchContext& context) noexcept {
  DLTensor wide = *values.tensor;
  wide.dtype = type_table[type_float32].dtype;
  Temporary between;
  if (count > 1) DLT_TRY(between.make(wide, *context.stream));
  for (int k = 0; k < count; ++k) {
    const bool is_last = k + 1 == count;
    const BlockLayout layout = block_layout(*values.tensor, operands + k, 1);
    DLT_TRY((run<most_dims, 1>(layout, k == 0 ? values : between.operand(), k == 0 ? type : int{type_float32}, operands + k,
                               subtracts && k == 0, is_last ? out : between.operand(), is_last ? result : int{type_float32},
                               context)));
  }
  return success;
}

}  // namespace

Status dequantize(const Operand& values, const Operand* zero, const Operand* scales, int count, const Operand& out,
                  const LaunchContext& context) noexcept {
  if (is_misaligned(*values.tensor)) [[unlikely]]
    return with_aligned(values, context, [&](const Operand& x) { return dequantize(x, zero, scales, count, out, context); });
  if (is_misaligned(*out.tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& x) { return dequantize(values, zero, scales, count, x, context); });
  if (numel(values.tensor->ndim, values.tensor->shape) == 0) return success;
  const int type = find_type(values.tensor->dtype), result = find_type(out.tensor->dtype);
  const DLTensor* tensors[BlockLayout::most_operands];
  const Operand* operands[BlockLayout::most_operands];
  int all = 0;
  if (zero != nullptr) operands[all++] = zero;
  for (int k = 0; k < count; ++k) operands[all++] = scales + k;
  DLT_TRY(use(values.block, *context.stream, false));
  DLT_TRY(use(out.block, *context.stream, true));
  return with_aligned_operands(tensors, operands, all, context, [&]() -> Status {
    const BlockLayout layout = block_layout(*values.tensor, tensors, all);
    if (layout.ndim > few_dims) return run_singly(values, type, tensors, all, zero != nullptr, out, result, context);
    return run<few_dims, most_operands_at_once>(layout, values, type, tensors, zero != nullptr, out, result, context);
  });
}

}  // namespace dlt::cuda
