# SPDX-License-Identifier: Apache-2.0
"""Operands and outputs at odd addresses, as views of bytes have them, against the same at aligned ones, to the bit.

A device refuses a misaligned access and loses its context; kernels of the host driver trap there.
"""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []


class Operands:
    """The operands of all cases, `by` bytes behind an aligned address."""

    def __init__(self, by):
        self.by = by
        rng = np.random.default_rng(1)
        floats = rng.standard_normal(24).astype("float32")
        for name, values in {
            "x": floats[:8],
            "y": floats[8:16],
            "w": np.float64(rng.standard_normal((3, 5))),
            "q": floats[:16].reshape(4, 4) + 4 * np.eye(4, dtype="f4"),
            "h": floats.astype("float16"),
            "c": (floats[:8] + 1j * floats[8:16]).astype("complex64"),
            "i": np.asarray([3, 0, -1, 3], "int64"),
            "j": np.asarray([2, 2, 0, 1], "int64"),
            "s": np.sort(floats[:8]),
            "n": rng.integers(0, 9, 8, dtype="int32"),
            "m": floats[:8] > 0,
        }.items():
            setattr(self, name, self.place(values))

    def place(self, values):
        values = dl.asarray(values)
        raw = dl.zeros((values.nbytes + 16,), dtype="uint8", device="cuda")[self.by :][: values.nbytes]
        raw[:] = values.reshape(-1).view("uint8").to("cuda")
        return raw.view(values.dtype).reshape(values.shape)

    def out(self, shape, dtype):
        return self.place(dl.zeros(shape, dtype=dtype))


def into(function, shape, dtype, *names, **keywords):
    """A function of dl with `out=` at an odd address."""

    def case(t):
        out = t.out(shape, dtype)
        function(*(getattr(t, name) if isinstance(name, str) else name for name in names), out=out, **keywords)
        return out

    return case


def put(t):
    t.x[t.i[:3]] = t.y[:3]
    return t.x


def put_rows(t):
    t.q[t.j, t.i] = t.x[:4]
    return t.q


def put_masked(t):
    t.x[t.m] = 1.5
    return t.x


def added(t):
    dl.add_at(t.x, t.i, t.y[:4])
    return t.x


def drawn(name, dtype="float32", **keywords):
    def case(t):
        out = t.out((9,), dtype)
        getattr(dl.random.Generator(3), name)(out=out, **keywords)
        return out

    return case


