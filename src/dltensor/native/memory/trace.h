// SPDX-License-Identifier: Apache-2.0
// The lifetime trace: when each block was allocated, exported, returned and freed, on which thread, with or without the
// GIL. Off by default, and then one relaxed load per event.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "native/export.h"

namespace dlt {

struct Block;

enum class Event : uint32_t { allocated, adopted, lent, returned, freed, recycled };

struct TraceRecord {
  Event event;
  int32_t gil;       // 1 held, 0 not, -1 unknown (no Python has registered)
  uint64_t thread;   // the system's thread id
  uint64_t time;     // nanoseconds, monotonic
  uint64_t block;    // address: identifies the block while it lives
  uint64_t managed;     // address of the managed struct, 0 when none
  uint64_t bytes;
};

// One switch for all threads. Records beyond `capacity` replace the oldest. False when the allocation fails.
DLT_API bool trace_start(size_t capacity) noexcept;
DLT_API void trace_stop() noexcept;
// Removes up to `dims` of the oldest records; returns how many. `lost` counts the replaced ones.
DLT_API size_t trace_take(TraceRecord* out, size_t dims, uint64_t* lost) noexcept;
// Registers the function that tests whether the calling thread holds the GIL.
DLT_API void trace_gil_probe(int (*has_gil)()) noexcept;

DLT_API extern std::atomic<bool> tracing;
DLT_API void trace_record(Event event, const Block* block, const void* managed) noexcept;

inline void trace(Event event, const Block* block, const void* managed = nullptr) noexcept {
  if (tracing.load(std::memory_order_relaxed)) [[unlikely]]
    trace_record(event, block, managed);
}

}  // namespace dlt
