// SPDX-License-Identifier: Apache-2.0
// Device memory: allocation and release by idle lists of streams and size classes, over the source of source.h.
#include "native/cuda/memory/memory.h"

#include <algorithm>
#include <new>

#include "native/cuda/memory/parts.h"
#include "native/cuda/memory/source.h"

namespace dlt::cuda {
namespace {

std::atomic<void* (*)() noexcept> leave_python{nullptr};
std::atomic<void (*)(void*) noexcept> enter_python{nullptr};

// The peak of a device is counted without a number that all streams write: as long as each of them stays within its room,
// all of them stay below the peak.
[[gnu::noinline]] void count_peak(Device& device) noexcept {
  std::lock_guard<std::mutex> hold(device.peak_mutex);
  int64_t live = 0, streams = 0;
  size_t next = 0;
  for (; Stream* stream = next_stream(device, &next); ++streams) live += stream->live_bytes.load(std::memory_order_relaxed);
  device.peak_bytes = std::max(device.peak_bytes, live);
  next = 0;
  while (Stream* stream = next_stream(device, &next))
    stream->room.store(stream->live_bytes.load(std::memory_order_relaxed) + (device.peak_bytes - live) / streams,
                       std::memory_order_relaxed);
}

// The smallest idle memory that serves, or null. The caller holds the stream's lock.
[[gnu::noinline]] Memory** best_fit(Stream& stream, size_t bytes) noexcept {
  Memory** best = nullptr;
  for (uint32_t c = Class::of(bytes); c <= last_class(bytes); ++c)
    for (Memory** link = &stream.idle[c]; *link; link = &(*link)->next)
      if (fits(**link, bytes) && (!best || (*link)->bytes < (*best)->bytes)) best = link;
  return best;
}

Memory* pop_idle(Stream& stream, uint32_t size_class, size_t bytes) noexcept {
  Memory* memory;
  bool is_beyond;
  {
    std::lock_guard hold(stream.lock);
    Memory** const link = bytes <= large_bytes ? &stream.idle[size_class] : best_fit(stream, bytes);
    if (!link || !*link) return nullptr;
    memory = *link;
    *link = memory->next;
    stream.cached_bytes -= static_cast<int64_t>(memory->bytes);
    memory->asked = bytes;
    ++stream.live_blocks;
    is_beyond = stream.add_live(static_cast<int64_t>(bytes));
  }
  if (is_beyond) [[unlikely]]
    count_peak(*stream.device);
  return memory;
}

[[gnu::noinline]] Status refill(Stream& stream, uint32_t size_class, size_t bytes, Memory** out) noexcept {
  const WithoutPython without;
  reap();
  if ((*out = pop_idle(stream, size_class, bytes))) return success;
  Source source;
  DLT_TRY(take_memory(stream, bytes, &source));
  auto* memory = new (std::nothrow) Memory;
  if (!memory) {
    give_back(source, stream);
    return fail(Fault::memory, "allocate: the host is out of memory");
  }
  memory->pointer = reinterpret_cast<void*>(source.pointer);
  memory->bytes = source.bytes;
  memory->allocator = source.allocator;
  memory->device = stream.device;
  memory->home = memory->writer = &stream;
  memory->size_class = Class::of(source.bytes);
  memory->asked = bytes;
  memory->sole.store(&stream, std::memory_order_relaxed);
  bool is_beyond;
  {
    std::lock_guard hold(stream.lock);
    ++stream.driver_allocations;
    ++stream.live_blocks;
    is_beyond = stream.add_live(static_cast<int64_t>(bytes));
  }
  if (is_beyond) count_peak(*stream.device);
  *out = memory;
  return success;
}

}  // namespace

void set_python_lock(void* (*leave)() noexcept, void (*enter)(void*) noexcept) noexcept {
  enter_python = enter;
  leave_python = leave;
}

WithoutPython::WithoutPython() noexcept : state_(nullptr) {
  if (const auto leave = leave_python.load(std::memory_order_acquire)) state_ = leave();
}
WithoutPython::~WithoutPython() {
  if (state_) enter_python.load(std::memory_order_relaxed)(state_);
}

void count_release(const Memory& memory) noexcept {
  std::lock_guard hold(memory.home->lock);
  --memory.home->live_blocks;
  memory.home->add_live(-static_cast<int64_t>(memory.asked));
}

void push_idle(Memory* memory) noexcept {
  Stream& home = *memory->home;
  memory->sole.store(&home, std::memory_order_relaxed);
  if (memory->user_count != 0) clear_users(*memory);
  memory->writer = &home;
  bool keep;
  {
    std::lock_guard hold(home.lock);
    --home.live_blocks;
    home.add_live(-static_cast<int64_t>(memory->asked));
    keep = !memory->allocator && home.alive.load(std::memory_order_relaxed) &&
           static_cast<size_t>(home.cached_bytes) + memory->bytes <= cache_limit.load(std::memory_order_relaxed);
    if (keep) {
      home.cached_bytes += static_cast<int64_t>(memory->bytes);
      memory->next = home.idle[memory->size_class];
      home.idle[memory->size_class] = memory;
    }
  }
  if (keep && !home.owned.load(std::memory_order_relaxed)) [[likely]]
    return;
  const WithoutPython without;
  if (!keep) free_to_driver(memory);
  end_stream_if_unused(home);
}

void free_device_block(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  if (memory->sole.load(std::memory_order_relaxed) == memory->home) [[likely]]
    return push_idle(memory);
  const WithoutPython without;
  if (order_for_reuse(*memory).ok()) return push_idle(memory);
  if (!is_lost(*memory->device)) return wait_for_release(memory);
  // Nothing will ever run there again, and nothing can be freed.
  count_release(*memory);
  clear_users(*memory);
  delete memory;
}

void free_to_driver(Memory* memory) noexcept {
  Stream& home = *memory->home;
  if (home.device->pool || memory->allocator) {
    Capture capture;
    // A captured free would be a node of the graph, which takes memory of the graph only.
    if (capture_of(home, &capture) == kSuccess && capture.any()) {
      memory->unwanted = true;
      return wait_for_release(memory);
    }
  }
  give_back({reinterpret_cast<CUdeviceptr>(memory->pointer), memory->bytes, memory->allocator}, home);
  delete memory;
}

Status allocate(Stream& stream, size_t bytes, Block** out) noexcept {
  if (bytes > most_bytes) return fail(Fault::memory, "allocate: %zu bytes are more than any device has", bytes);
  if (!stream.is_legacy()) {
    bool capturing = false;
    DLT_TRY(is_capturing(stream, &capturing));
    if (capturing) [[unlikely]]
      return allocate_captured(stream, bytes, out);
  }
  const uint32_t size_class = Class::of(bytes);
  Memory* memory = pop_idle(stream, size_class, bytes);
  if (!memory) [[unlikely]]
    DLT_TRY(refill(stream, size_class, bytes, &memory));
  Block* block = adopt(memory->pointer, memory, free_device_block);
  if (!block) [[unlikely]] {
    push_idle(memory);
    return fail(Fault::memory, "allocate: the host is out of memory");
  }
  block->bytes = bytes;
  *out = block;
  return success;
}

void drop_idle(Stream& stream) noexcept {
  for (uint32_t c = 0; c < size_classes; ++c) {
    Memory* list;
    {
      std::lock_guard hold(stream.lock);
      list = stream.idle[c];
      stream.idle[c] = nullptr;
      for (Memory* m = list; m; m = m->next) stream.cached_bytes -= static_cast<int64_t>(m->bytes);
    }
    while (list) {
      Memory* next = list->next;
      free_to_driver(list);
      list = next;
    }
  }
}

namespace {

// Returns the bytes. A stream without idle memory is not asked anything: it may be another library's, and destroyed. One
// that is being captured keeps its memory, since the graph may contain its addresses.
size_t drop_idle_of(Stream& stream) noexcept {
  size_t bytes;
  {
    std::lock_guard hold(stream.lock);
    bytes = static_cast<size_t>(stream.cached_bytes);
  }
  Capture capture;
  if (!bytes || capture_of(stream, &capture) != kSuccess || capture.any()) return 0;
  drop_idle(stream);
  // The pool can return to the system what the stream has freed by then. To wait for the whole device instead would spoil
  // every capture on it.
  Current current(*stream.device);
  Beside beside;
  driver.cuStreamSynchronize(LastingHandle(stream));
  return bytes;
}

}  // namespace

size_t empty_cache(int ordinal) noexcept {
  size_t freed = 0;
  reap();
  for (int d = 0; d < max_devices; ++d) {
    Device* device = devices[d].load(std::memory_order_acquire);
    if (!device || (ordinal >= 0 && d != ordinal)) continue;
    size_t next = 0;
    while (Stream* stream = next_stream(*device, &next)) freed += drop_idle_of(*stream);
    if (!device->pool) continue;
    Current current(*device);
    Beside beside;
    driver.cuMemPoolTrimTo(device->pool, 0);
  }
  freed += drop_idle_pinned();
  return freed;
}

Status reset_peak(int ordinal) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  {
    std::lock_guard<std::mutex> hold(device->peak_mutex);
    device->peak_bytes = 0;
  }
  count_peak(*device);
  return success;
}

