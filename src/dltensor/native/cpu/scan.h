// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima along rows, in place. Strides, conversions and other axes are left to the caller.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

enum class Scan : int32_t { sum, product, maximum, minimum, saturating_sum, saturating_product };

// Each of `rows` rows of n elements, `pitch` elements apart, becomes its running values. `type` is int64, uint64 (which wrap,
// or are clamped where `op` saturates), float64, or complex128 for sums and products. Sums and products of floats have one
// fixed order, whatever the number of threads and the instruction set, in blocks of 4096 elements that start at the end of the
// block before: products serial, sums as `running_sums` of kernels.h says; they keep what the ends of blocks lose to rounding.
DLT_API void scan_rows(Scan op, int type, void* data, int64_t rows, int64_t n, int64_t pitch) noexcept;

// The same sums of float32 or float64 from one array to another, or in place; each is rounded to `type` once.
DLT_API void sum_rows(int type, void* out, const void* in, int64_t rows, int64_t n, int64_t out_pitch,
                      int64_t in_pitch) noexcept;

}  // namespace dlt
