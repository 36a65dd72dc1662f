# SPDX-License-Identifier: Apache-2.0
"""Running sums, products, maxima and minima along an axis. No loops over elements here."""
from libc.stdint cimport int64_t

from .._core.indexing cimport axis_of
from .._core.native cimport KEEP_GIL_BYTES, MAX_DIMS, computed_types, find_type, type_float32, type_float64, type_table

from .._core.tensor cimport Tensor, new_empty
from .._core.types cimport DLDevice, DLTensor, dtype_of, is_host, kDLCPU, read_dtype
from .operands cimport (MAXIMUM, MINIMUM, PRODUCT, SATURATING_PRODUCT, SATURATING_SUM, SUM, Engine, Operand, Scan,
                        engine_of, read_tensor)
from .sorting cimport output_tensor

from .._core.convert import asarray
from .._core.tensor import set_functions
from .._core.types import DTYPES
from .casting import cast
from .dtypes import isdtype
from .manipulation import moveaxis

__all__ = ["cumulative_max", "cumulative_min", "cumulative_prod", "cumulative_sum"]

cdef extern from "native/cpu/scan.h" namespace "dlt" nogil:
    void scan_rows(Scan, int, void*, int64_t, int64_t, int64_t)
    void sum_rows(int, void*, const void*, int64_t, int64_t, int64_t, int64_t)

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    enum Overlap "dlt::Overlap":
        OVERLAP_NONE "dlt::Overlap::none"
    Overlap overlap(const DLTensor&, const DLTensor&)


cdef DLDevice _cpu = DLDevice(kDLCPU, 0)


cdef object _dtype_of_result(Scan op, Tensor x, object dtype, bint saturate, str func):
    """The dtype of running results of the elements of `x`, or the one that is asked for."""
    cdef int given = find_type(x.impl.dl.dtype)
    if given < 0 or given >= computed_types:
        raise TypeError(f"{func}: {x.dtype} has no arithmetic; convert with astype() first")
    if op == MAXIMUM or op == MINIMUM:
        if isdtype(x.dtype, "complex floating"):
            raise TypeError(f"{func}: not defined for {x.dtype}; it takes bool, integers, floats")
        return x.dtype
    if saturate and dtype is not None:
        raise TypeError(f"{func}: saturate=True keeps the tensor's dtype; leave dtype out, or convert with astype()")
    if saturate:
        return x.dtype
    if dtype is not None:
        wanted = dtype_of(read_dtype(dtype, func))
        if isdtype(x.dtype, "complex floating") and not isdtype(wanted, "complex floating"):
            raise TypeError(f"{func}: {x.dtype} to {wanted} would drop the imaginary part; take real() first")
    elif isdtype(x.dtype, ("bool", "signed integer")):
        wanted = DTYPES["int64"]
    elif isdtype(x.dtype, "unsigned integer"):
        wanted = DTYPES["uint64"]
    else:
        wanted = x.dtype
    if not isdtype(wanted, ("bool", "numeric")):
        raise TypeError(f"{func}: {wanted} has no arithmetic; convert with astype() first")
    return wanted


cdef dict _forms = {}  # of _form_of_result, where the call names no dtype: by type, operation and saturate


cdef tuple _form_of_result(Scan op, Tensor x, object dtype, bint saturate, str func):
    """The dtype of the results, the dtype of 64 bits that computes them, and whether integers are clamped."""
    cdef int key = (find_type(x.impl.dl.dtype) * 16 + <int>op) * 2 + saturate
    cdef object form = _forms.get(key) if dtype is None else None
    if form is not None:
        return <tuple>form
    wanted = _dtype_of_result(op, x, dtype, saturate, func)
    wide = ("complex128" if isdtype(wanted, "complex floating") else "float64" if isdtype(wanted, "real floating") else
            "uint64" if isdtype(wanted, "unsigned integer") else "int64")
    made = (wanted, DTYPES[wide], bool(saturate and isdtype(wanted, ("bool", "integral"))))
    if dtype is None:
        _forms[key] = made
    return made


