# SPDX-License-Identifier: Apache-2.0
"""Manipulation of shapes: views where possible, else one copy. No arithmetic on elements."""

from libc.stdint cimport int64_t, uint64_t

from .._core.convert cimport as_tensor, empty_for
from .._core.indexing cimport (Place, axes_of, axis_of, integer_of, items_of, sequence_of, stepped, stride_added,
                               wrapped_product)
from .._core.native cimport MAX_DIMS, same_dtype
from .._core.signals cimport check_signals
from .._core.allocation cimport is_packed
from .._core.shapes cimport as_tuple, is_contiguous_in, read_shape
from .._core.tensor cimport Tensor, assign, new_empty, permuted, reshaped, reshaped_in, squeezed, view_of
from .._core.types cimport DLDataType, dtype_of, is_host, read_dtype


from .._core.convert import asarray, asarrays
from .._core.foreign_text import quoted
from .._core.layout import common_shape, strides_over
from .._core.views import as_strided
from .take import take
from .promotion import common_dtype


cdef list _alike(object arrays, DLDataType* dtype, str func):
    """The operands as tensors on one device, and the dtype that they meet in."""
    cdef list tensors = list(arrays)
    cdef Tensor first, t
    cdef bint mixed = False
    for array in tensors:
        if type(array) is not Tensor:
            tensors = asarrays(*tensors)
            break
    if not tensors:
        raise ValueError(f"{func}: expected at least one tensor, got none")
    first = tensors[0]
    for position, t in enumerate(tensors):
        if (t.impl.dl.device.device_type != first.impl.dl.device.device_type or
                t.impl.dl.device.device_id != first.impl.dl.device.device_id):
            raise ValueError(
                f"{func}: tensors must have one device, but number 0 has {first.device} and number {position} "
                f"has {t.device}; bring them together with to()"
            )
        mixed |= not same_dtype(t.impl.dl.dtype, first.impl.dl.dtype)
    dtype[0] = first.impl.dl.dtype
    if mixed:
        dtype[0] = read_dtype(common_dtype(func, [dtype_of(t.impl.dl.dtype) for t in tensors]), func)
    return tensors


cdef list _listed(object arrays, object axis, DLDataType* dtype, str func):
    """The operands of `_alike`. TypeError where the second one is in the place of the axis."""
    if hasattr(axis, "ndim") and axis.ndim != 0:
        raise TypeError(f"{func}: expected all tensors in one sequence, then the axis, got a second tensor as axis; "
                        f"write {func}([a, b])")
    return _alike(arrays, dtype, func)


cdef inline void _whole(Tensor t, Place* place) noexcept:
    """The place of all elements, to be narrowed."""
    cdef int i
    place.ndim = t.impl.dl.ndim
    place.offset = 0
    for i in range(place.ndim):
        place.shape[i], place.strides[i] = t.impl.dl.shape[i], t.impl.dl.strides[i]


cdef inline Tensor _part(Tensor t, int axis, int64_t start, int64_t count):
    """A view of `count` positions of a dimension."""
    cdef Place place
    _whole(t, &place)
    place.offset = wrapped_product(start, place.strides[axis])
    place.shape[axis] = count
    return view_of(t, &place)


cdef inline Tensor _at(Tensor t, int axis, int64_t position):
    """A view of one position of a dimension, without it."""
    cdef Place place
    cdef int i
    _whole(t, &place)
    place.offset = wrapped_product(position, place.strides[axis])
    place.ndim -= 1
    for i in range(axis, place.ndim):
        place.shape[i], place.strides[i] = place.shape[i + 1], place.strides[i + 1]
    return view_of(t, &place)


cdef int64_t block_bytes = 1 << 19  # of elements that lie in lines before they are interleaved


cdef bint _can_interleave(Tensor result, list tensors):
    """Tell whether interleaving by blocks is faster than a strided copy of each tensor: not of few or wide elements.

    Tensors in another order than C's would have to be copied as a whole.
    """
    cdef int64_t each = len(tensors), bits = result.impl.dl.dtype.bits * <int64_t>result.impl.dl.dtype.lanes
    cdef Tensor t
    if not (is_host(<int>result.impl.dl.device.device_type) and 8 <= bits <= 64 and bits % 8 == 0 and
            1 < each <= 64 and result.size >= 256 * each):
        return False
    for t in tensors:
        if not is_contiguous_in(&t.impl.dl, False):
            return False
    return True


