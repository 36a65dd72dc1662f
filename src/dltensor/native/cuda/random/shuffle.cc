// SPDX-License-Identifier: Apache-2.0
// Random orders in device memory: partners of all steps, sorted, and two launches that follow what the steps exchange.
#include <bit>

#include "native/cuda/elementwise/plan.h"
#include "native/cuda/random/random.h"
#include "native/cuda/sort/sort.h"
#include "native/ops/random/shuffles.h"

namespace dlt::cuda {
namespace {

enum class Step : uint64_t { partners, links, orders };

Status launch(Step step, int bytes, int64_t items, const LaunchContext& context, shuffles::Run* p) noexcept {
  Device& device = *context.stream->device;
  const char* const names[] = {"partners<", "links<", "orders<"};
  Kernel kernel;
  DLT_TRY(family_kernel(
      device, Family::shuffle, static_cast<uint64_t>(step) << 4 | static_cast<uint64_t>(bytes),
      "native/cuda/kernels/random/shuffles.cuh",
      [&] {
        return std::string("random::") + names[static_cast<int>(step)] + type_name(word_type(bytes)) +
               (step == Step::partners ? bytes == 8 ? ", 2>" : ", 1>" : ">");
      },
      &kernel));
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, items, p->shuffle.count, context.launch);
  return launch_kernel(device, kernel, geometry, *context.stream, p);
}

}  // namespace

Status shuffle(const Shuffle& shuffle, const Operand& out, const LaunchContext& context) noexcept {
  if (shuffle.count == 0) return success;
  if (is_misaligned(*out.tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& aligned) { return cuda::shuffle(shuffle, aligned, context); });
  const int bytes = shuffles::words_of(shuffle.n) == 2 ? 8 : 4;
  shuffles::Run p{};
  p.shuffle = shuffle;
  p.out = reinterpret_cast<int64_t*>(address(*out.tensor));
  CarryingKeys steps;
  Scratch links;
  DLT_TRY(steps.make(static_cast<uint64_t>(shuffle.count), bytes, *context.stream));
  DLT_TRY(links.make(static_cast<uint64_t>(shuffle.count) * static_cast<uint64_t>(bytes), *context.stream));
  DLT_TRY(use(out.block, *context.stream, true));
  p.keys = steps.keys();
  p.links = links.as<void>();
  DLT_TRY(launch(Step::partners, bytes, shuffle.count / 4 * (bytes / 4) + 2, context, &p));
  DLT_TRY(steps.sort(static_cast<int>(std::bit_width(static_cast<uint64_t>(shuffle.n - 1))), context));
  p.keys = steps.keys();
  p.numbers = steps.carried();
  p.wide = steps.wide();
  DLT_TRY(launch(Step::links, bytes, shuffle.count, context, &p));
  return launch(Step::orders, bytes, shuffle.count, context, &p);
}

}  // namespace dlt::cuda
