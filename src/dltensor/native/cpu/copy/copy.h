// SPDX-License-Identifier: Apache-2.0
// Copying and filling elements of any dtype in any layout.
#pragma once
#include "dltensor/dlpack.h"
#include "native/export.h"

namespace dlt {

// Same shape, same dtype; overlapping memory is copied as if through a temporary. False when its allocation fails.
DLT_API bool copy(const DLTensor& dst, const DLTensor& src, bool padded) noexcept;

// `element` holds one element; of packed types the low bits of a byte.
DLT_API void fill(const DLTensor& dst, const void* element, bool padded) noexcept;

}  // namespace dlt
