# SPDX-License-Identifier: Apache-2.0
"""Manipulation of shapes: views where possible, else one copy. No arithmetic on elements."""

from itertools import product

from .._core.convert import asarray, empty_for
from .._core.layout import common_shape, strides_over
from .._core.views import as_strided, permute_for, reshape_for, squeeze_for
from .promotion import result_type

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def _axis(axis, ndim, where):
    """A dimension's number, counted from the end when negative."""
    try:
        axis = axis.__index__()
    except AttributeError:
        raise TypeError(f"{where}: an axis must be an integer, got {axis!r}") from None
    if not -ndim <= axis < ndim:
        raise IndexError(f"{where}: axis {axis} is out of range for {ndim} dimensions")
    return axis % ndim


def _axes(axes, ndim, where):
    """Dimension numbers from one or several, none of them twice."""
    made = [_axis(axis, ndim, where) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(made)) != len(made):
        raise ValueError(f"{where}: axes {tuple(axes)} name a dimension of {ndim} twice")
    return made


def _alike(arrays, where):
    """The operands as tensors on one device, and the dtype that they meet in."""
    tensors = [asarray(array) for array in arrays]
    if not tensors:
        raise ValueError(f"{where}: expected at least one tensor, got none")
    for position, t in enumerate(tensors):
        if t.device != tensors[0].device:
            raise ValueError(
                f"{where}: tensors must have one device, but number 0 has {tensors[0].device} and number {position} "
                f"has {t.device}; bring them together with to()"
            )
    dtype = tensors[0].dtype
    if any(t.dtype != dtype for t in tensors):
        try:
            dtype = result_type(*[t.dtype for t in tensors])
        except TypeError as error:
            raise TypeError(str(error).replace("result_type:", f"{where}:", 1)) from None
    return tensors, dtype


def _slice(ndim, axis, part):
    return (slice(None),) * axis + (part,) + (slice(None),) * (ndim - axis - 1)


