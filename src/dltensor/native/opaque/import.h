// SPDX-License-Identifier: Apache-2.0
// Letting a foreign DLPack tensor in: every field judged before any is used, and then one view and one block.
#pragma once
#include "dltensor/dlpack.h"
#include "native/memory/block.h"
#include "native/opaque/geometry.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// `tensor` stays the caller's. `function` begins the message.
DetailedStatus check_tensor(const char* function, const DLManagedTensorVersioned* tensor);

// A judged tensor as the engine wants it: strides filled into `strides` when there were none, byte_offset
// added to the address unless that is a handle.
DLTensor normalized(const DLTensor& tensor, int64_t (&strides)[DLT_ARRAY_MAX_NDIM]) noexcept;

// A block whose end is the tensor's deleter. Null when out of memory; the tensor is then still the caller's.
Block* block_around(DLManagedTensorVersioned* tensor) noexcept;

void call_deleter(DLManagedTensorVersioned* tensor) noexcept;

}  // namespace dlt::opaque
