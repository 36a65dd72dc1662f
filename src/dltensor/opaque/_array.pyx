# SPDX-License-Identifier: Apache-2.0
"""Arrays behind the C vtable of array.h: made from any object that supports DLPack, and read from any library.

The functions of an array are in the engine, without Python and without the GIL. This module has the Python object
around one, the conversion of errors between the two, and the references that keep objects alive.
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
from .._core.errors cimport exception_of
from .._core.indexing cimport integer_of
from .._core.native cimport MAX_DIMS, adopt, export_managed, release
from .._core.scalars cimport shown
from .._core.shapes cimport as_tuple, read_shape
from .._core.tensor cimport Tensor, assign_scalar, new_empty, new_padded, operations, fill_from_import
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                            DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, device_of, dtype_of, kDLCPU, read_device)

from .._core.foreign_text import quoted
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

# Threads without the GIL defer releases; the main thread performs them, for as long as it runs Python.
set_wakeup(ask_main_thread)


def _close():
    set_wakeup(NULL)
    drop_pending()


atexit.register(_close)

# -- errors -----------------------------------------------------------------------------------------------------------

cdef object _taken_exception(const DetailedStatus* status):
    """Take the Python exception that is stored with an error, or None; the library drops its reference."""
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


cdef int _raise(const DetailedStatus* status, object kind) except -1:
    """Raise the exception of a status; `kind` where a function of the struct failed without a more specific one."""
    error = _taken_exception(status)
    if error is not None:
        raise error
    text = status.message.decode("utf-8", "replace") or "the engine gave no text"
    raise (exception_of(status.fault) or kind)(text)


cdef bytes _error_text(error):
    """Return a text for C about any exception, even one that cannot be printed."""
    try:
        text = str(error)
    except BaseException:
        text = "(str() of the exception failed)"
    text = f"{type(error).__qualname__}: {text}" if text else type(error).__qualname__
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


cdef int _keep_exception(error) noexcept:
    """Make an exception the last error of every library that may read it."""
    cdef const Host* hosts[most_hosts]
    cdef dlt_host_t other
    cdef int i, count
    try:
        text = _error_text(error)
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
    """A Python function that returns a status; `callback` makes it."""
    cdef object function

    def __call__(self, *arguments):
        # Compiled code, so no signal handler can raise between the function and the status.
        try:
            self.function(*arguments)
        except BaseException as error:
            return _keep_exception(error)
        return DLT_SUCCESS


def callback(function: Callable[..., object], /) -> Callable[..., int]:
    """Wrap a function so that it returns a status code instead of raising.

    The result returns 0, or 254 after it stored the exception as the last error of the thread. Use it for functions of
    an array's struct that are written in Python: pass the result to a ctypes prototype that returns an int32. The
    exception, KeyboardInterrupt included, is stored with the error, and the same object is raised again where Python
    called the array (here or in metatensor).

    Parameters
    ----------
    function : callable
        Function whose result is ignored.

    Returns
    -------
    callable
        With the parameters of `function`.

    Raises
    ------
    TypeError
        `function` is not callable.

    Examples
    --------
    >>> dl.opaque.callback(lambda: None)()
    0
    """
    cdef Callback result
    if not callable(function):
        raise TypeError(f"callback: expected a function, got {type(function).__qualname__}")
    result = Callback.__new__(Callback)
    result.function = function
    return result


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
    """Return the number of an origin in the registry of this library, registering it if necessary.

    Parameters
    ----------
    name : str
        At most 65535 bytes of UTF-8.

    Returns
    -------
    int
        The number, the same for equal names.

    Raises
    ------
    TypeError
        `name` is not a str.
    ValueError
        `name` is too long, or contains NUL or a lone surrogate.

    See Also
    --------
    origin_name : Return the name of a number.

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
    """Return the name of an origin in the registry of this library.

    Parameters
    ----------
    number : int
        Number that `register_origin` returned.

    Returns
    -------
    str
        The name; "unregistered origin" for other numbers.

    Raises
    ------
    OverflowError
        `number` is negative or exceeds 64 bits.

    See Also
    --------
    register_origin : Return the number of a name.

    Examples
    --------
    >>> dl.opaque.origin_name(dl.opaque.register_origin("lab.sensor"))
    'lab.sensor'
    """
    cdef char buffer[65536]
    cdef int32_t code
    number = integer_of(number, "number", "origin_name")
    if not 0 <= number < 1 << 64:
        raise OverflowError(f"origin_name: a number of an origin is from 0 to 2^64 - 1, got {shown(number)}")
    code = dlt_get_data_origin(number, buffer, sizeof(buffer))
    if code != DLT_SUCCESS:
        _registry_failed(code, "origin_name")
    return (<const char*>buffer).decode("utf-8", "replace")


