// SPDX-License-Identifier: Apache-2.0
// A block: reference-counted memory, shared by every view and every export of it. No shapes here, no Python.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "native/export.h"

namespace dlt {

// The last release() calls `free`, on whichever thread that happens, with or without the GIL.
// Who makes a block gives it a `free` that can stand that.
struct Block {
  std::atomic<int64_t> references;
  void* data;    // our own memory: 256-byte aligned; adopted memory: whatever its owner says
  size_t bytes;  // as asked for; 0 when unknown (adopted)
  void (*free)(Block*) noexcept;
  void* owner;        // adopted memory: what `free` has to let go of
  uint32_t size_class;  // our own memory: where it goes back to
  uint32_t reserved;
  union {
    Block* next;         // in a free list
    void* second_owner;  // of a live adopted block, when its `free` has two things to let go of
  };
};

inline void retain(Block* block) noexcept { block->references.fetch_add(1, std::memory_order_relaxed); }

// A sole owner may skip the locked instruction: nobody else can be counting.
inline void release(Block* block) noexcept {
  if (block->references.load(std::memory_order_acquire) == 1 || block->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    block->free(block);
}

// Gives a reference back at the end of a scope.
struct BlockRef {
  Block* block = nullptr;
  BlockRef() = default;
  BlockRef(const BlockRef&) = delete;
  BlockRef& operator=(const BlockRef&) = delete;
  ~BlockRef() {
    if (block) release(block);
  }
};

// Memory for `bytes` bytes, uninitialised, one reference. Null when the system has none left.
DLT_API Block* allocate(size_t bytes) noexcept;

// A block around memory that somebody else owns. `free` must let go of `owner` and then call recycle().
// Null when out of memory; the owner is then still the caller's.
DLT_API Block* adopt(void* data, void* owner, void (*free)(Block*) noexcept) noexcept;

// Gives the header of an adopted block back. Only for use inside its `free`.
DLT_API void recycle(Block* block) noexcept;

// Gives cached memory back to the system; returns how many bytes that were.
DLT_API size_t empty_cache() noexcept;

// Bytes that the cache may keep for reuse. Starts at an eighth of the machine's memory, at most 4 GiB.
DLT_API void set_cache_limit(size_t bytes) noexcept;

struct MemoryStats {
  int64_t live_blocks;   // made and not yet freed, adopted ones included
  int64_t live_bytes;    // of our own live blocks, as asked for
  int64_t cached_bytes;  // waiting for reuse
};
DLT_API MemoryStats memory_stats() noexcept;

}  // namespace dlt
