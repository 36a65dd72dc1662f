# SPDX-License-Identifier: Apache-2.0
"""Reductions and scans: calls of few elements, whole tensors in the caches and in memory, and one axis of a matrix.

Run: python benchmarks/bench_reductions.py [part of a row's name ...] [--json FILE] [--plot FILE]
With --plot and without parts of names a second picture, FILE with "-linear" before its ending, shows nanoseconds per element
of sum, max, cumulative_sum and sort from 1 to 2**22 elements; --most 28 draws up to 2**28, of which the sorts take minutes.
"""

from functools import partial
from pathlib import Path

import numpy as np
from compare import Row, linear, main, torch

import dltensor as dl

try:
    import jax
except ImportError:
    jax = None
else:
    jax.config.update("jax_enable_x64", True)

REST = 0.2  # seconds before a turn of work that threads may share
TORCH = {"max": "amax", "argmax": "argmax", "var": "var", "count_nonzero": "count_nonzero"}
SMALL = {
    "sum": (4, 6), "prod": (4, 6), "max": (4, 6), "any": (4, 6), "all": (4, 6), "mean": (4, 15), "var": (4, 15),
    "argmax": (1.0, 1.4), "count_nonzero": (1.0, 1.4),
}  # fmt: skip
# Reduction and kind: gate and goal in the cache (1e5), and in memory (1e7).
LARGE = {
    ("sum", "f4"): ((0.8, 1.0), (0.6, 0.9)),
    ("sum", "f8"): ((0.6, 0.9), (0.6, 0.9)),
    ("sum", "i4"): ((3, 5), (3, 5)),
    ("sum", "u1"): ((10, 30), (10, 30)),
    ("max", "f4"): ((0.9, 1.2), (0.9, 1.2)),
    ("max", "f8"): ((0.9, 1.2), (0.9, 1.2)),
    ("max", "i4"): ((0.9, 1.2), (0.9, 1.2)),
    ("argmax", "f4"): ((0.75, 1.0), (1.5, 2.2)),
    ("var", "f4"): ((2, 3), (2, 3)),
    ("var", "f8"): ((1, 2), (1, 2)),
    ("count_nonzero", "f4"): ((1.2, 2), (1.2, 2)),
}


def _names(shape, kind):
    random = np.random.default_rng(0)
    array = random.standard_normal(shape) if kind[0] == "f" else random.integers(0, 100, shape)
    array = array.astype(kind)
    return {"np": np, "dl": dl, "torch": torch, "na": array, "a": dl.asarray(array),
            "t_a": None if torch is None else torch.from_numpy(array)}  # fmt: skip


def _with_jax(peers, names, name, **options):
    """Peers and names with a function that jax compiles; it takes all processors, whatever the number of ours."""
    if jax is None:
        return peers, names
    made = jax.jit(partial(getattr(jax.numpy, name), **options))
    names = names | {"j_f": made, "j_a": jax.numpy.asarray(names["na"])}
    return peers | {"jax 2": "j_f(j_a).block_until_ready()"}, names


def _row(group, what, gates, name, names, axis=None, rest=0.0):
    """One reduction beside NumPy's, torch's and jax's."""
    arguments = "" if axis is None else f", axis={axis}"
    dim = arguments.replace("axis", "dim")
    peers = {"numpy": f"np.{name}(na{arguments})", "torch": f"torch.{TORCH.get(name, name)}(t_a{dim})"}
    peers, names = _with_jax(peers, names, name, axis=axis)
    return Row(group, what, *gates, f"dl.{name}(a{arguments})", peers, names, rest)


def rows():
    for n in (1, 10, 100):
        names = _names(n, "f4")
        for name, gates in SMALL.items():
            yield _row("calls", f"{name} of {n}", gates, name, names)
        peers = {"numpy": "np.cumsum(na)", "torch": "torch.cumsum(t_a, 0)"}
        yield Row("calls", f"cumulative_sum of {n}", 3, 5, "dl.cumulative_sum(a)", peers, names)
    for place, n in enumerate((10**5, 10**7)):
        for (name, kind), gates in LARGE.items():
            yield _row(kind, f"{name} {n}", gates[place], name, _names(n, kind), rest=REST if place else 0.0)
    # A sum far smaller than its elements has to be read twice to be exact.
    names = _names(10**5, "f8")
    names["na"] -= names["na"].mean()
    yield _row("f8", "sum 100000 of deviations", (0.15, 0.4), "sum", names)
    names = _names((4096, 4096), "f8")
    for name, gates in (("sum", (0.6, 1.0)), ("var", (1.2, 3))):
        yield _row("axis", f"{name} axis 0 of 4096 x 4096 f8", gates, name, names, 0, REST)
    names = _names((4096, 4096), "f4")
    for name, gates in (("sum", (0.9, 1.2)), ("max", (0.9, 1.2)), ("argmax", (10, 20)), ("var", (1.5, 4))):
        yield _row("axis", f"{name} axis 0 of 4096 x 4096", gates, name, names, 0, REST)
        # NumPy alone reads along rows at two thirds of what memory gives to two threads.
        gates = (1.2, 1.5) if name == "argmax" else gates
        yield _row("axis", f"{name} axis 1 of 4096 x 4096", gates, name, names, 1, REST)
    for n in (10**5, 10**7):
        names = _names(n, "f4")
        peers = {"numpy": "np.cumsum(na)", "torch": "torch.cumsum(t_a, 0)"}
        peers, names = _with_jax(peers, names, "cumsum")
        yield Row(
            "scans", f"cumulative_sum {n}", 2.5, 4, "dl.cumulative_sum(a)", peers, names, REST if n > 10**6 else 0.0
        )


# What is drawn by size: ours, NumPy's, torch's.
SIZES = {
    "sum": ("dl.sum(a)", "np.sum(na)", "torch.sum(t_a)"),
    "max": ("dl.max(a)", "np.max(na)", "torch.amax(t_a)"),
    "cumulative_sum": ("dl.cumulative_sum(a)", "np.cumsum(na)", "torch.cumsum(t_a, 0)"),
    "sort": ("dl.sort(a)", "np.sort(na)", "torch.sort(t_a)"),
}


def _of_size(name, n):
    ours, numpy, peer = SIZES[name]
    return Row("linear", f"{name} {n}", 0, 0, ours, {"numpy": numpy, "torch": peer}, _names(n, "f4"))


def extra(options, kept):
    if options.plot and not options.part:
        path = Path(options.plot)
        cases = {f"{name} of float32": partial(_of_size, name) for name in SIZES}
        linear(cases, path.with_name(f"{path.stem}-linear{path.suffix}"), options.most)


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0], extra)
