# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int64_t, uint64_t

from .dlpack cimport ImportedTensor
from .types cimport DLTensor

cdef int take_buffer(object x, ImportedTensor* out, str func) except -1
cdef int read_interface(dict interface, object owner, bint cuda, DLTensor* view, uint64_t* flags, int64_t* dims,
                        str func, list kept=*) except -1
cdef int take_interface(object interface, object owner, bint cuda, ImportedTensor* out, str func) except -1
cdef int fill_buffer(Py_buffer* buffer, int flags, const DLTensor* view, uint64_t tensor_flags) except -1
cdef void free_buffer(Py_buffer* buffer) noexcept
