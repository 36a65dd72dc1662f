// SPDX-License-Identifier: Apache-2.0
// Which way a product takes: the small kernel as it lies, a BLAS, or the kernel over packed blocks.
#include "native/cpu/gemm.h"

#include <limits.h>
#include <string.h>

#include "native/cpu/blas.h"
#include "native/cpu/copy.h"
#include "native/cpu/features.h"
#include "native/cpu/pool.h"
#include "native/layout/layout.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// Up to here the kernel reads its operands as they lie; above, a BLAS has packed them before we would be done.
constexpr int64_t small_side = 64;
constexpr int64_t depth_block = 256, column_block = 512, row_block = 96;

// A matrix of one batch: strides in bytes.
struct Matrix {
  char* data;
  int64_t rows, columns, row, column;
};

struct Product {
  const Kernels* kernels;
  product_t product;
  int type;       // that the kernel sums in
  int64_t width;  // of its elements
  Matrix c, a, b;
};

DLTensor tensor_of(const Matrix& m, int type, int64_t* shape, int64_t* strides) {
  const int64_t width = type_table[type].bytes;
  shape[0] = m.rows;
  shape[1] = m.columns;
  strides[0] = m.row / width;
  strides[1] = m.column / width;
  return {m.data, {kDLCPU, 0}, 2, type_table[type].dtype, shape, strides, 0};
}

// Writes `m` of dtype `from` to contiguous rows of dtype `to`.
Status pack(const Matrix& m, int from, void* out, int to) {
  int64_t shape[4], strides[4];
  const DLTensor source = tensor_of(m, from, shape, strides);
  const Matrix packed{static_cast<char*>(out), m.rows, m.columns, m.columns * type_table[to].bytes, type_table[to].bytes};
  const DLTensor target = tensor_of(packed, to, shape + 2, strides + 2);
  return cast(target, source, {}, 0);
}

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

Matrix part(const Matrix& m, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  return {m.data + row * m.row + column * m.column, rows, columns, m.row, m.column};
}

// ---- our own kernel over packed blocks

struct Blocks {
  const Product* p;
  int operand_type;  // that a and b have in memory
  int64_t row_step, column_step, column_steps;
  std::atomic<int> failed;
};

// One rectangle of c: all its depth, block by block.
void run_block(void* context, int64_t index) {
  auto& blocks = *static_cast<Blocks*>(context);
  const Product& p = *blocks.p;
  const int64_t row = index / blocks.column_steps * blocks.row_step;
  const int64_t column = index % blocks.column_steps * blocks.column_step;
  const int64_t rows = smaller(blocks.row_step, p.c.rows - row), columns = smaller(blocks.column_step, p.c.columns - column);
  const int64_t depth = p.a.columns, step = smaller(depth_block, depth);
  Block* memory = allocate(size_t((columns + smaller(rows, row_block)) * step * p.width));
  if (memory == nullptr) {
    blocks.failed.store(1);
    return;
  }
  char* b_packed = static_cast<char*>(memory->data);
  char* a_packed = b_packed + columns * step * p.width;
  for (int64_t k = 0; k < depth; k += step) {
    const int64_t ks = smaller(step, depth - k);
    (void)pack(part(p.b, k, column, ks, columns), blocks.operand_type, b_packed, p.type);
    for (int64_t r = 0; r < rows; r += row_block) {
      const int64_t rs = smaller(row_block, rows - r);
      (void)pack(part(p.a, row + r, k, rs, ks), blocks.operand_type, a_packed, p.type);
      p.product(p.c.data + (row + r) * p.c.row + column * p.c.column, p.c.row, a_packed, ks * p.width, p.width, b_packed,
                columns * p.width, rs, columns, ks, k == 0);
    }
  }
  release(memory);
}

