// SPDX-License-Identifier: Apache-2.0
// Merges the axes of a tensor that is divided into blocks.
#include "native/cpu/quantize/block_layout.h"

namespace dlt {

int64_t BlockLayout::lines() const {
  int64_t count = 1;
  for (int d = 0; d < ndim - 1; ++d) count *= extent[d];
  return count;
}

int64_t BlockLayout::row_of(int operand, int64_t line) const {
  int64_t row = 0, step = 1;
  for (int d = ndim - 2; d >= 0; --d) {
    row += line % extent[d] / of[operand].block[d] * step;
    step *= of[operand].count[d];
    line /= extent[d];
  }
  return row;
}

bool BlockLayout::is_one_block(int operand) const {
  for (int d = 0; d < ndim; ++d)
    if (of[operand].count[d] != 1) return false;
  return true;
}

BlockLayout block_layout(const DLTensor& values, const DLTensor* const* scales, int count) noexcept {
  BlockLayout layout;
  layout.ndim = 1;
  layout.operands = count;
  layout.extent[0] = 1;
  for (int k = 0; k < count; ++k) layout.of[k].count[0] = layout.of[k].block[0] = 1;
  for (int d = 0; d < values.ndim; ++d) {
    const int64_t extent = values.shape[d];
    const auto count_of = [&](int k) {
      const int at = d - (values.ndim - scales[k]->ndim);
      return at < 0 ? int64_t(1) : scales[k]->shape[at];
    };
    // A block of the merged axis is one of the first axis, or part of it.
    bool merges = true;
    for (int k = 0; k < count; ++k) merges = merges && (count_of(k) == 1 || layout.of[k].block[layout.ndim - 1] == 1);
    if (!merges) {
      layout.extent[layout.ndim] = 1;
      for (int k = 0; k < count; ++k) layout.of[k].count[layout.ndim] = layout.of[k].block[layout.ndim] = 1;
      ++layout.ndim;
    }
    const int last = layout.ndim - 1;
    layout.extent[last] *= extent;
    for (int k = 0; k < count; ++k) {
      layout.of[k].block[last] *= extent / count_of(k);
      layout.of[k].count[last] *= count_of(k);
    }
  }
  return layout;
}

}  // namespace dlt
