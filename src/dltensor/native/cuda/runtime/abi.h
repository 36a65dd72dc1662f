// SPDX-License-Identifier: Apache-2.0
// The parts of the CUDA driver, NVRTC and cuBLAS interfaces that are used, declared by us: no CUDA header is needed to
// build. tests/cuda/test_cuda_abi.py compares every row with the original headers. Nothing is loaded here.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace dlt::cuda {

// Enumerations are passed as 32-bit integers, which they are in every supported ABI.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct ContextHandle*;
using CUstream = struct StreamHandle*;
using CUevent = struct EventHandle*;
using CUmodule = struct ModuleHandle*;
using CUfunction = struct FunctionHandle*;
using CUmemoryPool = struct PoolHandle*;
using CUmemHandle = unsigned long long;  // of memory without addresses, CUmemGenericAllocationHandle
using CUgraph = struct GraphHandle*;
using CUgraphExec = struct GraphExecHandle*;
using CUgraphNode = struct GraphNodeHandle*;
using CUuserObject = struct UserObjectHandle*;
using CUhostFn = void (*)(void*);

// Row: our name, value, the original's name.
// clang-format off
#define DLT_CUDA_CONSTANTS(X)                                                                     \
  X(kSuccess, 0, CUDA_SUCCESS)                                                                    \
  X(kInvalidValue, 1, CUDA_ERROR_INVALID_VALUE)                                                   \
  X(kOutOfMemory, 2, CUDA_ERROR_OUT_OF_MEMORY)                                                    \
  X(kNotInitialized, 3, CUDA_ERROR_NOT_INITIALIZED)                                               \
  X(kDeinitialized, 4, CUDA_ERROR_DEINITIALIZED)                                                  \
  X(kNoDevice, 100, CUDA_ERROR_NO_DEVICE)                                                         \
  X(kInvalidDevice, 101, CUDA_ERROR_INVALID_DEVICE)                                               \
  X(kInvalidImage, 200, CUDA_ERROR_INVALID_IMAGE)                                                 \
  X(kInvalidContext, 201, CUDA_ERROR_INVALID_CONTEXT)                                             \
  X(kNoBinaryForGpu, 209, CUDA_ERROR_NO_BINARY_FOR_GPU)                                           \
  X(kUnsupportedPtx, 222, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)                                     \
  X(kInvalidHandle, 400, CUDA_ERROR_INVALID_HANDLE)                                               \
  X(kIllegalState, 401, CUDA_ERROR_ILLEGAL_STATE)                                                 \
  X(kNotFound, 500, CUDA_ERROR_NOT_FOUND)                                                         \
  X(kNotReady, 600, CUDA_ERROR_NOT_READY)                                                         \
  X(kIllegalAddress, 700, CUDA_ERROR_ILLEGAL_ADDRESS)                                             \
  X(kLaunchOutOfResources, 701, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)                               \
  X(kPeerAccessAlreadyEnabled, 704, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)                       \
  X(kLaunchFailed, 719, CUDA_ERROR_LAUNCH_FAILED)                                                 \
  X(kContextIsDestroyed, 709, CUDA_ERROR_CONTEXT_IS_DESTROYED)                                    \
  X(kAssert, 710, CUDA_ERROR_ASSERT)                                                              \
  X(kHardwareStackError, 714, CUDA_ERROR_HARDWARE_STACK_ERROR)                                    \
  X(kIllegalInstruction, 715, CUDA_ERROR_ILLEGAL_INSTRUCTION)                                     \
  X(kMisalignedAddress, 716, CUDA_ERROR_MISALIGNED_ADDRESS)                                       \
  X(kInvalidAddressSpace, 717, CUDA_ERROR_INVALID_ADDRESS_SPACE)                                  \
  X(kInvalidPc, 718, CUDA_ERROR_INVALID_PC)                                                       \
  X(kNotSupported, 801, CUDA_ERROR_NOT_SUPPORTED)                                                 \
  X(kCaptureUnsupported, 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)                              \
  X(kCaptureInvalidated, 901, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)                              \
  X(kCaptureUnmatched, 903, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)                                  \
  X(kCaptureMerge, 902, CUDA_ERROR_STREAM_CAPTURE_MERGE)                                          \
  X(kCaptureUnjoined, 904, CUDA_ERROR_STREAM_CAPTURE_UNJOINED)                                    \
  X(kCaptureIsolation, 905, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)                                  \
  X(kCaptureImplicit, 906, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)                                    \
  X(kCapturedEvent, 907, CUDA_ERROR_CAPTURED_EVENT)                                               \
  X(kCaptureWrongThread, 908, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)                             \
  X(kMaxThreadsPerBlock, 1, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                            \
  X(kMaxBlockDimX, 2, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)                                        \
  X(kMaxBlockDimY, 3, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)                                        \
  X(kMaxBlockDimZ, 4, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)                                        \
  X(kMaxGridDimX, 5, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)                                          \
  X(kMaxGridDimY, 6, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)                                          \
  X(kMaxGridDimZ, 7, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)                                          \
  X(kSharedMemoryPerBlock, 8, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)                    \
  X(kTotalConstantMemory, 9, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)                           \
  X(kWarpSize, 10, CU_DEVICE_ATTRIBUTE_WARP_SIZE)                                                 \
  X(kRegistersPerBlock, 12, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)                          \
  X(kMultiprocessorCount, 16, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)                           \
  X(kL2CacheSize, 38, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)                                          \
  X(kMaxThreadsPerMultiprocessor, 39, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)         \
  X(kUnifiedAddressing, 41, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)                               \
  X(kComputeCapabilityMajor, 75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)                    \
  X(kComputeCapabilityMinor, 76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)                    \
  X(kStreamPrioritiesSupported, 78, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED)              \
  X(kSharedMemoryPerMultiprocessor, 81, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) \
  X(kRegistersPerMultiprocessor, 82, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)        \
  X(kManagedMemory, 83, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)                                       \
  X(kConcurrentManagedAccess, 89, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)                  \
  X(kVirtualMemorySupported, 102, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)        \
  X(kDescriptorsSupported, 103, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)  \
  X(kMemoryPoolsSupported, 115, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)                       \
  X(kPoolReleaseThreshold, 4, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)                                  \
  X(kPoolReservedCurrent, 5, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)                                \
  X(kPoolUsedCurrent, 7, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)                                        \
  X(kAllocationPinned, 1, CU_MEM_ALLOCATION_TYPE_PINNED)                                          \
  X(kGranularityMinimum, 0, CU_MEM_ALLOC_GRANULARITY_MINIMUM)                                     \
  X(kHandleDescriptor, 1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)                               \
  X(kLocationDevice, 1, CU_MEM_LOCATION_TYPE_DEVICE)                                              \
  X(kAccessReadWrite, 3, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)                                      \
  X(kPointerMemoryType, 2, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)                                      \
  X(kPointerIsManaged, 8, CU_POINTER_ATTRIBUTE_IS_MANAGED)                                        \
  X(kPointerDeviceOrdinal, 9, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)                                \
  X(kMemoryTypeHost, 1, CU_MEMORYTYPE_HOST)                                                       \
  X(kMemoryTypeDevice, 2, CU_MEMORYTYPE_DEVICE)                                                   \
  X(kStreamNonBlocking, 1, CU_STREAM_NON_BLOCKING)                                                \
  X(kEventBlockingSync, 1, CU_EVENT_BLOCKING_SYNC)                                                \
  X(kEventDisableTiming, 2, CU_EVENT_DISABLE_TIMING)                                              \
  X(kHostAllocPortable, 1, CU_MEMHOSTALLOC_PORTABLE)                                              \
  X(kAttachGlobal, 1, CU_MEM_ATTACH_GLOBAL)                                                       \
  X(kCaptureNone, 0, CU_STREAM_CAPTURE_STATUS_NONE)                                               \
  X(kCaptureActive, 1, CU_STREAM_CAPTURE_STATUS_ACTIVE)                                           \
  X(kCaptureModeGlobal, 0, CU_STREAM_CAPTURE_MODE_GLOBAL)                                         \
  X(kCaptureModeThreadLocal, 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)                              \
  X(kCaptureModeRelaxed, 2, CU_STREAM_CAPTURE_MODE_RELAXED)                                       \
  X(kUserObjectNoDestructorSync, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)                            \
  X(kGraphUserObjectMove, 1, CU_GRAPH_USER_OBJECT_MOVE)                                           \
  X(kFunctionMaxThreads, 0, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                              \
  X(kFunctionRegisters, 4, CU_FUNC_ATTRIBUTE_NUM_REGS)                                            \
  X(kFunctionDynamicShared, 8, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
// clang-format on

#define DLT_CUDA_CONSTANT(name, value, original) inline constexpr int name = value;
DLT_CUDA_CONSTANTS(DLT_CUDA_CONSTANT)
#undef DLT_CUDA_CONSTANT

// Errors that a failed kernel leaves: every later call returns them, and the context is of no use any more.
inline bool is_lost(CUresult result) noexcept {
  switch (result) {
    case kContextIsDestroyed:
    case kIllegalAddress:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed: return true;
    default: return false;
  }
}

struct CUuuid {
  char bytes[16];
};
struct CUmemLocation {
  int type, id;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};
struct CUmemAllocationProp {
  int type, requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];  // zero
  } allocFlags;
};
struct CUmemPoolProps {
  int allocType, handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];  // zero
};

