# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides that users ask for: read, completed, permuted, reinterpreted. Tensors over them: tensor.pyx."""
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.number cimport PyNumber_Index
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

from .indexing cimport axis_of, sequence_of
from .native cimport MAX_DIMS, count_elements, is_contiguous, numel
from .scalars cimport is_int, shown
from .types cimport DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, dtype_of

from .foreign_text import quoted


cdef object as_tuple(int n, const int64_t* numbers):
    """A shape, or strides, as Python shows them."""
    cdef int i
    cdef tuple result = PyTuple_New(n)
    for i in range(n):
        number = numbers[i]
        value = <object>number
        Py_INCREF(value)
        PyTuple_SET_ITEM(result, i, value)
    return result


cdef int read_shape(object shape, int64_t* out, str func, bint strides=False) except -1:
    """Numbers of a shape argument, or of strides, into `out` (64 entries); returns how many."""
    cdef int n = 0, overflow = 0
    cdef Py_ssize_t i
    if PyTuple_CheckExact(shape) and PyTuple_GET_SIZE(shape) <= MAX_DIMS:
        for n in range(<int>PyTuple_GET_SIZE(shape)):
            if not is_int(<object>PyTuple_GET_ITEM(shape, n)):
                break
            out[n] = PyLong_AsLongLongAndOverflow(<object>PyTuple_GET_ITEM(shape, n), &overflow)
            if overflow != 0:
                break
        else:
            return <int>PyTuple_GET_SIZE(shape)
    elif is_int(shape):
        out[0] = PyLong_AsLongLongAndOverflow(shape, &overflow)
        if overflow == 0:
            return 1
    # Anything else is read once, into our own list.
    cdef list numbers = []
    n = 0
    try:
        items = sequence_of(shape, "strides" if strides else "shape", func)
        for number in [shape] if items is None else items:
            numbers.append(PyNumber_Index(number))
    except (TypeError, AttributeError):
        raise TypeError(f"{func}: {'strides are' if strides else 'a shape is'} an integer or a sequence of integers, "
                        f"got {quoted(shape)}") from None
    try:
        for i in range(len(numbers)):
            out[i] = numbers[i]
    except OverflowError:
        raise ValueError(f"{func}: {'a stride' if strides else 'an extent'} must be below 2^63, got "
                         f"{', '.join([shown(number) for number in numbers])}") from None
    return <int>len(numbers)


cdef int64_t counted(int ndim, const int64_t* shape, DLDataType dtype, str func) except -1:
    """The number of elements of a requested shape; ValueError when an extent is negative or int64 cannot count them."""
    cdef int i
    cdef int64_t count
    for i in range(ndim):
        if shape[i] < 0:
            raise ValueError(f"{func}: shape[{i}] must be at least 0, got {shape[i]}")
    if not count_elements(ndim, shape, dtype, &count):
        raise ValueError(f"{func}: shape {as_tuple(ndim, shape)} of {dtype_of(dtype)} takes more than 2^63 - 1 bytes, "
                         f"the most that can be counted")
    return count


cdef int complete_shape(const DLTensor* view, int n, int64_t* target, str func) except -1:
    """Replace one -1 by what is left over, and see that the number of elements stays."""
    cdef int i
    cdef int64_t known, size = numel(view.ndim, view.shape)
    cdef int open = -1
    for i in range(n):
        if target[i] == -1:
            if open >= 0:
                raise ValueError(f"{func}: at most one extent may be -1, got {as_tuple(n, target)}")
            open = i
        elif target[i] < 0:
            raise ValueError(f"{func}: an extent must be at least 0 (or one -1), got {as_tuple(n, target)}")
    if open >= 0:
        target[open] = 1
    known = counted(n, target, view.dtype, func)
    if open >= 0:
        if known == 0 or size % known != 0:
            target[open] = -1
            raise ValueError(f"{func}: {size} elements of shape {shape_of(view)} do not fill shape "
                             f"{as_tuple(n, target)}")
        target[open] = size // known
    elif known != size:
        raise ValueError(f"{func}: shape {shape_of(view)} has {size} elements, shape {as_tuple(n, target)} has {known}")
    return 0


cpdef tuple joined_shape(tuple shape, object start_dim, object end_dim):
    """The shape in which several dimensions are one, as in PyTorch's ``flatten``.

    >>> joined_shape((2, 3, 4), 1, -1)
    (2, 12)
    """
    cdef int start, end, count
    cdef object size = 1
    shape = shape or (1,)
    count = <int>len(shape)
    start, end = axis_of(start_dim, count, "flatten"), axis_of(end_dim, count, "flatten")
    if start > end:
        raise ValueError(f"flatten: start_dim must not come after end_dim, got {start_dim} and {end_dim}")
    for d in range(start, end + 1):
        size *= shape[d]
    return (*shape[:start], size, *shape[end + 1:])


cdef tuple one_or_many(tuple arguments, str func):
    """Axes that came one by one, or as one sequence."""
    items = sequence_of(arguments[0], "axes", func) if len(arguments) == 1 else None
    return arguments if items is None else tuple(items)


