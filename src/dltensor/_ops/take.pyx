# SPDX-License-Identifier: Apache-2.0
"""Functions of indices: take, take_along_axis, nonzero, and accumulation at indices."""
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t, uint64_t

from .._core.convert cimport read_array, view_any

from .._core.indexing cimport axis_of
from .._core.native cimport computed_types, find_type, numel, type_int64, type_table, type_uint64
from .._core.op_numbers cimport op_add, op_maximum, op_minimum
from .._core.allocation cimport check_writable
from .._core.tensor cimport Tensor, operations, reshaped
from .._core.types cimport kDLCPU
from .arguments cimport HOLDS, check_output, deliver, is_narrow_float, kind_order, read_out, result_for
from .index cimport SHORT_MASK, mask_positions, pack_mask, read_along_axis, read_at, read_few, write_at
from .index_key cimport class_of, index_from_list, mask_indices, pack_nonzero, significant_bits

from .._core.foreign_text import quoted
from .casting import clip
from .elementwise import remainder

cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    int compute_type(int, int)


# -- accumulation -----------------------------------------------------------------------------------------------------

def _accumulate(x, indices, values, int op, str func):
    cdef Tensor t = view_any(x, False, func)
    cdef int type
    if t is None:
        raise TypeError(f"{func}: expected a writable tensor, got {class_of(x)}")
    type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or compute_type(op, type) != type:
        raise TypeError(f"{func}: not defined for {t.dtype}")
    check_writable(&t.impl.dl, t.impl.flags, func, "x")
    write_at(t, indices, values, op, func, f"{func}: ")
    return x


def add_at(x, indices, values, /):
    """Add values to the elements that an index selects, in place; an element that is named twice gets both.

    ``x[indices] += values`` adds once to each element. Positions are taken in C order, and every sum is rounded to the
    dtype of `x`: the result does not depend on the number of threads.

    Parameters
    ----------
    x : array_like
        Writable tensor.
    indices : index
        Key as in ``x[...]``: integers, slices, index arrays, masks, or a tuple of them.
    values : array_like or number
        Broadcast to the shape of ``x[indices]`` and converted to the dtype of `x`.

    Returns
    -------
    array_like
        `x` itself.

    Raises
    ------
    IndexError
        An index is out of range; nothing is written then.
    ValueError
        `values` does not broadcast, or `x` is read-only or its elements share memory.
    TypeError
        `x` has a dtype that cannot be added.
    OverflowError
        A Python integer is outside the dtype.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    {See Also: maximum_at, minimum_at}

    Examples
    --------
    >>> dl.add_at(dl.zeros(3), dl.asarray([0, 2, 0]), dl.asarray([1.0, 2.0, 3.0])).tolist()
    [4.0, 0.0, 2.0]
    """
    return _accumulate(x, indices, values, op_add, "add_at")


def maximum_at(x, indices, values, /):
    """Raise the elements that an index selects to values where these are larger, in place.

    Parameters
    ----------
    indices : index
        Key as in ``x[...]``.
    values : array_like or number
        Broadcast to the shape of ``x[indices]`` and converted to the dtype of `x`. NaN wins.

    {add_at: Parameters, Returns, Raises}

    Raises
    ------
    TypeError
        `x` has a dtype without order.

    {See Also: minimum_at, add_at}

    Examples
    --------
    >>> dl.maximum_at(dl.asarray([5, 5]), dl.asarray([0, 0, 1]), dl.asarray([9, 7, 1])).tolist()
    [9, 5]
    """
    return _accumulate(x, indices, values, op_maximum, "maximum_at")


def minimum_at(x, indices, values, /):
    """Lower the elements that an index selects to values where these are smaller, in place.

    {maximum_at: Parameters, Returns, Raises}

    {See Also: maximum_at, add_at}

    Examples
    --------
    >>> dl.minimum_at(dl.asarray([5, 5]), dl.asarray([0, 0, 1]), dl.asarray([3, 4, 9])).tolist()
    [3, 5]
    """
    return _accumulate(x, indices, values, op_minimum, "minimum_at")


