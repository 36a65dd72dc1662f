# SPDX-License-Identifier: Apache-2.0
"""Numbers of few bits with scales for blocks: quantize, dequantize, their product and their error. No loops here."""

from math import fsum, inf, log10, nan, sqrt
from typing import NamedTuple

from .._core.convert import asarray, empty, zeros_for
from .._core.foreign_text import quoted
from .._core.indexing import integer_of
from .._core.tensor import Tensor
from .._core.types import DTYPES, as_dtype
from . import elementwise as ops
from . import reduce
from .block_scales import (
    MOST_NUMBERS,
    RULES,
    dequantize_blocks,
    has_format,
    largest_element,
    multiply_blocks,
    multiply_float8,
    power_rule,
    quantize_blocks,
)
from .casting import astype, cast, where
from .creation import full
from .dtypes import isdtype
from .manipulation import matrix_transpose, reshape
from .matmul import matmul

__all__ = ["dequantize", "quantization_error", "quantize", "quantized_matmul"]

# Formats by name: dtype of the values, kind of the scales, elements of a block.
FORMATS = {
    "mxfp8": ("float8_e4m3fn", "power", 32),
    "mxfp8_e5m2": ("float8_e5m2", "power", 32),
    "mxfp6_e2m3": ("float6_e2m3fn", "power", 32),
    "mxfp6_e3m2": ("float6_e3m2fn", "power", 32),
    "mxfp4": ("float4_e2m1fn", "power", 32),
    "nvfp4": ("float4_e2m1fn", "two_level", 16),
}
_PRODUCT_DTYPES = ("float32", "bfloat16", "float16")
_FLOAT8 = {"float8_e4m3fn", "float8_e5m2"}
PART = 1 << 20  # elements whose errors are measured at a time
SCALE_DTYPES = {"power": "float8_e8m0fnu", "ratio": "float32", "two_level": "float8_e4m3fn"}


class Quantized(NamedTuple):
    """Numbers of few bits and the scales of their blocks.

    The real numbers are ``dequantize(*quantized)``: the values times the scale of their block, times `scale2`.
    """

    values: Tensor
    scale: Tensor
    scale2: Tensor | None = None


class QuantizationError(NamedTuple):
    """Measures of what quantization changed.

    `largest` is the largest absolute error, `relative_rms` the root of the mean square error over that of the numbers,
    `decibels` the ratio of their powers, `clamped` how many magnitudes are beyond the largest element of their block,
    `flushed` how many numbers became 0.
    """

    largest: float
    relative_rms: float
    decibels: float
    clamped: int
    flushed: int


def _read_format(format, func):
    """The dtype of the values, the kind of the scales and the elements of a block, None: the whole tensor."""
    if isinstance(format, str) and format in FORMATS:
        dtype, kind, block = FORMATS[format]
        return DTYPES[dtype], kind, block
    try:
        dtype = as_dtype(format, func)
    except TypeError:
        dtype = None
    if dtype is None or not has_format(dtype):
        raise ValueError(
            f"{func}: format must be one of {', '.join(FORMATS)}, or a signed integer or float dtype of at most 8 bits "
            f"with zero, got {quoted(format)}"
        )
    return dtype, "ratio", None


def _read_block(block, shape, func):
    """The extents of the scale, one for each dimension, of blocks that are counted from the last dimension on."""
    if not isinstance(block, (tuple, list)):
        block = (block,)
    lengths = [integer_of(length, "block", func) for length in block]
    if len(lengths) > len(shape):
        raise ValueError(f"{func}: block {tuple(lengths)} has {len(lengths)} dimensions, x has shape {shape}")
    counts = list(shape)
    for axis, length in enumerate(lengths, len(shape) - len(lengths)):
        extent = shape[axis]
        if length == -1:
            counts[axis] = 1
        elif length < 1 or extent % length:
            raise ValueError(
                f"{func}: block {tuple(lengths)} does not divide shape {shape}: dimension {axis} has {extent} "
                f"elements, a multiple of {length} is needed; use a divisor, -1 for all, or pad() x"
                if length > 0
                else f"{func}: the lengths of a block are at least 1, or -1 for a whole dimension, got {length}"
            )
        else:
            counts[axis] = extent // length
    return tuple(counts)


