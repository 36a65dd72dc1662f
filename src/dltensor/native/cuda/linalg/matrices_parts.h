// SPDX-License-Identifier: Apache-2.0
// Functions of matrices.cc and solver.cc that call each other.
#pragma once
#include "native/cuda/linalg/matrices.h"
#include "native/cuda/elementwise/plan.h"

namespace dlt::cuda {

// The caller has loaded cuSOLVER, ordered the accesses and made the copies that are written to; see there.
Status factor_by_library(const FactorCall& call, int type, const kernels::Matrices& p, Stream& stream) noexcept;

// Determinants from factors and their pivots.
Status launch_pivots(const FactorCall& call, bool complex, bool wide, Stream& stream, kernels::Matrices& p) noexcept;

}  // namespace dlt::cuda
