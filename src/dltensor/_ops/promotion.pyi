# SPDX-License-Identifier: Apache-2.0
# Types of promotion.pyx: instruction sets, threads, and which dtype operands meet in.
from collections.abc import Iterable
from typing import TypedDict

from .._core.types import DType
from ..typing import DTypeLike, Operand

class _Features(TypedDict):
    used: str
    supported: tuple[str, ...]
    compiled: tuple[str, ...]
    threads: int

def cpu_features() -> _Features: ...
def num_threads() -> int: ...
def set_num_threads(count: int, /) -> None: ...
def result_type(*arrays_and_dtypes: Operand | DTypeLike) -> DType: ...
def common_dtype(func: str, operands: Iterable[Operand | DTypeLike]) -> DType: ...
