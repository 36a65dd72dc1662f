# SPDX-License-Identifier: Apache-2.0
"""Low-level views for Python code: as_strided, raw bytes. Every use is checked."""
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .indexing cimport Place, checked_index, stepped
from .interop.numpy cimport make_numpy
from .native cimport (MAX_DIMS, SHARING_SOME, SHARING_UNKNOWN, Extent, Sharing, contiguous_strides, extent,
                      find_sharing, find_type, is_contiguous, item_bytes, numel, type_table, type_uint8)
from .allocation cimport check_host, is_packed
from .shapes cimport as_tuple, counted, read_shape
from .tensor cimport Tensor, new_empty, new_zeros, on_device, permuted, same_view, view_of
from .types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLDevice,
                     dtype_of, is_handle, is_host, kDLComplex, kDLCPU, kDLFloat, read_dtype)

from .foreign_text import quoted


def as_strided(Tensor t, shape, strides, int64_t offset=0, bint readonly=False, str func="as_strided"):
    """Return a view of `t` with any shape and strides that stay inside the elements which `t` spans.

    Parameters
    ----------
    t : Tensor
    shape, strides : sequence of int, in elements
    offset : int, elements from the first one of `t` to the first one of the view
    readonly : bool, whether to refuse writing even where `t` allows it
    func : str, the function that messages name

    Examples
    --------
    >>> as_strided(dl.arange(6), (3,), (2,), 1).tolist()
    [1, 3, 5]
    """
    cdef Place place
    cdef Extent old = extent(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides)
    cdef int64_t low = offset, high = offset, steps, dims = old.high - old.low
    cdef bint inside = True
    cdef int i
    cdef Tensor result
    place.ndim = read_shape(shape, place.shape, func)
    if read_shape(strides, place.strides, func, strides=True) != place.ndim:
        raise ValueError(f"{func}: shape {tuple(shape)} and strides {tuple(strides)} differ in length")
    if counted(place.ndim, place.shape, t.impl.dl.dtype, func) == 0:
        offset = 0
    else:
        # Every step is compared with the room before it is multiplied, so that nothing can overflow.
        inside = old.low <= offset < old.high
        for i in range(place.ndim):
            steps = place.shape[i] - 1
            if not inside or steps == 0 or place.strides[i] == 0:
                continue
            if not -dims <= place.strides[i] <= dims or steps > dims // abs(place.strides[i]):
                inside = False
            elif place.strides[i] > 0:
                high += steps * place.strides[i]
            else:
                low += steps * place.strides[i]
            inside = inside and old.low <= low and high < old.high
    if not inside:
        raise ValueError(f"{func}: shape {tuple(shape)} with strides {tuple(strides)} from element {offset} leaves "
                         f"the elements {old.low} to {old.high - 1} which the tensor spans")
    place.offset = offset
    result = view_of(t, &place)
    if readonly:
        result.impl.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return result


def diagonal_view(Tensor t, int64_t offset):
    """Return the diagonals of the last two dimensions; `offset` counts columns, from minus the rows to the columns.

    >>> diagonal_view(dl.asarray([[1, 2], [3, 4]]), 1).tolist()
    [2]
    """
    cdef Place place
    cdef int d, rows = t.impl.dl.ndim - 2, columns = t.impl.dl.ndim - 1
    cdef int64_t below = max(-offset, 0), right = max(offset, 0), count
    for d in range(rows):
        place.shape[d], place.strides[d] = t.impl.dl.shape[d], t.impl.dl.strides[d]
    count = max(min(t.impl.dl.shape[rows] - below, t.impl.dl.shape[columns] - right), 0)
    place.ndim, place.offset = columns, 0
    place.shape[rows], place.strides[rows] = count, 1
    if numel(columns, place.shape) > 0:  # else strides may be anything
        if below > 0:
            place.offset = below * t.impl.dl.strides[rows]
        elif right > 0:
            place.offset = right * t.impl.dl.strides[columns]
        if count > 1:
            place.strides[rows] = t.impl.dl.strides[rows] + t.impl.dl.strides[columns]
    return view_of(t, &place)


def part_of(Tensor t, bint imaginary):
    """Return a view of the real or the imaginary parts; of real elements themselves, or read-only zeros.

    >>> part_of(dl.asarray([1 + 2j]), True).tolist()
    [2.0]
    """
    cdef int i
    cdef uint64_t half
    cdef Place place
    cdef Tensor result
    place.ndim, place.offset = t.impl.dl.ndim, 0
    for i in range(place.ndim):
        place.shape[i], place.strides[i] = t.impl.dl.shape[i], 0
    if t.impl.dl.dtype.code != kDLComplex:
        if not imaginary:
            return same_view(t)
        result = view_of(new_zeros(0, NULL, t.impl.dl.dtype, t.impl.dl.device, "imag"), &place)
        result.impl.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
        return result
    for i in range(place.ndim):
        place.strides[i] = 2 * t.impl.dl.strides[i]
    result = view_of(t, &place)
    result.impl.dl.dtype.code = kDLFloat
    result.impl.dl.dtype.bits //= 2
    half = result.impl.dl.dtype.bits // 8 if imaginary else 0
    if is_handle(<int>t.impl.dl.device.device_type):
        result.impl.dl.byte_offset += half
    else:
        result.impl.dl.data = <char*>result.impl.dl.data + half
    return result


