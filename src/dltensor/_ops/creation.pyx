# SPDX-License-Identifier: Apache-2.0
"""Tensors from numbers and shapes. Conversion of other objects is in _core/convert.pyx."""

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.math cimport INFINITY, NAN, ceil, copysign, frexp, isfinite, nextafter
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from .._core.convert cimport as_tensor, empty_for, full_for, zeros_for
from .._core.default_dtype cimport default_real
from .._core.indexing cimport Place, integer_of
from .._core.native cimport (COMPLEX, REAL, SIGNED, TRUNCATE, UNSIGNED, Kind, Scalar, computed_types, find_type,
                             is_contiguous, numel, store_scalar, type_complex128, type_float32, type_float64,
                             type_int64, type_table)
from .._core.scalars cimport plain_number, store_element
from .._core.signals cimport check_signals
from .._core.tensor cimport Tensor, assign, assign_scalar, new_empty, new_zeros, on_device, view_of
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLDataType, DLDevice, dtype_of, kDLCPU,
                            kDLFloat, read_device, read_dtype)
from .arguments cimport read_owned
from .engine cimport (EngineOperand, EngineTable, LaunchContext, PyThreadState, Ramp, Status, StepForm, Steps,
                      engine_at, finish, release_gil)

from .._core.convert import asarray
from .._core.foreign_text import quoted
from .._core.types import DTYPES, as_dtype
from .._core.views import as_strided, move_for
from .casting import where as choose
from .manipulation import with_bytes

cdef object _HALF = 1 << 63           # beyond the largest int64
cdef object _LOW = (1 << 64) - 1      # the bits that are kept
cdef int64_t _SMALL_TRIANGLE = 8192   # bytes whose rows are copied one by one
cdef int64_t _NEAR = <int64_t>1 << 61  # ends of ranges below it have differences in 64 bits


cdef object _float32 = DTYPES["float32"]
cdef object _float64 = DTYPES["float64"]
cdef object _int64 = DTYPES["int64"]

cdef inline object _default_real():
    return _float32 if default_real() == type_float32 else _float64


def zeros(shape, dtype=None, *, device=None):
    """Return a tensor of zeros.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the tensor; its extents may come one by one, as in ``zeros(2, 3)``.
    dtype : dtype_like, optional
        Element type; by default `get_default_dtype`, float32 unless another one was chosen. An unnamed type is
        filled with zero bytes.
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

    {See Also: convert.empty, zeros_like}

    Examples
    --------
    >>> dl.zeros((2, 2), dtype="int8")
    Tensor([[0, 0],
            [0, 0]], shape=(2, 2), device=cpu, dtype=int8)
    """
    return zeros_for("zeros", shape, dtype, device)


def ones(shape, dtype=None, *, device=None):
    """Return a tensor of ones.

    Parameters
    ----------
    dtype : dtype_like, optional
        Element type; by default `get_default_dtype`, float32 unless another one was chosen.

    {full: Parameters, Returns}

    Raises
    ------
    {zeros: ValueError, MemoryError}
    TypeError
        The dtype cannot represent 1.
    {zeros: DeviceError}

    {See Also: ones_like}

    Examples
    --------
    >>> dl.ones(3)
    Tensor([1., 1., 1.], shape=(3,), device=cpu, dtype=float32)
    """
    return full_for("ones", shape, 1, _default_real() if dtype is None else dtype, device)


def full(shape, fill_value, dtype=None, *, device=None):
    """Return a tensor in which every element has the same value.

    Parameters
    ----------
    fill_value : bool, int, float or complex
        Value of every element.
    dtype : dtype_like, optional
        Element type. By default bool, int64, `get_default_dtype` or the complex dtype of its width, by the kind of
        `fill_value`.

    {zeros: Parameters, Returns}

    Raises
    ------
    {zeros: ValueError, MemoryError}
    OverflowError
        `fill_value` is outside the range of an integer dtype, or an integer that no float holds.
    TypeError
        `fill_value` is not a number that `dtype` can represent.
    {zeros: DeviceError}

    {See Also: full_like}

    Examples
    --------
    >>> dl.full((2,), 7)
    Tensor([7, 7], shape=(2,), device=cpu, dtype=int64)
    """
    return full_for("full", shape, fill_value, dtype, device)