# -- making -----------------------------------------------------------------------------------------------------------

cdef Block* _retain_block(Tensor t) except NULL:
    """Return a block around a tensor that threads without the GIL may release."""
    cdef Block* block = adopt(t.impl.dl.data, <void*>t, free_block_ref)
    if block == NULL:
        raise MemoryError("OpaqueArray: allocation failed for a block header")
    Py_INCREF(t)
    return block


cdef int _make(Tensor t, object owner, const Origin* origin, dlt_array_t* out) except -1:
    cdef ArraySpec making
    cdef DetailedStatus status
    making.view = &t.impl.dl
    making.block = _retain_block(t)
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
    return operations.assignable(x, None, func) if t is None else t


cdef OpaqueArray _wrap(const dlt_array_t* array):
    cdef OpaqueArray result = OpaqueArray.__new__(OpaqueArray)
    result.impl = array[0]
    result.owned = True
    return result


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
    """Return the object that an array of this library was made from, or None if the array has changed."""
    cdef void* found = owner_of(array[0], _keep)
    if found == NULL:
        return None
    owner = <object>found
    drop_object(found)
    return owner


cdef int _read_info(const dlt_array_t* array, ArrayInfo* info) except -1:
    cdef DetailedStatus status
    with nogil:
        status = read_info(array[0], NULL, info)
    if not status.ok():
        _raise(&status, BufferError)
    return 0


cdef DLManagedTensorVersioned* _exported(const char* func, const dlt_array_t* array, DLDevice device,
                                         const int64_t* stream, DLPackVersion version) except NULL:
    cdef DetailedStatus status
    cdef DLManagedTensorVersioned* managed = NULL
    with nogil:
        status = export_tensor(func, array[0], NULL, device, stream, version, &managed)
    if not status.ok():
        _raise(&status, BufferError)
    return managed


cdef Tensor _read(const dlt_array_t* array, object owner, bint take, str func):
    """Return a tensor over an array of any library. Only on success `take` transfers the array to the tensor."""
    cdef ArrayInfo info
    cdef DLManagedTensorVersioned* managed
    cdef ImportedTensor imported
    cdef Foreign* foreign
    cdef Block* exported
    cdef Tensor t
    cdef bint ours = is_ours(array[0])
    cdef bytes name = func.encode()
    _read_info(array, &info)
    t = Tensor.__new__(Tensor)
    managed = _exported(name, array, info.device, NULL, DLPackVersion(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION))
    import_managed(managed, &imported, func)
    if (imported.view.ndim != info.ndim or memcmp(&imported.view.dtype, &info.dtype, sizeof(info.dtype)) != 0 or
            info.ndim > 0 and memcmp(imported.view.shape, info.shape, info.ndim * sizeof(int64_t)) != 0):
        exported_as = f"{dtype_of(imported.view.dtype)} {as_tuple(imported.view.ndim, imported.view.shape)}"
        release(imported.block)
        raise BufferError(f"{func}: metadata mismatch: the array reports {dtype_of(info.dtype)} "
                          f"{as_tuple(info.ndim, info.shape)}, its exported tensor is {exported_as}")
    if not ours and (owner is not None or take):
        # Exports of others may need the array, and the array its owner.
        exported = imported.block
        foreign = new_foreign(exported, NULL if owner is None else <void*>owner)
        imported.block = NULL
        if foreign != NULL:
            imported.block = adopt(imported.view.data, foreign, free_foreign)
        if imported.block == NULL:
            release(exported)
            raise MemoryError(f"{func}: allocation failed for a block header")
        if owner is not None:
            Py_INCREF(owner)
        if take:
            foreign.array = array[0]
    fill_from_import(t, &imported)
    if ours and take:
        destroy_without_gil(<dlt_array_t*>array)
    return t