cdef int permute(const DLTensor* view, tuple axes, Place* place, str func) except -1:
    """The place of all dimensions in another order."""
    cdef uint64_t seen = 0
    cdef int i, axis, n = view.ndim
    if len(axes) != n:
        raise ValueError(f"{func}: axes {axes} must name each of the {n} dimensions once")
    place.ndim = n
    place.offset = 0
    for i in range(n):
        axis = axis_of(axes[i], n, func)
        if seen >> axis & 1:
            raise ValueError(f"{func}: axes {axes} name a dimension of {n} twice")
        seen |= <uint64_t>1 << axis
        place.shape[i] = view.shape[axis]
        place.strides[i] = view.strides[axis]
    return 0


cdef void reverse(const DLTensor* view, Place* place) noexcept:
    """The place of all dimensions in the opposite order."""
    cdef int i, n = view.ndim
    place.ndim = n
    place.offset = 0
    for i in range(n):
        place.shape[i], place.strides[i] = view.shape[n - 1 - i], view.strides[n - 1 - i]


cdef int squeeze(const DLTensor* view, object axes, Place* place, str func) except -1:
    """The place without some dimensions of one element, or without all of them when `axes` is None."""
    cdef uint64_t gone = 0
    cdef int i, axis
    if axes is not None:
        items = sequence_of(axes, "axis", func)
        for each in (axes,) if items is None else items:
            axis = axis_of(each, view.ndim, func)
            if gone >> axis & 1:
                raise ValueError(f"{func}: axes {axes} name a dimension of {view.ndim} twice")
            if view.shape[axis] != 1:
                raise ValueError(f"{func}: axis {axis} of shape {shape_of(view)} has {view.shape[axis]} elements, "
                                 f"expected 1")
            gone |= <uint64_t>1 << axis
    place.ndim = 0
    place.offset = 0
    for i in range(view.ndim):
        if gone >> i & 1 or axes is None and view.shape[i] == 1:
            continue
        place.shape[place.ndim] = view.shape[i]
        place.strides[place.ndim] = view.strides[i]
        place.ndim += 1
    return 0


cdef bint is_contiguous_in(const DLTensor* view, bint fortran) noexcept:
    """Test whether the elements are contiguous in C order, or with the first index fastest."""
    cdef Place place
    if not fortran:
        return is_contiguous(view.ndim, view.shape, view.strides)
    reverse(view, &place)
    return is_contiguous(place.ndim, place.shape, place.strides)


cdef bint takes_fortran(const DLTensor* view, object order, str func) except -1:
    """Test whether an order takes the first index as the fastest one: "F", and "A" where the memory has that order."""
    if order == "C" or order == "c":
        return False
    if order == "A" or order == "a":
        return is_contiguous_in(view, True) and not is_contiguous_in(view, False)
    if order != "F" and order != "f":
        raise ValueError(f"{func}: order must be 'C', 'F' or 'A', got {quoted(order, 80)}")
    return True


cdef int reinterpret(const DLTensor* source, uint64_t flags, DLDataType dtype, DLTensor* view) except -1:
    """Give `view`, which shows the elements of `source`, another dtype, and the last extent and the strides of it."""
    cdef int i
    cdef int last = source.ndim - 1
    cdef int64_t old = source.dtype.bits * source.dtype.lanes, new = dtype.bits * dtype.lanes
    view.dtype = dtype
    if flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        if new % 8:
            raise ValueError(f"view: padded {dtype_of(source.dtype)} elements have 8 bits each, {dtype_of(dtype)} has "
                             f"{new}")
        old = 8
    if old == new:
        return 0
    if last < 0 or source.strides[last] != 1 and source.shape[last] != 1 and numel(source.ndim, source.shape) != 0:
        raise ValueError(f"view: {dtype_of(source.dtype)} and {dtype_of(dtype)} differ in width, so the last dimension "
                         f"of shape {shape_of(source)} with strides {strides_of(source)} must be contiguous; copy() "
                         f"first")
    # Counted by Python's integers: bits may be more than 64 of them hold.
    length = <object>source.shape[last] * old
    if length % new:
        raise ValueError(f"view: the last dimension has {length} bits, which {dtype_of(dtype)} of {new} does not "
                         f"divide")
    length //= new
    if length >> 63:
        raise ValueError(f"view: shape {shape_of(source)} of {dtype_of(source.dtype)} as {dtype_of(dtype)} would have "
                         f"a dimension of {length} elements; at most 2^63 - 1 can be counted")
    view.shape[last] = length
    view.strides[last] = 1
    for i in range(last):
        if source.shape[i] <= 1 or numel(source.ndim, source.shape) == 0:
            continue  # its stride is never used
        step = <object>source.strides[i] * old
        if step % new:
            raise ValueError(f"view: strides {strides_of(source)} of {dtype_of(source.dtype)} are not whole elements "
                             f"of {dtype_of(dtype)}; copy() first")
        view.strides[i] = step // new
    counted(view.ndim, view.shape, dtype, "view")
    return 0
