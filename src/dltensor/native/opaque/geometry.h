// SPDX-License-Identifier: Apache-2.0
// How elements lie in memory, and shapes as others hand them over. The arithmetic of strides is native/layout's.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// `bits` from one element to the next. Packed types are the ones where that is no whole number of bytes.
struct Element {
  int64_t bits;
  bool whole_bytes() const noexcept { return bits % 8 == 0; }
  size_t bytes() const noexcept { return static_cast<size_t>(bits / 8); }
};
Element element_of(DLDataType dtype, uint64_t flags) noexcept;

// Bytes that `count` elements in a row take; false when no memory has as many.
bool bytes_of(int64_t count, Element element, size_t* bytes) noexcept;

// The product of the dimensions. False when those that are not 0 have a product beyond memory, also if another is 0:
// so no stride of an accepted shape can overflow.
bool count_of(int32_t ndim, const int64_t* shape, int64_t* count) noexcept;

// A shape as others hand it over: too many dimensions, sizes beyond int64 and products beyond memory are refused.
DetailedStatus read_shape(const char* function, const uintptr_t* shape, uintptr_t count, Element element, int64_t* out,
                          int64_t* elements, size_t* bytes);

}  // namespace dlt::opaque
