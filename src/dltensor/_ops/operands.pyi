# SPDX-License-Identifier: Apache-2.0
# Types of operands.pyx: reading arguments.
from ..typing import TensorLike

def data_ptr(x: TensorLike, /) -> int: ...
