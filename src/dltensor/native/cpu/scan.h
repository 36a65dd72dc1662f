// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima along rows, in place. Strides, conversions and other axes are left to the caller.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

enum class Scan : int32_t { sum, product, maximum, minimum };

// Each of `rows` rows of n elements, `pitch` elements apart, becomes its running values. `type` is int64, uint64 (which wrap),
// float64, or complex128 for sums and products. Sums and products of floats have one fixed order: serial in blocks of 4096 elements, each of which
// starts at the end of the block before it; sums keep what the ends of blocks lose to rounding.
DLT_API void scan_rows(Scan op, int type, void* data, int64_t rows, int64_t n, int64_t pitch) noexcept;

}  // namespace dlt
