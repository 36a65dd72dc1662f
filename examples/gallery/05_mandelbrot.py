# SPDX-License-Identifier: Apache-2.0
"""The Mandelbrot set by element-wise operations.

Complex arithmetic on whole tensors with `out=`: after the first steps no memory is allocated. The result is handed to
Matplotlib without a copy.
"""

import sys

import matplotlib.pyplot as plt

import dltensor as dl

real = dl.linspace(-2.1, 0.7, 560, dtype="float32")
imaginary = dl.linspace(-1.1, 1.1, 440, dtype="float32")
c = real + imaginary[:, None] * 1j
z, counts = dl.zeros_like(c), dl.zeros(c.shape, dtype="int32")
inside = dl.empty(c.shape, dtype="bool")
for _ in range(60):
    dl.multiply(z, z, out=z)
    dl.add(z, c, out=z)
    dl.less(dl.abs(z), 2.0, out=inside)
    dl.add(counts, inside, out=counts)
    z = dl.where(inside, z, 2.0 + 0j)
figure, place = plt.subplots(figsize=(8, 6.2), layout="constrained")
place.imshow(dl.log1p(counts.astype("float32")).numpy(), extent=(-2.1, 0.7, -1.1, 1.1), cmap="magma")
place.set(xlabel="real part", ylabel="imaginary part")
print(f"{c.dtype}, {c.shape}: {dl.count_nonzero(inside).item()} of {c.size} points did not diverge in 60 steps")
figure.savefig(sys.argv[1], dpi=90)
