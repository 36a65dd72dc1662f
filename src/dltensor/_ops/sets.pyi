# SPDX-License-Identifier: Apache-2.0
# Types of sets.pyx: distinct values and membership.
from typing import NamedTuple, TypeVar, overload

from .._core.tensor import Tensor
from ..typing import Scalar, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor

class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor

class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor

def unique_all(x: TensorLike, /) -> UniqueAll: ...
def unique_counts(x: TensorLike, /) -> UniqueCounts: ...
def unique_inverse(x: TensorLike, /) -> UniqueInverse: ...
def unique_values(x: TensorLike, /) -> Tensor: ...
@overload
def isin(x1: TensorLike | Scalar, x2: TensorLike | Scalar, /, *, invert: bool = False, out: None = None) -> Tensor: ...
@overload
def isin(x1: TensorLike | Scalar, x2: TensorLike | Scalar, /, *, invert: bool = False, out: _Out) -> _Out: ...
