// SPDX-License-Identifier: Apache-2.0
// Products of matrices, one at a time and in batches.
#pragma once
#include "dltensor/dlpack.h"
#include "native/cpu/runtime/engine.h"
#include "native/export.h"

namespace dlt {

// c[..., m, n] = a[..., m, k] @ (alpha * b[..., k, n]) + beta * c. The dimensions before the last two broadcast to
// those of c. All three share a dtype: an integer, a float or a complex one; any strides. With beta 0, c is not read;
// with k 0 the product is 0. a and b may have other dtypes where multiplies_converted() says so. Integers wrap, and take the integer part
// of alpha and beta. float16 and bfloat16 are summed in float32. c may overlap a and b.
DLT_API Status gemm(const DLTensor& c, const DLTensor& a, const DLTensor& b, const Scalar& alpha, const Scalar& beta) noexcept;

// Returns whether gemm() takes operands of these dtypes for a c of dtype `type` other than theirs, and computes the product of the
// converted ones: int8 and uint8 as int32, and as float32 what has at most 16 bits and whole bytes. Two matrices of bfloat16 are added
// in an order of their own (LinalgKernels::alternating_product).
DLT_API bool multiplies_converted(int type, int a_type, int b_type) noexcept;

// Returns whether a CUDA device takes these float8 operands for a c of dtype `type`. On the CPU they are converted before.
inline bool multiplies_float8(int type, int a_type, int b_type) noexcept {
  const auto is_float8 = [](int operand) { return operand == type_float8_e4m3fn || operand == type_float8_e5m2; };
  return (type == type_float32 || type == type_float16 || type == type_bfloat16) && is_float8(a_type) && is_float8(b_type);
}

// c = a @ b at once: two dimensions, one dtype with a kernel of its own, rows of contiguous elements, c apart from a
// and b in memory, and at most `most_work` multiplications. False, with nothing done, in every other case, also when inner
// dimensions differ.
DLT_API bool multiply_small(const DLTensor& c, const DLTensor& a, const DLTensor& b, int type, int64_t most_work) noexcept;

// Multiplications from which a call of a BLAS pays.
constexpr int64_t least_blas_work = 1 << 18;

// Loads a BLAS with the C interface and 32-bit integers for larger products of floats. False when the library or a
// function is missing; with `path` null the BLAS is no longer used but stays loaded.
DLT_API bool set_blas(const char* path) noexcept;
DLT_API bool has_blas() noexcept;

// out[c] = sum of a[k, c] * b[k, c] for matrices of float32 or float64 with contiguous rows and at least one; `out` is contiguous and
// shares no memory with them. The bits are those of products of vectors (kernels/gemv.cc). False, with nothing done, for other dtypes
// and layouts, and where the processor has no fused multiply-add.
DLT_API bool dot_columns(const DLTensor& a, const DLTensor& b, const DLTensor& out) noexcept;

}  // namespace dlt
