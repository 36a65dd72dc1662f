# SPDX-License-Identifier: Apache-2.0
"""Joining and splitting of arrays, and their dimensions, as NumPy has them beyond the array API. No loops here."""

from .._core.convert import asarray, asarrays, empty
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, axis_of, integer_of, sequence_of
from . import elementwise as ops
from .casting import astype, where
from .creation import arange, full
from .dtypes import isdtype
from .manipulation import concat, flip, moveaxis, permute_dims, repeat, reshape
from .sort import argsort
from .take import nonzero

__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "chunk", "column_stack", "delete",
    "dsplit", "dstack", "hsplit", "hstack", "insert", "rot90", "split", "swapaxes", "vsplit", "vstack",
]  # fmt: skip


# -- dimensions -------------------------------------------------------------------------------------------------------


def _at_least(arrays, ndim, place):
    """Each array with at least `ndim` dimensions; `place` inserts those that are missing. One alone is no list."""
    found = [x if x.ndim >= ndim else place(x) for x in map(asarray, arrays)]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_1d(*arrays):
    """Return arrays as tensors of at least one dimension.

    Parameters
    ----------
    *arrays : array_like or number
        Tensors, objects that support DLPack, numbers or nested sequences.

    Returns
    -------
    Tensor or tuple of Tensor
        Views where possible; a tuple of them for several arrays.

    Raises
    ------
    TypeError
        An argument is not a tensor.

    Examples
    --------
    >>> dl.atleast_1d(3.0)
    Tensor([3.], shape=(1,), device=cpu, dtype=float32)
    """
    return _at_least(arrays, 1, lambda x: reshape(x, (1,)))


def atleast_2d(*arrays):
    """Return arrays as tensors of at least two dimensions, new ones first.

    {atleast_1d: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.atleast_2d([1, 2]).shape
    (1, 2)
    """
    return _at_least(arrays, 2, lambda x: reshape(x, (1,) * (2 - x.ndim) + x.shape))


