// SPDX-License-Identifier: Apache-2.0
// Batches of matrices on a device: small ones by a thread each, larger ones by a block each, or by cuSOLVER.
#include <algorithm>
#include <memory>
#include <new>

#include "native/cuda/linalg/matrices_parts.h"
#include "native/cuda/copy/transfer.h"

namespace dlt::cuda {
namespace {

constexpr int64_t small_side = 8, block_side = 32;  // a block's, even where there is a library
constexpr const char* names[] = {"solve", "inverse", "determinant", "cholesky", "qr", "eigh", "svd"};

void* data_of(const Operand* operand) noexcept {
  return operand ? reinterpret_cast<void*>(address(*operand->tensor)) : nullptr;
}

// Sides whose loops are unrolled, as on the CPU; elsewhere 0.
int unrolled(const FactorCall& call, bool complex) noexcept {
  return !complex && call.factor <= Factor::cholesky && call.n >= 2 && call.n <= 4 ? static_cast<int>(call.n) : 0;
}

Status find(Device& device, const FactorCall& call, bool complex, bool wide, const char* kind, int n, Kernel* kernel) noexcept {
  // The kinds differ in length.
  const uint64_t number = static_cast<uint64_t>(call.factor) << 10 | strlen(kind) << 5 |
                          static_cast<uint64_t>(n << 2 | complex << 1 | wide);
  return family_kernel(
      device, Family::matrices, number, "native/cuda/kernels/linalg/matrices.cuh",
      [&] {
        const Factor factor = *kind && call.factor == Factor::inverse ? Factor::solve : call.factor;
        return std::string("matrices::") + names[static_cast<int>(factor)] + kind + (wide ? "<double, " : "<float, ") +
               (complex ? "2, " : "1, ") + std::to_string(n) + ">";
      },
      kernel);
}

// A thread of 128 a matrix, or a block of 256.
Status launch(const FactorCall& call, bool complex, bool wide, const char* kind, bool small, Stream& stream,
              kernels::Matrices& p) noexcept {
  Device& device = *stream.device;
  Kernel kernel;
  DLT_TRY(find(device, call, complex, wide, kind, small && !*kind ? unrolled(call, complex) : 0, &kernel));
  const unsigned threads = small ? 128 : 256;
  const uint64_t blocks = small ? (p.count + threads - 1) / threads : p.count;
  return launch_kernel(device, kernel, blocks_for(device, kernel, blocks, threads), stream, &p);
}

// Elements in memory, of these steps.
struct Elements {
  int64_t shape[3], strides[3];
  DLTensor tensor;
  Elements(void* data, Stream& stream, int type, int dims, std::initializer_list<int64_t> sizes,
           std::initializer_list<int64_t> steps)
      : tensor{data, {kDLCUDA, stream.device->ordinal}, dims, type_table[type].dtype, shape, strides, 0} {
    std::copy(sizes.begin(), sizes.end(), shape);
    std::copy(steps.begin(), steps.end(), strides);
  }
  Operand operand(Block* block) const { return {&tensor, block}; }
};

// Memory that the kernel of larger matrices writes to: a copy of the matrices, and the pivots of determinants.
Status copy_matrices(const FactorCall& call, int type, Scratch& copied, kernels::Matrices& p,
                     const LaunchContext& context) noexcept {
  const auto bytes = static_cast<uint64_t>(type_table[type].bytes);
  const uint64_t matrices = p.count * static_cast<uint64_t>(call.m * call.n) * bytes;
  const uint64_t pivots = call.factor == Factor::determinant ? p.count * static_cast<uint64_t>(call.n + 1) * bytes : 0;
  DLT_TRY(copied.make(matrices + pivots, *context.stream));
  const int64_t size = static_cast<int64_t>(matrices / bytes);
  const Elements from(p.a, *context.stream, type, 1, {size}, {1}), to(copied.as<void>(), *context.stream, type, 1, {size}, {1});
  DLT_TRY(copy(from.operand(nullptr), to.operand(copied.block), context));
  p.a = copied.as<void>();
  if (pivots) p.third = copied.as<char>() + matrices;
  return success;
}

void store_one(int type, void* element) noexcept {
  const double wide = 1;
  const float narrow = 1;
  if (type == type_float64 || type == type_complex128) memcpy(element, &wide, sizeof wide);
  else memcpy(element, &narrow, sizeof narrow);
}

// By cuSOLVER, which sees matrices transposed.
Status run_library(const FactorCall& call, int type, kernels::Matrices& p, const Operand* out, const Operand* second,
                   const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  const int64_t n = call.n, k = call.k, all = call.count * call.m * n;
  Scratch copied, turned;
  if (call.factor == Factor::eigh && second) {
    const Elements from(p.a, stream, type, 1, {all}, {1}), to(p.second, stream, type, 1, {all}, {1});
    DLT_TRY(copy(from.operand(nullptr), to.operand(second->block), context));
  } else if (call.factor != Factor::cholesky && call.factor != Factor::qr) {
    DLT_TRY(copy_matrices(call, type, copied, p, context));
  }
  if (call.factor == Factor::inverse) {
    unsigned char one[16] = {}, zero[16] = {};
    store_one(type, one);
    const Elements whole(p.out, stream, type, 1, {all}, {1}), diagonal(p.out, stream, type, 2, {call.count, n}, {n * n, n + 1});
    DLT_TRY(fill(zero, whole.operand(out->block), context));
    DLT_TRY(fill(one, diagonal.operand(out->block), context));
  }
  if (call.factor != Factor::solve) return factor_by_library(call, type, p, stream);
  DLT_TRY(turned.make(static_cast<uint64_t>(call.count * n * k * type_table[type].bytes), stream));
  const Elements rows(p.out, stream, type, 3, {call.count, n, k}, {n * k, k, 1});
  const Elements columns(turned.as<void>(), stream, type, 3, {call.count, n, k}, {n * k, 1, n});
  DLT_TRY(copy(rows.operand(out->block), columns.operand(turned.block), context));
  p.out = turned.as<void>();
  DLT_TRY(factor_by_library(call, type, p, stream));
  return copy(columns.operand(turned.block), rows.operand(out->block), context);
}

// `info` of each matrix becomes other than 0 where it is singular, not positive definite or did not converge.
Status enqueue(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
               const Scratch& info, const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  int type;
  DLT_TRY(type_of("linalg", *a.tensor, &type));
  const bool small = std::max({call.m, call.n, call.factor == Factor::solve ? call.k : 0}) <= small_side;
  const char* const name = names[static_cast<int>(call.factor)];
  const bool library = !small && (call.factor > Factor::cholesky || (call.n > block_side && load_cusolver().ok()));
  if (library) {
    DLT_TRY(load_cusolver());
    DLT_TRY(refuse_capture(name, stream));  // not all of its calls can be captured
  }
  if (std::max({call.m, call.n, call.k}) > INT32_MAX / 2)
    return fail(Fault::value, "%s: a device takes at most %d rows and columns, got %lld x %lld; move x with .to(\"cpu\")", name,
                INT32_MAX / 2, static_cast<long long>(call.m), static_cast<long long>(std::max(call.n, call.k)));
  kernels::Matrices p{};
  p.a = data_of(&a), p.out = data_of(out), p.second = data_of(second), p.third = data_of(third);
  p.info = info.as<int32_t>();
  p.count = static_cast<uint64_t>(call.count);
  p.m = static_cast<int>(call.m), p.n = static_cast<int>(call.n), p.k = static_cast<int>(call.k);
  p.flag = call.flag;
  DLT_TRY(use(a.block, stream, false));
  for (const Operand* each : {out, second, third})
    if (each) DLT_TRY(use(each->block, stream, true));
  const bool complex = type == type_complex64 || type == type_complex128,
             wide = type == type_float64 || type == type_complex128;
  if (small) return launch(call, complex, wide, "", true, stream, p);
  if (library) return run_library(call, type, p, out, second, context);
  Scratch copied;
  if (call.factor == Factor::inverse) p.k = p.n, p.flag = 1;
  if (call.factor != Factor::cholesky) DLT_TRY(copy_matrices(call, type, copied, p, context));
  return launch(call, complex, wide, "_large", false, stream, p);
}

Status read_info(const FactorCall& call, const Scratch& info, Stream& stream) noexcept {
  const std::unique_ptr<int32_t[]> read(new (std::nothrow) int32_t[static_cast<size_t>(call.count)]);
  if (!read)
    return fail(Fault::memory, "linalg: no host memory for what became of %lld matrices", static_cast<long long>(call.count));
  const Elements all(info.as<void>(), stream, type_int32, 1, {call.count}, {1});
  DLT_TRY(to_host(read.get(), all.operand(info.block), stream));
  for (int64_t i = 0; i < call.count; ++i) call.info[i] = read[static_cast<size_t>(i)] != 0;
  return success;
}

}  // namespace

Status launch_pivots(const FactorCall& call, bool complex, bool wide, Stream& stream, kernels::Matrices& p) noexcept {
  return launch(call, complex, wide, "_of", true, stream, p);
}

Status factor(const FactorCall& call, const Operand& a, const Operand* out, const Operand* second, const Operand* third,
              const LaunchContext& context) noexcept {
  Stream& stream = *context.stream;
  const char* const name = names[static_cast<int>(call.factor)];
  if (call.waits) DLT_TRY(refuse_capture(name, stream));
  if (call.factor == Factor::cholesky) DLT_TRY(copy(a, *out, context));
  Scratch info;
  DLT_TRY(info.make(static_cast<uint64_t>(call.count) * sizeof(int32_t), stream));
  DLT_TRY(enqueue(call, a, out, second, third, info, context));
  memset(call.info, 0, static_cast<size_t>(call.count));
  return call.waits ? read_info(call, info, stream) : success;
}

}  // namespace dlt::cuda
