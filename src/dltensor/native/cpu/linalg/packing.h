// SPDX-License-Identifier: Apache-2.0
// Products by our own kernel: what is packed, how it is cut, who computes which piece; small matrices moved or converted together.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

// Any type that has a kernel, any strides of a and b.
Status multiply_panels(const Product& p) noexcept;

// Writes the elements of `count` matrices, `step` bytes apart, to runs of lane_bytes, and sets their strides to those of the runs. An
// element has so many parts of `width` bytes.
void spread(Matrix* m, int64_t step, int64_t parts, int64_t width, int64_t count, char* runs) noexcept;

// Returns whether matrices of elements of so many bytes, `step` bytes apart, fill contiguous memory, so that one loop converts them.
bool is_block(const Matrix& m, int64_t bytes, int64_t step) noexcept;
// Converts `count` such matrices to a wider dtype, and sets where they are.
void convert_block(Matrix* m, int from, int to, int64_t* step, int64_t count, char* out) noexcept;

}  // namespace dlt
