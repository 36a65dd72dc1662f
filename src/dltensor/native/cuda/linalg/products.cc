// SPDX-License-Identifier: Apache-2.0
// Our own kernels of products: which one, how large its tiles are, and whether the depth is computed in parts, which changes no bits.
#include "native/cuda/linalg/products.h"

#include <stdlib.h>

#include <algorithm>

#include "native/cuda/memory/memory.h"
#include "native/ops/linalg/product_order.h"

namespace dlt::cuda {
namespace {

constexpr int most_batch_dims = 8;
constexpr unsigned block_threads = 256;
constexpr int64_t tile_lines = 16;  // threads along a side of a tile
constexpr int64_t most_parts_bytes = 64 << 20;  // of the chains of a product with few tiles
constexpr const char* header = "native/cuda/kernels/linalg/product.cuh";

enum class Method : uint64_t { large_tiles, small_tiles, vectors, joined };

// Elements of c that a thread owns.
struct Own {
  int64_t rows, columns;
};

bool alternates(const Problem& p) noexcept { return p.a_type == type_bfloat16 && p.b_type == type_bfloat16; }

// The C++ type of sums. Integers wrap, which unsigned ones of a whole word do as well as the type itself.
int sum_type(int type) noexcept {
  const Kind kind = type_table[type].kind;
  if (kind != Kind::signed_integer && kind != Kind::unsigned_integer) return factor_type(type);
  return type_table[type].bytes == 8 ? type_uint64 : type_uint32;
}

// The sums fill half of the registers, or less where tiles would be few or hardly filled.
Own own_of(const Problem& p, Method method) noexcept {
  const int sums = sum_type(p.type);
  const bool is_large = method == Method::large_tiles;
  if (sums == type_complex128) return {is_large ? 4 : 2, 2};
  if (sums == type_complex64) return {is_large ? 4 : 2, is_large ? 4 : 2};
  return {is_large ? 8 : 4, is_large && type_table[sums].bytes == 4 && !alternates(p) ? 8 : 4};
}

std::string expression(const Problem& p, Method method) {
  const std::string ends = std::string(type_name(p.type)) + ", " + type_name(sum_type(p.type)) + ", " +
                           type_name(factor_type(p.type));
  if (method == Method::joined) return "product::joined<" + ends + ">";
  const std::string types = std::string(type_name(p.a_type)) + ", " + type_name(p.b_type) + ", " + ends;
  if (method == Method::vectors) return "product::vectors<" + types + ">";
  const Own own = own_of(p, method);
  return "product::tiled<" + types + (alternates(p) ? ", true, " : ", false, ") + std::to_string(own.rows) + ", " +
         std::to_string(own.columns) + ">";
}

Status find(const Problem& p, Method method, Device& device, Kernel* kernel) noexcept {
  KernelKey key;
  key.add(3, 2);
  key.add(static_cast<uint64_t>(p.type), 6);
  key.add(static_cast<uint64_t>(p.a_type), 6);
  key.add(static_cast<uint64_t>(p.b_type), 6);
  key.add(static_cast<uint64_t>(method), 2);
  return kernel_of(device, key, header, [&] { return expression(p, method); }, kernel);
}

kernels::Product parameters(const Problem& p) noexcept {
  kernels::Product q{};
  q.a = p.a.data, q.b = p.b.data, q.c = p.c.data;
  q.rows = p.m, q.columns = p.n, q.depth = p.k;
  q.a_row = p.a.row_step, q.a_column = p.a.column_step;
  q.b_row = p.b.row_step, q.b_column = p.b.column_step;
  q.c_row = p.c.row_step, q.c_column = p.c.column_step;
  q.dims = p.dims;
  q.batches = p.batches;
  for (int d = 0; d < p.dims; ++d) {
    q.extent[d] = kernels::divider<uint64_t>(static_cast<uint64_t>(p.batch[d]));
    q.a_stride[d] = p.a.batch_steps[d], q.b_stride[d] = p.b.batch_steps[d], q.c_stride[d] = p.c.batch_steps[d];
  }
  q.alpha = p.factors[0], q.beta = p.factors[1];
  q.scaled = p.scaled, q.reads = p.reads;
  return q;
}

int64_t ceil_divide(int64_t a, int64_t b) noexcept { return a / b + (a % b != 0); }

// Launches the kernel of a method, and what adds the parts if there are several.
Status launch(const Problem& p, Method method, kernels::Product& q, int64_t items, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  Device& device = *stream.device;
  const int64_t elements = p.m * p.n * p.batches, width = type_table[sum_type(p.type)].bytes;
  Kernel kernel;
  DLT_TRY(find(p, method, device, &kernel));
  const Geometry geometry = blocks_for(device, kernel, static_cast<uint64_t>(items), block_threads);
  Scratch sums;
  if (q.parts > 1) {
    DLT_TRY(sums.make(static_cast<uint64_t>(q.parts * elements * width), stream));
  } else if (method != Method::vectors && p.k > chain_depth) {
    const Own own = own_of(p, method);
    DLT_TRY(sums.make(geometry.blocks * static_cast<uint64_t>(block_threads * own.rows * own.columns * width), stream));
  }
  if (sums.block) q.sums = sums.block->data;
  DLT_TRY(launch_kernel(device, kernel, geometry, stream, &q));
  if (q.parts == 1) return success;
  Kernel joined;
  DLT_TRY(find(p, Method::joined, device, &joined));
  const auto blocks = static_cast<uint64_t>(ceil_divide(elements, block_threads));
  return launch_kernel(device, joined, blocks_for(device, joined, blocks, block_threads), stream, &q);
}

// One row or one column: blocks of terms are parts.
Status multiply_vectors(const Problem& p, const LaunchContext& context) noexcept {
  kernels::Product q = parameters(p);
  const bool is_column = p.n == 1;
  const int64_t term = is_column ? p.a.column_step : p.b.row_step, element = is_column ? p.a.row_step : p.b.column_step;
  q.along_terms = (p.m == 1 && p.n == 1) || std::abs(term) <= std::abs(element);
  q.parts = ceil_divide(p.k, vector_block);
  constexpr int64_t fewest_lines = 8;  // of a block: those of float32, which has the most partial sums
  return launch(p, Method::vectors, q, ceil_divide(p.m * p.n * p.batches, fewest_lines) * q.parts, context);
}

// The tiles of c.
struct Tiling {
  Method method;
  Own own;
  int64_t across, down, count;  // of a row and of a column, and all

