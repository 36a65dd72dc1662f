// SPDX-License-Identifier: Apache-2.0
// The part of cuBLAS that we call, as plain loops enqueued on a stream of the host driver. Built as a library of its
// own, as the real one is. Column-major; sums in double and rounds once, so it is an oracle and no speed test.
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "native/cuda/abi.h"

#define HOSTCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace dlt::cuda {

struct cublasHandleStruct {
  CUstream stream = nullptr;
  void* workspace = nullptr;
};

namespace {

double load(const void* data, int type, int64_t at) {
  switch (type) {
    case kBlasR32F: return static_cast<const float*>(data)[at];
    case kBlasR64F: return static_cast<const double*>(data)[at];
    case kBlasR16F: {
      _Float16 value;
      memcpy(&value, static_cast<const uint16_t*>(data) + at, sizeof value);
      return static_cast<double>(value);
    }
    default: {
      const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
      float value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
  }
}

void store(void* data, int type, int64_t at, double value) {
  switch (type) {
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
  double alpha, beta;
  const void *a, *b;
  void* c;
  int64_t stride_a, stride_b, stride_c;
};

void run(void* data) {
  const Job* j = static_cast<Job*>(data);
  for (int64_t batch = 0; batch < j->batch; ++batch)
    for (int64_t column = 0; column < j->n; ++column)
      for (int64_t row = 0; row < j->m; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < j->k; ++i) {
          const int64_t at_a = j->transpose_a ? i + row * j->lda : row + i * j->lda;
          const int64_t at_b = j->transpose_b ? column + i * j->ldb : i + column * j->ldb;
          sum += load(j->a, j->type_a, batch * j->stride_a + at_a) * load(j->b, j->type_b, batch * j->stride_b + at_b);
        }
        const int64_t at = batch * j->stride_c + row + column * j->ldc;
        const double old = j->beta != 0 ? j->beta * load(j->c, j->type_c, at) : 0;  // beta 0 must not read c
        store(j->c, j->type_c, at, j->alpha * sum + old);
      }
  delete j;
}

constexpr int invalid_value = 7, execution_failed = 13, success = 0;

int enqueue(CUstream stream, Job* job) {
  using Launch = int (*)(CUstream, CUhostFn, void*);
  static const auto launch = reinterpret_cast<Launch>(dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuLaunchHostFunc"));
  if (launch && launch(stream, run, job) == 0) return success;
  delete job;
  return execution_failed;
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
  return success;
}
HOSTCUDA_EXPORT int cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t) {
  if (reinterpret_cast<uintptr_t>(workspace) % 256) return invalid_value;
  handle->workspace = workspace;
  return success;
}
HOSTCUDA_EXPORT int cublasGemmStridedBatchedEx(cublasHandle_t handle, int transpose_a, int transpose_b, int m, int n,
                                               int k, const void* alpha, const void* a, int type_a, int lda,
                                               long long stride_a, const void* b, int type_b, int ldb,
                                               long long stride_b, const void* beta, void* c, int type_c, int ldc,
                                               long long stride_c, int batch, int compute, int) {
  const auto at_least = [](int x) { return x > 1 ? x : 1; };
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < at_least(transpose_a ? k : m) ||
      ldb < at_least(transpose_b ? n : k) || ldc < at_least(m))
    return invalid_value;
  const bool wide = compute == kBlasCompute64F;
  return enqueue(handle->stream,
                 new Job{transpose_a != 0, transpose_b != 0, m, n, k, type_a, type_b, type_c, lda, ldb, ldc, batch,
                         wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha),
                         wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta), a, b, c, stride_a,
                         stride_b, stride_c});
}
