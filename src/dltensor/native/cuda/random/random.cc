// SPDX-License-Identifier: Apache-2.0
// Random values in device memory, numbers at equal steps and ramps: one launch of kernels/random/random.cuh, samples.cuh, steps.cuh
// or ramps.cuh.
#include "native/cuda/random/random.h"

#include <cmath>

#include "native/cuda/elementwise/plan.h"
#include "native/layout/layout.h"
#include "native/ops/random/draws.h"
#include "native/ops/random/steps.h"

namespace dlt::cuda {
namespace {

// The kernel of a distribution; `words` is 0 where a value takes whole blocks.
Status draw_kernel(Device& device, Distribution distribution, int type, int words, Kernel* kernel) noexcept {
  KernelKey key;
  key.add(3, 2);
  key.add(62, 6);  // no dtype: see reduce.cc
  key.add(static_cast<uint64_t>(distribution), 6);
  key.add(static_cast<uint64_t>(type), 6);
  key.add(static_cast<uint64_t>(words), 2);
  return kernel_of(
      device, key, words ? "native/cuda/kernels/random/random.cuh" : "native/cuda/kernels/random/samples.cuh",
      [&] {
        const std::string name = words ? "random::values<" : "random::samples<";
        return name + std::to_string(static_cast<int>(distribution)) + ", " + type_name(type) +
               (words ? ", " + std::to_string(words) : "") + ">";
      },
      kernel);
}

}  // namespace

Status draw(Distribution distribution, int type, int words, const Draw& how, uint64_t position, int64_t n, const Operand& out,
            const LaunchContext& context) noexcept {
  if (n == 0) return success;
  if (is_misaligned(*out.tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& aligned) {
      return draw(distribution, type, words, how, position, n, aligned, context);
    });
  Device& device = *context.stream->device;
  Kernel kernel;
  DLT_TRY(draw_kernel(device, distribution, type, words, &kernel));
  drawn::Run p;
  p.out = reinterpret_cast<void*>(address(*out.tensor));
  p.count = static_cast<uint64_t>(n);
  p.position = position;
  p.draw = how;
  for (int k = 0; k < 2 && how.parameters; ++k) {
    const Operand& parameter = how.parameters[k];
    if (parameter.tensor == nullptr) continue;
    DLT_TRY(use(parameter.block, *context.stream, false));
    p.draw.arrays[k] = reinterpret_cast<const double*>(address(*parameter.tensor));
  }
  DLT_TRY(use(out.block, *context.stream, true));
  p.blocks = p.count;
  if (words > 0) {
    const uint64_t values = 4 / static_cast<uint64_t>(words), skip = position % 4 / static_cast<uint64_t>(words);
    p.blocks = (skip + p.count + values - 1) / values;
  }
  // The kernels of samples.cuh have at most 256 threads, which is the choice without a setting.
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, static_cast<int64_t>(p.blocks), n,
                                         words > 0 ? context.launch : nullptr);
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

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

namespace {

// The numbers that round_quickly() takes.
ramps::Quick quick_of(const Ramp& r) noexcept {
  __extension__ typedef __int128 wide_int;
  constexpr int bits = 126;  // which no number reaches, and no step
  ramps::Quick q{};
  const int exponent = bits - r.fraction;
  q.known = exponent > -800 && exponent < 900;
  if (!q.known) return q;
  const auto first = static_cast<wide_int>(r.first_high) * (wide_int{1} << 64) + r.first_low;
  const auto step = static_cast<wide_int>(r.step_high) * (wide_int{1} << 64) + r.step_low;
  const double unit = std::ldexp(1.0, -r.fraction);
  q.first = static_cast<double>(first);
  q.first_low = static_cast<double>(first - static_cast<wide_int>(q.first)) * unit;
  q.step = static_cast<double>(step);
  q.step_low = (static_cast<double>(step - static_cast<wide_int>(q.step)) +
                static_cast<double>(r.rest) / static_cast<double>(r.steps)) *
               unit;
  q.first *= unit;
  q.step *= unit;
  // Products, sums and numbers are multiples of one power of two, and below 2^53 times it.
  const bool exact = r.rest == 0 && ((first | step) & ((wide_int{1} << (bits - 52)) - 1)) == 0;
  // Errors of a number of two parts, each below 2^-105 of the largest one; and of a number of one part, below 2^-51.
  q.fine = exact ? 0 : std::ldexp(1.0, exponent - 100);
  q.coarse = exact ? 0 : std::ldexp(1.0, exponent - 48);
  return q;
}

}  // namespace

Status fill_ramp(const Ramp& ramp, int part, const Operand& out, const LaunchContext& context) noexcept {
  const DLTensor& tensor = *out.tensor;
  const int64_t count = numel(tensor.ndim, tensor.shape);
  if (count == 0) return success;
  if (is_misaligned(tensor)) [[unlikely]]
    return through_aligned(out, context, [&](const Operand& aligned) { return fill_ramp(ramp, part, aligned, context); });
  Device& device = *context.stream->device;
  const int type = find_type(tensor.dtype);
  Kernel kernel;
  DLT_TRY(family_kernel(
      device, Family::ramps, static_cast<uint64_t>(type), "native/cuda/kernels/random/ramps.cuh",
      [&] { return std::string("random::ramp<") + type_name(type) + ">"; }, &kernel));
  DLT_TRY(use(out.block, *context.stream, true));
  ramps::Run p{reinterpret_cast<void*>(address(tensor)), static_cast<uint64_t>(count), ramp, quick_of(ramp)};
  const int64_t packs = (count * type_table[type].bytes + 15) / 16;
  const Geometry geometry = geometry_for(device, kernel.blocks_per_multiprocessor, packs, count, context.launch);
  return launch_kernel(device, kernel, geometry, *context.stream, &p);
}

}  // namespace dlt::cuda
