// SPDX-License-Identifier: Apache-2.0
// Copying elements between two layouts of the same shape: planned once and run for many pairs of addresses, also for
// packed elements of any width; native/cpu/copy/copy.h does neither. No other file of this folder accesses elements.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "native/opaque/geometry.h"

namespace dlt::opaque {

// Planned once for a pair of layouts, then used for any number of pairs of addresses. The two must not overlap.
class StridedCopy {
 public:
  // Strides in elements.
  StridedCopy(int32_t ndim, const int64_t* shape, const int64_t* from_strides, const int64_t* to_strides,
              Element element) noexcept;

  // Positions are in elements from the two addresses.
  void operator()(const void* from, int64_t from_position, void* to, int64_t to_position) const noexcept;

 private:
  template <class Row>
  void each_row(int64_t from, int64_t to, const Row& row) const noexcept;
  void copy_bytes(const char* from, char* to) const noexcept;
  void copy_bits(const char* from, int64_t from_bit, char* to, int64_t to_bit) const noexcept;

  Element element_;
  bool empty_ = false;
  int32_t outer_ = 0;                         // dimensions except the innermost
  int64_t count_ = 1, from_ = 0, to_ = 0;     // the innermost; steps in bytes, or in bits when packed
  int64_t shape_[DLT_ARRAY_MAX_NDIM + 2];     // two more than an array has: a run of movements adds one
  int64_t from_steps_[DLT_ARRAY_MAX_NDIM + 2];
  int64_t to_steps_[DLT_ARRAY_MAX_NDIM + 2];
};

// Fill `count` contiguous elements with the first bits of `value`.
void fill_elements(void* to, int64_t count, const void* value, Element element) noexcept;

}  // namespace dlt::opaque
