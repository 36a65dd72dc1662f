# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from .allocation cimport View
from .dlpack cimport ImportedTensor
from .indexing cimport Place
from .native cimport Block
from .types cimport DLDataType, DLDevice, DLPackExchangeAPI

cdef class Tensor:
    cdef View impl
    cdef bint is_view  # shares a block that another tensor or an export was made with
    cdef object __weakref__

cdef int fill_from_import(Tensor t, ImportedTensor* imported) except -1
cdef Tensor bytes_of(Block* block, int64_t nbytes, DLDevice device, uint64_t flags)
cdef Tensor new_empty(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, str func)
cdef Tensor new_zeros(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, str func)
cdef Tensor view_of(Tensor source, const Place* place)
cdef DLPackExchangeAPI exchange_table
cdef Tensor same_view(Tensor source)
cdef Tensor copied(Tensor self, str func)
cdef Tensor reshaped(Tensor self, object shape, object copy, str func)
cdef Tensor reshaped_in(Tensor self, object shape, object copy, object order, str func)
cdef Tensor permuted(Tensor self, tuple axes, str func)
cdef Tensor squeezed(Tensor self, object axes, str func)
cdef Tensor on_device(Tensor self, object device, str func)
cdef Tensor assigned_to(Tensor source, int ndim)
cdef int assign(Tensor self, object value, str func) except -1

# Functions that the class calls in modules compiled on top of it; each of them fills in its own.
cdef struct Operations:
    object (*element)(int op, bint swapped, PyObject** operands, PyObject* out, bint saturate, PyObject* launch)
    object (*matmul)(object a, object b, object out)
    object (*astype)(object x, object dtype, object copy, bint padded)
    int (*assign)(Tensor target, Tensor source, str func) except -1  # values of another dtype, or on another device
    object (*get_indexed)(Tensor self, object key)                   # keys with index arrays or masks
    int (*set_indexed)(Tensor self, object key, object value) except -1
    object (*take)(object x, object indices, object axis)
    object (*nonzero)(object x)
    Tensor (*assignable)(object value, object dtype, str func)       # a foreign object or numbers, to be assigned
cdef Operations operations

# Functions for memory of CUDA devices; the CUDA package registers it when it is loaded. Each function raises, or has
# enqueued the work.
cdef struct DeviceOperations:
    Block* (*allocate)(int64_t bytes, DLDevice device, str func) except NULL  # uninitialized
    Tensor (*to)(Tensor t, DLDevice device, str func)
    Tensor (*copy)(Tensor t, str func)
    int (*fill)(Tensor t, object value, str func) except -1
    int (*move)(Tensor target, Tensor source, str func) except -1             # between devices, one dtype, broadcast
    object (*transfer)(Tensor t, object copy)
    # Order our stream after the producer's, and the release of imported memory after our work on it.
    int (*adopt)(Tensor t, object stream, bint locate) except -1
    Tensor (*export)(Tensor t, object stream, DLDevice device, object copy)
    object (*current_stream)(int device)                                      # by the standard's numbers, or None
cdef void set_device_operations(const DeviceOperations* table) noexcept
cdef const DeviceOperations* device_operations() except NULL
cdef object current_stream(int device)
cdef bint uses_cuda() noexcept
cdef Tensor new_tensor(int ndim)
cdef Tensor new_padded(int ndim, const int64_t* shape, DLDataType dtype, str func)
cdef int assign_scalar(Tensor self, object value, str func) except -1
