# SPDX-License-Identifier: Apache-2.0
"""Sums of products along axes: vecdot, whose sums are exact, and tensordot over matmul. No loops here."""

from math import prod

from .._core.convert import asarray
from .._core.tensor import set_functions
from .._core.types import DTYPES
from . import elementwise as ops
from .casting import where
from .dtypes import isdtype
from .manipulation import axes_of, moveaxis, permute_dims, reshape, squeeze, stack
from .matmul import matmul
from .nan_reductions import written
from .promotion import result_type
from .reductions import rounded_sum, sum

__all__ = ["tensordot", "vecdot"]

_PARTS = {"complex64": "float32", "complex128": "float64"}


def _terms(a, b, narrow):
    """Float64 tensors whose exact sum is ``a * b``, for elements of 32 bits and fewer or of 64."""
    product = ops.multiply(a, b)
    if narrow:
        return [product]
    rest = ops.fma(a, b, ops.negative(product))
    return [product, where(ops.isfinite(product), rest, 0.0)]


def vecdot(x1, x2, /, *, axis=-1, out=None):
    """Return the dot product of vectors: the sum of ``conj(x1) * x2`` along `axis`.

    The products of floats of 16 and 32 bits are added exactly and rounded once; those of float64 too, where no product
    leaves the range in which its rounding error is a float64.

    Parameters
    ----------
    x1, x2 : array_like
        Tensors, or objects that support DLPack: integers, floats, complex. They promote, and broadcast except for
        `axis`, along which both have the same extent.
    axis : int, default -1
        Dimension to sum over, counted from the end: from -1 down to minus the smaller number of dimensions.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the promoted dtype; integers wrap.

    Raises
    ------
    IndexError
        `axis` is out of range.
    ValueError
        The extents along `axis` differ, the shapes do not broadcast, or `out` has another shape or is read-only.
    TypeError
        An operand is bool, there is no common dtype, or that of `out` is of a lower kind than the result's.
    DeviceError
        An operand is not on the host.

    See Also
    --------
    tensordot : Sum over several dimensions.

    Notes
    -----
    Array API 2025.12: ``vecdot``.

    Examples
    --------
    >>> dl.vecdot(dl.asarray([1.0, 2.0, 3.0]), dl.asarray([4.0, 5.0, 6.0]))
    Tensor(32., shape=(), device=cpu, dtype=float32)
    """
    a, b = asarray(x1), asarray(x2)
    limit = min(a.ndim, b.ndim)
    if not -limit <= axis < 0:
        raise IndexError(f"vecdot: axis {axis} is out of range; expected {-limit} to -1")
    dtype = result_type(a, b)
    if not isdtype(dtype, "numeric"):
        raise TypeError(f"vecdot: not defined for {dtype}; it takes integers, floats, complex")
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot: extents along axis {axis} differ: x1 has shape {a.shape}, x2 has shape {b.shape}")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if isdtype(dtype, "integral"):
        made = sum(ops.multiply(a.astype(dtype), b.astype(dtype)), axis=-1, dtype=dtype)
        return written(made, out, "vecdot")
    part = _PARTS.get(dtype.name, dtype.name)
    narrow = part != "float64"

    def wide(x):
        return x.astype("float64")

    if dtype.name not in _PARTS:
        terms = _terms(wide(a), wide(b), narrow)
        return written(rounded_sum(stack(terms, axis=-1), (-2, -1), DTYPES[part], "vecdot"), out, "vecdot")
    a, b = a.astype(dtype), b.astype(dtype)
    a_real, a_imag, b_real, b_imag = wide(ops.real(a)), wide(ops.imag(a)), wide(ops.real(b)), wide(ops.imag(b))
    made = []
    for terms in (
        _terms(a_real, b_real, narrow) + _terms(a_imag, b_imag, narrow),
        _terms(a_real, b_imag, narrow) + _terms(ops.negative(a_imag), b_real, narrow),
    ):
        made.append(rounded_sum(stack(terms, axis=-1), (-2, -1), DTYPES[part], "vecdot"))
    return written(squeeze(stack(made, axis=-1).view(dtype), -1), out, "vecdot")


def tensordot(x1, x2, /, *, axes=2, out=None):
    """Sum products over several axes of each operand: one product of matrices.

    Parameters
    ----------
    x1, x2 : array_like
        Tensors, or objects that support DLPack: integers, floats, complex.
    axes : int or tuple of two sequences of int, default 2
        How many of the last dimensions of `x1` and the first of `x2` are summed over, or which of each, in pairs.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the promoted dtype, with the dimensions of `x1` that are left, then those of `x2`.

    Raises
    ------
    IndexError
        An axis is out of range.
    ValueError
        The paired extents differ, `axes` names different numbers of dimensions, or `out` has another shape or is
        read-only.
    TypeError
        The dtypes are not supported, there is no common one, or that of `out` is of a lower kind than the result's.
    DeviceError
        An operand is not on the host.

    See Also
    --------
    vecdot : Sum over one dimension, exactly.

    Notes
    -----
    Array API 2025.12: ``tensordot``.

    Examples
    --------
    >>> dl.tensordot(dl.asarray([[1, 2], [3, 4]]), dl.asarray([10, 1]), axes=1)
    Tensor([12, 34], shape=(2,), device=cpu, dtype=int64)
    """
    a, b = asarray(x1), asarray(x2)
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes must be an integer or a pair of sequences, got {axes}")
        mine, others = (axes_of(tuple(one), x.ndim, "tensordot") for one, x in zip(axes, (a, b), strict=True))
    else:
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise IndexError(f"tensordot: axes is {axes}; expected 0 to {min(a.ndim, b.ndim)}")
        mine, others = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    if len(mine) != len(others) or [a.shape[k] for k in mine] != [b.shape[k] for k in others]:
        raise ValueError(f"tensordot: shapes {a.shape} and {b.shape} differ along axes {axes}")
    left = [k for k in range(a.ndim) if k not in mine]
    right = [k for k in range(b.ndim) if k not in others]
    depth = prod(a.shape[k] for k in mine)
    rows, columns = [a.shape[k] for k in left], [b.shape[k] for k in right]
    first = reshape(permute_dims(a, (*left, *mine)), (prod(rows), depth))
    second = reshape(permute_dims(b, (*others, *right)), (depth, prod(columns)))
    return written(reshape(matmul(first, second), (*rows, *columns)), out, "tensordot")


def dot(a, b):
    """Multiply as NumPy's ``dot``: vectors by vecdot without conjugation, else by tensordot over one dimension each.

    Raises
    ------
    ValueError
        The extents of the multiplied dimensions differ.

    Examples
    --------
    >>> dot(dl.asarray([[1, 2], [3, 4]]), dl.asarray([10, 1])).tolist()
    [12, 34]
    """
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return ops.multiply(a, b)
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(f"dot: inner dimensions differ: a has shape {a.shape}, b has shape {b.shape}")
    if a.ndim == b.ndim == 1:
        return vecdot(ops.conj(a) if isdtype(a.dtype, "complex floating") else a, b)
    return tensordot(a, b, axes=((-1,), (-2 if b.ndim > 1 else 0,)))


set_functions(dot=dot)
