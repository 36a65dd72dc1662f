# SPDX-License-Identifier: Apache-2.0
"""Sets: the distinct values of a tensor, and membership."""

from libc.stdint cimport int64_t, uint8_t

from .._core.native cimport (COMPLEX, REAL, Block, Status, computed_types, find_type, numel, release,
                             type_bool, type_int64, type_table)
from .._core.tensor cimport Tensor, new_empty
from .._core.types cimport DLDevice, DLTensor, is_host, kDLCPU

from .arguments cimport SAME_DTYPE, deliver, is_narrow_float, read_output, result_for
from .engine cimport LaunchContext, PyThreadState, finish, release_gil, take_gil
from .sort cimport as_operand, comparable, computed_tensor, converted, in_order, rest_of

from .._core.convert import asarrays
from .casting import astype
from .creation import full, ones, zeros
from .elementwise import add, bitwise_and, bitwise_invert, equal, imag, minimum, multiply, not_equal, real, subtract
from .take import nonzero, take
from .scan import cumulative_sum
from .sort import sort, top_k

cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    int comparison_type(int, int)

cdef extern from "native/cpu/sort/unique.h" namespace "dlt" nogil:
    cppclass Unique:
        Block* memory
        int64_t count
    Status find_unique(const DLTensor&, bint, Unique*)
    void write_unique(const Unique&, void*, int64_t*, int64_t*, int64_t*)

cdef extern from "native/cpu/sort/search.h" namespace "dlt" nogil:
    Status isin_tensor "dlt::isin"(uint8_t*, const DLTensor&, const DLTensor&, bint)

cdef enum:
    VALUES = 1
    INDICES = 2
    INVERSE = 4
    COUNTS = 8

# Classes of results, which the module gets with the first of them: `namedtuple` compiles code.
cdef object _all_results = None, _counts = None, _inverse = None


cdef int _make_classes() except -1:
    global _all_results, _counts, _inverse
    from collections import namedtuple
    for name, fields in (("UniqueAll", ("values", "indices", "inverse_indices", "counts")),
                         ("UniqueCounts", ("values", "counts")), ("UniqueInverse", ("values", "inverse_indices"))):
        globals().setdefault(name, namedtuple(name, fields, module="dltensor"))
    _counts, _inverse = globals()["UniqueCounts"], globals()["UniqueInverse"]
    _all_results = globals()["UniqueAll"]
    return 0


cdef inline bint _takes_operations(Tensor t):
    """Tell whether sorted keys are compared by operations on a device, not in one pass."""
    return not is_host(<int>t.impl.dl.device.device_type)


cdef Tensor _vector(int64_t size, int row, str func):
    return new_empty(1, &size, type_table[row].dtype, DLDevice(kDLCPU, 0), func)


cdef tuple _unique(object x, int wanted, str func):
    """Values, first indices, inverse and counts; None for what is not wanted."""
    cdef Tensor t = computed_tensor(x, func)
    cdef Tensor values = None, indices = None, inverse = None, counts = None
    cdef Unique found
    cdef LaunchContext host
    cdef PyThreadState* state
    cdef int64_t n
    cdef int row = find_type(t.impl.dl.dtype)
    cdef bint ordered = (wanted & (INDICES | INVERSE)) != 0
    if is_narrow_float(row):  # bfloat16 holds its values
        found_values, *rest = _unique(astype(t, "bfloat16"), wanted, func)
        return (astype(found_values, t.dtype), *rest)
    if row < 0 or row >= computed_types:
        raise TypeError(f"{func}: x is {t.dtype}, expected bool, an integer, a float or a complex dtype; convert it "
                        f"with astype()")
    if type_table[row].kind == COMPLEX:
        return _unique_complex(t, func)
    if _takes_operations(t):
        return _unique_by_sorting(t, wanted)
    t = in_order(t, func)
    n = numel(t.impl.dl.ndim, t.impl.dl.shape)
    state = release_gil(host, 64 * n)
    finish(state, find_unique(t.impl.dl, ordered, &found), host, func)
    cdef int64_t* index = NULL
    cdef int64_t* place = NULL
    cdef int64_t* count = NULL
    try:
        values = _vector(found.count, row, func)
        if wanted & INDICES:
            indices = _vector(found.count, type_int64, func)
            index = <int64_t*>indices.impl.dl.data
        if wanted & INVERSE:
            inverse = result_for(None, t, t.impl.dl.ndim, t.impl.dl.shape, type_table[type_int64].dtype, func)
            place = <int64_t*>inverse.impl.dl.data
        if wanted & COUNTS:
            counts = _vector(found.count, type_int64, func)
            count = <int64_t*>counts.impl.dl.data
        state = release_gil(host, 8 * n)
        write_unique(found, values.impl.dl.data, index, place, count)
        take_gil(state)
    finally:
        release(found.memory)
    return values, indices, inverse, counts