READS = {
    "x[i]": lambda t: t.x[t.i],
    "x[even i]": lambda t: t.x[t.i.copy()],
    "q[i, j]": lambda t: t.q[t.i, t.j],
    "q[:, i]": lambda t: t.q[:, t.i],
    "x[m]": lambda t: t.x[t.m],
    "x[i] = y": put,
    "q[j, i] = x": put_rows,
    "x[m] = 1.5": put_masked,
    "add_at": added,
    "take": lambda t: dl.take(t.q, t.i, axis=1),
    "take_along_axis": lambda t: dl.take_along_axis(t.x, t.i),
    "bincount": lambda t: dl.bincount(t.j),
    "bincount weights": lambda t: dl.bincount(t.j, weights=t.x[:4]),
    "histogram": lambda t: dl.histogram(t.n, bins=3)[0],
    "nonzero": lambda t: dl.nonzero(t.x)[0],
    "sort": lambda t: dl.sort(t.x),
    "argsort": lambda t: dl.argsort(t.x),
    "top_k": lambda t: dl.top_k(t.x, 3)[0],
    "unique": lambda t: dl.unique_values(t.n),
    "searchsorted": lambda t: dl.searchsorted(t.s, t.y),
    "isin": lambda t: dl.isin(t.n, t.n[:2]),
    "median": lambda t: dl.median(t.x),
    "cumulative_sum": lambda t: dl.cumulative_sum(t.x),
    "cumulative_max rows": lambda t: dl.cumulative_max(t.q, axis=0),
    "sum": lambda t: t.x.sum(),
    "sum rows": lambda t: t.w.sum(axis=1),
    "sum columns": lambda t: t.w.sum(axis=0),
    "sum of halves": lambda t: t.h.sum(),
    "max": lambda t: t.x.max(),
    "argmax columns": lambda t: t.w.argmax(axis=0),
    "var": lambda t: dl.var(t.x),
    "where": lambda t: dl.where(t.m, t.x, t.y),
    "astype": lambda t: t.x.astype("float64"),
    "copy": lambda t: t.q.mT.copy(),
    "add": lambda t: t.x + t.y,
    "add rows": lambda t: t.q + t.x[:4],
    "every second": lambda t: t.x[::2] + 1,
    "matmul": lambda t: t.q @ t.q,
    "vecdot": lambda t: dl.vecdot(t.x, t.y),
    "repeat": lambda t: dl.repeat(t.x, 2),
    "roll": lambda t: dl.roll(t.x, 3),
    "concat": lambda t: dl.concat([t.x, t.y]),
    "diff": lambda t: dl.diff(t.x),
    "tril": lambda t: dl.tril(t.q),
    "fft": lambda t: dl.fft.fft(t.c),
    "rfft": lambda t: dl.fft.rfft(t.x),
    "inv": lambda t: dl.linalg.inv(t.q),
    "det": lambda t: dl.linalg.det(t.q),
    "qr": lambda t: dl.linalg.qr(t.q)[0],
    "eigvalsh": lambda t: dl.linalg.eigvalsh(t.q),
    "svdvals": lambda t: dl.linalg.svdvals(t.q),
    "complex": lambda t: t.c * t.c,
    "kernel": lambda t: dl.cuda.elementwise("T a", "a + 1")(t.x),
}
WRITES = {
    "add": into(dl.add, (8,), "float32", "x", "y"),
    "add in place": into(dl.add, (8,), "float64", "x", 1.0),
    "clip": into(dl.clip, (8,), "float32", "x", 0.0, 1.0),
    "matmul": into(dl.matmul, (4, 4), "float32", "q", "q"),
    "vecdot": into(dl.vecdot, (), "float32", "x", "y"),
    "tensordot": into(dl.tensordot, (4, 4), "float32", "q", "q", axes=1),
    "sum": into(dl.sum, (), "float32", "x"),
    "sum columns": into(dl.sum, (5,), "float64", "w", axis=0),
    "argmax": into(dl.argmax, (3,), "int64", "w", axis=1),
    "cumulative_sum": into(dl.cumulative_sum, (8,), "float32", "x"),
    "cumulative_prod": into(dl.cumulative_prod, (3, 5), "float64", "w", axis=0),
    "cumulative_max": into(dl.cumulative_max, (8,), "float32", "x"),
    "sort": into(dl.sort, (8,), "float32", "x"),
    "argsort": into(dl.argsort, (8,), "int64", "x"),
    "searchsorted": into(dl.searchsorted, (8,), "int64", "s", "y"),
    "isin": into(dl.isin, (8,), "bool", "n", "n"),
    "take": into(dl.take, (4,), "float32", "x", "i"),
    "take_along_axis": into(dl.take_along_axis, (4,), "float32", "x", "i"),
    "normal": drawn("normal"),
    "normal of doubles": drawn("normal", "float64"),
    "random": drawn("random", "float64"),
    "inv": into(dl.linalg.inv, (4, 4), "float32", "q"),
    # Its operand is a product by the host: cuBLAS rounds products by the alignment of the operands.
    "cholesky": lambda t: into(dl.linalg.cholesky, (4, 4), "float32", ((q := t.q.cpu()) @ q.mT).cuda())(t),
    "det": into(dl.linalg.det, (), "float32", "q"),
    "trace": into(dl.linalg.trace, (), "float32", "q"),
    "vector_norm": into(dl.linalg.vector_norm, (), "float32", "x"),
    "matrix_power": into(dl.linalg.matrix_power, (4, 4), "float32", "q", 3),
    "pinv": into(dl.linalg.pinv, (4, 4), "float32", "q"),
    "solve": into(dl.linalg.solve, (4, 4), "float32", "q", "q"),
}


@pytest.mark.parametrize("case", [*READS.items(), *WRITES.items()], ids=lambda case: case[0])
def test_operands_at_odd_addresses_give_the_results_of_aligned_ones(machine, case):
    setup.clean(None if setup.ON_CARD else machine, "eager")
    want, *others = [case[1](Operands(by)) for by in (0, 1, 3)]
    dl.cuda.synchronize()
    for got in others:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.to("cpu").tobytes() == want.to("cpu").tobytes()
    del want, got, others
    setup.clean(None if setup.ON_CARD else machine, "eager")
