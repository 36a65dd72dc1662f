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

// A function of a BLAS or LAPACK, or null. scipy-openblas32 prefixes its symbols; a system's library does not.
void* find_in_blas(void* library, const char* letter, const char* name) noexcept;

}  // namespace dlt
