# SPDX-License-Identifier: Apache-2.0
"""Distinct elements, sets of them, orders by several keys and bins, as in NumPy: composed of sorts. No loops here."""

from math import prod

from .._core.convert import asarray, asarrays
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from . import elementwise as ops
from . import reduce
from .casting import astype
from .creation import arange, full, zeros
from .dtypes import isdtype
from .manipulation import concat, flip, moveaxis, reshape
from .promotion import result_type
from .scan import cumsum
from .search import searchsorted
from .sets import isin
from .sort import argsort, sort
from .take import nonzero, take_along_axis

__all__ = [
    "argpartition", "digitize", "intersect1d", "lexsort", "partition", "setdiff1d", "setxor1d", "union1d", "unique",
]  # fmt: skip


def unique(x, /, return_index=False, return_inverse=False, return_counts=False, axis=None, *, sorted=True):
    """Return the distinct elements, in ascending order, and where they are.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, of bool, integer or float dtype.
    return_index : bool, default False
        Return the position of the first occurrence of each, too.
    return_inverse : bool, default False
        Return the position in the result of each element, too.
    return_counts : bool, default False
        Return the number of occurrences of each, too.
    axis : int, optional
        Return the distinct slices along this dimension. None takes elements.
    sorted : bool, default True
        Accepted and not needed: elements are always sorted.

    Returns
    -------
    Tensor or tuple of Tensor
        The elements; a tuple of them and of what was asked for, int64. NaNs are one element.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype has no order.
    IndexError
        `axis` is out of range.

    {See Also: unique_all}

    {Notes: NumPy: ``numpy.unique``. PyTorch: ``torch.unique``, where ``dim`` is `axis`.}

    Examples
    --------
    >>> dl.unique([3, 1, 3]).tolist()
    [1, 3]
    """
    x = asarray(x)
    if axis is None:
        rows = reshape(x, (-1, 1))
    else:
        axis = axis_of(axis, x.ndim, "unique")
        rows = moveaxis(x, axis, 0)
        rows = reshape(rows, (rows.shape[0], prod(rows.shape[1:])))
    order = _row_order(rows)
    ranked = rows[order]
    new = _is_new(ranked)
    starts = nonzero(new)[0]
    firsts = order[starts]
    values = x.take(firsts, axis) if axis is not None else reshape(x, (-1,))[firsts]
    found = [values]
    if return_index:
        found.append(firsts)
    if return_inverse:
        inverse = zeros(order.shape, dtype="int64", device=order.device)
        inverse[order] = ops.subtract(cumsum(new), 1)
        found.append(reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        ends = concat((starts[1:], asarray([rows.shape[0]], dtype="int64").to(starts.device)))
        found.append(ops.subtract(ends[: starts.size], starts))
    return found[0] if len(found) == 1 else tuple(found)


def _row_order(rows):
    """A stable order of rows, by their first elements, then by the second ones, and so on."""
    order = arange(rows.shape[0]).to(rows.device)
    for column in range(rows.shape[1] - 1, -1, -1):
        order = order[argsort(rows[:, column][order])]
    return order


def _is_new(rows):
    """A mask of the rows that differ from the one before; NaNs are equal."""
    first = full((min(rows.shape[0], 1),), True, dtype="bool", device=rows.device)
    differ = ops.not_equal(rows[1:], rows[:-1])
    if isdtype(rows.dtype, "real floating"):
        differ = ops.logical_and(differ, ops.logical_not(ops.logical_and(ops.isnan(rows[1:]), ops.isnan(rows[:-1]))))
    return concat((first, reduce.any(differ, axis=1)))


def _two_sets(x1, x2):
    return unique(x1), unique(x2)


def intersect1d(x1, x2, /, assume_unique=False, *, return_indices=False):
    """Return the distinct elements that are in both of two sets, in ascending order.

    Parameters
    ----------
    x1, x2 : array_like
        Tensors of any shape, or objects that support DLPack, of bool, integer or float dtype.
    assume_unique : bool, default False
        Accepted and not needed: elements may occur several times.
    return_indices : bool, default False
        Return the positions of the first occurrences in `x1` and in `x2`, too.

    Returns
    -------
    Tensor or tuple of Tensor
        Of the promoted dtype, of one dimension; a tuple of it and of two tensors of int64.

    Raises
    ------
    TypeError
        An argument is not a tensor, or there is no common dtype.

    Examples
    --------
    >>> dl.intersect1d([3, 1, 2], [2, 3, 5]).tolist()
    [2, 3]
    """
    if not return_indices:
        first, second = _two_sets(x1, x2)
        return astype(first[isin(first, second)], result_type(first, second), copy=False)
    (first, at1), (second, at2) = (unique(x, return_index=True) for x in (x1, x2))
    both = isin(first, second)
    return astype(first[both], result_type(first, second), copy=False), at1[both], at2[isin(second, first)]


def union1d(x1, x2, /):
    """Return the distinct elements that are in one of two sets, in ascending order.

    {intersect1d: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.union1d([3, 1], [2, 3]).tolist()
    [1, 2, 3]
    """
    return unique(concat(asarrays(x1, x2), axis=None))


def setdiff1d(x1, x2, /):
    """Return the distinct elements of the first set that are not in the second, in ascending order.

    Returns
    -------
    Tensor
        Of the dtype of `x1`, of one dimension.

    {intersect1d: Parameters, Raises}

    Examples
    --------
    >>> dl.setdiff1d([3, 1, 2], [2]).tolist()
    [1, 3]
    """
    first = unique(x1)
    return first[isin(first, x2, invert=True)]


def setxor1d(x1, x2, /):
    """Return the distinct elements that are in one of two sets and not in both, in ascending order.

    {intersect1d: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.setxor1d([3, 1], [2, 3]).tolist()
    [1, 2]
    """
    first, second = _two_sets(x1, x2)
    return sort(concat((first[isin(first, second, invert=True)], second[isin(second, first, invert=True)])))


def lexsort(keys, /, axis=-1):
    """Return the indices that sort by several keys, the last of which counts most.

    Parameters
    ----------
    keys : sequence of array_like
        Keys of one shape, or a tensor whose rows are keys.
    axis : int, default -1
        Axis to sort along.

    Returns
    -------
    Tensor
        Indices along `axis`, int64.

    Raises
    ------
    TypeError
        There is no key, or a dtype has no order.
    {unique: IndexError}

    Examples
    --------
    >>> dl.lexsort(([2, 1, 3], [0, 1, 0])).tolist()
    [0, 2, 1]
    """
    items = sequence_of(keys, "keys", "lexsort")
    items = [asarray(key) for key in (asarray(keys) if items is None else items)]
    if not items:
        raise TypeError("lexsort: expected at least one key, got none")
    order = argsort(items[0], axis=axis)
    for key in items[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis=axis), axis=axis), axis=axis)
    return order


