# SPDX-License-Identifier: Apache-2.0
# Types of searching.pyx: searchsorted, bincount and the counts of a histogram.
from typing import Literal, SupportsIndex, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def searchsorted(
    x1: TensorLike,
    x2: TensorLike | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: TensorLike | None = None,
    out: None = None,
) -> Tensor: ...
@overload
def searchsorted(
    x1: TensorLike,
    x2: TensorLike | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: TensorLike | None = None,
    out: _Out,
) -> _Out: ...
def bincount(x: TensorLike, /, weights: TensorLike | None = None, minlength: SupportsIndex = 0) -> Tensor: ...
def count_between(edges: TensorLike, x: TensorLike, weights: TensorLike | None, func: str) -> Tensor: ...
