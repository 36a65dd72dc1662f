// SPDX-License-Identifier: Apache-2.0
// Permuted copies and casts: input and output run along different dimensions. A tile goes through shared memory, so that
// both sides are read and written in runs.
#pragma once
#include "native/cuda/kernels/bodies.cuh"

namespace dlt::kernels::tile {

// The body may take a second and third operand as immediates: scale and offset of a cast.
template <class Body, int OPERANDS, class T, class A, class B, class C, class R, int DIMS, class I>
__global__ void __launch_bounds__(1024) permute(const __grid_constant__ Tiles<DIMS, I> p) {
  // A line of a tile is 128 bytes where that is not too many lines.
  constexpr int side = sizeof(R) >= 4 ? 32 : 64;
  constexpr int pad = sizeof(R) >= 4 ? 1 : 4 / sizeof(R);  // lines begin in different banks
  constexpr int area = side * side, UNROLL = 4;
  __shared__ R tile[side][side + pad];
  const auto b = take<Body, T>(immediate<B>(p.value[1]));
  const auto c = take<Body, T>(immediate<C>(p.value[2]));
  for (uint64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
    I tile_across, tile_down, rest;
    I plane = divide(p.tiles_across, I(item), &tile_across);
    plane = divide(p.tiles_down, plane, &tile_down);
    int64_t out_at = 0, in_at = 0;
    for (int d = p.dims - 1; d >= 0; --d) {
      plane = divide(p.extent[d], plane, &rest);
      out_at += int64_t(rest) * p.out_stride[d];
      in_at += int64_t(rest) * p.in_stride[d];
    }
    const int64_t across = int64_t(tile_across) * side, down = int64_t(tile_down) * side;
    const A* in = static_cast<const A*>(p.in) + in_at;
    R* out = static_cast<R*>(p.out) + out_at;
    // Four loads in flight before the first is needed.
    for (int first = threadIdx.x; first < area; first += blockDim.x * UNROLL) {
      A held[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int k = first + u * int(blockDim.x);
        const int64_t x = across + k / side, y = down + k % side;
        if (k < area && x < p.across && y < p.down) held[u] = in[x * p.in_across + y];
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int k = first + u * int(blockDim.x);
        const int64_t x = across + k / side, y = down + k % side;
        if (k < area && x < p.across && y < p.down)
          tile[k % side][k / side] = apply<Body, OPERANDS, T, R>(take<Body, T>(held[u]), b, c);
      }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < area; k += blockDim.x) {
      const int64_t x = across + k % side, y = down + k / side;
      if (x < p.across && y < p.down) out[y * p.out_down + x] = tile[k / side][k % side];
    }
    __syncthreads();
  }
}

}  // namespace dlt::kernels::tile
