// SPDX-License-Identifier: Apache-2.0
// Loans out: struct, shape and strides in one piece of memory.
#include "native/memory/loan.h"

#include <stdlib.h>
#include <string.h>

#include "dltensor/validate.h"
#include "native/layout/layout.h"
#include "native/memory/trace.h"

namespace dlt {
namespace {

template <class Managed>
void give_back(Managed* self) {
  // The standard lets a deleter be handed NULL.
  if (!self) return;
  Block* block = static_cast<Block*>(self->manager_ctx);
  trace(Event::returned, block, self);
  ::free(self);
  release(block);
}

template <class Managed>
Managed* make_loan(const DLTensor& view, Block* block) noexcept {
  size_t dims = static_cast<size_t>(view.ndim) * sizeof(int64_t);
  auto* loan = static_cast<Managed*>(malloc(sizeof(Managed) + 2 * dims));
  if (!loan) return nullptr;
  auto* shape = reinterpret_cast<int64_t*>(loan + 1);
  memcpy(shape, view.shape, dims);
  memcpy(shape + view.ndim, view.strides, dims);
  loan->dl_tensor = view;
  loan->dl_tensor.shape = shape;
  loan->dl_tensor.strides = shape + view.ndim;
  loan->manager_ctx = block;
  loan->deleter = give_back<Managed>;
  retain(block);
  trace(Event::lent, block, loan);
  return loan;
}

}  // namespace

DLManagedTensorVersioned* lend(const DLTensor& view, Block* block, uint64_t flags) noexcept {
  auto* loan = make_loan<DLManagedTensorVersioned>(view, block);
  if (!loan) return nullptr;
  loan->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  loan->flags = flags;
  return loan;
}

DLManagedTensor* lend_legacy(const DLTensor& view, Block* block) noexcept {
  return make_loan<DLManagedTensor>(view, block);
}

int allocate_loan(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
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
  if (!block) return fail("MemoryError", "dltensor allocator: the memory cannot be had");
  wanted.data = bytes ? block->data : nullptr;
  *out = lend(wanted, block, 0);
  release(block);  // the loan has its own reference, if it was made
  return *out ? 0 : fail("MemoryError", "dltensor allocator: no memory left for the struct");
}

Block* block_of(const DLManagedTensorVersioned* tensor) noexcept {
  if (tensor->deleter != give_back<DLManagedTensorVersioned>) return nullptr;
  return static_cast<Block*>(tensor->manager_ctx);
}

}  // namespace dlt
