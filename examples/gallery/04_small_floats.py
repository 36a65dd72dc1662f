# SPDX-License-Identifier: Apache-2.0
"""Every value of the small floating-point types.

Types of 4 to 8 bits on one axis. dltensor stores and exchanges them, packed where the standard packs them, and
converts between all of them with one rounding.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import dltensor as dl

types = [
    dtype
    for dtype in dl.DTYPES.values()
    if dtype.bits <= 8 and "float" in dtype.name and dtype.bits in (4, 6, 8) and "e8m0" not in dtype.name
]
figure, place = plt.subplots(figsize=(10, 0.8 + 0.45 * len(types)), layout="constrained")
for row, dtype in enumerate(types):
    codes = dl.asarray(np.arange(2**dtype.bits, dtype=np.uint8))
    if dtype.bits < 8:  # the values of the table of all codes, by conversion: packed codes are bits
        wide = np.unique(dl.cast(dl.cast(np.linspace(-60, 60, 24001, dtype=np.float32), dtype), "float32").numpy())
    else:
        wide = np.unique(dl.cast(codes.view(dtype), "float32").numpy())
    finite = wide[np.isfinite(wide)]
    positive = finite[finite > 0]
    place.plot(positive, np.full(len(positive), row), "|", markersize=14, color="#1f6f8b")
    print(f"{dtype.name:16} {len(finite):3} finite values, from {positive[0]:.3g} to {positive[-1]:.6g}")
place.set_xscale("log", base=2)
place.set_yticks(range(len(types)), [dtype.name for dtype in types])
place.set_xlabel("positive finite values")
place.invert_yaxis()
figure.savefig(sys.argv[1], dpi=90)