cdef Tensor _new_rows(Tensor moved, bint initial, object dtype, str func):
    """Memory for the running results along the last axis of `moved`, and an initial one."""
    cdef int64_t shape[MAX_DIMS]
    cdef int last = moved.impl.dl.ndim - 1, d
    for d in range(last):
        shape[d] = moved.impl.dl.shape[d]
    shape[last] = moved.impl.dl.shape[last] + initial
    return new_empty(last + 1, shape, read_dtype(dtype, func), _cpu, func)


cdef Tensor _sums_of_floats(Tensor moved, bint initial, Tensor target, str func):
    """Running sums along the last axis of float32 or float64 elements, in their dtype; in `target` if there is one."""
    cdef Tensor work = target if target is not None else _new_rows(moved, initial, moved.dtype, func)
    cdef int type = find_type(work.impl.dl.dtype)
    cdef int64_t n = moved.impl.dl.shape[moved.impl.dl.ndim - 1], pitch = n + initial, width = type_table[type].bytes
    cdef int64_t rows = work.size // pitch if pitch else 0
    cdef char* to = <char*>work.impl.dl.data + <int64_t>initial * width
    cdef const void* read = to
    cdef int64_t read_pitch = pitch
    if moved.is_contiguous:
        read, read_pitch = moved.impl.dl.data, n
    else:
        cast(moved, work[..., 1:] if initial else work)
    if work.nbytes > KEEP_GIL_BYTES:
        with nogil:
            sum_rows(type, to, read, rows, n, pitch, read_pitch)
    else:
        sum_rows(type, to, read, rows, n, pitch, read_pitch)
    if initial:
        work[..., 0] = 0
    return work


cdef Tensor _wide_scan(Scan op, Tensor moved, object wide, bint initial, str func):
    """Running results along the last axis, in a dtype of 64 bits."""
    cdef int64_t n = moved.impl.dl.shape[moved.impl.dl.ndim - 1], pitch = n + initial
    cdef Tensor work = _new_rows(moved, initial, wide, func)
    cdef int type = find_type(work.impl.dl.dtype)
    cdef int64_t rows = work.size // pitch if pitch else 0
    cdef void* start = <char*>work.impl.dl.data + <int64_t>initial * type_table[type].bytes
    cast(moved, work[..., 1:] if initial else work)
    if work.nbytes > KEEP_GIL_BYTES:
        with nogil:
            scan_rows(op, type, start, rows, n, pitch)
    else:
        scan_rows(op, type, start, rows, n, pitch)
    if initial:
        work[..., 0] = 0 if op == SUM or op == SATURATING_SUM else 1
    return work


cdef Tensor _output(object out, Tensor x, int axis, bint initial, object dtype, str func):
    """An `out` argument of the shape and the dtype of the result."""
    cdef bint on_host = is_host(<int>x.impl.dl.device.device_type)
    cdef Tensor target = output_tensor(out, func) if on_host else asarray(out, copy=False)
    cdef int d
    for d in range(x.impl.dl.ndim):
        if (target.impl.dl.ndim != x.impl.dl.ndim or
                target.impl.dl.shape[d] != x.impl.dl.shape[d] + (d == axis and initial)):
            shape = tuple([size + (k == axis and initial) for k, size in enumerate(x.shape)])
            raise ValueError(f"{func}: the result has shape {shape}, out has {target.shape}")
    if target.dtype != dtype:
        raise TypeError(f"{func}: the result is {dtype}, out is {target.dtype}; give an out of that dtype")
    return target


cdef Tensor _scan_on_device(Scan op, Tensor x, int axis, object wanted, bint initial, const Engine* engine, str func):
    """Running results along an axis of a tensor on a device, of dtype `wanted`."""
    cdef int64_t shape[MAX_DIMS]
    cdef Operand source, target
    cdef Tensor made, results
    cdef int d
    for d in range(x.impl.dl.ndim):
        shape[d] = x.impl.dl.shape[d]
    shape[axis] += initial
    results = made = new_empty(x.impl.dl.ndim, shape, read_dtype(wanted, func), x.impl.dl.device, func)
    if initial:
        made[(slice(None),) * axis + (0,)] = 1 if op == PRODUCT or op == SATURATING_PRODUCT else 0
        results = made[(slice(None),) * axis + (slice(1, None),)]
    read_tensor(x, &source)
    read_tensor(results, &target)
    engine.scan(op, &source, axis, &target)
    return made


