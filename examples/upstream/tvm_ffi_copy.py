# SPDX-License-Identifier: Apache-2.0
"""tvm_ffi.Tensor.__dlpack__(copy=True) without max_version does not copy and does not say so."""

import numpy as np
import tvm_ffi
from by_hand import address, report

a = np.arange(3.0)
try:
    capsule = tvm_ffi.from_dlpack(a).__dlpack__(copy=True)
    got = "the same memory" if address(capsule) == a.ctypes.data else "a copy"
except Exception as error:
    got = type(error).__name__
report("apache-tvm-ffi", "a copy or BufferError", got, got == "the same memory")
