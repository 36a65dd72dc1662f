# SPDX-License-Identifier: Apache-2.0
"""Reductions that leave NaN out, and differences of neighbours: what reductions and element-wise functions compute."""

from operator import index

from .._core.convert import asarray
from . import elementwise as ops
from . import reductions
from .casting import where
from .dtypes import isdtype
from .manipulation import concat
from .promotion import result_type

__all__ = ["diff", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar"]


def _not_nan(x):
    """A mask of the elements that are not NaN; None for dtypes without NaN."""
    return ops.logical_not(ops.isnan(x)) if isdtype(x.dtype, ("real floating", "complex floating")) else None


def nansum(x, /, *, axis=None, dtype=None, keepdims=False, out=None):
    """Add the elements that are not NaN, exactly, and round once.

    Where every element is NaN, the result is 0.

    Parameters
    ----------
    x : Tensor or any object with DLPack
    axis : int or tuple of int, optional; None means all
    dtype : DType or its name, optional; elements are converted to it first
    keepdims : bool, default False; keep reduced axes with extent 1
    out : Tensor or writable object with DLPack, optional; overwritten and returned

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, or `out` has another shape.

    Examples
    --------
    >>> dl.nansum(dl.asarray([1.0, dl.nan, 2.0])).item()
    3.0
    """
    x = asarray(x)
    return reductions.sum(x, axis=axis, dtype=dtype, keepdims=keepdims, out=out, where=_not_nan(x))


def nanmean(x, /, *, axis=None, keepdims=False, out=None):
    """Take the mean of the elements that are not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    x : Tensor or any object with DLPack
    axis : int or tuple of int, optional; None means all
    keepdims : bool, default False; keep reduced axes with extent 1
    out : Tensor or writable object with DLPack, optional; overwritten and returned

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, or `out` has another shape.

    Examples
    --------
    >>> dl.nanmean(dl.asarray([1.0, dl.nan, 2.0])).item()
    1.5
    """
    x = asarray(x)
    return reductions.mean(x, axis=axis, keepdims=keepdims, out=out, where=_not_nan(x))


def nanvar(x, /, *, axis=None, correction=0.0, keepdims=False, out=None):
    """Take the variance of the elements that are not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    x : Tensor or any object with DLPack
    axis : int or tuple of int, optional; None means all
    correction : float, default 0.0; what the divisor is less than the number of elements
    keepdims : bool, default False; keep reduced axes with extent 1
    out : Tensor or writable object with DLPack, optional; overwritten and returned

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, or `out` has another shape.

    Examples
    --------
    >>> dl.nanvar(dl.asarray([1.0, dl.nan, 3.0])).item()
    1.0
    """
    x = asarray(x)
    return reductions.var(x, axis=axis, correction=correction, keepdims=keepdims, out=out, where=_not_nan(x))


def nanstd(x, /, *, axis=None, correction=0.0, keepdims=False, out=None):
    """Take the standard deviation of the elements that are not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    x : Tensor or any object with DLPack
    axis : int or tuple of int, optional; None means all
    correction : float, default 0.0; what the divisor is less than the number of elements
    keepdims : bool, default False; keep reduced axes with extent 1
    out : Tensor or writable object with DLPack, optional; overwritten and returned

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, or `out` has another shape.

    Examples
    --------
    >>> dl.nanstd(dl.asarray([1.0, dl.nan, 3.0])).item()
    1.0
    """
    x = asarray(x)
    return reductions.std(x, axis=axis, correction=correction, keepdims=keepdims, out=out, where=_not_nan(x))


def nanmax(x, /, *, axis=None, keepdims=False):
    """Take the greatest element that is not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    x : Tensor or any object with DLPack; bool, integers or floats
    axis : int or tuple of int, optional; None means all
    keepdims : bool, default False; keep reduced axes with extent 1

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, or there is no element.

    Examples
    --------
    >>> dl.nanmax(dl.asarray([1.0, dl.nan, 2.0])).item()
    2.0
    """
    x = asarray(x)
    kept = _not_nan(x)
    plain = reductions.max(x, axis=axis, keepdims=keepdims)
    if kept is None:
        return plain
    found = reductions.max(x, axis=axis, keepdims=keepdims, where=kept, initial=-float("inf"))
    # `plain` is NaN where anything is, so also where nothing else is.
    return where(reductions.any(kept, axis=axis, keepdims=keepdims), found, plain)


def nanmin(x, /, *, axis=None, keepdims=False):
    """Take the least element that is not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    x : Tensor or any object with DLPack; bool, integers or floats
    axis : int or tuple of int, optional; None means all
    keepdims : bool, default False; keep reduced axes with extent 1

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, or there is no element.

    Examples
    --------
    >>> dl.nanmin(dl.asarray([1.0, dl.nan, 2.0])).item()
    1.0
    """
    x = asarray(x)
    kept = _not_nan(x)
    plain = reductions.min(x, axis=axis, keepdims=keepdims)
    if kept is None:
        return plain
    found = reductions.min(x, axis=axis, keepdims=keepdims, where=kept, initial=float("inf"))
    # `plain` is NaN where anything is, so also where nothing else is.
    return where(reductions.any(kept, axis=axis, keepdims=keepdims), found, plain)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Return the differences between neighbours along an axis, `n` times over.

    Parameters
    ----------
    x : Tensor or any object with DLPack; of bools the difference is whether neighbours differ
    axis : int, default -1
    n : int, default 1; 0 copies
    prepend, append : Tensor or any object with DLPack, optional
        Joined to `x` along `axis` first.

    Raises
    ------
    IndexError
        There is no such axis.
    ValueError
        `n` is negative, `x` has no dimensions, or the shapes do not fit.

    Source: Python array API standard 2025.12, ``diff``.

    Examples
    --------
    >>> dl.diff(dl.asarray([1, 4, 9, 16])).tolist(), dl.diff(dl.asarray([1, 4, 9, 16]), n=2).tolist()
    ([3, 5, 7], [2, 2])
    """
    x, n, axis = asarray(x), index(n), index(axis)
    if x.ndim == 0:
        raise ValueError("diff: expected at least one dimension, got a tensor of shape ()")
    if n < 0:
        raise ValueError(f"diff: n must be 0 or more, got {n}")
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"diff: axis {axis} is out of range for a tensor of {x.ndim} dimensions")
    parts = [asarray(part) for part in (prepend, append) if part is not None]
    if parts:
        dtype = result_type(x, *parts)
        x = concat([part.astype(dtype) for part in ([asarray(prepend)] if prepend is not None else []) + [x] +
                    ([asarray(append)] if append is not None else [])], axis=axis)  # fmt: skip
    made = x
    before = (slice(None),) * (axis % x.ndim)
    minus = ops.bitwise_xor if isdtype(x.dtype, "bool") else ops.subtract
    for _ in range(min(n, x.shape[axis])):
        made = minus(made[(*before, slice(1, None))], made[(*before, slice(None, -1))])
    return made.copy() if made is x else made
