# SPDX-License-Identifier: Apache-2.0
"""The number of bytes of a shape; checked before anything is opened or allocated."""

from operator import index

from .indexing import items_of


def read_shape(shape, func):
    """Return a shape as a tuple of int; one integer is one dimension.

    >>> read_shape(3, "memmap"), read_shape([2, 3], "memmap")
    ((3,), (2, 3))
    """
    try:
        shape = (
            (index(shape),) if hasattr(shape, "__index__") else tuple(index(n) for n in items_of(shape, "shape", func))
        )
    except TypeError:
        raise TypeError(f"{func}: shape must be an integer or a sequence of integers") from None
    for place, n in enumerate(shape):
        if n < 0:
            raise ValueError(f"{func}: shape[{place}] must be at least 0, got {n}")
    return shape


def bytes_of(shape, dtype, padded, func):
    """Return the bytes that elements take, packed below a byte unless they are padded.

    >>> from dltensor._core.types import as_dtype
    >>> bytes_of((3, 3), as_dtype("int4"), False, "memmap")
    5
    """
    bits = dtype.bits * dtype.lanes
    bits = -(-bits // 8) * 8 if padded else bits
    for n in shape:
        bits *= n
    if bits >= 2**66 - 8:
        raise ValueError(f"{func}: shape {shape} of {dtype} takes more than 2^63 - 1 bytes")
    return (bits + 7) // 8
