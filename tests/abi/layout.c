/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI in numbers: every size, offset and value of dlpack.h, held at compile time in C99, C11, C++17 and C++20.
 * Nothing runs. The numbers are those of the standard on 64-bit machines, written down here a second time on purpose. */
#include <stddef.h>
#include <stdint.h>

#include "dltensor/dlpack.h"

#if defined(__cplusplus)
#define HOLD(condition, name) static_assert(condition, #name)
#elif __STDC_VERSION__ >= 201112L
#define HOLD(condition, name) _Static_assert(condition, #name)
#else
#define HOLD(condition, name) typedef char hold_##name[(condition) ? 1 : -1]
#endif
#define SIZE(type, size, align)              \
  struct align_##type {                      \
    char first;                              \
    type second;                             \
  };                                         \
  HOLD(sizeof(type) == (size), size_##type); \
  HOLD(offsetof(struct align_##type, second) == (align), align_##type)
#define AT(type, field, offset, size)                               \
  HOLD(offsetof(type, field) == (offset), offset_##type##_##field); \
  HOLD(sizeof(((type*)0)->field) == (size), width_##type##_##field)
#define VALUE(name, value) HOLD((int)name == (value), value_##name)

SIZE(DLPackVersion, 8, 4);
AT(DLPackVersion, major, 0, 4);
AT(DLPackVersion, minor, 4, 4);

SIZE(DLDevice, 8, 4);
AT(DLDevice, device_type, 0, 4);
AT(DLDevice, device_id, 4, 4);

SIZE(DLDataType, 4, 2);
AT(DLDataType, code, 0, 1);
AT(DLDataType, bits, 1, 1);
AT(DLDataType, lanes, 2, 2);

SIZE(DLTensor, 48, 8);
AT(DLTensor, data, 0, 8);
AT(DLTensor, device, 8, 8);
AT(DLTensor, ndim, 16, 4);
AT(DLTensor, dtype, 20, 4);
AT(DLTensor, shape, 24, 8);
AT(DLTensor, strides, 32, 8);
AT(DLTensor, byte_offset, 40, 8);

SIZE(DLManagedTensor, 64, 8);
AT(DLManagedTensor, dl_tensor, 0, 48);
AT(DLManagedTensor, manager_ctx, 48, 8);
AT(DLManagedTensor, deleter, 56, 8);

SIZE(DLManagedTensorVersioned, 80, 8);
AT(DLManagedTensorVersioned, version, 0, 8);
AT(DLManagedTensorVersioned, manager_ctx, 8, 8);
AT(DLManagedTensorVersioned, deleter, 16, 8);
AT(DLManagedTensorVersioned, flags, 24, 8);
AT(DLManagedTensorVersioned, dl_tensor, 32, 48);

SIZE(DLPackExchangeAPIHeader, 16, 8);
AT(DLPackExchangeAPIHeader, version, 0, 8);
AT(DLPackExchangeAPIHeader, prev_api, 8, 8);

SIZE(DLPackExchangeAPI, 56, 8);
AT(DLPackExchangeAPI, header, 0, 16);
AT(DLPackExchangeAPI, managed_tensor_allocator, 16, 8);
AT(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24, 8);
AT(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32, 8);
AT(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40, 8);
AT(DLPackExchangeAPI, current_work_stream, 48, 8);

SIZE(DLDeviceType, 4, 4);
VALUE(kDLCPU, 1);
VALUE(kDLCUDA, 2);
VALUE(kDLCUDAHost, 3);
VALUE(kDLOpenCL, 4);
VALUE(kDLVulkan, 7);
VALUE(kDLMetal, 8);
VALUE(kDLVPI, 9);
VALUE(kDLROCM, 10);
VALUE(kDLROCMHost, 11);
VALUE(kDLExtDev, 12);
VALUE(kDLCUDAManaged, 13);
VALUE(kDLOneAPI, 14);
VALUE(kDLWebGPU, 15);
VALUE(kDLHexagon, 16);
VALUE(kDLMAIA, 17);
VALUE(kDLTrn, 18);
VALUE(kDLTPU, 19);
VALUE(kDLTPUHost, 20);
VALUE(kDLAscend, 21);

SIZE(DLDataTypeCode, 4, 4);
VALUE(kDLInt, 0);
VALUE(kDLUInt, 1);
VALUE(kDLFloat, 2);
VALUE(kDLOpaqueHandle, 3);
VALUE(kDLBfloat, 4);
VALUE(kDLComplex, 5);
VALUE(kDLBool, 6);
VALUE(kDLFloat8_e3m4, 7);
VALUE(kDLFloat8_e4m3, 8);
VALUE(kDLFloat8_e4m3b11fnuz, 9);
VALUE(kDLFloat8_e4m3fn, 10);
VALUE(kDLFloat8_e4m3fnuz, 11);
VALUE(kDLFloat8_e5m2, 12);
VALUE(kDLFloat8_e5m2fnuz, 13);
VALUE(kDLFloat8_e8m0fnu, 14);
VALUE(kDLFloat6_e2m3fn, 15);
VALUE(kDLFloat6_e3m2fn, 16);
VALUE(kDLFloat4_e2m1fn, 17);
VALUE(kDLBcomplex, 18);

VALUE(DLPACK_MAJOR_VERSION, 1);
VALUE(DLPACK_MINOR_VERSION, 3);
VALUE(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
VALUE(DLPACK_FLAG_BITMASK_IS_COPIED, 2);
VALUE(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 4);

/* A row that is not held above would go unnoticed: the number of rows is held as well. */
#define ONE(...) +1
HOLD((0 DLT_DEVICE_TYPES(ONE)) == 19, number_of_device_types);
HOLD((0 DLT_DATA_TYPE_CODES(ONE)) == 19, number_of_codes);
HOLD((0 DLT_FLAGS(ONE)) == 3, number_of_flags);
