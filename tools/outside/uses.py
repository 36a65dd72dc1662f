# SPDX-License-Identifier: Apache-2.0
"""How often a tensor took part in a test, as those count that make, take or convert tensors for it."""

count = 0


def add():
    """Count one use."""
    global count
    count += 1
