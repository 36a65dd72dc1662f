// SPDX-License-Identifier: Apache-2.0
// Size classes of memory that is kept for reuse: four to a doubling, so that at most a quarter of a block is unused.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <bit>

namespace dlt {

inline constexpr uint32_t size_classes = 160;
inline constexpr size_t most_bytes = size_t{1} << 47;  // of one block: the user address space

// In units of so many bytes.
template <size_t unit>
struct SizeClass {
  static constexpr uint32_t of(size_t bytes) noexcept {
    const size_t units = bytes <= unit ? 1 : (bytes + unit - 1) / unit;
    if (units <= 4) return static_cast<uint32_t>(units - 1);
    const auto power = static_cast<uint32_t>(std::bit_width(units - 1) - 1);
    const auto quarter = static_cast<uint32_t>((units - 1 - (size_t{1} << power)) >> (power - 2));
    return 4 + (power - 2) * 4 + quarter;
  }
  static constexpr size_t bytes(uint32_t size_class) noexcept {
    if (size_class < 4) return (size_class + 1) * unit;
    const uint32_t power = 2 + (size_class - 4) / 4, quarter = (size_class - 4) % 4;
    return ((size_t{1} << power) + (quarter + 1) * (size_t{1} << (power - 2))) * unit;
  }
};
static_assert(SizeClass<256>::of(most_bytes) < size_classes);

}  // namespace dlt