cdef struct _Form:
    DLDataType dtype
    DLDevice device


cdef _Form _form(Tensor x, object dtype, object device, str func) except *:
    """The dtype and the device of a tensor like `x`."""
    cdef _Form result = _Form(x.impl.dl.dtype, x.impl.dl.device)
    if dtype is not None:
        result.dtype = read_dtype(dtype, func)
    if device is not None:
        result.device = read_device(device, func)
    return result


cdef Tensor _empty_like(object x, object dtype, object device, str func):
    cdef Tensor source = as_tensor(x)
    cdef _Form form = _form(source, dtype, device, func)
    return new_empty(source.impl.dl.ndim, source.impl.dl.shape, form.dtype, form.device, func)


cdef Tensor _zeros_like(object x, object dtype, object device, str func):
    cdef Tensor source = as_tensor(x)
    cdef _Form form = _form(source, dtype, device, func)
    return new_zeros(source.impl.dl.ndim, source.impl.dl.shape, form.dtype, form.device, func)


cdef Tensor _full_like(object x, object number, object dtype, object device, str func):
    cdef Tensor source = as_tensor(x), result
    number = plain_number(number, func)
    result = _empty_like(source, dtype, device, func)
    assign_scalar(result, number, func)
    return result


def empty_like(x, /, dtype=None, *, device=None):
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
    {zeros: DeviceError}
    TypeError
        `dtype` is not a dtype.
    {zeros: MemoryError}

    {See Also: convert.empty}

    Examples
    --------
    >>> x = dl.empty_like(dl.zeros((2, 3), dtype="int8"))
    >>> x.shape, x.dtype
    ((2, 3), dltensor.int8)
    """
    return _empty_like(x, dtype, device, "empty_like")


def zeros_like(x, /, dtype=None, *, device=None):
    """Return a tensor of zeros with the shape of `x`.

    {empty_like: Parameters}

    {zeros: Returns}

    {empty_like: Raises}

    {See Also: zeros}

    Examples
    --------
    >>> dl.zeros_like(dl.ones(2))
    Tensor([0., 0.], shape=(2,), device=cpu, dtype=float32)
    """
    return _zeros_like(x, dtype, device, "zeros_like")


def ones_like(x, /, dtype=None, *, device=None):
    """Return a tensor of ones with the shape of `x`.

    {zeros_like: Parameters, Returns}

    Raises
    ------
    {ones: DeviceError, TypeError, MemoryError}

    {See Also: ones}

    Examples
    --------
    >>> dl.ones_like(dl.zeros(2))
    Tensor([1., 1.], shape=(2,), device=cpu, dtype=float32)
    """
    return _full_like(x, 1, dtype, device, "ones_like")


def full_like(x, /, fill_value, dtype=None, *, device=None):
    """Return a tensor with the shape of `x` in which every element has the same value.

    Parameters
    ----------
    {empty_like: x}
    {zeros_like: dtype, device}

    {full: Parameters, Returns}

    Raises
    ------
    {full: OverflowError}
    TypeError
        `fill_value` is not a number that the dtype can represent.
    {zeros_like: DeviceError, MemoryError}

    {See Also: full}

    Examples
    --------
    >>> dl.full_like(dl.zeros(2), 3)
    Tensor([3., 3.], shape=(2,), device=cpu, dtype=float32)
    """
    return _full_like(x, fill_value, dtype, device, "full_like")


cdef object _number(object value, str name, str func, bint real=False):
    """An argument that must be a number, as one of Python's own."""
    if type(value) is int or type(value) is float:
        return value
    try:
        plain = plain_number(value, func)
    except TypeError:
        plain = None
    if plain is None or (real and isinstance(plain, complex)):
        remedy = "; text is no element, use NumPy" if isinstance(value, str) else ""
        raise TypeError(f"{func}: {name} must be a {'real ' if real else ''}number, got {quoted(value)}{remedy}")
    return plain


