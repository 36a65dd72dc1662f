// SPDX-License-Identifier: Apache-2.0
// Quantization: the largest magnitudes of blocks, and the scales and codes that follow, by native/ops/quantize/scales.h.
#pragma once
#include "native/cuda/kernels/quantize/codes.cuh"
#include "native/ops/quantize/scales.h"

namespace dlt::kernels::quantize {

inline constexpr int threads = 256;
struct Elements {
  float at[codes_pack];
};

DLT_FN uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// The largest of adjacent lanes, as many as a power of two; all lanes of the warp take part.
DLT_FN uint32_t largest_of_lanes(uint32_t most, unsigned lanes) {
#pragma unroll 1
  for (unsigned by = 1; by < lanes && by < 32; by *= 2) most = larger(most, __shfl_xor_sync(0xffffffffu, most, int(by)));
  return most;
}

// The number of a block, and the first element of it in C order.
template <int DIMS>
DLT_FN uint64_t begin_of(const Quantize<DIMS>& p, uint64_t block) {
  uint64_t begin = 0, step = 1;
#pragma unroll 1
  for (int d = p.dims - 1; d >= 0; --d) {
    uint64_t at = block;
    if (d > 0) block = divide(p.axis[d].count, block, &at);
    begin += at * p.axis[d].length.divisor * step;
    step *= p.axis[d].length.divisor * p.axis[d].count.divisor;
  }
  return begin;
}
// How far element `i` of a block lies behind its first one.
template <int DIMS>
DLT_FN uint64_t place_of(const Quantize<DIMS>& p, uint64_t i) {
  uint64_t place = 0, step = 1;
#pragma unroll 1
  for (int d = p.dims - 1; d >= 0; --d) {
    uint64_t at = i;
    if (d > 0) i = divide(p.axis[d].length, i, &at);
    place += at * step;
    step *= p.axis[d].length.divisor * p.axis[d].count.divisor;
  }
  return place;
}
// The block of an element, and whether it is the first one there.
template <int DIMS>
DLT_FN uint64_t block_of(const Quantize<DIMS>& p, uint64_t element, bool* is_first) {
  uint64_t block = 0, step = 1, rests = 0;
#pragma unroll 1
  for (int d = p.dims - 1; d >= 0; --d) {
    uint64_t rest, at;
    element = divide(p.axis[d].length, element, &rest);
    at = element;
    if (d > 0) element = divide(p.axis[d].count, element, &at);
    rests |= rest;
    block += at * step;
    step *= p.axis[d].count.divisor;
  }
  *is_first = rests == 0;
  return block;
}

// The largest magnitudes: of a block by its threads, or of a part of it, which are joined.
template <int DIMS>
__global__ void __launch_bounds__(256) largest(const __grid_constant__ Quantize<DIMS> p) {
  const unsigned lanes = 1u << p.lane_bits, lane = threadIdx.x & (lanes - 1);
  const uint64_t of_tile = threads >> p.lane_bits, items = p.blocks * p.parts;
  uint32_t finite = 0;
#pragma unroll 1
  for (uint64_t first = blockIdx.x * of_tile; first < items; first += gridDim.x * of_tile) {
    const uint64_t item = first + (threadIdx.x >> p.lane_bits);
    uint32_t most = 0;
    uint64_t block = 0;
    if (item < items) {
      const uint64_t part = divide(p.block_count, item, &block), begin = begin_of(p, block);
      const uint64_t end = (part + 1) * p.part < p.units ? (part + 1) * p.part : p.units;
      if (p.pack == 4) {
#pragma unroll 4
        for (uint64_t i = part * p.part + lane; i < end; i += lanes) {
          const auto x = *reinterpret_cast<const Pack<float, 4>*>(p.x + begin + place_of(p, 4 * i));
          most = larger(most, larger(larger(magnitude_bits(x.at[0]), magnitude_bits(x.at[1])),
                                     larger(magnitude_bits(x.at[2]), magnitude_bits(x.at[3]))));
        }
      } else {
#pragma unroll 4
        for (uint64_t i = part * p.part + lane; i < end; i += lanes)
          most = larger(most, magnitude_bits(p.x[begin + place_of(p, i)]));
      }
    }
    most = largest_of_lanes(most, lanes);
    if (lane != 0 || item >= items) continue;
    if (p.parts > 1) atomicMax(p.largest + block, most);
    else if (p.largest != nullptr) p.largest[block] = most;
    finite = larger(finite, most < infinite_magnitude ? most : 0u);
  }
  if (p.most == nullptr) return;
  finite = largest_of_lanes(finite, 32);
  if (threadIdx.x % 32 == 0 && finite != 0) atomicMax(p.most, finite);
}

// The scale of the whole tensor, 1 without one.
template <class T, int DIMS>
DLT_FN float tensor_scale_of(const Quantize<DIMS>& p) {
  if (p.tensor_scale == nullptr) return 1.0f;
  const float scale = ratio_scale(*p.most, top_of<T>::largest() * top_of<float8_e4m3fn>::largest());
  if (first_item() == 0) *p.tensor_scale = scale;
  return scale;
}

// The number that the elements of a block take; its scale is written by one thread.
template <class T, int DIMS>
DLT_FN float number_of(const Quantize<DIMS>& p, uint64_t block, uint32_t largest, float tensor_scale, bool writes) {
  if (p.kind == int(ScaleKind::ratio)) {
    const float scale = ratio_scale(largest, top_of<T>::largest());
    if (writes) static_cast<float*>(p.scales)[block] = scale;
    return scale;
  }
  uint8_t* const scales = static_cast<uint8_t*>(p.scales);
  if (p.kind == int(ScaleKind::power)) {
    const PowerOf power = power_of(p.rule, top_of<T>::largest(), top_of<T>::mantissa);
    const uint8_t scale = power_scale(largest, power.carry, power.top);
    if (writes) scales[block] = scale;
    return power_factor(scale);
  }
  const float8_e4m3fn scale = two_level_scale(largest, tensor_scale, top_of<T>::largest());
  if (writes) scales[block] = scale.bits;
  return two_level_divisor(scale, tensor_scale);
}

template <class T, int DIMS>
DLT_FN uint64_t code_at(const Quantize<DIMS>& p, float x, float number, int k) {
  const float element = p.kind == int(ScaleKind::power) ? x * number : x / number;
  return number == number ? uint64_t(kernels::code_of(convert<T, true, true, float>(element))) << (k * width_of<T>) : 0;
}

template <int DIMS>
DLT_FN Elements load_pack(const Quantize<DIMS>& p, uint64_t first) {
  Elements x;
  if (p.wide) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto loaded = reinterpret_cast<const Pack<float, 4>*>(p.x + first)[half];
#pragma unroll
      for (int k = 0; k < 4; ++k) x.at[4 * half + k] = loaded.at[k];
    }
  } else {
#pragma unroll
    for (int k = 0; k < codes_pack; ++k) x.at[k] = p.x[first + k];
  }
  return x;
}

