// SPDX-License-Identifier: Apache-2.0
// Handles: what the `ptr` of our arrays is. A number that is never used twice, so that a view of an array that
// is gone gives an error, never another array's data. Arrays are in array.h.
#pragma once
#include <stdint.h>

#include <atomic>

#include "native/export.h"
#include "native/opaque/host.h"

namespace dlt::opaque {

struct Array;

static_assert(sizeof(void*) == 8, "a handle needs 64 bits");

// One array's place in the table. Memory of slots is never given back, so that any handle may be looked at. The
// properties are kept here so that queries read them without a lock (a seqlock): read, then check that the handle is
// still live.
struct Slot {
  std::atomic<uint64_t> state;   // generation << 32 | live bit | pins
  Array* array;                  // stable while pinned
  std::atomic<uint64_t> device;  // DLDevice
  std::atomic<uint32_t> dtype;   // DLDataType
  std::atomic<uint64_t> shape;   // address of the dimensions, and their number in the top byte
  std::atomic<const Origin*> origin;
  std::atomic<const Host*> host;  // null: the caller's library
  uint32_t number;     // of this slot in the table
  uint32_t next_free;  // in the queue of free slots
};

// A live handle for `array`, whose properties are copied into the slot. Null when the table is full or memory is out.
void* new_handle(Array* array) noexcept;

// The slot of a live handle, or null.
Slot* slot_of(const void* handle) noexcept;

// Returns whether the handle is still live. Call it after reading from its slot.
bool is_live(const Slot* slot, const void* handle) noexcept;

// Keeps the array alive during a call. Null when the handle is not, or no longer, one of ours.
Slot* pin(const void* handle) noexcept;
void unpin(Slot* slot) noexcept;

// Retires the handle; the array is destroyed with the last unpin. False when it was not, or no longer, one of ours.
bool retire(void* handle) noexcept;

// Live handles, for tests and leak checks.
DLT_API int64_t live_handles() noexcept;

// A pinned array for the length of a scope.
class Pinned {
 public:
  explicit Pinned(const void* handle) noexcept : slot_(pin(handle)) {}
  ~Pinned() {
    if (slot_) unpin(slot_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  explicit operator bool() const noexcept { return slot_; }
  Array* operator->() const noexcept { return slot_->array; }
  Array& operator*() const noexcept { return *slot_->array; }
  Slot* slot() const noexcept { return slot_; }

 private:
  Slot* slot_;
};

}  // namespace dlt::opaque
