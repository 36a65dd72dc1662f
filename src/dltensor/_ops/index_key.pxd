# SPDX-License-Identifier: Apache-2.0
cimport cython
from libc.stdint cimport int64_t, uint64_t

from .._core.native cimport MAX_DIMS
from .._core.tensor cimport Tensor
from .engine cimport BadIndex

cdef extern from "native/layout/index_plan.h" namespace "dlt" nogil:
    enum KeyKind "dlt::KeyKind":
        INTEGER "dlt::KeyKind::integer"
        SLICE "dlt::KeyKind::slice"
        NEW_AXIS "dlt::KeyKind::new_axis"
        ELLIPSIS "dlt::KeyKind::ellipsis"
        ARRAY "dlt::KeyKind::array"
        MASK "dlt::KeyKind::mask"
        TRUTH "dlt::KeyKind::truth"
    ctypedef struct KeyItem:
        KeyKind kind
        int64_t start
        int64_t stop
        int64_t step
        int ndim
        const int64_t* shape
        int64_t count
    ctypedef struct IndexedAxis:
        int item
        int part
        int axis
        int64_t size
        int64_t stride
    enum IndexFault "dlt::IndexFault":
        OUT_OF_RANGE "dlt::IndexFault::out_of_range"
        TOO_MANY "dlt::IndexFault::too_many"
        TWO_ELLIPSES "dlt::IndexFault::two_ellipses"
        MASK_SHAPE "dlt::IndexFault::mask_shape"
        NO_BROADCAST "dlt::IndexFault::no_broadcast"
        TOO_MANY_DIMS "dlt::IndexFault::too_many_dims"
    ctypedef struct IndexPlan:
        IndexFault fault
        int item
        int axis
        int64_t size
        int64_t offset
        int outer
        int inner
        int64_t outer_shape[MAX_DIMS]
        int64_t outer_strides[MAX_DIMS]
        int64_t inner_shape[MAX_DIMS]
        int64_t inner_strides[MAX_DIMS]
        int spread
        int64_t spread_shape[MAX_DIMS]
        int arrays
        IndexedAxis array[MAX_DIMS]
        int ndim
        int64_t shape[MAX_DIMS]


@cython.final
@cython.auto_pickle(False)
cdef class Mask:
    """A mask as it was when it was read: one bit per element, and counts."""
    cdef Tensor words, before
    cdef const uint64_t* bits
    cdef const int64_t* counts  # ahead of each chunk
    cdef int64_t n, count

cdef Tensor index_from_list(object items)
cdef str class_of(object x)
cdef bint read_key(object key, KeyItem* items, list read, str func) except -1
cdef uint64_t significant_bits(int type) noexcept
cdef Mask pack_nonzero(Tensor t, int type, str func)
cdef list mask_indices(Mask mask, int ndim, const int64_t* shape, str func)
cdef int raise_bad_index(BadIndex bad, const IndexPlan* plan, list read, str prefix) except -1
cdef bint share_bytes(Tensor a, Tensor b) noexcept
cdef Tensor spread_indices(Tensor index, int ndim, const int64_t* shape, Tensor written, str func)
cdef list index_arrays(const IndexPlan* plan, list read, list masks, Tensor written, str func)
cdef Tensor index_next_to(Tensor t, Tensor index, str func)
cdef int plan_key(Tensor t, KeyItem* items, list read, list masks, IndexPlan* plan, str prefix, str func) except -1
cdef Tensor view_at(Tensor t, list read)
