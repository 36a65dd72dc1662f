// SPDX-License-Identifier: Apache-2.0
// Exported tensors: struct, shape and strides in one allocation.
#include "native/memory/managed.h"

#include <stdlib.h>
#include <string.h>

#include "dltensor/validate.h"
#include "native/layout/layout.h"
#include "native/memory/trace.h"

namespace dlt {
namespace {

template <class Managed>
void managed_deleter(Managed* self) {
  // The standard allows a deleter to be called with NULL.
  if (!self) return;
  Block* block = static_cast<Block*>(self->manager_ctx);
  trace(Event::returned, block, self);
  ::free(self);
  release(block);
}

template <class Managed>
Managed* make_managed(const DLTensor& view, Block* block) noexcept {
  size_t dims = static_cast<size_t>(view.ndim) * sizeof(int64_t);
  auto* managed = static_cast<Managed*>(malloc(sizeof(Managed) + 2 * dims));
  if (!managed) return nullptr;
  auto* shape = reinterpret_cast<int64_t*>(managed + 1);
  memcpy(shape, view.shape, dims);
  memcpy(shape + view.ndim, view.strides, dims);
  managed->dl_tensor = view;
  managed->dl_tensor.shape = shape;
  managed->dl_tensor.strides = shape + view.ndim;
  managed->manager_ctx = block;
  managed->deleter = managed_deleter<Managed>;
  retain(block);
  trace(Event::lent, block, managed);
  return managed;
}

}  // namespace

DLManagedTensorVersioned* export_managed(const DLTensor& view, Block* block, uint64_t flags) noexcept {
  auto* managed = make_managed<DLManagedTensorVersioned>(view, block);
  if (!managed) return nullptr;
  managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->flags = flags;
  return managed;
}

DLManagedTensor* export_legacy(const DLTensor& view, Block* block) noexcept {
  return make_managed<DLManagedTensor>(view, block);
}

int allocate_managed(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                     void (*set_error)(void*, const char*, const char*)) noexcept {
  auto fail = [&](const char* kind, const char* message) {
    if (set_error) set_error(error_context, kind, message);
    return -1;
  };
  if (!prototype || !out) return fail("ValueError", "dltensor allocator: prototype and out must not be NULL");
  if (prototype->device.device_type != kDLCPU)
    return fail("BufferError", "dltensor allocator: only host memory can be allocated here");
  // Only dtype, ndim, shape and device of a prototype count.
  int64_t strides[DLT_MAX_NDIM];
  DLTensor wanted = *prototype;
  wanted.data = nullptr;
  wanted.strides = nullptr;
  wanted.byte_offset = 0;
  char text[512];
  alignas(8) static char somewhere[8];
  wanted.data = somewhere;
  if (dlt_check_tensor(&wanted) != 0) {
    dlt_explain_tensor(&wanted, text, sizeof(text));
    return fail("BufferError", text);
  }
  contiguous_strides(wanted.ndim, wanted.shape, strides);
  wanted.strides = strides;
  int64_t bytes = bytes_of(numel(wanted.ndim, wanted.shape), wanted.dtype, false);
  Block* block = allocate(static_cast<size_t>(bytes));
  if (!block) return fail("MemoryError", "dltensor allocator: allocation failed");
  wanted.data = bytes ? block->data : nullptr;
  *out = export_managed(wanted, block, 0);
  release(block);  // the managed tensor has its own reference, if it was created
  return *out ? 0 : fail("MemoryError", "dltensor allocator: allocation of the struct failed");
}

Block* block_of(const DLManagedTensorVersioned* tensor) noexcept {
  if (tensor->deleter != managed_deleter<DLManagedTensorVersioned>) return nullptr;
  return static_cast<Block*>(tensor->manager_ctx);
}

}  // namespace dlt
