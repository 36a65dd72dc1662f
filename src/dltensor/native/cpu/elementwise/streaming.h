// SPDX-License-Identifier: Apache-2.0
// Runs of operations whose results are stored past the caches.
#pragma once
#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/elementwise/streamed_rows.h"
#include "native/cpu/elementwise/strided_loop.h"

namespace dlt {

// A run that is streamed in strips so short (strip_tuning()) that the reads of the next overlap the stores of this one. A
// whole tile at once would read and write memory alternately.
struct StreamedRun {
  char* to;
  const char* from[3];
  int64_t steps[3];  // bytes from one element to the next
  int64_t turns[3];  // bytes from the beginning of this run to that of the next
  int64_t n;
  unsigned scalars;
  unsigned prefetched;  // bit k: operand k
};

// Returns whether the loop is one of those that this processor runs with shorter strips and both operands read ahead.
bool has_short_strips(const StridedLoop& w);

// The loop that writes results from registers, or null where strips of them are faster: a row that is repeated, and a strip
// beside it, take the first cache from each other. `repeats`: one of two operands does.
streamed_t loop_without_strip(const StridedLoop& w, const Kernels& kernels, const StreamedRun& run, bool repeats);

void stream_run(const StridedLoop& w, const Kernels& kernels, StreamedRun run, char* strip);

}  // namespace dlt