cdef object _accumulate(Scan op, object given, object axis, object dtype, bint initial, object out, bint saturate,
                        str func):
    cdef Tensor x = <Tensor>given if type(given) is Tensor else asarray(given)
    cdef Tensor moved = x, target = None, direct = None
    cdef const Engine* engine = NULL
    cdef int ndim = x.impl.dl.ndim, type_id, along
    if not is_host(<int>x.impl.dl.device.device_type):
        engine = engine_of(x.impl.dl.device, func)
    if ndim == 0:
        raise ValueError(f"{func}: expected at least one dimension, got a tensor of shape ()")
    if axis is None and ndim > 1:
        raise ValueError(f"{func}: axis must be given for a tensor of shape {x.shape}")
    along = 0 if axis is None else axis_of(axis, ndim, func)
    wanted, wide, clamped = _form_of_result(op, x, dtype, saturate, func)
    if out is not None:
        target = _output(out, x, along, initial, wanted, func)
        if along == ndim - 1 and target.is_contiguous and overlap(target.impl.dl, x.impl.dl) == OVERLAP_NONE:
            direct = target
    if clamped:
        op = SATURATING_SUM if op == SUM else SATURATING_PRODUCT
    if engine != NULL:
        if dtype is not None and wanted != x.dtype:
            x = x.astype(wanted)  # elements are converted first
        made = _scan_on_device(op, x, along, wanted, initial, engine, func)
        if out is None:
            return made
        cast(made, target)
        return out
    if ndim > 1:
        moved = moveaxis(x, along, -1)
    if dtype is not None and wanted != x.dtype:
        moved = moved.astype(wanted)  # elements are converted first
    type_id = find_type(moved.impl.dl.dtype)
    if op == SUM and (type_id == type_float32 or type_id == type_float64):
        made = _sums_of_floats(moved, initial, direct, func)
        if made is direct:
            return out
        if ndim == 1 and out is None:
            return made
    else:
        made = _wide_scan(op, moved, wide, initial, func)
    if ndim > 1:
        made = moveaxis(made, -1, along)
    if saturate and made.dtype != wanted:
        made = cast(made, wanted, saturate=True)
    if out is None:
        return made if made.dtype == wanted and made.is_contiguous else made.astype(wanted)
    cast(made, target)
    return out


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False, saturate=False, out=None):
    """Return the running sums along an axis.

    Floats are added in float64, whatever their width, in one order that depends neither on the layout nor on threads;
    integers in 64 bits, which wrap.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats, complex.
    axis : int, optional
        Dimension to add along. It may be left out when `x` has one dimension.
    dtype : dtype_like, optional
        Elements are converted to it first, and the result has it.
    include_initial : bool, default False
        Begin with 0, so that the result is one element longer.
    saturate : bool, default False
        Keep the dtype of bool and integers, and clamp each exact result to its range. Floats are not changed by it.
    out : array_like, optional
        Writable tensor of the shape and dtype of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the dtype of `x`; of bool and integers int64 or uint64, unless `saturate`. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype is not supported, `dtype` is given with `saturate`, or `out` has another dtype
        than the result.
    IndexError
        `axis` is out of range.
    ValueError
        `axis` is not given for several dimensions, `x` has none, or `out` is read-only or has another shape.
    DeviceError
        `x` is on a device that does not compute.

    Notes
    -----
    Array API 2025.12: ``cumulative_sum``.

    Examples
    --------
    >>> dl.cumulative_sum(dl.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], shape=(4,), device=cpu, dtype=int64)
    """
    return _accumulate(SUM, x, axis, dtype, bool(include_initial), out, bool(saturate), "cumulative_sum")


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False, saturate=False, out=None):
    """Return the running products along an axis.

    Floats are multiplied in float64, whatever their width, in one order that depends neither on the layout nor on
    threads; integers in 64 bits, which wrap.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats, complex.
    axis : int, optional
        Dimension to multiply along. It may be left out when `x` has one dimension.
    dtype : dtype_like, optional
        Elements are converted to it first, and the result has it.
    include_initial : bool, default False
        Begin with 1, so that the result is one element longer.
    saturate : bool, default False
        Keep the dtype of bool and integers, and clamp each exact result to its range. Floats are not changed by it.
    out : array_like, optional
        Writable tensor of the shape and dtype of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the dtype of `x`; of bool and integers int64 or uint64, unless `saturate`. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype is not supported, `dtype` is given with `saturate`, or `out` has another dtype
        than the result.
    IndexError
        `axis` is out of range.
    ValueError
        `axis` is not given for several dimensions, `x` has none, or `out` is read-only or has another shape.
    DeviceError
        `x` is on a device that does not compute.

    Notes
    -----
    Array API 2025.12: ``cumulative_prod``.

    Examples
    --------
    >>> dl.cumulative_prod(dl.asarray([1, 2, 3]))
    Tensor([1, 2, 6], shape=(3,), device=cpu, dtype=int64)
    """
    return _accumulate(PRODUCT, x, axis, dtype, bool(include_initial), out, bool(saturate), "cumulative_prod")