  Tiling(const Problem& p, Method by) noexcept
      : method(by),
        own(own_of(p, by)),
        across(ceil_divide(p.n, own.columns * tile_lines)),
        down(ceil_divide(p.m, own.rows * tile_lines)),
        count(across * down * p.batches) {}
  int64_t elements() const noexcept { return count * own.rows * own.columns; }  // for each thread, those outside of c too
};

// Chains are parts where there are few tiles.
Status multiply_tiles(const Problem& p, const LaunchContext& context) noexcept {
  const int64_t processors = context.stream->device->properties.multiprocessor_count;
  const int64_t chains = std::max<int64_t>(1, ceil_divide(p.k, chain_depth));
  const int64_t most_elements = most_parts_bytes / type_table[sum_type(p.type)].bytes / chains;
  const bool fits = p.m * p.n * p.batches <= most_elements;
  const Tiling large(p, Method::large_tiles), small(p, Method::small_tiles);
  const bool is_few = large.count * (fits ? chains : 1) < processors, is_narrow = 2 * small.elements() <= large.elements();
  const Tiling& tiling = is_few || is_narrow ? small : large;
  kernels::Product q = parameters(p);
  q.tiles_across = tiling.across, q.tiles_down = tiling.down;
  q.parts = fits && tiling.count < processors ? chains : 1;
  return launch(p, tiling.method, q, tiling.count * q.parts, context);
}

// The batches of the first dimension one after the other: a kernel has room for so many dimensions.
Status multiply_each(const Problem& p, const LaunchContext& context) noexcept {
  Problem q = p;
  q.dims = p.dims - 1;
  q.batches = p.batches / p.batch[0];
  std::copy(p.batch + 1, p.batch + p.dims, q.batch);
  Matrix* const matrices[] = {&q.a, &q.b, &q.c};
  const int types[] = {p.a_type, p.b_type, p.type};
  for (Matrix* m : matrices) std::rotate(m->batch_steps, m->batch_steps + 1, m->batch_steps + p.dims);
  for (int64_t i = 0; i < p.batch[0]; ++i) {
    DLT_TRY(multiply_by_kernels(q, context));
    for (int k = 0; k < 3; ++k) matrices[k]->data += matrices[k]->batch_steps[q.dims] * type_table[types[k]].bytes;
  }
  return success;
}

}  // namespace

Status multiply_by_kernels(const Problem& p, const LaunchContext& context) noexcept {
  if (p.dims > most_batch_dims) return multiply_each(p, context);
  return is_vector_product(p.m, p.n, p.k) ? multiply_vectors(p, context) : multiply_tiles(p, context);
}

}  // namespace dlt::cuda
