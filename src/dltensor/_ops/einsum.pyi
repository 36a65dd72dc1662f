# SPDX-License-Identifier: Apache-2.0
# Types of einsum.py: sums of products by the labels of axes.
from collections.abc import Sequence
from typing import Literal, TypeAlias, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import TensorLike

__all__ = ["cross", "einsum", "kron", "outer"]

_Out = TypeVar("_Out", bound=TensorLike)
_Path: TypeAlias = bool | Literal["greedy"] | Sequence[str | tuple[int, ...]]

@overload
def einsum(subscripts: str, /, *operands: TensorLike, out: None = None, optimize: _Path = True) -> Tensor: ...
@overload
def einsum(subscripts: str, /, *operands: TensorLike, out: _Out, optimize: _Path = True) -> _Out: ...
@overload
def outer(x1: TensorLike, x2: TensorLike, /, *, out: None = None) -> Tensor: ...
@overload
def outer(x1: TensorLike, x2: TensorLike, /, *, out: _Out) -> _Out: ...
@overload
def kron(a: TensorLike, b: TensorLike, /, *, out: None = None) -> Tensor: ...
@overload
def kron(a: TensorLike, b: TensorLike, /, *, out: _Out) -> _Out: ...
@overload
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: None = None) -> Tensor: ...
@overload
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: _Out) -> _Out: ...