def from_pointer(address: int, /, *, owner=None, take=False):
    """Return a tensor over the memory of the array struct at an address.

    The struct is read during the call and not afterwards. The array itself must live as long as the memory of the
    tensor is in use, unless dltensor made it: pass its `owner`, or `take` it.

    Parameters
    ----------
    address : int
        Address of a struct of 104 bytes (``dlt_array_t``, ``mts_array_t``) of any library.
    owner : object, optional
        Kept alive until the last view of the memory is deleted and the memory is released.
    take : bool, default False
        Transfer ownership of the array: its ``destroy`` is called when the last view is deleted. If this function
        raises, the caller still owns the array.

    Returns
    -------
    Tensor
        On the device of the array, without a copy; read-only if the array says so. If the array was made from a Tensor
        and is unchanged, that Tensor.

    Raises
    ------
    TypeError
        `address` is not an int.
    ValueError
        `address` cannot be that of a struct.
    BufferError
        The array breaks a rule, its functions contradict each other, or one of them fails: the message says which. The
        exception of a function in Python is raised again unchanged.

    See Also
    --------
    unwrap : Return the object that the array was made from.
    hold : Return an OpaqueArray.

    Examples
    --------
    >>> array = dl.opaque.OpaqueArray([[1, 2], [3, 4]])
    >>> dl.opaque.from_pointer(array.pointer)
    Tensor([[1, 2],
            [3, 4]], shape=(2, 2), device=cpu, dtype=int64)
    """
    cdef const dlt_array_t* array = _struct_at(address, "from_pointer")
    if not take:
        made_from = _owner(array)
        if type(made_from) is Tensor:
            return made_from
    return _read(array, owner, take, "from_pointer")


