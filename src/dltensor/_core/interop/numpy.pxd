# SPDX-License-Identifier: Apache-2.0
# Arrays of NumPy as other modules import, borrow and make them.
from libc.stdint cimport int64_t, uint64_t

from ..dlpack cimport ImportedTensor
from ..types cimport DLTensor

cdef int borrow_numpy(object array, DLTensor* view, uint64_t* flags, int64_t* dims, str func) except -1
cdef bint is_readable(object array) except -1
cdef object keep_in_place(object array)
cdef bint is_new_array(object array) except -1
cdef int import_numpy(object array, ImportedTensor* out, str func) except -1
cdef object make_numpy(const DLTensor* view, uint64_t flags, object owner)
