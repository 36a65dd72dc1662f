// SPDX-License-Identifier: Apache-2.0
// Evenly spaced numbers: by steps, or each rounded once from the exact value. Choosing between them, and the fixed-point
// format, is up to the caller.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/export.h"

namespace dlt {

// Number i is (first + i * step + i * rest / steps) / 2^fraction, where first and step are integers of 128 bits in two
// halves, 0 <= rest < steps, and neither the numbers nor the step reach 2^126.
struct Ramp {
  int64_t first_high, step_high;
  uint64_t first_low, step_low;
  uint64_t rest, steps;  // steps is below 2^63
  int32_t fraction;
};

// Writes number 0 to element `at`, number 1 to element `at + every`, `count` in all. Integers are truncated and keep
// their low bits; a bool is true unless the number is 0. Rounding is correct for numbers that are 0 or at least 2^54 /
// 2^fraction and, in float64, normal. False for complex dtypes and for dtypes without a row in dtypes.h.
DLT_API bool fill_ramp(void* base, int64_t at, int64_t every, int64_t count, DLDataType dtype, bool padded, const Ramp& ramp);

namespace cpu {
// See the slot `steps` of EngineTable: converted as store_scalar() does, to a dtype with a row in dtypes.h.
Status fill_steps(const Steps& steps, const EngineOperand& out, const LaunchContext& launch) noexcept;
}  // namespace cpu

}  // namespace dlt
