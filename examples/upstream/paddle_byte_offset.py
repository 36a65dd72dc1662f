# SPDX-License-Identifier: Apache-2.0
"""paddle.from_dlpack ignores byte_offset: it reads from the start of the memory. Slices of mlx arrive wrong."""

import paddle
from by_hand import Source, report

try:
    got = paddle.from_dlpack(Source((4,), byte_offset=8)).numpy().tolist()
except Exception as error:
    got = type(error).__name__
report("paddlepaddle", "[3.0, 4.0, 5.0, 6.0]", got, got == [1, 2, 3, 4])
