// SPDX-License-Identifier: Apache-2.0
// Factorizations of one matrix of any size by products of its blocks.
#pragma once
#include <stdint.h>

#include "native/status.h"

namespace dlt {

// Functions of dtype number `kind` of factored_types; matrices are contiguous, by rows.
struct Factorization {
  Status (*solve)(int64_t n, int64_t k, const void* a, void* b, bool* singular);
  Status (*inverse)(int64_t n, const void* a, void* out, bool* singular);
  // The diagonal of U, and at [n] the sign of the permutation.
  Status (*pivots)(int64_t n, const void* a, void* out);
  Status (*cholesky)(int64_t n, const void* a, void* out, bool upper, bool* definite);
  Status (*qr)(int64_t m, int64_t n, int64_t columns, const void* a, void* q, void* r);
};
const Factorization& factorization(int kind) noexcept;

}  // namespace dlt
