# SPDX-License-Identifier: Apache-2.0
"""Interpolation, integrals, derivatives and convolutions of sampled values, as in NumPy: composed. No loops here."""

from numbers import Integral

from .._core.convert import asarray, asarrays
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, axis_of, integer_of
from . import elementwise as ops
from . import reduce
from .casting import astype, where
from .contractions import vecdot
from .creation import zeros
from .dtypes import isdtype
from .manipulation import broadcast_to, concat, flip, moveaxis, reshape
from .numbers import floats_of, real_of
from .padding import sliding_window_view
from .promotion import result_type
from .scan import cumsum, cumulative_prod
from .search import searchsorted

__all__ = [
    "convolve", "correlate", "gradient", "interp", "polyval", "trapezoid", "unwrap", "vander",
]  # fmt: skip


def interp(x, /, xp, fp, left=None, right=None):
    """Return values of a function by linear interpolation between points.

    Parameters
    ----------
    x : array_like or number
        Where the function is evaluated.
    xp : array_like
        Ascending places of the points.
    fp : array_like
        Values at the points, real.
    left, right : float, optional
        Values below the first and above the last place; those of the first and last point by default.

    Returns
    -------
    Tensor
        Of the shape of `x` and the promoted dtype of floats.

    Raises
    ------
    TypeError
        An argument is not a tensor, or its dtype is not supported.
    ValueError
        `xp` and `fp` have not the same one dimension, or no point.

    {Notes: NumPy: ``numpy.interp``. Computed in float64.}

    Examples
    --------
    >>> dl.interp([0.5, 9.0], [0.0, 1.0], [10.0, 20.0]).tolist()
    [15.0, 20.0]
    """
    x, xp, fp = (real_of(one, "interp") for one in asarrays(x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or xp.size == 0:
        raise ValueError(f"interp: xp and fp must be vectors of one length with points, got {xp.shape} and {fp.shape}")
    dtype = result_type(x, xp, fp)
    at, places, values = (astype(one, "float64") for one in (x, xp, fp))
    low = ops.clip(ops.subtract(searchsorted(places, at, "right"), 1), 0, max(places.size - 2, 0))
    high = ops.minimum(ops.add(low, 1), places.size - 1)
    start, end, first, last = places[low], places[high], values[low], values[high]
    slope = ops.divide(ops.subtract(last, first), ops.subtract(end, start))
    inside = ops.add(ops.multiply(slope, ops.subtract(at, start)), first)
    from_end = ops.add(ops.multiply(slope, ops.subtract(at, end)), last)  # where the other end is infinite
    inside = where(ops.isnan(inside), where(ops.equal(first, last), first, from_end), inside)
    inside = where(ops.equal(at, end), last, where(ops.equal(at, start), first, inside))
    below = values[0] if left is None else asarray(float(left), dtype="float64").to(at.device)
    above = values[-1] if right is None else asarray(float(right), dtype="float64").to(at.device)
    result = where(ops.less(at, places[0]), below, where(ops.greater(at, places[-1]), above, inside))
    return astype(where(ops.isnan(at), at, result), dtype)


def trapezoid(y, /, x=None, dx=1.0, axis=-1):
    """Return the integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        Values, real or complex.
    x : array_like, optional
        Places of the values: of one dimension, or of the shape of `y`.
    dx : float, default 1.0
        Distance of places, without `x`.
    axis : int, default -1
        Dimension to integrate along.

    Returns
    -------
    Tensor
        Of the promoted dtype of floats.

    Raises
    ------
    {interp: TypeError}
    ValueError
        The shapes do not fit.
    IndexError
        `axis` is out of range.

    Examples
    --------
    >>> dl.trapezoid([1.0, 2.0, 3.0])
    Tensor(4., shape=(), device=cpu, dtype=float32)
    """
    if x is not None:
        y, x = asarrays(y, x)
    y = floats_of(y, "trapezoid")
    axis = axis_of(axis, y.ndim, "trapezoid")
    after, before = _neighbours(y, axis)
    width = dx
    if x is not None:
        x = floats_of(x, "trapezoid")
        if x.ndim == 1 and x.size != y.shape[axis]:
            raise ValueError(f"trapezoid: axis {axis} of y has {y.shape[axis]} elements, x has {x.size}")
        end, start = _neighbours(x, 0 if x.ndim == 1 else axis)
        width = ops.subtract(end, start)
        width = reshape(width, (-1,) + (1,) * (y.ndim - axis - 1)) if x.ndim == 1 else width
    return reduce.sum(ops.multiply(ops.multiply(ops.add(after, before), width), 0.5), axis=axis)


def _neighbours(x, axis):
    head = (slice(None),) * axis
    return x[(*head, slice(1, None))], x[(*head, slice(None, -1))]


def gradient(f, /, *spacing, axis=None, edge_order=1):
    """Return derivatives along axes: central differences, and one-sided ones at the edges.

    Parameters
    ----------
    f : array_like
        Values, real or complex.
    *spacing : array_like or number
        Distance of the places, or the places along a dimension: nothing, one for all dimensions, or one for each.
    axis : int or sequence of int, optional
        Dimensions; None means all of them.
    edge_order : {1, 2}, default 1
        Degree of the polynomial at the edges, through one point more.

    Returns
    -------
    Tensor or tuple of Tensor
        Of the shape of `f`; a tuple of several dimensions.

    Raises
    ------
    TypeError
        `f` is not a tensor, or its dtype is not supported.
    ValueError
        A dimension has too few elements, the distances do not fit, or `edge_order` is another number.
    {trapezoid: IndexError}

    Examples
    --------
    >>> dl.gradient([1.0, 2.0, 4.0, 7.0]).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    f = floats_of(f, "gradient")
    axes = list(range(f.ndim)) if axis is None else axes_of(axis, f.ndim, "gradient")
    if len(spacing) not in (0, 1, len(axes)):
        raise ValueError(f"gradient: expected a distance for each of {len(axes)} dimensions, got {len(spacing)}")
    steps = asarrays(f, *(spacing or (1.0,)))[1:]
    steps = steps * len(axes) if len(steps) == 1 else steps
    edge_order = integer_of(edge_order, "edge_order", "gradient")
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    found = [_derivative(f, along, step, edge_order) for along, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _derivative(f, axis, step, edge_order):
    size = f.shape[axis]
    if size <= edge_order or step.ndim not in (0, 1) or (step.ndim == 1 and step.size != size):
        raise ValueError(
            f"gradient: axis {axis} of {size} elements needs {edge_order + 1}, and one distance or {size} places"
        )
    f = moveaxis(f, axis, -1)
    gaps = None
    if step.ndim == 1:
        wide = astype(step, "float64")
        gaps = ops.subtract(wide[1:], wide[:-1])
    if gaps is None or reduce.all(ops.equal(gaps, gaps[0])).item():
        distance = (step if gaps is None else gaps[0]).item()
        slopes = ops.divide(ops.subtract(f[..., 1:], f[..., :-1]), distance) if edge_order == 2 else None
        ends = f[..., 1:2], f[..., :1], f[..., -1:], f[..., -2:-1]
        first, last = (ops.divide(ops.subtract(*pair), distance) for pair in (ends[:2], ends[2:]))
        middle = ops.divide(ops.subtract(f[..., 2:], f[..., :-2]), 2 * distance)
        shares = 0.5, 0.5
    else:
        slopes = ops.divide(ops.subtract(f[..., 1:], f[..., :-1]), astype(gaps, _real_dtype(f)))
        left, right = gaps[:-1], gaps[1:]
        weight = astype(ops.divide(right, ops.add(left, right)), _real_dtype(f))
        shares = ops.subtract(1.0, weight[..., :1]), weight[..., -1:]
        middle = ops.add(
            ops.multiply(slopes[..., :-1], weight), ops.multiply(slopes[..., 1:], ops.subtract(1.0, weight))
        )
        first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:  # the parabola through three points changes its slope as it does between the first two gaps
        first = ops.subtract(first, ops.multiply(ops.subtract(slopes[..., 1:2], first), shares[0]))
        last = ops.add(last, ops.multiply(ops.subtract(last, slopes[..., -2:-1]), shares[1]))
    return moveaxis(concat((first, middle, last), axis=-1), -1, axis)


def _real_dtype(x):
    return x.real.dtype


def _products(a, v, mode, func):
    """The products of `v` with all parts of `a` that it covers, as NumPy's modes have them."""
    a, v = asarrays(a, v)
    if a.ndim != 1 or v.ndim != 1 or a.size == 0 or v.size == 0:
        raise ValueError(f"{func}: expected two vectors with elements, got shapes {a.shape} and {v.shape}")
    dtype = result_type(a, v)
    a, v = astype(a, dtype), astype(v, dtype)
    m = v.size
    edges = {"full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)}
    before, after = next((edges[name] for name in edges if mode == name), (None, None))  # compared once
    if before is None:
        raise ValueError(f"{func}: mode must be 'full', 'same' or 'valid', got {quoted(mode)}")
    edges = zeros(max(before, after), dtype=dtype, device=a.device)
    a = concat((edges[:before], a, edges[:after]))
    return vecdot(ops.conj(v) if isdtype(dtype, "complex floating") else v, sliding_window_view(a, m))


def convolve(a, /, v, mode="full"):
    """Return the convolution of two vectors; sums of real products are exact and rounded once.

    Parameters
    ----------
    a, v : array_like
        Vectors: integers, floats, complex.
    mode : {'full', 'same', 'valid'}, default 'full'
        All places where the vectors overlap, those in the middle, as many as the longer one has, or those where they
        overlap completely.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    TypeError
        An argument is not a tensor, or there is no common dtype.
    ValueError
        An argument is no vector with elements, or there is no such mode.

    Examples
    --------
    >>> dl.convolve([1, 2, 3], [1, 1]).tolist()
    [1, 3, 5, 3]
    """
    a, v = asarrays(a, v)
    a, v = (v, a) if v.size > a.size else (a, v)
    return _products(a, flip(v), mode, "convolve")


def correlate(a, /, v, mode="valid"):
    """Return the cross-correlation of two vectors; sums of real products are exact and rounded once.

    Parameters
    ----------
    {convolve: a, v}
    mode : {'full', 'same', 'valid'}, default 'valid'
        As of `convolve`.

    {convolve: Returns, Raises}

    Examples
    --------
    >>> dl.correlate([1, 2, 3], [0, 1]).tolist()
    [2, 3]
    """
    a, v = asarrays(a, v)
    v = ops.conj(v) if isdtype(v.dtype, "complex floating") else v
    if v.size > a.size:  # the shorter one slides, and the places are in the opposite order
        return flip(_products(v, a, mode, "correlate"))
    return _products(a, v, mode, "correlate")


def _turns(before, after, period, discont):
    """Return the multiples of a period that are added to the steps between floats."""
    steps, half = ops.subtract(after, before), period / 2
    turned = ops.subtract(ops.remainder(ops.add(steps, half), period), half)
    turned = where(ops.logical_and(ops.equal(turned, -half), ops.greater(steps, 0)), half, turned)
    return where(ops.less(ops.abs(steps), half if discont is None else discont), 0, ops.subtract(turned, steps))


def _integer_turns(before, after, period, discont):
    """Return the multiples of a period that are added to the steps between integers, in their dtype.

    The distance of two integers is a uint64, since their difference can be beyond their dtype.
    """
    dtype, period = before.dtype, abs(int(period))
    rises = ops.less(before, after)
    steps = ops.subtract(*(astype(x, "uint64" if dtype.name == "uint64" else "int64") for x in (after, before)))
    distance = astype(where(rises, steps, ops.negative(steps)), "uint64")
    turns = ops.floor_divide(distance, period)
    turns = ops.add(turns, ops.greater(ops.remainder(distance, period), period // 2))
    if discont is not None:
        turns = where(ops.less(distance, discont), 0, turns)
    change = ops.multiply(astype(turns, dtype), period)
    return where(rises, ops.negative(change), change)


def unwrap(x, /, discont=None, axis=-1, *, period=6.283185307179586):
    """Add multiples of a period to elements, so that neighbours differ by at most half of it.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers, floats.
    discont : float, optional
        Neighbours that differ by less stay as they are; half of the period by default, and at least.
    axis : int, default -1
        Dimension along which neighbours are compared.
    period : float, default 2 * pi
        The period.

    Returns
    -------
    Tensor
        Of the dtype of `x` if it is a float one, else as for `mean`; of the dtype of `x` for an integer period.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype is not supported.
    {trapezoid: IndexError}

    Examples
    --------
    >>> dl.unwrap([0, 1, 2, -1, 0], period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    x = reduce.computable(x, "unwrap")
    is_integer = isinstance(period, Integral) and isdtype(x.dtype, "integral")
    x = x if is_integer else real_of(x, "unwrap")
    axis = axis_of(axis, x.ndim, "unwrap")
    before, later = ((*(slice(None),) * axis, part) for part in (slice(None, -1), slice(1, None)))
    turns = _integer_turns if is_integer else _turns
    result = x.copy()
    result[later] = ops.add(x[later], cumsum(turns(x[before], x[later], period, discont), axis, dtype=x.dtype))
    return result


def polyval(p, /, x):
    """Evaluate a polynomial by Horner's rule.

    Parameters
    ----------
    p : array_like
        Vector of coefficients, from the highest power down.
    x : array_like or number
        Where the polynomial is evaluated.

    Returns
    -------
    Tensor
        Of the shape of `x` and the promoted dtype.

    Raises
    ------
    TypeError
        There is no common dtype.
    ValueError
        `p` is no vector.

    {See Also: vander}

    Examples
    --------
    >>> dl.polyval([3, 0, 1], [0, 1, 2]).tolist()
    [1, 4, 13]
    """
    p, x = asarrays(p, x)
    if p.ndim != 1:
        raise ValueError(f"polyval: p must be a vector of coefficients, got shape {p.shape}")
    dtype = result_type(p, x)
    p, x = astype(p, dtype), astype(x, dtype)
    result = zeros(x.shape, dtype=dtype, device=x.device)
    for k in range(p.size):
        result = ops.add(ops.multiply(result, x), p[k])
    return result


def vander(x, /, N=None, increasing=False):
    """Return the matrix of powers of the elements of a vector.

    Parameters
    ----------
    x : array_like
        Vector: integers, floats, complex.
    N : int, optional
        Number of powers, from 0 on; by default as many as there are elements.
    increasing : bool, default False
        Whether the powers grow from the first column to the last.

    Returns
    -------
    Tensor
        Of shape ``(len(x), N)``; int64 or uint64 of integers, else of the dtype of `x`.

    Raises
    ------
    TypeError
        `N` is not an integer, or the dtype has no product.
    ValueError
        `x` is no vector, or `N` is negative.

    {See Also: polyval}

    Examples
    --------
    >>> dl.vander([1, 2, 3]).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    x = asarray(x)
    count = x.size if N is None else integer_of(N, "N", "vander")
    if x.ndim != 1 or count < 0:
        raise ValueError(f"vander: expected a vector and N of at least 0, got shape {x.shape} and N={count}")
    factors = broadcast_to(x[:, None], (x.size, max(count - 1, 0)))
    powers = cumulative_prod(factors, axis=1, include_initial=True)[:, :count]
    return powers if increasing else flip(powers, axis=1)
