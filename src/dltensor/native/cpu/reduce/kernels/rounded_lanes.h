// SPDX-License-Identifier: Apache-2.0
// The end of sums in the lanes of registers: divided and rounded once, where the bound on their errors leaves one value.
#pragma once
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

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
