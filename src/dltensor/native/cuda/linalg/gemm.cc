// SPDX-License-Identifier: Apache-2.0
// Matrix products: cuBLAS with transposition and leading dimensions as arguments, our own kernels without cuBLAS and where bits must be
// those of the CPU.
#include <algorithm>

#include "native/cpu/copy/scalar.h"
#include "native/cpu/linalg/gemm.h"
#include "native/cuda/linalg/blas_handle.h"
#include "native/cuda/linalg/float8.h"
#include "native/cuda/linalg/products.h"
#include "native/cuda/runtime/thread_state.h"

namespace dlt::cuda {
namespace {

constexpr int64_t most_byte_depth = (int64_t{1} << 17) - 1;  // of products of int8 whose sums int32 holds
std::atomic<bool> use_cublas{true};

void describe(Matrix& m, const Operand& operand) noexcept {
  const DLTensor& t = *operand.tensor;
  m.tensor = &t;
  m.block = operand.block;
  m.data = static_cast<char*>(t.data) + t.byte_offset;
  m.rows = t.shape[t.ndim - 2];
  m.columns = t.shape[t.ndim - 1];
  m.row_step = t.strides[t.ndim - 2];
  m.column_step = t.strides[t.ndim - 1];
}

// The matrix as BLAS sees it, column-major: rows in memory are its columns.
struct View {
  bool transposed = false;
  int64_t leading = 0;
};
// A matrix whose one step is 1 and whose other is at least a line long. Steps of extents of 1 do not matter.
bool as_blas(const Matrix& m, View* out) noexcept {
  const int64_t least_row = std::max<int64_t>(1, m.columns), least_column = std::max<int64_t>(1, m.rows);
  if ((m.column_step == 1 || m.columns == 1) && (m.row_step >= least_row || m.rows == 1))
    return *out = {false, m.rows == 1 ? least_row : m.row_step}, out->leading <= INT32_MAX;
  if ((m.row_step == 1 || m.rows == 1) && (m.column_step >= least_column || m.columns == 1))
    return *out = {true, m.columns == 1 ? least_column : m.column_step}, out->leading <= INT32_MAX;
  return false;
}

bool is_byte(int type) noexcept { return type == type_int8 || type == type_uint8; }

// -1: cuBLAS does not multiply it. Of integers it takes int8 into int32.
int blas_type(int type) noexcept {
  switch (type) {
    case type_int8: return kBlasR8I;
    case type_int32: return kBlasR32I;
    case type_float64: return kBlasR64F;
    case type_float32: return kBlasR32F;
    case type_float16: return kBlasR16F;
    case type_bfloat16: return kBlasR16BF;
    case type_complex64: return kBlasC32F;
    case type_complex128: return kBlasC64F;
    case type_float8_e4m3fn: return kBlasE4M3;
    case type_float8_e5m2: return kBlasE5M2;
    default: return -1;
  }
}

bool has_blas_types(const Problem& p) noexcept {
  if (p.type == type_int32) return p.a_type == type_int8 && p.b_type == type_int8 && p.k <= most_byte_depth && !p.reads;
  return p.type != type_int8 && p.a_type == p.type && blas_type(p.type) >= 0;
}
// Returns whether cuBLAS takes a matrix of bytes: its rows are words of four.
bool has_words(const Matrix& m, const View& view, int dims) noexcept {
  uint64_t all = reinterpret_cast<uintptr_t>(m.data) | static_cast<uint64_t>(view.leading);
  for (int d = 0; d < dims; ++d) all |= static_cast<uint64_t>(m.batch_steps[d]);
  return all % 4 == 0;
}

// Row-major C = A B is column-major C' = B' A': the operands are swapped and nothing is moved. A column-major C is
// computed directly. `refused`: cuBLAS has no product of these bytes, and nothing was enqueued that matters.
Status call_blas(const Problem& p, const View& a, const View& b, const View& c, Stream& stream, bool* refused) noexcept {
  const void *alpha = p.factors[0].bytes, *beta = p.factors[1].bytes;
  const int data_type = blas_type(p.type), a_type = blas_type(p.a_type), b_type = blas_type(p.b_type);
  const bool of_bytes = p.type == type_int32;
  const bool wide = p.type == type_float64 || p.type == type_complex128, half = factor_type(p.type) != p.type;
  const int compute = of_bytes                 ? kBlasCompute32I
                      : wide                   ? kBlasCompute64F
                      : thread_tf32() && !half ? kBlasCompute32FFastTF32
                                               : kBlasCompute32F;
  const int64_t bytes = type_table[p.type].bytes, width = type_table[p.a_type].bytes;

  // The innermost batch dimension is one strided call; the others are a loop.
  const int inner = p.dims - 1;
  const int64_t inner_count = p.dims ? p.batch[inner] : 1, outer_count = p.batches / std::max<int64_t>(1, inner_count);
  if (inner_count > INT32_MAX)
    return fail(Fault::value, "gemm: a batch of %lld products is too large", static_cast<long long>(inner_count));
  const auto step = [&](const Matrix& m) { return static_cast<long long>(p.dims ? m.batch_steps[inner] : 0); };
  Current current(*stream.device);
  LockedBlas blas;
  DLT_TRY(blas.take(stream));
  for (int64_t i = 0; i < outer_count; ++i) {
    int64_t left = i, at[3] = {0, 0, 0};
    for (int d = inner - 1; d >= 0; --d) {
      const int64_t index = left % p.batch[d];
      left /= p.batch[d];
      at[0] += index * p.a.batch_steps[d];
      at[1] += index * p.b.batch_steps[d];
      at[2] += index * p.c.batch_steps[d];
    }
    const char *x = p.a.data + at[0] * width, *y = p.b.data + at[1] * width;
    char* z = p.c.data + at[2] * bytes;
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k),
              batch = static_cast<int>(inner_count);
    const auto result = c.transposed
                            ? cublas.cublasGemmStridedBatchedEx(blas.handle(), a.transposed ? kBlasNoTranspose : kBlasTranspose,
                                                                b.transposed ? kBlasNoTranspose : kBlasTranspose, m, n, k,
                                                                alpha, x, a_type, static_cast<int>(a.leading), step(p.a), y,
                                                                b_type, static_cast<int>(b.leading), step(p.b), beta, z,
                                                                data_type, static_cast<int>(c.leading), step(p.c), batch,
                                                                compute, kBlasDefaultAlgorithm)
                            : cublas.cublasGemmStridedBatchedEx(blas.handle(), b.transposed ? kBlasTranspose : kBlasNoTranspose,
                                                                a.transposed ? kBlasTranspose : kBlasNoTranspose, n, m, k,
                                                                alpha, y, b_type, static_cast<int>(b.leading), step(p.b), x,
                                                                a_type, static_cast<int>(a.leading), step(p.a), beta, z,
                                                                data_type, static_cast<int>(c.leading), step(p.c), batch,
                                                                compute, kBlasDefaultAlgorithm);
    if (of_bytes && result == kBlasNotSupported) return *refused = true, success;
    DLT_TRY(check_blas(result, "cublasGemmStridedBatchedEx"));
  }
  stream.count_work();
  return success;
}

Status set_up(Problem& p, const Operand& a, const Operand& b, const Operand& c) noexcept {
  const Operand* const operands[] = {&a, &b, &c};
  for (const Operand* operand : operands) {
    if (operand->tensor->ndim < 2)
      return fail(Fault::value, "gemm: expected matrices, got a tensor of %d dimensions", operand->tensor->ndim);
    DLT_TRY(type_of("gemm", *operand->tensor, operand == &a ? &p.a_type : operand == &b ? &p.b_type : &p.type));
  }
  const bool of_bytes = p.type == type_int32 && is_byte(p.a_type) && is_byte(p.b_type);
  const bool of_bfloat16 = p.type == type_float32 && p.a_type == type_bfloat16 && p.b_type == type_bfloat16;
  if (!of_bytes && !of_bfloat16 && !multiplies_float8(p.type, p.a_type, p.b_type) && (p.a_type != p.type || p.b_type != p.type))
    return fail(Fault::type, "gemm: expected one dtype, got %s and %s", type_table[p.a_type].name,
                type_table[p.a_type == p.b_type ? p.type : p.b_type].name);
  if (p.type == type_bool || p.type >= computed_types)
    return fail(Fault::type, "gemm: expected integers, floats or complex numbers, got %s", type_table[p.type].name);
  describe(p.a, a);
  describe(p.b, b);
  describe(p.c, c);
  p.m = p.c.rows, p.n = p.c.columns, p.k = p.a.columns;
  if (p.a.rows != p.m || p.b.columns != p.n || p.b.rows != p.k)
    return fail(Fault::value, "gemm: inner dimensions differ: (%lld, %lld) @ (%lld, %lld) into (%lld, %lld)",
                static_cast<long long>(p.a.rows), static_cast<long long>(p.a.columns), static_cast<long long>(p.b.rows),
                static_cast<long long>(p.b.columns), static_cast<long long>(p.m), static_cast<long long>(p.n));
  const DLTensor& out = *c.tensor;
  p.dims = out.ndim - 2;
  memcpy(p.batch, out.shape, sizeof(int64_t) * static_cast<size_t>(p.dims));
  Matrix* const matrices[] = {&p.a, &p.b, &p.c};
  int64_t* steps[3];
  for (int i = 0; i < 3; ++i) {
    const DLTensor& t = *matrices[i]->tensor;
    if (!broadcast_strides(t.ndim - 2, t.shape, t.strides, p.dims, p.batch, Align::trailing, matrices[i]->batch_steps))
      return fail(Fault::value, "gemm: the batch dimensions of operand %d do not broadcast to the output's", i + 1);
    steps[i] = matrices[i]->batch_steps;
  }
  const Scalar one{Kind::unsigned_integer, 1, 1, 1, 0}, zero{Kind::unsigned_integer, 0, 0, 0, 0};
  p.scaled = compare_scalars(p.alpha, one) != 0;
  p.reads = compare_scalars(p.beta, zero) != 0;
  const Scalar* const factors[] = {&p.alpha, &p.beta};
  for (int i = 0; i < 2; ++i)
    store_scalar(p.factors[i].bytes, 0, type_table[factor_type(p.type)].dtype, false, *factors[i], Rounding::truncate, false);
  p.batches = numel(p.dims, p.batch);
  if (p.batches && p.dims) p.dims = coalesce(p.dims, p.batch, 3, steps);
  return success;
}

// Of float8 by tensor cores. Their sums have fewer digits than float32, which float32 results have where TF32 is allowed.
bool may_use_float8_cores(const Problem& p, const LaunchContext& context) noexcept {
  return !context.reproducible && p.dims == 0 && !p.reads && p.n > 1 && p.k > 0 && p.k % 16 == 0 &&
         (p.type != type_float32 || p.scale || thread_tf32()) && use_cublas.load(std::memory_order_relaxed) &&
         load_cublas().ok() && has_float8_cores(*context.stream->device, blas_type(p.a_type), blas_type(p.b_type));
}

// Where a lies by rows, b by columns, and c by either.
Status call_float8(const Problem& p, const View& a, const View& b, const View& c, Stream& stream, bool* done) noexcept {
  const auto* const alpha = reinterpret_cast<const float*>(p.factors[0].bytes);
  const int64_t bytes = type_table[p.type].bytes;
  const int type = blas_type(p.type), a_type = blas_type(p.a_type), b_type = blas_type(p.b_type);
  // A product by rows is the transposed one by columns.
  const Float8Product q = c.transposed
                              ? Float8Product{a_type,   b_type,    type,      p.m,       p.n,   p.k,   p.a.data, p.b.data,
                                              p.c.data, a.leading, b.leading, c.leading, bytes, alpha, p.scale}
                              : Float8Product{b_type,   a_type,    type,      p.n,       p.m,   p.k,   p.b.data, p.a.data,
                                              p.c.data, b.leading, a.leading, c.leading, bytes, alpha, p.scale};
  if (!is_in_steps(q)) return success;
  for (const Matrix* m : {&p.a, &p.b, &p.c}) DLT_TRY(use(m->block, stream, m == &p.c));
  return multiply_float8(q, stream, done);
}

// A matrix or, with `transposed`, its transpose in C order, as it was.
struct Packed {
  Temporary memory;
  DLTensor view;
  int64_t shape[2], strides[2];
  Status make(const Operand& from, bool transposed, const LaunchContext& context) noexcept {
    const DLTensor& t = *from.tensor;
    const int row = transposed ? 1 : 0;
    view = t;
    shape[0] = t.shape[row], shape[1] = t.shape[1 - row], strides[0] = t.strides[row], strides[1] = t.strides[1 - row];
    view.shape = shape, view.strides = strides;
    DLT_TRY(memory.make(view, *context.stream));
    DLT_TRY(copy({&view, from.block}, memory.operand(), context));
    view = memory.tensor;
    std::copy(memory.tensor.strides, memory.tensor.strides + 2, strides);
    if (transposed) std::swap(shape[0], shape[1]), std::swap(strides[0], strides[1]);
    view.shape = shape, view.strides = strides;
    return success;
  }
  Operand operand() const noexcept { return {&view, memory.block}; }
};

// Float8 operands that no core takes are converted: elements of the result's dtype hold them exactly.
Status run_float8(const Problem& p, const Operand& a, const Operand& b, const Operand& c, const Scalar& alpha,
                  const Scalar& beta, const LaunchContext& context) noexcept {
  View va, vb, vc;
  bool done = false;
  if (may_use_float8_cores(p, context) && as_blas(p.c, &vc)) {
    const bool by_rows = as_blas(p.a, &va) && !va.transposed, by_columns = as_blas(p.b, &vb) && vb.transposed;
    if (by_rows && by_columns) DLT_TRY(call_float8(p, va, vb, vc, *context.stream, &done));
    if (done) return success;
    Packed packed;
    if (!by_rows) {
      DLT_TRY(packed.make(a, false, context));
      return gemm(packed.operand(), b, c, alpha, beta, context);
    }
    if (!by_columns) {
      DLT_TRY(packed.make(b, true, context));
      return gemm(a, packed.operand(), c, alpha, beta, context);
    }
  }
  Temporary converted[2];
  const Operand* const operands[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    DLTensor like = *operands[i]->tensor;
    like.dtype = c.tensor->dtype;
    DLT_TRY(converted[i].make(like, *context.stream));
    DLT_TRY(cast(*operands[i], converted[i].operand(), CastOptions{}, context));
  }
  return gemm(converted[0].operand(), converted[1].operand(), c, alpha, beta, context);
}

Status run(Problem& p, const Operand& a, const Operand& b, const Operand& c, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  const bool has_other_bits = p.type != type_int32;
  const bool have_blas = !(context.reproducible && has_other_bits) && use_cublas.load(std::memory_order_relaxed) &&
                         has_blas_types(p) && load_cublas().ok() && p.m <= INT32_MAX && p.n <= INT32_MAX && p.k <= INT32_MAX;
  View va, vb, vc;
  if (have_blas && !as_blas(p.c, &vc)) {
    Temporary result;
    DLT_TRY(result.make(*c.tensor, stream));
    if (p.reads) DLT_TRY(copy(c, result.operand(), context));
    DLT_TRY(gemm(a, b, result.operand(), p.alpha, p.beta, context));
    return copy(result.operand(), c, context);
  }
  // Neither rows nor columns are contiguous: packed once.
  const Operand* const inputs[] = {&a, &b};
  Matrix* const matrices[] = {&p.a, &p.b};
  View* const views[] = {&va, &vb};
  if (have_blas)
    for (int i = 0; i < 2; ++i)
      if (!as_blas(*matrices[i], views[i])) {
        Temporary straight;
        DLT_TRY(straight.make(*inputs[i]->tensor, stream));
        DLT_TRY(copy(*inputs[i], straight.operand(), context));
        return i == 0 ? gemm(straight.operand(), b, c, p.alpha, p.beta, context)
                      : gemm(a, straight.operand(), c, p.alpha, p.beta, context);
      }
  DLT_TRY(use(a.block, stream, false));
  DLT_TRY(use(b.block, stream, false));
  DLT_TRY(use(c.block, stream, true));
  const bool has_bytes = p.a_type != p.type;
  if (!have_blas || (has_bytes && !(has_words(p.a, va, p.dims) && has_words(p.b, vb, p.dims))))
    return multiply_by_kernels(p, context);
  bool refused = false;
  DLT_TRY(call_blas(p, va, vb, vc, stream, &refused));
  return refused ? multiply_by_kernels(p, context) : success;
}

}  // namespace

