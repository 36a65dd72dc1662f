# SPDX-License-Identifier: Apache-2.0
"""Integers as NumPy computes with them beyond the array API: common divisors and bits. No loops here."""

from .._core.convert import asarray
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of
from . import elementwise as ops
from . import reduce
from .arguments import written
from .casting import astype, where
from .creation import zeros
from .dtypes import isdtype
from .manipulation import concat, moveaxis, reshape
from .numbers import pair_of
from .promotion import result_type

__all__ = ["bitwise_count", "gcd", "lcm", "packbits", "unpackbits"]

_WEIGHTS = {"big": [128, 64, 32, 16, 8, 4, 2, 1], "little": [1, 2, 4, 8, 16, 32, 64, 128]}


def _magnitude(x):
    """The absolute values of a tensor of integers, in the unsigned dtype of the same size."""
    return x if isdtype(x.dtype, "unsigned integer") else ops.abs(x).view(f"uint{x.dtype.bits}")


def _two_integers(x1, x2, func):
    """Two operands of one shape as their magnitudes in one dtype, and the dtype of the result."""
    x1, x2 = pair_of(x1, x2, func)
    for x in (x1, x2):
        if not isdtype(x.dtype, "integral"):
            raise TypeError(f"{func}: not defined for {x.dtype}; it takes integers")
    dtype = result_type(x1, x2)
    return _magnitude(astype(x1, dtype)), _magnitude(astype(x2, dtype)), dtype


def _divisor(x1, x2):
    """Greatest common divisors by Euclid's algorithm, for all elements at once."""
    while reduce.any(x2).item():
        x1, x2 = where(ops.equal(x2, 0), x1, x2), ops.remainder(x1, x2)  # a remainder by 0 is 0
    return x1


def gcd(x1, x2, /, out=None):
    """Return the greatest common divisors of the magnitudes of elements; of 0 and a number the magnitude.

    Parameters
    ----------
    x1, x2 : array_like or number
        Tensors, objects that support DLPack, or numbers: integers.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the promoted dtype. `out`, when it is given.

    Raises
    ------
    TypeError
        An operand is not a tensor or a number, or its dtype is not an integer one.
    ValueError
        The shapes do not broadcast, or `out` has another shape or is read-only.

    {See Also: lcm}

    Examples
    --------
    >>> dl.gcd([12, -18, 0], 8).tolist()
    [4, 2, 8]
    """
    x1, x2, dtype = _two_integers(x1, x2, "gcd")
    return written(_divisor(x1, x2).view(dtype), out, "gcd")


def lcm(x1, x2, /, out=None):
    """Return the least common multiples of the magnitudes of elements; 0 where one is 0. What is too large wraps.

    {gcd: Parameters, Returns, Raises}

    {See Also: gcd}

    Examples
    --------
    >>> dl.lcm([12, -18, 0], 8).tolist()
    [24, 72, 0]
    """
    x1, x2, dtype = _two_integers(x1, x2, "lcm")
    return written(ops.multiply(ops.floor_divide(x1, _divisor(x1, x2)), x2).view(dtype), out, "lcm")


