# SPDX-License-Identifier: Apache-2.0
"""Measure the CUDA engine on a real card, beside PyTorch and CuPy in the same run; print ratios, write JSON.

The engine is driven through its test shim, so this needs no more than a compiler, NumPy and a driver. The ceiling is
the driver's own device-to-device copy of the same size. Every figure is the median of interleaved runs.

    python tools/gpu_bench.py --budget 120 --json bench.json
"""

import argparse
import ctypes
import importlib
import importlib.util
import json
import statistics
import sys
import time
import traceback
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
START = time.monotonic()
RESULTS = {}


def load_engine():
    path = HERE.parent / "tests" / "cuda" / "engine.py"
    spec = importlib.util.spec_from_file_location("cuda_engine_under_test", path)
    engine = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = engine
    spec.loader.exec_module(engine)
    return engine.Engine(engine.build(engine.scratch() / "engine", ["-O2"]))


def report(name, value):
    RESULTS[name] = value
    print(f"{name:<58} {value}", flush=True)


class Clock:
    """Times work on the device with the driver's events."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.context, self.a, self.b = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        for event in (self.a, self.b):
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result:
            raise RuntimeError(f"{name} failed with CUDA error {result}")

    def once(self, work):
        self.call("cuEventRecord", self.a, None)
        work()
        self.call("cuEventRecord", self.b, None)
        self.call("cuEventSynchronize", self.b)
        milliseconds = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), self.a, self.b)
        return milliseconds.value

    def compare(self, works, rounds=7):
        """Median milliseconds of each, run in turn."""
        for work in works.values():
            self.once(work)
        times = {name: [] for name in works}
        for _ in range(rounds):
            for name, work in works.items():
                times[name].append(self.once(work))
        return {name: statistics.median(values) for name, values in times.items()}


def rate(name, moved, times, ceiling):
    row = {who: round(moved / ms / 1e6) for who, ms in times.items()}
    report(name, ", ".join(f"{who} {value} GB/s ({value / ceiling:.2f} of copy)" for who, value in row.items()))


def elementwise(cuda, clock, torch, cupy, size):
    a = cuda.empty((size,), "uint8")
    b = cuda.empty((size,), "uint8")
    c = cuda.empty((size,), "uint8")
    for x in (a, b, c):
        cuda.fill(1, x)
    ceiling = 2 * size / clock.compare({"copy": lambda: cuda.copy(a, c)})["copy"] / 1e6
    report("device copy, GB/s read and written", round(ceiling))
    for dtype in ("uint8", "float16", "float32", "float64"):
        n = size // np.dtype(dtype).itemsize
        x, y, z = (t.view((n,), (1,), 0, dtype) for t in (a, b, c))
        works = {"dltensor": lambda x=x, y=y, z=z, d=dtype: cuda.run("add", [x, y], d, out=z)}
        if torch:
            p, q, r = (torch.ones(n, dtype=getattr(torch, dtype), device="cuda") for _ in range(3))
            works["torch"] = lambda p=p, q=q, r=r: torch.add(p, q, out=r)
        if cupy:
            i, j, k = (cupy.ones(n, dtype) for _ in range(3))
            works["cupy"] = lambda i=i, j=j, k=k: cupy.add(i, j, out=k)
        rate(f"add {dtype}, contiguous", 3 * size, clock.compare(works), ceiling)
    rows = 1 << 13
    columns = size // 4 // rows
    m, out = (t.view((rows, columns), (columns, 1), 0, "float32") for t in (a, c))
    row, column = b.view((columns,), (1,), 0, "float32"), b.view((rows, 1), (1, 1), 0, "float32")
    works = {"row": {"dltensor": lambda: cuda.run("add", [m, row], "float32", out=out)}}
    works["column"] = {"dltensor": lambda: cuda.run("add", [m, column], "float32", out=out)}
    works["transpose"] = {"dltensor": lambda: cuda.copy(m.view((columns, rows), (1, columns)), c.view((columns, rows), (rows, 1), 0, "float32"))}  # fmt: skip # noqa: E501
    if torch:
        p, o = torch.ones(rows, columns, device="cuda"), torch.empty(rows, columns, device="cuda")
        t = torch.empty(columns, rows, device="cuda")
        works["row"]["torch"] = lambda: torch.add(p, p[0], out=o)
        works["column"]["torch"] = lambda: torch.add(p, p[:, :1], out=o)
        works["transpose"]["torch"] = lambda: t.copy_(p.t())
    for name, each in works.items():
        rate(f"{name}, float32 {rows} x {columns}", 2 * size, clock.compare(each), ceiling)


def products(cuda, clock, torch, size):
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        import ml_dtypes

        kind = np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)
        a, b, c = (cuda.fill(1, cuda.empty((size, size), kind)) for _ in range(3))
        works = {"dltensor": lambda a=a, b=b, c=c: cuda.gemm(a, b, c)}
        if torch:
            p, q, r = (torch.ones(size, size, dtype=getattr(torch, dtype), device="cuda") for _ in range(3))
            works["torch"] = lambda p=p, q=q, r=r: torch.mm(p, q, out=r)
        times = clock.compare(works, 5)
        flops = {who: f"{2 * size**3 / ms / 1e9:.1f} TFLOP/s" for who, ms in times.items()}
        report(f"gemm {dtype} {size}^3", ", ".join(f"{who} {value}" for who, value in flops.items()))


def host_costs(cuda, torch, cupy, dl):
    """What a small operation costs the host. In bursts, so that the queue never fills."""
    stream = cuda.stream()
    report("host: a + b, 64 x 32 float32, engine alone, ns", round(cuda.c.shim_add_cost(stream, 200)))

    def best(what, call):
        fastest = float("inf")
        for _ in range(9):
            cuda("synchronize", stream)
            start = time.perf_counter()
            for _ in range(200):
                call()
            fastest = min(fastest, (time.perf_counter() - start) / 200 * 1e9)
        report(f"host: {what}, ns", round(fastest))

    for name, library, ones in (("dltensor", dl, lambda: dl.ones((64, 32), device="cuda")),
                                ("torch", torch, lambda: torch.ones(64, 32, device="cuda")),
                                ("cupy", cupy, lambda: cupy.ones((64, 32), "float32"))):  # fmt: skip
        if not library:
            continue
        x, y, z = ones(), ones(), ones()
        best(f"a + b, 64 x 32 float32, {name}", lambda x=x, y=y: x + y)
        best(f"a + 1.5, 64 x 32 float32, {name}", lambda x=x: x + 1.5)
        best(f"add(a, b, out=c), 64 x 32 float32, {name}", lambda f=library.add, x=x, y=y, z=z: f(x, y, out=z))
    if dl and torch:
        tensor = torch.ones(64, 32, device="cuda")
        best("from_dlpack(torch)", lambda: dl.from_dlpack(tensor))
        best("torch.from_dlpack(torch), to compare", lambda: torch.from_dlpack(tensor))


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=120, help="seconds")
    parser.add_argument("--json", default="")
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of one operand")
    options = parser.parse_args()
    cuda = load_engine()
    torch, cupy, dl = optional("torch"), optional("cupy"), optional("dltensor")
    if torch and not torch.cuda.is_available():
        torch = None
    clock = Clock()
    size = options.size
    steps = [
        lambda: host_costs(cuda, torch, cupy, dl),
        lambda: elementwise(cuda, clock, torch, cupy, size),
        lambda: products(cuda, clock, torch, 4096 if size > 1 << 20 else 64),
    ]
    failed = 0
    for step in steps:
        if time.monotonic() - START >= options.budget:
            break
        try:
            step()
        except Exception:  # what the others measure is worth having
            traceback.print_exc()
            failed += 1
        if options.json:  # each time: the next step may be cut short
            Path(options.json).write_text(json.dumps(RESULTS, indent=1))
    sys.exit(failed)


if __name__ == "__main__":
    main()
