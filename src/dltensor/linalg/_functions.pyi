# SPDX-License-Identifier: Apache-2.0
# Types of _functions.py: norms, ranks, powers, pseudo-inverses, diagonals.
from collections.abc import Sequence
from typing import Literal, SupportsIndex, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import DTypeLike, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

def backend() -> str: ...
def diagonal(x: TensorLike, /, *, offset: SupportsIndex = 0) -> Tensor: ...
@overload
def trace(
    x: TensorLike, /, *, offset: SupportsIndex = 0, dtype: DTypeLike | None = None, out: None = None
) -> Tensor: ...
@overload
def trace(x: TensorLike, /, *, offset: SupportsIndex = 0, dtype: DTypeLike | None = None, out: _Out) -> _Out: ...
@overload
def vector_norm(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
    out: None = None,
) -> Tensor: ...
@overload
def vector_norm(
    x: TensorLike, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2, out: _Out
) -> _Out: ...
@overload
def matrix_norm(
    x: TensorLike, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] = "fro", out: None = None
) -> Tensor: ...
@overload
def matrix_norm(
    x: TensorLike, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] = "fro", out: _Out
) -> _Out: ...
@overload
def norm(
    x: TensorLike,
    /,
    ord: float | Literal["fro", "nuc"] | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: None = None,
) -> Tensor: ...
@overload
def norm(
    x: TensorLike,
    /,
    ord: float | Literal["fro", "nuc"] | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: _Out,
) -> _Out: ...
@overload
def matrix_power(x: TensorLike, n: SupportsIndex, /, *, out: None = None) -> Tensor: ...
@overload
def matrix_power(x: TensorLike, n: SupportsIndex, /, *, out: _Out) -> _Out: ...
@overload
def matrix_rank(x: TensorLike, /, *, rtol: float | TensorLike | None = None, out: None = None) -> Tensor: ...
@overload
def matrix_rank(x: TensorLike, /, *, rtol: float | TensorLike | None = None, out: _Out) -> _Out: ...
@overload
def pinv(x: TensorLike, /, *, rtol: float | TensorLike | None = None, out: None = None) -> Tensor: ...
@overload
def pinv(x: TensorLike, /, *, rtol: float | TensorLike | None = None, out: _Out) -> _Out: ...
