// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of one symmetric matrix, and singular values of one large one, both real. A part is done by LAPACK, which is called by
// one thread.
#pragma once
#include <stdint.h>

#include "native/status.h"

namespace dlt {

// Returns whether this is faster for a dtype number `kind` of factored_types; elsewhere LAPACK's whole decomposition is.
bool is_tridiagonalized_here(int kind, int64_t n) noexcept;

// Reads the lower triangle of `a`, contiguous and by rows; values ascend, and columns of `vectors` are the eigenvectors. Without
// `vectors` only the values. `ok` is false where the iteration did not converge.
Status symmetric_eigenvalues(int kind, int64_t n, const void* a, void* values, void* vectors, bool* ok) noexcept;

// Returns whether this is faster for a dtype number `kind` of factored_types; elsewhere LAPACK's whole decomposition is.
bool are_reduced_here(int kind, int64_t m, int64_t n) noexcept;

// Takes dtype number `kind` of factored_types; matrices are contiguous, by rows. Without u and vh only the values. `ok` is false
// where the iteration did not converge.
Status singular_values(int kind, int64_t m, int64_t n, bool full, const void* a, void* u, void* values, void* vh,
                       bool* ok) noexcept;

}  // namespace dlt
