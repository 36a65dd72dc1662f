# SPDX-License-Identifier: Apache-2.0
# Types of contractions.py: sums of products along axes.
from collections.abc import Sequence

from .._core.tensor import Tensor
from ..typing import Operand, TensorLike

__all__ = ["tensordot", "vecdot"]

def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor: ...
def tensordot(
    x1: TensorLike, x2: TensorLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor: ...
def dot(a: Operand, b: Operand) -> Tensor: ...
