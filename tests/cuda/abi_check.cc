// SPDX-License-Identifier: Apache-2.0
// Compares every row of native/cuda/runtime/abi.h with the original headers; compiling is the test. Nothing runs.
// The available originals are defined by ORIGINAL_DRIVER, ORIGINAL_NVRTC, ORIGINAL_CUBLAS, ORIGINAL_CUFFT, ORIGINAL_CUSOLVER.
#include <type_traits>

#define __CUDA_API_VERSION_INTERNAL  // all versions of a function under their own names
#ifdef ORIGINAL_DRIVER
#include <cuda.h>
#endif
#ifdef ORIGINAL_NVRTC
#include <nvrtc.h>
#endif
#ifdef ORIGINAL_CUBLAS
// The header adds C++ overloads, which hide the exported C function that we call: read it as C.
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <driver_types.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <library_types.h>
#pragma GCC diagnostic ignored "-Wbuiltin-macro-redefined"
#pragma push_macro("__cplusplus")
#undef __cplusplus
extern "C" {
#include <cublas_api.h>
#include <cublasLt.h>
}
#pragma pop_macro("__cplusplus")
#endif
#ifdef ORIGINAL_CUFFT
#include <cufft.h>
#endif
#ifdef ORIGINAL_CUSOLVER
#include <cusolverDn.h>
#endif

#include "native/cuda/runtime/abi.h"

