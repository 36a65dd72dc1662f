# SPDX-License-Identifier: Apache-2.0
"""What `dl.fft` adds to the time of the library that computes: nanoseconds above the library called directly.

Run: python benchmarks/bench_fft.py [--rounds N] [--json FILE]; DLTENSOR_FFT=numpy selects the library
"""

import argparse
import importlib
import json
import statistics
import sys

import numpy as np

import dltensor as dl
from dltensor._tools.timing import processor, samples_by_turns

GATE, GOAL = 1000, 400
MODULES = {"ducc0": "ducc0.fft", "scipy": "scipy.fft", "numpy": "numpy.fft"}
# What the library alone is asked for, as its users write it.
COMPLEX = {"ducc0": "f.c2c(a)", "scipy": "f.fft(a)", "numpy": "f.fft(a)"}
REAL = {"ducc0": "f.r2c(b)", "scipy": "f.rfft(b)", "numpy": "f.rfft(b)"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101, help="samples of each statement")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    name = dl.fft.backend()
    library = importlib.import_module(MODULES[name])
    print(f"processor: {processor()}; {name}")
    print(f"{'transform':22}{'ours us':>9}{'alone us':>10}{'overhead ns':>13}{'minima':>8}{'at most':>9}{'goal':>6}")
    kept = []
    for size in (16, 64, 1024):
        for what, ours, alone in (("fft", "dl.fft.fft(x)", COMPLEX[name]), ("rfft", "dl.fft.rfft(y)", REAL[name])):
            a = np.exp(1j * np.arange(size)).astype("c8")
            b = np.cos(np.arange(size)).astype("f4")
            names = {"dl": dl, "f": library, "a": a, "b": b, "x": dl.asarray(a), "y": dl.asarray(b)}
            samples = samples_by_turns([ours, alone], names, rounds=options.rounds)
            took = {of.__name__: of(samples[ours]) - of(samples[alone]) for of in (statistics.median, min)}
            extra = took["median"] * 1e9
            verdict = "goal" if extra <= GOAL else "met" if extra <= GATE else "MISSED"
            times = [statistics.median(samples[statement]) * 1e6 for statement in (ours, alone)]
            print(
                f"{f'{what} of {size}':22}{times[0]:9.2f}{times[1]:10.2f}{extra:13.0f}{took['min'] * 1e9:8.0f}{GATE:9}{GOAL:6}  {verdict}"
            )
            kept.append(
                {"name": f"{what} of {size}", "overhead_ns": extra, "least_ns": took["min"] * 1e9, "library": name}
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), "rows": kept}, file, indent=1)
    return any(row["overhead_ns"] > GATE for row in kept)


if __name__ == "__main__":
    sys.exit(main())
