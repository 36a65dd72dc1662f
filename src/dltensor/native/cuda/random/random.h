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
// Numbers of a ramp to a tensor in C order: integers of whole bytes, float16, bfloat16, float32 or float64.
DLT_API Status fill_ramp(const Ramp& ramp, int part, const Operand& out, const LaunchContext& context) noexcept;

// The integers below n in random order, or the first of them, as int64 in C order.
DLT_API Status shuffle(const Shuffle& shuffle, const Operand& out, const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
