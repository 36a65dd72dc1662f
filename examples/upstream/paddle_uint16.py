# SPDX-License-Identifier: Apache-2.0
"""paddle.from_dlpack turns uint16 into bfloat16: other numbers under the same bits."""

import numpy as np
import paddle
from by_hand import report

got = str(paddle.from_dlpack(np.array([16256, 16384], np.uint16)).dtype)
report("paddlepaddle", "paddle.uint16 or an exception", got, "bfloat16" in got)