Status multiply_blocks(const Product& p, int operand_type) {
  Blocks blocks{&p, operand_type, p.c.rows, smaller(column_block, p.c.columns), 1, {0}};
  const int threads = num_threads();
  const bool large = p.c.rows * p.c.columns * p.a.columns >= int64_t(1) << 18;
  if (large && threads > 1) {
    // Several pieces for each thread, cut along the rows first: then b is what is packed again.
    blocks.row_step = (p.c.rows + threads * 2 - 1) / (threads * 2);
    if (blocks.row_step < 48) blocks.row_step = smaller(48, p.c.rows);
  }
  if (blocks.row_step > row_block * 8) blocks.row_step = row_block * 8;
  blocks.column_steps = (p.c.columns + blocks.column_step - 1) / blocks.column_step;
  const int64_t pieces = (p.c.rows + blocks.row_step - 1) / blocks.row_step * blocks.column_steps;
  if (large) {
    parallel(pieces, run_block, &blocks);
  } else {
    for (int64_t i = 0; i < pieces; ++i) run_block(&blocks, i);
  }
  return blocks.failed.load() ? Status::no_memory : Status::ok;
}

// ---- a BLAS

// How a BLAS may read it: 111 by rows, 112 by columns, 0 not at all.
int order_of(const Matrix& m, int64_t width, int* step) {
  const auto fits = [&](int64_t inner, int64_t outer, int64_t inner_extent, int64_t outer_extent) {
    if (inner_extent > 1 && inner != width) return false;
    const int64_t lead = outer_extent > 1 ? outer / width : inner_extent;
    if (lead < (inner_extent > 1 ? inner_extent : 1) || lead > INT_MAX) return false;
    if (outer_extent > 1 && outer % width != 0) return false;
    *step = int(lead > 0 ? lead : 1);
    return true;
  };
  if (fits(m.column, m.row, m.columns, m.rows)) return Blas::as_is;
  if (fits(m.row, m.column, m.rows, m.columns)) return Blas::transposed;
  return 0;
}

bool multiply_blas(const Blas& blas, const Product& p) {
  if (p.type != type_float32 && p.type != type_float64 && p.type != type_complex64 && p.type != type_complex128) return false;
  if (p.c.rows > INT_MAX || p.c.columns > INT_MAX || p.a.columns > INT_MAX) return false;
  int step_a, step_b, step_c;
  const int a = order_of(p.a, p.width, &step_a), b = order_of(p.b, p.width, &step_b);
  if (a == 0 || b == 0 || order_of(p.c, p.width, &step_c) != Blas::as_is) return false;
  const int m = int(p.c.rows), n = int(p.c.columns), k = int(p.a.columns);
  const void *from_a = p.a.data, *from_b = p.b.data;
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  const float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
  switch (p.type) {
    case type_float32:
      blas.sgemm(Blas::row_major, a, b, m, n, k, 1, static_cast<const float*>(from_a), step_a,
                 static_cast<const float*>(from_b), step_b, 0, reinterpret_cast<float*>(p.c.data), step_c);
      return true;
    case type_float64:
      blas.dgemm(Blas::row_major, a, b, m, n, k, 1, static_cast<const double*>(from_a), step_a,
                 static_cast<const double*>(from_b), step_b, 0, reinterpret_cast<double*>(p.c.data), step_c);
      return true;
    case type_complex64:
      blas.cgemm(Blas::row_major, a, b, m, n, k, one_f, from_a, step_a, from_b, step_b, zero_f, p.c.data, step_c);
      return true;
    default:
      blas.zgemm(Blas::row_major, a, b, m, n, k, one, from_a, step_a, from_b, step_b, zero, p.c.data, step_c);
      return true;
  }
}

// A product in pieces of c, each a call of the BLAS on one thread.
struct Shares {
  const Blas* blas;
  const Product* p;
  int64_t step;
  bool by_rows;
  std::atomic<bool> refused{false};
};

void run_share(void* context, int64_t index) {
  auto& shares = *static_cast<Shares*>(context);
  Product q = *shares.p;
  const int64_t at = index * shares.step;
  if (shares.by_rows) {
    const int64_t rows = smaller(shares.step, q.c.rows - at);
    q.c = part(q.c, at, 0, rows, q.c.columns);
    q.a = part(q.a, at, 0, rows, q.a.columns);
  } else {
    const int64_t columns = smaller(shares.step, q.c.columns - at);
    q.c = part(q.c, 0, at, q.c.rows, columns);
    q.b = part(q.b, 0, at, q.b.rows, columns);
  }
  if (!multiply_blas(*shares.blas, q)) shares.refused.store(true);
}

