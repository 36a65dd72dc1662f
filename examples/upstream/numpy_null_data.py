# SPDX-License-Identifier: Apache-2.0
"""numpy.from_dlpack takes a struct of six elements whose data is NULL, and makes an array of memory of its own."""

import numpy as np
from by_hand import Source, report

try:
    y = np.from_dlpack(Source(data=False))
    got = f"an array of {y.size} elements at {'NULL' if not y.ctypes.data else 'fresh memory'}"
except Exception as error:
    got = type(error).__name__
report("numpy", "an exception", got, got.startswith("an array"))
