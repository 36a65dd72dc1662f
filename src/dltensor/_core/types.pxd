# SPDX-License-Identifier: Apache-2.0
# Declarations of dlpack.h, tables.h and _core/types.pyx that the extension modules share.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

# The standard gives the type of this argument no name.
ctypedef void (*SetError)(void*, const char*, const char*) noexcept nogil


cdef extern from "dltensor/dlpack.h" nogil:
    uint32_t DLPACK_MAJOR_VERSION
    uint32_t DLPACK_MINOR_VERSION
    uint64_t DLPACK_FLAG_BITMASK_READ_ONLY
    uint64_t DLPACK_FLAG_BITMASK_IS_COPIED
    uint64_t DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    ctypedef enum DLDeviceType:
        kDLCPU
        kDLCUDA
        kDLCUDAManaged
        kDLExtDev
    ctypedef enum DLDataTypeCode:
        kDLInt
        kDLUInt
        kDLFloat
        kDLBfloat
        kDLComplex
        kDLBool
    ctypedef struct DLPackVersion:
        uint32_t major
        uint32_t minor
    ctypedef struct DLDevice:
        DLDeviceType device_type
        int32_t device_id
    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct DLTensor:
        void* data
        DLDevice device
        int32_t ndim
        DLDataType dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct DLManagedTensor:
        DLTensor dl_tensor
        void* manager_ctx
        void (*deleter)(DLManagedTensor*) noexcept nogil
    ctypedef struct DLManagedTensorVersioned:
        DLPackVersion version
        void* manager_ctx
        void (*deleter)(DLManagedTensorVersioned*) noexcept nogil
        uint64_t flags
        DLTensor dl_tensor
    ctypedef struct DLPackExchangeAPIHeader:
        DLPackVersion version
        DLPackExchangeAPIHeader* prev_api
    ctypedef struct DLPackExchangeAPI:
        DLPackExchangeAPIHeader header
        int (*managed_tensor_allocator)(DLTensor*, DLManagedTensorVersioned**, void*, SetError) noexcept
        int (*managed_tensor_from_py_object_no_sync)(void*, DLManagedTensorVersioned**) noexcept
        int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned*, void**) noexcept
        int (*dltensor_from_py_object_no_sync)(void*, DLTensor*) noexcept
        int (*current_work_stream)(DLDeviceType, int32_t, void**) noexcept


cdef extern from "native/tables.h" namespace "dlt" nogil:
    bint is_host(int32_t device_type)
    bint is_handle(int32_t device_type)


cdef class DType:
    cdef DLDataType value
    cdef Py_hash_t hash_of_name  # 0 until it is asked for

cdef class Device:
    cdef DLDevice value
    cdef Py_hash_t hash_of_name

cdef object dtype_of(DLDataType value)
cdef const char* format_of(DLDataType value) noexcept
cdef DLDataType read_dtype(object x, str func) except *
cdef object numpy_dtype(DLDataType value, str func)
cdef DLDevice read_device(object x, str func) except *
cdef object known_dtype(object dtype)
cdef object dtype_unless_device(object x)
cdef object read_numpy_flag(object x, str func)
# Convert a copy argument to True, False or None; `func` is the name of the function in messages.
cdef inline object read_copy_flag(object x, str func):
    return x if x is None or x is True or x is False else read_numpy_flag(x, func)
cdef object device_of(DLDevice value)
cdef object flags_with_layout(uint64_t flags, bint c_contiguous, bint f_contiguous)
