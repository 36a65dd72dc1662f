# SPDX-License-Identifier: Apache-2.0
"""Percentiles, statistics without NaN and covariances, as in NumPy: composed of reductions and products. No loops."""

from .._core.convert import asarray
from .._core.indexing import axes_of
from . import elementwise as ops
from . import reduce
from .casting import astype, where
from .diagonals import diagonal
from .dtypes import isdtype
from .manipulation import concat, expand_dims, permute_dims, reshape
from .matmul import matmul
from .numbers import element_like, floats_of
from .promotion import result_type
from .quantiles import quantile
from .scan import cumsum
from .statistics import average, weights_of
from .take import nonzero

__all__ = [
    "corrcoef", "cov", "nanargmax", "nanargmin", "nancumsum", "nanmedian", "nanpercentile", "nanprod",
    "nanquantile", "percentile", "trace",
]  # fmt: skip


def percentile(x, /, q, axis=None, *, keepdims=False, method="linear", weights=None, dtype=None):
    """Return percentiles along axes: quantiles of a hundredth of `q`.

    Parameters
    ----------
    q : array_like or float
        Percentages from 0 to 100, of any shape.

    {quantiles.quantile: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        A percentage is outside of [0, 100], and otherwise as of `quantile`.

    {See Also: quantile}

    Examples
    --------
    >>> dl.percentile([1.0, 2.0, 3.0, 4.0], 25)
    Tensor(1.75, shape=(), device=cpu, dtype=float32)
    """
    return quantile(x, _hundredth(q), axis, keepdims=keepdims, method=method, weights=weights, dtype=dtype)


def _hundredth(q):
    return ops.divide(asarray(q, dtype="float64"), 100.0)


def nanquantile(x, /, q, axis=None, *, keepdims=False, method="linear", weights=None, dtype=None):
    """Return quantiles along axes of the elements that are not NaN.

    Returns
    -------
    Tensor
        As of `quantile`; NaN where a line has nothing but NaN.

    {quantiles.quantile: Parameters, Raises}

    {Notes: NumPy: ``numpy.nanquantile``. PyTorch: ``torch.nanquantile``. A line with NaN costs a call of `quantile`.}

    Examples
    --------
    >>> dl.nanquantile([1.0, dl.nan, 3.0], 0.5)
    Tensor(2., shape=(), device=cpu, dtype=float32)
    """
    x = asarray(x)
    if weights is not None and isdtype(x.dtype, "real floating"):
        axes = tuple(range(x.ndim) if axis is None else axes_of(axis, x.ndim, "nanquantile"))
        weights = astype(weights_of(x, axes, axis, weights, "nanquantile"), "float64")
        # Elements without weight that come last in the order change nothing. A line of NaN alone keeps its NaN.
        known = ops.logical_not(ops.isnan(x))
        some = reduce.any(known, axis=axes, keepdims=True)
        x = where(known, x, where(some, float("inf"), x))
        weights = where(known, weights, where(some, 0, 1))
    if weights is not None:
        return quantile(x, q, axis, keepdims=keepdims, method=method, weights=weights, dtype=dtype)
    plain = quantile(x, q, axis, keepdims=keepdims, method=method, dtype=dtype)
    if not isdtype(x.dtype, "real floating") or not bool(reduce.any(ops.isnan(x))):
        return plain
    axes = sorted(range(x.ndim) if axis is None else axes_of(axis, x.ndim, "nanquantile"))
    rest = [d for d in range(x.ndim) if d not in axes]
    lines = reshape(permute_dims(x, (*rest, *axes)), (*(x.shape[d] for d in rest), -1))
    wanted = asarray(q).ndim
    shape = plain.shape[:wanted] + lines.shape[:-1]
    result = reshape(plain, shape).copy()
    known = ops.logical_not(ops.isnan(lines))
    holds = reduce.any(ops.isnan(lines), axis=-1)
    lines_with_nan = zip(*(at.tolist() for at in nonzero(holds)), strict=True) if holds.ndim else [()]
    for at in lines_with_nan:
        result[(..., *at)] = quantile(lines[at][known[at]], q, method=method, dtype=dtype)
    return reshape(result, plain.shape)


