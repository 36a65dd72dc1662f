// SPDX-License-Identifier: Apache-2.0
// The loop of an element-wise call and the conversions around it, as far as dtypes decide them. Nothing is run here.
#pragma once
#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/runtime/dtype.h"
#include "native/status.h"

namespace dlt {

struct CastOptions;

struct ElementLoop {
  loop_t loop = nullptr;
  bool swapped = false;   // the loop takes its two operands the other way round
  CastPipeline in[3];     // of the operands in the order of the loop
  CastPipeline out;
  int loop_type;          // of the elements that the loop writes
  int weight;             // work per byte relative to a float addition
};

// Finds the loop of an op that is computed in dtype number `type` (-1: comparison by value), for operands of the dtypes `from` and
// results of dtype `to`, -1 for those that no row names.
Status find_element_loop(int op, unsigned flags, int type, const int* from, int to, ElementLoop* found) noexcept;

// A cast without scale and offset: no loop, and its conversions as those of the one operand.
Status find_cast(const CastOptions& options, int from, int to, ElementLoop* found) noexcept;

}  // namespace dlt
