# SPDX-License-Identifier: Apache-2.0
"""Protocols older than DLPack, what a Tensor answers. Capsules and buffers are elsewhere."""

import sys

from .types import DataTypeCode, DeviceError
from .views import on_host

_ORDER = "<" if sys.byteorder == "little" else ">"
# The letters of the array interfaces, and the widths in bits that NumPy has for them.
_KINDS = {
    DataTypeCode.kDLInt: ("i", (8, 16, 32, 64)),
    DataTypeCode.kDLUInt: ("u", (8, 16, 32, 64)),
    DataTypeCode.kDLFloat: ("f", (16, 32, 64)),
    DataTypeCode.kDLComplex: ("c", (64, 128)),
    DataTypeCode.kDLBool: ("b", (8,)),
}


def to_numpy(t, dtype, copy):
    """Implement ``__array__``: an ndarray, of another dtype if requested."""
    if not on_host(t):
        # NumPy calls this implicitly, so a copy from a device would be a surprise.
        raise DeviceError(f"__array__: the data is on {t.device}, which the host cannot read; call numpy()")
    array = t.numpy(copy=copy)
    if dtype is None or array.dtype == dtype:
        return array
    if copy is not None and not copy:
        raise ValueError(f"__array__: {t.dtype} to {dtype} needs a copy, but copy=False")
    return array.astype(dtype)


def _interface(t, name):
    letter, widths = _KINDS.get(t.dtype.code, ("", ()))
    if t.dtype.bits not in widths or t.dtype.lanes != 1:
        # An AttributeError, so that hasattr() is False and NumPy tries the next protocol.
        raise AttributeError(f"{name}: the protocol cannot express {t.dtype}; use DLPack, or view() an integer type")
    width = t.itemsize
    return {
        "version": 3,
        "shape": t.shape,
        "typestr": f"{'|' if width == 1 else _ORDER}{letter}{width}",
        "data": (t.data_ptr if t.size else 0, t.readonly),
        "strides": None if t.is_contiguous else tuple([stride * width for stride in t.strides]),
    }


def array_interface(t):
    """Answer ``__array_interface__``, version 3."""
    if not on_host(t):
        raise AttributeError(f"__array_interface__: the data is on {t.device}, which the host cannot read")
    return _interface(t, "__array_interface__")


def cuda_array_interface(t):
    """Answer ``__cuda_array_interface__``, version 3, with the stream that a consumer must wait for."""
    from ..cuda._exchange import stream_for_readers

    return _interface(t, "__cuda_array_interface__") | {"stream": stream_for_readers(t)}
