# SPDX-License-Identifier: Apache-2.0
# Numbers and nested sequences of them as tensors. Part of _exchange.pyx; nothing here has memory to share.

cdef inline bint _is_sequence(object x):
    return isinstance(x, (list, tuple, range))


cdef Tensor _from_numbers(object obj, object dtype, str where):
    """A number or nested sequences of numbers in fresh memory."""
    cdef int64_t shape[64]
    cdef int64_t i = 0
    cdef int ndim = 0
    cdef bint padded
    cdef Tensor t
    cdef list leaves = []
    inner = obj
    while _is_sequence(inner):
        if ndim == 64:
            raise ValueError(f"{where}: sequences are nested more than 64 deep")
        shape[ndim] = len(inner)
        ndim += 1
        if not inner:
            break
        inner = inner[0]
    _collect(obj, 0, ndim, shape, leaves, where)
    if dtype is None:
        dtype = _kind_of(leaves)
    t = new_empty(ndim, shape, read_dtype(dtype, where), DLDevice(kDLCPU, 0), where)
    padded = not is_packed(t.its.dl.dtype, t.its.flags)
    for leaf in leaves:
        store_python(t.its.dl.data, i, leaf, t.its.dl.dtype, padded, where)
        i += 1
    return t


cdef int _collect(object x, int depth, int ndim, int64_t* shape, list leaves, str where) except -1:
    cdef int64_t count = 0
    if depth == ndim:
        if _is_sequence(x):
            raise ValueError(f"{where}: sequences are ragged: found {type(x).__qualname__} where shape "
                             f"{as_tuple(ndim, shape)} has a number")
        leaves.append(plain_number(x, where, "numbers, nested sequences of numbers, or an object with "
                                   "__dlpack__, the buffer protocol or an array interface"))
        return 0
    if not _is_sequence(x) or len(x) != shape[depth]:
        raise ValueError(f"{where}: sequences are ragged: expected {shape[depth]} items at depth {depth}, got "
                         f"{len(x) if _is_sequence(x) else type(x).__qualname__}")
    for item in x:
        # A class of its own may give more than its length says, and a number that is read may change the list.
        count += 1
        if count > shape[depth]:
            break
        _collect(item, depth + 1, ndim, shape, leaves, where)
    if count != shape[depth]:
        raise ValueError(f"{where}: expected {shape[depth]} items at depth {depth} by the length of "
                         f"{type(x).__qualname__}, got {'more' if count > shape[depth] else count}")
    return 0


cdef str _kind_of(list leaves):
    """The default dtype that holds all of some numbers."""
    cdef int rank = -1
    for leaf in leaves:
        kind = type(leaf)
        rank = max(rank, 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3)
    return "float32" if rank < 0 else ("bool", "int64", "float32", "complex64")[rank]
