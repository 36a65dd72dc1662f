// SPDX-License-Identifier: Apache-2.0
// Chooses how a matrix product is computed: the kernel on the operands in place, the kernel over packed panels, or a
// BLAS.
#include "native/cpu/linalg/gemm.h"

#include "native/cpu/runtime/engine_table.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "native/cpu/linalg/blas.h"
#include "native/cpu/quantize/byte_product.h"
#include "native/cpu/copy/copy.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/linalg/packing.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/linalg/gemv.h"
#include "native/cpu/linalg/tiles.h"
#include "native/layout/layout.h"
#include "native/memory/block.h"

namespace dlt {

DLTensor tensor_of(const Matrix& m, int type, int64_t* shape, int64_t* strides) {
  const int64_t width = type_table[type].bytes;
  shape[0] = m.rows;
  shape[1] = m.columns;
  strides[0] = m.row / width;
  strides[1] = m.column / width;
  return {m.data, {kDLCPU, 0}, 2, type_table[type].dtype, shape, strides, 0};
}

namespace {

// Up to this size the kernel reads its operands in place: b, or 256 bytes of each of its rows, stays in L1.
constexpr int64_t most_rows = 128, most_depth = 256, most_row_bytes = 256, most_b_bytes = 40 << 10;

bool is_near(int64_t rows, int64_t columns, int64_t depth, int64_t width) {
  return rows <= most_rows && depth <= most_depth &&
         (columns * width <= most_row_bytes || columns * depth * width <= most_b_bytes);
}

// Strided or 16-bit operands are copied to contiguous memory and then passed to the BLAS. `done` is false where it refuses them.
Status multiply_copies(const Product& p, bool* done) {
  const int64_t size_a = p.a.rows * p.a.columns * p.width, size_b = p.b.rows * p.b.columns * p.width;
  BlockRef memory;
  DLT_TRY(allocate(size_t(size_a + size_b), &memory));
  Product q = p;
  q.a_type = q.b_type = p.type;
  q.a = {static_cast<char*>(memory.block->data), p.a.rows, p.a.columns, p.a.columns * p.width, p.width};
  q.b = {q.a.data + size_a, p.b.rows, p.b.columns, p.b.columns * p.width, p.width};
  Status status = pack(p.a, p.a_type, q.a.data, p.type);
  if (status.ok()) status = pack(p.b, p.b_type, q.b.data, p.type);
  *done = status.ok() && multiply_blas(q);
  return status;
}

// Writes a small matrix to contiguous rows of the dtype that is summed in.
void pack_small(const Product& p, const Matrix& m, int type, char* out) {
  const CopyKernels& loops = *kernels().copy;
  const int64_t bytes = type_table[type].bytes, row = m.columns * bytes;
  const move_t move = loops.moves[width_index(bytes)];
  if (type == p.type) return move(out, row, bytes, m.data, m.row, m.column, m.rows, m.columns);
  alignas(64) char narrow[most_b_bytes];
  const bool is_contiguous = (m.column == bytes || m.columns == 1) && (m.row == row || m.rows == 1);
  if (!is_contiguous) move(narrow, row, bytes, m.data, m.row, m.column, m.rows, m.columns);
  loops.casts[0][type][p.type](out, is_contiguous ? m.data : narrow, nullptr, nullptr, m.rows * m.columns, 0);
}

// Computes a small product whose operands the kernel cannot read in place. Returns false where they are too large, or their
// conversion is no single loop.
bool multiply_packed(const Product& p) {
  const auto is_packed = [&](int type) { return type == p.type || kernels().copy->casts[0][type][p.type] != nullptr; };
  const bool packs_a = p.a_type != p.type;
  const int64_t depth = p.a.columns, size_a = p.c.rows * depth * p.width, size_b = depth * p.c.columns * p.width;
  if (size_b > most_b_bytes || (packs_a && size_a > most_b_bytes) || !is_packed(p.a_type) || !is_packed(p.b_type)) return false;
  alignas(64) char a[most_b_bytes], b[most_b_bytes];
  if (packs_a) pack_small(p, p.a, p.a_type, a);
  pack_small(p, p.b, p.b_type, b);
  if (packs_a)
    p.kernel(p.c.data, p.c.row, a, depth * p.width, p.width, b, p.c.columns * p.width, p.c.rows, p.c.columns, depth, true);
  else p.kernel(p.c.data, p.c.row, p.a.data, p.a.row, p.a.column, b, p.c.columns * p.width, p.c.rows, p.c.columns, depth, true);
  return true;
}

bool are_bytes(const Product& p) { return p.type == type_int32 && p.a_type != type_int32; }

// c = a @ b
Status multiply(const Product& p) {
  if (p.c.rows == 0 || p.c.columns == 0) return success;
  const int64_t depth = p.a.columns;
  if (depth == 0) {
    for (int64_t r = 0; r < p.c.rows; ++r) memset(p.c.data + r * p.c.row, 0, size_t(p.c.columns * p.width));
    return success;
  }
  if (are_bytes(p)) return multiply_bytes(p);
  if (is_vector_product(p.c.rows, p.c.columns, depth)) return multiply_vector(p);
  if (p.kernel == kernels().linalg->alternating_product) {
    bool done = false;
    DLT_TRY(multiply_tiles(p, &done));
    if (done) return success;
  }
  const bool near = is_near(p.c.rows, p.c.columns, depth, p.width);
  const bool as_it_lies = p.a_type == p.type && p.b_type == p.type && (p.b.column == p.width || p.b.columns == 1);
  if (near && as_it_lies) {
    p.kernel(p.c.data, p.c.row, p.a.data, p.a.row, p.a.column, p.b.data, p.b.row, p.c.rows, p.c.columns, depth, true);
    return success;
  }
  if (near && multiply_packed(p)) return success;
  if (prefers_blas(p)) {
    bool done = multiply_blas(p);
    if (!done && (p.type == type_float32 || p.type == type_float64)) {
      DLT_TRY(multiply_copies(p, &done));
    }
    if (done) return success;
  }
  return multiply_panels(p);
}

// ---- alpha, beta, batches

bool is_number(const Scalar& s, double value) {
  if (s.kind == Kind::real) return s.re == value;
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
    DLT_TRY(run(op_multiply, 0, type, operands, product, 0));
  }
  if (!is_number(beta, 0)) {
    const DLTensor* operands[] = {&scalar[1], &c, &product};
    DLT_TRY(run(op_fma, 0, type, operands, product, 0));
  }
  return cast(c, product, {}, 0);
}

// Strides of the dimensions before the last two, broadcast to those of c.
bool batch_strides(const DLTensor& t, const DLTensor& c, int64_t* out) {
  return broadcast_strides(t.ndim - 2, t.shape, t.strides, c.ndim - 2, c.shape, Align::trailing, out);
}

// Products of several batches, by their number.
struct Batches {
  Product first;
  const DLTensor* c;
  const int64_t *a_strides, *b_strides;  // in elements, of the dimensions before the last two
  int64_t a_bytes, b_bytes;  // of their elements
  int dims;  // that are counted
  int64_t piece = 1;  // batches of the last dimension that are one call of a kernel
  std::atomic<bool> failed{false};  // for want of memory: nothing else fails once the product has begun

