# SPDX-License-Identifier: Apache-2.0
# Shapes that users ask for: read from arguments, completed, permuted, cut anew. Part of tensor.pyx; no methods here.

cdef object as_tuple(int n, const int64_t* numbers):
    """A shape, or strides, as Python shows them."""
    cdef int i
    cdef tuple made = PyTuple_New(n)
    for i in range(n):
        number = numbers[i]
        value = <object>number
        Py_INCREF(value)
        PyTuple_SET_ITEM(made, i, value)
    return made


cdef int read_shape(object shape, int64_t* out, str func, bint strides=False) except -1:
    """Numbers of a shape argument, or of strides, into `out` (64 entries); returns how many."""
    cdef int n = 0, overflow = 0
    cdef Py_ssize_t i
    if PyTuple_CheckExact(shape) and PyTuple_GET_SIZE(shape) <= 64:
        for n in range(<int>PyTuple_GET_SIZE(shape)):
            if not PyLong_CheckExact(<object>PyTuple_GET_ITEM(shape, n)):
                break
            out[n] = PyLong_AsLongLongAndOverflow(<object>PyTuple_GET_ITEM(shape, n), &overflow)
            if overflow != 0:
                break
        else:
            return <int>PyTuple_GET_SIZE(shape)
    elif PyLong_CheckExact(shape):
        out[0] = PyLong_AsLongLongAndOverflow(shape, &overflow)
        if overflow == 0:
            return 1
    # Anything else is read once, into numbers of ours; so many of a sequence as tell that it is too long.
    cdef list numbers = []
    n = 0
    try:
        if hasattr(shape, "__index__"):
            numbers.append(shape.__index__())
        else:
            for number in shape:
                if len(numbers) == 64:
                    raise ValueError(f"{func}: at most 64 dimensions are supported, got "
                                     f"{len(shape) if type(shape) in (tuple, list) else 'more'}")
                numbers.append(number.__index__())
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


cdef Tensor _swap_last(Tensor self):
    cdef Place place
    cdef int n = self.impl.dl.ndim
    place.ndim = n
    place.offset = 0
    memcpy(place.shape, self.impl.dl.shape, n * sizeof(int64_t))
    memcpy(place.strides, self.impl.dl.strides, n * sizeof(int64_t))
    place.shape[n - 1], place.shape[n - 2] = place.shape[n - 2], place.shape[n - 1]
    place.strides[n - 1], place.strides[n - 2] = place.strides[n - 2], place.strides[n - 1]
    return view_of(self, &place)


cdef int _axis_of(object axis, int ndim, str func) except -1:
    """A dimension's number, counted from the end when negative."""
    try:
        at = axis.__index__()
    except AttributeError:
        raise TypeError(f"{func}: an axis must be an integer, got {quoted(axis)}") from None
    if not -ndim <= at < ndim:
        raise IndexError(f"{func}: axis {at} is out of range for {ndim} dimensions")
    return at % ndim


