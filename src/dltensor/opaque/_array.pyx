# SPDX-License-Identifier: Apache-2.0
"""Arrays behind the C vtable of array.h: made from any object that speaks DLPack, and read whoever made them.

What the functions of an array do is the engine's business, without Python and without the GIL. Here are the Python
object around one, the way of errors between the two, and what keeps objects alive meanwhile.
"""
import atexit

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp

from .._core.dlpack cimport ImportedTensor, capsule_around, import_managed
from .._core.convert cimport view_any
from .._core.native cimport adopt, export_managed, release
from .._core.tensor cimport Tensor, as_tuple, assign_scalar, new_empty, new_padded, read_shape, fill_from_import
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                            DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, device_of, dtype_of, kDLCPU, read_device)

from .._core.convert import asarray
from .._core.types import DeviceError

cdef extern from "dltensor/validate.h" nogil:
    int dlt_check_pointer(const void*)

cdef extern from "Python.h":
    bint PyExceptionInstance_Check(void*) noexcept
    void Py_IncrefRaw "Py_INCREF"(PyObject*) noexcept nogil

cdef extern from *:
    """
    namespace dlt::opaque {
    static inline Foreign* new_foreign(Block* exported, void* owner) {
      return new (std::nothrow) Foreign{exported, dlt_array_t{}, static_cast<PyObject*>(owner)};
    }
    }
    """
    Foreign* new_foreign "dlt::opaque::new_foreign"(Block*, void*) noexcept

DEFAULT_ORIGIN = "dltensor"
cdef const Origin* _default_origin = origin_named(b"dltensor")
cdef const char* PYTHON_SOURCE = "Python exception"

# Whoever holds no GIL leaves objects behind; the main thread picks them up, for as long as it runs Python.
set_wakeup(ask_main_thread)


def _close():
    set_wakeup(NULL)
    drop_pending()


atexit.register(_close)

# -- errors -----------------------------------------------------------------------------------------------------------

cdef object _taken_exception(const Status* status):
    """The Python exception that hangs on an error, or None. It is ours then, and the library forgets it."""
    cdef const Host* hosts[most_hosts]
    cdef void* there
    cdef int i, count
    if status.data == NULL or status.source != PYTHON_SOURCE or not PyExceptionInstance_Check(status.data):
        return None
    error = <object>status.data
    count = known_hosts(hosts)
    for i in range(count):
        there = NULL
        if hosts[i].calls.last_error(NULL, NULL, &there) == 0 and there == status.data:
            # An exception that stays there would keep its traceback, and all that the frames in it hold, alive.
            hosts[i].calls.set_last_error(status.message.c_str(), PYTHON_SOURCE, NULL, NULL)
    return error


cdef int _raise(const Status* status, object kind) except -1:
    error = _taken_exception(status)
    if error is not None:
        raise error
    text = status.message.decode("utf-8", "replace") or "the engine is out of memory"
    if "out of memory" in text:
        raise MemoryError(text)
    raise (ValueError if status.code == DLT_INVALID_PARAMETER_ERROR else kind)(text)


cdef bytes _words_of(error):
    """A text for C about any exception, even one that cannot be printed."""
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be had)"
    text = f"{type(error).__qualname__}: {text}" if text else type(error).__qualname__
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


cdef int _keep_exception(error) noexcept:
    """Make an exception the last error of every library that might be asking."""
    cdef const Host* hosts[most_hosts]
    cdef dlt_host_t other
    cdef int i, count
    try:
        text = _words_of(error)
    except BaseException:
        text = b"a Python exception"
    if dlt_find_host("libmetatensor.so", &other) == DLT_SUCCESS:
        host_with(other)
    count = known_hosts(hosts)
    for i in range(count):
        Py_IncrefRaw(<PyObject*>error)
        hosts[i].calls.set_last_error(text, PYTHON_SOURCE, <void*>error, drop_object)
    return DLT_CALLBACK_ERROR


