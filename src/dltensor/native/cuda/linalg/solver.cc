// SPDX-License-Identifier: Apache-2.0
// Factorizations of larger matrices by cuSOLVER, on the stream. It sees memory by columns: the transposes of our matrices.
#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/cuda/linalg/matrices_parts.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

struct Solver {
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
};
// Solvers between calls. A handle has memory of its own, which work on two streams would share: it stays with its stream.
using IdleSolvers = std::multimap<Stream*, Solver>;
struct Solvers {
  std::mutex mutex;
  IdleSolvers idle;
  std::vector<Solver> of_destroyed_streams[max_devices];  // has room for all solvers of the device
  size_t count[max_devices] = {};
};
Solvers& solvers() noexcept {
  static NoDestructor<Solvers> instance;
  return *instance;
}

Status check_solver(cusolverStatus_t result, const char* call) noexcept {
  if (result == 0) return success;
  return fail(result == kSolverAllocFailed ? Fault::memory : Fault::device, "linalg: %s failed with cuSOLVER status %d (%s)",
              call, result, library_path(Library::cusolver));
}
#define DLT_SOLVE(call) DLT_TRY(check_solver(cusolver.call, #call))

// A solver that one call has for itself. No mutex is held meanwhile: the allocator that a program has set may solve, too.
class BorrowedSolver {
 public:
  BorrowedSolver() = default;
  BorrowedSolver(const BorrowedSolver&) = delete;
  BorrowedSolver& operator=(const BorrowedSolver&) = delete;
  ~BorrowedSolver() {
    if (!node_) return;
    std::lock_guard<std::mutex> hold(solvers().mutex);
    solvers().idle.insert(std::move(node_));  // the node has its memory already
  }
  Status take(Stream& stream) {
    Solvers& all = solvers();
    std::lock_guard<std::mutex> hold(all.mutex);
    if (const auto found = all.idle.find(&stream); found != all.idle.end()) return node_ = all.idle.extract(found), success;
    const int device = stream.device->ordinal;
    IdleSolvers one;
    Solver& solver = one.emplace(&stream, Solver{})->second;
    if (auto& others = all.of_destroyed_streams[device]; !others.empty()) {
      solver = others.back();
      others.pop_back();
    } else {
      others.reserve(all.count[device] + 1);
      Beside beside;  // it allocates memory itself
      DLT_SOLVE(cusolverDnCreate(&solver.handle));
      DLT_SOLVE(cusolverDnCreateParams(&solver.params));
      ++all.count[device];
    }
    const Status status = check_solver(cusolver.cusolverDnSetStream(solver.handle, stream.handle), "cusolverDnSetStream");
    if (status.ok()) node_ = one.extract(one.begin());
    else all.of_destroyed_streams[device].push_back(solver);
    return status;
  }
  const Solver* operator->() const noexcept { return &node_.mapped(); }

 private:
  IdleSolvers::node_type node_;
};

// Memory that a call works in, of the device and of the host; that of the host until the device is done with it.
struct Workspace {
  size_t device_bytes = 0, host_bytes = 0;
  Scratch device;
  BlockRef host;
  Status make(Stream& stream) noexcept {
    DLT_TRY(device.make(std::max<size_t>(device_bytes, 1), stream));
    if (host_bytes == 0) return success;
    DLT_TRY(allocate_pinned(stream.device->ordinal, host_bytes, &host.block));
    return use(host.block, stream, true);
  }
  void* host_data() const noexcept { return host.block ? host.block->data : nullptr; }
};

// Some releases refuse more matrices at once, which no manual says. Larger workspaces make nothing faster.
constexpr int64_t most_matrices = 1 << 14;
constexpr size_t most_workspace = size_t{1} << 30;

struct Work {
  const FactorCall& call;
  const kernels::Matrices& p;
  Stream& stream;
  cusolverDnHandle_t handle;
  cusolverDnParams_t params;
  int type, part;  // cuSOLVER's, of elements and of their parts
  int64_t bytes, part_bytes;

