# SPDX-License-Identifier: Apache-2.0
# Types of arrow.pyx: exchange by Arrow's C data interface.
from typing_extensions import CapsuleType

from ..typing import SupportsArrowArray
from .tensor import Tensor

def export_arrow(t: Tensor) -> tuple[CapsuleType, CapsuleType]: ...
def from_arrow(obj: SupportsArrowArray, /, *, copy: bool | None = None) -> Tensor: ...
