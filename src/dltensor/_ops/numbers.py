# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions of NumPy and PyTorch beyond the array API, composed of others. No loops here."""

from math import log, pi

from .._core.convert import asarray, asarrays
from . import elementwise as ops
from . import reduce
from .arguments import written
from .casting import astype, where
from .dtypes import finfo, isdtype
from .manipulation import broadcast_arrays
from .promotion import result_type
from .reduce import dtype_of_statistic

__all__ = [
    "angle", "fmax", "fmin", "fmod", "frexp", "heaviside", "ldexp", "logaddexp2", "modf", "nan_to_num",
    "real_if_close", "relu", "softplus",
]  # fmt: skip


def floats_of(x, func):
    """An operand as a tensor of floats or complex numbers: of integers as for `mean`."""
    x = reduce.computable(x, func)
    return x if isdtype(x.dtype, "complex floating") else astype(x, dtype_of_statistic(x.dtype, None), copy=False)


def real_of(x, func):
    x = floats_of(x, func)
    if isdtype(x.dtype, "complex floating"):
        raise TypeError(f"{func}: not defined for {x.dtype}; it takes bool, integers, floats")
    return x


def angle(x, /, deg=False):
    """Return the angles of complex numbers, from -pi to pi; of negative real numbers pi.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats, complex.
    deg : bool, default False
        Whether angles are in degrees, not radians.

    Returns
    -------
    Tensor
        Of the real dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype is not supported.

    Examples
    --------
    >>> dl.angle([1j, 1 + 0j])
    Tensor([1.5707964, 0.       ], shape=(2,), device=cpu, dtype=float32)
    """
    x = floats_of(x, "angle")
    is_complex = isdtype(x.dtype, "complex floating")
    angles = ops.atan2(ops.imag(x), ops.real(x)) if is_complex else ops.atan2(0.0, x)
    return ops.multiply(angles, 180 / pi) if deg else angles


