# SPDX-License-Identifier: Apache-2.0
"""Elements that masks, indices and functions select, to be read and written, as in NumPy: composed. No loops here."""

from math import prod

from .._core.convert import asarray, asarrays
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from . import elementwise as ops
from . import reduce
from .arguments import written
from .casting import astype, where
from .creation import arange, zeros
from .manipulation import broadcast_arrays, broadcast_to, expand_dims, moveaxis, reshape, stack
from .positions import flatnonzero, unravel_index
from .promotion import result_type
from .take import take_along_axis

__all__ = [
    "apply_along_axis", "choose", "one_hot", "piecewise", "place", "put_along_axis", "putmask", "select",
]  # fmt: skip


def tensor_to_write(x, func):
    """An argument that is written to: a tensor, since what else is read may be a copy."""
    if not hasattr(x, "same_memory"):
        raise TypeError(f"{func}: x must be a Tensor to write to, got {type(x).__qualname__}")
    return x


def put_along_axis(x, /, indices, values, axis=-1):
    """Write values to places along an axis, which `argsort` and `argmax` give.

    Parameters
    ----------
    x : Tensor
        Tensor to write to.
    indices : array_like of int
        Positions, with as many dimensions as `x`, which broadcast except for `axis`.
    values : array_like or number
        Broadcast to the shape of the positions.
    axis : int or None, default -1
        Dimension of the positions. None writes to the elements in C order.

    Raises
    ------
    TypeError
        `x` is not a tensor.
    ValueError
        The numbers of dimensions differ.
    IndexError
        A position or `axis` is out of range.

    Examples
    --------
    >>> t = dl.zeros((2, 2))
    >>> dl.put_along_axis(t, dl.asarray([[1], [0]]), 5.0, 1)
    >>> t.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    tensor_to_write(x, "put_along_axis")
    at = asarray(indices)
    if axis is None:
        x[tuple(unravel_index(ops.remainder(reshape(at, (-1,)), x.size), x.shape))] = values
        return
    axis = axis_of(axis, x.ndim, "put_along_axis")
    if at.ndim != x.ndim:
        raise ValueError(f"put_along_axis: x has shape {x.shape}, indices have {at.shape}; expected as many dimensions")
    try:
        x[key_along_axis(x, at, axis)] = values
    except IndexError as error:
        raise IndexError(f"put_along_axis: {error}") from None


def key_along_axis(x, at, axis):
    """The key of ``x[key]`` that selects positions `at` along an axis, and in the other dimensions their own place."""
    key = [
        reshape(arange(size), (1,) * d + (-1,) + (1,) * (x.ndim - d - 1)).to(x.device) for d, size in enumerate(x.shape)
    ]
    key[axis] = at
    return tuple(key)


def select(conditions, choices, /, default=0):
    """Return elements of the first of several choices whose condition holds.

    Parameters
    ----------
    conditions : sequence of array_like
        Masks.
    choices : sequence of array_like
        An array for each mask.
    default : array_like or number, default 0
        Elements where no condition holds.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    ValueError
        There is not a choice for each condition.
    TypeError
        A condition is not a mask, or there is no common dtype.

    Examples
    --------
    >>> x = dl.arange(4)
    >>> dl.select([x < 1, x > 2], [x, -x], 9).tolist()
    [0, 9, 9, -3]
    """
    masks, arrays = list(conditions), list(choices)
    if len(masks) != len(arrays) or not masks:
        raise ValueError(f"select: expected a choice for each condition, got {len(arrays)} for {len(masks)}")
    result = default
    for mask, array in zip(reversed(masks), reversed(arrays), strict=True):
        result = where(mask, array, result)
    return result


def one_hot(x, /, num_classes=-1):
    """Return vectors that are 1 at the place that an element says, and 0 elsewhere.

    Parameters
    ----------
    x : array_like of int
        Classes from 0 on, of any shape.
    num_classes : int, default -1
        Length of the vectors; -1 takes the greatest class and one.

    Returns
    -------
    Tensor
        int64, with one dimension more than `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor of integers.
    ValueError
        A class is negative, or not less than `num_classes`.

    {Notes: PyTorch: ``torch.nn.functional.one_hot``.}

    Examples
    --------
    >>> dl.one_hot([0, 2]).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    x, count = asarray(x), integer_of(num_classes, "num_classes", "one_hot")
    if x.dtype.kind not in "iu":
        raise TypeError(f"one_hot: x must be integers, got {x.dtype}")
    greatest = reduce.max(x, initial=0).item() if x.size else 0
    count = greatest + 1 if count < 0 else count
    if x.size and (greatest >= count or reduce.min(x).item() < 0):
        raise ValueError(f"one_hot: classes must be from 0 to {count - 1}, got {greatest} or a negative one")
    return astype(ops.equal(expand_dims(x, -1), arange(count).to(x.device)), "int64")


def line_of(values, x):
    """Values in one dimension: those that are no tensors on the device of `x`."""
    found = asarrays(x, values)[1]
    return reshape(found if hasattr(values, "ndim") else found.to(x.device), (-1,))


def _masked(x, mask, values, func):
    """The positions of a tensor that a mask selects, and the values to write there in one dimension."""
    tensor_to_write(x, func)
    mask, values = asarray(mask), line_of(values, x)
    if mask.size != x.size:
        raise ValueError(f"{func}: x has shape {x.shape}, the mask has {mask.shape}; expected as many elements")
    at = flatnonzero(mask)
    if at.size and not values.size:
        raise ValueError(f"{func}: expected values for {at.size} elements, got none")
    return at, values


def place(x, /, mask, values):
    """Write values, in order and again from the first one, to the elements that a mask selects.

    Parameters
    ----------
    {put_along_axis: x}
    mask : array_like
        As many elements as `x`, of which those that are not 0 select.
    values : array_like or number
        Elements in C order.

    Raises
    ------
    TypeError
        `x` is not a tensor, or `values` are no numbers.
    ValueError
        The numbers of elements differ, or there are no values. `x` is read-only.

    {See Also: putmask}

    {Notes: NumPy: ``numpy.place``. A value for all is ``x[mask] = value``.}

    Examples
    --------
    >>> t = dl.arange(5)
    >>> dl.place(t, t > 1, [7, 8])
    >>> t.tolist()
    [0, 1, 7, 8, 7]
    """
    at, values = _masked(x, mask, values, "place")
    if at.size:
        x[unravel_index(at, x.shape)] = values[ops.remainder(arange(at.size).to(values.device), values.size)]


def putmask(x, /, mask, values):
    """Write values to the elements that a mask selects: to each the value at its position, again from the first one.

    {place: Parameters, Raises}

    {See Also: place}

    Examples
    --------
    >>> t = dl.arange(5)
    >>> dl.putmask(t, t > 1, [7, 8])
    >>> t.tolist()
    [0, 1, 7, 8, 7]
    """
    at, values = _masked(x, mask, values, "putmask")
    if at.size:
        x[unravel_index(at, x.shape)] = values[ops.remainder(at, values.size)]


def choose(index, /, choices, out=None, mode="raise"):
    """Return for each element the one of several arrays that an integer names.

    Parameters
    ----------
    index : array_like of int
        Numbers of arrays from 0 on.
    choices : sequence of array_like
        Arrays, which broadcast to one another and to `index`.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.
    mode : {"raise", "wrap", "clip"}, default "raise"
        Numbers out of range: an error, the remainder by the number of arrays, or the first and the last array.

    Returns
    -------
    Tensor
        Of the promoted dtype of the arrays. `out`, when it is given.

    Raises
    ------
    TypeError
        `index` are not integers, or the arrays have no common dtype.
    ValueError
        A number is out of range, there is no array or no such mode, or the shapes do not broadcast.

    {See Also: select}

    Examples
    --------
    >>> dl.choose([0, 1, 1], [[1, 2, 3], [10, 20, 30]]).tolist()
    [1, 20, 30]
    """
    items = sequence_of(choices, "choices", "choose")
    arrays = asarrays(*(asarray(choices) if items is None else items))
    count = len(arrays)
    if not count or mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: expected arrays and mode 'raise', 'wrap' or 'clip', got {count} and {quoted(mode)}")
    at = asarray(index)
    if at.dtype.kind not in "iu":
        raise TypeError(f"choose: index must be integers, got {at.dtype}")
    at = at.astype("int64")
    if mode == "raise":
        if at.size and (reduce.min(at).item() < 0 or reduce.max(at).item() >= count):
            raise ValueError(f"choose: index must be from 0 to {count - 1}; give mode='wrap' or 'clip'")
    else:
        at = ops.remainder(at, count) if mode == "wrap" else ops.clip(at, 0, count - 1)
    plain = (bool, int, float, complex)
    weak = [item if type(item) in plain else one for item, one in zip(items or arrays, arrays, strict=True)]
    dtype = result_type(*(arrays if all(type(item) in plain for item in weak) else weak))
    arrays = [asarray(x, dtype=dtype, device=at.device) if type(x) in plain else x for x in weak]
    at, *arrays = broadcast_arrays(at, *arrays)
    rows = stack([astype(one, dtype, copy=False) for one in arrays])
    return written(take_along_axis(rows, expand_dims(at, 0), axis=0)[0], out, "choose")


def _masks_of(conditions, ndim):
    """The conditions of `piecewise`: items of a sequence or rows of a tensor, or one mask that is none of these."""
    if hasattr(conditions, "ndim"):
        return [conditions] if conditions.ndim <= ndim else list(asarray(conditions))
    items = sequence_of(conditions, "conditions", "piecewise")
    return [conditions] if items is None or (ndim and items and isinstance(items[0], (bool, int))) else items


def _flat_mask(mask, shape):
    return reshape(broadcast_to(ops.not_equal(asarray(mask), 0), shape), (-1,))


def piecewise(x, conditions, functions, /, *args, **kwargs):
    """Evaluate a function for the elements of each of several conditions.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    conditions : sequence of array_like
        Masks of the shape of `x`; the last one that holds counts. One mask needs no sequence.
    functions : sequence of callable or number
        A function of the selected elements, or a number, for each condition; one more is for elements without a
        condition, where 0 is otherwise.
    *args, **kwargs : object
        Further arguments of the functions.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    {put_along_axis: TypeError}
    ValueError
        There is not a function for each condition, or not one more.

    {See Also: select}

    Examples
    --------
    >>> x = dl.asarray([-2.0, 0.5, 3.0])
    >>> dl.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * 10, 0]).tolist()
    [-1.0, 0.0, 30.0]
    """
    x, functions = asarray(x), list(functions)
    masks = [_flat_mask(mask, x.shape) for mask in _masks_of(conditions, x.ndim)]
    if masks and len(functions) == len(masks) + 1:
        covered = masks[0]
        for mask in masks[1:]:
            covered = ops.logical_or(covered, mask)
        masks.append(ops.logical_not(covered))
    if not masks or len(functions) != len(masks):
        raise ValueError(
            f"piecewise: expected a function for each of {len(masks)} conditions, or one more, got {len(functions)}"
        )
    shape, x = x.shape, reshape(x, (-1,))
    result = zeros(x.shape, dtype=x.dtype, device=x.device)
    for mask, function in zip(masks, functions, strict=True):
        result[mask] = function(x[mask], *args, **kwargs) if callable(function) else function
    return reshape(result, shape)


def apply_along_axis(function, /, axis, x, *args, **kwargs):
    """Call a function for each line of elements along an axis, and join its results.

    Parameters
    ----------
    function : callable
        Takes a view of one dimension; returns a number or a tensor, of the same shape for all lines.
    axis : int
        Dimension along which lines are taken.
    {piecewise: x}
    *args, **kwargs : object
        Further arguments of the function.

    Returns
    -------
    Tensor
        Of the shape of `x`, where the dimensions of the results of the function are in place of `axis`.

    Raises
    ------
    TypeError
        `x` is not a tensor, or `axis` is not an integer.
    IndexError
        `axis` is out of range.
    ValueError
        There is no line.

    {Notes: NumPy: ``numpy.apply_along_axis``. A function of this package with ``axis=`` computes all lines at once.}

    Examples
    --------
    >>> dl.apply_along_axis(lambda line: line[0] + line[-1], 1, [[1, 2, 3], [4, 5, 6]]).tolist()
    [4, 10]
    """
    x = asarray(x)
    axis = axis_of(axis, x.ndim, "apply_along_axis")
    lines = moveaxis(x, axis, -1)
    before = lines.shape[:-1]
    if 0 in before:
        raise ValueError(f"apply_along_axis: expected lines along axis {axis}, got shape {x.shape}")
    lines = reshape(lines, (prod(before), lines.shape[-1]))
    results = stack([asarray(function(line, *args, **kwargs)) for line in lines])
    results = reshape(results, (*before, *results.shape[1:]))
    inner = results.ndim - len(before)
    return moveaxis(results, range(len(before), results.ndim), range(axis, axis + inner))
