// SPDX-License-Identifier: Apache-2.0
// Random orders with the bits of the CPU, whose steps follow one another: `partners` finds the element that each step exchanges.
// Sorted by these, with the steps in their order, neighbours say what an element is when a step takes it: `links`, then `orders`.
//
// Step k leaves at n - 1 - k the element that its partner was before. The partner had got what was at the place of the step before
// with the same partner; without such a step it is itself. And at the place of a step is, before it, what the last earlier step
// with that place as its partner brought there, which is found in the same way; or that place itself. Chains of such steps have
// about 2 links, and at most some tens.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/random/shuffles.h"

namespace dlt::kernels::random {

template <class K>
inline constexpr K no_step = K(~K(0));

template <class K, int WORDS>
__global__ void __launch_bounds__(1024) partners(const __grid_constant__ dlt::shuffles::Run p) {
  constexpr uint64_t each = 4 / WORDS;
  const uint64_t count = uint64_t(p.shuffle.count), first = p.shuffle.position / 4, skip = p.shuffle.position % 4 / WORDS;
  const uint64_t blocks = (skip + count + each - 1) / each;
  for (uint64_t b = first_item(); b < blocks; b += all_threads()) {
    const philox::Words words = philox::block_of(p.shuffle.sequence, first + b);
#pragma unroll
    for (uint64_t j = 0; j < each; ++j) {
      const uint64_t step = b * each + j - skip;  // wraps ahead of the first one
      if (step >= count) continue;
      const uint64_t bits = WORDS == 2 ? words.v[2 * j % 4] | uint64_t(words.v[(2 * j + 1) % 4]) << 32 : words.v[j];
      static_cast<K*>(p.keys)[step] = K(dlt::shuffles::partner(p.shuffle, step, bits));
      static_cast<K*>(p.links)[step] = no_step<K>;
    }
  }
}

template <class K>
__global__ void __launch_bounds__(1024) links(const __grid_constant__ dlt::shuffles::Run p) {
  const K* const keys = static_cast<const K*>(p.keys);
  const uint64_t count = uint64_t(p.shuffle.count), last = uint64_t(p.shuffle.n) - 1;
  for (uint64_t j = first_item(); j < count; j += all_threads()) {
    const uint64_t place = keys[j], own = last - place;  // the step of that place
    if (own >= count || (j + 1 < count && keys[j + 1] == place)) continue;
    // The last of those steps, unless it is the place's own, which comes after all others.
    uint64_t step = number_at(p, j);
    if (step == own) {
      if (j == 0 || keys[j - 1] != place) continue;
      step = number_at(p, j - 1);
    }
    static_cast<K*>(p.links)[own] = K(step);
  }
}

template <class K>
__global__ void __launch_bounds__(1024) orders(const __grid_constant__ dlt::shuffles::Run p) {
  const K *const keys = static_cast<const K*>(p.keys), *const links = static_cast<const K*>(p.links);
  const uint64_t count = uint64_t(p.shuffle.count), last = uint64_t(p.shuffle.n) - 1;
  for (uint64_t j = first_item(); j < count; j += all_threads()) {
    const uint64_t place = keys[j], step = number_at(p, j);
    uint64_t element = place;
    if (j > 0 && keys[j - 1] == place) {
      uint64_t from = number_at(p, j - 1);
#pragma unroll 1
      for (K next = links[from]; next != no_step<K>; next = links[from]) from = next;
      element = last - from;
    }
    p.out[p.shuffle.from_end ? step : last - step] = int64_t(element);
  }
}

}  // namespace dlt::kernels::random
