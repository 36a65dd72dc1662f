# SPDX-License-Identifier: Apache-2.0
"""Import and export of whole tensors: from_dlpack, asarray, wrap, into, and the exchange table of Tensor."""
import sys
from functools import partial
from itertools import islice

from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject, Py_TYPE
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from .buffers cimport take_buffer, take_interface
from .default_dtype cimport default_real
from .dlpack cimport (ARRAY, ARRAY_INTERFACE, BUFFER, CAPSULE, COLUMN, CUDA_ARRAY_INTERFACE, MASKED, NDARRAY, NONE,
                      PROTOCOL, TABLE, ImportedTensor, TypeEntry, adopt_object, borrow_table,
                      cached_entry, check_mask, check_tensor, classify_type, entry_of, import_managed, import_tensor,
                      is_numpy_scalar, raise_table_error, update_entry)
from .indexing cimport Place, integer_of
from .interop.numpy cimport import_numpy, is_new_array
from .interop.torch cimport import_plain, is_lazy
from .native cimport (MAX_DIMS, computed_types, export_managed, find_type, is_contiguous, numel, promote, release,
                      type_bool, type_complex64, type_float32, type_int64, type_table)
from .scalars cimport kind_order, plain_number, promote_number, shown, store_exact, store_python
from .signals cimport check_signals
from .allocation cimport is_packed
from .shapes cimport as_tuple, read_shape
from .tensor cimport (Tensor, assign, assign_scalar, copied, current_stream, device_operations, exchange_table,
                      fill_from_import, new_empty, new_zeros, on_device, operations, reshaped, same_view, uses_cuda,
                      view_of)
from .threads cimport Flag
from .types cimport (DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_MAJOR_VERSION,
                     DLPACK_MINOR_VERSION, DLDataType, DLDevice, DLDeviceType, DLManagedTensorVersioned,
                     DLPackExchangeAPI, DLTensor, SetError, device_of, dtype_of, is_host, kDLCPU, kDLCUDA,
                     read_copy_flag, read_device, read_dtype)

from .foreign_text import first_line, quoted
from .types import DLPACK_VERSION, ConformanceWarning

cdef extern from "native/memory/managed.h" namespace "dlt" nogil:
    int allocate_managed(DLTensor*, DLManagedTensorVersioned**, void*, SetError) noexcept


# -- nested sequences of numbers --------------------------------------------------------------------------------------

cdef struct NumberTypes:
    int typed                # the dtype that typed scalars and arrays of 0 dimensions promote to; -1 before the first
    int number               # the default dtype that holds all Python numbers; -1 before the first
    PyObject* last_scalar    # the class of the last scalar of NumPy, and its dtype
    int last_type


cdef NumberTypes _no_types() noexcept:
    cdef NumberTypes types
    types.typed = types.number = types.last_type = -1
    types.last_scalar = NULL
    return types


cdef Tensor _from_numbers(object obj, object dtype, str func, bint wide=False):
    """A number or nested sequences of numbers in fresh memory; `wide` gives Python's floats double precision."""
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t i = 0
    cdef int ndim = 0
    cdef bint padded
    cdef int type_
    cdef Tensor t
    cdef NumberTypes types = _no_types()
    cdef list leaves = []
    ndim = _collect(obj, 0, -1, shape, leaves, &types if dtype is None else NULL, func)
    if wide and types.typed < 0 and types.number >= 0 and kind_order(types.number) >= kind_order(type_float32):
        types.typed = type_float64
    t = new_empty(ndim, shape, _common_type(&types, func) if dtype is None else read_dtype(dtype, func),
                  DLDevice(kDLCPU, 0), func)
    padded = not is_packed(t.impl.dl.dtype, t.impl.flags)
    type_ = find_type(t.impl.dl.dtype)
    if type_ < 0 or type_ >= computed_types or t.impl.dl.dtype.lanes != 1:
        type_ = -1
    for leaf in leaves:
        if type(leaf) is Tensor:
            i += _store_array(t, i, <Tensor>leaf, type_, padded, func)
            continue
        if type_ < 0 or not store_exact(leaf, type_, <char*>t.impl.dl.data + i * type_table[type_].bytes):
            store_python(t.impl.dl.data, i, leaf, t.impl.dl.dtype, padded, func)
        check_signals(i)
        i += 1
    return t


cdef int64_t _store_array(Tensor t, int64_t start, Tensor x, int type_, bint padded, str func) except -1:
    """Write the elements of an array among the numbers of a sequence from element `start` on; returns how many."""
    cdef Place place
    cdef int axis
    cdef int source = find_type(x.impl.dl.dtype)
    cdef int64_t i = 0, step = 1
    cdef int64_t count = numel(x.impl.dl.ndim, x.impl.dl.shape)
    if type_ < 0:
        for number in reshaped(x, (-1,), None, func).tolist():
            store_python(t.impl.dl.data, start + i, number, t.impl.dl.dtype, padded, func)
            i += 1
        return count
    if source == type_ and is_contiguous(x.impl.dl.ndim, x.impl.dl.shape, x.impl.dl.strides):
        if count > 0:
            memcpy(<char*>t.impl.dl.data + start * type_table[type_].bytes, x.impl.dl.data,
                   count * type_table[type_].bytes)
        return count
    if source != type_ and (source < 0 or source >= computed_types or kind_order(source) > kind_order(type_)):
        x = operations.astype(x, t.dtype, False, False)
    place.ndim, place.offset = x.impl.dl.ndim, start
    for axis in range(place.ndim - 1, -1, -1):
        place.shape[axis], place.strides[axis] = x.impl.dl.shape[axis], step
        step *= place.shape[axis]
    assign(view_of(t, &place), x, func)
    return count


cdef tuple _items(object x, str func):
    """The items of a list, tuple or range, read once. One of a class that never ends is refused."""
    if type(x) is list or type(x) is tuple or type(x) is range:
        return tuple(x)
    # A class may say any length of itself: what is stored is read whatever it says.
    most = max(len(x), (list if isinstance(x, list) else tuple).__len__(x))
    items = tuple(islice(x, most + 1))
    if len(items) > most:
        raise ValueError(f"{func}: {type(x).__qualname__} has a length of {most} and gives more items")
    return items


