# SPDX-License-Identifier: Apache-2.0
"""Products of matrices from 2 x 2 to 2048 x 2048, tall, skinny, small and of 16-bit floats.

Run: python benchmarks/bench_gemm.py [part of a row's name ...] [--json FILE] [--plot FILE]
``DLTENSOR_BLAS=openblas`` measures OpenBLAS in our place.
"""

import ml_dtypes
import numpy as np
from compare import Row, main, torch

import dltensor as dl


def _names(m, n, k, kind):
    random = np.random.default_rng(0)
    names = {"np": np, "dl": dl, "torch": torch}
    for name, shape in (("a", (m, k)), ("b", (k, n)), ("c", (m, n))):
        array = random.random(shape, dtype=np.float32).astype(kind)
        names |= {f"n{name}": array, name: dl.asarray(array)}
        if torch is not None:
            wide = array.view(np.int16) if array.dtype == ml_dtypes.bfloat16 else array
            names[f"t_{name}"] = (
                torch.from_numpy(wide).view(torch.bfloat16) if wide is not array else torch.from_numpy(array)
            )
    return names


def _row(what, gate, goal, m, n, k, kind="f4", peers=("numpy", "torch")):
    statements = {"numpy": "np.matmul(na, nb, out=nc)", "torch": "torch.mm(t_a, t_b, out=t_c)"}
    return Row(
        "gemm",
        what,
        gate,
        goal,
        "dl.matmul(a, b, out=c)",
        {peer: statements[peer] for peer in peers},
        _names(m, n, k, kind),
        0.15 if m * n * k >= 32**3 else 0.0,
    )


def rows():
    for kind in ("f4", "f8"):
        for n in (2, 4, 8, 16):
            yield _row(f"{kind} {n}", 4, 7, n, n, n, kind)
        for n in (32, 48, 64, 128):
            yield _row(f"{kind} {n}", 0.95, 1.05, n, n, n, kind)
        for n in (256, 512, 1024, 2048):
            yield _row(f"{kind} {n} beside NumPy", 1.0, 1.0, n, n, n, kind, ("numpy",))
    for m, n, k in ((10000, 64, 64), (100000, 32, 32), (64, 64, 100000), (4096, 16, 4096), (1000, 1000, 10)):
        yield _row(f"f4 {m} x {n} x {k} beside NumPy", 1.0, 1.0, m, n, k, "f4", ("numpy",))
    yield _row("f4 1024 beside the best BLAS", 0.9, 0.95, 1024, 1024, 1024)
    yield _row("f2 512", 0.95, 1.0, 512, 512, 512, "f2", ("torch",))
    yield _row("bf16 512", 0.95, 1.0, 512, 512, 512, ml_dtypes.bfloat16, ("torch",))


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
