# SPDX-License-Identifier: Apache-2.0
"""Sums that do not depend on the order.

The same 100,000 numbers are summed in 200 orders. A running sum gives another result for most orders, and so does
NumPy's pairwise sum. dltensor computes the exact sum and rounds it once, so there is one result: the correctly rounded
one.
"""

import math
import sys

import matplotlib.pyplot as plt
import numpy as np

import dltensor as dl

generator = np.random.default_rng(1)
values = generator.standard_normal(100_000) * 10.0 ** generator.integers(-6, 7, 100_000)
exact = math.fsum(values)
sums = {"running sum": [], "numpy.sum": [], "dl.sum": []}
for _ in range(200):
    values = generator.permutation(values)
    sums["running sum"].append(np.cumsum(values)[-1])
    sums["numpy.sum"].append(np.sum(values))
    sums["dl.sum"].append(dl.sum(values).item())
figure, places = plt.subplots(3, 1, figsize=(9, 6), sharex=True, layout="constrained")
unit = math.ulp(exact)
for place, (name, found) in zip(places, sums.items(), strict=True):
    errors = (np.asarray(found) - exact) / unit
    place.hist(errors, bins=np.linspace(-40.5, 40.5, 82), color="#2a7f62" if name == "dl.sum" else "#b8860b")
    place.set_ylabel("orders")
    place.set_title(f"{name}: {len(set(found))} different results in 200 orders", fontsize=10)
    print(f"{name:12} different results: {len(set(found)):3}   largest error in ULP: {abs(errors).max():.0f}")
places[-1].set_xlabel("error of the result, in units in the last place")
figure.savefig(sys.argv[1], dpi=90)