  char* at(void* data, int64_t i, int64_t elements) const { return static_cast<char*>(data) + i * elements * bytes; }
  int* info(int64_t i) const { return p.info + i; }

  // p.a is a copy. The matrices in memory are transposed: of b, which is transposed too, the solution of the transposed system is wanted.
  Status lu(int row) const {
    const int64_t n = call.n;
    Workspace w;
    Scratch pivots, ignored;
    DLT_TRY(pivots.make(static_cast<uint64_t>(n * (call.factor == Factor::determinant ? call.count : 1)) * 8, stream));
    DLT_TRY(ignored.make(sizeof(int), stream));
    DLT_SOLVE(cusolverDnXgetrf_bufferSize(handle, params, n, n, type, p.a, n, type, &w.device_bytes, &w.host_bytes));
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; ++i) {
      void* const a = at(p.a, i, n * n);
      int64_t* const rows = pivots.as<int64_t>() + (call.factor == Factor::determinant ? i * n : 0);
      DLT_SOLVE(cusolverDnXgetrf(handle, params, n, n, type, a, n, rows, type, w.device.as<void>(), w.device_bytes,
                                 w.host_data(), w.host_bytes, info(i)));
      if (call.factor == Factor::determinant) continue;
      const bool inverse = call.factor == Factor::inverse;
      DLT_SOLVE(cusolverDnXgetrs(handle, params, inverse ? kBlasNoTranspose : kBlasTranspose, n, call.k, type, a, n, rows, type,
                                 at(p.out, i, n * call.k), n, ignored.as<int>()));
    }
    if (call.factor != Factor::determinant) return success;
    kernels::Matrices q = p;
    q.pivots = pivots.as<int64_t>();
    return launch_pivots(row, stream, q);
  }

  Status cholesky() const {
    const int64_t n = call.n;
    const int triangle = call.flag ? kBlasLower : kBlasUpper;
    Workspace w;
    DLT_SOLVE(cusolverDnXpotrf_bufferSize(handle, params, triangle, n, type, p.out, n, type, &w.device_bytes, &w.host_bytes));
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; ++i)
      DLT_SOLVE(cusolverDnXpotrf(handle, params, triangle, n, type, at(p.out, i, n * n), n, type, w.device.as<void>(),
                                 w.device_bytes, w.host_data(), w.host_bytes, info(i)));
    return success;
  }

  // `out` has the transposes with room for k rows, which become those of q; `second` what geqrf makes of them.
  Status qr() const {
    const int64_t m = call.m, n = call.n, k = call.k, least = std::min(m, n), room = std::max(n, k);
    Workspace w;
    Scratch tau;
    DLT_TRY(tau.make(static_cast<uint64_t>(least * bytes), stream));
    DLT_SOLVE(cusolverDnXgeqrf_bufferSize(handle, params, m, n, type, p.out, m, type, tau.as<void>(), type, &w.device_bytes,
                                          &w.host_bytes));
    const auto size = type == kBlasR32F   ? cusolver.cusolverDnSorgqr_bufferSize
                      : type == kBlasR64F ? cusolver.cusolverDnDorgqr_bufferSize
                      : type == kBlasC32F ? cusolver.cusolverDnCungqr_bufferSize
                                          : cusolver.cusolverDnZungqr_bufferSize;
    const auto make = type == kBlasR32F   ? cusolver.cusolverDnSorgqr
                      : type == kBlasR64F ? cusolver.cusolverDnDorgqr
                      : type == kBlasC32F ? cusolver.cusolverDnCungqr
                                          : cusolver.cusolverDnZungqr;
    int elements = 0;
    const auto rows = static_cast<int>(m), columns = static_cast<int>(k), steps = static_cast<int>(least);
    DLT_TRY(
        check_solver(size(handle, rows, columns, steps, p.out, rows, tau.as<void>(), &elements), "cusolverDnorgqr_bufferSize"));
    const size_t device_bytes = w.device_bytes;
    w.device_bytes = std::max(w.device_bytes, static_cast<size_t>(elements * bytes));
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; ++i) {
      void* const a = at(p.out, i, room * m);
      DLT_SOLVE(cusolverDnXgeqrf(handle, params, m, n, type, a, m, type, tau.as<void>(), type, w.device.as<void>(),
                                 device_bytes, w.host_data(), w.host_bytes, info(i)));
      DLT_CU(cuMemcpyDtoDAsync_v2(reinterpret_cast<CUdeviceptr>(at(p.second, i, n * m)), reinterpret_cast<CUdeviceptr>(a),
                                  static_cast<size_t>(n * m * bytes), stream.handle));
      DLT_TRY(check_solver(make(handle, rows, columns, steps, a, rows, tau.as<void>(), w.device.as<void>(), elements, info(i)),
                           "cusolverDnorgqr"));
    }
    return success;
  }

  // p.a is a copy, and becomes the transposes of the conjugate eigenvectors. The upper triangle: of the lower one of complex64, some
  // releases get single matrices of a batch wrong.
  Status eigh() const {
    const int vectors = p.second ? kSolverVectors : kSolverNoVectors;
    if (takes_batches()) return eigh_of_many(vectors);
    const int64_t n = call.n;
    Workspace w;
    DLT_SOLVE(cusolverDnXsyevd_bufferSize(handle, params, vectors, kBlasUpper, n, type, p.a, n, part, p.out, type,
                                          &w.device_bytes, &w.host_bytes));
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; ++i)
      DLT_SOLVE(cusolverDnXsyevd(handle, params, vectors, kBlasUpper, n, type, at(p.a, i, n * n), n, part,
                                 static_cast<char*>(p.out) + i * n * part_bytes, type, w.device.as<void>(), w.device_bytes,
                                 w.host_data(), w.host_bytes, info(i)));
    return success;
  }

  bool takes_batches() const {
    return call.count > 1 && call.n <= kernels::team_side && cusolver.cusolverDnXsyevBatched != nullptr;
  }

  // As many at once as its memory and its numbers allow.
  Status eigh_of_many(int vectors) const {
    const int64_t n = call.n;
    Workspace w;
    int64_t piece = std::min(call.count, most_matrices);
    for (;; piece = (piece + 1) / 2) {
      DLT_SOLVE(cusolverDnXsyevBatched_bufferSize(handle, params, vectors, kBlasUpper, n, type, p.a, n, part, p.out, type,
                                                  &w.device_bytes, &w.host_bytes, piece));
      if (piece == 1 || w.device_bytes <= most_workspace) break;
    }
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; i += piece)
      DLT_SOLVE(cusolverDnXsyevBatched(handle, params, vectors, kBlasUpper, n, type, at(p.a, i, n * n), n, part,
                                       static_cast<char*>(p.out) + i * n * part_bytes, type, w.device.as<void>(),
                                       w.device_bytes, w.host_data(), w.host_bytes, info(i), std::min(piece, call.count - i)));
    return success;
  }

  // p.a is a copy, with m <= n: by columns it has as many rows or more, of which cuSOLVER takes no fewer.
  Status svd() const {
    const int64_t m = call.m, n = call.n, rows = call.flag ? n : m;
    const auto job = static_cast<signed char>(!p.out ? 'N' : call.flag ? 'A' : 'S');
    Workspace w;
    DLT_SOLVE(cusolverDnXgesvd_bufferSize(handle, params, job, job, n, m, type, p.a, n, part, p.second, type, p.third, n, type,
                                          p.out, m, type, &w.device_bytes, &w.host_bytes));
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; ++i)
      DLT_SOLVE(cusolverDnXgesvd(handle, params, job, job, n, m, type, at(p.a, i, m * n), n, part,
                                 static_cast<char*>(p.second) + i * m * part_bytes, type,
                                 p.third ? at(p.third, i, rows * n) : nullptr, n, type, p.out ? at(p.out, i, m * m) : nullptr,
                                 m, type, w.device.as<void>(), w.device_bytes, w.host_data(), w.host_bytes, info(i)));
    return success;
  }
};

