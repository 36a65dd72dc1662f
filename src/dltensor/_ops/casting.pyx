# SPDX-License-Identifier: Apache-2.0
"""Conversion, selection and copies of elements: astype, cast, where, clip, copy, fill."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from .._core.dlpack cimport NONE, entry_of
from .._core.native cimport (COMPLEX, KEEP_GIL_BYTES, MAX_DIMS, NEAREST, TRAILING, TRUNCATE, CastOptions, Scalar,
                             broadcast_strides, computed_types, find_type, store_scalar, type_bool, type_table,
                             work_bytes)
from .arguments cimport (Operand, as_engine_operand, common_device, common_shape, fill_operand, hold_without_gil,
                         narrow_float, order_as, own_operands, promote_operands, read_number, read_operand,
                         read_operands, read_owned, read_tensor, store_number)
from .engine cimport (EngineOperand, EngineTable, LaunchContext, PyThreadState, engine_at, finish, is_same_place,
                      release_gil)
from .._core.convert cimport read_array, view_any
from .._core.scalars cimport plain_number
from .._core.allocation cimport check_writable, is_packed
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, assign, assign_scalar, copied, device_operations, new_empty, new_padded, operations
from .._core.types cimport DLDataType, DLDevice, DLTensor, DType, dtype_of, is_host, read_dtype

from .._core.foreign_text import quoted
from . import elementwise as _functions

cdef int _convert(Operand* operands, const CastOptions& options, str func) except -1:
    """Elements of the first operand as the dtype of the second, which has its shape."""
    cdef DLDevice device
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef EngineOperand x, target
    cdef PyThreadState* state
    cdef const DLTensor* source = &operands[0].view
    cdef const DLTensor* out = &operands[1].view
    cdef int64_t bytes = work_bytes(out.ndim, out.shape, 16)
    common_device(operands, 2, &device, func)
    if operands[0].type < 0 or operands[1].type < 0:
        raise TypeError(f"{func}: {dtype_of(source.dtype)} cannot be converted to {dtype_of(out.dtype)}; at least one "
                        f"has no conversion")
    engine = engine_at(device, &launch, func)
    as_engine_operand(&operands[0], &x)
    as_engine_operand(&operands[1], &target)
    _owners = hold_without_gil(operands, 2) if bytes > KEEP_GIL_BYTES else None
    state = release_gil(launch, bytes)
    return finish(state, engine.cast(x, target, options, launch), launch, func)


cdef double _real(object number, str name, str func) except? -1:
    value = plain_number(number, f"{func}: {name}")
    if isinstance(value, complex):
        raise TypeError(f"{func}: {name} must be a real number, got {value}")
    return value


cdef CastOptions _options(object rounding, object saturate, object scale, object offset, str func) except *:
    cdef CastOptions options
    if rounding not in ("truncate", "nearest"):
        raise ValueError(f"{func}: rounding must be 'truncate' or 'nearest', got {quoted(rounding)}")
    options.rounding = NEAREST if rounding == "nearest" else TRUNCATE
    options.saturate = saturate is not None and bool(saturate)
    options.scaled = scale is not None or offset is not None
    options.scale = 1.0 if scale is None else _real(scale, "scale", func)
    options.offset = -0.0 if offset is None else _real(offset, "offset", func)  # -0.0 keeps the sign of a zero
    return options


cdef CastOptions _plainly = _options("truncate", False, None, None, "astype")


def astype(x, dtype, /, *, copy=True, device=None, padded=False):
    """Convert the elements of `x` to another dtype.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    dtype : dtype_like
        Dtype of the result.
    copy : bool, default True
        False returns `x` itself if it has the dtype already.
    device : device_like, optional
        Device of the result; by default that of `x`.
    padded : bool, default False
        Store each element of a dtype of fewer than 8 bits in one byte instead of packing the elements.

    Returns
    -------
    Tensor
        A new tensor in C order, or `x` itself.

    Raises
    ------
    TypeError
        A dtype has no conversion, or a complex dtype would become real.
    MemoryError
        The allocation failed.

    {See Also: cast}

    Examples
    --------
    >>> dl.astype(dl.asarray([1.7, -1.7]), "int8")
    Tensor([ 1, -1], shape=(2,), device=cpu, dtype=int8)
    """
    cdef Operand[2] operands
    cdef Operand* source = operands
    cdef Tensor result
    cdef DLDevice there
    cdef DLDataType wanted = read_dtype(dtype, "astype")
    if device is not None:
        return astype(read_array(x, "astype").to(device), dtype, copy=copy, padded=padded)
    copy, padded = bool(copy), bool(padded)  # before anything is borrowed: they may run code
    _owners = read_operand(x, source, "astype")
    if source.number:
        return astype(read_array(x, "astype"), dtype, copy=copy, padded=padded)
    on_host = is_host(<int>source.view.device.device_type)
    if padded and not on_host:
        raise TypeError("astype: elements padded to bytes are made on the host only; move the tensor with to('cpu')")
    same = (wanted.code == source.view.dtype.code and wanted.bits == source.view.dtype.bits and
            wanted.lanes == source.view.dtype.lanes)
    if same and not copy and not padded and type(x) is Tensor:
        return x
    if not same and 0 <= source.type < computed_types and type_table[source.type].kind == COMPLEX:
        if find_type(wanted) >= 0 and type_table[find_type(wanted)].kind != COMPLEX:
            raise TypeError(f"astype: {dtype_of(source.view.dtype)} to {dtype_of(wanted)} would drop the imaginary "
                            f"part; take real() first")
    if same and not padded and is_packed(wanted, source.flags) == is_packed(wanted, 0):
        return copied(read_array(_owners, "astype"), "astype")
    common_device(source, 1, &there, "astype")
    result = (new_padded(source.view.ndim, source.view.shape, wanted, "astype") if padded else
              new_empty(source.view.ndim, source.view.shape, wanted, there, "astype"))
    if wanted.bits >= 8 and wanted.lanes == 1:  # packed elements have one order
        order_as(source, 1, result)
    read_tensor(result, &operands[1])
    _convert(operands, _plainly, "astype")
    return result


cdef object _astype(object x, object dtype, object copy, bint padded):
    return astype(x, dtype, copy=copy, padded=padded)


def cast(tensor, dtype_or_out, *, rounding="truncate", saturate=None, scale=None, offset=None):
    """Convert ``tensor * scale + offset`` to another dtype in one pass.

    Parameters
    ----------
    tensor : array_like
        Tensor, or any object that supports DLPack.
    dtype_or_out : dtype_like or array_like
        Dtype of the result, or a writable tensor of the same shape to write to.
    rounding : {"truncate", "nearest"}, default "truncate"
        How a float becomes an integer: toward 0, or to the nearest integer, half to even. NaN becomes 0, and values
        outside the range of the dtype become its nearest limit.
    saturate : bool, optional
        True clamps integers outside the range of the dtype instead of keeping their low bits, and floats outside the
        range of an 8-bit float to its largest value instead of infinity or NaN.
    scale, offset : float, optional
        Applied before the conversion, in float32; for 32- and 64-bit integers and float64 in float64.

    Returns
    -------
    Tensor
        A new tensor, or the second argument when that is a tensor.

    Raises
    ------
    TypeError
        A dtype has no conversion.
    ValueError
        `out` has another shape or is read-only, or `rounding` is neither "truncate" nor "nearest".

    {See Also: astype}

    Examples
    --------
    >>> dl.cast(dl.asarray([-1.0, 2.5, 300.0]), "uint8", rounding="nearest")
    Tensor([  0,   2, 255], shape=(3,), device=cpu, dtype=uint8)
    """
    cdef Operand[2] operands
    cdef PyObject* used[2]
    cdef PyObject* arguments = <PyObject*>tensor
    cdef PyObject* output = NULL
    cdef DLTensor* source = &operands[0].view
    cdef Tensor result = None
    cdef DLDevice there
    cdef DLDataType wanted
    cdef CastOptions options = _options(rounding, saturate, scale, offset, "cast")
    cdef int i
    if _names_dtype(dtype_or_out):
        wanted = read_dtype(dtype_or_out, "cast")
    else:
        output = <PyObject*>dtype_or_out
    _owners = read_operands(&arguments, 1, output, operands, used, "cast")
    if operands[0].number:
        raise TypeError(f"cast: expected a tensor, got {type(tensor).__qualname__}")
    if output == NULL:
        common_device(operands, 1, &there, "cast")
        result = new_empty(source.ndim, source.shape, wanted, there, "cast")
        read_tensor(result, &operands[1])
    else:
        same = operands[1].view.ndim == source.ndim
        for i in range(source.ndim if same else 0):
            same = same and operands[1].view.shape[i] == source.shape[i]
        if not same:
            raise ValueError(f"cast: the tensor has shape {as_tuple(source.ndim, source.shape)}, out has "
                             f"{as_tuple(operands[1].view.ndim, operands[1].view.shape)}")
    _convert(operands, options, "cast")
    return result if output == NULL else dtype_or_out


cdef bint _names_dtype(object x) except -1:
    """Test whether an argument is dtype_like rather than a tensor to write to."""
    if type(x) is Tensor:
        return False
    if isinstance(x, (str, type, DType)) or hasattr(x, "__dlpack_data_type__"):
        return True
    return entry_of(x).path == NONE and not any([hasattr(x, name) for name in ("__array_interface__",
                                                                               "__cuda_array_interface__")])


def where(condition, x1=None, x2=None, /):
    """Select elements of `x1` where `condition` is true, else of `x2`; without both, find where it is true.

    Parameters
    ----------
    condition : array_like of bool
        Tensor, or any object that supports DLPack.
    x1, x2 : array_like or number, optional
        Operands to select from; they broadcast and promote. Without both, the result is ``nonzero(condition)``.

    Returns
    -------
    Tensor
        Of the common shape and dtype; a tuple of index tensors when `x1` and `x2` are not given.

    Raises
    ------
    TypeError
        `condition` is not bool, `x1` and `x2` have no common dtype, or only one of them is given.
    ValueError
        The shapes do not broadcast, the devices differ, or a condition alone has no dimensions.

    Examples
    --------
    >>> dl.where(dl.asarray([True, False]), 1, dl.asarray([7, 8]))
    Tensor([1, 8], shape=(2,), device=cpu, dtype=int64)
    >>> dl.where(dl.asarray([0, 3]))
    (Tensor([1], shape=(1,), device=cpu, dtype=int64),)
    """
    cdef Operand[4] operands
    cdef PyObject* used[3]
    cdef PyObject* arguments[3]
    cdef int64_t shape[MAX_DIMS]
    cdef DLDevice device
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef EngineOperand each[3]
    cdef EngineOperand target
    cdef PyThreadState* state
    cdef int i, type, ndim
    cdef Tensor chosen
    cdef list owners
    cdef int numbers
    cdef int64_t bytes
    if x1 is None or x2 is None:
        if x1 is not None or x2 is not None:
            raise TypeError("where: expected a condition alone, or with both x1 and x2, got one of them")
        return operations.nonzero(condition)
    arguments[0], arguments[1], arguments[2] = <PyObject*>condition, <PyObject*>x1, <PyObject*>x2
    owners = read_operands(arguments, 3, NULL, operands, used, "where") or []
    if operands[0].type != type_bool:
        got = type_table[operands[0].type].dtype if operands[0].number else operands[0].view.dtype
        raise TypeError(f"where: condition must be bool, got {dtype_of(got)}; compare it with 0")
    common_device(operands, 3, &device, "where")
    numbers = operands[0].number + operands[1].number + operands[2].number
    ndim = 0 if numbers == 3 else common_shape(operands, 3, shape, "where")
    type = narrow_float(&operands[1], 2)
    if type >= 0 and type_table[type].dtype.bits < 8:
        wide = [astype(<object>used[i], "bfloat16") if not operands[i].number else <object>used[i] for i in (1, 2)]
        return astype(where(<object>used[0], *wide), dtype_of(type_table[type].dtype))
    if type < 0:
        type = promote_operands(&operands[1], 2, "where")
    if (not operands[1].number and operands[1].type != type or
            not operands[2].number and operands[2].type != type):
        own_operands(used, 3, operands, owners, "where")  # a conversion may release the GIL
    for i in range(3):
        if operands[i].number:
            store_number(<object>used[i], &operands[i], type_bool if i == 0 else type, "where")
        elif i > 0 and operands[i].type != type:
            converted = astype(<object>used[i], dtype_of(type_table[type].dtype))
            owners.append(converted)
            read_tensor(converted, &operands[i])
    chosen = new_empty(ndim, shape, type_table[type].dtype, device, "where")
    order_as(operands, 3, chosen)
    engine = engine_at(device, &launch, "where")
    for i in range(3):
        as_engine_operand(&operands[i], &each[i])
    read_owned(chosen, &target)
    bytes = work_bytes(ndim, shape, type_table[type].bytes)
    _owners = hold_without_gil(operands, 3) if bytes > KEEP_GIL_BYTES else None
    state = release_gil(launch, bytes)
    finish(state, engine.choose(each[0], each[1], each[2], target, launch), launch, "where")
    return chosen


def clip(x, /, min=None, max=None, *, out=None):
    """Limit every element to a range; NaN stays NaN.

    Parameters
    ----------
    x : array_like or number
        Tensor, or any object that supports DLPack, of bool, integer or float dtype.
    min, max : array_like, number or None
        Limits, which broadcast and promote with `x`. None means no limit. Where `min` exceeds `max`, the result is
        `max`. An integer outside the dtype limits as the end of its range.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the common shape and dtype. `out`, when it is given.

    Raises
    ------
    TypeError
        An operand is complex, or there is no common dtype.
    ValueError
        The shapes do not broadcast, or `out` has another shape or is read-only.
    OverflowError
        `x` is a Python integer outside the dtype of the bounds.

    See Also
    --------
    maximum : Apply a lower limit only.
    minimum : Apply an upper limit only.

    Examples
    --------
    >>> dl.clip(dl.asarray([1, 5, 9]), 2, 6)
    Tensor([2, 5, 6], shape=(3,), device=cpu, dtype=int64)
    >>> dl.clip(dl.asarray([1, 5, 9]), max=6).tolist()
    [1, 5, 6]
    """
    if min is None and max is None:
        return copy(x) if out is None else copy(x, out)
    if min is not None and max is not None:
        return _functions.clip(x, min, max, out)
    bound, only = (min, _functions.maximum) if max is None else (max, _functions.minimum)
    if not isinstance(bound, int):
        return only(x, bound, out)
    if type(x) is Tensor and (out is None or type(out) is Tensor):  # others are read once
        try:
            return only(x, bound, out)
        except OverflowError:
            pass  # it is outside the dtype, where clip limits its bounds
    endless = 1 << 1024
    return _functions.clip(x, *(-endless, bound) if min is None else (bound, endless), out)


def copy(src, dst=None):
    """Copy elements, with broadcasting and without conversion.

    Parameters
    ----------
    src : array_like
        Tensor, or any object that supports DLPack.
    dst : array_like, optional
        Writable tensor of the same dtype; None makes a new tensor in C order.

    Returns
    -------
    Tensor
        The new tensor, or `dst`.

    Raises
    ------
    TypeError
        The dtypes differ; use `cast`.
    ValueError
        `src` does not broadcast to `dst`, or `dst` is read-only.

    {See Also: cast}

    Examples
    --------
    >>> dl.copy(dl.asarray([1, 2]), dl.empty((2, 2), dtype="int64"))
    Tensor([[1, 2],
            [1, 2]], shape=(2, 2), device=cpu, dtype=int64)
    """
    cdef Tensor source = read_array(src, "copy"), target
    if dst is None:
        return copied(source, "copy")
    target = view_any(dst, False, "copy")
    if target is None:
        raise TypeError(f"copy: dst must be a tensor, got {type(dst).__qualname__}")
    if source.dtype != target.dtype:
        raise TypeError(f"copy: src is {source.dtype}, dst is {target.dtype}; use cast() to convert")
    assign(target, source, "copy")
    return dst


def fill(scalar, dst, *, saturate=False):
    """Write one number to every element of `dst`.

    Parameters
    ----------
    scalar : number
        Value to write.
    dst : array_like
        Writable tensor, or object that supports DLPack.
    saturate : bool, default False
        Clamp the number to the range of the dtype, round fractions half to even, and write 0 for NaN.

    Returns
    -------
    array_like
        The argument `dst`.

    Raises
    ------
    OverflowError
        The number is outside the range of an integer dtype, or an integer that no float holds, and `saturate` is False.
    ValueError
        `dst` is read-only, or its elements share memory.
    TypeError
        `dst` is not a tensor.

    {See Also: full}

    Examples
    --------
    >>> dl.fill(300, dl.empty(2, dtype="uint8"), saturate=True)
    Tensor([255, 255], shape=(2,), device=cpu, dtype=uint8)
    """
    cdef Tensor target = view_any(dst, False, "fill")
    cdef Scalar value
    cdef Operand place
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef char element[32]
    if target is None:
        raise TypeError(f"fill: dst must be a tensor, got {type(dst).__qualname__}")
    if saturate:
        check_writable(&target.impl.dl, target.impl.flags, "fill")
        read_number(scalar, &value, "fill")
        if not store_scalar(element, 0, target.impl.dl.dtype, True, value, NEAREST, True):
            raise TypeError(f"fill: a number cannot be written to {target.dtype}, which has no conversion")
        read_tensor(target, &place)
        engine = engine_at(target.impl.dl.device, &launch, "fill")
        fill_operand(engine, launch, element, &place, "fill")
    else:
        assign_scalar(target, scalar, "fill")
    return dst


cdef int _assign_converted(Tensor target, Tensor source, str func) except -1:
    """Assignment between dtypes, or between host memory and a device."""
    cdef Operand[2] operands
    cdef int64_t strides[MAX_DIMS]
    if not broadcast_strides(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides, target.impl.dl.ndim,
                             target.impl.dl.shape, TRAILING, strides):
        raise ValueError(f"{func}: shape {source.shape} does not broadcast to {target.shape}")
    if not is_same_place(source.impl.dl.device, target.impl.dl.device):
        # Convert to the target's dtype first, so that no more travels than is written.
        if source.dtype != target.dtype:
            source = astype(source, target.dtype)
        return device_operations().move(target, source, func)
    read_tensor(source, &operands[0])
    read_tensor(target, &operands[1])
    operands[0].view.ndim = target.impl.dl.ndim
    operands[0].view.shape = target.impl.dl.shape
    operands[0].view.strides = strides
    return _convert(operands, _options("truncate", False, None, None, func), func)


operations.assign = _assign_converted
operations.astype = _astype
