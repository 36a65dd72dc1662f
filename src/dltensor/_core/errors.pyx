# SPDX-License-Identifier: Apache-2.0
"""The one way from a status of the engine to a Python exception; the rows of native/status.h say which."""

import _thread
import builtins

from .native cimport Fault, Status, fault_count, fault_table, message

from .types import DeviceError

cdef extern from "_core/public_function.h" namespace "dlt":
    object new_python_function(str name, object function, object load, bytes text, object answer, object find_renamings)
    object new_compiled_function(object function, object module, bint joins_extents)
    bint has_renamed_parameter(const char*)

cdef extern from "Python.h":
    ctypedef struct PyMethodDef:
        const char* ml_doc
    ctypedef struct PyCFunctionObject:
        PyMethodDef* m_ml


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


_kept = _thread._local()  # threading is slow to import


def keep_exception(error):
    """Keep what a function that the engine called has raised: `raise_status` raises it for a failed callback."""
    _kept.error = error


cdef int raise_status(Status status, str func) except -1:
    if status.fault == Fault.callback:
        error = _kept.__dict__.pop("error", None)
        if error is not None:
            raise error
    text = message().decode("utf-8", "replace")
    raise _exceptions.get(<int>status.fault, RuntimeError)(text if func is None else f"{func}: {text}")


def python_function(str name, function, load, str text, answer, find_renamings):
    """Return a builtin that calls a function in Python, and takes keywords under other names too.

    `function` may be None: then the first call gets it from `load`. `text` is the signature and the docstring. `answer`
    is called with the function and an error that it raises, whose text it may change, and None for that of call_errors;
    `find_renamings` with `text`, when a keyword is first passed: it returns other names of parameters, each followed by
    the name of the parameter.

    >>> def power(x, exponent=2):
    ...     return x**exponent
    >>> text = "power(x, exponent=2)"
    >>> python_function("power", None, lambda: power, text, print, lambda text: ("n", "exponent"))(2, n=3)
    8
    """
    return new_python_function(name, function, load, text.encode(), answer, find_renamings)


def compiled_function(function, module, bint joins_extents):
    """Return a builtin that calls a compiled function, and takes keywords under other names too. Its self is a module.

    With `joins_extents`, integers at the beginning are one tuple: ``zeros(2, 3)`` is ``zeros((2, 3))``.
    """
    return new_compiled_function(function, module, joins_extents)


def can_be_renamed(function):
    """Test whether a compiled function has parameters that other libraries name otherwise."""
    return has_renamed_parameter((<PyCFunctionObject*>function).m_ml.ml_doc)