namespace check {

// Class of a type in the calling convention: pointer, floating or integer, how wide, and for integers the sign.
template <class T>
constexpr int passed_as() {
  if constexpr (std::is_void_v<T>) return 0;
  else if constexpr (std::is_pointer_v<T>) return 1000;
  else if constexpr (std::is_floating_point_v<T>) return 2000 + sizeof(T);
  else if constexpr (std::is_enum_v<T>) return 3000 + sizeof(T);  // signedness of an enum is the compiler's choice
  else return 3000 + sizeof(T);
}

// One level down: `int*` against `size_t*` would pass as pointers and still be wrong.
template <class T>
constexpr int pointee() {
  using P = std::remove_pointer_t<T>;
  if constexpr (!std::is_pointer_v<T> || std::is_void_v<P> || std::is_function_v<P>) return 0;
  else if constexpr (std::is_arithmetic_v<P> || std::is_enum_v<P> || std::is_pointer_v<P>)
    return passed_as<std::remove_cv_t<P>>();
  else return 4000;  // a struct: compared on its own
}

template <class Ours, class Theirs>
struct parameter {
  static_assert(passed_as<Ours>() == passed_as<Theirs>(), "a parameter is passed differently");
  static_assert(pointee<Ours>() == pointee<Theirs>() || pointee<Ours>() == 0 || pointee<Theirs>() == 0 ||
                    pointee<Ours>() == 4000 || pointee<Theirs>() == 4000,
                "a pointer points to something of another size");
  // Operands that are read, and written: operands in another order mostly differ in it.
  static_assert(std::is_const_v<std::remove_pointer_t<Ours>> == std::is_const_v<std::remove_pointer_t<Theirs>>,
                "a pointer to const stands against one that is not");
  static constexpr bool same = true;
};

template <class Ours, class Theirs>
struct signature;
template <class R, class... A, class S, class... B>
struct signature<R (*)(A...), S (*)(B...)> {
  static_assert(sizeof...(A) == sizeof...(B), "another number of parameters");
  static_assert(passed_as<R>() == passed_as<S>(), "another result");
  static constexpr bool same = (parameter<A, B>::same && ...);
};

#define SAME_FUNCTION(need, name, parameters) static_assert(signature<int(*) parameters, decltype(&::name)>::same, #name);
#define SAME_CONSTANT(name, value, original) static_assert(static_cast<int>(original) == value, #original);

using namespace dlt::cuda;  // the parameter lists speak in our types

namespace ours {
using dlt::cuda::CUcontext;
using dlt::cuda::CUdevice;
using dlt::cuda::CUdeviceptr;
using dlt::cuda::CUevent;
using dlt::cuda::CUfunction;
using dlt::cuda::CUgraph;
using dlt::cuda::CUgraphExec;
using dlt::cuda::CUgraphNode;
using dlt::cuda::CUhostFn;
using dlt::cuda::CUmemAccessDesc;
using dlt::cuda::CUmemAllocationProp;
using dlt::cuda::CUmemHandle;
using dlt::cuda::CUmemLocation;
using dlt::cuda::CUmemoryPool;
using dlt::cuda::CUmemPoolProps;
using dlt::cuda::CUmodule;
using dlt::cuda::CUresult;
using dlt::cuda::CUstream;
using dlt::cuda::CUuserObject;
using dlt::cuda::CUuuid;
using dlt::cuda::cublasHandle_t;
using dlt::cuda::cublasLtMatmulAlgo_t;
using dlt::cuda::cublasLtMatmulDesc_t;
using dlt::cuda::cublasLtMatmulHeuristicResult_t;
using dlt::cuda::cublasLtMatmulPreference_t;
using dlt::cuda::cublasLtMatrixLayout_t;
using dlt::cuda::cufftHandle;
using dlt::cuda::cusolverDnHandle_t;
using dlt::cuda::cusolverDnParams_t;
using dlt::cuda::nvrtcProgram;

#ifdef ORIGINAL_DRIVER
DLT_CUDA_DRIVER_FUNCTIONS(SAME_FUNCTION)
DLT_CUDA_CONSTANTS(SAME_CONSTANT)
#define SAME_MEMBER(type, member)                                                        \
  static_assert(offsetof(type, member) == offsetof(::type, member), #type "::" #member); \
  static_assert(sizeof(type::member) == sizeof(::type::member), #type "::" #member);
static_assert(sizeof(CUmemLocation) == sizeof(::CUmemLocation));
static_assert(sizeof(CUmemAccessDesc) == sizeof(::CUmemAccessDesc));
static_assert(sizeof(CUmemPoolProps) == sizeof(::CUmemPoolProps));
static_assert(sizeof(CUmemAllocationProp) == sizeof(::CUmemAllocationProp));
static_assert(sizeof(CUuuid) == sizeof(::CUuuid));
SAME_MEMBER(CUmemLocation, type)
SAME_MEMBER(CUmemLocation, id)
SAME_MEMBER(CUmemAccessDesc, location)
SAME_MEMBER(CUmemAccessDesc, flags)
SAME_MEMBER(CUmemAllocationProp, type)
SAME_MEMBER(CUmemAllocationProp, requestedHandleTypes)
SAME_MEMBER(CUmemAllocationProp, location)
SAME_MEMBER(CUmemAllocationProp, win32HandleMetaData)
SAME_MEMBER(CUmemAllocationProp, allocFlags)
SAME_MEMBER(CUmemPoolProps, allocType)
SAME_MEMBER(CUmemPoolProps, handleTypes)
SAME_MEMBER(CUmemPoolProps, location)
SAME_MEMBER(CUmemPoolProps, win32SecurityAttributes)
SAME_MEMBER(CUmemPoolProps, maxSize)
#endif
#ifdef ORIGINAL_NVRTC
DLT_CUDA_NVRTC_FUNCTIONS(SAME_FUNCTION)
#endif
#ifdef ORIGINAL_CUBLAS
DLT_CUDA_CUBLAS_FUNCTIONS(SAME_FUNCTION)
DLT_CUDA_CUBLASLT_FUNCTIONS(SAME_FUNCTION)
static_assert(sizeof(dlt::cuda::cublasLtMatmulHeuristicResult_t) == sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(sizeof(dlt::cuda::cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t));
DLT_CUDA_CUBLAS_CONSTANTS(SAME_CONSTANT)
#endif
#ifdef ORIGINAL_CUFFT
DLT_CUDA_CUFFT_FUNCTIONS(SAME_FUNCTION)
DLT_CUDA_CUFFT_TRANSFORMS(SAME_FUNCTION)
DLT_CUDA_CUFFT_CONSTANTS(SAME_CONSTANT)
#endif
#ifdef ORIGINAL_CUSOLVER
DLT_CUDA_CUSOLVER_FUNCTIONS(SAME_FUNCTION)
DLT_CUDA_CUSOLVER_ORTHOGONAL_ROWS(SAME_FUNCTION)
DLT_CUDA_CUSOLVER_CONSTANTS(SAME_CONSTANT)
#endif
}  // namespace ours
}  // namespace check