def cumulative_max(x, /, *, axis=None, out=None):
    """Return the running maximum along an axis.

    From the first NaN on, the results are NaN; -0.0 is below 0.0, as in `max`.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats.
    axis : int, optional
        Dimension to compare along. It may be left out when `x` has one dimension.
    out : array_like, optional
        Writable tensor of the shape and dtype of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype is not supported, or `out` has another dtype.
    IndexError
        `axis` is out of range.
    ValueError
        `axis` is not given for several dimensions, `x` has none, or `out` is read-only or has another shape.
    DeviceError
        `x` is on a device that does not compute.

    See Also
    --------
    cumulative_min : The running minimum.

    Notes
    -----
    NumPy: ``numpy.maximum.accumulate``.

    Examples
    --------
    >>> dl.cumulative_max(dl.asarray([2, 5, 1, 7]))
    Tensor([2, 5, 5, 7], shape=(4,), device=cpu, dtype=int64)
    """
    return _accumulate(MAXIMUM, x, axis, None, False, out, False, "cumulative_max")


def cumulative_min(x, /, *, axis=None, out=None):
    """Return the running minimum along an axis.

    From the first NaN on, the results are NaN; -0.0 is below 0.0, as in `min`.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats.
    axis : int, optional
        Dimension to compare along. It may be left out when `x` has one dimension.
    out : array_like, optional
        Writable tensor of the shape and dtype of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype is not supported, or `out` has another dtype.
    IndexError
        `axis` is out of range.
    ValueError
        `axis` is not given for several dimensions, `x` has none, or `out` is read-only or has another shape.
    DeviceError
        `x` is on a device that does not compute.

    See Also
    --------
    cumulative_max : The running maximum.

    Notes
    -----
    NumPy: ``numpy.minimum.accumulate``.

    Examples
    --------
    >>> dl.cumulative_min(dl.asarray([2, 5, 1, 7]))
    Tensor([2, 2, 1, 1], shape=(4,), device=cpu, dtype=int64)
    """
    return _accumulate(MINIMUM, x, axis, None, False, out, False, "cumulative_min")


# -- methods: NumPy's names, where no axis means all elements in C order ----------------------------------------------


def cumsum(x, axis=None, dtype=None, out=None):
    """Return ``cumulative_sum`` along an axis, or of all elements in C order.

    Raises
    ------
    IndexError
        `axis` is out of range.

    Examples
    --------
    >>> cumsum(dl.asarray([[1, 2], [3, 4]])).tolist()
    [1, 3, 6, 10]
    """
    return _accumulate(SUM, x.ravel() if axis is None else x, axis, dtype, False, out, False, "cumsum")


def cumprod(x, axis=None, dtype=None, out=None):
    """Return ``cumulative_prod`` along an axis, or of all elements in C order.

    Raises
    ------
    IndexError
        `axis` is out of range.

    Examples
    --------
    >>> cumprod(dl.asarray([[1, 2], [3, 4]])).tolist()
    [1, 2, 6, 24]
    """
    return _accumulate(PRODUCT, x.ravel() if axis is None else x, axis, dtype, False, out, False, "cumprod")


set_functions(cumsum=cumsum, cumprod=cumprod)
