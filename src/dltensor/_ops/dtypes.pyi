# SPDX-License-Identifier: Apache-2.0
# Types of dtypes.py: limits of numbers, kinds, what casts to what.
from typing import Literal

from .._core.types import DType
from ..typing import DTypeLike, TensorLike

__all__ = ["can_cast", "finfo", "iinfo", "isdtype"]

_KindName = Literal[
    "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"
]
_Kind = DTypeLike | _KindName | tuple[DTypeLike | _KindName, ...]

class iinfo:
    bits: int
    min: int
    max: int
    dtype: DType
    def __init__(self, type: DTypeLike | TensorLike, /) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class finfo:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType
    def __init__(self, type: DTypeLike | TensorLike, /) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def isdtype(dtype: DTypeLike, kind: _Kind) -> bool: ...
def can_cast(from_: DTypeLike | TensorLike, to: DTypeLike, /) -> bool: ...
