# SPDX-License-Identifier: Apache-2.0
"""nccl4py takes address and element count of a buffer, and no strides: other elements are sent, without an error."""

import ctypes

from by_hand import Source, report
from nccl.core.buffer import NcclBuffer

# What the calls of a communicator make of each operand.
try:
    buffer = NcclBuffer(Source((3,), (2,)))
    got = list((ctypes.c_float * buffer.count).from_address(buffer.ptr))
except Exception as error:
    got = type(error).__name__
report("nccl4py", "[1.0, 3.0, 5.0], or an exception", got, isinstance(got, list) and got != [1, 3, 5])
