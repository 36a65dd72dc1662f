# SPDX-License-Identifier: Apache-2.0
"""Statistics of every tensor of a large model, by Dask on two worker processes, with the bits of one process.

``model_statistics.py [--size BYTES] [--folder FOLDER] [--keep]`` makes a .safetensors file of that size (2 GB, or a
quarter of what the disk has left) and deletes it at the end. The workers map the file, and send numbers only.
A chunk's sum is not one rounded number but a few whose sum is exact, so the result does not depend on the chunks. The
program computes everything again in this process, without chunks, and fails if one bit differs. It writes report.html.
"""

import argparse
import base64
import io
import math
import os
import shutil
import sys
import time
from fractions import Fraction

import dask
import distributed
import matplotlib
import matplotlib.pyplot as plt

import dltensor as dl
from dltensor._core.markup import element, page, table

SIZE = 2 * 10**9
CHUNK = 1 << 22  # elements, of which a worker makes a copy as float64
LARGEST_PICTURE = 300_000
# What is counted: zeros, and magnitudes between powers of two. The first bin has everything below, the last all above.
EXPONENTS = range(-24, 5)
EDGES = [0.0, *(2.0**power for power in EXPONENTS), math.inf]


# -- the model --------------------------------------------------------------------------------------------------------


def make_model(path, size):
    """Save a model of layers of a transformer, of at least `size` bytes, in four element types."""
    width = 1 << int(math.log2(max(size / 384, 256)) / 2)
    generator, tensors, nbytes = dl.random.Generator(16), {}, 0

    def add(name, shape, dtype, mean=0.0, deviation=width**-0.5):
        nonlocal nbytes
        t = generator.normal(mean, deviation, shape, dtype="float32").astype(dtype)
        tensors[name] = t
        nbytes += t.nbytes

    add("embedding", (16 * width, width), "bfloat16", deviation=1.0)
    layer = 0
    while nbytes < size:
        for part in ("query", "key", "value", "output"):
            add(f"layers.{layer}.attention.{part}", (width, width), "bfloat16")
        add(f"layers.{layer}.mlp.up", (4 * width, width), "float16")
        add(f"layers.{layer}.mlp.down", (width, 4 * width), "float8_e4m3fn")
        add(f"layers.{layer}.norm", (width,), "float32", 1.0, 0.1)
        layer += 1
    dl.save(path, tensors, metadata={"layers": str(layer)})


# -- a part of a tensor, in a worker ----------------------------------------------------------------------------------


def exact_parts(x):
    """Return numbers whose sum is the sum of a float64 tensor of one dimension, without any error.

    `dl.sum` is the exact sum, rounded once. What the rounding lost is the sum of the same elements and the negated
    result, and so on, until nothing is lost.
    """
    rest, parts = dl.concat([x, dl.zeros(64, dtype="float64")]), []
    while (part := dl.sum(rest).item()) != 0.0:
        rest[x.size + len(parts)] = -part
        parts.append(part)
    return parts


def summarize(path, name, begin, end):
    """Return what is known of some elements of a tensor: exact parts of sums, extremes, and counts."""
    with dl.open_file(path) as file:
        x = file[name].reshape(-1)[begin:end].astype("float64")
    magnitudes = dl.abs(x)
    counts, _ = dl.histogram(magnitudes, dl.asarray(EDGES[:-1], dtype="float64"))
    above = dl.count_nonzero(magnitudes > EDGES[-2]).item()
    zeros = dl.count_nonzero(x == 0).item()
    return {
        "size": x.size,
        "sum": exact_parts(x),
        "squares": exact_parts(x * x),  # exact: no type here has more than 26 bits in its significand
        "min": dl.min(x).item(),
        "max": dl.max(x).item(),
        "zeros": zeros,
        "counts": [counts[0].item() - zeros, *counts[1:].tolist(), above],
    }


# -- all of a tensor --------------------------------------------------------------------------------------------------


def combine(parts):
    """Return the statistics of a tensor from those of its parts; every number is rounded once."""
    size = sum(part["size"] for part in parts)
    total = sum((Fraction(number) for part in parts for number in part["sum"]), Fraction(0))
    squares = sum((Fraction(number) for part in parts for number in part["squares"]), Fraction(0))
    return {
        "sum": float(total),
        "mean": float(total / size),
        "variance": float((squares - total * total / size) / size),
        "min": min(part["min"] for part in parts),
        "max": max(part["max"] for part in parts),
        "zeros": sum(part["zeros"] for part in parts),
        "counts": [sum(column) for column in zip(*(part["counts"] for part in parts), strict=True)],
    }


def on_two_processes(path, names, sizes):
    """Return the statistics of each tensor, from chunks that two processes of Dask read."""
    # Pages of a map count as memory of a worker, though the system takes them back when it needs them: no limit.
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, memory_limit=None, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        part, whole = dask.delayed(summarize, pure=False), dask.delayed(combine, pure=False)
        graph = {
            name: whole([part(path, name, at, min(at + CHUNK, sizes[name])) for at in range(0, sizes[name], CHUNK)])
            for name in names
        }
        futures = {name: client.compute(node) for name, node in graph.items()}
        made = client.gather(futures)
        workers = {worker for held in client.who_has(list(futures.values())).values() for worker in held}
    return made, len(workers)


