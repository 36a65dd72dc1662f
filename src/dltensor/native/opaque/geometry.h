// SPDX-License-Identifier: Apache-2.0
// Element sizes, and checks of foreign shapes. Stride arithmetic is in native/layout.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// `bits` from one element to the next. For packed types that is not a whole number of bytes.
struct Element {
  int64_t bits;
  bool whole_bytes() const noexcept { return bits % 8 == 0; }
  size_t bytes() const noexcept { return static_cast<size_t>(bits / 8); }
};
Element element_of(DLDataType dtype, uint64_t flags) noexcept;

// Bytes of `count` contiguous elements; false on overflow.
bool bytes_of(int64_t count, Element element, size_t* bytes) noexcept;

// The product of the dimensions. False when those that are not 0 have a product beyond memory, also if another is 0:
// so no stride of an accepted shape can overflow.
bool count_of(int32_t ndim, const int64_t* shape, int64_t* count) noexcept;

// Reads a foreign shape: too many dimensions, sizes beyond int64 and products beyond memory are refused.
DetailedStatus read_shape(const char* function, const uintptr_t* shape, uintptr_t count, Element element, int64_t* out,
                          int64_t* elements, size_t* bytes);

}  // namespace dlt::opaque