bool share_blas(const Blas& blas, const Product& p) {
  const int64_t work = p.c.rows * p.c.columns * p.a.columns, threads = num_threads();
  Shares shares{&blas, &p, 0, p.c.rows >= p.c.columns};
  const int64_t extent = shares.by_rows ? p.c.rows : p.c.columns;
  // More pieces than threads, so that nobody waits long for the last; each packs the other operand again.
  const int64_t pieces = work >= int64_t(1) << 30 ? threads * 2 : threads;
  if (threads < 2 || work < int64_t(1) << 22 || extent < pieces * 32) return multiply_blas(blas, p);
  shares.step = ((extent + pieces - 1) / pieces + 15) / 16 * 16;
  parallel((extent + shares.step - 1) / shares.step, run_share, &shares);
  return !shares.refused.load();
}

// c = a @ b, where c has rows of contiguous elements of the type that is summed in.
Status multiply(const Product& p, int operand_type) {
  if (p.c.rows == 0 || p.c.columns == 0) return Status::ok;
  if (p.a.columns == 0) {
    for (int64_t r = 0; r < p.c.rows; ++r) memset(p.c.data + r * p.c.row, 0, size_t(p.c.columns * p.width));
    return Status::ok;
  }
  const bool as_it_lies = operand_type == p.type && (p.b.column == p.width || p.b.columns == 1);
  const bool small = p.c.rows <= small_side * 2 && p.c.columns <= small_side && p.a.columns <= small_side * 4;
  if (as_it_lies && small) {
    p.product(p.c.data, p.c.row, p.a.data, p.a.row, p.a.column, p.b.data, p.b.row, p.c.rows, p.c.columns, p.a.columns, true);
    return Status::ok;
  }
  const Blas* library = blas();
  if (!small && library != nullptr && operand_type == p.type && share_blas(*library, p)) return Status::ok;
  if (!small && library != nullptr && (p.type == type_float32 || p.type == type_float64)) {
    // Strided or 16-bit operands, once contiguous, are the BLAS's again.
    const int64_t size_a = p.a.rows * p.a.columns * p.width, size_b = p.b.rows * p.b.columns * p.width;
    Block* memory = allocate(size_t(size_a + size_b));
    if (memory == nullptr) return Status::no_memory;
    Product q = p;
    q.a = {static_cast<char*>(memory->data), p.a.rows, p.a.columns, p.a.columns * p.width, p.width};
    q.b = {q.a.data + size_a, p.b.rows, p.b.columns, p.b.columns * p.width, p.width};
    Status status = pack(p.a, operand_type, q.a.data, p.type);
    if (status == Status::ok) status = pack(p.b, operand_type, q.b.data, p.type);
    const bool done = status == Status::ok && share_blas(*library, q);
    release(memory);
    if (done || status != Status::ok) return status;
  }
  return multiply_blocks(p, operand_type);
}

// ---- alpha, beta, batches

bool is_number(const Scalar& s, double value) {
  Scalar other{Kind::real, 0, 0, value, 0};
  return compare_scalars(s, other) == 0;
}

Status finish_scaled(const DLTensor& c, const DLTensor& product, int type, const Scalar& alpha, const Scalar& beta) {
  alignas(16) char factors[2][16];
  int64_t none = 1;
  DLTensor scalar[2];
  const Scalar* const values[2] = {&alpha, &beta};
  for (int k = 0; k < 2; ++k) {
    scalar[k] = {factors[k], {kDLCPU, 0}, 0, type_table[type].dtype, &none, &none, 0};
    store_scalar(factors[k], 0, scalar[k].dtype, false, *values[k], Rounding::truncate, false);
  }
  if (!is_number(alpha, 1)) {
    const DLTensor* operands[] = {&product, &scalar[0]};
    const Status status = run(op_multiply, 0, type, operands, product, 0);
    if (status != Status::ok) return status;
  }
  if (!is_number(beta, 0)) {
    const DLTensor* operands[] = {&scalar[1], &c, &product};
    const Status status = run(op_fma, 0, type, operands, product, 0);
    if (status != Status::ok) return status;
  }
  return cast(c, product, {}, 0);
}

