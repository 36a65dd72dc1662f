// SPDX-License-Identifier: Apache-2.0
// Reductions of all elements of a tensor that is never whole in memory: states of its parts, joined and ended once.
#pragma once
#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/reduce/reduce.h"

namespace dlt {

// Returns whether the order of the elements decides the result.
bool is_ordered(int reduction) noexcept;

struct PartReduction {
  int body, type;         // of the loops
  int end;                // End
  int result;             // the dtype of the result
  CastPipeline pipeline;  // of elements
};

inline constexpr int part_state_bytes = 36 * 16;

// False where the order of elements decides, or where more than one pass is needed: these are for tensors in memory.
bool find_parts(int reduction, const ReduceOptions& options, int type, int from, PartReduction* found) noexcept;

void start_parts(const PartReduction& parts, void* state) noexcept;
void add_part(const PartReduction& parts, void* state, const void* elements, int64_t n) noexcept;  // after `pipeline`
void join_parts(const PartReduction& parts, void* state, const void* other) noexcept;
// The result of `count` elements. False where the state leaves two values: the elements must be read again, by reduce().
bool end_parts(const PartReduction& parts, const void* state, int64_t count, void* out) noexcept;

}  // namespace dlt