  int64_t a_step(int d) const { return a_strides[d] * a_bytes; }
  int64_t b_step(int d) const { return b_strides[d] * b_bytes; }
  int64_t c_step(int d) const { return c->strides[d] * first.width; }
};

// Up to so many numbers and bytes of a matrix with its operands, and from so many matrices on, they are multiplied side by side: a
// call of the other kernel for each costs more than these moves.
constexpr int64_t most_side_by_side = 128, most_side_bytes = 768, least_side_by_side = 16;

// The numbers of a matrix, at most `most_side_by_side`, and of its operands; 0 where they are too many.
int64_t side_by_side_numbers(const Product& p) {
  const int64_t parts = type_table[p.type].dtype.code == kDLComplex ? 2 : 1, width = p.width / parts;
  const int64_t rows = p.c.rows, columns = p.c.columns, depth = p.a.columns;
  const int64_t numbers = (rows * depth + depth * columns + rows * columns) * parts;
  return numbers > most_side_by_side || numbers * width > most_side_bytes ? 0 : numbers;
}

bool multiply_side_by_side(const StackProduct& s, const Product& p) {
  const int64_t parts = type_table[p.type].dtype.code == kDLComplex ? 2 : 1, width = p.width / parts;
  const int64_t size_a = s.rows * s.depth * parts, size_b = s.depth * s.columns * parts, size_c = s.rows * s.columns * parts;
  const bool is_converted = p.a_type != p.type;  // no other kernel takes these
  if ((s.count < least_side_by_side && !is_converted) || side_by_side_numbers(p) == 0) return false;
  const lane_product_t multiply_lanes = p.kernel == kernels().linalg->alternating_product
                                            ? kernels().linalg->alternating_lane_product
                                            : kernels().linalg->lane_products[p.type];
  alignas(64) char runs[most_side_by_side * lane_bytes];
  const move_t move = kernels().copy->moves[width_index(width)];
  StackProduct t = s;
  for (int64_t first = 0; first < s.count; first += t.count) {
    t.count = smaller(lane_bytes / width, s.count - first);
    Matrix a{const_cast<char*>(s.a) + first * s.a_step, s.rows, s.depth, s.a_row, s.a_column};
    Matrix b{const_cast<char*>(s.b) + first * s.b_step, s.depth, s.columns, s.b_row, s.b_column};
    spread(&a, s.a_step, parts, width, t.count, runs);
    spread(&b, s.b_step, parts, width, t.count, runs + size_a * lane_bytes);
    char* const sums = runs + (size_a + size_b) * lane_bytes;
    const bool is_joined = s.c_row == s.columns * p.width || s.rows == 1;
    const int64_t rows = is_joined ? 1 : s.rows, n = size_c / rows;
    multiply_lanes({sums, a.data, b.data, 0, 0, 0, s.columns * parts * lane_bytes, a.row, a.column, b.row, b.column, s.rows,
                    s.columns, s.depth, t.count});
    for (int64_t r = 0; r < rows; ++r) {
      char* const to = s.c + first * s.c_step + r * s.c_row;
      const char* const from = sums + r * n * lane_bytes;
      if (n == 1) move(to, 0, s.c_step, from, 0, width, 1, t.count);
      else move(to, s.c_step, width, from, width, lane_bytes, t.count, n);
    }
  }
  return true;
}

// Matrices of narrow elements whose product is one of float32: so many are converted for a call.
constexpr int64_t converted_piece = 64;

StackProduct stack_of(const Product& p, int64_t a_step, int64_t b_step, int64_t c_step, int64_t count) {
  return {p.c.data,   p.a.data, p.b.data,   c_step,   a_step,      b_step,      p.c.row, p.a.row,
          p.a.column, p.b.row,  p.b.column, p.c.rows, p.c.columns, p.a.columns, count};
}

[[gnu::noinline]] void multiply_converted(Product p, int64_t a_step, int64_t b_step, int64_t c_step, int64_t count) {
  alignas(64) char a[most_side_bytes * converted_piece], b[most_side_bytes * converted_piece];
  convert_block(&p.a, p.a_type, p.type, &a_step, count, a);
  convert_block(&p.b, p.b_type, p.type, &b_step, count, b);
  multiply_side_by_side(stack_of(p, a_step, b_step, c_step, count), p);
}

void multiply_batch(void* context, int64_t index) {
  auto& batches = *static_cast<Batches*>(context);
  Product p = batches.first;
  int64_t count = 1;
  for (int d = batches.dims - 1; d >= 0; --d) {
    const bool by_piece = d == batches.dims - 1 && batches.piece > 1;
    const int64_t extent = batches.c->shape[d], pieces = by_piece ? ceil_divide(extent, batches.piece) : extent;
    const int64_t at = index % pieces * (by_piece ? batches.piece : 1);
    if (by_piece) count = smaller(batches.piece, extent - at);
    index /= pieces;
    p.a.data += at * batches.a_step(d);
    p.b.data += at * batches.b_step(d);
    p.c.data += at * batches.c_step(d);
  }
  if (batches.piece == 1) {
    if (!multiply(p).ok()) batches.failed.store(true);
    return;
  }
  const int last = batches.dims - 1;
  const int64_t a_step = batches.a_step(last), b_step = batches.b_step(last), c_step = batches.c_step(last);
  if (p.a_type != p.type) return multiply_converted(p, a_step, b_step, c_step, count);
  const StackProduct stack = stack_of(p, a_step, b_step, c_step, count);
  if (!multiply_side_by_side(stack, p)) kernels().linalg->stack_products[p.type](stack);
}

// Batches that share b, and whose rows follow one another, become rows of one product, as long as no other order of terms is
// then defined for it.
void merge_rows(Batches* batches) {
  Product& p = batches->first;
  for (; batches->dims > 0; --batches->dims) {
    const int d = batches->dims - 1;
    const int64_t count = batches->c->shape[d], rows = p.c.rows * count;
    if (count > 1) {
      const bool is_one = p.c.rows == 1;  // whose strides may be anything
      const int64_t a_row = is_one ? batches->a_step(d) : p.a.row, c_row = is_one ? batches->c_step(d) : p.c.row;
      if (batches->b_step(d) != 0 || batches->a_step(d) != p.c.rows * a_row || batches->c_step(d) != p.c.rows * c_row ||
          c_row < p.c.columns * p.width ||
          is_vector_product(p.c.rows, p.c.columns, p.a.columns) != is_vector_product(rows, p.c.columns, p.a.columns))
        return;
      p.a.row = a_row;
      p.c.row = c_row;
    }
    p.a.rows = p.c.rows = rows;
  }
}

// The multiplications and batches of a call of a kernel for small matrices.
constexpr int64_t most_small_work = 512, small_piece = 256;

bool is_small(const Product& p) {
  return p.a_type == p.type && p.b_type == p.type && p.a.columns > 0 && p.work() <= most_small_work &&
         p.a.columns * p.c.columns <= most_stacked && !is_vector_product(p.c.rows, p.c.columns, p.a.columns);
}

// Small matrices of narrow elements that are converted and multiplied side by side.
bool are_converted(const Batches& batches, int d) {
  const Product& p = batches.first;
  const auto is_narrow = [&](int type) {
    return type_table[type].bytes == 2 && kernels().copy->casts[0][type][p.type] != nullptr;
  };
  if (p.type != type_float32 || !is_narrow(p.a_type) || !is_narrow(p.b_type)) return false;
  return batches.c->shape[d] >= converted_piece && p.a.columns > 0 && p.a.columns <= block_terms &&
         side_by_side_numbers(p) > 0 && !is_vector_product(p.c.rows, p.c.columns, p.a.columns) &&
         is_block(p.a, batches.a_bytes, batches.a_step(d)) && is_block(p.b, batches.b_bytes, batches.b_step(d));
}

Status multiply_stack(Batches batches) {
  merge_rows(&batches);
  Product& first = batches.first;
  const int last = batches.dims - 1;
  if (!are_bytes(first) && first.c.rows == 1 && first.c.columns == 1 && is_vector_product(1, 1, first.a.columns) && last >= 0) {
    // Products of vectors: the last dimension becomes rows, each with a vector of its own.
    first.c.rows = first.a.rows = batches.c->shape[last];
    const bool is_one = first.c.rows == 1;  // whose strides may be anything
    first.c.row = is_one ? 0 : batches.c_step(last);
    first.a.row = is_one ? 0 : batches.a_step(last);
    first.b_step = is_one ? 0 : batches.b_step(last);
    --batches.dims;
  } else if (last >= 0 && is_small(first)) {
    batches.piece = larger(smaller(batches.c->shape[last], small_piece), 2);
  } else if (last >= 0 && are_converted(batches, last)) {
    batches.piece = converted_piece;
  }
  int64_t count = numel(batches.dims, batches.c->shape);
  const int64_t work = batches.first.work();
  const bool many = count >= 4 * num_threads() && work < 16 * large_work;
  const bool shared = count > 1 && (work < large_work || many) && work * count >= shared_work;
  if (batches.piece > 1) count = count / batches.c->shape[last] * ceil_divide(batches.c->shape[last], batches.piece);
  if (shared) {
    parallel(count, multiply_batch, &batches);
  } else {
    for (int64_t i = 0; i < count && !batches.failed.load(); ++i) multiply_batch(&batches, i);
  }
  return batches.failed.load() ? no_temporary() : success;  // a text set by another thread is not seen by this one
}

// The strides of a and b before the last two dimensions, broadcast to those of c; unused where none has more than two.
struct Stack {
  bool is_stack;
  int64_t a[max_dims], b[max_dims];
};

// Checks the extents of a product and reads its batches. Returns false where they do not fit.
bool read_stack(const DLTensor& c, const DLTensor& a, const DLTensor& b, Stack* stack) {
  const int d = c.ndim - 2;
  if (a.ndim < 2 || b.ndim < 2 || d < 0) return false;
  const int64_t depth = a.shape[a.ndim - 1];
  if (a.shape[a.ndim - 2] != c.shape[d] || b.shape[b.ndim - 1] != c.shape[d + 1] || b.shape[b.ndim - 2] != depth) return false;
  stack->is_stack = d > 0 || a.ndim > 2 || b.ndim > 2;
  if (!stack->is_stack) return true;
  if (!batch_strides(a, c, stack->a) || !batch_strides(b, c, stack->b)) return false;
  for (int k = 0; depth == 0 && k < d; ++k) stack->a[k] = stack->b[k] = 0;  // unused strides may be anything
  return true;
}

// The last two dimensions of a tensor with elements of so many bytes. Strides that lead to no other element may be anything.
Matrix matrix_of(const DLTensor& t, int64_t rows, int64_t columns, int64_t bytes) {
  const int64_t row = rows > 1 && columns > 0 ? t.strides[t.ndim - 2] : columns;
  const int64_t column = columns > 1 && rows > 0 ? t.strides[t.ndim - 1] : 1;
  return {static_cast<char*>(t.data), rows, columns, row * bytes, column * bytes};
}

// Returns whether a product can be written to c directly, whose rows are contiguous and share no memory with the operands.
bool writes_in_place(const DLTensor& c, const DLTensor& a, const DLTensor& b) {
  const int64_t columns = c.shape[c.ndim - 1];
  return (c.strides[c.ndim - 1] == 1 || columns == 1) && c.strides[c.ndim - 2] >= columns && overlap(c, a) == Overlap::none &&
         overlap(c, b) == Overlap::none;
}

}  // namespace

