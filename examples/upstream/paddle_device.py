# SPDX-License-Identifier: Apache-2.0
"""paddle.Tensor.__dlpack_device__ answers (kDLCPU, None); the array API wants two integers."""

import paddle
from by_hand import report

got = paddle.to_tensor([1.0]).__dlpack_device__()
report("paddlepaddle", "(1, 0)", tuple(got), got[1] is None)
