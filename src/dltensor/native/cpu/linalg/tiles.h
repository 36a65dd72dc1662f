// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 and of bytes by the processor's tiles.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

// Computes p, of two operands of bfloat16 with the bits of its kernel, or of bytes, by tiles. `done` is false, and c undefined, where the
// processor or the system lacks them, where they do not pay, and where numbers are so small or large that the bits could differ.
Status multiply_tiles(const Product& p, bool* done) noexcept;

}  // namespace dlt
