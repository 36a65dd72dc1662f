// SPDX-License-Identifier: Apache-2.0
// Evenly spaced numbers: by steps, or each rounded once from the exact value. Choosing between them, and the fixed-point
// format of native/ops/random/steps.h, is up to the caller.
#pragma once
#include "native/cpu/runtime/engine_table.h"

namespace dlt {

namespace cpu {
// See the slot `steps` of EngineTable: converted as store_scalar() does, to a dtype with a row in dtypes.h.
Status fill_steps(const Steps& steps, const EngineOperand& out, const LaunchContext& launch) noexcept;
// The slot `ramp`: integers are truncated and keep their low bits; a bool is true unless the number is 0. Rounding is correct for
// numbers that are 0 or at least 2^54 / 2^fraction and, in float64, normal.
Status fill_ramp(const Ramp& ramp, int part, const EngineOperand& out, const LaunchContext& launch) noexcept;
}  // namespace cpu

}  // namespace dlt
