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

// An element of float8 of so many exponent bits, whose largest exponent is that of infinity or, without one, of numbers but for NaN.
double float8(uint8_t code, int exponent_bits, bool has_infinity) {
  const int mantissa_bits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = code >> mantissa_bits & top, mantissa = code & ((1 << mantissa_bits) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (has_infinity && exponent == top) return mantissa ? NAN : sign * INFINITY;
  if (!has_infinity && (code & 0x7f) == 0x7f) return NAN;
  return sign * std::ldexp(mantissa + (exponent ? 1 << mantissa_bits : 0), (exponent ? exponent : 1) - bias - mantissa_bits);
}

Number load(const void* data, int type, int64_t at) {
  switch (type) {
    case kBlasE4M3: return float8(static_cast<const uint8_t*>(data)[at], 4, false);
    case kBlasE5M2: return float8(static_cast<const uint8_t*>(data)[at], 5, true);
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
  const float* scale = nullptr;  // of the product
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
        store(j->c, j->type_c, at, times(j->alpha, sum) * double(j->scale ? *j->scale : 1) + old);
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

// ---- cuBLASLt: products of float8, of A that is transposed, of B that is not

namespace dlt::cuda {
struct cublasLtMatmulDescOpaque {
  int compute, factors, transpose_a = 0, transpose_b = 0;
  const float* scale = nullptr;
};
struct cublasLtMatrixLayoutOpaque {
  int type;
  uint64_t rows, columns;
  int64_t lead;
};
struct cublasLtMatmulPreferenceOpaque {
  uint64_t workspace_bytes = 0;
};

namespace {
bool is_float8(int type) { return type == kBlasE4M3 || type == kBlasE5M2; }

// The rules of float8 on devices of capability 8.9 and 9.0.
bool takes(const cublasLtMatmulDescOpaque& call, const cublasLtMatrixLayoutOpaque& a, const cublasLtMatrixLayoutOpaque& b,
           const cublasLtMatrixLayoutOpaque& d) {
  const bool types = is_float8(a.type) && is_float8(b.type) && (a.type == kBlasE4M3 || b.type == kBlasE4M3) &&
                     (d.type == kBlasR16F || d.type == kBlasR16BF || d.type == kBlasR32F);
  const uint64_t bytes = d.type == kBlasR32F ? 4 : 2;
  return types && call.compute == kBlasCompute32F && call.factors == kBlasR32F && call.transpose_a == kBlasTranspose &&
         call.transpose_b == kBlasNoTranspose && a.rows == b.rows && a.columns == d.rows && b.columns == d.columns &&
         a.rows % 16 == 0 && a.lead % 16 == 0 && b.lead % 16 == 0 && d.rows * bytes % 16 == 0 &&
         static_cast<uint64_t>(d.lead) * bytes % 16 == 0 && a.lead >= static_cast<int64_t>(a.rows) &&
         b.lead >= static_cast<int64_t>(b.rows) && d.lead >= static_cast<int64_t>(d.rows);
}
}  // namespace
}  // namespace dlt::cuda

HOSTCUDA_EXPORT int cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, int compute, int factors) {
  *description = new cublasLtMatmulDescOpaque{compute, factors};
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, int attribute, const void* value,
                                                   size_t bytes) {
  switch (attribute) {
    case kLtTransposeA:
    case kLtTransposeB:
      if (bytes != sizeof(int)) return invalid_value;
      memcpy(attribute == kLtTransposeA ? &description->transpose_a : &description->transpose_b, value, bytes);
      return success;
    case kLtScaleOfB:
      if (bytes != sizeof description->scale) return invalid_value;
      memcpy(&description->scale, value, bytes);
      return success;
    default: return invalid_value;
  }
}
HOSTCUDA_EXPORT int cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, int type, uint64_t rows, uint64_t columns,
                                               int64_t lead) {
  *layout = new cublasLtMatrixLayoutOpaque{type, rows, columns, lead};
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque;
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference, int attribute,
                                                         const void* value, size_t bytes) {
  if (attribute != kLtWorkspaceBytes || bytes != sizeof preference->workspace_bytes) return invalid_value;
  memcpy(&preference->workspace_bytes, value, bytes);
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmulAlgoGetHeuristic(cublasHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a,
                                                   cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                                   cublasLtMatmulPreference_t preference, int wanted,
                                                   cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (wanted < 1 || !takes(*description, *a, *b, *d)) return kBlasNotSupported;
  results[0] = {};
  results[0].algo.data[0] = 89;
  results[0].workspaceSize = preference->workspace_bytes;
  *found = 1;
  return success;
}
HOSTCUDA_EXPORT int cublasLtMatmul(cublasHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                                   cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b,
                                   const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                                   cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                   size_t workspace_bytes, CUstream stream) {
  const auto is_aligned = [](const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; };
  if (!handle || !takes(*description, *layout_a, *layout_b, *layout_d)) return kBlasNotSupported;
  if (!algorithm || algorithm->data[0] != 89 || !is_aligned(a) || !is_aligned(b) || !is_aligned(d) || c != d ||
      reinterpret_cast<uintptr_t>(workspace) % 256)
    return invalid_value;
  const auto side = [](uint64_t extent) { return static_cast<int>(extent); };
  // clang-format off
  const Job job = {true, false, side(layout_d->rows), side(layout_d->columns), side(layout_a->rows), layout_a->type, layout_b->type,
                   layout_d->type, side(static_cast<uint64_t>(layout_a->lead)), side(static_cast<uint64_t>(layout_b->lead)),
                   side(static_cast<uint64_t>(layout_d->lead)), 1, false, load(alpha, kBlasR32F, 0), load(beta, kBlasR32F, 0), a, b, d,
                   0, 0, 0, workspace, workspace_bytes, false, description->scale};
  // clang-format on
  return enqueue_work(stream, [job] { run(&job); }) ? success : execution_failed;
}
