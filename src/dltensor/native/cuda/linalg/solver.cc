// SPDX-License-Identifier: Apache-2.0
// Factorizations of larger matrices by cuSOLVER, one after the other on the stream. It sees memory by columns: the transposes of
// our matrices.
#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

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
  Status lu() const {
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
    return launch_pivots(call, type == kBlasC32F || type == kBlasC64F, part == kBlasR64F, stream, q);
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

  // `second`, or p.a, has the matrices, and becomes the transposes of the conjugate eigenvectors.
  Status eigh() const {
    const int64_t n = call.n;
    void* const a = p.second ? p.second : p.a;
    const int vectors = p.second ? kSolverVectors : kSolverNoVectors;
    Workspace w;
    DLT_SOLVE(cusolverDnXsyevd_bufferSize(handle, params, vectors, kBlasUpper, n, type, a, n, part, p.out, type,
                                          &w.device_bytes, &w.host_bytes));
    DLT_TRY(w.make(stream));
    for (int64_t i = 0; i < call.count; ++i)
      DLT_SOLVE(cusolverDnXsyevd(handle, params, vectors, kBlasUpper, n, type, at(a, i, n * n), n, part,
                                 static_cast<char*>(p.out) + i * n * part_bytes, type, w.device.as<void>(), w.device_bytes,
                                 w.host_data(), w.host_bytes, info(i)));
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

}  // namespace

Status factor_by_library(const FactorCall& call, int type, const kernels::Matrices& p, Stream& stream) noexcept {
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
      default: return work.lu();
    }
  });
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
