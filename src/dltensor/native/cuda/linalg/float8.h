// SPDX-License-Identifier: Apache-2.0
// Products of float8 on tensor cores, by cuBLASLt.
#pragma once
#include "native/cuda/runtime/device.h"
#include "native/cuda/runtime/stream.h"

namespace dlt::cuda {

// d = alpha * scale * a^T b of matrices by columns: a is k x m, b k x n, d m x n. Types are cuBLAS's.
struct Float8Product {
  int type_a, type_b, type_d;
  int64_t m, n, k;
  const void *a, *b;
  void* d;
  int64_t lead_a, lead_b, lead_d;
  int64_t bytes;  // of an element of d
  const float* alpha;
  const float* scale = nullptr;  // on the device; null for 1
};

// Returns whether the device has cores for operands of these types, and cuBLASLt is loaded.
bool has_float8_cores(const Device& device, int type_a, int type_b) noexcept;

// Returns whether sides and addresses are multiples of what the cores take.
bool is_in_steps(const Float8Product& p) noexcept;

// False in `done`: cuBLASLt has no algorithm for this product, and nothing was enqueued.
Status multiply_float8(const Float8Product& p, Stream& stream, bool* done) noexcept;

}  // namespace dlt::cuda
