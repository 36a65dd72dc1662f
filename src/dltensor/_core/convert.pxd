# SPDX-License-Identifier: Apache-2.0
from .native cimport computed_types, promote, type_complex128, type_float32, type_float64
from .tensor cimport Tensor

cdef Tensor view_any(object obj, object copy, str func)
cdef Tensor read_object(object x, str func)
# Read an argument: a tensor as it is, all else by read_object(). The one reader of functions that need no operand:
# element-wise operations, products and reductions borrow theirs.
cdef inline Tensor read_array(object x, str func):
    return <Tensor>x if type(x) is Tensor else read_object(x, func)
# Read a list, tuple or range; `wide` gives Python's floats double precision.
cdef Tensor read_numbers(object x, bint wide, str func)
# Test whether a dtype and Python's floats meet in double precision, so that the floats are read in it.
cdef inline bint is_wide(int type) noexcept:
    cdef int joined = promote(type, type_float32) if 0 <= type < computed_types else -1
    return joined == type_float64 or joined == type_complex128
cdef Tensor as_tensor(object x)  # for functions whose name is in the error already
cpdef Tensor empty_for(str func, shape, dtype=*, device=*)
cpdef Tensor zeros_for(str func, shape, dtype=*, device=*)
cpdef Tensor full_for(str func, shape, number, dtype=*, device=*)
