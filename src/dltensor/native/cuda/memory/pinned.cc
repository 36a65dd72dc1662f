// SPDX-License-Identifier: Apache-2.0
// Host memory that devices can reach: pinned, cached by size class and by events, and managed.
#include <new>

#include "native/cuda/memory/parts.h"
#include "native/os/constant.h"

namespace dlt::cuda {
namespace {

struct Store {
  std::mutex mutex;
  Memory* idle[size_classes] = {};  // lists through Memory::next
  int64_t cached = 0, live = 0;

  // The caller holds the mutex.
  void put(Memory* memory) noexcept {
    cached += static_cast<int64_t>(memory->bytes);
    memory->next = idle[memory->size_class];
    idle[memory->size_class] = memory;
  }
  // Removes and returns the first entry of a list that no device uses any more.
  template <class Wanted>
  Memory* take(uint32_t size_class, Wanted&& wanted) noexcept {
    for (Memory** link = &idle[size_class]; *link; link = &(*link)->next) {
      Memory* memory = *link;
      if (!wanted(*memory) || !is_idle(*memory)) continue;
      *link = memory->next;
      cached -= static_cast<int64_t>(memory->bytes);
      return memory;
    }
    return nullptr;
  }
};
DLT_CONSTINIT Store store;

void free_pinned_block(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  const WithoutPython without;
  is_idle(*memory);  // records events behind the work that may still use the memory
  memory->writer = nullptr;
  std::lock_guard<std::mutex> hold(store.mutex);
  store.live -= static_cast<int64_t>(memory->bytes);
  store.put(memory);
}

void free_managed_block(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  const WithoutPython without;
  clear_users(*memory);
  Current current(*memory->device);
  Beside beside;
  driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory->pointer));  // synchronizes the device itself
  delete memory;
}

Status wrap(Memory* memory, size_t bytes, void (*free)(Block*) noexcept, Block** out) noexcept {
  Block* block = adopt(memory->pointer, memory, free);
  if (!block) return fail(Fault::memory, "allocate: the host is out of memory");
  block->bytes = bytes;
  *out = block;
  return success;
}

}  // namespace

Status allocate_pinned(int ordinal, size_t bytes, Block** out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Memory* memory = nullptr;
  {
    std::lock_guard<std::mutex> hold(store.mutex);
    for (uint32_t c = Class::of(bytes); c <= last_class(bytes) && !memory; ++c)
      memory = store.take(c, [&](const Memory& idle) { return idle.device == device && fits(idle, bytes); });
  }
  if (!memory) {
    if (!(memory = new (std::nothrow) Memory)) return fail(Fault::memory, "allocate: the host is out of memory");
    memory->kind = Memory::Kind::pinned;
    memory->device = device;
    memory->bytes = capacity_of(bytes);
    memory->size_class = Class::of(memory->bytes);
    Current current(*device);
    Beside beside;
    const CUresult result = driver.cuMemHostAlloc(&memory->pointer, memory->bytes, kHostAllocPortable);
    if (result != kSuccess) {
      delete memory;
      return check(result, "cuMemHostAlloc");
    }
  }
  if (const Status status = wrap(memory, bytes, free_pinned_block, out); !status.ok()) {
    std::lock_guard<std::mutex> hold(store.mutex);
    store.put(memory);
    return status;
  }
  std::lock_guard<std::mutex> hold(store.mutex);
  store.live += static_cast<int64_t>(memory->bytes);
  return success;
}

Status allocate_managed(int ordinal, size_t bytes, Block** out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  if (!device->properties.managed_memory) return fail(Fault::device, "allocate: cuda:%d has no managed memory", ordinal);
  auto* memory = new (std::nothrow) Memory;
  if (!memory) return fail(Fault::memory, "allocate: the host is out of memory");
  memory->kind = Memory::Kind::managed;
  memory->device = device;
  memory->bytes = bytes ? bytes : 1;
  CUdeviceptr pointer = 0;
  CUresult result;
  {
    Current current(*device);
    Beside beside;
    result = driver.cuMemAllocManaged(&pointer, memory->bytes, kAttachGlobal);
  }
  memory->pointer = reinterpret_cast<void*>(pointer);
  Status status = check(result, "cuMemAllocManaged");
  if (status.ok()) status = wrap(memory, bytes, free_managed_block, out);
  if (!status.ok()) {
    if (pointer) {
      Current current(*device);
      Beside beside;
      driver.cuMemFree_v2(pointer);
    }
    delete memory;
  }
  return status;
}

size_t drop_idle_pinned() noexcept {
  Memory* unwanted = nullptr;
  {
    std::lock_guard<std::mutex> hold(store.mutex);
    for (uint32_t c = 0; c < size_classes; ++c)
      while (Memory* memory = store.take(c, [](const Memory&) { return true; })) {
        memory->next = unwanted;
        unwanted = memory;
      }
  }
  size_t freed = 0;
  while (Memory* memory = unwanted) {
    unwanted = memory->next;
    Current current(*memory->device);
    Beside beside;
    driver.cuMemFreeHost(memory->pointer);
    freed += memory->bytes;
    delete memory;
  }
  return freed;
}

bool is_pinned_or_managed(const Block* block) noexcept {
  return block->free == free_pinned_block || block->free == free_managed_block;
}
bool is_part(const Block* block) noexcept { return is_pinned_or_managed(block) || is_captured(block); }

void part_usage(int device, Usage* out) noexcept {
  {
    std::lock_guard<std::mutex> hold(store.mutex);
    out->pinned_live_bytes = store.live;
    out->pinned_cached_bytes = store.cached;
  }
  out->captured_bytes = captured_bytes(device);
}

}  // namespace dlt::cuda
