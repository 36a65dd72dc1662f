// SPDX-License-Identifier: Apache-2.0
// Narrow numbers with a scale for each block: the slots of the engine table. What a scale is, is in native/ops/quantize/scales.h.
#pragma once
#include "native/cpu/runtime/engine_table.h"
#include "native/ops/quantize/scales.h"

namespace dlt {

// How the exponent of a power of two follows from the largest magnitude of a block.
enum class ScaleRule : int {
  floor,  // that of the magnitude: the rule of the OCP's specification
  even,  // that of the magnitude rounded to the digits of the element
  ceil,  // the smallest with which no element is clamped
};

struct QuantizeCall {
  ScaleKind kind;
  ScaleRule rule;
  int type;  // of the values
};

// Returns whether there is a format of this kind with elements of that dtype.
DLT_API bool quantizes(ScaleKind kind, int type) noexcept;
// The largest element of a dtype that quantizes() knows, and 0 of others.
DLT_API float largest_element(int type) noexcept;
// Two numbers that power_scale() takes: the rule as what it adds to magnitudes, and the exponent of the largest element.
struct PowerRule {
  uint32_t carry;
  int32_t top;
};
DLT_API PowerRule power_rule(ScaleRule rule, int type) noexcept;

namespace cpu {
Status quantize(const QuantizeCall& call, const EngineOperand& x, const EngineOperand& values, const EngineOperand& scale,
                const EngineOperand* tensor_scale, const LaunchContext& launch) noexcept;
Status dequantize(const EngineOperand& values, const EngineOperand* zero, const EngineOperand* scales, int count,
                  const EngineOperand& out, const LaunchContext& launch) noexcept;
}  // namespace cpu

}  // namespace dlt
