# SPDX-License-Identifier: Apache-2.0
"""Elements rounded to a number of decimals, for ``round(t, ndigits)``. Rounding to integers is a row of ops.h."""

from .._core.convert import asarray
from .._core.indexing import integer_of
from .._core.types import DataTypeCode
from .casting import astype, copy, where
from .elementwise import add, divide, equal, floor_divide, greater, isfinite, multiply, remainder, subtract
from .elementwise import round as nearest

_INTEGERS = {DataTypeCode.kDLInt: "int64", DataTypeCode.kDLUInt: "uint64"}


def round_tensor(t, ndigits):
    """Answer ``round(t, ndigits)``: a tensor of the same shape and dtype, half to even.

    Floats are scaled by a power of ten in double precision, rounded, and scaled back, as NumPy does; integers, which
    only a negative `ndigits` changes, are rounded exactly and wrap.

    >>> round_tensor(dl.asarray([1.25, -1.75]), 1).tolist(), round_tensor(dl.asarray([25, 35]), -1).tolist()
    ([1.2000000476837158, -1.7999999523162842], [20, 40])
    """
    ndigits = integer_of(ndigits, "ndigits", "round")
    if t.dtype.code == DataTypeCode.kDLBool:
        return nearest(t)  # raises for bool
    if t.dtype.code in _INTEGERS:
        return t.copy() if ndigits >= 0 else _round_integers(t, ndigits)
    wide = astype(t, "complex128" if t.dtype.code == DataTypeCode.kDLComplex else "float64")
    # Beyond 10^308 the power overflows, and the result is the value itself or 0.
    if ndigits > 308:
        result = wide
    elif ndigits < -308:
        result = multiply(wide, 0.0)
    elif ndigits >= 0:
        result = divide(nearest(multiply(wide, 10.0**ndigits)), 10.0**ndigits)
    else:
        result = multiply(nearest(divide(wide, 10.0**-ndigits)), 10.0**-ndigits)
    return astype(where(isfinite(result), result, wide), t.dtype)


def round_to(x, decimals, out):
    """Answer ``dl.round(x, decimals, out=out)``.

    >>> round_to(dl.asarray([0.125]), 2, None).tolist()
    [0.11999999731779099]
    """
    if not integer_of(decimals, "decimals", "round"):
        return nearest(x, out)
    result = round_tensor(asarray(x), decimals)
    return result if out is None else copy(result, out)


def _round_integers(t, ndigits):
    wide = astype(t, _INTEGERS[t.dtype.code])
    ndigits = max(ndigits, -20)  # half of 10^20 is more than any number of 64 bits
    step = 10**-ndigits
    if step >= 2**63:
        # Only 10^19 is in reach of some number, and int64 lacks it: one by one, as Python's integers.
        result = asarray([round(number, ndigits) % 2**64 for number in wide.ravel().tolist()], dtype="uint64")
        return astype(result.view(wide.dtype).reshape(t.shape).to(t.device), t.dtype)
    whole = floor_divide(wide, step)
    rest = subtract(wide, multiply(whole, step))
    short = subtract(step, rest)
    odd = equal(remainder(whole, 2), 1)
    up = add(greater(rest, short), multiply(equal(rest, short), odd))
    return astype(multiply(add(whole, astype(up, wide.dtype)), step), t.dtype)
