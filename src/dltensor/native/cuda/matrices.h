// SPDX-License-Identifier: Apache-2.0
// Factorizations of batches of matrices on a device.
#pragma once
#include "native/cuda/engine.h"

namespace dlt::cuda {

enum class Factor : int { solve, inverse, determinant, cholesky, qr, eigh, svd };

// `count` matrices of m x n, contiguous as all operands are, and results as the functions of native/cpu/matrices.h have them:
//   solve        out: right sides of k columns, which become x
//   inverse      out
//   determinant  out: the sign, second: the logarithm; or out alone
//   cholesky     out: the matrices, which become factors, upper ones with `flag`
//   qr           out: q of k columns, second: r
//   eigh         out: eigenvalues, second: eigenvectors, or null
//   svd          out: u, second: singular values, third: vh; of k columns and rows, min(m, n) or the longer side; or second alone
// `info`, one int32 for each matrix, becomes other than 0 where it is singular, not positive definite or did not converge.
//
// Matrices larger than 8 x 8: of eigh, eigenvectors are conjugate and transposed; qr takes transposed ones, in `out`, with room for k rows,
// gives q transposed, and `second` is that of n x m elements whose upper triangle, transposed, is r; svd takes m <= n. Of a factor
// of cholesky the other triangle is of any value.
struct FactorCall {
  Factor factor;
  int64_t count, m, n, k;
  bool flag, waits;  // waits: the caller reads `info` at once, so that no graph can be captured
};
DLT_API Status factor(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
                      const Operand& info, const Where& where) noexcept;

}  // namespace dlt::cuda
