// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extremes in one launch, where their order does not matter and elements of a row lie closer than rows.
// Tiles are taken as in counts.cuh: a thread block waits for what earlier ones say.
#pragma once
#include "native/cuda/kernels/index/counts.cuh"
#include "native/cuda/kernels/scan/scan.cuh"

namespace dlt::kernels::scan {

// A block of a row has a flag and two states: of itself, and of all blocks up to it.
enum Said : uint64_t { nothing, own, whole };
template <class Body, int DIMS>
struct PieceStates {
  const Scanned<DIMS>& p;
  using word = typename Body::word;
  static constexpr int members = Body::members;
  static_assert(sizeof(word) * members <= 32, "room for a state");
  DLT_FN volatile uint64_t* flag(uint64_t piece) const { return static_cast<volatile uint64_t*>(p.flags) + piece; }
  DLT_FN word* state(uint64_t piece, Said said) const {
    return static_cast<word*>(p.states) + (2 * piece + (said == whole ? 1 : 0)) * members;
  }
  DLT_FN void say(uint64_t piece, const word* state_of, Said said) const {
    for (int m = 0; m < members; ++m) state(piece, said)[m] = state_of[m];
    __threadfence();
    *flag(piece) = said;
  }
  // Leaves in `before` what the blocks before a piece come to; by a whole warp, which looks at 32 of them at a time. `room` is shared
  // memory for the states of 32; the result is that of the first lane.
  DLT_FN void ahead_of(uint64_t row, uint64_t block, word* room, word* before) const {
    constexpr unsigned all = 0xffffffffu;
    const unsigned lane = threadIdx.x % 32;
    Body::start(before);
#pragma unroll 1
    for (uint64_t past = block; past > 0;) {
      const bool there = lane < past;
      const uint64_t piece = there ? (past - 1 - lane) * p.rows + row : 0;
      uint64_t said;
      do said = there ? *flag(piece) : uint64_t(whole);
      while (__any_sync(all, said == nothing));
      __threadfence();
      const unsigned ends = __ballot_sync(all, said == whole), nearer = (ends - 1) & ~ends;
      const bool counts = there && ((nearer >> lane & 1) != 0 || (ends & (nearer + 1) & 1u << lane) != 0);
      for (int m = 0; m < members; ++m)
        if (counts) room[lane * members + m] = static_cast<const volatile word*>(state(piece, Said(said)))[m];
      const unsigned counted = __ballot_sync(all, counts);
      __syncwarp();
      if (lane == 0)
        for (unsigned k = 0; k < 32 && (counted >> k & 1) != 0; ++k) Body::advance(before, room + k * members);
      __syncwarp();
      if (ends != 0) return;
      past -= 32;
    }
  }
  // Says what a piece comes to, and what all up to it do; leaves what is before it in `before`. By a whole warp; `all` is the same in
  // each thread.
  DLT_FN void say_all(uint64_t row, uint64_t block, uint64_t piece, const word* all, word* room, word* before) const {
    word ahead[members];
    if (threadIdx.x == 0) say(piece, all, block == 0 ? whole : own);
    ahead_of(row, block, room, ahead);
    if (threadIdx.x != 0) return;
    for (int m = 0; m < members; ++m) before[m] = ahead[m];
    if (block == 0) return;
    Body::advance(ahead, all);
    say(piece, ahead, whole);
  }
};

// Replaces the sum of a thread by the sum of those before it in its block. `sums` has room for each, and leaves the sum of a warp with
// its last thread.
template <class Body>
DLT_FN void sum_threads_before(typename Body::word* sums, typename Body::word* sum) {
  constexpr int members = Body::members;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  typename Body::word* const slot = sums + threadIdx.x * members;
#pragma unroll 1
  for (unsigned by = 1; by < 32; by *= 2) {
    for (int m = 0; m < members; ++m) slot[m] = sum[m];
    __syncwarp();
    if (lane >= by) Body::advance(sum, slot - by * members);
    __syncwarp();
  }
  for (int m = 0; m < members; ++m) slot[m] = sum[m];
  __syncthreads();
  Body::start(sum);
  for (unsigned w = 0; w < warp; ++w) Body::advance(sum, sums + (w * 32 + 31) * members);
  if (lane > 0) Body::advance(sum, slot - members);
}

template <class Body, class M, class R, int DIMS>
__global__ void __launch_bounds__(256, 3) at_once(const __grid_constant__ Scanned<DIMS> p) {
  using C = typename Body::C;
  using word = typename Body::word;
  constexpr int members = Body::members, count = int(scans::block) / threads, warps = threads / 32;
  __shared__ Cell<C, R> cells[threads * (count + 1)];
  __shared__ word sums[threads * members], before[members], room[32 * members];
  __shared__ unsigned taken;
  const PieceStates<Body, DIMS> states{p};
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp * (32 * count) + lane;
  const auto cell_of = [](unsigned i) { return i / count * (count + 1) + i % count; };
  Cell<C, R>* const thread_cells = cells + threadIdx.x * (count + 1);
  for (uint64_t piece; (piece = counts::take_tile(p.ticket, &taken)) < p.rows * p.blocks;) {
    uint64_t row;
    const uint64_t block = divide(p.row_count, piece, &row), begin = block * scans::block;
    const unsigned length = p.count - begin < scans::block ? unsigned(p.count - begin) : unsigned(scans::block);
    int64_t in, out;
    place_of(p, row, &in, &out);
    in += int64_t(begin + first) * p.in_step, out += int64_t(begin + first) * p.out_step;
    M loaded[count];
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (first + 32 * k < length) loaded[k] = static_cast<const M*>(p.in)[in + k * (32 * p.in_step)];
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (first + 32 * k < length) cells[cell_of(first + 32 * k)].set(C(computed<M>::in(loaded[k])));
    __syncwarp();
    const int n = threadIdx.x * count >= length          ? 0
                  : length - threadIdx.x * count < count ? int(length - threadIdx.x * count)
                                                         : count;
    word sum[members];
    Body::start(sum);
#pragma unroll
    for (int j = 0; j < count; ++j)
      if (j < n) Body::step(sum, thread_cells[j].template get<C>());
    sum_threads_before<Body>(sums, sum);
    if (warp == 0) {
      word all[members];
      Body::start(all);
      for (int w = 0; w < warps; ++w) Body::advance(all, sums + (w * 32 + 31) * members);
      states.say_all(row, block, piece, all, room, before);
    }
    __syncthreads();
    if (block > 0) Body::advance(sum, before);
#pragma unroll
    for (int j = 0; j < count; ++j) {
      if (j >= n) continue;
      R result;
      Body::step(sum, thread_cells[j].template get<C>());
      Body::end(sum, &result);
      thread_cells[j].set(result);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (first + 32 * k < length)
        static_cast<R*>(p.out)[out + k * (32 * p.out_step)] = cells[cell_of(first + 32 * k)].template get<R>();
    __syncthreads();
  }
}

}  // namespace dlt::kernels::scan
