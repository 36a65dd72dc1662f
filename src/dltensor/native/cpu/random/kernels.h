// SPDX-License-Identifier: Apache-2.0
// Loops that fill memory with random numbers.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"
#include "native/ops/random/draws.h"

namespace dlt {

// n values to contiguous memory at any address. The first value's words begin at `position`, which is even where each takes
// two. `wide`, of integers alone: a value takes two words.
typedef void (*draw_t)(void* out, const Draw& draw, uint64_t position, int64_t n, bool wide);

struct RandomKernels {
  draw_t draws[distribution_count][computed_types];  // null where a distribution has no values of that dtype
};

}  // namespace dlt
