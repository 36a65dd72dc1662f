// SPDX-License-Identifier: Apache-2.0
// The order in which running sums and products of floats are computed, for g++ and NVRTC: blocks, groups, and what lies before.
#pragma once
#include "native/ops/elementwise/bodies.h"

namespace dlt::scans {

// Elements that are added or multiplied on their own, from the first on; and those of a block that are added by distances 1,
// 2 and 4.
inline constexpr int64_t block = 4096;
inline constexpr int group = 8;

// The sum of the blocks before one, in two float64: sums keep what the ends of blocks lose to rounding.
struct Before {
  double parts[2] = {0, 0};
  bool any = false;
  DLT_FN const double* get() const { return any ? parts : nullptr; }
  DLT_FN void add(double block_sum) {
    if (!any) {
      parts[0] = block_sum;
      any = true;
      return;
    }
    const Pair sum = exact_sum(parts[0], block_sum);
    parts[0] = sum.high;
    parts[1] = ops::isfinite(sum.high) ? parts[1] + sum.low : 0;
  }
};

}  // namespace dlt::scans