def atleast_3d(*arrays):
    """Return arrays as tensors of at least three dimensions; of a matrix the new one is last, of a vector in between.

    {atleast_1d: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _at_least(
        arrays, 3, lambda x: reshape(x, (1, *x.shape, 1) if x.ndim == 1 else (*x.shape, *(1,) * (3 - x.ndim)))
    )


def swapaxes(x, /, axis1, axis2):
    """Return a view with two dimensions interchanged.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    axis1, axis2 : int
        The dimensions.

    Returns
    -------
    Tensor
        A view.

    Raises
    ------
    TypeError
        `x` is not a tensor, or an axis is not an integer.
    IndexError
        An axis is out of range.

    {Notes: NumPy: ``numpy.swapaxes``. PyTorch: ``torch.swapaxes``, ``torch.transpose``.}

    Examples
    --------
    >>> dl.swapaxes(dl.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = asarray(x)
    first, second = axis_of(axis1, x.ndim, "swapaxes"), axis_of(axis2, x.ndim, "swapaxes")
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return permute_dims(x, tuple(order))


def rot90(x, /, k=1, axes=None):
    """Rotate by quarter turns in the plane of two dimensions, from the first towards the second.

    Parameters
    ----------
    x : array_like
        Tensor of at least two dimensions, or any object that supports DLPack.
    k : int, default 1
        Number of quarter turns; negative ones turn back.
    axes : sequence of int, optional
        The two dimensions, by default the first two.

    {swapaxes: Returns}

    Raises
    ------
    TypeError
        `x` is not a tensor, or `k` is not an integer.
    ValueError
        `axes` are not two different dimensions.
    {swapaxes: IndexError}

    Examples
    --------
    >>> dl.rot90(dl.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    x, turns = asarray(x), integer_of(k, "k", "rot90") % 4
    plane = axes_of((0, 1) if axes is None else axes, x.ndim, "rot90")
    if len(plane) != 2:
        raise ValueError(f"rot90: axes must be two dimensions, got {quoted(axes)}")
    first, second = plane
    if turns == 0:
        return flip(x, axis=())
    if turns == 2:
        return flip(x, axis=(first, second))
    if turns == 1:
        return swapaxes(flip(x, axis=second), first, second)
    return flip(swapaxes(x, first, second), axis=second)


# -- joining ----------------------------------------------------------------------------------------------------------


def _each(arrays, place):
    """The arrays of a sequence, or along the first dimension of one, each with the dimensions of `place`."""
    items = sequence_of(arrays, "arrays", "concat")
    return [place(x) for x in (asarray(arrays) if items is None else items)]


def vstack(arrays, /, *, dtype=None):
    """Join arrays along the first dimension; vectors are rows.

    Parameters
    ----------
    arrays : sequence of array_like
        Tensors, objects that support DLPack, numbers or nested sequences.
    dtype : dtype_like, optional
        Dtype of the result.

    Returns
    -------
    Tensor
        A copy, of the promoted dtype.

    Raises
    ------
    ValueError
        There is no array, or the shapes differ elsewhere.
    TypeError
        An argument is not a tensor, or there is no common dtype.

    Examples
    --------
    >>> dl.vstack(([1, 2], [3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    return _in_dtype(concat(_each(arrays, atleast_2d), axis=0), dtype)


def hstack(arrays, /, *, dtype=None):
    """Join arrays along the second dimension, or vectors one after the other.

    {vstack: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.hstack(([1, 2], [3, 4])).tolist()
    [1, 2, 3, 4]
    """
    parts = _each(arrays, atleast_1d)
    return _in_dtype(concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1), dtype)


def dstack(arrays, /):
    """Join arrays along the third dimension; vectors and matrices get one.

    {vstack: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.dstack(([1, 2], [3, 4])).tolist()
    [[[1, 3], [2, 4]]]
    """
    return concat(_each(arrays, atleast_3d), axis=2)


def column_stack(arrays, /):
    """Join vectors as columns, and matrices by their columns.

    {vstack: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.column_stack(([1, 2], [3, 4])).tolist()
    [[1, 3], [2, 4]]
    """
    return concat(_each(arrays, lambda x: _column(asarray(x))), axis=1)


def _column(x):
    return x if x.ndim > 1 else reshape(x, (-1, 1))


def _in_dtype(result, dtype):
    return result if dtype is None else result.astype(dtype, copy=False)


def block(arrays, /):
    """Join nested lists of blocks: the innermost lists along the last dimension, outer ones along those before it.

    Parameters
    ----------
    arrays : nested sequence of array_like
        Tensors, objects that support DLPack, or numbers, in lists; a tensor alone is a block of its own.

    {vstack: Returns}

    Raises
    ------
    ValueError
        A list is empty, the lists are not equally deep, or the shapes do not fit.
    TypeError
        A block is not a tensor, or there is no common dtype.

    Examples
    --------
    >>> dl.block([[dl.eye(2), dl.zeros((2, 1))], [dl.ones((1, 3))]]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """
    arrays = _read(arrays)
    depth = _depth(arrays)
    ndim = max(depth, _most_dimensions(arrays))
    return _joined(arrays, ndim, ndim - depth)


def _read(blocks):
    """The same lists of tensors."""
    return [_read(one) for one in blocks] if isinstance(blocks, list) else asarray(blocks)


def _depth(blocks):
    """The number of lists around each block."""
    if not isinstance(blocks, list):
        return 0
    depths = {_depth(one) for one in blocks}
    if len(depths) != 1:
        raise ValueError(f"block: lists must not be empty and be equally deep, got a list with depths {sorted(depths)}")
    return depths.pop() + 1


def _most_dimensions(blocks):
    return max(map(_most_dimensions, blocks)) if isinstance(blocks, list) else blocks.ndim


def _joined(blocks, ndim, axis):
    """Join a list along `axis`, and the lists in it along those after it."""
    if isinstance(blocks, list):
        return concat([_joined(one, ndim, axis + 1) for one in blocks], axis=axis)
    return reshape(blocks, (1,) * (ndim - blocks.ndim) + blocks.shape).copy()


def append(x, /, values, axis=None):
    """Join values to the end of an array: a copy.

    Parameters
    ----------
    {swapaxes: x}
    values : array_like
        Of the shape of `x` except for `axis`.
    axis : int, optional
        Dimension to join along; None joins the elements of both in C order.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    {vstack: TypeError}
    ValueError
        The shapes do not fit.
    IndexError
        `axis` is out of range.

    Examples
    --------
    >>> dl.append([1, 2], [[3], [4]]).tolist()
    [1, 2, 3, 4]
    """
    return concat(asarrays(x, values), axis=axis)


def _positions(at, size, func):
    """Non-negative positions of an index, a sequence or a mask, as a vector; a slice becomes the positions in it."""
    if isinstance(at, slice):
        return arange(*at.indices(size), dtype="int64")
    at = reshape(asarray(at), (-1,))
    if at.dtype.name == "bool":
        return nonzero(at)[0]
    if at.size and not isdtype(at.dtype, "integral"):
        raise TypeError(f"{func}: an index must be an integer, got {at.dtype}")
    at = astype(at, "int64")
    wrong = at[ops.logical_or(ops.less(at, -size), ops.greater_equal(at, size + (func == "insert")))]
    if wrong.size:
        raise IndexError(f"{func}: index {wrong[0].item()} is out of range for axis of size {size}")
    return where(ops.less(at, 0), ops.add(at, size), at)


def _all_but(positions, size):
    """A mask of the places of an axis that are not among positions."""
    mask = full(size, True, device=positions.device)
    mask[positions] = False
    return mask


def _line_of(x, axis, func):
    """The tensor and the dimension of an operation along one, or its elements in C order without one."""
    x = asarray(x)
    if axis is None:
        return reshape(x, (-1,)), 0
    return x, axis_of(axis, x.ndim, func)


def delete(x, /, obj, axis=None):
    """Return a copy without the elements at positions along an axis.

    Parameters
    ----------
    {swapaxes: x}
    obj : int, slice or sequence of int
        Positions, or a mask along the axis.
    axis : int, optional
        Dimension; None takes the elements in C order.

    Returns
    -------
    Tensor
        Of the dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a position is not an integer.
    IndexError
        A position or `axis` is out of range.

    Examples
    --------
    >>> dl.delete([1, 2, 3, 4], [0, -1]).tolist()
    [2, 3]
    """
    x, along = _line_of(x, axis, "delete")
    size = x.shape[along]
    return x[(slice(None),) * along + (_all_but(_positions(obj, size, "delete"), size),)]


def insert(x, /, obj, values, axis=None):
    """Return a copy with values inserted before positions along an axis.

    Parameters
    ----------
    obj : int, slice or sequence of int
        Positions in `x`.
    values : array_like or number
        Broadcast to the shape of what is inserted, and converted to the dtype of `x`.

    {delete: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        `values` do not broadcast.

    Examples
    --------
    >>> dl.insert([1, 2, 3], 1, 9).tolist()
    [1, 9, 2, 3]
    """
    x, along = _line_of(x, axis, "insert")
    size, values = x.shape[along], asarrays(x, values)[1]
    before = _positions(obj, size, "insert")
    if before.size == 1:  # all values go there
        values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape)
        if not isinstance(obj, slice) and asarray(obj).ndim == 0:
            values = moveaxis(values, 0, along)
        before = repeat(before, values.shape[along])
    order = argsort(before)
    places = before.copy()
    places[order] = ops.add(before[order], arange(before.size))
    total = size + before.size
    result = empty((*x.shape[:along], total, *x.shape[along + 1 :]), dtype=x.dtype, device=x.device)
    head = (slice(None),) * along
    result[(*head, _all_but(places, total))] = x
    result[(*head, places)] = values
    return result


# -- splitting --------------------------------------------------------------------------------------------------------


def _parts(x, ends, axis):
    """Views of the parts of a dimension that end at `ends` and at its own end."""
    starts, head = [0, *ends], (slice(None),) * axis
    return [x[(*head, slice(start, end))] for start, end in zip(starts, [*ends, x.shape[axis]], strict=True)]


_MOST_EMPTY_PARTS = 65536  # more are a wrong number, which memory would be filled with


def _split(x, sections, axis, equal, func):
    x = asarray(x)
    axis = axis_of(axis, x.ndim, func)
    size, places = x.shape[axis], sequence_of(sections, "indices_or_sections", func)
    if places is not None:
        return _parts(x, [integer_of(one, "a position", func) for one in places], axis)
    count = integer_of(sections, "indices_or_sections", func)
    if count < 1 or (equal and size % count):
        raise ValueError(f"{func}: axis {axis} of {size} elements has no {count} equal parts; use array_split")
    if count > size + _MOST_EMPTY_PARTS:
        raise ValueError(f"{func}: {count} parts of {size} elements; at most {_MOST_EMPTY_PARTS} parts may be empty")
    small, more = divmod(size, count)
    ends = [small * (one + 1) + min(one + 1, more) for one in range(count - 1)]
    return _parts(x, ends, axis)


def split(x, /, indices_or_sections, axis=0):
    """Split along an axis: in a number of equal parts, or at positions.

    Parameters
    ----------
    {swapaxes: x}
    indices_or_sections : int or sequence of int
        Number of parts, or the positions at which parts after the first begin. PyTorch's ``split`` takes sizes of
        parts: that is the method `Tensor.split`.
    axis : int, default 0
        Dimension to split.

    Returns
    -------
    list of Tensor
        Views.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a number is not an integer.
    ValueError
        The extent cannot be divided in so many equal parts, or more than 65,536 would be empty.
    {append: IndexError}

    Examples
    --------
    >>> [part.tolist() for part in dl.split(dl.arange(6), 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    return _split(x, indices_or_sections, axis, True, "split")


def array_split(x, /, indices_or_sections, axis=0):
    """Split along an axis: in a number of parts of nearly equal size, or at positions.

    Parameters
    ----------
    indices_or_sections : int or sequence of int
        Number of parts, the first of which are longer by one where they cannot be equal, or the positions at which
        parts after the first begin.

    {split: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        The number of parts is less than 1, or more than 65,536 would be empty.

    {Notes: NumPy: ``numpy.array_split``. PyTorch: ``torch.tensor_split``.}

    Examples
    --------
    >>> [part.tolist() for part in dl.array_split(dl.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    return _split(x, indices_or_sections, axis, False, "array_split")


def vsplit(x, /, indices_or_sections):
    """Split along the first dimension, as `split` does.

    {split: Parameters, Returns, Raises}

    Examples
    --------
    >>> [part.tolist() for part in dl.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _split(x, indices_or_sections, 0, True, "vsplit")


def hsplit(x, /, indices_or_sections):
    """Split along the second dimension, or vectors along their one, as `split` does.

    {split: Parameters, Returns, Raises}

    Examples
    --------
    >>> [part.tolist() for part in dl.hsplit([[1, 2], [3, 4]], 2)]
    [[[1], [3]], [[2], [4]]]
    """
    x = asarray(x)
    return _split(x, indices_or_sections, 0 if x.ndim == 1 else 1, True, "hsplit")


def dsplit(x, /, indices_or_sections):
    """Split along the third dimension, as `split` does.

    {split: Parameters, Returns, Raises}

    Examples
    --------
    >>> [part.shape for part in dl.dsplit(dl.zeros((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _split(x, indices_or_sections, 2, True, "dsplit")


def chunk(x, chunks, /, axis=0):
    """Split along an axis in at most a number of parts, all but the last of one size.

    Parameters
    ----------
    chunks : int
        Number of parts; fewer where rounding the size up leaves fewer.

    {split: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        `chunks` is less than 1.

    Examples
    --------
    >>> [part.tolist() for part in dl.chunk(dl.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    x, count = asarray(x), integer_of(chunks, "chunks", "chunk")
    axis = axis_of(axis, x.ndim, "chunk")
    if count < 1:
        raise ValueError(f"chunk: chunks must be at least 1, got {count}")
    size = max(-(-x.shape[axis] // count), 1)
    return _parts(x, range(size, x.shape[axis], size), axis)
