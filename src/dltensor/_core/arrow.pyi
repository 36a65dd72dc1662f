# SPDX-License-Identifier: Apache-2.0
# Types of arrow.pyx: exchange by Arrow's C data interface.
from typing_extensions import CapsuleType

from ..typing import SupportsArrowArray, SupportsArrowDeviceArray, SupportsArrowStream
from .tensor import Tensor

def export_arrow(
    t: Tensor, requested_schema: CapsuleType | None = None, is_device: bool = False
) -> tuple[CapsuleType, CapsuleType]: ...
def import_column(obj: object, copy: bool | None, func: str) -> Tensor | None: ...
def from_arrow(
    obj: SupportsArrowArray | SupportsArrowDeviceArray | SupportsArrowStream, /, *, copy: bool | None = None
) -> Tensor: ...
