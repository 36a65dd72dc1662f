// SPDX-License-Identifier: Apache-2.0
// Rounds the state of an exact sum once, as a sum or as a mean. Internal to this folder.
#pragma once
#include "native/ops/reduce/exact_moments.h"

namespace dlt {
namespace {

using namespace exact_sums;

struct State {
  double above, below, error;
};

template <class R>
bool round_state(const State& s, R* out) {
  return round_sum(s.above, s.below, s.error, out);
}

// Half the difference of two elements, which is their standard deviation, rounded once.
template <class R>
R half_difference_of(double a, double b) {
  const Pair apart = exact_sum(a, -b);
  return nearest<R>(magnitude_of(apart.high) / 2, (apart.high < 0 ? -apart.low : apart.low) / 2);
}

// The quotient where it has 106 bits at most. Of few elements many means lie just between two floats, where any bound would leave
// both.
bool divide_exactly(const State& s, double divisor, State* out) {
  if (s.error != 0) return false;
  const Pair sum = exact_sum(s.above, s.below);
  const double first = sum.high / divisor, size = magnitude_of(first);
  if (!(size > 0x1p-900 && size < 0x1p1000)) return false;
  const Pair rest = exact_sum(fused(-first, divisor, sum.high), sum.low);
  const double second = rest.high / divisor;
  *out = {first, second, 0};
  return rest.low == 0 && fused(-second, divisor, rest.high) == 0;
}

// The state of a sum divided by the number of elements, rounded once.
template <class R>
bool round_mean(const State& s, double count, R* out) {
  if (s.below == 0 && s.error == 0 && s.above == 0) return *out = from<R>(0.0), true;
  if (!ops::isfinite(s.above) || !ops::isfinite(s.below)) return false;
  const double sum = s.above + s.below;
  if (sum > 0 ? round_roughly(sum, s.error, count, false, out) : round_roughly(-sum, s.error, -count, false, out)) return true;
  Quotient q;
  if (divide(s.above, s.below, s.error, count, &q) && round_sum(q.above, q.below, q.error, out)) return true;
  State exact;
  return divide_exactly(s, count, &exact) && round_state(exact, out);
}

}  // namespace
}  // namespace dlt
