# SPDX-License-Identifier: Apache-2.0
"""Comparison of whole tensors, within tolerances or exactly: isclose, allclose, array_equal. No loops here."""

from math import inf

from .._core.convert import asarray, asarrays, empty_for
from .._core.tensor import Tensor
from .._core.views import on_host
from . import elementwise as ops
from . import reduce
from .dtypes import isdtype
from .promotion import num_threads, result_type

__all__ = ["allclose", "array_equal", "isclose"]

_BLOCK = 1 << 16  # elements that a thread compares at a time
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


def _blocks(a, b):
    """Parts of large plain tensors, whose temporaries stay in the caches; none where they would have no use."""
    size = _BLOCK * num_threads()  # the threads share an operation on a block
    if a.size <= size or a.shape != b.shape or not all(on_host(x) and x.is_contiguous for x in (a, b)):
        return []
    return [slice(start, start + size) for start in range(0, a.size, size)]


def _wide(x):
    return x.astype("complex128" if isdtype(x.dtype, "complex floating") else "float64", copy=False)


def _close(a, b, rtol, atol, equal_nan, out):
    same = ops.equal(a, b)
    if equal_nan and (both := _both_nan(a, b)) is not None:
        same = ops.logical_or(same, both)
    wide = [_wide(x) for x in (a, b)]
    distance, size = ops.abs(ops.subtract(*wide)), ops.abs(wide[1])
    near = ops.isfinite(size)
    room = size if isinstance(rtol, float) and isinstance(atol, float) else None  # else it may be larger
    limit = ops.add(ops.multiply(size, rtol, out=room), atol, out=room)
    near = ops.logical_and(near, ops.less_equal(distance, limit))
    return ops.logical_or(same, near, out=out)


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
    rtol, atol = _tolerance(rtol, a), _tolerance(atol, a)
    blocks = _blocks(a, b) if isinstance(rtol, float) and isinstance(atol, float) else []
    if out is not None or not blocks:
        return _close(a, b, rtol, atol, equal_nan, out)
    result = empty_for("isclose", a.shape, "bool")
    flat, a, b = result.reshape((-1,)), a.reshape((-1,)), b.reshape((-1,))
    for block in blocks:
        _close(a[block], b[block], rtol, atol, equal_nan, flat[block])
    return result


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
    blocks = _blocks(a, b) if isinstance(rtol, float) and isinstance(atol, float) else []
    if not blocks:
        return bool(reduce.all(reduce.computable(_close(a, b, rtol, atol, equal_nan, None), "allclose")))
    a, b = a.reshape((-1,)), b.reshape((-1,))
    return all(bool(reduce.all(_close(a[block], b[block], rtol, atol, equal_nan, None))) for block in blocks)


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
