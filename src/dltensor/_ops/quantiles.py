# SPDX-License-Identifier: Apache-2.0
"""Statistics of order: median, quantile and histogram. Selection and counting are in the engine."""

from math import ceil, floor, prod
from math import isfinite as is_finite

from .._core.convert import asarray, asarrays
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, integer_of, sequence_of
from . import reduce
from .casting import astype, where
from .contractions import exact_products
from .creation import full, linspace, zeros
from .dtypes import isdtype
from .elementwise import (
    add,
    bitwise_and,
    divide,
    equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    minimum,
    multiply,
    subtract,
)
from .manipulation import broadcast_to, moveaxis, reshape, squeeze, stack
from .order import ascends
from .reduce import dtype_of_statistic, rounded_sum
from .scan import cumulative_sum
from .search import bincount, count_between, searchsorted
from .sort import argsort, statistics_of_order
from .statistics import weights_of
from .take import take_along_axis

# Place in the order, from 0, of a quantile of n elements: n * q + alpha + q * (1 - alpha - beta) - 1.
__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "median", "quantile"]

_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "linear": (1, 1),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
METHODS = (
    *_CONTINUOUS,
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


def _line_of(x, axis):
    """The tensor with the reduced axes as one, that axis, and the shape with those axes kept as 1."""
    x = asarray(x)
    if isdtype(x.dtype, "complex floating"):
        raise TypeError(
            f"quantile: x is {x.dtype}, expected bool, an integer or a float dtype; take real() or abs() of it"
        )
    if axis is None:
        return reshape(x, (-1,)), 0, (1,) * x.ndim
    axes = sorted(axes_of(axis, x.ndim, "quantile"))
    kept = tuple(1 if d in axes else size for d, size in enumerate(x.shape))
    if len(axes) == 1:
        return x, axes[0], kept
    rest = [size for d, size in enumerate(x.shape) if d not in axes]
    x = moveaxis(x, tuple(axes), tuple(range(x.ndim - len(axes), x.ndim)))
    return reshape(x, (*rest, prod(x.shape[len(rest) :]))), len(rest), kept


def _place(method, n, q):
    """The place of a quantile as an integer and what is added of the distance to the next element."""
    weights = _CONTINUOUS.get(method)
    if weights is not None:
        alpha, beta = weights
        place = (n - 1) * q if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1
        place = min(max(place, 0.0), n - 1.0)
        return floor(place), place - floor(place)
    place = (n - 1) * q
    if method == "lower":
        return floor(place), 0.0
    if method == "higher":
        return ceil(place), 0.0
    if method == "nearest":
        return round(place), 0.0
    if method == "midpoint":
        return floor(place), 0.0 if place == floor(place) else 0.5
    if method == "closest_observation":  # half-way the place that is even, counted from 1
        return max(round(n * q) - 1, 0), 0.0
    place = n * q - 1
    part = place - floor(place)
    if method == "inverted_cdf":
        return max(floor(place) + (part > 0), 0), 0.0
    at = floor(place) + (part > 0)
    return (max(at, 0), 0.0) if part > 0 or at < 0 else (at, 0.5)


def _parts(x):
    """Float64 tensors whose sum is `x`: of integers of 64 bits their halves, of other dtypes one."""
    if x.dtype.name not in ("int64", "uint64"):
        return [astype(x, "float64")]
    low = bitwise_and(x, 0xFFFFFFFF)
    return [astype(subtract(x, low), "float64"), astype(low, "float64")]


def _between(low, high, part, dtype):
    """The value at a part of the way from `low` to `high`: the exact one, rounded once."""
    terms = _parts(low)
    for end, weight in ((high, part), (low, -part)):
        terms += [term for one in _parts(end) for term in exact_products(one, weight)]
    result = rounded_sum(stack(terms, axis=-1), (-1,), dtype, "quantile")
    if not isdtype(low.dtype, "real floating"):
        return result
    # Only two infinities of different signs have nothing between them.
    return where(isfinite(low), result, astype(where(isfinite(high), low, add(low, high)), dtype))


def _quantiles(x, places, axis, dtype):
    """For each place and part of the way the quantile of each line, in the result's dtype."""
    n = x.shape[axis]
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    if n == 0:
        return [full(shape, float("nan"), dtype=dtype, device=x.device) for _ in places]
    wanted = sorted({at for place, part in places for at in (place, min(place + (part > 0), n - 1))})
    found = statistics_of_order(x, axis, wanted)
    before = (slice(None),) * axis
    results = []
    for place, part in places:
        at = wanted.index(place)
        if part == 0.5 or part == 0:  # a mean, which is 0.0 where elements are -0.0
            pair = found[(*before, slice(at, at + 1 + (part > 0)))]
            results.append(reduce.mean(pair, axis=axis, dtype=dtype))
        else:
            results.append(_between(found[(*before, at)], found[(*before, at + 1)], part, dtype))
    return results


def _weighted(x, line, at, axis, probabilities, weights, dtype):
    """For each probability the first element in order by which the weights of a line reach that share of their sum."""
    weights = weights_of(x, tuple(range(x.ndim)) if axis is None else axis, axis, weights, "quantile")
    if bool(reduce.any(less(weights, 0))):
        raise ValueError("quantile: weights must be at least 0, got a negative one")
    order = argsort(line, axis=at)
    weights = _line_of(broadcast_to(weights, x.shape), axis)[0]
    sums = cumulative_sum(take_along_axis(weights, order, axis=at), axis=at, dtype="float64")
    before = (slice(None),) * at
    total = sums[(*before, slice(-1, None))]
    if not bool(reduce.all(logical_and(isfinite(total), less(0, total)))):
        raise ValueError("quantile: weights must have a finite sum above 0 on each line; replace NaN and infinity")
    ordered, shares = take_along_axis(line, order, axis=at), divide(sums, total)
    last = ordered[(*before, -1)]
    results = []
    for probability in probabilities:  # at 0 elements without weight do not count
        short = less(shares, probability) if probability else less_equal(shares, 0)
        place = minimum(reduce.sum(short, axis=at, keepdims=True), line.shape[at] - 1)
        result = squeeze(take_along_axis(ordered, place, axis=at), axis=at)
        if isdtype(line.dtype, "real floating"):
            result = where(isnan(last), last, result)
        results.append(astype(result, dtype))
    return results


def median(x, /, axis=None, *, keepdims=False, dtype=None):
    """Return the median along axes: the middle element of the order, or the exact mean of the two in the middle.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, of bool, integer or float dtype.
    axis : int, sequence of int or None, default None
        Axes to reduce; None takes all elements.
    keepdims : bool, default False
        Keep reduced axes with extent 1.
    dtype : dtype_like, optional
        Float dtype of the result, which is rounded to it once.

    Returns
    -------
    Tensor
        Of the dtype of `x`; float64 of integers of 32 and 64 bits, `get_default_dtype` of narrower ones and bools. NaN
        where a line holds a NaN or no element, and 0.0 where it is -0.0.

    Raises
    ------
    TypeError
        The dtype has no order, `axis` is not an integer, or `dtype` is not a float dtype.
    {scan.cumulative_sum: IndexError, DeviceError}

    {See Also: quantile}

    Examples
    --------
    >>> dl.median(dl.asarray([[3.0, 1.0, 2.0], [4.0, 6.0, 8.0]]), axis=1)
    Tensor([2., 6.], shape=(2,), device=cpu, dtype=float32)
    """
    line, at, kept = _line_of(x, axis)
    n, dtype = line.shape[at], dtype_of_statistic(line.dtype, dtype)
    (result,) = _quantiles(line, [((n - 1) // 2, 0.0 if n % 2 else 0.5)], at, dtype)
    return reshape(result, kept) if keepdims else result


def quantile(x, /, q, axis=None, *, keepdims=False, method="linear", weights=None, dtype=None):
    """Return quantiles along axes.

    The place of a quantile in the order is a float64; what lies between two elements is exact, and rounded once.

    Parameters
    ----------
    q : array_like or float
        Probabilities from 0 to 1, of any shape.
    method : str, default 'linear'
        How to estimate, by NumPy's names: 'linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf',
        'averaged_inverted_cdf', 'closest_observation', 'interpolated_inverted_cdf', 'hazen', 'weibull',
        'median_unbiased' or 'normal_unbiased'.
    weights : array_like, optional
        For 'inverted_cdf': numbers from 0 of the shape of `x`, or of its extents along the axes in `axis`. The quantile
        is the first element in order by which they reach the share `q` of their sum.

    {median: Parameters}

    Returns
    -------
    Tensor
        The shape of `q`, then that of the reduced `x`. Of the dtype of `x`; float64 of integers of 32 and 64 bits,
        `get_default_dtype` of narrower ones and bools. NaN where a line holds a NaN or no element, and
        0.0 where it is -0.0.

    Raises
    ------
    ValueError
        A probability is outside of [0, 1], there is no such method, or `weights` stand beside another method, have
        another shape, are negative, or have no finite sum above 0.
    TypeError
        A dtype has no order, `axis` is not an integer or is missing beside `weights` of another shape, or `dtype` is
        not a float dtype.
    {median: IndexError, DeviceError}

    {See Also: median}

    Examples
    --------
    >>> dl.quantile(dl.asarray([1.0, 2.0, 3.0, 4.0]), [0.25, 0.5])
    Tensor([1.75, 2.5 ], shape=(2,), device=cpu, dtype=float32)
    """
    if method not in METHODS:
        raise ValueError(f"quantile: method must be one of {', '.join(METHODS)}, got {quoted(method)}")
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"quantile: weights need method='inverted_cdf', got {method!r}")
    wanted = asarray(q, dtype="float64")
    probabilities = reshape(wanted, (-1,)).tolist()
    for probability in probabilities:
        if not 0 <= probability <= 1:
            raise ValueError(f"quantile: q must be from 0 to 1, got {probability}")
    x = asarray(x)
    axis = None if axis is None else tuple(axes_of(axis, x.ndim, "quantile"))
    line, at, kept = _line_of(x, axis)
    n, dtype = line.shape[at], dtype_of_statistic(line.dtype, dtype)
    if weights is not None and n:
        results = _weighted(x, line, at, axis, probabilities, weights, dtype)
    else:
        places = [_place(method, n, probability) if n else (0, 0.0) for probability in probabilities]
        results = _quantiles(line, places, at, dtype)
    shape = kept if keepdims else line.shape[:at] + line.shape[at + 1 :]
    if not results:
        return zeros((*wanted.shape, *shape), dtype=dtype)
    return reshape(stack(results), (*wanted.shape, *shape))


def _equal_edges(x, bins, limits, func):
    """Edges of equal bins between the limits, as NumPy makes them."""
    if bins < 1:
        raise ValueError(f"{func}: bins must be at least 1, got {bins}")
    if limits is None:
        first, last = (0, 1) if x.size == 0 else [reduce.min(x).item(), reduce.max(x).item()]
    else:
        first, last = limits
        if first > last:
            raise ValueError(f"{func}: range must ascend, got {quoted(limits)}")
    if not (is_finite(first) and is_finite(last)):
        raise ValueError(f"{func}: expected finite limits, got {first} to {last}; give range, or drop NaN and infinity")
    if first == last:
        first, last = first - 0.5, last + 0.5
    dtype = x.dtype if isdtype(x.dtype, "real floating") else "float64"
    edges = astype(linspace(first, last, bins + 1, dtype="float64", device=x.device), dtype)
    if not reduce.all(less(edges[:-1], edges[1:])).item():
        raise ValueError(
            f"{func}: {bins} bins from {first} to {last} do not have {bins + 1} edges in {edges.dtype}; give fewer, "
            f"or a wider range"
        )
    return edges


def _is_number(bins):
    return hasattr(bins, "__index__") and getattr(bins, "ndim", 0) == 0


def _edges(x, bins, limits, func):
    """Edges of bins from their number, or those that were given, checked."""
    if _is_number(bins):
        return _equal_edges(x, integer_of(bins, "bins", func), limits, func)
    edges = asarrays(x, bins)[1]
    edges = edges.to(x.device) if isinstance(bins, (list, tuple)) else edges
    if edges.ndim != 1 or edges.size < 2:
        raise ValueError(f"{func}: bins must be one-dimensional with at least 2 edges, got shape {edges.shape}")
    if not ascends(edges):
        raise ValueError(f"{func}: bins must ascend; sort() them")
    return edges


def _per_width(counts, edges, axis=0):
    """Divide counts by the widths of their bins, which are differences of float64, or of integers of 64 bits."""
    shape = (-1,) + (1,) * (counts.ndim - axis - 1)
    if edges.dtype.name in ("int64", "uint64"):  # a difference beyond int64 is right as uint64
        widths = astype(astype(subtract(edges[1:], edges[:-1]), "uint64"), "float64")
        return divide(counts, reshape(widths, shape))
    edges = reshape(astype(edges, "float64"), shape)
    widths = subtract(edges[1:], edges[:-1])
    half = multiply(edges, 0.5)  # for widths that overflow
    wide = divide(multiply(counts, 0.5), subtract(half[1:], half[:-1]))
    return where(isfinite(widths), divide(counts, widths), wide)


def histogram(x, /, bins=10, range=None, density=False, weights=None):
    """Count elements between edges.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, of bool, integer or float dtype and any shape.
    bins : int or array_like, default 10
        Number of bins of equal width, or their ascending edges. A bin holds its lower edge; the last holds both.
    range : tuple of two floats, optional
        Lower and upper edge of equal bins; the least and the greatest element where it is not given.
    density : bool, default False
        Return densities: the integral over the range is 1.
    weights : array_like, optional
        Of the shape of `x`: each element adds its weight instead of 1.

    Returns
    -------
    counts : Tensor
        Number of elements in each bin, int64; float64 with `weights` or `density`.
    edges : Tensor
        One more than there are bins. Those of equal bins have the dtype of `x` if it is a float dtype, else float64.

    Raises
    ------
    ValueError
        `bins` is less than 1, does not ascend, or is more than the dtype of the edges can bound, `range` is not finite
        or does not ascend, or `weights` has another shape.
    TypeError
        A dtype has no order, or `x` and `bins` have none in common.
    DeviceError
        Operands are on several devices, or neither on the host nor on a CUDA device.

    {See Also: bincount}

    Examples
    --------
    >>> counts, edges = dl.histogram(dl.asarray([1.0, 2.0, 2.5, 4.0]), bins=3)
    >>> counts.tolist(), edges.tolist()
    ([1, 2, 1], [1.0, 2.0, 3.0, 4.0])
    """
    x = asarray(x)
    edges = _edges(x, bins, range, "histogram")
    counts = count_between(edges, x, weights, "histogram")
    if density:
        counts = divide(_per_width(astype(counts, "float64"), edges), reduce.sum(counts))
    return counts, edges


def histogram_bin_edges(x, /, bins=10, range=None, weights=None):
    """Return the edges of the bins in which `histogram` counts.

    Parameters
    ----------
    {histogram: x, bins, range}
    weights : array_like, optional
        Accepted and not needed: edges are the same with weights.

    Returns
    -------
    Tensor
        One more than there are bins, as of `histogram`.

    Raises
    ------
    ValueError
        `bins` is less than 1, does not ascend, or is more than the dtype of the edges can bound, or `range` is not
        finite or does not ascend.
    TypeError
        A dtype has no order.

    {Notes: NumPy: ``numpy.histogram_bin_edges``, without names of methods for `bins`.}

    Examples
    --------
    >>> dl.histogram_bin_edges(dl.asarray([1.0, 4.0]), bins=3).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return _edges(asarray(x), bins, range, "histogram_bin_edges")


def _per_column(values, count, func, what):
    """An argument for each of several columns: a sequence of one each, or the same for all, which is read once."""
    items = None if values is None else sequence_of(values, what, func)
    if items is None:
        return [values if values is None or _is_number(values) else asarray(values)] * count
    if len(items) != count:
        raise ValueError(f"{func}: expected {what} for each of {count} columns, got {len(items)}")
    return items


def histogramdd(sample, /, bins=10, range=None, density=False, weights=None):
    """Count points of several coordinates between edges.

    Parameters
    ----------
    sample : array_like or sequence of array_like
        A point in each row of a tensor; or the coordinates, each a sequence of all points.
    bins : int or nested sequence of array_like, default 10
        Number of bins along all coordinates; or for each of them a number, or ascending edges.
    range : nested sequence of numbers, optional
        For each coordinate the lower and the upper edge of equal bins, or None.
    density : bool, default False
        Return densities: the integral over the bins is 1.
    weights : array_like, optional
        A weight for each point, which it adds instead of 1.

    Returns
    -------
    counts : Tensor
        float64, with a dimension for each coordinate.
    edges : tuple of Tensor
        For each coordinate, as of `histogram`.

    Raises
    ------
    ValueError
        `sample` has more than two dimensions, arguments are not as many as coordinates, or edges or limits are as
        `histogram` refuses them.
    {histogram_bin_edges: TypeError}

    {See Also: histogram2d}

    Examples
    --------
    >>> counts, edges = dl.histogramdd(dl.asarray([[0.0, 0.0], [1.0, 4.0], [0.9, 3.0]]), bins=2)
    >>> counts.tolist(), edges[1].tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [0.0, 2.0, 4.0])
    """
    return _count_points(sample, bins, range, density, weights, "histogramdd")


def _columns(sample, func):
    """The coordinates of points: columns of a tensor, or items of a sequence."""
    items = None if hasattr(sample, "ndim") else sequence_of(sample, "sample", func)
    if items is not None:
        columns = [reshape(asarray(item), (-1,)) for item in items]
        if len({column.size for column in columns}) != 1:
            raise ValueError(f"{func}: expected coordinates of as many points, got {[c.size for c in columns]}")
        return columns
    sample = asarray(sample)
    if sample.ndim > 2 or sample.ndim == 0:
        raise ValueError(f"{func}: expected points in rows of a matrix, got shape {sample.shape}")
    return [sample] if sample.ndim == 1 else [sample[:, column] for column in range(sample.shape[1])]


def _count_points(sample, bins, limits, density, weights, func):
    columns = _columns(sample, func)
    count = len(columns)
    limits = _per_column(limits, count, func, "range")
    edges = [
        _edges(column, number, limit, func)
        for column, number, limit in zip(columns, _per_column(bins, count, func, "bins"), limits, strict=True)
    ]
    place, outside = None, False
    for column, borders in zip(columns, edges, strict=True):
        inner = borders.size - 1
        at = subtract(searchsorted(borders, column, side="right"), 1)
        at = where(equal(column, borders[-1]), inner - 1, at)
        outside = logical_or(logical_or(less(at, 0), less(inner - 1, at)), outside)
        place = at if place is None else add(multiply(place, inner), at)
    shape = [borders.size - 1 for borders in edges]
    total = prod(shape)
    # Points outside of all bins are counted in one more.
    counts = bincount(where(outside, total, place), weights, minlength=total + 1)[:total]
    counts = reshape(astype(counts, "float64"), shape)
    if density:
        counts = divide(counts, reduce.sum(counts))
        for axis, borders in enumerate(edges):
            counts = _per_width(counts, borders, axis)
    return counts, tuple(edges)


def histogram2d(x, /, y, bins=10, range=None, density=False, weights=None):
    """Count points in a plane between edges.

    Parameters
    ----------
    x, y : array_like
        Coordinates of the points: tensors, or objects that support DLPack, of one dimension.
    bins : int or nested sequence of array_like, default 10
        Number of bins along both coordinates, or their ascending edges; or for each of them one of these.
    {histogramdd: range, density, weights}

    Returns
    -------
    counts : Tensor
        float64, of two dimensions, the first of which is that of `x`.
    x_edges : Tensor
        As of `histogram`.
    y_edges : Tensor
        As of `histogram`.

    Raises
    ------
    ValueError
        The coordinates are of different numbers of points, or edges or limits are as `histogram` refuses them.
    {histogram_bin_edges: TypeError}

    {See Also: histogramdd}

    Examples
    --------
    >>> counts, x_edges, y_edges = dl.histogram2d([0.0, 1.0, 0.9], [0.0, 4.0, 3.0], bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    items = sequence_of(bins, "bins", "histogram2d")
    if items is not None and len(items) != 2:
        bins = (bins, bins)
    counts, edges = _count_points((x, y), bins, range, density, weights, "histogram2d")
    return counts, *edges
