// SPDX-License-Identifier: Apache-2.0
// Between two devices: for move.cc. The public functions are in engine.h.
#pragma once
#include "native/cuda/engine.h"

namespace dlt::cuda {

// Any strides: packed on the source's device, copied, unpacked on the target's.
Status copy_across(const Operand& from, const Operand& to, const Where& where) noexcept;

}  // namespace dlt::cuda
