# SPDX-License-Identifier: Apache-2.0
# Types of convert.pyx: import and export of whole tensors.
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, TypeVar, overload

from typing_extensions import CapsuleType

from ..typing import DeviceLike, DTypeLike, Scalar, Sequences, ShapeLike, TensorLike
from .tensor import Tensor

_T = TypeVar("_T")
_U = TypeVar("_U")

def from_dlpack(
    x: TensorLike | CapsuleType, /, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Tensor: ...
def asarray(
    obj: TensorLike | CapsuleType | Scalar | Sequences,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
) -> Tensor: ...
@overload
def into(t: TensorLike | CapsuleType, kind: type[_T], /, *, default: None = None) -> _T: ...
@overload
def into(t: TensorLike | CapsuleType, kind: type[_T], /, *, default: type[_U]) -> _T | _U: ...
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
