# SPDX-License-Identifier: Apache-2.0
"""paddle.from_dlpack ignores READ_ONLY: a write goes through to an array that its owner declared immutable."""

import numpy as np
import paddle
from by_hand import report

a = np.zeros(4, np.float32)
a.flags.writeable = False
y = paddle.from_dlpack(a)
y[0] = 99
report("paddlepaddle", "a[0] is 0.0", f"a[0] is {a[0]}", a[0] != 0)