bool multiply_small(const DLTensor& c, const DLTensor& a, const DLTensor& b, int type, int64_t most_work) noexcept {
  const product_t kernel = kernels().linalg->products[type];
  if (kernel == nullptr || c.ndim != 2 || a.ndim != 2 || b.ndim != 2) return false;
  const int64_t rows = c.shape[0], columns = c.shape[1], depth = a.shape[1], width = type_table[type].bytes;
  if (a.shape[0] != rows || b.shape[0] != depth || b.shape[1] != columns || rows == 0 || columns == 0 || depth == 0 ||
      rows * columns * depth > most_work)
    return false;
  const bool is_vector = is_vector_product(rows, columns, depth);
  if (is_vector ? depth > vector_block : !is_near(rows, columns, depth, width)) return false;
  const auto in_rows = [](const DLTensor& t) { return t.strides[1] == 1 && (t.shape[0] == 1 || t.strides[0] >= t.shape[1]); };
  if (!in_rows(c) || !in_rows(a) || !in_rows(b)) return false;
  // Returns whether all bytes from the first to the last element are others than those of c.
  const auto ends = [width](const DLTensor& t) {
    return static_cast<const char*>(t.data) + ((t.shape[0] - 1) * t.strides[0] + t.shape[1]) * width;
  };
  const auto is_apart = [&](const DLTensor& t) { return ends(t) <= c.data || ends(c) <= t.data; };
  if (!is_apart(a) || !is_apart(b)) return false;
  // From one row to the next. The stride of a single row may be anything.
  const auto step = [width](const DLTensor& t) { return (t.shape[0] > 1 ? t.strides[0] : t.shape[1]) * width; };
  if (is_vector) {
    const vector_product_t multiply_vector = kernels().linalg->vector_products[type];
    if (columns > 1) multiply_vector(c.data, width, b.data, width, step(b), a.data, 0, columns, depth);
    else if (b.shape[0] == 1 || b.strides[0] == 1)
      multiply_vector(c.data, step(c), a.data, step(a), width, b.data, 0, rows, depth);
    else return false;
    return true;
  }
  kernel(c.data, step(c), a.data, step(a), width, b.data, step(b), rows, columns, depth, true);
  return true;
}

