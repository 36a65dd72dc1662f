// SPDX-License-Identifier: Apache-2.0
// Random orders of 0 ... n - 1 by exchanges from the end (Fisher and Yates), on the CPU and on CUDA devices.
#pragma once
#include "native/ops/random/philox.h"

namespace dlt {

// Step k exchanges element n - 1 - k with itself or one ahead of it. The result is the whole order, of `count` = n elements; or,
// `from_end`, its last `count` elements, the last one first, of which each is known after its step.
struct Shuffle {
  philox::Sequence sequence;
  uint64_t position;  // of the first word
  int64_t n, count;
  bool from_end;
};

namespace shuffles {

DLT_FN uint64_t words_of(int64_t n) { return n >> 32 ? 2 : 1; }

// The element that step k exchanges. `bits`: the word at position + k, or where n is 2^32 or more, the two at position + 2 k. Those
// to reject are below a remainder, which is computed only where they may be.
DLT_FN uint64_t partner(const Shuffle& s, uint64_t k, uint64_t bits) {
  const uint64_t left = uint64_t(s.n) - k, words = words_of(s.n), at = s.position + k * words;
  if (words == 2) return philox::below64(s.sequence, at, bits, left, bits * left < left ? (0 - left) % left : 0);
  const auto count = uint32_t(left), word = uint32_t(bits);
  return philox::below32(s.sequence, at, word, count, word * count < count ? (0 - count) % count : 0);
}

// Steps on a device; what stands for an element has 4 or 8 bytes.
struct Run {
  Shuffle shuffle;
  void* keys;  // partners, step by step; then sorted
  const void* numbers;  // the steps of those: see number_at() of parameters.cuh
  uint32_t wide;
  void* links;  // of each step: the last step before it whose partner is its place, or all ones
  int64_t* out;
};

}  // namespace shuffles
}  // namespace dlt