def unwrap(address: int, /, *, owner=None):
    """Return the object that the array at an address was made from, or a tensor if there is none.

    Parameters
    ----------
    address : int
        As for `from_pointer`.
    owner : object, optional
        As for `from_pointer`.

    Returns
    -------
    object
        The same object, not a copy, while the array is unchanged; else a Tensor.

    Raises
    ------
    TypeError, ValueError, BufferError
        As for `from_pointer`.

    See Also
    --------
    from_pointer : Always return a tensor.

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


def hold(address: int, /, *, owner=None, take=False):
    """Return an `OpaqueArray` for the struct at an address, to call its functions from Python.

    Parameters
    ----------
    address : int
        As for `from_pointer`. The struct is copied.
    owner : object, optional
        Kept alive as long as the result.
    take : bool, default False
        Transfer ownership of the array to the result, which then calls ``destroy``.

    Returns
    -------
    OpaqueArray
        For the array of any library.

    Raises
    ------
    TypeError
        `address` is not an int.
    ValueError
        `address` cannot be that of a struct, or its functions ``shape`` and ``as_dlpack`` are both missing.

    See Also
    --------
    from_pointer : Return a tensor.

    Examples
    --------
    >>> array = dl.opaque.OpaqueArray([1, 2, 3])
    >>> dl.opaque.hold(array.pointer, owner=array).shape
    (3,)
    """
    cdef OpaqueArray result = _wrap(_struct_at(address, "hold"))
    result.parent = owner
    if not take:
        result.owned = False
        result.impl.destroy = NULL
    return result


@cython.final
cdef class OpaqueArray:
    """OpaqueArray(obj, /, *, origin=None)\n--\n\nArray behind a struct of function pointers, for native programs.

    The struct is that of C, C++, Fortran and Rust programs. Its functions are native code: they access the memory of
    `obj` without Python and without the GIL, from any thread, whatever library `obj` is from. The constructor requests
    one DLPack export; later calls request none.

    Parameters
    ----------
    obj : array_like, number or nested sequence of numbers
        A tensor of any framework, or anything else that `asarray` takes. Its memory is shared if it has any. A torch
        tensor that requires grad is held as it is, and `unwrap` returns it; its memory is read as that of
        ``obj.detach()``.
    origin : str, optional
        Name by which libraries recognize the maker of an array, by default "dltensor". Data can be moved between arrays
        of one origin only.

    Raises
    ------
    TypeError
        `obj` has no elements.
    BufferError
        DLPack 1.3 cannot express `obj`, or it is not a valid tensor.
    ValueError
        `origin` is not a valid name.

    See Also
    --------
    hold : Make one from the address of a struct.

    Examples
    --------
    >>> import numpy as np
    >>> array = dl.opaque.OpaqueArray(np.zeros((2, 3)))
    >>> array.shape, array.dtype, array.device, array.origin
    ((2, 3), dltensor.float64, dltensor.Device('cpu'), 'dltensor')
    """

    def __init__(self, obj, /, *, origin=None):
        cdef const Origin* named = _default_origin
        cdef Tensor t
        cdef bytes text
        if self.impl.ptr != NULL:
            raise TypeError("OpaqueArray: this one holds an array already; make another")
        drop_pending()
        if type(obj) is OpaqueArray:
            raise TypeError("OpaqueArray: this is an array behind a vtable already; use it, or copy() it")
        if origin is not None:
            text = _name(origin, "OpaqueArray")
            named = origin_named(text)
            if named == NULL:
                raise ValueError(f"OpaqueArray: expected the name of an origin of at most 65535 bytes, got one of "
                                 f"{len(text)}")
        # A torch tensor that requires grad cannot be exported; its memory is that of the detached one.
        requires_grad = type(obj) is not Tensor and getattr(obj, "requires_grad", False) is True
        t = _tensor_of(obj.detach() if requires_grad else obj, "OpaqueArray")
        # A copy does not represent the object that it was copied from.
        shared = obj if t is obj or not isinstance(obj, (int, float, complex, list, tuple, str)) and (
            t.impl.flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0 else t
        _make(t, shared, named, &self.impl)
        self.owned = True

    def __dealloc__(self):
        if self.owned:
            if is_ours(self.impl):
                call_destroy(&self.impl)  # never blocks
            else:
                destroy_without_gil(&self.impl)

    def __reduce__(self):
        raise TypeError("OpaqueArray: a struct of function pointers means nothing to another process; pickle "
                        "array.tensor() instead")

    def __repr__(self):
        return (f"OpaqueArray(shape={self.shape}, dtype={self.dtype}, device='{self.device}', "
                f"origin={self.origin!r})")

    cdef const dlt_array_t* array(self, Use* use) except NULL:
        """Return the struct for calls while `use` exists: the array is not transferred before it ends."""
        cdef bint transferred
        with cython.critical_section(self):
            transferred = self.transferred
            if not transferred:
                use.begin(&self.users)
        if transferred:
            raise ValueError("OpaqueArray: this array was handed over, and only those made by dltensor can be asked "
                             "after that")
        return &self.impl

    cdef int read_info(self, ArrayInfo* info) except -1:
        cdef Use use
        return _read_info(self.array(&use), info)

    # the struct

    @property
    def pointer(self) -> int:
        """Address of the struct, valid as long as this object lives. Reading it does not transfer ownership.

        Examples
        --------
        >>> array = dl.opaque.OpaqueArray([1, 2])
        >>> dl.opaque.from_pointer(array.pointer).tolist()
        [1, 2]
        """
        return <size_t>&self.impl

    def release(self, into: int | None = None):
        """Transfer ownership of the array: from now on the receiver must call ``destroy``.

        Parameters
        ----------
        into : int, optional
            Address of 104 bytes to which the struct is copied. Without it the struct stays in this object, which must
            live until the receiver has copied it.

        Returns
        -------
        int
            Address of the struct.

        Raises
        ------
        ValueError
            Ownership was transferred before, or this object never had it.
        BufferError
            A method of the array is running, on another thread or around this call, and another library made the array.

        Examples
        --------
        >>> array = dl.opaque.OpaqueArray([1, 2]); address = array.release()
        >>> again = dl.opaque.hold(address, take=True); again.shape, array.shape
        ((2,), (2,))
        """
        cdef dlt_array_t* target = <dlt_array_t*>_struct_at(into, "release") if into is not None else NULL
        cdef bint owned, busy
        with cython.critical_section(self):  # only one of two threads transfers it
            owned = self.owned
            busy = self.users.count() > 0 and not is_ours(self.impl)
            if owned and not busy:
                if target != NULL:
                    target[0] = self.impl
                self.owned = False
                self.transferred = not is_ours(self.impl)
        if not owned:
            raise ValueError("release: this array was handed over already, or has another owner; copy() it")
        if busy:
            raise BufferError("release: a method of this array is running, and the receiver may end the array; hand it "
                              "over after the method has returned")
        return <size_t>&self.impl if into is None else into

    # attributes

    @property
    def origin(self) -> str:
        """Name of the origin of the array.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([1, 2], origin="lab.sensor").origin
        'lab.sensor'
        """
        cdef ArrayInfo info
        self.read_info(&info)
        return info.origin_name.decode("utf-8", "replace")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the dimensions, a tuple of int.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([[1, 2, 3]]).shape
        (1, 3)
        """
        cdef ArrayInfo info
        self.read_info(&info)
        return as_tuple(info.ndim, info.shape)

    @property
    def dtype(self) -> DType:
        """Element type, a `DType`.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([1, 2]).dtype
        dltensor.int64
        """
        cdef ArrayInfo info
        self.read_info(&info)
        return dtype_of(info.dtype)

    @property
    def device(self) -> Device:
        """Device of the memory, a `Device`.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([1, 2]).device
        dltensor.Device('cpu')
        """
        cdef ArrayInfo info
        self.read_info(&info)
        return device_of(info.device)

    # conversions without a copy

    def tensor(self):
        """Return a `Tensor` over the memory of the array.

        Returns
        -------
        Tensor
            A view of the same memory.

        Raises
        ------
        BufferError
            A function of the array fails, or its results contradict each other.

        See Also
        --------
        unwrap : Return the object that the array was made from.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([1, 2]).tensor()
        Tensor([1, 2], shape=(2,), device=cpu, dtype=int64)
        """
        cdef Use use
        return _read(self.array(&use), None if is_ours(self.impl) else self, False, "tensor")

    def unwrap(self):
        """Return the object that the array was made from, or a `Tensor` if the array has changed.

        Returns
        -------
        object
            The same object, not a copy, while the array is unchanged; else a Tensor.

        Raises
        ------
        BufferError
            A function of the array fails, or its results contradict each other.

        See Also
        --------
        tensor : Always return a Tensor.

        Examples
        --------
        >>> t = dl.arange(3)
        >>> dl.opaque.OpaqueArray(t).unwrap() is t
        True
        """
        cdef Use use
        cdef const dlt_array_t* array = self.array(&use)
        made_from = _owner(array)
        if made_from is not None:
            return made_from
        return _read(array, None if is_ours(self.impl) else self, False, "unwrap")

    def as_dlpack(self, *, device=None, stream=None, max_version=None):
        """Return the result of the array's own ``as_dlpack`` function as a capsule.

        Parameters
        ----------
        device : device_like, optional
            Requested device; None means that of the array.
        stream : int, optional
            Stream of the consumer, passed on unchanged; None for host memory.
        max_version : tuple of two ints, default (1, 3)
            Newest DLPack version, ``(major, minor)``, that the consumer supports.

        Returns
        -------
        capsule
            Named "dltensor_versioned".

        Raises
        ------
        BufferError
            The array does not support the request: another device, a stream for host memory, a version before 1.0.
        TypeError
            `max_version` is not a pair of integers.

        Examples
        --------
        >>> dl.from_dlpack(dl.opaque.OpaqueArray([1, 2]).as_dlpack())
        Tensor([1, 2], shape=(2,), device=cpu, dtype=int64)
        """
        cdef ArrayInfo info
        cdef DLDevice target
        cdef DLPackVersion version = DLPackVersion(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)
        cdef int64_t number = 0
        cdef const int64_t* stream_pointer = NULL
        cdef Use use
        if device is None:
            self.read_info(&info)
            target = info.device
        else:
            target = read_device(device, "as_dlpack")
        if max_version is not None:
            try:
                version.major, version.minor = max_version
            except (TypeError, ValueError, OverflowError):
                raise TypeError(f"as_dlpack: max_version must be None or two integers such as (1, 3), got "
                                f"{max_version!r}") from None
        if stream is not None:
            number = integer_of(stream, "stream", "as_dlpack")
            stream_pointer = &number
        return capsule_around(_exported(b"as_dlpack", self.array(&use), target, stream_pointer, version))

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> CapsuleType:
        return self.tensor().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        cdef ArrayInfo info
        self.read_info(&info)
        return <int>info.device.device_type, info.device.device_id

    # functions of the struct

    def from_dlpack(self, x, /):
        """Return a new array of the same origin over the memory of any object that supports DLPack.

        Parameters
        ----------
        x : array_like, number or nested sequence of numbers
            Tensor of any dtype, shape and device.

        Returns
        -------
        OpaqueArray
            Made by the library of this array.

        Raises
        ------
        TypeError
            `x` has no elements.
        BufferError
            The library of the array cannot import it.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([1, 2]).from_dlpack(dl.zeros((2, 3))).shape
        (2, 3)
        """
        cdef Tensor t = _tensor_of(x, "from_dlpack")
        cdef Use use
        cdef const dlt_array_t* array = self.array(&use)  # last: reading an argument may hand the array over
        cdef Block* block = _retain_block(t)
        cdef DLManagedTensorVersioned* managed = export_managed(t.impl.dl, block, t.impl.flags)
        cdef dlt_array_t created
        cdef DetailedStatus status
        release(block)
        if managed == NULL:
            raise MemoryError("from_dlpack: allocation failed for the exported struct")
        with nogil:
            status = call_from_dlpack(array[0], NULL, managed, &created)
        if not status.ok():
            _raise(&status, BufferError)
        return _wrap(&created)

    def reshape(self, shape, /):
        """Change the shape of the array in place, copying strided elements if necessary.

        Parameters
        ----------
        shape : int or sequence of int
            New shape, of as many elements.

        Raises
        ------
        ValueError
            The number of elements differs, or an extent is negative.

        Examples
        --------
        >>> array = dl.opaque.OpaqueArray([[1, 2], [3, 4]])
        >>> array.reshape((4,))
        >>> array.tensor().tolist()
        [1, 2, 3, 4]
        """
        cdef int64_t dims[MAX_DIMS]
        cdef int count = _read_dims(shape, dims, "reshape")
        cdef Use use
        cdef const dlt_array_t* array = self.array(&use)
        cdef DetailedStatus status
        with nogil:
            status = call_reshape(array[0], NULL, <uintptr_t*>dims, count)
        if not status.ok():
            _raise(&status, ValueError)

    def swap_axes(self, axis_1, axis_2, /):
        """Swap two axes of the array in place, without a copy.

        Parameters
        ----------
        axis_1, axis_2 : int
            Axes to swap; negative ones count from the last.

        Raises
        ------
        IndexError
            An axis is out of range.

        Examples
        --------
        >>> array = dl.opaque.OpaqueArray([[1, 2], [3, 4]])
        >>> array.swap_axes(0, 1)
        >>> array.tensor().tolist()
        [[1, 3], [2, 4]]
        """
        cdef ArrayInfo info
        cdef int64_t first = integer_of(axis_1, "axis_1", "swap_axes")
        cdef int64_t second = integer_of(axis_2, "axis_2", "swap_axes")
        cdef Use use
        cdef const dlt_array_t* array = self.array(&use)
        cdef DetailedStatus status
        if first < 0 or second < 0:
            self.read_info(&info)
            first += info.ndim if first < 0 else 0
            second += info.ndim if second < 0 else 0
        with nogil:
            status = call_swap_axes(array[0], NULL, <uintptr_t>first, <uintptr_t>second)
        if not status.ok():
            _raise(&status, IndexError)

    def create(self, shape, fill, /):
        """Return a new array of the same origin, dtype and device, filled with one value.

        Parameters
        ----------
        shape : int or sequence of int
            Shape of the new array.
        fill : number, OpaqueArray or array_like
            A number is converted to the dtype of the array and must be representable. An array or tensor must have that
            dtype and no dimensions.

        Returns
        -------
        OpaqueArray
            The new array.

        Raises
        ------
        ValueError
            The dtype or shape of `fill` differs, the new shape is invalid, or the array is on a device where no memory
            can be made.
        OverflowError
            The number is outside the range of the dtype.

        Examples
        --------
        >>> dl.opaque.OpaqueArray([1.5]).create((2,), 7).tensor().tolist()
        [7.0, 7.0]
        """
        cdef int64_t dims[MAX_DIMS]
        cdef const dlt_array_t* array
        cdef int count = _read_dims(shape, dims, "create")
        cdef dlt_array_t value, created
        cdef DetailedStatus status
        cdef Use use, use_of_fill
        if type(fill) is not OpaqueArray:
            t = self._scalar(fill) if isinstance(fill, (int, float, complex)) else _tensor_of(fill, "create")
        array = self.array(&use)
        if type(fill) is OpaqueArray:
            value = (<OpaqueArray>fill).array(&use_of_fill)[0]
            value.destroy = NULL
        else:
            _make(t, t, _default_origin, &value)
        with nogil:
            status = call_create(array[0], NULL, <uintptr_t*>dims, count, value, &created)
        if not status.ok():
            _raise(&status, ValueError)
        return _wrap(&created)

    cdef object _scalar(self, object number):
        """Return a number as one element of the array's dtype, stored as the array stores it."""
        cdef ArrayInfo info
        cdef Tensor t
        self.read_info(&info)
        if info.dtype.bits * info.dtype.lanes % 8 and self.tensor().flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
            t = new_padded(0, NULL, info.dtype, "create")
        else:
            t = new_empty(0, NULL, info.dtype, DLDevice(kDLCPU, 0), "create")
        assign_scalar(t, number, "create")
        return t

    def copy(self, device=None):
        """Return a new array of the same origin with a copy of the elements.

        Parameters
        ----------
        device : device_like, optional
            Device of the copy; None means that of the array.

        Returns
        -------
        OpaqueArray
            The copy.

        Raises
        ------
        DeviceError
            The library of the array cannot copy to that device.

        Examples
        --------
        >>> array = dl.opaque.OpaqueArray([1, 2])
        >>> array.copy().tensor().tolist()
        [1, 2]
        """
        cdef ArrayInfo info
        cdef const dlt_array_t* array
        cdef DLDevice target
        cdef dlt_array_t created
        cdef DetailedStatus status
        cdef Use use
        if device is None:
            self.read_info(&info)
            target = info.device
        else:
            target = read_device(device, "copy")
        array = self.array(&use)
        with nogil:
            status = call_copy(array[0], NULL, target, &created)
        if not status.ok():
            _raise(&status, DeviceError)
        return _wrap(&created)

    def move_data(self, source, movements, /):
        """Copy runs of elements from another array of the same origin into this one.

        All movements are checked before the first is made, so the array is unchanged after an error. If the memory of
        the two arrays overlaps, the result is as if the source were copied first.

        Parameters
        ----------
        source : OpaqueArray
            Array to copy from.
        movements : sequence of tuple of five ints, or array_like
            Each ``(sample_in, sample_out, properties_start_in, properties_start_out, properties_length)``. A tensor has
            the shape ``(n, 5)`` and the dtype int64 or uint64; it is read without a copy if it is contiguous.

        Raises
        ------
        TypeError
            `source` is not an OpaqueArray, or the movements are not integers.
        ValueError
            A movement exceeds one of the arrays; dtypes, dimensions or origins differ; or this array is read-only.

        Examples
        --------
        >>> to, source = dl.opaque.OpaqueArray([[0, 0], [0, 0]]), dl.opaque.OpaqueArray([[1, 2], [3, 4]])
        >>> to.move_data(source, [(0, 1, 0, 0, 2)])
        >>> to.tensor().tolist()
        [[0, 0], [1, 2]]
        """
        cdef dlt_data_movement_t* list_of = NULL
        cdef Tensor table = None
        cdef int64_t count, i
        cdef DetailedStatus status
        cdef OpaqueArray other
        cdef const dlt_array_t* into
        cdef const dlt_array_t* of
        cdef Use use, use_of_source
        if type(source) is not OpaqueArray:
            raise TypeError(f"move_data: expected an OpaqueArray to move from, got {type(source).__qualname__}")
        other = <OpaqueArray>source
        if not isinstance(movements, (list, tuple)):
            table = _movements(movements)
            count = table.impl.dl.shape[0]
            into, of = self.array(&use), other.array(&use_of_source)
            with nogil:
                status = call_move_data(into[0], of[0], NULL, <dlt_data_movement_t*>table.impl.dl.data, count)
        else:
            rows = [movement for movement in movements]  # read once: reading an item may change the sequence
            count = len(rows)
            list_of = <dlt_data_movement_t*>malloc(max(count, 1) * sizeof(dlt_data_movement_t))
            if list_of == NULL:
                raise MemoryError(f"move_data: allocation failed for {count} movements")
            try:
                for i in range(count):
                    if len(rows[i]) != 5:
                        raise ValueError(f"move_data: a movement consists of five integers, got {quoted(rows[i])}")
                    (list_of[i].sample_in, list_of[i].sample_out, list_of[i].properties_start_in,
                     list_of[i].properties_start_out, list_of[i].properties_length) = [
                        integer_of(number, "each number of a movement", "move_data") for number in rows[i]]
                into, of = self.array(&use), other.array(&use_of_source)
                with nogil:
                    status = call_move_data(into[0], of[0], NULL, list_of, count)
            finally:
                free(list_of)
        if not status.ok():
            _raise(&status, ValueError)


