// SPDX-License-Identifier: Apache-2.0
// Device access of opaque arrays: allocation and copies. All of it is here, so this is where other devices are
// added.
#pragma once
#include "native/memory/block.h"
#include "native/opaque/geometry.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// Memory for `bytes` bytes on `device`, one reference.
DetailedStatus allocate_on(const char* function, DLDevice device, size_t bytes, Block** block);

// Checks that elements on `device` can be read and written by the host. The failure names what is missing.
DetailedStatus can_reach(const char* function, DLDevice device);

// All elements of `view`, in order and without gaps, into new memory on `device`.
DetailedStatus gather(const char* function, const DLTensor& view, Element element, DLDevice device, Block** block);

// Checks that `stream`, an argument of as_dlpack, is valid for `device`. Synchronizes as requested.
DetailedStatus order_on(const char* function, DLDevice device, const int64_t* stream);

}  // namespace dlt::opaque