# -- functions --------------------------------------------------------------------------------------------------------

cdef Tensor _indices_argument(object indices, str func):
    """Positions as a tensor of integers; sequences are read."""
    cdef Tensor t
    cdef int type
    if isinstance(indices, (list, tuple, range)) or PyLong_CheckExact(indices):
        t = index_from_list(indices)
    else:
        t = read_array(indices, func)
    type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or kind_order(type) != 1:
        raise IndexError(f"{func}: indices must be integers, got {t.dtype}")
    return t


cdef Tensor _within(Tensor at, object mode, int64_t extent, str func):
    """Positions of an axis for those that are out of its range: the remainder by its extent, or the nearest one."""
    if mode not in ("wrap", "clip"):
        raise ValueError(f"{func}: mode must be 'raise', 'wrap' or 'clip', got {quoted(mode)}")
    if extent == 0 and numel(at.impl.dl.ndim, at.impl.dl.shape) > 0:
        raise IndexError(f"{func}: the axis has no element for {at.size} indices")
    if extent == 0:
        return at
    if find_type(at.impl.dl.dtype) != type_uint64:  # other dtypes may not hold the extent
        at = at.astype("int64", copy=False)
    return remainder(at, extent) if mode == "wrap" else clip(at, 0, extent - 1)


cdef object _deliver(Tensor result, object out, Tensor target, str func):
    """Return the result, or `out` after it was written there."""
    if target is not None:
        check_output(&target.impl.dl, result.impl.dl.ndim, result.impl.dl.shape, result.impl.dl.dtype,
                     result.impl.dl.device, HOLDS, func)
    return deliver(result, target, out, func)


def take(x, indices: TensorLike | Sequence[int] | int, /, axis=None, *, out=None, mode="raise"):
    """Return the elements at positions along an axis, as ``x[..., indices, ...]`` does.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    indices : array_like of int, or sequence of int
        Positions, of any shape. Negative ones count from the end.
    axis : int, optional
        Dimension to index. By default the elements in C order.
    out : array_like, optional
        Writable tensor for the result.
    mode : {"raise", "wrap", "clip"}, default "raise"
        Positions out of range: an error, the remainder by the extent of the axis, or the first and the last element.
        With "clip", negative ones do not count from the end.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`, with the dimensions of `indices` in place of `axis`. `out`, when it is given.

    Raises
    ------
    IndexError
        An index or the axis is out of range, or `indices` are no integers.
    ValueError
        There is no such mode. `out` has another shape or is read-only.
    TypeError
        An argument is no tensor, or `axis` is no integer. The dtype of `out` does not hold the result.
    {add_at: DeviceError}

    {See Also: take_along_axis}

    Examples
    --------
    >>> dl.take(dl.asarray([[1, 2, 3], [4, 5, 6]]), dl.asarray([2, 0]), axis=1).tolist()
    [[3, 1], [6, 4]]
    >>> [dl.take(dl.asarray([1, 2, 3]), [3, -5], mode=mode).tolist() for mode in ("wrap", "clip")]
    [[1, 2], [3, 1]]
    """
    cdef Tensor t, target, at
    cdef int where
    if type(x) is Tensor and type(indices) is Tensor and axis is None and out is None and mode == "raise":
        t, at = x, indices
        if t.impl.dl.ndim == 1 and find_type(at.impl.dl.dtype) == type_int64:
            result = read_few(t, at)
            if result is not None:
                return result
    t, target = read_array(x, "take"), read_out(out, "take")
    if axis is None:
        if t.impl.dl.ndim != 1:
            t = reshaped(t, (-1,), None, "take")
        where = 0
    else:
        where = axis_of(axis, t.impl.dl.ndim, "take")
    at = _indices_argument(indices, "take")
    if mode != "raise":
        at = _within(at, mode, t.impl.dl.shape[where], "take")
    if at.impl.dl.ndim == 0:
        key = at.item()
    else:
        key = at
    return _deliver(read_at(t, (slice(None),) * where + (key,), "take", "take: ", True), out, target, "take")


