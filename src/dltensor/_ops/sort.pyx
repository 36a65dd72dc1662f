# SPDX-License-Identifier: Apache-2.0
"""Sorting along an axis: sort, argsort, top_k, and elements at given places of the order."""
from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool

from .._core.convert cimport read_array
from .._core.indexing cimport axis_of, integer_of
from .._core.native cimport REAL, SIGNED, UNSIGNED, Status, find_type, is_contiguous, type_int64, type_table, work_bytes
from .._core.tensor cimport Tensor, assign, copied, new_empty
from .._core.types cimport DLDataType, DLDevice, DLTensor, dtype_of, is_host, kDLCPU, kDLCUDA
from .arguments cimport (HOLDS, SAME_DTYPE, Operand, deliver, is_narrow_float, kind_order, promote_operands,
                         read_operands, read_output, read_owned, result_for)
from .engine cimport (EngineOperand, EngineTable, LaunchContext, PyThreadState, check_device, engine_at, finish,
                      is_same_place, release_gil)
from .._core.scalars cimport integer_range

from .._core.convert import asarray
from .._core.foreign_text import quoted
from .._core.types import DeviceError
from .arguments import written
from .casting import astype, where
from .elementwise import isnan

cdef extern from "native/cpu/sort/sort.h" namespace "dlt" nogil:
    bint has_order "dlt::has_order"(int)
    Status order_statistics(const DLTensor&, const DLTensor&, int, const int64_t*)

cdef extern from "native/cuda/sort/select.h" namespace "dlt::cuda" nogil:
    Status select_places(const EngineOperand&, int, int64_t, int64_t, const EngineOperand&, const LaunchContext&,
                         cbool*)


cdef Tensor computed_tensor(object x, str func):
    """Read an argument as a tensor on the host or a device that computes."""
    cdef Tensor t = read_array(x, func)
    check_device(t, func)
    return t


cdef Tensor ordered_anywhere(object x, str func, str what="x"):
    """The same, of a dtype whose elements have an order."""
    if type(x) is Tensor and has_order(find_type((<Tensor>x).impl.dl.dtype)):
        check_device(<Tensor>x, func)
        return <Tensor>x
    return _check_order(computed_tensor(x, func), func, what)


cdef Tensor on_same_device(Tensor t, Tensor other, str func, str what, str name):
    """The tensor `what`, which must be where the tensor `name` is."""
    if is_same_place(t.impl.dl.device, other.impl.dl.device):
        return t
    raise DeviceError(f"{func}: {name} is on {other.device} and {what} on {t.device}; move it with "
                      f".to(\"{other.device}\")")


cdef Tensor _check_order(Tensor t, str func, str what):
    if not has_order(find_type(t.impl.dl.dtype)):
        complex_ = t.dtype.name.startswith("complex")
        raise TypeError(f"{func}: {what} is {t.dtype}, expected bool, an integer or a float dtype; "
                        f"{'take real() or abs() of it' if complex_ else 'convert it with astype()'}")
    return t


cdef Tensor _with_order(Tensor t, str func):
    """The elements in a dtype that has their order: floats without arithmetic as bfloat16, which holds their values."""
    return astype(t, "bfloat16") if is_narrow_float(find_type(t.impl.dl.dtype)) else _check_order(t, func, "x")


cdef bint _is_narrow(object x) noexcept:
    return type(x) is Tensor and is_narrow_float(find_type((<Tensor>x).impl.dl.dtype))


cdef tuple comparable(object x1, object x2, str func):
    """Two tensors, or one and a number, for a comparison: floats without arithmetic in a dtype that holds their values.

    It is float32 beside a number, which is rounded to it as by `equal`.
    """
    if not _is_narrow(x1) and not _is_narrow(x2):
        return x1, x2
    tensors = [x for x in (x1, x2) if type(x) is Tensor]
    if len({t.dtype for t in tensors}) > 1:
        narrow = x1 if _is_narrow(x1) else x2
        raise TypeError(f"{func}: {narrow.dtype} has no arithmetic; convert with astype() first")
    for t in tensors:
        check_device(<Tensor>t, func)
    wide = "float32" if len(tensors) == 1 else "bfloat16"
    return tuple([astype(x, wide) if type(x) is Tensor else x for x in (x1, x2)])


cdef Tensor in_order(Tensor t, str func):
    """The tensor itself if it is contiguous, else a copy."""
    return t if is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides) else copied(t, func)


cdef Tensor converted(Tensor t, int type, str func):
    """The elements contiguous and of a row of the dtype table."""
    return in_order(t if find_type(t.impl.dl.dtype) == type else astype(t, dtype_of(type_table[type].dtype)), func)


