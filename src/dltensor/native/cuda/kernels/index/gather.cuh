// SPDX-License-Identifier: Apache-2.0
// Elements and rows of a tensor at the positions that index arrays name, into memory in C order.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::gather {

// Reports the first index at a position that is out of range: to `late`, or to `bad`, which starts as the largest and has the lowest
// number of a position and an array, in that order.
template <class I>
DLT_FN void check_one(const Gather& p, uint64_t at) {
#pragma unroll 1
  for (int k = 0; k < p.arrays; ++k) {
    const int64_t index = static_cast<const I*>(p.index[k])[at], size = p.size[k];
    if (index >= -size && index < size) continue;
    if (p.late != nullptr) *p.late = late_index(index, size);
    else if (p.bad != nullptr) atomicMin(p.bad, at * uint64_t(p.arrays) + uint64_t(k));
    break;
  }
}

template <class I>
__global__ void __launch_bounds__(1024) check(const __grid_constant__ Gather p) {
  const uint64_t threads = all_threads();
#pragma unroll 1
  for (uint64_t at = first_item(); at < p.count; at += threads) check_one<I>(p, at);
}

// Reports the bad indices of the items of this thread.
DLT_FN void check_items(const Gather& p) {
  const uint64_t threads = all_threads();
#pragma unroll 1
  for (uint64_t item = first_item(); item < p.items; item += threads) {
    uint64_t left = item, rest, at = 0, step = 1;
#pragma unroll 1
    for (int d = p.dims - 1; d >= p.spread_from; --d) {
      left = divide(p.extent[d], left, &rest);
      if (d >= p.spread_to) continue;
      at += rest * step;
      step *= p.extent[d].divisor;
    }
    check_one<int64_t>(p, at);
  }
}

// T is a word of memory: an element, several, or a part of one. An index that is out of range reads nothing, and is reported as by
// check() where `bad` or `late` is there.
template <class T>
__global__ void __launch_bounds__(1024) words(const __grid_constant__ Gather p) {
  const uint64_t threads = all_threads();
  bool all_good = true;
#pragma unroll 1
  for (uint64_t item = first_item(); item < p.items; item += threads) {
    uint64_t left = item, rest, at = 0, step = 1;
    int64_t place = 0;
#pragma unroll 1
    for (int d = p.dims - 1; d >= 0; --d) {
      left = divide(p.extent[d], left, &rest);
      place += int64_t(rest) * p.stride[d];
      if (d < p.spread_from || d >= p.spread_to) continue;
      at += rest * step;
      step *= p.extent[d].divisor;
    }
    bool good = true;
#pragma unroll 1
    for (int k = 0; k < p.arrays; ++k) {
      const int64_t position = static_cast<const int64_t*>(p.index[k])[at], size = p.size[k];
      const int64_t index = position < 0 ? position + size : position;
      const bool fits = index >= 0 && index < size;
      good = good && fits;
      place += index * p.step[k];
    }
    if (good) static_cast<T*>(p.out)[item] = static_cast<const T*>(p.in)[place];
    all_good = all_good && good;
  }
  if (!all_good) check_items(p);
}

}  // namespace dlt::kernels::gather
