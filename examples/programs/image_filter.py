# SPDX-License-Identifier: Apache-2.0
"""Filter an image: Gaussian blur, Sobel edges, unsharp mask, threshold at a percentile."""

import dltensor as np  # NumPy: import numpy as np


def gaussian(sigma):
    x = np.arange(-int(3 * sigma), int(3 * sigma) + 1)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    return kernel / kernel.sum()


def convolve2d(image, kernel):
    """Correlate an image with a kernel of odd size; the edge pixels are repeated."""
    rows, columns = kernel.shape
    padded = np.pad(image, ((rows // 2, rows // 2), (columns // 2, columns // 2)), mode="edge")
    out = np.zeros_like(image)
    for i in range(rows):
        for j in range(columns):
            out += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return out


def edges(image):
    sobel = np.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    return np.hypot(convolve2d(image, sobel), convolve2d(image, sobel.T))


def main():
    y, x = np.meshgrid(np.arange(64), np.arange(96), indexing="ij")  # NumPy: y, x = np.mgrid[0:64, 0:96]
    disc = (x - 40) ** 2 + (y - 30) ** 2 < 400
    pixels = np.where(disc, 200, 40 + x // 2).astype(np.uint8)
    image = pixels.astype(np.float32) / 255
    kernel = gaussian(1.5)
    blurred = convolve2d(convolve2d(image, kernel[:, None]), kernel[None, :])
    sharp = np.clip(image + 0.8 * (image - blurred), 0, 1)
    strength = edges(blurred)
    mask = strength > np.percentile(strength, 95)
    painted = np.stack([pixels] * 3, axis=-1)
    painted[mask] = [255, 0, 0]
    return {
        "blurred": blurred[::16, ::16],
        "sharp": np.rint(sharp * 255).astype(np.uint8)[30, 16:24],
        "pixels at edges": int(mask.sum()),
        "centre of edges": np.argwhere(mask).mean(axis=0),
        "red": painted[mask].sum(axis=0),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}:\n{value}")