// Strides of the dimensions before the last two, walked as c's are.
bool batch_strides(const DLTensor& t, const DLTensor& c, int64_t* out) {
  return broadcast_strides(t.ndim - 2, t.shape, t.strides, c.ndim - 2, c.shape, Align::trailing, out);
}

}  // namespace

Status gemm(const DLTensor& c, const DLTensor& a, const DLTensor& b, const Scalar& alpha, const Scalar& beta) noexcept {
  const int type = find_type(c.dtype);
  if (type < 0 || type == type_bool || type >= computed_types) return Status::no_loop;
  if (find_type(a.dtype) != type || find_type(b.dtype) != type) return Status::no_dtype;
  const int inner = type == type_float16 || type == type_bfloat16 ? type_float32 : type;
  const int d = c.ndim - 2;
  if (a.ndim < 2 || b.ndim < 2 || d < 0) return Status::no_shape;
  const int64_t m = c.shape[d], n = c.shape[d + 1], depth = a.shape[a.ndim - 1];
  if (a.shape[a.ndim - 2] != m || b.shape[b.ndim - 1] != n || b.shape[b.ndim - 2] != depth) return Status::no_shape;
  int64_t batch_a[max_dims], batch_b[max_dims];
  if (!batch_strides(a, c, batch_a) || !batch_strides(b, c, batch_b)) return Status::no_shape;
  if (numel(c.ndim, c.shape) == 0) return Status::ok;

  Product p;
  p.kernels = &kernels();
  p.product = p.kernels->products[inner];
  if (p.product == nullptr) return Status::no_loop;
  p.type = inner;
  p.width = type_table[inner].bytes;
  const int64_t bytes = type_table[type].bytes;
  const bool plain = is_number(alpha, 1) && is_number(beta, 0);
  const bool in_place = plain && inner == type && (c.strides[d + 1] == 1 || n == 1) && c.strides[d] >= n &&
                        overlap(c, a) == Overlap::none && overlap(c, b) == Overlap::none;
  // Otherwise the products of all batches go into a contiguous temporary first.
  Block* memory = nullptr;
  int64_t strides[max_dims];
  DLTensor result = c;
  if (!in_place) {
    memory = allocate(size_t(numel(c.ndim, c.shape) * p.width));
    if (memory == nullptr) return Status::no_memory;
    contiguous_strides(c.ndim, c.shape, strides);
    result.data = memory->data;
    result.strides = strides;
    result.dtype = type_table[inner].dtype;
  }
  const auto matrix = [](const DLTensor& t, int64_t rows, int64_t columns, int64_t width) {
    return Matrix{static_cast<char*>(t.data), rows, columns, t.strides[t.ndim - 2] * width, t.strides[t.ndim - 1] * width};
  };
  const Matrix first_a = matrix(a, m, depth, bytes), first_b = matrix(b, depth, n, bytes), first_c = matrix(result, m, n, p.width);
  const int64_t batches = numel(d, c.shape);
  Status status = Status::ok;
  for (int64_t index = 0; index < batches && status == Status::ok; ++index) {
    p.a = first_a;
    p.b = first_b;
    p.c = first_c;
    int64_t rest = index;
    for (int e = d - 1; e >= 0; --e) {
      const int64_t at = rest % c.shape[e];
      rest /= c.shape[e];
      p.a.data += at * batch_a[e] * bytes;
      p.b.data += at * batch_b[e] * bytes;
      p.c.data += at * result.strides[e] * p.width;
    }
    status = multiply(p, type);
  }
  if (!in_place) {
    if (status == Status::ok) status = finish_scaled(c, result, inner, alpha, beta);
    release(memory);
  }
  return status;
}

}  // namespace dlt
