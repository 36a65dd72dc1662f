// SPDX-License-Identifier: Apache-2.0
// Random values of one dtype: blocks of words in a buffer that stays in L1, then a loop over it. What a value is made of is in
// native/ops/random/philox.h; the loops here give the same bits on every level.
#include "native/cpu/random/kernels.h"
#include "native/cpu/random/kernels/blocks.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt::DLT_LEVEL {
namespace {

constexpr int64_t chunk = 256;  // blocks at a time: 4 KiB

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
  alignas(64) uint32_t drawn[4 * (chunk + blocks_at_once)];
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
