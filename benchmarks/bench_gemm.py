# SPDX-License-Identifier: Apache-2.0
"""Products of matrices from 2 x 2 to 2048 x 2048, tall, skinny, small, of bytes and of 16-bit floats.

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


def _narrow_rows():
    """Products of bytes, and of a few rows with weights of 8 and 16 bits as files hold them: transposed."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-128, 128, (1024, 1024), dtype=np.int8) for _ in range(2))
    names = {"dl": dl, "torch": torch, "np": np, "a": dl.asarray(a), "b": dl.asarray(b)}
    numbers = random.standard_normal((4096, 4096), dtype=np.float32)
    x = random.standard_normal((64, 4096), dtype=np.float32)
    names |= {"x": dl.asarray(x), "w": dl.asarray(numbers)}
    if torch is not None:
        names |= {"t_a": torch.from_numpy(a), "t_b": torch.from_numpy(b), "t_x": torch.from_numpy(x)}
        names["t_w"] = torch.from_numpy(numbers)
    torch_way = {"torch": "torch._int_mm(t_a, t_b)"}
    yield Row("gemm", "int8 1024 in int32", 0.8, 1.0, "dl.matmul(a, b, dtype='int32')", torch_way, names, 0.15)
    for kind in ("float8_e4m3fn", "int8", "bfloat16"):
        weights = names | {"w": dl.cast(names["w"], kind)}
        if torch is not None:
            weights["t_w"] = names["t_w"].to(getattr(torch, kind))
        for batch, gate in ((1, 1.0), (8, 1.0), (64, 1.0)):
            rows = {"x": names["x"][:batch]} | ({"t_x": names["t_x"][:batch]} if torch is not None else {})
            way = {"torch": "torch.mm(t_x, t_w.float().t())"}
            what = f"{batch} x 4096 x 4096, weights of {kind}"
            yield Row("gemm", what, gate, 4, "dl.matmul(x, w.T, dtype='float32')", way, weights | rows, 0.15)


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
    yield from _narrow_rows()


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
