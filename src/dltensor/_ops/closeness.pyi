# SPDX-License-Identifier: Apache-2.0
# Types of closeness.py: comparison of whole tensors.
from typing import TypeVar, overload

from .._core.tensor import Tensor
from ..typing import Operand, TensorLike

__all__ = ["allclose", "array_equal", "isclose"]

_Out = TypeVar("_Out", bound=TensorLike)

@overload
def isclose(
    a: Operand,
    b: Operand,
    /,
    rtol: Operand = 1e-05,
    atol: Operand = 1e-08,
    equal_nan: bool = False,
    *,
    out: None = None,
) -> Tensor: ...
@overload
def isclose(
    a: Operand, b: Operand, /, rtol: Operand = 1e-05, atol: Operand = 1e-08, equal_nan: bool = False, *, out: _Out
) -> _Out: ...
def allclose(
    a: Operand, b: Operand, /, rtol: Operand = 1e-05, atol: Operand = 1e-08, equal_nan: bool = False
) -> bool: ...
def array_equal(a: Operand, b: Operand, /, equal_nan: bool = False) -> bool: ...
