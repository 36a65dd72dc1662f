// SPDX-License-Identifier: Apache-2.0
// Masks: one bit for each element and how many are set ahead of each tile, then what is set: its elements, or its indices.
#pragma once
#include "native/cuda/kernels/index/counts.cuh"

namespace dlt::kernels::mask {

template <class W>
DLT_FN bool is_set(W v, uint64_t bits) {
  return (uint64_t(v) & bits) != 0;
}
DLT_FN bool is_set(wide_word v, uint64_t bits) { return ((v.low | v.high) & bits) != 0; }

// Bit j: byte j of a word has one of the bits that `bits` has in every byte.
DLT_FN uint32_t set_bytes(uint32_t word, uint32_t bits) {
  return (bytes::truths(bytes::nonzero(word & bits)) * 0x01020408u) >> 24 & 0xf;
}

// The elements of a thread, as bits, from the first.
template <class W, int COUNT>
DLT_FN unsigned set_of(const W* in, uint64_t bits) {
  constexpr int VEC = sizeof(W) < 16 ? 16 / sizeof(W) : 1;
  static_assert(COUNT == 16 && COUNT % VEC == 0);
  unsigned set = 0;
  if constexpr (sizeof(W) == 1) {
    const Pack<uint32_t, 4> words = *reinterpret_cast<const Pack<uint32_t, 4>*>(in);
#pragma unroll
    for (int k = 0; k < 4; ++k) set |= set_bytes(words.at[k], uint32_t(bits & 0xff) * bytes::ones) << (4 * k);
  } else {
    Pack<W, VEC> loaded[COUNT / VEC];
#pragma unroll
    for (int k = 0; k < COUNT / VEC; ++k) loaded[k] = reinterpret_cast<const Pack<W, VEC>*>(in)[k];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) set |= unsigned(is_set(loaded[k / VEC].at[k % VEC], bits)) << k;
  }
  return set;
}

// W is an element, in C order. A thread takes 16 of them.
template <class W>
__global__ void __launch_bounds__(256) pack(const __grid_constant__ Mask p) {
  constexpr int each = mask_tile / counts::threads;
  constexpr int warps = counts::threads / 32;
  __shared__ unsigned sums[warps], taken;
  const W* const in = static_cast<const W*>(p.in);
  const bool aligned = sizeof(W) == 16 || (reinterpret_cast<uint64_t>(in) & 15) == 0;
  for (uint64_t tile; (tile = counts::take_tile(p.ticket, &taken)) < p.tiles;) {
    const uint64_t first = tile * mask_tile + threadIdx.x * each;
    unsigned set = 0;
    if (aligned && first + each <= p.n) {
      set = set_of<W, each>(in + first, p.bits);
    } else {
#pragma unroll 1
      for (int k = 0; k < each; ++k)
        if (first + k < p.n) set |= unsigned(is_set(in[first + k], p.bits)) << k;
    }
    reinterpret_cast<uint16_t*>(p.words)[tile * counts::threads + threadIdx.x] = uint16_t(set);
    auto found = unsigned(counts::bits_set(set));
#pragma unroll
    for (int by = 16; by > 0; by /= 2) found += __shfl_down_sync(0xffffffffu, found, by);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = found;
    __syncthreads();
    if (threadIdx.x < 32) {
      unsigned all = 0;
      for (int k = 0; k < warps; ++k) all += sums[k];
      const uint64_t before = counts::ahead_of(p.told, tile, all);
      if (threadIdx.x == 0) {
        p.before[tile] = before;
        if (tile + 1 == p.tiles) p.before[p.tiles] = before + all;
      }
    }
    __syncthreads();
  }
}

// The bits of a tile, and how many are set ahead of each 64 of them.
struct TileBits {
  static constexpr int words = mask_tile / 64;
  uint64_t bits[words], ahead[words], sums[counts::threads];

  // Ends with a barrier.
  DLT_FN void read(const Mask& p, uint64_t tile) {
    const uint64_t word = threadIdx.x < words ? p.words[tile * words + threadIdx.x] : 0;
    uint64_t all;
    const uint64_t before = counts::before_thread(sums, counts::bits_set(word), &all);
    if (threadIdx.x < words) {
      bits[threadIdx.x] = word;
      ahead[threadIdx.x] = p.before[tile] + before;
    }
    __syncthreads();
  }
  // Calls `put` for elements of this thread that are set, with how many are set ahead of each. Ends with a barrier.
  template <class F>
  DLT_FN void each_set(F put) const {
#pragma unroll 4
    for (int e = threadIdx.x; e < mask_tile; e += counts::threads) {
      const uint64_t word = bits[e / 64];
      if ((word >> (e % 64) & 1) != 0) put(e, ahead[e / 64] + counts::bits_set(word & ((uint64_t(1) << (e % 64)) - 1)));
    }
    __syncthreads();
  }
};

// The elements that are set, in C order.
template <class W>
__global__ void __launch_bounds__(256) elements(const __grid_constant__ Mask p) {
  __shared__ TileBits tile_bits;
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    tile_bits.read(p, tile);
    const W* const in = static_cast<const W*>(p.in) + tile * mask_tile;
    tile_bits.each_set([&](int e, uint64_t to) { static_cast<W*>(p.out)[to] = in[e]; });
  }
}

// The index of what is set along each of `dims` dimensions, in C order.
template <class I>
__global__ void __launch_bounds__(256) positions(const __grid_constant__ Mask p) {
  __shared__ TileBits tile_bits;
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    tile_bits.read(p, tile);
    tile_bits.each_set([&](int e, uint64_t to) {
      uint64_t index = tile * mask_tile + e;
#pragma unroll 1
      for (int d = p.dims - 1; d > 0; --d) {
        uint64_t rest;
        index = divide(p.extent[d], index, &rest);
        static_cast<I*>(p.to[d])[to] = I(rest);
      }
      static_cast<I*>(p.to[0])[to] = I(index);
    });
  }
}

}  // namespace dlt::kernels::mask
