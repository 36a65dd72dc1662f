// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values by a LAPACK that set_lapack() found at run time. Nothing is linked.
#pragma once
#include <stdint.h>

#include "native/status.h"

namespace dlt::lapack {

constexpr int64_t most_rows = 30000;  // their square times two is what LAPACK counts in 32 bits

// One matrix each, of dtype number 0 to 3 of factored_types. `ok` is false where the iteration did not converge.
Status eigh(int kind, int64_t n, const void* a, void* values, void* vectors, bool* ok) noexcept;
Status svd(int kind, int64_t m, int64_t n, bool full, const void* a, void* u, void* values, void* vh, bool* ok) noexcept;
Status eig(int kind, int64_t n, const void* a, void* values, void* vectors, bool* ok) noexcept;
// The decomposition u diag(values) vt of an upper bidiagonal matrix: `values` holds its diagonal before, `above` what lies above
// it. Columns of u and vt are contiguous and `u_step`, `vt_step` elements apart; without them, only the values. Kinds 0 and 1.
Status bidiagonal_svd(int kind, int64_t n, void* values, void* above, void* u, int64_t u_step, void* vt, int64_t vt_step,
                      bool* ok) noexcept;
// The eigenvalues of a symmetric matrix of two diagonals, ascending, and its eigenvectors as contiguous columns, or null.
Status tridiagonal_eigh(int kind, int64_t n, void* values, void* beside, void* vectors, bool* ok) noexcept;
// Threads of one call, until the next. A call inside of our own threads takes one.
void set_threads(int count) noexcept;

}  // namespace dlt::lapack
