// SPDX-License-Identifier: Apache-2.0
// Fresh pages from the system, and how many bytes there could be at most. Nothing is kept for reuse here.
#pragma once
#include <stddef.h>

#include "native/export.h"

namespace dlt {

// The most bytes that this process could ever have written to: the machine's memory, or what its control group may use of
// it, and swap. A larger block is refused, whatever the system would promise.
DLT_API size_t most_backed_bytes() noexcept;

// Whether a block of that size could be backed. Reads the limits again before it says no.
bool can_be_backed(size_t bytes) noexcept;

// Zeroed pages that begin at a boundary of huge pages. Null when the system has no such memory. `bytes` may be any number;
// unmap_pages() takes the same one.
void* map_pages(size_t bytes) noexcept;
void unmap_pages(void* data, size_t bytes) noexcept;

}  // namespace dlt