cdef int _collect(object x, int depth, int ndim, int64_t* shape, list leaves, NumberTypes* types, str func) except -1:
    """Append the numbers and arrays of nested sequences in C order; returns how many dimensions they have together.

    `ndim` is -1 until the first number, or the first empty sequence, tells the depth. Every sequence is read once, so
    that whatever a number's conversion does to it, or a class says of its length, changes nothing.
    """
    cdef tuple items
    cdef Tensor array
    cdef int64_t step = 0
    if not isinstance(x, (list, tuple, range)):
        array = _array_item(x, func)
        if array is not None:
            return _collect_array(array, depth, ndim, shape, leaves, types, func)
        if ndim >= 0 and depth != ndim:
            raise ValueError(f"{func}: sequences are ragged: expected {shape[depth]} items at depth {depth}, got "
                             f"{type(x).__qualname__}")
        check_signals(len(leaves))
        leaves.append(plain_number(x, func, _EXPECTED) if types == NULL else _typed_number(x, types, func, _EXPECTED))
        return depth
    if depth == ndim:
        raise ValueError(f"{func}: sequences are ragged: found {type(x).__qualname__} where shape "
                         f"{as_tuple(ndim, shape)} has a number")
    if depth == 64:
        raise ValueError(f"{func}: sequences are nested more than 64 deep")
    items = _items(x, func)
    if ndim < 0:
        shape[depth] = len(items)
        if not items:
            return depth + 1
    elif len(items) != shape[depth]:
        raise ValueError(f"{func}: sequences are ragged: expected {shape[depth]} items at depth {depth}, got "
                         f"{len(items)}")
    for item in items:
        check_signals(step)
        step += 1
        ndim = _collect(item, depth + 1, ndim, shape, leaves, types, func)
    return ndim


cdef Tensor _array_item(object x, str func):
    """An array of one dimension or more among the items of a sequence; None for all else."""
    cdef const TypeEntry* entry
    cdef Tensor t
    if PyFloat_CheckExact(x) or PyLong_CheckExact(x) or PyBool_Check(x):
        return None
    if type(x) is Tensor:
        t = x
    else:
        entry = entry_of(x)
        if entry.path == NDARRAY:
            t = _import(x, entry, None, func)
        elif is_numpy_scalar(type(x)) or getattr(x, "ndim", 0) == 0:
            return None
        else:
            t = _as_scalar(x, func)
    return None if t is None or t.impl.dl.ndim == 0 else t


cdef int _collect_array(Tensor x, int depth, int ndim, int64_t* shape, list leaves, NumberTypes* types,
                        str func) except -1:
    """Append an array that is an item of nested sequences; returns how many dimensions they have together."""
    cdef int i, type_
    cdef int total = depth + x.impl.dl.ndim
    if not is_host(<int>x.impl.dl.device.device_type):
        raise TypeError(f"{func}: expected {_EXPECTED}, got Tensor of shape {x.shape} on {x.device}; "
                        f"stack() and concat() join tensors")
    if total > 64:
        raise ValueError(f"{func}: sequences are nested more than 64 deep")
    for i in range(depth, total):
        if ndim < 0:
            shape[i] = x.impl.dl.shape[i - depth]
        elif total != ndim or shape[i] != x.impl.dl.shape[i - depth]:
            raise ValueError(f"{func}: sequences are ragged: found an array of shape {x.shape} where the first item "
                             f"has shape {as_tuple(ndim - depth, shape + depth) if ndim >= depth else ()}")
    if types != NULL:
        type_ = find_type(x.impl.dl.dtype)
        if type_ < 0:
            raise TypeError(f"{func}: elements of {x.dtype} are no numbers; pass the dtype that the result shall have")
        _add_type(types, type_, func)
    leaves.append(x)
    return total


cdef str _EXPECTED = ("numbers, nested sequences of numbers, or an object with __dlpack__, the buffer protocol or an "
                      "array interface")


cdef inline void _add_number(NumberTypes* types, int type_) noexcept:
    if types.number < 0:
        types.number = type_
    elif types.number != type_ and kind_order(type_) > kind_order(types.number):
        types.number = type_


cdef object _typed_number(object x, NumberTypes* types, str func, str expected):
    """A number, or an array of 0 dimensions, as a Python number; its dtype is added to those of the numbers so far."""
    cdef Tensor t
    cdef int type_
    cdef bint scalar
    if PyFloat_CheckExact(x):
        _add_number(types, type_float32)
        return x
    if PyLong_CheckExact(x):
        _add_number(types, type_int64)
        return x
    if <PyObject*>Py_TYPE(x) == types.last_scalar:
        _add_type(types, types.last_type, func)
        return plain_number(x, func, expected)
    t = None if PyBool_Check(x) else _as_scalar(x, func)
    if t is None:
        number = plain_number(x, func, expected)
        type_ = (type_bool if PyBool_Check(number) else type_int64 if PyLong_CheckExact(number) else
                 type_float32 if PyFloat_CheckExact(number) else type_complex64)
        _add_number(types, type_)
        return number
    if t.impl.dl.ndim != 0:
        return plain_number(x if hasattr(x, "ndim") else t, func, expected)  # raises
    number = plain_number(t.item(), func, expected)
    type_ = find_type(t.impl.dl.dtype)
    if type_ < 0:
        raise TypeError(f"{func}: an element of {t.dtype} is not a number; pass the dtype that the result shall have")
    _add_type(types, type_, func)
    scalar = is_numpy_scalar(type(x))
    types.last_scalar, types.last_type = <PyObject*>Py_TYPE(x) if scalar else NULL, type_
    return number


cdef Tensor _as_scalar(object x, str func):
    """A typed scalar or an array as a tensor; None for a Python number and what is no array."""
    if isinstance(x, (int, float, complex, str, bytes)):
        # numpy.float64 and numpy.complex128 are Python's numbers too.
        return _from_array(x, None, func) if isinstance(x, (float, complex)) and entry_of(x).path == ARRAY else None
    return view_any(x, None, func)


