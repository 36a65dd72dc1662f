// SPDX-License-Identifier: Apache-2.0
// Products by a BLAS that set_blas() found at run time. Nothing is linked.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

// Returns whether a BLAS is loaded and at least as fast as our own kernel for this product.
bool prefers_blas(const Product& p) noexcept;

// False, and nothing done, when a BLAS cannot read the operands: it needs contiguous rows or columns of the
// accumulation dtype.
bool multiply_blas(const Product& p) noexcept;

}  // namespace dlt
