// SPDX-License-Identifier: Apache-2.0
// Random values of one dtype: blocks of words in a buffer that stays in L1, then a loop over it. What a value is made of is in
// native/ops/random/philox.h; the loops here give the same bits on every level.
#include "native/cpu/random/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/sizes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlt::DLT_LEVEL {
namespace {

using philox::Sequence;
using philox::Words;

constexpr int64_t chunk = 256;  // blocks at a time: 4 KiB

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
constexpr int64_t step = 2 * lanes;

struct Group {
  lane_t c0, c1, c2, c3;
};

DLT_FN Group counters(const Sequence& s, uint64_t number) {
  lane_t at;
  for (int k = 0; k < lanes; ++k) at[k] = number + uint64_t(k);
  return {at, at >> 32, lane_t{} + s.stream, lane_t{} + (s.stream >> 32)};
}
DLT_FN Group next(const Group& g, uint64_t key0, uint64_t key1) {
  const lane_t p = widening_product(g.c0, lane_t{} + philox::multiplier0);
  const lane_t q = widening_product(g.c2, lane_t{} + philox::multiplier1);
  return {(q >> 32) ^ (g.c1 ^ key0), q, (p >> 32) ^ (g.c3 ^ key1), p};
}
DLT_FN void save(uint32_t* to, const Group& g) {
  const lane_t low = (g.c0 & 0xffffffff) | g.c1 << 32, high = (g.c2 & 0xffffffff) | g.c3 << 32;
  for (int k = 0; k < lanes; ++k) {
    const uint64_t pair[2] = {low[k], high[k]};
    __builtin_memcpy(to + 4 * k, pair, 16);
  }
}

// Blocks `first` ... first + n - 1; up to step - 1 more are written.
void fill_blocks(uint32_t* to, const Sequence& s, uint64_t first, int64_t n) {
  for (int64_t i = 0; i < n; i += step) {
    Group a = counters(s, first + uint64_t(i)), b = counters(s, first + uint64_t(i) + lanes);
    uint32_t key0 = uint32_t(s.key), key1 = uint32_t(s.key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < philox::rounds; ++round) {
      a = next(a, key0, key1);
      b = next(b, key0, key1);
      key0 += philox::weyl0;
      key1 += philox::weyl1;
    }
    save(to + 4 * i, a);
    save(to + 4 * i + 4 * lanes, b);
  }
}

// Each distribution: the n values of n * words_of words, which begin with a block; n is a multiple of a block's values.
using drawn::words_of;

template <class T>
struct unit_values {
  static void run(void* out, const uint32_t* w, const Draw&, uint64_t, int64_t n) {
    DLT_EACH write_at<T>(out, i, drawn::unit<T>(w + words_of<T> * i));
  }
};

template <class T>
struct uniform_values {
  static void run(void* out, const uint32_t* w, const Draw& parameters, uint64_t, int64_t n) {
    const Draw draw = parameters;
    DLT_EACH write_at<T>(out, i, drawn::uniform<T>(w + words_of<T> * i, draw));
  }
};

template <class T>
struct normal_values {
  static void run(void* out, const uint32_t* w, const Draw& parameters, uint64_t, int64_t count) {
    const Draw draw = parameters;
    const int64_t n = count / 2;
    DLT_EACH {
      const auto two = drawn::normals<T>(w + 2 * words_of<T> * i, draw);
      write_at<T>(out, 2 * i, two.first);
      write_at<T>(out, 2 * i + 1, two.second);
    }
  }
};

template <class T>
struct exponential_values {
  static void run(void* out, const uint32_t* w, const Draw& parameters, uint64_t, int64_t n) {
    const Draw draw = parameters;
    DLT_EACH write_at<T>(out, i, drawn::exponential<T>(w + words_of<T> * i, draw));
  }
};

template <class T>
struct narrow_integers {
  static void run(void* out, const uint32_t* w, const Draw& draw, uint64_t position, int64_t n) {
    const uint64_t low = draw.low;
    if (draw.count >> 32) {  // all words
      DLT_EACH write_at<T>(out, i, T(low + w[i]));
      return;
    }
    const uint32_t count = uint32_t(draw.count), reject = uint32_t(draw.reject);
    uint32_t rejected = 0;
    DLT_EACH {
      const uint64_t product = uint64_t(w[i]) * count;
      rejected |= uint32_t(uint32_t(product) < reject);
      write_at<T>(out, i, T(low + (product >> 32)));
    }
    if (!rejected) return;
    for (int64_t i = 0; i < n; ++i) {
      if (w[i] * count >= reject) continue;
      write_at<T>(out, i, T(low + philox::below32(draw.sequence, position + uint64_t(i), w[i], count, reject)));
    }
  }
};

template <class T>
struct wide_integers {
  static void run(void* out, const uint32_t* w, const Draw& draw, uint64_t position, int64_t n) {
    for (int64_t i = 0; i < n; ++i) write_at<T>(out, i, drawn::wide_integer<T>(w + 2 * i, draw, position + uint64_t(2 * i)));
  }
};

// Chunks of whole blocks; where a run begins or ends within one, its values are made beside and copied. `run` makes values of
// `width` bytes from `words` words each.
using Run = void (*)(void* out, const uint32_t* w, const Draw& draw, uint64_t position, int64_t n);
void draw_run(Run run, int64_t width, int64_t words, void* out, const Draw& draw, uint64_t position, int64_t n) {
  alignas(64) uint32_t drawn[4 * (chunk + step)];
  alignas(64) char beside[4 * chunk * sizeof(uint64_t)];
  const int64_t in_block = 4 / words;
  uint64_t block = position / 4;
  int64_t skip = int64_t(position % 4) / words;
  char* to = static_cast<char*>(out);
  while (n > 0) {
    const int64_t values = smaller(n, chunk * in_block - skip);
    const int64_t blocks = ceil_divide(skip + values, in_block);
    fill_blocks(drawn, draw.sequence, block, blocks);
    const bool whole = skip == 0 && values == blocks * in_block;
    run(whole ? to : beside, drawn, draw, 4 * block, blocks * in_block);
    if (!whole) __builtin_memcpy(to, beside + skip * width, size_t(values * width));
    to += values * width;
    n -= values;
    block += uint64_t(blocks);
    skip = 0;
  }
}

template <template <class> class Values, class T>
void draw_reals(void* out, const Draw& draw, uint64_t position, int64_t n, bool) {
  draw_run(Values<T>::run, sizeof(T), words_of<T>, out, draw, position, n);
}
// Signed integers are the same bits.
template <class T>
void draw_integers_of(void* out, const Draw& draw, uint64_t position, int64_t n, bool wide) {
  if constexpr (sizeof(T) == 8) {
    if (wide) return draw_run(wide_integers<T>::run, sizeof(T), 2, out, draw, position, n);
  }
  draw_run(narrow_integers<T>::run, sizeof(T), 1, out, draw, position, n);
}

template <class T>
void fill_reals(RandomKernels* kernels, int type) {
  kernels->draws[draw_unit][type] = draw_reals<unit_values, T>;
  kernels->draws[draw_uniform][type] = draw_reals<uniform_values, T>;
  kernels->draws[draw_normal][type] = draw_reals<normal_values, T>;
  kernels->draws[draw_exponential][type] = draw_reals<exponential_values, T>;
}

}  // namespace

void fill_random(RandomKernels* kernels) {
  fill_reals<float16>(kernels, type_float16);
  fill_reals<bfloat16>(kernels, type_bfloat16);
  fill_reals<float>(kernels, type_float32);
  fill_reals<double>(kernels, type_float64);
  draw_t* const integers = kernels->draws[draw_integers];
#define DLT_FILL(type, name) integers[type_##name] = draw_integers_of<twin_t<type>>;
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
