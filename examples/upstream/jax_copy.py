# SPDX-License-Identifier: Apache-2.0
"""jax.dlpack.from_dlpack(x, copy=True) does not copy on the CPU: a later write to the source shows in the array.

The array API demands a copy (from_dlpack: "If `copy=True`, always copies").
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from by_hand import report

memory = np.zeros(4096 // 4 + 64, np.float32)
start = -memory.ctypes.data % 64 // 4  # jax shares only what is aligned
x = memory[start : start + 1024]
y = jax.dlpack.from_dlpack(x, copy=True)
y.block_until_ready()
x[0] = 99
report("jax", "y[0] is 0.0 after x[0] = 99", f"y[0] is {float(y[0])}", y[0] != 0)
