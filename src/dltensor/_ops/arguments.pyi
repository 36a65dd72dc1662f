# SPDX-License-Identifier: Apache-2.0
# Types of arguments.pyx: reading arguments.
from typing import TypeVar, overload

from .._core.tensor import Tensor
from ..typing import DTypeLike, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

def data_ptr(x: TensorLike, /) -> int: ...
@overload
def written(result: Tensor, out: None, func: str) -> Tensor: ...
@overload
def written(result: Tensor, out: _Out, func: str) -> _Out: ...
def output_of(out: TensorLike | None, shape: tuple[int, ...], dtype: DTypeLike, func: str) -> Tensor | None: ...
