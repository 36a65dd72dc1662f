# SPDX-License-Identifier: Apache-2.0
"""What the Python faces need of the inside of a tensor: other strides, bare bytes, ramps. Every use is checked."""
from libc.stdint cimport int64_t, uint64_t

from ._index cimport Place, checked_index
from ._native cimport (COMPLEX, SIGNED, TRUNCATE, UNSIGNED, Extent, Scalar, contiguous_strides, extent, find_type,
                       item_bytes, store_scalar)
from ._tensor cimport Tensor, check_host, check_writable, is_packed, read_shape, view_of
from ._words cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, dtype_of,
                      is_host, read_dtype)


def restride(Tensor t, shape, strides, int64_t offset=0, bint readonly=False, str where="restride"):
    """Return a view of `t` with any shape and strides that stay inside the elements which `t` spans.

    Parameters
    ----------
    t : Tensor
    shape, strides : sequence of int, in elements
    offset : int, elements from the first one of `t` to the first one of the view
    readonly : bool, whether to refuse writing even where `t` allows it
    where : str, the function that messages name

    Raises
    ------
    ValueError
        The view would leave the elements that `t` spans; a packed view would begin inside a byte.

    Examples
    --------
    >>> restride(dl.arange(6), (3,), (2,), 1).tolist()
    [1, 3, 5]
    """
    cdef Place place
    cdef Extent old = extent(t.its.dl.ndim, t.its.dl.shape, t.its.dl.strides)
    cdef int64_t low = offset, high = offset, steps, room = old.high - old.low
    cdef bint empty = False, inside = True
    cdef int i
    cdef Tensor made
    place.ndim = read_shape(shape, place.shape, where)
    if read_shape(strides, place.strides, where, strides=True) != place.ndim:
        raise ValueError(f"{where}: shape {tuple(shape)} and strides {tuple(strides)} differ in length")
    for i in range(place.ndim):
        if place.shape[i] < 0:
            raise ValueError(f"{where}: shape[{i}] must be at least 0, got {place.shape[i]}")
        empty = empty or place.shape[i] == 0
    if empty:
        offset = 0
    else:
        # Every step is compared with the room before it is multiplied, so that nothing can overflow.
        inside = old.low <= offset < old.high
        for i in range(place.ndim):
            steps = place.shape[i] - 1
            if not inside or steps == 0 or place.strides[i] == 0:
                continue
            if not -room <= place.strides[i] <= room or steps > room // abs(place.strides[i]):
                inside = False
            elif place.strides[i] > 0:
                high += steps * place.strides[i]
            else:
                low += steps * place.strides[i]
            inside = inside and old.low <= low and high < old.high
    if not inside:
        raise ValueError(f"{where}: shape {tuple(shape)} with strides {tuple(strides)} from element {offset} leaves "
                         f"the elements {old.low} to {old.high - 1} which the tensor spans")
    place.offset = offset
    made = view_of(t, &place)
    if readonly:
        made.its.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return made


def raw_bytes(Tensor t):
    """Return the bytes of a tensor in C order as a view of shape ``(nbytes,)`` and dtype uint8.

    Raises
    ------
    ValueError
        The elements do not lie side by side.

    Examples
    --------
    >>> raw_bytes(dl.asarray([1, 2], dtype="int16")).tolist()
    [1, 0, 2, 0]
    """
    cdef Place place
    cdef Tensor made
    if not t.is_contiguous:
        raise ValueError(f"raw_bytes: shape {t.shape} with strides {t.strides} does not lie side by side; copy() first")
    place.ndim = 1
    place.offset = 0
    place.shape[0] = t.nbytes
    place.strides[0] = 1
    made = view_of(t, &place)
    made.its.dl.dtype = DLDataType(1, 8, 1)
    made.its.flags &= ~<uint64_t>DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return made


