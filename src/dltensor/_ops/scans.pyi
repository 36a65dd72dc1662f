# SPDX-License-Identifier: Apache-2.0
# Types of scans.pyx: running sums, products, maxima and minima.
from typing import SupportsIndex, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import DTypeLike, TensorLike

__all__ = ["cumulative_max", "cumulative_min", "cumulative_prod", "cumulative_sum"]

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def cumulative_sum(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    saturate: bool = False,
    out: None = None,
) -> Tensor: ...
@overload
def cumulative_sum(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    saturate: bool = False,
    out: _Out,
) -> _Out: ...
@overload
def cumulative_prod(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    saturate: bool = False,
    out: None = None,
) -> Tensor: ...
@overload
def cumulative_prod(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    saturate: bool = False,
    out: _Out,
) -> _Out: ...
@overload
def cumulative_max(x: TensorLike, /, *, axis: int | None = None, out: None = None) -> Tensor: ...
@overload
def cumulative_max(x: TensorLike, /, *, axis: int | None = None, out: _Out) -> _Out: ...
@overload
def cumulative_min(x: TensorLike, /, *, axis: int | None = None, out: None = None) -> Tensor: ...
@overload
def cumulative_min(x: TensorLike, /, *, axis: int | None = None, out: _Out) -> _Out: ...
def cumsum(
    x: Tensor, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: TensorLike | None = None
) -> Tensor: ...
def cumprod(
    x: Tensor, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: TensorLike | None = None
) -> Tensor: ...
