// SPDX-License-Identifier: Apache-2.0
// Packed elements: they start at any bit of a byte and may run into the next one (6 bits). At most 8 bits from bit `at` on.
#pragma once
#include <stdint.h>

namespace dlt {

inline uint8_t load_bits(const void* base, int64_t at, int width) {
  const auto* byte = static_cast<const uint8_t*>(base) + (at >> 3);
  const int shift = int(at & 7);
  unsigned both = byte[0];
  if (shift + width > 8) both |= unsigned(byte[1]) << 8;
  return uint8_t(both >> shift & ((1u << width) - 1));
}

// Bits of `value` above the width are left out.
inline void store_bits(void* base, int64_t at, int width, uint8_t value) {
  auto* byte = static_cast<uint8_t*>(base) + (at >> 3);
  const int shift = int(at & 7);
  const unsigned mask = ((1u << width) - 1) << shift, moved = unsigned(value) << shift & mask;
  byte[0] = uint8_t((byte[0] & ~mask) | moved);
  if (shift + width > 8) byte[1] = uint8_t((byte[1] & ~(mask >> 8)) | moved >> 8);
}

}  // namespace dlt
