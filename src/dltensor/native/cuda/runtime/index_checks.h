// SPDX-License-Identifier: Apache-2.0
// Indices out of range that kernels find while no thread waits for the answer: a word of host memory for each device, which is read
// when a thread waits for the device for another reason.
#pragma once
#include "native/cuda/runtime/device.h"

namespace dlt::cuda {

// Returns whether the calling thread's indexing reports indices out of range later.
DLT_API bool late_index_checks() noexcept;
DLT_API void set_late_index_checks(bool late) noexcept;

// Where kernels of the device report one, as parameters.cuh has it.
Status late_index_word(Device& device, uint64_t** out) noexcept;

// Fails where one was reported since the last call. To be called after a wait for the device.
Status raise_late_index(Device& device) noexcept;

}  // namespace dlt::cuda
