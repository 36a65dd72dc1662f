# SPDX-License-Identifier: Apache-2.0
"""Reductions that NumPy and SciPy have beyond the array API: ptp, average, logsumexp, softmax. No loops here."""

from math import inf

from .._core.convert import asarray, asarrays
from .._core.indexing import axes_of
from .._core.types import DTYPES, as_dtype
from . import elementwise as ops
from . import reduce
from .arguments import written
from .casting import where
from .dtypes import isdtype
from .fusing import fuse
from .manipulation import broadcast_to, permute_dims, reshape
from .promotion import common_dtype
from .reduce import dtype_of_statistic

__all__ = ["average", "log_softmax", "logsumexp", "ptp", "softmax"]


def _read(x, axis, func):
    """The tensor on the host, and its dimensions to reduce."""
    x = reduce.computable(x, func)
    return x, tuple(range(x.ndim)) if axis is None else tuple(axes_of(axis, x.ndim, func))


_NARROW = {DTYPES[name]: ("float32", DTYPES[name]) for name in ("float16", "bfloat16", "float32")}


def _dtypes_of(x, func):
    """The dtype that functions of exponentials are computed in, and the float dtype of their results."""
    known = _NARROW.get(x.dtype)
    if known is not None:
        return known
    if not isdtype(x.dtype, ("bool", "integral", "real floating")):
        raise TypeError(f"{func}: not defined for {x.dtype}; it takes bool, integers, floats")
    return "float64", dtype_of_statistic(x.dtype, None)


def _finished(result, dtype, out, func):
    """The result in a dtype (None: its own), or `out` after it was written there."""
    if out is None and dtype is None:
        return result
    return written(result if dtype is None else result.astype(dtype, copy=False), out, func)


def ptp(x, /, axis=None, *, keepdims=False, out=None):
    """Return the range of the elements: the greatest less the least.

    Integers wrap. The result is NaN where an element is NaN.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers, floats.
    axis : int or sequence of int, optional
        Dimensions to reduce; None means all of them.
    keepdims : bool, default False
        Keep reduced dimensions, with one element each.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the dtype of `x`. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype is not supported.
    IndexError
        `axis` is out of range.
    ValueError
        `axis` names a dimension twice, there is no element, or `out` has another shape or is read-only.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    {See Also: max, min}

    Examples
    --------
    >>> dl.ptp(dl.asarray([[4, 9], [7, 1]]), axis=1)
    Tensor([5, 6], shape=(2,), device=cpu, dtype=int64)
    """
    (x, axes), keepdims = _read(x, axis, "ptp"), bool(keepdims)
    if not isdtype(x.dtype, ("integral", "real floating")):
        raise TypeError(f"ptp: not defined for {x.dtype}; it takes integers, floats")
    if any(x.shape[k] == 0 for k in axes):
        raise ValueError(
            f"ptp: a tensor of shape {x.shape} has no elements there, and the result of none is not defined"
        )
    most, least = (extreme(x, axis=axes, keepdims=keepdims) for extreme in (reduce.max, reduce.min))
    range_ = ops.subtract(most, least)
    return _finished(range_, x.dtype, out, "ptp")


def weights_of(x, axes, axis, weights, func):
    """Weights that broadcast to `x`: of its shape, or of the extents along the dimensions in `axis`."""
    is_list = isinstance(weights, (list, tuple))
    weights = reduce.computable(asarrays(x, weights)[1], func)
    weights = weights.to(x.device) if is_list else weights
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError(f"{func}: weights have shape {weights.shape} and x has {x.shape}; name the axis of the weights")
    if weights.shape != tuple(x.shape[k] for k in axes):
        raise ValueError(
            f"{func}: weights have shape {weights.shape}; expected {x.shape}, or {tuple(x.shape[k] for k in axes)} "
            f"for axis {axis}"
        )
    weights = permute_dims(weights, sorted(range(len(axes)), key=axes.__getitem__))
    return reshape(weights, [x.shape[k] if k in axes else 1 for k in range(x.ndim)])


