# SPDX-License-Identifier: Apache-2.0
# Types of creation.pyx: the array API's functions that make tensors.
from typing import Literal

from .._core.tensor import Tensor
from ..typing import DeviceLike, DTypeLike, Scalar, ShapeLike, TensorLike

__all__ = [
    "arange",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

def zeros(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
def ones(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
def full(
    shape: ShapeLike, fill_value: Scalar, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor: ...
def empty_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
def zeros_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
def ones_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
def full_like(
    x: TensorLike, /, fill_value: Scalar, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor: ...
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int = 50,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: bool = True,
) -> Tensor: ...
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def meshgrid(*arrays: TensorLike, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]: ...
def tril(x: TensorLike, /, *, k: int = 0) -> Tensor: ...
def triu(x: TensorLike, /, *, k: int = 0) -> Tensor: ...
