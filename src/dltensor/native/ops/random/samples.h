// SPDX-License-Identifier: Apache-2.0
// Values of the distributions of rows.h: which texts compute a row, and which words an attempt reads. No loops over values here.
//
// The first attempt reads the block of the value itself, attempt k the block whose number is the position of the value's first word
// and whose highest byte is k, as rejected words of integers do. So value i is a function of the sequence and its position.
#pragma once
#include "native/ops/random/continuous.h"
#include "native/ops/random/counts.h"
#include "native/ops/random/draws.h"

#define DLT_TRANSFORMS(X) X(geometric) X(gumbel) X(laplace) X(logistic) X(lognormal) X(pareto) X(rayleigh) X(weibull)

namespace dlt::sampled {

inline constexpr uint32_t power_block = philox::children - 1;  // the number of the block with the powers of gamma values
inline constexpr uint32_t last_attempt = power_block - 1;  // it stands, accepted or not

template <int DISTRIBUTION>
struct transform_of {
  using type = void;
};
#define DLT_TRANSFORM(name)          \
  template <>                        \
  struct transform_of<draw_##name> { \
    using type = name;               \
  };
DLT_TRANSFORMS(DLT_TRANSFORM)
#undef DLT_TRANSFORM

// Counts are rounded to int64, and clamped.
template <class T>
DLT_FN T element_of(double value) {
  if constexpr (is_same<T, int64_t>::value) return value >= 0x1p63 ? int64_t(~uint64_t(0) >> 1) : int64_t(value);
  else return from<T>(value);
}

// ---- one value, whose words begin at `position`, the first of a block

using Number = elementary::One<double>;

DLT_FN Bits<Number> bits_of(const philox::Sequence& s, uint64_t number, uint32_t attempt = 0) {
  const philox::Words w = philox::block_of(s, number, attempt);
  return {int64_t(w.v[0] | uint64_t(w.v[1]) << 32), int64_t(w.v[2] | uint64_t(w.v[3]) << 32)};
}

template <class BODY>
DLT_FN double value_by_attempts(const philox::Sequence& s, uint64_t position, double a, double b) {
  const auto setup = BODY::template setup<Number>(a, b);
  Bits<Number> bits = bits_of(s, position / 4);
  Sample<Number> sample = BODY::template quick<Number>(bits, setup);
  for (uint32_t attempt = 0; !sample.accepted && attempt <= last_attempt; ++attempt) {
    if (attempt > 0) bits = bits_of(s, position, attempt);
    sample = BODY::template full<Number>(bits, setup);
  }
  return sample.value;
}

template <int DISTRIBUTION>
DLT_FN double value_of(const philox::Sequence& s, uint64_t position, double a, double b) {
  if constexpr (DISTRIBUTION == draw_beta) {
    const Bits<Number> bits = bits_of(s, position, power_block);
    return beta_value<Number>(value_by_attempts<gamma_attempts>(s, position, a, 0.0),
                              value_by_attempts<gamma_attempts>(s, position + 4, b, 0.0), gamma_power<Number>(bits.low, a),
                              gamma_power<Number>(bits.high, b));
  } else if constexpr (DISTRIBUTION == draw_gamma || DISTRIBUTION == draw_chisquare) {
    const bool halved = DISTRIBUTION == draw_chisquare;
    const double alpha = halved ? a * 0.5 : a;
    return gamma_value<Number>(value_by_attempts<gamma_attempts>(s, position, alpha, 0.0),
                               gamma_power<Number>(bits_of(s, position, power_block).low, alpha), halved ? 2.0 : b);
  } else if constexpr (DISTRIBUTION == draw_poisson) {
    return value_by_attempts<counted<poisson>>(s, position, a, b);
  } else if constexpr (DISTRIBUTION == draw_binomial || DISTRIBUTION == draw_multinomial) {
    return value_by_attempts<counted<binomial>>(s, position, a, b);
  } else {
    return transform_of<DISTRIBUTION>::type::template value<Number>(bits_of(s, position / 4), a, b);
  }
}

}  // namespace dlt::sampled
