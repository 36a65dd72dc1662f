// SPDX-License-Identifier: Apache-2.0
// Import of a foreign DLPack tensor: every field is validated before any is used; the result is one view and one block.
#pragma once
#include "dltensor/dlpack.h"
#include "native/memory/block.h"
#include "native/opaque/geometry.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// The caller still owns `tensor`. `function` begins the message.
DetailedStatus check_tensor(const char* function, const DLManagedTensorVersioned* tensor);

// A validated tensor in the engine's form: NULL strides are filled into `strides`, byte_offset is added to
// the address unless that is a handle.
DLTensor normalized(const DLTensor& tensor, int64_t (&strides)[DLT_ARRAY_MAX_NDIM]) noexcept;

// A block whose release calls the tensor's deleter. Null when out of memory; the caller then still owns the tensor.
Block* block_around(DLManagedTensorVersioned* tensor) noexcept;

void call_deleter(DLManagedTensorVersioned* tensor) noexcept;

}  // namespace dlt::opaque
