# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from .dlpack cimport ImportedTensor
from .indexing cimport Place
from .native cimport Block
from .types cimport DLDataType, DLDevice, DLPackExchangeAPI, DLTensor


cdef extern from "native/memory/view.h" namespace "dlt" nogil:
    cppclass View:
        DLTensor dl
        Block* block
        uint64_t flags
        bint reserve_dims(int) noexcept

cdef class Tensor:
    cdef View impl
    cdef bint is_view  # shares a block that another tensor or an export was made with
    cdef object __weakref__

cdef int fill_from_import(Tensor t, ImportedTensor* imported) except -1
cdef int64_t counted(int ndim, const int64_t* shape, DLDataType dtype, str func) except -1
cdef Tensor new_empty(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, str func)
cdef Tensor view_of(Tensor source, const Place* place)
cdef int check_host(Tensor self, str func) except -1
cdef int check_writable(const DLTensor* view, uint64_t flags, str func, str what=*) except -1
cdef DLPackExchangeAPI exchange_table
cdef Tensor same_view(Tensor source)
cdef Tensor copied(Tensor self, str func)
cdef Tensor reshaped(Tensor self, object shape, object copy, str func)
cdef Tensor permuted(Tensor self, tuple axes, str func)
cdef Tensor squeezed(Tensor self, object axes, str func)
cdef Tensor on_device(Tensor self, object device, str func)
cdef void fill_elements(const DLTensor* to, const void* element, uint64_t flags) noexcept
cdef object as_tuple(int n, const int64_t* numbers)
cdef int read_shape(object shape, int64_t* out, str func, bint strides=*) except -1
cdef bint is_packed(DLDataType dtype, uint64_t flags) noexcept
cdef int assign(Tensor self, object value, str func) except -1

# Arithmetic is a layer above: it registers here what the operators call.
ctypedef object (*element_t)(int op, bint swapped, PyObject** operands, PyObject* out, bint saturate, PyObject* launch)
cdef void set_element(element_t function) noexcept
cdef Tensor new_tensor(int ndim)
cdef Tensor new_padded(int ndim, const int64_t* shape, DLDataType dtype, str func)
cdef int assign_scalar(Tensor self, object value, str func) except -1

# Memory that is not plain host memory comes from a layer above, too: a block of uninitialised bytes.
ctypedef Block* (*allocate_t)(int64_t bytes, DLDevice device, str func) except NULL
cdef void set_allocate(allocate_t function) noexcept
