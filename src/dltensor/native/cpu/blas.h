// SPDX-License-Identifier: Apache-2.0
// Products by a BLAS that set_blas() found at run time. Nothing is linked.
#pragma once
#include "native/cpu/product.h"

namespace dlt {

// Whether there is a BLAS, and it takes no longer than our own kernel does.
bool prefers_blas(const Product& p) noexcept;

// False, and nothing done, where a BLAS cannot read the operands: it wants contiguous rows or columns of the type that is
// summed in.
bool multiply_blas(const Product& p) noexcept;

}  // namespace dlt
