# SPDX-License-Identifier: Apache-2.0
# Types of nan_reductions.py: reductions that leave NaN out, and differences.
from collections.abc import Sequence
from typing import TypeVar

from .._core.tensor import Tensor
from ..typing import DTypeLike, Operand, TensorLike

__all__ = ["diff", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar"]

_Axis = int | Sequence[int] | None
_Out = TypeVar("_Out", bound=TensorLike)

def nansum(
    x: TensorLike,
    /,
    *,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    out: TensorLike | None = None,
) -> Tensor: ...
def nanmean(
    x: TensorLike,
    /,
    *,
    axis: _Axis = None,
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def nanvar(
    x: TensorLike,
    /,
    *,
    axis: _Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def nanstd(
    x: TensorLike,
    /,
    *,
    axis: _Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def nanmax(
    x: TensorLike, /, *, axis: _Axis = None, keepdims: bool = False, out: TensorLike | None = None
) -> Tensor: ...
def nanmin(
    x: TensorLike, /, *, axis: _Axis = None, keepdims: bool = False, out: TensorLike | None = None
) -> Tensor: ...
def diff(
    x: TensorLike,
    /,
    n: int = 1,
    *,
    axis: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Tensor: ...
