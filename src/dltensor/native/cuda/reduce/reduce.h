// SPDX-License-Identifier: Apache-2.0
// Reductions of CUDA tensors: the rows of native/ops/reduce/reductions.h, with the bits of native/cpu/reduce/reduce.h.
#pragma once
#include <string>

#include "native/cpu/reduce/reduce.h"
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// Reduces as the CPU's reduce() does.
DLT_API Status reduce(int reduction, const ReduceOptions& options, int type, const Operand& in, const Operand* mask,
                      uint64_t axes, const Operand& out, const LaunchContext& context) noexcept;

// The body of kernels/reduce that reduces elements of any dtype, converted to `type` first, in any order.
struct KernelBody {
  std::string text;  // "" where there is none
  int center = -1;   // the dtype of the mean that it takes deviations from, if it does
};
KernelBody kernel_body(int reduction, int type, bool saturate);

// The fast path: `outer` times rows of `count` elements, `inner` apart, all in C order and of the dtype `type`, without a mask or
// an initial value; `to` is the dtype of the result as a row. On the thread's current stream, into new memory, which the caller
// owns even if this fails. What is found out of a shape is kept by thread.
DLT_API Status reduce_rows_here(int device, int reduction, int type, double correction, const Run& in, int64_t outer,
                                int64_t count, int64_t inner, int to, Run* out) noexcept;

}  // namespace dlt::cuda
