# SPDX-License-Identifier: Apache-2.0
"""torch.asarray prefers the buffer protocol to DLPack: it reads the bytes of arrays of JAX and others as float32."""

import array

import numpy as np
import torch
from by_hand import report


class Both(array.array):
    """Three integers with the buffer protocol and DLPack."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        return np.frombuffer(self, np.int32).__dlpack__(**keywords)


numbers = Both("i", [1, 2, 3])
got = torch.asarray(numbers)
report("torch", "[1, 2, 3]", got.tolist(), got.tolist() != torch.from_dlpack(numbers).tolist())
