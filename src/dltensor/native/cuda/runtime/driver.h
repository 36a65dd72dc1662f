// SPDX-License-Identifier: Apache-2.0
// The tables of foreign functions (driver, NVRTC, cuBLAS, cuFFT, cuSOLVER), filled by dlopen at first use and never before.
// Devices and memory are handled elsewhere.
#pragma once
#include <string>

#include "native/cuda/runtime/abi.h"
#include "native/status.h"

namespace dlt::cuda {

enum class Library : int { driver, nvrtc, cublas, cufft, cusolver };

#define DLT_CUDA_MEMBER(need, name, parameters) int(*name) parameters = nullptr;
struct DriverTable {
  DLT_CUDA_DRIVER_FUNCTIONS(DLT_CUDA_MEMBER)
  void* handle = nullptr;
  int version = 0;  // 13000 for CUDA 13.0
  // True if this is our test driver that runs kernels on the host: it accepts kernels as source when there is no NVRTC.
  bool takes_source = false;
  const char* (*compiler_log)() = nullptr;  // of that driver: what its compiler said last
};
struct NvrtcTable {
  DLT_CUDA_NVRTC_FUNCTIONS(DLT_CUDA_MEMBER)
  void* handle = nullptr;
  int major = 0, minor = 0;
  int archs[64] = {};
  int arch_count = 0;
};
struct CublasTable {
  DLT_CUDA_CUBLAS_FUNCTIONS(DLT_CUDA_MEMBER)
  DLT_CUDA_CUBLASLT_FUNCTIONS(DLT_CUDA_MEMBER)
  void* handle = nullptr;
};
struct CufftTable {
  DLT_CUDA_CUFFT_FUNCTIONS(DLT_CUDA_MEMBER)
  DLT_CUDA_CUFFT_TRANSFORMS(DLT_CUDA_MEMBER)
  void* handle = nullptr;
};
struct CusolverTable {
  DLT_CUDA_CUSOLVER_FUNCTIONS(DLT_CUDA_MEMBER)
  DLT_CUDA_CUSOLVER_ORTHOGONAL_ROWS(DLT_CUDA_MEMBER)
  void* handle = nullptr;
};
#undef DLT_CUDA_MEMBER

// A path to try before our own search, as found by Python (cuda-pathfinder, site-packages); null forgets them all. Of
// several, those of the driver's own major version come first, then older ones, then newer ones. Has no effect once the
// library is loaded. Environment variables win over it: DLTENSOR_CUDA_DRIVER, DLTENSOR_CUDA_NVRTC,
// DLTENSOR_CUDA_CUBLAS, DLTENSOR_CUDA_CUFFT,
// DLTENSOR_CUDA_CUSOLVER; each is a path, or "off".
DLT_API Status set_library_path(Library library, const char* path) noexcept;

// Loads at the first call and caches the result, success or failure. The message of a failure names the library,
// every name that was tried with the reason it failed, and the remedy.
DLT_API Status load_driver() noexcept;  // also cuInit
DLT_API Status load_nvrtc() noexcept;
DLT_API Status load_cublas() noexcept;
DLT_API Status load_cufft() noexcept;
DLT_API Status load_cusolver() noexcept;

// After load_driver() failed: whether there is nothing to load, that is no driver library, or no device for it.
bool driver_is_absent() noexcept;

// The path of the library, or "". For `dltensor info`.
DLT_API const char* library_path(Library library) noexcept;

// The path that load_*() would try first, or "" where that is left to the system's loader or disabled. Loads nothing.
std::string expected_path(Library library);

// Valid after the matching load_*() succeeded.
extern DriverTable driver;
extern NvrtcTable nvrtc;
extern CublasTable cublas;
extern CufftTable cufft;
extern CusolverTable cusolver;

// Turns a driver result into a status: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; <hint>".
Status check_slow(CUresult result, const char* call) noexcept;
inline Status check(CUresult result, const char* call) noexcept {
  return result == kSuccess ? success : check_slow(result, call);
}

// `DLT_CU(cuEventRecord(event, stream))`: calls through the table and propagates a failure with the function's name.
#define DLT_CU(call) DLT_TRY(::dlt::cuda::check(::dlt::cuda::driver.call, #call))

}  // namespace dlt::cuda