def quantize(x, format, *, block=None, rule="floor"):
    """Store numbers in few bits, with a scale for each block of them.

    The scale follows from the largest magnitude of the block; an element is ``x / scale`` rounded to the nearest value
    of the dtype, half to even, and clamped. A block with an infinity or NaN gets the scale NaN and elements 0. The
    table of definitions is in the guide "Quantised files".

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: integers, floats. It is converted to float32 first.
    format : str or dtype_like
        "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2": scales are powers of two, float8_e8m0fnu. "nvfp4":
        scales are float8_e4m3fn, with one float32 for the tensor. Or int8, int4, int2 or a float of 8, 6 or 4 bits with
        a scale of float32.
    block : int or sequence of int, optional
        Extents of a block along the last dimensions, -1 for a whole one; along others a block has one element. By
        default 32 elements of the last dimension, 16 for "nvfp4", and for dtypes the whole tensor.
    rule : {"floor", "even", "ceil"}, default "floor"
        The power of two of "mxfp" formats: by the exponent of the largest magnitude, as the OCP specifies; of that
        magnitude rounded to the digits of the element; or the smallest that clamps nothing. Others have one rule.

    Returns
    -------
    Quantized
        A named tuple of tensors: `values` of the shape of `x`; `scale` with one element for each block, of shape ``()``
        for one of the whole tensor; `scale2`, None except for "nvfp4".

    Raises
    ------
    ValueError
        `format` or `rule` is unknown, or `block` does not divide the shape.
    TypeError
        `x` is bool or complex, or `block` holds something else than integers.

    See Also
    --------
    dequantize : Return the numbers.
    quantization_error : Measure what was lost.

    Examples
    --------
    >>> q = dl.quantize(dl.asarray([0.5, -2.0, 3.1, 7.0]), "mxfp4", block=2)
    >>> q.values
    Tensor([ 1., -4.,  3.,  6.], shape=(4,), device=cpu, dtype=float4_e2m1fn)
    >>> q.scale
    Tensor([0.5, 1. ], shape=(2,), device=cpu, dtype=float8_e8m0fnu)
    >>> dl.dequantize(*q)
    Tensor([ 0.5, -2. ,  3. ,  6. ], shape=(4,), device=cpu, dtype=float32)
    """
    dtype, kind, usual = _read_format(format, "quantize")
    if rule not in RULES:
        raise ValueError(f"quantize: rule must be one of {', '.join(RULES)}, got {quoted(rule)}")
    x = _as_float32(x, "quantize", "x")
    whole = block is None and usual is None
    counts = (1,) * x.ndim if whole else _read_block(usual if block is None else block, x.shape, "quantize")
    scale_dtype = SCALE_DTYPES[kind]
    values = empty(x.shape, dtype=dtype, device=x.device)
    if x.size == 0:
        scale = zeros_for("quantize", counts, scale_dtype, x.device)
        scale = scale if kind == "power" else full(counts, 1.0, dtype="float32", device=x.device).astype(scale_dtype)
        second = full((), 1.0, dtype="float32", device=x.device)
    else:
        scale = empty(counts, dtype=scale_dtype, device=x.device)
        second = empty((), dtype="float32", device=x.device) if kind == "two_level" else None
        if not quantize_blocks(x, values, scale, second, kind, rule):
            values, scale, second = _composed(x, dtype, kind, rule, counts)
    return Quantized(values, reshape(scale, ()) if whole else scale, second if kind == "two_level" else None)


def _as_real(x, func, name):
    x = asarray(x)
    if not isdtype(x.dtype, ("integral", "real floating")):
        raise TypeError(f"{func}: {name} must have an integer or float dtype, got {x.dtype}; astype() it first")
    return x


def _as_float32(x, func, name):
    return astype(_as_real(x, func, name), "float32", copy=False)