cdef Tensor as_operand(object x, Tensor other, str func, str what, str name):
    """A tensor, or a number as one that compares with the other operand, `name`, as the number does; where that is."""
    cdef Tensor number
    if type(x) in (bool, int, float, complex):
        number = _number_beside(x, other, func)
        return number if is_same_place(number.impl.dl.device, other.impl.dl.device) else number.to(other.device)
    return on_same_device(computed_tensor(x, func), other, func, what, name)


cdef int rest_of(object x, Tensor t) except -2:
    """The sign of an integer of more than 64 bits minus the element that as_operand() returned for it; 0 for others."""
    if type(x) is not int or -(1 << 63) <= x < 1 << 64:
        return 0
    near = t.item().real
    return (x > near) - (x < near)


cdef object _number_beside(object x, Tensor other, str func):
    """A number in the dtype that it and the other operand meet in, or in the next one that holds it."""
    cdef Operand[2] operands
    cdef PyObject* used[2]
    cdef PyObject* pair[2]
    cdef int row
    pair[0], pair[1] = <PyObject*>other, <PyObject*>x
    _converted = read_operands(pair, 2, NULL, operands, used, func)
    row = promote_operands(operands, 2, func)
    if type_table[row].kind == SIGNED or type_table[row].kind == UNSIGNED:
        return _integer(x, type_table[row].kind == SIGNED, type_table[row].dtype.bits)
    if isinstance(x, int) and x.bit_length() > 64:
        return _integer(x, True, 64)
    number = asarray(x, dtype=dtype_of(type_table[row].dtype))
    if isinstance(x, int):
        return number if number.item() == x else _integer(x, True, 64)
    if isinstance(x, float) and (kind_order(operands[0].type) < 2 or abs(number.item()) == INFINITY != abs(x)):
        return asarray(x, dtype="float64")
    return number


cdef object _integer(object number, bint signed, object bits):
    """An integer in a dtype, or in one of 64 bits that holds it; as float64 where none does."""
    low, high = integer_range(signed, bits)
    if low <= number <= high:
        return asarray(number, dtype=f"{'' if signed else 'u'}int{bits}")
    if -(1 << 63) <= number < 1 << 64:
        return asarray(number, dtype="int64" if number < 1 << 63 else "uint64")
    try:
        return asarray(float(number), dtype="float64")
    except OverflowError:
        return asarray(INFINITY if number > 0 else -INFINITY, dtype="float64")


cdef int _axis(object axis, int ndim, str func) except -1:
    """A dimension's number; of a tensor without dimensions 0 and -1 are the axis that its one element lies along."""
    if ndim == 0:
        axis = integer_of(axis, "axis", func)
        if axis in (0, -1):
            return 0
    return axis_of(axis, ndim, func)


cdef int _sort_lines(Tensor x, const EngineOperand* values, const EngineOperand* indices, int axis, bint descending,
                     str func) except -1:
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(x.impl.dl.device, &launch, func)
    cdef EngineOperand source
    read_owned(x, &source)
    cdef PyThreadState* state = release_gil(launch, work_bytes(x.impl.dl.ndim, x.impl.dl.shape, 64))
    cdef Status status = engine.sort(source, values, indices, axis, descending, launch)
    return finish(state, status, launch, func)


cdef object _run(Tensor x, int axis, bint descending, bint indices, object out, str func):
    cdef DLDataType dtype = type_table[type_int64].dtype if indices else x.impl.dl.dtype
    cdef Tensor target = None, output
    cdef EngineOperand place
    if out is not None:
        target = read_output(out, x, x.impl.dl.ndim, x.impl.dl.shape, dtype, SAME_DTYPE if indices else HOLDS,
                             func)
    output = result_for(target, x, x.impl.dl.ndim, x.impl.dl.shape, dtype, func)
    read_owned(output, &place)
    if indices:
        _sort_lines(x, NULL, &place, axis, descending, func)
    else:
        _sort_lines(x, &place, NULL, axis, descending, func)
    return deliver(output, target, out, func)


cdef int _check_kind(object kind, str func) except -1:
    """Check the name of an algorithm of NumPy's, which tells it by the first letter: q, h, m or s."""
    if kind is not None and not (isinstance(kind, str) and kind[:1].lower() in ("q", "h", "m", "s")):
        raise ValueError(f"{func}: kind must be 'quicksort', 'heapsort', 'mergesort' or 'stable', got {quoted(kind)}")
    return 0