def bitwise_count(x, /, out=None):
    """Return how many bits are set in the magnitudes of integers.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers.
    {gcd: out}

    Returns
    -------
    Tensor
        uint8. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor of integers.
    ValueError
        `out` has another shape or is read-only.

    Examples
    --------
    >>> dl.bitwise_count([0, 7, -8, 255]).tolist()
    [0, 3, 1, 8]
    """
    x = reduce.computable(x, "bitwise_count")
    if not isdtype(x.dtype, "integral"):
        raise TypeError(f"bitwise_count: not defined for {x.dtype}; it takes integers")
    width, bits = x.dtype.bits, _magnitude(x)
    ones = 2**width - 1
    # Sums of neighbours: of 2 bits, of 4 and of 8, then of all bytes by a product.
    bits = ops.subtract(bits, ops.bitwise_and(ops.bitwise_right_shift(bits, 1), ones // 3))
    fours = ones // 5
    bits = ops.add(ops.bitwise_and(bits, fours), ops.bitwise_and(ops.bitwise_right_shift(bits, 2), fours))
    bits = ops.bitwise_and(ops.add(bits, ops.bitwise_right_shift(bits, 4)), ones // 17)
    count = ops.bitwise_right_shift(ops.multiply(bits, ones // 255), width - 8)
    return written(astype(count, "uint8"), out, "bitwise_count")


def _weights(bitorder, device, func):
    if bitorder not in _WEIGHTS:
        raise ValueError(f"{func}: bitorder must be 'big' or 'little', got {quoted(bitorder)}")
    return asarray(_WEIGHTS[bitorder], dtype="uint8").to(device)


def _last(x, axis, func):
    """A tensor with the axis last, or the elements in one dimension for None, and the place of the axis."""
    if axis is None:
        return reshape(x, (-1,)), -1
    axis = axis_of(axis, x.ndim, func)
    return moveaxis(x, axis, -1), axis


def packbits(x, /, axis=None, bitorder="big"):
    """Pack elements into the bits of bytes, 1 for what is not 0; zeros fill the last byte.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers or bool.
    axis : int or None, default None
        Dimension to pack. None takes the elements in C order.
    bitorder : {"big", "little"}, default "big"
        Whether the first element is the highest bit of a byte or the lowest.

    Returns
    -------
    Tensor
        uint8, with an eighth of the elements along `axis`.

    Raises
    ------
    TypeError
        `x` is not a tensor of integers or bool, or `axis` is not an integer.
    ValueError
        There is no such order.
    IndexError
        `axis` is out of range.

    {See Also: unpackbits}

    Examples
    --------
    >>> dl.packbits([1, 0, 0, 0, 0, 0, 1, 1, 1]).tolist()
    [131, 128]
    """
    x = reduce.computable(x, "packbits")
    if not isdtype(x.dtype, ("integral", "bool")):
        raise TypeError(f"packbits: not defined for {x.dtype}; it takes integers and bool")
    weights = _weights(bitorder, x.device, "packbits")
    x, axis = _last(x, axis, "packbits")
    bits = ops.not_equal(x, 0)
    missing = -x.shape[-1] % 8
    if missing:
        bits = concat((bits, zeros((*x.shape[:-1], missing), dtype="bool", device=x.device)), axis=-1)
    bits = reshape(bits, (*x.shape[:-1], bits.shape[-1] // 8, 8))
    return moveaxis(reduce.sum(where(bits, weights, 0), axis=-1, dtype="uint8"), -1, axis)


def unpackbits(x, /, axis=None, count=None, bitorder="big"):
    """Return the bits of bytes as elements 0 and 1.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, of uint8.
    axis : int or None, default None
        Dimension to unpack. None takes the elements in C order.
    count : int, optional
        How many elements along `axis` to return: the first ones, and zeros after the last; a negative number leaves out
        that many at the end.
    {packbits: bitorder}

    Returns
    -------
    Tensor
        uint8, with eight times the elements along `axis`, or `count`.

    Raises
    ------
    TypeError
        `x` is not a tensor of uint8, or `axis` or `count` is not an integer.
    ValueError
        There is no such order, or `count` leaves out more elements than there are.
    {packbits: IndexError}

    {See Also: packbits}

    Examples
    --------
    >>> dl.unpackbits(dl.asarray([131], dtype="uint8")).tolist()
    [1, 0, 0, 0, 0, 0, 1, 1]
    """
    x = reduce.computable(x, "unpackbits")
    if x.dtype.name != "uint8":
        raise TypeError(f"unpackbits: not defined for {x.dtype}; it takes uint8, which x.view('uint8') gives")
    weights = _weights(bitorder, x.device, "unpackbits")
    x, axis = _last(x, axis, "unpackbits")
    bits = ops.not_equal(ops.bitwise_and(reshape(x, (*x.shape, 1)), weights), 0)
    size = x.shape[-1] * 8
    bits = reshape(astype(bits, "uint8"), (*x.shape[:-1], size))
    if count is not None:
        count = integer_of(count, "count", "unpackbits")
        if count < -size:
            raise ValueError(f"unpackbits: count must leave out at most {size} elements, got {count}")
        more = count - size
        bits = bits[..., : count if count >= 0 else size + count]
        if more > 0:
            bits = concat((bits, zeros((*x.shape[:-1], more), dtype="uint8", device=x.device)), axis=-1)
    return moveaxis(bits, -1, axis)
