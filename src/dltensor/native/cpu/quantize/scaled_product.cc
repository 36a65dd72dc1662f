// SPDX-License-Identifier: Apache-2.0
// Rows of the matrix with scales are shared among threads. Vectors are multiplied by loops that convert elements in registers, and by
// the other ones out of parts in the caches where there are none; several rows always by the latter.
#include "native/cpu/quantize/scaled_product.h"

#include <atomic>

#include "native/cpu/linalg/gemv.h"
#include "native/cpu/linalg/packing.h"
#include "native/cpu/quantize/dequantizer.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t most_piece_rows = 256, piece_bytes = 64 << 10;  // of the values
constexpr int64_t converted_rows = 4;  // that are converted at once for a vector
// Rows and columns of a part that is converted for several vectors: those of a panel.
constexpr int64_t part_rows = 64, part_columns = chain_depth;
constexpr int64_t shared_from = 1 << 18;  // multiplications from which threads are used

struct ScaledProduct {
  const Dequantizer& w;
  const float* x;
  float* c;
  int64_t vectors, rows, depth;  // rows of w
  block_product_t kernel = nullptr;
  int64_t block_rows = 1;  // that share scales
  int64_t row_bytes = 0, columns = 1, block = 1;  // of w; scales of a row; elements of a block in it
  int64_t piece = 1;  // rows
  std::atomic<bool> failed{false};

  void choose_kernel(const DLTensor* scale);
  bool in_registers(float* sums, const float* v, int64_t row, int64_t count, int64_t k, int64_t n) const;
  void convert(float* out, int64_t row, int64_t count, int64_t k, int64_t n, Dequantizer::Scratch& scratch) const;
  bool in_memory(float* sums, const float* v, int64_t row, int64_t count, int64_t k, int64_t n) const;
  void multiply_vectors(int64_t index);
  void multiply_rows(int64_t index);
};

// Loops take one scale that is uniform along at least 16 elements, and of tables another one of all.
void ScaledProduct::choose_kernel(const DLTensor* scale) {
  const bool is_packed = w.bits == 4;
  if (w.subtracts || depth % 32 != 0 || (!is_packed && w.values.dtype.bits != 8)) return;
  if (w.layout.operands != 1 && !(w.looks_up && w.layout.operands == 2 && w.fused_operands() == 2)) return;
  columns = scale->ndim > 0 ? scale->shape[scale->ndim - 1] : 1;
  block = depth / columns;
  block_rows = rows / (scale->ndim > 1 ? scale->shape[scale->ndim - 2] : 1);
  if (block % 32 != 0 && !(is_packed && block == 16)) return;
  row_bytes = is_packed ? depth / 2 : depth;
  kernel = w.loops.linalg->block_products[w.type];
}

// Some rows from element k on, if they have the same scales or each their own.
bool ScaledProduct::in_registers(float* sums, const float* v, int64_t row, int64_t count, int64_t k, int64_t n) const {
  const BlockNumbers numbers{w.numbers[0] + row / block_rows * columns + k / block,
                             block_rows == 1 ? columns : 0,
                             block,
                             block - k % block,
                             w.table,
                             w.factor};
  const char* const from = static_cast<const char*>(w.values.data) + row * row_bytes + (w.bits == 4 ? k / 2 : k);
  return kernel(sums, from, row_bytes, v + k, count, n, numbers);
}

void ScaledProduct::convert(float* out, int64_t row, int64_t count, int64_t k, int64_t n, Dequantizer::Scratch& scratch) const {
  for (int64_t r = row; r < row + count; ++r, out += n) {
    const int64_t at = r * depth + k;
    w.convert(out, at / w.length(), at % w.length(), n, scratch);
  }
}

bool ScaledProduct::in_memory(float* sums, const float* v, int64_t row, int64_t count, int64_t k, int64_t n) const {
  BlockRef memory;
  memory.block = allocate(sizeof(Dequantizer::Scratch) + size_t(converted_rows * n) * sizeof(float));
  if (memory.block == nullptr) return false;
  auto& scratch = *static_cast<Dequantizer::Scratch*>(memory.block->data);
  auto* const m = reinterpret_cast<float*>(&scratch + 1);
  const int64_t width = sizeof(float);
  for (int64_t r = 0; r < count; r += converted_rows) {
    const int64_t some = smaller(converted_rows, count - r);
    convert(m, row + r, some, k, n, scratch);
    w.loops.linalg->vector_products[type_float32](sums + r, width, m, n * width, width, v + k, 0, some, n);
  }
  return true;
}

