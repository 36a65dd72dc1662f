# SPDX-License-Identifier: Apache-2.0
"""Running sums, products, maxima and minima along an axis. No loops over elements here."""
from libc.stdint cimport int64_t

from .._core.convert cimport read_array
from .._core.indexing cimport axis_of
from .._core.native cimport MAX_DIMS, Status, computed_types, find_type, type_table, work_bytes
from .._core.tensor cimport Tensor
from .._core.types cimport dtype_of, read_dtype
from .arguments cimport SAME_DTYPE, deliver, read_output, read_owned, result_for
from .engine cimport (EngineOperand, EngineTable, LaunchContext, PyThreadState, Scan, check_device, engine_at, finish,
                      release_gil)

from .._core.types import DTYPES
from .dtypes import isdtype

__all__ = ["cumulative_max", "cumulative_min", "cumulative_prod", "cumulative_sum"]

cdef extern from "native/cpu/scan/scan.h" namespace "dlt" nogil:
    Scan SUM "dlt::Scan::sum"
    Scan PRODUCT "dlt::Scan::product"
    Scan MAXIMUM "dlt::Scan::maximum"
    Scan MINIMUM "dlt::Scan::minimum"
    Scan SATURATING_SUM "dlt::Scan::saturating_sum"
    Scan SATURATING_PRODUCT "dlt::Scan::saturating_product"


cdef object _dtype_of_result(Scan op, Tensor x, object dtype, bint saturate, str func):
    """The dtype of running results of the elements of `x`, or the one that is asked for."""
    cdef int row = find_type(x.impl.dl.dtype)
    if row < 0 or row >= computed_types:
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
    row = find_type(read_dtype(wanted, func))
    if row < 0 or row >= computed_types:  # a dtype of several lanes is numeric, and has no row
        raise TypeError(f"{func}: {wanted} has no arithmetic; convert with astype() first")
    return wanted


cdef dict _forms = {}  # results of _form_of_result without a dtype, by type, operation and saturate


cdef tuple _form_of_result(Scan op, Tensor x, object dtype, bint saturate, str func):
    """The dtype of the results, as a row, and whether integers are clamped."""
    cdef int key = (find_type(x.impl.dl.dtype) * 16 + <int>op) * 2 + saturate
    cdef object form = _forms.get(key) if dtype is None else None
    if form is not None:
        return <tuple>form
    wanted = _dtype_of_result(op, x, dtype, saturate, func)
    form = (find_type(read_dtype(wanted, func)), bool(saturate and isdtype(wanted, ("bool", "integral"))))
    if dtype is None:
        _forms[key] = form
    return form


cdef int _scan(Scan op, Tensor x, int axis, Tensor out, str func) except -1:
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(x.impl.dl.device, &launch, func)
    cdef EngineOperand source, target
    read_owned(x, &source)
    read_owned(out, &target)
    cdef PyThreadState* state = release_gil(launch, work_bytes(x.impl.dl.ndim, x.impl.dl.shape, 8))
    cdef Status status = engine.scan(op, source, axis, target, launch)
    return finish(state, status, launch, func)


cdef object _accumulate(Scan op, object argument, object axis, object dtype, bint initial, object out, bint saturate,
                        str func):
    cdef Tensor x = read_array(argument, func)
    cdef Tensor target, result, written
    cdef int64_t shape[MAX_DIMS]
    cdef int ndim = x.impl.dl.ndim, along, row, d
    check_device(x, func)
    if ndim == 0:
        raise ValueError(f"{func}: expected at least one dimension, got a tensor of shape ()")
    if axis is None and ndim > 1:
        raise ValueError(f"{func}: axis must be given for a tensor of shape {x.shape}")
    along = 0 if axis is None else axis_of(axis, ndim, func)
    row, clamped = _form_of_result(op, x, dtype, saturate, func)
    if clamped:
        op = SATURATING_SUM if op == SUM else SATURATING_PRODUCT
    if dtype is not None and find_type(x.impl.dl.dtype) != row:
        x = x.astype(dtype_of(type_table[row].dtype))  # elements are converted first
    for d in range(ndim):
        shape[d] = x.impl.dl.shape[d]
    shape[along] += initial
    target = None if out is None else read_output(out, x, ndim, shape, type_table[row].dtype, SAME_DTYPE, func)
    written = result = result_for(target, x, ndim, shape, type_table[row].dtype, func)
    if initial:
        result[(slice(None),) * along + (0,)] = 1 if op == PRODUCT or op == SATURATING_PRODUCT else 0
        written = result[(slice(None),) * along + (slice(1, None),)]
    _scan(op, x, along, written, func)
    return deliver(result, target, out, func)


