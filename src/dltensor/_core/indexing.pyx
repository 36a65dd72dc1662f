# SPDX-License-Identifier: Apache-2.0
"""Positions and axes, and basic indexing: integers, slices, Ellipsis and None become a shape, strides and an offset.

No tensors here. Index arrays and masks are read in _ops/index_key.pyx.
"""
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE


from .native cimport MAX_DIMS
from .scalars cimport shown

from .foreign_text import quoted

cdef extern from "Python.h":
    ctypedef struct PySliceObject:
        PyObject* start
        PyObject* stop
        PyObject* step
    Py_ssize_t PY_SSIZE_T_MAX
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t) noexcept


cdef int64_t checked_index(object index, int64_t size, int axis) except? -1:
    """A position along an axis, counted from the end when negative. IndexError with index, axis and size."""
    cdef Py_ssize_t i
    cdef int overflow = 0
    if not PyLong_CheckExact(index):
        index = _as_int(index)
    i = PyLong_AsLongLongAndOverflow(index, &overflow)
    if i < 0:
        i += size
    if i < 0 or i >= size or overflow != 0:
        raise IndexError(f"index {shown(index)} is out of range for axis {axis} with size {size}")
    return i


cdef object _as_int(object index):
    if isinstance(index, bool):
        raise IndexError(f"index {index} is a bool; use 0 or 1 for a position")
    if getattr(index, "ndim", 0) != 0 or not PyIndex_Check(index):
        raise IndexError(f"a position must be an integer, got {type(index).__qualname__}")
    try:
        return PyNumber_Index(index)
    except TypeError as error:
        raise IndexError(f"a position must be an integer, got {type(index).__qualname__}: {error}") from None


cpdef object integer_of(object value, str what, str func):
    """An integer as an int of Python's own class, whose comparisons and arithmetic are what its value says.

    Examples
    --------
    >>> integer_of(dl.asarray(3), "k", "top_k")
    3
    """
    if PyLong_CheckExact(value):
        return value
    if not PyIndex_Check(value):
        raise TypeError(f"{func}: {what} must be an integer, got {quoted(value)}")
    try:
        return PyNumber_Index(value)
    except TypeError:  # a tensor with dimensions has __index__ too
        raise TypeError(f"{func}: {what} must be an integer, got {quoted(value)}") from None


cpdef list items_of(object items, str what, str func):
    """The items of a sequence of extents or axes, read once, and at most 65 of one that may never end.

    Examples
    --------
    >>> items_of((2, 3), "shape", "empty")
    [2, 3]
    """
    cdef list read = []
    if type(items) is tuple and len(items) <= MAX_DIMS:
        return list(items)
    for item in items:
        if len(read) == MAX_DIMS:
            more = len(items) if type(items) in (tuple, list) else "more"
            raise ValueError(f"{func}: at most {MAX_DIMS} dimensions are supported, {what} has {more}")
        read.append(item)
    return read


cpdef list sequence_of(object x, str what, str func):
    """The items of a sequence or of an array with dimensions, as `items_of` reads them; None of a single item.

    Examples
    --------
    >>> sequence_of(range(2), "axis", "flip"), sequence_of(2, "axis", "flip")
    ([0, 1], None)
    """
    if PyLong_CheckExact(x) or isinstance(x, (str, bytes)) or PyIndex_Check(x) and not getattr(x, "ndim", 0):
        return None
    try:
        items = iter(x)
    except TypeError:
        return None
    return items_of(items if type(x) not in (tuple, list) else x, what, func)


cpdef int axis_of(object axis, int ndim, str func) except -1:
    """A dimension's number, counted from the end when negative.

    Examples
    --------
    >>> axis_of(-1, 3, "flip")
    2
    """
    cdef int overflow = 0
    cdef int64_t at
    axis = integer_of(axis, "axis", func)
    at = PyLong_AsLongLongAndOverflow(axis, &overflow)
    if overflow != 0 or not -ndim <= at < ndim:
        raise IndexError(f"{func}: axis {shown(axis)} is out of range for {ndim} dimensions"
                         f"{f'; expected {-ndim} to {ndim - 1}' if ndim > 0 else ''}")
    return <int>(at + ndim if at < 0 else at)


cpdef list axes_of(object axes, int ndim, str func):
    """Dimension numbers from one or several, none of them twice.

    Examples
    --------
    >>> axes_of((0, -1), 3, "flip")
    [0, 2]
    """
    cdef list numbers, items = sequence_of(axes, "axis", func)
    if items is None:
        return [axis_of(axes, ndim, func)]
    numbers = [axis_of(axis, ndim, func) for axis in items]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{func}: axes {tuple(items)} name a dimension of {ndim} twice")
    return numbers


cdef inline bint _is_basic(object key) noexcept:
    """Test whether an item of a key is for this module: a plain integer, a slice, None or Ellipsis."""
    return PyLong_CheckExact(key) or PySlice_Check(key) or key is None or key is Ellipsis


cdef inline bint _bound(PyObject* bound, Py_ssize_t* value) noexcept:
    """Read one part of a slice when it is None, which keeps the default, or a plain integer that fits."""
    cdef int overflow = 0
    if <object>bound is not None:
        if not PyLong_CheckExact(<object>bound):
            return False
        value[0] = PyLong_AsLongLongAndOverflow(<object>bound, &overflow)
    return overflow == 0


