# SPDX-License-Identifier: Apache-2.0
"""pyarrow.Tensor.__dlpack__ divides byte strides by the item size without a remainder check: wrong values."""

import numpy as np
import pyarrow as pa
from by_hand import report

packed = np.zeros(2, [("a", "f4"), ("b", "u1")])  # five bytes from one float to the next
packed["a"] = 1, 2
packed["b"] = 255
x = pa.Tensor.from_numpy(packed["a"])
try:
    got = np.from_dlpack(x).tolist()
except Exception as error:
    got = type(error).__name__
report("pyarrow", "an exception", got, not isinstance(got, str) and got != [1, 2])
