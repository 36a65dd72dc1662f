// SPDX-License-Identifier: Apache-2.0
// Binary search of values among sorted ones, by their keys; a value is one thread's. Counts of bins.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::search {

// S is the signed twin of U.
template <class U, class S>
__global__ void __launch_bounds__(1024) places(const __grid_constant__ Search p) {
  const U* const sorted = static_cast<const U*>(p.sorted);
  for (uint64_t i = first_item(); i < p.n; i += all_threads()) {
    const U key = key_of<U, S>(static_cast<const U*>(p.values)[i], p.form);
    uint64_t first = 0, left = p.count;
#pragma unroll 1
    while (left > 0) {
      const uint64_t half = left / 2;
      const U middle = key_of<U, S>(sorted[first + half], p.form);
      const bool ahead = p.after ? middle <= key : middle < key;
      if (ahead) first += half + 1;
      left = ahead ? left - half - 1 : half;
    }
    p.out[i] = int64_t(first);
  }
}

// Leaves out values outside of the bins. SHARED: a block counts by itself first, fewer than 2^32 of each, as no memory holds so
// many elements for each block that a device runs at once.
template <class U, bool SHARED>
__global__ void __launch_bounds__(256) tally(const __grid_constant__ Tally p) {
  __shared__ unsigned found[SHARED ? tally_shared : 1];
  if constexpr (SHARED) {
#pragma unroll 1
    for (uint64_t bin = threadIdx.x; bin < p.size; bin += blockDim.x) found[bin] = 0;
    __syncthreads();
  }
  for (uint64_t i = first_item(); i < p.n; i += all_threads()) {
    const auto bin = U(p.bins[i]);
    if (bin >= p.size) continue;
    if constexpr (SHARED) atomicAdd(&found[bin], 1u);
    else atomicAdd(reinterpret_cast<unsigned long long*>(p.counts) + bin, 1ull);
  }
  if constexpr (SHARED) {
    __syncthreads();
#pragma unroll 1
    for (uint64_t bin = threadIdx.x; bin < p.size; bin += blockDim.x)
      if (found[bin] != 0)
        atomicAdd(reinterpret_cast<unsigned long long*>(p.counts) + bin, static_cast<unsigned long long>(found[bin]));
  }
}

}  // namespace dlt::kernels::search