cdef int _add_type(NumberTypes* types, int type_, str func) except -1:
    cdef int joined = type_ if types.typed < 0 else promote(types.typed, type_)
    if joined < 0:
        raise TypeError(f"{func}: {type_table[types.typed].name.decode()} and {type_table[type_].name.decode()} have "
                        f"no dtype in common; pass dtype=")
    types.typed = joined
    return 0


cdef DLDataType _common_type(const NumberTypes* types, str func) except *:
    """The dtype of typed scalars and Python numbers together; the default dtype where there are none."""
    cdef int joined
    if types.number < 0:
        return type_table[default_real() if types.typed < 0 else types.typed].dtype
    joined = promote_number(types.typed, types.number)
    if joined < 0:
        raise TypeError(f"{func}: {type_table[types.typed].name.decode()} and a number of "
                        f"{type_table[types.number].name.decode()} have no dtype in common; pass dtype=")
    return type_table[joined].dtype


# -- in ---------------------------------------------------------------------------------------------------------------

cdef Tensor read(object x, object copy, str func):
    """The tensor that any object with DLPack (or an ndarray) shows, sharing its memory."""
    return same_view(<Tensor>x) if type(x) is Tensor else _import(x, entry_of(x), copy, func)


cdef Tensor _import(object x, const TypeEntry* entry, object copy, str func):
    cdef ImportedTensor imported
    cdef DLPackExchangeAPI* table = entry.table
    cdef Tensor t = Tensor.__new__(Tensor)
    if entry.path == NDARRAY:
        import_numpy(x, &imported, func)
    elif entry.is_torch:
        if entry.overrides_export or table == NULL or not import_plain(x, &imported, func):
            return _read_torch(x, entry.overrides_export, copy, func)
    elif entry.path == PROTOCOL:
        _import_dlpack(x, entry, copy, &imported, func)
    elif entry.path == MASKED:
        check_mask(x, func)
        import_numpy(x, &imported, func)
    elif entry.path == TABLE or entry.path == CAPSULE:
        import_tensor(x, entry, None, &imported, func)
    else:
        raise AttributeError(f"{func}: {type(x).__qualname__} has no __dlpack__ and no exchange table; asarray reads "
                             f"buffers, array interfaces and sequences too")
    fill_from_import(t, &imported)
    if t.impl.dl.device.device_type == kDLCUDA:
        _order_streams(t, table)
    return t


cdef int _import_dlpack(object x, const TypeEntry* entry, object copy, ImportedTensor* imported, str func) except -1:
    try:
        import_protocol(x, entry, None if copy else copy, imported, func)  # True: see _read_for_copy
    except TypeError as error:  # pyarrow's, for elements that are missing or bits
        if not hasattr(x, "__arrow_c_array__"):
            raise
        raise BufferError(f"{func}: {type(x).__qualname__}.__dlpack__ refused: {first_line(str(error))}") from error
    return 0


cdef Tensor _read_torch(object x, bint by_class, object copy, str func):
    """A torch tensor that is not known to be plain memory. Its storage is kept: the object may get another one."""
    cdef ImportedTensor imported
    cdef const TypeEntry* entry
    cdef Tensor t
    from .interop.torch_public import hold_storage
    if not by_class and is_lazy(x, func):
        if copy is not None and not copy:
            raise BufferError(f"{func}: the torch tensor has the lazy conj or neg bit set; resolving it needs a copy, "
                              f"but copy=False; call resolve_conj().resolve_neg() first")
        t = read(x.resolve_conj().resolve_neg(), None, func)
        t.impl.flags |= DLPACK_FLAG_BITMASK_IS_COPIED
        return t
    entry = entry_of(x)  # Python code may have run and changed the class
    if by_class or entry.table == NULL or entry.table.dltensor_from_py_object_no_sync == NULL:
        return _read_torch_class(x, hold_storage, func)
    t = Tensor.__new__(Tensor)
    storage = hold_storage(x)
    borrow_table(x, entry.table, &imported.view, imported.dims, func)
    imported.flags = 0
    adopt_object(storage, &imported, func)
    fill_from_import(t, &imported)
    if t.impl.dl.device.device_type == kDLCUDA:
        _order_streams(t, entry.table)
    return t


cdef Tensor _read_torch_class(object x, object hold_storage, str func):
    """The tensor that a torch tensor exports by its ``__dlpack__``, which its class may have made its own."""
    cdef ImportedTensor imported
    cdef Tensor t = Tensor.__new__(Tensor), exported = Tensor.__new__(Tensor)
    try:
        import_protocol(x, entry_of(x), None, &imported, func)
    except RuntimeError as error:
        raise BufferError(f"{func}: {type(x).__qualname__}.__dlpack__ refused: {first_line(str(error))}") from error
    fill_from_import(exported, &imported)
    if exported.impl.dl.device.device_type == kDLCUDA:
        _order_streams(exported, NULL)
    try:
        storage = hold_storage(x)
    except RuntimeError:  # a subclass without a storage: its export has an owner of its own
        return exported
    # An export of torch keeps the tensor object, not its storage.
    imported.view = exported.impl.dl
    imported.flags = exported.impl.flags
    adopt_object([storage, exported], &imported, func)
    fill_from_import(t, &imported)
    return t


cdef int _order_streams(Tensor t, const DLPackExchangeAPI* table) except -1:
    """Let our stream wait for the producer's current one, if its table provides that: no import orders streams."""
    cdef void* stream = NULL
    number = None
    if table != NULL and table.current_work_stream != NULL:
        if table.current_work_stream(t.impl.dl.device.device_type, t.impl.dl.device.device_id, &stream) != 0:
            raise_table_error(None, "from_dlpack")
        number = <size_t>stream or 1
    return device_operations().adopt(t, number, False)


cdef inline int import_protocol(object x, const TypeEntry* entry, object copy, ImportedTensor* imported,
                                str func) except -1:
    """Take a tensor by ``__dlpack__``, after ``__dlpack_device__`` where that is needed."""
    if entry.is_known_package and entry.device_agrees and copy is None and not uses_cuda():
        # There is no stream to pass, so that the device need not be known before the tensor is.
        import_tensor(x, entry, None, imported, func)
        if is_host(<int32_t>imported.view.device.device_type):
            return 0
        release(imported.block)
    return _import_after_device(x, copy, imported, func)