// Row: does the package work without it (O) or not (R), exported symbol, parameters. Every function returns CUresult.
// The symbols are the versioned ones, whose ABI never changes, so that dlsym alone is enough.
// clang-format off
#define DLT_CUDA_DRIVER_FUNCTIONS(X)                                                                                  \
  X(R, cuInit, (unsigned flags))                                                                                      \
  X(R, cuDriverGetVersion, (int* version))                                                                            \
  X(R, cuGetErrorName, (CUresult error, const char** text))                                                           \
  X(R, cuGetErrorString, (CUresult error, const char** text))                                                         \
  X(R, cuDeviceGetCount, (int* count))                                                                                \
  X(R, cuDeviceGet, (CUdevice * device, int ordinal))                                                                 \
  X(R, cuDeviceGetName, (char* name, int length, CUdevice device))                                                    \
  X(R, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                        \
  X(R, cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                                            \
  X(R, cuDeviceGetPCIBusId, (char* text, int length, CUdevice device))                                                \
  X(O, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                                          \
  X(R, cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer))                                             \
  X(R, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                              \
  X(R, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                               \
  X(R, cuCtxGetCurrent, (CUcontext * context))                                                                        \
  X(R, cuCtxPushCurrent_v2, (CUcontext context))                                                                      \
  X(R, cuCtxPopCurrent_v2, (CUcontext * context))                                                                     \
  X(O, cuCtxGetId, (CUcontext context, unsigned long long* id))                                                       \
  X(R, cuCtxSynchronize, ())                                                                                          \
  X(O, cuCtxRecordEvent, (CUcontext context, CUevent event))                                                          \
  X(R, cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                                                       \
  X(R, cuCtxGetStreamPriorityRange, (int* least, int* greatest))                                                      \
  X(R, cuMemGetInfo_v2, (size_t * free, size_t* total))                                                               \
  X(R, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                                                          \
  X(R, cuMemFree_v2, (CUdeviceptr pointer))                                                                           \
  X(R, cuMemAllocFromPoolAsync, (CUdeviceptr * pointer, size_t bytes, CUmemoryPool pool, CUstream stream))            \
  X(R, cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream))                                                        \
  X(R, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps* properties))                                      \
  X(R, cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void* value))                                        \
  X(R, cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep))                                                             \
  X(R, cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc* access, size_t count))                          \
  X(O, cuMemGetAllocationGranularity, (size_t * bytes, const CUmemAllocationProp* properties, int option))            \
  X(O, cuMemCreate,                                                                                                   \
    (CUmemHandle * handle, size_t bytes, const CUmemAllocationProp* properties, unsigned long long flags))            \
  X(O, cuMemRelease, (CUmemHandle handle))                                                                            \
  X(O, cuMemAddressReserve,                                                                                           \
    (CUdeviceptr * pointer, size_t bytes, size_t alignment, CUdeviceptr wanted, unsigned long long flags))            \
  X(O, cuMemAddressFree, (CUdeviceptr pointer, size_t bytes))                                                         \
  X(O, cuMemMap,                                                                                                      \
    (CUdeviceptr pointer, size_t bytes, size_t offset, CUmemHandle handle, unsigned long long flags))                 \
  X(O, cuMemUnmap, (CUdeviceptr pointer, size_t bytes))                                                               \
  X(O, cuMemSetAccess, (CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count))              \
  X(O, cuMemExportToShareableHandle, (void* out, CUmemHandle handle, int type, unsigned long long flags))             \
  X(O, cuMemImportFromShareableHandle, (CUmemHandle * handle, void* from, int type))                                  \
  X(R, cuMemHostAlloc, (void** pointer, size_t bytes, unsigned flags))                                                \
  X(R, cuMemFreeHost, (void* pointer))                                                                                \
  X(R, cuMemAllocManaged, (CUdeviceptr * pointer, size_t bytes, unsigned flags))                                      \
  X(R, cuPointerGetAttributes, (unsigned count, int* attributes, void** values, CUdeviceptr pointer))                 \
  X(R, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))                       \
  X(R, cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                             \
  X(R, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                       \
  X(R, cuMemcpyPeerAsync,                                                                                             \
    (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream))  \
  X(R, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                         \
  X(R, cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream))                       \
  X(R, cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                             \
  X(R, cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))                                 \
  X(R, cuStreamDestroy_v2, (CUstream stream))                                                                         \
  X(R, cuStreamSynchronize, (CUstream stream))                                                                        \
  X(R, cuStreamQuery, (CUstream stream))                                                                              \
  X(R, cuStreamGetCtx, (CUstream stream, CUcontext * context))                                                        \
  X(R, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                           \
  X(R, cuStreamIsCapturing, (CUstream stream, int* status))                                                           \
  X(O, cuStreamGetId, (CUstream stream, unsigned long long* id))                                                      \
  X(O, cuStreamGetCaptureInfo_v2, (CUstream stream, int* status, uint64_t* id, CUgraph* graph,                        \
                                   const CUgraphNode** dependencies, size_t* count))                                  \
  X(O, cuUserObjectCreate, (CUuserObject * object, void* pointer, CUhostFn destroy, unsigned references,              \
                            unsigned flags))                                                                          \
  X(O, cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))                 \
  X(R, cuStreamBeginCapture_v2, (CUstream stream, int mode))                                                          \
  X(R, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                                        \
  X(O, cuGraphInstantiateWithFlags, (CUgraphExec * executable, CUgraph graph, unsigned long long flags))              \
  X(R, cuGraphLaunch, (CUgraphExec executable, CUstream stream))                                                      \
  X(R, cuGraphDestroy, (CUgraph graph))                                                                               \
  X(R, cuGraphExecDestroy, (CUgraphExec executable))                                                                  \
  X(R, cuThreadExchangeStreamCaptureMode, (int* mode))                                                                \
  X(R, cuEventCreate, (CUevent * event, unsigned flags))                                                              \
  X(R, cuEventDestroy_v2, (CUevent event))                                                                            \
  X(R, cuEventRecord, (CUevent event, CUstream stream))                                                               \
  X(R, cuEventQuery, (CUevent event))                                                                                 \
  X(R, cuEventSynchronize, (CUevent event))                                                                           \
  X(R, cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end))                                         \
  X(R, cuModuleLoadData, (CUmodule * module, const void* image))                                                      \
  X(R, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))                               \
  X(R, cuFuncGetAttribute, (int* value, int attribute, CUfunction function))                                          \
  X(R, cuFuncSetAttribute, (CUfunction function, int attribute, int value))                                           \
  X(R, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                                   \
    (int* blocks, CUfunction function, int block_size, size_t shared_bytes))                                          \
  X(R, cuLaunchKernel,                                                                                                \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
     unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments, void** extra))
