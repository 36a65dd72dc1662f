// SPDX-License-Identifier: Apache-2.0
// Masks: one bit for each element and the number of those that are set in each chunk, then the indices of what is set.
#pragma once
#include "native/cuda/kernels/counts.cuh"

namespace dlt::kernels::mask {

template <class W>
DLT_FN bool is_set(W v, uint64_t bits) {
  return (uint64_t(v) & bits) != 0;
}
DLT_FN bool is_set(wide_word v, uint64_t bits) { return ((v.low | v.high) & bits) != 0; }

// W is an element, in C order.
template <class W>
__global__ void __launch_bounds__(256) pack(const __grid_constant__ Mask p) {
  constexpr int words = mask_tile / 64;
  __shared__ uint8_t set[mask_tile];
  __shared__ uint64_t sums[counts::threads];
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const uint64_t first = tile * mask_tile;
    for (int e = threadIdx.x; e < mask_tile; e += counts::threads)
      set[e] = first + e < p.n && is_set(static_cast<const W*>(p.in)[first + e], p.bits);
    __syncthreads();
    uint64_t word = 0, all;
    if (threadIdx.x < words) {
      // Threads of a warp begin at different banks.
      for (int k = 0; k < 64; ++k) {
        const int b = (k + 4 * threadIdx.x) % 64;
        word |= uint64_t(set[threadIdx.x * 64 + b]) << b;
      }
      p.words[tile * words + threadIdx.x] = word;
    }
    counts::before_thread(sums, counts::bits_set(word), &all);
    if (threadIdx.x == 0) p.before[tile] = all;
  }
}

// The index of what is set along each of `dims` dimensions, in C order.
template <class I>
__global__ void __launch_bounds__(256) positions(const __grid_constant__ Mask p) {
  constexpr int words = mask_tile / 64;
  __shared__ uint64_t bits[words], ahead[words], sums[counts::threads];
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const uint64_t word = threadIdx.x < words ? p.words[tile * words + threadIdx.x] : 0;
    uint64_t all;
    const uint64_t before = counts::before_thread(sums, counts::bits_set(word), &all);
    if (threadIdx.x < words) {
      bits[threadIdx.x] = word;
      ahead[threadIdx.x] = p.before[tile] + before;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < mask_tile; e += counts::threads) {
      const uint64_t mine = bits[e / 64];
      if ((mine >> (e % 64) & 1) == 0) continue;
      const uint64_t to = ahead[e / 64] + counts::bits_set(mine & ((uint64_t(1) << (e % 64)) - 1));
      uint64_t index = tile * mask_tile + e;
      for (int d = p.dims - 1; d > 0; --d) {
        uint64_t rest;
        index = divide(p.extent[d], index, &rest);
        static_cast<I*>(p.to[d])[to] = I(rest);
      }
      static_cast<I*>(p.to[0])[to] = I(index);
    }
    __syncthreads();
  }
}

}  // namespace dlt::kernels::mask
