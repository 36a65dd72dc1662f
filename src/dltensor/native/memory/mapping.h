// SPDX-License-Identifier: Apache-2.0
// Blocks over the pages of a file. Which pages may be shared with other processes for writing is said by the caller.
#pragma once
#include "native/memory/block.h"

namespace dlt {

enum class Mapping : int {
  // Writable pages that are this process's own once written: the file never changes, and a consumer that writes although
  // the tensor is read-only does not end the process. Without room for that under strict overcommit: not writable.
  read_only,
  copy_on_write,  // as above, and an error where the system has no room for the copies
  shared,         // what is written goes to the file
};

// A block over `bytes` bytes, at least one, of an open file from any offset on. Null with errno set when it cannot be
// made. The block does not need the descriptor.
DLT_API Block* map_file(int file, size_t bytes, size_t offset, Mapping mapping) noexcept;

// Returns whether only the caller has a reference.
inline bool is_sole_reference(const Block* block) noexcept { return block->references.load(std::memory_order_acquire) == 1; }

// Returns whether the file is on a file system that another machine serves, so that a page of it may fail to arrive.
DLT_API bool is_remote_file(int file) noexcept;

}  // namespace dlt
