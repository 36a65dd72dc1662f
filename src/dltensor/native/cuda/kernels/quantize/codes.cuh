// SPDX-License-Identifier: Apache-2.0
// Elements of at most 8 bits in memory: eight neighbours, which are whole bytes in every width. No kernels here.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels {

// Bits of an element in memory, where those of fewer than 8 are packed.
template <class T>
inline constexpr int width_of = 8 * sizeof(T);
template <class S, int E, int M, int B, Special P>
inline constexpr int width_of<small_float<S, E, M, B, P>> = 1 + E + M;
template <int W, bool S>
inline constexpr int width_of<small_int<W, S>> = W;

// The largest element, and the digits of its fraction.
template <class T>
struct top_of {
  static constexpr int mantissa = 0;
  DLT_FN static float largest() { return 127; }  // int8
};
template <class S, int E, int M, int B, Special P>
struct top_of<small_float<S, E, M, B, P>> {
  using T = small_float<S, E, M, B, P>;
  static constexpr int mantissa = M;
  DLT_FN static float largest() { return to_float(T{S(T::largest)}); }
};
template <int W, bool S>
struct top_of<small_int<W, S>> {
  static constexpr int mantissa = 0;
  DLT_FN static float largest() { return float(small_int<W, S>::highest); }
};

template <class T>
DLT_FN uint32_t code_of(T element) {
  return element.bits;
}
DLT_FN uint32_t code_of(int8_t element) { return uint8_t(element); }

template <int BYTES>
struct word_of {
  using type = uint16_t;
};
template <>
struct word_of<4> {
  using type = uint32_t;
};
template <>
struct word_of<8> {
  using type = uint64_t;
};

// The bytes of `count` elements of a tensor, at most eight, from number `first` on, a multiple of eight. `aligned`: by words, of
// which 6 bytes are three.
template <int WIDTH>
struct CodeAccess {
  using word = typename word_of<WIDTH>::type;
  static constexpr int words = WIDTH / int(sizeof(word)), bits = 8 * sizeof(word);

  DLT_FN static uint64_t load(const void* codes, uint64_t first, unsigned count, bool aligned) {
    const uint8_t* const from = static_cast<const uint8_t*>(codes) + first / 8 * WIDTH;
    uint64_t all = 0;
    if (aligned && count == 8) {
#pragma unroll
      for (int k = 0; k < words; ++k) all |= uint64_t(reinterpret_cast<const word*>(from)[k]) << (bits * k);
    } else {
#pragma unroll 1
      for (unsigned k = 0; k < (count * WIDTH + 7) / 8; ++k) all |= uint64_t(from[k]) << (8 * k);
    }
    return all;
  }
  DLT_FN static void store(void* codes, uint64_t first, unsigned count, bool aligned, uint64_t all) {
    uint8_t* const to = static_cast<uint8_t*>(codes) + first / 8 * WIDTH;
    if (aligned && count == 8) {
#pragma unroll
      for (int k = 0; k < words; ++k) reinterpret_cast<word*>(to)[k] = word(all >> (bits * k));
    } else {
#pragma unroll 1
      for (unsigned k = 0; k < (count * WIDTH + 7) / 8; ++k) to[k] = uint8_t(all >> (8 * k));
    }
  }
};

}  // namespace dlt::kernels
