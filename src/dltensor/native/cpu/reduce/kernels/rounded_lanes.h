// SPDX-License-Identifier: Apache-2.0
// The end of sums in the lanes of registers: as many registers as one has lanes become one, which is divided and rounded once, where
// the bound on the errors leaves one value.
#pragma once
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

// Lanes of two registers in turns of S, the even turns of both and the odd ones.
template <int S, bool ODD, class X, int... I>
DLT_FN X turns_of(X x, X y, std::integer_sequence<int, I...>) {
  constexpr int count = sizeof...(I);
  return __builtin_shufflevector(x, y, (I / (2 * S) * (2 * S) + I % S + (ODD ? S : 0) + (I % (2 * S) < S ? 0 : count))...);
}
template <int S, bool ODD, class X>
DLT_FN X turns_of(X x, X y) {
  return turns_of<S, ODD>(x, y, std::make_integer_sequence<int, int(sizeof x / sizeof x[0])>());
}
template <int S, bool ODD>
DLT_FN TwoSum turns_of(const TwoSum& x, const TwoSum& y) {
  return {turns_of<S, ODD>(x.above, y.above), turns_of<S, ODD>(x.below, y.below), turns_of<S, ODD>(x.lost, y.lost)};
}
struct Add {
  template <class X>
  DLT_FN X operator()(X x, X y) const {
    return x + y;
  }
  DLT_FN TwoSum operator()(TwoSum x, TwoSum y) const {
    x.merge(y);
    return x;
  }
};
// Lane k of the result joins the lanes of x[k]; lanes in the second half are joined to those in the first one.
template <int S = 1, int COUNT = lanes, class X, class Join>
DLT_FN X joined(X* x, Join join) {
  if constexpr (S == COUNT) return x[0];
  else {
    each<COUNT / (2 * S)>([&](int k) __attribute__((always_inline)) {
      x[k] = join(turns_of<S, false>(x[2 * k], x[2 * k + 1]), turns_of<S, true>(x[2 * k], x[2 * k + 1]));
    });
    return joined<2 * S, COUNT>(x, join);
  }
}

// The numbers as a dtype has them.
template <class R>
DLT_FN V as_result(V x) {
  if constexpr (is_same<R, double>::value) return x;
  else {
    const half_vector rounded = narrowed(x);
    return widened(reinterpret_cast<const float*>(&rounded));
  }
}
DLT_FN void save_result(double* to, V x) { save(to, x); }
DLT_FN void save_result(float* to, V x) {
  const half_vector rounded = narrowed(x);
  __builtin_memcpy(to, &rounded, sizeof rounded);
}
// A register of sums, divided by `count` and rounded once, and which are known.
template <class R>
DLT_FN integers rounded(const TwoSum& local, double count, V* out) {
  const bool is_power = (int64_t(count) & (int64_t(count) - 1)) == 0;  // of two: the quotients are exact
  const double each = 1 / count;
  V above = local.above, below = local.below;
  V margin;
  if (is_power) {
    margin = local.lost * 2 + size_of(below) * 0x1p-52;
    margin = local.lost == 0 ? V{} : margin;
  } else {  // as divide_exactly(): of few elements many quotients lie just between two floats
    const V sum = above + below, part = sum - above, rest = (above - (sum - part)) + (below - part);
    above = sum * each;
    const V high = rest_of(sum, above, V{} + count), left = high + rest, taken = left - high;
    const V error = (high - (left - taken)) + (rest - taken), rough = left * each;
    below = rough + rest_of(left, rough, V{} + count) * each;
    const integers is_exact = (rest_of(left, below, V{} + count) == 0) & (error == 0) & (local.lost == 0);
    margin = is_exact ? V{} : (local.lost + size_of(error)) * 2 * each + size_of(below) * 0x1p-50;
  }
  const V up = as_result<R>(above + (below + margin)), down = as_result<R>(above + (below - margin)), size = size_of(up);
  *out = (is_power ? up * each : up) + 0.0;
  // Remainders, and quotients by a power of two, are exact in this range; infinities and NaN are added again.
  integers known = (up == down) & (size < (is_same<R, float>::value ? 0x1p127 : 0x1p900));
  if (count != 1) known &= (size > 0x1p-900) | ((local.above == 0) & (local.below == 0) & (local.lost == 0));
  return known;
}
}  // namespace
}  // namespace dlt::DLT_LEVEL
