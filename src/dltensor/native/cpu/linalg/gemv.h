// SPDX-License-Identifier: Apache-2.0
// Products of a matrix and a vector: how they are split and who computes which piece.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

// Any type that has a kernel, any strides of a and b; of c any between its elements. p.add is ignored.
Status multiply_vector(const Product& p) noexcept;

}  // namespace dlt