def _dtype_of_average(x, weights, dtype):
    """The dtype of a weighted average: `dtype`, or what those of elements and weights lead to."""
    common = common_dtype("average", (x, weights))
    if dtype is None:
        return common if isdtype(common, "complex floating") else dtype_of_statistic(common, None)
    dtype = as_dtype(dtype, "average")
    if not isdtype(dtype, "complex floating") and isdtype(common, "complex floating"):
        raise TypeError(f"average: {common} to {dtype} would drop the imaginary part; take real() first")
    return dtype if isdtype(dtype, "complex floating") else dtype_of_statistic(x.dtype, dtype)


def average(x, /, axis=None, weights=None, *, returned=False, keepdims=False, out=None, dtype=None):
    """Return the weighted average of the elements, or their mean when there are no weights.

    Weighted sums are computed in float64: each product is rounded, and their sum is exact and rounded once.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats, complex.
    {ptp: axis}
    weights : array_like, optional
        Of the shape of `x`, or of its extents along the dimensions in `axis`.
    returned : bool, default False
        Return the sums of the weights, too.
    {ptp: keepdims}
    out : array_like, optional
        Writable tensor of the shape of the average; overwritten and returned.
    dtype : dtype_like, optional
        Float or complex dtype of the result.

    Returns
    -------
    Tensor
        Of the common dtype of `x` and `weights`; float64 when that is an integer one of 32 or 64 bits,
        `get_default_dtype` when it is a narrower one or bool. `out`, when it is given. A tuple of that and the sums of
        the weights, broadcast to its shape, when `returned` is True.

    Raises
    ------
    TypeError
        An argument is not a tensor, its dtype is not supported, or `axis` is missing beside weights of another shape.
    {ptp: IndexError}
    ValueError
        `weights` or `out` has another shape, `out` is read-only, or `axis` names a dimension twice.
    ZeroDivisionError
        Weights sum to 0.
    DeviceError
        A tensor is neither on the host nor on a CUDA device.

    {See Also: mean}

    Examples
    --------
    >>> dl.average(dl.asarray([1.0, 2.0, 4.0]), weights=dl.asarray([1, 1, 2]))
    Tensor(2.75, shape=(), device=cpu, dtype=float32)
    """
    (x, axes), keepdims = _read(x, axis, "average"), bool(keepdims)
    if weights is None:
        result = reduce.mean(x, axis=axes, keepdims=keepdims, dtype=dtype)
        dtype = result.dtype
        count = 1
        for k in axes:
            count *= x.shape[k]
        total = asarray(count).astype(dtype).to(result.device)
    else:
        weights = weights_of(x, axes, axis, weights, "average")
        dtype = _dtype_of_average(x, weights, dtype)
        wide = "complex128" if isdtype(dtype, "complex floating") else "float64"
        weights = broadcast_to(weights.astype(wide), x.shape)
        total = reduce.sum(weights, axis=axes, keepdims=keepdims)
        if reduce.any(ops.equal(total, 0)):
            raise ZeroDivisionError(f"average: weights of shape {weights.shape} sum to 0; expected another sum")
        x = x.astype(wide)
        result = ops.divide(reduce.sum(ops.multiply(x, weights), axis=axes, keepdims=keepdims), total)
        if not reduce.all(ops.isfinite(result)):  # a sum may be beyond float64 where the average is not
            shares = ops.divide(weights, reduce.max(ops.abs(weights), axis=axes, keepdims=True, initial=0.0))
            shares = ops.divide(shares, reduce.sum(shares, axis=axes, keepdims=True))
            again = reduce.sum(ops.multiply(x, shares), axis=axes, keepdims=keepdims)
            result = where(ops.isfinite(result), result, again)
        total = total.astype(dtype)
    shape, result = result.shape, _finished(result, dtype, out, "average")
    return (result, broadcast_to(total, shape).copy()) if returned else result


