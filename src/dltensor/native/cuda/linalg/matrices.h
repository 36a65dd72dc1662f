// SPDX-License-Identifier: Apache-2.0
// Factorizations of batches of matrices on a device.
#pragma once
#include "native/cpu/linalg/batch.h"
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// EngineTable::factor. Matrices larger than 8 x 8: of eigh, eigenvectors are conjugate and transposed; qr takes transposed ones, in
// `out`, with room for k rows, gives q transposed, and `second` is that of n x m elements whose upper triangle, transposed, is r; svd
// takes m <= n. Of a factor of cholesky the other triangle is of any value. A call that waits cannot be captured.
DLT_API Status factor(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
                      const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