// clang-format on

using nvrtcResult = int;
using nvrtcProgram = struct NvrtcProgramHandle*;

// clang-format off
#define DLT_CUDA_NVRTC_FUNCTIONS(X)                                                                          \
  X(R, nvrtcVersion, (int* major, int* minor))                                                               \
  X(R, nvrtcGetNumSupportedArchs, (int* count))                                                              \
  X(R, nvrtcGetSupportedArchs, (int* archs))                                                                 \
  X(R, nvrtcCreateProgram, (nvrtcProgram * program, const char* source, const char* name, int header_count,  \
                            const char* const* headers, const char* const* include_names))                   \
  X(R, nvrtcDestroyProgram, (nvrtcProgram * program))                                                        \
  X(R, nvrtcAddNameExpression, (nvrtcProgram program, const char* expression))                               \
  X(R, nvrtcCompileProgram, (nvrtcProgram program, int option_count, const char* const* options))            \
  X(R, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t* bytes))                                        \
  X(R, nvrtcGetProgramLog, (nvrtcProgram program, char* log))                                                \
  X(R, nvrtcGetLoweredName, (nvrtcProgram program, const char* expression, const char** name))               \
  X(R, nvrtcGetCUBINSize, (nvrtcProgram program, size_t* bytes))                                             \
  X(R, nvrtcGetCUBIN, (nvrtcProgram program, char* image))                                                   \
  X(R, nvrtcGetPTXSize, (nvrtcProgram program, size_t* bytes))                                               \
  X(R, nvrtcGetPTX, (nvrtcProgram program, char* text))
