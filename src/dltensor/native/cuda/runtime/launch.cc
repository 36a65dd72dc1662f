// SPDX-License-Identifier: Apache-2.0
// The formulas of the tensor page, and the grid of our own kernels.
#include "native/cuda/runtime/launch.h"

#include <algorithm>

#include "native/cuda/runtime/thread_state.h"

namespace dlt::cuda {
namespace {

constexpr int max_threads = 1024;

int64_t up(int64_t a, int64_t b) noexcept { return a / b + (a % b != 0); }

int64_t values_for(int64_t numel, int multiprocessors, const Launch& launch) noexcept {
  if (launch.values_per_thread > 0) return launch.values_per_thread;
  const int64_t at_once = int64_t{std::max(1, multiprocessors)} * std::max(1, launch.blocks_per_sm) *
                          std::max(1, launch.num_threads);
  return std::clamp<int64_t>(up(numel, at_once), 1, 0xffffffff);
}

}  // namespace

Status check_launch(const Launch& launch) noexcept {
  if (launch.blocks_per_sm < 0) return fail(Fault::value, "blocks_per_sm must be 0 or more, got %d", launch.blocks_per_sm);
  if (launch.num_threads < 0 || launch.num_threads > max_threads)
    return fail(Fault::value, "num_threads must be 0 to %d, got %d", max_threads, launch.num_threads);
  if (launch.values_per_thread < 0)
    return fail(Fault::value, "values_per_thread must be 0 or more, got %lld",
                static_cast<long long>(launch.values_per_thread));
  return success;
}

int calc_threads(int threads, int major, int minor) noexcept {
  return threads ? threads : cores_per_multiprocessor(major, minor);
}

Blocks1d blocks_values_1d(int64_t numel, int multiprocessors, const Launch& launch) noexcept {
  if (numel <= 0) return {0, std::max<int64_t>(1, launch.values_per_thread), 0};
  const int64_t values = values_for(numel, multiprocessors, launch);
  return {up(up(numel, values), std::max(1, launch.num_threads)), values, numel};
}

BlocksNd blocks_values_nd(int ndim, const int64_t* shape, int multiprocessors, const Launch& launch) noexcept {
  int64_t count = 1;
  for (int d = 1; d < ndim; ++d) count *= shape[d];
  const int64_t rows = ndim > 0 ? shape[0] : 1;
  if (rows <= 0 || count <= 0) return {0, 0, 1, std::max<int64_t>(1, launch.values_per_thread), std::max<int64_t>(0, count)};
  const int64_t values = std::min(values_for(rows * count, multiprocessors, launch), rows);
  return {up(rows, values), up(count, std::max(1, launch.num_threads)), 1, values, count};
}

const Launch* thread_launch() noexcept { return thread_launch_here(); }

void set_thread_launch(const Launch* launch) noexcept {
  ThreadState& state = thread_state();
  state.has_launch = launch != nullptr;
  if (launch) state.launch = *launch;
}

Geometry geometry_for(const Device& device, int resident_blocks, int64_t items, int64_t elements,
                      const Launch* launch) noexcept {
  const Properties& p = device.properties;
  constexpr int64_t most_blocks = 2147483647;  // of a grid's first dimension
  if (!launch) {
    // Each block continues with a grid stride, so that no block waits for a free multiprocessor.
    constexpr unsigned threads = 256;
    const int64_t wanted = up(items, int64_t{threads});
    const int64_t resident = int64_t{p.multiprocessor_count} * resident_blocks;
    return {static_cast<unsigned>(std::clamp<int64_t>(std::min(wanted, resident), 1, most_blocks)), threads};
  }
  Launch resolved = *launch;
  resolved.num_threads = std::min(calc_threads(launch->num_threads, p.major, p.minor), p.max_threads_per_block);
  const Blocks1d blocks = blocks_values_1d(elements, p.multiprocessor_count, resolved);
  return {static_cast<unsigned>(std::clamp<int64_t>(blocks.num_blocks, 1, most_blocks)),
          static_cast<unsigned>(resolved.num_threads)};
}

}  // namespace dlt::cuda
