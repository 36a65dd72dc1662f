# SPDX-License-Identifier: Apache-2.0
"""What an operation on CUDA tensors costs the host, without a GPU: on the host driver, with launches switched off.

Python, our engine and the call into the driver are all there; only the kernel is not. What a real driver's launch adds is
not seen here: tools/gpu_bench.py measures that on a card.

Run: python benchmarks/bench_cuda_host.py [--json FILE] [--rounds N]
"""

import argparse
import json
import operator
import os
import statistics
import time
from contextlib import nullcontext
from datetime import date
from itertools import repeat
from pathlib import Path

os.environ.setdefault("DLTENSOR_CUDA_NVRTC", "off")

import numpy as np

import dltensor as dl
from dltensor.testing import hostcuda

# What is done, statement, goal in nanoseconds or None. Nanoseconds depend on the machine; the goal of operations and reductions is
# 0.6 of what NumPy takes to import an array of its own (decision 50).
ROWS = [
    ("nothing", "pass", None),
    ("a + b", "a + b", 120),
    ("a + b, a context of ours current", "a + b", None),
    ("add(a, b, out=c)", "add(a, b, out=c)", None),
    ("a += b", "iadd(a, b)", None),
    ("a + 1.5", "a + 1.5", None),
    ("h16 * 2", "h16 * 2", None),
    ("a + row", "a + row", None),
    ("a < b", "a < b", None),
    ("a < 0.5", "a < 0.5", None),
    ("-a", "-a", None),
    ("fma(a, b, c)", "fma(a, b, c)", None),
    ("where(m, a, b)", "where(m, a, b)", None),
    ("a.astype('float64')", "a.astype('float64')", None),
    ("a.copy()", "a.copy()", None),
    ("sum(a)", "sum_of(a)", None),
    ("sum(a, axis=0)", "sum_of(a, axis=0)", None),
    ("max(a, axis=1)", "max_of(a, axis=1)", None),
    ("argmax(a)", "argmax(a)", None),
    ("c.fill(1.0)", "c.fill(1.0)", None),
    ("empty((64, 32))", "empty((64, 32), device='cuda')", None),
    ("from_dlpack(a)", "from_dlpack(a)", None),
    ("h + h on the host, to compare", "h + h", None),
    ("numpy.from_dlpack(numpy), to compare", "np.from_dlpack(n)", None),
]


def timed(statement, names, calls=2000):
    """Make a function that measures one call of a statement, in nanoseconds."""
    source = f"def run(it, clock):\n start = clock()\n for _ in it:\n  {statement}\n return clock() - start\n"
    exec(compile(source, "<row>", "exec"), names)
    run = names["run"]
    return lambda: run(repeat(None, calls), time.perf_counter_ns) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args()
    machine = hostcuda.load()
    cuda = {"device": "cuda"}
    names = {
        "add": dl.add,
        "empty": dl.empty,
        "from_dlpack": dl.from_dlpack,
        "a": dl.ones((64, 32), **cuda),
        "b": dl.ones((64, 32), **cuda),
        "c": dl.empty((64, 32), **cuda),
        "row": dl.ones(32, **cuda),
        "h": dl.ones((64, 32)),
        "h16": dl.ones((64, 32), dtype="float16", **cuda),
        "m": dl.ones((64, 32), dtype="bool", **cuda),
        "n": np.ones((64, 32), "float32"),
        "np": np,
        "fma": dl.fma,
        "iadd": operator.iadd,
        "sum_of": dl.sum,
        "max_of": dl.max,
        "argmax": dl.argmax,
        "where": dl.where,
    }
    for _, statement, _ in ROWS:
        exec(statement, dict(names))  # kernels are compiled before launches are off
    dl.cuda.synchronize()
    machine.configure(launches=False)
    runs = [timed(statement, dict(names)) for _, statement, _ in ROWS]
    samples = [[] for _ in ROWS]
    for _ in range(options.rounds):
        for (what, _, _), run, kept in zip(ROWS, runs, samples, strict=True):
            with machine.context() if "context" in what else nullcontext():
                kept.append(run())
    made = {}
    loop = min(samples[0])
    numpys = min(samples[-1]) - loop
    for (what, statement, goal), kept in zip(ROWS[1:], samples[1:], strict=True):
        best, median = min(kept) - loop, statistics.median(kept) - loop
        met = "" if goal is None else "  met" if best <= goal else f"  goal {goal}"
        print(f"{what:<36} {best:8.1f} ns at best {median:8.1f} median {best / numpys:6.2f} of NumPy's{met}")
        made[what] = {
            "statement": statement,
            "best_ns": round(best, 1),
            "median_ns": round(median, 1),
            "of_numpys": round(best / numpys, 3),
            "goal_ns": goal,
        }
    if options.json:
        options.json.write_text(json.dumps({"date": date.today().isoformat(), "rows": made}, indent=1) + "\n")


if __name__ == "__main__":
    main()
