// SPDX-License-Identifier: Apache-2.0
// Elements less zero points and times scales of blocks, each product rounded to float32, then as another dtype.
#pragma once
#include "native/cuda/kernels/quantize/codes.cuh"

namespace dlt::kernels::dequantize {

// A NaN is that of an operand, as on a processor: the arithmetic of a device has one of its own.
DLT_FN float quiet(float nan) { return bits_as<float>(bits_as<uint32_t>(nan) | 0x00400000u); }
DLT_FN float joined(float y, float number, bool subtracts) {
  const float result = subtracts ? y - number : y * number;
  return number != number ? quiet(number) : y != y ? quiet(y) : result;
}

// The places of the numbers of an element.
template <int DIMS, int OPERANDS>
DLT_FN void places_of(const Dequantize<DIMS, OPERANDS>& p, uint64_t element, int64_t* places) {
#pragma unroll
  for (int o = 0; o < OPERANDS; ++o) places[o] = 0;
#pragma unroll 1
  for (int d = p.dims - 1; d >= 0; --d) {
    uint64_t at = element, rest;
    if (d > 0) element = divide(p.extent[d], element, &at);
#pragma unroll
    for (int o = 0; o < OPERANDS; ++o)
      if (o < p.operands) places[o] += int64_t(divide(p.length[o][d], at, &rest)) * p.step[o][d];
  }
}

// Values as float32: eight of them, or those of a pack one by one.
template <class V>
struct Values {
  static constexpr int width = width_of<V>;
  static constexpr bool is_packed = width < 8;
  uint64_t all;  // of packed ones

  DLT_FN static float decoded(uint64_t all, int k) { return to_float(V{uint8_t(all >> (k * width) & ((1u << width) - 1))}); }
  template <class P>
  DLT_FN static void load(const P& p, uint64_t first, float* y) {
    if constexpr (is_packed) {
      const uint64_t all = CodeAccess<width>::load(p.values, first, codes_pack, p.aligned);
#pragma unroll
      for (int k = 0; k < codes_pack; ++k) y[k] = decoded(all, k);
    } else {
      const V* const from = static_cast<const V*>(p.values) + first;
      Pack<V, codes_pack> all;
      if (p.aligned) {
        all = *reinterpret_cast<const Pack<V, codes_pack>*>(from);
      } else {
#pragma unroll
        for (int k = 0; k < codes_pack; ++k) all.at[k] = from[k];
      }
#pragma unroll
      for (int k = 0; k < codes_pack; ++k) y[k] = convert<float, false, false, V>(all.at[k]);
    }
  }
  template <class P>
  DLT_FN Values(const P& p, uint64_t first, unsigned count) : all(0) {
    if constexpr (is_packed) all = CodeAccess<width>::load(p.values, first, count, p.aligned);
  }
  template <class P>
  DLT_FN float one(const P& p, uint64_t first, unsigned k) const {
    if constexpr (is_packed) return decoded(all, int(k));
    else return convert<float, false, false, V>(static_cast<const V*>(p.values)[first + k]);
  }
};

// Elements one by one: the last ones, and those whose numbers lie anywhere.
template <class V, class R, int DIMS, int OPERANDS>
DLT_FN void take_singly(const Dequantize<DIMS, OPERANDS>& p, uint64_t first, unsigned count) {
  const Values<V> values(p, first, count);
#pragma unroll 1
  for (unsigned k = 0; k < count; ++k) {
    int64_t places[OPERANDS];
    places_of(p, first + k, places);
    float y = values.one(p, first, k);
#pragma unroll
    for (int o = 0; o < OPERANDS; ++o)
      if (o < p.operands) y = joined(y, p.numbers[o][places[o]], o == 0 && p.subtracts);
    static_cast<R*>(p.out)[first + k] = convert<R, false, false, float>(y);
  }
}

template <class V, class R, int DIMS, int OPERANDS>
__global__ void __launch_bounds__(256) values(const __grid_constant__ Dequantize<DIMS, OPERANDS> p) {
#pragma unroll 1
  for (uint64_t i = first_item(); i * codes_pack < p.n; i += all_threads()) {
    const uint64_t first = i * codes_pack;
    const unsigned count = p.n - first < codes_pack ? unsigned(p.n - first) : codes_pack;
    if (p.singly || count < codes_pack) {
      take_singly<V, R>(p, first, count);
      continue;
    }
    float y[codes_pack];
    Values<V>::load(p, first, y);
    int64_t places[OPERANDS];
    places_of(p, first, places);
#pragma unroll
    for (int o = 0; o < OPERANDS; ++o) {
      if (o >= p.operands) break;
      const float* const numbers = p.numbers[o] + places[o];
      const bool subtracts = o == 0 && p.subtracts;
      const int step = p.adjacent[o] ? 1 : 0;
#pragma unroll
      for (int k = 0; k < codes_pack; ++k) y[k] = joined(y[k], numbers[k * step], subtracts);
    }
    Pack<R, codes_pack> results;
#pragma unroll
    for (int k = 0; k < codes_pack; ++k) results.at[k] = convert<R, false, false, float>(y[k]);
    R* const out = static_cast<R*>(p.out) + first;
    if (p.out_aligned) {
      *reinterpret_cast<Pack<R, codes_pack>*>(out) = results;
    } else {
#pragma unroll
      for (int k = 0; k < codes_pack; ++k) out[k] = results.at[k];
    }
  }
}

}  // namespace dlt::kernels::dequantize
