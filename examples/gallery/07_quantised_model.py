# SPDX-License-Identifier: Apache-2.0
"""A model in 8 and in 4 bits.

A model is made on the spot and converted by `dltensor convert` to four formats, one weight at a time. Every layer of
the new files is compared with its weights: the ratio of the power of the weights to that of the errors. Outliers in
some columns, as in the deeper layers here, cost formats with long blocks most. A second argument is the size of the
model in megabytes: `07_quantised_model.py errors.png 1000`.
"""

import os
import subprocess
import sys
import tempfile

import matplotlib.pyplot as plt

import dltensor as dl

LAYERS, FORMATS = 8, {"mxfp8": "#1f6f8b", "int8": "#7f8c8d", "nvfp4": "#e08e0b", "mxfp4": "#c0392b"}
picture, megabytes = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 8
width = max(int((megabytes * 1e6 / 2 / 2 / LAYERS) ** 0.5) // 128 * 128, 128)  # two matrices of bfloat16 a layer


def weights(layer, generator):
    """Normal weights; in deeper layers a few columns are many times as large."""
    x = generator.normal(0.0, width**-0.5, (width, width))
    outliers = generator.choice(width, (max(width // 100, 1),))
    x[:, outliers] = x[:, outliers] * (1 + 3 * layer)
    return x.astype("bfloat16")


with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "model.safetensors")
    generator = dl.random.Generator(3)
    names = [f"layers.{layer}.{part}" for layer in range(LAYERS) for part in ("up", "down")]
    dl.save(model, {name: weights(index // 2, generator) for index, name in enumerate(names)})
    print(f"{len(names)} weights of {width} x {width}, {os.path.getsize(model) / 1e6:.1f} MB as bfloat16")

    figure, place = plt.subplots(figsize=(9, 4.5), layout="constrained")
    for form, color in FORMATS.items():
        small = os.path.join(folder, "small.safetensors")
        subprocess.run([sys.executable, "-m", "dltensor", "convert", model, small, "--format", form], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        errors = []
        with dl.open_file(model) as before, dl.open_file(small) as after:
            for name in names:
                q = [after[part] for part in (name, f"{name}_scale", f"{name}_scale_2") if part in after]
                errors.append(dl.quantization_error(before[name], q))
                del q
        decibels = [error.decibels for error in errors]
        place.plot(range(len(names)), decibels, "o-", color=color, label=form)
        print(f"{form:6} {os.path.getsize(small) / 1e6:8.1f} MB, {min(decibels):.1f} to {max(decibels):.1f} dB")

place.set_xticks(range(len(names)), [name.removeprefix("layers.") for name in names], rotation=60)
place.set_xlabel("layer")
place.set_ylabel("weights over errors, dB")
place.legend()
figure.savefig(picture, dpi=90)
