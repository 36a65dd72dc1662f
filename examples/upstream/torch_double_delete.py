# SPDX-License-Identifier: Apache-2.0
"""torch.from_dlpack calls the deleter twice when it fails late: a double free in a producer that frees.

The number of elements of shape (2**40, 2**40) does not fit into 64 bits.
"""

import torch
from by_hand import Source, report

x = Source((2**40, 2**40), (1, 1))
try:
    torch.from_dlpack(x)
    said = "no exception"
except Exception as error:
    said = type(error).__name__
x.capsule = None  # the producer's part: the capsule goes, unconsumed by its name
report(
    "torch", "an exception, the deleter called once", f"{said}, the deleter called {x.deleted} times", x.deleted != 1
)
