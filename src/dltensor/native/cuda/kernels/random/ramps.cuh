// SPDX-License-Identifier: Apache-2.0
// Evenly spaced numbers, by native/ops/random/ramps.h: a thread makes as many as 16 bytes hold.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/random/ramps.h"

namespace dlt::kernels::random {

template <class T>
inline constexpr bool is_whole = !is_float<T> && !is_half<T>;

// `count` numbers from i on, exactly.
template <class T, int COUNT>
DLT_FN void make_exactly(const dlt::ramps::Run& p, uint64_t i, T* out) {
  dlt::ramps::Place place = dlt::ramps::place(p.ramp, i);
#pragma unroll 1
  for (int k = 0; k < COUNT; ++k) {
    out[k] = place.at(p.ramp).as<T>();
    place.advance(p.ramp);
  }
}
// Returns false, where one of them is in doubt.
template <class T, int COUNT>
DLT_FN bool make_quickly(const dlt::ramps::Run& p, uint64_t i, T* out) {
  bool good = true;
  if constexpr (is_whole<T>) return false;
  else
#pragma unroll
    for (int k = 0; k < COUNT; ++k) good &= dlt::ramps::round_quickly(p.quick, i + uint64_t(k), out + k);
  return good;
}

template <class T>
__global__ void __launch_bounds__(1024) ramp(const __grid_constant__ dlt::ramps::Run p) {
  constexpr int count = 16 / int(sizeof(T));
  T* const out = static_cast<T*>(p.out);
  const uint64_t step = all_threads() * count, whole = p.count / count * count;
  Pack<T, count> all;
#pragma unroll 1
  for (uint64_t i = first_item() * count; i < whole; i += step) {
#pragma unroll 1
    for (; i < whole && make_quickly<T, count>(p, i, all.at); i += step) *reinterpret_cast<Pack<T, count>*>(out + i) = all;
    if (i >= whole) break;
    make_exactly<T, count>(p, i, all.at);
    *reinterpret_cast<Pack<T, count>*>(out + i) = all;
  }
  for (uint64_t i = whole + first_item(); i < p.count; i += all_threads()) make_exactly<T, 1>(p, i, out + i);
}

}  // namespace dlt::kernels::random
