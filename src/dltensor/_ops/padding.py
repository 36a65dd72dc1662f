# SPDX-License-Identifier: Apache-2.0
"""Padding, sliding windows and views by strides, as NumPy has them beyond the array API. No loops here."""

from .._core.convert import asarray, asarrays, empty
from .._core.foreign_text import quoted
from .._core.indexing import axes_of, axis_of, integer_of, sequence_of
from .._core.views import as_strided as strided_view
from . import elementwise as ops
from . import reduce
from .casting import astype
from .creation import arange, zeros
from .dtypes import isdtype
from .manipulation import broadcast_to, concat, flip, reshape
from .quantiles import median
from .take import nonzero

__all__ = [
    "as_strided", "pad", "sliding_window_view", "trim_zeros",
]  # fmt: skip


_STATISTICS = {"maximum": reduce.max, "mean": reduce.mean, "median": median, "minimum": reduce.min}
_MODES = ("constant", "edge", "empty", "linear_ramp", *_STATISTICS, "reflect", "symmetric", "wrap")


def _integer_pairs(values, ndim, what):
    """A pair of integers from 0 for each dimension, of one number, a pair, or pairs."""
    pairs = asarray(values)
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"pad: {what} must be integers, got {pairs.dtype}")
    if not (
        pairs.ndim <= 2 and (pairs.ndim < 2 or pairs.shape[0] in (1, ndim)) and pairs.shape[-1:] in ((), (1,), (2,))
    ):
        order = "; PyTorch's numbers begin with the last axis: write a pair for each axis, the first axis first"
        raise ValueError(
            f"pad: {what} must be a number, a pair or {ndim} pairs, got shape {pairs.shape}"
            f"{order if pairs.ndim == 1 and pairs.size == 2 * ndim else ''}"
        )
    if bool(reduce.any(ops.less(pairs, 0))):
        raise ValueError(f"pad: {what} must be at least 0, got {quoted(values)}")
    return broadcast_to(pairs, (ndim, 2)).tolist()


def _widths(pad_width, ndim):
    """A pair of numbers of elements for each dimension; a dict has them for some."""
    if not isinstance(pad_width, dict):
        return _integer_pairs(pad_width, ndim, "pad_width")
    widths = [[0, 0] for _ in range(ndim)]
    for axis, width in pad_width.items():
        widths[axis_of(axis, ndim, "pad")] = _integer_pairs(width, 1, "pad_width")[0]
    return widths


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


def _statistic(x, axis, mode, length):
    """The statistic of the first elements of each line, in the dtype of `x`."""
    part = x[(slice(None),) * axis + (slice(length),)]
    if part.shape[axis] == 0 and mode in ("maximum", "minimum"):
        raise ValueError(f"pad: stat_length must be at least 1 for mode={mode!r}, got {length}")
    inexact = isdtype(x.dtype, ("real floating", "complex floating"))
    options = {} if inexact or mode in ("maximum", "minimum") else {"dtype": "float64"}
    value = _STATISTICS[mode](part, axis=axis, keepdims=True, **options)
    return astype(ops.round(value) if options and x.dtype.kind != "b" else value, x.dtype)


def _ramp(x, axis, width, end):
    """Numbers from `end` to the first element of each line, without that."""
    edge = x[(slice(None),) * axis + (slice(1),)]
    edge = astype(edge, "complex128" if isdtype(x.dtype, "complex floating") else "float64")
    steps = reshape(arange(width, dtype="float64", device=x.device), (-1,) + (1,) * (x.ndim - axis - 1))
    ramp = ops.add(ops.multiply(steps, ops.divide(ops.subtract(edge, end), width)), end)
    return astype(ops.floor(ramp) if isdtype(x.dtype, "integral") else ramp, x.dtype)


