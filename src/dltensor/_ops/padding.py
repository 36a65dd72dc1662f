# SPDX-License-Identifier: Apache-2.0
"""Padding, sliding windows and views by strides, as NumPy has them beyond the array API. No loops here."""

from .._core.convert import asarray, asarrays, empty
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from .._core.views import as_strided as strided_view
from . import elementwise as ops
from . import reduce
from .creation import arange, zeros
from .manipulation import broadcast_to
from .take import nonzero

__all__ = [
    "as_strided", "pad", "sliding_window_view", "trim_zeros",
]  # fmt: skip


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


def pad(x, /, pad_width, mode="constant", *, constant_values=0):
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

    Examples
    --------
    >>> dl.pad([1, 2, 3], 2).tolist(), dl.pad([1, 2, 3], (2, 1), "reflect").tolist()
    ([0, 0, 1, 2, 3, 0, 0], [3, 2, 1, 2, 3, 2])
    """
    x = asarray(x)
    if mode not in _MODES:
        raise ValueError(f"pad: mode must be one of {', '.join(_MODES)}, got {quoted(mode)}")
    widths, values = _widths(pad_width, x.ndim), asarrays(x, constant_values)[1]
    if mode == "constant":
        return _padded(x, widths, values)
    for axis, (before, after) in enumerate(widths):
        if x.shape[axis] == 0 and before + after:
            raise ValueError(f"pad: axis {axis} of shape {x.shape} is empty; pad it with mode='constant'")
    result = empty(_padded_shape(x, widths), dtype=x.dtype, device=x.device)  # what has no room is refused at once
    for axis, (before, after) in enumerate(widths):
        if before + after:
            x = x[(slice(None),) * axis + (_sources(x.shape[axis], before, after, mode).to(x.device),)]
    result[...] = x
    return result


def _padded_shape(x, widths):
    return tuple(before + size + after for size, (before, after) in zip(x.shape, widths, strict=True))


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
    result[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, widths, strict=True))] = x
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


def trim_zeros(x, /, trim="fb"):
    """Return a vector without the zeros at its ends.

    Parameters
    ----------
    x : array_like
        Vector; any object that supports DLPack.
    trim : str, default 'fb'
        Ends: 'f' for the front, 'b' for the back, in either case.

    {as_strided: Returns}

    Raises
    ------
    TypeError
        `x` is not a tensor.
    ValueError
        `x` is not a vector, or `trim` has another letter.

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
