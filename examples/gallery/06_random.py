# SPDX-License-Identifier: Apache-2.0
"""Random numbers by counter.

Value i depends on the seed and on i alone, so a tensor made in pieces is the tensor made at once. The histogram is
compared with the density of the normal distribution.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import dltensor as dl

whole = dl.random.Generator(7).normal(shape=1_000_000)
generator = dl.random.Generator(7)
pieces = dl.concat([generator.normal(shape=count) for count in (1, 249_999, 500_000, 250_000)])
print("the same values in one call and in four:", dl.array_equal(whole, pieces))
print(f"mean {dl.mean(whole).item():+.5f}, standard deviation {dl.std(whole).item():.5f}")

counts, edges = dl.histogram(whole, bins=200, range=(-5.0, 5.0))
centres = (edges[1:] + edges[:-1]) / 2
figure, place = plt.subplots(figsize=(9, 4.5), layout="constrained")
place.bar(centres.numpy(), counts.numpy() / 1e6 / 0.05, width=0.05, color="#1f6f8b", label="one million values")
curve = np.linspace(-5, 5, 400)
place.plot(curve, np.exp(-(curve**2) / 2) / np.sqrt(2 * np.pi), color="#c0392b", label="density")
place.set_xlabel("value")
place.legend()
figure.savefig(sys.argv[1], dpi=90)
