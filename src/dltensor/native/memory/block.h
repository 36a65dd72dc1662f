// SPDX-License-Identifier: Apache-2.0
// A block: reference-counted memory, shared by every view and every export of it. No shapes here, no Python.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "native/export.h"

namespace dlt {

// The last release() calls `free`, on any thread, with or without the GIL. `free` must be safe
// there.
struct Block {
  std::atomic<int64_t> references;
  void* data;    // our own memory: 256-byte aligned; adopted memory: the owner's address
  size_t bytes;  // as requested; 0 when unknown (adopted)
  void (*free)(Block*) noexcept;
  void* owner;        // adopted memory: the object that `free` releases
  uint32_t size_class;  // our own memory: the size class it returns to
  uint32_t reserved;
  union {
    Block* next;         // in a free list
    void* second_owner;  // of a live adopted block whose `free` releases two objects
  };
};

inline void retain(Block* block) noexcept { block->references.fetch_add(1, std::memory_order_relaxed); }

// A sole owner may skip the locked instruction: no other thread has a reference.
inline void release(Block* block) noexcept {
  if (block->references.load(std::memory_order_acquire) == 1 || block->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    block->free(block);
}

// Releases a reference at the end of a scope.
struct BlockRef {
  Block* block = nullptr;
  BlockRef() = default;
  BlockRef(const BlockRef&) = delete;
  BlockRef& operator=(const BlockRef&) = delete;
  ~BlockRef() {
    if (block) release(block);
  }
};

// Memory for `bytes` bytes, uninitialised, one reference. Null when the allocation fails.
DLT_API Block* allocate(size_t bytes) noexcept;

// Allocates like allocate(). `clear`: all bytes are 0, because the system has just mapped them; to write them would touch each page twice.
DLT_API Block* allocate_clear(size_t bytes, bool* clear) noexcept;

// A block around memory of another owner. `free` must release `owner` and then call recycle().
// Null when out of memory; the caller then still owns `owner`.
DLT_API Block* adopt(void* data, void* owner, void (*free)(Block*) noexcept) noexcept;

// Frees the header of an adopted block. Only for use inside its `free`.
DLT_API void recycle(Block* block) noexcept;

// Frees cached memory; returns the number of bytes.
DLT_API size_t empty_cache() noexcept;

// Bytes that the cache may keep for reuse. Starts at an eighth of the machine's memory, at most 4 GiB.
DLT_API void set_cache_limit(size_t bytes) noexcept;

struct MemoryStats {
  int64_t live_blocks;  // made and not yet freed, adopted ones included
  int64_t live_bytes;  // of our own live blocks, as requested
  int64_t cached_bytes;  // waiting for reuse
};
DLT_API MemoryStats memory_stats() noexcept;

}  // namespace dlt
