# SPDX-License-Identifier: Apache-2.0
# Shapes and strides as other modules read and compute them.
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .indexing cimport Place
from .types cimport DLDataType, DLTensor

cdef object as_tuple(int n, const int64_t* numbers)
cdef int read_shape(object shape, int64_t* out, str func, bint strides=*) except -1
cdef int64_t counted(int ndim, const int64_t* shape, DLDataType dtype, str func) except -1
cdef int complete_shape(const DLTensor* view, int n, int64_t* target, str func) except -1
cpdef tuple joined_shape(tuple shape, object start_dim, object end_dim)
cdef tuple one_or_many(tuple arguments, str func)
cdef int permute(const DLTensor* view, tuple axes, Place* place, str func) except -1
cdef void reverse(const DLTensor* view, Place* place) noexcept
cdef int squeeze(const DLTensor* view, object axes, Place* place, str func) except -1
cdef bint is_contiguous_in(const DLTensor* view, bint fortran) noexcept
cdef bint takes_fortran(const DLTensor* view, object order, str func) except -1
cdef int reinterpret(const DLTensor* source, uint64_t flags, DLDataType dtype, DLTensor* view) except -1

cdef inline object shape_of(const DLTensor* view):
    return as_tuple(view.ndim, view.shape)

cdef inline object strides_of(const DLTensor* view):
    return as_tuple(view.ndim, view.strides)

cdef inline void take_dims(const DLTensor* view, int first, Place* place) noexcept:
    """The place of the dimensions from `first` on, where the memory of `view` begins."""
    place.ndim = view.ndim - first
    place.offset = 0
    memcpy(place.shape, view.shape + first, place.ndim * sizeof(int64_t))
    memcpy(place.strides, view.strides + first, place.ndim * sizeof(int64_t))