bool thread_tf32() noexcept { return thread_state().tf32; }
void set_thread_tf32(bool allowed) noexcept { thread_state().tf32 = allowed; }

Status gemm(const Operand& a, const Operand& b, const Operand& c, const Scalar& alpha, const Scalar& beta,
            const LaunchContext& context) noexcept {
  Problem p;
  p.alpha = alpha, p.beta = beta;
  DLT_TRY(set_up(p, a, b, c));
  if (p.batches == 0 || p.m == 0 || p.n == 0) return success;
  if (repeats_elements(c.tensor->ndim, c.tensor->shape, c.tensor->strides))
    return fail(Fault::value, "gemm: the output repeats elements (a stride is 0): copy it first");
  const Operand* const all[] = {&a, &b, &c};
  for (const Operand* operand : all) {
    if (!is_misaligned(*operand->tensor)) continue;
    Temporary straight;
    DLT_TRY(straight.make(*operand->tensor, *context.stream));
    DLT_TRY(copy(*operand, straight.operand(), context));
    const Operand now = straight.operand();
    DLT_TRY(gemm(operand == &a ? now : a, operand == &b ? now : b, operand == &c ? now : c, alpha, beta, context));
    return operand == &c ? copy(now, c, context) : success;
  }
  if (overlap(*a.tensor, *c.tensor) != Overlap::none || overlap(*b.tensor, *c.tensor) != Overlap::none) {
    Temporary result;
    DLT_TRY(result.make(*c.tensor, *context.stream));
    if (p.reads) DLT_TRY(copy(c, result.operand(), context));
    DLT_TRY(gemm(a, b, result.operand(), alpha, beta, context));
    return copy(result.operand(), c, context);
  }
  return multiplies_float8(p.type, p.a_type, p.b_type) ? run_float8(p, a, b, c, alpha, beta, context)
                                                       : run(p, a, b, c, context);
}

