// SPDX-License-Identifier: Apache-2.0
// Unsigned keys with a number or an element each on the device, and their stable order.
#pragma once
#include "native/cuda/elementwise/plan.h"

namespace dlt::cuda {

// The dtype of a signed integer of so many bytes.
inline int signed_twin(int bytes) noexcept {
  return bytes == 1 ? type_int8 : bytes == 2 ? type_int16 : bytes == 4 ? type_int32 : type_int64;
}

// Keys, and what goes with each.
class CarryingKeys {
 public:
  // Room for n keys of 1, 2, 4 or 8 bytes, which kernels fill before they are sorted. With them go their numbers, which are their
  // positions.
  Status make(uint64_t n, int bytes, Stream& stream) noexcept;
  // With them go `elements` of as many bytes as they; null: nothing.
  Status make(uint64_t n, int bytes, const void* elements, Stream& stream) noexcept;
  void* keys() const noexcept { return keys_[now_].as<void>(); }
  // Numbers of 64 bits or of 32, or elements. Null: numbers that are positions, nothing was sorted.
  const void* carried() const noexcept { return carried_; }
  bool wide() const noexcept { return carried_bytes_ == 8; }
  // Key of the kernel that moves them; the one for numbers of 32 bits moves keys alone.
  int moved_bytes() const noexcept { return carried_bytes_ ? carried_bytes_ : 4; }
  // By the lowest `bits` of the keys; the others are 0. keys() and carried() are others then. `live`: of as many as that is on the
  // device.
  Status sort(int bits, const LaunchContext& context, const uint64_t* live = nullptr) noexcept;
  // Room for numbers that kernels fill with the keys, where these are not all positions.
  void* take_numbers() noexcept;
  uint64_t runs() const noexcept { return runs_; }
  // By the keys of elements, which need no room before. `last`: where the elements are wanted, and nothing else is; they go along,
  // or their form has no infinity.
  Status sort_elements(const void* elements, const KeyForm& form, void* last, const LaunchContext& context) noexcept;
  // By the line of `line` elements that each number is in. keys() are of no use after it.
  Status sort_by_line(uint64_t line, const LaunchContext& context) noexcept;

 private:
  Status make_room(uint64_t n, int bytes, int carried_bytes, Stream& stream) noexcept;
  // Counts the digits of `passes` passes over keys.
  Status count(kernels::Sort& p, int keys, int passes, const LaunchContext& context) noexcept;
  Status pass(kernels::Sort& p, int keys, const LaunchContext& context) noexcept;

  static constexpr int digits = 256, most_passes = 16;  // of keys, then of lines
  struct State {
    uint64_t totals[8 * digits];
    uint32_t tickets[most_passes];
  };
  Scratch keys_[2], with_[2], state_, words_;
  const void* carried_ = nullptr;
  uint64_t n_ = 0, runs_ = 0, passes_ = 0;
  int bytes_ = 0, carried_bytes_ = 0, now_ = 0;
};

}  // namespace dlt::cuda
