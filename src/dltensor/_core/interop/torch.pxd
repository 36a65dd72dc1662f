# SPDX-License-Identifier: Apache-2.0
# Tensors of torch as other modules import and borrow them.
from libc.stdint cimport int64_t

from ..dlpack cimport ImportedTensor
from ..types cimport DLTensor

cdef bint is_plain(object x) noexcept
cdef bint is_lazy(object x, str func) except -1
cdef bint import_plain(object x, ImportedTensor* out, str func) except -1
cdef bint borrow_plain(object x, DLTensor* view, int64_t* dims) noexcept
cdef object hold_storage(object x)
