// SPDX-License-Identifier: Apache-2.0
// Running sums of counts: how much lies ahead of each. A tile is what a block takes at a time; where there are several,
// the sums of tiles are added up first, by a launch of their own, so that no block waits for another.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::counts {

inline constexpr int threads = 256, each = counts_tile / threads;

DLT_FN unsigned bits_set(unsigned v) {
#if defined(__CUDACC_RTC__)
  return __popc(v);
#else
  return __builtin_popcount(v);
#endif
}
DLT_FN uint64_t bits_set(uint64_t v) { return bits_set(unsigned(v)) + bits_set(unsigned(v >> 32)); }

// The sum of what the threads before this one have; `sums` is shared memory for `threads` of them, `all` the sum of the block.
DLT_FN uint64_t before_thread(uint64_t* sums, uint64_t own, uint64_t* all) {
  const int t = threadIdx.x;
  sums[t] = own;
#pragma unroll 1
  for (int step = 1; step < threads; step *= 2) {
    __syncthreads();
    const uint64_t other = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += other;
  }
  __syncthreads();
  *all = sums[threads - 1];
  const uint64_t before = sums[t] - own;
  __syncthreads();
  return before;
}

// The sum of each tile.
template <class U>
__global__ void __launch_bounds__(256) totals(const __grid_constant__ Counts p) {
  __shared__ uint64_t sums[threads];
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    uint64_t own = 0, all;
    for (int k = 0; k < each; ++k) {
      const uint64_t at = tile * counts_tile + k * threads + threadIdx.x;
      if (at < p.n) own += static_cast<const U*>(p.data)[at];
    }
    before_thread(sums, own, &all);
    if (threadIdx.x == 0) p.totals[tile] = all;
  }
}

// data[i] becomes the sum of those ahead, and data[n] that of all. ALONE: one block takes all tiles, one after the other; else
// `totals` are the sums ahead of each tile.
template <class U, bool ALONE>
__global__ void __launch_bounds__(256) within(const __grid_constant__ Counts p) {
  __shared__ uint64_t sums[threads];
  U* const data = static_cast<U*>(p.data);
  uint64_t carried = 0;
  for (uint64_t tile = ALONE ? 0 : blockIdx.x; tile < p.tiles; tile += ALONE ? 1 : gridDim.x) {
    const uint64_t first = tile * counts_tile + threadIdx.x * each;
    uint64_t loaded[each], own = 0, all;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      loaded[k] = first + k < p.n ? data[first + k] : 0;
      own += loaded[k];
    }
    uint64_t before = before_thread(sums, own, &all) + (ALONE ? carried : p.totals[tile]);
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (first + k < p.n) data[first + k] = before;
      before += loaded[k];
    }
    carried += all;
    if (tile + 1 == p.tiles && threadIdx.x == threads - 1) data[p.n] = before;
  }
}

}  // namespace dlt::kernels::counts