def from_raw(Tensor data, shape, dtype, bint padded=False, bint readonly=False):
    """Return bytes as a tensor of a shape and an element type, in C order: the inverse of `raw_bytes`.

    Raises
    ------
    ValueError
        `data` is not one row of uint8 side by side, or has another number of bytes than the shape needs.

    Examples
    --------
    >>> from_raw(dl.asarray(b"\\x01\\x00\\x02\\x00"), (2,), "int16").tolist()
    [1, 2]
    """
    cdef Place place
    cdef Tensor made
    cdef DLDataType value = read_dtype(dtype, "from_raw")
    cdef int i
    if data.dtype.name != "uint8" or data.its.dl.ndim != 1 or not data.is_contiguous:
        raise ValueError(f"from_raw: expected one row of uint8 side by side, got shape {data.shape} of {data.dtype}")
    place.ndim = read_shape(shape, place.shape, "from_raw")
    place.offset = 0
    size = 1
    for i in range(place.ndim):
        if place.shape[i] < 0:
            raise ValueError(f"from_raw: shape[{i}] must be at least 0, got {place.shape[i]}")
        size = size * place.shape[i]
    bits = value.bits * value.lanes
    if padded and bits % 8 == 0:
        raise ValueError(f"from_raw: only types below a byte are padded, got {dtype_of(value)}")
    needed = size * ((bits + 7) // 8) if padded else (size * bits + 7) // 8
    if needed != data.its.dl.shape[0]:
        raise ValueError(f"from_raw: shape {tuple(shape)} of {dtype_of(value)} takes {needed} bytes, got "
                         f"{data.its.dl.shape[0]}")
    contiguous_strides(place.ndim, place.shape, place.strides)
    made = view_of(data, &place)
    made.its.dl.dtype = value
    if padded:
        made.its.flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    if readonly:
        made.its.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return made


def element_bytes(Tensor t, *index):
    """Return the bytes of one element, or None when it shares a byte with others.

    Raises
    ------
    IndexError
        A position is out of range, or there are too few or too many.
    DeviceError
        The host cannot read the memory.

    Examples
    --------
    >>> element_bytes(dl.asarray([1, 2], dtype="int16"), 1)
    b'\\x02\\x00'
    """
    cdef int64_t at = 0, width = item_bytes(t.its.dl.dtype)
    cdef int i
    if len(index) != t.its.dl.ndim:
        raise IndexError(f"element_bytes: expected {t.its.dl.ndim} positions, got {len(index)}")
    for i in range(t.its.dl.ndim):
        at += checked_index(index[i], t.its.dl.shape[i], i) * t.its.dl.strides[i]
    check_host(t, "element_bytes")
    if is_packed(t.its.dl.dtype, t.its.flags):
        return None
    return (<char*>t.its.dl.data + at * width)[:width]


def write_ramp(Tensor t, start, step, str where="write_ramp"):
    """Write ``start + i * step`` to element ``i`` of a tensor in C order. Integers are exact, modulo 2**64.

    Parameters
    ----------
    t : Tensor, writable, side by side, of a type with a meaning
    start, step : both int, else both are read as complex numbers

    Raises
    ------
    ValueError
        The tensor is read-only or not side by side.
    TypeError
        The element type has no meaning here.
    DeviceError
        The host cannot reach the memory.

    Examples
    --------
    >>> t = dl.empty(3); write_ramp(t, 1.0, 0.5); t.tolist()
    [1.0, 1.5, 2.0]
    """
    cdef Scalar value
    cdef int64_t i, size = t.size
    cdef uint64_t first = 0, increment = 0
    cdef double re = 0, im = 0, step_re = 0, step_im = 0
    cdef bint padded = t.its.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0
    cdef bint whole = isinstance(start, int) and isinstance(step, int)
    check_host(t, where)
    check_writable(t, where)
    if not t.is_contiguous:
        raise ValueError(f"{where}: shape {t.shape} with strides {t.strides} does not lie side by side")
    if find_type(t.its.dl.dtype) < 0 or t.its.dl.dtype.lanes != 1:
        raise TypeError(f"{where}: a number cannot be written to {t.dtype}")
    if whole:
        first, increment = start & 0xFFFFFFFFFFFFFFFF, step & 0xFFFFFFFFFFFFFFFF
        value.kind = UNSIGNED if start >= 0 and start + step * max(0, size - 1) >= 0 else SIGNED
    else:
        start, step = complex(start), complex(step)
        re, im, step_re, step_im = start.real, start.imag, step.real, step.imag
        value.kind = COMPLEX
    with nogil:
        for i in range(size):
            if whole:
                value.u = first + <uint64_t>i * increment
                value.i = <int64_t>value.u
            else:
                value.re = re + i * step_re
                value.im = im + i * step_im
            store_scalar(t.its.dl.data, i, t.its.dl.dtype, padded, value, TRUNCATE, False)


def on_host(Tensor t):
    """Tell whether the host can read the memory of a tensor.

    Raises
    ------
    Nothing.

    Examples
    --------
    >>> on_host(dl.zeros(2))
    True
    """
    return is_host(<int>t.its.dl.device.device_type)
