// SPDX-License-Identifier: Apache-2.0
// The distinct values of a tensor: found first, so that results of the right size can be made, then written.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/export.h"
#include "native/memory/block.h"
#include "native/status.h"

namespace dlt {

// Values in ascending order; NaNs are distinct from each other, -0 and +0 are one value.
struct Unique {
  Block* memory = nullptr;  // the caller releases it
  int64_t n = 0;            // elements
  int64_t count = 0;        // distinct ones
  int64_t width = 0;
  bool ordered = false;     // with the order of the elements, for indices and inverse
  char* values = nullptr;   // sorted
  int64_t* order = nullptr;
  uint8_t* starts = nullptr;  // whether a value differs from the one before it
};

// `x` is contiguous, of a dtype that has_order().
DLT_API Status find_unique(const DLTensor& x, bool ordered, Unique* found) noexcept;

// Writes what is not null: the values, their first places, for each element the place of its value, how often it occurs.
DLT_API void write_unique(const Unique& found, void* values, int64_t* indices, int64_t* inverse, int64_t* counts) noexcept;

}  // namespace dlt
