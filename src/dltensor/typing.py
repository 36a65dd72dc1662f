# SPDX-License-Identifier: Apache-2.0
"""Words for type annotations: what counts as a tensor, dtype, device or shape. Not imported unless asked for."""

from __future__ import annotations

import collections.abc
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias

from ._core.tensor import Tensor
from ._core.types import Device, DType

if TYPE_CHECKING:
    from typing_extensions import Buffer  # checkers carry it themselves; nothing has to be installed
else:
    Buffer = getattr(collections.abc, "Buffer", memoryview)  # Python 3.11 has no class for the buffer protocol

__all__ = [
    "DTypeLike",
    "DeviceLike",
    "Index",
    "Operand",
    "Scalar",
    "Sequences",
    "ShapeLike",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsCudaArrayInterface",
    "SupportsDLPack",
    "SupportsDLPackDevice",
    "SupportsDLPackDtype",
    "SupportsExchangeTable",
    "TensorLike",
]


class SupportsDLPack(Protocol):
    """Exports capsules; older objects take fewer keywords than the standard of today has."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsExchangeTable(Protocol):
    """Offers C functions for exchange on its type, as DLPack 1.3 says."""

    @property
    def __dlpack_c_exchange_api__(self) -> Any: ...


class SupportsArrayInterface(Protocol):
    """Describes host memory in a dictionary, as NumPy says."""

    @property
    def __array_interface__(self) -> Any: ...


class SupportsCudaArrayInterface(Protocol):
    """Describes CUDA memory in a dictionary, as Numba says."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class SupportsArray(Protocol):
    """Becomes a NumPy array when asked."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsDLPackDevice(Protocol):
    """Says on which device it is."""

    def __dlpack_device__(self) -> Any: ...


class SupportsDLPackDtype(Protocol):
    """Says which element type it stands for, as three numbers."""

    def __dlpack_data_type__(self) -> tuple[int, int, int]: ...


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Typed(Protocol):
    """A scalar of NumPy or ml_dtypes; its class names an element type."""

    @property
    def dtype(self) -> _Named: ...


class _NumpyDtype(Protocol):
    @property
    def name(self) -> str: ...
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
"""A tensor, or an object of any framework that offers its memory in one of the ways that `asarray` knows."""
Operand: TypeAlias = TensorLike | Scalar
"""What element-wise functions and operators take."""
Sequences: TypeAlias = list[Any] | tuple[Any, ...] | range
"""Nested lists, tuples or ranges of numbers. Other sequences, such as strings, are not read as numbers."""
DTypeLike: TypeAlias = (
    DType
    | str
    | SupportsDLPackDtype
    | type[int]  # bool too
    | type[float]
    | type[complex]
    | type[_Typed]
    | _NumpyDtype
    | _TorchDtype
)
"""An element type, its name, a type of Python's numbers, or the dtype or scalar type of another framework."""
DeviceLike: TypeAlias = Device | str | int | tuple[int, int] | SupportsDLPackDevice | _TorchDevice | _JaxDevice
"""A device, its name such as ``"cuda:1"``, its DLPack number or pair of numbers, or that of another framework."""
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""Extents of dimensions; one number means one dimension."""
_Step: TypeAlias = SupportsIndex | slice | EllipsisType | None
Index: TypeAlias = _Step | tuple[_Step, ...]
"""What stands in brackets: integers, slices, ``...`` and None. Masks and lists of positions do not."""
