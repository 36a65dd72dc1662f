// SPDX-License-Identifier: Apache-2.0
// Between two devices: for move.cc, and what waits for the device: for mask.cc and others. The public functions are in engine.h.
#pragma once
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// Any strides: packed on the source's device, copied, unpacked on the target's.
Status copy_across(const Operand& from, const Operand& to, const LaunchContext& context) noexcept;

// BufferError while the stream is captured: `function` would have to wait for the device.
Status refuse_capture(const char* function, const Stream& stream) noexcept;

}  // namespace dlt::cuda