def _rotated(x, axis, width, shared):
    """Elements before each line: the line turned by half about its first element, and so on."""
    line, size = x, x.shape[axis]
    head = (slice(None),) * axis
    while line.shape[axis] - size < width:
        first = line[(*head, slice(1))]
        turned = ops.subtract(ops.add(first, first), flip(line, axis=axis))
        line = concat((turned[(*head, slice(line.shape[axis] - shared))], line), axis=axis)
    return line[(*head, slice(line.shape[axis] - size - width, line.shape[axis] - size))]


def _before(x, axis, width, mode, end, length):
    """The elements that a mode adds before each line."""
    if width == 0:
        return x[(slice(None),) * axis + (slice(0),)]
    if mode == "linear_ramp":
        return _ramp(x, axis, width, end)
    if mode in ("reflect", "symmetric"):
        return _rotated(x, axis, width, int(mode == "reflect"))
    value = _statistic(x, axis, mode, length)
    return broadcast_to(value, (*x.shape[:axis], width, *x.shape[axis + 1 :]))


def pad(x, /, pad_width, mode="constant", *, stat_length=None, constant_values=0, end_values=0, reflect_type="even"):
    """Add elements around an array, along one dimension after another.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    pad_width : int, sequence of int or dict of int to object
        Numbers of elements before and after: one number for all, a pair for all dimensions, or a pair for each; or a
        dict from a dimension to a number or a pair.
    mode : str, default 'constant'
        Added elements: 'constant' for `constant_values`, 'edge' for the element at the edge, 'reflect' and 'symmetric'
        for those of `x` mirrored without and with the one at the edge, 'wrap' for those from the other end,
        'linear_ramp' for numbers from `end_values` to the element at the edge, 'maximum', 'mean', 'median' or 'minimum'
        of elements next to the edge, 'empty' for no values in particular.
    stat_length : int or sequence of int, optional
        For statistics: the number of elements next to the edge that they are taken of, in the forms of `pad_width`. By
        default all.
    constant_values : array_like or number, default 0
        For 'constant': a number, a pair for all dimensions, or a pair for each.
    end_values : array_like or number, default 0
        For 'linear_ramp': the outermost elements, in the forms of `constant_values`. Ramps are computed in float64, and
        rounded down for integers.
    reflect_type : {'even', 'odd'}, default 'even'
        For 'reflect' and 'symmetric': add the mirrored elements, or twice the element at the edge less these.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`. Means and medians of integers are rounded half to even.

    Raises
    ------
    TypeError
        `x` is not a tensor, a number of elements is not an integer, or the dtype has no such statistic.
    ValueError
        There is no such mode or type, a number of elements is negative, there is not a pair for each dimension, or an
        empty dimension is padded by its own elements.
    IndexError
        A dict has a dimension that is out of range.

    Examples
    --------
    >>> dl.pad([1, 2, 3], 2).tolist(), dl.pad([1, 2, 3], (2, 1), "reflect").tolist()
    ([0, 0, 1, 2, 3, 0, 0], [3, 2, 1, 2, 3, 2])
    >>> dl.pad([1.0, 2.0, 6.0], (2, 1), "mean").tolist()
    [3.0, 3.0, 1.0, 2.0, 6.0, 3.0]
    """
    x = asarray(x)
    if mode not in _MODES:
        raise ValueError(f"pad: mode must be one of {', '.join(_MODES)}, got {quoted(mode)}")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {quoted(reflect_type)}")
    widths, values = _widths(pad_width, x.ndim), asarrays(x, constant_values)[1]
    if mode == "constant":
        return _padded(x, widths, values)
    for axis, (before, after) in enumerate(widths):
        if x.shape[axis] == 0 and before + after and mode != "empty":
            raise ValueError(f"pad: axis {axis} of shape {x.shape} is empty; pad it with mode='constant'")
    result = empty(_padded_shape(x, widths), dtype=x.dtype, device=x.device)  # what has no room is refused at once
    if mode == "empty":
        result[_place_of(x, widths)] = x
        return result
    wide = "complex128" if isdtype(x.dtype, "complex floating") else "float64"
    ends = broadcast_to(asarray(end_values, dtype=wide), (x.ndim, 2)).tolist() if x.ndim else ()
    lengths = [(None, None)] * x.ndim if stat_length is None else _integer_pairs(stat_length, x.ndim, "stat_length")
    indexed = mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and reflect_type == "even")
    for axis, (before, after) in enumerate(widths):
        if before + after == 0:
            continue
        if indexed or (mode == "reflect" and x.shape[axis] == 1):
            x = x[(slice(None),) * axis + (_sources(x.shape[axis], before, after, mode).to(x.device),)]
            continue
        first = _before(x, axis, before, mode, ends[axis][0], lengths[axis][0])
        last = flip(_before(flip(x, axis=axis), axis, after, mode, ends[axis][1], lengths[axis][1]), axis=axis)
        x = concat((first, x, last), axis=axis)
    result[...] = x
    return result


