// SPDX-License-Identifier: Apache-2.0
// cuBLAS for the functions that the package calls: plain loops. Column-major. Sums are in double and rounded once, so that
// results are reference values.
#include <cmath>

#include "library.h"

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
    case kBlasR8I: return static_cast<const int8_t*>(data)[at];
    case kBlasR32I: return static_cast<const int32_t*>(data)[at];
    case kBlasR16F: {
      _Float16 value;
      memcpy(&value, static_cast<const uint16_t*>(data) + at, sizeof value);
      return double(value);
    }
    case kBlasR16BF: {
      const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
      float value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
    default: return load_element<Number>(data, type, at);
  }
}

void store(void* data, int type, int64_t at, Number number) {
  const float single = static_cast<float>(number.real());
  switch (type) {
    case kBlasR32I: static_cast<int32_t*>(data)[at] = static_cast<int32_t>(number.real()); return;
    case kBlasR16F: {
      const auto half = static_cast<_Float16>(single);
      memcpy(static_cast<uint16_t*>(data) + at, &half, sizeof half);
      return;
    }
    case kBlasR16BF: {
      uint32_t bits;
      memcpy(&bits, &single, sizeof bits);
      bits = single == single ? bits + 0x7fff + ((bits >> 16) & 1) : 0x7fc00000u;
      static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(bits >> 16);
      return;
    }
    default: store_element(data, type, at, number);
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

// Round to TF32's 10 bits, half away from zero, as tensor cores do.
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

// Multiply without the handling of infinities of std::complex, as cuBLAS does.
Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

constexpr size_t scribbled = 1 << 16;

void run(const Job* j) {
  // cuBLAS may write any bytes to its workspace.
  memset(j->workspace, 0xab, j->workspace_bytes < scribbled ? j->workspace_bytes : scribbled);
  Number part;
  for (int64_t batch = 0; batch < j->batch; ++batch)
    for (int64_t column = 0; column < j->n; ++column)
      for (int64_t row = 0; row < j->m; ++row) {
        Number sum = 0;
        for (int64_t i = 0; i < j->k; ++i) {
          // Unless forbidden, cuBLAS may split a sum of halves and round its parts.
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
  const auto in_words = [&](const void* data, int leading, long long stride) {
    return reinterpret_cast<uintptr_t>(data) % 4 == 0 && leading % 4 == 0 && (batch < 2 || stride % 4 == 0);
  };
  const bool whole = compute == kBlasCompute32I, bytes = type_a == kBlasR8I && type_b == kBlasR8I && type_c == kBlasR32I;
  if (whole != bytes || (whole && !(in_words(a, lda, stride_a) && in_words(b, ldb, stride_b)))) return kBlasNotSupported;
  const bool complex = type_c == kBlasC32F || type_c == kBlasC64F;
  const int factor = whole                        ? kBlasR32I
                     : compute == kBlasCompute64F ? (complex ? kBlasC64F : kBlasR64F)
                     : complex                    ? kBlasC32F
                                                  : kBlasR32F;
  const bool may_round = (type_c == kBlasR16F || type_c == kBlasR16BF) && !(handle->math_mode & kBlasDisallowReducedPrecision);
  const bool tf32 = compute == kBlasCompute32FFastTF32;
  // clang-format off
  const Job job = {transpose_a != 0, transpose_b != 0, m, n, k, type_a, type_b, type_c, lda, ldb, ldc, batch, tf32,
                   load(alpha, factor, 0), load(beta, factor, 0), a, b, c, stride_a, stride_b, stride_c,
                   handle->workspace, handle->workspace_bytes, may_round};
  // clang-format on
  return enqueue_work(handle->stream, [job] { run(&job); }) ? success : execution_failed;
}