template <class T, int DIMS>
DLT_FN void store_pack(const Quantize<DIMS>& p, uint64_t first, const Elements& x, float number) {
  uint64_t all = 0;
#pragma unroll
  for (int k = 0; k < codes_pack; ++k) all |= code_at<T>(p, x.at[k], number, k);
  CodeAccess<width_of<T>>::store(p.values, first, codes_pack, p.aligned, all);
}

// Codes and scales where the largest magnitudes are known, of blocks of any form.
template <class T, int DIMS>
__global__ void __launch_bounds__(256) codes(const __grid_constant__ Quantize<DIMS> p) {
  const float tensor_scale = tensor_scale_of<T>(p);
#pragma unroll 1
  for (uint64_t i = first_item(); i * codes_pack < p.n; i += all_threads()) {
    const uint64_t first = i * codes_pack;
    bool is_first;
    if (p.whole) {
      const uint64_t block = block_of(p, first, &is_first);
      store_pack<T>(p, first, load_pack(p, first), number_of<T>(p, block, p.largest[block], tensor_scale, is_first));
      continue;
    }
    const unsigned count = p.n - first < codes_pack ? unsigned(p.n - first) : codes_pack;
    uint64_t all = 0;
#pragma unroll 1
    for (unsigned k = 0; k < count; ++k) {
      const uint64_t block = block_of(p, first + k, &is_first);
      all |= code_at<T>(p, p.x[first + k], number_of<T>(p, block, p.largest[block], tensor_scale, is_first), int(k));
    }
    CodeAccess<width_of<T>>::store(p.values, first, count, p.aligned, all);
  }
}

// Both in one: blocks lie in a row, of whole packs. Up to 32 threads have a block, or all of a thread block.
template <class T, int DIMS>
__global__ void __launch_bounds__(256) blocks(const __grid_constant__ Quantize<DIMS> p) {
  __shared__ uint32_t warps[threads / 32];
  const unsigned lanes = 1u << p.lane_bits, lane = threadIdx.x & (lanes - 1);
  const uint64_t of_tile = threads >> p.lane_bits;
  const float tensor_scale = tensor_scale_of<T>(p);
#pragma unroll 1
  for (uint64_t tile = blockIdx.x * of_tile; tile < p.blocks; tile += gridDim.x * of_tile) {
    const uint64_t block = tile + (threadIdx.x >> p.lane_bits), begin = block * p.units * codes_pack;
    const uint64_t units = block < p.blocks ? p.units : 0;
    Elements kept{};
    uint32_t most = 0;
#pragma unroll 1
    for (uint64_t i = lane; i < units; i += lanes) {
      const Elements x = load_pack(p, begin + i * codes_pack);
#pragma unroll
      for (int k = 0; k < codes_pack; ++k) most = larger(most, magnitude_bits(x.at[k]));
      if (i == lane) kept = x;
    }
    most = largest_of_lanes(most, lanes);
    if (lanes == threads) {
      if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
      __syncthreads();
#pragma unroll
      for (int k = 0; k < threads / 32; ++k) most = larger(most, warps[k]);
      __syncthreads();
    }
    if (units == 0) continue;
    const float number = number_of<T>(p, block, most, tensor_scale, lane == 0);
#pragma unroll 1
    for (uint64_t i = lane; i < units; i += lanes) {
      const uint64_t first = begin + i * codes_pack;
      store_pack<T>(p, first, i == lane ? kept : load_pack(p, first), number);
    }
  }
}

}  // namespace dlt::kernels::quantize
