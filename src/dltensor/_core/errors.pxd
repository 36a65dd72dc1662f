# SPDX-License-Identifier: Apache-2.0
# The way from a status of the engine to a Python exception.
from .native cimport Fault, Status


cdef object exception_of(Fault fault)
cdef int raise_status(Status status, str func) except -1

cdef inline int check_status(Status status, str func) except -1:
    """Raise what a status stands for; `func` is put before the engine's text, unless it is None."""
    return 0 if status.fault == Fault.none else raise_status(status, func)
