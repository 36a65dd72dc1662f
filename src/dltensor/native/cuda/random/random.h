// SPDX-License-Identifier: Apache-2.0
// Random values in device memory, the same bits as those of native/cpu/random/random.h.
#pragma once
#include "native/cuda/runtime/engine.h"
#include "native/cpu/runtime/engine_table.h"

namespace dlt::cuda {

// n values to a tensor in C order, whose elements are aligned; `words` is what words_per_value() says, or 0 where a value takes
// whole blocks.
DLT_API Status draw(Distribution distribution, int type, int words, const Draw& how, uint64_t position, int64_t n,
                    const Operand& out, const LaunchContext& context) noexcept;

// Numbers at equal steps to a tensor in C order: integers, or real numbers as float32 or float64.
DLT_API Status fill_steps(const Steps& steps, const Operand& out, const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
