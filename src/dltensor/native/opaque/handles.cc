// SPDX-License-Identifier: Apache-2.0
// The table behind the handles: chunks of slots that stay where they are, and a list of the free ones.
#include "native/opaque/handles.h"

#include <mutex>
#include <new>

#include "native/fork.h"
#include "native/opaque/array.h"
#include "native/os/constant.h"

namespace dlt::opaque {
namespace {

// A handle is 0xD1, 32 bits of generation, 24 bits of slot number. No address of a 64-bit process begins with 0xD1,
// so a pointer of another library is never mistaken for a handle, and a handle that is dereferenced faults.
constexpr uint64_t mark = uint64_t{0xD1} << 56;
constexpr uint32_t slots_per_chunk = 1024;
constexpr uint32_t most_chunks = (1u << 24) / slots_per_chunk;
constexpr uint32_t none = UINT32_MAX;

constexpr uint64_t live_bit = uint64_t{1} << 31;
constexpr uint64_t pin_mask = live_bit - 1;

// Free slots are in a queue, not on a stack: the later a number is reused, the longer stale views are detected. A
// number whose generations are used up is never reused.
struct Table {
  std::mutex guard;
  std::atomic<Slot*> chunks[most_chunks] = {};
  uint32_t used = 0;
  uint32_t first_free = none, last_free = none;
  std::atomic<int64_t> live = 0;
};

DLT_CONSTINIT Table the_table;
Table& table() noexcept { return the_table; }
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return table().guard; }>();

uint32_t number_in(uint64_t handle) noexcept { return handle & 0xFFFFFF; }
uint64_t generation_in(uint64_t handle) noexcept { return (handle >> 24) & 0xFFFFFFFF; }
uint64_t bits_of(const void* handle) noexcept { return reinterpret_cast<uint64_t>(handle); }

Slot* slot_at(uint32_t number) noexcept {
  Slot* chunk = table().chunks[number / slots_per_chunk].load(std::memory_order_acquire);
  return chunk ? chunk + number % slots_per_chunk : nullptr;
}

Slot* marked_slot(const void* handle) noexcept {
  uint64_t bits = bits_of(handle);
  return (bits >> 56) == (mark >> 56) ? slot_at(number_in(bits)) : nullptr;
}

bool is_current(uint64_t state, const void* handle) noexcept {
  return (state & live_bit) && (state >> 32) == generation_in(bits_of(handle));
}

// A slot for a new array, from the queue or newly allocated. Null when the table is full or memory is out.
Slot* take_slot(Table& all) noexcept {
  std::lock_guard lock(all.guard);
  if (all.first_free != none) {
    Slot* slot = slot_at(all.first_free);
    all.first_free = slot->next_free;
    if (all.first_free == none) all.last_free = none;
    return slot;
  }
  uint32_t chunk = all.used / slots_per_chunk;
  if (chunk == most_chunks) return nullptr;
  if (all.used % slots_per_chunk == 0) {
    auto* fresh = new (std::nothrow) Slot[slots_per_chunk]{};
    if (!fresh) return nullptr;
    for (uint32_t i = 0; i < slots_per_chunk; ++i) fresh[i].number = all.used + i;
    all.chunks[chunk].store(fresh, std::memory_order_release);
  }
  return slot_at(all.used++);
}

// Recycle a slot after the last unpin of a retired handle. The generation is incremented before the slot can be given out again.
void finish(Slot* slot, uint64_t state) noexcept {
  Array* array = slot->array;
  slot->array = nullptr;
  Table& all = table();
  slot->state.store(((state >> 32) + 1) << 32, std::memory_order_release);
  if ((state >> 32) != UINT32_MAX) {
    std::lock_guard lock(all.guard);
    slot->next_free = none;
    (all.last_free == none ? all.first_free : slot_at(all.last_free)->next_free) = slot->number;
    all.last_free = slot->number;
  }
  all.live.fetch_sub(1, std::memory_order_relaxed);
  end(array);
}

}  // namespace

void* new_handle(Array* array) noexcept {
  Table& all = table();
  Slot* slot = take_slot(all);
  if (!slot) return nullptr;
  slot->array = array;
  show(*array, slot);
  all.live.fetch_add(1, std::memory_order_relaxed);
  uint64_t generation = slot->state.load(std::memory_order_relaxed) >> 32;
  slot->state.store(generation << 32 | live_bit, std::memory_order_release);
  return reinterpret_cast<void*>(mark | generation << 24 | slot->number);
}

Slot* slot_of(const void* handle) noexcept {
  Slot* slot = marked_slot(handle);
  return slot && is_current(slot->state.load(std::memory_order_acquire), handle) ? slot : nullptr;
}

bool is_live(const Slot* slot, const void* handle) noexcept {
  return is_current(slot->state.load(std::memory_order_acquire), handle);
}

Slot* pin(const void* handle) noexcept {
  Slot* slot = marked_slot(handle);
  if (!slot) return nullptr;
  uint64_t state = slot->state.load(std::memory_order_acquire);
  do {
    if (!is_current(state, handle)) return nullptr;
  } while (!slot->state.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  return slot;
}

void unpin(Slot* slot) noexcept {
  uint64_t state = slot->state.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if ((state & (live_bit | pin_mask)) == 0) finish(slot, state);
}

bool retire(void* handle) noexcept {
  Slot* slot = marked_slot(handle);
  if (!slot) return false;
  uint64_t state = slot->state.load(std::memory_order_acquire);
  do {
    if (!is_current(state, handle)) return false;
  } while (!slot->state.compare_exchange_weak(state, state & ~live_bit, std::memory_order_acq_rel, std::memory_order_acquire));
  if ((state & pin_mask) == 0) finish(slot, state & ~live_bit);
  return true;
}

int64_t live_handles() noexcept { return table().live.load(std::memory_order_relaxed); }

}  // namespace dlt::opaque
