# SPDX-License-Identifier: Apache-2.0
"""torch.from_dlpack of a reversed array ends the process with SIGABRT, which no program can catch (pytorch#188023)."""

from by_hand import in_child, report

CODE = """
import numpy as np
import torch
try:
    torch.from_dlpack(np.arange(6.0)[::-1])
except Exception as error:
    print(type(error).__name__)
"""
said, status = in_child(CODE)
report("torch", "an exception", said or f"exit status {status}", status < 0)
