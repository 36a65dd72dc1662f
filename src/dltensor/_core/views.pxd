# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport uint64_t

from .native cimport Kind
from .tensor cimport Tensor

cdef extern from "native/cpu/random/arange.h" namespace "dlt" nogil:
    ctypedef struct Steps:
        Kind kind
        uint64_t first, step
        double re, step_re, im, step_im

cdef int write_steps(Tensor t, const Steps* steps) except -1
