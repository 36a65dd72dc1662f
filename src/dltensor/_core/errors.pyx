# SPDX-License-Identifier: Apache-2.0
"""The one way from a status of the engine to a Python exception; the rows of native/status.h say which."""

import builtins

from .native cimport Fault, Status, fault_count, fault_table, message

from .types import DeviceError

cdef extern from "_core/public_function.h" namespace "dlt":
    object new_public_function(object function, bytes text, object answer, tuple renamings)


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


def public_function(function, str text, answer, tuple renamings=()):
    """Return a builtin that calls a function of a module, and takes keywords under other names too.

    `answer` is called with a function in Python and an error that it raises, whose text it may change. `renamings` are
    other names of parameters, each followed by the name of the parameter.

    Examples
    --------
    >>> def power(x, exponent=2):
    ...     return x**exponent
    >>> public_function(power, "power(x, exponent=2)", print, ("n", "exponent"))(2, n=3)
    8
    """
    return new_public_function(function, text.encode(), answer, renamings)
