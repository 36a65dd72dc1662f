# SPDX-License-Identifier: Apache-2.0
"""Principal component analysis: standardise the columns of a table, and project it on its first two components."""

import dltensor as np  # NumPy: import numpy as np


def standardise(table):
    """Return the columns with mean 0 and standard deviation 1."""
    return (table - table.mean(axis=0)) / table.std(axis=0)


def pca(table, count):
    """Return scores, components and the part of the variance that each component explains."""
    centred = table - table.mean(axis=0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])  # as scikit-learn: the largest entry is positive
    scores = (u * s * signs)[:, :count]
    components = (vt * signs[:, None])[:count]
    explained = s**2 / np.sum(s**2)
    return scores, components, explained[:count]


def main():
    day = np.arange(365)
    year = 2 * np.pi * day / 365
    temperature = 10 - 12 * np.cos(year) + 3 * np.sin(9.7 * day)
    sunshine = 6 - 4 * np.cos(year - 0.2) + np.sin(3.3 * day)
    rain = np.maximum(0, 2 + np.sin(year) + 2 * np.sin(5.1 * day))
    pressure = 1013 + 8 * np.sin(0.3 * day) - 2 * rain
    table = np.column_stack([temperature, sunshine, rain, pressure])
    scaled = standardise(table)
    scores, components, explained = pca(scaled, 2)
    restored = scores @ components
    error = np.linalg.norm(scaled - restored) / np.linalg.norm(scaled)
    return {
        "correlation": np.corrcoef(table, rowvar=False),
        "components": components,
        "explained": explained,
        "extremes": np.percentile(scores, [5, 50, 95], axis=0),
        "relative error": error,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
