// SPDX-License-Identifier: Apache-2.0
// The part of cuBLAS that we call, as plain loops enqueued on a stream of the host driver. Built as a library of its
// own, as the real one is. Column-major; sums in double and rounds once, so it is an oracle and no speed test.
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <cmath>
#include <complex>
#include <memory>
#include <mutex>
#include <vector>

#include "native/cuda/runtime/abi.h"

#define HOSTCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace dlt::cuda {

struct cublasHandleStruct {
  CUstream stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  int math_mode = 0;
};

namespace {

using Number = std::complex<double>;

Number load(const void* data, int type, int64_t at) {
  switch (type) {
    case kBlasC32F: return Number(static_cast<const std::complex<float>*>(data)[at]);
    case kBlasC64F: return static_cast<const Number*>(data)[at];
    case kBlasR32F: return static_cast<const float*>(data)[at];
    case kBlasR64F: return static_cast<const double*>(data)[at];
    case kBlasR16F: {
      _Float16 value;
      memcpy(&value, static_cast<const uint16_t*>(data) + at, sizeof value);
      return double(value);
    }
    default: {
      const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
      float value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
  }
}

void store(void* data, int type, int64_t at, Number number) {
  const double value = number.real();
  switch (type) {
    case kBlasC32F: static_cast<std::complex<float>*>(data)[at] = std::complex<float>(number); return;
    case kBlasC64F: static_cast<Number*>(data)[at] = number; return;
    case kBlasR32F: static_cast<float*>(data)[at] = static_cast<float>(value); return;
    case kBlasR64F: static_cast<double*>(data)[at] = value; return;
    case kBlasR16F: {
      const auto half = static_cast<_Float16>(static_cast<float>(value));
      memcpy(static_cast<uint16_t*>(data) + at, &half, sizeof half);
      return;
    }
    default: {
      const float single = static_cast<float>(value);
      uint32_t bits;
      memcpy(&bits, &single, sizeof bits);
      bits = single == single ? bits + 0x7fff + ((bits >> 16) & 1) : 0x7fc00000u;
      static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(bits >> 16);
    }
  }
}

struct Job {
  bool transpose_a, transpose_b;
  int m, n, k, type_a, type_b, type_c, lda, ldb, ldc, batch;
  bool tf32;
  Number alpha, beta;
  const void *a, *b;
  void* c;
  int64_t stride_a, stride_b, stride_c;
  void* workspace;
  size_t workspace_bytes;
  bool reduced;  // sums of halves may be rounded on the way
};

// To TF32's 10 bits, half away from zero, as the tensor cores' own conversion does.
double rounded(double value, bool tf32) {
  const float single = static_cast<float>(value);
  if (!tf32 || !std::isfinite(single)) return value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  bits = (bits + 0x1000u) & ~0x1fffu;
  float kept;
  memcpy(&kept, &bits, sizeof kept);
  return kept;
}
Number rounded(Number value, bool tf32) { return {rounded(value.real(), tf32), rounded(value.imag(), tf32)}; }

// The terms one by one: std::complex's own product looks for infinities, which cuBLAS does not.
Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

constexpr size_t scribbled = 1 << 16;

void run(void* data) {
  const Job* j = static_cast<Job*>(data);
  // The real one writes there what it likes.
  memset(j->workspace, 0xab, j->workspace_bytes < scribbled ? j->workspace_bytes : scribbled);
  Number part;
  for (int64_t batch = 0; batch < j->batch; ++batch)
    for (int64_t column = 0; column < j->n; ++column)
      for (int64_t row = 0; row < j->m; ++row) {
        Number sum = 0;
        for (int64_t i = 0; i < j->k; ++i) {
          // Unless forbidden, the real one may split a sum of halves and round its parts.
          if (j->reduced && i == j->k / 2) store(&part, j->type_c, 0, sum), sum = load(&part, j->type_c, 0);
          const int64_t at_a = j->transpose_a ? i + row * j->lda : row + i * j->lda;
          const int64_t at_b = j->transpose_b ? column + i * j->ldb : i + column * j->ldb;
          sum += times(rounded(load(j->a, j->type_a, batch * j->stride_a + at_a), j->tf32),
                       rounded(load(j->b, j->type_b, batch * j->stride_b + at_b), j->tf32));
        }
        const int64_t at = batch * j->stride_c + row + column * j->ldc;
        const Number old = j->beta != 0.0 ? times(j->beta, load(j->c, j->type_c, at)) : 0;  // beta 0 must not read c
        store(j->c, j->type_c, at, times(j->alpha, sum) + old);
      }
}

constexpr int invalid_value = 7, execution_failed = 13, success = 0;

// Jobs are kept: a graph runs them again whenever it is launched.
std::vector<std::unique_ptr<Job>> jobs;
std::mutex adding;

int enqueue(CUstream stream, Job* job) {
  using Launch = int (*)(CUstream, CUhostFn, void*);
  static const auto launch = reinterpret_cast<Launch>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuLaunchHostFunc"));
  std::lock_guard<std::mutex> hold(adding);
  jobs.emplace_back(job);
  return launch && launch(stream, run, job) == 0 ? success : execution_failed;
}

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_EXPORT int cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasHandleStruct;
  return success;
}
HOSTCUDA_EXPORT int cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return success;
}
HOSTCUDA_EXPORT int cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = 130000;
  return success;
}
HOSTCUDA_EXPORT int cublasSetStream_v2(cublasHandle_t handle, CUstream stream) {
  handle->stream = stream;
  handle->workspace = nullptr;  // setting a stream takes the workspace away
  handle->workspace_bytes = 0;
  return success;
}
HOSTCUDA_EXPORT int cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(workspace) % 256) return invalid_value;
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
  return success;
}
HOSTCUDA_EXPORT int cublasSetMathMode(cublasHandle_t handle, int mode) {
  handle->math_mode = mode;
  return success;
}
HOSTCUDA_EXPORT int cublasGemmStridedBatchedEx(cublasHandle_t handle, int transpose_a, int transpose_b, int m, int n, int k,
                                               const void* alpha, const void* a, int type_a, int lda, long long stride_a,
                                               const void* b, int type_b, int ldb, long long stride_b, const void* beta,
                                               void* c, int type_c, int ldc, long long stride_c, int batch, int compute, int) {
  const auto at_least = [](int x) { return x > 1 ? x : 1; };
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < at_least(transpose_a ? k : m) || ldb < at_least(transpose_b ? n : k) ||
      ldc < at_least(m))
    return invalid_value;
  const bool complex = type_c == kBlasC32F || type_c == kBlasC64F;
  const int factor = compute == kBlasCompute64F ? (complex ? kBlasC64F : kBlasR64F) : complex ? kBlasC32F : kBlasR32F;
  return enqueue(handle->stream, new Job{transpose_a != 0,
                                         transpose_b != 0,
                                         m,
                                         n,
                                         k,
                                         type_a,
                                         type_b,
                                         type_c,
                                         lda,
                                         ldb,
                                         ldc,
                                         batch,
                                         compute == kBlasCompute32FFastTF32,
                                         load(alpha, factor, 0),
                                         load(beta, factor, 0),
                                         a,
                                         b,
                                         c,
                                         stride_a,
                                         stride_b,
                                         stride_c,
                                         handle->workspace,
                                         handle->workspace_bytes,
                                         (type_c == kBlasR16F || type_c == kBlasR16BF) &&
                                             !(handle->math_mode & kBlasDisallowReducedPrecision)});
}
