// SPDX-License-Identifier: Apache-2.0
// Launch configuration: the settings of the user, and the formulas that turn them into a grid. Every kernel
// loops with a grid stride, so a launch setting changes the speed and never the result.
#pragma once
#include <stdint.h>

#include "native/cuda/runtime/device.h"

namespace dlt::cuda {

// The three numbers that the tensor page gives its functions; 0 stands for "choose".
struct Launch {
  int blocks_per_sm = 8;
  int num_threads = 0;
  int64_t values_per_thread = 0;
};

// ValueError for settings that no device can run: negative numbers, more than 1024 threads.
DLT_API Status check_launch(const Launch& launch) noexcept;

// `threads`, or when that is 0 the number of cores of one multiprocessor.
DLT_API int calc_threads(int threads, int major, int minor) noexcept;

struct Blocks1d {
  int64_t num_blocks, values_per_thread, numel;
};
// values = ceil(numel / (multiprocessors * max(1, blocks_per_sm) * threads)) unless given, below 2^32;
// blocks = ceil(ceil(numel / values) / threads). Nothing to do: no blocks, values as given.
DLT_API Blocks1d blocks_values_1d(int64_t numel, int multiprocessors, const Launch& launch) noexcept;

struct BlocksNd {
  int64_t grid_x, grid_y, grid_z;
  int64_t values_per_thread, count;  // count: elements of one entry of dimension 0
};
// values as above but at most shape[0]; grid = (ceil(shape[0] / values), ceil(count / threads), 1).
DLT_API BlocksNd blocks_values_nd(int ndim, const int64_t* shape, int multiprocessors, const Launch& launch) noexcept;

// The calling thread's launch settings for operations that are given none; null when there are none.
DLT_API const Launch* thread_launch() noexcept;
DLT_API void set_thread_launch(const Launch* launch) noexcept;  // copied; null clears

// A grid in the driver's form.
struct Geometry {
  unsigned blocks, threads;
};
// For a kernel of `items` pieces of work for a thread each, over `elements` elements. With a launch: the page's formula
// for one dimension; without: as many blocks as run at once, unless fewer do.
Geometry geometry_for(const Device& device, int resident_blocks, int64_t items, int64_t elements,
                      const Launch* launch) noexcept;

}  // namespace dlt::cuda
