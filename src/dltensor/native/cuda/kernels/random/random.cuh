// SPDX-License-Identifier: Apache-2.0
// Random values: a thread makes a block of words and the values that they become, by native/ops/random/draws.h. Value i is a function
// of the sequence and its position alone, so that no launch can be seen in the values.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/random/draws.h"

namespace dlt::kernels::random {

template <int DISTRIBUTION, class T, int WORDS>
__global__ void __launch_bounds__(1024) values(const __grid_constant__ drawn::Run p) {
  constexpr int count = 4 / WORDS;
  T* const out = static_cast<T*>(p.out);
  for (uint64_t i = first_item(); i < p.blocks; i += all_threads()) {
    const uint64_t block = p.position / 4 + i;
    const philox::Words words = philox::block_of(p.draw.sequence, block);
    Pack<T, count> all;
    T* const results = all.at;
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const uint32_t* const w = words.v + k * WORDS;
      const uint64_t position = 4 * block + uint64_t(k * WORDS);
      if constexpr (DISTRIBUTION == draw_unit) {
        results[k] = drawn::unit<T>(w);
      } else if constexpr (DISTRIBUTION == draw_uniform) {
        results[k] = drawn::uniform<T>(w, p.draw);
      } else if constexpr (DISTRIBUTION == draw_exponential) {
        results[k] = drawn::exponential<T>(w, p.draw);
      } else if constexpr (DISTRIBUTION == draw_normal) {
        if (k % 2 == 0) {
          const auto two = drawn::normals<T>(w, p.draw);
          results[k] = two.first;
          results[k + 1] = two.second;
        }
      } else if constexpr (WORDS == 2) {
        results[k] = drawn::wide_integer<T>(w, p.draw, position);
      } else {
        results[k] = drawn::narrow_integer<T>(w, p.draw, position);
      }
    }
    // The first and last block may have values of other calls.
    const uint64_t first = i * count, skip = p.position % 4 / WORDS;
    if (skip == 0 && first + count <= p.count && (reinterpret_cast<uint64_t>(out) & (sizeof(all) - 1)) == 0) {
      reinterpret_cast<Pack<T, count>*>(out)[i] = all;
      continue;
    }
#pragma unroll 1
    for (int k = 0; k < count; ++k)
      if (first + k >= skip && first + k - skip < p.count) out[first + k - skip] = results[k];
  }
}

}  // namespace dlt::kernels::random
