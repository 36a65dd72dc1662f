# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int64_t, uint64_t

from .._core.tensor cimport Tensor

cdef extern from "native/cpu/index/mask.h" namespace "dlt" nogil:
    int64_t pack_mask(const void*, int64_t, uint64_t, int64_t, uint64_t*, int64_t*)
    void mask_positions(int64_t**, int, const int64_t*, int64_t, const uint64_t*, const int64_t*)

cdef enum:
    WRITE = -1          # instead of the number of an operation
    SHORT_MASK = 4096   # elements whose bits fit on the stack

cdef Tensor read_few(Tensor t, Tensor key)
cdef Tensor read_at(Tensor t, object key, str func, str prefix, bint copy)
cdef Tensor read_along_axis(Tensor t, Tensor at, int axis, str func)
cdef int write_at(Tensor t, object key, object value, int op, str func, str prefix) except -1