def shares_elements(shape, strides):
    """Test whether two indices of a layout refer to the same element.

    Parameters
    ----------
    shape, strides : sequence of int
        Strides count elements.

    Returns
    -------
    bool or None
        None when it cannot be told: the search is limited, since the question is NP-hard.

    Examples
    --------
    >>> shares_elements((3, 2), (2, 3)), shares_elements((4, 3), (2, 3)), shares_elements((3,), (0,))
    (False, True, True)
    """
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t steps[MAX_DIMS]
    cdef Sharing found
    if len(shape) > MAX_DIMS:
        return None
    cdef int ndim = read_shape(tuple(shape), sizes, "shares_elements")
    if read_shape(tuple(strides), steps, "shares_elements", strides=True) != ndim:
        raise ValueError(f"shares_elements: shape {shape} and strides {strides} differ in length")
    found = find_sharing(ndim, sizes, steps)
    return None if found == SHARING_UNKNOWN else found == SHARING_SOME


def raw_bytes(Tensor t):
    """Return the bytes of a tensor in C order as a view of shape ``(nbytes,)`` and dtype uint8.

    >>> raw_bytes(dl.asarray([1, 2], dtype="int16")).tolist()
    [1, 0, 2, 0]
    """
    cdef Place place
    cdef Tensor result
    if not is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides):
        raise ValueError(f"raw_bytes: shape {t.shape} with strides {t.strides} is not contiguous; copy() first")
    place.ndim = 1
    place.offset = 0
    place.shape[0] = t.nbytes
    place.strides[0] = 1
    result = view_of(t, &place)
    result.impl.dl.dtype = type_table[type_uint8].dtype
    result.impl.flags &= ~<uint64_t>DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return result


def from_raw(Tensor data, shape, dtype, bint padded=False, bint readonly=False):
    """Return bytes as a tensor of a shape and an element type, in C order: the inverse of `raw_bytes`.

    >>> from_raw(dl.asarray(b"\\x01\\x00\\x02\\x00"), (2,), "int16").tolist()
    [1, 2]
    """
    cdef Place place
    cdef Tensor result
    cdef DLDataType value = read_dtype(dtype, "from_raw")
    cdef int64_t size, needed, bits = value.bits * value.lanes
    if data.dtype.name != "uint8" or data.impl.dl.ndim != 1 or not data.is_contiguous:
        raise ValueError(f"from_raw: expected a contiguous row of uint8, got shape {data.shape} of {data.dtype}")
    place.ndim = read_shape(shape, place.shape, "from_raw")
    place.offset = 0
    size = counted(place.ndim, place.shape, value, "from_raw")
    if padded and bits % 8 == 0:
        raise ValueError(f"from_raw: only types below a byte are padded, got {dtype_of(value)}")
    needed = size * ((bits + 7) // 8) if padded else size // 8 * bits + (size % 8 * bits + 7) // 8
    if needed != data.impl.dl.shape[0]:
        raise ValueError(f"from_raw: shape {tuple(shape)} of {dtype_of(value)} takes {needed} bytes, got "
                         f"{data.impl.dl.shape[0]}")
    contiguous_strides(place.ndim, place.shape, place.strides)
    result = view_of(data, &place)
    result.impl.dl.dtype = value
    if padded:
        result.impl.flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    if readonly:
        result.impl.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return result


def plain_state(Tensor t):
    """Return what a pickle holds of a writable tensor of the host in C order; None of all others.

    The bytes as a row, the shape, and code, bits and lanes of the type in one number: what is small is read fast.

    >>> plain_state(dl.asarray([1, 2], dtype="int8"))[1:]
    ((2,), 67584)
    """
    cdef DLDataType dtype = t.impl.dl.dtype
    if not (is_host(<int>t.impl.dl.device.device_type) and
            t.impl.flags & (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED | DLPACK_FLAG_BITMASK_READ_ONLY) == 0 and
            is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides)):
        return None
    return (raw_bytes(t), as_tuple(t.impl.dl.ndim, t.impl.dl.shape),
            dtype.code | <int64_t>dtype.bits << 8 | <int64_t>dtype.lanes << 16)