// clang-format on

using cublasStatus_t = int;
using cublasHandle_t = struct cublasHandleStruct*;

// clang-format off
#define DLT_CUDA_CUBLAS_CONSTANTS(X)                         \
  X(kBlasNotSupported, 15, CUBLAS_STATUS_NOT_SUPPORTED)      \
  X(kBlasNoTranspose, 0, CUBLAS_OP_N)                        \
  X(kBlasTranspose, 1, CUBLAS_OP_T)                          \
  X(kBlasDefaultAlgorithm, -1, CUBLAS_GEMM_DEFAULT)          \
  X(kBlasCompute32F, 68, CUBLAS_COMPUTE_32F)                 \
  X(kBlasCompute64F, 70, CUBLAS_COMPUTE_64F)                 \
  X(kBlasCompute32I, 72, CUBLAS_COMPUTE_32I)                 \
  X(kBlasCompute32FFastTF32, 77, CUBLAS_COMPUTE_32F_FAST_TF32) \
  X(kBlasDisallowReducedPrecision, 16, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) \
  X(kBlasR32F, 0, CUDA_R_32F)                                \
  X(kBlasR64F, 1, CUDA_R_64F)                                \
  X(kBlasR16F, 2, CUDA_R_16F)                                \
  X(kBlasR8I, 3, CUDA_R_8I)                                  \
  X(kBlasC32F, 4, CUDA_C_32F)                                \
  X(kBlasC64F, 5, CUDA_C_64F)                                \
  X(kBlasR32I, 10, CUDA_R_32I)                               \
  X(kBlasR16BF, 14, CUDA_R_16BF)                             \
  X(kBlasE4M3, 28, CUDA_R_8F_E4M3)                           \
  X(kBlasE5M2, 29, CUDA_R_8F_E5M2)                           \
  X(kLtTransposeA, 3, CUBLASLT_MATMUL_DESC_TRANSA)           \
  X(kLtTransposeB, 4, CUBLASLT_MATMUL_DESC_TRANSB)           \
  X(kLtScaleOfB, 18, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)   \
  X(kLtWorkspaceBytes, 1, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
// clang-format on

using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque*;
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

using cusolverStatus_t = int;
using cusolverDnHandle_t = struct cusolverDnContext*;
using cusolverDnParams_t = struct cusolverDnParams*;

// clang-format off
#define DLT_CUDA_CUSOLVER_CONSTANTS(X)                   \
  X(kSolverAllocFailed, 2, CUSOLVER_STATUS_ALLOC_FAILED) \
  X(kSolverNoVectors, 0, CUSOLVER_EIG_MODE_NOVECTOR)     \
  X(kSolverVectors, 1, CUSOLVER_EIG_MODE_VECTOR)         \
  X(kBlasLower, 0, CUBLAS_FILL_MODE_LOWER)               \
  X(kBlasUpper, 1, CUBLAS_FILL_MODE_UPPER)
// clang-format on

using cufftResult = int;
using cufftHandle = int;

// clang-format off
#define DLT_CUDA_CUFFT_CONSTANTS(X)          \
  X(kFftAllocFailed, 2, CUFFT_ALLOC_FAILED)  \
  X(kFftForward, -1, CUFFT_FORWARD)          \
  X(kFftInverse, 1, CUFFT_INVERSE)           \
  X(kFftR2C, 0x2a, CUFFT_R2C)                \
  X(kFftC2R, 0x2c, CUFFT_C2R)                \
  X(kFftC2C, 0x29, CUFFT_C2C)                \
  X(kFftD2Z, 0x6a, CUFFT_D2Z)                \
  X(kFftZ2D, 0x6c, CUFFT_Z2D)                \
  X(kFftZ2Z, 0x69, CUFFT_Z2Z)
// clang-format on

#define DLT_CUDA_CONSTANT(name, value, original) inline constexpr int name = value;
DLT_CUDA_CUBLAS_CONSTANTS(DLT_CUDA_CONSTANT)
DLT_CUDA_CUFFT_CONSTANTS(DLT_CUDA_CONSTANT)
DLT_CUDA_CUSOLVER_CONSTANTS(DLT_CUDA_CONSTANT)
#undef DLT_CUDA_CONSTANT

// clang-format off
#define DLT_CUDA_CUBLAS_FUNCTIONS(X)                                                                                   \
  X(R, cublasCreate_v2, (cublasHandle_t * handle))                                                                     \
  X(R, cublasSetStream_v2, (cublasHandle_t handle, CUstream stream))                                                   \
  X(R, cublasSetWorkspace_v2, (cublasHandle_t handle, void* workspace, size_t bytes))                                  \
  X(R, cublasSetMathMode, (cublasHandle_t handle, int mode))                                                           \
  X(R, cublasGemmStridedBatchedEx,                                                                                     \
    (cublasHandle_t handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha, const void* a,   \
     int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb, long long stride_b,                  \
     const void* beta, void* c, int type_c, int ldc, long long stride_c, int batch, int compute, int algorithm))

// In cuBLASLt, which cuBLAS loads. A handle of cuBLAS is one of cuBLASLt.
#define DLT_CUDA_CUBLASLT_FUNCTIONS(X)                                                                                 \
  X(O, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t * description, int compute, int type_of_factors))               \
  X(O, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t description))                                                  \
  X(O, cublasLtMatmulDescSetAttribute,                                                                                 \
    (cublasLtMatmulDesc_t description, int attribute, const void* value, size_t bytes))                                \
  X(O, cublasLtMatrixLayoutCreate,                                                                                     \
    (cublasLtMatrixLayout_t * layout, int type, uint64_t rows, uint64_t columns, int64_t lead))                        \
  X(O, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))                                                   \
  X(O, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference))                                      \
  X(O, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference))                                       \
  X(O, cublasLtMatmulPreferenceSetAttribute,                                                                           \
    (cublasLtMatmulPreference_t preference, int attribute, const void* value, size_t bytes))                           \
  X(O, cublasLtMatmulAlgoGetHeuristic,                                                                                 \
    (cublasHandle_t handle, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,      \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,            \
     cublasLtMatmulHeuristicResult_t* results, int* found))                                                            \
  X(O, cublasLtMatmul,                                                                                                 \
    (cublasHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha, const void* a,                        \
     cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b, const void* beta, const void* c, \
     cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm, \
     void* workspace, size_t workspace_bytes, CUstream stream))

