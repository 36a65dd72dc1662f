# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides as tuples, in elements: contiguity, broadcasting, merging of dimensions. No tensors."""

from math import prod

from .types import as_dtype

__all__ = [
    "array_equals",
    "broadcast_shapes",
    "broadcast_strides",
    "coalesce",
    "contiguous_strides",
    "create_output_tensor",
    "extent",
    "is_contiguous",
    "nbytes",
    "numel",
]


# Tensors count elements and bytes in 64 bits, one of them for the sign.
_MOST = 2**63 - 1


def _counted(number, what, where):
    """A number of elements or bytes that a tensor can have."""
    if not -_MOST - 1 <= number <= _MOST:
        raise ValueError(f"{where}: {what} is beyond 2^63 - 1, the most that can be counted")
    return number


def _integers(numbers, what, where):
    try:
        made = tuple(number.__index__() for number in numbers)
    except (TypeError, AttributeError):
        raise TypeError(f"{where}: {what} must be a sequence of integers, got {numbers!r}") from None
    for number in made:
        if not -_MOST - 1 <= number <= _MOST:
            raise ValueError(f"{where}: the numbers of {what} must be from -2^63 to 2^63 - 1, got {number}")
    return made


def _shape(shape, where):
    shape = _integers(shape, "a shape", where)
    for axis, size in enumerate(shape):
        if size < 0:
            raise ValueError(f"{where}: shape[{axis}] must be at least 0, got {size}")
    return shape


def _strides(strides, shape, where):
    strides = _integers(strides, "strides", where)
    if len(strides) != len(shape):
        raise ValueError(f"{where}: shape {shape} and strides {strides} differ in length")
    return strides


def _padded(numbers, ndim, fill, align, where):
    """`numbers` brought to `ndim` entries on the side that `align` leaves open."""
    if align == "trailing":
        return (fill,) * (ndim - len(numbers)) + numbers
    if align == "leading":
        return numbers + (fill,) * (ndim - len(numbers))
    raise ValueError(f"{where}: align must be 'trailing' or 'leading', got {align!r}")


def numel(shape):
    """Return the number of elements of a shape.

    Parameters
    ----------
    shape : sequence of int
        Shape of the tensor.

    Returns
    -------
    int
        Product of the extents.

    Raises
    ------
    TypeError
        `shape` is not a sequence of integers.
    ValueError
        An extent is negative, or there are more than 2^63 - 1 elements.

    See Also
    --------
    nbytes : Return the size in bytes.

    Examples
    --------
    >>> dl.layout.numel((2, 3)), dl.layout.numel(())
    (6, 1)
    """
    shape = _shape(shape, "numel")
    return _counted(prod(shape), f"the number of elements of shape {shape}", "numel")


def nbytes(shape, dtype):
    """Return the size in bytes of contiguous elements; dtypes of fewer than 8 bits are packed.

    Parameters
    ----------
    shape : sequence of int
        Shape of the tensor.
    dtype : dtype_like
        Element type.

    Returns
    -------
    int
        Size in bytes, rounded up.

    Raises
    ------
    TypeError
        `shape` is not a sequence of integers, or `dtype` is not a dtype.
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.

    See Also
    --------
    numel : Return the number of elements.

    Examples
    --------
    >>> dl.layout.nbytes((2, 3), "float32"), dl.layout.nbytes((3,), "int4")
    (24, 2)
    """
    dtype = as_dtype(dtype, "nbytes")
    shape = _shape(shape, "nbytes")
    count = (prod(shape) * dtype.bits * dtype.lanes + 7) // 8
    return _counted(count, f"the number of bytes of shape {shape} of {dtype}", "nbytes")


def contiguous_strides(shape, order="C"):
    """Return the strides of a contiguous tensor, in elements. An extent of 0 counts as 1.

    Parameters
    ----------
    shape : sequence of int
        Shape of the tensor.
    order : {"C", "F"}, default "C"
        Whether the last index ("C") or the first ("F") varies fastest.

    Returns
    -------
    tuple of int
        Strides in elements.

    Raises
    ------
    TypeError
        `shape` is not a sequence of integers.
    ValueError
        An extent is negative, `order` is neither "C" nor "F", or a stride exceeds 2^63 - 1.

    See Also
    --------
    is_contiguous : Test strides.

    Examples
    --------
    >>> dl.layout.contiguous_strides((2, 3, 4)), dl.layout.contiguous_strides((2, 3, 4), order="F")
    ((12, 4, 1), (1, 2, 6))
    """
    shape = _shape(shape, "contiguous_strides")
    if order not in ("C", "F"):
        raise ValueError(f"contiguous_strides: order must be 'C' or 'F', got {order!r}")
    made, step = [], 1
    for size in reversed(shape) if order == "C" else shape:
        made.append(_counted(step, f"a stride of shape {shape}", "contiguous_strides"))
        step *= max(size, 1)
    return tuple(reversed(made)) if order == "C" else tuple(made)


