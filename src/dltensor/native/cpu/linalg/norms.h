// SPDX-License-Identifier: Apache-2.0
// Euclidean norms of contiguous rows.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// out[r] = sqrt(sum of |a[r, i]|^2) for n elements of float32, float64, complex64 or complex128 each. Sums carry their rounding
// errors, always in the same order, so that the bits are the same on every processor; nothing overflows between.
DLT_API void norm_rows(int type, int64_t rows, int64_t n, const void* a, void* out) noexcept;

}  // namespace dlt
