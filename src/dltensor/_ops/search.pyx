# SPDX-License-Identifier: Apache-2.0
"""Searching sorted values and counting: searchsorted, bincount, and the counts of a histogram."""
from libc.stdint cimport int64_t
from libc.string cimport memset

from .._core.convert cimport read_array
from .._core.indexing cimport integer_of
from .._core.native cimport (REAL, SIGNED, UNSIGNED, Status, computed_types, find_type, numel, type_float64,
                             type_int64, type_table, type_uint64)
from .._core.tensor cimport Tensor, new_empty
from .._core.types cimport DLTensor, is_host
from .arguments cimport SAME_DTYPE, deliver, read_output, read_owned, result_for
from .engine cimport EngineOperand, EngineTable, LaunchContext, PyThreadState, engine_at, finish, release_gil, take_gil

from .sort cimport as_operand, comparable, computed_tensor, converted, on_same_device, ordered_anywhere, rest_of

from .._core.convert import asarrays
from .._core.foreign_text import quoted
from .casting import cast, where
from .elementwise import equal, greater_equal, isnan, less, logical_or
from .take import add_at, nonzero, take
from .reduce import max as largest, min as smallest

cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    int comparison_type(int, int)

cdef extern from "native/cpu/sort/search.h" namespace "dlt" nogil:
    void find_range(const int64_t*, int64_t, int64_t*, int64_t*)
    Status fill_histogram "dlt::histogram"(int64_t*, double*, const DLTensor&, const DLTensor&, const double*)


cdef int64_t _count(Tensor t) noexcept:
    return numel(t.impl.dl.ndim, t.impl.dl.shape)


def searchsorted(x1, x2, /, side="left", sorter=None, *, out=None):
    """Find where elements would have to be inserted to keep a tensor sorted.

    Parameters
    ----------
    x1 : array_like
        One-dimensional and ascending, or put in that order by `sorter`; of bool, integer or float dtype.
    x2 : array_like or float
        Values to find places for; of any shape.
    side : {'left', 'right'}, default 'left'
        Whether a value goes before or after those equal to it.
    sorter : array_like, optional
        Integer indices that sort `x1`, one-dimensional and as many as `x1` has elements.
    out : array_like, optional
        Writable tensor of the shape of `x2` and dtype int64; overwritten and returned.

    Returns
    -------
    Tensor
        Places from 0 to the size of `x1`, int64, of the shape of `x2`. Elements are compared by exact value, as ``<``
        does; NaN is the greatest value, as for `sort`.

    Raises
    ------
    ValueError
        `x1` is not one-dimensional, `side` is neither word, or `sorter` has another shape or holds an index out of
        range.
    TypeError
        A dtype has no order.
    DeviceError
        Operands are on several devices, or neither on the host nor on a CUDA device.

    {See Also: argsort}

    Examples
    --------
    >>> x = dl.asarray([1, 2, 2, 5])
    >>> dl.searchsorted(x, dl.asarray([2, 3, 9]))
    Tensor([1, 3, 4], shape=(3,), device=cpu, dtype=int64)
    >>> dl.searchsorted(x, 2, side="right")
    Tensor(3, shape=(), device=cpu, dtype=int64)
    """
    x1, x2 = asarrays(x1, x2, numbers=False)
    x1, x2 = comparable(x1, x2, "searchsorted")
    cdef Tensor values = ordered_anywhere(x1, "searchsorted", "x1")
    cdef Tensor wanted, order, places, target
    cdef int type
    cdef bint after = side == "right"
    if not after and side != "left":
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {quoted(side)}")
    if values.impl.dl.ndim != 1:
        raise ValueError(f"searchsorted: x1 must have one dimension, got shape {values.shape}; reshape() it")
    wanted = ordered_anywhere(as_operand(x2, values, "searchsorted", "x2", "x1"), "searchsorted", "x2")
    type = comparison_type(find_type(values.impl.dl.dtype), find_type(wanted.impl.dl.dtype))
    rest = rest_of(x2, wanted)
    if rest:
        after = rest > 0
    if sorter is not None:
        order = on_same_device(read_array(sorter, "searchsorted"), values, "searchsorted", "sorter", "x1")
        if order.shape != values.shape:
            raise ValueError(f"searchsorted: sorter must have the shape of x1, {values.shape}, got {order.shape}")
        _check_integers(order, "searchsorted", "sorter")
        order = converted(order, type_int64, "searchsorted")
        values = _taken_in_order(values, order)
    target = read_output(out, values, wanted.impl.dl.ndim, wanted.impl.dl.shape, type_table[type_int64].dtype,
                         SAME_DTYPE, "searchsorted")
    places = _places(values, wanted, type, after) if type >= 0 else _exact_places(values, wanted, after)
    return deliver(places, target, out, "searchsorted")


