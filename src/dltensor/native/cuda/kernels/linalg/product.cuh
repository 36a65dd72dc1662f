// SPDX-License-Identifier: Apache-2.0
// Matrix products for machines without cuBLAS: square tiles through shared memory, any strides, any batch.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::product {

// A, B and T lie in memory, S is summed in, and F are alpha and beta, as gemm.cc chooses. 256 threads; each owns 4 x 4 elements of
// the result.
template <class A, class B, class T, class S, class F>
__global__ void __launch_bounds__(256) tiled(const __grid_constant__ Product p) {
  constexpr int side = 64, deep = 16, own = 4, lines = side / own;
  __shared__ S a_tile[deep][side + 1];
  __shared__ S b_tile[deep][side + 1];
  const int thread = threadIdx.x, tx = thread % lines, ty = thread / lines;
  const int64_t tiles = p.tiles_across * p.tiles_down;
  for (int64_t item = blockIdx.x; item < tiles * p.batches; item += gridDim.x) {
    const int64_t batch = item / tiles, tile = item % tiles;
    const int64_t row0 = tile / p.tiles_across * side, column0 = tile % p.tiles_across * side;
    int64_t a_at = 0, b_at = 0, c_at = 0;
    uint64_t left = batch, rest;
    for (int d = p.dims - 1; d >= 0; --d) {
      left = divide(p.extent[d], left, &rest);
      a_at += int64_t(rest) * p.a_stride[d];
      b_at += int64_t(rest) * p.b_stride[d];
      c_at += int64_t(rest) * p.c_stride[d];
    }
    const A* a = static_cast<const A*>(p.a) + a_at;
    const B* b = static_cast<const B*>(p.b) + b_at;
    T* c = static_cast<T*>(p.c) + c_at;
    S sum[own][own];
#pragma unroll
    for (int i = 0; i < own; ++i)
#pragma unroll
      for (int j = 0; j < own; ++j) sum[i][j] = S{};
    for (int64_t depth0 = 0; depth0 < p.depth; depth0 += deep) {
      for (int k = thread; k < side * deep; k += 256) {
        // Neighbouring threads take neighbours in memory, along whichever dimension has the smaller step.
        const bool a_runs = p.a_column <= p.a_row, b_runs = p.b_column <= p.b_row;
        const int a_line = a_runs ? k / deep : k % side, a_deep = a_runs ? k % deep : k / side;
        const int b_line = b_runs ? k % side : k / deep, b_deep = b_runs ? k / side : k % deep;
        const int64_t row = row0 + a_line, column = column0 + b_line;
        const int64_t at_a = depth0 + a_deep, at_b = depth0 + b_deep;
        a_tile[a_deep][a_line] = row < p.rows && at_a < p.depth ? S(computed<A>::in(a[row * p.a_row + at_a * p.a_column]))
                                                                : S{};
        b_tile[b_deep][b_line] = column < p.columns && at_b < p.depth
                                     ? S(computed<B>::in(b[at_b * p.b_row + column * p.b_column]))
                                     : S{};
      }
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < deep; ++k) {
        S x[own], y[own];
#pragma unroll
        for (int i = 0; i < own; ++i) x[i] = a_tile[k][ty + i * lines], y[i] = b_tile[k][tx + i * lines];
#pragma unroll
        for (int i = 0; i < own; ++i)
#pragma unroll
          for (int j = 0; j < own; ++j) sum[i][j] = ops::fma(x[i], y[j], sum[i][j]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < own; ++i)
#pragma unroll
      for (int j = 0; j < own; ++j) {
        const int64_t row = row0 + ty + i * lines, column = column0 + tx + j * lines;
        if (row >= p.rows || column >= p.columns) continue;
        T* at = c + row * p.c_row + column * p.c_column;
        S value = p.scaled ? ops::multiply(S(immediate<F>(p.alpha)), sum[i][j]) : sum[i][j];
        if (p.reads) value = ops::fma(S(immediate<F>(p.beta)), S(computed<T>::in(*at)), value);
        *at = computed<T>::out(typename computed<T>::type(value));
      }
  }
}

}  // namespace dlt::kernels::product
