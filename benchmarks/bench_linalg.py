# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: 1000 small matrices in a call, one of 64, 512 and 1024 rows, einsum (float32), calls on few elements.

Run: python benchmarks/bench_linalg.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

import numpy as np
from compare import Row, main, torch

import dltensor as dl

try:
    import scipy.linalg as scipy_linalg
except ImportError:
    scipy_linalg = None

REST = 0.15  # seconds before a turn of work that threads may share
OWN, LAPACK = ("solve", "inv", "cholesky", "qr"), ("svd", "eigh")


def _names(shape):
    random = np.random.default_rng(0)
    matrix = random.standard_normal(shape)
    right = random.standard_normal((*shape[:-1], 1) if len(shape) > 2 else shape[-1])
    positive = matrix @ np.swapaxes(matrix, -1, -2) + 0.1 * shape[-1] * np.eye(shape[-1])
    arrays = {"a": matrix, "b": right, "s": positive}
    names = {"np": np, "dl": dl, "torch": torch, "sp": scipy_linalg}
    for name, array in arrays.items():
        names |= {
            "n" + name: array,
            name: dl.asarray(array),
            "t_" + name: None if torch is None else torch.from_numpy(array),
        }
    return names


def _call(module, name, prefix):
    """A function of a module on the operands with a prefix: the positive definite matrix where it needs one."""
    operands = {"solve": f"{prefix}a, {prefix}b", "cholesky": f"{prefix}s", "eigh": f"{prefix}s"}.get(
        name, f"{prefix}a"
    )
    reduced = {"svd": ", full_matrices=False"}.get(name, "")
    return f"{module}.{name}({operands}{reduced})"


def _row(group, what, gates, name, names, rest=0.0, scipy=False):
    peers = {"numpy": _call("np.linalg", name, "n"), "torch": _call("torch.linalg", name, "t_")}
    if scipy and scipy_linalg is not None:
        extra = {"qr": "sp.qr(na, mode='economic')", "cholesky": "sp.cholesky(ns, lower=True)"}
        peers["scipy"] = extra.get(name, _call("sp", name, "n"))
    return Row(group, what, *gates, _call("dl.linalg", name, ""), peers, names, rest)


def _einsum(subscripts, what, shapes):
    random = np.random.default_rng(0)
    names = {"np": np, "dl": dl, "torch": torch}
    for name, shape in zip("xy", shapes, strict=True):
        array = random.standard_normal(shape, dtype=np.float32)
        names |= {
            "n" + name: array,
            name: dl.asarray(array),
            "t_" + name: None if torch is None else torch.from_numpy(array),
        }
    peers = {
        "numpy": f"np.einsum('{subscripts}', nx, ny, optimize=True)",
        "torch": f"torch.einsum('{subscripts}', t_x, t_y)",
    }
    return Row(
        "einsum", f"einsum {subscripts} {what}", 1.0, 1.5, f"dl.einsum('{subscripts}', x, y)", peers, names, REST
    )


def rows():
    names = _names((1000, 4, 4))
    for name in ("inv", "det", "solve", "cholesky"):
        yield _row("1000 of 4 x 4", f"{name} 1000 of 4 x 4", (4, 7), name, names)
    for name in ("qr", "eigh", "svd"):
        yield _row("1000 of 4 x 4", f"{name} 1000 of 4 x 4", (1.2, 3), name, names)
    for n in (64, 512, 1024):
        names = _names((n, n))
        for name in OWN + LAPACK:
            gates = (0.9, 1.3) if name in OWN else (0.8, 1.0)
            yield _row(f"{n} x {n}", f"{name} {n}", gates, name, names, REST if n > 64 else 0.02, scipy=True)
    for n in (16, 64, 256, 512):
        yield _einsum("ij,jk->ik", f"{n}", ((n, n), (n, n)))
    for batch, n in ((1000, 4), (64, 64), (16, 256)):
        yield _einsum("bij,bjk->bik", f"{batch} of {n}", ((batch, n, n), (batch, n, n)))
    for n in (16, 64):
        yield _einsum("ijk,jil->kl", f"{n}", ((n, n, n), (n, n, n)))
    yield _row("calls", "det of 3 x 3", (3, 8), "det", _names((3, 3)), scipy=True)
    names = {**_names((10, 10)), "v": dl.asarray(np.arange(10.0)), "nv": np.arange(10.0)}
    names["t_v"] = None if torch is None else torch.from_numpy(names["nv"])
    peers = {"numpy": "np.linalg.norm(nv)", "torch": "torch.linalg.norm(t_v)"}
    yield Row("calls", "norm of 10", 3, 8, "dl.linalg.norm(v)", peers, names)


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