cdef int _import_by_copy(object x, object stream, object copy, ImportedTensor* imported, str func) except -1:
    """Take a tensor with `copy` passed on; 0 when ``__dlpack__`` does not know the argument."""
    options = {"max_version": DLPACK_VERSION, "copy": copy}
    if stream is not None:
        options["stream"] = stream
    try:
        capsule = x.__dlpack__(**options)
    except TypeError as error:
        if type(error) is not TypeError:
            raise  # the export's own: see _call_dlpack
        return 0  # the signature of before 2023.12
    import_tensor(capsule, entry_of(capsule), None, imported, func)
    if entry_of(x).is_immutable:
        imported.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return 1


cdef int _import_after_device(object x, object copy, ImportedTensor* imported, str func) except -1:
    cdef int32_t device_type = 0, device_id = 0
    cdef const TypeEntry* entry
    stream = None
    try:
        method = x.__dlpack_device__
    except AttributeError:
        import warnings  # imported on use, for the import time of the package
        warnings.warn(f"{type(x).__qualname__} has no __dlpack_device__, which the standard requires; the device is "
                      f"taken from the tensor itself", ConformanceWarning, stacklevel=3)
    else:
        device = method()
        try:
            first, second = device
            plain = PyLong_CheckExact(first) and PyLong_CheckExact(second)
            if not plain and not hasattr(first, "__index__") and hasattr(first, "value"):
                # open3d: an enumeration that cannot be used as a number.
                import warnings  # imported on use, for the import time of the package
                warnings.warn(f"{type(x).__qualname__}.__dlpack_device__ returns {first!r}, which is not an integer as "
                              f"the standard requires; its value is used", ConformanceWarning, stacklevel=3)
                first = first.value
            device_type = first if plain else PyNumber_Index(first)
            device_id = (second if plain else
                         0 if second is None and device_type == kDLCPU else PyNumber_Index(second))
        except (TypeError, ValueError, AttributeError, OverflowError):
            raise TypeError(f"{func}: __dlpack_device__ of {type(x).__qualname__} must return two integers, got "
                            f"{device!r}") from None
        if device_type == kDLCUDA:
            stream = current_stream(device_id)
    if copy is None or _import_by_copy(x, stream, copy, imported, func) == 0:
        import_tensor(x, entry_of(x), stream, imported, func)  # the class may have changed
        if copy is not None and not copy and imported.flags & DLPACK_FLAG_BITMASK_IS_COPIED:
            release(imported.block)
            raise BufferError(f"{func}: {type(x).__qualname__}.__dlpack__ exports a copy, but copy=False")
    if device_type != 0 and (device_type != <int32_t>imported.view.device.device_type or
                             not is_host(device_type) and device_id != imported.view.device.device_id):
        release(imported.block)
        raise BufferError(f"{func}: __dlpack_device__ of {type(x).__qualname__} is "
                          f"{device_of(DLDevice(<DLDeviceType>device_type, device_id))}, its tensor is on "
                          f"{device_of(imported.view.device)}")
    entry = entry_of(x)  # after the call, which may update it
    update_entry(type(x), entry.signature, device_type != 0 and is_host(device_type))
    return 0


cdef Tensor _moved(Tensor t, object device, object copy, str func):
    """Obey the device and copy arguments of the array API."""
    cdef DLDevice target
    cdef bint result = False
    if device is not None:
        target = read_device(device, func)
        if target.device_type != t.impl.dl.device.device_type or target.device_id != t.impl.dl.device.device_id:
            if copy is not None and not copy:
                raise BufferError(f"{func}: moving from {t.device} to {device_of(target)} needs a copy, but "
                                  f"copy=False")
            t = on_device(t, device, func)
            result = True
    if copy and not result:
        # By us, whatever the producer says: some set the flag without copying (jax 0.10).
        t = copied(t, func)
        result = True
    if result:
        t.impl.flags |= DLPACK_FLAG_BITMASK_IS_COPIED
    return t


def from_dlpack(x, /, *, device=None, copy=None):
    """Import a tensor from any object that supports DLPack, without a copy.

    Parameters
    ----------
    x : array_like or capsule
        Object with an exchange table on its type or with ``__dlpack__`` of any version, or a DLPack capsule.
    device : device_like, optional
        Device of the result; None leaves the data where it is.
    copy : bool, optional
        None shares memory where possible, True always copies, also arrays of NumPy of another byte order or with
        strides that are no whole elements, False never does and is passed on to ``__dlpack__``.

    Returns
    -------
    Tensor
        Read-only if the producer says so. It keeps the producer's memory alive until its last view is deleted.

    Raises
    ------
    BufferError
        The tensor is not usable because it breaks a rule (the message names field, value and rule), elements are masked
        or missing, or `copy` is False and a copy is needed.
    AttributeError
        `x` does not support DLPack.
    TypeError
        ``__dlpack__`` or ``__dlpack_device__`` returned something other than the standard says.
    DeviceError
        The device is not available.

    {See Also: asarray, into}

    {Notes: Array API 2025.12: ``from_dlpack``; DLPack 1.3.}

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(6).reshape(2, 3)
    >>> t = dl.from_dlpack(a)
    >>> t[0, 0] = 9
    >>> a
    array([[9, 1, 2],
           [3, 4, 5]])
    """
    copy = read_copy_flag(copy, "from_dlpack")
    cdef Tensor t = _read_for_copy(x, True, "from_dlpack") if copy else read(x, copy, "from_dlpack")
    if device is not None or copy is not None:
        return _moved(t, device, copy, "from_dlpack")
    return t


cdef Tensor _read_for_copy(object x, bint only_dlpack, str func):
    """A tensor that will be copied. NumPy copies what DLPack cannot express: other byte orders and odd strides."""
    cdef ImportedTensor imported
    cdef Tensor t
    try:
        return read(x, True, func) if only_dlpack else view_any(x, True, func)
    except BufferError:
        array = _native_array(x)
        if array is None and entry_of(x).path != PROTOCOL:
            raise
        if array is None and hasattr(x, "__arrow_c_array__"):
            raise  # pyarrow: elements are missing
    if array is not None:
        return read(array, None, func)
    # The producer could not share its memory: take the copy that it exports.
    t = Tensor.__new__(Tensor)
    _import_after_device(x, True, &imported, func)
    fill_from_import(t, &imported)
    if t.impl.dl.device.device_type == kDLCUDA:
        _order_streams(t, NULL)
    return t


