// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima of CUDA tensors, with the bits of native/cpu/scan/scan.h.
#pragma once
#include "native/cpu/scan/scan.h"
#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// out[..., i, ...] = in[..., 0, ...] op ... op in[..., i, ...] along `axis`; the shapes are the same, and the dtype of `out` is
// what each result is rounded to. Sums and products of bools and integers are computed in 64 bits, which wrap, or exactly and
// clamped where `op` saturates.
DLT_API Status scan(Scan op, const Operand& in, int axis, const Operand& out, const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