def partition(x, /, kth, axis=-1, kind=None):
    """Return the elements along an axis so that those at places are where sorting puts them: all are sorted.

    Parameters
    ----------
    {unique: x}
    kth : int or sequence of int
        Places, which sorting all elements satisfies.
    {sort.sort: axis}
    kind : str, optional
        The name of NumPy's algorithm, "introselect", accepted and not needed.

    Returns
    -------
    Tensor
        Of the dtype and, unless `axis` is None, the shape of `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype has no order, or a place is not an integer.
    ValueError
        A place is out of range, or `kind` is another name.
    {unique: IndexError}

    Examples
    --------
    >>> dl.partition([3, 1, 2], 1).tolist()
    [1, 2, 3]
    """
    return sort(_checked_places(x, kth, axis, kind, "partition"), axis=axis)


def argpartition(x, /, kth, axis=-1, kind=None):
    """Return the indices of `partition`: those of all elements in order.

    Returns
    -------
    Tensor
        Indices along `axis`, int64.

    {partition: Parameters, Raises}

    Examples
    --------
    >>> dl.argpartition([3, 1, 2], 1).tolist()
    [1, 2, 0]
    """
    return argsort(_checked_places(x, kth, axis, kind, "argpartition"), axis=axis)


def _checked_places(x, kth, axis, kind, func):
    if kind is not None and kind != "introselect":
        raise ValueError(f"{func}: kind must be 'introselect', got {quoted(kind)}")
    x, places = asarray(x), sequence_of(kth, "kth", func)
    size = x.size if axis is None else x.shape[axis_of(axis, x.ndim, func)]
    for place in [kth] if places is None else places:
        if not -size <= integer_of(place, "kth", func) < size and x.size:  # in no element every place is one
            raise ValueError(f"{func}: kth must be a place of {size} elements, got {place}")
    return x


def ascends(edges):
    """Test whether edges of bins ascend, with NaN as the greatest number, as in sorts."""
    below, above = edges[:-1], edges[1:]
    falls = ops.less(above, below)
    if isdtype(edges.dtype, "real floating"):
        falls = ops.logical_or(falls, ops.logical_and(ops.isnan(below), ops.logical_not(ops.isnan(above))))
    return not bool(reduce.any(falls))


def digitize(x, /, bins, right=False):
    """Return the number of the bin of each element.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers, floats.
    bins : array_like
        Edges, which ascend or descend.
    right : bool, default False
        Whether bins hold their upper edge instead of the lower one.

    Returns
    -------
    Tensor
        int64, of the shape of `x`: 0 below the first edge.

    Raises
    ------
    TypeError
        An argument is not a tensor, or its dtype has no order.
    ValueError
        `bins` has not one dimension, or neither ascends nor descends.

    {Notes: NumPy: ``numpy.digitize``. PyTorch: ``torch.bucketize``.}

    Examples
    --------
    >>> dl.digitize([0.5, 1.0, 9.0], [1.0, 2.0]).tolist()
    [0, 1, 2]
    """
    bins, x = asarrays(bins, x, numbers=False)
    bins = asarray(bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must have one dimension, got shape {bins.shape}")
    side = "left" if right else "right"
    if ascends(bins):
        return searchsorted(bins, x, side)
    if not ascends(flip(bins)):
        raise ValueError("digitize: bins must ascend or descend; sort() them")
    return ops.subtract(bins.size, searchsorted(flip(bins), x, side))
