# SPDX-License-Identifier: Apache-2.0
"""The one way from a status of the engine to a Python exception; the rows of native/status.h say which."""

import builtins

from .native cimport Fault, Status, fault_count, fault_table, message

from .types import DeviceError


cdef dict _exceptions = {}


cdef int _read_table() except -1:
    cdef int i
    for i in range(fault_count):
        name = fault_table[i].exception.decode()
        if name:
            _exceptions[i] = DeviceError if name == DeviceError.__name__ else getattr(builtins, name)
    return 0


_read_table()


cdef object exception_of(Fault fault):
    """The exception of a kind of fault, or None where the caller decides."""
    return _exceptions.get(<int>fault)


cdef int raise_status(Status status, str func) except -1:
    text = message().decode("utf-8", "replace")
    raise _exceptions.get(<int>status.fault, RuntimeError)(text if func is None else f"{func}: {text}")
