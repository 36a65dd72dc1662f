# SPDX-License-Identifier: Apache-2.0
# Types of sorting.pyx: sort, argsort and the first elements of an order.
from collections.abc import Sequence
from typing import Literal, SupportsIndex, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def sort(
    x: TensorLike, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True, out: None = None
) -> Tensor: ...
@overload
def sort(
    x: TensorLike, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True, out: _Out
) -> _Out: ...
@overload
def argsort(
    x: TensorLike, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True, out: None = None
) -> Tensor: ...
@overload
def argsort(
    x: TensorLike, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True, out: _Out
) -> _Out: ...
def top_k(
    x: TensorLike,
    k: SupportsIndex,
    /,
    *,
    axis: SupportsIndex = -1,
    mode: Literal["largest", "smallest"] = "largest",
    sorted: bool = True,
) -> tuple[Tensor, Tensor]: ...
def statistics_of_order(x: TensorLike, axis: SupportsIndex, places: Sequence[int]) -> Tensor: ...
