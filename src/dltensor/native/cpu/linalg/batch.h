// SPDX-License-Identifier: Apache-2.0
// Factorizations of batches of matrices and what they solve. Products are in gemm.h.
#pragma once
#include <stdint.h>

#include "native/export.h"
#include "native/status.h"

namespace dlt {

// A batch of `count` matrices of one dtype (float32, float64, complex64, complex128), contiguous, each by rows. `info`, one
// byte for each matrix, becomes 1 where it is singular, not positive definite or did not converge, else 0; results are then
// unspecified for that matrix. Results never overlap operands. Faults: memory runs out, a dtype or
// the LAPACK is missing, or a matrix is larger than LAPACK counts.
struct Batch {
  int type;
  int64_t count;
  uint8_t* info;
};

// One call of EngineTable::factor: `count` matrices of m x n, contiguous as results are, which are as in the functions below.
//   solve        out: right sides of k columns, which become x
//   inverse      out
//   determinant  out: the sign, second: the logarithm; or out alone
//   cholesky     out: factors, upper ones with `flag`
//   qr           out: q of k columns, second: r
//   eigh         out: eigenvalues, second: eigenvectors, or null
//   svd          out: u, second: singular values, third: vh; of k columns and rows: with `flag` the longer side; or second alone
enum class Factor : int { solve, inverse, determinant, cholesky, qr, eigh, svd };
struct FactorCall {
  Factor factor;
  int64_t count, m, n, k;
  bool flag;
  bool waits;  // for `info`, which is 0 otherwise
  uint8_t* info;  // see Batch
};

// b (n x k) becomes x with a x = b.
DLT_API Status solve(const Batch& batch, int64_t n, int64_t k, const void* a, void* b) noexcept;
DLT_API Status inverse(const Batch& batch, int64_t n, const void* a, void* out) noexcept;
// The determinant as sign * exp(logarithm), or with `logarithm` null the determinant itself; logarithms are real.
DLT_API Status determinant(const Batch& batch, int64_t n, const void* a, void* sign, void* logarithm) noexcept;
// Reads the triangle that it writes; the other one becomes 0.
DLT_API Status cholesky(const Batch& batch, int64_t n, const void* a, void* out, bool upper) noexcept;
// q is m x columns with columns n or m, not less than min(m, n); r is columns x n.
DLT_API Status qr(const Batch& batch, int64_t m, int64_t n, int64_t columns, const void* a, void* q, void* r) noexcept;
// Ascending real eigenvalues, eigenvectors as columns unless `vectors` is null. Reads the lower triangle.
DLT_API Status eigh(const Batch& batch, int64_t n, const void* a, void* values, void* vectors) noexcept;
// Descending real singular values; u is m x columns and vh columns_v x n with both min(m, n), or m and n. u and vh may be null.
DLT_API Status svd(const Batch& batch, int64_t m, int64_t n, bool full, const void* a, void* u, void* values,
                   void* vh) noexcept;
// Complex eigenvalues, eigenvectors of norm 1 as columns unless `vectors` is null.
DLT_API Status eig(const Batch& batch, int64_t n, const void* a, void* values, void* vectors) noexcept;

// Returns whether all `n` numbers of a dtype (the four above) are finite.
DLT_API bool all_finite(int type, int64_t n, const void* a) noexcept;

// Loads a LAPACK with Fortran's names and 32-bit integers, as set_blas() does. Without one, svd and eigh take up to 8 x 8
// only, and eig nothing.
DLT_API bool set_lapack(const char* path) noexcept;

}  // namespace dlt