# Longer bytes that nothing else refers to become the memory of a tensor, instead of being copied to it.
cdef Py_ssize_t longest_copy = 16384


cdef Tensor _from_bytes(object data, object shape, DLDataType dtype):
    """A writable tensor of a copy of bytes; None for elements below a byte, without a name, or for anything else."""
    cdef int64_t extents[MAX_DIMS]
    cdef const char* source
    cdef Py_ssize_t nbytes
    cdef Tensor result
    if type(data) is bytes:
        source, nbytes = PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
    elif type(data) is bytearray and PyByteArray_GET_SIZE(data) <= longest_copy:
        source, nbytes = PyByteArray_AS_STRING(data), PyByteArray_GET_SIZE(data)
    else:
        return None
    if dtype.bits < 8 or dtype.lanes != 1 or find_type(dtype) < 0:
        return None
    cdef int ndim = read_shape(shape, extents, "pickle")
    cdef int64_t size = counted(ndim, extents, dtype, "pickle") * (dtype.bits // 8)
    if size != nbytes:
        raise ValueError(f"pickle: shape {shape} of {dtype_of(dtype)} takes {size} bytes, got {nbytes}")
    result = new_empty(ndim, extents, dtype, DLDevice(kDLCPU, 0), "pickle")
    memcpy(result.impl.dl.data, source, size)
    return result


def _rebuild(data, shape, dtype, *layout):
    """Restore a tensor from a pickle. Pickles of tensors name this function."""
    cdef DLDataType value
    cdef Tensor result
    cdef int64_t number
    if type(dtype) is int and not layout:
        number = dtype if 0 <= dtype < 1 << 32 else -1
        if number < 0:
            raise ValueError(f"pickle: expected code, bits and lanes of a type in 32 bits, got {quoted(dtype)}")
        value.code, value.bits, value.lanes = number & 255, number >> 8 & 255, number >> 16
        if type(shape) is tuple:
            result = _from_bytes(data, shape, value)
            if result is not None:
                return result
        dtype, layout = (value.code, value.bits, value.lanes), (False, False)
    from .pickling import rebuild
    return rebuild(data, shape, dtype, *layout)


def element_bytes(Tensor t, *index):
    """Return the bytes of one element, or None when it shares a byte with others.

    >>> element_bytes(dl.asarray([1, 2], dtype="int16"), 1)
    b'\\x02\\x00'
    """
    cdef int64_t at = 0, width = item_bytes(t.impl.dl.dtype)
    cdef int i
    if len(index) != t.impl.dl.ndim:
        raise IndexError(f"element_bytes: expected {t.impl.dl.ndim} positions, got {len(index)}")
    for i in range(t.impl.dl.ndim):
        at = stepped(at, checked_index(index[i], t.impl.dl.shape[i], i), t.impl.dl.strides[i])
    check_host(&t.impl.dl, "element_bytes")
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        return None
    return (<char*>t.impl.dl.data + at * width)[:width]


def permute_for(str func, Tensor t, tuple axes):
    """Return a view of `t` with its dimensions in the order of `axes`, on behalf of the function `func`.

    >>> permute_for("permute", dl.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return permuted(t, axes, func)


def move_for(str func, Tensor t, device):
    """Return ``t.to(device)`` on behalf of the function `func`; None leaves it where it is.

    >>> move_for("eye", dl.zeros(2), "cpu").device
    dltensor.Device('cpu')
    """
    return t if device is None else on_device(t, device, func)


def array_of_few(x, Py_ssize_t limit, bint real):
    """Return a NumPy array over the memory of a host tensor of float32, float64 and, unless `real`, complex numbers.

    It has at least one dimension and from 1 to ``limit - 1`` elements; of anything else the result is None.

    >>> array_of_few(dl.ones(2), 10, True)
    array([1., 1.], dtype=float32)
    """
    cdef Tensor t
    cdef int64_t count = 1
    cdef int i, code
    if type(x) is not Tensor:
        return None
    t = <Tensor>x
    code = t.impl.dl.dtype.code
    if code == kDLComplex:
        if real or t.impl.dl.dtype.bits < 64:
            return None
    elif code != kDLFloat or t.impl.dl.dtype.bits < 32:
        return None
    if t.impl.dl.dtype.lanes != 1 or not is_host(<int>t.impl.dl.device.device_type) or t.impl.dl.ndim == 0:
        return None
    for i in range(t.impl.dl.ndim):
        if not 0 < t.impl.dl.shape[i] < limit:
            return None
        count *= t.impl.dl.shape[i]
        if count >= limit:
            return None
    return make_numpy(&t.impl.dl, t.impl.flags, t)


def on_host(Tensor t):
    """Test whether the host can read the memory of a tensor.

    >>> on_host(dl.zeros(2))
    True
    """
    return is_host(<int>t.impl.dl.device.device_type)
