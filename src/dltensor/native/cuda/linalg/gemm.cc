// SPDX-License-Identifier: Apache-2.0
// Matrix products: cuBLAS with transposition and leading dimensions as arguments, our own tiled kernel without cuBLAS.
#include <algorithm>
#include <map>
#include <memory>

#include "native/cpu/copy/scalar.h"
#include "native/cuda/elementwise/plan.h"
#include "native/cuda/runtime/thread_state.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

constexpr size_t workspace_bytes = size_t{32} << 20;  // what cuBLAS recommends for Hopper; fixed, so that captures work
constexpr int most_batch_dims = 8;
constexpr int64_t most_byte_depth = (int64_t{1} << 17) - 1;  // of products of int8 whose sums int32 holds
std::atomic<bool> use_cublas{true};

// One per stream. cuBLAS allows neither two threads in one handle nor a workspace shared by two streams.
struct Handle {
  std::mutex mutex;
  cublasHandle_t handle = nullptr;
  CUdeviceptr own = 0;      // the stream's workspace; not a block, as no tensor uses it
  void* current = nullptr;  // the workspace in use
};
struct Handles {
  std::mutex mutex;
  std::map<Stream*, std::unique_ptr<Handle>> by_stream;  // null where making one failed
  // Handles of destroyed streams: destroying a handle would synchronize the device, and creating one is slow. Capacity
  // is reserved for every handle, so that adding one cannot fail.
  std::vector<cublasHandle_t> idle[max_devices];
  size_t created[max_devices] = {};
};
Handles& handles() noexcept {
  static NoDestructor<Handles> instance;
  return *instance;
}

Status check_blas(cublasStatus_t result, const char* call) noexcept {
  if (result == 0) return success;
  return fail(Fault::device, "gemm: %s failed with cuBLAS status %d (%s)", call, result, library_path(Library::cublas));
}

// The caller holds the mutex of `h`.
Status make_handle(Handles& h, Stream& stream, std::unique_ptr<Handle>* out) {
  const int device = stream.device->ordinal;
  auto created = std::make_unique<Handle>();
  auto& idle = h.idle[device];
  idle.reserve(h.created[device] + 1);
  Current current(*stream.device);
  if (!idle.empty()) {
    created->handle = idle.back();
    idle.pop_back();
  } else {
    Beside beside;  // it allocates memory itself
    DLT_TRY(check_blas(cublas.cublasCreate_v2(&created->handle), "cublasCreate"));
    ++h.created[device];
    // Sums of halves stay in float32: by default their parts may be rounded to halves.
    cublas.cublasSetMathMode(created->handle, kBlasDisallowReducedPrecision);
  }
  const Status status = check_blas(cublas.cublasSetStream_v2(created->handle, stream.handle), "cublasSetStream");
  if (status.ok()) *out = std::move(created);
  else idle.push_back(created->handle);
  return status;
}

Status handle_of(Stream& stream, Handle** out) noexcept {
  Handles& h = handles();
  std::lock_guard<std::mutex> hold(h.mutex);
  return guarded("gemm", [&]() -> Status {
    std::unique_ptr<Handle>& handle = h.by_stream[&stream];
    if (!handle) DLT_TRY(make_handle(h, stream, &handle));
    *out = handle.get();
    return success;
  });
}

// Captured work runs with its graph, on any stream and after the captured stream is destroyed: there the workspace of a
// product is memory of the graph, which the caller releases. The handle is not locked: an allocator that a program has
// set may compute products itself.
Status captured_workspace(Stream& stream, Block** scratch) noexcept {
  bool capturing = false;
  DLT_TRY(is_capturing(stream, &capturing));
  return capturing ? allocate(stream, workspace_bytes, scratch) : success;
}

// The handle is locked. Without `scratch` the workspace is that of the stream.
Status give_workspace(Stream& stream, Handle& handle, const Block* scratch) noexcept {
  if (!scratch && !handle.own) {
    Beside beside;
    if (stream.device->pool)
      DLT_CU(cuMemAllocFromPoolAsync(&handle.own, workspace_bytes, stream.device->pool, handle_here(stream)));
    else DLT_CU(cuMemAlloc_v2(&handle.own, workspace_bytes));
  }
  void* wanted = scratch ? scratch->data : reinterpret_cast<void*>(handle.own);
  if (handle.current == wanted) return success;
  handle.current = nullptr;
  DLT_TRY(check_blas(cublas.cublasSetWorkspace_v2(handle.handle, wanted, workspace_bytes), "cublasSetWorkspace"));
  handle.current = wanted;
  return success;
}

