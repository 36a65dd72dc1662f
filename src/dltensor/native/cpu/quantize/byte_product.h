// SPDX-License-Identifier: Apache-2.0
// Exact products of matrices of int8 and uint8 in int32.
#pragma once
#include "native/cpu/linalg/product.h"

namespace dlt {

inline bool is_byte(int type) { return type == type_int8 || type == type_uint8; }

// c = a @ b modulo 2^32; elements of a and b are bytes, with a sign or without. It fails only for want of memory.
Status multiply_bytes(const Product& p) noexcept;

}  // namespace dlt
