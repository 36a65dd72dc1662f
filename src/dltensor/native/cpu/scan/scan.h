// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima along an axis, and along rows in place.
#pragma once
#include <stdint.h>

#include "native/export.h"
#include "native/status.h"

namespace dlt {

enum class Scan : int32_t { sum, product, maximum, minimum, saturating_sum, saturating_product };

struct EngineOperand;
struct LaunchContext;

// The slot of EngineTable. In a namespace of its own, like CUDA's: both have the same arguments.
namespace cpu {
Status scan(Scan op, const EngineOperand& x, int axis, const EngineOperand& out, const LaunchContext& launch) noexcept;
}

// -- parts

// Each of `rows` rows of n elements, `pitch` elements apart, becomes its running values. `type` is int64, uint64 (which wrap,
// or are clamped where `op` saturates), float64, or complex128 for sums and products. Sums and products of floats have one
// fixed order, whatever the number of threads and the instruction set, in blocks of 4096 elements that start at the end of the
// block before: products serial, sums as `running_sums` of kernels.h says; they keep what the ends of blocks lose to rounding.
void scan_rows(Scan op, int type, void* data, int64_t rows, int64_t n, int64_t pitch) noexcept;

// Sums of float32 or float64 from one array to another, or in place; each is rounded to `type` once.
void sum_rows(int type, void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch, int64_t in_pitch) noexcept;

}  // namespace dlt
