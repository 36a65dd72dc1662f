// SPDX-License-Identifier: Apache-2.0
// Programs on CUDA devices: each group of steps is one kernel.
#pragma once
#include "native/cpu/program/program.h"
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// As run_program() of native/cpu/program, for arguments and results on the device of the stream. `ran` is false, with results that are
// not complete, also where no compiler is found or a step has no kernel: then the steps must run one by one.
DLT_API Status run_program(const Program& program, const Operand* arguments, const void* const* numbers, const Operand* out,
                           const LaunchContext& context, bool* ran) noexcept;

}  // namespace dlt::cuda
