# SPDX-License-Identifier: Apache-2.0
"""Comparison of whole tensors, within tolerances or exactly: isclose, allclose, array_equal. No loops here."""

from math import inf

from .._core.convert import asarray, asarrays
from .._core.tensor import Tensor
from .._core.views import on_host
from . import elementwise as ops
from . import reduce
from .arguments import written
from .dtypes import isdtype
from .fusing import fuse
from .promotion import result_type

__all__ = ["allclose", "array_equal", "isclose"]

_PART = 1 << 17  # elements that allclose compares before it returns early
_INEXACT = ("real floating", "complex floating")


def _pair(a, b):
    """Both operands as tensors. A float beside a tensor of floats has its dtype where that holds it, else float64."""
    a, b = asarrays(a, b, numbers=False)
    return _tensor(a, b), _tensor(b, a)


def _tensor(x, other):
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, (float, complex)):
        tensor = asarray(x)
    else:
        tensor = asarray(x, dtype="complex128" if isinstance(x, complex) else "float64")
        if isinstance(other, Tensor) and isdtype(other.dtype, _INEXACT):
            narrow = tensor.astype(result_type(other, x))
            tensor = narrow if isinstance(x, complex) or abs(narrow.item()) != inf or abs(x) == inf else tensor
    return tensor.to(other.device) if isinstance(other, Tensor) else tensor


def _tolerance(x, like):
    """A tolerance as a float, or as a tensor where there are several."""
    x = x if isinstance(x, (int, float)) else asarray(x, dtype="float64", device=like.device)
    return x if isinstance(x, Tensor) and x.ndim else float(x)


def _both_nan(a, b):
    """Test where both elements are NaN; None for dtypes without NaN."""
    if not (isdtype(a.dtype, _INEXACT) and isdtype(b.dtype, _INEXACT)):
        return None
    return ops.logical_and(ops.isnan(a), ops.isnan(b))


def _wide(x):
    return x.astype("complex128" if isdtype(x.dtype, "complex floating") else "float64", copy=False)


@fuse
def _close(a, b, rtol, atol, equal_nan):
    same = ops.equal(a, b)
    if equal_nan and (both := _both_nan(a, b)) is not None:
        same = ops.logical_or(same, both)
    a, b = _wide(a), _wide(b)
    size = ops.abs(b)
    near = ops.less_equal(ops.abs(ops.subtract(a, b)), ops.add(ops.multiply(size, rtol), atol))
    return ops.logical_or(same, ops.logical_and(ops.isfinite(size), near))


@fuse
def _all_close(a, b, rtol, atol, equal_nan):
    return reduce.all(_close(a, b, rtol, atol, equal_nan))


def isclose(a, /, b, rtol=1e-05, atol=1e-08, equal_nan=False, *, out=None):
    """Test which elements of two tensors are equal within a tolerance: ``abs(a - b) <= atol + rtol * abs(b)``.

    The tolerance is computed in float64. Infinities are close to themselves only.

    Parameters
    ----------
    a, b : array_like or number
        Tensors, objects that support DLPack, or numbers; they broadcast.
    rtol : array_like or number, default 1e-05
        Tolerance as a part of the absolute value of `b`; several broadcast with the operands.
    atol : array_like or number, default 1e-08
        Tolerance beside that; several broadcast with the operands.
    equal_nan : bool, default False
        Take NaN as close to NaN.
    out : array_like, optional
        Writable tensor of bool of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of dtype bool. `out`, when it is given.

    Raises
    ------
    TypeError
        An operand is not a tensor or a number, or there is no common dtype.
    ValueError
        The shapes do not broadcast, or `out` has another shape or is read-only.

    {See Also: allclose}

    Examples
    --------
    >>> dl.isclose(dl.asarray([1.0, 100.0, dl.nan]), dl.asarray([1.000001, 101.0, dl.nan]))
    Tensor([ True, False, False], shape=(3,), device=cpu, dtype=bool)
    """
    (a, b), equal_nan = _pair(a, b), bool(equal_nan)
    return written(_close(a, b, _tolerance(rtol, a), _tolerance(atol, a), equal_nan), out, "isclose")


def allclose(a, /, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Test whether all elements of two tensors are equal within a tolerance, as `isclose` has it.

    {isclose: Parameters, Raises}

    Returns
    -------
    bool
        True also when there are no elements.

    Raises
    ------
    ValueError
        The shapes do not broadcast.
    DeviceError
        An operand is neither on the host nor on a CUDA device.

    {See Also: isclose, array_equal}

    Examples
    --------
    >>> dl.allclose(dl.asarray([1.0, 2.0]), dl.asarray([1.000001, 2.0]))
    True
    >>> dl.allclose(dl.asarray([1.0, 2.0]), dl.asarray([1.1, 2.0]))
    False
    """
    (a, b), equal_nan = _pair(a, b), bool(equal_nan)
    rtol, atol = _tolerance(rtol, a), _tolerance(atol, a)
    plain = a.size > _PART and isinstance(rtol, float) and isinstance(atol, float) and a.shape == b.shape
    if not plain or not all(on_host(x) and x.is_contiguous for x in (a, b)):
        return bool(_all_close(a, b, rtol, atol, equal_nan))
    a, b = a.reshape((-1,)), b.reshape((-1,))
    parts = [slice(start, start + _PART) for start in range(0, a.size, _PART)]
    return all(bool(_all_close(a[part], b[part], rtol, atol, equal_nan)) for part in parts)


def array_equal(a, b, /, equal_nan=False):
    """Test whether two tensors have the same shape and equal elements.

    Parameters
    ----------
    a, b : array_like or number
        Tensors, objects that support DLPack, or numbers. Their dtypes may differ; elements are compared by exact value.
    equal_nan : bool, default False
        Take NaN as equal to NaN.

    Returns
    -------
    bool
        False when the shapes differ: nothing is broadcast.

    Raises
    ------
    {allclose: TypeError, DeviceError}

    {See Also: allclose}

    Examples
    --------
    >>> dl.array_equal(dl.asarray([1, 2]), dl.asarray([1.0, 2.0]))
    True
    >>> dl.array_equal(dl.asarray([1, 1]), dl.asarray(1))
    False
    """
    a, b = _pair(a, b)
    if a.shape != b.shape:
        return False
    same = ops.equal(a, b)
    if equal_nan and (both := _both_nan(a, b)) is not None:
        same = ops.logical_or(same, both)
    return bool(reduce.all(reduce.computable(same, "array_equal")))
