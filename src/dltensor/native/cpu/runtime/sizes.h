// SPDX-License-Identifier: Apache-2.0
// Arithmetic on extents.
#pragma once
#include <stdint.h>

namespace dlt {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace dlt
