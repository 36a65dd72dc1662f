#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statistical tests of dl.random over many seeds: the distribution of each p-value must be uniform.

Run: ``python -m tools random_statistics --seeds 100 --values 1000000``. Each test is done once per seed. What it
prints of a test are the least of its p-values and the p-value of their own uniformity (Kolmogorov-Smirnov). The exit
status is 1 if a least one is below 1e-4 / seeds, or a uniformity below 1e-4: by chance, that is one run in 150.
``--planted`` spoils the values, which must be found.
"""

import argparse
import math
import sys

import numpy as np

import dltensor as dl

# Of a p-value, and of the uniformity of all of a test.
RARE = 1e-4


def of_normal(deviation):
    """The probability of a normal deviation this large or larger, on either side."""
    return math.erfc(abs(deviation) / math.sqrt(2))


def of_counts(counts, weights=None):
    """The p-value of counts that should be equal, or in the ratio of `weights`: chi-squared by Wilson and Hilferty."""
    counts = np.asarray(counts, dtype=np.float64)
    weights = np.ones_like(counts) if weights is None else np.asarray(weights, dtype=np.float64)
    expected, free = counts.sum() * weights / weights.sum(), counts.size - 1
    found = float(((counts - expected) ** 2 / expected).sum())
    deviation = ((found / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))
    return 0.5 * math.erfc(deviation / math.sqrt(2))


def of_distances(values):
    """The p-value of values that should be uniform in [0, 1]: Kolmogorov and Smirnov, two-sided."""
    ordered = np.sort(values, axis=None)
    steps = np.arange(ordered.size + 1) / ordered.size
    root = math.sqrt(ordered.size)
    x = (root + 0.12 + 0.11 / root) * max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max())
    if x < 0.2:
        return 1.0
    return min(1.0, max(0.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101))))


def of_products(values, lag):
    """The p-value of normal values that should not depend on those `lag` places before."""
    return of_normal(float((values[lag:] * values[:-lag]).sum()) / math.sqrt(values.size - lag))


def normal_below(x):
    """The normal distribution function, from a table of erfc: off by less than 1e-9."""
    edges = np.linspace(-9, 9, 180_001)
    table = normal_below.table
    if table is None:
        table = normal_below.table = 0.5 * np.array([math.erfc(-e / math.sqrt(2)) for e in edges])
    return np.interp(x, edges, table)


normal_below.table = None


def samples(rng, n):
    """What is tested of one generator: the values of each draw, as float64 or as integers."""
    yield "random float32", np.asarray(rng.random(n)).astype(np.float64)
    yield "random float64", np.asarray(rng.random(n, dtype="float64"))
    yield "uniform float64", (np.asarray(rng.uniform(-3, 5, n, dtype="float64")) + 3) / 8
    yield "normal float32", np.asarray(rng.normal(shape=n)).astype(np.float64)
    yield "normal float64", np.asarray(rng.normal(2, 3, n, dtype="float64")) / 3 - 2 / 3
    yield "exponential float64", np.asarray(rng.exponential(2, n, dtype="float64")) / 2
    yield "bytes", np.asarray(rng.integers(0, 256, n, dtype="uint8"))
    yield "integers of 800", np.asarray(rng.integers(0, 800, n))
    yield "integers of 3 * 2**30", np.asarray(rng.integers(0, 3 * 2**30, n, dtype="uint32"))
    streams = [np.asarray(child.random(n // 4, dtype="float64")) for child in rng.spawn(4)]
    yield "four streams", np.stack(streams, axis=1).ravel()
    places = np.asarray(dl.stack([rng.permutation(5) for _ in range(min(n // 50, 20_000))]))
    yield "permutations of 5", places


def tests(name, values):
    """Yield the p-values of one sample, each with the name of its test."""
    if name.startswith("permutations"):
        numbers = values @ 5 ** np.arange(5)
        yield f"{name}: equally likely", of_counts(np.unique(numbers, return_counts=True)[1])
    elif values.dtype.kind in "iu":
        most = {"bytes": 256, "integers of 800": 800}.get(name)
        if most is None:
            yield f"{name}: counts", of_counts(np.bincount((values >> np.uint32(22)).astype(np.int64), minlength=768))
            return
        yield f"{name}: counts", of_counts(np.bincount(values, minlength=most))
        pairs = values[: values.size // 2 * 2].reshape(-1, 2).astype(np.int64) * 16 // most
        yield f"{name}: pairs", of_counts(np.bincount(pairs[:, 0] * 16 + pairs[:, 1], minlength=256))
    elif name.startswith("normal"):
        yield f"{name}: distribution", of_distances(normal_below(values))
        yield f"{name}: mean", of_normal(float(values.mean()) * math.sqrt(values.size))
        yield f"{name}: fourth moment", of_normal((float((values**4).mean()) - 3) / math.sqrt(96 / values.size))
        for lag in (1, 2, 3, 4):
            yield f"{name}: product with {lag} before", of_products(values, lag)
    elif name.startswith("exponential"):
        yield f"{name}: distribution", of_distances(-np.expm1(-values))
    else:
        yield f"{name}: distribution", of_distances(values)
        triples = (values[: values.size // 3 * 3] * 8).astype(np.int64).reshape(-1, 3) @ (64, 8, 1)
        yield f"{name}: triples", of_counts(np.bincount(triples, minlength=512))
        runs = np.diff(np.flatnonzero(np.diff(values > 0.5)))
        lengths = np.bincount(np.minimum(runs, 16), minlength=17)[1:]
        yield f"{name}: runs", of_counts(lengths, [2.0**-k for k in range(1, 16)] + [2.0**-15])


def spoil(values):
    """A defect: one value in two hundred is the one before it."""
    values = values.copy()
    values[1::200] = values[: values.shape[0] - 1 : 200]
    return values


def measure(seeds, n, planted=False):
    """Return the p-values of every test, by its name."""
    found = {}
    for seed in seeds:
        for name, values in samples(dl.random.Generator(seed), n):
            for test, p in tests(name, spoil(values) if planted else values):
                found.setdefault(test, []).append(p)
    return found


def verdict(ps):
    """Return the least p-value, that of their uniformity, and whether both can be chance."""
    uniform = of_distances(np.array(ps)) if len(ps) >= 20 else 1.0
    return min(ps), uniform, min(ps) >= RARE / len(ps) and uniform >= RARE


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="how many generators")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--values", type=int, default=1_000_000, help="values of each sample")
    parser.add_argument("--planted", action="store_true", help="spoil the values")
    options = parser.parse_args(arguments)
    found = measure(range(options.first, options.first + options.seeds), options.values, options.planted)
    failed = 0
    print(f"{'test':44}{'least p':>12}{'uniformity':>12}")
    for name, ps in found.items():
        least, uniform, good = verdict(ps)
        failed += not good
        print(f"{name:44}{least:12.3g}{uniform:12.3g}{'' if good else '  FAILED'}")
    print(f"{len(found)} tests of {options.seeds} seeds, {options.values} values each: {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
