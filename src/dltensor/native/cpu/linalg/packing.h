// SPDX-License-Identifier: Apache-2.0
// Products by our own kernel: what is packed, how it is cut, who computes which piece.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

// Any type that has a kernel, any strides of a and b.
Status multiply_panels(const Product& p) noexcept;

}  // namespace dlt