def is_contiguous(shape, strides, order="C"):
    """Test whether elements are contiguous in an order.

    Strides of dimensions of one element are ignored; without elements all strides are.

    Parameters
    ----------
    shape : sequence of int
        Shape of the tensor.
    strides : sequence of int
        Strides in elements.
    order : {"C", "F"}, default "C"
        Whether the last index ("C") or the first ("F") varies fastest.

    Returns
    -------
    bool
        Whether the elements are contiguous.

    Raises
    ------
    TypeError
        `shape` or `strides` is not a sequence of integers.
    ValueError
        An extent is negative, the lengths differ, or `order` is neither "C" nor "F".

    See Also
    --------
    contiguous_strides : Return the strides of a contiguous tensor.

    Examples
    --------
    >>> dl.layout.is_contiguous((2, 3), (3, 1)), dl.layout.is_contiguous((2, 3), (1, 2), order="F")
    (True, True)
    """
    shape = _shape(shape, "is_contiguous")
    strides = _strides(strides, shape, "is_contiguous")
    if order not in ("C", "F"):
        raise ValueError(f"is_contiguous: order must be 'C' or 'F', got {order!r}")
    expected = contiguous_strides(shape, order)
    return 0 in shape or all(a == b for size, a, b in zip(shape, strides, expected, strict=True) if size != 1)


def broadcast_shapes(*shapes, align="trailing"):
    """Return the shape to which all shapes broadcast.

    Extents of 1 are repeated, and missing ones count as 1.

    Parameters
    ----------
    *shapes : sequence of int
        Shapes to broadcast.
    align : {"trailing", "leading"}, default "trailing"
        Whether the last dimensions are aligned, as in NumPy, or the first.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    TypeError
        A shape is not a sequence of integers.
    ValueError
        Two extents differ and neither is 1 (the message names all shapes), or there are more than 2^63 - 1 elements.

    See Also
    --------
    broadcast_strides : Return the strides of a broadcast tensor.

    Examples
    --------
    >>> dl.layout.broadcast_shapes((2, 1), (3,)), dl.layout.broadcast_shapes((2, 1), (2,), align="leading")
    ((2, 3), (2, 1))
    """
    return _common_shape("broadcast_shapes", shapes, align)


def _common_shape(where, shapes, align="trailing"):
    """Return the shape that all shapes stretch to on behalf of the function `where`, which messages name."""
    shapes = [_shape(shape, where) for shape in shapes]
    ndim = max(map(len, shapes), default=0)
    made = [1] * ndim
    for shape in shapes:
        for axis, size in enumerate(_padded(shape, ndim, 1, align, where)):
            if size != 1 and made[axis] not in (1, size):
                raise ValueError(
                    f"{where}: {', '.join(map(str, shapes))} do not broadcast: extents {made[axis]} and {size} meet in "
                    f"dimension {axis} of {ndim} ({align} dimensions aligned)"
                )
            made[axis] = size if made[axis] == 1 else made[axis]
    _counted(prod(made), f"the number of elements of shape {tuple(made)}", where)
    return tuple(made)


