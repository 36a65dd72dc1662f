# SPDX-License-Identifier: Apache-2.0
from .tensor cimport Tensor

cdef Tensor view_any(object obj, object copy, str func)
