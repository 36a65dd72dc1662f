# SPDX-License-Identifier: Apache-2.0
# Numbers and nested sequences of them as tensors. Part of _core/convert.pyx; nothing here has memory to share.

cdef inline bint _is_sequence(object x):
    return isinstance(x, (list, tuple, range))


cdef Tensor _from_numbers(object obj, object dtype, str func):
    """A number or nested sequences of numbers in fresh memory."""
    cdef int64_t shape[64]
    cdef int64_t i = 0
    cdef int ndim = 0
    cdef bint padded
    cdef Tensor t
    cdef list leaves = []
    ndim = _collect(obj, 0, -1, shape, leaves, func)
    if dtype is None:
        dtype = _kind_of(leaves)
    t = new_empty(ndim, shape, read_dtype(dtype, func), DLDevice(kDLCPU, 0), func)
    padded = not is_packed(t.impl.dl.dtype, t.impl.flags)
    for leaf in leaves:
        store_python(t.impl.dl.data, i, leaf, t.impl.dl.dtype, padded, func)
        i += 1
    return t


cdef int _collect(object x, int depth, int ndim, int64_t* shape, list leaves, str func) except -1:
    """Append the numbers of nested sequences in C order; returns how deep they are nested.

    `ndim` is -1 until the first number, or the first empty sequence, tells the depth. Every sequence is read once, so
    that whatever a number's conversion does to it, or a class says of its length, changes nothing.
    """
    cdef tuple items
    if not _is_sequence(x):
        if ndim >= 0 and depth != ndim:
            raise ValueError(f"{func}: sequences are ragged: expected {shape[depth]} items at depth {depth}, got "
                             f"{type(x).__qualname__}")
        leaves.append(plain_number(x, func, "numbers, nested sequences of numbers, or an object with "
                                   "__dlpack__, the buffer protocol or an array interface"))
        return depth
    if depth == ndim:
        raise ValueError(f"{func}: sequences are ragged: found {type(x).__qualname__} where shape "
                         f"{as_tuple(ndim, shape)} has a number")
    if depth == 64:
        raise ValueError(f"{func}: sequences are nested more than 64 deep")
    items = tuple(x)
    if ndim < 0:
        shape[depth] = len(items)
        if not items:
            return depth + 1
    elif len(items) != shape[depth]:
        raise ValueError(f"{func}: sequences are ragged: expected {shape[depth]} items at depth {depth}, got "
                         f"{len(items)}")
    for item in items:
        ndim = _collect(item, depth + 1, ndim, shape, leaves, func)
    return ndim


cdef str _kind_of(list leaves):
    """The default dtype that holds all of some numbers."""
    cdef int rank = -1
    for leaf in leaves:
        kind = type(leaf)
        rank = max(rank, 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3)
    return "float32" if rank < 0 else ("bool", "int64", "float32", "complex64")[rank]
