# SPDX-License-Identifier: Apache-2.0
from .._core.tensor cimport Tensor

cdef Tensor ordered_anywhere(object x, str func, str what=*)
cdef tuple comparable(object x1, object x2, str func)
cdef Tensor in_order(Tensor t, str func)
cdef Tensor converted(Tensor t, int type, str func)
cdef Tensor as_operand(object x, Tensor other, str func, str what, str name)
cdef int rest_of(object x, Tensor t) except -2
cdef Tensor on_same_device(Tensor t, Tensor other, str func, str what, str name)
cdef Tensor computed_tensor(object x, str func)
