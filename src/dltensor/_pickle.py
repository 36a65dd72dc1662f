# SPDX-License-Identifier: Apache-2.0
"""Tensors through pickle: bytes, shape and type, never an address. With protocol 5 the bytes may travel beside it."""

from pickle import PickleBuffer

from ._exchange import asarray
from ._views import from_raw, on_host, raw_bytes
from ._words import DeviceError, DType, Flags


def reduce_tensor(t, protocol):
    """Answer ``__reduce_ex__``: the elements in C order, whatever the strides were; read-only stays so.

    With protocol 5 contiguous memory is handed over as it is: out of band nothing is copied at all.

    Raises
    ------
    DeviceError
        The host cannot read the memory.

    Examples
    --------
    >>> import pickle
    >>> buffers = []; t = dl.arange(3); data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    >>> pickle.loads(data, buffers=buffers).same_memory(t), pickle.loads(data, buffers=buffers).tolist()
    (False, [0, 1, 2])
    """
    if not on_host(t):
        raise DeviceError(f"pickle: the data is on {t.device}, which the host cannot read; move it with to('cpu')")
    data = raw_bytes(t if t.is_contiguous else t.copy())
    payload = PickleBuffer(data) if protocol >= 5 else memoryview(data).tobytes()
    padded = bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)
    return rebuild, (payload, t.shape, t.dtype.__dlpack_data_type__(), padded, t.readonly)


def rebuild(data, shape, dtype, padded, readonly):
    """Make a tensor from what a pickle holds; sizes are checked, since a pickle is a file like any other.

    Raises
    ------
    ValueError
        The bytes are more or fewer than shape and type need, or a number is outside what a type can have.
    TypeError
        `data` is not bytes.

    Examples
    --------
    >>> rebuild(b"\\x01\\x02", (2,), (1, 8, 1), False, False).tolist()
    [1, 2]
    """
    raw = asarray(data)
    if raw.dtype.bits != 8 or raw.ndim != 1:
        raise TypeError(f"pickle: expected bytes, got {type(data).__qualname__}")
    raw = raw.view("uint8")
    # Bytes in the pickle itself are immutable and nobody else's: what was writable gets memory of its own.
    if raw.readonly and not readonly and isinstance(data, bytes):
        raw = raw.copy()
    return from_raw(raw, shape, DType(*dtype), padded, readonly)
