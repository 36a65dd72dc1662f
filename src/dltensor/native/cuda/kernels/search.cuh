// SPDX-License-Identifier: Apache-2.0
// Binary search of values among sorted ones, by their keys; a value is one thread's.
#pragma once
#include "native/cuda/kernels/bodies.cuh"

namespace dlt::kernels::search {

// S is the signed twin of U.
template <class U, class S>
__global__ void __launch_bounds__(1024) places(const __grid_constant__ Search p) {
  const U* const sorted = static_cast<const U*>(p.sorted);
  for (uint64_t i = first_item(); i < p.n; i += all_threads()) {
    const U key = key_of<U, S>(static_cast<const U*>(p.values)[i], p.form);
    uint64_t first = 0, left = p.count;
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

}  // namespace dlt::kernels::search
