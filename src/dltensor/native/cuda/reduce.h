// SPDX-License-Identifier: Apache-2.0
// Reductions of CUDA tensors: the rows of native/ops/reductions.h, with the bits of native/cpu/reduce.h.
#pragma once
#include "native/cpu/reduce.h"
#include "native/cuda/engine.h"

namespace dlt::cuda {

// As the CPU's reduce(); the dtype of `out` is that of the result. Not var and std of float64, complex128 and integers of 32 bits and more: a DeviceError.
DLT_API Status reduce(int reduction, const ReduceOptions& options, int type, const Operand& in, const Operand* mask,
                      uint64_t axes, const Operand& out, const Where& where) noexcept;

}  // namespace dlt::cuda