def heaviside(x1, x2, /):
    """Return 0 where `x1` is negative, `x2` where it is 0, and 1 where it is positive.

    Parameters
    ----------
    x1, x2 : array_like or number
        Tensors, objects that support DLPack, or numbers: bool, integers, floats.

    Returns
    -------
    Tensor
        Of the promoted dtype, of floats; NaN where `x1` is.

    Raises
    ------
    TypeError
        An operand is not a tensor or a number, or its dtype is not supported.
    ValueError
        The shapes do not broadcast.

    Examples
    --------
    >>> dl.heaviside([-1.0, 0.0, 2.0], 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    x1, x2 = (real_of(x, "heaviside") for x in pair_of(x1, x2, "heaviside"))
    step = astype(ops.greater(x1, 0), x1.dtype)
    return where(ops.equal(x1, 0), x2, where(ops.isnan(x1), x1, step))


def pair_of(x1, x2, func):
    """Two operands as tensors of one shape; a number beside a tensor has the dtype and the device of their results."""
    numbers = [isinstance(x, (int, float, complex)) for x in (x1, x2)]
    if sum(numbers) == 1:
        other = reduce.computable(x2 if numbers[0] else x1, func)
        number = x1 if numbers[0] else x2
        number = asarray(number, dtype=result_type(other, number), device=other.device)
        return broadcast_arrays(*((number, other) if numbers[0] else (other, number)))
    return broadcast_arrays(*(reduce.computable(x, func) for x in asarrays(x1, x2)))


def _ignoring_nan(x1, x2, choose, func):
    x1, x2 = pair_of(x1, x2, func)
    result = choose(x1, x2)
    if not isdtype(result.dtype, ("real floating", "complex floating")):
        return result
    x1, x2 = astype(x1, result.dtype), astype(x2, result.dtype)
    return where(ops.not_equal(x1, x1), x2, where(ops.not_equal(x2, x2), x1, result))


def fmax(x1, x2, /):
    """Return the greater of two elements, and the other one where one is NaN.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    {heaviside: Parameters, Raises}

    {See Also: maximum}

    Examples
    --------
    >>> dl.fmax([1.0, dl.nan], [3.0, 2.0]).tolist()
    [3.0, 2.0]
    """
    return _ignoring_nan(x1, x2, ops.maximum, "fmax")


def fmin(x1, x2, /):
    """Return the lesser of two elements, and the other one where one is NaN.

    {fmax: Parameters, Returns, Raises}

    {See Also: minimum}

    Examples
    --------
    >>> dl.fmin([1.0, dl.nan], [3.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    return _ignoring_nan(x1, x2, ops.minimum, "fmin")


def fmod(x1, x2, /):
    """Return the remainder of a division that is truncated: it has the sign of the dividend, as in C.

    {fmax: Parameters, Returns, Raises}

    {See Also: remainder}

    Examples
    --------
    >>> dl.fmod([-7, 7], 3).tolist()
    [-1, 1]
    """
    x1, x2 = pair_of(x1, x2, "fmod")
    if isdtype(result_type(x1, x2), "real floating"):
        return ops.copysign(ops.remainder(ops.abs(x1), ops.abs(x2)), x1)
    rest = ops.remainder(x1, x2)
    if not isdtype(rest.dtype, "signed integer"):
        return rest
    # The sign of the divisor becomes that of the dividend; the smallest integer has no magnitude.
    other_sign = ops.logical_and(ops.not_equal(rest, 0), ops.not_equal(ops.less(x1, 0), ops.less(x2, 0)))
    return where(other_sign, ops.subtract(rest, x2), rest)


def modf(x, /):
    """Split numbers in fractions and whole numbers, both with the sign of the element.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats.

    Returns
    -------
    fractions : Tensor
        Of the dtype of `x` if it is a float one, else as for `mean`.
    whole : Tensor
        Of the same dtype.

    {angle: Raises}

    Examples
    --------
    >>> [part.tolist() for part in dl.modf([-1.5, 2.0])]
    [[-0.5, 0.0], [-1.0, 2.0]]
    """
    x = real_of(x, "modf")
    whole = ops.trunc(x)
    rest = where(ops.isinf(x), 0.0, ops.subtract(x, whole))
    return ops.copysign(rest, x), whole


def frexp(x, /):
    """Split numbers in fractions from 0.5 to 1 and exponents of 2: ``x = fraction * 2**exponent``.

    {modf: Parameters, Raises}

    Returns
    -------
    fractions : Tensor
        Of the dtype of `x` if it is a float one, else as for `mean`, with the sign of the element. What is 0, infinite
        or NaN is itself.
    exponents : Tensor
        int32; 0 where the fraction is the element itself.

    {See Also: ldexp}

    Examples
    --------
    >>> [part.tolist() for part in dl.frexp([8.0, -0.75])]
    [[0.5, -0.75], [4, 0]]
    """
    x = real_of(x, "frexp")
    wide = astype(x, "float64")
    # Subnormal numbers have no exponent in their bits: it is read after an exact product.
    small = ops.less(ops.abs(wide), 2.0**-1022)
    bits = where(small, ops.multiply(wide, 2.0**64), wide).view("int64")
    exponent = ops.bitwise_and(ops.bitwise_right_shift(bits, 52), 0x7FF)
    is_number = ops.logical_and(ops.isfinite(wide), ops.not_equal(wide, 0))
    fraction = ops.bitwise_or(ops.bitwise_and(bits, ~(0x7FF << 52)), 0x3FE << 52).view("float64")
    exponent = ops.subtract(exponent, where(small, 1022 + 64, 1022))
    return astype(where(is_number, fraction, wide), x.dtype), astype(where(is_number, exponent, 0), "int32")


def ldexp(x1, x2, /, out=None):
    """Return ``x1 * 2**x2``, rounded once.

    Parameters
    ----------
    x1 : array_like or number
        Tensor, object that supports DLPack, or number: bool, integers, floats.
    x2 : array_like or number
        The same of integers.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the dtype of `x1` if it is a float one, else as for `mean`. `out`, when it is given.

    Raises
    ------
    TypeError
        An operand is not a tensor or a number, or `x2` are not integers.
    ValueError
        The shapes do not broadcast, or `out` has another shape or is read-only.

    {See Also: frexp}

    Examples
    --------
    >>> dl.ldexp([0.5, -0.75], [4, 0]).tolist()
    [8.0, -0.75]
    """
    x1, x2 = real_of(x1, "ldexp"), reduce.computable(x2, "ldexp")
    if not isdtype(x2.dtype, "integral"):
        raise TypeError(f"ldexp: x2 must be integers, got {x2.dtype}")
    x2 = astype(ops.clip(x2, -2200, 2200), "int64")
    result = astype(x1, "float64")
    for _ in range(2):
        # Factors that keep subnormal results to the last product, which alone rounds.
        step = where(ops.less(x2, -1022), -969, where(ops.greater(x2, 1023), 1023, 0))
        result, x2 = ops.multiply(result, _power_of_two(step)), ops.subtract(x2, step)
    result = ops.multiply(result, _power_of_two(ops.clip(x2, -1022, 1023)))
    return written(astype(result, x1.dtype), out, "ldexp")


def _power_of_two(exponent):
    """2 to the power of integers from -1022 to 1023, by their bits."""
    return ops.bitwise_left_shift(ops.add(exponent, 1023), 52).view("float64")


def logaddexp2(x1, x2, /, out=None):
    """Return ``log2(2**x1 + 2**x2)``, without overflow.

    Parameters
    ----------
    {heaviside: x1}
    {ldexp: out}

    Returns
    -------
    Tensor
        Of the promoted dtype, of floats. `out`, when it is given.

    Raises
    ------
    {heaviside: TypeError}
    {ldexp: ValueError}

    {See Also: logaddexp}

    {Notes: NumPy: ``numpy.logaddexp2``. PyTorch: ``torch.logaddexp2``. Computed in float64.}

    Examples
    --------
    >>> dl.logaddexp2([0.0, 2000.0], [0.0, 2000.0]).tolist()
    [1.0, 2001.0]
    """
    x1, x2 = (real_of(x, "logaddexp2") for x in pair_of(x1, x2, "logaddexp2"))
    dtype = result_type(x1, x2)
    x1, x2 = astype(x1, "float64"), astype(x2, "float64")
    greater, distance = ops.maximum(x1, x2), ops.abs(ops.subtract(x1, x2))
    added = ops.multiply(ops.log1p(ops.exp2(ops.negative(distance))), 1 / log(2))
    # Of two equal infinities the distance is NaN.
    return written(astype(ops.add(greater, where(ops.equal(x1, x2), 1.0, added)), dtype), out, "logaddexp2")


def real_if_close(x, /, tol=100):
    """Return the real parts of complex numbers whose imaginary parts are all close to 0, else the numbers.

    Parameters
    ----------
    tol : float, default 100
        Bound of the imaginary parts: in units of the machine epsilon of the dtype where it is greater than 1.

    Returns
    -------
    Tensor
        A view of the real parts, or `x`.

    {nan_to_num: Parameters, Raises}

    Examples
    --------
    >>> dl.real_if_close([2 + 1e-9j, 3 + 0j]).tolist()
    [2.0, 3.0]
    """
    x = asarray(x)
    if not isdtype(x.dtype, "complex floating"):
        return x
    bound = tol * finfo(x.dtype).eps if tol > 1 else tol
    return x.real if reduce.all(ops.less(ops.abs(x.imag), bound)).item() else x


def nan_to_num(x, /, *, nan=0.0, posinf=None, neginf=None):
    """Replace NaN by a number, and infinities by the greatest and the least finite number.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    nan : float, default 0.0
        The number for NaN.
    posinf, neginf : float, optional
        The numbers for infinities.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a tensor.

    Examples
    --------
    >>> dl.nan_to_num([dl.nan, 1.0, dl.inf], posinf=9).tolist()
    [0.0, 1.0, 9.0]
    """
    x = asarray(x)
    if isdtype(x.dtype, "complex floating"):
        result = x.copy()
        result.real[...] = nan_to_num(x.real, nan=nan, posinf=posinf, neginf=neginf)
        result.imag[...] = nan_to_num(x.imag, nan=nan, posinf=posinf, neginf=neginf)
        return result
    if not isdtype(x.dtype, "real floating"):
        return x.copy()
    limits = finfo(x.dtype)
    infinite = where(ops.greater(x, 0), element_like(posinf, limits.max, x), element_like(neginf, limits.min, x))
    return where(ops.isnan(x), element_like(nan, 0.0, x), where(ops.isinf(x), infinite, x))


def element_like(number, otherwise, x):
    return astype(asarray(otherwise if number is None else number, dtype="float64"), x.dtype).to(x.device)


def relu(x, /, out=None):
    """Return the elements, and 0 where they are negative.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers, floats.
    {ldexp: out}

    Returns
    -------
    Tensor
        Of the dtype of `x`. `out`, when it is given.

    Raises
    ------
    {angle: TypeError}
    ValueError
        `out` has another shape or is read-only.

    Examples
    --------
    >>> dl.relu([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """
    return ops.maximum(x, 0, out=out)


def softplus(x, /, out=None):
    """Return ``log(1 + exp(x))``, without overflow.

    Parameters
    ----------
    {modf: x}

    Returns
    -------
    Tensor
        Of the dtype of `x` if it is a float one, else as for `mean`. `out`, when it is given.

    {relu: Parameters, Raises}

    {Notes: PyTorch: ``torch.nn.functional.softplus``. Computed in float64.}

    Examples
    --------
    >>> dl.softplus([0.0, 1000.0])
    Tensor([6.931472e-01, 1.000000e+03], shape=(2,), device=cpu, dtype=float32)
    """
    x = real_of(x, "softplus")
    wide = astype(x, "float64", copy=False)
    return written(astype(ops.logaddexp(wide, 0.0), x.dtype), out, "softplus")