def nanpercentile(x, /, q, axis=None, *, keepdims=False, method="linear", weights=None, dtype=None):
    """Return percentiles along axes of the elements that are not NaN.

    {nanquantile: Returns}

    {percentile: Parameters, Raises}

    Examples
    --------
    >>> dl.nanpercentile([1.0, dl.nan, 3.0], 50)
    Tensor(2., shape=(), device=cpu, dtype=float32)
    """
    return nanquantile(x, _hundredth(q), axis, keepdims=keepdims, method=method, weights=weights, dtype=dtype)


def nanmedian(x, /, axis=None, *, keepdims=False, dtype=None):
    """Return the median along axes of the elements that are not NaN.

    {nanquantile: Parameters, Returns}

    {quantiles.median: Raises}

    {Notes: NumPy: ``numpy.nanmedian``. PyTorch's ``torch.nanmedian`` is the lower of two elements in the middle.}

    Examples
    --------
    >>> dl.nanmedian([1.0, dl.nan, 3.0])
    Tensor(2., shape=(), device=cpu, dtype=float32)
    """
    return nanquantile(x, 0.5, axis, keepdims=keepdims, dtype=dtype)


def _without_nan(x, number):
    has_nan = isdtype(x.dtype, ("real floating", "complex floating"))
    return where(ops.isnan(x), element_like(number, number, x), x) if has_nan else x


def _extreme_at(x, axis, keepdims, greatest, func):
    x = reduce.computable(x, func)
    filled = _without_nan(x, -float("inf") if greatest else float("inf"))
    if isdtype(x.dtype, "real floating") and bool(reduce.any(reduce.all(ops.isnan(x), axis=axis))):
        raise ValueError(f"{func}: all elements along the axis are NaN; replace them first")
    return (reduce.argmax if greatest else reduce.argmin)(filled, axis=axis, keepdims=keepdims)


def nanargmax(x, /, axis=None, *, keepdims=False):
    """Return the index of the first greatest element that is not NaN.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers, floats.
    axis : int, optional
        Dimension to search along; None takes all elements in C order.
    keepdims : bool, default False
        Keep the dimension, with one element.

    Returns
    -------
    Tensor
        int64.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype has no order.
    ValueError
        There is no element but NaN.
    IndexError
        `axis` is out of range.

    Examples
    --------
    >>> dl.nanargmax([1.0, dl.nan, 3.0]).item()
    2
    """
    return _extreme_at(x, axis, keepdims, True, "nanargmax")


def nanargmin(x, /, axis=None, *, keepdims=False):
    """Return the index of the first least element that is not NaN.

    {nanargmax: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.nanargmin([dl.nan, 1.0, 3.0]).item()
    1
    """
    return _extreme_at(x, axis, keepdims, False, "nanargmin")


def nanprod(x, /, axis=None, *, dtype=None, keepdims=False, out=None):
    """Multiply the elements that are not NaN.

    Returns
    -------
    Tensor
        Of the dtype of `x`; of bool and integers int64 or uint64. 1 where every element is NaN. `out`, when it is
        given.

    {nan_reductions.nansum: Parameters, Raises}

    Examples
    --------
    >>> dl.nanprod([2.0, dl.nan, 3.0])
    Tensor(6., shape=(), device=cpu, dtype=float32)
    """
    x = reduce.computable(x, "nanprod")
    return reduce.prod(_without_nan(x, 1.0), axis=axis, dtype=dtype, keepdims=keepdims, out=out)


def nancumsum(x, /, axis=None, dtype=None, *, out=None):
    """Return the running sums of the elements, with 0 for NaN.

    {scan.cumsum: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.nancumsum([2.0, dl.nan, 3.0]).tolist()
    [2.0, 2.0, 5.0]
    """
    return cumsum(_without_nan(reduce.computable(x, "nancumsum"), 0.0), axis, dtype, out=out)