#define DLT_CUDA_CUSOLVER_FUNCTIONS(X)                                                                                 \
  X(R, cusolverDnCreate, (cusolverDnHandle_t * handle))                                                                \
  X(R, cusolverDnSetStream, (cusolverDnHandle_t handle, CUstream stream))                                              \
  X(R, cusolverDnCreateParams, (cusolverDnParams_t * params))                                                          \
  X(R, cusolverDnXgetrf_bufferSize,                                                                                    \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n, int type, const void* a, int64_t lda, \
     int compute, size_t* device_bytes, size_t* host_bytes))                                                           \
  X(R, cusolverDnXgetrf,                                                                                               \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n, int type, void* a, int64_t lda,       \
     int64_t* pivots, int compute, void* device, size_t device_bytes, void* host, size_t host_bytes, int* info))       \
  X(R, cusolverDnXgetrs,                                                                                               \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int transpose, int64_t n, int64_t columns, int type_a,      \
     const void* a, int64_t lda, const int64_t* pivots, int type_b, void* b, int64_t ldb, int* info))                  \
  X(R, cusolverDnXpotrf_bufferSize,                                                                                    \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int triangle, int64_t n, int type, const void* a,           \
     int64_t lda, int compute, size_t* device_bytes, size_t* host_bytes))                                              \
  X(R, cusolverDnXpotrf,                                                                                               \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int triangle, int64_t n, int type, void* a, int64_t lda,    \
     int compute, void* device, size_t device_bytes, void* host, size_t host_bytes, int* info))                        \
  X(R, cusolverDnXgeqrf_bufferSize,                                                                                    \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n, int type, const void* a, int64_t lda, \
     int type_tau, const void* tau, int compute, size_t* device_bytes, size_t* host_bytes))                            \
  X(R, cusolverDnXgeqrf,                                                                                               \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n, int type, void* a, int64_t lda,       \
     int type_tau, void* tau, int compute, void* device, size_t device_bytes, void* host, size_t host_bytes,           \
     int* info))                                                                                                       \
  X(R, cusolverDnXsyevd_bufferSize,                                                                                    \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int vectors, int triangle, int64_t n, int type,             \
     const void* a, int64_t lda, int type_w, const void* w, int compute, size_t* device_bytes, size_t* host_bytes))    \
  X(R, cusolverDnXsyevd,                                                                                               \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int vectors, int triangle, int64_t n, int type, void* a,    \
     int64_t lda, int type_w, void* w, int compute, void* device, size_t device_bytes, void* host, size_t host_bytes,  \
     int* info))                                                                                                       \
  X(O, cusolverDnXsyevBatched_bufferSize,                                                                              \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int vectors, int triangle, int64_t n, int type,             \
     const void* a, int64_t lda, int type_w, const void* w, int compute, size_t* device_bytes, size_t* host_bytes,     \
     int64_t count))                                                                                                   \
  X(O, cusolverDnXsyevBatched,                                                                                         \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, int vectors, int triangle, int64_t n, int type, void* a,    \
     int64_t lda, int type_w, void* w, int compute, void* device, size_t device_bytes, void* host, size_t host_bytes,  \
     int* info, int64_t count))                                                                                        \
  X(R, cusolverDnXgesvd_bufferSize,                                                                                    \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, signed char left, signed char right, int64_t m, int64_t n,  \
     int type, const void* a, int64_t lda, int type_s, const void* s, int type_u, const void* u, int64_t ldu,          \
     int type_vt, const void* vt, int64_t ldvt, int compute, size_t* device_bytes, size_t* host_bytes))                \
  X(R, cusolverDnXgesvd,                                                                                               \
    (cusolverDnHandle_t handle, cusolverDnParams_t params, signed char left, signed char right, int64_t m, int64_t n,  \
     int type, void* a, int64_t lda, int type_s, void* s, int type_u, void* u, int64_t ldu, int type_vt, void* vt,     \
     int64_t ldvt, int compute, void* device, size_t device_bytes, void* host, size_t host_bytes, int* info))