Status run_library(const FactorCall& call, int type, const kernels::Matrices& p, Stream& stream) noexcept {
  return guarded("linalg", [&]() -> Status {
    Current current(*stream.device);
    BorrowedSolver solver;
    DLT_TRY(solver.take(stream));
    const bool complex = type == type_complex64 || type == type_complex128,
               wide = type == type_float64 || type == type_complex128;
    const Work work{call,
                    p,
                    stream,
                    solver->handle,
                    solver->params,
                    complex ? (wide ? kBlasC64F : kBlasC32F)
                    : wide  ? kBlasR64F
                            : kBlasR32F,
                    wide ? kBlasR64F : kBlasR32F,
                    type_table[type].bytes,
                    wide ? 8 : 4};
    stream.count_work();
    switch (call.factor) {
      case Factor::cholesky: return work.cholesky();
      case Factor::qr: return work.qr();
      case Factor::eigh: return work.eigh();
      case Factor::svd: return work.svd();
      default: return work.lu(type);
    }
  });
}

// Matrices of rows x columns elements from memory `step` apart, transposed.
struct Transposed {
  const Scratch& memory;
  int64_t count, rows, columns, step;

  Elements here(int type, Stream& stream) const {
    return {memory.as<void>(), stream, type, {count, rows, columns}, {step, 1, rows}};
  }
  Elements there(void* data, int type, Stream& stream) const {
    return {data, stream, type, {count, rows, columns}, {rows * columns, columns, 1}};
  }
  Status fill(void* data, int type, const LaunchContext& context) const noexcept {
    return copy(there(data, type, *context.stream).operand(nullptr), here(type, *context.stream).operand(memory.block),
                context);
  }
  Status empty(void* data, int type, const LaunchContext& context) const noexcept {
    return copy(here(type, *context.stream).operand(memory.block), there(data, type, *context.stream).operand(nullptr),
                context);
  }
};

