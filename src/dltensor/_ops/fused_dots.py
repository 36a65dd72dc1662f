# SPDX-License-Identifier: Apache-2.0
"""Exact sums of products on devices, as fused functions. contractions.pyx imports them at the first use."""

from .._core.convert import asarray
from .._core.types import DTYPES
from . import elementwise as ops
from .casting import where
from .contractions import exact_products
from .dtypes import isdtype
from .fusing import fuse
from .manipulation import broadcast_to, flip, squeeze, stack
from .reduce import rounded_sum, sum

_PARTS = {"complex64": "float32", "complex128": "float64"}


def float_parts(x):
    """Return complex numbers with a last dimension of two floats, as a view.

    >>> float_parts(dl.asarray([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
    return x[..., None].view(_PARTS[x.dtype.name])


def each_twice(x):
    """Return each element twice along a new last dimension, as a view, and a mask of the first ones.

    >>> [t.tolist() for t in each_twice(dl.asarray([3.0]))]
    [[[3.0, 3.0]], [True, False]]
    """
    return broadcast_to(x[..., None], (*x.shape, 2)), asarray([True, False], device=x.device)


@fuse
def _narrow_dots(a, b, signs, axes, dtype):
    product = ops.multiply(_wide(a), _wide(b))
    return rounded_sum(product if signs is None else ops.multiply(product, signs), axes, dtype, "vecdot")


@fuse
def _wide_dots(a, b, signs, first, axes, dtype):
    """Dots of float64, each product twice: rounded, and what that leaves of it."""
    if signs is not None:
        b = ops.multiply(b, signs)
    product, rest = exact_products(a, b)
    return rounded_sum(where(first, product, rest), axes, dtype, "vecdot")


@fuse
def _integer_dots(a, b, dtype):
    return sum(ops.multiply(a.astype(dtype), b.astype(dtype)), axis=-1, dtype=dtype)


def _float_dots(a, b, signs, axes, dtype):
    """Exact sums of products over the last `axes` dimensions of floats, which `signs` of the last one multiply."""
    if dtype.name != "float64":
        return _narrow_dots(a, b, signs, tuple(range(-axes, 0)), dtype)
    (a, first), (b, _) = each_twice(_wide(a)), each_twice(_wide(b))
    return _wide_dots(a, b, None if signs is None else signs[:, None], first, tuple(range(-axes - 1, 0)), dtype)


def dots(a, b, dtype):
    """Return exact sums of products along the last dimension, of tensors that are not on the host."""
    if isdtype(dtype, "integral"):
        return _integer_dots(a, b, dtype)
    if dtype.name not in _PARTS:
        return _float_dots(a, b, None, 1, dtype)
    part = DTYPES[_PARTS[dtype.name]]
    a, b = [float_parts(x.astype(dtype, copy=False)) for x in (a, b)]
    # The real part adds a.real * b.real and a.imag * b.imag, the imaginary one a.real * b.imag and a.imag * -b.real.
    signs = asarray([1.0, -1.0], dtype=part, device=a.device)
    parts = [_float_dots(a, b, None, 2, part), _float_dots(a, flip(b, axis=-1), signs, 2, part)]
    return squeeze(stack(parts, axis=-1).view(dtype), -1)


def _wide(x):
    return x.astype("float64", copy=False)
