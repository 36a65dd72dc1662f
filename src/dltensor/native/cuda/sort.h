// SPDX-License-Identifier: Apache-2.0
// Unsigned keys with a number each on the device, and their stable order.
#pragma once
#include "native/cuda/plan.h"

namespace dlt::cuda {

// The dtype of a signed integer of so many bytes.
inline int signed_twin(int bytes) noexcept {
  return bytes == 1 ? type_int8 : bytes == 2 ? type_int16 : bytes == 4 ? type_int32 : type_int64;
}

class NumberedKeys {
 public:
  // Room for n keys of 1, 2, 4 or 8 bytes, which kernels fill, with their numbers, before they are sorted.
  Status make(uint64_t n, int bytes, Stream& stream) noexcept;
  void* keys() const noexcept { return keys_[now_].as<void>(); }
  uint64_t* numbers() const noexcept { return numbers_[now_].as<uint64_t>(); }
  // By the lowest `bits` of the keys; the others are 0. keys() and numbers() are others then.
  Status sort(int bits, const Where& where) noexcept;
  // By the line of `line` elements that each number is in. keys() are of no use after it.
  Status sort_by_line(uint64_t line, const Where& where) noexcept;

 private:
  Status pass(uint32_t shift, const kernels::Divider<uint64_t>* line, const Where& where) noexcept;

  Scratch keys_[2], numbers_[2], counts_;
  uint64_t n_ = 0, tiles_ = 0;
  int bytes_ = 0, now_ = 0;
};

}  // namespace dlt::cuda
