// SPDX-License-Identifier: Apache-2.0
// Quantization on a device: which kernels a form of blocks needs, and how threads share the elements of a block.
#include "native/cuda/quantize/quantize.h"

#include "native/cpu/quantize/block_layout.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/reduce/axes.h"

namespace dlt::cuda {
namespace {

using kernels::codes_pack;

constexpr const char* header = "native/cuda/kernels/quantize/quantize.cuh";
constexpr unsigned block_threads = 256;
constexpr int64_t most_of_thread_block = 1 << 16;  // elements of a block that one thread block quantizes
constexpr int64_t most_of_warp = 1024;  // of one that a warp does

enum class Step : uint64_t { largest, codes, blocks };

std::string expression_of(Step step, int type, int dims) {
  const std::string ending = std::to_string(dims) + ">";
  if (step == Step::largest) return "quantize::largest<" + ending;
  return std::string(step == Step::codes ? "quantize::codes<" : "quantize::blocks<") + type_name(type) + ", " + ending;
}

// One call: parameters of its kernels, which differ in few fields.
template <int DIMS>
struct Quantizer {
  kernels::Quantize<DIMS> p{};
  const LaunchContext& context;
  int type;

  Status find(Step step, Step next, Kernel* out) const noexcept {
    Device& device = *context.stream->device;
    const uint64_t number = static_cast<uint64_t>(step) | uint64_t{DIMS != few_dims} << 2 |
                            static_cast<uint64_t>(step == Step::largest ? 0 : type) << 3;
    const auto name = [&] {
      if (next != step)
        prepare_kernels(device, {{header, expression_of(step, type, DIMS)}, {header, expression_of(next, type, DIMS)}});
      return expression_of(step, type, DIMS);
    };
    return family_kernel(device, Family::quantize, number, header, name, out);
  }
  Status launch(const Kernel& kernel, uint64_t items) noexcept {
    Device& device = *context.stream->device;
    return launch_kernel(device, kernel, blocks_for(device, kernel, items, block_threads), *context.stream, &p);
  }
  Status launch_groups(const Kernel& kernel, uint64_t groups) noexcept {
    return launch(kernel, (groups << p.lane_bits) / block_threads + 1);
  }

  void set_lanes(int64_t lanes) noexcept {
    p.lane_bits = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(lanes)));
  }
  void set_axes(const BlockLayout& layout) noexcept {
    p.dims = layout.ndim;
    p.blocks = 1;
    for (int d = 0; d < layout.ndim; ++d) {
      p.blocks *= static_cast<uint64_t>(layout.of[0].count[d]);
      p.axis[d] = {kernels::divider(static_cast<uint64_t>(layout.of[0].count[d])),
                   kernels::divider(static_cast<uint64_t>(layout.of[0].block[d]))};
    }
    p.block_count = kernels::divider(p.blocks);
  }
  // How `largest` reads blocks whose lines have so many elements: by four where lines and addresses allow it. Blocks that are too
  // few for the device are cut into parts.
  void share_blocks(int64_t line) noexcept {
    const Properties& properties = context.stream->device->properties;
    p.pack = p.wide && line % 4 == 0 ? 4 : 1;
    p.units = p.n / p.blocks / p.pack;
    const int64_t lanes = std::min<int64_t>(32, power_up(line / p.pack));
    set_lanes(lanes);
    const auto resident = static_cast<uint64_t>(properties.multiprocessor_count) * 2048;
    const uint64_t most = std::max<uint64_t>(1, p.units / (16 * static_cast<uint64_t>(lanes)));
    p.parts = std::clamp<uint64_t>(resident / (p.blocks * static_cast<uint64_t>(lanes)), 1, most);
    p.part = (p.units + p.parts - 1) / p.parts;
  }
  Status find_largest(const Kernel& kernel, int64_t line, const Scratch& memory, uint64_t words) noexcept;
};

// The largest magnitudes of blocks, and of all, which are zero before. Parts of a block say nothing of its finiteness: the largest
// one of all is found by a second launch then, over what the first has found.
template <int DIMS>
Status Quantizer<DIMS>::find_largest(const Kernel& kernel, int64_t line, const Scratch& memory, uint64_t words) noexcept {
  share_blocks(line);
  const bool again = p.parts > 1 && p.most != nullptr;
  if (p.parts > 1 || p.most != nullptr) {
    Current current(*context.stream->device);
    DLT_CU(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(memory.block->data), 0, words, context.stream->handle));
  }
  const kernels::Quantize<DIMS> before = p;
  if (again) p.most = nullptr;
  DLT_TRY(launch_groups(kernel, p.blocks * p.parts));
  if (again) {
    p.x = reinterpret_cast<const float*>(before.largest);
    p.largest = nullptr;
    p.most = before.most;
    p.units = p.parts = p.part = 1, p.pack = 1, p.lane_bits = 0;
    p.dims = 1;
    p.axis[0] = {p.block_count, kernels::divider(uint64_t{1})};
    DLT_TRY(launch_groups(kernel, p.blocks));
  }
  p = before;
  return success;
}

