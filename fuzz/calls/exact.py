# SPDX-License-Identifier: Apache-2.0
"""Sums, extremes and quantiles of NumPy arrays by exact arithmetic, in the dtypes of dltensor."""

import math
from fractions import Fraction

import numpy as np
from exact_reductions import FORMATS, quantile_of, rounded_once


def by_line(function):
    """Apply a function of a list of numbers along axes, as a reduction does; it says the dtype of the results too."""

    def reduce(x, *positional, axis=None, keepdims=False, **options):
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(range(x.ndim)[one] for one in axes)
        if len(set(axes)) < len(axes) or type(keepdims) is not bool:
            raise ValueError("refused by dltensor")
        kept = [d for d in range(x.ndim) if d not in axes]
        shape = [1 if d in axes else n for d, n in enumerate(x.shape)] if keepdims else [x.shape[d] for d in kept]
        lines = np.transpose(x, (*kept, *axes)).reshape(-1, math.prod(x.shape[d] for d in axes))
        made = [function(line.tolist(), x.dtype, *positional, **options) for line in lines]
        return np.array([value for value, _ in made], made[0][1]).reshape(shape)

    return reduce


def _special(values):
    """Add up infinities and NaN; None where there are none."""
    special = [value for value in values if not math.isfinite(value)]
    return sum(special) if special else None


@by_line
def exact_sum(values, dtype, initial=0):
    if type(initial) not in (int, float, bool):
        raise TypeError("not compared")
    values = [*values, initial]
    if dtype.kind in "biu":
        total, wide = sum(values), "uint64" if dtype.kind == "u" else "int64"
        if type(initial) is float or not np.iinfo(wide).min <= initial <= np.iinfo(wide).max:
            raise OverflowError("refused by dltensor")
        total %= 2**64
        return total - 2**64 * (wide == "int64" and total >= 2**63), wide
    special = _special(values)
    if special is not None:
        return special, dtype
    return rounded_once(sum(Fraction(float(value)) for value in values), FORMATS[dtype.name]), dtype


def statistic(dtype):
    return dtype.name if dtype.kind == "f" else "float64" if dtype.itemsize >= 4 else "float32"


@by_line
def exact_quantile(values, dtype, q=0.5):
    name = statistic(dtype)
    if any(value != value for value in values):
        return math.nan, name
    if any(0 < abs(value) < 2.0**-960 for value in values) or type(q) not in (int, float):
        raise ValueError("not compared")  # what rounding takes from a product may be no float64
    return quantile_of(sorted(values), float(q), FORMATS[name]), name
