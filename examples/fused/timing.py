# SPDX-License-Identifier: Apache-2.0
"""The least time of a few calls."""

import time


def milliseconds(call, count=5):
    """Return the least time of `count` calls, after one that is not timed."""
    call()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3
