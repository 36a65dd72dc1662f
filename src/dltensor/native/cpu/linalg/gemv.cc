// SPDX-License-Identifier: Apache-2.0
// The matrix is split into pieces of some rows and one block of terms, which threads compute in any order. Where there are
// several blocks, each has sums of its own, which are added in order. Pieces that the kernel cannot read where they are, are
// copied to contiguous memory one at a time.
#include "native/cpu/linalg/gemv.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "native/cpu/copy/copy.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/linalg/gemm.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// Bytes from which a second thread pays: always, and where calls follow one another.
constexpr int64_t share_from = int64_t(1) << 20, share_awake_from = int64_t(1) << 18;
// Bytes of a piece. Pieces of contiguous columns end at multiples of a cache line.
constexpr int64_t piece_bytes = 128 << 10, line_bytes = 64;

// c[r] = sum of m[r, k] * v[k], or v[r, k] with a vector for each row.
struct Pieces {
  vector_product_t kernel;
  narrow_product_t narrow;  // that reads m of its own dtype, or null
  int type, m_type, v_type;
  int64_t width;
  Matrix m;
  Matrix v;             // one row, or as many as m; `row` is 0 where one is for all
  bool in_columns, packs_m, packs_v;
  char* c;              // sums of the first block; those of the others follow
  int64_t c_step, c_block;
  int64_t rows, blocks;  // of a piece: several blocks only where m has one row
  int64_t row_pieces;
  std::atomic<bool> failed{false};
};

// Copies a part to contiguous rows of the accumulation dtype, or to contiguous columns where that is nearer to its strides.
Matrix packed(const Pieces& all, const Matrix& part, int type, bool in_columns, BlockRef* memory) {
  memory->block = allocate(size_t(part.rows * part.columns * all.width));
  if (memory->block == nullptr) return {nullptr, 0, 0, 0, 0};
  char* const to = static_cast<char*>(memory->block->data);
  const Matrix turned{part.data, part.columns, part.rows, part.column, part.row};
  (void)pack(in_columns ? turned : part, type, to, all.type);
  if (in_columns) return {to, part.rows, part.columns, all.width, part.rows * all.width};
  return {to, part.rows, part.columns, part.columns * all.width, all.width};
}

void multiply_piece(Pieces& all, int64_t index) {
  const int64_t row = index % all.row_pieces * all.rows, rows = smaller(all.rows, all.m.rows - row);
  const int64_t block = index / all.row_pieces * all.blocks, k = block * vector_block;
  const int64_t depth = smaller(all.blocks * vector_block, all.m.columns - k);
  Matrix m = all.m.part(row, k, rows, depth), v = all.v.part(all.v.row != 0 ? row : 0, k, all.v.row != 0 ? rows : 1, depth);
  BlockRef m_memory, v_memory;
  if (all.packs_v) {
    const bool is_shared = v.row == 0;
    v = packed(all, v, all.v_type, false, &v_memory);
    if (is_shared) v.row = 0;
  }
  char* const c = all.c + row * all.c_step + block * all.c_block;
  if (all.narrow != nullptr && v.data != nullptr && depth <= vector_block &&
      all.narrow(c, all.c_step, m.data, m.row, m.column, reinterpret_cast<const float*>(v.data), rows, depth))
    return;
  if (all.packs_m) m = packed(all, m, all.m_type, all.in_columns, &m_memory);
  if (m.data == nullptr || v.data == nullptr) return all.failed.store(true);
  if (depth <= vector_block) return all.kernel(c, all.c_step, m.data, m.row, m.column, v.data, v.row, rows, depth);
  // Blocks of one row are multiplied as rows.
  const int64_t full = depth / vector_block, bytes = vector_block * all.width;
  all.kernel(c, all.c_block, m.data, bytes, all.width, v.data, bytes, full, vector_block);
  if (depth % vector_block != 0)
    all.kernel(c + full * all.c_block, 0, m.data + full * bytes, 0, all.width, v.data + full * bytes, 0, 1,
               depth % vector_block);
}