cdef inline int _slice(object key, int64_t size, int64_t stride, Place* place) except -1:
    cdef Py_ssize_t start, stop, step = 1
    cdef PySliceObject* parts = <PySliceObject*><PyObject*>key
    # PySlice_Unpack does the same for any kind of bound, at twice the price.
    if _bound(parts.step, &step) and step != 0 and step > -PY_SSIZE_T_MAX:
        start = 0 if step > 0 else PY_SSIZE_T_MAX
        stop = PY_SSIZE_T_MAX if step > 0 else -PY_SSIZE_T_MAX - 1
        if not _bound(parts.start, &start) or not _bound(parts.stop, &stop):
            PySlice_Unpack(key, &start, &stop, &step)
    else:
        PySlice_Unpack(key, &start, &stop, &step)
    cdef int64_t n = PySlice_AdjustIndices(size, &start, &stop, step)
    place.shape[place.ndim] = n
    # A stride of one element or none is never used; keep products of hostile steps from overflowing.
    place.strides[place.ndim] = wrapped_product(stride, step) if n > 1 else stride
    if n > 0:
        place.offset = stepped(place.offset, start, stride)
    place.ndim += 1
    return 0


cdef inline void _keep(const DLTensor* view, int axis, Place* place) noexcept:
    place.shape[place.ndim] = view.shape[axis]
    place.strides[place.ndim] = view.strides[axis]
    place.ndim += 1


cdef int locate(const DLTensor* view, object key, Place* place) except -1:
    """Follow one key. Raises IndexError with index, axis and size; nothing ever wraps.

    Returns 1, before any code of the item runs, where an item is nothing that this module knows: an index array, a
    mask, a list, or an object that is an integer only by its ``__index__``.
    """
    cdef int ndim = view.ndim, axis = 0
    place.ndim = 0
    place.offset = 0
    if PyTuple_CheckExact(key):
        return _locate_tuple(view, key, place)
    if PySlice_Check(key) and ndim > 0:
        _slice(key, view.shape[0], view.strides[0], place)
        axis = 1
    elif PyLong_CheckExact(key) and ndim > 0:
        place.offset = wrapped_product(checked_index(key, view.shape[0], 0), view.strides[0])
        axis = 1
    elif isinstance(key, tuple):
        return _locate_tuple(view, tuple(key), place)  # a subclass may say other items than it has
    elif not _is_basic(key):
        return 1
    else:
        return _locate_tuple(view, (key,), place)
    while axis < ndim:
        _keep(view, axis, place)
        axis += 1
    return 0


cdef int _too_many(tuple keys, int ndim) except -1:
    taken = len([key for key in keys if key is not None and key is not Ellipsis])
    raise IndexError(f"too many indices: the tensor has {ndim} dimension{'' if ndim == 1 else 's'}, but {taken} were "
                     f"indexed")


cdef int _locate_tuple(const DLTensor* view, tuple keys, Place* place) except -1:
    cdef int ndim = view.ndim, axis = 0, rest
    cdef uint64_t added = 0
    cdef bint gap = False
    cdef Py_ssize_t i, k, n = PyTuple_GET_SIZE(keys)
    for i in range(n):
        key = <object>PyTuple_GET_ITEM(keys, i)
        if not _is_basic(key):
            return 1
        if place.ndim == MAX_DIMS:
            raise IndexError(f"at most {MAX_DIMS} dimensions are supported, this index makes more")
        if key is None:
            place.shape[place.ndim] = 1
            added |= <uint64_t>1 << place.ndim
            place.ndim += 1
        elif key is Ellipsis:
            if gap:
                raise IndexError("an index may contain '...' once, got it more than once")
            gap = True
            rest = 0
            for k in range(i + 1, n):
                later = <object>PyTuple_GET_ITEM(keys, k)
                if not _is_basic(later):  # a mask takes as many dimensions as it has
                    return 1
                rest += later is not None and later is not Ellipsis
            while axis < ndim - rest and place.ndim < MAX_DIMS:
                _keep(view, axis, place)
                axis += 1
        elif axis == ndim:
            return _too_many(keys, ndim)
        elif PySlice_Check(key):
            _slice(key, view.shape[axis], view.strides[axis], place)
            axis += 1
        else:
            place.offset = stepped(place.offset, checked_index(key, view.shape[axis], axis), view.strides[axis])
            axis += 1
    if place.ndim + ndim - axis > MAX_DIMS:
        raise IndexError(f"at most {MAX_DIMS} dimensions are supported, this index makes more")
    while axis < ndim:
        _keep(view, axis, place)
        axis += 1
    if added != 0:
        stride_added(place, added)
    return 0


cdef void stride_added(Place* place, uint64_t added) noexcept:
    """Strides of new dimensions, one bit each: never used, but other libraries compare them with those of C order."""
    cdef int axis
    for axis in range(place.ndim - 1, -1, -1):
        if added >> axis & 1:
            place.strides[axis] = (1 if axis == place.ndim - 1 else
                                   wrapped_product(place.shape[axis + 1], place.strides[axis + 1]))
