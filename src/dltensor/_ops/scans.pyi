# SPDX-License-Identifier: Apache-2.0
# Types of scans.pyx: running sums and products.
from typing import TypeVar, overload

from .._core.tensor import Tensor
from ..typing import DTypeLike, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def cumulative_sum(
    x: TensorLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
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
    out: _Out,
) -> _Out: ...
