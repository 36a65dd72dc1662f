// SPDX-License-Identifier: Apache-2.0
// Declarations shared by memory.cc (device memory), pinned.cc and capture.cc. For these three files only.
#pragma once
#include "native/cuda/memory.h"

namespace dlt::cuda {

using Class = SizeClass<512>;
void free_to_driver(Memory* memory) noexcept;
// Records an event behind the work that `user` has now, unless nothing is left of it to wait for.
void wait_for_user(Memory& memory, Stream& user) noexcept;
// Whether all such events are done; completed events are returned to their devices.
bool is_idle(Memory& memory) noexcept;
void reap() noexcept;

// pinned.cc
size_t drop_idle_pinned() noexcept;
// capture.cc
Status allocate_captured(Stream& stream, size_t bytes, Block** out) noexcept;
void reap_captures() noexcept;
// both
bool is_part(const Block* block) noexcept;
void part_usage(int device, Usage* out) noexcept;

bool is_pinned_or_managed(const Block* block) noexcept;
bool is_captured(const Block* block) noexcept;
int64_t captured_bytes(int device) noexcept;

}  // namespace dlt::cuda
