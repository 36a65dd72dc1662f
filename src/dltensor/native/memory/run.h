// SPDX-License-Identifier: Apache-2.0
// Elements one behind another in the memory of a block, or a number: an operand of the fast path on devices.
#pragma once

namespace dlt {

struct Block;

struct Run {
  void* data;  // the first element, or the number
  Block* block;
  bool number;
};

}  // namespace dlt
