# SPDX-License-Identifier: Apache-2.0
# Types of casting.pyx: conversions, copies, filling and choosing.
from typing import Literal, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import DeviceLike, DTypeLike, Operand, Scalar, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

def astype(
    x: TensorLike,
    dtype: DTypeLike,
    /,
    *,
    copy: bool = True,
    device: DeviceLike | None = None,
    padded: bool = False,
) -> Tensor: ...

@overload
def cast(
    tensor: TensorLike,
    dtype_or_out: _Out,
    *,
    rounding: Literal["truncate", "nearest"] = "truncate",
    saturate: bool | None = None,
    scale: float | None = None,
    offset: float | None = None,
) -> _Out: ...
@overload
def cast(
    tensor: TensorLike,
    dtype_or_out: DTypeLike,
    *,
    rounding: Literal["truncate", "nearest"] = "truncate",
    saturate: bool | None = None,
    scale: float | None = None,
    offset: float | None = None,
) -> Tensor: ...
@overload
def clip(x: Operand, /, min: Operand | None = None, max: Operand | None = None, *, out: None = None) -> Tensor: ...
@overload
def clip(x: Operand, /, min: Operand | None = None, max: Operand | None = None, *, out: _Out) -> _Out: ...
@overload
def where(condition: TensorLike, x1: Operand, x2: Operand, /) -> Tensor: ...
@overload
def where(condition: TensorLike, x1: None = None, x2: None = None, /) -> tuple[Tensor, ...]: ...
@overload
def copy(src: TensorLike, dst: None = None) -> Tensor: ...
@overload
def copy(src: TensorLike, dst: _Out) -> _Out: ...
def fill(scalar: Scalar, dst: _Out, *, saturate: bool = False) -> _Out: ...
