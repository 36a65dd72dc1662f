// SPDX-License-Identifier: Apache-2.0
// Real values of distributions with one or two parameters: transforms of one block, and attempts at gamma values.
#pragma once
#include "native/ops/random/words.h"

namespace dlt::sampled {

// ---- transforms: the value of a block

struct lognormal {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float mean, typename M::Float sigma) {
    return elementary::exp<M>(M::fma(normal<M>(bits), sigma, mean));
  }
};
// An exponential value with a random sign.
struct laplace {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float loc, typename M::Float scale) {
    const typename M::Float signed_value = M::value(M::bits(exponential<M>(bits.low)) ^
                                                    (bits.high & elementary::sign_bit<double>));
    return M::fma(signed_value, scale, loc);
  }
};
struct logistic {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float loc, typename M::Float scale) {
    const typename M::Float u = unit<M>(bits.low);
    return M::fma(elementary::log<M>(u / (1.0 - u)), scale, loc);
  }
};
struct gumbel {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float loc, typename M::Float scale) {
    return M::fma(-elementary::log<M>(exponential<M>(bits.low)), scale, loc);
  }
};
struct rayleigh {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float scale, typename M::Float) {
    return M::sqrt(exponential<M>(bits.low) * 2.0) * scale;
  }
};
struct weibull {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float a, typename M::Float) {
    return elementary::exp<M>(elementary::log<M>(exponential<M>(bits.low)) / a);
  }
};
struct pareto {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float a, typename M::Float) {
    return elementary::expm1<M>(exponential<M>(bits.low) / a);
  }
};
// Whole numbers, of which the distribution is that of an exponential value rounded up.
struct geometric {
  template <class M>
  DLT_FN static typename M::Float value(const Bits<M>& bits, typename M::Float p, typename M::Float) {
    const typename M::Float x = exponential<M>(bits.low) / -elementary::log1p<M>(-p);
    return M::at_least(rounded_up<M>(x), 1.0);
  }
};

// ---- attempts: quick() accepts most values of the first block of words by a bound of the test, full() tests any block. What
// quick() accepts full() would accept.

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000: values of the parameter, or of the parameter + 1
// where it is below 1. They are to be multiplied by exp(-power) then.
struct gamma_attempts {
  template <class M>
  struct Setup {
    typename M::Float d, c;
  };
  template <class M>
  DLT_FN static Setup<M> setup(typename M::Float alpha, typename M::Float) {
    const typename M::Float d = (alpha < 1.0 ? alpha + 1.0 : alpha) - 1.0 / 3;
    return {d, 1.0 / M::sqrt(d * 9.0)};
  }
  template <class M>
  DLT_FN static Sample<M> quick(const Bits<M>& bits, const Setup<M>& s) {
    const typename M::Float x = normal<M>(bits), root = M::fma(x, s.c, M::all(1.0)), square = x * x;
    const typename M::Float bound = M::fma(square * square, M::all(-0.0331), M::all(1.0));
    const typename M::Mask accepted = (root > 0.0) & (upper_unit<M>(bits.high) < bound);
    return {s.d * (root * root * root), accepted};
  }
  template <class M>
  DLT_FN static Sample<M> full(const Bits<M>& bits, const Setup<M>& s) {
    const typename M::Float x = normal<M>(bits), root = M::fma(x, s.c, M::all(1.0)), v = root * root * root;
    const typename M::Float log_root = elementary::log<M>(root > 0.0 ? root : M::all(1.0));
    const typename M::Float bound = M::fma(x * x, M::all(0.5), s.d * M::fma(log_root, M::all(3.0), 1.0 - v));
    const typename M::Mask accepted = (root > 0.0) & (elementary::log<M>(upper_unit<M>(bits.high)) < bound);
    return {s.d * v, accepted};
  }
};
// The power for a parameter below 1, from two words of a block of its own; else 0.
template <class M>
DLT_FN typename M::Float gamma_power(typename M::Int pair, typename M::Float alpha) {
  const typename M::Float least = M::at_least(alpha, elementary::least_normal<double>);
  return alpha < 1.0 ? exponential<M>(pair) / least : M::all(0.0);
}
template <class M>
DLT_FN typename M::Float gamma_value(typename M::Float value, typename M::Float power, typename M::Float scale) {
  return value * elementary::exp<M>(-power) * scale;
}
// The part of the first of two gamma values in their sum; no product of an infinity and 0, as a large parameter has the power 0.
template <class M>
DLT_FN typename M::Float beta_value(typename M::Float first, typename M::Float second, typename M::Float power_of_first,
                                    typename M::Float power_of_second) {
  return 1.0 / (second / first * elementary::exp<M>(power_of_first - power_of_second) + 1.0);
}

}  // namespace dlt::sampled