def broadcast_shapes(*shapes):
    """Return the shape to which all shapes broadcast.

    Parameters
    ----------
    *shapes : sequence of int
        Shapes, aligned at their last dimensions as in NumPy.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ValueError
        Two extents differ and neither is 1; the message names all shapes.
    TypeError
        A shape is not a sequence of integers.

    See Also
    --------
    layout.broadcast_shapes : Align the first dimensions instead.

    Notes
    -----
    Array API 2025.12: ``broadcast_shapes``.

    Examples
    --------
    >>> dl.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return common_shape("broadcast_shapes", shapes)


def broadcast_to(x, /, shape):
    """Return a read-only view of `x`, broadcast to a shape without a copy.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    shape : int or sequence of int
        Shape of the view.

    Returns
    -------
    Tensor
        Read-only, with stride 0 along repeated dimensions.

    Raises
    ------
    ValueError
        `x` does not broadcast to `shape`, or the result would exceed 2^63 - 1 bytes.
    TypeError
        `shape` is neither an integer nor a sequence of integers.

    See Also
    --------
    broadcast_arrays : Broadcast several tensors to one shape.

    Notes
    -----
    Array API 2025.12: ``broadcast_to``.

    Examples
    --------
    >>> t = dl.broadcast_to(dl.arange(3), (2, 3))
    >>> t
    Tensor([[0, 1, 2],
            [0, 1, 2]], shape=(2, 3), device=cpu, dtype=int64, readonly=True)
    >>> t.strides, t.readonly
    ((0, 1), True)
    """
    return _broadcast(asarray(x), shape, "broadcast_to")


def _broadcast(x, shape, where):
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return as_strided(x, shape, strides_over(where, x.shape, x.strides, shape), readonly=True, func=where)


def broadcast_arrays(*arrays):
    """Return read-only views of tensors, broadcast to one shape.

    Parameters
    ----------
    *arrays : array_like
        Tensors, or any objects that support DLPack.

    Returns
    -------
    tuple of Tensor
        Read-only views of the common shape.

    Raises
    ------
    ValueError
        The shapes do not broadcast; the message names all of them.

    See Also
    --------
    broadcast_to : Broadcast one tensor to a given shape.

    Notes
    -----
    Array API 2025.12: ``broadcast_arrays``.

    Examples
    --------
    >>> a, b = dl.broadcast_arrays(dl.asarray([[1], [2]]), dl.asarray([7, 8, 9]))
    >>> a.tolist(), b.tolist()
    ([[1, 1, 1], [2, 2, 2]], [[7, 8, 9], [7, 8, 9]])
    """
    tensors = [asarray(array) for array in arrays]
    shape = common_shape("broadcast_arrays", [t.shape for t in tensors])
    return tuple(_broadcast(t, shape, "broadcast_arrays") for t in tensors)


def concat(arrays, /, axis=0):
    """Join tensors along an existing dimension.

    Parameters
    ----------
    arrays : sequence of array_like
        Tensors on one device, of equal shape except along `axis`. Their dtypes are promoted.
    axis : int or None, default 0
        Dimension along which to join. None joins the elements of all tensors in C order.

    Returns
    -------
    Tensor
        A new tensor in C order.

    Raises
    ------
    ValueError
        There is no tensor, or extents or devices differ.
    TypeError
        The dtypes have no common dtype.
    IndexError
        `axis` is out of range.

    See Also
    --------
    stack : Join along a new dimension.

    Notes
    -----
    Array API 2025.12: ``concat``.

    Examples
    --------
    >>> dl.concat([dl.arange(2), dl.arange(3)])
    Tensor([0, 1, 0, 1, 2], shape=(5,), device=cpu, dtype=int64)
    """
    tensors, dtype = _alike(arrays, "concat")
    if axis is None:
        tensors, axis = [reshape_for("concat", t, (-1,)) for t in tensors], 0
    first = tensors[0]
    axis = _axis(axis, first.ndim, "concat")
    for position, t in enumerate(tensors):
        if t.ndim != first.ndim or any(t.shape[d] != first.shape[d] for d in range(first.ndim) if d != axis):
            raise ValueError(
                f"concat: shapes must agree but for axis {axis}, but number 0 has {first.shape} and number {position} "
                f"has {t.shape}"
            )
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in tensors)
    made = empty_for("concat", shape, dtype, first.device)
    at = 0
    for t in tensors:
        made[_slice(first.ndim, axis, slice(at, at + t.shape[axis]))] = t
        at += t.shape[axis]
    return made


def stack(arrays, /, axis=0):
    """Join tensors of equal shape along a new dimension.

    Parameters
    ----------
    arrays : sequence of array_like
        Tensors of equal shape on one device. Their dtypes are promoted.
    axis : int, default 0
        Position of the new dimension in the result.

    Returns
    -------
    Tensor
        A new tensor in C order, with one dimension more.

    Raises
    ------
    ValueError
        There is no tensor, or shapes or devices differ.
    TypeError
        The dtypes have no common dtype.
    IndexError
        `axis` is out of range.

    See Also
    --------
    concat : Join along an existing dimension.
    unstack : Split along a dimension.

    Notes
    -----
    Array API 2025.12: ``stack``.

    Examples
    --------
    >>> dl.stack([dl.zeros(2), dl.ones(2)], axis=1)
    Tensor([[0., 1.],
            [0., 1.]], shape=(2, 2), device=cpu, dtype=float32)
    """
    tensors, dtype = _alike(arrays, "stack")
    first = tensors[0]
    axis = _axis(axis, first.ndim + 1, "stack")
    for position, t in enumerate(tensors):
        if t.shape != first.shape:
            raise ValueError(
                f"stack: shapes must agree, but number 0 has {first.shape} and number {position} has {t.shape}"
            )
    shape = (*first.shape[:axis], len(tensors), *first.shape[axis:])
    made = empty_for("stack", shape, dtype, first.device)
    for position, t in enumerate(tensors):
        made[_slice(made.ndim, axis, position)] = t
    return made


def unstack(x, /, axis=0):
    """Split a tensor along a dimension into views without that dimension.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    axis : int, default 0
        Dimension along which to split.

    Returns
    -------
    tuple of Tensor
        One view per index of that dimension.

    Raises
    ------
    IndexError
        `axis` is out of range.
    TypeError
        `axis` is not an integer.

    See Also
    --------
    stack : Join along a new dimension.

    Notes
    -----
    Array API 2025.12: ``unstack``.

    Examples
    --------
    >>> [t.tolist() for t in dl.unstack(dl.asarray([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    x = asarray(x)
    axis = _axis(axis, x.ndim, "unstack")
    return tuple(x[_slice(x.ndim, axis, position)] for position in range(x.shape[axis]))


def expand_dims(x, /, axis=0):
    """Return a view with new dimensions of one element.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    axis : int or tuple of int, default 0
        Positions of the new dimensions in the result.

    Returns
    -------
    Tensor
        A view of the same memory.

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        A dimension is named twice.

    See Also
    --------
    squeeze : Remove dimensions of one element.

    Notes
    -----
    Array API 2025.12: ``expand_dims``.

    Examples
    --------
    >>> dl.expand_dims(dl.asarray([1, 2]), axis=(0, -1))
    Tensor([[[1],
             [2]]], shape=(1, 2, 1), device=cpu, dtype=int64)
    """
    x = asarray(x)
    ndim = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    new = set(_axes(axis, ndim, "expand_dims"))
    return x[tuple(None if d in new else slice(None) for d in range(ndim))]


def squeeze(x, /, axis=None):
    """Return a view without dimensions of one element.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    axis : int, tuple of int or None, default None
        Dimensions to remove; None removes all that have one element.

    Returns
    -------
    Tensor
        A view of the same memory.

    Raises
    ------
    ValueError
        A named dimension does not have exactly one element, or is named twice.
    IndexError
        `axis` is out of range.

    See Also
    --------
    expand_dims : Insert dimensions of one element.

    Notes
    -----
    Array API 2025.12: ``squeeze``.

    Examples
    --------
    >>> dl.squeeze(dl.asarray([[[1], [2]]]), axis=-1)
    Tensor([[1, 2]], shape=(1, 2), device=cpu, dtype=int64)
    """
    return squeeze_for("squeeze", asarray(x), axis)


def flip(x, /, axis=None):
    """Return a view with the order of elements reversed.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    axis : int, tuple of int or None, default None
        Dimensions to reverse; None reverses every dimension.

    Returns
    -------
    Tensor
        A view of the same memory, with negative strides.

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        A dimension is named twice, or `x` is packed and its last element begins inside a byte.

    See Also
    --------
    roll : Shift elements cyclically.

    Notes
    -----
    Array API 2025.12: ``flip``.

    Examples
    --------
    >>> dl.flip(dl.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([[2, 1],
            [4, 3]], shape=(2, 2), device=cpu, dtype=int64)
    """
    x = asarray(x)
    reversed_ = range(x.ndim) if axis is None else _axes(axis, x.ndim, "flip")
    return x[tuple(slice(None, None, -1 if d in reversed_ else None) for d in range(x.ndim))]


def permute_dims(x, /, axes):
    """Return a view with the dimensions in another order.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    axes : tuple of int
        For each dimension of the result, the dimension of `x` that it is.

    Returns
    -------
    Tensor
        A view of the same memory.

    Raises
    ------
    ValueError
        `axes` is not a permutation of all dimensions.
    IndexError
        An axis is out of range.

    See Also
    --------
    moveaxis : Move some dimensions and keep the order of the others.
    matrix_transpose : Swap the last two dimensions.

    Notes
    -----
    Array API 2025.12: ``permute_dims``.

    Examples
    --------
    >>> dl.permute_dims(dl.asarray([[1, 2, 3], [4, 5, 6]]), (1, 0))
    Tensor([[1, 4],
            [2, 5],
            [3, 6]], shape=(3, 2), device=cpu, dtype=int64)
    """
    return permute_for("permute_dims", asarray(x), tuple(axes))


def moveaxis(x, source, destination, /):
    """Return a view with some dimensions moved and the others in their order.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    source : int or tuple of int
        Dimensions to move.
    destination : int or tuple of int
        Their positions in the result; as many as in `source`.

    Returns
    -------
    Tensor
        A view of the same memory.

    Raises
    ------
    ValueError
        `source` and `destination` differ in length, or one names a dimension twice.
    IndexError
        An axis is out of range.

    See Also
    --------
    permute_dims : Name all dimensions in their new order.

    Notes
    -----
    Array API 2025.12: ``moveaxis``.

    Examples
    --------
    >>> dl.moveaxis(dl.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = asarray(x)
    before, after = _axes(source, x.ndim, "moveaxis"), _axes(destination, x.ndim, "moveaxis")
    if len(before) != len(after):
        raise ValueError(f"moveaxis: source {source} and destination {destination} differ in length")
    rest = iter([d for d in range(x.ndim) if d not in before])
    moved = dict(zip(after, before, strict=True))
    return permute_for("moveaxis", x, tuple([moved[d] if d in moved else next(rest) for d in range(x.ndim)]))


def matrix_transpose(x, /):
    """Return a view with the last two dimensions swapped.

    Parameters
    ----------
    x : array_like
        Matrices, of shape ``(..., rows, columns)``.

    Returns
    -------
    Tensor
        A view of the same memory, of shape ``(..., columns, rows)``.

    Raises
    ------
    ValueError
        There are fewer than two dimensions.

    See Also
    --------
    permute_dims : Permute any dimensions.

    Notes
    -----
    Array API 2025.12: ``matrix_transpose``.

    Examples
    --------
    >>> dl.matrix_transpose(dl.asarray([[1, 2, 3], [4, 5, 6]]))
    Tensor([[1, 4],
            [2, 5],
            [3, 6]], shape=(3, 2), device=cpu, dtype=int64)
    """
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, got shape {x.shape}")
    return x.mT


def reshape(x, /, shape, *, copy=None):
    """Return the elements, in C order, with another shape.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    shape : int or sequence of int
        New shape. One extent may be -1; it is computed from the others.
    copy : bool, optional
        None copies only if no view has the new shape, True always copies, False never does.

    Returns
    -------
    Tensor
        A view of the same memory where possible.

    Raises
    ------
    ValueError
        The number of elements differs, or `copy` is False and the new shape needs a copy.

    Notes
    -----
    Array API 2025.12: ``reshape``.

    Examples
    --------
    >>> dl.reshape(dl.arange(6), (2, -1))
    Tensor([[0, 1, 2],
            [3, 4, 5]], shape=(2, 3), device=cpu, dtype=int64)
    """
    return reshape_for("reshape", asarray(x), shape, copy)


def roll(x, /, shift, axis=None):
    """Return a copy with elements shifted cyclically.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    shift : int or tuple of int
        Number of positions toward higher indices, one for each axis.
    axis : int, tuple of int or None, default None
        Dimensions along which to shift. None shifts the elements in C order and keeps the shape. The shifts of a
        dimension that is named twice are added.

    Returns
    -------
    Tensor
        A copy of the shape of `x`.

    Raises
    ------
    ValueError
        `shift` and `axis` differ in length.
    IndexError
        An axis is out of range.
    TypeError
        `shift` is not an integer or a sequence of integers.

    See Also
    --------
    flip : Reverse the order of elements.

    Notes
    -----
    Array API 2025.12: ``roll``.

    Examples
    --------
    >>> dl.roll(dl.arange(5), 2)
    Tensor([3, 4, 0, 1, 2], shape=(5,), device=cpu, dtype=int64)
    """
    x = asarray(x)
    if axis is None:
        if isinstance(shift, (tuple, list)):
            raise ValueError(f"roll: shift {shift} needs as many axes; without an axis it is one integer")
        return roll(reshape_for("roll", x, (-1,)), shift, axis=0).reshape(x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if not all(hasattr(number, "__index__") for number in shifts):
        raise TypeError(f"roll: shift must be an integer or a sequence of them, got {shift!r}")
    if len(shifts) != len(axes):
        raise ValueError(f"roll: shift {shift} and axis {axis} differ in length")
    moved = [0] * x.ndim
    for by, d in zip(shifts, axes, strict=True):
        moved[_axis(d, x.ndim, "roll")] += by
    made = empty_for("roll", x.shape, x.dtype, x.device)
    # Along each dimension two pieces change places; a piece of the whole is one of each.
    pieces = []
    for size, by in zip(x.shape, moved, strict=True):
        by = by % size if size else 0
        whole = (slice(None), slice(None))
        pieces.append(
            [(slice(by, None), slice(None, size - by)), (slice(None, by), slice(size - by, None))] if by else [whole]
        )
    for piece in product(*pieces):
        made[tuple(to for to, _ in piece)] = x[tuple(source for _, source in piece)]
    return made


def repeat(x, repeats, /, axis=None):
    """Return a copy with every element repeated.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    repeats : int, or array_like of int
        Number of repetitions: one for all elements, or one for each position along `axis`, of shape ``(n,)``.
    axis : int or None, default None
        Dimension along which to repeat. None repeats the elements in C order.

    Returns
    -------
    Tensor
        A new tensor in C order.

    Raises
    ------
    ValueError
        A number of repetitions is negative, or their count is neither 1 nor the extent of the dimension.
    TypeError
        `repeats` does not consist of integers.
    IndexError
        `axis` is out of range.

    See Also
    --------
    tile : Repeat the whole tensor.

    Notes
    -----
    Array API 2025.12: ``repeat``.

    Examples
    --------
    >>> dl.repeat(dl.arange(3), 2)
    Tensor([0, 0, 1, 1, 2, 2], shape=(6,), device=cpu, dtype=int64)
    >>> dl.repeat(dl.arange(3), [0, 1, 2]).tolist()
    [1, 2, 2]
    """
    x = asarray(x)
    if axis is None:
        x, axis = reshape_for("repeat", x, (-1,)), 0
    axis = _axis(axis, x.ndim, "repeat")
    size = x.shape[axis]
    counts = repeats if isinstance(repeats, int) else asarray(repeats).tolist()
    counts = [counts] if not isinstance(counts, list) else counts
    if not all(type(count) is int for count in counts):
        raise TypeError(f"repeat: repeats must be an integer or one dimension of integers, got {repeats!r}")
    if len(counts) not in (1, size):
        raise ValueError(f"repeat: expected 1 or {size} numbers for axis {axis} of shape {x.shape}, got {len(counts)}")
    if min(counts, default=0) < 0:
        raise ValueError(f"repeat: a number of repeats must be at least 0, got {min(counts)}")
    if len(counts) == 1:
        times = counts[0]
        made = empty_for("repeat", (*x.shape[:axis], size * times, *x.shape[axis + 1 :]), x.dtype, x.device)
        if made.size > 0:
            spread = made.reshape((*x.shape[: axis + 1], times, *x.shape[axis + 1 :]))
            spread[...] = expand_dims(x, axis=axis + 1)
        return made
    made = empty_for("repeat", (*x.shape[:axis], sum(counts), *x.shape[axis + 1 :]), x.dtype, x.device)
    at = 0
    for position, times in enumerate(counts):
        made[_slice(x.ndim, axis, slice(at, at + times))] = x[_slice(x.ndim, axis, slice(position, position + 1))]
        at += times
    return made


def tile(x, repetitions, /):
    """Return a tensor that repeats the whole of `x` along its dimensions.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    repetitions : int or tuple of int
        Number of repetitions along each dimension. If it and the shape differ in length, ones are prepended to the
        shorter of them.

    Returns
    -------
    Tensor
        A new tensor in C order.

    Raises
    ------
    ValueError
        A number of repetitions is negative.
    TypeError
        `repetitions` does not consist of integers.

    See Also
    --------
    repeat : Repeat each element.

    Notes
    -----
    Array API 2025.12: ``tile``.

    Examples
    --------
    >>> dl.tile(dl.asarray([[1, 2]]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], shape=(2, 4), device=cpu, dtype=int64)
    """
    x = asarray(x)
    times = repetitions if isinstance(repetitions, (tuple, list)) else (repetitions,)
    if not all(hasattr(number, "__index__") for number in times):
        raise TypeError(f"tile: repetitions must be integers, got {repetitions!r}")
    if min(times, default=1) < 0:
        raise ValueError(f"tile: repetitions must be at least 0, got {repetitions!r}")
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + tuple(times)
    shape = (1,) * (ndim - x.ndim) + x.shape
    # A dimension that repeats gets one in front of it, so that the copies are one broadcast assignment.
    before = [
        number for size, count in zip(shape, times, strict=True) for number in ((size,) if count == 1 else (1, size))
    ]
    after = [
        number
        for size, count in zip(shape, times, strict=True)
        for number in ((size,) if count == 1 else (count, size))
    ]
    result = [size * count for size, count in zip(shape, times, strict=True)]
    made = empty_for("tile", result, x.dtype, x.device)
    if made.size > 0:
        made.reshape(after)[...] = reshape_for("tile", x, before)
    return made