def logsumexp(x, /, axis=None, *, keepdims=False, out=None):
    """Return the logarithm of the sum of the exponentials of the elements, without overflow.

    Elements of -inf count as 0: of none but them, or of no element, the result is -inf. It is inf where one is inf, and
    NaN where one is NaN.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats.

    Returns
    -------
    Tensor
        Of the dtype of `x`; float64 of integers of 32 and 64 bits, `get_default_dtype` of narrower ones and bool.
        `out`, when it is given.

    Raises
    ------
    ValueError
        `axis` names a dimension twice, or `out` has another shape or is read-only.

    {ptp: Parameters, Raises}

    {See Also: logaddexp}

    Notes
    -----
    SciPy: ``scipy.special.logsumexp``. Computed as ``m + log1p(sum(exp(x - m)) - 1)``, where `m` is the greatest
    element, in float32 for floats of up to 32 bits, else in float64; the sum, less the 1 that `m` adds to it, is exact
    and rounded once.

    Examples
    --------
    >>> dl.logsumexp(dl.asarray([1000.0, 1000.0]))
    Tensor(1000.6932, shape=(), device=cpu, dtype=float32)
    """
    x, axes = _read(x, axis, "logsumexp")
    wide, dtype = _dtypes_of(x, "logsumexp")
    result = _logsumexp(x, axes, wide, x.size == 0)
    if not keepdims:
        result = reshape(result, [result.shape[k] for k in range(x.ndim) if k not in axes])
    return _finished(result, dtype, out, "logsumexp")


def _rest(exponentials, axes):
    """The sum of exponentials less 1, exact and rounded once."""
    return reduce.sum(exponentials, axis=axes, keepdims=True, initial=-1.0)


def _greatest(x, axes, empty):
    return reduce.max(x, axis=axes, keepdims=True, initial=-inf if empty else None)


@fuse
def _logsumexp(x, axes, wide, empty):
    x = x.astype(wide, copy=False)
    greatest = _greatest(x, axes, empty)
    greatest = where(ops.isfinite(greatest), greatest, 0.0)
    rest = _rest(ops.exp(ops.subtract(x, greatest)), axes)
    return ops.add(ops.log1p(rest), greatest)


@fuse
def _softmax(x, axes, wide, empty, dtype):
    x = x.astype(wide, copy=False)
    parts = ops.exp(ops.subtract(x, _greatest(x, axes, empty)))  # NaN where the greatest is not finite
    return ops.divide(parts, reduce.sum(parts, axis=axes, keepdims=True)).astype(dtype, copy=False)


@fuse
def _log_softmax(x, axes, wide, empty, dtype):
    x = x.astype(wide, copy=False)
    less = ops.subtract(x, _greatest(x, axes, empty))
    logarithm = ops.log1p(_rest(ops.exp(less), axes))
    return ops.subtract(less, logarithm).astype(dtype, copy=False)


def softmax(x, /, axis=None, *, out=None):
    """Return the exponentials of the elements, divided by their sum.

    Results along `axis` are NaN where an element is NaN or inf, or where all are -inf.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Dimensions whose elements sum to 1; None means all of them.
    out : array_like, optional
        Writable tensor of the shape of `x`; overwritten and returned.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`; float64 of integers of 32 and 64 bits, `get_default_dtype` of narrower ones and
        bool. `out`, when it is given.

    {logsumexp: Parameters, Raises}

    {See Also: log_softmax}

    Notes
    -----
    SciPy: ``scipy.special.softmax``. Computed in float32 for floats of up to 32 bits, else in float64, with an exact
    sum. The difference d of an element and the greatest is rounded, which is up to ``abs(d)`` units in the last place
    of the result.

    Examples
    --------
    >>> dl.softmax(dl.asarray([5.0, 5.0, -dl.inf]))
    Tensor([0.5, 0.5, 0. ], shape=(3,), device=cpu, dtype=float32)
    """
    x, axes = _read(x, axis, "softmax")
    wide, dtype = _dtypes_of(x, "softmax")
    return _finished(_softmax(x, axes, wide, x.size == 0, dtype), None, out, "softmax")


def log_softmax(x, /, axis=None, *, out=None):
    """Return the logarithm of `softmax`, without underflow.

    Results along `axis` are NaN where an element is NaN or inf, or where all are -inf.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Dimensions whose exponentials sum to 1; None means all of them.

    {softmax: Parameters, Returns, Raises}

    {See Also: softmax}

    {Notes: SciPy: ``scipy.special.log_softmax``. Computed as `logsumexp` is.}

    Examples
    --------
    >>> dl.log_softmax(dl.asarray([1000.0, 0.0]))
    Tensor([    0., -1000.], shape=(2,), device=cpu, dtype=float32)
    """
    x, axes = _read(x, axis, "log_softmax")
    wide, dtype = _dtypes_of(x, "log_softmax")
    return _finished(_log_softmax(x, axes, wide, x.size == 0, dtype), None, out, "log_softmax")