@cython.final
cdef class Callback:
    """A Python function as one that answers with a status: what `callback` makes."""
    cdef object function

    def __call__(self, *arguments):
        # Compiled code, so no signal handler can raise between the function and the status.
        try:
            self.function(*arguments)
        except BaseException as error:
            return _keep_exception(error)
        return DLT_SUCCESS


def callback(function, /):
    """Return `function` as one that answers 0, or 254 after storing what it raised as the thread's last error.

    For functions of an array's struct that are written in Python: give the result to a ctypes prototype that returns
    an int32. Whatever is raised, KeyboardInterrupt included, travels with the error and is raised again, as the same
    object, where Python called the array (here, or in metatensor).

    Parameters
    ----------
    function : callable
        Its result is ignored.

    Raises
    ------
    TypeError
        `function` cannot be called.

    Examples
    --------
    >>> dl.opaque.callback(lambda: None)()
    0
    """
    cdef Callback made
    if not callable(function):
        raise TypeError(f"callback: expected a function, got {type(function).__qualname__}")
    made = Callback.__new__(Callback)
    made.function = function
    return made


# -- origins ----------------------------------------------------------------------------------------------------------

cdef bytes _name(object name, str func):
    if not isinstance(name, str):
        raise TypeError(f"{func}: expected the name of an origin as a str, got {type(name).__qualname__}")
    try:
        text = name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{func}: expected the name of an origin in Unicode, got {name!r}") from None
    if b"\0" in text:
        raise ValueError(f"{func}: the name of an origin has no NUL in it, got {name!r}")
    return text


cdef int _registry_failed(int32_t code, str func) except -1:
    cdef const char* message = NULL
    dlt_last_error(&message, NULL, NULL)
    text = message.decode("utf-8", "replace") if message != NULL else "no message"
    raise (MemoryError if code == DLT_INTERNAL_ERROR else ValueError)(f"{func}: {text}")


def register_origin(name, /):
    """Return the number of an origin in this library's registry: a new one the first time, the same one ever after.

    Parameters
    ----------
    name : str, at most 65535 bytes of UTF-8

    Raises
    ------
    TypeError
        `name` is no str.
    ValueError
        `name` is too long, or has a NUL or half a character in it.

    Examples
    --------
    >>> dl.opaque.register_origin("lab.sensor") == dl.opaque.register_origin("lab.sensor")
    True
    """
    cdef uint64_t number = 0
    text = _name(name, "register_origin")
    cdef int32_t code = dlt_register_data_origin(text, &number)
    if code != DLT_SUCCESS:
        _registry_failed(code, "register_origin")
    return number


def origin_name(number, /):
    """Return the name of an origin of this library's registry; "unregistered origin" for numbers never given out.

    Raises
    ------
    OverflowError
        `number` is negative or beyond 64 bits.

    Examples
    --------
    >>> dl.opaque.origin_name(dl.opaque.register_origin("lab.sensor"))
    'lab.sensor'
    """
    cdef char buffer[65536]
    cdef int32_t code = dlt_get_data_origin(number, buffer, sizeof(buffer))
    if code != DLT_SUCCESS:
        _registry_failed(code, "origin_name")
    return (<const char*>buffer).decode("utf-8", "replace")


# -- making -----------------------------------------------------------------------------------------------------------

cdef Block* _held_block(Tensor t) except NULL:
    """A block around a tensor, that threads without the GIL may release."""
    cdef Block* block = adopt(t.impl.dl.data, <void*>t, free_block_ref)
    if block == NULL:
        raise MemoryError("OpaqueArray: no memory left for a block header")
    Py_INCREF(t)
    return block


cdef int _make(Tensor t, object owner, const Origin* origin, dlt_array_t* out) except -1:
    cdef ArraySpec making
    cdef Status status
    making.view = &t.impl.dl
    making.block = _held_block(t)
    making.flags = t.impl.flags
    making.origin = origin
    making.host = NULL
    making.owner = <void*>owner
    making.release_owner = drop_object
    Py_INCREF(owner)
    status = make(making, out)
    if not status.ok():
        drop_object(<void*>owner)
        release(making.block)
        _raise(&status, BufferError)
    return 0