cdef object _native_array(object x):
    """A copy of an ndarray, a buffer or an array interface in native byte order; None for anything else."""
    cdef int path = entry_of(x).path
    if path == ARRAY:
        x = x.__array__()
        path = entry_of(x).path
    elif path == BUFFER or path == ARRAY_INTERFACE or path == NONE and hasattr(x, "__array_interface__"):
        try:
            import numpy
        except ImportError:
            return None
        x, path = numpy.asarray(memoryview(x) if path == BUFFER else x), NDARRAY
    return x.astype(x.dtype.newbyteorder("="), order="C") if path == NDARRAY else None


def asarray(obj, /, dtype=None, *, device=None, copy=None):
    """Convert to a tensor, sharing memory where possible.

    Parameters
    ----------
    obj : array_like, number, nested sequence of numbers or capsule
        A tensor of any framework (exchange table, ``__dlpack__``), an object with the buffer protocol,
        ``__array_interface__``, ``__cuda_array_interface__`` or ``__array__``, a column of pandas, polars or pyarrow, a
        number, or nested sequences of numbers and arrays.
    dtype : dtype_like, optional
        Element type. By default that of `obj`, also of a NumPy scalar. In sequences the dtypes of typed scalars and of
        arrays of 0 dimensions promote; Python numbers alone become bool, int64, `get_default_dtype` or the
        complex dtype of its width.
    {from_dlpack: device}
    copy : bool, optional
        None copies only if necessary, True always copies, also arrays of another byte order or with strides that are no
        whole elements. False never copies and is passed on to ``__dlpack__`` and ``__array__``.

    Returns
    -------
    Tensor
        The argument itself if it is a tensor that need not change.

    Raises
    ------
    TypeError
        `obj` is none of these, or the numbers of a sequence have no dtype in common.
    ValueError
        Sequences are ragged, or `copy` is False and a copy is needed.
    BufferError
        DLPack cannot express what `obj` exports, or elements are masked or missing.
    OverflowError
        A number is outside the range of an integer `dtype`, or an integer that no float holds. A float beyond the
        range of a float dtype becomes infinity, as in NumPy.

    {See Also: from_dlpack, wrap}

    Examples
    --------
    >>> dl.asarray([[1, 2.5], [3, 4]])
    Tensor([[1. , 2.5],
            [3. , 4. ]], shape=(2, 2), device=cpu, dtype=float32)
    >>> dl.asarray(b"ab").tolist()
    [97, 98]
    >>> dl.asarray([dl.asarray(1e300, dtype="float64"), 2])
    Tensor([1.e+300, 2.e+000], shape=(2,), device=cpu, dtype=float64)
    """
    cdef Tensor t
    cdef DLDataType wanted
    cdef bint result = False
    if type(obj) is Tensor and dtype is None and device is None and copy is None:
        return obj
    copy = read_copy_flag(copy, "asarray")
    t = _read_for_copy(obj, False, "asarray") if copy else view_any(obj, copy, "asarray")
    if t is None and isinstance(obj, (float, complex)) and entry_of(obj).path == ARRAY:
        t = _from_array(obj, copy, "asarray")  # numpy.float64 and numpy.complex128 are Python's numbers too
    if t is None:
        if copy is not None and not copy:
            raise ValueError(f"asarray: {type(obj).__qualname__} has no memory to share, and copy=False forbids a copy")
        t = _from_numbers(obj, dtype, "asarray")
        result = True
    if dtype is not None:
        wanted = read_dtype(dtype, "asarray")
        if (wanted.code != t.impl.dl.dtype.code or wanted.bits != t.impl.dl.dtype.bits or
                wanted.lanes != t.impl.dl.dtype.lanes):
            if copy is not None and not copy:
                raise ValueError(f"asarray: {t.dtype} to {dtype_of(wanted)} needs a copy, but copy=False")
            t = t.astype(dtype)
            result = True
    if device is not None or copy and not result:
        return _moved(t, device, None if copy and result else copy, "asarray")  # a result is a copy already
    return t


cdef Tensor view_any(object obj, object copy, str func):
    """A tensor that shares the memory of `obj`, or None when it has none to share."""
    cdef ImportedTensor imported
    cdef const TypeEntry* entry
    cdef Tensor t
    if type(obj) is Tensor:
        return obj
    if isinstance(obj, (int, float, complex, list, tuple, str)):
        return None
    entry = entry_of(obj)
    if entry.path == BUFFER:
        t = Tensor.__new__(Tensor)
        take_buffer(obj, &imported, func)
        fill_from_import(t, &imported)
        return t
    if entry.path == ARRAY_INTERFACE:
        return _from_interface(obj.__array_interface__, obj, func)
    if entry.path == CUDA_ARRAY_INTERFACE:
        return _from_cuda(obj.__cuda_array_interface__, obj, func)
    if entry.path == ARRAY:
        return _from_array(obj, copy, func)
    if entry.path == COLUMN:
        return _from_column(obj, copy, func)
    if entry.path == NONE:
        for cuda, name in ((True, "__cuda_array_interface__"), (False, "__array_interface__")):
            interface = getattr(obj, name, None)
            if interface is not None:
                return _from_cuda(interface, obj, func) if cuda else _from_interface(interface, obj, func)
        return None
    try:
        return _import(obj, entry, copy, func)
    except BufferError:
        if entry.path != PROTOCOL or not hasattr(obj, "__arrow_c_array__"):
            raise
    return _from_column(obj, copy, func)  # pyarrow exports neither bits nor missing elements by DLPack


