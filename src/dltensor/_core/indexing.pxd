# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int64_t, uint64_t

from .native cimport MAX_DIMS
from .types cimport DLTensor


# Result of an index key: shape, strides, and the offset of the first element, in elements.
cdef struct Place:
    int ndim
    int64_t offset
    int64_t shape[MAX_DIMS]
    int64_t strides[MAX_DIMS]

cdef int locate(const DLTensor* view, object key, Place* place) except -1
cdef void stride_added(Place* place, uint64_t added) noexcept
cdef int64_t checked_index(object index, int64_t size, int axis) except? -1
cpdef object integer_of(object value, str what, str func)
cpdef list items_of(object items, str what, str func)
cpdef int axis_of(object axis, int ndim, str func) except -1
cpdef list sequence_of(object x, str what, str func)
cpdef list axes_of(object axes, int ndim, str func)

cdef inline int64_t wrapped_product(int64_t a, int64_t b) noexcept:
    """A product that wraps: strides of a foreign empty tensor may be anything, and no element is read through them."""
    return <int64_t>(<uint64_t>a * <uint64_t>b)

cdef inline object product_of(object numbers):
    """A product of integers of any size: math.prod, whose module is a file more to load."""
    result = 1
    for number in numbers:
        result *= number
    return result

cdef inline int64_t stepped(int64_t start, int64_t steps, int64_t stride) noexcept:
    """The element that `steps` of a stride lead to from `start`; the sum wraps as wrapped_product does."""
    return <int64_t>(<uint64_t>start + <uint64_t>steps * <uint64_t>stride)
