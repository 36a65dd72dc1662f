// SPDX-License-Identifier: Apache-2.0
// Contiguous elements of fewer than 8 bits, out of the packed form and into it.
#pragma once
#include <stdint.h>

namespace dlt {

// Elements `first` to `first + n` of `packed`, each of so many bits, as one byte each. At most 8 bits.
void unpack_elements(void* codes, const void* packed, int64_t first, int bits, int64_t n) noexcept;
// The opposite. Neighbours keep their bits, and those of a code above its width are left out.
void pack_elements(void* packed, int64_t first, int bits, const void* codes, int64_t n) noexcept;

}  // namespace dlt
