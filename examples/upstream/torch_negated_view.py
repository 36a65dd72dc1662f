# SPDX-License-Identifier: Apache-2.0
"""torch exports a lazily negated view without its sign: the consumer gets the opposite values."""

import numpy as np
import torch
from by_hand import report

x = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
try:
    got = np.from_dlpack(x).tolist()
except BufferError:
    got = "BufferError"
report("torch", f"{x.tolist()} or BufferError", got, got not in (x.tolist(), "BufferError"))