cdef int _interleave(Tensor result, list tensors, str func) except -1:
    """Write the first elements of all tensors, then the second ones, and so on, of which each has as many.

    A block of them is copied to lines, which are transposed. Strided stores would touch each cache line of the result
    once for each tensor.
    """
    cdef int64_t each = len(tensors), count = result.size // each, start, here, position
    cdef int64_t bits = result.impl.dl.dtype.bits * <int64_t>result.impl.dl.dtype.lanes
    cdef int64_t[2] shape
    cdef Tensor rows = reshaped(result, (count, each), False, func), lines, columns, t
    cdef list flat = [reshaped(t, (-1,), False, func) for t in tensors]
    shape[0], shape[1] = each, min(count, block_bytes * 8 // (bits * each))
    lines = new_empty(2, shape, result.impl.dl.dtype, result.impl.dl.device, func)
    columns = permuted(lines, (1, 0), func)
    for start in range(0, count, shape[1]):
        here = min(shape[1], count - start)
        for position, t in enumerate(flat):
            assign(_part(_at(lines, 0, position), 0, 0, here), _part(t, 0, start, here), func)
        assign(_part(rows, 0, start, here), _part(columns, 0, 0, here), func)
    return 0


def broadcast_shapes(*shapes):
    """Return the shape to which all shapes broadcast.

    Parameters
    ----------
    *shapes : sequence of int
        Shapes, aligned at their last dimensions as in NumPy.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ValueError
        Two extents differ and neither is 1; the message names all shapes.
    TypeError
        A shape is not a sequence of integers.

    {See Also: layout.broadcast_shapes}

    Examples
    --------
    >>> dl.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return common_shape("broadcast_shapes", shapes)


def broadcast_to(x, /, shape):
    """Return a read-only view of `x`, broadcast to a shape without a copy.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    shape : int or sequence of int
        Shape of the view.

    Returns
    -------
    Tensor
        Read-only, with stride 0 along repeated dimensions.

    Raises
    ------
    ValueError
        `x` does not broadcast to `shape`, or the result would exceed 2^63 - 1 bytes.
    TypeError
        `shape` is neither an integer nor a sequence of integers.

    {See Also: broadcast_arrays}

    Examples
    --------
    >>> t = dl.broadcast_to(dl.arange(3), (2, 3))
    >>> t
    Tensor([[0, 1, 2],
            [0, 1, 2]], shape=(2, 3), device=cpu, dtype=int64, readonly=True)
    >>> t.strides, t.readonly
    ((0, 1), True)
    """
    return _broadcast(as_tensor(x), shape, "broadcast_to")


cdef Tensor _broadcast(Tensor x, object shape, str func):
    cdef int64_t dims[MAX_DIMS]
    shape = as_tuple(read_shape(shape, dims, func), dims)
    return as_strided(x, shape, strides_over(func, x.shape, x.strides, shape), readonly=True, func=func)


def broadcast_arrays(*arrays):
    """Return read-only views of tensors, broadcast to one shape.

    Parameters
    ----------
    *arrays : array_like
        Tensors, or any objects that support DLPack.

    Returns
    -------
    tuple of Tensor
        Tensors of the common shape: those that have it already, and read-only views of the others.

    Raises
    ------
    ValueError
        The shapes do not broadcast; the message names all of them.

    {See Also: broadcast_to}

    Examples
    --------
    >>> a, b = dl.broadcast_arrays(dl.asarray([[1], [2]]), dl.asarray([7, 8, 9]))
    >>> a.tolist(), b.tolist()
    ([[1, 1, 1], [2, 2, 2]], [[7, 8, 9], [7, 8, 9]])
    """
    tensors = [as_tensor(array) for array in arrays]
    shape = common_shape("broadcast_arrays", [t.shape for t in tensors])
    return tuple([t if t.shape == shape else _broadcast(t, shape, "broadcast_arrays") for t in tensors])


def concat(arrays, /, axis=0):
    """Join tensors along an existing dimension.

    Parameters
    ----------
    arrays : sequence of array_like
        Tensors on one device, of equal shape except along `axis`. Their dtypes are promoted.
    axis : int or None, default 0
        Dimension along which to join. None joins the elements of all tensors in C order.

    Returns
    -------
    Tensor
        A new tensor in C order.

    Raises
    ------
    ValueError
        There is no tensor, or extents or devices differ.
    TypeError
        The dtypes have no common dtype.
    IndexError
        `axis` is out of range.

    {See Also: stack}

    Examples
    --------
    >>> dl.concat([dl.arange(2), dl.arange(3)])
    Tensor([0, 1, 0, 1, 2], shape=(5,), device=cpu, dtype=int64)
    """
    cdef DLDataType dtype
    cdef list tensors = _listed(arrays, axis, &dtype, "concat")
    cdef Tensor first, result, t
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t start = 0
    cdef int along, ndim, d
    cdef bint narrow
    if axis is None:
        tensors, axis = [reshaped(t, (-1,), None, "concat") for t in tensors], 0
    first = tensors[0]
    ndim = first.impl.dl.ndim
    along = axis_of(axis, ndim, "concat")
    for d in range(ndim):
        shape[d] = first.impl.dl.shape[d]
    total, narrow = 0, along == ndim - 1
    for position, t in enumerate(tensors):
        for d in range(ndim if t.impl.dl.ndim == ndim else 0):
            if d != along and t.impl.dl.shape[d] != shape[d]:
                break
        else:
            if t.impl.dl.ndim == ndim:
                total += t.impl.dl.shape[along]
                narrow &= t.impl.dl.shape[along] == 1
                continue
        raise ValueError(
            f"concat: shapes must agree but for axis {along}, but number 0 has {first.shape} and number {position} "
            f"has {t.shape}"
        )
    if total >= 1 << 63:
        raise ValueError(f"concat: an extent must be below 2^63, got {total}")
    shape[along] = total
    result = new_empty(ndim, shape, dtype, first.impl.dl.device, "concat")
    if narrow and _can_interleave(result, tensors):
        _interleave(result, tensors, "concat")
        return result
    for t in tensors:
        assign(_part(result, along, start, t.impl.dl.shape[along]), t, "concat")
        start += t.impl.dl.shape[along]
    return result


def stack(arrays, /, axis=0):
    """Join tensors of equal shape along a new dimension.

    Parameters
    ----------
    arrays : sequence of array_like
        Tensors of equal shape on one device. Their dtypes are promoted.
    axis : int, default 0
        Position of the new dimension in the result.

    Returns
    -------
    Tensor
        A new tensor in C order, with one dimension more.

    Raises
    ------
    ValueError
        There is no tensor, or shapes or devices differ.
    {concat: TypeError, IndexError}

    {See Also: concat, unstack}

    Examples
    --------
    >>> dl.stack([dl.zeros(2), dl.ones(2)], axis=1)
    Tensor([[0., 1.],
            [0., 1.]], shape=(2, 2), device=cpu, dtype=float32)
    """
    cdef DLDataType dtype
    cdef list tensors = _listed(arrays, axis, &dtype, "stack")
    cdef Tensor first = tensors[0], result, t
    cdef int64_t shape[MAX_DIMS + 1]
    cdef int along, ndim = first.impl.dl.ndim, d
    cdef int64_t position
    along = axis_of(axis, ndim + 1, "stack")
    for position, t in enumerate(tensors):
        for d in range(ndim if t.impl.dl.ndim == ndim else 0):
            if t.impl.dl.shape[d] != first.impl.dl.shape[d]:
                break
        else:
            if t.impl.dl.ndim == ndim:
                continue
        raise ValueError(
            f"stack: shapes must agree, but number 0 has {first.shape} and number {position} has {t.shape}"
        )
    if ndim == MAX_DIMS:
        raise ValueError(f"stack: at most {MAX_DIMS} dimensions are supported, got {ndim + 1}")
    for d in range(ndim):
        shape[d if d < along else d + 1] = first.impl.dl.shape[d]
    shape[along] = len(tensors)
    result = new_empty(ndim + 1, shape, dtype, first.impl.dl.device, "stack")
    if along == ndim and _can_interleave(result, tensors):
        _interleave(result, tensors, "stack")
        return result
    for position, t in enumerate(tensors):
        assign(_at(result, along, position), t, "stack")
    return result


def unstack(x, /, axis=0):
    """Split a tensor along a dimension into views without that dimension.

    Parameters
    ----------
    {broadcast_to: x}
    axis : int, default 0
        Dimension along which to split.

    Returns
    -------
    tuple of Tensor
        One view per index of that dimension; copies where an element begins inside a byte.

    Raises
    ------
    {concat: IndexError}
    TypeError
        `axis` is not an integer.

    {See Also: stack}

    Examples
    --------
    >>> [t.tolist() for t in dl.unstack(dl.asarray([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    cdef Tensor t = as_tensor(x)
    cdef int along = axis_of(axis, t.impl.dl.ndim, "unstack")
    cdef int64_t position
    cdef bint starts_inside = False
    cdef list parts = []
    cdef int64_t bits = t.impl.dl.dtype.bits * t.impl.dl.dtype.lanes
    if (is_packed(t.impl.dl.dtype, t.impl.flags) and t.impl.dl.shape[along] > 1 and
            t.impl.dl.strides[along] % 8 * bits % 8 != 0):
        starts_inside = True  # some parts begin inside a byte, where no view can
    for position in range(t.impl.dl.shape[along]):
        check_signals(position)
        parts.append(squeezed(take(t, asarray([position]), axis=along), along, "unstack") if starts_inside else
                     _at(t, along, position))
    return tuple(parts)


def expand_dims(x, /, axis=0):
    """Return a view with new dimensions of one element.

    Parameters
    ----------
    {broadcast_to: x}
    axis : int or sequence of int, default 0
        Positions of the new dimensions in the result.

    Returns
    -------
    Tensor
        A view of the same memory.

    Raises
    ------
    {concat: IndexError}
    ValueError
        A dimension is named twice.

    {See Also: squeeze}

    Examples
    --------
    >>> dl.expand_dims(dl.asarray([1, 2]), axis=(0, -1))
    Tensor([[[1],
             [2]]], shape=(1, 2, 1), device=cpu, dtype=int64)
    """
    cdef Tensor t = as_tensor(x)
    cdef Place place
    cdef int d, old = 0
    cdef uint64_t added = 0
    cdef Py_ssize_t ndim
    # Read once: the conversion of an item may change a list, and a class may say any length.
    axes = sequence_of(axis, "axis", "expand_dims")
    axes = [axis] if axes is None else axes
    ndim = t.impl.dl.ndim + len(axes)
    if ndim > MAX_DIMS:
        raise IndexError(f"expand_dims: at most {MAX_DIMS} dimensions are supported, got {ndim}")
    for d in axes_of(axes, <int>ndim, "expand_dims"):
        added |= <uint64_t>1 << d
    place.ndim = <int>ndim
    place.offset = 0
    for d in range(place.ndim):
        if added >> d & 1:
            place.shape[d] = 1
        else:
            place.shape[d], place.strides[d] = t.impl.dl.shape[old], t.impl.dl.strides[old]
            old += 1
    stride_added(&place, added)
    return view_of(t, &place)


def squeeze(x, /, axis=None):
    """Return a view without dimensions of one element.

    Parameters
    ----------
    axis : int, sequence of int or None, default None
        Dimensions to remove; None removes all that have one element.

    {permute_dims: Parameters, Returns}

    Raises
    ------
    ValueError
        A named dimension does not have exactly one element, or is named twice.
    {concat: IndexError}
    TypeError
        An axis is not an integer.

    {See Also: expand_dims}

    Examples
    --------
    >>> dl.squeeze(dl.asarray([[[1], [2]]]), axis=-1)
    Tensor([[1, 2]], shape=(1, 2), device=cpu, dtype=int64)
    """
    return squeezed(as_tensor(x), axis, "squeeze")


def flip(x, /, axis=None):
    """Return a view with the order of elements reversed.

    Parameters
    ----------
    {broadcast_to: x}
    axis : int, sequence of int or None, default None
        Dimensions to reverse; None reverses every dimension.

    Returns
    -------
    Tensor
        A view of the same memory, with negative strides.

    Raises
    ------
    {concat: IndexError}
    ValueError
        A dimension is named twice, or `x` is packed and its last element begins inside a byte.

    {See Also: roll}

    Examples
    --------
    >>> dl.flip(dl.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([[2, 1],
            [4, 3]], shape=(2, 2), device=cpu, dtype=int64)
    """
    cdef Tensor t = as_tensor(x)
    cdef Place place
    cdef int d
    _whole(t, &place)
    for d in range(place.ndim) if axis is None else axes_of(axis, place.ndim, "flip"):
        if place.shape[d] > 0:
            place.offset = stepped(place.offset, place.shape[d] - 1, place.strides[d])
        if place.shape[d] > 1:
            place.strides[d] = wrapped_product(-1, place.strides[d])
    return view_of(t, &place)


def permute_dims(x, /, axes):
    """Return a view with the dimensions in another order.

    Parameters
    ----------
    axes : sequence of int
        For each dimension of the result, the dimension of `x` that it is.

    {expand_dims: Parameters, Returns}

    Raises
    ------
    ValueError
        `axes` is not a permutation of all dimensions.
    IndexError
        An axis is out of range.

    {See Also: moveaxis, matrix_transpose}

    Examples
    --------
    >>> dl.permute_dims(dl.asarray([[1, 2, 3], [4, 5, 6]]), (1, 0))
    Tensor([[1, 4],
            [2, 5],
            [3, 6]], shape=(3, 2), device=cpu, dtype=int64)
    """
    return permuted(as_tensor(x), tuple(items_of(axes, "axes", "permute_dims")), "permute_dims")


def moveaxis(x, source, destination, /):
    """Return a view with some dimensions moved and the others in their order.

    Parameters
    ----------
    source : int or sequence of int
        Dimensions to move.
    destination : int or sequence of int
        Their positions in the result; as many as in `source`.

    {permute_dims: Parameters, Returns, Raises}

    Raises
    ------
    ValueError
        `source` and `destination` differ in length, or one names a dimension twice.

    {See Also: permute_dims}

    Examples
    --------
    >>> dl.moveaxis(dl.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    cdef Tensor t = as_tensor(x)
    cdef int ndim = t.impl.dl.ndim
    cdef list before = axes_of(source, ndim, "moveaxis"), after = axes_of(destination, ndim, "moveaxis")
    if len(before) != len(after):
        raise ValueError(f"moveaxis: source {source} and destination {destination} differ in length")
    rest = iter([d for d in range(ndim) if d not in before])
    moved = dict(zip(after, before, strict=True))
    return permuted(t, tuple([moved[d] if d in moved else next(rest) for d in range(ndim)]), "moveaxis")


def matrix_transpose(x, /):
    """Return a view with the last two dimensions swapped.

    Parameters
    ----------
    x : array_like
        Matrices, of shape ``(..., rows, columns)``.

    Returns
    -------
    Tensor
        A view of the same memory, of shape ``(..., columns, rows)``.

    Raises
    ------
    ValueError
        There are fewer than two dimensions.

    {See Also: permute_dims}

    Examples
    --------
    >>> dl.matrix_transpose(dl.asarray([[1, 2, 3], [4, 5, 6]]))
    Tensor([[1, 4],
            [2, 5],
            [3, 6]], shape=(3, 2), device=cpu, dtype=int64)
    """
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, got shape {x.shape}")
    return x.mT


def reshape(x, /, shape, *, copy=None, order="C"):
    """Return the elements with another shape.

    Parameters
    ----------
    {broadcast_to: x}
    shape : int or sequence of int
        New shape. One extent may be -1; it is computed from the others.
    copy : bool, optional
        None copies only if no view has the new shape, True always copies, False never does.
    order : {"C", "F", "A"}, default "C"
        In which order elements are read and placed: "C" with the last index fastest, "F" with the first, "A" like
        "F" if the tensor is contiguous in that order only, else like "C".

    Returns
    -------
    Tensor
        A view of the same memory where possible.

    Raises
    ------
    ValueError
        The number of elements differs, `copy` is False and the new shape needs a copy, or there is no such order.

    Examples
    --------
    >>> dl.reshape(dl.arange(6), (2, -1))
    Tensor([[0, 1, 2],
            [3, 4, 5]], shape=(2, 3), device=cpu, dtype=int64)
    """
    return reshaped_in(as_tensor(x), shape, copy, order, "reshape")


def roll(x, /, shift, axis=None):
    """Return a copy with elements shifted cyclically.

    Parameters
    ----------
    {broadcast_to: x}
    shift : int or sequence of int
        Number of positions toward higher indices, one for each axis.
    axis : int, sequence of int or None, default None
        Dimensions along which to shift. None shifts the elements in C order and keeps the shape. The shifts of a
        dimension that is named twice are added.

    Returns
    -------
    Tensor
        A copy of the shape of `x`.

    Raises
    ------
    ValueError
        `shift` and `axis` differ in length.
    {permute_dims: IndexError}
    TypeError
        `shift` is not an integer or a sequence of integers.

    {See Also: flip}

    Examples
    --------
    >>> dl.roll(dl.arange(5), 2)
    Tensor([3, 4, 0, 1, 2], shape=(5,), device=cpu, dtype=int64)
    """
    cdef Tensor t = as_tensor(x), result
    cdef int d
    cdef int64_t moved[MAX_DIMS]
    cdef list by, axes, shifts = sequence_of(shift, "shift", "roll")
    if axis is None:
        if shifts is not None:
            raise ValueError(f"roll: shift {shift} needs as many axes; without an axis it is one integer")
        result = roll(reshaped(t, (-1,), None, "roll"), shift, axis=0)
        return reshaped(result, t.shape, None, "roll")
    # Read once: what they say may change, and so may the lists.
    axes = sequence_of(axis, "axis", "roll")
    axes = [axis_of(one, t.impl.dl.ndim, "roll") for one in ([axis] if axes is None else axes)]
    if shifts is not None:
        shifts = [integer_of(one, "each shift", "roll") for one in shifts]
    else:
        shifts = [integer_of(shift, "shift", "roll")] * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: expected as many shifts as axes, got {len(shifts)} and {len(axes)}")
    by = [0] * t.impl.dl.ndim
    for distance, where in zip(shifts, axes, strict=True):
        by[where] += distance
    for d in range(t.impl.dl.ndim):
        moved[d] = by[d] % t.impl.dl.shape[d] if t.impl.dl.shape[d] else 0
    result = new_empty(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.dtype, t.impl.dl.device, "roll")
    _roll(result, t, moved, 0)
    return result


cdef int _roll(Tensor result, Tensor source, const int64_t* moved, int d) except -1:
    """Copy in pieces: along each dimension from `d` on two of them change places."""
    cdef int64_t size, by
    while d < source.impl.dl.ndim and moved[d] == 0:
        d += 1
    if d == source.impl.dl.ndim:
        return assign(result, source, "roll")
    size, by = source.impl.dl.shape[d], moved[d]
    _roll(_part(result, d, by, size - by), _part(source, d, 0, size - by), moved, d + 1)
    return _roll(_part(result, d, 0, by), _part(source, d, size - by, by), moved, d + 1)


def repeat(x, repeats, /, axis=None):
    """Return a copy with every element repeated.

    Parameters
    ----------
    {broadcast_to: x}
    repeats : int, array_like of int or nested sequence of int
        Number of repetitions: one for all elements, or one for each position along `axis`, of shape ``(n,)``.
    axis : int or None, default None
        Dimension along which to repeat. None repeats the elements in C order.

    {concat: Returns, Raises}

    Raises
    ------
    ValueError
        A number of repetitions is negative, or their count is neither 1 nor the extent of the dimension.
    TypeError
        `repeats` does not consist of integers.

    {See Also: tile}

    Examples
    --------
    >>> dl.repeat(dl.arange(3), 2)
    Tensor([0, 0, 1, 1, 2, 2], shape=(6,), device=cpu, dtype=int64)
    >>> dl.repeat(dl.arange(3), [0, 1, 2]).tolist()
    [1, 2, 2]
    """
    cdef Tensor t = as_tensor(x), result
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t size, start = 0, times, position
    cdef int along, d
    if axis is None:
        t, axis = reshaped(t, (-1,), None, "repeat"), 0
    along = axis_of(axis, t.impl.dl.ndim, "repeat")
    size = t.impl.dl.shape[along]
    if hasattr(type(repeats), "__index__") and not hasattr(type(repeats), "shape"):
        repeats = integer_of(repeats, "repeats", "repeat")
    counts = repeats if isinstance(repeats, int) else asarray(repeats).tolist()
    counts = [counts] if not isinstance(counts, list) else counts
    if not all([type(count) is int for count in counts]):
        raise TypeError(f"repeat: repeats must be an integer or one dimension of integers, got {quoted(repeats)}")
    if len(counts) not in (1, size):
        raise ValueError(f"repeat: expected 1 or {size} numbers for axis {along} of shape {t.shape}, got {len(counts)}")
    if min(counts, default=0) < 0:
        raise ValueError(f"repeat: a number of repeats must be at least 0, got {min(counts)}")
    total = size * counts[0] if len(counts) == 1 else sum(counts)
    if total >= 1 << 63:
        raise ValueError(f"repeat: an extent must be below 2^63, got {total}")
    for d in range(t.impl.dl.ndim):
        shape[d] = t.impl.dl.shape[d]
    shape[along] = total
    result = new_empty(t.impl.dl.ndim, shape, t.impl.dl.dtype, t.impl.dl.device, "repeat")
    if result.size == 0:
        return result
    if is_packed(t.impl.dl.dtype, t.impl.flags):  # parts may begin inside a byte, where no view can
        return repeat(with_bytes(t), counts, axis=along).astype(t.dtype)
    if len(counts) != 1 or t.impl.dl.ndim == MAX_DIMS:
        for position, times in enumerate(counts if len(counts) != 1 else counts * size):
            assign(_part(result, along, start, times), _part(t, along, position, 1), "repeat")
            start += times
    else:
        times = counts[0]
        assign(_split(result, along, times), _split(t, along, 1), "repeat")
    return result


cpdef Tensor with_bytes(Tensor x):
    """A copy of a tensor of a dtype narrower than a byte in one that has its values, and whose elements have bytes of
    their own.

    Examples
    --------
    >>> with_bytes(dl.ones(2, dtype="int4")).dtype
    dltensor.int8
    """
    return x.astype("float32" if x.dtype.name.startswith("float") else "int8")


cdef Tensor _split(Tensor t, int axis, int64_t inner):
    """A view with a dimension in two: outer positions, then `inner` ones."""
    cdef Place place
    cdef int d
    _whole(t, &place)
    for d in range(place.ndim, axis + 1, -1):
        place.shape[d], place.strides[d] = place.shape[d - 1], place.strides[d - 1]
    place.ndim += 1
    place.shape[axis + 1], place.strides[axis + 1] = inner, place.strides[axis]
    place.shape[axis] //= inner
    place.strides[axis] = wrapped_product(place.strides[axis], inner)
    return view_of(t, &place)


def tile(x, repetitions, /):
    """Return a tensor that repeats the whole of `x` along its dimensions.

    Parameters
    ----------
    repetitions : int or sequence of int
        Number of repetitions along each dimension. If it and the shape differ in length, ones are prepended to the
        shorter of them.

    {repeat: Parameters, Returns}

    Raises
    ------
    ValueError
        A number of repetitions is negative.
    TypeError
        `repetitions` does not consist of integers.

    {See Also: repeat}

    Examples
    --------
    >>> dl.tile(dl.asarray([[1, 2]]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], shape=(2, 4), device=cpu, dtype=int64)
    """
    cdef Tensor t = as_tensor(x), out
    times = sequence_of(repetitions, "repetitions", "tile")
    times = [repetitions] if times is None else times
    if not all([hasattr(number, "__index__") for number in times]):
        raise TypeError(f"tile: repetitions must be integers, got {quoted(repetitions)}")
    times = [integer_of(number, "each repetition", "tile") for number in times]
    if min(times, default=1) < 0:
        raise ValueError(f"tile: repetitions must be at least 0, got {quoted(repetitions)}")
    ndim = max(t.impl.dl.ndim, len(times))
    times = [1] * (ndim - len(times)) + times
    shape = [1] * (ndim - t.impl.dl.ndim) + list(t.shape)
    # A dimension that repeats gets one in front of it, so that the copies are one broadcast assignment.
    before, after, result = [], [], []
    for size, count in zip(shape, times, strict=True):
        if count != 1:
            before.append(1)
            after.append(count)
        before.append(size)
        after.append(size)
        result.append(size * count)
    out = empty_for("tile", result, dtype_of(t.impl.dl.dtype), t.device)
    if out.size > 0:
        assign(reshaped(out, after, False, "tile"), reshaped(t, before, None, "tile"), "tile")
    return out
