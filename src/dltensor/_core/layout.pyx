# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides as tuples, in elements: contiguity, broadcasting, merging of dimensions. No tensors."""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from .indexing cimport items_of
from .native cimport LEADING, MAX_DIMS, TRAILING, Align, Extent, count_elements
from .native cimport broadcast_shapes as native_broadcast_shapes
from .native cimport broadcast_strides as native_broadcast_strides
from .native cimport is_contiguous as native_is_contiguous
from .shapes cimport as_tuple
from .types cimport DLDataType, DType

from .foreign_text import quoted
from .types import as_dtype

__all__ = [
    "array_equals",
    "broadcast_shapes",
    "broadcast_strides",
    "coalesce",
    "contiguous_strides",
    "create_output_tensor",
    "extent",
    "is_contiguous",
    "nbytes",
    "numel",
]


cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    bint checked_strides(int, const int64_t*, int64_t*)
    bint checked_extent(int, const int64_t*, const int64_t*, Extent*)
    int native_coalesce "dlt::coalesce"(int, int64_t*, int, int64_t* const*)


cdef DLDataType _byte = (<DType>as_dtype("uint8")).value  # an element of one byte, to count elements


MOST_DIMENSIONS = MAX_DIMS


cdef struct Dims:
    int count
    int64_t values[MAX_DIMS]


cdef object _tuple(const Dims* dims):
    return as_tuple(dims.count, dims.values)


cdef int _read(object numbers, Dims* out, str what, str func) except -1:
    """Read a sequence of integers once, into memory of ours."""
    cdef int i
    try:
        integers = [PyNumber_Index(number) for number in items_of(numbers, what, func)]
    except (TypeError, AttributeError):
        raise TypeError(f"{func}: {what} must be a sequence of integers, got {quoted(numbers)}") from None
    out.count = <int>len(integers)
    for i in range(out.count):
        try:
            out.values[i] = integers[i]
        except OverflowError:
            raise ValueError(f"{func}: the numbers of {what} must be from -2^63 to 2^63 - 1, got "
                             f"{integers[i]}") from None
    return 0


cdef int _read_shape(object shape, Dims* out, str func) except -1:
    cdef int i
    _read(shape, out, "a shape", func)
    for i in range(out.count):
        if out.values[i] < 0:
            raise ValueError(f"{func}: shape[{i}] must be at least 0, got {out.values[i]}")
    return 0


cdef int _read_strides(object strides, const Dims* shape, Dims* out, str func) except -1:
    _read(strides, out, "strides", func)
    if out.count != shape.count:
        raise ValueError(f"{func}: shape {_tuple(shape)} and strides {_tuple(out)} differ in length")
    return 0


cdef int _too_large(str what, str func) except -1:
    raise ValueError(f"{func}: {what} is beyond 2^63 - 1, the most that can be counted")


cdef int64_t _count(const Dims* shape, DLDataType dtype, str what, str func) except -1:
    """The elements of a shape whose bytes, as `dtype`, int64 can count."""
    cdef int64_t count
    cdef int i
    for i in range(shape.count):
        if shape.values[i] == 0:
            return 0
    if not count_elements(shape.count, shape.values, dtype, &count):
        _too_large(f"the number of {what} of shape {_tuple(shape)}", func)
    return count


cdef Align _read_align(object align, str func) except *:
    if align == "trailing":
        return TRAILING
    if align == "leading":
        return LEADING
    raise ValueError(f"{func}: align must be 'trailing' or 'leading', got {align!r}")


cdef bint _is_fortran(object order, str func) except -1:
    if order not in ("C", "F"):
        raise ValueError(f"{func}: order must be 'C' or 'F', got {order!r}")
    return order == "F"


