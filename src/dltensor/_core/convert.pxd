# SPDX-License-Identifier: Apache-2.0
from .tensor cimport Tensor

cdef Tensor view_any(object obj, object copy, str func)
cdef Tensor read_array(object x, str func)
cdef Tensor as_tensor(object x)  # for functions whose name is in the error already
cpdef Tensor empty_for(str func, shape, dtype=*, device=*)
cpdef Tensor zeros_for(str func, shape, dtype=*, device=*)
cpdef Tensor full_for(str func, shape, number, dtype=*, device=*)