// c = the sums of the first block + those of the second + ...
void add_blocks(const Pieces& all, int64_t blocks, char* c, int64_t c_step) {
  const int64_t rows = all.m.rows;
  const loop_t add = find_loop(op_add, all.type);
  for (int64_t b = 1; b < blocks; ++b) add(all.c, all.c, all.c + b * all.c_block, nullptr, rows, 0);
  for (int64_t r = 0; r < rows; ++r) memcpy(c + r * c_step, all.c + r * all.width, size_t(all.width));
}

int64_t rows_of_piece(const Pieces& all, int64_t threads) {
  const int64_t width = all.narrow != nullptr ? type_table[all.m_type].bytes : all.width;
  const int64_t depth = smaller(all.m.columns, vector_block), unit = all.in_columns ? line_bytes / width : 4;
  // Columns that are converted: short parts of them are slower.
  const int64_t bytes = all.in_columns && (all.packs_m || all.narrow != nullptr) ? 4 * piece_bytes : piece_bytes;
  const int64_t by_size = ceil_divide(bytes, depth * width),
                by_threads = ceil_divide(all.m.rows, (all.in_columns ? 2 : 4) * threads);
  const int64_t strip = all.in_columns && (all.narrow != nullptr || !all.packs_m) ? 64 * unit
                                                                                  : unit;  // narrower ones are slower
  const int64_t rows = by_size > strip ? by_size : strip;
  return ceil_divide(smaller(rows, by_threads), unit) * unit;
}

Status multiply_pieces(Pieces& all) {
  char* const c = all.c;
  const int64_t c_step = all.c_step, blocks = ceil_divide(all.m.columns, vector_block);
  const int64_t bytes = all.m.rows * all.m.columns * type_table[all.m_type].bytes * (all.m.rows == 1 || all.v.row != 0 ? 2 : 1);
  const int64_t threads = num_threads();
  const bool shared = threads > 1 && (bytes >= share_from || (bytes >= share_awake_from && in_succession()));
  BlockRef sums;
  if (blocks > 1) {
    DLT_TRY(allocate(size_t(blocks * all.m.rows * all.width), &sums));
    all.c = static_cast<char*>(sums.block->data);
    all.c_step = all.width;
    all.c_block = all.m.rows * all.width;
  }
  all.rows = rows_of_piece(all, shared ? threads : 1);
  all.row_pieces = ceil_divide(all.m.rows, all.rows);
  all.blocks = all.m.rows > 1 ? 1 : ceil_divide(piece_bytes / 2, vector_block * all.width);
  BlockRef memory;
  if (all.packs_v && all.v.row == 0 && all.row_pieces > 1) {
    all.v = packed(all, all.v, all.v_type, false, &memory);
    if (all.v.data == nullptr) return no_temporary();
    all.v.row = 0;
    all.packs_v = false;
  }
  const int64_t count = all.row_pieces * ceil_divide(blocks, all.blocks);
  parallel_if(shared, count, [&](int64_t i) { multiply_piece(all, i); });
  if (all.failed.load()) return no_temporary();
  if (blocks > 1) add_blocks(all, blocks, c, c_step);
  return success;
}

}  // namespace

Status multiply_vector(const Product& p) noexcept {
  const bool is_row = p.c.columns > 1;  // a is the vector
  const int64_t depth = p.a.columns;
  const Matrix m = is_row ? Matrix{p.b.data, p.b.columns, depth, p.b.column, p.b.row} : p.a;
  const Matrix v = is_row ? Matrix{p.a.data, 1, depth, 0, p.a.column}
                          : Matrix{p.b.data, p.b_step != 0 ? p.c.rows : 1, depth, p.b_step, p.b.row};
  const int m_type = is_row ? p.b_type : p.a_type, v_type = is_row ? p.a_type : p.b_type;
  const int64_t m_bytes = type_table[m_type].bytes;
  const bool in_columns = m.rows > 1 && v.row == 0 && m.column != m_bytes && abs(m.row) < abs(m.column);
  const LinalgKernels& loops = *kernels().linalg;
  const bool is_narrow = m_type != p.type && v.row == 0 && (in_columns ? m.row : m.column) == m_bytes;
  Pieces all{loops.vector_products[p.type],
             is_narrow ? loops.narrow_products[m_type] : nullptr,
             p.type,
             m_type,
             v_type,
             p.width,
             m,
             v,
             in_columns,
             m_type != p.type || (in_columns ? m.row : m.column) != p.width,
             v_type != p.type || v.column != p.width,
             p.c.data,
             is_row ? p.c.column : p.c.row,
             0,
             0,
             0,
             0};
  return multiply_pieces(all);
}

