# SPDX-License-Identifier: Apache-2.0
"""Saturating arithmetic on 8-bit pixels.

Integer arithmetic wraps: a brightened sky turns black. With `saturate=True` the exact result is rounded once and
clamped to the range of the element type, in one pass and without a wider intermediate array.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import dltensor as dl

rows, columns = np.mgrid[0:120, 0:240]
sky = dl.asarray((columns * 255 // 239 * (0.6 + 0.4 * np.sin(rows / 12))).astype(np.uint8))
results = {
    "sky": sky,
    "dl.add(sky, 90)": dl.add(sky, 90),
    "dl.add(sky, 90, saturate=True)": dl.add(sky, 90, saturate=True),
    "dl.multiply(sky, 1.7, saturate=True)": dl.multiply(sky, 1.7, saturate=True),
}
figure, places = plt.subplots(2, 2, figsize=(10, 5.4), layout="constrained")
for place, (text, result) in zip(places.flat, results.items(), strict=True):
    place.imshow(result.numpy(), cmap="gray", vmin=0, vmax=255)
    place.set_title(text, fontsize=10)
    place.axis("off")
    print(f"{text:38} {result.dtype}  darkest {dl.min(result).item():3}, brightest {dl.max(result).item()}")
figure.savefig(sys.argv[1], dpi=90)