cdef Tensor _from_array(object obj, object copy, str func):
    """A tensor over the array that ``__array__`` returns. ValueError where that is a copy and `copy` forbids one."""
    cdef bint shares = copy is not None and not copy
    cdef int path
    if not shares:
        array = obj.__array__()
    else:
        try:
            array = obj.__array__(copy=False)
        except TypeError:
            array = obj.__array__()  # the signature of before NumPy 2
    path = entry_of(array).path
    if type(array) is not Tensor and path != NDARRAY and path != MASKED:
        raise ValueError(f"{func}: {type(obj).__qualname__}.__array__ must return a NumPy array, got "
                         f"{type(array).__qualname__}")
    if shares and type(array) is not Tensor and (is_numpy_scalar(type(obj)) or is_new_array(array)):
        raise ValueError(f"{func}: {type(obj).__qualname__}.__array__ returns a copy, but copy=False")
    return view_any(array, copy, func)


cdef Tensor _from_column(object obj, object copy, str func):
    """A tensor over a column or a table of pandas, polars or pyarrow, none of whose elements may be missing."""
    dtype = getattr(obj, "dtype", None)
    dtypes = list(getattr(obj, "dtypes", ())) if dtype is None else [dtype]
    numpy = sys.modules.get("numpy")
    if numpy is not None and dtypes and all([isinstance(one, numpy.dtype) for one in dtypes]):
        return _from_array(obj, copy, func)  # NumPy's dtypes have no missing elements
    if hasattr(obj, "isna"):
        if numpy.asarray(obj.isna()).any():
            raise BufferError(f"{func}: {type(obj).__qualname__} has missing elements, which a tensor cannot express; "
                              f"fill them first (fillna())")
        return _from_array(obj, copy, func)
    from .arrow import import_column  # on use, for the import time of the package

    t = import_column(obj, None if copy else copy, func)  # the caller copies
    return _from_array(obj, copy, func) if t is None else t


cdef Tensor _from_interface(object interface, object owner, str func):
    """A tensor over what ``__array_interface__`` describes."""
    cdef ImportedTensor imported
    cdef Tensor t = Tensor.__new__(Tensor)
    take_interface(interface, owner, False, &imported, func)
    fill_from_import(t, &imported)
    return t


cdef Tensor _from_cuda(object interface, object owner, str func):
    """A tensor over what ``__cuda_array_interface__`` describes, ordered after the stream that it names."""
    cdef ImportedTensor imported
    cdef Tensor t = Tensor.__new__(Tensor)
    if not isinstance(interface, dict):
        raise TypeError(f"{func}: __cuda_array_interface__ must be a dictionary, got {type(interface).__qualname__}")
    interface = dict(interface)  # read once: other code may change it meanwhile
    stream = interface.get("stream")
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int) or stream < 1):
        raise ValueError(f"{func}: the stream of __cuda_array_interface__ must be None, 1, 2 or a handle, "
                         f"got {stream!r}")
    take_interface(interface, owner, True, &imported, func)
    fill_from_import(t, &imported)
    device_operations().adopt(t, stream, True)
    return t


cdef Tensor read_numbers(object x, bint wide, str func):
    return _from_numbers(x, None, func, wide)


def asarrays(*objects, bint numbers=True):
    """Read each object as `asarray` does. Python's floats have double precision beside arrays that have it.

    Without `numbers`, numbers outside of lists are returned as they are.

    >>> [x.dtype.name for x in asarrays([0.1], dl.ones(1, dtype="float64"), [2])]
    ['float64', 'float64', 'int64']
    """
    cdef bint wide = False
    cdef list results = []
    for x in objects:
        t = None if isinstance(x, (list, tuple, range, int, float, complex)) else asarray(x)
        wide = wide or t is not None and is_wide(find_type((<Tensor>t).impl.dl.dtype))
        results.append(t)
    for i in range(len(results)):
        if results[i] is None:
            x = objects[i]
            stays = not numbers and isinstance(x, (int, float, complex))
            results[i] = x if stays else _from_numbers(x, None, "asarray", wide)
    return results


cdef Tensor _assignable(object value, object dtype, str func):
    """Convert what is assigned to elements of `dtype`: a tensor as it is, numbers as that type."""
    t = view_any(value, None, func)
    return _from_numbers(value, dtype, func) if t is None else t


operations.assignable = _assignable


cdef class _Keeper:
    """Keeps the owner of wrapped memory and calls its deleter when the last view is gone."""
    cdef object owner, deleter

    def __del__(self):
        if self.deleter is not None:
            deleter, self.deleter = self.deleter, None
            deleter()


def wrap(ptr: int, shape, dtype, *, device="cpu", strides=None, byte_offset=0, owner=None,
         deleter: Callable[[], Any] | None = None, readonly=False):
    """Make a tensor over foreign memory from its address.

    Parameters
    ----------
    ptr : int
        Address of the memory.
    shape : int or sequence of int
        Shape of the tensor.
    dtype : dtype_like
        Element type.
    device : device_like, default "cpu"
        Device of the memory.
    strides : sequence of int, optional
        Strides in elements; None means C order.
    byte_offset : int, default 0
        Offset of the first element from `ptr`, in bytes.
    owner : object, optional
        Object that is kept alive until the last view of the memory is deleted.
    deleter : callable, optional
        Called without arguments, exactly once, when the last view is deleted. Not called if this function raises.
    readonly : bool, default False
        Whether the tensor is read-only.

    Returns
    -------
    Tensor
        A view of the memory.

    Raises
    ------
    BufferError
        The description breaks a rule: the message names field, value and rule.
    TypeError, ValueError
        An argument has the wrong type, or is out of range.

    {See Also: asarray}

    Examples
    --------
    >>> import ctypes
    >>> memory = (ctypes.c_int32 * 4)(1, 2, 3, 4)
    >>> dl.wrap(ctypes.addressof(memory), (2, 2), dl.int32, owner=memory)
    Tensor([[1, 2],
            [3, 4]], shape=(2, 2), device=cpu, dtype=int32)
    """
    cdef ImportedTensor imported
    cdef _Keeper keeper
    cdef Tensor t
    cdef int ndim = read_shape(shape, imported.dims, "wrap")
    if not isinstance(ptr, int):
        raise TypeError(f"wrap: ptr must be an integer, got {type(ptr).__qualname__}")
    ptr, byte_offset = integer_of(ptr, "ptr", "wrap"), integer_of(byte_offset, "byte_offset", "wrap")
    if not 0 <= ptr < 2**64:
        raise ValueError(f"wrap: ptr must be an address, got {shown(ptr)}")
    if not 0 <= byte_offset < 2**64:
        raise ValueError(f"wrap: byte_offset must be from 0 to 2^64 - 1, got {shown(byte_offset)}")
    if deleter is not None and not callable(deleter):
        raise TypeError(f"wrap: deleter must be callable, got {type(deleter).__qualname__}")
    imported.view.data = <void*><size_t>ptr
    imported.view.device = read_device(device, "wrap")
    imported.view.dtype = read_dtype(dtype, "wrap")
    imported.view.ndim = ndim
    imported.view.shape = imported.dims
    imported.view.strides = NULL
    imported.view.byte_offset = byte_offset
    if strides is not None:
        imported.view.strides = imported.dims + MAX_DIMS
        n = read_shape(strides, imported.dims + MAX_DIMS, "wrap", strides=True)
        if n != ndim:
            raise ValueError(f"wrap: shape has {ndim} dimensions, strides have {n}")
    check_tensor(&imported.view, "wrap")
    imported.flags = DLPACK_FLAG_BITMASK_READ_ONLY if readonly else 0
    t = Tensor.__new__(Tensor)
    keeper = _Keeper.__new__(_Keeper)
    keeper.owner = owner
    adopt_object(keeper, &imported, "wrap")
    imported.view.data = <char*>imported.view.data + imported.view.byte_offset
    imported.view.byte_offset = 0
    fill_from_import(t, &imported)
    keeper.deleter = deleter
    if t.impl.dl.device.device_type == kDLCUDA:
        device_operations().adopt(t, None, False)
    return t


