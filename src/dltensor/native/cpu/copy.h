// SPDX-License-Identifier: Apache-2.0
// Copying and filling of any element, in any layout.
#pragma once
#include "dltensor/dlpack.h"
#include "native/export.h"

namespace dlt {

// Same shape, same dtype; overlapping memory is as if copied through a temporary. False when that cannot be had.
DLT_API bool copy(const DLTensor& dst, const DLTensor& src, bool padded) noexcept;

// `element` holds one element; of packed types the low bits of a byte.
DLT_API void fill(const DLTensor& dst, const void* element, bool padded) noexcept;

}  // namespace dlt
