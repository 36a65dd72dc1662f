# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int64_t

from .native cimport MAX_DIMS
from .types cimport DLTensor


# Result of an index key: shape, strides, and the offset of the first element, in elements.
cdef struct Place:
    int ndim
    int64_t offset
    int64_t shape[MAX_DIMS]
    int64_t strides[MAX_DIMS]

cdef int locate(const DLTensor* view, object key, Place* place) except -1
cdef int64_t checked_index(object index, int64_t size, int axis) except? -1
