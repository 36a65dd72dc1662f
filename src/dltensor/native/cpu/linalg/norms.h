// SPDX-License-Identifier: Apache-2.0
// Euclidean norms of vectors.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// out[r] = sqrt(sum of |a[r, i]|^2) of `count` vectors of n elements of float32, float64, complex64 or complex128: `row` elements
// from one vector to the next, `step` elements within it. The bits are the same on every processor; nothing overflows between.
// False, with nothing done, unless elements are contiguous, or real and the same elements of all vectors are.
DLT_API bool find_norms(int type, int64_t count, int64_t row, int64_t n, int64_t step, const void* a, void* out) noexcept;

}  // namespace dlt
