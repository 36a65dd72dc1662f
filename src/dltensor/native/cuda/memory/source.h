// SPDX-License-Identifier: Apache-2.0
// Where device memory comes from, and goes back to: the driver, or an allocator of another library. What is kept idle in
// between is in memory.cc.
#pragma once
#include <atomic>

#include "native/cuda/runtime/stream.h"

namespace dlt::cuda {

// An allocator of another library. Both functions are called with the device's context current, outside of locks, and on any
// thread. Memory is ordered as the driver's pools order it: it may be used on `stream` after the work that the stream has, and
// is given back when all work with it is ordered before later work of `stream`.
struct Allocator {
  void* state;
  // kSuccess, kOutOfMemory, or another number: a failure whose reason the caller of the engine knows (Fault::callback).
  CUresult (*allocate)(void* state, size_t bytes, int device, CUstream stream, void** out) noexcept;
  void (*free)(void* state, void* pointer, size_t bytes, int device, CUstream stream) noexcept;
  void (*release)(void* state) noexcept;  // called after the last memory was given back
  std::atomic<int64_t> references{1};
};

// From now on memory comes from this allocator, which is taken over; null: from the driver. Idle memory is freed.
DLT_API void set_allocator(Allocator* allocator) noexcept;

// Called where there is no memory, after idle memory was freed and before the allocation fails. It returns kSuccess to have
// the allocation tried again, kOutOfMemory if it can free nothing, and another number as `allocate` does.
DLT_API void set_memory_hook(CUresult (*hook)() noexcept) noexcept;

// Calls that function. `*freed` is whether to ask for memory again; fails where the function has failed.
Status ask_hook(bool* freed) noexcept;
// The error of an allocation for which there is no memory.
Status out_of_memory(Stream& stream, size_t bytes) noexcept;

struct Source {
  CUdeviceptr pointer = 0;
  size_t bytes = 0;
  Allocator* allocator = nullptr;  // null: the driver
};
// Takes memory for so many bytes, and more where it can be reused for others.
Status take_memory(Stream& stream, size_t asked, Source* out) noexcept;
// Gives memory back, ordered after the work of the stream.
void give_back(const Source& source, Stream& stream) noexcept;

}  // namespace dlt::cuda
