# SPDX-License-Identifier: Apache-2.0
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t

from .native cimport BOOLEAN, REAL, SIGNED, UNSIGNED, Kind, Scalar, type_table
from .types cimport DLDataType, DLTensor

cdef extern from "_core/element_count.h" namespace "dlt":
    bint is_int(object) noexcept

cdef class RecordedNumber:
    cdef object value
    cdef int index
    cdef set read
    cdef object refuse(self)
    cdef object operate(self, other)

cdef object load_python(const void* base, int64_t index, DLDataType dtype, uint64_t flags, str func)
cdef int store_python(void* base, int64_t index, object value, DLDataType dtype, bint padded, str func) except -1
cdef int store_element(void* element, object value, DLDataType dtype, str func) except -1
cdef int tag_number(object x, Scalar* out) except -1
cdef object nested(const DLTensor* view, uint64_t flags, int axis, int64_t offset)
cdef tuple integer_range(bint signed, object bits)
cpdef object plain_number(object value, str func, str expected=*)
cdef str shown(object number)
cdef int promote_number(int type, int number) noexcept

cdef inline int kind_order(int type) noexcept:
    """bool 0, integers 1, floats 2, complex 3: how promotion climbs."""
    cdef Kind kind = type_table[type].kind
    return 0 if kind == BOOLEAN else 1 if kind == SIGNED or kind == UNSIGNED else 2 if kind == REAL else 3

cdef inline bint store_exact(object x, int type, void* element) noexcept:
    """Make a number an element of an arithmetic dtype where that is exact, or rounded once; else False."""
    cdef Kind kind = type_table[type].kind
    cdef int bytes = type_table[type].bytes, overflow = 0
    cdef int64_t value = 0
    cdef double number
    if PyFloat_CheckExact(x):
        number = PyFloat_AS_DOUBLE(x)
    elif is_int(x):
        value = PyLong_AsLongLongAndOverflow(x, &overflow)
        if overflow != 0:
            return False
        number = <double>value
        if kind == REAL and <int64_t>number != value:
            return False
    else:
        return False
    if kind == REAL:
        if bytes == 4:
            (<float*>element)[0] = <float>number
            return True
        if bytes == 8:
            (<double*>element)[0] = number
        return bytes == 8
    if not is_int(x):
        return False
    if kind == SIGNED and bytes < 8 and value != value << (64 - 8 * bytes) >> (64 - 8 * bytes):
        return False
    if kind == UNSIGNED and (value < 0 or bytes < 8 and value >> (8 * bytes) != 0):
        return False
    if kind != SIGNED and kind != UNSIGNED:
        return False
    if bytes == 1:
        (<int8_t*>element)[0] = <int8_t>value
    elif bytes == 2:
        (<int16_t*>element)[0] = <int16_t>value
    elif bytes == 4:
        (<int32_t*>element)[0] = <int32_t>value
    else:
        (<int64_t*>element)[0] = value
    return True
