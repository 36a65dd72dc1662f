// SPDX-License-Identifier: Apache-2.0
// Places of values among sorted ones; counts of bins.
#include "native/cpu/sort/key_form.h"
#include "native/cuda/sort/sort.h"

namespace dlt::cuda {

Status searchsorted(const Operand& sorted, const Operand& values, const Operand& out, bool after,
                    const LaunchContext& context) noexcept {
  if (is_misaligned(*sorted.tensor)) [[unlikely]]
    return with_aligned(sorted, context, [&](const Operand& x) { return searchsorted(x, values, out, after, context); });
  if (is_misaligned(*values.tensor)) [[unlikely]]
    return with_aligned(values, context, [&](const Operand& x) { return searchsorted(sorted, x, out, after, context); });
  int type;
  DLT_TRY(type_of("searchsorted", *sorted.tensor, &type));
  Device& device = *context.stream->device;
  const auto bytes = static_cast<int>(type_table[type].bytes);
  const int64_t n = numel(values.tensor->ndim, values.tensor->shape);
  if (n == 0) return success;
  kernels::Search p{};
  p.sorted = reinterpret_cast<const void*>(address(*sorted.tensor));
  p.values = reinterpret_cast<const void*>(address(*values.tensor));
  p.out = reinterpret_cast<int64_t*>(address(*out.tensor));
  p.count = static_cast<uint64_t>(numel(sorted.tensor->ndim, sorted.tensor->shape));
  p.n = static_cast<uint64_t>(n);
  p.after = after;
  p.form = key_form(type, false, true);
  Kernel kernel;
  DLT_TRY(family_kernel(
      device, Family::search, static_cast<uint64_t>(bytes), "native/cuda/kernels/sort/search.cuh",
      [&] { return std::string("search::places<") + type_name(word_type(bytes)) + ", " + type_name(signed_twin(bytes)) + ">"; },
      &kernel));
  DLT_TRY(use(sorted.block, *context.stream, false));
  DLT_TRY(use(values.block, *context.stream, false));
  DLT_TRY(use(out.block, *context.stream, true));
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, n, n, with_launch(context).launch);
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

Status tally(const Operand& bins, const Operand*, const Operand& counts, const LaunchContext& context) noexcept {
  if (is_misaligned(*bins.tensor)) [[unlikely]]
    return with_aligned(bins, context, [&](const Operand& x) { return tally(x, nullptr, counts, context); });
  Stream& stream = *context.stream;
  Device& device = *stream.device;
  const int64_t zero = 0;
  DLT_TRY(fill(&zero, counts, context));
  kernels::Tally p{};
  p.bins = reinterpret_cast<const int64_t*>(address(*bins.tensor));
  p.counts = reinterpret_cast<uint64_t*>(address(*counts.tensor));
  p.n = static_cast<uint64_t>(numel(bins.tensor->ndim, bins.tensor->shape));
  p.size = static_cast<uint64_t>(numel(counts.tensor->ndim, counts.tensor->shape));
  if (p.n == 0 || p.size == 0) return success;
  const bool shared = p.size <= kernels::tally_shared;
  Kernel kernel;
  DLT_TRY(family_kernel(
      device, Family::search, 16 | shared, "native/cuda/kernels/sort/search.cuh",
      [&] { return std::string("search::tally<uint64_t, ") + (shared ? "true>" : "false>"); }, &kernel));
  DLT_TRY(use(bins.block, stream, false));
  DLT_TRY(use(counts.block, stream, true));
  constexpr unsigned threads = 256;
  return launch_kernel(device, kernel, blocks_for(device, kernel, (p.n + threads - 1) / threads, threads), stream, &p);
}

}  // namespace dlt::cuda
