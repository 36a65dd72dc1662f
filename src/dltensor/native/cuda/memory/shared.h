// SPDX-License-Identifier: Apache-2.0
// Device memory that processes share, known by a descriptor. The driver counts handles, mappings and descriptors of all
// processes, and frees the memory with the last one, whichever process has it. Nothing here keeps memory for reuse.
#pragma once
#include "native/cuda/memory/memory.h"

namespace dlt::cuda {

inline constexpr size_t device_uuid_bytes = sizeof(CUuuid::bytes);

// Uninitialised memory of the stream's device, one reference.
DLT_API Status allocate_shared(Stream& stream, size_t bytes, Block** out) noexcept;

// Memory of that device that another process has exported with that size of its mapping. The descriptor is closed at the last
// release, and on failure at once.
DLT_API Status open_shared(Stream& stream, int file, size_t mapped, Block** out) noexcept;

// Returns whether a block is one of these.
DLT_API bool is_shared(const Block* block) noexcept;

// Only of such blocks, of which exports name the block behind them.
DLT_API Block* shared_block(Block* block) noexcept;
DLT_API size_t mapped_bytes(const Block* block) noexcept;
// Waits for all work with the memory that is enqueued here, and makes a descriptor of it for another process, which the caller
// closes: -1 with errno set where the process has no room for one.
DLT_API Status export_shared(const Block* block, int* file) noexcept;

// The number of a device that all processes know it by, and the device of such a number: -1 where it is not visible here.
DLT_API Status device_uuid(int ordinal, char* uuid) noexcept;
DLT_API Status device_of_uuid(const char* uuid, int* ordinal) noexcept;

}  // namespace dlt::cuda
