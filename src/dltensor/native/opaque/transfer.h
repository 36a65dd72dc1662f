// SPDX-License-Identifier: Apache-2.0
// The border to the rest of the engine: memory on a device, elements from here to there. Arrays ask here and
// nowhere else, so this is where other devices are added.
#pragma once
#include "native/memory/block.h"
#include "native/opaque/geometry.h"
#include "native/opaque/status.h"

namespace dlt::opaque {

// Memory for `bytes` bytes on `device`, one reference.
Status room_for(const char* function, DLDevice device, size_t bytes, Block** block);

// Can elements on `device` be read and written from here? The failure names what is missing.
Status can_reach(const char* function, DLDevice device);

// All elements of `view`, in order and without gaps, into new memory on `device`.
Status gather(const char* function, const DLTensor& view, Element element, DLDevice device, Block** block);

// Is `stream`, as as_dlpack takes it, one that `device` has? Waits as it asks.
Status order_on(const char* function, DLDevice device, const int64_t* stream);

}  // namespace dlt::opaque
