// SPDX-License-Identifier: Apache-2.0
// Threads that factor a matrix together: a warp, with the matrix in shared memory, or a block, with it in memory of the device.
#pragma once
#include "native/cuda/kernels/linalg/lanes.cuh"

namespace dlt::kernels::matrices {

// A team of matrices of up to SIDE rows and columns, which are in tiles of shared memory; of any size with SIDE = 0.
template <class F, int PARTS, int SIDE>
struct Team {
  using Element = Number<F, PARTS>;
  static constexpr bool is_warp = SIDE > 0;
  static constexpr int size = is_warp ? 32 : 256;
  static constexpr int width = PARTS * int(sizeof(F)) / 4;  // words of an element
  static constexpr int count = !is_warp ? 1 : SIDE <= 16 ? 4 : width < 4 ? 4 / width : 1;  // teams of a block
  static constexpr int threads = count * size;
  static constexpr int most = is_warp ? SIDE : team_side;
  static constexpr int tile = is_warp ? SIDE * (SIDE + 1) * PARTS : 1;  // rows of odd length have their columns in all banks
  static constexpr int row_threads = is_warp ? 32 / SIDE : 8;  // threads of one row of a matrix

  static DLT_FN int rank() { return int(threadIdx.x) % size; }
  static DLT_FN int place() { return int(threadIdx.x) / size; }  // among those of the block
  static DLT_FN uint64_t first() { return uint64_t(blockIdx.x) * count + uint64_t(place()); }
  static DLT_FN uint64_t step() { return uint64_t(gridDim.x) * count; }
  static DLT_FN int lead(int columns) { return is_warp ? SIDE + 1 : columns; }
  static DLT_FN void wait() {
    if constexpr (is_warp) __syncwarp();
    else __syncthreads();
  }
};

// An element of an identity.
template <class F, int PARTS>
DLT_FN Number<F, PARTS> unit(bool one) {
  Number<F, PARTS> x{};
  x.re = one ? F(1) : F(0);
  return x;
}

// Call body(row, column) for rows x columns elements. Neighbouring threads have neighbouring columns.
template <class T, class Body>
DLT_FN void each_element(int rows, int columns, const Body& body) {
  int bits = 0;
  while ((1 << bits) < columns && (1 << bits) < T::size) ++bits;
  for (int r = T::rank() >> bits; r < rows; r += T::size >> bits)
    for (int c = T::rank() & ((1 << bits) - 1); c < columns; c += 1 << bits) body(r, c);
}

// The sum over neighbouring threads, of which all of the warp take part.
template <int COUNT, class F>
DLT_FN F sum_over(F x) {
#pragma unroll
  for (int step = COUNT / 2; step > 0; step /= 2) x = x + __shfl_xor_sync(~0u, x, step);
  return x;
}
template <int COUNT, class F>
DLT_FN lanes::RealLanes<F> sum_over(lanes::RealLanes<F> x) {
  return {sum_over<COUNT>(x.re)};
}
template <int COUNT, class F>
DLT_FN lanes::ComplexLanes<F> sum_over(lanes::ComplexLanes<F> x) {
  return {sum_over<COUNT>(x.re), sum_over<COUNT>(x.im)};
}

// The largest number that a thread of the team has; none is NaN. `shared` has room for one of each warp.
template <class T, class F>
DLT_FN F largest_of(F x, F* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = lanes::larger(__shfl_xor_sync(~0u, x, step), x);
  if constexpr (T::is_warp) return x;
  if (T::rank() % 32 == 0) shared[T::rank() / 32] = x;
  __syncthreads();
  x = shared[0];
  for (int i = 1; i < T::size / 32; ++i) x = lanes::larger(shared[i], x);
  __syncthreads();
  return x;
}

// A power of two that brings the largest element near 1, and its inverse.
template <class T, class F, class Load>
DLT_FN F normalizer(int rows, int columns, const Load& load, F* inverse, F* shared) {
  F most = 0;
  each_element<T>(rows, columns, [&](int r, int c) { most = lanes::larger(size(load(r, c)), most); });
  return lanes::inverse_power(largest_of<T>(most, shared), inverse);
}

}  // namespace dlt::kernels::matrices
