// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms on a device, by cuFFT.
#pragma once
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// out = the transform of x over its last dimensions, up to three, without a factor. Both in C order: complex to complex, or real to
// complex with size[rank - 1] / 2 + 1 elements along the last dimension, forward, or back, which overwrites x.
struct FourierCall {
  int rank;
  const int64_t* size;  // of each dimension, in elements of the longer side
  int64_t batch;
  bool forward;
};
DLT_API Status fourier(const FourierCall& call, const Operand& x, const Operand& out, const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