void store_one(int type, void* element) noexcept {
  const double wide = 1;
  const float narrow = 1;
  if (type == type_float64 || type == type_complex128) memcpy(element, &wide, sizeof wide);
  else memcpy(element, &narrow, sizeof narrow);
}

Status fill_identity(void* data, int64_t count, int64_t n, int type, const LaunchContext& context) noexcept {
  unsigned char one[16] = {}, zero[16] = {};
  store_one(type, one);
  const Elements whole(data, *context.stream, type, {count * n * n}, {1}),
      diagonal(data, *context.stream, type, {count, n}, {n * n, n + 1});
  DLT_TRY(fill(zero, whole.operand(nullptr), context));
  return fill(one, diagonal.operand(nullptr), context);
}

Status solve_transposed(const FactorCall& call, int type, kernels::Matrices& p, const LaunchContext& context) noexcept {
  Scratch turned;
  DLT_TRY(turned.make(static_cast<uint64_t>(call.count * call.n * call.k * type_table[type].bytes), *context.stream));
  const Transposed right{turned, call.count, call.n, call.k, call.n * call.k};
  void* const out = p.out;
  DLT_TRY(right.fill(out, type, context));
  p.out = turned.as<void>();
  DLT_TRY(run_library(call, type, p, *context.stream));
  return right.empty(out, type, context);
}

Status qr_transposed(const FactorCall& call, int type, kernels::Matrices& p, const LaunchContext& context) noexcept {
  const int64_t m = call.m, n = call.n, k = call.k, room = std::max(n, k), bytes = type_table[type].bytes;
  Stream& stream = *context.stream;
  Scratch columns, factors;
  DLT_TRY(columns.make(static_cast<uint64_t>(call.count * room * m * bytes), stream));
  DLT_TRY(factors.make(static_cast<uint64_t>(call.count * n * m * bytes), stream));
  DLT_TRY((Transposed{columns, call.count, m, n, room * m}.fill(p.a, type, context)));
  kernels::Matrices q = p;
  q.out = columns.as<void>(), q.second = factors.as<void>();
  DLT_TRY(run_library(call, type, q, stream));
  DLT_TRY((Transposed{columns, call.count, m, k, room * m}.empty(p.out, type, context)));
  q.a = factors.as<void>(), q.second = p.second;
  return launch_upper(type, stream, q);
}

