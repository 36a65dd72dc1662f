// SPDX-License-Identifier: Apache-2.0
// The order in which running sums and products of floats are computed, for g++ and NVRTC: blocks, groups, and what lies before.
#pragma once
#include "native/ops/elementwise/bodies.h"

namespace dlt::scans {

// Elements that are added or multiplied on their own, from the first on; and those of a block that are added by distances 1,
// 2 and 4.
inline constexpr int64_t block = 4096;
inline constexpr int group = 8;

// Blocks whose sums are added one after the other; the sums of batches are added in the same way. So no chain is long, and those
// of different batches do not wait for one another.
inline constexpr int64_t batch = 64;

// A sum in two float64: `low` has what sums of the higher parts lose to rounding.
struct Sum {
  double high = 0, low = 0;
};
DLT_FN Sum joined(Sum a, Sum b) {
  const Pair sum = exact_sum(a.high, b.high);
  return {sum.high, ops::isfinite(sum.high) ? a.low + b.low + sum.low : 0};
}

// The sum of some blocks or batches, one after the other.
struct Chain {
  Sum sum;
  bool any = false;
  DLT_FN void add(Sum next) {
    sum = any ? joined(sum, next) : next;
    any = true;
  }
};

// The sum of the blocks before one: of the batches before its own, and of the blocks of that.
class Before {
 public:
  DLT_FN const double* get() const { return any_ ? parts_ : nullptr; }
  DLT_FN void add(double block_sum) {
    blocks_.add({block_sum, 0});
    const Sum all = batches_.any ? joined(batches_.sum, blocks_.sum) : blocks_.sum;
    parts_[0] = all.high;
    parts_[1] = all.low;
    any_ = true;
    if (++count_ < batch) return;
    batches_ = {all, true};
    blocks_ = {};
    count_ = 0;
  }

 private:
  Chain batches_, blocks_;
  double parts_[2] = {0, 0};
  bool any_ = false;
  int64_t count_ = 0;
};

}  // namespace dlt::scans