def empty(shape, dtype=None, *, device=None):
    """Return an uninitialized tensor.

    {creation.ones: Parameters}

    Returns
    -------
    Tensor
        In C order, with undefined elements.

    Raises
    ------
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.
    MemoryError
        The allocation failed; the message gives the size.

    {See Also: zeros, empty_like}

    Examples
    --------
    >>> dl.empty((2, 3)).strides
    (3, 1)
    """
    return empty_for("empty", shape, dtype, device)


cdef Tensor read_object(object x, str func):
    """Read the memory of an object without a copy, numbers and nested sequences."""
    cdef Tensor t = view_any(x, None, func)
    if t is None and isinstance(x, (float, complex)) and entry_of(x).path == ARRAY:
        t = _from_array(x, None, func)  # numpy.float64 and numpy.complex128 are Python's numbers too
    return _from_numbers(x, None, func) if t is None else t


cdef Tensor as_tensor(object x):
    return read_array(x, "asarray")


cdef Tensor _new_for(str func, shape, dtype, device, bint zeros):
    cdef int64_t extents[MAX_DIMS]
    cdef int ndim = read_shape(shape, extents, func)
    cdef DLDataType value = type_table[default_real()].dtype if dtype is None else read_dtype(dtype, func)
    cdef DLDevice place = DLDevice(kDLCPU, 0) if device is None else read_device(device, func)
    if zeros:
        return new_zeros(ndim, extents, value, place, func)
    return new_empty(ndim, extents, value, place, func)


cpdef Tensor empty_for(str func, shape, dtype=None, device=None):
    """Return a new tensor on behalf of the function `func`; the rest as for `empty`."""
    return _new_for(func, shape, dtype, device, False)


cpdef Tensor zeros_for(str func, shape, dtype=None, device=None):
    """Return a new tensor of zeros on behalf of the function `func`; the rest as for `zeros`."""
    return _new_for(func, shape, dtype, device, True)


cpdef Tensor full_for(str func, shape, number, dtype=None, device=None):
    """Return a new tensor filled with a number on behalf of the function `func`; None takes the number's dtype."""
    cdef Tensor t
    cdef NumberTypes types = _no_types()
    number = _typed_number(number, &types, func, "a number") if dtype is None else plain_number(number, func)
    t = empty_for(func, shape, dtype_of(_common_type(&types, func)) if dtype is None else dtype, device)
    assign_scalar(t, number, func)
    return t


# -- out --------------------------------------------------------------------------------------------------------------

def into(t, kind, /, *, default=None):
    """Convert a tensor to an object of another framework, sharing memory.

    Parameters
    ----------
    t : array_like
        Tensor, or any object that `from_dlpack` takes.
    kind : type
        ``torch.Tensor``, ``numpy.ndarray``, ``jax.Array``, ``tf.Tensor``, ...: a type with an exchange table, or whose
        package has a ``from_dlpack``.
    default : type, optional
        Used instead of a `kind` that has neither: ``dl.into(result, type(x), default=np.ndarray)`` returns what a
        function was called with, and a NumPy array for lists, numbers and files.

    Returns
    -------
    object
        Of the type `kind`, or `default`. JAX and TensorFlow never write to arrays, so that they share read-only
        tensors.

    Raises
    ------
    AttributeError
        `t` does not support DLPack.
    TypeError
        `kind` is not a type, or its package has no import function, or one that makes objects of another type; and no
        `default` was passed.
    BufferError
        The framework cannot represent the tensor.

    {See Also: from_dlpack}

    {Notes: DLPack 1.3: ``DLPackExchangeAPI.managed_tensor_to_py_object_no_sync``.}

    Examples
    --------
    >>> import numpy as np
    >>> dl.into(dl.arange(3), np.ndarray)
    array([0, 1, 2])
    >>> dl.into(dl.arange(3), list, default=np.ndarray)
    array([0, 1, 2])
    """
    cdef Tensor source
    cdef const TypeEntry* entry
    cdef DLManagedTensorVersioned* managed
    cdef void* out = NULL
    if not isinstance(kind, type):
        raise TypeError(f"into: expected a type such as torch.Tensor, got {quoted(kind)}; pass the type of an array, "
                        f"type(x)")
    source = t if type(t) is Tensor else read(t, None, "into")
    if kind is Tensor:
        return source
    entry = cached_entry(<void*>kind)
    if entry == NULL:
        entry = classify_type(kind)
    if entry.path == NDARRAY or entry.path == MASKED:
        array = source.numpy()
        return array if type(array) is kind else array.view(kind)
    if entry.table == NULL:
        return _by_importer(source, kind, default)
    if entry.is_torch:
        _refuse_torch(source)
    managed = export_managed(source.impl.dl, source.impl.block,
                             source.impl.flags & ~<uint64_t>DLPACK_FLAG_BITMASK_IS_COPIED)
    if managed == NULL:
        raise MemoryError("into: allocation failed for the exported struct")
    if entry.table.managed_tensor_to_py_object_no_sync(managed, &out) != 0:
        raise_table_error(kind, "into")
    if out == NULL:
        raise BufferError(f"into: the exchange table of {kind.__qualname__} reported success and gave no object")
    result = <object>out
    Py_DECREF(result)
    return result