cdef int _read_dims(object shape, int64_t* dims, str func) except -1:
    """Read a shape without -1 into `dims`; returns the number of dimensions."""
    cdef int i, count = read_shape(shape, dims, func)
    for i in range(count):
        if dims[i] < 0:
            raise ValueError(f"{func}: shape[{i}] must be at least 0, got {dims[i]}")
    return count


cdef Tensor _movements(object movements):
    """Return movements as a compact tensor of shape (n, 5) with 64-bit integers."""
    cdef Tensor t = _tensor_of(movements, "move_data")
    if t.impl.dl.ndim != 2 or t.impl.dl.shape[1] != 5 or str(t.dtype) not in ("int64", "uint64"):
        raise TypeError(f"move_data: expected movements as a tensor of shape (n, 5) of int64 or uint64, got {t.dtype} "
                        f"{t.shape}")
    if t.impl.dl.device.device_type != kDLCPU:
        raise TypeError(f"move_data: expected movements in host memory, got {t.device}")
    return t if t.is_contiguous else t.copy()


def live_arrays():
    """Return the number of live arrays that this library made, in any language.

    Returns
    -------
    int
        Number of arrays.

    See Also
    --------
    dltensor.debug.live_blocks : Return the number of live memory blocks.

    Examples
    --------
    >>> before = dl.opaque.live_arrays(); array = dl.opaque.OpaqueArray([1.0]); dl.opaque.live_arrays() - before
    1
    """
    return live_handles()


# Public name in errors, pickles and help.
(<PyTypeObject*>OpaqueArray).tp_name = "dltensor.opaque.OpaqueArray"
