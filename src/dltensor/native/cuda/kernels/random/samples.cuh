// SPDX-License-Identifier: Apache-2.0
// Values of the distributions of native/ops/random/rows.h: a thread makes one value, with as many attempts as that takes. The same
// bits as those of native/cpu/random/kernels/samples.cc.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/random/samples.h"

namespace dlt::kernels::random {

template <int DISTRIBUTION, class T>
__global__ void __launch_bounds__(256) samples(const __grid_constant__ drawn::Run p) {
  T* const out = static_cast<T*>(p.out);
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    const uint64_t position = p.position + 4 * p.draw.count * i;
    const double a = p.draw.arrays[0] ? p.draw.arrays[0][i] : p.draw.a;
    if constexpr (DISTRIBUTION == draw_multinomial) {
      const uint64_t shares = p.draw.count;
      T* const row = out + i * (shares + 1);
      double left = a;
#pragma unroll 1
      for (uint64_t k = 0; k < shares; ++k) {
        const double count = sampled::value_of<DISTRIBUTION>(p.draw.sequence, position + 4 * k, left, p.draw.arrays[1][k]);
        row[k] = sampled::element_of<T>(count);
        left -= count;
      }
      row[shares] = sampled::element_of<T>(left);
    } else {
      const double b = p.draw.arrays[1] ? p.draw.arrays[1][i] : p.draw.b;
      out[i] = sampled::element_of<T>(sampled::value_of<DISTRIBUTION>(p.draw.sequence, position, a, b));
    }
  }
}

}  // namespace dlt::kernels::random
