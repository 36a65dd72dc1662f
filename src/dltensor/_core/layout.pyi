# SPDX-License-Identifier: Apache-2.0
# Types of layout.py: shapes and strides as plain tuples.
from collections.abc import Iterable
from typing import Literal, SupportsIndex

from ..typing import DeviceLike, DTypeLike, TensorLike
from .tensor import Tensor

__all__ = [
    "array_equals",
    "broadcast_shapes",
    "broadcast_strides",
    "coalesce",
    "contiguous_strides",
    "create_output_tensor",
    "extent",
    "is_contiguous",
    "nbytes",
    "numel",
]

MOST_DIMENSIONS: int

_Integers = Iterable[SupportsIndex]
_Align = Literal["trailing", "leading"]
_Order = Literal["C", "F"]

def numel(shape: _Integers) -> int: ...
def nbytes(shape: _Integers, dtype: DTypeLike) -> int: ...
def contiguous_strides(shape: _Integers, order: _Order = "C") -> tuple[int, ...]: ...
def is_contiguous(shape: _Integers, strides: _Integers, order: _Order = "C") -> bool: ...
def broadcast_shapes(*shapes: _Integers, align: _Align = "trailing") -> tuple[int, ...]: ...
def broadcast_strides(
    shape: _Integers, strides: _Integers, to: _Integers, align: _Align = "trailing"
) -> tuple[int, ...]: ...
def coalesce(
    shape: _Integers, strides_per_operand: Iterable[_Integers]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]: ...
def extent(shape: _Integers, strides: _Integers) -> tuple[int, int]: ...
def array_equals(first: _Integers, second: _Integers, start: int = 0, stop: int | None = None) -> bool: ...
def create_output_tensor(
    tensors: Iterable[TensorLike | None],
    *,
    align: _Align = "trailing",
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
