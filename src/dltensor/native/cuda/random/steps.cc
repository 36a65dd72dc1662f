// SPDX-License-Identifier: Apache-2.0
// Numbers at equal steps in device memory: one launch of kernels/random/steps.cuh.
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/random/random.h"
#include "native/layout/layout.h"
#include "native/ops/random/steps.h"

namespace dlt::cuda {

Status fill_steps(const Steps& steps, const Operand& out, const LaunchContext& context) noexcept {
  const DLTensor& tensor = *out.tensor;
  const int64_t count = numel(tensor.ndim, tensor.shape);
  if (count == 0) return success;
  if (is_misaligned(tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& aligned) { return fill_steps(steps, aligned, context); });
  Device& device = *context.stream->device;
  const int type = find_type(tensor.dtype), form = static_cast<int>(steps.form);
  Kernel kernel;
  DLT_TRY(family_kernel(
      device, Family::steps, static_cast<uint64_t>(type * 4 + form), "native/cuda/kernels/random/steps.cuh",
      [&] { return std::string("random::steps<") + type_name(type) + ", " + std::to_string(form) + ">"; }, &kernel));
  DLT_TRY(use(out.block, *context.stream, true));
  steps::Run p{reinterpret_cast<void*>(address(tensor)), static_cast<uint64_t>(count), steps};
  const int64_t packs = (count * type_table[type].bytes + 15) / 16;
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, packs, count, context.launch);
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

}  // namespace dlt::cuda
