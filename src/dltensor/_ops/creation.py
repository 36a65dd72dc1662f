# SPDX-License-Identifier: Apache-2.0
"""Tensors made from numbers and shapes. Conversion of other objects is in _core/convert.pyx."""

from math import ceil, isfinite

from .._core.convert import asarray, empty_for, full_for
from .._core.scalars import plain_number
from .._core.types import DTYPES, as_dtype
from .._core.views import as_strided, fill_arange, move_for, raw_bytes, write_spaced
from .casting import where as choose

__all__ = [
    "arange",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def zeros(shape, *, dtype=None, device=None):
    """Return a tensor of zeros.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the tensor.
    dtype : dtype_like, default float32
        Element type. An unnamed type is filled with zero bytes.
    device : device_like, default "cpu"
        Device of the tensor.

    Returns
    -------
    Tensor
        In C order.

    Raises
    ------
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.
    MemoryError
        The allocation failed.
    DeviceError
        The device is not available.

    See Also
    --------
    empty : Return an uninitialized tensor.
    zeros_like : Take the shape from another tensor.

    Notes
    -----
    Array API 2025.12: ``zeros``.

    Examples
    --------
    >>> dl.zeros((2, 2), dtype="int8")
    Tensor([[0, 0],
            [0, 0]], shape=(2, 2), device=cpu, dtype=int8)
    """
    return _zeros("zeros", shape, dtype, device)


def _zeros(where, shape, dtype, device):
    dtype = DTYPES["float32"] if dtype is None else as_dtype(dtype, where)
    if dtype.lanes == 1 and dtype.name in DTYPES:
        return full_for(where, shape, 0, dtype, device)
    made = empty_for(where, shape, dtype, device)
    raw_bytes(made).fill(0)
    return made


def ones(shape, *, dtype=None, device=None):
    """Return a tensor of ones.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the tensor.
    dtype : dtype_like, default float32
        Element type.
    device : device_like, default "cpu"
        Device of the tensor.

    Returns
    -------
    Tensor
        In C order.

    Raises
    ------
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.
    MemoryError
        The allocation failed.
    TypeError
        The dtype cannot represent 1.
    DeviceError
        The device is not available.

    See Also
    --------
    ones_like : Take the shape from another tensor.

    Notes
    -----
    Array API 2025.12: ``ones``.

    Examples
    --------
    >>> dl.ones(3)
    Tensor([1., 1., 1.], shape=(3,), device=cpu, dtype=float32)
    """
    return full_for("ones", shape, 1, DTYPES["float32"] if dtype is None else dtype, device)


def full(shape, fill_value, *, dtype=None, device=None):
    """Return a tensor in which every element has the same value.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the tensor.
    fill_value : bool, int, float or complex
        Value of every element.
    dtype : dtype_like, optional
        Element type. By default bool, int64, float32 or complex64, by the kind of `fill_value`.
    device : device_like, default "cpu"
        Device of the tensor.

    Returns
    -------
    Tensor
        In C order.

    Raises
    ------
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.
    MemoryError
        The allocation failed.
    OverflowError
        `fill_value` is outside the range of `dtype`.
    TypeError
        `fill_value` is not a number that `dtype` can represent.
    DeviceError
        The device is not available.

    See Also
    --------
    full_like : Take the shape from another tensor.

    Notes
    -----
    Array API 2025.12: ``full``.

    Examples
    --------
    >>> dl.full((2,), 7)
    Tensor([7, 7], shape=(2,), device=cpu, dtype=int64)
    """
    return full_for("full", shape, fill_value, dtype, device)


def _like(x, dtype, device):
    x = asarray(x)
    return x.shape, x.dtype if dtype is None else dtype, x.device if device is None else device


def empty_like(x, /, *, dtype=None, device=None):
    """Return an uninitialized tensor with the shape of `x`.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    dtype : dtype_like, optional
        Element type; by default that of `x`.
    device : device_like, optional
        Device; by default that of `x`.

    Returns
    -------
    Tensor
        In C order, with undefined elements.

    Raises
    ------
    DeviceError
        The device is not available.
    TypeError
        `dtype` is not a dtype.
    MemoryError
        The allocation failed.

    See Also
    --------
    empty : Give the shape.

    Notes
    -----
    Array API 2025.12: ``empty_like``.

    Examples
    --------
    >>> made = dl.empty_like(dl.zeros((2, 3), dtype="int8"))
    >>> made.shape, made.dtype
    ((2, 3), dltensor.int8)
    """
    shape, dtype, device = _like(x, dtype, device)
    return empty_for("empty_like", shape, dtype, device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Return a tensor of zeros with the shape of `x`.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    dtype : dtype_like, optional
        Element type; by default that of `x`.
    device : device_like, optional
        Device; by default that of `x`.

    Returns
    -------
    Tensor
        In C order.

    Raises
    ------
    DeviceError
        The device is not available.
    TypeError
        `dtype` is not a dtype.
    MemoryError
        The allocation failed.

    See Also
    --------
    zeros : Give the shape.

    Notes
    -----
    Array API 2025.12: ``zeros_like``.

    Examples
    --------
    >>> dl.zeros_like(dl.ones(2))
    Tensor([0., 0.], shape=(2,), device=cpu, dtype=float32)
    """
    shape, dtype, device = _like(x, dtype, device)
    return _zeros("zeros_like", shape, dtype, device)


def ones_like(x, /, *, dtype=None, device=None):
    """Return a tensor of ones with the shape of `x`.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    dtype : dtype_like, optional
        Element type; by default that of `x`.
    device : device_like, optional
        Device; by default that of `x`.

    Returns
    -------
    Tensor
        In C order.

    Raises
    ------
    DeviceError
        The device is not available.
    TypeError
        The dtype cannot represent 1.
    MemoryError
        The allocation failed.

    See Also
    --------
    ones : Give the shape.

    Notes
    -----
    Array API 2025.12: ``ones_like``.

    Examples
    --------
    >>> dl.ones_like(dl.zeros(2))
    Tensor([1., 1.], shape=(2,), device=cpu, dtype=float32)
    """
    shape, dtype, device = _like(x, dtype, device)
    return full_for("ones_like", shape, 1, dtype, device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """Return a tensor with the shape of `x` in which every element has the same value.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    fill_value : bool, int, float or complex
        Value of every element.
    dtype : dtype_like, optional
        Element type; by default that of `x`.
    device : device_like, optional
        Device; by default that of `x`.

    Returns
    -------
    Tensor
        In C order.

    Raises
    ------
    OverflowError
        `fill_value` is outside the range of the dtype.
    TypeError
        `fill_value` is not a number that the dtype can represent.
    DeviceError
        The device is not available.
    MemoryError
        The allocation failed.

    See Also
    --------
    full : Give the shape.

    Notes
    -----
    Array API 2025.12: ``full_like``.

    Examples
    --------
    >>> dl.full_like(dl.zeros(2), 3)
    Tensor([3., 3.], shape=(2,), device=cpu, dtype=float32)
    """
    shape, dtype, device = _like(x, dtype, device)
    return full_for("full_like", shape, fill_value, dtype, device)


def _number(value, name, where, *, real=False):
    """An argument that must be a number, as one of Python's own."""
    try:
        plain = plain_number(value, where)
    except TypeError:
        plain = None
    if plain is None or (real and isinstance(plain, complex)):
        raise TypeError(f"{where}: {name} must be a {'real ' if real else ''}number, got {value!r}")
    return plain


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Return evenly spaced numbers from `start` up to, but not including, `stop`.

    Parameters
    ----------
    start : int or float
        First number. When `stop` is omitted, this is the end, and the start is 0.
    stop : int or float, optional
        End of the range, which is excluded.
    step : int or float, default 1
        Difference between consecutive numbers.
    dtype : dtype_like, optional
        Element type. By default int64 when all three arguments are integers, else float32. Integers are computed
        exactly, other numbers in double precision with one rounding at the end.
    device : device_like, default "cpu"
        Device of the tensor.

    Returns
    -------
    Tensor
        Of shape ``(ceil((stop - start) / step),)``; empty when that is negative.

    Raises
    ------
    ValueError
        `step` is 0, or an argument is not finite.
    OverflowError
        A number is outside the range of `dtype`.
    TypeError
        An argument is not a real number.
    DeviceError
        The device is not available.

    See Also
    --------
    linspace : Give the number of elements instead of the step.

    Notes
    -----
    Array API 2025.12: ``arange``.

    Examples
    --------
    >>> dl.arange(3)
    Tensor([0, 1, 2], shape=(3,), device=cpu, dtype=int64)
    >>> dl.arange(1, 2, 0.25)
    Tensor([1.  , 1.25, 1.5 , 1.75], shape=(4,), device=cpu, dtype=float32)
    """
    if stop is None:
        start, stop = 0, start
    numbers = start, stop, step = [
        _number(number, name, "arange", real=True)
        for name, number in (("start", start), ("stop", stop), ("step", step))
    ]
    whole = all(isinstance(number, int) for number in numbers)
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if not all(map(_is_finite, numbers)):
        raise ValueError(f"arange: start, stop and step must be finite, got {start}, {stop}, {step}")
    size = -((start - stop) // step) if whole else _count(start, stop, step)
    made = empty_for("arange", max(0, size), DTYPES["int64" if whole else "float32"] if dtype is None else dtype)
    if made.size > 0:
        _write_range(made, start, step, whole)
    return move_for("arange", made, device)


def _exact(number):
    """An integer or a float as a fraction. Few calls need one, and its module is slow to import."""
    from fractions import Fraction

    return Fraction(number)


def _is_finite(number):
    return isinstance(number, int) or isfinite(number)


def _count(start, stop, step):
    """How many steps there are from `start` to `stop`, as floats count them where they can."""
    try:
        return ceil((stop - start) / step)
    except (OverflowError, ValueError):
        return ceil((_exact(stop) - _exact(start)) / _exact(step))


def _write_range(made, start, step, whole):
    """Write ``start + i * step`` to a new tensor, as integers or as floats do."""
    # Both ends go through the conversion that checks the range, so that nothing in between can leave it.
    full_for("arange", (), start, made.dtype)
    try:
        plain = whole or isfinite(step * (made.size - 1) + 0.0)
    except OverflowError:
        plain = False
    if plain:
        full_for("arange", (), start + step * (made.size - 1), made.dtype)
        fill_arange(made, start, step, "arange")
    else:
        first, second = _exact(start), _exact(start) + _exact(step)
        full_for("arange", (), float(first + (second - first) * (made.size - 1)), made.dtype)
        write_spaced(made, first, second, 1, "arange")


def linspace(start, stop, /, num=50, *, dtype=None, device=None, endpoint=True):
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : int, float or complex
        Ends of the interval.
    num : int, default 50
        Number of elements.
    dtype : dtype_like, optional
        Element type. By default float32, or complex64 when an end is complex. Each element is the exact value, rounded
        once; integers are truncated.
    device : device_like, default "cpu"
        Device of the tensor.
    endpoint : bool, default True
        Whether `stop` is the last element.

    Returns
    -------
    Tensor
        Of shape ``(num,)``.

    Raises
    ------
    ValueError
        `num` is negative.
    OverflowError
        A number is outside the range of `dtype`.
    TypeError
        An end is not a number, or `num` is not an integer.
    DeviceError
        The device is not available.

    See Also
    --------
    arange : Give the step instead of the number of elements.

    Notes
    -----
    Array API 2025.12: ``linspace``.

    Examples
    --------
    >>> dl.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ], shape=(5,), device=cpu, dtype=float32)
    >>> dl.linspace(0, 1, 4, endpoint=False).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    if not hasattr(num, "__index__"):
        raise TypeError(f"linspace: num must be an integer, got {num!r}")
    if num < 0:
        raise ValueError(f"linspace: num must be at least 0, got {num}")
    num = num.__index__()
    start, stop = _number(start, "start", "linspace"), _number(stop, "stop", "linspace")
    imaginary = isinstance(start, complex) or isinstance(stop, complex)
    dtype = DTYPES["complex64" if imaginary else "float32"] if dtype is None else as_dtype(dtype, "linspace")
    made = empty_for("linspace", num, dtype)
    if num == 0:
        return move_for("linspace", made, device)
    # Both ends go through the conversion that checks the range, so that nothing in between can leave it.
    steps = max(num - 1, 1) if endpoint else num
    finite = all(_is_finite(part) for end in (start, stop) for part in _parts(end))
    first = last = full_for("linspace", (), start, dtype)
    if num > 1 and not endpoint and finite and not imaginary and dtype.name.startswith(("int", "uint")):
        # One step before `stop`, which itself may be out of range.
        start, stop = _exact(start), _exact(stop)
        full_for("linspace", (), int(start + (stop - start) * (steps - 1) / steps), dtype)
    elif num > 1 or imaginary:
        last = full_for("linspace", (), stop, dtype)
    _write_line(made, start, stop, steps, finite)
    if dtype.bits >= 8:  # the sign of 0, and what is not finite
        made[:1] = first
        if endpoint and num > 1:
            made[-1:] = last
    return move_for("linspace", made, device)


def _write_line(made, start, stop, steps, finite):
    """Write ``start + i * (stop - start) / steps`` to a new tensor."""
    if not finite:
        # The values between have some part of both ends: they are infinite or NaN.
        made.fill(start + stop)
    elif made.dtype.name.startswith("complex"):
        write_spaced(made, _parts(start), _parts(stop), steps, "linspace")
    else:
        write_spaced(made, start, stop, steps, "linspace")


def _parts(number):
    return (number.real, number.imag) if isinstance(number, complex) else (number, 0)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Return a matrix with ones on one diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_cols : int, optional
        Number of columns; by default `n_rows`.
    k : int, default 0
        Diagonal of the ones; positive above the main diagonal, negative below it.
    dtype : dtype_like, default float32
        Element type.
    device : device_like, default "cpu"
        Device of the tensor.

    Returns
    -------
    Tensor
        Of shape ``(n_rows, n_cols)``.

    Raises
    ------
    ValueError
        An extent is negative.
    TypeError
        The dtype cannot represent 1.
    DeviceError
        The device is not available.

    Notes
    -----
    Array API 2025.12: ``eye``.

    Examples
    --------
    >>> dl.eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    n_cols = n_rows if n_cols is None else n_cols
    made = _zeros("eye", (n_rows, n_cols), dtype, None)
    row, column = max(-k, 0), max(k, 0)
    length = min(n_rows - row, n_cols - column)
    if length > 0:
        as_strided(made, (length,), (n_cols + 1,), row * n_cols + column, func="eye").fill(1)
    return move_for("eye", made, device)


def meshgrid(*arrays, indexing="xy"):
    """Return the coordinates of a grid, one tensor per axis.

    Parameters
    ----------
    *arrays : array_like
        Coordinates along each axis, of shape ``(n,)``.
    indexing : {"xy", "ij"}, default "xy"
        "xy" swaps the first two dimensions of the results (Cartesian), "ij" does not (matrix indexing).

    Returns
    -------
    tuple of Tensor
        Read-only views, without a copy.

    Raises
    ------
    ValueError
        A tensor has more than one dimension, or `indexing` is neither "xy" nor "ij".

    See Also
    --------
    broadcast_arrays : Broadcast tensors to one shape.

    Notes
    -----
    Array API 2025.12: ``meshgrid``.

    Examples
    --------
    >>> x, y = dl.meshgrid(dl.arange(3), dl.arange(2))
    >>> x.tolist(), y.tolist()
    ([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    tensors = [asarray(array) for array in arrays]
    for position, t in enumerate(tensors):
        if t.ndim > 1:
            raise ValueError(f"meshgrid: expected tensors of one dimension, number {position} has shape {t.shape}")
    ndim = len(tensors)
    order = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        order[:2] = 1, 0
    shape = [tensors[d].size for d in order]
    made = []
    for position, t in enumerate(tensors):
        strides = [0] * ndim
        strides[order.index(position)] = t.strides[0] if t.ndim else 0
        made.append(as_strided(t, shape, strides, readonly=True, func="meshgrid"))
    return tuple(made)


def _triangle(x, k, lower, where):
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"{where}: expected at least 2 dimensions, got shape {x.shape}")
    if not hasattr(k, "__index__"):
        raise TypeError(f"{where}: k must be an integer, got {k!r}")
    k = k.__index__()
    n_rows, n_cols = x.shape[-2:]
    bits = x.dtype.bits * x.dtype.lanes
    if x.size > 0 and bits in (8, 16, 32, 64, 128) and x.nbytes == x.size * bits // 8:
        return _chosen(x, min(max(k, -n_rows), n_cols), lower, where)
    made = _zeros(where, x.shape, x.dtype, x.device)
    for row in range(n_rows):
        # Columns below `edge` belong to the lower triangle of this row.
        edge = min(max(row + k + (1 if lower else 0), 0), n_cols)
        part = slice(None, edge) if lower else slice(edge, None)
        made[..., row, part] = x[..., row, part]
    return made


def _chosen(x, k, lower, where):
    """The triangle in one pass: whether an element is kept depends on column less row alone, and so does the mask."""
    n_rows, n_cols = x.shape[-2:]
    kept = full_for(where, n_rows + n_cols - 1, not lower, "bool")
    # Entry i of `kept` is for column - row == i - (n_rows - 1).
    edge = n_rows + k if lower else n_rows - 1 + k
    kept[: max(edge, 0)].fill(lower)
    mask = as_strided(move_for(where, kept, x.device), (n_rows, n_cols), (-1, 1), n_rows - 1, func=where)
    bits = x.dtype.bits * x.dtype.lanes
    try:
        # As integers of the same width any dtype can be chosen from, and 0 is 0 in all of them.
        return choose(mask, x.view("complex128" if bits == 128 else f"uint{bits}"), 0).view(x.dtype)
    except MemoryError as error:
        raise MemoryError(str(error).replace("where:", f"{where}:", 1)) from None


def tril(x, /, *, k=0):
    """Return the lower triangle of matrices, with zeros above it.

    Parameters
    ----------
    x : array_like
        Matrices, of shape ``(..., rows, columns)``.
    k : int, default 0
        Highest diagonal that is kept.

    Returns
    -------
    Tensor
        A copy of the shape of `x`.

    Raises
    ------
    ValueError
        There are fewer than two dimensions.
    TypeError
        `k` is not an integer.

    See Also
    --------
    triu : Return the upper triangle.

    Notes
    -----
    Array API 2025.12: ``tril``.

    Examples
    --------
    >>> dl.tril(dl.ones((2, 3)))
    Tensor([[1., 0., 0.],
            [1., 1., 0.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    return _triangle(x, k, True, "tril")


def triu(x, /, *, k=0):
    """Return the upper triangle of matrices, with zeros below it.

    Parameters
    ----------
    x : array_like
        Matrices, of shape ``(..., rows, columns)``.
    k : int, default 0
        Lowest diagonal that is kept.

    Returns
    -------
    Tensor
        A copy of the shape of `x`.

    Raises
    ------
    ValueError
        There are fewer than two dimensions.
    TypeError
        `k` is not an integer.

    See Also
    --------
    tril : Return the lower triangle.

    Notes
    -----
    Array API 2025.12: ``triu``.

    Examples
    --------
    >>> dl.triu(dl.ones((2, 3)), k=1)
    Tensor([[0., 1., 1.],
            [0., 0., 1.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    return _triangle(x, k, False, "triu")
