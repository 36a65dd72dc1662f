# SPDX-License-Identifier: Apache-2.0
"""Index arrays and masks: elements and rows gathered and scattered, masks read and written, nonzero, and small calls.

Run: python benchmarks/bench_indexing.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

import numpy as np
from compare import Row, main, torch

import dltensor as dl

LARGE = 1_000_000
ROWS, ROW = 10_000, 100  # of float32: 400 bytes each


def _named(**arrays):
    """Each array as NumPy's (n_x), ours (x) and torch's (t_x)."""
    names = {"np": np, "dl": dl, "torch": torch}
    for name, array in arrays.items():
        names |= {f"n_{name}": array, name: dl.asarray(array)}
        names[f"t_{name}"] = None if torch is None else torch.from_numpy(array)
    return names


def _row(group, what, gates, statement, names, torch_statement=None):
    """A statement over names of ours; that of each peer has its own arrays in their places."""

    def as_peer(prefix):
        made = statement
        for name in sorted(names, key=len, reverse=True):
            if f"n_{name}" in names:
                made = made.replace(f"<{name}>", f"{prefix}{name}")
        return made

    peers = {
        "numpy": as_peer("n_").replace("dl.", "np."),
        "torch": torch_statement or as_peer("t_").replace("dl.", "torch."),
    }
    return Row(group, what, *gates, as_peer(""), peers, names)


def masks():
    random = np.random.default_rng(0)
    x = random.standard_normal(LARGE).astype(np.float32)
    for percent in (50, 1):
        mask = random.random(LARGE) < percent / 100
        names = _named(x=x, mask=mask, v=np.zeros(int(mask.sum()), np.float32), y=x.copy())
        yield _row("mask", f"x[mask] f4 {percent}%", (4 if percent == 50 else 1, 10), "<x>[<mask>]", names)
        yield _row("mask", f"x[mask] = 0 f4 {percent}%", (5 if percent == 50 else 1, 20), "<y>[<mask>] = 0", names)
        yield _row("mask", f"x[mask] = v f4 {percent}%", (5 if percent == 50 else 1, 20), "<y>[<mask>] = <v>", names)
        yield _row("nonzero", f"nonzero bool {percent}%", (1.5, 2.3), "dl.nonzero(<mask>)", names)
    mask = random.random(LARGE) < 0.5
    names = _named(x=x.view(np.uint8)[:LARGE].copy(), mask=mask, plane=mask.reshape(1000, 1000), d=x.astype(np.float64))
    yield _row("mask", "x[mask] u1 50%", (4, 10), "<x>[<mask>]", names)
    yield _row("mask", "x[mask] f8 50%", (4, 10), "<d>[<mask>]", names)
    yield _row("nonzero", "nonzero 2-d", (1.5, 2.3), "dl.nonzero(<plane>)", names)
    yield _row("nonzero", "nonzero f8", (1.5, 2.3), "dl.nonzero(<d>)", names)
    names = _named(x=x.reshape(ROWS, ROW), mask=random.random(ROWS) < 0.5)
    yield _row("mask", "rows x[mask]", (0.9, 1.2), "<x>[<mask>]", names)


def gathers():
    random = np.random.default_rng(0)
    gates = 0.9, 1.2
    x = random.standard_normal(LARGE).astype(np.float32)
    names = _named(x=x, i=random.permutation(LARGE), j=random.permutation(LARGE).astype(np.int32), y=x.copy())
    yield _row("gather", "x[idx] f4", gates, "<x>[<i>]", names)
    yield _row("gather", "x[idx32] f4", gates, "<x>[<j>]", names)
    yield _row("gather", "take f4", gates, "dl.take(<x>, <i>)", names, "torch.index_select(t_x, 0, t_i)")
    yield _row("scatter", "x[idx] = v", gates, "<y>[<i>] = <x>", names)
    names = _named(
        x=x.reshape(ROWS, ROW), i=random.permutation(ROWS), c=random.permutation(ROW), y=x.reshape(ROWS, ROW).copy()
    )
    yield _row("gather", "rows x[idx]", gates, "<x>[<i>]", names)
    yield _row("gather", "rows take", gates, "dl.take(<x>, <i>, axis=0)", names, "torch.index_select(t_x, 0, t_i)")
    yield _row("gather", "columns x[:, idx]", gates, "<x>[:, <c>]", names)
    yield _row("scatter", "rows x[idx] = v", gates, "<y>[<i>] = <x>", names)
    x = x.reshape(1000, 1000)
    names = _named(x=x, i=random.integers(0, 1000, LARGE), j=random.integers(0, 1000, LARGE))
    yield _row("gather", "pairs x[i, j]", gates, "<x>[<i>, <j>]", names)
    for axis in (1, 0):
        names = _named(x=x, i=np.argsort(x, axis))
        yield _row(
            "gather",
            f"take_along_axis {axis}",
            gates,
            f"dl.take_along_axis(<x>, <i>, axis={axis})",
            names,
            f"torch.gather(t_x, {axis}, t_i)",
        )
    names = _named(x=np.zeros(1000, np.float32), i=random.integers(0, 1000, 100_000), v=np.ones(100_000, np.float32))
    yield Row(
        "scatter",
        "add_at",
        0.9,
        1.2,
        "dl.add_at(x, i, v)",
        {"numpy": "np.add.at(n_x, n_i, n_v)", "torch": "t_x.index_add_(0, t_i, t_v)"},
        names,
    )


def calls():
    random = np.random.default_rng(0)
    for n in (1, 10, 100, 1000):
        names = _named(
            x=random.standard_normal(n).astype(np.float32),
            i=random.permutation(n),
            mask=np.arange(n) % 2 == 0,
            y=np.zeros(n, np.float32),
        )
        yield _row("call", f"x[idx] {n}", (1.0, 1.4), "<x>[<i>]", names)
        yield _row("call", f"x[mask] {n}", (1.0, 1.4), "<x>[<mask>]", names)
        yield _row("call", f"nonzero {n}", (1.0, 1.4), "dl.nonzero(<mask>)", names)
        yield _row("call", f"x[idx] = 0 {n}", (1.0, 1.4), "<y>[<i>] = 0", names)
        yield _row("call", f"x[mask] = 0 {n}", (1.0, 1.4), "<y>[<mask>] = 0", names)
        yield _row("call", f"take {n}", (3, 5), "dl.take(<x>, <i>)", names, "torch.take(t_x, t_i)")


def rows():
    yield from calls()
    yield from masks()
    yield from gathers()


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
