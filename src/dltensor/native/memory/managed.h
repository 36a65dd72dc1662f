// SPDX-License-Identifier: Apache-2.0
// Exported tensors: managed DLPack structs. One allocation, one reference, one deleter that never needs Python:
// any thread may call it at any time.
#pragma once
#include "dltensor/dlpack.h"
#include "native/memory/block.h"

namespace dlt {

// `view` is copied, its shape and strides too; strides must not be NULL. `block` gets one more reference.
// Null when out of memory; nothing has changed then.
DLT_API DLManagedTensorVersioned* export_managed(const DLTensor& view, Block* block, uint64_t flags) noexcept;
DLT_API DLManagedTensor* export_legacy(const DLTensor& view, Block* block) noexcept;

// The exchange table's allocator: fresh host memory of the prototype's dtype and shape, in C order. Needs no Python;
// reports a failure through `set_error` alone and then returns -1.
DLT_API int allocate_managed(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                             void (*set_error)(void* context, const char* kind, const char* message)) noexcept;

// The block of a tensor that we exported, or null for a foreign struct.
DLT_API Block* block_of(const DLManagedTensorVersioned* tensor) noexcept;

}  // namespace dlt
