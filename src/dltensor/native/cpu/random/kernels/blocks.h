// SPDX-License-Identifier: Apache-2.0
// Blocks of words, as many at once as a register has lanes of 64 bits. No values here.
#pragma once
#include "native/cpu/runtime/kernels/level.h"
#include "native/ops/random/philox.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

// Lanes of 64 bits, one for each block: the multiplication reads their low halves alone, so words are computed there and the
// high halves hold anything.
#if defined(__AVX512F__)
constexpr int lanes = 8;
typedef uint64_t lane_t __attribute__((vector_size(64)));
DLT_FN lane_t widening_product(lane_t a, lane_t b) { return lane_t(_mm512_maskz_mul_epu32(0xff, __m512i(a), __m512i(b))); }
#elif defined(__AVX2__)
constexpr int lanes = 4;
typedef uint64_t lane_t __attribute__((vector_size(32)));
DLT_FN lane_t widening_product(lane_t a, lane_t b) { return lane_t(_mm256_mul_epu32(__m256i(a), __m256i(b))); }
#else
constexpr int lanes = 2;
typedef uint64_t lane_t __attribute__((vector_size(16)));
#if defined(__x86_64__)
DLT_FN lane_t widening_product(lane_t a, lane_t b) { return lane_t(_mm_mul_epu32(__m128i(a), __m128i(b))); }
#else
DLT_FN lane_t widening_product(lane_t a, lane_t b) { return (a & 0xffffffff) * (b & 0xffffffff); }
#endif
#endif
// Two groups of lanes at once: one alone would wait for its own multiplications.
constexpr int64_t blocks_at_once = 2 * lanes;

struct Group {
  lane_t c0, c1, c2, c3;
};

DLT_FN Group counters(const philox::Sequence& s, lane_t numbers) {
  return {numbers, numbers >> 32, lane_t{} + s.stream, lane_t{} + (s.stream >> 32)};
}
DLT_FN Group next(const Group& g, uint64_t key0, uint64_t key1) {
  const lane_t p = widening_product(g.c0, lane_t{} + philox::multiplier0);
  const lane_t q = widening_product(g.c2, lane_t{} + philox::multiplier1);
  return {(q >> 32) ^ (g.c1 ^ key0), q, (p >> 32) ^ (g.c3 ^ key1), p};
}
// Words 0 and 1, and words 2 and 3 of each block.
struct Pairs {
  lane_t low, high;
};
DLT_FN Pairs pairs_of(const Group& g) { return {(g.c0 & 0xffffffff) | g.c1 << 32, (g.c2 & 0xffffffff) | g.c3 << 32}; }

// `save(i, pairs)` of the blocks i ... i + lanes - 1 among n, whose numbers are numbers(i); up to blocks_at_once - 1 more than n.
template <class NUMBERS, class SAVE>
DLT_FN void each_group(const philox::Sequence& s, int64_t n, NUMBERS numbers, SAVE save) {
  for (int64_t i = 0; i < n; i += blocks_at_once) {
    Group a = counters(s, numbers(i)), b = counters(s, numbers(i + lanes));
    uint32_t key0 = uint32_t(s.key), key1 = uint32_t(s.key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < philox::rounds; ++round) {
      a = next(a, key0, key1);
      b = next(b, key0, key1);
      key0 += philox::weyl0;
      key1 += philox::weyl1;
    }
    save(i, pairs_of(a));
    save(i + lanes, pairs_of(b));
  }
}

// The numbers `first`, first + step, ...
DLT_FN auto spaced(uint64_t first, uint64_t step) {
  lane_t at;
  for (int k = 0; k < lanes; ++k) at[k] = first + uint64_t(k) * step;
  return [at, step](int64_t i) { return at + uint64_t(i) * step; };
}

// Blocks `first` ... first + n - 1; up to blocks_at_once - 1 more are written.
inline void fill_blocks(uint32_t* to, const philox::Sequence& s, uint64_t first, int64_t n) {
  each_group(s, n, spaced(first, 1), [to](int64_t i, const Pairs& pairs) {
    for (int k = 0; k < lanes; ++k) {
      const uint64_t pair[2] = {pairs.low[k], pairs.high[k]};
      __builtin_memcpy(to + 4 * (i + k), pair, 16);
    }
  });
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
