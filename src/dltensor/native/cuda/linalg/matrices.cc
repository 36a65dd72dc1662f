// SPDX-License-Identifier: Apache-2.0
// Batches of matrices on a device: by which threads or which library they are factored, and the kernels.
#include <algorithm>
#include <memory>
#include <new>

#include "native/cuda/copy/transfer.h"
#include "native/cuda/linalg/matrices_parts.h"

namespace dlt::cuda {
namespace {

constexpr int64_t small_side = 8, warp_side = 32;
constexpr int64_t warp_columns = 128;  // of right sides: a block is faster for more
constexpr const char* names[] = {"solve", "inverse", "determinant", "cholesky", "qr", "eigh", "svd"};

// The worker of a matrix: a thread each, a warp each, a block each, or cuSOLVER.
enum class Worker { thread, warp, block, library };

const char* name_of(const FactorCall& call) noexcept { return names[static_cast<int>(call.factor)]; }

void* data_of(const Operand* operand) noexcept {
  return operand ? reinterpret_cast<void*>(address(*operand->tensor)) : nullptr;
}

// The library has all processors work on one matrix, and blocks have one each: they are faster at many matrices at once. Eigenvalues
// of many matrices are one call of the library.
Worker worker_of(const FactorCall& call) noexcept {
  const int64_t side = std::max(call.m, call.n), columns = call.factor == Factor::solve ? call.k : 0;
  if (std::max(side, columns) <= small_side) return Worker::thread;
  if (side <= warp_side) return columns <= warp_columns ? Worker::warp : Worker::block;
  const bool fits = side <= kernels::team_side;
  if (call.factor == Factor::eigh && fits && call.count > 1 && has_batched_eigenvalues()) return Worker::library;
  if (fits && call.count > 1 && side <= call.count * warp_side) return Worker::block;
  if (fits || call.factor <= Factor::cholesky) return load_cusolver().ok() ? Worker::library : Worker::block;
  return Worker::library;
}

// Sides whose loops are unrolled by a thread, as on the CPU, or rows of a warp's tiles; elsewhere 0.
int template_side(const FactorCall& call, bool complex, Worker worker) noexcept {
  const int64_t side = std::max(call.m, call.n);
  if (worker == Worker::warp) return side <= 16 ? 16 : 32;
  if (worker != Worker::thread || complex || call.factor > Factor::cholesky) return 0;
  return side >= 2 && side <= 4 ? static_cast<int>(side) : 0;
}

struct Form {
  bool complex, wide;  // two parts; float64
};
Form form_of(int type) noexcept {
  return {type == type_complex64 || type == type_complex128, type == type_float64 || type == type_complex128};
}

// A kernel of the folder: the name's number is that of `factor` and `kind`.
enum class Kind : uint64_t { thread, team, determinant_of, upper_of };
Status find(Device& device, Kind kind, Factor factor, const Form& form, int side, Kernel* kernel) noexcept {
  if (kind == Kind::team && factor == Factor::inverse) factor = Factor::solve;
  const char* const header = kind == Kind::upper_of || (kind == Kind::team && factor == Factor::qr)
                                 ? "native/cuda/kernels/linalg/reflections.cuh"
                             : kind != Kind::team         ? "native/cuda/kernels/linalg/matrices.cuh"
                             : factor <= Factor::cholesky ? "native/cuda/kernels/linalg/elimination.cuh"
                                                          : "native/cuda/kernels/linalg/rotations.cuh";
  const uint64_t number = static_cast<uint64_t>(factor) << 10 | static_cast<uint64_t>(kind) << 8 |
                          static_cast<uint64_t>(side << 2 | form.complex << 1 | form.wide);
  return family_kernel(
      device, Family::matrices, number, header,
      [&] {
        const std::string plain = names[static_cast<int>(factor)];
        const std::string name = kind == Kind::team             ? plain + "_team"
                                 : kind == Kind::determinant_of ? "determinant_of"
                                 : kind == Kind::upper_of       ? "upper_of"
                                                                : plain;
        return "matrices::" + name + (form.wide ? "<double, " : "<float, ") + (form.complex ? "2, " : "1, ") +
               std::to_string(side) + ">";
      },
      kernel);
}

// Warps of a block; kernels/linalg/team.cuh has the same formula.
unsigned warps_of(const Form& form, int side) noexcept {
  const unsigned words = (form.complex ? 2u : 1u) * (form.wide ? 2u : 1u);
  return side <= 16 ? 4 : 4 / words;
}

// Elements that a block works in, beside its shared memory.
int64_t work_of(const FactorCall& call) noexcept {
  const int64_t least = std::min(call.m, call.n);
  switch (call.factor) {
    case Factor::qr: return call.m * call.n;
    case Factor::eigh: return 2 * call.n * call.n;
    case Factor::svd: return least * (call.m + call.n);
    default: return 0;
  }
}

Status launch_threads(const FactorCall& call, const Form& form, Stream& stream, kernels::Matrices& p) noexcept {
  Kernel kernel;
  const int side = template_side(call, form.complex, Worker::thread);
  DLT_TRY(find(*stream.device, Kind::thread, call.factor, form, side, &kernel));
  return launch_kernel(*stream.device, kernel, blocks_for(*stream.device, kernel, (p.count + 127) / 128, 128), stream, &p);
}

Status launch_teams(const FactorCall& call, const Form& form, Worker worker, Stream& stream, kernels::Matrices& p) noexcept {
  Kernel kernel;
  const int side = template_side(call, form.complex, worker);
  DLT_TRY(find(*stream.device, Kind::team, call.factor, form, side, &kernel));
  const unsigned teams = worker == Worker::warp ? warps_of(form, side) : 1;
  const Geometry grid = blocks_for(*stream.device, kernel, (p.count + teams - 1) / teams,
                                   worker == Worker::warp ? teams * 32 : 256);
  Scratch work;
  const int64_t elements = worker == Worker::block ? work_of(call) : 0;
  if (elements) {
    const int64_t bytes = elements * (form.complex ? 2 : 1) * (form.wide ? 8 : 4);
    DLT_TRY(work.make(grid.blocks * static_cast<uint64_t>(bytes), stream));
    p.work = work.as<void>();
  }
  return launch_kernel(*stream.device, kernel, grid, stream, &p);
}

// `info` of each matrix becomes other than 0 where it is singular, not positive definite or did not converge.
Status enqueue(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
               const Scratch& info, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  int type;
  DLT_TRY(type_of("linalg", *a.tensor, &type));
  const Worker worker = worker_of(call);
  if (worker == Worker::library) {
    DLT_TRY(load_cusolver());
    DLT_TRY(refuse_capture(name_of(call), stream));  // not all of its calls can be captured
  }
  if (std::max({call.m, call.n, call.k}) > INT32_MAX / 2)
    return fail(Fault::value, "%s: a device takes at most %d rows and columns, got %lld x %lld; move x with .to(\"cpu\")",
                name_of(call), INT32_MAX / 2, static_cast<long long>(call.m), static_cast<long long>(std::max(call.n, call.k)));
  kernels::Matrices p{};
  p.a = data_of(&a), p.out = data_of(out), p.second = data_of(second), p.third = data_of(third);
  p.info = info.as<int32_t>();
  p.count = static_cast<uint64_t>(call.count);
  p.m = static_cast<int>(call.m), p.n = static_cast<int>(call.n), p.k = static_cast<int>(call.k);
  p.flag = call.flag;
  DLT_TRY(use(a.block, stream, false));
  for (const Operand* each : {out, second, third})
    if (each) DLT_TRY(use(each->block, stream, true));
  const Form form = form_of(type);
  if (worker == Worker::thread) return launch_threads(call, form, stream, p);
  if (worker == Worker::library) return factor_by_library(call, type, p, context);
  Scratch copied;
  if (call.factor == Factor::inverse) p.k = p.n, p.flag = 1;
  if (worker == Worker::block && call.factor < Factor::cholesky) DLT_TRY(copy_matrices(call, type, copied, p, context));
  return launch_teams(call, form, worker, stream, p);
}

Status read_info(const FactorCall& call, const Scratch& info, Stream& stream) noexcept {
  const std::unique_ptr<int32_t[]> read(new (std::nothrow) int32_t[static_cast<size_t>(call.count)]);
  if (!read)
    return fail(Fault::memory, "linalg: no host memory for what became of %lld matrices", static_cast<long long>(call.count));
  const Elements all(info.as<void>(), stream, type_int32, {call.count}, {1});
  DLT_TRY(to_host(read.get(), all.operand(info.block), stream));
  for (int64_t i = 0; i < call.count; ++i) call.info[i] = read[static_cast<size_t>(i)] != 0;
  return success;
}

}  // namespace

Status copy_matrices(const FactorCall& call, int type, Scratch& copied, kernels::Matrices& p,
                     const LaunchContext& context) noexcept {
  const int64_t size = call.count * call.m * call.n, bytes = type_table[type].bytes;
  const int64_t pivots = call.factor == Factor::determinant ? call.count * (call.n + 1) : 0;
  DLT_TRY(copied.make(static_cast<uint64_t>((size + pivots) * bytes), *context.stream));
  const Elements from(p.a, *context.stream, type, {size}, {1}), to(copied.as<void>(), *context.stream, type, {size}, {1});
  DLT_TRY(copy(from.operand(nullptr), to.operand(copied.block), context));
  p.a = copied.as<void>();
  if (pivots) p.third = copied.as<char>() + size * bytes;
  return success;
}

Status launch_pivots(int type, Stream& stream, kernels::Matrices& p) noexcept {
  Kernel kernel;
  DLT_TRY(find(*stream.device, Kind::determinant_of, Factor::determinant, form_of(type), 0, &kernel));
  return launch_kernel(*stream.device, kernel, blocks_for(*stream.device, kernel, (p.count + 127) / 128, 128), stream, &p);
}

Status launch_upper(int type, Stream& stream, kernels::Matrices& p) noexcept {
  Kernel kernel;
  DLT_TRY(find(*stream.device, Kind::upper_of, Factor::qr, form_of(type), 0, &kernel));
  const uint64_t elements = p.count * static_cast<uint64_t>(p.k) * static_cast<uint64_t>(p.n);
  return launch_kernel(*stream.device, kernel, blocks_for(*stream.device, kernel, (elements + 255) / 256, 256), stream, &p);
}

Status factor(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
              const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  if (call.waits) DLT_TRY(refuse_capture(name_of(call), stream));
  if (call.factor == Factor::cholesky) DLT_TRY(copy(a, *out, context));
  Scratch info;
  DLT_TRY(info.make(static_cast<uint64_t>(call.count) * sizeof(int32_t), stream));
  DLT_TRY(enqueue(call, a, out, second, third, info, context));
  memset(call.info, 0, static_cast<size_t>(call.count));
  return call.waits ? read_info(call, info, stream) : success;
}

}  // namespace dlt::cuda
