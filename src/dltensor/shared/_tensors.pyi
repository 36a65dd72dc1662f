# SPDX-License-Identifier: Apache-2.0
# Types of _tensors.py: tensors in shared memory.
from collections.abc import Mapping

from .._core.tensor import Tensor
from ..typing import DTypeLike, Sequences, ShapeLike, TensorLike

def empty(shape: ShapeLike, dtype: DTypeLike = "float32") -> Tensor: ...
def pack(tensors: Mapping[str, TensorLike | Sequences]) -> dict[str, Tensor]: ...
