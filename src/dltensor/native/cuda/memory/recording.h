// SPDX-License-Identifier: Apache-2.0
// The memory from outside that a capture uses: kept as long as its graph, and ordered before and after each launch as the
// operands of an operation are. Memory that is allocated in the capture is in runtime/capture.cc.
#pragma once
#include <map>
#include <vector>

#include "native/cuda/memory/memory.h"

namespace dlt::cuda {

struct Recording {
  Device& device;
  uint64_t id;  // of the capture
  struct Usage {
    bool written = false;   // by operations of ours
    bool exported = false;  // to a consumer, which may write
  };
  SpinLock lock;  // of `blocks`; taken after the lock of a stream
  std::map<Block*, Usage> blocks;  // a reference to each
  std::vector<Stream*> streams;    // of the capture; under the mutex of all recordings

  Recording(Device& d, uint64_t number) noexcept : device(d), id(number) {}
};

// Streams record what they use from now on: the origin of a capture, and those that join it.
Status start_recording(Recording& recording, Stream& origin) noexcept;
// Called after a stream has waited for an event, and when it becomes current: it records if it belongs to a recorded capture.
DLT_API Status join_recording(Stream& stream) noexcept;
void stop_recording(Recording& recording) noexcept;

Status record_export(Block* block, Stream& consumer) noexcept;

// Orders a launch of the graph on a stream after earlier uses of all its memory, and before later ones.
Status use_recorded(const Recording& recording, Stream& stream) noexcept;
// Releases the memory.
void release_recorded(Recording& recording) noexcept;

}  // namespace dlt::cuda