cdef tuple _unique_by_sorting(Tensor t, int wanted):
    """The same on a device, by sorted values and where they change. The host waits for the number of values."""
    cdef bint is_float = type_table[find_type(t.impl.dl.dtype)].kind == REAL
    n, device, order = t.size, t.device, None
    if is_float or wanted & (INDICES | INVERSE):  # -0.0 and +0.0 are one value, the one that is first
        values, order = top_k(t.reshape((-1,)), n, mode="smallest")
    else:
        values = sort(t.reshape((-1,)))
    first = ones((n,), dtype="bool", device=device)
    first[1:] = not_equal(values[1:], values[:-1])
    inverse = counts = None
    if wanted & INVERSE:
        inverse = zeros((n,), dtype="int64", device=device)
        inverse[order] = subtract(cumulative_sum(first), 1)
        inverse = inverse.reshape(t.shape)
    if wanted & COUNTS:
        starts = nonzero(first)[0]
        ends = full(starts.shape, n, dtype="int64", device=device)
        ends[:-1] = starts[1:]
        counts = subtract(ends, starts)
    return values[first], order[first] if wanted & INDICES else None, inverse, counts


cdef tuple _unique_complex(Tensor t, str func):
    """The same, of complex values: those of the pairs of places that the real and imaginary parts have."""
    _, _, reals, _ = _unique(real(t), INVERSE, func)
    imaginary, _, imags, _ = _unique(imag(t), INVERSE, func)
    _, indices, inverse, counts = _unique(add(multiply(reals, imaginary.size), imags), INDICES | INVERSE | COUNTS, func)
    return take(t.reshape((-1,)), indices), indices, inverse, counts


def unique_all(x, /) -> UniqueAll:
    """Return the distinct values, where each is first, where each element's value is, and how often each occurs.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack; read in C order.

    Returns
    -------
    values : Tensor
        Distinct values in ascending order, complex ones by their real parts. NaNs are distinct from each other; -0 and
        +0 are one value, the one that occurs first.
    indices : Tensor
        The index of the first occurrence of each in the flattened `x`, int64.
    inverse_indices : Tensor
        For each element the index of its value, int64, of the shape of `x`.
    counts : Tensor
        How often each value occurs, int64.

    Raises
    ------
    TypeError
        The dtype has no arithmetic.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    {See Also: unique_values}

    Examples
    --------
    >>> values, indices, inverse, counts = dl.unique_all(dl.asarray([3, 1, 3]))
    >>> values.tolist(), indices.tolist(), inverse.tolist(), counts.tolist()
    ([1, 3], [1, 0], [1, 0, 1], [1, 2])
    """
    if _all_results is None:
        _make_classes()
    return _all_results._make(_unique(x, VALUES | INDICES | INVERSE | COUNTS, "unique_all"))


