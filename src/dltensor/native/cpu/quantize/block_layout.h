// SPDX-License-Identifier: Apache-2.0
// Blocks of a tensor in C order: on each axis its extent is a multiple of that of a scale, and the quotient is the block.
#pragma once
#include "dltensor/dlpack.h"
#include "native/layout/layout.h"

namespace dlt {

// The axes of a tensor and of up to four scales of it, merged where blocks stay blocks.
struct BlockLayout {
  static constexpr int most_operands = 4;
  struct Blocks {
    int64_t count[max_dims], block[max_dims];
  };
  int ndim, operands;
  int64_t extent[max_dims];
  Blocks of[most_operands];

  // The lines of the tensor along its last axis, and the index of the row of a scale that a line has.
  int64_t lines() const;
  int64_t row_of(int operand, int64_t line) const;
  // Returns whether a scale is one number.
  bool is_one_block(int operand) const;
};

// Scales have at most as many dimensions as the tensor; missing ones are leading ones of extent 1.
BlockLayout block_layout(const DLTensor& values, const DLTensor* const* scales, int count) noexcept;

}  // namespace dlt