cdef Tensor _places(Tensor values, Tensor wanted, int type, bint after):
    """The places of elements among sorted values, both as of one dtype."""
    cdef Tensor places
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef EngineOperand among, each, target
    cdef PyThreadState* state
    values, wanted = converted(values, type, "searchsorted"), converted(wanted, type, "searchsorted")
    places = new_empty(wanted.impl.dl.ndim, wanted.impl.dl.shape, type_table[type_int64].dtype, values.impl.dl.device,
                       "searchsorted")
    engine = engine_at(values.impl.dl.device, &launch, "searchsorted")
    read_owned(values, &among)
    read_owned(wanted, &each)
    read_owned(places, &target)
    state = release_gil(launch, 64 * _count(wanted) + 8 * _count(values))
    finish(state, engine.search(among, each, target, after, launch), launch, "searchsorted")
    return places


cdef Tensor _exact_places(Tensor values, Tensor wanted, bint after):
    """The same where no dtype holds both: the nearest in the values' dtype, and the side of it on which they are."""
    cdef int type = find_type(values.impl.dl.dtype)
    nearest = cast(wanted, values.dtype, saturate=True)
    before, behind = _places(values, nearest, type, False), _places(values, nearest, type, True)
    places = where(less(nearest, wanted), behind, where(less(wanted, nearest), before, behind if after else before))
    if type_table[find_type(wanted.impl.dl.dtype)].kind == REAL:
        places = where(isnan(wanted), values.size, places)
    return places


cdef Tensor _taken_in_order(Tensor values, Tensor order):
    """Values in the order of a `sorter`, whose indices are checked: the host waits for a device."""
    wrong = nonzero(logical_or(less(order, 0), greater_equal(order, values.size)))[0]
    if wrong.size:
        place = wrong[0].item()
        raise ValueError(f"searchsorted: sorter must hold indices from 0 to {values.size - 1}, got "
                         f"{order[place].item()} at place {place}")
    return take(values, order, axis=0)


cdef int _check_integers(Tensor t, str func, str what) except -1:
    cdef int type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or not (type_table[type].kind == SIGNED or type_table[type].kind == UNSIGNED):
        raise TypeError(f"{func}: {what} must be of an integer dtype, got {t.dtype}; convert it with astype()")
    return 0


cdef Tensor _weights_of(object weights, Tensor x, str func):
    """Weights as contiguous float64, one for each element."""
    cdef Tensor t
    if weights is None:
        return None
    t = on_same_device(ordered_anywhere(weights, func, "weights"), x, func, "weights", "x")
    if t.shape != x.shape:
        raise ValueError(f"{func}: weights must have the shape of x, {x.shape}, got {t.shape}")
    return converted(t, type_float64, func)


cdef Tensor _counts(Tensor bins, int64_t size, Tensor weights, str func):
    """Count how often each number below `size` occurs, or add its weights in their order."""
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(bins.impl.dl.device, &launch, func)
    cdef EngineOperand each, added, target
    cdef const EngineOperand* summed = NULL
    cdef PyThreadState* state
    cdef int type = type_int64 if weights is None else type_float64
    cdef Tensor counts = result_for(None, bins, 1, &size, type_table[type].dtype, func)
    if weights is not None and launch.stream != NULL:  # a device adds them as add_at does
        counts.fill(0.0)
        if bins.size:
            add_at(counts, bins, weights)
        return counts
    read_owned(bins, &each)
    read_owned(counts, &target)
    if weights is not None:
        read_owned(weights, &added)
        summed = &added
    state = release_gil(launch, 8 * (_count(bins) + size))
    finish(state, engine.tally(each, summed, target, launch), launch, func)
    return counts


