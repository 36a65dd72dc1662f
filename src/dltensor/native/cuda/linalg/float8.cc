// SPDX-License-Identifier: Apache-2.0
// Products of float8 on tensor cores, by cuBLASLt: descriptions of a call, and an algorithm that it proposes.
#include "native/cuda/linalg/float8.h"

#include "native/cuda/linalg/blas_handle.h"

namespace dlt::cuda {
namespace {

constexpr int64_t step_bytes = 16;  // of sides and addresses

#define DLT_LIGHT(call) DLT_TRY(check_blas(cublas.call, #call))

// Descriptions of a call, until it is enqueued.
struct Description {
  cublasLtMatmulDesc_t call = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() {
    if (call) cublas.cublasLtMatmulDescDestroy(call);
    for (const cublasLtMatrixLayout_t layout : {a, b, d})
      if (layout) cublas.cublasLtMatrixLayoutDestroy(layout);
    if (preference) cublas.cublasLtMatmulPreferenceDestroy(preference);
  }

  Status make(const Float8Product& p) noexcept {
    const int transposed = kBlasTranspose, plain = kBlasNoTranspose;
    DLT_LIGHT(cublasLtMatmulDescCreate(&call, kBlasCompute32F, kBlasR32F));
    DLT_LIGHT(cublasLtMatmulDescSetAttribute(call, kLtTransposeA, &transposed, sizeof transposed));
    DLT_LIGHT(cublasLtMatmulDescSetAttribute(call, kLtTransposeB, &plain, sizeof plain));
    if (p.scale) DLT_LIGHT(cublasLtMatmulDescSetAttribute(call, kLtScaleOfB, &p.scale, sizeof p.scale));
    DLT_LIGHT(cublasLtMatrixLayoutCreate(&a, p.type_a, static_cast<uint64_t>(p.k), static_cast<uint64_t>(p.m), p.lead_a));
    DLT_LIGHT(cublasLtMatrixLayoutCreate(&b, p.type_b, static_cast<uint64_t>(p.k), static_cast<uint64_t>(p.n), p.lead_b));
    DLT_LIGHT(cublasLtMatrixLayoutCreate(&d, p.type_d, static_cast<uint64_t>(p.m), static_cast<uint64_t>(p.n), p.lead_d));
    DLT_LIGHT(cublasLtMatmulPreferenceCreate(&preference));
    const uint64_t most = workspace_bytes;
    DLT_LIGHT(cublasLtMatmulPreferenceSetAttribute(preference, kLtWorkspaceBytes, &most, sizeof most));
    return success;
  }
};

}  // namespace

bool has_float8_cores(const Device& device, int type_a, int type_b) noexcept {
  const int capability = device.properties.major * 10 + device.properties.minor;
  return capability >= 89 && cublas.cublasLtMatmul && cublas.cublasLtMatmulAlgoGetHeuristic &&
         (type_a != kBlasE5M2 || type_b != kBlasE5M2);
}

bool is_in_steps(const Float8Product& p) noexcept {
  const uint64_t all = reinterpret_cast<uintptr_t>(p.a) | reinterpret_cast<uintptr_t>(p.b) | reinterpret_cast<uintptr_t>(p.d) |
                       static_cast<uint64_t>(p.k | p.lead_a | p.lead_b | p.m * p.bytes | p.lead_d * p.bytes);
  return p.k > 0 && all % step_bytes == 0;
}

Status multiply_float8(const Float8Product& p, Stream& stream, bool* done) noexcept {
  Current current(*stream.device);
  LockedBlas blas;
  DLT_TRY(blas.take(stream));
  Description description;
  DLT_TRY(description.make(p));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const auto result = cublas.cublasLtMatmulAlgoGetHeuristic(blas.handle(), description.call, description.a, description.b,
                                                            description.d, description.d, description.preference, 1, &found,
                                                            &count);
  *done = result == 0 && count > 0;
  if (!*done)
    return result == 0 || result == kBlasNotSupported ? success : check_blas(result, "cublasLtMatmulAlgoGetHeuristic");
  const float zero = 0;
  DLT_LIGHT(cublasLtMatmul(blas.handle(), description.call, p.alpha, p.a, description.a, p.b, description.b, &zero, p.d,
                           description.d, p.d, description.d, &found.algo, blas.workspace(), workspace_bytes, stream.handle));
  stream.count_work();
  return success;
}

}  // namespace dlt::cuda