cdef tuple one_or_many(tuple given):
    """Axes that came one by one, or as one sequence."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


cdef Tensor permuted(Tensor self, tuple axes, str func):
    """A view with the dimensions in another order."""
    cdef Place place
    cdef uint64_t seen = 0
    cdef int i, axis, n = self.impl.dl.ndim
    if len(axes) != n:
        raise ValueError(f"{func}: axes {axes} must name each of the {n} dimensions once")
    place.ndim = n
    place.offset = 0
    for i in range(n):
        axis = _axis_of(axes[i], n, func)
        if seen >> axis & 1:
            raise ValueError(f"{func}: axes {axes} name a dimension of {n} twice")
        seen |= <uint64_t>1 << axis
        place.shape[i] = self.impl.dl.shape[axis]
        place.strides[i] = self.impl.dl.strides[axis]
    return view_of(self, &place)


cdef Tensor squeezed(Tensor self, object axes, str func):
    """A view without some dimensions of one element, or without all of them when `axes` is None."""
    cdef Place place
    cdef uint64_t gone = 0
    cdef int i, axis
    if axes is not None:
        for each in axes if isinstance(axes, (tuple, list)) else (axes,):
            axis = _axis_of(each, self.impl.dl.ndim, func)
            if gone >> axis & 1:
                raise ValueError(f"{func}: axes {axes} name a dimension of {self.impl.dl.ndim} twice")
            if self.impl.dl.shape[axis] != 1:
                raise ValueError(f"{func}: axis {axis} of shape {self.shape} has {self.impl.dl.shape[axis]} elements, "
                                 f"expected 1")
            gone |= <uint64_t>1 << axis
    place.ndim = 0
    place.offset = 0
    for i in range(self.impl.dl.ndim):
        if gone >> i & 1 or axes is None and self.impl.dl.shape[i] == 1:
            continue
        place.shape[place.ndim] = self.impl.dl.shape[i]
        place.strides[place.ndim] = self.impl.dl.strides[i]
        place.ndim += 1
    return view_of(self, &place)


cdef int _complete_shape(Tensor self, int n, int64_t* target, str func) except -1:
    """Replace one -1 by what is left over, and see that the number of elements stays."""
    cdef int i
    cdef int64_t known, size = _size(&self.impl.dl)
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
    known = counted(n, target, self.impl.dl.dtype, func)
    if open >= 0:
        if known == 0 or size % known != 0:
            target[open] = -1
            raise ValueError(f"{func}: {size} elements of shape {self.shape} do not fill shape {as_tuple(n, target)}")
        target[open] = size // known
    elif known != size:
        raise ValueError(f"{func}: shape {self.shape} has {size} elements, shape {as_tuple(n, target)} has {known}")
    return 0


cdef Tensor reshaped(Tensor self, object shape, object copy, str func):
    """The elements, in C order, under another shape: a copy when `copy` is True, or None and no view can show them."""
    cdef Place place
    cdef Tensor source = self
    cdef int n = read_shape(shape, place.shape, func)
    _complete_shape(self, n, place.shape, func)
    place.ndim = n
    place.offset = 0
    if copy is not None and copy:
        source = copied(self, func)
    if not reshape_strides(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides, n, place.shape,
                           place.strides):
        if copy is not None:
            raise ValueError(f"{func}: shape {self.shape} with strides {self.strides} has no view of shape "
                             f"{as_tuple(n, place.shape)}; allow a copy with copy=None")
        source = copied(self, func)
        contiguous_strides(n, place.shape, place.strides)
    return view_of(source, &place)


cdef Tensor _reinterpret(Tensor self, DLDataType dtype):
    cdef int i
    cdef Tensor made = same_view(self)
    cdef int last = self.impl.dl.ndim - 1
    cdef int64_t old = self.impl.dl.dtype.bits * self.impl.dl.dtype.lanes, new = dtype.bits * dtype.lanes
    made.impl.dl.dtype = dtype
    if self.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        if new % 8:
            raise ValueError(f"view: padded {self.dtype} elements have 8 bits each, {dtype_of(dtype)} has {new}")
        old = 8
        made.impl.flags &= ~<uint64_t>DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    if old == new:
        return made
    if last < 0 or self.impl.dl.strides[last] != 1 and self.impl.dl.shape[last] != 1:
        raise ValueError(f"view: {self.dtype} and {dtype_of(dtype)} differ in width, so the last dimension of shape "
                         f"{self.shape} with strides {self.strides} must lie side by side; copy() first")
    # Counted by Python's integers: bits may be more than 64 of them hold.
    length = <object>self.impl.dl.shape[last] * old
    if length % new:
        raise ValueError(f"view: the last dimension has {length} bits, which {dtype_of(dtype)} of {new} does not "
                         f"divide")
    length //= new
    if length >> 63:
        raise ValueError(f"view: shape {self.shape} of {self.dtype} as {dtype_of(dtype)} would have a dimension of "
                         f"{length} elements; at most 2^63 - 1 can be counted")
    made.impl.dl.shape[last] = length
    made.impl.dl.strides[last] = 1
    for i in range(last):
        if self.impl.dl.shape[i] <= 1:
            continue  # its stride is never used
        step = <object>self.impl.dl.strides[i] * old
        if step % new:
            raise ValueError(f"view: strides {self.strides} of {self.dtype} are not whole elements of "
                             f"{dtype_of(dtype)}; copy() first")
        made.impl.dl.strides[i] = step // new
    counted(made.impl.dl.ndim, made.impl.dl.shape, dtype, "view")
    return made
