# SPDX-License-Identifier: Apache-2.0
"""Views of one image.

Cropping, flipping, transposing and channel order change shape, strides and offset. The memory is that of the first
picture: no view copies it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import dltensor as dl

rows, columns = np.mgrid[0:200, 0:300]
pixels = np.stack(
    [rows * 255 // 199, columns * 255 // 299, np.hypot(rows - 70, columns - 90).astype(int) % 64 * 4], axis=-1
)
image = dl.from_dlpack(pixels.astype(np.uint8))

views = {
    "image": image,
    "image[40:140, 30:180]": image[40:140, 30:180],
    "image[:, ::-1]": image[:, ::-1],
    "dl.permute_dims(image, (1, 0, 2))": dl.permute_dims(image, (1, 0, 2)),
    "image[::8, ::8]": image[::8, ::8],
    "image[..., ::-1]": image[..., ::-1],
}
figure, places = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
for place, (text, view) in zip(places.flat, views.items(), strict=True):
    place.imshow(view.numpy())
    place.set_title(f"{text}\nstrides {view.strides}", fontsize=9)
    place.axis("off")
    print(f"{text:36} {view.shape!s:14} strides {view.strides!s:14} same memory: {view.same_memory(image)}")
figure.savefig(sys.argv[1], dpi=90)