def take_along_axis(x, indices, /, axis=-1, *, out=None):
    """Return elements whose position along an axis is given one by one, as `argsort` and `argmax` give them.

    Parameters
    ----------
    indices : array_like of int
        Positions, with as many dimensions as `x`, which broadcast except for `axis`. Negative ones count from the end.
    axis : int or None, default -1
        Dimension to index. None indexes the elements of `x` in C order, by one dimension of positions.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`, with the extent of `indices` along `axis`; or `out`.

    Raises
    ------
    ValueError
        The numbers of dimensions differ, the other dimensions do not broadcast, or `out` has another shape or is
        read-only.

    {take: Parameters, Raises}

    {See Also: take}

    Examples
    --------
    >>> dl.take_along_axis(dl.asarray([[3, 1], [2, 4]]), dl.asarray([[1], [0]])).tolist()
    [[1], [2]]
    """
    func = "take_along_axis"
    cdef Tensor t = read_array(x, func), target = read_out(out, func), at = _indices_argument(indices, func)
    if axis is None:
        t, axis = t.reshape((-1,)), 0
    return _deliver(read_along_axis(t, at, axis_of(axis, t.impl.dl.ndim, func), func), out, target, func)


def nonzero(x, /):
    """Return where elements differ from 0, as one tensor of indices for each dimension, in C order.

    {take: Parameters}

    Returns
    -------
    tuple of Tensor
        int64 indices along each dimension; ``x[nonzero(x)]`` are the elements.

    Raises
    ------
    ValueError
        `x` has no dimensions.
    TypeError
        `x` is no tensor, or its dtype has no arithmetic.
    {add_at: DeviceError}

    {Notes: Array API 2025.12: ``nonzero``. On a CUDA device the host waits for the count.}

    Examples
    --------
    >>> [at.tolist() for at in dl.nonzero(dl.asarray([[0, 5], [7, 0]]))]
    [[0, 1], [1, 0]]
    """
    cdef Tensor t = read_array(x, "nonzero"), result
    cdef int type = find_type(t.impl.dl.dtype)
    cdef uint64_t words[64]
    cdef int64_t before[2]
    cdef int64_t* to[1]
    cdef int64_t n, count
    if t.impl.dl.ndim == 0:
        raise ValueError("nonzero: a tensor of 0 dimensions has no indices; reshape it to (1,), or compare it with 0")
    if is_narrow_float(type):  # bfloat16 holds its values
        return nonzero(t.astype("bfloat16"))
    if type < 0 or type >= computed_types:
        raise TypeError(f"nonzero: {t.dtype} has no arithmetic; convert with astype() first")
    if (t.impl.dl.device.device_type == kDLCPU and t.impl.dl.ndim == 1 and t.impl.dl.shape[0] <= SHORT_MASK and (
            t.impl.dl.strides[0] == 1 or t.impl.dl.shape[0] <= 1)):
        n = t.impl.dl.shape[0]
        count = pack_mask(t.impl.dl.data, type_table[type].bytes, significant_bits(type), n, words, before)
        result = result_for(None, t, 1, &count, type_table[type_int64].dtype, "nonzero")
        to[0] = <int64_t*>result.impl.dl.data
        mask_positions(to, 1, t.impl.dl.shape, n, words, before)
        return (result,)
    return tuple(mask_indices(pack_nonzero(t, type, "nonzero"), t.impl.dl.ndim, t.impl.dl.shape, "nonzero"))


cdef object _take(object x, object indices, object axis):
    return take(x, indices, axis=axis)


cdef object _nonzero(object x):
    return nonzero(x)


operations.take = _take
operations.nonzero = _nonzero
