# SPDX-License-Identifier: Apache-2.0
"""Types for annotations: tensor, dtype, device and shape arguments. Not imported with the package."""

from __future__ import annotations

import collections.abc
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias

from ._core.tensor import Tensor
from ._core.types import DTYPES, SPELLINGS, Device, DeviceType, DType

if TYPE_CHECKING:
    from typing_extensions import Buffer  # part of type checkers; nothing has to be installed

    from ._core.types import _DeviceName as DeviceName  # of the stub only
    from ._core.types import _DTypeName as DTypeName
else:
    Buffer = getattr(collections.abc, "Buffer", memoryview)  # Python 3.11 has no class for the buffer protocol
    _SIZED = [
        f"{kind[0]}{size}"
        for kind in ("int", "uint", "float", "complex")
        for size in (1, 2, 4, 8, 16)
        if f"{kind}{8 * size}" in DTYPES
    ]
    DTypeName = Literal[(*DTYPES, *SPELLINGS, "b1", *_SIZED)]
    DeviceName = Literal[
        (*(str(Device(kind, 0)).partition(":")[0] for kind in DeviceType), *(f"cuda:{n}" for n in range(8)))
    ]

__all__ = [
    "DTypeLike",
    "DTypeName",
    "DeviceLike",
    "DeviceName",
    "Index",
    "Operand",
    "Scalar",
    "Sequences",
    "ShapeLike",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsArrowArray",
    "SupportsArrowDeviceArray",
    "SupportsArrowStream",
    "SupportsCudaArrayInterface",
    "SupportsDLPack",
    "SupportsDLPackDevice",
    "SupportsDLPackDtype",
    "SupportsExchangeTable",
    "TensorLike",
]


class SupportsDLPack(Protocol):
    """Exports DLPack capsules; older objects take fewer keywords than the current standard has."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsExchangeTable(Protocol):
    """Has an exchange table on its type, as of DLPack 1.3."""

    @property
    def __dlpack_c_exchange_api__(self) -> Any: ...


class SupportsArrayInterface(Protocol):
    """Describes host memory in a dictionary, by NumPy's protocol."""

    @property
    def __array_interface__(self) -> Any: ...


class SupportsArrowArray(Protocol):
    """Exports an array by Arrow's PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


class SupportsArrowDeviceArray(Protocol):
    """Exports an array and the device that it is on by Arrow's PyCapsule interface."""

    def __arrow_c_device_array__(self, requested_schema: Any = None, **kwargs: Any) -> Any: ...


class SupportsArrowStream(Protocol):
    """Exports the chunks of an array by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class SupportsCudaArrayInterface(Protocol):
    """Describes CUDA memory in a dictionary, by Numba's protocol."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class SupportsArray(Protocol):
    """Converts to a NumPy array."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsDLPackDevice(Protocol):
    """Has a device."""

    def __dlpack_device__(self) -> Any: ...


class SupportsDLPackDtype(Protocol):
    """Corresponds to an element type, given as three numbers."""

    def __dlpack_data_type__(self) -> tuple[int, int, int]: ...


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Typed(Protocol):
    """A scalar of NumPy or ml_dtypes; its class is dtype_like."""

    @property
    def dtype(self) -> _Named: ...


class _NumpyDtype(_Named, Protocol):
    @property
    def byteorder(self) -> str: ...
    @property
    def itemsize(self) -> int: ...


class _TorchDtype(Protocol):
    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_complex(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...


class _TorchDevice(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def index(self) -> Any: ...


class _JaxDevice(Protocol):
    @property
    def platform(self) -> str: ...
    @property
    def id(self) -> int: ...


Scalar: TypeAlias = bool | int | float | complex
"""A Python number."""
TensorLike: TypeAlias = (
    Tensor
    | SupportsDLPack
    | SupportsExchangeTable
    | SupportsArrayInterface
    | SupportsCudaArrayInterface
    | SupportsArray
    | Buffer
)
"""array_like: a tensor, or an object of any framework with DLPack, a buffer or an array interface."""
Sequences: TypeAlias = list[Any] | tuple[Any, ...] | range
"""Nested lists, tuples or ranges of numbers. Other sequences, such as strings, are not converted."""
Operand: TypeAlias = TensorLike | Scalar | Sequences
"""Operand of element-wise functions and operators."""
DTypeLike: TypeAlias = (
    DType
    | DTypeName
    | SupportsDLPackDtype
    | type[int]  # bool too
    | type[float]
    | type[complex]
    | type[_Typed]
    | _NumpyDtype
    | _TorchDtype
)
"""dtype_like: an element type, its name, a Python number type, or the dtype or scalar type of another framework.

`DTypeName` has our names, then those of NumPy and C. A str that is only known at run time, and names of vector types
such as "int8x4", go through `as_dtype`.
"""
DeviceLike: TypeAlias = (
    Device | DeviceName | DeviceType | tuple[int, int] | SupportsDLPackDevice | _TorchDevice | _JaxDevice
)
"""device_like: a device, its name such as "cuda:1", a `DeviceType`, a pair of numbers, or that of a framework.

A str that is only known at run time goes through `as_device`.
"""
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""Extents of the dimensions; an integer is the shape of one dimension."""
_Step: TypeAlias = SupportsIndex | slice | EllipsisType | TensorLike | list[Any] | range | None
Index: TypeAlias = _Step | tuple[_Step, ...]
"""Key of an index expression: integers, slices, ``...``, None, integer arrays, masks, and lists of either."""
