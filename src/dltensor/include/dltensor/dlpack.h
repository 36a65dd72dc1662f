/* SPDX-License-Identifier: Apache-2.0 */
/* The DLPack ABI, declared once: version 1.3 and the codes that have been added on main since.
 *
 * Own declaration of the standard's layout under the standard's include guard, so that this file can
 * be used with the original or instead of it. Enumerators are rows of X-macros: C sees enums, Python
 * reads the same rows as IntEnum. Declarations only. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif

#ifndef DLPACK_DLL
#ifdef _WIN32
#ifdef DLPACK_EXPORTS
#define DLPACK_DLL __declspec(dllexport)
#else
#define DLPACK_DLL __declspec(dllimport)
#endif
#else
#define DLPACK_DLL
#endif
#endif

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

/* Read-only tensors. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/* The producer made a copy: until the deleter runs, the data belongs to the consumer alone. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/* Elements of fewer than 8 bits are padded to a byte each instead of packed. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

/* Row: flag name, bit mask. */
/* clang-format off */
#define DLT_FLAGS(X)                                \
  X(READ_ONLY, DLPACK_FLAG_BITMASK_READ_ONLY)       \
  X(IS_COPIED, DLPACK_FLAG_BITMASK_IS_COPIED)       \
  X(IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
/* clang-format on */

/* Row: enumerator, value, short name in strings such as "cuda:1", can the host read the memory,
 * is `data` a handle, to which byte_offset must not be added. */
/* clang-format off */
#define DLT_DEVICE_TYPES(X)                              \
  X(kDLCPU, 1, "cpu", 1, 0)                              \
  X(kDLCUDA, 2, "cuda", 0, 0)                            \
  X(kDLCUDAHost, 3, "cuda_host", 1, 0)                   \
  X(kDLOpenCL, 4, "opencl", 0, 1)                        \
  X(kDLVulkan, 7, "vulkan", 0, 1)                        \
  X(kDLMetal, 8, "metal", 0, 1)                          \
  X(kDLVPI, 9, "vpi", 0, 0)                              \
  X(kDLROCM, 10, "rocm", 0, 0)                           \
  X(kDLROCMHost, 11, "rocm_host", 1, 0)                  \
  X(kDLExtDev, 12, "ext_dev", 0, 0)                      \
  X(kDLCUDAManaged, 13, "cuda_managed", 0, 0)            \
  X(kDLOneAPI, 14, "oneapi", 0, 0)                       \
  X(kDLWebGPU, 15, "webgpu", 0, 1)                       \
  X(kDLHexagon, 16, "hexagon", 0, 0)                     \
  X(kDLMAIA, 17, "maia", 0, 0)                           \
  X(kDLTrn, 18, "trn", 0, 0)                             \
  X(kDLTPU, 19, "tpu", 0, 0)        /* main, after 1.3 */ \
  X(kDLTPUHost, 20, "tpu_host", 1, 0)                    \
  X(kDLAscend, 21, "ascend", 0, 0)
/* clang-format on */

/* Row: enumerator, value. Bits and lanes are validated in validate.h. */
/* clang-format off */
#define DLT_DATA_TYPE_CODES(X) \
  X(kDLInt, 0)                 \
  X(kDLUInt, 1)                \
  X(kDLFloat, 2)               \
  X(kDLOpaqueHandle, 3)        \
  X(kDLBfloat, 4)              \
  X(kDLComplex, 5)             \
  X(kDLBool, 6)                \
  X(kDLFloat8_e3m4, 7)         \
  X(kDLFloat8_e4m3, 8)         \
  X(kDLFloat8_e4m3b11fnuz, 9)  \
  X(kDLFloat8_e4m3fn, 10)      \
  X(kDLFloat8_e4m3fnuz, 11)    \
  X(kDLFloat8_e5m2, 12)        \
  X(kDLFloat8_e5m2fnuz, 13)    \
  X(kDLFloat8_e8m0fnu, 14)     \
  X(kDLFloat6_e2m3fn, 15)      \
  X(kDLFloat6_e3m2fn, 16)      \
  X(kDLFloat4_e2m1fn, 17)      \
  X(kDLBcomplex, 18) /* main, after 1.3: two bfloat16 */
/* clang-format on */

#define DLT_DEVICE_ENUMERATOR(name, value, text, host, handle) name = value,
#define DLT_CODE_ENUMERATOR(name, value) name = value,

/* C++ callers get a fixed 32-bit type, as in the original; C enums are 32 bits wide on every ABI we build for. */
#ifdef __cplusplus
typedef enum : int32_t { DLT_DEVICE_TYPES(DLT_DEVICE_ENUMERATOR) } DLDeviceType;
#else
typedef enum { DLT_DEVICE_TYPES(DLT_DEVICE_ENUMERATOR) } DLDeviceType;
#endif
typedef enum { DLT_DATA_TYPE_CODES(DLT_CODE_ENUMERATOR) } DLDataTypeCode;
#undef DLT_DEVICE_ENUMERATOR
#undef DLT_CODE_ENUMERATOR

/* The first member of every versioned struct. A change of `major` is a change of layout. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id; /* 0 for plain, pinned and managed host memory */
} DLDevice;

typedef struct {
  uint8_t code; /* a DLDataTypeCode */
  uint8_t bits; /* of one lane; both parts together for complex */
  uint16_t lanes;
} DLDataType;

/* A strided view of memory that it does not own. */
typedef struct {
  void* data; /* the standard asks for 256-byte alignment and a byte_offset; producers ignore it, so never rely on it */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;     /* in elements; NULL meant C order until 1.2 */
  uint64_t byte_offset; /* from `data` to the first element */
} DLTensor;

/* The layout before 1.0 ("legacy"): no version, no flags. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

/* The first four members keep their places in every future major version, so that `deleter` can always be called. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The exchange table: what a type offers to C callers. Each function returns 0, or -1 with an error set. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind, const char* message));
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object, DLManagedTensorVersioned** out);
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor, void** out_py_object);
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id, void** out_current_stream);

typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader* prev_api; /* an older table for older readers, or NULL */
} DLPackExchangeAPIHeader;

typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync; /* steals the tensor */
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;       /* may be NULL; valid until control returns */
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#endif /* DLPACK_DLPACK_H_ */
