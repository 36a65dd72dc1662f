# SPDX-License-Identifier: Apache-2.0
"""cuda.core's StridedMemoryView takes a struct of DLPack 2.0, whose layout is undefined.

dlpack.h: on another major version the consumer calls the deleter and reads nothing else.
"""

from by_hand import Source, report
from cuda.core.utils import StridedMemoryView

try:
    got = f"a view of shape {StridedMemoryView.from_dlpack(Source(version=(2, 0)), stream_ptr=-1).shape}"
except Exception as error:
    got = type(error).__name__
report("cuda-core", "an exception", got, got.startswith("a view"))
