# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int64_t, uint64_t

from .native cimport Scalar
from .types cimport DLDataType, DLTensor

cdef object load_python(const void* base, int64_t index, DLDataType dtype, uint64_t flags, str func)
cdef int store_python(void* base, int64_t index, object value, DLDataType dtype, bint padded, str func) except -1
cdef int tag_number(object x, Scalar* out) except -1
cdef object nested(const DLTensor* view, uint64_t flags, int axis, int64_t offset)
cdef tuple integer_range(bint signed, object bits)
cpdef object plain_number(object value, str func, str expected=*)
cdef str shown(object number)
