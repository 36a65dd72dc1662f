# SPDX-License-Identifier: Apache-2.0
"""Positions of elements: where they differ from 0, and as numbers in C order. No loops here."""

from math import prod

from .._core.convert import asarray
from .._core.indexing import integer_of, sequence_of
from . import elementwise as ops
from . import reduce
from .creation import arange, zeros
from .manipulation import broadcast_arrays, concat, expand_dims, reshape, stack
from .take import nonzero

__all__ = [
    "argwhere", "flatnonzero", "indices", "ix_", "ravel_multi_index", "unravel_index",
]  # fmt: skip


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

    {See Also: nonzero}

    {Notes: NumPy: ``numpy.argwhere``. PyTorch: ``torch.argwhere``, ``torch.nonzero``.}

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

    Returns
    -------
    Tensor
        int64, of one dimension.

    {argwhere: Parameters, Raises}

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
    {unravel_index: shape}

    Returns
    -------
    Tensor
        int64.

    Raises
    ------
    {unravel_index: TypeError}
    ValueError
        An index is out of range, or there is not one for each dimension.

    Examples
    --------
    >>> dl.ravel_multi_index(([0, 1], [2, 2]), (2, 3)).tolist()
    [2, 5]
    """
    extents, func = _shape_of(shape, "ravel_multi_index"), "ravel_multi_index"
    items = sequence_of(indices, "indices", func)
    parts = [asarray(one) for one in ([indices] if items is None else items)]
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


def indices(shape, /, dtype=None, sparse=False):
    """Return the index of each element of a shape, along each dimension.

    Parameters
    ----------
    shape : int or sequence of int
        The shape.
    dtype : dtype_like, optional
        Dtype of the result, int64 by default.
    sparse : bool, default False
        Return a tensor for each dimension, of extent 1 in the others, which broadcast to one another.

    Returns
    -------
    Tensor or tuple of Tensor
        The indices along each dimension, one after another in the first dimension of the result.

    Raises
    ------
    TypeError
        An extent is not an integer.
    ValueError
        An extent is negative.

    Examples
    --------
    >>> dl.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    extents, dtype = _shape_of(shape, "indices"), "int64" if dtype is None else dtype
    if any(extent < 0 for extent in extents):
        raise ValueError(f"indices: extents must be 0 or more, got {tuple(extents)}")
    lines = tuple(
        reshape(arange(extent, dtype=dtype), (1,) * axis + (extent,) + (1,) * (len(extents) - axis - 1))
        for axis, extent in enumerate(extents)
    )
    if sparse:
        return lines
    return stack(broadcast_arrays(*lines)) if lines else zeros((0,), dtype=dtype)
