// SPDX-License-Identifier: Apache-2.0
// Arithmetic on extents and widths.
#pragma once
#include <stdint.h>

namespace dlt {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline uint64_t magnitude(int64_t a) { return a < 0 ? 0 - uint64_t(a) : uint64_t(a); }
inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Parts of n that are alike and at most `most`; multiples of 16, but for the last.
inline int64_t even_part(int64_t n, int64_t most) {
  if (n <= most) return n;
  return smaller(most, ceil_divide(ceil_divide(n, ceil_divide(n, most)), 16) * 16);
}

// The index of a width of 1, 2, 4, 8 or 16 bytes in tables of loops.
inline int width_index(int64_t width) { return __builtin_ctzll(uint64_t(width)); }

}  // namespace dlt