void set_cache_limit(size_t bytes) noexcept {
  cache_limit.store(bytes, std::memory_order_relaxed);
  // Memory that is freed beyond it goes back to the system at the next synchronization, and other libraries can have it.
  uint64_t keep = bytes;
  for (const std::atomic<Device*>& device : devices)
    if (const Device* known = device.load(std::memory_order_acquire); known && known->pool)
      driver.cuMemPoolSetAttribute(known->pool, kPoolReleaseThreshold, &keep);
}

Status usage(int ordinal, Usage* out) noexcept {
  Device* device = nullptr;
  *out = {};
  DLT_TRY(device_of(ordinal, &device));
  size_t next = 0;
  while (Stream* stream = next_stream(*device, &next)) {
    std::lock_guard hold(stream->lock);
    out->live_blocks += stream->live_blocks;
    out->live_bytes += stream->live_bytes.load(std::memory_order_relaxed);
    out->cached_bytes += stream->cached_bytes;
    out->driver_allocations += stream->driver_allocations;
  }
  part_usage(ordinal, out);
  {
    std::lock_guard<std::mutex> hold(device->peak_mutex);
    out->peak_bytes = std::max(device->peak_bytes, out->live_bytes);
  }
  out->waiting = waiting_count();
  out->shared_bytes = device->shared_bytes.load(std::memory_order_relaxed);
  return success;
}

}  // namespace dlt::cuda
