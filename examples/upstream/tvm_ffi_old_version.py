# SPDX-License-Identifier: Apache-2.0
"""tvm_ffi.Tensor.__dlpack__(max_version=(0, 8)) raises AttributeError; the array API wants a legacy capsule."""

import numpy as np
import tvm_ffi
from by_hand import report

x = tvm_ffi.from_dlpack(np.arange(3.0))
try:
    got = f"a capsule: {x.__dlpack__(max_version=(0, 8))}"
except Exception as error:
    got = f"{type(error).__name__}: {error}"
report("apache-tvm-ffi", "a legacy capsule or BufferError", got, got.startswith("AttributeError"))