cdef Tensor _tensor_of(object x, str func):
    t = view_any(x, None, func)
    return asarray(x) if t is None else t


cdef OpaqueArray _holding(const dlt_array_t* array):
    cdef OpaqueArray made = OpaqueArray.__new__(OpaqueArray)
    made.impl = array[0]
    made.held = True
    return made


cdef const dlt_array_t* _struct_at(object address, str func) except NULL:
    if not isinstance(address, int):
        raise TypeError(f"{func}: expected the address of a struct as an int, got {type(address).__qualname__}")
    if not 0 < address < 2**64 or address % 8 or dlt_check_pointer(<void*><size_t>address) != 0:
        raise ValueError(f"{func}: expected the address of a struct of 104 bytes, got {address:#x}")
    return <const dlt_array_t*><size_t>address


# -- reading ----------------------------------------------------------------------------------------------------------

cdef void _keep(void* object_) noexcept nogil:
    # Called back at once on this thread, which holds the GIL.
    Py_IncrefRaw(<PyObject*>object_)


cdef object _owner(const dlt_array_t* array):
    """The very object that an array of ours was made from, while it shows just that; else None."""
    cdef void* found = owner_of(array[0], _keep)
    if found == NULL:
        return None
    owner = <object>found
    drop_object(found)
    return owner


cdef int _ask(const dlt_array_t* array, Answers* answers) except -1:
    cdef Status status
    with nogil:
        status = ask(array[0], NULL, answers)
    if not status.ok():
        _raise(&status, BufferError)
    return 0


cdef DLManagedTensorVersioned* _exported(const char* func, const dlt_array_t* array, DLDevice device,
                                         const int64_t* stream, DLPackVersion version) except NULL:
    cdef Status status
    cdef DLManagedTensorVersioned* managed = NULL
    with nogil:
        status = export_tensor(func, array[0], NULL, device, stream, version, &managed)
    if not status.ok():
        _raise(&status, BufferError)
    return managed


cdef Tensor _read(const dlt_array_t* array, object owner, bint take, str func):
    """A tensor over an array of anybody's. On success, and only then, `take` passes the array to the tensor."""
    cdef Answers said
    cdef DLManagedTensorVersioned* managed
    cdef ImportedTensor imported
    cdef Foreign* foreign
    cdef Block* exported
    cdef Tensor t
    cdef bint ours = is_ours(array[0])
    cdef bytes name = func.encode()
    _ask(array, &said)
    t = Tensor.__new__(Tensor)
    managed = _exported(name, array, said.device, NULL, DLPackVersion(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION))
    import_managed(managed, &imported, func)
    if (imported.view.ndim != said.ndim or memcmp(&imported.view.dtype, &said.dtype, sizeof(said.dtype)) != 0 or
            said.ndim > 0 and memcmp(imported.view.shape, said.shape, said.ndim * sizeof(int64_t)) != 0):
        told = f"{dtype_of(imported.view.dtype)} {as_tuple(imported.view.ndim, imported.view.shape)}"
        release(imported.block)
        raise BufferError(f"{func}: the array says it is {dtype_of(said.dtype)} "
                          f"{as_tuple(said.ndim, said.shape)}, its tensor is {told}")
    if not ours and (owner is not None or take):
        # What others export may need the array, and that its owner.
        exported = imported.block
        foreign = new_foreign(exported, NULL if owner is None else <void*>owner)
        imported.block = NULL
        if foreign != NULL:
            imported.block = adopt(imported.view.data, foreign, free_foreign)
        if imported.block == NULL:
            release(exported)
            raise MemoryError(f"{func}: no memory left for a block header")
        if owner is not None:
            Py_INCREF(owner)
        if take:
            foreign.array = array[0]
    fill_from_import(t, &imported)
    if ours and take:
        destroy_without_gil(<dlt_array_t*>array)
    return t


