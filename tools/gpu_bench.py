# SPDX-License-Identifier: Apache-2.0
"""Measure the package on a card, beside PyTorch and CuPy in the same run, against the goals; print rows, write JSON.

The ceiling is the driver's own device-to-device copy of the same size. Data is random. Times of the device are medians
of the driver's events over interleaved runs; times of the host are the best of bursts, so that the queue never fills.

    python tools/gpu_bench.py --budget 300 --json bench.json
    python tools/gpu_bench.py --launches      the same kernels under other launch settings
    python tools/gpu_bench.py --once          each kernel once, for Nsight Compute
"""

import argparse
import ctypes
import functools
import importlib
import json
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import dltensor as dl

START = time.monotonic()
RESULTS = {}
BYTES = {
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "float64": 8,
    "complex128": 16,
}


def optional(name, usable=lambda module: True):
    try:
        module = importlib.import_module(name)
        return module if usable(module) else None
    except Exception:  # absent, or broken on this machine
        return None


torch = optional("torch", lambda module: module.cuda.is_available())
cupy = optional("cupy", lambda module: module.cuda.is_available())


def record(name, numbers, goals, unit):
    """Keep and print one row. `goals`: what the number of dltensor is divided by, and the least or largest ratio."""
    verdicts = {}
    for other, (limit, at_least) in goals.items():
        if other not in numbers:
            continue
        ratio = numbers["dltensor"] / numbers[other]
        verdicts[other] = [round(ratio, 3), limit, (ratio >= limit) if at_least else (ratio <= limit)]
    RESULTS[name] = {"unit": unit, "numbers": numbers, "goals": verdicts}
    words = "  ".join(f"{who} {value:.4g}" for who, value in numbers.items())
    marks = "  ".join(
        f"{'ok' if met else 'MISSED'} {ratio} of {who} (goal {limit})" for who, (ratio, limit, met) in verdicts.items()
    )
    print(f"{name:<46} {unit:<7} {words}   {marks}", flush=True)