// The last two dimensions of an operand, and the strides of its batches.
struct Matrix {
  const DLTensor* tensor = nullptr;
  Block* block = nullptr;
  char* data = nullptr;
  int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;
  int64_t batch_steps[max_dims] = {};
};

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

struct Problem {
  Matrix a, b, c;
  int type = 0, a_type = 0, b_type = 0;  // those of a and b differ where they are bytes, and c is int32
  int64_t m = 0, n = 0, k = 0;
  int dims = 0;  // of batches
  int64_t batch[max_dims] = {};
  int64_t batches = 1;
  Scalar alpha, beta;
  bool scaled = false, reads = false;  // alpha is not 1; beta is not 0
  kernels::Immediate factors[2];       // alpha and beta as elements of factor_type()
};

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
    default: return -1;
  }
}

bool has_blas_types(const Problem& p) noexcept {
  if (p.type == type_int32) return p.a_type == type_int8 && p.b_type == type_int8 && p.k <= most_byte_depth && !p.reads;
  return p.type != type_int8 && blas_type(p.type) >= 0;
}
// Returns whether cuBLAS takes a matrix of bytes: its rows are words of four.
bool has_words(const Matrix& m, const View& view, int dims) noexcept {
  uint64_t all = reinterpret_cast<uintptr_t>(m.data) | static_cast<uint64_t>(view.leading);
  for (int d = 0; d < dims; ++d) all |= static_cast<uint64_t>(m.batch_steps[d]);
  return all % 4 == 0;
}

// The dtype of alpha and beta: 16-bit floats accumulate in float32, everything else in its own dtype.
int factor_type(int type) noexcept { return type == type_float16 || type == type_bfloat16 ? type_float32 : type; }

// The C++ type of sums. Integers wrap, which unsigned ones of a whole word do as well as the type itself.
const char* sum_name(int type) noexcept {
  const Kind kind = type_table[type].kind;
  if (kind != Kind::signed_integer && kind != Kind::unsigned_integer) return type_name(factor_type(type));
  return type_table[type].bytes == 8 ? "uint64_t" : "uint32_t";
}

// Row-major C = A B is column-major C' = B' A': the operands are swapped and nothing is moved. A column-major C is
// computed directly. `refused`: cuBLAS has no product of these bytes, and nothing was enqueued that matters.
Status call_blas(const Problem& p, const View& a, const View& b, const View& c, Stream& stream, bool* refused) noexcept {
  Handle* handle = nullptr;
  DLT_TRY(handle_of(stream, &handle));
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
  BlockRef scratch;  // released after the handle
  DLT_TRY(captured_workspace(stream, &scratch.block));
  std::lock_guard<std::mutex> hold(handle->mutex);
  Current current(*stream.device);
  DLT_TRY(give_workspace(stream, *handle, scratch.block));
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
    const auto result =
        c.transposed
            ? cublas.cublasGemmStridedBatchedEx(handle->handle, a.transposed ? kBlasNoTranspose : kBlasTranspose,
                                                b.transposed ? kBlasNoTranspose : kBlasTranspose, m, n, k, alpha, x, a_type,
                                                static_cast<int>(a.leading), step(p.a), y, b_type, static_cast<int>(b.leading),
                                                step(p.b), beta, z, data_type, static_cast<int>(c.leading), step(p.c), batch,
                                                compute, kBlasDefaultAlgorithm)
            : cublas.cublasGemmStridedBatchedEx(handle->handle, b.transposed ? kBlasTranspose : kBlasNoTranspose,
                                                a.transposed ? kBlasTranspose : kBlasNoTranspose, n, m, k, alpha, y, b_type,
                                                static_cast<int>(b.leading), step(p.b), x, a_type, static_cast<int>(a.leading),
                                                step(p.a), beta, z, data_type, static_cast<int>(c.leading), step(p.c), batch,
                                                compute, kBlasDefaultAlgorithm);
    if (of_bytes && result == kBlasNotSupported) return *refused = true, success;
    DLT_TRY(check_blas(result, "cublasGemmStridedBatchedEx"));
  }
  stream.count_work();
  return success;
}