def _divided(t, counts):
    """A tensor whose dimensions are split into those of blocks and those in them."""
    return reshape(t, tuple(k for n, m in zip(t.shape, counts, strict=True) for k in (m, n // m)))


def _composed(x, dtype, kind, rule, counts):
    """The values and scales of float32 as steps of a fused function, as native/ops/quantize/scales.h has them."""
    inner = _divided(x, counts)
    largest = reduce.max(ops.abs(inner), axis=tuple(range(1, inner.ndim, 2)), keepdims=True)
    finite, second = ops.isfinite(largest), None
    largest = where(finite, largest, 0.0)
    if kind == "power":
        carry, top = power_rule(rule, dtype)
        exponent = ops.subtract(ops.bitwise_right_shift(ops.add(largest.view("int32"), carry), 23), top)
        exponent = ops.maximum(exponent, 0)
        scale = where(finite, exponent, 255).astype("uint8").view("float8_e8m0fnu")
        inner = ops.multiply(inner, ops.bitwise_left_shift(ops.subtract(254, exponent), 23).view("float32"))
    elif kind == "ratio":
        scale = _ratio(largest, largest_element(dtype))
        inner, scale = ops.divide(inner, scale), where(finite, scale, nan)
    else:
        most = largest_element(dtype)
        second = _ratio(reduce.max(largest), most * largest_element(DTYPES["float8_e4m3fn"]))
        scale = cast(ops.divide(largest, ops.multiply(second, most)), "float8_e4m3fn", saturate=True).view("uint8")
        scale = where(ops.equal(largest, 0.0), 0x38, ops.maximum(scale, 1)).astype("uint8")
        both = ops.multiply(scale.view("float8_e4m3fn").astype("float32"), second)
        inner = ops.divide(inner, where(ops.equal(both, 0.0), 1.0, both))
        scale = where(finite, scale, 0x7F).astype("uint8").view("float8_e4m3fn")
    values = cast(where(finite, inner, 0.0), dtype, rounding="nearest", saturate=True)
    return reshape(values, x.shape), reshape(scale, counts), second


def _ratio(largest, most):
    scale = ops.divide(largest, most)
    return where(ops.equal(scale, 0.0), 1.0, scale)


def dequantize(values, scale, *more_scales, zero=None, dtype=None):
    """Return the numbers that values and scales of blocks stand for.

    The result is ``(values - zero) * scale * ...``, block by block, in float32 from the left, then as `dtype`.
    The shape of a scale says its blocks: along each dimension the extent of `values` is a multiple of its extent.
    ``()`` is one scale for the tensor, ``(n, 1)`` one for each row, ``(n, k // 32)`` one for 32 elements of a row.

    Parameters
    ----------
    values : array_like
        Tensor of any integer or float dtype.
    scale : array_like or float
        Scales, of any float dtype; missing dimensions are leading ones.
    *more_scales : array_like, float or None
        Further factors, such as the second scale of "nvfp4"; None is left out, so that ``dequantize(*q)`` works.
    zero : array_like or int, optional
        Zero points in the same way, subtracted first.
    dtype : dtype_like, optional
        Float dtype of the result; float32 by default.

    Returns
    -------
    Tensor
        Of the shape of `values`.

    Raises
    ------
    ValueError
        A scale does not divide the values into blocks, or has more dimensions.
    TypeError
        A dtype is bool or complex, or `dtype` is no float that is computed with.

    See Also
    --------
    quantize : The opposite.

    Examples
    --------
    >>> codes = dl.asarray([[1, -2, 3, 4]], dtype="int8")
    >>> dl.dequantize(codes, dl.asarray([[0.5, 10.0]]))
    Tensor([[ 0.5, -1. , 30. , 40. ]], shape=(1, 4), device=cpu, dtype=float32)
    >>> dl.dequantize(codes, 0.5, zero=1)
    Tensor([[ 0. , -1.5,  1. ,  1.5]], shape=(1, 4), device=cpu, dtype=float32)
    """
    dtype = as_dtype("float32" if dtype is None else dtype, "dequantize")
    if dtype not in (DTYPES["float16"], DTYPES["bfloat16"], DTYPES["float32"], DTYPES["float64"]):
        raise TypeError(f"dequantize: dtype must be float16, bfloat16, float32 or float64, got {dtype}")
    values, scales, zero = _read_scaled(values, (scale, *more_scales), zero, "dequantize")
    most = MOST_NUMBERS - (zero is not None)
    rest = scales[most:]
    out = empty(values.shape, dtype="float32" if rest else dtype, device=values.device)
    if dequantize_blocks(values, zero, scales[:most], out):
        return dequantize(out, *rest, dtype=dtype) if rest else out
    y = astype(values, "float32")
    for factor, join in [(zero, ops.subtract), *((s, ops.multiply) for s in scales)]:
        if factor is not None:
            counts = (1,) * (values.ndim - factor.ndim) + factor.shape
            inner = join(_divided(y, counts), _divided(reshape(factor, counts), counts))
            y = reshape(inner, values.shape)
    return astype(y, dtype, copy=False)


def _read_scaled(values, scales, zero, func):
    """Values, and scales and zero points that divide them into blocks."""
    values = asarray(values)
    if not isdtype(values.dtype, ("integral", "real floating")):
        raise TypeError(f"{func}: values must have an integer or float dtype, got {values.dtype}; astype() it first")
    names = ["scale", *(f"scale {k}" for k in range(2, 1 + len(scales)))]
    factors = [_blocks_of(s, name, values, func) for s, name in zip(scales, names, strict=True) if s is not None]
    return values, factors, None if zero is None else _blocks_of(zero, "zero", values, func)


def _blocks_of(number, name, values, func):
    """Scales or zero points as float32, on the device of the values, which they divide into blocks."""
    factor = _as_float32(number, func, name)
    if not isinstance(number, Tensor) and factor.ndim == 0 and factor.device != values.device:
        factor = factor.to(values.device)
    if factor.device != values.device:
        raise ValueError(f"{func}: values are on {values.device}, {name} is on {factor.device}; move it with to()")
    extents = values.shape[values.ndim - factor.ndim :] if factor.ndim <= values.ndim else ()
    if factor.ndim > values.ndim or any(n % m if m else n for n, m in zip(extents, factor.shape, strict=True)):
        raise ValueError(
            f"{func}: {name} of shape {factor.shape} does not divide values of shape {values.shape} into blocks; "
            f"each extent of the values must be a multiple of that of the scale"
        )
    return factor


def quantized_matmul(x, values, scale, *more_scales, zero=None, dtype=None):
    """Multiply by the transpose of a matrix that is stored in few bits, without a copy of it as floats.

    The result has the bits of ``matmul(x, dequantize(values, scale, *more_scales, zero=zero).mT)``. On the CPU elements
    are dequantized in registers, or part by part in the caches. One row of `x` is multiplied in the time that reading
    the values takes. On CUDA, float8_e4m3fn and float8_e5m2 of `x` and the values with scales of one element are
    multiplied by tensor cores, whose sums have about 14 bits, except inside `reproducible`.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., k)``: integers or floats, which are converted to float32 first.
    values : array_like
        Of shape ``(n, k)``, such as the weights of a layer with n outputs, of any integer or float dtype.
    scale : array_like or float
        Scales of blocks of the values, as `dequantize` takes them.
    *more_scales : array_like, float or None
        Further factors; None is left out, so that ``quantized_matmul(x, *q)`` works.
    zero : array_like or int, optional
        Zero points in the same way, subtracted first.
    dtype : {"float32", "bfloat16", "float16"}, optional
        Dtype that the product in float32 is rounded to.

    Returns
    -------
    Tensor
        Of shape ``(..., n)`` and `dtype`, float32 by default.

    Raises
    ------
    ValueError
        `values` is no matrix, its rows have another length than those of `x`, or a scale does not divide it into
        blocks.
    TypeError
        `x` is a number, a dtype is bool or complex, or `dtype` is another one.

    See Also
    --------
    quantize : Make values and scales.
    matmul : Multiply matrices of one dtype.

    Examples
    --------
    >>> weights = dl.asarray([[1.0, -2.0, 3.0, 4.0], [0.5, 0.5, 0.0, -6.0]])
    >>> q = dl.quantize(weights, "mxfp4", block=4)
    >>> dl.quantized_matmul(dl.asarray([1.0, 1.0, 1.0, 10.0]), *q)
    Tensor([ 42., -59.], shape=(2,), device=cpu, dtype=float32)
    """
    dtype = DTYPES["float32"] if dtype is None else as_dtype(dtype, "quantized_matmul")
    if dtype.name not in _PRODUCT_DTYPES:
        raise TypeError(f"quantized_matmul: dtype must be float32, bfloat16 or float16, got {dtype}; use astype()")
    x, values = _as_real(x, "quantized_matmul", "x"), asarray(values)
    if x.ndim == 0:
        raise TypeError("quantized_matmul: x needs at least one dimension, got a number; multiply() takes numbers")
    if values.ndim != 2 or values.shape[1] != x.shape[-1]:
        raise ValueError(
            f"quantized_matmul: values must be a matrix of shape (n, {x.shape[-1]}), one row for each output, for x of "
            f"shape {x.shape}, got {values.shape}; transpose or reshape them"
        )
    if x.device != values.device:
        raise ValueError(f"quantized_matmul: values are on {values.device}, x is on {x.device}; move it with to()")
    values, scales, zero = _read_scaled(values, (scale, *more_scales), zero, "quantized_matmul")
    n, k = values.shape
    shape = (*x.shape[:-1], n)
    is_float8 = {x.dtype.name, values.dtype.name} <= _FLOAT8 and all(s.size == 1 for s in scales)
    if is_float8 and zero is None and x.size > 0:
        product = multiply_float8(reshape(x, (x.size // k, k)), values, scales, dtype)
        if product is not None:
            return reshape(product, shape)
    x = astype(x, "float32", copy=False)
    if n > 1 and x.size > 0 and len(scales) + (zero is not None) <= MOST_NUMBERS:
        out = empty((x.size // k, n), dtype="float32", device=x.device)
        is_each = x.ndim == 1 or x.shape[-2] == 1
        if multiply_blocks(reshape(x, (x.size // k, k)), values, zero, scales, out, is_each):
            return astype(reshape(out, shape), dtype, copy=False)
    w = dequantize(values, *(scales or [None]), zero=zero)
    return astype(matmul(x, matrix_transpose(w)), dtype, copy=False)


def quantization_error(x, q):
    """Measure what quantization has changed.

    Parameters
    ----------
    x : array_like
        The numbers before.
    q : Quantized or sequence of array_like
        What `quantize` returned, or values and scales as `dequantize` takes them.

    Returns
    -------
    QuantizationError
        A named tuple of numbers: `largest` absolute error; `relative_rms`, the root of the mean square error over that
        of the numbers; `decibels`, the ratio of their powers; `clamped`, how many magnitudes are beyond the largest
        element of their block; `flushed`, how many numbers became 0. NaN where an element is NaN.

    Raises
    ------
    ValueError
        The shapes differ, or a scale does not divide the values into blocks.
    TypeError
        A dtype is bool or complex.

    See Also
    --------
    quantize : Make `q`.

    Examples
    --------
    >>> x = dl.asarray([0.1, -2.0, 3.1, 7.0])
    >>> error = dl.quantization_error(x, dl.quantize(x, "mxfp4", block=4))
    >>> error.clamped, error.flushed, round(error.largest, 3), round(error.decibels, 1)
    (1, 1, 1.0, 18.1)
    """
    q = tuple(q)
    x, values = asarray(x), asarray(q[0])
    if x.shape != values.shape:
        raise ValueError(f"quantization_error: x has shape {x.shape}, the values of q have {values.shape}")
    numbers = [s if s is None else asarray(s) for s in q[1:]]
    parts = [_measured(*part) for part in _row_parts(x, values, numbers)]
    if x.size == 0:
        return QuantizationError(0.0, 0.0, inf, 0, 0)
    largest, powers, errors, clamped, flushed = zip(*parts, strict=True)
    power, error = fsum(powers), fsum(errors)
    relative = error / power if power else (inf if error else 0.0)
    decibels = inf if relative == 0 else -inf if relative == inf else -10 * log10(relative)
    greatest = nan if any(part != part for part in largest) else max(largest)
    return QuantizationError(greatest, sqrt(relative), decibels, sum(clamped), sum(flushed))


def _row_parts(x, values, numbers):
    """The operands in parts of rows, so that temporaries are small; as a whole where blocks have several rows."""
    rows = x.shape[0] if x.ndim else 1
    count = max(rows * PART // max(x.size, 1), 1)
    in_rows = [s is not None and s.ndim == x.ndim and s.shape[0] == rows for s in numbers]
    is_apart = x.size // max(rows, 1) * values.dtype.bits % 8 == 0  # a row begins with a byte
    if (
        count >= rows
        or not is_apart
        or not all(cut or s is None or s.size == 1 for s, cut in zip(numbers, in_rows, strict=True))
    ):
        return [(x, values, numbers)]
    return (
        (x[at], values[at], [s[at] if cut else s for s, cut in zip(numbers, in_rows, strict=True)])
        for at in (slice(first, first + count) for first in range(0, rows, count))
    )


def _measured(x, values, numbers):
    """Largest error, sums of squares of the numbers and of the errors, and the counts, of a part."""
    x, y = _as_float32(x, "quantization_error", "x"), dequantize(values, *numbers)
    if x.size == 0:
        return 0.0, 0.0, 0.0, 0, 0
    error, magnitude, clamped = ops.abs(ops.subtract(y, x)), ops.abs(x), 0
    powers = [float(reduce.sum(ops.square(astype(t, "float64")))) for t in (x, error)]
    if has_format(values.dtype):
        most = ops.greater_equal(ops.abs(dequantize(values, 1.0)), largest_element(values.dtype))
        clamped = int(reduce.count_nonzero(ops.logical_and(most, ops.greater(magnitude, ops.abs(y)))))
    flushed = reduce.count_nonzero(ops.logical_and(ops.equal(y, 0.0), ops.greater(magnitude, 0.0)))
    return float(reduce.max(error)), *powers, clamped, int(flushed)
