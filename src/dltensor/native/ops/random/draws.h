// SPDX-License-Identifier: Apache-2.0
// Values of distributions: words of philox.h to one value, for g++ and NVRTC. No loops here.
#pragma once
#include "native/ops/arithmetic.h"
#include "native/ops/random/philox.h"
#include "native/ops/random/rows.h"

// Distributions. Values of `integers` are of the integer dtypes, all others of the real ones that are computed with. After them
// come the rows of rows.h.
#define DLT_DISTRIBUTIONS(X) X(unit) X(uniform) X(normal) X(exponential) X(integers)

namespace dlt {

#define DLT_NUMBER(name, ...) draw_##name,
enum Distribution : int { DLT_DISTRIBUTIONS(DLT_NUMBER) DLT_SAMPLES(DLT_NUMBER) distribution_count };
#undef DLT_NUMBER
inline constexpr int first_sample = draw_integers + 1;

struct EngineOperand;

struct Draw {
  philox::Sequence sequence;
  double a, b, below;  // uniform: low, high - low, the largest value below high; normal: mean, std; exponential: -, scale
  uint64_t low;  // integers: low + 0 ... low + count - 1, of all 2^64 where `count` is 0; of rows.h the blocks of a value
  uint64_t count, reject;  // 2^width % count; width is 64 where a value takes two words, else 32
  // rows.h: null, or two operands that stand for a and b where they are tensors: float64 in C order, one element for each value, of
  // multinomial one for each share. `arrays` are their elements, which the engine sets.
  const EngineOperand* parameters = nullptr;
  const double* arrays[2] = {nullptr, nullptr};
};

namespace drawn {

// `count` values to contiguous memory of a device; their words begin at `position`, in so many blocks.
struct Run {
  void* out;
  uint64_t count, position, blocks;
  Draw draw;
};

template <class T>
inline constexpr int words_of = sizeof(T) == 8 ? 2 : 1;

template <class T>
DLT_FN T unit(const uint32_t* w) {
  if constexpr (is_same<T, double>::value) {
    return philox::unit64(w[0], w[1]);
  } else if constexpr (is_same<T, float>::value) {
    return philox::unit32(w[0]);
  } else {
    // Uses as many bits as the significand has, so that nothing is rounded to 1.
    constexpr int bits = T::mantissa + 1;
    return from<T>(float(int32_t(w[0] >> (32 - bits))) * (1.0f / (1 << bits)));
  }
}

template <class T>
DLT_FN T uniform(const uint32_t* w, const Draw& draw) {
  double part;
  if constexpr (is_same<T, double>::value) part = philox::unit64(w[0], w[1]);
  else part = double(int32_t(w[0] >> 1)) * 0x1p-31;
  const T value = from<T>(draw.a + draw.b * part);
  return to_double(value) > draw.below ? from<T>(draw.below) : value;
}

// Two values, from the words of both.
template <class T>
struct Two {
  T first, second;
};
template <class T>
DLT_FN Two<T> normals(const uint32_t* w, const Draw& draw) {
  if constexpr (is_same<T, double>::value) {
    const auto two = philox::normals64(w[0], w[1], w[2], w[3]);
    return {draw.a + draw.b * two.cosine, draw.a + draw.b * two.sine};
  } else {
    const auto two = philox::normals32(w[0], w[1]);
    const float mean = float(draw.a), deviation = float(draw.b);
    return {from<T>(mean + deviation * two.cosine), from<T>(mean + deviation * two.sine)};
  }
}

template <class T>
DLT_FN T exponential(const uint32_t* w, const Draw& draw) {
  if constexpr (is_same<T, double>::value) return draw.b * philox::exponential64(w[0], w[1]);
  else return from<T>(float(draw.b) * philox::exponential32(w[0]));
}

// `position` is that of the first word.
template <class T>
DLT_FN T narrow_integer(const uint32_t* w, const Draw& draw, uint64_t position) {
  if (draw.count >> 32) return T(draw.low + w[0]);  // all words
  return T(draw.low + philox::below32(draw.sequence, position, w[0], uint32_t(draw.count), uint32_t(draw.reject)));
}
template <class T>
DLT_FN T wide_integer(const uint32_t* w, const Draw& draw, uint64_t position) {
  const uint64_t bits = w[0] | uint64_t(w[1]) << 32;
  return T(draw.low + (draw.count ? philox::below64(draw.sequence, position, bits, draw.count, draw.reject) : bits));
}

}  // namespace drawn
}  // namespace dlt
