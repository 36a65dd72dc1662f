# SPDX-License-Identifier: Apache-2.0
"""paddle.from_dlpack never calls the deleter of a struct whose manager_ctx is NULL, which dlpack.h allows: a leak."""

import gc

import paddle
from by_hand import Source, report

x = Source(context=False)
y = paddle.from_dlpack(x)
del y
gc.collect()
report("paddlepaddle", "the deleter called once", f"called {x.deleted} times", x.deleted != 1)
