// SPDX-License-Identifier: Apache-2.0
// Functions of matrices.cc and solver.cc that call each other.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "native/cuda/elementwise/plan.h"
#include "native/cuda/linalg/matrices.h"

namespace dlt::cuda {

// Elements in memory, of these sizes and steps.
struct Elements {
  int64_t shape[3], strides[3];
  DLTensor tensor;
  Elements(void* data, Stream& stream, int type, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> steps)
      : tensor{data, {kDLCUDA, stream.device->ordinal}, static_cast<int>(sizes.size()), type_table[type].dtype, shape, strides,
               0} {
    std::copy(sizes.begin(), sizes.end(), shape);
    std::copy(steps.begin(), steps.end(), strides);
  }
  Operand operand(Block* block) const { return {&tensor, block}; }
};

// `p.a` becomes a copy, which is written to, and of determinants `p.third` room for pivots.
Status copy_matrices(const FactorCall& call, int type, Scratch& copied, kernels::Matrices& p,
                     const LaunchContext& context) noexcept;

// By cuSOLVER, which the caller has loaded, after the caller has ordered the accesses.
Status factor_by_library(const FactorCall& call, int type, kernels::Matrices& p, const LaunchContext& context) noexcept;

// Returns whether cuSOLVER is there and finds eigenvalues of many matrices by one call.
bool has_batched_eigenvalues() noexcept;

// Determinants from factors and their pivots.
Status launch_pivots(int type, Stream& stream, kernels::Matrices& p) noexcept;
// R from the factors of a QR factorization by columns.
Status launch_upper(int type, Stream& stream, kernels::Matrices& p) noexcept;

}  // namespace dlt::cuda