def arange(start, /, stop=None, step=1, dtype=None, *, device=None):
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
        Element type. By default int64 when all three arguments are integers, else `get_default_dtype`. Integers are
        computed exactly, other numbers in double precision with one rounding at the end.
    {zeros: device}

    Returns
    -------
    Tensor
        Of shape ``(ceil((stop - start) / step),)``; empty when that is negative.

    Raises
    ------
    ValueError
        `step` is 0, or an argument is not finite.
    OverflowError
        A number is outside the range of an integer `dtype`, or an integer that no float holds.
    TypeError
        An argument is not a real number.
    {zeros: DeviceError}

    {See Also: linspace}

    Examples
    --------
    >>> dl.arange(3)
    Tensor([0, 1, 2], shape=(3,), device=cpu, dtype=int64)
    >>> dl.arange(1, 2, 0.25)
    Tensor([1.  , 1.25, 1.5 , 1.75], shape=(4,), device=cpu, dtype=float32)
    """
    cdef DLDataType value
    cdef Tensor result
    cdef Steps steps
    cdef bint whole
    if stop is None:
        start, stop = 0, start
    if dtype is None and device is None and type(start) is int and type(stop) is int and type(step) is int:
        result = _small_range(start, stop, step)
        if result is not None:
            return result
    start = _number(start, "start", "arange", True)
    stop = _number(stop, "stop", "arange", True)
    step = _number(step, "step", "arange", True)
    whole = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if not whole and not (_is_finite(start) and _is_finite(stop) and _is_finite(step)):
        raise ValueError(f"arange: start, stop and step must be finite, got {start}, {stop}, {step}")
    size = -((start - stop) // step) if whole else _count(start, stop, step)
    value = type_table[type_int64 if whole else default_real()].dtype if dtype is None else read_dtype(dtype, "arange")
    if size >= _HALF:
        empty_for("arange", size, dtype_of(value))  # which raises
    known = size > 0 and _read_steps(start, step, size - 1, whole, value, &steps)
    there = known and device is not None and _are_made_there(steps, value)
    result = empty_for("arange", size if size > 0 else 0, dtype_of(value), device if there else None)
    if known:
        _write_steps(result, &steps)
    elif size > 0:
        _write_exact_range(result, start, step, size - 1, whole)
    return result if there or device is None else on_device(result, device, "arange")


cdef Tensor _small_range(object start, object stop, object step):
    """The integers of a range with ends below 2^61; None for other ranges, and where the step is 0."""
    cdef int overflow = 0, other = 0, third = 0
    cdef int64_t first = PyLong_AsLongLongAndOverflow(start, &overflow)
    cdef int64_t last = PyLong_AsLongLongAndOverflow(stop, &other)
    cdef int64_t each = PyLong_AsLongLongAndOverflow(step, &third), size = 0
    cdef Steps steps
    cdef Tensor result
    if overflow or other or third or each == 0:
        return None
    if max(first, last, each) >= _NEAR or min(first, last, each) <= -_NEAR:
        return None
    if (each > 0 and first < last) or (each < 0 and last < first):
        size = (last - first + each - (1 if each > 0 else -1)) // each
    result = empty_for("arange", size, _int64)
    if size > 0:
        steps.form, steps.first, steps.step = StepForm.signed_integer, <uint64_t>first, <uint64_t>each
        _write_steps(result, &steps)
    return result


cdef object _exact(object number):
    """An integer or a float as a fraction. Few calls need one, and its module is slow to import."""
    from fractions import Fraction

    return Fraction(number)


cdef bint _is_finite(object number):
    return isinstance(number, int) or isfinite(number)


cdef object _count(object start, object stop, object step):
    """Count the steps from `start` to `stop`, as floats count them where they can."""
    try:
        count = int(<object>ceil((stop - start) / step))
        # The quotient may be rounded to 0.
        return count if count or stop == start else int((stop > start) == (step > 0))
    except (OverflowError, ValueError):
        return -((_exact(start) - _exact(stop)) / _exact(step) // 1)


cdef bint _read_steps(object start, object step, object last, bint whole, DLDataType dtype, Steps* out) except -1:
    """Read ``start + i * step`` for `i` up to `last`, as integers or as floats; False where neither holds them."""
    cdef char element[32]
    # Both ends go through the conversion that checks the range, so that nothing in between can leave it.
    store_element(element, start, dtype, "arange")
    if whole:
        stop = start + step * last
        store_element(element, stop, dtype, "arange")
        low, high = (start, stop) if step > 0 else (stop, start)
        if not (low >= -_HALF and high < _HALF or low >= 0 and high < 2 * _HALF):
            return False
        out.form = StepForm.signed_integer if low < 0 else StepForm.unsigned_integer
        out.first, out.step = start & _LOW, step & _LOW
        return True
    try:
        if not isfinite(step * last + 0.0):
            return False
    except OverflowError:
        return False
    store_element(element, start + step * last, dtype, "arange")
    out.form = StepForm.complex
    out.re, out.step_re, out.im, out.step_im = start, step, 0, 0
    return True


cdef bint _are_made_there(const Steps& steps, DLDataType dtype) noexcept:
    """Test whether devices make numbers at equal steps of a dtype; see EngineTable."""
    cdef int row = find_type(dtype)
    if row == type_float32 or row == type_float64:
        return True
    return (steps.form != StepForm.complex and row >= 0 and dtype.bits >= 8 and
            (type_table[row].kind == SIGNED or type_table[row].kind == UNSIGNED))


cdef int _write_steps(Tensor result, const Steps* steps) except -1:
    """Write numbers at equal steps to a new tensor of a dtype with conversion."""
    cdef LaunchContext launch
    cdef EngineOperand out
    cdef Status status
    cdef const EngineTable* engine = engine_at(result.impl.dl.device, &launch, "arange")
    cdef PyThreadState* state
    read_owned(result, &out)
    state = release_gil(launch, numel(result.impl.dl.ndim, result.impl.dl.shape) * result.impl.dl.dtype.bits // 8)
    status = engine.steps(steps[0], out, launch)
    return finish(state, status, launch, "arange")


cdef int _write_exact_range(Tensor result, object start, object step, object last, bint whole) except -1:
    """Write ``start + i * step`` to a new tensor on the host, from exact numbers."""
    cdef char element[32]
    first = start if whole else _exact(start)
    stop = first + (step if whole else _exact(step)) * last
    if not whole:
        store_element(element, float(stop), result.impl.dl.dtype, "arange")
    if last == 0:
        stop, last = first, 1
    if result.dtype.name.startswith("complex"):
        first, stop = (first, 0), (stop, 0)
    return _write_spaced(result, first, stop, last, False, "arange")


# -- evenly spaced numbers, each rounded once --------------------------------------------------------------------------

cdef enum:
    RAMP_BITS = 125      # bits of the larger end in fixed point: a difference of two has one more, 128 bits two
    RAMP_STEPS = 62
    SMALLEST = -1022     # the exponent of the smallest normal float64


cdef int _write_spaced(Tensor t, object start, object stop, object steps, bint there, str func) except -1:
    """Write the number nearest to ``start + i * (stop - start) / steps`` to element `i` of a new tensor in C order.

    Every element is the exact number rounded once; integers are truncated. The ends have ``as_integer_ratio()`` with a
    power of two below; for complex dtypes they are pairs of such numbers. `there`: `t` may be on a device.
    """
    if type_table[find_type(t.impl.dl.dtype)].kind == COMPLEX:
        _write_part(t, 0, start[0], stop[0], steps, there, func)
        return _write_part(t, 1, start[1], stop[1], steps, there, func)
    return _write_part(t, 0, start, stop, steps, there, func)


cdef bint _are_ramps_made_there(DLDataType dtype) noexcept:
    """Test whether devices make evenly spaced numbers of a dtype; see EngineTable."""
    cdef int row = find_type(dtype)
    return (0 <= row < computed_types and
            (type_table[row].kind == SIGNED or type_table[row].kind == UNSIGNED or type_table[row].kind == REAL))


cdef int _write_part(Tensor t, int part, object start, object stop, object steps, bint there, str func) except -1:
    """The real numbers of a tensor, or the real or imaginary parts of complex ones."""
    cdef Ramp ramp
    cdef LaunchContext launch
    cdef EngineOperand out
    cdef Status status
    cdef const EngineTable* engine
    cdef PyThreadState* state
    cdef Tensor host
    cdef int row = find_type(t.impl.dl.dtype)
    cdef int64_t size = numel(t.impl.dl.ndim, t.impl.dl.shape)
    # Both ends as integers over 2^places.
    first, below = start.as_integer_ratio()
    last, other = stop.as_integer_ratio()
    places = max(below.bit_length(), other.bit_length()) - 1
    first <<= places + 1 - below.bit_length()
    last <<= places + 1 - other.bit_length()
    twos = first | last
    if twos:
        twos = (twos & -twos).bit_length() - 1
        first, last, places = first >> twos, last >> twos, places - twos
    shift = RAMP_BITS - max(abs(first), abs(last), 1).bit_length()
    step, rest = divmod((last - first) << max(shift, 0), steps)
    # Between the ends all numbers but those beside 0 are at least as large as the step, or as the smaller end.
    least = max(abs(step), min(abs(first), abs(last)) << max(shift, 0) if (first < 0) == (last < 0) else 0)
    is_double = row == type_float64 or row == type_complex128
    if (shift < 0 or steps.bit_length() > RAMP_STEPS or
            is_double and least and least.bit_length() - 1 - places - shift < SMALLEST):
        if there:
            host = empty_for(func, size, dtype_of(t.impl.dl.dtype))
            _write_part(host, part, start, stop, steps, False, func)
            return assign(t, host, func)
        for i in range(size):
            check_signals(i)
            _write_exact(t, part, first, last, places, i, steps, False, func)
        return 0
    first <<= shift
    ramp.first_high, ramp.first_low = first >> 64, first & _LOW
    ramp.step_high, ramp.step_low = step >> 64, step & _LOW
    ramp.rest, ramp.steps = rest, steps
    ramp.fraction = places + shift
    engine = engine_at(t.impl.dl.device, &launch, func)
    read_owned(t, &out)
    state = release_gil(launch, size * 16)
    status = engine.ramp(ramp, part, out, launch)
    finish(state, status, launch, func)
    last <<= shift
    if (first < 0) != (last < 0):
        # Beside 0 there may be too few digits in fixed point.
        crossing = first * steps // (first - last)
        for i in range(max(crossing, 0), min(crossing + 2, size)):
            _write_exact(t, part, first, last, places + shift, i, steps, there, func)
    return 0


cdef int _write_exact(Tensor t, int part, object first, object last, object places, int64_t i, object steps,
                      bint there, str func) except -1:
    """One number of `_write_part` with integers of Python, whose quotients are rounded right."""
    cdef Scalar value
    cdef Place place
    cdef DLDataType dtype = t.impl.dl.dtype
    cdef int row = find_type(dtype)
    cdef Kind kind = type_table[row].kind
    cdef bint padded = t.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0
    above, below = first * steps + i * (last - first), steps
    above, below = (above, below << places) if places >= 0 else (above << -places, below)
    if kind == SIGNED or kind == UNSIGNED:
        number = abs(above) // below
    else:
        number = _quotient(abs(above), below, row == type_float64 or row == type_complex128)
    number = -number if above < 0 else number
    if there:
        place.ndim, place.offset, place.shape[0], place.strides[0] = 1, i, 1, 1
        return assign_scalar(view_of(t, &place), number, func)
    if kind == SIGNED or kind == UNSIGNED:
        value.kind, value.u = kind, number & _LOW
        value.i = <int64_t>value.u
    else:
        value.kind, value.re = REAL, number
    if kind == COMPLEX:
        dtype.code, dtype.bits = kDLFloat, dtype.bits // 2
        i = 2 * i + part
    store_scalar(t.impl.dl.data, i, dtype, padded, value, TRUNCATE, False)
    return 0


cdef double _quotient(object above, object below, bint nearest) except? -1:
    """A quotient as the nearest double; else as one that rounds to fewer digits as the quotient itself would."""
    cdef double result = above / below
    cdef int exponent
    up, down = result.as_integer_ratio()
    if nearest or up * below == above * down:
        return result
    if up * below > above * down:
        result = nextafter(result, 0.0)
    if int(frexp(result, &exponent) * 2.0**53) % 2 == 0:
        result = nextafter(result, INFINITY)
    return result


def linspace(start, stop, /, num=50, *, dtype=None, device=None, endpoint=True, retstep=False):
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : int, float or complex
        Ends of the interval.
    num : int, default 50
        Number of elements.
    dtype : dtype_like, optional
        Element type. By default `get_default_dtype`, or the complex dtype of its width when an end is complex. Each
        element is the exact value, rounded once; integers are rounded down.
    endpoint : bool, default True
        Whether `stop` is the last element.
    retstep : bool, default False
        Whether to return the difference of neighbours, too.

    Returns
    -------
    Tensor or tuple of Tensor and float
        Of shape ``(num,)``; the difference is NaN where there are no neighbours.

    Raises
    ------
    ValueError
        `num` is negative.
    TypeError
        An end is not a number, or `num` is not an integer.

    {arange: Parameters, Raises}

    {See Also: arange}

    Examples
    --------
    >>> dl.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ], shape=(5,), device=cpu, dtype=float32)
    >>> dl.linspace(0, 1, 4, endpoint=False).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    num, endpoint = integer_of(num, "num", "linspace"), bool(endpoint)
    if retstep:
        result = linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
        start, stop = _number(start, "start", "linspace"), _number(stop, "stop", "linspace")
        return result, (stop - start) / (num - endpoint) if num > endpoint else NAN
    if num < 0:
        raise ValueError(f"linspace: num must be at least 0, got {num}")
    start, stop = _number(start, "start", "linspace"), _number(stop, "stop", "linspace")
    imaginary = isinstance(start, complex) or isinstance(stop, complex)
    if dtype is None:
        dtype = DTYPES[f"complex{2 * _default_real().bits}"] if imaginary else _default_real()
    else:
        dtype = as_dtype(dtype, "linspace")
    there = device is not None and _are_ramps_made_there(read_dtype(dtype, "linspace"))
    result = empty_for("linspace", num, dtype, device if there else None)
    if num == 0:
        return move_for("linspace", result, None if there else device)
    # Both ends go through the conversion that checks the range, so that nothing in between can leave it.
    steps = max(num - 1, 1) if endpoint else num
    finite = all([_is_finite(part) for end in (start, stop) for part in _parts(end)])
    if finite and not imaginary and (not endpoint or min(start, stop) < 0) and dtype.name.startswith(("int", "uint")):
        # Truncation rounds up what is negative; and `stop`, where it is not the last number, may be out of range.
        _write_floors(result, _exact(start), _exact(stop), num, steps, there)
        return move_for("linspace", result, None if there else device)
    first = last = full_for("linspace", (), start, dtype)
    if num > 1 or imaginary:
        last = full_for("linspace", (), stop, dtype)
    _write_line(result, start, stop, steps, finite, there)
    if there:  # where they are numbers, all but -0.0 are right
        if not finite or _has_minus_zero(start):
            result[:1].fill(start)
        if endpoint and num > 1 and (not finite or _has_minus_zero(stop)):
            result[-1:].fill(stop)
    elif dtype.bits >= 8:  # the sign of 0, and what is not finite
        result[:1] = first
        if endpoint and num > 1:
            result[-1:] = last
    return move_for("linspace", result, None if there else device)


def _write_line(result, start, stop, steps, finite, there):
    """Write ``start + i * (stop - start) / steps`` to a new tensor."""
    if not finite:
        # The values between have some part of both ends: they are infinite or NaN.
        result.fill(start + stop)
    elif result.dtype.name.startswith("complex"):
        _write_spaced(result, _parts(start), _parts(stop), steps, there, "linspace")
    else:
        _write_spaced(result, start, stop, steps, there, "linspace")


def _write_floors(result, start, stop, num, steps, there):
    """Write the numbers of `_write_line` rounded down to a new tensor of integers; `start` and `stop` are fractions."""
    for at in (0, num - 1):
        full_for("linspace", (), (start + (stop - start) * at / steps) // 1, result.dtype)
    least = min(start, stop) // 1
    if least >= 0:
        _write_spaced(result, start, stop, steps, there, "linspace")
        return
    # Truncation rounds down what is not negative; the sum wraps.
    numbers = result if result.dtype.bits >= 8 else empty_for("linspace", num, DTYPES["int8"])
    _write_spaced(numbers, start - least, stop - least, steps, there, "linspace")
    numbers += full_for("linspace", (), least, numbers.dtype, numbers.device)
    if numbers is not result:
        result[...] = numbers


def _parts(number):
    return (number.real, number.imag) if isinstance(number, complex) else (number, 0)


def _has_minus_zero(number):
    return any([part == 0 and copysign(1, part) < 0 for part in _parts(number)])


def eye(n_rows, n_cols=None, /, k=0, dtype=None, *, device=None):
    """Return a matrix with ones on one diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_cols : int, optional
        Number of columns; by default `n_rows`.
    k : int, default 0
        Diagonal of the ones; positive above the main diagonal, negative below it.
    {ones: dtype, device}

    Returns
    -------
    Tensor
        Of shape ``(n_rows, n_cols)``.

    Raises
    ------
    ValueError
        An extent is negative.
    {ones: TypeError, DeviceError}

    Examples
    --------
    >>> dl.eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    cdef Place diagonal
    cdef Tensor result, ones_
    cdef int64_t row, column, length
    cdef DLDataType value = type_table[default_real()].dtype if dtype is None else read_dtype(dtype, "eye")
    rows, k = integer_of(n_rows, "n_rows", "eye"), integer_of(k, "k", "eye")
    columns = rows if n_cols is None else integer_of(n_cols, "n_cols", "eye")
    if value.bits < 8 and value.lanes == 1:  # a diagonal of packed elements is no view
        packed = eye(rows, columns, k=k, dtype="int8").astype(dtype_of(value))
        return packed if device is None else on_device(packed, device, "eye")
    result = zeros_for("eye", (rows, columns), dtype_of(value), device)
    row, column = -min(max(k, -result.impl.dl.shape[0]), 0), max(min(k, result.impl.dl.shape[1]), 0)
    length = min(result.impl.dl.shape[0] - row, result.impl.dl.shape[1] - column)
    if length > 0:
        diagonal.ndim = 1
        diagonal.offset = row * result.impl.dl.strides[0] + column
        diagonal.shape[0], diagonal.strides[0] = length, result.impl.dl.strides[0] + 1
        ones_ = view_of(result, &diagonal)
        assign_scalar(ones_, 1, "eye")
    return result