// The headers have pointers to their own types of numbers in place of void here.
#define DLT_CUDA_CUSOLVER_ORTHOGONAL_ROWS(X)      \
  DLT_CUDA_ORTHOGONAL(X, cusolverDnSorgqr)        \
  DLT_CUDA_ORTHOGONAL(X, cusolverDnDorgqr)        \
  DLT_CUDA_ORTHOGONAL(X, cusolverDnCungqr)        \
  DLT_CUDA_ORTHOGONAL(X, cusolverDnZungqr)
#define DLT_CUDA_ORTHOGONAL(X, name)                                                                                   \
  X(R, name##_bufferSize,                                                                                              \
    (cusolverDnHandle_t handle, int m, int n, int k, const void* a, int lda, const void* tau, int* elements))          \
  X(R, name,                                                                                                           \
    (cusolverDnHandle_t handle, int m, int n, int k, void* a, int lda, const void* tau, void* device, int elements,    \
     int* info))
#define DLT_CUDA_CUFFT_FUNCTIONS(X)                                                                                    \
  X(R, cufftCreate, (cufftHandle * plan))                                                                              \
  X(R, cufftDestroy, (cufftHandle plan))                                                                               \
  X(R, cufftSetAutoAllocation, (cufftHandle plan, int automatic))                                                      \
  X(R, cufftMakePlanMany64,                                                                                            \
    (cufftHandle plan, int rank, long long* sizes, long long* in_sizes, long long in_step, long long in_distance,      \
     long long* out_sizes, long long out_step, long long out_distance, int type, long long batch, size_t* workspace))  \
  X(R, cufftSetStream, (cufftHandle plan, CUstream stream))                                                            \
  X(R, cufftSetWorkArea, (cufftHandle plan, void* workspace))
#define DLT_CUDA_CUFFT_TRANSFORMS(X)                                                                                   \
  X(R, cufftExecC2C, (cufftHandle plan, void* in, void* out, int direction))                                           \
  X(R, cufftExecZ2Z, (cufftHandle plan, void* in, void* out, int direction))                                           \
  X(R, cufftExecR2C, (cufftHandle plan, void* in, void* out))                                                          \
  X(R, cufftExecD2Z, (cufftHandle plan, void* in, void* out))                                                          \
  X(R, cufftExecC2R, (cufftHandle plan, void* in, void* out))                                                          \
  X(R, cufftExecZ2D, (cufftHandle plan, void* in, void* out))
// clang-format on

}  // namespace dlt::cuda
