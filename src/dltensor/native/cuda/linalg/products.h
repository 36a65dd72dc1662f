// SPDX-License-Identifier: Apache-2.0
// A product of matrices on a device, and our own kernels for it, which have the bits of the CPU.
#pragma once
#include "native/cuda/elementwise/plan.h"

namespace dlt::cuda {

// The last two dimensions of an operand, and the strides of its batches.
struct Matrix {
  const DLTensor* tensor = nullptr;
  Block* block = nullptr;
  char* data = nullptr;
  int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;
  int64_t batch_steps[max_dims] = {};
};

struct Problem {
  Matrix a, b, c;
  int type = 0, a_type = 0, b_type = 0;  // of a and b: bytes where c is int32, or bfloat16 where it is float32
  int64_t m = 0, n = 0, k = 0;
  int dims = 0;  // of batches
  int64_t batch[max_dims] = {};
  int64_t batches = 1;
  Scalar alpha, beta;
  bool scaled = false, reads = false;  // alpha is not 1; beta is not 0
  kernels::Immediate factors[2];       // alpha and beta as elements of factor_type()
  const float* scale = nullptr;        // of float8 operands, on the device
};

// The dtype of alpha and beta: 16-bit floats accumulate in float32, everything else in its own dtype.
inline int factor_type(int type) noexcept { return type == type_float16 || type == type_bfloat16 ? type_float32 : type; }

// Any dtypes that Problem has, any strides. The caller has ordered the accesses.
Status multiply_by_kernels(const Problem& p, const LaunchContext& context) noexcept;

}  // namespace dlt::cuda
