# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, sets and order statistics: calls on few elements, and a million of them.

Run: python benchmarks/bench_sort.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

import numpy as np
from compare import Row, main, torch

import dltensor as dl

MILLION = 1_000_000
FEW = (1, 10, 100)


def _names(**arrays):
    """Each array as NumPy's (n...), ours and torch's (t_...)."""
    made = {"np": np, "dl": dl, "torch": torch}
    for name, array in arrays.items():
        made |= {f"n{name}": array, name: dl.asarray(array), f"t_{name}": torch and torch.from_numpy(array)}
    return made


def _random(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "i4":
        return rng.integers(-(2**31), 2**31 - 1, n, dtype=np.int32)
    if kind == "u1":
        return rng.integers(0, 256, n, dtype=np.uint8)
    return rng.standard_normal(n).astype(kind)


def calls():
    for n in FEW:
        names = _names(a=_random("f4", n))
        for what, numpy_way, torch_way in (
            ("sort", "np.sort(na)", "torch.sort(t_a)"),
            ("argsort", "np.argsort(na, stable=True)", "torch.argsort(t_a, stable=True)"),
            ("unique_values", "np.unique(na)", "torch.unique(t_a)"),
        ):
            peers = {"numpy": numpy_way, "torch": torch_way}
            yield Row("calls", f"{what} {n}", 3, 5, f"dl.{what}(a)", peers, names)


def sorts():
    gates = {"f4": (0.6, 8), "f8": (0.6, 3), "i4": (0.6, 1.1), "u1": (2, 1)}
    for kind, (gate, order_gate) in gates.items():
        names = _names(a=_random(kind, MILLION))
        peers = {"numpy": "np.sort(na)", "numpy stable": "np.sort(na, stable=True)", "torch": "torch.sort(t_a)"}
        yield Row("sort", f"sort {kind}", gate, 1.4, "dl.sort(a)", peers, names)
        peers = {"numpy": "np.argsort(na, stable=True)", "torch": "torch.argsort(t_a, stable=True)"}
        yield Row("sort", f"stable argsort {kind}", order_gate, 2 * order_gate, "dl.argsort(a)", peers, names)
    names = _names(a=_random("f4", 1000))
    yield Row("sort", "sort f4 1000", 0.3, 1, "dl.sort(a)", {"numpy": "np.sort(na)", "torch": "torch.sort(t_a)"}, names)
    names = _names(a=_random("f4", MILLION).reshape(1000, 1000))
    for axis in (0, 1):
        peers = {"numpy": f"np.sort(na, axis={axis})", "torch": f"torch.sort(t_a, axis={axis})"}
        yield Row("sort", f"sort f4 1000 x 1000 axis {axis}", 0.3, 1, f"dl.sort(a, axis={axis})", peers, names)


def sets():
    rng = np.random.default_rng(0)
    for kind, array in (("f4", _random("f4", MILLION)), ("i4", rng.integers(0, 50_000, MILLION, dtype=np.int32))):
        names = _names(a=array)
        peers = {"numpy": "np.unique(na)", "torch": "torch.unique(t_a)"}
        yield Row("sets", f"unique {kind}", 3 if kind == "i4" else 0.9, 8, "dl.unique_values(a)", peers, names)
        peers = {
            "numpy": "np.unique(na, return_index=True, return_inverse=True, return_counts=True)",
            "torch": "torch.unique(t_a, return_inverse=True, return_counts=True)",
        }
        yield Row("sets", f"unique_all {kind}", 1, 4, "dl.unique_all(a)", peers, names)
    for kind in ("i4", "f4"):
        a = _random(kind, MILLION)
        near = rng.integers(0, 100_000, MILLION, dtype=np.int32) if kind == "i4" else a
        names = _names(a=near, b=near[rng.integers(0, MILLION, 1000)])
        peers = {"numpy": "np.isin(na, nb)", "torch": "torch.isin(t_a, t_b)"}
        yield Row("sets", f"isin {kind} of 1000", 2, 10, "dl.isin(a, b)", peers, names)


def searches():
    for size in (1000, MILLION):
        names = _names(a=np.sort(_random("f4", size)), b=_random("f4", MILLION, 1))
        peers = {"numpy": "np.searchsorted(na, nb)", "torch": "torch.searchsorted(t_a, t_b)"}
        yield Row("search", f"searchsorted in {size}", 2, 4, "dl.searchsorted(a, b)", peers, names)
    names = _names(a=_random("f4", MILLION), b=np.random.default_rng(0).integers(0, 1000, MILLION))
    peers = {"numpy": "np.median(na)", "torch": "torch.median(t_a)"}
    yield Row("search", "median f4", 5, 14, "dl.median(a)", peers, names)
    peers = {"numpy": "np.quantile(na, 0.9)", "torch": "torch.quantile(t_a, 0.9)"}
    yield Row("search", "quantile f4", 5, 14, "dl.quantile(a, 0.9)", peers, names)
    peers = {"numpy": "np.sort(np.partition(na, -100)[-100:])", "torch": "torch.topk(t_a, 100)"}
    yield Row("search", "top_k 100 f4", 0.5, 1, "dl.top_k(a, 100)", peers, names)
    peers = {"numpy": "np.bincount(nb)", "torch": "torch.bincount(t_b)"}
    yield Row("search", "bincount", 1, 2.5, "dl.bincount(b)", peers, names)
    peers = {"numpy": "np.histogram(na, 100)", "torch": "torch.histogram(t_a, 100)"}
    yield Row("search", "histogram f4 of 100", 2, 5, "dl.histogram(a, 100)", peers, names)


def rows():
    yield from calls()
    yield from sorts()
    yield from sets()
    yield from searches()


if __name__ == "__main__":
    main(rows, "Sorting, searching and sets beside NumPy and torch.")
