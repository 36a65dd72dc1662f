# SPDX-License-Identifier: Apache-2.0
from .tensor cimport Tensor

cdef Tensor view_any(object obj, object copy, str func)
cdef Tensor read_object(object x, str func)
# Read an argument: a tensor as it is, all else by read_object(). The one reader of functions that need no operand:
# element-wise operations, products and reductions borrow theirs.
cdef inline Tensor read_array(object x, str func):
    return <Tensor>x if type(x) is Tensor else read_object(x, func)
cdef Tensor as_tensor(object x)  # for functions whose name is in the error already
cpdef Tensor empty_for(str func, shape, dtype=*, device=*)
cpdef Tensor zeros_for(str func, shape, dtype=*, device=*)
cpdef Tensor full_for(str func, shape, number, dtype=*, device=*)