def on_one_process(path, names):
    """Return the same statistics by the functions of this package over whole tensors, without chunks or Dask."""
    made = {}
    with dl.open_file(path) as file:
        for name in names:
            x = file[name].reshape(-1).astype("float64")
            zeros = dl.count_nonzero(x == 0).item()
            counts = dl.histogram(dl.abs(x), dl.asarray(EDGES[:-1], dtype="float64"))[0].tolist()
            made[name] = {
                "sum": dl.sum(x).item(),
                "mean": dl.mean(x).item(),
                "variance": dl.var(x).item(),
                "min": dl.min(x).item(),
                "max": dl.max(x).item(),
                "zeros": zeros,
                "counts": [counts[0] - zeros, *counts[1:], dl.count_nonzero(dl.abs(x) > EDGES[-2]).item()],
            }
    return made


def differences(one, two):
    """Return the numbers of which a bit differs, as lines of text."""
    found = []
    for name, wanted in one.items():
        for what, value in wanted.items():
            other = two[name][what]
            is_same = value.hex() == other.hex() if isinstance(value, float) else value == other
            if not is_same:
                found.append(f"{name}: {what} is {value!r} on one process and {other!r} on two")
    return found


# -- the report -------------------------------------------------------------------------------------------------------


def picture(made, dtypes):
    """Draw how the magnitudes of each element type are distributed over powers of two; return a PNG file's bytes."""
    matplotlib.use("Agg")
    kinds = list(dict.fromkeys(dtypes.values()))
    figure, places = plt.subplots(len(kinds), 1, figsize=(9, 1.7 * len(kinds)), sharex=True, layout="constrained")
    for place, kind in zip(places, kinds, strict=True):
        rows = [made[name] for name in made if dtypes[name] == kind]
        counts = [sum(column) for column in zip(*(row["counts"] for row in rows), strict=True)]
        zeros, total = sum(row["zeros"] for row in rows), sum(counts) + sum(row["zeros"] for row in rows)
        place.bar([EXPONENTS[0] - 0.5, *(power + 0.5 for power in EXPONENTS)], [n / total for n in counts], width=0.9)
        place.set_title(f"{kind}: {total:,} elements, {zeros / total:.2%} zeros", fontsize=10)
        place.set_ylabel("share")
    places[-1].set_xlabel("magnitude, as a power of two; the first bar has all below, the last all above")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    return stream.getvalue()


def report(made, facts, info, image):
    """Return the report as one HTML page."""
    heads = ("tensor", "type", "shape", "sum", "mean", "deviation", "least", "greatest", "zeros")
    rows = [
        (
            element("code", name),
            str(info[name].dtype),
            " x ".join(map(str, info[name].shape)),
            f"{row['sum']:.17g}",
            f"{row['mean']:.6g}",
            f"{math.sqrt(row['variance']):.6g}",
            f"{row['min']:.6g}",
            f"{row['max']:.6g}",
            f"{row['zeros']:,}",
        )
        for name, row in made.items()
    ]
    source = "data:image/png;base64," + base64.b64encode(image).decode()
    return page(
        "Statistics of a model",
        element("h1", "Statistics of a model"),
        element("div", *(element("div", element("b", value), element("span", what), class_="fact")
                         for what, value in facts.items()), class_="facts"),
        element("h2", "Magnitudes"),
        element("img", src=source, alt="Distribution of magnitudes for each element type", style="max-width:100%"),
        element("h2", "Tensors"),
        table(rows, "statistics of each tensor", heads, right=range(3, 9), lined=True),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, help="bytes of the model that is made")
    parser.add_argument("--folder", default="build/large", help="where model and report are written")
    parser.add_argument("--keep", action="store_true", help="keep the model")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    path = os.path.abspath(os.path.join(options.folder, "model.safetensors"))
    start = time.perf_counter()
    make_model(path, options.size or min(SIZE, shutil.disk_usage(options.folder).free // 4))
    print(f"made {path}, {os.path.getsize(path) / 1e6:,.1f} MB, in {time.perf_counter() - start:.1f} s")
    try:
        return run(path, options.folder)
    finally:
        if not options.keep:
            os.unlink(path)


def run(path, folder):
    """Compute both ways, compare, and write the report; return the status of the program."""
    with dl.open_file(path) as file:
        info = {name: file.info(name) for name in file.names}
    sizes = {name: math.prod(one.shape) for name, one in info.items()}
    start = time.perf_counter()
    two, workers = on_two_processes(path, list(info), sizes)
    middle = time.perf_counter()
    one = on_one_process(path, list(info))
    end = time.perf_counter()
    found = differences(one, two)
    print(f"{len(info)} tensors, {sum(sizes.values()):,} elements")
    print(f"two processes {middle - start:.1f} s, with their start; results came from {workers} of them")
    print(f"one process   {end - middle:.1f} s")
    print("\n".join(found) or f"all {sum(map(len, one.values()))} statistics have the same bits")
    image = picture(two, {name: str(row.dtype) for name, row in info.items()})
    if len(image) > LARGEST_PICTURE:
        found.append(f"the picture has {len(image)} bytes, more than {LARGEST_PICTURE}")
        print(found[-1])
    facts = {
        "bytes in the file": f"{os.path.getsize(path):,}",
        "tensors": len(info),
        "elements": f"{sum(sizes.values()):,}",
        "numbers that differ between one process and two": len(found),
    }
    target = os.path.join(folder, "report.html")
    with open(target, "w", encoding="utf-8") as file:
        file.write(report(two, facts, info, image))
    print(f"wrote {target}, {os.path.getsize(target) / 1e3:.0f} kB, with a picture of {len(image) / 1e3:.0f} kB")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
