// SPDX-License-Identifier: Apache-2.0
// The functions by which torch.cuda.memory.CUDAPluggableAllocator takes its memory from this package.
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "native/cuda/memory/memory.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

struct Allocations {
  std::mutex mutex;
  std::unordered_map<void*, Block*> blocks;
};
Allocations& allocations() noexcept {
  static NoDestructor<Allocations> instance;
  return *instance;
}

Status give(size_t bytes, int device, CUstream handle, void** out) noexcept {
  Stream* stream = nullptr;
  Block* block = nullptr;
  DLT_TRY(stream_of(device, handle, &stream));
  DLT_TRY(allocate(*stream, bytes, &block));
  const Status status = guarded("allocate", [&] {
    Allocations& g = allocations();
    std::lock_guard<std::mutex> hold(g.mutex);
    g.blocks[block->data] = block;
    return success;
  });
  if (!status.ok()) release(block);
  else *out = block->data;
  return status;
}

}  // namespace
}  // namespace dlt::cuda

// Throws where there is no memory: PyTorch raises the text as RuntimeError, and takes a null pointer for memory.
extern "C" DLT_API void* dlt_torch_malloc(ssize_t size, int device, void* stream) {
  void* pointer = nullptr;
  if (size <= 0) return nullptr;
  if (!dlt::cuda::give(static_cast<size_t>(size), device, static_cast<dlt::cuda::CUstream>(stream), &pointer).ok())
    throw std::runtime_error(dlt::message());
  return pointer;
}

extern "C" DLT_API void dlt_torch_free(void* pointer, ssize_t, int device, void* handle) noexcept {
  dlt::Block* block = nullptr;
  {
    dlt::cuda::Allocations& g = dlt::cuda::allocations();
    std::lock_guard<std::mutex> hold(g.mutex);
    const auto found = g.blocks.find(pointer);
    if (found == g.blocks.end()) return;
    block = found->second;
    g.blocks.erase(found);
  }
  // Its work on the stream comes before what later uses the memory.
  dlt::cuda::Stream* stream = nullptr;
  if (dlt::cuda::stream_of(device, static_cast<dlt::cuda::CUstream>(handle), &stream).ok())
    static_cast<void>(dlt::cuda::use(block, *stream, true));
  dlt::release(block);
}
