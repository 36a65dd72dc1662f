// SPDX-License-Identifier: Apache-2.0
// Random values in device memory: one launch of kernels/random/random.cuh.
#include "native/cuda/random/random.h"

#include "native/cuda/elementwise/plan.h"
#include "native/ops/random/draws.h"

namespace dlt::cuda {

Status draw(Distribution distribution, int type, int words, const Draw& how, uint64_t position, int64_t n, const Operand& out,
            const LaunchContext& context) noexcept {
  if (n == 0) return success;
  if (is_misaligned(*out.tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& aligned) {
      return draw(distribution, type, words, how, position, n, aligned, context);
    });
  Device& device = *context.stream->device;
  KernelKey key;
  key.add(3, 2);
  key.add(62, 6);  // no dtype: see reduce.cc
  key.add(static_cast<uint64_t>(distribution), 4);
  key.add(static_cast<uint64_t>(type), 6);
  key.add(static_cast<uint64_t>(words), 2);
  Kernel kernel;
  DLT_TRY(kernel_of(
      device, key, "native/cuda/kernels/random/random.cuh",
      [&] {
        return "random::values<" + std::to_string(static_cast<int>(distribution)) + ", " + type_name(type) + ", " +
               std::to_string(words) + ">";
      },
      &kernel));
  DLT_TRY(use(out.block, *context.stream, true));
  const uint64_t values = 4 / static_cast<uint64_t>(words), skip = position % 4 / static_cast<uint64_t>(words);
  drawn::Run p;
  p.out = reinterpret_cast<void*>(address(*out.tensor));
  p.count = static_cast<uint64_t>(n);
  p.position = position;
  p.blocks = (skip + p.count + values - 1) / values;
  p.draw = how;
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, static_cast<int64_t>(p.blocks), n,
                                         context.launch);
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

}  // namespace dlt::cuda
