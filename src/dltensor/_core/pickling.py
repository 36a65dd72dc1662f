# SPDX-License-Identifier: Apache-2.0
"""Tensors through pickle: bytes, shape, strides and type, never an address. Protocol 5 may send bytes out of band."""

from math import prod
from pickle import PickleBuffer

from .convert import asarray
from .layout import contiguous_strides, extent
from .types import DeviceError, DType, Flags
from .views import _rebuild, as_strided, from_raw, on_host, plain_state, raw_bytes


def reduce_tensor(t, protocol):
    """Implement ``__reduce_ex__``: the memory of the elements, or a copy where they are far apart.

    Dimensions of stride 0 are sent once. What is left is sent in its memory order, with its strides, when it spans no
    more memory than its elements take: with protocol 5 out of band nothing is copied then. Else the elements are copied
    to C order. Read-only stays read-only. A tensor on a CUDA device is copied to the host and restored on a device of
    that name.

    >>> import pickle
    >>> buffers = []; t = dl.arange(3); data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    >>> pickle.loads(data, buffers=buffers).same_memory(t), pickle.loads(data, buffers=buffers).tolist()
    (False, [0, 1, 2])
    >>> len(pickle.dumps(dl.broadcast_to(dl.arange(3), (1000, 3)))) < 200
    True
    """
    state = plain_state(t)
    if state is not None:
        data = state[0]
        payload = PickleBuffer(data) if protocol >= 5 else memoryview(data).tobytes()
        return _rebuild, (payload, *state[1:])
    device = None if on_host(t) else str(t.device)
    padded = bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)
    packed = t.dtype.bits * t.dtype.lanes % 8 != 0 and not padded
    if t.is_contiguous or t.size == 0 or packed:
        data, layout = raw_bytes(_host_copy(t) if device else t if t.is_contiguous else t.copy()), ()
    else:
        data, layout = _span(t)
    if device:
        layout = (*(layout or (None, 0)), device)
    payload = PickleBuffer(data) if protocol >= 5 else memoryview(data).tobytes()
    return _rebuild, (payload, t.shape, t.dtype.__dlpack_data_type__(), padded, t.readonly, *layout)


def _host_copy(t):
    try:
        return t.to("cpu")
    except DeviceError as error:
        raise DeviceError(f"pickle: the data is on {t.device}, and cannot be copied to the host: {error}") from error


def _span(t):
    """The bytes of the elements of `t`, or a copy of them, with strides and offset."""
    shape = tuple(1 if step == 0 else size for size, step in zip(t.shape, t.strides, strict=True))
    strides = t.strides
    once = as_strided(t, shape, strides, func="pickle")
    low, high = extent(shape, strides)
    if high - low > prod(shape) or not on_host(t):
        once, low = once.copy() if on_host(t) else _host_copy(once), 0
        strides = tuple(0 if old == 0 else new for old, new in zip(strides, contiguous_strides(shape), strict=True))
        high = prod(shape)
    return raw_bytes(as_strided(once, (high - low,), (1,), low, func="pickle")), (strides, -low)


def rebuild(data, shape, dtype, padded, readonly, strides=None, offset=0, device=None):
    """Make a tensor from what a pickle holds; sizes are checked, since a pickle is a file like any other.

    Parameters
    ----------
    data : bytes, or what a pickle carries out of band
    shape : tuple of int
    dtype : (int, int, int); code, bits and lanes
    padded, readonly : bool
    strides : tuple of int, in elements, optional; None is C order
    offset : int, from the first element in `data` to the first of the tensor
    device : str, optional; where the tensor was, if that was not host memory

    Examples
    --------
    >>> rebuild(b"\\x01\\x02", (2,), (1, 8, 1), False, False).tolist()
    [1, 2]
    >>> rebuild(b"\\x01\\x02", (2, 2), (1, 8, 1), False, True, (0, -1), 1).tolist()
    [[2, 1], [2, 1]]
    """
    raw = asarray(data)
    if raw.dtype.bits != 8 or raw.ndim != 1:
        raise TypeError(f"pickle: expected bytes, got {type(data).__qualname__}")
    raw = raw.view("uint8")
    if device is not None:
        try:
            raw = raw.to(device)
        except (DeviceError, ValueError) as error:
            raise DeviceError(
                f"pickle: the tensor was on {device!r}: {error}; pickle t.to('cpu') for programs without this device"
            ) from error
    # Bytes in the pickle itself are immutable: a writable tensor gets memory of its own.
    if raw.readonly and not readonly and isinstance(data, bytes):
        raw = raw.copy()
    dtype = DType(*dtype)
    if strides is None:
        return from_raw(raw, shape, dtype, padded, readonly)
    if dtype.bits * dtype.lanes % 8 and not padded:
        raise ValueError(f"pickle: packed elements of {dtype} have no strides, got {strides}")
    if prod(shape) * dtype.itemsize >= 2**63:
        raise ValueError(f"pickle: shape {shape} of {dtype} has more than 2^63 bytes")
    elements = from_raw(raw, (raw.size // dtype.itemsize,), dtype, padded, readonly)
    if not -(2**63) <= offset < 2**63:
        raise ValueError(f"pickle: offset must be from 0 to {elements.size - 1}, got {offset}")
    return as_strided(elements, shape, strides, offset, func="pickle")
