// SPDX-License-Identifier: Apache-2.0
// Poisson and binomial values, as doubles: by inversion where few are expected, else by transformed rejection (Hormann, 1993).
// Probabilities are those of Loader, "Fast and accurate computation of binomial probabilities", 2000.
#pragma once
#include "native/ops/random/words.h"

namespace dlt::sampled {

inline constexpr double few = 10;  // expected values below it are inverted
inline constexpr int most_terms = 64;  // of an inversion, whose terms fall below 2^-60 before

// ---- inversion: the least k for which the sum of the probabilities of 0 to k is above u. Bodies have `ratio`, that of the
// probability of k to the one before.

template <class M, class BODY>
DLT_FN typename M::Float inverted(typename M::Float u, typename M::Float first, const BODY& ratio) {
  typename M::Float term = first, total = first, k = M::all(0.0);
  typename M::Mask goes_on = (u >= total) & (term >= 0x1p-60);
  for (int step = 1; step < most_terms && M::any(goes_on); ++step) {
    term = term * ratio(M::all(double(step)));
    total = total + term;
    k = goes_on ? M::all(double(step)) : k;
    goes_on = goes_on & (u >= total) & (term >= 0x1p-60);
  }
  return k;
}
// The same sums, for many u; returns how many there are.
template <class BODY>
DLT_FN int inversion_table(double* sums, double first, const BODY& ratio) {
  double term = first, total = first;
  int count = 0;
  while (term >= 0x1p-60 && count < most_terms - 1) {
    sums[count++] = total;
    term = term * ratio(double(count));
    total = total + term;
  }
  return count;
}

// ---- probabilities

// Errors of Stirling's formula for the logarithms of 0! to 15!.
DLT_TABLE double factorial_errors[16] = {0.0,
                                         0.0810614667953272582,
                                         0.0413406959554092941,
                                         0.0276779256849983391,
                                         0.0207906721037650931,
                                         0.0166446911898211922,
                                         0.0138761288230707480,
                                         0.0118967099458917701,
                                         0.0104112652619720965,
                                         0.00925546218271273292,
                                         0.00833056343336287126,
                                         0.00757367548795184079,
                                         0.00694284010720952987,
                                         0.00640899418800420707,
                                         0.00595137011275884774,
                                         0.00555473355196280137};
template <class M>
DLT_FN typename M::Float factorial_error(typename M::Float k) {
  using V = typename M::Float;
  const V inverse = 1.0 / M::at_least(k, 16.0), z = inverse * inverse;
  const V series = inverse * polynomial<M>(z, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
  return k < 16.0 ? M::look(factorial_errors, M::bits(k + 0x1p52)) : series;
}
// x log(x / mean) + mean - x, without cancellation.
template <class M>
DLT_FN typename M::Float deviance(typename M::Float x, typename M::Float mean) {
  using V = typename M::Float;
  const V v = (x - mean) / (x + mean), z = v * v;
  const V series = z * polynomial<M>(z, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3);
  V r = M::fma(x - mean, v, x * 2.0 * v * series);
  const typename M::Mask far = elementary::magnitude<M>(v) >= 0.1;
  if (M::any(far)) r = far ? M::fma(x, elementary::log<M>(x / mean), mean - x) : r;
  return r;
}

// ---- rejection: a proposal k from u in (-1/2, 1/2), and the height of its hat over the probability, whose test is height * v

template <class M>
struct Hat {
  typename M::Float a, b, center, inverse;  // `inverse` is the scale of v
};
template <class M>
struct Proposal {
  typename M::Float k, height, v;
  typename M::Mask inside;  // where v is compared with a bound that holds for all k
};
template <class M>
DLT_FN Proposal<M> proposal(const Bits<M>& bits, const Hat<M>& hat) {
  using V = typename M::Float;
  const V u = unit<M>(bits.low) - 0.5, v = unit<M>(bits.high), near = 0.5 - elementary::magnitude<M>(u);
  const V x = M::fma(M::fma(hat.a * 2.0, 1.0 / near, hat.b), u, hat.center);
  return {rounded_down<M>(x), hat.inverse / (hat.a / (near * near) + hat.b), v, near >= 0.07};
}

// PTRS of "The transformed rejection method for generating Poisson random variables".
struct poisson {
  template <class M>
  struct Setup {
    typename M::Float mean, bound;
    Hat<M> hat;
  };
  template <class M>
  DLT_FN static typename M::Mask is_few(typename M::Float mean, typename M::Float) {
    return mean < few;
  }
  template <class M>
  DLT_FN static typename M::Float first(typename M::Float mean, typename M::Float) {
    return elementary::exp<M>(-mean);
  }
  template <class M>
  DLT_FN static typename M::Float ratio(typename M::Float k, typename M::Float mean, typename M::Float) {
    return mean / k;
  }
  template <class M>
  DLT_FN static typename M::Float finished(typename M::Float k, typename M::Float, typename M::Float) {
    return k;
  }
  template <class M>
  DLT_FN static Setup<M> setup(typename M::Float mean, typename M::Float) {
    const typename M::Float b = M::fma(M::sqrt(mean), M::all(2.53), M::all(0.931));
    const typename M::Float a = M::fma(b, M::all(0.02483), M::all(-0.059));
    return {mean, 0.9277 - 3.6224 / (b - 2.0), {a, b, mean + 0.43, 1.1239 + 1.1328 / (b - 3.4)}};
  }
  template <class M>
  DLT_FN static typename M::Mask test(const Proposal<M>& p, const Setup<M>& s) {
    using V = typename M::Float;
    const V k = M::at_least(p.k, 1.0);
    const V log_probability = -(factorial_error<M>(k) + deviance<M>(k, s.mean));
    const typename M::Mask none = p.k == 0.0;
    const V height = p.height * p.v * (none ? M::all(1.0) : M::sqrt(k * 0x1.921fb54442d18p2));
    return (p.k >= 0.0) & (elementary::log<M>(height) <= (none ? -s.mean : log_probability));
  }
};

// BTRS of "The generation of binomial random variates", for p of at most 1/2: the less likely outcome is counted.
struct binomial {
  template <class M>
  struct Setup {
    typename M::Float n, p, bound, top;
    Hat<M> hat;
  };
  template <class M>
  DLT_FN static typename M::Float part(typename M::Float p) {
    return p > 0.5 ? 1.0 - p : p;
  }
  template <class M>
  DLT_FN static typename M::Mask is_few(typename M::Float n, typename M::Float p) {
    return n * part<M>(p) < few;
  }
  template <class M>
  DLT_FN static typename M::Float first(typename M::Float n, typename M::Float p) {
    return elementary::exp<M>(n * elementary::log1p<M>(-part<M>(p)));
  }
  template <class M>
  DLT_FN static typename M::Float ratio(typename M::Float k, typename M::Float n, typename M::Float odds) {
    return M::at_least(n - k + 1.0, 0.0) / k * odds;
  }
  template <class M>
  DLT_FN static typename M::Float finished(typename M::Float k, typename M::Float n, typename M::Float p) {
    return p > 0.5 ? n - k : k;
  }
  // The logarithm of the probability of k times sqrt(2 pi) root_of_product(k), for k from 1 to n - 1.
  template <class M>
  DLT_FN static typename M::Float log_probability(typename M::Float k, typename M::Float n, typename M::Float p) {
    const typename M::Float others = n - k;
    const typename M::Float errors = factorial_error<M>(n) - factorial_error<M>(k) - factorial_error<M>(others);
    return errors - (deviance<M>(k, n * p) + deviance<M>(others, n * (1.0 - p)));
  }
  template <class M>
  DLT_FN static typename M::Float root_of_product(typename M::Float k, typename M::Float n) {
    return M::sqrt(k * ((n - k) / n));
  }
  template <class M>
  DLT_FN static Setup<M> setup(typename M::Float n, typename M::Float chance) {
    using V = typename M::Float;
    const V p = part<M>(chance), spread = M::sqrt(n * p * (1.0 - p));
    const V b = M::fma(spread, M::all(2.53), M::all(1.15));
    const V a = M::fma(b, M::all(0.0248), M::fma(p, M::all(0.01), M::all(-0.0873)));
    const V mode = rounded_down<M>((n + 1.0) * p);
    const V top = log_probability<M>(mode, n, p) - elementary::log<M>(root_of_product<M>(mode, n));
    return {n, p, 0.92 - 4.2 / b, top, {a, b, M::fma(n, p, M::all(0.5)), (2.83 + 5.1 / b) * spread}};
  }
  template <class M>
  DLT_FN static typename M::Mask test(const Proposal<M>& p, const Setup<M>& s) {
    using V = typename M::Float;
    const V k = M::at_least(p.k < s.n - 1.0 ? p.k : s.n - 1.0, 1.0);
    const typename M::Mask edge = (p.k == 0.0) | (p.k == s.n);
    V height = p.height * p.v, log_of_k = log_probability<M>(k, s.n, s.p);
    height = edge ? height : height * root_of_product<M>(k, s.n);
    if (M::any(edge)) {
      const V one = s.n * (p.k == 0.0 ? elementary::log1p<M>(-s.p) : elementary::log<M>(s.p));
      log_of_k = edge ? one + 0x1.d67f1c864beb5p-1 : log_of_k;  // times sqrt(2 pi)
    }
    return (p.k >= 0.0) & (p.k <= s.n) & (elementary::log<M>(height) <= log_of_k - s.top);
  }
};

// Either of them as attempts: inversion at once, the rest by rejection.
template <class BODY>
struct counted {
  template <class M>
  struct Setup {
    typename M::Float a, b;
    typename BODY::template Setup<M> rest;
  };
  template <class M>
  DLT_FN static Setup<M> setup(typename M::Float a, typename M::Float b) {
    return {a, b, BODY::template setup<M>(a, b)};
  }
  template <class M>
  DLT_FN static Sample<M> quick(const Bits<M>& bits, const Setup<M>& s) {
    const typename M::Mask is_few = BODY::template is_few<M>(s.a, s.b);
    typename M::Float k = M::all(0.0);
    typename M::Mask accepted = is_few;
    if (M::any(is_few == 0)) {
      const Proposal<M> p = proposal<M>(bits, s.rest.hat);
      k = p.k;
      accepted = is_few | (p.inside & (p.v <= s.rest.bound));
    }
    if (M::any(is_few)) k = is_few ? few_of<M>(bits, s.a, s.b) : k;
    return {BODY::template finished<M>(k, s.a, s.b), accepted};
  }
  template <class M>
  DLT_FN static Sample<M> full(const Bits<M>& bits, const Setup<M>& s) {
    const Proposal<M> p = proposal<M>(bits, s.rest.hat);
    return {BODY::template finished<M>(p.k, s.a, s.b), BODY::template test<M>(p, s.rest)};
  }
  template <class M>
  DLT_FN static auto ratio_of(typename M::Float a, typename M::Float b) {
    const typename M::Float odds = odds_of<M>(b);
    return [a, odds](typename M::Float k) { return BODY::template ratio<M>(k, a, odds); };
  }
  template <class M>
  DLT_FN static typename M::Float odds_of(typename M::Float p) {
    if constexpr (is_same<BODY, binomial>::value) return binomial::part<M>(p) / (1.0 - binomial::part<M>(p));
    else return p;
  }
  // Lanes with many expected ones take others' place: their terms are 0 at once, so that no loop waits for them.
  template <class M>
  DLT_FN static typename M::Float few_of(const Bits<M>& bits, typename M::Float a, typename M::Float b) {
    const typename M::Float first = BODY::template is_few<M>(a, b) ? BODY::template first<M>(a, b) : M::all(0.0);
    return inverted<M>(unit<M>(bits.low), first, ratio_of<M>(a, b));
  }
};

}  // namespace dlt::sampled