cdef void _reverse(Dims* dims) noexcept:
    """The dimensions in the opposite order: Fortran order becomes C order."""
    cdef int i
    cdef int64_t kept
    for i in range(dims.count // 2):
        kept = dims.values[i]
        dims.values[i] = dims.values[dims.count - 1 - i]
        dims.values[dims.count - 1 - i] = kept


def numel(shape):
    """Return the number of elements of a shape.

    Parameters
    ----------
    shape : iterable of int
        Shape of the tensor.

    Returns
    -------
    int
        Product of the extents.

    Raises
    ------
    TypeError
        `shape` is not a sequence of integers.
    ValueError
        An extent is negative, or there are more than 2^63 - 1 elements.

    {See Also: nbytes}

    Examples
    --------
    >>> dl.layout.numel((2, 3)), dl.layout.numel(())
    (6, 1)
    """
    cdef Dims dims
    _read_shape(shape, &dims, "numel")
    return _count(&dims, _byte, "elements", "numel")


def nbytes(shape, dtype):
    """Return the size in bytes of contiguous elements; dtypes of fewer than 8 bits are packed.

    Parameters
    ----------
    {numel: shape}
    dtype : dtype_like
        Element type.

    Returns
    -------
    int
        Size in bytes, rounded up.

    Raises
    ------
    TypeError
        `shape` is not a sequence of integers, or `dtype` is not a dtype.
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.

    {See Also: numel}

    Examples
    --------
    >>> dl.layout.nbytes((2, 3), "float32"), dl.layout.nbytes((3,), "int4")
    (24, 2)
    """
    cdef Dims dims
    value = as_dtype(dtype, "nbytes")
    _read_shape(shape, &dims, "nbytes")
    # Packed elements share bytes: there may be more of them than bytes.
    count = 1
    for extent in _tuple(&dims):
        count *= extent
    count = (count * value.bits * value.lanes + 7) // 8
    if count >= 2**63:
        _too_large(f"the number of bytes of shape {_tuple(&dims)} of {value}", "nbytes")
    return count


cdef int _contiguous(const Dims* shape, bint fortran, Dims* result, str func) except -1:
    """The strides of C or Fortran order; ValueError where int64 cannot count one."""
    cdef Dims ordered = shape[0]
    if fortran:
        _reverse(&ordered)
    if not checked_strides(ordered.count, ordered.values, result.values):
        _too_large(f"a stride of shape {_tuple(shape)}", func)
    result.count = ordered.count
    if fortran:
        _reverse(result)
    return 0


def contiguous_strides(shape, order="C"):
    """Return the strides of a contiguous tensor, in elements. An extent of 0 counts as 1.

    Parameters
    ----------
    {numel: shape}
    order : {"C", "F"}, default "C"
        Whether the last index ("C") or the first ("F") varies fastest.

    Returns
    -------
    tuple of int
        Strides in elements.

    Raises
    ------
    {numel: TypeError}
    ValueError
        An extent is negative, `order` is neither "C" nor "F", or a stride exceeds 2^63 - 1.

    {See Also: is_contiguous}

    Examples
    --------
    >>> dl.layout.contiguous_strides((2, 3, 4)), dl.layout.contiguous_strides((2, 3, 4), order="F")
    ((12, 4, 1), (1, 2, 6))
    """
    cdef Dims dims, result
    _read_shape(shape, &dims, "contiguous_strides")
    fortran = _is_fortran(order, "contiguous_strides")
    _contiguous(&dims, fortran, &result, "contiguous_strides")
    return _tuple(&result)


def is_contiguous(shape, strides, order="C"):
    """Test whether elements are contiguous in an order.

    Strides of dimensions of one element are ignored; without elements all strides are.

    Parameters
    ----------
    {numel: shape}
    strides : iterable of int
        Strides in elements.
    {contiguous_strides: order}

    Returns
    -------
    bool
        Whether the elements are contiguous.

    Raises
    ------
    TypeError
        `shape` or `strides` is not a sequence of integers.
    ValueError
        An extent is negative, the lengths differ, or `order` is neither "C" nor "F".

    {See Also: contiguous_strides}

    Examples
    --------
    >>> dl.layout.is_contiguous((2, 3), (3, 1)), dl.layout.is_contiguous((2, 3), (1, 2), order="F")
    (True, True)
    """
    cdef Dims dims, steps, expected
    _read_shape(shape, &dims, "is_contiguous")
    _read_strides(strides, &dims, &steps, "is_contiguous")
    fortran = _is_fortran(order, "is_contiguous")
    _contiguous(&dims, fortran, &expected, "is_contiguous")  # raises where a stride cannot be counted
    if fortran:
        _reverse(&dims)
        _reverse(&steps)
    return native_is_contiguous(dims.count, dims.values, steps.values)


def broadcast_shapes(*shapes, align="trailing"):
    """Return the shape to which all shapes broadcast.

    Extents of 1 are repeated, and missing ones count as 1.

    Parameters
    ----------
    *shapes : iterable of int
        Shapes to broadcast.
    align : {"trailing", "leading"}, default "trailing"
        Whether the last dimensions are aligned, as in NumPy, or the first.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    TypeError
        A shape is not a sequence of integers.
    ValueError
        Two extents differ and neither is 1 (the message names all shapes), or there are more than 2^63 - 1 elements.

    {See Also: broadcast_strides}

    Examples
    --------
    >>> dl.layout.broadcast_shapes((2, 1), (3,)), dl.layout.broadcast_shapes((2, 1), (2,), align="leading")
    ((2, 3), (2, 1))
    """
    return common_shape("broadcast_shapes", shapes, align)


def common_shape(str func, shapes, align="trailing"):
    """Return the shape that all shapes broadcast to, on behalf of `func`, which messages name."""
    cdef vector[Dims] read
    cdef vector[const int64_t*] pointers
    cdef vector[int] counts
    cdef Dims one, result
    cdef size_t k
    side = _read_align(align, func)
    for shape in shapes:
        _read_shape(shape, &one, func)
        read.push_back(one)
    for k in range(read.size()):
        pointers.push_back(read[k].values)
        counts.push_back(read[k].count)
    result.count = native_broadcast_shapes(<int>read.size(), counts.data(), pointers.data(), side, result.values)
    if result.count < 0:
        _raise_different([_tuple(&read[k]) for k in range(read.size())], align, func)
    _count(&result, _byte, "elements", func)
    return _tuple(&result)


cdef int _raise_different(list shapes, str align, str func) except -1:
    """Name the first dimension in which two extents differ and neither is 1."""
    ndim = max(map(len, shapes))
    result = [1] * ndim
    for shape in shapes:
        first = ndim - len(shape) if align == "trailing" else 0
        for axis, size in enumerate(shape, first):
            if size != 1 and result[axis] not in (1, size):
                raise ValueError(f"{func}: {', '.join(map(str, shapes))} do not broadcast: extents {result[axis]} and "
                                 f"{size} meet in dimension {axis} of {ndim} ({align} dimensions aligned)")
            result[axis] = size if result[axis] == 1 else result[axis]
    raise AssertionError(f"{func}: {shapes} broadcast")


def broadcast_strides(shape, strides, to, align="trailing"):
    """Return the strides with which a tensor is read as if it had another shape.

    Parameters
    ----------
    shape, strides : iterable of int
        Shape and strides, in elements, of the tensor.
    to : iterable of int
        Shape to which it is broadcast.
    {broadcast_shapes: align}

    Returns
    -------
    tuple of int
        Strides in elements, 0 along repeated dimensions.

    Raises
    ------
    TypeError
        An argument is not a sequence of integers.
    ValueError
        `shape` does not broadcast to `to`.

    {See Also: broadcast_shapes}

    Examples
    --------
    >>> dl.layout.broadcast_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    return strides_over("broadcast_strides", shape, strides, to, align)


def strides_over(str func, shape, strides, to, align="trailing"):
    """Return the strides of `broadcast_strides` on behalf of `func`, which messages name."""
    cdef Dims dims, steps, wanted, result
    _read_shape(shape, &dims, func)
    _read_strides(strides, &dims, &steps, func)
    _read_shape(to, &wanted, func)
    side = _read_align(align, func)
    if not native_broadcast_strides(dims.count, dims.values, steps.values, wanted.count, wanted.values, side,
                                    result.values):
        raise ValueError(f"{func}: shape {_tuple(&dims)} does not broadcast to {_tuple(&wanted)} ({align} dimensions "
                         f"aligned)")
    result.count = wanted.count
    return _tuple(&result)


def coalesce(shape, strides_per_operand):
    """Merge dimensions that every operand can traverse as one, and remove those of one element.

    Parameters
    ----------
    shape : iterable of int
        Common shape of the operands.
    strides_per_operand : iterable of iterable of int
        Strides of each operand, in elements.

    Returns
    -------
    shape : tuple of int
        With as few dimensions as possible; ``(0,)`` when there is no element.
    strides_per_operand : tuple of tuple of int
        Strides with which each operand is read in the same order as before.

    Raises
    ------
    {broadcast_strides: TypeError}
    ValueError
        An extent is negative, or strides and shape differ in length.

    Examples
    --------
    >>> dl.layout.coalesce((2, 3, 4), [(12, 4, 1), (0, 4, 1)])
    ((2, 12), ((12, 1), (0, 1)))
    """
    cdef Dims dims, one
    cdef vector[Dims] operands
    cdef vector[int64_t*] pointers
    cdef size_t k
    _read_shape(shape, &dims, "coalesce")
    for strides in strides_per_operand:
        _read_strides(strides, &dims, &one, "coalesce")
        operands.push_back(one)
    _count(&dims, _byte, "elements", "coalesce")
    for k in range(operands.size()):
        if dims.count == 0:
            operands[k].values[0] = 0
        pointers.push_back(operands[k].values)
    dims.count = native_coalesce(dims.count, dims.values, <int>operands.size(), pointers.data())
    return _tuple(&dims), tuple([as_tuple(dims.count, operands[k].values) for k in range(operands.size())])


def extent(shape, strides):
    """Return the range of elements that a strided tensor covers, relative to its first element.

    {is_contiguous: Parameters}

    Returns
    -------
    low : int
        Offset of the lowest element, 0 or negative; 0 when there is no element.
    high : int
        Offset of the highest element plus 1; 0 when there is no element.

    Raises
    ------
    {broadcast_strides: TypeError}
    ValueError
        An extent is negative, or the lengths differ.

    Examples
    --------
    >>> dl.layout.extent((2, 3), (3, -1))
    (-2, 4)
    """
    cdef Dims dims, steps
    cdef Extent found
    _read_shape(shape, &dims, "extent")
    _read_strides(strides, &dims, &steps, "extent")
    if not checked_extent(dims.count, dims.values, steps.values, &found):
        _too_large(f"an end of shape {_tuple(&dims)} with strides {_tuple(&steps)}", "extent")
    return found.low, found.high


def array_equals(first, second, start: int = 0, stop: int | None = None):
    """Test whether two shapes, or two strides, are equal in a range of dimensions; an empty range is equal.

    Parameters
    ----------
    first, second : iterable of int
        Shapes or strides to compare.
    start : int, default 0
        First dimension of the range.
    stop : int, optional
        End of the range, which is excluded; None compares the rest and the lengths.

    Returns
    -------
    bool
        Whether they are equal.

    Raises
    ------
    {broadcast_strides: TypeError}
    ValueError
        The range exceeds one of the sequences.

    Examples
    --------
    >>> dl.layout.array_equals((2, 3, 4), (7, 3, 4), 1, 3), dl.layout.array_equals((2, 3), (2, 3, 4))
    (True, False)
    """
    cdef Dims a, b
    _read(first, &a, "the first", "array_equals")
    _read(second, &b, "the second", "array_equals")
    if stop is None:
        return _tuple(&a)[start:] == _tuple(&b)[start:]
    if not start >= 0 or stop > min(a.count, b.count):
        raise ValueError(f"array_equals: dimensions {start} to {stop} are not all in {_tuple(&a)} and {_tuple(&b)}")
    return _tuple(&a)[start:stop] == _tuple(&b)[start:stop]


def create_output_tensor(tensors: Iterable[TensorLike | None], *, align="trailing", dtype=None, device=None):
    """Return an uninitialized tensor of the shape to which all tensors broadcast.

    Parameters
    ----------
    tensors : iterable of array_like
        Operands; None stands for an operand that is not given.
    {broadcast_shapes: align}
    dtype : dtype_like, optional
        Element type; by default that of the first operand.
    device : device_like, optional
        Device; by default that of the first operand.

    {convert.empty: Returns}

    Raises
    ------
    ValueError
        The shapes do not broadcast, or there is no tensor.
    MemoryError
        The allocation failed.

    {See Also: broadcast_shapes}

    Examples
    --------
    >>> dl.layout.create_output_tensor([dl.ones((4, 1)), None, dl.ones((1, 5))]).shape
    (4, 5)
    """
    from .convert import asarray, empty_for

    operands = [asarray(tensor) for tensor in tensors if tensor is not None]
    if not operands:
        raise ValueError("create_output_tensor: expected at least one tensor, got none")
    shape = common_shape("create_output_tensor", [tensor.shape for tensor in operands], align)
    dtype = operands[0].dtype if dtype is None else dtype
    device = operands[0].device if device is None else device
    return empty_for("create_output_tensor", shape, dtype, device)
