# SPDX-License-Identifier: Apache-2.0
"""Reductions that leave NaN out, and differences of neighbours: composed of reductions and element-wise functions."""

from .._core.convert import asarray, asarrays
from .._core.indexing import axes_of, axis_of, integer_of
from .._core.types import DTYPES
from .._core.views import on_host
from . import elementwise as ops
from . import reduce
from .arguments import written
from .casting import where
from .dtypes import isdtype
from .manipulation import broadcast_to, concat
from .promotion import common_dtype, result_type

__all__ = ["diff", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar"]

_BOOL = DTYPES["bool"]
_AFTER = slice(1, None)
_BEFORE = slice(None, -1)


def _not_nan(x):
    """A mask of the elements that are not NaN; None for dtypes without NaN."""
    return ops.equal(x, x) if isdtype(x.dtype, ("real floating", "complex floating")) else None


def nansum(x, /, axis=None, *, dtype=None, keepdims=False, out=None):
    """Add the elements that are not NaN, exactly, and round once.

    Where every element is NaN, the result is 0.

    Parameters
    ----------
    {statistics.average: x}
    dtype : dtype_like, optional
        Dtype of the result; as for `sum`.

    Returns
    -------
    Tensor
        Of the dtype of `x`; of bool and integers int64 or uint64. `out`, when it is given.

    {statistics.logsumexp: Parameters, Raises}

    {See Also: sum}

    Examples
    --------
    >>> dl.nansum(dl.asarray([1.0, dl.nan, 2.0]))
    Tensor(3., shape=(), device=cpu, dtype=float32)
    """
    x = asarray(x)
    return reduce.sum(x, axis=axis, dtype=dtype, keepdims=keepdims, out=out, where=_not_nan(x))


def nanmean(x, /, axis=None, *, keepdims=False, out=None, dtype=None):
    """Take the mean of the elements that are not NaN, exactly, and round once.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    {nansum: x, axis, keepdims, out}
    dtype : dtype_like, optional
        Float dtype of the result, which is rounded to it once.

    Returns
    -------
    Tensor
        Of the dtype of `x`; float64 of integers of 32 and 64 bits, `get_default_dtype` of narrower ones and bool.
        `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype is not supported, or `dtype` is not a float dtype.
    {nansum: IndexError, ValueError, DeviceError}

    {See Also: mean}

    Examples
    --------
    >>> dl.nanmean(dl.asarray([1.0, dl.nan, 2.0]))
    Tensor(1.5, shape=(), device=cpu, dtype=float32)
    """
    x = asarray(x)
    return reduce.mean(x, axis=axis, keepdims=keepdims, out=out, dtype=dtype, where=_not_nan(x))


def nanvar(x, /, axis=None, *, correction=0.0, keepdims=False, out=None, dtype=None):
    """Take the variance of the elements that are not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    correction : float, default 0.0
        The divisor is the number of elements that are not NaN, less `correction`.

    Returns
    -------
    Tensor
        Of the dtype of `x`; of complex elements its real dtype, float64 of integers of 32 and 64 bits,
        `get_default_dtype` of narrower ones and bool. `out`, when it is given.

    {nanmean: Parameters, Raises}

    {See Also: var}

    Examples
    --------
    >>> dl.nanvar(dl.asarray([1.0, dl.nan, 3.0]))
    Tensor(1., shape=(), device=cpu, dtype=float32)
    """
    return _spread(reduce.var, x, axis, correction, keepdims, out, dtype)


def nanstd(x, /, axis=None, *, correction=0.0, keepdims=False, out=None, dtype=None):
    """Take the standard deviation of the elements that are not NaN.

    Where every element is NaN, the result is NaN.

    {nanvar: Parameters, Returns, Raises}

    {See Also: std}

    Examples
    --------
    >>> dl.nanstd(dl.asarray([1.0, dl.nan, 3.0]))
    Tensor(1., shape=(), device=cpu, dtype=float32)
    """
    return _spread(reduce.std, x, axis, correction, keepdims, out, dtype)


def _spread(reduction, x, axis, correction, keepdims, out, dtype):
    x = asarray(x)
    return reduction(x, axis=axis, correction=correction, keepdims=keepdims, out=out, dtype=dtype, where=_not_nan(x))


def nanmax(x, /, axis=None, *, keepdims=False, out=None):
    """Take the greatest element that is not NaN.

    Where every element is NaN, the result is NaN.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats.

    {statistics.ptp: Parameters, Returns, Raises}

    {See Also: max}

    Examples
    --------
    >>> dl.nanmax(dl.asarray([1.0, dl.nan, 2.0]))
    Tensor(2., shape=(), device=cpu, dtype=float32)
    """
    return _extreme(reduce.max, -float("inf"), asarray(x), axis, keepdims, out)


def nanmin(x, /, axis=None, *, keepdims=False, out=None):
    """Take the least element that is not NaN.

    Where every element is NaN, the result is NaN.

    {nanmax: Parameters, Returns, Raises}

    {See Also: min}

    Examples
    --------
    >>> dl.nanmin(dl.asarray([1.0, dl.nan, 2.0]))
    Tensor(1., shape=(), device=cpu, dtype=float32)
    """
    return _extreme(reduce.min, float("inf"), asarray(x), axis, keepdims, out)


def _extreme(reduction, initial, x, axis, keepdims, out):
    """The greatest or least element that is not NaN; `initial` is the infinity that no element lies beyond."""
    # Read once: what they say may change.
    axis, keepdims = None if axis is None else tuple(axes_of(axis, x.ndim, reduction.__name__)), bool(keepdims)
    if not isdtype(x.dtype, ("real floating", "complex floating")):
        return reduction(x, axis=axis, keepdims=keepdims, out=out)
    # `plain` is NaN where anything is, so also where nothing else is. A device is not waited for.
    plain = reduction(x, axis=axis, keepdims=keepdims)
    if on_host(x) and not reduce.any(ops.isnan(plain)):
        return written(plain, out, reduction.__name__)
    kept = _not_nan(x)
    found = reduction(x, axis=axis, keepdims=keepdims, where=kept, initial=initial)
    result = where(reduce.any(kept, axis=axis, keepdims=keepdims), found, plain)
    return written(result, out, reduction.__name__)


def _joined(part, x, axis):
    """Prepare what `diff` joins to `x`: a number gets the common dtype, and one element is repeated along `x`."""
    if type(part) in (bool, int, float, complex):
        part = asarray(part, dtype=result_type(x, part), device=x.device)
    part = asarrays(x, part)[1]
    return part if part.ndim else broadcast_to(part, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def diff(x, /, n=1, axis=-1, *, prepend=None, append=None):
    """Return the differences between neighbours along an axis, `n` times over.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack. The difference of bools is whether they differ.
    n : int, default 1
        How many times; 0 copies.
    axis : int, default -1
        Dimension along which neighbours are subtracted.
    prepend, append : array_like or number, optional
        Joined to `x` along `axis` first. A number, or a tensor without dimensions, is one element along it.

    Returns
    -------
    Tensor
        Of the dtype of `x`, promoted with those of `prepend` and `append`; `n` elements shorter along `axis`.

    Raises
    ------
    TypeError
        An argument is not a tensor, `axis` or `n` is not an integer, or there is no common dtype.
    {nansum: IndexError}
    ValueError
        `n` is negative, `x` has no dimensions, or the shapes do not fit.

    {Notes: Array API 2025.12: ``diff``, where `n` is passed by keyword; NumPy takes it as the second argument too.}

    Examples
    --------
    >>> dl.diff(dl.asarray([1, 4, 9, 16]))
    Tensor([3, 5, 7], shape=(3,), device=cpu, dtype=int64)
    >>> dl.diff(dl.asarray([1, 4, 9, 16]), n=2)
    Tensor([2, 2], shape=(2,), device=cpu, dtype=int64)
    """
    x, n = asarray(x), integer_of(n, "n", "diff")
    if x.ndim == 0:
        raise ValueError("diff: expected at least one dimension, got a tensor of shape ()")
    if n < 0:
        raise ValueError(f"diff: n must be 0 or more, got {n}")
    axis = axis_of(axis, x.ndim, "diff")
    if prepend is not None or append is not None:
        parts = [_joined(part, x, axis) for part in (prepend, x, append) if part is not None]
        if n > 0:
            dtype = common_dtype("diff", parts)
            x = concat([part.astype(dtype) for part in parts], axis=axis)
    result = x
    minus = ops.bitwise_xor if x.dtype == _BOOL else ops.subtract
    after, before = _AFTER, _BEFORE
    if axis > 0:
        after, before = ((*(slice(None),) * axis, part) for part in (after, before))
    for _ in range(min(n, x.shape[axis])):
        result = minus(result[after], result[before])
    return result.copy() if result is x else result