// ---- products of vectors that lie in columns: rows of products are added to as many partial sums of each column as kernels/gemv.cc
// has of each row, in its order, by the loops of element-wise operations

namespace {

constexpr int64_t sums_bytes = partial_sums_bytes;  // of a column
constexpr int64_t dot_strip_bytes = 256;  // of a row of columns that are computed together

struct DotColumns {
  const char *a, *b;
  char* out;
  int64_t a_row, b_row, width, depth;  // bytes, and rows
  loop_t add, fma;
};

// The sums of one block of rows, of n columns that follow one another. `sums`: of every partial sum.
void add_rows(const DotColumns& all, int64_t first, int64_t depth, int64_t column, int64_t n, char* sums) {
  const int64_t count = sums_bytes / all.width, row = n * all.width;
  memset(sums, 0, size_t(count * row));
  const char *a = all.a + first * all.a_row + column * all.width, *b = all.b + first * all.b_row + column * all.width;
  const bool joined = all.a_row == row && all.b_row == row;
  for (int64_t k = 0; k < depth; k += count, a += count * all.a_row, b += count * all.b_row) {
    const int64_t rows = smaller(count, depth - k);
    if (joined) {
      all.fma(sums, a, b, sums, rows * n, 0);
      continue;
    }
    for (int64_t r = 0; r < rows; ++r) all.fma(sums + r * row, a + r * all.a_row, b + r * all.b_row, sums + r * row, n, 0);
  }
  for (int64_t half = count / 2; half > 0; half /= 2) all.add(sums, sums, sums + half * row, nullptr, half * n, 0);
}

// Strips of columns, block by block of rows. A sum of 0 is +0.
void dot_strip(const DotColumns& all, int64_t column, int64_t n) {
  alignas(64) char sums[sums_bytes / 4 * dot_strip_bytes];
  const double zero = 0;
  char* const out = all.out + column * all.width;
  for (int64_t first = 0; first < all.depth; first += vector_block) {
    add_rows(all, first, smaller(vector_block, all.depth - first), column, n, sums);
    all.add(first == 0 ? out : sums, sums, &zero, nullptr, n, 2);
    if (first > 0) all.add(out, out, sums, nullptr, n, 0);
  }
}

}  // namespace

bool dot_columns(const DLTensor& a, const DLTensor& b, const DLTensor& out) noexcept {
  const int type = find_type(a.dtype);
  if ((type != type_float32 && type != type_float64) || find_type(b.dtype) != type || find_type(out.dtype) != type)
    return false;
  const int64_t depth = a.shape[0], columns = a.shape[1];
  if (!is_vector_product(1, 1, depth) || a.strides[1] != 1 || b.strides[1] != 1 || strcmp(kernels().name, "v2") == 0)
    return false;
  const int64_t width = type_table[type].bytes;
  const DotColumns all{static_cast<const char*>(a.data),
                       static_cast<const char*>(b.data),
                       static_cast<char*>(out.data),
                       depth > 1 ? a.strides[0] * width : 0,
                       depth > 1 ? b.strides[0] * width : 0,
                       width,
                       depth,
                       find_loop(op_add, type),
                       find_loop(op_fma, type)};
  const int64_t strip = dot_strip_bytes / width, parts = ceil_divide(columns, strip);
  parallel_if(parts > 1 && depth * columns * width * 2 >= share_from, parts,
              [&](int64_t number) { dot_strip(all, number * strip, smaller(strip, columns - number * strip)); });
  return true;
}

}  // namespace dlt
