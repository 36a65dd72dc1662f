# SPDX-License-Identifier: Apache-2.0
# Types of convert.pyx: how tensors are made from what others have.
from collections.abc import Callable, Sequence
from typing import Any, Protocol, SupportsIndex, TypeVar

from typing_extensions import CapsuleType

from ..typing import (
    DeviceLike,
    DTypeLike,
    Scalar,
    Sequences,
    ShapeLike,
    SupportsDLPack,
    SupportsExchangeTable,
    TensorLike,
)
from .tensor import Tensor

_T = TypeVar("_T")

class _NumpyArray(Protocol):
    # NumPy's types say that arrays of bool do not export, which is not so; those know an array by this.
    def __dlpack_device__(self) -> Any: ...
    @property
    def __array_interface__(self) -> Any: ...

_DLPack = SupportsDLPack | SupportsExchangeTable | CapsuleType | _NumpyArray

def from_dlpack(x: _DLPack, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor: ...
def asarray(
    obj: TensorLike | CapsuleType | Scalar | Sequences,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
) -> Tensor: ...
def into(t: _DLPack, kind: type[_T], /) -> _T: ...
def wrap(
    ptr: int,
    shape: ShapeLike,
    dtype: DTypeLike,
    *,
    device: DeviceLike = "cpu",
    strides: Sequence[SupportsIndex] | None = None,
    byte_offset: int = 0,
    owner: object = None,
    deleter: Callable[[], Any] | None = None,
    readonly: bool = False,
) -> Tensor: ...
def empty(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