def broadcast_strides(shape, strides, to, align="trailing"):
    """Return the strides with which a tensor is read as if it had another shape.

    Parameters
    ----------
    shape, strides : sequence of int
        Shape and strides, in elements, of the tensor.
    to : sequence of int
        Shape to which it is broadcast.
    align : {"trailing", "leading"}, default "trailing"
        Whether the last dimensions are aligned, as in NumPy, or the first.

    Returns
    -------
    tuple of int
        Strides in elements, 0 along repeated dimensions.

    Raises
    ------
    TypeError
        An argument is not a sequence of integers.
    ValueError
        `shape` does not broadcast to `to`.

    See Also
    --------
    broadcast_shapes : Return the shape to which all shapes broadcast.

    Examples
    --------
    >>> dl.layout.broadcast_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    return _strides_over("broadcast_strides", shape, strides, to, align)


def _strides_over(where, shape, strides, to, align="trailing"):
    """Return the strides of `broadcast_strides` on behalf of the function `where`, which messages name."""
    shape = _shape(shape, where)
    strides = _strides(strides, shape, where)
    to = _shape(to, where)
    sizes = _padded(shape, len(to), 1, align, where)
    if len(sizes) != len(to) or any(size not in (1, wanted) for size, wanted in zip(sizes, to, strict=True)):
        raise ValueError(f"{where}: shape {shape} does not broadcast to {to} ({align} dimensions aligned)")
    steps = _padded(strides, len(to), 0, align, where)
    return tuple(0 if size == 1 and wanted != 1 else step for size, step, wanted in zip(sizes, steps, to, strict=True))


def coalesce(shape, strides_per_operand):
    """Merge dimensions that every operand can traverse as one, and remove those of one element.

    Parameters
    ----------
    shape : sequence of int
        Common shape of the operands.
    strides_per_operand : sequence of sequence of int
        Strides of each operand, in elements.

    Returns
    -------
    shape : tuple of int
        With as few dimensions as possible; ``(0,)`` when there is no element.
    strides_per_operand : tuple of tuple of int
        Strides with which each operand is read in the same order as before.

    Raises
    ------
    TypeError
        An argument is not a sequence of integers.
    ValueError
        An extent is negative, or strides and shape differ in length.

    Examples
    --------
    >>> dl.layout.coalesce((2, 3, 4), [(12, 4, 1), (0, 4, 1)])
    ((2, 12), ((12, 1), (0, 1)))
    """
    shape = _shape(shape, "coalesce")
    operands = [_strides(strides, shape, "coalesce") for strides in strides_per_operand]
    if 0 in shape:
        return (0,), tuple((1,) for _ in operands)
    _counted(prod(shape), f"the number of elements of shape {shape}", "coalesce")
    sizes, steps = [], [[] for _ in operands]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(made[-1] == strides[axis] * size for made, strides in zip(steps, operands, strict=True)):
            sizes[-1] *= size
            for made, strides in zip(steps, operands, strict=True):
                made[-1] = strides[axis]
        else:
            sizes.append(size)
            for made, strides in zip(steps, operands, strict=True):
                made.append(strides[axis])
    return tuple(sizes), tuple(map(tuple, steps))


def extent(shape, strides):
    """Return the range of elements that a strided tensor covers, relative to its first element.

    Parameters
    ----------
    shape : sequence of int
        Shape of the tensor.
    strides : sequence of int
        Strides in elements.

    Returns
    -------
    low : int
        Offset of the lowest element, 0 or negative; 0 when there is no element.
    high : int
        Offset of the highest element plus 1; 0 when there is no element.

    Raises
    ------
    TypeError
        An argument is not a sequence of integers.
    ValueError
        An extent is negative, or the lengths differ.

    Examples
    --------
    >>> dl.layout.extent((2, 3), (3, -1))
    (-2, 4)
    """
    shape = _shape(shape, "extent")
    strides = _strides(strides, shape, "extent")
    if 0 in shape:
        return 0, 0
    spans = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    low, high = sum(span for span in spans if span < 0), 1 + sum(span for span in spans if span > 0)
    what = f"an end of shape {shape} with strides {strides}"
    return _counted(low, what, "extent"), _counted(high, what, "extent")


def array_equals(first, second, start=0, stop=None):
    """Test whether two shapes, or two strides, are equal in a range of dimensions; an empty range is equal.

    Parameters
    ----------
    first, second : sequence of int
        Shapes or strides to compare.
    start : int, default 0
        First dimension of the range.
    stop : int, optional
        End of the range, which is excluded; None compares the rest and the lengths.

    Returns
    -------
    bool
        Whether they are equal.

    Raises
    ------
    TypeError
        An argument is not a sequence of integers.
    ValueError
        The range exceeds one of the sequences.

    Examples
    --------
    >>> dl.layout.array_equals((2, 3, 4), (7, 3, 4), 1, 3), dl.layout.array_equals((2, 3), (2, 3, 4))
    (True, False)
    """
    first, second = _integers(first, "the first", "array_equals"), _integers(second, "the second", "array_equals")
    if stop is None:
        return first[start:] == second[start:]
    if not start >= 0 or stop > min(len(first), len(second)):
        raise ValueError(f"array_equals: dimensions {start} to {stop} are not all in {first} and {second}")
    return first[start:stop] == second[start:stop]


def create_output_tensor(tensors, *, align="trailing", dtype=None, device=None):
    """Return an uninitialized tensor of the shape to which all tensors broadcast.

    Parameters
    ----------
    tensors : sequence of array_like
        Operands; None stands for an operand that is not given.
    align : {"trailing", "leading"}, default "trailing"
        Whether the last dimensions are aligned, as in NumPy, or the first.
    dtype : dtype_like, optional
        Element type; by default that of the first operand.
    device : device_like, optional
        Device; by default that of the first operand.

    Returns
    -------
    Tensor
        In C order, with undefined elements.

    Raises
    ------
    ValueError
        The shapes do not broadcast, or there is no tensor.
    MemoryError
        The allocation failed.

    See Also
    --------
    broadcast_shapes : Return the shape alone.

    Examples
    --------
    >>> dl.layout.create_output_tensor([dl.ones((4, 1)), None, dl.ones((1, 5))]).shape
    (4, 5)
    """
    from .convert import asarray, empty_for

    given = [asarray(tensor) for tensor in tensors if tensor is not None]
    if not given:
        raise ValueError("create_output_tensor: expected at least one tensor, got none")
    shape = _common_shape("create_output_tensor", [tensor.shape for tensor in given], align)
    dtype, device = given[0].dtype if dtype is None else dtype, given[0].device if device is None else device
    return empty_for("create_output_tensor", shape, dtype, device)
