// SPDX-License-Identifier: Apache-2.0
// Factorizations of batches of matrices on a device.
#pragma once
#include "native/cpu/linalg/batch.h"
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// EngineTable::factor. Of a factor of cholesky larger than 8 x 8 the other triangle is of any value. A call that waits cannot be
// captured.
DLT_API Status factor(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
                      const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
