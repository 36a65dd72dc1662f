# SPDX-License-Identifier: Apache-2.0
"""torch.from_dlpack ignores READ_ONLY: the memory of an immutable `bytes` object changes."""

import numpy as np
import torch
from by_hand import report

text = bytes(bytearray(b"hello"))
torch.from_dlpack(np.frombuffer(text, np.uint8))[0] = ord("J")
report("torch", "b'hello' as it was, or an exception", text, text != b"hello")