def bincount(x, /, weights=None, minlength=0):
    """Count how often each non-negative integer occurs.

    Parameters
    ----------
    x : array_like
        One-dimensional, of integer dtype, without negative values.
    weights : array_like, optional
        Of the shape of `x`: each element adds its weight instead of 1.
    minlength : int, default 0
        Least number of bins.

    Returns
    -------
    Tensor
        One bin for each integer from 0 to the greatest, at least `minlength`: int64, or float64 with `weights`, which
        are added in the order of `x`.

    Raises
    ------
    ValueError
        `x` is not one-dimensional or holds a negative value, `weights` has another shape, or `minlength` is negative.
    TypeError
        `x` is not of an integer dtype.
    {searchsorted: DeviceError}

    {See Also: histogram, unique_counts}

    Examples
    --------
    >>> dl.bincount(dl.asarray([0, 1, 1, 3]))
    Tensor([1, 2, 0, 1], shape=(4,), device=cpu, dtype=int64)
    """
    cdef Tensor t = computed_tensor(x, "bincount"), read_weights
    cdef bint here = is_host(<int>t.impl.dl.device.device_type)
    cdef int64_t low = 0, high = -1, n
    cdef LaunchContext host
    cdef PyThreadState* state
    _check_integers(t, "bincount", "x")
    if t.impl.dl.ndim != 1:
        raise ValueError(f"bincount: x must have one dimension, got shape {t.shape}; reshape() it to (-1,)")
    least = integer_of(minlength, "minlength", "bincount")
    if least < 0:
        raise ValueError(f"bincount: minlength must be at least 0, got {least}")
    read_weights = _weights_of(weights, t, "bincount")
    unsigned = t.dtype.name == "uint64"
    t = converted(t, type_int64, "bincount")
    n = _count(t)
    cdef const int64_t* from_ = <const int64_t*>t.impl.dl.data
    if n > 0:
        if here:
            state = release_gil(host, 8 * n)
            find_range(from_, n, &low, &high)
            take_gil(state)
        else:  # the host waits for the device
            low, high = smallest(t).item(), largest(t).item()
        if low < 0:
            raise ValueError(f"bincount: x must not hold values {'of 2^63 or more' if unsigned else 'below 0'}, got "
                             f"{low + (1 << 64) if unsigned else low}")
    if high >= (<int64_t>1 << 62):
        raise MemoryError(f"bincount: cannot allocate a bin for each integer up to {high}")
    return _counts(t, max(high + 1, least), read_weights, "bincount")


cdef bint _fits_float64(Tensor t):
    """Test whether float64 holds 64-bit integers exactly, as most are."""
    cdef int type = find_type(t.impl.dl.dtype)
    if type != type_int64 and type != type_uint64:
        return False
    return _count(t) == 0 or -(1 << 53) <= smallest(t).item() <= largest(t).item() <= 1 << 53


def count_between(edges, x, weights, func):
    """Return how many elements of `x` lie between successive edges, or the sum of their weights.

    The last bin has its upper edge too.
    """
    cdef Tensor t = ordered_anywhere(x, func), counts, read_weights
    cdef Tensor borders = on_same_device(ordered_anywhere(edges, func, "bins"), t, func, "bins", "x")
    cdef int64_t shape[1]
    cdef LaunchContext host
    cdef PyThreadState* state
    cdef double* sums = NULL
    cdef const double* weight = NULL
    cdef int type = comparison_type(find_type(borders.impl.dl.dtype), find_type(t.impl.dl.dtype))
    cdef bint here = is_host(<int>t.impl.dl.device.device_type)
    read_weights = _weights_of(weights, t, func)
    if type < 0 and here and type_table[find_type(borders.impl.dl.dtype)].kind == REAL and _fits_float64(t):
        type = type_float64
    if type >= 0:
        borders, t = converted(borders, type, func), converted(t, type, func)
    shape[0] = _count(borders) - 1
    if type < 0 or not here:
        # Bin 0 is below the first edge, bin n + 1 above the last one, which belongs to bin n.
        places = searchsorted(borders, t.reshape((-1,)), side="right")
        places = where(equal(t.reshape((-1,)), borders[-1]), shape[0], places)
        if read_weights is not None:
            read_weights = read_weights.reshape((-1,))
        return _counts(places, shape[0] + 2, read_weights, func)[1:-1].copy()
    counts = result_for(None, t, 1, shape, type_table[type_int64 if read_weights is None else type_float64].dtype, func)
    memset(counts.impl.dl.data, 0, shape[0] * 8)
    if read_weights is not None:
        sums, weight = <double*>counts.impl.dl.data, <const double*>read_weights.impl.dl.data
    state = release_gil(host, 16 * _count(t))
    finish(state, fill_histogram(<int64_t*>counts.impl.dl.data, sums, borders.impl.dl, t.impl.dl, weight), host, func)
    return counts