template <int DIMS>
Status run(const QuantizeCall& call, const BlockLayout& layout, const Operand& x, const Operand& values, const Operand& scale,
           const Operand* tensor_scale, const LaunchContext& context) noexcept {
  const int last = layout.ndim - 1;
  const int64_t line = layout.of[0].block[last];
  const bool by_tensor = tensor_scale != nullptr, in_row = layout.ndim == 1 && line % codes_pack == 0;
  Quantizer<DIMS> q{.context = context, .type = call.type};
  auto& p = q.p;
  p.x = reinterpret_cast<const float*>(address(*x.tensor));
  p.values = reinterpret_cast<void*>(address(*values.tensor));
  p.scales = reinterpret_cast<void*>(address(*scale.tensor));
  if (by_tensor) p.tensor_scale = reinterpret_cast<float*>(address(*tensor_scale->tensor));
  p.n = static_cast<uint64_t>(numel(x.tensor->ndim, x.tensor->shape));
  p.wide = address(*x.tensor) % 16 == 0;
  p.aligned = address(*values.tensor) % 8 == 0;
  p.whole = line % codes_pack == 0;
  p.kind = static_cast<int32_t>(call.kind);
  p.rule = static_cast<int32_t>(call.rule);
  q.set_axes(layout);

  const bool in_one = in_row && line <= most_of_thread_block;
  const Step step = in_one ? Step::blocks : Step::codes;
  const bool finds = !in_one || by_tensor;
  Kernel finding, kernel;
  Scratch memory;
  if (finds) DLT_TRY(q.find(Step::largest, step, &finding));
  DLT_TRY(q.find(step, step, &kernel));
  if (finds) {
    const uint64_t words = p.blocks + 1;
    DLT_TRY(memory.make(words * sizeof(uint32_t), *context.stream));
    p.most = by_tensor ? memory.as<uint32_t>() : nullptr;
    p.largest = memory.as<uint32_t>() + 1;
    DLT_TRY(q.find_largest(finding, line, memory, words));
  }
  if (!in_one) return q.launch(kernel, (p.n / codes_pack) / block_threads + 1);
  p.units = static_cast<uint64_t>(line / codes_pack);
  q.set_lanes(line > most_of_warp ? block_threads : std::min<int64_t>(32, power_up(line / codes_pack)));
  return q.launch_groups(kernel, p.blocks);
}

}  // namespace

Status quantize(const QuantizeCall& call, const Operand& x, const Operand& values, const Operand& scale,
                const Operand* tensor_scale, const LaunchContext& context) noexcept {
  if (is_misaligned(*x.tensor)) [[unlikely]]
    return with_aligned(x, context, [&](const Operand& y) { return quantize(call, y, values, scale, tensor_scale, context); });
  if (is_misaligned(*scale.tensor)) [[unlikely]]
    return through_aligned(scale, context,
                           [&](const Operand& y) { return quantize(call, x, values, y, tensor_scale, context); });
  if (tensor_scale != nullptr && is_misaligned(*tensor_scale->tensor)) [[unlikely]]
    return through_aligned(*tensor_scale, context,
                           [&](const Operand& y) { return quantize(call, x, values, scale, &y, context); });
  if (numel(x.tensor->ndim, x.tensor->shape) == 0) {
    const float one = 1;
    return tensor_scale != nullptr ? fill(&one, *tensor_scale, context) : success;
  }
  Stream& stream = *context.stream;
  const BlockLayout layout = block_layout(*x.tensor, &scale.tensor, 1);
  DLT_TRY(use(x.block, stream, false));
  DLT_TRY(use(values.block, stream, true));
  DLT_TRY(use(scale.block, stream, true));
  if (tensor_scale != nullptr) DLT_TRY(use(tensor_scale->block, stream, true));
  return layout.ndim <= few_dims ? run<few_dims>(call, layout, x, values, scale, tensor_scale, context)
                                 : run<most_dims>(call, layout, x, values, scale, tensor_scale, context);
}

}  // namespace dlt::cuda
