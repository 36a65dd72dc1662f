// SPDX-License-Identifier: Apache-2.0
// Stable sorting of unsigned keys with a number each, by digits of 8 bits from the lowest: what a tile has of each digit is
// counted, the counts are added up, and each element moves to its place. Elements of several lines are sorted as one, then their
// numbers alone by the lines that they are in.
#pragma once
#include "native/cuda/kernels/counts.cuh"

namespace dlt::kernels::sorts {

inline constexpr int threads = 64, each = sort_tile / threads, digits = 256;
inline constexpr int pitch = threads + 2;  // adjacent digits begin in different banks

// The key of each element, and its number. S is the signed twin of U.
template <class U, class S>
__global__ void __launch_bounds__(1024) make(const __grid_constant__ Sort p) {
  for (uint64_t i = first_item(); i < p.n; i += all_threads()) {
    static_cast<U*>(p.to_keys)[i] = key_of<U, S>(static_cast<const U*>(p.in)[i], p.form);
    p.to_numbers[i] = i;
  }
}

template <class U, bool BY_LINE>
DLT_FN unsigned digit_of(const Sort& p, uint64_t i) {
  if constexpr (BY_LINE) {
    uint64_t rest;
    return unsigned(divide(p.line, p.numbers[i], &rest) >> p.shift) % digits;
  } else {
    return unsigned(static_cast<const U*>(p.keys)[i] >> p.shift) % digits;
  }
}

template <class U, bool BY_LINE>
__global__ void __launch_bounds__(64) count(const __grid_constant__ Sort p) {
  __shared__ unsigned found[digits];
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
#pragma unroll 1
    for (int d = threadIdx.x; d < digits; d += threads) found[d] = 0;
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < each; ++k) {
      const uint64_t i = tile * sort_tile + k * threads + threadIdx.x;
      if (i < p.n) atomicAdd(&found[digit_of<U, BY_LINE>(p, i)], 1u);
    }
    __syncthreads();
#pragma unroll 1
    for (int d = threadIdx.x; d < digits; d += threads) p.counts[d * p.tiles + tile] = found[d];
    __syncthreads();
  }
}

// A thread has adjacent elements. What lies ahead of one: smaller digits and those of tiles before, in `counts`; equal digits
// of threads before, and its own before it, in `ahead`.
template <class U, bool BY_LINE>
__global__ void __launch_bounds__(64) move(const __grid_constant__ Sort p) {
  __shared__ uint16_t ahead[digits * pitch];
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const uint64_t first = tile * sort_tile + threadIdx.x * each;
    const uint64_t end = first + each < p.n ? first + each : p.n;
#pragma unroll 4
    for (int k = threadIdx.x; k < digits * pitch; k += threads) ahead[k] = 0;
    __syncthreads();
#pragma unroll 1
    for (uint64_t i = first; i < end; ++i) ++ahead[digit_of<U, BY_LINE>(p, i) * pitch + threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int d = threadIdx.x; d < digits; d += threads) {
      unsigned sum = 0;
#pragma unroll 4
      for (int t = 0; t < threads; ++t) {
        const unsigned own = ahead[d * pitch + t];
        ahead[d * pitch + t] = uint16_t(sum);
        sum += own;
      }
    }
    __syncthreads();
#pragma unroll 1
    for (uint64_t i = first; i < end; ++i) {
      const unsigned digit = digit_of<U, BY_LINE>(p, i);
      const uint64_t to = p.counts[digit * p.tiles + tile] + ahead[digit * pitch + threadIdx.x]++;
      p.to_numbers[to] = p.numbers[i];
      if constexpr (!BY_LINE) static_cast<U*>(p.to_keys)[to] = static_cast<const U*>(p.keys)[i];
    }
    __syncthreads();
  }
}

// The numbers as indices along their lines.
template <class I>
__global__ void __launch_bounds__(1024) indices(const __grid_constant__ Sort p) {
  for (uint64_t i = first_item(); i < p.n; i += all_threads()) {
    uint64_t rest;
    divide(p.line, p.numbers[i], &rest);
    static_cast<I*>(p.out)[i] = I(rest);
  }
}

// The elements of those numbers.
template <class U>
__global__ void __launch_bounds__(1024) elements(const __grid_constant__ Sort p) {
  for (uint64_t i = first_item(); i < p.n; i += all_threads())
    static_cast<U*>(p.out)[i] = static_cast<const U*>(p.in)[p.numbers[i]];
}

}  // namespace dlt::kernels::sorts
