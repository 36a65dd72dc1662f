# SPDX-License-Identifier: Apache-2.0
"""Joining, splitting, padding and views of arrays, as NumPy has them beyond the array API: composed, no loops here."""

from math import prod

from .._core.convert import asarray
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, axis_of, integer_of, sequence_of
from .._core.types import as_dtype
from .._core.views import as_strided as strided_view
from . import elementwise as ops
from . import reduce
from .creation import arange, zeros
from .manipulation import broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, reshape
from .take import nonzero

__all__ = [
    "append", "argwhere", "array_split", "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "block", "chunk",
    "column_stack", "delete", "diag", "diagflat", "diagonal", "dsplit", "dstack", "flatnonzero", "frombuffer",
    "hsplit", "hstack", "insert", "ix_", "pad", "ravel_multi_index", "rot90", "sliding_window_view", "split",
    "swapaxes", "tri", "tril_indices", "trim_zeros", "triu_indices", "unravel_index", "vsplit", "vstack",
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

    Notes
    -----
    NumPy: ``numpy.atleast_1d``. PyTorch: ``torch.atleast_1d``.

    Examples
    --------
    >>> dl.atleast_1d(3.0)
    Tensor([3.], shape=(1,), device=cpu, dtype=float32)
    """
    return _at_least(arrays, 1, lambda x: reshape(x, (1,)))


def atleast_2d(*arrays):
    """Return arrays as tensors of at least two dimensions, new ones first.

    {atleast_1d: Parameters, Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.atleast_2d``. PyTorch: ``torch.atleast_2d``.

    Examples
    --------
    >>> dl.atleast_2d([1, 2]).shape
    (1, 2)
    """
    return _at_least(arrays, 2, lambda x: reshape(x, (1,) * (2 - x.ndim) + x.shape))


def atleast_3d(*arrays):
    """Return arrays as tensors of at least three dimensions; of a matrix the new one is last, of a vector in between.

    {atleast_1d: Parameters, Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.atleast_3d``. PyTorch: ``torch.atleast_3d``.

    Examples
    --------
    >>> dl.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _at_least(
        arrays, 3, lambda x: reshape(x, (1, *x.shape, 1) if x.ndim == 1 else (*x.shape, *(1,) * (3 - x.ndim)))
    )


def swapaxes(x, axis1, axis2, /):
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

    Notes
    -----
    NumPy: ``numpy.swapaxes``. PyTorch: ``torch.swapaxes``, ``torch.transpose``.

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

    Returns
    -------
    Tensor
        A view.

    Raises
    ------
    TypeError
        `x` is not a tensor, or `k` is not an integer.
    ValueError
        `axes` are not two different dimensions.
    IndexError
        An axis is out of range.

    Notes
    -----
    NumPy: ``numpy.rot90``. PyTorch: ``torch.rot90``.

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

    Notes
    -----
    NumPy: ``numpy.vstack``. PyTorch: ``torch.vstack``.

    Examples
    --------
    >>> dl.vstack(([1, 2], [3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    return _in_dtype(concat(_each(arrays, atleast_2d), axis=0), dtype)


def hstack(arrays, /, *, dtype=None):
    """Join arrays along the second dimension, or vectors one after the other.

    {vstack: Parameters, Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.hstack``. PyTorch: ``torch.hstack``.

    Examples
    --------
    >>> dl.hstack(([1, 2], [3, 4])).tolist()
    [1, 2, 3, 4]
    """
    parts = _each(arrays, atleast_1d)
    return _in_dtype(concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1), dtype)


def dstack(arrays, /):
    """Join arrays along the third dimension; vectors and matrices get one.

    Parameters
    ----------
    {vstack: arrays}

    {vstack: Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.dstack``. PyTorch: ``torch.dstack``.

    Examples
    --------
    >>> dl.dstack(([1, 2], [3, 4])).tolist()
    [[[1, 3], [2, 4]]]
    """
    return concat(_each(arrays, atleast_3d), axis=2)


def column_stack(arrays, /):
    """Join vectors as columns, and matrices by their columns.

    Parameters
    ----------
    {vstack: arrays}

    {vstack: Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.column_stack``. PyTorch: ``torch.column_stack``.

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

    Returns
    -------
    Tensor
        A copy, of the promoted dtype.

    Raises
    ------
    ValueError
        A list is empty, the lists are not equally deep, or the shapes do not fit.
    TypeError
        A block is not a tensor, or there is no common dtype.

    Notes
    -----
    NumPy: ``numpy.block``.

    Examples
    --------
    >>> dl.block([[dl.eye(2), dl.zeros((2, 1))], [dl.ones((1, 3))]]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """
    depth = _depth(arrays)
    ndim = max(depth, _most_dimensions(arrays))
    return _joined(arrays, ndim, ndim - depth)


def _depth(blocks):
    """The number of lists around each block."""
    if not isinstance(blocks, list):
        return 0
    depths = {_depth(one) for one in blocks}
    if len(depths) != 1:
        raise ValueError(f"block: lists must not be empty and be equally deep, got a list with depths {sorted(depths)}")
    return depths.pop() + 1


def _most_dimensions(blocks):
    return max(map(_most_dimensions, blocks)) if isinstance(blocks, list) else asarray(blocks).ndim


def _joined(blocks, ndim, axis):
    """Join a list along `axis`, and the lists in it along those after it."""
    if isinstance(blocks, list):
        return concat([_joined(one, ndim, axis + 1) for one in blocks], axis=axis)
    x = asarray(blocks)
    return reshape(x, (1,) * (ndim - x.ndim) + x.shape).copy()


def append(x, values, /, axis=None):
    """Join values to the end of an array: a copy.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
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
    TypeError
        An argument is not a tensor, or there is no common dtype.
    ValueError
        The shapes do not fit.
    IndexError
        `axis` is out of range.

    Notes
    -----
    NumPy: ``numpy.append``.

    Examples
    --------
    >>> dl.append([1, 2], [[3], [4]]).tolist()
    [1, 2, 3, 4]
    """
    return concat((asarray(x), asarray(values)), axis=axis)


def _positions(at, size, func):
    """Non-negative positions of an index, a sequence or a mask, on the host; a slice becomes the positions in it."""
    if isinstance(at, slice):
        return list(range(*at.indices(size)))
    at = asarray(at)
    if at.dtype.name == "bool":
        return nonzero(at)[0].tolist()
    found = [integer_of(one, "an index", func) for one in reshape(at, (-1,)).tolist()]
    for one in found:
        if not -size <= one < size + (func == "insert"):
            raise IndexError(f"{func}: index {one} is out of range for axis of size {size}")
    return [one + size if one < 0 else one for one in found]


def _line_of(x, axis, func):
    """The tensor and the dimension of an operation along one, or its elements in C order without one."""
    x = asarray(x)
    if axis is None:
        return reshape(x, (-1,)), 0
    return x, axis_of(axis, x.ndim, func)


def delete(x, at, /, axis=None):
    """Return a copy without the elements at positions along an axis.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    at : int, slice or sequence of int
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

    Notes
    -----
    NumPy: ``numpy.delete``.

    Examples
    --------
    >>> dl.delete([1, 2, 3, 4], [0, -1]).tolist()
    [2, 3]
    """
    x, along = _line_of(x, axis, "delete")
    gone = set(_positions(at, x.shape[along], "delete"))
    kept = [one for one in range(x.shape[along]) if one not in gone]
    return x[(slice(None),) * along + (asarray(kept, dtype="int64"),)]


def insert(x, at, values, /, axis=None):
    """Return a copy with values inserted before positions along an axis.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    at : int, slice or sequence of int
        Positions in `x`.
    values : array_like or number
        Broadcast to the shape of what is inserted, and converted to the dtype of `x`.
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
    ValueError
        `values` do not broadcast.

    Notes
    -----
    NumPy: ``numpy.insert``.

    Examples
    --------
    >>> dl.insert([1, 2, 3], 1, 9).tolist()
    [1, 9, 2, 3]
    """
    x, along = _line_of(x, axis, "insert")
    size, values = x.shape[along], asarray(values)
    before = _positions(at, size, "insert")
    if len(before) == 1:  # all values go there
        values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape)
        if not isinstance(at, slice) and asarray(at).ndim == 0:
            values = moveaxis(values, 0, along)
        before = before * values.shape[along]
    order = sorted(range(len(before)), key=before.__getitem__)
    places = [0] * len(before)
    for shift, one in enumerate(order):
        places[one] = before[one] + shift
    shape = (*x.shape[:along], size + len(before), *x.shape[along + 1 :])
    result = zeros(shape, dtype=x.dtype, device=x.device)
    head, taken = (slice(None),) * along, set(places)
    rest = [one for one in range(shape[along]) if one not in taken]
    result[(*head, asarray(rest, dtype="int64"))] = x
    result[(*head, asarray(places, dtype="int64"))] = values
    return result


# -- splitting --------------------------------------------------------------------------------------------------------


def _parts(x, ends, axis):
    """Views of the parts of a dimension that end at `ends` and at its own end."""
    starts, head = [0, *ends], (slice(None),) * axis
    return [x[(*head, slice(start, end))] for start, end in zip(starts, [*ends, x.shape[axis]], strict=True)]


def _split(x, sections, axis, equal, func):
    x = asarray(x)
    axis = axis_of(axis, x.ndim, func)
    size, places = x.shape[axis], sequence_of(sections, "sections", func)
    if places is not None:
        return _parts(x, [integer_of(one, "a position", func) for one in places], axis)
    count = integer_of(sections, "sections", func)
    if count < 1 or (equal and size % count):
        raise ValueError(f"{func}: axis {axis} of {size} elements has no {count} equal parts; use array_split")
    small, more = divmod(size, count)
    ends = [small * (one + 1) + min(one + 1, more) for one in range(count - 1)]
    return _parts(x, ends, axis)


def split(x, sections, /, axis=0):
    """Split along an axis: in a number of equal parts, or at positions.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    sections : int or sequence of int
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
        The extent cannot be divided in so many equal parts.
    IndexError
        `axis` is out of range.

    Notes
    -----
    NumPy: ``numpy.split``.

    Examples
    --------
    >>> [part.tolist() for part in dl.split(dl.arange(6), 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    return _split(x, sections, axis, True, "split")


def array_split(x, sections, /, axis=0):
    """Split along an axis: in a number of parts of nearly equal size, or at positions.

    Parameters
    ----------
    {split: x}
    sections : int or sequence of int
        Number of parts, the first of which are longer by one where they cannot be equal, or the positions at which
        parts after the first begin.
    {split: axis}

    {split: Returns}

    Raises
    ------
    {split: TypeError}
    ValueError
        The number of parts is less than 1.
    {split: IndexError}

    Notes
    -----
    NumPy: ``numpy.array_split``. PyTorch: ``torch.tensor_split``.

    Examples
    --------
    >>> [part.tolist() for part in dl.array_split(dl.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    return _split(x, sections, axis, False, "array_split")


def vsplit(x, sections, /):
    """Split along the first dimension, as `split` does.

    Parameters
    ----------
    {split: x, sections}

    {split: Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.vsplit``. PyTorch: ``torch.vsplit``.

    Examples
    --------
    >>> [part.tolist() for part in dl.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _split(x, sections, 0, True, "vsplit")


def hsplit(x, sections, /):
    """Split along the second dimension, or vectors along their one, as `split` does.

    Parameters
    ----------
    {split: x, sections}

    {split: Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.hsplit``. PyTorch: ``torch.hsplit``.

    Examples
    --------
    >>> [part.tolist() for part in dl.hsplit([[1, 2], [3, 4]], 2)]
    [[[1], [3]], [[2], [4]]]
    """
    x = asarray(x)
    return _split(x, sections, 0 if x.ndim == 1 else 1, True, "hsplit")


def dsplit(x, sections, /):
    """Split along the third dimension, as `split` does.

    Parameters
    ----------
    {split: x, sections}

    {split: Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.dsplit``. PyTorch: ``torch.dsplit``.

    Examples
    --------
    >>> [part.shape for part in dl.dsplit(dl.zeros((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _split(x, sections, 2, True, "dsplit")


def chunk(x, chunks, /, axis=0):
    """Split along an axis in at most a number of parts, all but the last of one size.

    Parameters
    ----------
    {split: x}
    chunks : int
        Number of parts; fewer where rounding the size up leaves fewer.
    {split: axis}

    {split: Returns}

    Raises
    ------
    {split: TypeError}
    ValueError
        `chunks` is less than 1.
    {split: IndexError}

    Notes
    -----
    PyTorch: ``torch.chunk``.

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


# -- diagonals and triangles ------------------------------------------------------------------------------------------


def diagonal(x, /, offset=0, axis1=0, axis2=1):
    """Return diagonals of the matrices in two dimensions.

    Parameters
    ----------
    x : array_like
        Tensor of at least two dimensions, or any object that supports DLPack.
    offset : int, default 0
        Columns to the right of the main diagonal; negative below it.
    axis1, axis2 : int, default 0 and 1
        Dimensions of the rows and the columns.

    Returns
    -------
    Tensor
        A view with the other dimensions and, last, the diagonal. NumPy's is read-only.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a number is not an integer.
    ValueError
        The axes are one dimension.
    IndexError
        An axis is out of range.

    See Also
    --------
    linalg.diagonal : Diagonals of the last two dimensions.

    Notes
    -----
    NumPy: ``numpy.diagonal``. PyTorch: ``torch.diagonal``.

    Examples
    --------
    >>> dl.diagonal(dl.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x, offset = asarray(x), integer_of(offset, "offset", "diagonal")
    rows, columns = axis_of(axis1, x.ndim, "diagonal"), axis_of(axis2, x.ndim, "diagonal")
    if rows == columns:
        raise ValueError(f"diagonal: axis1 and axis2 must be two dimensions, got {axis1} and {axis2}")
    below, right = max(-offset, 0), max(offset, 0)
    count = max(min(x.shape[rows] - below, x.shape[columns] - right), 0)
    rest = [d for d in range(x.ndim) if d not in (rows, columns)]
    start = below * x.strides[rows] + right * x.strides[columns] if count else 0
    shape = (*(x.shape[d] for d in rest), count)
    return strided_view(x, shape, (*(x.strides[d] for d in rest), x.strides[rows] + x.strides[columns]), start)


def diag(x, /, k=0):
    """Return a diagonal of a matrix, or a matrix with a vector as diagonal.

    Parameters
    ----------
    x : array_like
        Matrix or vector; any object that supports DLPack.
    k : int, default 0
        Columns to the right of the main diagonal; negative below it.

    Returns
    -------
    Tensor
        Of the dtype of `x`: a view of the diagonal, or a new matrix.

    Raises
    ------
    TypeError
        `x` is not a tensor, or `k` is not an integer.
    ValueError
        `x` is neither a vector nor a matrix.

    Notes
    -----
    NumPy: ``numpy.diag``. PyTorch: ``torch.diag``.

    Examples
    --------
    >>> dl.diag([1, 2]).tolist(), dl.diag([[1, 2], [3, 4]], 1).tolist()
    ([[1, 0], [0, 2]], [2])
    """
    x, k = asarray(x), integer_of(k, "k", "diag")
    if x.ndim not in (1, 2):
        raise ValueError(f"diag: expected a vector or a matrix, got shape {x.shape}; use diagonal or diagflat")
    if x.ndim == 2:
        return diagonal(x, k)
    size = x.shape[0] + abs(k)
    result = zeros((size, size), dtype=x.dtype, device=x.device)
    diagonal(result, k)[...] = x
    return result


def diagflat(x, /, k=0):
    """Return a matrix with the elements, in C order, as diagonal.

    Parameters
    ----------
    x : array_like
        Tensor of any shape, or any object that supports DLPack.
    {diag: k}

    Returns
    -------
    Tensor
        A new matrix of the dtype of `x`.

    Raises
    ------
    {diag: TypeError}

    Notes
    -----
    NumPy: ``numpy.diagflat``. PyTorch: ``torch.diagflat``.

    Examples
    --------
    >>> dl.diagflat([[1], [2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(reshape(asarray(x), (-1,)), k)


def _below(n, m, k):
    """A mask of a matrix: True at and below a diagonal."""
    return ops.greater_equal(ops.add(arange(n)[:, None], k), arange(m))


def _triangle_size(n, m, k, func):
    n, k = integer_of(n, "n", func), integer_of(k, "k", func)
    return n, n if m is None else integer_of(m, "m", func), k


def tri(n, m=None, k=0, dtype=None):
    """Return a matrix of ones at and below a diagonal, and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns; as many as rows where it is not given.
    k : int, default 0
        Columns to the right of the main diagonal; negative below it.
    dtype : dtype_like, optional
        Dtype of the result, float32 by default.

    Returns
    -------
    Tensor
        Matrix of `n` rows and `m` columns.

    Raises
    ------
    TypeError
        A number is not an integer.
    ValueError
        A number of rows or columns is negative.

    Notes
    -----
    NumPy: ``numpy.tri``.

    Examples
    --------
    >>> dl.tri(2, 3, dtype="int8").tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    n, m, k = _triangle_size(n, m, k, "tri")
    if n < 0 or m < 0:
        raise ValueError(f"tri: numbers of rows and columns must be at least 0, got {n} and {m}")
    return _below(n, m, k).astype("float32" if dtype is None else dtype)


def tril_indices(n, k=0, m=None):
    """Return the indices of the elements at and below a diagonal of a matrix.

    Parameters
    ----------
    n : int
        Number of rows.
    k : int, default 0
        Columns to the right of the main diagonal; negative below it.
    m : int, optional
        Number of columns; as many as rows where it is not given.

    Returns
    -------
    tuple of Tensor
        Rows and columns, int64, in C order: ``x[dl.tril_indices(3)]``.

    Raises
    ------
    TypeError
        A number is not an integer.

    Notes
    -----
    NumPy: ``numpy.tril_indices``.

    Examples
    --------
    >>> [at.tolist() for at in dl.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    n, m, k = _triangle_size(n, m, k, "tril_indices")
    return nonzero(_below(n, m, k))


def triu_indices(n, k=0, m=None):
    """Return the indices of the elements at and above a diagonal of a matrix.

    Parameters
    ----------
    {tril_indices: n, k, m}

    {tril_indices: Returns, Raises}

    Notes
    -----
    NumPy: ``numpy.triu_indices``.

    Examples
    --------
    >>> [at.tolist() for at in dl.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    n, m, k = _triangle_size(n, m, k, "triu_indices")
    return nonzero(ops.logical_not(_below(n, m, k - 1)))


# -- padding and windows ----------------------------------------------------------------------------------------------

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _widths(pad_width, ndim):
    """A pair of numbers of elements for each dimension, of one number, a pair, or pairs."""
    widths = asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"pad: pad_width must be integers, got {widths.dtype}")
    if not (
        widths.ndim <= 2 and (widths.ndim < 2 or widths.shape[0] in (1, ndim)) and widths.shape[-1:] in ((), (1,), (2,))
    ):
        raise ValueError(f"pad: pad_width must be a number, a pair or {ndim} pairs, got shape {widths.shape}")
    if bool(reduce.any(ops.less(widths, 0))):
        raise ValueError(f"pad: pad_width must be at least 0, got {quoted(pad_width)}")
    return broadcast_to(widths, (ndim, 2)).tolist()


def _sources(size, before, after, mode):
    """The positions whose elements a padded dimension has."""
    at = arange(-before, size + after)
    if mode == "edge":
        return ops.clip(at, 0, size - 1)
    if mode == "wrap":
        return ops.remainder(at, size)
    period = 2 * size - 2 if mode == "reflect" else 2 * size
    if period == 0:
        return ops.multiply(at, 0)
    at = ops.remainder(at, period)
    last = period if mode == "reflect" else period - 1
    return ops.minimum(at, ops.subtract(last, at))


def pad(x, pad_width, /, mode="constant", *, constant_values=0):
    """Add elements around an array.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    pad_width : int or sequence of int
        Numbers of elements before and after: one number for all, a pair for all dimensions, or a pair for each.
    mode : {'constant', 'edge', 'reflect', 'symmetric', 'wrap'}, default 'constant'
        Added elements are `constant_values`, the element at the edge, or those of `x` mirrored without and with the one
        at the edge, or from the other end.
    constant_values : array_like or number, default 0
        For 'constant': a number, a pair for all dimensions, or a pair for each.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a width is not an integer.
    ValueError
        There is no such mode, a width is negative, there is not a pair for each dimension, or an empty dimension is
        padded by its own elements.

    Notes
    -----
    NumPy: ``numpy.pad``.

    Examples
    --------
    >>> dl.pad([1, 2, 3], 2).tolist(), dl.pad([1, 2, 3], (2, 1), "reflect").tolist()
    ([0, 0, 1, 2, 3, 0, 0], [3, 2, 1, 2, 3, 2])
    """
    x = asarray(x)
    if mode not in _MODES:
        raise ValueError(f"pad: mode must be one of {', '.join(_MODES)}, got {quoted(mode)}")
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        return _padded(x, widths, constant_values)
    for axis, (before, after) in enumerate(widths):
        if x.shape[axis] == 0 and before + after:
            raise ValueError(f"pad: axis {axis} of shape {x.shape} is empty; pad it with mode='constant'")
        if before + after:
            x = x[(slice(None),) * axis + (_sources(x.shape[axis], before, after, mode).to(x.device),)]
    return x.copy()


def _padded(x, widths, values):
    """A copy with numbers around it; those of later dimensions fill the corners."""
    shape = tuple(before + size + after for size, (before, after) in zip(x.shape, widths, strict=True))
    result = zeros(shape, dtype=x.dtype, device=x.device)
    values = broadcast_to(asarray(values), (x.ndim, 2)) if x.ndim else None
    for axis, (before, after) in enumerate(widths):
        head = (slice(None),) * axis
        if before:
            result[(*head, slice(None, before))] = values[axis, 0].item()
        if after:
            result[(*head, slice(shape[axis] - after, None))] = values[axis, 1].item()
    result[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, widths, strict=True))] = x
    return result


def as_strided(x, /, shape=None, strides=None, *, offset=0, writeable=True):
    """Return a view with any shape and strides inside the elements of a tensor.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    shape : int or sequence of int, optional
        Shape of the view, that of `x` by default.
    strides : sequence of int, optional
        Strides of the view in elements, as in PyTorch; NumPy counts bytes. Those of `x` by default.
    offset : int, default 0
        Elements from the first one of `x` to the first one of the view.
    writeable : bool, default True
        Whether the view may be written to; one that repeats elements never.

    Returns
    -------
    Tensor
        A view.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a number is not an integer.
    ValueError
        The view would leave the elements of `x`, or `shape` and `strides` differ in length.

    See Also
    --------
    sliding_window_view : Views of all windows of a shape.

    Notes
    -----
    NumPy: ``numpy.lib.stride_tricks.as_strided``. PyTorch: ``torch.as_strided``.

    Examples
    --------
    >>> dl.as_strided(dl.arange(5), (3, 2), (1, 1)).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    x = asarray(x)
    shape = x.shape if shape is None else shape
    strides = x.strides if strides is None else strides
    return strided_view(x, shape, strides, integer_of(offset, "offset", "as_strided"), not writeable)


def sliding_window_view(x, window_shape, /, axis=None, *, writeable=False):
    """Return a view of all windows of a shape.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    window_shape : int or sequence of int
        Extents of a window along each dimension of `axis`.
    axis : int or sequence of int, optional
        Dimensions that windows slide along; None means all of them.
    writeable : bool, default False
        Whether the view may be written to.

    Returns
    -------
    Tensor
        A view: the positions of windows, then the dimensions of a window.

    Raises
    ------
    TypeError
        `x` is not a tensor, or a number is not an integer.
    ValueError
        A window is larger than `x`, or there is not an extent for each dimension.
    IndexError
        `axis` is out of range.

    See Also
    --------
    as_strided : Views of any strides.

    Notes
    -----
    NumPy: ``numpy.lib.stride_tricks.sliding_window_view``. PyTorch: ``Tensor.unfold``.

    Examples
    --------
    >>> dl.sliding_window_view(dl.arange(5), 3).tolist()
    [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    x, func = asarray(x), "sliding_window_view"
    sizes = sequence_of(window_shape, "window_shape", func)
    sizes = [integer_of(one, "an extent", func) for one in ([window_shape] if sizes is None else sizes)]
    axes = list(range(x.ndim)) if axis is None else [axis_of(one, x.ndim, func) for one in _several(axis, func)]
    if len(sizes) != len(axes):
        raise ValueError(f"{func}: expected {len(axes)} extents of a window, got {len(sizes)}")
    shape = list(x.shape)
    for along, size in zip(axes, sizes, strict=True):
        shape[along] -= size - 1
        if size < 0 or shape[along] < 0 or (size and shape[along] < 1):
            raise ValueError(f"{func}: a window of shape {tuple(sizes)} does not fit into shape {x.shape}")
    strides = (*x.strides, *(x.strides[along] for along in axes))
    return strided_view(x, (*shape, *sizes), strides, 0, not writeable)


def _several(axis, func):
    items = sequence_of(axis, "axis", func)
    return [axis] if items is None else items


def trim_zeros(x, /, trim="fb"):
    """Return a vector without the zeros at its ends.

    Parameters
    ----------
    x : array_like
        Vector; any object that supports DLPack.
    trim : str, default 'fb'
        Ends: 'f' for the front, 'b' for the back, in either case.

    Returns
    -------
    Tensor
        A view.

    Raises
    ------
    TypeError
        `x` is not a tensor.
    ValueError
        `x` is not a vector, or `trim` has another letter.

    Notes
    -----
    NumPy: ``numpy.trim_zeros``.

    Examples
    --------
    >>> dl.trim_zeros([0, 0, 1, 0, 2, 0]).tolist()
    [1, 0, 2]
    """
    x, ends = asarray(x), str(trim).lower()
    if x.ndim != 1 or not set(ends) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: expected a vector and 'f' or 'b', got shape {x.shape} and {quoted(trim)}")
    at = nonzero(x)[0]
    first, last = (at[0].item(), at[-1].item() + 1) if at.size else (x.size, 0)
    return x[first if "f" in ends else 0 : last if "b" in ends else x.size]


# -- indices ----------------------------------------------------------------------------------------------------------


def argwhere(x, /):
    """Return the indices of elements that differ from 0, one row each, in C order.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.

    Returns
    -------
    Tensor
        int64, a row for each element with an index for each dimension.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype has no arithmetic.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    See Also
    --------
    nonzero : The same as one tensor for each dimension.

    Notes
    -----
    NumPy: ``numpy.argwhere``. PyTorch: ``torch.argwhere``, ``torch.nonzero``.

    Examples
    --------
    >>> dl.argwhere([[0, 5], [7, 0]]).tolist()
    [[0, 1], [1, 0]]
    """
    x = asarray(x)
    if x.ndim == 0:
        return zeros((int(bool(x)), 0), dtype="int64")
    return concat([expand_dims(at, 1) for at in nonzero(x)], axis=1)


def flatnonzero(x, /):
    """Return the positions in C order of elements that differ from 0.

    Parameters
    ----------
    {argwhere: x}

    Returns
    -------
    Tensor
        int64, of one dimension.

    {argwhere: Raises}

    Notes
    -----
    NumPy: ``numpy.flatnonzero``.

    Examples
    --------
    >>> dl.flatnonzero([[0, 5], [7, 0]]).tolist()
    [1, 2]
    """
    return nonzero(reshape(asarray(x), (-1,)))[0]


def ix_(*indices):
    """Return indices that select the rows and columns, and so on, at all combinations of positions.

    Parameters
    ----------
    *indices : array_like of int or bool
        Positions or a mask for each dimension.

    Returns
    -------
    tuple of Tensor
        Indices that broadcast to one another.

    Raises
    ------
    TypeError
        An argument is not a tensor.
    ValueError
        An argument has not one dimension.

    Notes
    -----
    NumPy: ``numpy.ix_``.

    Examples
    --------
    >>> dl.reshape(dl.arange(9), (3, 3))[dl.ix_([0, 2], [1, 2])].tolist()
    [[1, 2], [7, 8]]
    """
    found = []
    for axis, at in enumerate(map(asarray, indices)):
        if at.ndim != 1:
            raise ValueError(f"ix_: expected one dimension in each argument, got shape {at.shape}")
        at = nonzero(at)[0] if at.dtype.name == "bool" else at.astype("int64") if at.size == 0 else at
        found.append(reshape(at, (1,) * axis + (-1,) + (1,) * (len(indices) - axis - 1)))
    return tuple(found)


def _shape_of(shape, func):
    items = sequence_of(shape, "shape", func)
    return [integer_of(one, "an extent", func) for one in ([shape] if items is None else items)]


def unravel_index(indices, shape):
    """Return the index along each dimension of positions in C order.

    Parameters
    ----------
    indices : array_like of int
        Positions from 0 to the number of elements less 1.
    shape : int or sequence of int
        The shape that is indexed.

    Returns
    -------
    tuple of Tensor
        int64, one for each dimension, of the shape of `indices`.

    Raises
    ------
    TypeError
        `indices` are not integers.
    ValueError
        A position is out of range.

    Notes
    -----
    NumPy: ``numpy.unravel_index``. PyTorch: ``torch.unravel_index``.

    Examples
    --------
    >>> [at.item() for at in dl.unravel_index(5, (2, 3))]
    [1, 2]
    """
    at, extents = asarray(indices), _shape_of(shape, "unravel_index")
    if at.dtype.kind not in "iu":
        raise TypeError(f"unravel_index: indices must be integers, got {at.dtype}")
    at = at.astype("int64")
    if bool(reduce.any(ops.logical_or(ops.less(at, 0), ops.greater_equal(at, prod(extents))))):
        raise ValueError(f"unravel_index: an index is outside of shape {tuple(extents)} of {prod(extents)} elements")
    found = []
    for extent in reversed(extents):
        found.insert(0, ops.remainder(at, extent))
        at = ops.floor_divide(at, extent)
    return tuple(found)


def ravel_multi_index(indices, shape):
    """Return the positions in C order of elements by their index along each dimension.

    Parameters
    ----------
    indices : sequence of array_like of int
        Indices along each dimension, which broadcast.
    shape : int or sequence of int
        The shape that is indexed.

    Returns
    -------
    Tensor
        int64.

    Raises
    ------
    TypeError
        `indices` are not integers.
    ValueError
        An index is out of range, or there is not one for each dimension.

    Notes
    -----
    NumPy: ``numpy.ravel_multi_index``.

    Examples
    --------
    >>> dl.ravel_multi_index(([0, 1], [2, 2]), (2, 3)).tolist()
    [2, 5]
    """
    extents, func = _shape_of(shape, "ravel_multi_index"), "ravel_multi_index"
    parts = [asarray(one) for one in _several(indices, func)]
    if len(parts) != len(extents):
        raise ValueError(f"{func}: expected an index for each of {len(extents)} dimensions, got {len(parts)}")
    result = asarray(0)
    for axis, (at, extent) in enumerate(zip(parts, extents, strict=True)):
        if at.dtype.kind not in "iu":
            raise TypeError(f"{func}: indices must be integers, got {at.dtype}")
        at = at.astype("int64")
        if bool(reduce.any(ops.logical_or(ops.less(at, 0), ops.greater_equal(at, extent)))):
            raise ValueError(f"{func}: an index of axis {axis} is outside of its {extent} elements")
        result = ops.add(ops.multiply(result, extent), at)
    return result


def frombuffer(buffer, /, dtype=None, count=-1, offset=0):
    """Return a tensor over the bytes of an object with the buffer protocol, without a copy.

    Parameters
    ----------
    buffer : object
        Contiguous memory: bytes, bytearray, memoryview, mmap and the like.
    dtype : dtype_like, optional
        Dtype of the elements; float32 by default.
    count : int, default -1
        Number of elements; -1 takes all.
    offset : int, default 0
        Bytes before the first element.

    Returns
    -------
    Tensor
        A view of one dimension, read-only if the buffer is.

    Raises
    ------
    TypeError
        `buffer` has no buffer protocol, or a number is not an integer.
    ValueError
        The bytes are fewer than asked for, or no whole elements.

    Notes
    -----
    NumPy: ``numpy.frombuffer``, where float64 is the default. PyTorch: ``torch.frombuffer``.

    Examples
    --------
    >>> dl.frombuffer(bytes([1, 0, 2, 0]), "int16").tolist()
    [1, 2]
    """
    try:
        raw = asarray(memoryview(buffer).cast("B"))
    except TypeError:
        raise TypeError(
            f"frombuffer: expected an object with contiguous memory, got {type(buffer).__qualname__}"
        ) from None
    dtype = as_dtype("float32" if dtype is None else dtype, "frombuffer")
    count, offset = integer_of(count, "count", "frombuffer"), integer_of(offset, "offset", "frombuffer")
    size = raw.size - offset if count < 0 else count * dtype.itemsize
    if not 0 <= offset <= raw.size or size > raw.size - offset or size % dtype.itemsize:
        raise ValueError(
            f"frombuffer: {raw.size} bytes from byte {offset} do not hold "
            f"{'whole' if count < 0 else count} elements of {dtype}"
        )
    return raw[offset : offset + size].view(dtype)