def sort(x, /, axis=-1, *, descending=False, stable=True, kind=None, out=None):
    """Return the elements sorted along an axis.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, of bool, integer or float dtype.
    axis : int or None, default -1
        Axis to sort along. None sorts the elements of all, in C order.
    descending : bool, default False
        Sort from the greatest to the least; equal elements keep their order.
    stable : bool, default True
        Accepted and not needed: every sort is stable.
    kind : str, optional
        The name of an algorithm of NumPy's, accepted and not needed.
    out : array_like, optional
        Writable tensor of the shape of the result and its dtype, or one that holds it; overwritten and returned. It may
        be `x`.

    Returns
    -------
    Tensor
        Of the dtype and, unless `axis` is None, the shape of `x`. NaNs are last in both orders; -0 and +0 are equal.

    Raises
    ------
    TypeError
        The dtype has no order, or `axis` is not an integer.
    IndexError
        `axis` is out of range.
    ValueError
        `kind` is no name of an algorithm, or `out` has another shape or is read-only.
    DeviceError
        `x` is neither on the host nor on a CUDA device. `out` is on another device.

    {See Also: argsort, top_k}

    Examples
    --------
    >>> dl.sort(dl.asarray([3, 1, 2]))
    Tensor([1, 2, 3], shape=(3,), device=cpu, dtype=int64)
    >>> dl.sort(dl.asarray([1.5, dl.nan, 2.5]), descending=True)
    Tensor([2.5, 1.5, nan], shape=(3,), device=cpu, dtype=float32)
    """
    cdef Tensor t = computed_tensor(x, "sort")
    _check_kind(kind, "sort")
    if axis is None:
        t, axis = t.reshape((-1,)), 0
    if is_narrow_float(find_type(t.impl.dl.dtype)):
        elements = sort(_with_order(t, "sort"), axis, descending=descending)
        return written(astype(elements, t.dtype), out, "sort")
    t = _check_order(t, "sort", "x")
    return _run(t, _axis(axis, t.impl.dl.ndim, "sort"), bool(descending), False, out, "sort")


def argsort(x, /, axis=-1, *, descending=False, stable=True, kind=None, out=None):
    """Return the indices that sort the elements along an axis.

    Parameters
    ----------
    out : array_like, optional
        Writable tensor of the shape of the result and dtype int64; overwritten and returned.

    Returns
    -------
    Tensor
        Indices along `axis`, int64, of the shape of `x` unless `axis` is None. NaNs are last in both orders; -0 and +0
        are equal.

    {sort: Parameters, Raises}

    {See Also: sort}

    Examples
    --------
    >>> dl.argsort(dl.asarray([3, 1, 2, 1]))
    Tensor([1, 3, 2, 0], shape=(4,), device=cpu, dtype=int64)
    """
    cdef Tensor t = _with_order(computed_tensor(x, "argsort"), "argsort")
    _check_kind(kind, "argsort")
    if axis is None:
        t, axis = t.reshape((-1,)), 0
    return _run(t, _axis(axis, t.impl.dl.ndim, "argsort"), bool(descending), True, out, "argsort")


def top_k(x, k, /, axis=-1, *, mode="largest", sorted=True):
    """Return the `k` largest or smallest elements along an axis, and their indices.

    Parameters
    ----------
    {sort: x}
    k : int
        Number of elements, from 0 to the extent of `axis`.
    axis : int, default -1
        Axis to select along.
    mode : {'largest', 'smallest'}, default 'largest'
        Which elements are selected.
    sorted : bool, default True
        Accepted and not needed: the elements are always in order.

    Returns
    -------
    values : Tensor
        The first `k` elements of the sorted axis, of the dtype of `x`. NaNs are last, also for the largest; of equal
        elements those with lower indices are taken.
    indices : Tensor
        Their indices along `axis`, int64.

    Raises
    ------
    TypeError
        The dtype has no order, or an argument is not an integer.
    ValueError
        `k` is negative or exceeds the extent, or `mode` is neither word.
    {scan.cumulative_sum: IndexError, DeviceError}

    {See Also: sort}

    Examples
    --------
    >>> values, indices = dl.top_k(dl.asarray([3, 1, 4, 1, 5]), 2)
    >>> values, indices
    (Tensor([5, 4], shape=(2,), device=cpu, dtype=int64), Tensor([4, 2], shape=(2,), device=cpu, dtype=int64))
    """
    cdef Tensor operand = computed_tensor(x, "top_k"), t = _with_order(operand, "top_k")
    cdef Tensor values, indices
    cdef int64_t shape[64]
    cdef int along, i, ndim = t.impl.dl.ndim
    cdef bint largest = mode == "largest"
    cdef EngineOperand elements, places
    if not largest and mode != "smallest":
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {quoted(mode)}")
    number = integer_of(k, "k", "top_k")
    if ndim == 0:
        raise ValueError("top_k: x must have at least one dimension, got a tensor of shape (); reshape() it to (1,)")
    along = _axis(axis, ndim, "top_k")
    if not 0 <= number <= t.impl.dl.shape[along]:
        raise ValueError(f"top_k: k must be from 0 to {t.impl.dl.shape[along]}, the extent of axis {along}, got "
                         f"{number}")
    for i in range(ndim):
        shape[i] = number if i == along else t.impl.dl.shape[i]
    values = result_for(None, t, ndim, shape, t.impl.dl.dtype, "top_k")
    indices = result_for(None, t, ndim, shape, type_table[type_int64].dtype, "top_k")
    read_owned(values, &elements)
    read_owned(indices, &places)
    _sort_lines(t, &elements, &places, along, largest, "top_k")
    return astype(values, operand.dtype, copy=False), indices