def meshgrid(*arrays, indexing="xy", sparse=False):
    """Return the coordinates of a grid, one tensor per axis.

    Parameters
    ----------
    *arrays : array_like
        Coordinates along each axis, of shape ``(n,)``.
    indexing : {"xy", "ij"}, default "xy"
        "xy" swaps the first two dimensions of the results (Cartesian), "ij" does not (matrix indexing).
    sparse : bool, default False
        Return tensors that broadcast to the grid: of one element along all axes but their own.

    Returns
    -------
    tuple of Tensor
        Read-only views, without a copy.

    Raises
    ------
    ValueError
        A tensor has more than one dimension, or `indexing` is neither "xy" nor "ij".

    {See Also: broadcast_arrays}

    Examples
    --------
    >>> x, y = dl.meshgrid(dl.arange(3), dl.arange(2))
    >>> x.tolist(), y.tolist()
    ([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {quoted(indexing)}")
    tensors = [asarray(array) for array in arrays]
    for position, t in enumerate(tensors):
        if t.ndim > 1:
            raise ValueError(f"meshgrid: expected tensors of one dimension, number {position} has shape {t.shape}")
    ndim = len(tensors)
    order = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        order[:2] = 1, 0
    shape = [tensors[d].size for d in order]
    result = []
    for position, t in enumerate(tensors):
        axis = order.index(position)
        strides = [0] * ndim
        strides[axis] = t.strides[0] if t.ndim else 0
        extents = [t.size if d == axis else 1 for d in range(ndim)] if sparse else shape
        result.append(as_strided(t, extents, strides, readonly=True, func="meshgrid"))
    return tuple(result)


cdef Tensor _small_triangle(Tensor x, int64_t k, bint lower, str func):
    """The triangle of few elements in C order, on the host and of a dtype whose 0 is zero bytes; None for others."""
    cdef int type = find_type(x.impl.dl.dtype), ndim = x.impl.dl.ndim
    cdef int64_t rows = x.impl.dl.shape[ndim - 2], columns = x.impl.dl.shape[ndim - 1], width, row, edge, bytes
    cdef Tensor result
    cdef const char* source
    cdef char* to
    if x.impl.dl.device.device_type != kDLCPU or type < 0 or type >= computed_types:
        return None
    width = type_table[type].bytes
    bytes = numel(ndim, x.impl.dl.shape) * width
    if bytes > _SMALL_TRIANGLE or not is_contiguous(ndim, x.impl.dl.shape, x.impl.dl.strides):
        return None
    result = new_empty(ndim, x.impl.dl.shape, x.impl.dl.dtype, x.impl.dl.device, func)
    if bytes == 0:
        return result
    source, to = <const char*>x.impl.dl.data, <char*>result.impl.dl.data
    for row in range(numel(ndim - 1, x.impl.dl.shape)):
        # Columns below `edge` belong to the lower triangle of this row.
        edge = min(max(row % rows + k + lower, 0), columns) * width
        if lower:
            memcpy(to, source, edge)
            memset(to + edge, 0, columns * width - edge)
        else:
            memset(to, 0, edge)
            memcpy(to + edge, source + edge, columns * width - edge)
        source, to = source + columns * width, to + columns * width
    return result


def _triangle(x, k, lower, func):
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"{func}: expected at least 2 dimensions, got shape {x.shape}")
    k = integer_of(k, "k", func)
    n_rows, n_cols = x.shape[-2:]
    result = _small_triangle(x, min(max(k, -n_rows - 1), n_cols), lower, func)
    if result is not None:
        return result
    bits = x.dtype.bits * x.dtype.lanes
    if bits < 8:  # a part of a row may begin inside a byte, where no view can
        return _triangle(with_bytes(x), k, lower, func).astype(x.dtype)
    if x.size > 0 and bits in (8, 16, 32, 64, 128) and x.nbytes == x.size * bits // 8:
        return _chosen(x, min(max(k, -n_rows), n_cols), lower, func)
    result = _zeros_like(x, None, None, func)
    for row in range(n_rows if x.size else 0):
        check_signals(row)
        # Columns below `edge` belong to the lower triangle of this row.
        edge = min(max(row + k + (1 if lower else 0), 0), n_cols)
        part = slice(None, edge) if lower else slice(edge, None)
        result[..., row, part] = x[..., row, part]
    return result


def _chosen(x, k, lower, func):
    """The triangle in one pass: whether an element is kept depends on column less row alone, and so does the mask."""
    n_rows, n_cols = x.shape[-2:]
    kept = full_for(func, n_rows + n_cols - 1, not lower, "bool")
    # Entry i of `kept` is for column - row == i - (n_rows - 1).
    edge = n_rows + k if lower else n_rows - 1 + k
    kept[: max(edge, 0)].fill(lower)
    mask = as_strided(move_for(func, kept, x.device), (n_rows, n_cols), (-1, 1), n_rows - 1, func=func)
    bits = x.dtype.bits * x.dtype.lanes
    # Choose among integers of the same width, which serve for any dtype; 0 of that dtype need not be zero bytes. It is
    # passed as a number, so that nothing is allocated on the device.
    kind = "complex128" if bits == 128 else f"uint{bits}"
    zero = zeros_for(func, (), x.dtype).view(kind).item()
    try:
        return choose(mask, x.view(kind), zero).view(x.dtype)
    except MemoryError as error:
        raise MemoryError(str(error).replace("where:", f"{func}:", 1)) from None


def tril(x, /, k=0):
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

    {See Also: triu}

    Examples
    --------
    >>> dl.tril(dl.ones((2, 3)))
    Tensor([[1., 0., 0.],
            [1., 1., 0.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    return _triangle(x, k, True, "tril")


def triu(x, /, k=0):
    """Return the upper triangle of matrices, with zeros below it.

    Parameters
    ----------
    k : int, default 0
        Lowest diagonal that is kept.

    {tril: Parameters, Returns, Raises}

    {See Also: tril}

    Examples
    --------
    >>> dl.triu(dl.ones((2, 3)), k=1)
    Tensor([[0., 1., 1.],
            [0., 0., 1.]], shape=(2, 3), device=cpu, dtype=float32)
    """
    return _triangle(x, k, False, "triu")
