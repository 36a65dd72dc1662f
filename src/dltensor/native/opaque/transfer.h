// SPDX-License-Identifier: Apache-2.0
// The border to the rest of the engine: memory on a device, elements from here to there. Arrays ask here and
// nowhere else, so this is where other devices are added.
#pragma once
#include "native/memory/block.h"
#include "native/opaque/geometry.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// Memory for `bytes` bytes on `device`, one reference.
DetailedStatus room_for(const char* function, DLDevice device, size_t bytes, Block** block);

// Can elements on `device` be read and written from here? The failure names what is missing.
DetailedStatus can_reach(const char* function, DLDevice device);

// All elements of `view`, in order and without gaps, into new memory on `device`.
DetailedStatus gather(const char* function, const DLTensor& view, Element element, DLDevice device, Block** block);

// Is `stream`, as as_dlpack takes it, one that `device` has? Waits as it asks.
DetailedStatus order_on(const char* function, DLDevice device, const int64_t* stream);

}  // namespace dlt::opaque
