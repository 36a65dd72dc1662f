// SPDX-License-Identifier: Apache-2.0
// Conversion between any two dtypes as a sequence of existing cast loops, with a single rounding overall.
#pragma once
#include "native/cpu/runtime/kernels.h"

namespace dlt {

inline constexpr int longest_pipeline = 4;

struct CastPipeline {
  int count = 0;                    // loops to run one after the other; 0 when the types are the same
  loop_t loops[longest_pipeline];
  int types[longest_pipeline + 1];     // types[k] goes into loops[k], types[k + 1] comes out
};

// `mode` is a combination of cast_nearest and cast_saturate of copy/kernels.h. False when a type has no row.
bool find_pipeline(const CopyKernels& kernels, int from, int to, int mode, CastPipeline* pipeline);
// The loops from a dtype through another one to a third. False, too, where they are more than longest_pipeline.
bool find_pipeline_through(const CopyKernels& kernels, int from, int through, int to, int mode, CastPipeline* pipeline);

// Runs the loops over n contiguous elements, through two buffers. Returns where the results are: `to`, or `from` where there is no
// loop.
const void* run_pipeline(const CastPipeline& pipeline, void* to, const void* from, int64_t n, void* spare,
                         void* other) noexcept;

}  // namespace dlt
