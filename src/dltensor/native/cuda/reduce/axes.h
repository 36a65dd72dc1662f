// SPDX-License-Identifier: Apache-2.0
// Axes of tensors in the order of memory, for kernels that take axes with any strides: reductions and scans.
#pragma once
#include <algorithm>
#include <bit>
#include <stdint.h>

namespace dlt::cuda {

inline constexpr int few_dims = 6, most_dims = 64;  // for which such kernels are compiled

struct Axis {
  int64_t size, in, mask, out, center = 0;
};

inline int64_t magnitude(int64_t v) noexcept { return v < 0 ? -v : v; }
inline int64_t up(int64_t a, int64_t b) noexcept { return a / b + (a % b != 0); }
inline int64_t power_up(int64_t v) noexcept { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v))); }

// Without extents of 1, by falling strides of the input if any order will do, and joined where they are adjacent.
inline int arrange(Axis* axes, int count, bool sort) noexcept {
  int used = 0;
  for (int d = 0; d < count; ++d)
    if (axes[d].size != 1) axes[used++] = axes[d];
  if (sort) std::stable_sort(axes, axes + used, [](const Axis& a, const Axis& b) { return magnitude(a.in) > magnitude(b.in); });
  int last = -1;
  for (int d = 0; d < used; ++d) {
    const Axis axis = axes[d];
    if (last >= 0 && axes[last].in == axis.in * axis.size && axes[last].mask == axis.mask * axis.size &&
        axes[last].out == axis.out * axis.size && axes[last].center == axis.center * axis.size) {
      const int64_t size = axes[last].size * axis.size;
      axes[last] = axis;
      axes[last].size = size;
    } else {
      axes[++last] = axis;
    }
  }
  return last + 1;
}

}  // namespace dlt::cuda
