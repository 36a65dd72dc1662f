# SPDX-License-Identifier: Apache-2.0
"""k-means clustering by Lloyd's algorithm: three groups of points in the plane."""

import dltensor as np  # NumPy: import numpy as np


def points_around(centres, count, radius):
    """Points on a spiral around each centre, an even cloud without random numbers."""
    k = np.arange(count)
    distance = radius * np.sqrt((k + 0.5) / count)
    angle = k * np.pi * (3 - np.sqrt(5.0))
    cloud = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)
    return np.concatenate([cloud + centre for centre in centres])


def kmeans(points, centres, steps=20):
    for _ in range(steps):
        distances = ((points[:, np.newaxis, :] - centres) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        means = [points[labels == k].mean(axis=0) for k in range(len(centres))]
        moved = np.stack(means)  # NumPy: moved = np.array(means)
        if np.allclose(moved, centres):
            break
        centres = moved
    inertia = np.min(distances, axis=1).sum()
    return centres, labels, inertia


def main():
    points = points_around(np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 6.0]]), 200, 2.0)
    centres, labels, inertia = kmeans(points, points[::201][:3].copy())
    order = np.lexsort((centres[:, 1], centres[:, 0]))
    return {"centres": centres[order], "sizes": np.bincount(labels)[order], "inertia": inertia}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