def from_pointer(address, /, *, owner=None, take=False):
    """Return a tensor over the memory of the vtable array at `address`, whoever made it.

    The struct is read during the call and not afterwards. The array itself must live as long as the tensor's memory is
    in use, unless dltensor made it: give its `owner`, or `take` it.

    Parameters
    ----------
    address : int
        Where the struct of 104 bytes lies (`dlt_array_t`, `mts_array_t`).
    owner : object, optional
        Kept alive until the last view of the memory is gone, and let go of after the memory is given back.
    take : bool, default False
        The array belongs to the tensor from here on: its ``destroy`` is called when the last view is gone. On failure
        it is still the caller's.

    Returns
    -------
    Tensor
        On the array's own device, without a copy; read-only where the array says so. The very tensor that the array
        was made from, if it was made from one and still shows it.

    Raises
    ------
    TypeError
        `address` is no int.
    ValueError
        No struct can lie at `address`.
    BufferError
        The array breaks a rule, its answers contradict each other, or one of its functions fails: the message says
        which. An exception raised by a function in Python is raised again as it is.

    Examples
    --------
    >>> array = dl.opaque.OpaqueArray([[1, 2], [3, 4]])
    >>> dl.opaque.from_pointer(array.pointer).tolist()
    [[1, 2], [3, 4]]
    """
    cdef const dlt_array_t* array = _struct_at(address, "from_pointer")
    if not take:
        made_from = _owner(array)
        if type(made_from) is Tensor:
            return made_from
    return _read(array, owner, take, "from_pointer")


def unwrap(address, /, *, owner=None):
    """Return the very object that the array at `address` was made from, or a tensor over it when there is none.

    Parameters
    ----------
    address : int
        As for `from_pointer`.
    owner : object, optional
        As for `from_pointer`.

    Raises
    ------
    TypeError, ValueError, BufferError
        As for `from_pointer`.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(6).reshape(2, 3); array = dl.opaque.OpaqueArray(a)
    >>> dl.opaque.unwrap(array.pointer) is a
    True
    >>> array.swap_axes(0, 1); dl.opaque.unwrap(array.pointer).shape
    (3, 2)
    """
    cdef const dlt_array_t* array = _struct_at(address, "unwrap")
    made_from = _owner(array)
    return _read(array, owner, False, "unwrap") if made_from is None else made_from


def hold(address, /, *, owner=None, take=False):
    """Return an `OpaqueArray` around the struct at `address`, whoever made it, to call its functions from Python.

    Parameters
    ----------
    address : int
        As for `from_pointer`. The struct is copied.
    owner : object, optional
        Kept alive as long as the result.
    take : bool, default False
        The result ends the array.

    Raises
    ------
    TypeError
        `address` is no int.
    ValueError
        No struct can lie at `address`, or its functions ``shape`` and ``as_dlpack`` are both missing.

    Examples
    --------
    >>> array = dl.opaque.OpaqueArray([1, 2, 3])
    >>> dl.opaque.hold(array.pointer, owner=array).shape
    (3,)
    """
    cdef OpaqueArray made = _holding(_struct_at(address, "hold"))
    made.parent = owner
    if not take:
        made.held = False
        made.impl.destroy = NULL
    return made


include "_array_class.pxi"


def live_arrays():
    """Return how many arrays made by this library are alive, whoever holds them.

    Raises
    ------
    Nothing.

    Examples
    --------
    >>> before = dl.opaque.live_arrays(); array = dl.opaque.OpaqueArray([1.0]); dl.opaque.live_arrays() - before
    1
    """
    return live_handles()


# Where users find them, in errors, pickles and help.
(<PyTypeObject*>OpaqueArray).tp_name = "dltensor.opaque.OpaqueArray"
