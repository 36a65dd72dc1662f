// SPDX-License-Identifier: Apache-2.0
// Fresh pages from the system, and the upper limit of bytes. Nothing is kept for reuse here.
#pragma once
#include <stddef.h>

#include "native/export.h"

namespace dlt {

// The most bytes that this process can use: the machine's memory or the limit of its control group, and swap. A larger
// block is refused even if the system overcommits.
DLT_API size_t most_backed_bytes() noexcept;

// Returns whether a block of that size could be backed. Reads the limits again before it returns false.
bool can_be_backed(size_t bytes) noexcept;

// The machine's memory; 0 when unknown.
size_t physical_bytes() noexcept;

// Bytes that can be taken without ending a process for want of memory, as the kernel estimates it; SIZE_MAX when unknown.
size_t available_bytes() noexcept;

// Zeroed pages that begin at a boundary of huge pages. Null when the system has no such memory. `bytes` may be any
// number; pass the same number to unmap_pages().
void* map_pages(size_t bytes) noexcept;
void unmap_pages(void* data, size_t bytes) noexcept;

// Memory of the C library at a multiple of `alignment`; null when there is none.
void* allocate_aligned(size_t bytes, size_t alignment) noexcept;
void free_aligned(void* data) noexcept;

}  // namespace dlt