// The eigenvectors are conjugate and transposed.
Status eigh_conjugate(const FactorCall& call, int type, kernels::Matrices& p, const LaunchContext& context) noexcept {
  Scratch copied;
  DLT_TRY(copy_matrices(call, type, copied, p, context));
  DLT_TRY(run_library(call, type, p, *context.stream));
  if (!p.second) return success;
  const Transposed vectors{copied, call.count, call.n, call.n, call.n * call.n};
  const Elements from = vectors.here(type, *context.stream), to = vectors.there(p.second, type, *context.stream);
  const Operand in = from.operand(copied.block);
  return elementwise({op_conj, OpVariant::plain, type}, &in, 1, to.operand(nullptr), context);
}

// Of a tall matrix its transpose is decomposed, whose U is the transpose of V^H.
Status svd_transposed(const FactorCall& call, int type, kernels::Matrices& p, const LaunchContext& context) noexcept {
  Scratch copied, left, right;
  if (call.m <= call.n) {
    DLT_TRY(copy_matrices(call, type, copied, p, context));
    return run_library(call, type, p, *context.stream);
  }
  Stream& stream = *context.stream;
  const int64_t m = call.m, n = call.n, bytes = type_table[type].bytes, columns = call.flag ? m : n;
  FactorCall turned = call;
  turned.m = n, turned.n = m;
  DLT_TRY(copied.make(static_cast<uint64_t>(call.count * m * n * bytes), stream));
  DLT_TRY((Transposed{copied, call.count, m, n, m * n}.fill(p.a, type, context)));
  kernels::Matrices q = p;
  q.a = copied.as<void>();
  if (p.out) {
    DLT_TRY(left.make(static_cast<uint64_t>(call.count * n * n * bytes), stream));
    DLT_TRY(right.make(static_cast<uint64_t>(call.count * columns * m * bytes), stream));
    q.out = left.as<void>(), q.third = right.as<void>();
  }
  DLT_TRY(run_library(turned, type, q, stream));
  if (!p.out) return success;
  DLT_TRY((Transposed{right, call.count, m, columns, m * columns}.empty(p.out, type, context)));
  return Transposed{left, call.count, n, n, n * n}.empty(p.third, type, context);
}

}  // namespace

bool has_batched_eigenvalues() noexcept { return load_cusolver().ok() && cusolver.cusolverDnXsyevBatched != nullptr; }

Status factor_by_library(const FactorCall& call, int type, kernels::Matrices& p, const LaunchContext& context) noexcept {
  Scratch copied;
  switch (call.factor) {
    case Factor::cholesky: return run_library(call, type, p, *context.stream);
    case Factor::qr: return qr_transposed(call, type, p, context);
    case Factor::eigh: return eigh_conjugate(call, type, p, context);
    case Factor::svd: return svd_transposed(call, type, p, context);
    default: break;
  }
  DLT_TRY(copy_matrices(call, type, copied, p, context));
  if (call.factor == Factor::inverse) DLT_TRY(fill_identity(p.out, call.count, call.n, type, context));
  if (call.factor == Factor::solve) return solve_transposed(call, type, p, context);
  return run_library(call, type, p, *context.stream);
}

void forget_solver(Stream& stream) noexcept {
  Solvers& all = solvers();
  std::lock_guard<std::mutex> hold(all.mutex);
  const auto [first, last] = all.idle.equal_range(&stream);
  if (first == last) return;
  Current current(*stream.device);
  for (auto at = first; at != last; ++at) {
    cusolver.cusolverDnSetStream(at->second.handle, nullptr);  // its own stream finishes soon
    all.of_destroyed_streams[stream.device->ordinal].push_back(at->second);
  }
  all.idle.erase(first, last);
}

}  // namespace dlt::cuda