Status call_tiled(const Problem& p, const LaunchContext& context) noexcept {
  if (p.dims > most_batch_dims)
    return fail(Fault::value, "gemm: at most %d batch dimensions that cannot be joined, got %d; make the operands contiguous",
                most_batch_dims, p.dims);
  Device& device = *context.stream->device;
  Kernel kernel;
  KernelKey key;
  key.add(3, 2);
  key.add(static_cast<uint64_t>(p.type), 6);
  key.add(static_cast<uint64_t>(p.a_type), 6);
  key.add(static_cast<uint64_t>(p.b_type), 6);
  DLT_TRY(kernel_of(
      device, key, "native/cuda/kernels/linalg/product.cuh",
      [&] {
        return std::string("product::tiled<") + type_name(p.a_type) + ", " + type_name(p.b_type) + ", " + type_name(p.type) +
               ", " + sum_name(p.type) + ", " + type_name(factor_type(p.type)) + ">";
      },
      &kernel));
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
  constexpr int64_t side = 64;
  q.tiles_across = (p.n + side - 1) / side;
  q.tiles_down = (p.m + side - 1) / side;
  const int64_t tiles = q.tiles_across * q.tiles_down * p.batches;
  // The block is fixed by the kernel's tiles; only their number follows the launch.
  const Geometry geometry{static_cast<unsigned>(std::min<int64_t>(tiles, 2147483647)), 256};
  return launch_kernel(device, kernel, geometry, *context.stream, &q);
}

Status set_up(Problem& p, const Operand& a, const Operand& b, const Operand& c) noexcept {
  const Operand* const operands[] = {&a, &b, &c};
  for (const Operand* operand : operands) {
    if (operand->tensor->ndim < 2)
      return fail(Fault::value, "gemm: expected matrices, got a tensor of %d dimensions", operand->tensor->ndim);
    DLT_TRY(type_of("gemm", *operand->tensor, operand == &a ? &p.a_type : operand == &b ? &p.b_type : &p.type));
  }
  const bool of_bytes = p.type == type_int32 && is_byte(p.a_type) && is_byte(p.b_type);
  if (!of_bytes && (p.a_type != p.type || p.b_type != p.type))
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

Status run(Problem& p, const Operand& a, const Operand& b, const Operand& c, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  const bool have_blas = use_cublas.load(std::memory_order_relaxed) && has_blas_types(p) && load_cublas().ok() &&
                         p.m <= INT32_MAX && p.n <= INT32_MAX && p.k <= INT32_MAX;
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
  if (!have_blas || (has_bytes && !(has_words(p.a, va, p.dims) && has_words(p.b, vb, p.dims)))) return call_tiled(p, context);
  bool refused = false;
  DLT_TRY(call_blas(p, va, vb, vc, stream, &refused));
  return refused ? call_tiled(p, context) : success;
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
  return run(p, a, b, c, context);
}

void set_use_cublas(bool use) noexcept { use_cublas.store(use, std::memory_order_relaxed); }

void forget_handles(Stream& stream) noexcept {
  Handles& h = handles();
  std::lock_guard<std::mutex> hold(h.mutex);
  const auto found = h.by_stream.find(&stream);
  if (found == h.by_stream.end()) return;
  const std::unique_ptr<Handle> handle = std::move(found->second);
  h.by_stream.erase(found);
  if (!handle) return;
  Current current(*stream.device);
  if (handle->own && stream.device->pool) {
    driver.cuMemFreeAsync(handle->own, handle_here(stream));
  } else if (handle->own) {
    Beside beside;
    driver.cuMemFree_v2(handle->own);
  }
  cublas.cublasSetStream_v2(handle->handle, nullptr);  // its own stream finishes soon
  h.idle[stream.device->ordinal].push_back(handle->handle);
}

}  // namespace dlt::cuda
