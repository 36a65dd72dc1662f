// SPDX-License-Identifier: Apache-2.0
// One product of two matrices, as passed to packing.cc and blas.cc.
#pragma once
#include "native/cpu/linalg/kernels.h"
#include "native/status.h"

namespace dlt {

// A matrix of one batch: strides in bytes.
struct Matrix {
  char* data;
  int64_t rows, columns, row, column;

  Matrix part(int64_t first_row, int64_t first_column, int64_t some_rows, int64_t some_columns) const {
    return {data + first_row * row + first_column * column, some_rows, some_columns, row, column};
  }
};

// c = a @ b, or with `add` c += a @ b. c has rows of contiguous elements of the accumulation dtype and overlaps neither operand.
struct Product {
  product_t kernel;
  int type;  // that is summed in
  int a_type, b_type;  // in memory: elements are converted as they are packed or read; bytes are multiplied in int32
  int64_t width;  // of an element of `type`
  Matrix c{}, a{}, b{};
  bool add = false;
  // If not 0, each chain of the depth has sums of its own, so many bytes after those of the one before.
  int64_t chain_step = 0;
  // For c of one column: each row is multiplied by a vector of its own, so many bytes after the one before; 0 is one for all.
  int64_t b_step = 0;

  int64_t work() const { return c.rows * c.columns * a.columns; }
};

// The number of multiplications from which threads are used, and from which one product occupies all threads.
inline constexpr int64_t shared_work = 1 << 20, large_work = 1 << 24;

// The product by our own kernel, for operands of the dtype that is summed in. It fails only for want of memory.
Status add_product(const Product& p) noexcept;

// Writes `m`, of dtype `from`, to contiguous rows of dtype `to`.
Status pack(const Matrix& m, int from, void* out, int to);

// The matrix as a tensor, whose two extents and strides are written to `shape` and `strides`.
DLTensor tensor_of(const Matrix& m, int type, int64_t* shape, int64_t* strides);

}  // namespace dlt
