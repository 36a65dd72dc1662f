# SPDX-License-Identifier: Apache-2.0
"""The three transforms of tensors on a device, by cuFFT: as `_backends.Backend` has them of arrays."""

from math import prod

from .._core.convert import empty
from .._core.types import DTYPES
from .._ops import elementwise as ops
from .._ops.engine import transform
from .._ops.manipulation import permute_dims

_MOST_AXES = 3  # cuFFT's limit for one transform
_COMPLEX_OF = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128"}
_REAL_OF = {"complex64": "float32", "complex128": "float64"}


def _run(x, axes, dtype, size, forward, fresh=False):
    """The transform along at most three axes, without a factor; `size`: of the longer side along the last of them."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*kept, *axes)
    moved = permute_dims(x, order)
    if fresh or not moved.is_contiguous:
        moved = moved.copy()
    last = size // 2 + 1 if x.dtype.name not in _REAL_OF else size
    result = empty((*moved.shape[:-1], last), dtype=dtype, device=x.device)
    transform(moved, result, (*moved.shape[len(kept) : -1], size), forward)
    return permute_dims(result, tuple(order.index(axis) for axis in range(x.ndim)))


def _scaled(result, n, forward, norm):
    """Divided by 1, the root of the number of transformed elements, or that number; in C order."""
    if norm == "ortho" or forward == (norm == "forward"):
        divisor = float(n) ** 0.5 if norm == "ortho" else float(n)
        return ops.divide(result, divisor, out=empty(result.shape, dtype=result.dtype, device=result.device))
    return result if result.is_contiguous else result.copy()


def _complex(x, axes, forward):
    x = x.astype(DTYPES[_COMPLEX_OF[x.dtype.name]], copy=False)
    for first in range(0, len(axes), _MOST_AXES):
        part = axes[first : first + _MOST_AXES]
        x = _run(x, part, x.dtype, x.shape[part[-1]], forward)
    return x


def complex_to_complex(x, axes, forward, norm):
    """Transform along `axes`."""
    return _scaled(_complex(x, axes, forward), prod(x.shape[axis] for axis in axes), forward, norm)


def real_to_complex(x, axes, forward, norm):
    """Transform real numbers; of the last axis n // 2 + 1 elements remain."""
    dtype = DTYPES[_COMPLEX_OF[x.dtype.name]]
    result = _complex(_run(x, axes[-1:], dtype, x.shape[axes[-1]], True), axes[:-1], True)
    if not forward:
        result = ops.conj(result)
    return _scaled(result, prod(x.shape[axis] for axis in axes), forward, norm)


def complex_to_real(x, axes, size, forward, norm):
    """Transform to real numbers, `size` of them along the last axis; what must be real of its elements is taken so."""
    n = prod(x.shape[axis] for axis in axes[:-1]) * size
    x = _complex(x, axes[:-1], False)
    x = ops.conj(x) if forward else x.copy()  # cuFFT overwrites it
    for place in {0, size // 2} if size % 2 == 0 else {0}:
        line = x[tuple(place if axis == axes[-1] else slice(None) for axis in range(x.ndim))]
        line[...] = ops.real(line)
    return _scaled(_run(x, axes[-1:], DTYPES[_REAL_OF[x.dtype.name]], size, False, True), n, forward, norm)
