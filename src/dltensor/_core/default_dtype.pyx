# SPDX-License-Identifier: Apache-2.0
"""The default dtype: the dtype of real numbers that come without one, for the process and in a context."""

from cpython.contextvars cimport PyContextVar_New, PyContextVar_Set, get_value
from cpython.object cimport PyObject, PyTypeObject

from .native cimport environment, find_type, type_float32, type_float64, type_table
from .types cimport DLDataType, dtype_of, read_dtype

cdef extern from "native/environment.h" namespace "dlt" nogil:
    void reject_environment(const char*, const char*, const char*) noexcept


cpdef object new_context_variable(str name, object default):
    """Return a context variable. The module contextvars, which has the class, would be a file more to load.

    >>> new_context_variable("example", 3).get()
    3
    """
    return PyContextVar_New(name.encode(), <PyObject*>default)


# The choices of `with default_dtype(...)` in a context, the innermost last.
cdef object _choices = new_context_variable("dltensor.default_dtype", ())


cdef class _Choice:
    """A choice of one `with`. Contexts are counted by it: tasks that copied one keep it after the block."""
    cdef int type
    cdef bint is_withdrawn

    def __cinit__(self, int type):
        self.type = type
        count_contexts(1)

    def __dealloc__(self):
        count_contexts(-1)


cdef int context_default() noexcept:
    cdef _Choice choice
    for one in reversed(<tuple>get_value(_choices)):
        choice = one
        if not choice.is_withdrawn:
            return choice.type
    return process_default()


cdef int _default_number(object dtype, str func) except -1:
    cdef DLDataType value = read_dtype(dtype, func)
    cdef int type = find_type(value)
    if type != type_float32 and type != type_float64:
        raise ValueError(f"{func}: expected float32 or float64, got {dtype_of(value)}")
    return type


def get_default_dtype():
    """Return the dtype of real numbers that come without one: float32, or what has been chosen.

    Returns
    -------
    DType
        The choice of the innermost `default_dtype` block, else that of `set_default_dtype`.

    {See Also: set_default_dtype}

    Examples
    --------
    >>> dl.get_default_dtype()
    dltensor.float32
    """
    return dtype_of(type_table[default_real()].dtype)


def set_default_dtype(dtype, /):
    """Choose the dtype of real numbers that come without one, for the whole process.

    It is the dtype of new tensors, of Python floats, and of functions of integers that give floats: ``dl.zeros(3)``,
    ``dl.asarray([0.5])``, ``dl.sin(dl.arange(3))``. Complex numbers get the complex dtype of the same width. Tensors of
    floats keep their dtype, also beside Python floats. The environment variable ``DLTENSOR_DEFAULT_DTYPE`` sets the
    initial choice.

    Parameters
    ----------
    dtype : dtype_like
        One of float32 and float64.

    Raises
    ------
    ValueError
        It is another dtype.
    TypeError
        It is not a dtype.

    See Also
    --------
    default_dtype : Choose it for a block.

    Examples
    --------
    >>> dl.set_default_dtype("float64")
    >>> dl.zeros(2).dtype, dl.asarray([1j]).dtype
    (dltensor.float64, dltensor.complex128)
    >>> dl.set_default_dtype("float32")
    """
    set_process_default(_default_number(dtype, "set_default_dtype"))


cdef class default_dtype:
    """default_dtype(dtype, /)\n--\n\nChoose the dtype of real numbers that come without one, in a block or a function.

    It is a context manager, and a decorator. The choice holds for the block's thread or asyncio task only, and for
    tasks that are started inside the block. Blocks may be nested, and one object may be entered several times. A
    generator that is suspended inside the block leaves the choice to its caller until it goes on or is closed, as
    with all context variables.

    {set_default_dtype: Parameters, Raises}

    Raises
    ------
    TypeError
        It is not a dtype; or what is decorated is a coroutine or a generator function, which runs after the call.

    See Also
    --------
    set_default_dtype : Choose it for the process, and what it applies to.

    Examples
    --------
    >>> with dl.default_dtype("float64"):
    ...     t = dl.linspace(0, 1, 3)
    >>> t.dtype, dl.zeros(1).dtype
    (dltensor.float64, dltensor.float32)
    """

    cdef int _type
    cdef list _entered

    def __init__(self, dtype, /):
        self._type = _default_number(dtype, "default_dtype")
        self._entered = []

    def __enter__(self):
        choice = _Choice(self._type)
        self._entered.append(choice)
        PyContextVar_Set(_choices, (*get_value(_choices), choice))
        return self

    def __exit__(self, kind, error, trace, /):
        cdef _Choice choice
        choices = get_value(_choices)
        for one in reversed(choices):
            if one in self._entered:
                PyContextVar_Set(_choices, tuple([other for other in choices if other is not one]))
                self._entered.remove(one)
                return
        # A generator that is closed in another context than its own, which cannot be changed from here.
        choice = self._entered.pop()
        choice.is_withdrawn = True

    def __call__(self, function, /):
        from .decorating import decorated  # loaded on use, for the import time of the package
        return decorated(self, function, "default_dtype")


cdef int _read_environment() except -1:
    cdef const char* name = environment("DLTENSOR_DEFAULT_DTYPE")
    if name != NULL:
        if name == b"float64":
            set_process_default(type_float64)
        elif name != b"float32":
            reject_environment("DLTENSOR_DEFAULT_DTYPE", name, "float32 or float64")
    return 0


_read_environment()
# The package shows it under this name.
(<PyTypeObject*>default_dtype).tp_name = "dltensor.default_dtype"