def cov(m, /, y=None, rowvar=True, *, correction=1, fweights=None, aweights=None):
    """Return the covariance matrix of variables.

    Parameters
    ----------
    m : array_like
        Observations: of a matrix each row is a variable, or each column with ``rowvar=False``.
    y : array_like, optional
        More variables.
    rowvar : bool, default True
        Whether rows are variables.
    correction : float, default 1
        Sums are divided by the number of observations less this.
    fweights : array_like, optional
        Count of each observation: integers.
    aweights : array_like, optional
        Importance of each observation. With the products w of both weights, sums are divided by
        ``sum(w) - correction * sum(w * aweights) / sum(w)``.

    Returns
    -------
    Tensor
        A matrix, or one number of one variable. Of the dtype of `m`; float64 of integers of 32 and 64 bits.

    Raises
    ------
    TypeError
        An argument is not a tensor, its dtype is not supported, or `fweights` are not integers.
    ValueError
        There are more than two dimensions, or weights are negative or not one for each observation.
    ZeroDivisionError
        Weights sum to 0.

    {Notes: NumPy: ``numpy.cov``. PyTorch: ``torch.cov``. Computed in float64.}

    Examples
    --------
    >>> dl.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    rows = _variables(m, rowvar, "cov")
    dtype = rows.dtype
    if y is not None:
        others = _variables(y, rowvar, "cov")
        dtype = result_type(dtype, others.dtype)
        rows = concat((rows, others), axis=0)
    wide = astype(rows, "complex128" if isdtype(dtype, "complex floating") else "float64")
    shares = None if aweights is None else _observation_weights(aweights, "aweights", wide)
    weights = shares if fweights is None else _observation_weights(fweights, "fweights", wide)
    if fweights is not None and aweights is not None:
        weights = ops.multiply(weights, shares)
    wide = ops.subtract(wide, average(wide, 1, weights, keepdims=True))
    if weights is None:
        products, freedom = matmul(wide, ops.conj(wide).T), rows.shape[1] - correction
    else:
        products, total = matmul(ops.multiply(wide, weights), ops.conj(wide).T), reduce.sum(weights).item()
        freedom = total - correction * (
            1 if shares is None else reduce.sum(ops.multiply(weights, shares)).item() / total
        )
    result = astype(ops.divide(products, max(float(freedom), 0.0)), dtype)
    return reshape(result, ()) if result.size == 1 else result


def _observation_weights(values, what, rows):
    """Weights of the observations, which are columns, as float64."""
    weights = asarray(values, dtype="float64").to(rows.device)
    if weights.shape != rows.shape[1:] or bool(reduce.any(ops.less(weights, 0))):
        raise ValueError(
            f"cov: {what} must be a number from 0 for each of {rows.shape[1]} observations, got shape {weights.shape}"
        )
    if what == "fweights" and bool(reduce.any(ops.not_equal(weights, ops.round(weights)))):
        raise TypeError("cov: fweights must be integers; give other weights as aweights")
    return weights


def _variables(x, rowvar, func):
    x = floats_of(x, func)
    if x.ndim > 2:
        raise ValueError(f"{func}: expected at most 2 dimensions, got shape {x.shape}")
    if x.ndim < 2:
        return reshape(x, (1, -1))
    return x if rowvar else x.T


def corrcoef(x, /, y=None, rowvar=True):
    """Return the correlation coefficients of variables.

    Parameters
    ----------
    x : array_like
        Observations: of a matrix each row is a variable, or each column with ``rowvar=False``.
    {cov: y, rowvar}

    {cov: Returns}

    Raises
    ------
    TypeError
        An argument is not a tensor, or its dtype is not supported.
    ValueError
        There are more than two dimensions.

    Examples
    --------
    >>> dl.corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    covariance = cov(x, y, rowvar)
    if covariance.ndim == 0:
        return ops.divide(covariance, covariance)
    deviations = ops.sqrt(ops.real(diagonal(covariance)))
    result = ops.divide(ops.divide(covariance, expand_dims(deviations, 1)), deviations)
    if isdtype(result.dtype, "complex floating"):
        return result
    return ops.clip(result, -1.0, 1.0)


def trace(x, /, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Return sums along diagonals of the matrices in two dimensions.

    Parameters
    ----------
    x : array_like
        Tensor of at least two dimensions, or any object that supports DLPack.
    {diagonals.diagonal: offset, axis1, axis2}
    dtype : dtype_like, optional
        Dtype of the result, as for `sum`.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the dtype of `x`; of bool and integers int64 or uint64. `out`, when it is given.

    {diagonals.diagonal: Raises}

    See Also
    --------
    linalg.trace : Sums along diagonals of the last two dimensions.

    Examples
    --------
    >>> dl.trace([[1, 2], [3, 4]]).item()
    5
    """
    return reduce.sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)
