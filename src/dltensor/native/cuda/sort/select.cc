// SPDX-License-Identifier: Apache-2.0
#include "native/cuda/sort/select.h"

#include <algorithm>

#include "native/cpu/sort/key_form.h"
#include "native/cuda/sort/sort.h"
#include "native/layout/axis_last.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 512, digits = 256;
constexpr const char* select_header = "native/cuda/kernels/sort/select.cuh";

enum class Step : uint64_t { upper, lower, keep, chosen };

Status launch(Step step, int bytes, bool wide, uint64_t blocks, unsigned block_threads, const LaunchContext& context,
              kernels::Select* p) noexcept {
  Device& device = *context.stream->device;
  Kernel kernel;
  const uint64_t number = static_cast<uint64_t>(step) | static_cast<uint64_t>(bytes) << 2 | static_cast<uint64_t>(wide) << 6;
  DLT_TRY(family_kernel(
      device, Family::select, number, select_header,
      [&] {
        static const char* const names[] = {"upper", "lower", "keep", "chosen"};
        std::string name = std::string("select::") + names[static_cast<int>(step)] + "<" + type_name(word_type(bytes));
        if (step != Step::chosen) name += std::string(", ") + type_name(signed_twin(bytes));
        if (step == Step::keep) name += wide ? ", uint64_t" : ", uint32_t";
        return name + ">";
      },
      &kernel));
  return launch_kernel(device, kernel, blocks_for(device, kernel, blocks, block_threads), *context.stream, p);
}

}  // namespace

bool selects(int64_t n, int64_t count) noexcept { return n > 16 * int64_t{kernels::sort_tile} && count <= n / 16; }

Status select(const Operand& from, const Operand* elements, const Operand* indices, int64_t first, int64_t last,
              bool descending, bool nan_spoils, const LaunchContext& context) noexcept {
  return guarded("sort", [&]() -> Status {
    Stream& stream = *context.stream;
    int type;
    DLT_TRY(type_of("sort", *from.tensor, &type));
    const auto bytes = static_cast<int>(type_table[type].bytes);
    DLT_TRY(use(from.block, stream, false));
    if (elements) DLT_TRY(use(elements->block, stream, true));
    if (indices) DLT_TRY(use(indices->block, stream, true));
    kernels::Select p{};
    p.n = static_cast<uint64_t>(numel(from.tensor->ndim, from.tensor->shape));
    CarryingKeys sorted;
    DLT_TRY(sorted.make(p.n, bytes, stream));
    p.in = reinterpret_cast<const void*>(address(*from.tensor));
    p.out = elements ? reinterpret_cast<void*>(address(*elements->tensor)) : nullptr;
    p.indices = indices ? reinterpret_cast<int64_t*>(address(*indices->tensor)) : nullptr;
    p.runs = std::min(sorted.runs(), p.n / (2 * kernels::sort_tile));  // counts of a run are worth two tiles or more
    p.first = static_cast<uint64_t>(first), p.last = static_cast<uint64_t>(last);
    p.wide = sorted.wide(), p.nan_spoils = nan_spoils;
    p.form = key_form(type, descending, true);
    // The state, where runs keep their elements, and counts.
    Scratch memory;
    DLT_TRY(memory.make(sizeof(kernels::Selected) + p.runs * 8 + p.runs * 3 * digits * 4, stream));
    p.state = memory.as<kernels::Selected>();
    p.offsets = reinterpret_cast<uint64_t*>(p.state + 1);
    p.counts = reinterpret_cast<uint32_t*>(p.offsets + p.runs);
    {
      Current current(*stream.device);
      DLT_CU(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(p.state), 0, sizeof(kernels::Selected) / 4, stream.handle));
    }
    DLT_TRY(launch(Step::upper, bytes, false, p.runs, threads, context, &p));
    if (bytes > 1) DLT_TRY(launch(Step::lower, bytes, false, p.runs, threads, context, &p));
    p.keys = sorted.keys(), p.numbers = sorted.take_numbers();
    DLT_TRY(launch(Step::keep, bytes, sorted.wide(), p.runs, threads, context, &p));
    DLT_TRY(sorted.sort(8 * bytes, context, &p.state->live));
    p.numbers = const_cast<void*>(sorted.carried());
    const uint64_t count = p.last - p.first + 1;
    return launch(Step::chosen, bytes, false, (count + 255) / 256, 256, context, &p);
  });
}

Status select_places(const Operand& x, int axis, int64_t first, int64_t last, const Operand& out, const LaunchContext& context,
                     bool* ran) noexcept {
  const int64_t n = numel(x.tensor->ndim, x.tensor->shape);
  *ran = x.tensor->ndim > 0 && x.tensor->shape[axis] == n && selects(n, last - first + 1);
  if (!*ran) return success;
  const AxisLast from(*x.tensor, axis);
  Operand source(&from.tensor, x.block);
  Temporary line;
  if (!from.in_order() || is_misaligned(*x.tensor)) {
    DLT_TRY(line.make(from.tensor, *context.stream));
    DLT_TRY(copy(source, line.operand(), context));
    source = line.operand();
  }
  return select(source, &out, nullptr, first, last, false, true, context);
}

}  // namespace dlt::cuda
