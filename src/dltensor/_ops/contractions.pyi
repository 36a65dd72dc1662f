# SPDX-License-Identifier: Apache-2.0
# Types of contractions.pyx: sums of products along axes.
from collections.abc import Sequence
from typing import TypeVar, overload

from .._core.tensor import Tensor
from ..typing import Operand, TensorLike

__all__ = ["tensordot", "vecdot"]

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: None = None) -> Tensor: ...
@overload
def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: _Out) -> _Out: ...
@overload
def tensordot(
    x1: TensorLike, x2: TensorLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2, out: None = None
) -> Tensor: ...
@overload
def tensordot(
    x1: TensorLike, x2: TensorLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2, out: _Out
) -> _Out: ...
def exact_products(a: Tensor, b: Tensor | float, narrow: bool = False) -> list[Tensor]: ...
def dot(a: Operand, b: Operand) -> Tensor: ...
