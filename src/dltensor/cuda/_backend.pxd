# SPDX-License-Identifier: Apache-2.0
# Functions for memory of CUDA devices, for _exchange.pyx, which registers it with the class.
from libc.stdint cimport int64_t

from .._core.native cimport Block
from .._core.tensor cimport Tensor
from .._core.types cimport DLDevice


cdef Block* allocate_for(int64_t bytes, DLDevice device, str func) except NULL
cdef Tensor to_device(Tensor t, DLDevice target, str func)
cdef Tensor new_copy(Tensor t, str func)
cdef int fill_device(Tensor t, object value, str func) except -1
cdef int move_between(Tensor target, Tensor source, str func) except -1
cdef object transfer_to_host(Tensor t, object copy)
