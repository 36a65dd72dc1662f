# SPDX-License-Identifier: Apache-2.0
# Types of gather.pyx: elements chosen by index arrays and masks.
from collections.abc import Sequence
from typing import SupportsIndex, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import Index, Operand, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

def add_at(x: _Out, indices: Index, values: Operand, /) -> _Out: ...
def maximum_at(x: _Out, indices: Index, values: Operand, /) -> _Out: ...
def minimum_at(x: _Out, indices: Index, values: Operand, /) -> _Out: ...
def nonzero(x: TensorLike, /) -> tuple[Tensor, ...]: ...
@overload
def take(
    x: TensorLike, indices: TensorLike | Sequence[int] | int, /, *, axis: SupportsIndex | None = None, out: None = None
) -> Tensor: ...
@overload
def take(
    x: TensorLike, indices: TensorLike | Sequence[int] | int, /, *, axis: SupportsIndex | None = None, out: _Out
) -> _Out: ...
@overload
def take_along_axis(
    x: TensorLike, indices: TensorLike, /, *, axis: SupportsIndex | None = -1, out: None = None
) -> Tensor: ...
@overload
def take_along_axis(x: TensorLike, indices: TensorLike, /, *, axis: SupportsIndex | None = -1, out: _Out) -> _Out: ...
