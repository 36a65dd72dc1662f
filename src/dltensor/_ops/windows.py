# SPDX-License-Identifier: Apache-2.0
"""Arrays that are made: sequences by exponents, windows of signals, and elements of a buffer, as in NumPy."""

from math import log10, pi
from numbers import Complex, Real

from .._core.convert import asarray
from .._core.default_dtype import get_default_dtype
from .._core.foreign_text import quoted
from .._core.indexing import integer_of
from .._core.types import as_dtype
from . import elementwise as ops
from .casting import astype
from .creation import arange, full, linspace

__all__ = [
    "bartlett", "blackman", "frombuffer", "geomspace", "hamming", "hanning", "logspace",
]  # fmt: skip


def logspace(start, stop, num=50, *, endpoint=True, base=10.0, dtype=None):
    """Return numbers whose logarithms are evenly spaced.

    Parameters
    ----------
    start, stop : float
        Exponents of the first and the last number.
    num : int, default 50
        How many.
    endpoint : bool, default True
        Whether `stop` is the last exponent.
    base : float, default 10.0
        The base.
    dtype : dtype_like, optional
        Dtype of the result; by default `get_default_dtype`.

    Returns
    -------
    Tensor
        Of one dimension.

    Raises
    ------
    TypeError
        An argument is not a number.
    ValueError
        `num` is negative.

    {Notes: NumPy: ``numpy.logspace``. PyTorch: ``torch.logspace``. Computed in float64.}

    Examples
    --------
    >>> dl.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    exponents = linspace(start, stop, num, endpoint=endpoint, dtype="float64")
    return astype(ops.pow(float(base), exponents), get_default_dtype() if dtype is None else dtype)


def geomspace(start, stop, num=50, *, endpoint=True, dtype=None):
    """Return numbers of a geometric sequence.

    Parameters
    ----------
    start, stop : float
        The first and the last number, of one sign.
    endpoint : bool, default True
        Whether `stop` is the last number.

    {logspace: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        `num` is negative, or the numbers are 0 or differ in sign.

    {Notes: NumPy: ``numpy.geomspace``. Computed in float64.}

    Examples
    --------
    >>> dl.geomspace(1, 8, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    num = integer_of(num, "num", "geomspace")
    try:
        if any(isinstance(one, Complex) and not isinstance(one, Real) for one in (start, stop)):
            raise TypeError  # complex numbers of NumPy have a float, their real part
        start, stop = float(start), float(stop)
    except TypeError:
        message = f"geomspace: start and stop must be real numbers, got {quoted(start)} and {quoted(stop)}"
        raise TypeError(message) from None
    if not (start > 0 < stop or start < 0 > stop):
        raise ValueError(f"geomspace: start and stop must be of one sign and not 0, got {start} and {stop}")
    result = _powers(stop / start, start, stop, num, endpoint)
    if num:
        result[0] = start
    if num > 1 and endpoint:
        result[-1] = stop
    return astype(result, get_default_dtype() if dtype is None else dtype)


def _powers(ratio, start, stop, num, endpoint):
    """The numbers from `start` to `stop` with one quotient of neighbours."""
    steps = num - 1 if endpoint else num
    if not 1e-300 < ratio < 1e300:  # logarithms, as the quotient may be infinite or 0
        exponents = linspace(log10(abs(start)), log10(abs(stop)), num, endpoint=endpoint, dtype="float64")
        return ops.copysign(ops.pow(10.0, exponents), start)
    if steps > 0:
        step = ratio ** (1 / steps)
        step += (ratio / step ** (steps - 1) - step) / steps  # the root of the rounded 1 / steps is not exact
        if step**steps == ratio:  # the powers of an exact root, as 2 or 10, are exact
            return ops.multiply(ops.pow(step, arange(num, dtype="float64")), start)
    return ops.multiply(ops.pow(ratio, linspace(0, 1, num, endpoint=endpoint, dtype="float64")), start)


def _window(m, terms, func):
    """A sum of cosines over `m` points around the middle, in the default dtype."""
    m = integer_of(m, "m", func)
    if m < 2:
        return full((max(m, 0),), 1.0)
    # Angles on both sides of the middle have the same size, so that the result is symmetric to the last bit.
    at = arange(1 - m, m, 2, dtype="float64")
    result = terms[0]
    for order, factor in enumerate(terms[1:], 1):
        angle = ops.divide(ops.multiply(at, order * pi), m - 1)
        result = ops.add(ops.multiply(ops.cos(angle), factor), result)
    return astype(result, get_default_dtype())


def hanning(m, /):
    """Return the Hann window: a raised cosine that is 0 at both ends.

    Parameters
    ----------
    m : int
        Number of points.

    Returns
    -------
    Tensor
        Of the dtype `get_default_dtype`, symmetric; empty when `m` is less than 1.

    Raises
    ------
    TypeError
        `m` is not an integer.

    {Notes: NumPy: ``numpy.hanning``. Computed in float64.}

    Examples
    --------
    >>> dl.hanning(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _window(m, (0.5, 0.5), "hanning")


def hamming(m, /):
    """Return the Hamming window: a raised cosine that is not 0 at the ends.

    {hanning: Parameters, Returns, Raises}

    {Notes: NumPy: ``numpy.hamming``. Computed in float64.}

    Examples
    --------
    >>> dl.hamming(3)
    Tensor([0.08, 1.  , 0.08], shape=(3,), device=cpu, dtype=float32)
    """
    return _window(m, (0.54, 0.46), "hamming")


def blackman(m, /):
    """Return the Blackman window: a sum of two cosines.

    {hanning: Parameters, Returns, Raises}

    {Notes: NumPy: ``numpy.blackman``. Computed in float64.}

    Examples
    --------
    >>> dl.blackman(3)[1].item()
    1.0
    """
    return _window(m, (0.42, 0.5, 0.08), "blackman")


def bartlett(m, /):
    """Return the triangular window that is 0 at both ends.

    {hanning: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    m = integer_of(m, "m", "bartlett")
    if m < 2:
        return full((max(m, 0),), 1.0)
    at = linspace(-1, 1, m, dtype="float64")
    return astype(ops.subtract(1.0, ops.abs(at)), get_default_dtype())


def frombuffer(buffer, /, dtype=None, count=-1, offset=0):
    """Return a tensor over the bytes of an object with the buffer protocol, without a copy.

    Parameters
    ----------
    buffer : object
        Contiguous memory: bytes, bytearray, memoryview, mmap and the like.
    dtype : dtype_like, optional
        Dtype of the elements; by default `get_default_dtype`.
    count : int, default -1
        Number of elements; -1 takes all.
    offset : int, default 0
        Bytes before the first element.

    Returns
    -------
    Tensor
        A view of one dimension, read-only if the buffer is.

    Raises
    ------
    TypeError
        `buffer` has no buffer protocol, or a number is not an integer.
    ValueError
        The bytes are fewer than asked for, or no whole elements.

    {Notes: NumPy: ``numpy.frombuffer``, where float64 is the default. PyTorch: ``torch.frombuffer``.}

    Examples
    --------
    >>> dl.frombuffer(bytes([1, 0, 2, 0]), "int16").tolist()
    [1, 2]
    """
    if getattr(buffer, "mask", None) is not None:
        asarray(buffer)  # refuses elements that are masked, which their bytes do not show
    try:
        raw = asarray(memoryview(buffer).cast("B"))
    except TypeError:
        raise TypeError(
            f"frombuffer: expected an object with contiguous memory, got {type(buffer).__qualname__}"
        ) from None
    dtype = as_dtype(get_default_dtype() if dtype is None else dtype, "frombuffer")
    count, offset = integer_of(count, "count", "frombuffer"), integer_of(offset, "offset", "frombuffer")
    size = raw.size - offset if count < 0 else count * dtype.itemsize
    if not 0 <= offset <= raw.size or size > raw.size - offset or size % dtype.itemsize:
        raise ValueError(
            f"frombuffer: {raw.size} bytes from byte {offset} do not hold "
            f"{'whole' if count < 0 else count} elements of {dtype}"
        )
    return raw[offset : offset + size].view(dtype)
