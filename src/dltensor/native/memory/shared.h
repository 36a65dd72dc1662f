// SPDX-License-Identifier: Apache-2.0
// Blocks of memory that processes share: one sealed memfd each, without a name in any folder, known by its descriptor.
//
// The kernel frees the memory when the last process has closed or lost it, so that a killed process leaves nothing
// behind. The seals keep every process from making the memory smaller, which would kill the others (SIGBUS). A page in
// front of the data says how often the block was sent and received: a block that no other process holds any more is
// kept for reuse, since fresh shared pages cost several times what written ones do.
#pragma once
#include "native/memory/block.h"

namespace dlt {

inline constexpr size_t shared_key_bytes = 16;

// A block of at least `bytes` bytes, uninitialised. Null with errno set when it cannot be made.
DLT_API Block* allocate_shared(size_t bytes) noexcept;

// A block over the memory behind a descriptor of another process, which is closed in any case. Null with errno set: EBADF
// when it is not such a memory, or not the one with that key. `is_own`: the descriptor was opened here, and not received,
// so that it has a file description of its own.
DLT_API Block* receive_shared(int file, bool is_own, const unsigned char* key) noexcept;

// Returns whether a block is one of these.
DLT_API bool is_shared_block(const Block* block) noexcept;

// Only of such blocks.
DLT_API int shared_file(const Block* block) noexcept;                  // open as long as the block
DLT_API const unsigned char* shared_key(const Block* block) noexcept;  // random, new for every use of the memory
DLT_API void mark_sent(Block* block) noexcept;
DLT_API void forget_sent(Block* block) noexcept;                       // waits for no more receivers
DLT_API bool is_received(const Block* block) noexcept;                 // as often as it was sent, by any process

// Frees what is kept for reuse; returns the number of bytes. And how many are kept.
DLT_API size_t empty_shared_cache() noexcept;
DLT_API size_t cached_shared_bytes() noexcept;

}  // namespace dlt