def statistics_of_order(x, axis, places):
    """Return the elements that the ascending order of each line along `axis` has at `places`, which ascend.

    The result has the places along `axis`. Lines that hold a NaN give NaN.
    """
    cdef Tensor t = ordered_anywhere(x, "quantile")
    cdef Tensor result, wanted
    cdef int64_t shape[64]
    cdef int i, ndim = t.impl.dl.ndim, along
    cdef LaunchContext host
    cdef PyThreadState* state
    if ndim == 0:
        t = t.reshape((1,))
        ndim = 1
    along = _axis(axis, ndim, "quantile")
    shape[0] = len(places)
    wanted = new_empty(1, shape, type_table[type_int64].dtype, DLDevice(kDLCPU, 0), "quantile")
    for i, place in enumerate(places):
        if not 0 <= place < t.impl.dl.shape[along]:
            raise ValueError(f"quantile: place {place} is outside of an axis of extent {t.impl.dl.shape[along]}")
        (<int64_t*>wanted.impl.dl.data)[i] = place
    for i in range(ndim):
        shape[i] = len(places) if i == along else t.impl.dl.shape[i]
    if not is_host(<int>t.impl.dl.device.device_type):
        if 0 < len(places) <= 2 and places[-1] - places[0] <= 1 and (<Tensor>t).impl.dl.device.device_type == kDLCUDA:
            result = _selected(t, along, places[0], places[-1], shape)
            if result is not None:
                return result
        return _statistics_of_sorted(t, along, places)
    result = new_empty(ndim, shape, t.impl.dl.dtype, DLDevice(kDLCPU, 0), "quantile")
    state = release_gil(host, work_bytes(t.impl.dl.ndim, t.impl.dl.shape, 16))
    finish(state, order_statistics(result.impl.dl, t.impl.dl, along, <const int64_t*>wanted.impl.dl.data), host,
           "quantile")
    return result


cdef Tensor _selected(Tensor t, int axis, int64_t first, int64_t last, const int64_t* shape):
    """Return elements at adjacent places of one long line on a device; None where that is better sorted."""
    cdef LaunchContext launch
    cdef EngineOperand operand, elements
    cdef cbool ran = False
    cdef Tensor result
    if t.size < 2 * (last - first + 1):
        return None
    engine_at(t.impl.dl.device, &launch, "quantile")
    result = new_empty(t.impl.dl.ndim, shape, t.impl.dl.dtype, t.impl.dl.device, "quantile")
    read_owned(t, &operand)
    read_owned(result, &elements)
    cdef PyThreadState* state = release_gil(launch, work_bytes(t.impl.dl.ndim, t.impl.dl.shape, 16))
    finish(state, select_places(operand, axis, first, last, elements, launch, &ran), launch, "quantile")
    return result if ran else None


cdef Tensor _statistics_of_sorted(Tensor t, int axis, object places):
    """Return what `statistics_of_order` does, of sorted lines on a device."""
    cdef Tensor lines = _run(t, axis, False, False, None, "quantile"), result
    cdef int64_t shape[64]
    cdef int i, ndim = t.impl.dl.ndim
    before = (slice(None),) * axis
    for i in range(ndim):
        shape[i] = len(places) if i == axis else t.impl.dl.shape[i]
    result = new_empty(ndim, shape, t.impl.dl.dtype, t.impl.dl.device, "quantile")
    for i, place in enumerate(places):
        assign(result[(*before, slice(i, i + 1))], lines[(*before, slice(place, place + 1))], "quantile")
    if type_table[find_type(t.impl.dl.dtype)].kind == REAL and lines.size > 0:
        last = lines[(*before, slice(-1, None))]
        result = where(isnan(last), float("nan"), result)
    return result
