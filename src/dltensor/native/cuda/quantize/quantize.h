// SPDX-License-Identifier: Apache-2.0
// Narrow numbers with scales of blocks in device memory, with the bytes of native/cpu/quantize/quantize.h.
#pragma once
#include "native/cpu/quantize/quantize.h"
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// The slots of EngineTable. One launch where blocks lie in a row of multiples of eight elements, two where a scale of the tensor
// or long blocks have to be found first.
DLT_API Status quantize(const QuantizeCall& call, const Operand& x, const Operand& values, const Operand& scale,
                        const Operand* tensor_scale, const LaunchContext& context) noexcept;
// One launch.
DLT_API Status dequantize(const Operand& values, const Operand* zero, const Operand* scales, int count, const Operand& out,
                          const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
