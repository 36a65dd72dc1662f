// SPDX-License-Identifier: Apache-2.0
// Counts of tiles: how much lies ahead of each. A tile is what a block takes at a time, in order; it says what it has, and adds up
// what earlier ones say (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016). A block waits
// for tiles only that others have taken before.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::counts {

inline constexpr int threads = 256;

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

// The word of a tile: bit 0 tells whether earlier tiles are counted too, bits 1 to 7 the pass that is meant, from 1 on, those above
// are the count. One store writes all of it, so that no fence is needed.
DLT_FN uint64_t said(uint64_t count, uint64_t pass, bool whole) { return count << 8 | pass << 1 | uint64_t(whole); }
DLT_FN bool is_said(uint64_t word, uint64_t pass) { return (word >> 1 & 0x7f) == pass; }

// The number of the tile that this block takes next. `taken` is shared memory; ends with a barrier.
DLT_FN uint64_t take_tile(uint32_t* ticket, unsigned* taken) {
  if (threadIdx.x == 0) *taken = atomicAdd(ticket, 1u);
  __syncthreads();
  return *taken;
}

// How much is ahead of a tile that has `own`; by a whole warp, which looks at 32 tiles at a time. `words` are those of all tiles.
DLT_FN uint64_t ahead_of(uint64_t* words, uint64_t tile, uint64_t own) {
  constexpr unsigned all = 0xffffffffu;
  volatile uint64_t* const told = words;
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) told[tile] = said(own, 1, tile == 0);
  uint64_t before = 0;
#pragma unroll 1
  for (uint64_t past = tile; past > 0;) {
    uint64_t word;
    do word = lane < past ? told[past - 1 - lane] : said(0, 1, true);
    while (__any_sync(all, !is_said(word, 1)));
    const unsigned whole = __ballot_sync(all, (word & 1) != 0),
                   nearer = whole - 1 & ~whole;  // lanes before the first that is whole
    uint64_t sum = (nearer >> lane & 1) != 0 || (whole & nearer + 1 & 1u << lane) != 0 ? word >> 8 : 0;
#pragma unroll
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(all, sum, by);
    before += sum;
    if (whole != 0) break;
    past -= 32;
  }
  if (lane == 0 && tile > 0) told[tile] = said(before + own, 1, true);
  return before;
}

}  // namespace dlt::kernels::counts
