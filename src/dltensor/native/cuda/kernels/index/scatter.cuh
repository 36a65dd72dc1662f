// SPDX-License-Identifier: Apache-2.0
// Elements and rows to the places of a tensor that index arrays name. Positions are sorted by what they name first, so that
// the last of equal ones can be told, and those of one element be taken in order by one thread.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::scatter {

// The place of each position in the tensor, and a key that equal ones share. Indices that have changed since they were checked
// are taken for the first.
template <class U>
__global__ void __launch_bounds__(1024) places(const __grid_constant__ Places p) {
#pragma unroll 1
  for (uint64_t at = first_item(); at < p.count; at += all_threads()) {
    int64_t place = 0;
    U key = 0;
#pragma unroll 1
    for (int k = 0; k < p.arrays; ++k) {
      const int64_t position = static_cast<const int64_t*>(p.index[k])[at], size = p.size[k];
      int64_t index = position < 0 ? position + size : position;
      if (index < 0 || index >= size) index = 0;
      place += index * p.step[k];
      key = key * U(size) + U(index);
    }
    p.places[at] = place;
    if (!p.keys) continue;
    static_cast<U*>(p.keys)[at] = key;
  }
}

// Places of an item on both sides, without what its position adds, and which position that is, among the sorted ones.
struct Spot {
  uint64_t position;
  int64_t tensor, dense;
  DLT_FN static Spot of(const Scatter& p, uint64_t item) {
    Spot spot{0, 0, 0};
#pragma unroll 1
    for (int d = p.dims - 1; d >= 0; --d) {
      uint64_t rest;
      item = divide(p.extent[d], item, &rest);
      if (d == p.spread) {
        spot.position = rest;
        continue;
      }
      spot.tensor += int64_t(rest) * p.stride[d];
      spot.dense += int64_t(rest) * p.dense[d];
    }
    return spot;
  }
};

// Returns whether the places i and i + 1 of the sorted ones are the same element of the tensor.
DLT_FN bool same_as_next(const Scatter& p, uint64_t i) {
  if (p.wide_keys) return static_cast<const uint64_t*>(p.keys)[i] == static_cast<const uint64_t*>(p.keys)[i + 1];
  return static_cast<const uint32_t*>(p.keys)[i] == static_cast<const uint32_t*>(p.keys)[i + 1];
}

// T is a word of memory.
template <class T>
__global__ void __launch_bounds__(1024) words(const __grid_constant__ Scatter p) {
#pragma unroll 1
  for (uint64_t item = first_item(); item < p.items; item += all_threads()) {
    const Spot spot = Spot::of(p, item);
    uint64_t at = spot.position;
    if (p.keys) {
      if (at + 1 < p.count && same_as_next(p, at)) continue;
      at = number_at(p, at);
    }
    static_cast<T*>(p.out)[spot.tensor + p.places[at]] = static_cast<const T*>(
        p.in)[spot.dense + int64_t(at) * p.dense[p.spread]];
  }
}

// An element; BYTES: at an address that T may not have.
template <bool BYTES, class T>
DLT_FN T load(const T* from) {
  if constexpr (!BYTES) return *from;
  unsigned char bytes[sizeof(T)];
  for (unsigned k = 0; k < sizeof(T); ++k) bytes[k] = reinterpret_cast<const unsigned char*>(from)[k];
  T value;
  memcpy(&value, bytes, sizeof(T));
  return value;
}
template <bool BYTES, class T>
DLT_FN void store(T* to, T value) {
  if constexpr (!BYTES) {
    *to = value;
  } else {
    unsigned char bytes[sizeof(T)];
    memcpy(bytes, &value, sizeof(T));
    for (unsigned k = 0; k < sizeof(T); ++k) reinterpret_cast<unsigned char*>(to)[k] = bytes[k];
  }
}

// tensor = op(tensor, dense), in the order of positions, rounded each time: the first of equal ones does it for all.
template <class Body, class T, bool BYTES>
__global__ void __launch_bounds__(1024) join(const __grid_constant__ Scatter p) {
#pragma unroll 1
  for (uint64_t item = first_item(); item < p.items; item += all_threads()) {
    const Spot spot = Spot::of(p, item);
    uint64_t i = spot.position;
    if (p.keys && i > 0 && same_as_next(p, i - 1)) continue;
    uint64_t at = p.keys ? number_at(p, i) : i;
    T* const to = static_cast<T*>(p.out) + spot.tensor + p.places[at];
    const T* const in = static_cast<const T*>(p.in) + spot.dense;
    T value = load<BYTES>(to);
#pragma unroll 1
    for (;;) {
      const T other = load<BYTES>(in + int64_t(at) * p.dense[p.spread]);
      value = apply<Body, 2, T, T>(take<Body, T>(value), take<Body, T>(other), 0);
      ++i;
      if (!p.keys || i == p.count || !same_as_next(p, i - 1)) break;
      at = number_at(p, i);
    }
    store<BYTES>(to, value);
  }
}

}  // namespace dlt::kernels::scatter
