# SPDX-License-Identifier: Apache-2.0
# Types of statistics.py: what NumPy and SciPy have beyond the array API's reductions.
from collections.abc import Sequence
from typing import Literal, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import DTypeLike, TensorLike

__all__ = ["average", "log_softmax", "logsumexp", "ptp", "softmax"]

_Axis = int | Sequence[int] | None
_Out = TypeVar("_Out", bound=TensorLike)

@overload
def ptp(x: TensorLike, /, *, axis: _Axis = None, keepdims: bool = False, out: None = None) -> Tensor: ...
@overload
def ptp(x: TensorLike, /, *, axis: _Axis = None, keepdims: bool = False, out: _Out) -> _Out: ...
@overload
def average(
    x: TensorLike,
    /,
    *,
    axis: _Axis = None,
    weights: TensorLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def average(
    x: TensorLike,
    /,
    *,
    axis: _Axis = None,
    weights: TensorLike | None = None,
    returned: Literal[True],
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def logsumexp(x: TensorLike, /, *, axis: _Axis = None, keepdims: bool = False, out: None = None) -> Tensor: ...
@overload
def logsumexp(x: TensorLike, /, *, axis: _Axis = None, keepdims: bool = False, out: _Out) -> _Out: ...
@overload
def softmax(x: TensorLike, /, *, axis: _Axis = None, out: None = None) -> Tensor: ...
@overload
def softmax(x: TensorLike, /, *, axis: _Axis = None, out: _Out) -> _Out: ...
@overload
def log_softmax(x: TensorLike, /, *, axis: _Axis = None, out: None = None) -> Tensor: ...
@overload
def log_softmax(x: TensorLike, /, *, axis: _Axis = None, out: _Out) -> _Out: ...