Status multiply_scaled_float8(const Operand& x, const Operand& values, const Operand& scale, const Operand& out, bool* done,
                              const LaunchContext& context) noexcept {
  *done = false;
  const DLTensor& rows = *values.tensor;
  int64_t shape[] = {rows.shape[1], rows.shape[0]}, strides[] = {rows.strides[1], rows.strides[0]};
  DLTensor columns = rows;
  columns.shape = shape, columns.strides = strides;
  Problem p;
  p.alpha = {Kind::unsigned_integer, 1, 1, 1, 0}, p.beta = {Kind::unsigned_integer, 0, 0, 0, 0};
  DLT_TRY(set_up(p, x, {&columns, values.block}, out));
  p.scale = reinterpret_cast<const float*>(address(*scale.tensor));
  View a, b, c;
  if (p.m == 0 || p.n == 0 || !may_use_float8_cores(p, context) || !as_blas(p.a, &a) || !as_blas(p.b, &b) ||
      !as_blas(p.c, &c) || a.transposed || !b.transposed)
    return success;
  DLT_TRY(use(scale.block, *context.stream, false));
  return call_float8(p, a, b, c, *context.stream, done);
}

void set_use_cublas(bool use) noexcept { use_cublas.store(use, std::memory_order_relaxed); }

}  // namespace dlt::cuda