Status pack(const Matrix& m, int from, void* out, int to) {
  const loop_t convert = kernels().copy->casts[0][from][to];
  const int64_t bytes = m.columns * type_table[to].bytes;
  if (m.column == type_table[from].bytes && (from == to || convert != nullptr)) {
    const bool is_contiguous = m.row == m.columns * m.column;
    const int64_t rows = is_contiguous ? 1 : m.rows, length = is_contiguous ? m.rows : 1;
    char* row = static_cast<char*>(out);
    for (int64_t r = 0; r < rows; ++r, row += bytes) {
      if (from == to) memcpy(row, m.data + r * m.row, size_t(bytes * length));
      else convert(row, m.data + r * m.row, nullptr, nullptr, m.columns * length, 0);
    }
    return success;
  }
  int64_t shape[4], strides[4];
  const DLTensor source = tensor_of(m, from, shape, strides);
  const Matrix packed{static_cast<char*>(out), m.rows, m.columns, m.columns * type_table[to].bytes, type_table[to].bytes};
  const DLTensor target = tensor_of(packed, to, shape + 2, strides + 2);
  return cast(target, source, {}, 0);
}

Status add_product(const Product& p) noexcept {
  const int64_t depth = p.a.columns;
  if (p.c.rows == 0 || p.c.columns == 0 || depth == 0) return success;
  if ((p.b.column == p.width || p.b.columns == 1) && is_near(p.c.rows, p.c.columns, depth, p.width)) {
    p.kernel(p.c.data, p.c.row, p.a.data, p.a.row, p.a.column, p.b.data, p.b.row, p.c.rows, p.c.columns, depth, !p.add);
    return success;
  }
  return multiply_panels(p);
}