// The products of some rows with each vector. Terms are added as in gemv.cc.
void ScaledProduct::multiply_vectors(int64_t index) {
  float sums[most_piece_rows];
  const int64_t end = smaller((index + 1) * piece, rows);
  for (int64_t row = index * piece, count; row < end; row += count) {
    count = block_rows == 1 ? end - row : smaller(end - row, block_rows - row % block_rows);
    for (int64_t i = 0; i < vectors; ++i) {
      float* const to = c + i * rows + row;
      const float* const v = x + i * depth;
      for (int64_t k = 0; k < depth; k += vector_block) {
        float* const out = k == 0 ? to : sums;
        const int64_t n = smaller(vector_block, depth - k);
        if (!(kernel != nullptr && in_registers(out, v, row, count, k, n)) && !in_memory(out, v, row, count, k, n))
          return failed.store(true);
        for (int64_t r = 0; k > 0 && r < count; ++r) to[r] += sums[r];
      }
    }
  }
}

// The products of all vectors with some rows: each part of them is multiplied once it is converted.
void ScaledProduct::multiply_rows(int64_t index) {
  const int64_t row = index * piece, count = smaller(piece, rows - row), width = sizeof(float);
  const int64_t bytes = count * smaller(part_columns, depth) * width;
  BlockRef memory;
  memory.block = allocate(sizeof(Dequantizer::Scratch) + size_t(2 * bytes));
  if (memory.block == nullptr) return failed.store(true);
  auto& scratch = *static_cast<Dequantizer::Scratch*>(memory.block->data);
  char *const part = reinterpret_cast<char*>(&scratch + 1), *const turned = part + bytes;
  Product p{w.loops.linalg->products[type_float32], type_float32, type_float32, type_float32, width};
  p.c = {reinterpret_cast<char*>(c + row), vectors, count, rows * width, width};
  for (int64_t k = 0; k < depth; k += part_columns, p.add = true) {
    const int64_t n = smaller(part_columns, depth - k);
    convert(reinterpret_cast<float*>(part), row, count, k, n, scratch);
    (void)pack({part, n, count, width, n * width}, type_float32, turned, type_float32);
    p.a = {const_cast<char*>(reinterpret_cast<const char*>(x + k)), vectors, n, depth * width, width};
    p.b = {turned, n, count, count * width, width};
    if (!add_product(p).ok()) return failed.store(true);
  }
}

}  // namespace

Status multiply_scaled(const DLTensor& c, const DLTensor& x, const EngineOperand& values, const EngineOperand* zero,
                       const EngineOperand* scales, int count, bool each) noexcept {
  Dequantizer w{kernels(), *values.tensor};
  if (!read_blocks(values, zero, scales, count, &w)) return undefined_for(w.type);
  ScaledProduct p{w, static_cast<const float*>(x.data), static_cast<float*>(c.data), x.shape[0], c.shape[1], x.shape[1]};
  if (p.vectors == 0 || p.rows == 0) return success;
  const bool is_shared = p.vectors * p.rows * p.depth >= shared_from;
  const int64_t threads = is_shared ? num_threads() : 1, even = ceil_divide(ceil_divide(p.rows, threads * 4), 4) * 4;
  const bool by_vectors = each && is_vector_product(1, p.rows, p.depth);
  if (by_vectors) {
    if (count > 0) p.choose_kernel(scales[0].tensor);
    p.piece = smaller(smaller(larger(piece_bytes / p.depth / 4 * 4, 4), even), most_piece_rows);
  } else {
    p.piece = smaller(part_rows, even);
  }
  parallel_if(is_shared, ceil_divide(p.rows, p.piece), [&](int64_t i) {
    if (by_vectors) p.multiply_vectors(i);
    else p.multiply_rows(i);
  });
  return p.failed.load() ? no_temporary() : success;
}

}  // namespace dlt