def _padded_shape(x, widths):
    return tuple(before + size + after for size, (before, after) in zip(x.shape, widths, strict=True))


def _place_of(x, widths):
    """The index of the elements of `x` in the padded array."""
    return tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, widths, strict=True))


def _padded(x, widths, values):
    """A copy with numbers around it; those of later dimensions fill the corners."""
    shape = _padded_shape(x, widths)
    result = zeros(shape, dtype=x.dtype, device=x.device)
    values = broadcast_to(values, (x.ndim, 2)) if x.ndim else None
    for axis, (before, after) in enumerate(widths):
        head = (slice(None),) * axis
        if before:
            result[(*head, slice(None, before))] = values[axis, 0].item()
        if after:
            result[(*head, slice(shape[axis] - after, None))] = values[axis, 1].item()
    result[_place_of(x, widths)] = x
    return result


def as_strided(x, /, shape=None, strides=None, *, offset=0, writeable=True):
    """Return a view with any shape and strides inside the elements of a tensor.

    Parameters
    ----------
    {pad: x}
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

    {See Also: sliding_window_view}

    {Notes: NumPy: ``numpy.lib.stride_tricks.as_strided``. PyTorch: ``torch.as_strided``.}

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
    {pad: x}
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
    {as_strided: TypeError}
    ValueError
        A window is larger than `x`, or there is not an extent for each dimension.
    IndexError
        `axis` is out of range.

    {See Also: as_strided}

    {Notes: NumPy: ``numpy.lib.stride_tricks.sliding_window_view``. PyTorch: ``Tensor.unfold``.}

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


def trim_zeros(x, /, trim="fb", axis=None):
    """Return an array without the zeros at its ends: along each axis, without the outer slices of zeros alone.

    Parameters
    ----------
    {pad: x}
    trim : str, default 'fb'
        Ends: 'f' for the front, 'b' for the back, in either case.
    axis : int or sequence of int, optional
        Axes to trim; None means all of them.

    {as_strided: Returns}

    Raises
    ------
    TypeError
        `x` is not a tensor.
    ValueError
        `trim` has another letter, or `axis` names a dimension twice.
    IndexError
        `axis` is out of range.

    Examples
    --------
    >>> dl.trim_zeros([0, 0, 1, 0, 2, 0]).tolist()
    [1, 0, 2]
    >>> dl.trim_zeros([[0, 0], [0, 3]]).tolist()
    [[3]]
    """
    x, ends = asarray(x), str(trim).lower()
    if not set(ends) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: trim must be of 'f' and 'b', got {quoted(trim)}")
    key = [slice(None)] * x.ndim
    at = nonzero(x) if x.ndim else ()
    for along in range(x.ndim) if axis is None else axes_of(axis, x.ndim, "trim_zeros"):
        found = at[along].size > 0
        first = reduce.min(at[along]).item() if found else x.shape[along]
        last = reduce.max(at[along]).item() + 1 if found else 0
        key[along] = slice(first if "f" in ends else 0, last if "b" in ends else None)
    return x[tuple(key)]
