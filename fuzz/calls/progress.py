# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer and the process that makes the calls agree on. Imports nothing, so that either may run anywhere."""

import struct

CALLS = 40  # of a round
PROGRESS = struct.Struct("6q")  # round, call, calls made, succeeded, compared with NumPy, done
# Calls with operands that work together; calls/tricks.py makes them.
TRICKS = (
    "change operand", "change storage", "two answers", "itself", "stolen name", "too large", "refused tensor",
    "old signature", "two dtypes", "typed numbers", "masked", "endless", "odd address", "consumer stream",
    "graph output",
)  # fmt: skip