class Clock:
    """Times work on the device with events on the legacy default stream, which all three libraries use."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.stream = dl.cuda.Stream.wrap(0)

    def once(self, work):
        before, after = dl.cuda.Event(timing=True), dl.cuda.Event(timing=True)
        before.record(self.stream)
        kept = work()
        after.record(self.stream)
        after.synchronize()
        del kept
        return before.elapsed_time(after)

    def compare(self, works):
        """Median milliseconds of each, run in turn."""
        for work in works.values():
            self.once(work), self.once(work)
        times = {name: [] for name in works}
        for _ in range(self.rounds):
            for name, work in works.items():
                times[name].append(self.once(work))
        return {name: statistics.median(values) for name, values in times.items()}


def data(shape, dtype, high=60):
    """Random numbers that every dtype holds exactly, on the device."""
    count = int(np.prod(shape))
    raw = np.random.default_rng(1).integers(0, high, min(count, 1 << 20), dtype=np.uint8)
    part = dl.asarray(raw).to("cuda").astype(dtype)
    out = dl.empty((count,), dtype=dtype, device="cuda")
    for at in range(0, count, raw.size):
        out[at : at + raw.size] = part[: min(raw.size, count - at)]
    return out.reshape(shape)


class Rows:
    """The rows of bandwidth: GB/s read and written."""

    def __init__(self, clock, size):
        self.clock, self.size = clock, size
        x, y = data((size,), "uint8"), dl.empty((size,), dtype="uint8", device="cuda")
        driver = ctypes.CDLL("libcuda.so.1")

        def copy():
            result = driver.cuMemcpyDtoDAsync_v2(
                ctypes.c_uint64(y.data_ptr), ctypes.c_uint64(x.data_ptr), ctypes.c_size_t(size), None
            )
            if result:
                raise RuntimeError(f"cuMemcpyDtoDAsync failed with CUDA error {result}")

        context = ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxSetCurrent(context)
        self.ceiling = 2 * size / clock.compare({"copy": copy})["copy"] / 1e6
        record("device copy (ceiling)", {"dltensor": self.ceiling}, {}, "GB/s")

    def row(self, name, moved, works, copy=None, **ratios):
        times = self.clock.compare({who: work for who, work in works.items() if work})
        numbers = {who: moved / ms / 1e6 for who, ms in times.items()}
        goals = {who: (limit, True) for who, limit in ratios.items()}
        if copy:
            numbers["copy"] = self.ceiling
            goals["copy"] = (copy, True)
        record(name, numbers, goals, "GB/s")

    def twins(self, *tensors):
        """The same memory as tensors of PyTorch and arrays of CuPy, where they have the dtype."""
        out = []
        for take in (torch and torch.from_dlpack, cupy and cupy.from_dlpack):
            try:
                out.append([take(x) for x in tensors] if take else None)
            except Exception:  # a dtype that it does not have
                out.append(None)
        return out

    def contiguous(self, dtype):
        size, width = self.size, BYTES[dtype]
        n = size // width
        x, y = data((n,), dtype), data((n,), dtype)
        z = dl.empty((n,), dtype=dtype, device="cuda")
        t, c = self.twins(x, y, z)
        ratio = {1: 1.2, 2: 1.05}.get(width, 1.0)
        ours = {"dltensor": lambda: dl.add(x, y, out=z)}
        theirs = {
            "torch": t and (lambda: torch.add(t[0], t[1], out=t[2])),
            "cupy": c and (lambda: cupy.add(c[0], c[1], out=c[2])),
        }
        self.row(f"add {dtype}", 3 * size, ours | theirs, copy=0.95, torch=ratio, cupy=1.3 if width <= 2 else 1.0)
        self.row(
            f"maximum {dtype}",
            3 * size,
            {"dltensor": lambda: dl.maximum(x, y, out=z), "torch": t and (lambda: torch.maximum(t[0], t[1], out=t[2]))},
            copy=0.95,
        )
        self.row(
            f"less {dtype}",
            n * (2 * width + 1),
            {"dltensor": lambda: dl.less(x, y), "torch": t and (lambda: t[0] < t[1])},
            copy=0.95,
        )
        if dtype != "uint8":
            self.row(
                f"negative {dtype}",
                2 * size,
                {"dltensor": lambda: dl.negative(x, out=z), "torch": t and (lambda: torch.neg(t[0], out=t[2]))},
                copy=0.95,
            )
        mask = x < y
        m = torch and torch.from_dlpack(mask)
        self.row(
            f"where {dtype}",
            n * (3 * width + 1),
            {"dltensor": lambda: dl.where(mask, x, y), "torch": t and (lambda: torch.where(m, t[0], t[1]))},
            copy=0.9,
        )
        self.row(
            f"fill {dtype}", size, {"dltensor": lambda: z.fill(3), "torch": t and (lambda: t[2].fill_(3))}, torch=1.0
        )

    def casts(self, dtype):
        width = BYTES[dtype]
        n = self.size // max(width, 4)
        x = data((n,), dtype, 2)
        for to in ("uint8", "float16", "bfloat16", "float32", "float8_e4m3fn", "float64"):
            if to == dtype or n == 0:
                continue
            t, _ = self.twins(x)
            kind = getattr(torch, to, None) if torch else None
            self.row(
                f"cast {dtype} to {to}",
                n * (width + BYTES[to]),
                {
                    "dltensor": lambda to=to: x.astype(to),
                    "torch": t and kind and (lambda kind=kind, t=t: t[0].to(kind)),
                },
                copy=0.9,
            )

    def layouts(self, dtype):
        width = BYTES[dtype]
        side = max(128, int((self.size // width) ** 0.5) // 128 * 128)
        m = data((side, side), dtype)
        out = dl.empty((side, side), dtype=dtype, device="cuda")
        t, _ = self.twins(m, out)
        moved = 2 * side * side * width
        goals = {1: 0.7, 2: 0.8, 4: 0.85}
        self.row(
            f"transpose {dtype} {side}^2",
            moved,
            {"dltensor": lambda: dl.copy(m.mT, out), "torch": t and (lambda: t[1].copy_(t[0].t()))},
            copy=goals.get(width, 0.85),
            torch=3.0 if width <= 4 else 1.0,
        )
        if width < 16:
            row, column = m[0], m[:, :1]
            self.row(
                f"row bias {dtype}",
                moved,
                {
                    "dltensor": lambda: dl.add(m, row, out=out),
                    "torch": t and (lambda: torch.add(t[0], t[0][0], out=t[1])),
                },
                copy=0.9,
                torch=1.0,
            )
            self.row(
                f"column bias {dtype}",
                moved,
                {
                    "dltensor": lambda: dl.add(m, column, out=out),
                    "torch": t and (lambda: torch.add(t[0], t[0][:, :1], out=t[1])),
                },
                copy=0.9,
                torch=1.0,
            )
        odd = side - 1
        self.row(
            f"odd rows x[:, 1:] {dtype}",
            2 * side * odd * width,
            {"dltensor": lambda: m[:, 1:].copy(), "torch": t and (lambda: t[0][:, 1:].contiguous())},
            copy=0.9,
        )
        self.row(
            f"inner stride 2 {dtype}",
            moved * 3 // 4,
            {"dltensor": lambda: m[:, ::2].copy(), "torch": t and (lambda: t[0][:, ::2].contiguous())},
            copy=0.9,
        )
        for channels in (3, 8, 64):
            count = side * side // (channels * 4096)
            if count == 0:
                continue
            z = m.reshape((-1,))[: count * channels * 4096].reshape((count, 4096, channels))
            w = torch.from_dlpack(z) if t else None
            self.row(
                f"NHWC to NCHW, {channels} channels, {dtype}",
                2 * count * channels * 4096 * width,
                {
                    "dltensor": lambda z=z: z.mT.copy(),
                    "torch": w is not None and (lambda w=w: w.transpose(1, 2).contiguous()),
                },
                copy=0.8 if channels * width >= 64 else None,
            )

    def run(self, short):
        for dtype in (
            ("float32", "float16", "uint8")
            if short
            else ("float32", "float16", "bfloat16", "uint8", "float64", "int32")
        ):
            yield f"contiguous {dtype}", functools.partial(self.contiguous, dtype)
        for dtype in (
            ("float32", "float16", "uint8") if short else ("float32", "float16", "uint8", "float64", "complex128")
        ):
            yield f"layouts {dtype}", functools.partial(self.layouts, dtype)
        if not short:
            for dtype in ("uint8", "float16", "bfloat16", "float32", "float8_e4m3fn"):
                yield f"casts {dtype}", functools.partial(self.casts, dtype)


class Functions:
    """Reductions, running sums, masks, index arrays, sorts: GB/s read and written, or millions of elements a second."""

    def __init__(self, rows):
        self.rows, self.size = rows, rows.size
        self.generator = np.random.default_rng(3)

    def works(self, ours, theirs, others):
        """`theirs` and `others` make work for a peer, and may fail: it may not have this dtype or function."""
        works = {"dltensor": ours}
        for who, library, make in (("torch", torch, theirs), ("cupy", cupy, others)):
            if library is None:
                continue
            try:
                work = make()
                work()
                works[who] = work
            except Exception as error:
                print(f"without {who}: {type(error).__name__}: {str(error)[:100]}")
        return works

    def row(self, name, moved, ours, theirs, others, **goals):
        self.rows.row(name, moved, self.works(ours, theirs, others), **goals)

    def rate(self, name, count, ours, theirs, others):
        times = self.rows.clock.compare(self.works(ours, theirs, others))
        record(name, {who: count / ms / 1e3 for who, ms in times.items()}, {"torch": (1.0, True)}, "Mel/s")

    def indices(self, count, high):
        return dl.asarray(self.generator.integers(0, high, count)).to("cuda")

    def reductions(self, dtype):
        width = BYTES[dtype]
        side = max(128, int((self.size // width) ** 0.5) // 128 * 128)
        x = data((side, side), dtype)
        t, c = self.rows.twins(x)
        for name, axis in (("all", None), ("rows", 1), ("columns", 0)):
            for what, peer in (("sum", "sum"), ("max", "amax"), ("argmax", "argmax")):
                self.row(
                    f"{what} of {name} {dtype}",
                    x.nbytes,
                    lambda what=what, axis=axis: getattr(dl, what)(x, axis=axis),
                    lambda peer=peer, axis=axis: functools.partial(
                        getattr(torch, peer), t[0], **({} if axis is None else {"dim": axis})
                    ),
                    lambda what=what, axis=axis: functools.partial(getattr(cupy, what), c[0], axis=axis),
                    copy=0.9,
                    torch=1.0,
                )

    def scans(self, dtype):
        n = self.size // BYTES[dtype]
        x = data((n,), dtype, 3)
        t, c = self.rows.twins(x)
        self.row(
            f"cumulative_sum {dtype}",
            2 * self.size,
            lambda: dl.cumulative_sum(x, dtype=dtype),
            lambda: lambda: torch.cumsum(t[0], 0, dtype=t[0].dtype),
            lambda: lambda: cupy.cumsum(c[0], dtype=c[0].dtype),
            copy=0.6,
        )
        rows = x[: n // 1024 * 1024].reshape((-1, 1024))
        t, c = self.rows.twins(rows)
        self.row(
            f"cumulative_sum of rows of 1024, {dtype}",
            2 * rows.nbytes,
            lambda: dl.cumulative_sum(rows, axis=1, dtype=dtype),
            lambda: lambda: torch.cumsum(t[0], 1, dtype=t[0].dtype),
            lambda: lambda: cupy.cumsum(c[0], axis=1, dtype=c[0].dtype),
            copy=0.7,
        )

    def masks(self, dtype):
        width = BYTES[dtype]
        n = self.size // width // 2
        x = data((n,), dtype)
        for part, limit in (("half", 30), ("1 in 20", 3)):
            mask = data((n,), "uint8") < limit
            chosen = int(dl.count_nonzero(mask))
            t, c = self.rows.twins(x, mask)
            self.row(
                f"x[mask], {part}, {dtype}",
                n + n * width // 8 + chosen * width,
                lambda mask=mask: x[mask],
                lambda t=t: lambda: t[0][t[1]],
                lambda c=c: lambda: c[0][c[1]],
                torch=1.0,
            )
            self.row(
                f"nonzero, {part}, {dtype}",
                n + 8 * chosen,
                lambda mask=mask: dl.nonzero(mask),
                lambda t=t: lambda: torch.nonzero(t[1]),
                lambda c=c: lambda: cupy.nonzero(c[1]),
                torch=1.0,
            )
        y = x.copy()
        t, c = self.rows.twins(y, mask)

        def set_ours():
            y[mask] = 1

        def set_in(arrays):
            def work():
                arrays[0][arrays[1]] = 1

            return work

        self.row(
            f"x[mask] = 1, 1 in 20, {dtype}",
            n + chosen * width,
            set_ours,
            lambda: set_in(t),
            lambda: set_in(c),
            torch=1.0,
        )

    def gathers(self, dtype):
        width = BYTES[dtype]
        n = self.size // width
        for row in (1, 64 // width, 1024 // width):
            x = data((n // row, row), dtype)
            where = self.indices(max(1, n // row // 4), n // row)
            t, c = self.rows.twins(x, where)
            moved = where.size * (2 * row * width + 8)
            self.row(
                f"x[indices], rows of {row * width} bytes, {dtype}",
                moved,
                lambda x=x, where=where: x[where],
                lambda t=t: lambda: t[0][t[1]],
                lambda c=c: lambda: c[0][c[1]],
                torch=1.0,
                **({"copy": 0.8} if row * width >= 64 else {}),
            )
        x = data((n,), dtype)
        where = self.indices(max(1, n // 16), n)
        values = data((where.size,), dtype)
        t, c = self.rows.twins(x, where, values)

        def set_ours():
            x[where] = values

        def set_in(arrays):
            def work():
                arrays[0][arrays[1]] = arrays[2]

            return work

        self.rate(f"x[indices] = values, {dtype}", where.size, set_ours, lambda: set_in(t), lambda: set_in(c))
        self.rate(
            f"add_at, {dtype}",
            where.size,
            lambda: dl.add_at(x, where, values),
            lambda: lambda: t[0].index_add_(0, t[1], t[2]),
            lambda: lambda: cupy.add.at(c[0], c[1], c[2]),
        )

    def sorts(self, dtype):
        n = max(1, self.size // 16 // BYTES[dtype])
        raw = self.generator.integers(0, 256, n * BYTES[dtype], dtype="u1")
        x = dl.asarray(
            raw.view("i4" if dtype == "int32" else "u1")
            if dtype != "float32"
            else self.generator.standard_normal(n, "f4")
        ).to("cuda")
        t, c = self.rows.twins(x)
        self.rate(
            f"sort {dtype}",
            n,
            lambda: dl.sort(x),
            lambda: lambda: torch.sort(t[0], stable=True),
            lambda: lambda: cupy.sort(c[0]),
        )
        self.rate(
            f"argsort {dtype}",
            n,
            lambda: dl.argsort(x),
            lambda: lambda: torch.argsort(t[0], stable=True),
            lambda: lambda: cupy.argsort(c[0]),
        )
        lines = x[: n // 1024 * 1024].reshape((-1, 1024))
        p, q = self.rows.twins(lines)
        self.rate(
            f"sort of rows of 1024, {dtype}",
            lines.size,
            lambda: dl.sort(lines, axis=1),
            lambda: lambda: torch.sort(p[0], dim=1, stable=True),
            lambda: lambda: cupy.sort(q[0], axis=1),
        )
        self.rate(
            f"unique_values {dtype}",
            n,
            lambda: dl.unique_values(x),
            lambda: lambda: torch.unique(t[0]),
            lambda: lambda: cupy.unique(c[0]),
        )
        inside = dl.sort(x)
        p, q = self.rows.twins(inside, x)
        self.rate(
            f"searchsorted {dtype}",
            n,
            lambda: dl.searchsorted(inside, x),
            lambda: lambda: torch.searchsorted(p[0], p[1]),
            lambda: lambda: cupy.searchsorted(q[0], q[1]),
        )

    def run(self, short):
        for dtype in ("float32",) if short else ("float32", "float16", "int32", "float64"):
            yield f"reductions {dtype}", functools.partial(self.reductions, dtype)
        for dtype in ("float32", "int32"):
            yield f"scans {dtype}", functools.partial(self.scans, dtype)
        for dtype in ("float32",) if short else ("float32", "uint8"):
            yield f"masks {dtype}", functools.partial(self.masks, dtype)
            yield f"gathers {dtype}", functools.partial(self.gathers, dtype)
        for dtype in ("float32",) if short else ("float32", "int32", "uint8"):
            yield f"sorts {dtype}", functools.partial(self.sorts, dtype)


def products(clock, size):
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        a, b = (data((size, size), dtype, 7) for _ in range(2))
        c = dl.empty((size, size), dtype=dtype, device="cuda")
        t = torch and [torch.from_dlpack(x) for x in (a, b, c)]
        works = {"dltensor": lambda a=a, b=b, c=c: dl.gemm(a, b, c)}
        if t:
            works["torch"] = lambda t=t: torch.mm(t[0], t[1], out=t[2])
        times = clock.compare(works)
        numbers = {who: 2 * size**3 / ms / 1e9 for who, ms in times.items()}
        record(f"gemm {dtype} {size}^3", numbers, {"torch": (0.98, True)}, "TFLOP/s")
        if dtype == "float32":
            with dl.cuda.tf32():
                ms = clock.compare({"dltensor": works["dltensor"]})["dltensor"]
            record(f"gemm tf32 {size}^3", {"dltensor": 2 * size**3 / ms / 1e9}, {}, "TFLOP/s")


def burst(call, rounds=200):
    best = float("inf")
    for _ in range(9):
        dl.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(rounds):
            call()
        best = min(best, (time.perf_counter() - began) / rounds * 1e9)
    return best


def host_costs():
    """What a small operation costs the host, in nanoseconds."""
    makers = {
        "dltensor": (dl, lambda: dl.ones((64,), device="cuda")),
        "torch": (torch, lambda: torch.ones(64, device="cuda")),
        "cupy": (cupy, lambda: cupy.ones(64, "float32")),
    }
    rows = {"a + b": {}, "a + 1.5": {}, "add(a, b, out=c)": {}}
    for name, (library, ones) in makers.items():
        if library:
            x, y, z = ones(), ones(), ones()
            rows["a + b"][name] = burst(lambda x=x, y=y: x + y)
            rows["a + 1.5"][name] = burst(lambda x=x: x + 1.5)
            rows["add(a, b, out=c)"][name] = burst(lambda f=library.add, x=x, y=y, z=z: f(x, y, out=z))
    for name, numbers in rows.items():
        record(f"host: {name}, 64 float32", numbers, {"torch": (0.65, False), "cupy": (0.35, False)}, "ns")
    x, y = dl.ones((64, 64), device="cuda"), dl.ones((64, 64), device="cuda")
    numbers = {"dltensor": burst(lambda: x @ y)}
    if torch:
        p, q = torch.ones(64, 64, device="cuda"), torch.ones(64, 64, device="cuda")
        numbers["torch"] = burst(lambda: p @ q)
    record("host: 64^3 product", numbers, {"torch": (0.7, False)}, "ns")


def exchange_costs():
    if torch:
        t, x = torch.ones(64, 32, device="cuda"), dl.ones((64, 32), device="cuda")
        record(
            "host: from_dlpack(torch tensor)",
            {"dltensor": burst(lambda: dl.from_dlpack(t)), "torch": burst(lambda: torch.from_dlpack(t))},
            {"torch": (0.5, False)},
            "ns",
        )
        record(
            "host: our tensor to torch",
            {"dltensor": burst(lambda: dl.into(x, torch.Tensor)), "torch": burst(lambda: torch.from_dlpack(x))},
            {"torch": (0.5, False)},
            "ns",
        )
    if cupy:
        c = cupy.ones((64, 32), "float32")
        record("host: asarray(CuPy array)", {"dltensor": burst(lambda: dl.asarray(c))}, {}, "ns")


def transfers():
    host = np.random.default_rng(2).standard_normal(1 << 26).astype("f4")
    there = dl.asarray(host).to("cuda")
    theirs = torch and torch.from_numpy(host)
    far = torch and theirs.cuda()
    for name, ours, other in (
        ("host to device", lambda: dl.asarray(host).to("cuda"), torch and (lambda: theirs.cuda())),
        ("device to host", there.numpy, torch and (lambda: far.cpu())),
    ):
        numbers = {}
        for who, work in (("dltensor", ours), ("torch", other)):
            if not work:
                continue
            best = float("inf")
            for _ in range(5):
                dl.cuda.synchronize()
                began = time.perf_counter()
                kept = work()
                dl.cuda.synchronize()
                best = min(best, time.perf_counter() - began)
                del kept
            numbers[who] = host.nbytes / best / 1e9
        record(f"{name}, 256 MiB pageable", numbers, {"torch": (1.0, True)}, "GB/s")


def first_use():
    """The first use of an operation in a process whose kernel is compiled, and is read from disk: milliseconds."""
    import os
    import tempfile

    code = (
        "import time, dltensor as dl; x = dl.ones((64,), dtype='int16', device='cuda'); y = x.copy(); "
        "dl.cuda.synchronize(); b = time.perf_counter(); z = dl.bitwise_xor(x, y); dl.cuda.synchronize(); "
        "print((time.perf_counter() - b) * 1e3)"
    )
    with tempfile.TemporaryDirectory() as folder:
        seen = {}
        for name in ("cold", "from disk"):
            run = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "DLTENSOR_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
            seen[name] = float(run.stdout)
    record("first use, cold", {"dltensor": seen["cold"], "goal": 120.0}, {"goal": (1.0, False)}, "ms")
    record("first use, from disk", {"dltensor": seen["from disk"], "goal": 5.0}, {"goal": (1.0, False)}, "ms")


def launches(clock, size):
    """The same operations under other launch settings, to choose the defaults by."""
    m = data((int((size // 4) ** 0.5) // 128 * 128,) * 2, "float32")
    out = dl.empty(m.shape, dtype="float32", device="cuda")
    works = {
        "add": (3, lambda: dl.add(m, m, out=out)),
        "row bias": (2, lambda: dl.add(m, m[0], out=out)),
        "transpose": (2, lambda: dl.copy(m.mT, out)),
        "exp": (2, lambda: dl.exp(m, out=out)),
    }
    for name, (times, work) in works.items():
        for threads in (0, 128, 256, 512, 1024):
            for blocks in (2, 4, 8, 16):
                settings = {"num_threads": threads, "blocks_per_sm": blocks}
                if threads == 0 and blocks != 8:
                    continue

                def run(work=work, settings=settings, default=threads == 0):
                    if default:
                        return work()
                    with dl.cuda.launch(**settings):
                        return work()

                ms = clock.compare({"dltensor": run})["dltensor"]
                label = "default" if threads == 0 else f"{threads} threads, {blocks} blocks"
                record(f"{name}, {label}", {"dltensor": times * m.nbytes / ms / 1e6}, {}, "GB/s")


def profile(size):
    m = data((int((size // 4) ** 0.5) // 128 * 128,) * 2, "float32")
    h, b = m.astype("float16"), m.astype("uint8")
    for work in (
        lambda: m + m,
        lambda: h + h,
        lambda: b + b,
        lambda: m + m[0],
        lambda: m.mT.copy(),
        lambda: h.mT.copy(),
        lambda: b.mT.copy(),
        lambda: h[:, 1:].copy(),
    ):
        work()
    dl.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=300, help="seconds")
    parser.add_argument("--json", default="")
    parser.add_argument("--size", type=int, default=1 << 29, help="bytes of one operand")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--short", action="store_true", help="fewer dtypes")
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    clock, failed, left_out = Clock(options.rounds), 0, []
    if options.once:
        return profile(options.size)
    if options.launches:
        steps = [("launches", functools.partial(launches, clock, options.size))]
    else:
        rows = Rows(clock, options.size)
        steps = [
            ("host costs", host_costs),
            ("exchange", exchange_costs),
            *rows.run(options.short),
            *Functions(rows).run(options.short),
            ("products", functools.partial(products, clock, 4096 if options.size > 1 << 20 else 64)),
            ("transfers", transfers),
            ("first use", first_use),
        ]
    for name, step in steps:
        if time.monotonic() - START >= options.budget:
            left_out.append(name)
            continue
        try:
            step()
        except Exception:  # what the others measure is worth having
            traceback.print_exc()
            failed += 1
        dl.cuda.empty_cache()
        if torch:
            torch.cuda.empty_cache()
        if options.json:  # each time: the next step may be cut short
            Path(options.json).write_text(json.dumps(RESULTS, indent=1))
    if left_out:
        print("left out for lack of time:", ", ".join(left_out))
    goals = [met for row in RESULTS.values() for _, _, met in row["goals"].values()]
    print(
        f"{len(RESULTS)} rows, {sum(goals)} of {len(goals)} goals met, {failed} steps failed, {len(left_out)} left out"
    )
    return 1 if failed or not RESULTS else 0


if __name__ == "__main__":
    sys.exit(main())
