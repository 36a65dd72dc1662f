# SPDX-License-Identifier: Apache-2.0
"""dl.layout once more, in plain Python with integers of any size: what the compiled functions are compared with."""

from math import prod

from dltensor import as_dtype

# Tensors count elements and bytes in 64 bits, one of them for the sign.
_MOST = 2**63 - 1


def _counted(number, what, where):
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
    if align == "trailing":
        return (fill,) * (ndim - len(numbers)) + numbers
    if align == "leading":
        return numbers + (fill,) * (ndim - len(numbers))
    raise ValueError(f"{where}: align must be 'trailing' or 'leading', got {align!r}")


def numel(shape):
    shape = _shape(shape, "numel")
    return _counted(prod(shape), f"the number of elements of shape {shape}", "numel")


def nbytes(shape, dtype):
    dtype = as_dtype(dtype, "nbytes")
    shape = _shape(shape, "nbytes")
    count = (prod(shape) * dtype.bits * dtype.lanes + 7) // 8
    return _counted(count, f"the number of bytes of shape {shape} of {dtype}", "nbytes")


def contiguous_strides(shape, order="C", where="contiguous_strides"):
    shape = _shape(shape, where)
    if order not in ("C", "F"):
        raise ValueError(f"{where}: order must be 'C' or 'F', got {order!r}")
    made, step = [], 1
    for size in reversed(shape) if order == "C" else shape:
        made.append(_counted(step, f"a stride of shape {shape}", where))
        step *= max(size, 1)
    return tuple(reversed(made)) if order == "C" else tuple(made)


def is_contiguous(shape, strides, order="C"):
    shape = _shape(shape, "is_contiguous")
    strides = _strides(strides, shape, "is_contiguous")
    if order not in ("C", "F"):
        raise ValueError(f"is_contiguous: order must be 'C' or 'F', got {order!r}")
    expected = contiguous_strides(shape, order, "is_contiguous")
    return 0 in shape or all(a == b for size, a, b in zip(shape, strides, expected, strict=True) if size != 1)


def broadcast_shapes(*shapes, align="trailing"):
    return _common_shape("broadcast_shapes", shapes, align)


def _common_shape(where, shapes, align="trailing"):
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
    return _strides_over("broadcast_strides", shape, strides, to, align)


def _strides_over(where, shape, strides, to, align="trailing"):
    shape = _shape(shape, where)
    strides = _strides(strides, shape, where)
    to = _shape(to, where)
    sizes = _padded(shape, len(to), 1, align, where)
    if len(sizes) != len(to) or any(size not in (1, wanted) for size, wanted in zip(sizes, to, strict=True)):
        raise ValueError(f"{where}: shape {shape} does not broadcast to {to} ({align} dimensions aligned)")
    steps = _padded(strides, len(to), 0, align, where)
    return tuple(0 if size == 1 and wanted != 1 else step for size, step, wanted in zip(sizes, steps, to, strict=True))


def coalesce(shape, strides_per_operand):
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
    shape = _shape(shape, "extent")
    strides = _strides(strides, shape, "extent")
    if 0 in shape:
        return 0, 0
    spans = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    low, high = sum(span for span in spans if span < 0), 1 + sum(span for span in spans if span > 0)
    what = f"an end of shape {shape} with strides {strides}"
    return _counted(low, what, "extent"), _counted(high, what, "extent")


def array_equals(first, second, start=0, stop=None):
    first, second = _integers(first, "the first", "array_equals"), _integers(second, "the second", "array_equals")
    if stop is None:
        return first[start:] == second[start:]
    if not start >= 0 or stop > min(len(first), len(second)):
        raise ValueError(f"array_equals: dimensions {start} to {stop} are not all in {first} and {second}")
    return first[start:stop] == second[start:stop]
