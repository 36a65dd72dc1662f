# SPDX-License-Identifier: Apache-2.0
# Types of matmul.pyx: products of matrices.
from typing import TypeVar, overload

from .._core.tensor import Tensor
from ..typing import Scalar, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def matmul(x1: TensorLike, x2: TensorLike, /, out: None = None) -> Tensor: ...
@overload
def matmul(x1: TensorLike, x2: TensorLike, /, out: _Out) -> _Out: ...
@overload
def gemm(a: TensorLike, b: TensorLike, c: None = None, alpha: Scalar = 1.0, beta: Scalar = 0.0) -> Tensor: ...
@overload
def gemm(a: TensorLike, b: TensorLike, c: _Out, alpha: Scalar = 1.0, beta: Scalar = 0.0) -> _Out: ...
