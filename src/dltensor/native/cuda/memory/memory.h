// SPDX-License-Identifier: Apache-2.0
// Memory that CUDA can reach, as blocks: of devices, pinned, managed, and foreign memory that we use. It is ordered by
// streams without an event per tensor: a block records its home stream and the few others that used it.
// No shapes here, no kernels.
#pragma once
#include "native/cuda/runtime/stream.h"
#include "native/memory/block.h"

namespace dlt::cuda {

struct Allocator;
struct CapturePool;

// The owner of a block (Block::owner). Reused through the idle lists of its home stream.
struct Memory {
  enum class Kind : uint8_t { device, captured, pinned, managed, foreign };
  void* pointer = nullptr;
  size_t bytes = 0;  // capacity
  Device* device = nullptr;
  Stream* home = nullptr;
  Kind kind = Kind::device;
  uint32_t size_class = 0;
  size_t asked = 0;  // bytes of the live block
  bool unwanted = false;   // not for reuse: to be returned to the driver when the home stream is no longer captured
  Memory* next = nullptr;  // in a list of idle or of waiting memory

  // The only stream that used it since its allocation, or null when there were several, which are in `users`.
  std::atomic<Stream*> sole{nullptr};
  SpinLock lock;  // of what follows
  Stream* writer = nullptr;
  static constexpr int max_users = 6;
  Stream* users[max_users] = {};
  int user_count = 0;
  // A consumer has returned it whose work is not ordered before that of the home stream yet: a graph was being captured.
  std::atomic<bool> returned{false};

  // After the release: events behind the work that may still use it. Of pinned and foreign memory.
  struct Pending {
    Device* device;
    CUevent event;
  };
  Pending pending[max_users];
  int pending_count = 0;

  Allocator* allocator = nullptr;  // the source of device memory, null: the driver; see source.h
  CapturePool* capture = nullptr;
  Memory* captured_before = nullptr;  // in the list of all that the capture has
  void* owner = nullptr;  // foreign: the argument of `deleter`
  void (*deleter)(void*) noexcept = nullptr;
};

// Uninitialised device memory, one reference, ordered after all work that `stream` has now. While the stream is being
// captured the memory belongs to the graph and lives as long as it.
DLT_API Status allocate(Stream& stream, size_t bytes, Block** out) noexcept;
// Page-locked host memory that every device can copy from and to (kDLCUDAHost).
DLT_API Status allocate_pinned(int device, size_t bytes, Block** out) noexcept;
DLT_API Status allocate_managed(int device, size_t bytes, Block** out) noexcept;

// A block around memory of another library, first used on `stream`. `deleter(owner)` is called exactly once: at the
// last release, or, when our own work may still use the memory, as soon as that is done. On failure it is not called.
DLT_API Status adopt_foreign(void* data, Stream& stream, void* owner, void (*deleter)(void*) noexcept, Block** out) noexcept;

// The record behind a block of this file, or null. Most blocks are device memory of ours.
void free_device_block(Block* block) noexcept;
DLT_API Memory* memory_of(const Block* block) noexcept;
inline Memory* device_memory_of(const Block* block) noexcept {
  return block && block->free == free_device_block ? static_cast<Memory*>(block->owner) : memory_of(block);
}

// Records a use of a block in the capture of a stream, see recording.h.
Status record_use(Block* block, Stream& stream, bool write) noexcept;

// Call it before each use of a block on a stream. Nothing is enqueued when the block was only ever used there;
// otherwise the stream waits for the last writer, and before writing for every user.
Status use_slow(Memory& memory, Stream& stream, bool write) noexcept;
inline Status use(Block* block, Stream& stream, bool write) noexcept {
  if (!block) return success;
  if (stream.recording.load(std::memory_order_relaxed)) [[unlikely]]
    DLT_TRY(record_use(block, stream, write));
  Memory* memory = device_memory_of(block);
  if (!memory || memory->sole.load(std::memory_order_relaxed) == &stream) [[likely]]
    return success;
  return use_slow(*memory, stream, write);
}

// The block is about to be read on `reader`, which waits for what was written.
DLT_API Status read_on(Block* block, Stream& reader) noexcept;
// The block is exported to a consumer's stream (DLPack): `consumer` waits for what was written. A stream of others is not
// asked again after this call, since nothing says that it lives as long as the export: `*exported` is then a block to export
// instead, whose release orders all work that the consumer has by then before later work here. Else it is null.
DLT_API Status export_to(Block* block, Stream& consumer, Block** exported) noexcept;
// A block of export_to() that was imported again: the block behind it, and the export ends.
DLT_API Block* take_back(Block* block) noexcept;

// Returns foreign memory that waited for work of ours, as far as that is done.
DLT_API void give_back_finished() noexcept;

// Calls into the driver may wait: for room in its queue, behind work that needs Python's lock. So releases give the lock up:
// `leave` does where the thread has it, and returns what `enter` takes it back with, else null. Set once.
DLT_API void set_python_lock(void* (*leave)() noexcept, void (*enter)(void*) noexcept) noexcept;

// Gives idle memory of one device (-1: of all) back to the driver; returns the number of bytes.
DLT_API size_t empty_cache(int device) noexcept;
// Bytes that each stream may keep idle, and the pool of a device from the system. Without limit unless set.
DLT_API void set_cache_limit(size_t bytes) noexcept;

struct Usage {
  int64_t live_blocks, live_bytes, peak_bytes, cached_bytes, driver_allocations;
  int64_t pinned_live_bytes, pinned_cached_bytes, captured_bytes;
  int64_t waiting;  // foreign memory and blocks that wait for work to end
  int64_t shared_bytes;  // memory that processes share, mapped in this one
};
DLT_API Status usage(int device, Usage* out) noexcept;
// `peak_bytes` counts from what is live now.
DLT_API Status reset_peak(int device) noexcept;

// Called by stream.cc when a stream is destroyed.
void drop_idle(Stream& stream) noexcept;
void forget_handles(Stream& stream) noexcept;  // cuBLAS handles and workspaces, see blas_handle.cc
void forget_solver(Stream& stream) noexcept;   // cuSOLVER handles, see solver.cc

}  // namespace dlt::cuda