def cumulative_sum(x, /, axis=None, *, dtype=None, include_initial=False, saturate=False, out=None):
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
        Of the dtype of `x`; of bool and integers int64 or uint64. With `saturate`, always of the dtype of `x`. `out`,
        when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, or its dtype is not supported. `out` has another dtype than the result. `dtype` is given
        with `saturate`.
    IndexError
        `axis` is out of range.
    ValueError
        `axis` is not given for several dimensions, `x` has none, or `out` has another shape or is read-only.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    Examples
    --------
    >>> dl.cumulative_sum(dl.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], shape=(4,), device=cpu, dtype=int64)
    """
    return _accumulate(SUM, x, axis, dtype, bool(include_initial), out, bool(saturate), "cumulative_sum")


def cumulative_prod(x, /, axis=None, *, dtype=None, include_initial=False, saturate=False, out=None):
    """Return the running products along an axis.

    Floats are multiplied in float64, whatever their width, in one order that depends neither on the layout nor on
    threads; integers in 64 bits, which wrap.

    Parameters
    ----------
    axis : int, optional
        Dimension to multiply along. It may be left out when `x` has one dimension.
    include_initial : bool, default False
        Begin with 1, so that the result is one element longer.

    {cumulative_sum: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.cumulative_prod(dl.asarray([1, 2, 3]))
    Tensor([1, 2, 6], shape=(3,), device=cpu, dtype=int64)
    """
    return _accumulate(PRODUCT, x, axis, dtype, bool(include_initial), out, bool(saturate), "cumulative_prod")


def cumulative_max(x, /, axis=None, *, out=None):
    """Return the running maximum along an axis.

    From the first NaN on, the results are NaN; -0.0 is below 0.0, as in `max`.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack: bool, integers, floats.
    axis : int, optional
        Dimension to compare along. It may be left out when `x` has one dimension.
    {cumulative_sum: out}

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`. `out`, when it is given.

    Raises
    ------
    TypeError
        `x` is not a tensor, its dtype is not supported, or `out` has another dtype.
    {cumulative_sum: IndexError, ValueError, DeviceError}

    {See Also: cumulative_min}

    {Notes: NumPy: ``numpy.maximum.accumulate``.}

    Examples
    --------
    >>> dl.cumulative_max(dl.asarray([2, 5, 1, 7]))
    Tensor([2, 5, 5, 7], shape=(4,), device=cpu, dtype=int64)
    """
    return _accumulate(MAXIMUM, x, axis, None, False, out, False, "cumulative_max")


def cumulative_min(x, /, axis=None, *, out=None):
    """Return the running minimum along an axis.

    From the first NaN on, the results are NaN; -0.0 is below 0.0, as in `min`.

    {cumulative_max: Parameters, Returns, Raises}

    {See Also: cumulative_max}

    {Notes: NumPy: ``numpy.minimum.accumulate``.}

    Examples
    --------
    >>> dl.cumulative_min(dl.asarray([2, 5, 1, 7]))
    Tensor([2, 2, 1, 1], shape=(4,), device=cpu, dtype=int64)
    """
    return _accumulate(MINIMUM, x, axis, None, False, out, False, "cumulative_min")


# -- NumPy's names, where no axis means all elements in C order --------------------------------------------------------


def cumsum(x, /, axis=None, dtype=None, *, out=None):
    """Return the running sums along an axis, as `cumulative_sum` does, or of all elements in C order.

    Parameters
    ----------
    axis : int, optional
        Dimension to add along; None takes all elements in C order.

    {cumulative_sum: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        `out` has another shape or is read-only.

    Examples
    --------
    >>> dl.cumsum(dl.asarray([[1, 2], [3, 4]]), 1).tolist()
    [[1, 3], [3, 7]]
    """
    elements = read_array(x, "cumsum").ravel() if axis is None else x
    return _accumulate(SUM, elements, axis, dtype, False, out, False, "cumsum")


def cumprod(x, /, axis=None, dtype=None, *, out=None):
    """Return the running products along an axis, as `cumulative_prod` does, or of all elements in C order.

    Parameters
    ----------
    axis : int, optional
        Dimension to multiply along; None takes all elements in C order.

    {cumsum: Parameters, Returns, Raises}

    Examples
    --------
    >>> dl.cumprod(dl.asarray([[1, 2], [3, 4]]), 1).tolist()
    [[1, 2], [3, 12]]
    """
    elements = read_array(x, "cumprod").ravel() if axis is None else x
    return _accumulate(PRODUCT, elements, axis, dtype, False, out, False, "cumprod")
