# SPDX-License-Identifier: Apache-2.0
"""warp.from_dlpack ignores byte_offset: it reads from the start of the memory. Slices of mlx arrive wrong."""

import warp
from by_hand import Source, report

warp.config.quiet = True
warp.init()

try:
    got = warp.from_dlpack(Source((4,), legacy=True, byte_offset=8)).numpy().tolist()
except Exception as error:
    got = type(error).__name__
report("warp-lang", "[3.0, 4.0, 5.0, 6.0]", got, got == [1, 2, 3, 4])