bool multiplies_converted(int type, int a_type, int b_type) noexcept {
  if (type == type_int32) return is_byte(a_type) && is_byte(b_type);
  const auto is_narrow = [](int operand) {
    return operand == type_float32 || (operand >= 0 && type_table[operand].dtype.bits >= 8 && type_table[operand].bytes <= 2 &&
                                       kernels().copy->casts[0][operand][type_float32] != nullptr);
  };
  return type == type_float32 && is_narrow(a_type) && is_narrow(b_type);
}

Status gemm(const DLTensor& c, const DLTensor& a, const DLTensor& b, const Scalar& alpha, const Scalar& beta) noexcept {
  const int type = find_type(c.dtype);
  if (type < 0 || type == type_bool || type >= computed_types) return undefined_for(type);
  const int from = find_type(a.dtype), b_type = find_type(b.dtype);
  if (!multiplies_converted(type, from, b_type) && (from != type || b_type != type)) return undefined_for(type);
  const int inner = type == type_float16 || type == type_bfloat16 ? type_float32 : type;
  Stack stack;
  if (!read_stack(c, a, b, &stack)) return does_not_broadcast();
  if (numel(c.ndim, c.shape) == 0) return success;
  const bool alternates = from == type_bfloat16 && b_type == type_bfloat16;
  const product_t kernel = alternates ? kernels().linalg->alternating_product : kernels().linalg->products[inner];
  if (kernel == nullptr) return undefined_for(type);
  const int d = c.ndim - 2;
  const int64_t m = c.shape[d], n = c.shape[d + 1], depth = a.shape[a.ndim - 1];
  const int64_t width = type_table[inner].bytes;
  const int64_t a_bytes = type_table[from].bytes, b_bytes = type_table[b_type].bytes;
  const bool plain = is_number(alpha, 1) && is_number(beta, 0);
  const bool in_place = plain && inner == type && writes_in_place(c, a, b);
  // Otherwise the products of all batches are written to a contiguous temporary first.
  BlockRef memory;
  int64_t strides[max_dims];
  DLTensor result = c;
  if (!in_place) {
    DLT_TRY(allocate(size_t(numel(c.ndim, c.shape) * width), &memory));
    contiguous_strides(c.ndim, c.shape, strides);
    result.data = memory.block->data;
    result.strides = strides;
    result.dtype = type_table[inner].dtype;
  }
  const Product p{kernel,
                  inner,
                  from,
                  b_type,
                  width,
                  matrix_of(result, m, n, width),
                  matrix_of(a, m, depth, a_bytes),
                  matrix_of(b, depth, n, b_bytes)};
  const Status status = stack.is_stack ? multiply_stack({p, &result, stack.a, stack.b, a_bytes, b_bytes, d}) : multiply(p);
  return in_place || !status.ok() ? status : finish_scaled(c, result, inner, alpha, beta);
}

Status cpu::gemm(const EngineOperand& a, const EngineOperand& b, const EngineOperand& c, const Scalar& alpha,
                 const Scalar& beta, const LaunchContext&) noexcept {
  return dlt::gemm(*c.tensor, *a.tensor, *b.tensor, alpha, beta);
}

}  // namespace dlt
