// SPDX-License-Identifier: Apache-2.0
// Numbers at equal steps, by native/ops/random/steps.h: a thread makes as many as 16 bytes hold.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/random/steps.h"

namespace dlt::kernels::random {

template <class T, int FORM>
__global__ void __launch_bounds__(1024) steps(const __grid_constant__ dlt::steps::Run p) {
  constexpr int count = 16 / int(sizeof(T));
  T* const out = static_cast<T*>(p.out);
  for (uint64_t i = first_item() * count; i < p.count; i += all_threads() * count) {
    if (i + count <= p.count) {
      Pack<T, count> all;
#pragma unroll
      for (int k = 0; k < count; ++k) all.at[k] = dlt::steps::value<T, StepForm(FORM)>(p.steps, i + uint64_t(k));
      *reinterpret_cast<Pack<T, count>*>(out + i) = all;
      continue;
    }
#pragma unroll 1
    for (uint64_t n = i; n < p.count; ++n) out[n] = dlt::steps::value<T, StepForm(FORM)>(p.steps, n);
  }
}

}  // namespace dlt::kernels::random
