# SPDX-License-Identifier: Apache-2.0
# Types of reductions.pyx: one function per row of reductions.h. What stands between "rows" and "end" is written by
# tools/stubs.py.
from collections.abc import Sequence
from typing import Final, TypedDict, TypeVar, overload

from .._core.tensor import Tensor
from .._core.types import DType
from ..typing import DTypeLike, Operand, Scalar, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

class _Row(TypedDict):
    name: str
    kinds: list[str]
    result: str
    empty: str
    text: str
    doc: str
    one_axis: bool
    takes: list[str]

REDUCTIONS: Final[dict[str, _Row]]

def rounded_sum(x: Tensor, axes: tuple[int, ...], dtype: DTypeLike, func: str) -> Tensor: ...
def dtype_of_statistic(elements: DType, dtype: DTypeLike | None) -> DType: ...
def computable(x: Operand, func: str) -> Tensor: ...

# rows: reductions
@overload
def sum(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
    saturate: bool = False,
) -> Tensor:
    """Add the elements; of floats the exact sum, rounded once."""
@overload
def sum(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
    saturate: bool = False,
) -> _Out:
    """Add the elements; of floats the exact sum, rounded once."""
@overload
def prod(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
    saturate: bool = False,
) -> Tensor:
    """Multiply the elements."""
@overload
def prod(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
    saturate: bool = False,
) -> _Out:
    """Multiply the elements."""
@overload
def max(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
) -> Tensor:
    """Take the greatest element; NaN where there is one, and 0.0 is above -0.0."""
@overload
def max(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
) -> _Out:
    """Take the greatest element; NaN where there is one, and 0.0 is above -0.0."""
@overload
def min(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
) -> Tensor:
    """Take the least element; NaN where there is one, and -0.0 is below 0.0."""
@overload
def min(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    where: TensorLike | None = None,
    initial: Scalar | None = None,
) -> _Out:
    """Take the least element; NaN where there is one, and -0.0 is below 0.0."""
@overload
def mean(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """Take the arithmetic mean; the exact one, rounded once."""
@overload
def mean(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    dtype: DTypeLike | None = None,
    where: TensorLike | None = None,
) -> _Out:
    """Take the arithmetic mean; the exact one, rounded once."""
@overload
def var(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    dtype: DTypeLike | None = None,
    correction: float = 0.0,
    where: TensorLike | None = None,
) -> Tensor:
    """Take the variance."""
@overload
def var(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    dtype: DTypeLike | None = None,
    correction: float = 0.0,
    where: TensorLike | None = None,
) -> _Out:
    """Take the variance."""
@overload
def std(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    dtype: DTypeLike | None = None,
    correction: float = 0.0,
    where: TensorLike | None = None,
) -> Tensor:
    """Take the standard deviation: the square root of the variance."""
@overload
def std(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    dtype: DTypeLike | None = None,
    correction: float = 0.0,
    where: TensorLike | None = None,
) -> _Out:
    """Take the standard deviation: the square root of the variance."""
@overload
def all(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """Test whether every element is not 0; NaN is not 0."""
@overload
def all(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    where: TensorLike | None = None,
) -> _Out:
    """Test whether every element is not 0; NaN is not 0."""
@overload
def any(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """Test whether any element is not 0; NaN is not 0."""
@overload
def any(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    where: TensorLike | None = None,
) -> _Out:
    """Test whether any element is not 0; NaN is not 0."""
@overload
def count_nonzero(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """Count the elements that are not 0."""
@overload
def count_nonzero(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: _Out,
    where: TensorLike | None = None,
) -> _Out:
    """Count the elements that are not 0."""
@overload
def argmax(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False, out: None = None) -> Tensor:
    """Find the index of the first greatest element; of the first NaN where there is one."""
@overload
def argmax(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False, out: _Out) -> _Out:
    """Find the index of the first greatest element; of the first NaN where there is one."""
@overload
def argmin(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False, out: None = None) -> Tensor:
    """Find the index of the first least element; of the first NaN where there is one."""
@overload
def argmin(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False, out: _Out) -> _Out:
    """Find the index of the first least element; of the first NaN where there is one."""
# end