cdef object _by_importer(Tensor source, object kind, object default):
    """An object of a type without an exchange table, by the ``from_dlpack`` of its package."""
    cached = _importers.get(id(kind))
    importer = _from_dlpack_of(kind, default is None) if cached is None else cached[1]
    if importer is not None:
        if len(_importers) < 256:
            _importers[id(kind)] = kind, importer
        result = importer(source)
        if isinstance(result, kind):
            return result
        if default is None:
            raise TypeError(f"into: expected a type of arrays, got {kind.__module__}.{kind.__qualname__}: what "
                            f"from_dlpack of its package makes is {type(result).__module__}."
                            f"{type(result).__qualname__}; pass that type, or default=numpy.ndarray")
    return into(source, default)


cdef Flag _torch_warning
cdef dict _importers = {}  # id of a type -> (the type, the function that was found for it), of 256 types


cdef int _refuse_torch(Tensor source) except -1:
    cdef int i
    for i in range(source.impl.dl.ndim):
        if source.impl.dl.strides[i] < 0:
            raise BufferError(f"into: torch tensors cannot have negative strides, got strides {source.strides}; "
                              f"pass a copy()")
    if source.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY and _torch_warning.claim():
        import warnings  # imported on use, for the import time of the package
        warnings.warn("into: torch ignores that the tensor is read-only; writing through it changes memory that its "
                      "owner declared immutable", UserWarning, stacklevel=2)
    return 0


def _import_without_flag(function, by_capsule, Tensor source):
    """Call the importer of a framework that never writes to arrays, and reads capsules without flags only."""
    if source.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY:
        source = same_view(source)
        source.impl.flags &= ~<uint64_t>DLPACK_FLAG_BITMASK_READ_ONLY
    return function(source.__dlpack__() if by_capsule else source)


def _from_dlpack_of(kind, needed=True):
    """The ``from_dlpack`` that makes objects of a type: its own, or that of the package it comes from.

    None, or TypeError where it is `needed`, if there is none.
    """
    if hasattr(kind, "from_dlpack"):
        return kind.from_dlpack
    names = [kind.__module__]
    while "." in names[-1]:
        names.append(names[-1].rpartition(".")[0])
    if names[-1] == "jaxlib":
        names.append("jax")
    for name in names:
        module = sys.modules.get(name)
        for place in (module, getattr(module, "dlpack", None)):
            if hasattr(place, "from_dlpack"):
                function = place.from_dlpack
                return function if name != "jax" else partial(_import_without_flag, function, False)
        if name == "tensorflow" and module is not None:
            return partial(_import_without_flag, module.experimental.dlpack.from_dlpack, True)
    if not needed:
        return None
    raise TypeError(f"into: {kind.__module__}.{kind.__qualname__} has no exchange table, and no from_dlpack was found "
                    f"in {', '.join(names)}; pass the type of a framework's arrays, or default=numpy.ndarray for types "
                    f"without one")


# -- our own exchange table -------------------------------------------------------------------------------------------
# Called with the GIL held, as the standard demands of everything that takes a Python object; the allocator is C++ and
# needs no Python at all.

cdef inline Tensor _table_argument(void* object_):
    if type(<object>object_) is not Tensor:
        raise TypeError(f"exchange table of dltensor.Tensor: expected a Tensor, got "
                        f"{type(<object>object_).__qualname__}")
    return <Tensor>object_


cdef int _table_from_python(void* object_, DLManagedTensorVersioned** out) except -1:
    cdef Tensor t = _table_argument(object_)
    out[0] = export_managed(t.impl.dl, t.impl.block, t.impl.flags & ~<uint64_t>DLPACK_FLAG_BITMASK_IS_COPIED)
    if out[0] == NULL:
        raise MemoryError("exchange table of dltensor.Tensor: allocation failed for the exported struct")
    if numel(t.impl.dl.ndim, t.impl.dl.shape) == 0:
        out[0].dl_tensor.data = NULL
    return 0


cdef int _table_to_python(DLManagedTensorVersioned* managed, void** out) except -1:
    cdef ImportedTensor imported
    cdef Tensor t = Tensor.__new__(Tensor)
    import_managed(managed, &imported, "exchange table of dltensor.Tensor")
    fill_from_import(t, &imported)
    if t.impl.dl.device.device_type == kDLCUDA:
        _order_streams(t, NULL)
    Py_INCREF(t)
    out[0] = <void*>t
    return 0


cdef int _table_borrow(void* object_, DLTensor* out) except -1:
    out[0] = _table_argument(object_).impl.dl
    return 0


cdef int _table_stream(DLDeviceType device_type, int32_t device_id, void** out) except -1:
    out[0] = NULL
    if device_type == kDLCUDA:
        number = current_stream(device_id)
        if number is not None:
            out[0] = <void*><size_t>number
    return 0


exchange_table.header.version.major = DLPACK_MAJOR_VERSION
exchange_table.header.version.minor = DLPACK_MINOR_VERSION
exchange_table.header.prev_api = NULL
exchange_table.managed_tensor_allocator = allocate_managed
exchange_table.managed_tensor_from_py_object_no_sync = (
    <int (*)(void*, DLManagedTensorVersioned**) noexcept>_table_from_python)
exchange_table.managed_tensor_to_py_object_no_sync = (
    <int (*)(DLManagedTensorVersioned*, void**) noexcept>_table_to_python)
exchange_table.dltensor_from_py_object_no_sync = <int (*)(void*, DLTensor*) noexcept>_table_borrow
exchange_table.current_work_stream = <int (*)(DLDeviceType, int32_t, void**) noexcept>_table_stream