def unique_counts(x, /) -> UniqueCounts:
    """Return the distinct values and how often each occurs.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.

    Returns
    -------
    values : Tensor
        Distinct values in ascending order, as of `unique_all`.
    counts : Tensor
        How often each value occurs, int64.

    {unique_all: Raises}

    {See Also: unique_all, bincount}

    Examples
    --------
    >>> values, counts = dl.unique_counts(dl.asarray([3, 1, 3]))
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    values, _, _, counts = _unique(x, VALUES | COUNTS, "unique_counts")
    if _counts is None:
        _make_classes()
    return _counts(values, counts)


def unique_inverse(x, /) -> UniqueInverse:
    """Return the distinct values and where each element's value is.

    Returns
    -------
    values : Tensor
        Distinct values in ascending order, as of `unique_all`.
    inverse_indices : Tensor
        For each element the index of its value, int64, of the shape of `x`.

    {unique_counts: Parameters, Raises}

    {See Also: unique_all}

    Examples
    --------
    >>> values, inverse = dl.unique_inverse(dl.asarray([3, 1, 3]))
    >>> values.tolist(), inverse.tolist()
    ([1, 3], [1, 0, 1])
    """
    values, _, inverse, _ = _unique(x, VALUES | INVERSE, "unique_inverse")
    if _inverse is None:
        _make_classes()
    return _inverse(values, inverse)


def unique_values(x, /):
    """Return the distinct values.

    Returns
    -------
    Tensor
        Distinct values in ascending order, as of `unique_all`.

    {unique_counts: Parameters, Raises}

    {See Also: unique_all, isin}

    Examples
    --------
    >>> dl.unique_values(dl.asarray([3, 1, 3]))
    Tensor([1, 3], shape=(2,), device=cpu, dtype=int64)
    """
    return _unique(x, VALUES, "unique_values")[0]


def isin(x1, x2, /, *, invert=False, out=None):
    """Test for each element whether it is among the elements of another tensor.

    Parameters
    ----------
    x1 : array_like or number
        Elements to test, of any shape.
    x2 : array_like or number
        Values to test against, of any shape.
    invert : bool, default False
        Return the opposite.
    out : array_like, optional
        Writable tensor of the shape of `x1` and dtype bool; overwritten and returned.

    Returns
    -------
    Tensor
        Of the shape of `x1`, bool. Elements are compared by exact value, as ``==`` does, also where the dtypes have
        none in common; NaN equals nothing.

    Raises
    ------
    TypeError
        Both are numbers, or two dtypes differ of which one has no arithmetic.
    ValueError
        `out` has another shape or is read-only.
    DeviceError
        Operands are on several devices, or neither on the host nor on a CUDA device.

    {See Also: unique_values}

    Examples
    --------
    >>> dl.isin(dl.asarray([1, 2, 3, 2]), dl.asarray([2, 4]))
    Tensor([False,  True, False,  True], shape=(4,), device=cpu, dtype=bool)
    """
    cdef Tensor elements, values, result, target = None
    cdef int row
    cdef bint opposite = bool(invert)
    cdef LaunchContext host
    cdef PyThreadState* state
    numbers = (bool, int, float, complex)
    x1, x2 = asarrays(x1, x2, numbers=False)
    if type(x1) in numbers and type(x2) in numbers:
        raise TypeError("isin: expected a tensor for x1 or x2, got two numbers; make one with asarray()")
    x1, x2 = comparable(x1, x2, "isin")
    if type(x1) in numbers:
        values = computed_tensor(x2, "isin")
        elements = as_operand(x1, values, "isin", "x1", "x2")
    else:
        elements = computed_tensor(x1, "isin")
        values = as_operand(x2, elements, "isin", "x2", "x1")
    row = _compared_type(elements, values)
    if rest_of(x1, elements) or rest_of(x2, values):
        values = values.reshape((-1,))[:0]  # no element has such a value
    target = read_output(out, elements, elements.impl.dl.ndim, elements.impl.dl.shape, type_table[type_bool].dtype,
                         SAME_DTYPE, "isin")
    if row < 0:
        elements, values = _members(elements, values)
        row = find_type(elements.impl.dl.dtype)
    elements, values = converted(elements, row, "isin"), converted(values, row, "isin")
    if type_table[row].kind == COMPLEX:
        result = _isin_complex(elements, values, opposite)
    elif _takes_operations(elements):
        result = _isin_by_search(elements, values, opposite)
    else:
        result = result_for(None, elements, elements.impl.dl.ndim, elements.impl.dl.shape, type_table[type_bool].dtype,
                            "isin")
        state = release_gil(host, 64 * (numel(elements.impl.dl.ndim, elements.impl.dl.shape) +
                                        numel(values.impl.dl.ndim, values.impl.dl.shape)))
        finish(state, isin_tensor(<uint8_t*>result.impl.dl.data, elements.impl.dl, values.impl.dl, opposite), host,
               "isin")
    return deliver(result, target, out, "isin")


cdef int _compared_type(Tensor elements, Tensor values) except -2:
    """The dtype in which elements and values are compared; -1 where none holds both. TypeError for storage dtypes."""
    cdef int a = find_type(elements.impl.dl.dtype), b = find_type(values.impl.dl.dtype)
    if not (0 <= a < computed_types and 0 <= b < computed_types):
        storage = values if 0 <= a < computed_types else elements
        raise TypeError(f"isin: {storage.dtype} has no arithmetic; convert with astype() first")
    return comparison_type(a, b)


cdef tuple _members(Tensor elements, Tensor values):
    """Elements, and the values that their dtype has, in it: no other value equals an element."""
    if type_table[find_type(values.impl.dl.dtype)].kind == COMPLEX:
        values = real(values)[equal(imag(values), 0)]
    among = astype(values, elements.dtype)
    return elements, among[equal(among, values)]


cdef Tensor _isin_by_search(Tensor elements, Tensor values, bint opposite):
    """The same on a device: by the place of each element among the sorted values."""
    from .search import searchsorted

    if values.size == 0:
        return full(elements.shape, opposite, dtype="bool", device=elements.device)
    among = sort(values.reshape((-1,)))
    nearest = take(among, minimum(searchsorted(among, elements), among.size - 1))
    return not_equal(nearest, elements) if opposite else equal(nearest, elements)


cdef Tensor _isin_complex(Tensor elements, Tensor values, bint opposite):
    """The same for complex values: by the places of their parts among the parts of the values."""
    reals, _, placed_reals, _ = _unique(real(values), INVERSE, "isin")
    imags, _, placed_imags, _ = _unique(imag(values), INVERSE, "isin")
    from .search import searchsorted

    keys = add(multiply(placed_reals, imags.size), placed_imags)
    own_real, own_imag = real(elements), imag(elements)
    places = add(multiply(searchsorted(reals, own_real), imags.size), searchsorted(imags, own_imag))
    inside = bitwise_and(isin(own_real, reals), isin(own_imag, imags))
    found = bitwise_and(inside, isin(places, keys))
    return bitwise_invert(found) if opposite else found
