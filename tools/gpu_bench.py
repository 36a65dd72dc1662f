# SPDX-License-Identifier: Apache-2.0
"""Measure the package on a card, beside PyTorch and CuPy in the same run, against the goals; print rows, write JSON.

The ceiling is the driver's own device-to-device copy of the same size. Data is random. Times of the device are medians
of the driver's events over interleaved runs; times of the host are the best of bursts, so that the queue never fills.

    python tools/gpu_bench.py --budget 300 --json bench.json
    python tools/gpu_bench.py --only sorts "reductions float(32|16)" --rows "sum|max" --peers torch --rounds 5
    python tools/gpu_bench.py --against benchmarks/results/nvidia-h100-80gb-hbm3.json    numbers of peers from this file
    python tools/gpu_bench.py --launches      the same kernels under other launch settings
    python tools/gpu_bench.py --once          each of eight functions once, for Nsight Compute
    python tools/gpu_bench.py --fold FOLDER   append what gpu_check.sh left in FOLDER to benchmarks/results

`--against` takes the numbers of a peer from the file where a run on the same card and driver has them, and measures a
peer only in rows that the file does not have, which are marked "new". `was` is the number of dltensor in the file.
"""

import argparse
import contextlib
import ctypes
import datetime
import functools
import importlib
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

START = time.monotonic()
RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
BYTES = {
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
np = dl = torch = cupy = None  # imported by main(): --fold needs none of them


def optional(name):
    try:
        module = importlib.import_module(name)
        return module if module.cuda.is_available() else None
    except Exception:  # absent, or broken on this machine
        return None


def slow_is_small(unit):
    return unit in ("ns", "us", "ms")


class Report:
    """The rows of a run: which are wanted, the earlier numbers they are compared with, and what was measured."""

    def __init__(self, options, card):
        self.rows, self.failed, self.card, self.file = {}, [], card, options.json
        self.pattern = re.compile(options.rows)
        self.earlier = earlier_rows(options.against, card) if options.against else {}

    def fail(self, name):
        self.failed.append(name)
        print(f"FAILED {name}")
        traceback.print_exc(limit=4)

    def wants(self, name):
        return self.pattern.search(name) is not None

    def unmeasured(self, name, works):
        """The works that have to run: peers only where no earlier number is known."""
        peers = {"torch": torch, "cupy": cupy}
        known = self.earlier.get(name, {})
        return {
            who: work for who, work in works.items() if work and (who not in peers or (peers[who] and who not in known))
        }

    def add(self, name, unit, numbers, goals):
        """Keep and print one row. `goals`: what dltensor's number is divided by, and the least or largest ratio."""
        earlier = self.earlier.get(name, {})
        taken = {who: earlier[who] for who in ("torch", "cupy") if who in earlier and who not in numbers}
        numbers = {who: float(f"{value:.4g}") for who, value in (numbers | taken).items()}
        self.rows[name] = {"unit": unit, **numbers}
        marks = []
        for who, limit in goals.items():
            if who in numbers:
                ratio = numbers["dltensor"] / numbers[who]
                met = ratio <= limit if slow_is_small(unit) else ratio >= limit
                marks.append(f"{'ok' if met else 'MISSED'} {ratio:.3f} of {who} (goal {limit})")
        if "dltensor" in earlier:
            marks.append(f"was {earlier['dltensor']:.4g} ({numbers['dltensor'] / earlier['dltensor']:.3f})")
        elif self.earlier:
            marks.append("new")
        words = "  ".join(f"{who} {value:.4g}" for who, value in numbers.items())
        print(f"{name:<46} {unit:<7} {words}   {'  '.join(marks)}", flush=True)

    def write(self):
        if self.file:  # after each step: the next one may be cut short
            Path(self.file).write_text(json.dumps({**self.card, "rows": self.rows}))


def describe_card(commit):
    def text_of(*command):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
        return ""

    name, _, version = text_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition(", ")
    number = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    packages = {}
    for package in ("torch", "cupy-cuda13x", "cupy-cuda12x", "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[package] = importlib.metadata.version(package)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit or text_of("git", "-C", str(Path(__file__).parent), "rev-parse", "--short=7", "HEAD"),
        "device": name or "host driver",
        "driver": version,
        "cuda": f"{number.value // 1000}.{number.value % 1000 // 10}",
        "python": platform.python_version(),
        "packages": packages,
        "command": "python tools/gpu_bench.py " + " ".join(sys.argv[1:]),
    }


def earlier_rows(path, card):
    """The newest number of every row in a file of results, or of one run, on this card with this driver."""
    found = json.loads(Path(path).read_text())
    rows = {}
    for entry in found if isinstance(found, list) else [found]:
        if (entry["device"], entry["driver"]) == (card["device"], card["driver"]):
            for name, row in entry["rows"].items():
                rows[name] = rows.get(name, {}) | row
    print(f"{path}: {len(rows)} rows of {card['device']} with driver {card['driver']}")
    return rows


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
        """Median milliseconds of each, run in turn; fewer runs of long work. A peer whose work fails is left out."""
        times = {}
        for name, work in works.items():
            try:
                self.once(work)
                times[name] = [self.once(work)]
            except Exception as error:  # it may not have this dtype or function
                if name == "dltensor":
                    raise
                print(f"without {name}: {type(error).__name__}: {str(error)[:100]}")
        seconds = sum(first for (first,) in times.values()) / 1e3
        for k in range(self.rounds if seconds < 0.2 else 2):
            for name, values in times.items():
                if k == 0:
                    values.clear()
                values.append(self.once(works[name]))
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


def twins(*tensors):
    """The same memory as tensors of PyTorch and arrays of CuPy; None where a library lacks the dtype or is not used."""
    out = []
    for library in (torch, cupy):
        try:
            out.append([library.from_dlpack(x) for x in tensors] if library else None)
        except Exception:
            out.append(None)
    return out


def setter(arrays, value=None):
    """A function that writes arrays[2], or a value, to arrays[0] at arrays[1]."""

    def work():
        arrays[0][arrays[1]] = arrays[2] if value is None else value

    return work


def call_linalg(library, name, arrays):
    """A function of linear algebra of a general or of a positive definite matrix."""
    x = arrays[name in ("cholesky", "eigh")]
    options = {"full_matrices": False} if name == "svd" else {}
    return getattr(library.linalg, name)(*(x, x)[: 2 if name == "solve" else 1], **options)


class Rows:
    """Rows that are timed on the device. A step is a method; `torch` and `cupy` are goals, `t` and `c` their work."""

    def __init__(self, clock, size, report):
        self.clock, self.size, self.report = clock, size, report
        self.small = size < 1 << 28  # libraries of the host driver are slow
        self.rng = np.random.default_rng(3)
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
        report.add("device copy (ceiling)", "GB/s", {"dltensor": self.ceiling}, {})

    def measure(self, name, unit, convert, ours, t, c, goals, others=None):
        if not self.report.wants(name):
            return
        works = self.report.unmeasured(name, {"dltensor": ours, "torch": t, "cupy": c})
        try:
            numbers = {who: convert(ms) for who, ms in self.clock.compare(works).items()}
        except Exception:  # what the others measure is worth having
            self.report.fail(name)
            return
        goals = {who: limit for who, limit in goals.items() if limit is not None}
        self.report.add(name, unit, numbers | {k: v for k, v in (others or {}).items() if k in goals}, goals)

    def row(self, name, moved, ours, t=None, c=None, *, copy=None, torch=None, cupy=None):
        """GB/s read and written."""
        goals = {"copy": copy, "torch": torch, "cupy": cupy}
        self.measure(name, "GB/s", lambda ms: moved / ms / 1e6, ours, t, c, goals, {"copy": self.ceiling})

    def rate(self, name, count, ours, t=None, c=None):
        self.measure(name, "Mel/s", lambda ms: count / ms / 1e3, ours, t, c, {"torch": 1.0})

    def time(self, name, ours, t=None, c=None):
        self.measure(name, "us", lambda ms: ms * 1e3, ours, t, c, {"torch": 1.0})

    def work(self, name, operations, ours, t=None, c=None):
        self.measure(name, "TFLOP/s", lambda ms: operations / ms / 1e9, ours, t, c, {"torch": 0.98})

    # -- contiguous tensors and layouts
    def contiguous(self, dtype):
        size, width = self.size, BYTES[dtype]
        n = size // width
        x, y = data((n,), dtype), data((n,), dtype)
        z = dl.empty((n,), dtype=dtype, device="cuda")
        t, c = twins(x, y, z)
        self.row(
            f"add {dtype}",
            3 * size,
            lambda: dl.add(x, y, out=z),
            lambda: torch.add(t[0], t[1], out=t[2]),
            lambda: cupy.add(c[0], c[1], out=c[2]),
            copy=0.95,
            torch={1: 1.2, 2: 1.05}.get(width, 1.0),
            cupy=1.3 if width <= 2 else 1.0,
        )
        self.row(
            f"maximum {dtype}",
            3 * size,
            lambda: dl.maximum(x, y, out=z),
            lambda: torch.maximum(t[0], t[1], out=t[2]),
            copy=0.95,
        )
        self.row(f"less {dtype}", n * (2 * width + 1), lambda: dl.less(x, y), lambda: t[0] < t[1], copy=0.95)
        if dtype != "uint8":
            self.row(
                f"negative {dtype}",
                2 * size,
                lambda: dl.negative(x, out=z),
                lambda: torch.neg(t[0], out=t[2]),
                copy=0.95,
            )
        mask = x < y
        m = torch and torch.from_dlpack(mask)
        self.row(
            f"where {dtype}",
            n * (3 * width + 1),
            lambda: dl.where(mask, x, y),
            lambda: torch.where(m, t[0], t[1]),
            copy=0.9,
        )
        self.row(f"fill {dtype}", size, lambda: z.fill(3), lambda: t[2].fill_(3), torch=1.0)

    def casts(self, dtype):
        width = BYTES[dtype]
        x = data((self.size // max(width, 4),), dtype, 2)
        t, _ = twins(x)
        for to in ("uint8", "float16", "bfloat16", "float32", "float8_e4m3fn", "float64"):
            if to != dtype:
                self.row(
                    f"cast {dtype} to {to}",
                    x.size * (width + BYTES[to]),
                    lambda to=to: x.astype(to),
                    lambda to=to: t[0].to(getattr(torch, to)),
                    copy=0.9,
                )

    def layouts(self, dtype):
        width = BYTES[dtype]
        side = self.side(dtype)
        m = data((side, side), dtype)
        out = dl.empty((side, side), dtype=dtype, device="cuda")
        t, _ = twins(m, out)
        moved = 2 * side * side * width
        self.row(
            f"transpose {dtype} {side}^2",
            moved,
            lambda: dl.copy(m.mT, out),
            lambda: t[1].copy_(t[0].t()),
            copy={1: 0.7, 2: 0.8}.get(width, 0.85),
            torch=3.0 if width <= 4 else 1.0,
        )
        if width < 16:
            for name, bias, at in (("row", m[0], 0), ("column", m[:, :1], (slice(None), slice(1)))):
                self.row(
                    f"{name} bias {dtype}",
                    moved,
                    lambda bias=bias: dl.add(m, bias, out=out),
                    lambda at=at: torch.add(t[0], t[0][at], out=t[1]),
                    copy=0.9,
                    torch=1.0,
                )
        self.row(
            f"odd rows x[:, 1:] {dtype}",
            2 * side * (side - 1) * width,
            lambda: m[:, 1:].copy(),
            lambda: t[0][:, 1:].contiguous(),
            copy=0.9,
        )
        self.row(
            f"inner stride 2 {dtype}",
            moved * 3 // 4,
            lambda: m[:, ::2].copy(),
            lambda: t[0][:, ::2].contiguous(),
            copy=0.9,
        )
        for channels in (3, 8, 64):
            count = side * side // (channels * 4096)
            if count == 0:
                continue
            z = m.reshape((-1,))[: count * channels * 4096].reshape((count, 4096, channels))
            w, _ = twins(z)
            self.row(
                f"NHWC to NCHW, {channels} channels, {dtype}",
                2 * count * channels * 4096 * width,
                lambda z=z: z.mT.copy(),
                lambda w=w: w[0].transpose(1, 2).contiguous(),
                copy=0.8 if channels * width >= 64 else None,
            )

    def concat(self):
        x, y = data((self.size // 8,), "float32"), data((self.size // 8,), "float32")
        t, c = twins(x, y)
        self.row(
            "concat of two, float32",
            2 * self.size,
            lambda: dl.concat([x, y]),
            lambda: torch.cat(t),
            lambda: cupy.concatenate(c),
            copy=0.9,
            torch=1.0,
        )

    def side(self, dtype):
        return max(128, int((self.size // BYTES[dtype]) ** 0.5) // 128 * 128)

    # -- reductions and scans
    def reductions(self, dtype):
        side = self.side(dtype)
        x = data((side, side), dtype)
        t, c = twins(x)
        for name, axis in (("all", None), ("rows", 1), ("columns", 0)):
            at = {} if axis is None else {"dim": axis}
            for what, peer in (("sum", "sum"), ("max", "amax"), ("argmax", "argmax")):
                self.row(
                    f"{what} of {name} {dtype}",
                    x.nbytes,
                    lambda what=what, axis=axis: getattr(dl, what)(x, axis=axis),
                    lambda peer=peer, at=at: getattr(torch, peer)(t[0], **at),
                    lambda what=what, axis=axis: getattr(cupy, what)(c[0], axis=axis),
                    copy=0.9,
                    torch=1.0,
                )

    def statistics(self, dtype):
        side = self.side(dtype)
        x = data((side, side), dtype, 2)
        t, c = twins(x)
        for name, axis in (("all", None), ("rows", 1), ("columns", 0)):
            at = {} if axis is None else {"dim": axis}
            for what, options in (("mean", {}), ("var", {"correction": 0}), ("std", {"correction": 0}), ("prod", {})):
                self.row(
                    f"{what} of {name} {dtype}",
                    x.nbytes,
                    lambda what=what, axis=axis: getattr(dl, what)(x, axis=axis),
                    lambda what=what, at=at, options=options: getattr(torch, what)(t[0], **at, **options),
                    lambda what=what, axis=axis: getattr(cupy, what)(c[0], axis=axis),
                    copy=0.9,
                    torch=1.0,
                )

    def scans(self, dtype):
        n = self.size // BYTES[dtype]
        line = data((n,), dtype, 3)
        rows = line[: n // 1024 * 1024].reshape((-1, 1024))
        for name, x, axis, goal in (
            (f"cumulative_sum {dtype}", line, 0, 0.6),
            (f"cumulative_sum of rows of 1024, {dtype}", rows, 1, 0.7),
        ):
            t, c = twins(x)
            self.row(
                name,
                2 * x.nbytes,
                lambda x=x, axis=axis: dl.cumulative_sum(x, axis=axis, dtype=dtype),
                lambda t=t, axis=axis: torch.cumsum(t[0], axis, dtype=t[0].dtype),
                lambda c=c, axis=axis: cupy.cumsum(c[0], axis=axis, dtype=c[0].dtype),
                copy=goal,
            )

    # -- functions that are made of others
    def composed(self, dtype):
        width = BYTES[dtype]
        n = self.size // width // 1024 * 1024
        line = data((n,), dtype)
        x, y = line.reshape((-1, 1024)), (line + 1).reshape((-1, 1024))
        t, c = twins(x, y)
        for name, moved in (("softmax", 2), ("log_softmax", 2), ("logsumexp", 1)):
            self.row(
                f"{name} of rows of 1024, {dtype}",
                moved * x.nbytes,
                lambda name=name: getattr(dl, name)(x, axis=1),
                lambda name=name: getattr(torch, name)(t[0], 1),
                copy=0.9,
                torch=1.0,
            )
        for name, moved in (("isclose", n * (2 * width + 1)), ("allclose", 2 * n * width)):
            self.row(
                f"{name} {dtype}",
                moved,
                lambda name=name: getattr(dl, name)(x, x),
                lambda name=name: getattr(torch, name)(t[0], t[0]),
                lambda name=name: getattr(cupy, name)(c[0], c[0]),
                copy=0.9,
                torch=1.0,
            )
        for name, axis in (("all", None), ("rows of 1024", 1)):
            self.row(
                f"vector_norm of {name}, {dtype}",
                x.nbytes,
                lambda axis=axis: dl.linalg.vector_norm(x, axis=axis),
                lambda axis=axis: torch.linalg.vector_norm(t[0], dim=axis),
                lambda axis=axis: cupy.linalg.norm(c[0].reshape(-1) if axis is None else c[0], axis=axis),
                copy=0.9,
                torch=1.0,
            )
        self.row(
            f"vecdot of rows of 1024, {dtype}",
            2 * x.nbytes,
            lambda: dl.vecdot(x, y),
            lambda: torch.linalg.vecdot(t[0], t[1]),
            copy=0.9,
            torch=1.0,
        )

    def selections(self):
        n = max(64, self.size // 16)
        x = dl.asarray(self.rng.standard_normal(n, "f4")).to("cuda")
        t, c = twins(x)
        self.row("top_k of 10, float32", x.nbytes, lambda: dl.top_k(x, 10), lambda: torch.topk(t[0], 10), torch=1.0)
        self.row(
            "median float32",
            x.nbytes,
            lambda: dl.median(x),
            lambda: torch.median(t[0]),
            lambda: cupy.median(c[0]),
            torch=1.0,
        )

    def creation(self):
        n, side = self.size // 4, self.side("float32")
        make = {"device": "cuda"}
        self.row(
            "arange float32",
            self.size,
            lambda: dl.arange(n, dtype="float32", **make),
            lambda: torch.arange(n, dtype=torch.float32, **make),
            lambda: cupy.arange(n, dtype="float32"),
            torch=1.0,
        )
        self.row(
            "linspace float32",
            self.size,
            lambda: dl.linspace(0, 1, n, dtype="float32", **make),
            lambda: torch.linspace(0, 1, n, **make),
            torch=1.0,
        )
        self.row(
            "eye float32", side * side * 4, lambda: dl.eye(side, **make), lambda: torch.eye(side, **make), torch=1.0
        )

    def randoms(self):
        n, generator = self.size // 4, dl.random.Generator(1)
        out = dl.empty((n,), dtype="float32", device="cuda")
        t, c = twins(out)
        self.row(
            "random float32", self.size, lambda: generator.random(out=out), lambda: t[0].uniform_(), copy=0.9, torch=1.0
        )
        self.row(
            "normal float32", self.size, lambda: generator.normal(out=out), lambda: t[0].normal_(), copy=0.9, torch=1.0
        )
        x = out[: n // 16]
        t, c = twins(x)
        self.rate(
            "permutation float32",
            x.size,
            lambda: generator.permutation(x),
            lambda: t[0][torch.randperm(t[0].numel(), device="cuda")],
            lambda: cupy.random.permutation(c[0]),
        )

    # -- masks, index arrays, sorts
    def masks(self, dtype):
        width = BYTES[dtype]
        n = self.size // width // 2
        x = data((n,), dtype)
        for part, limit in (("half", 30), ("1 in 20", 3)):
            mask = data((n,), "uint8") < limit
            chosen = int(dl.count_nonzero(mask))
            t, c = twins(x, mask)
            self.row(
                f"x[mask], {part}, {dtype}",
                n + n * width // 8 + chosen * width,
                lambda mask=mask: x[mask],
                lambda t=t: t[0][t[1]],
                lambda c=c: c[0][c[1]],
                torch=1.0,
            )
            self.row(
                f"nonzero, {part}, {dtype}",
                n + 8 * chosen,
                lambda mask=mask: dl.nonzero(mask),
                lambda t=t: torch.nonzero(t[1]),
                lambda c=c: cupy.nonzero(c[1]),
                torch=1.0,
            )
        y = x.copy()
        t, c = twins(y, mask)
        name = f"x[mask] = 1, 1 in 20, {dtype}"
        self.row(name, n + chosen * width, setter((y, mask), 1), setter(t, 1), setter(c, 1), torch=1.0)

    def indices(self, count, high):
        return dl.asarray(self.rng.integers(0, high, count)).to("cuda")

    def gathers(self, dtype):
        width = BYTES[dtype]
        n = self.size // width
        for row in (1, 64 // width, 1024 // width):
            name = f"x[indices], rows of {row * width} bytes, {dtype}"
            if not self.report.wants(name):
                continue
            x = data((n // row, row), dtype)
            where = self.indices(max(1, n // row // 4), n // row)
            t, c = twins(x, where)
            self.row(
                name,
                where.size * (2 * row * width + 8),
                lambda x=x, where=where: x[where],
                lambda t=t: t[0][t[1]],
                lambda c=c: c[0][c[1]],
                torch=1.0,
                copy=0.8 if row * width >= 64 else None,
            )
        x = data((n,), dtype)
        count = max(1, n // 16)
        drawn = self.indices(count, n)
        # As drawn, some positions come twice; these are different ones in no order, since the factor is a prime.
        unique = dl.asarray(np.arange(count) * 2654435761 % count * 16 % n).to("cuda")
        for what, where in (("x[indices] = values", drawn), ("x[unique indices] = values", unique)):
            values = data((where.size,), dtype)
            t, c = twins(x, where, values)
            self.rate(f"{what}, {dtype}", where.size, setter((x, where, values)), setter(t), setter(c))
        values = data((drawn.size,), dtype)
        t, c = twins(x, drawn, values)
        self.rate(
            f"add_at, {dtype}",
            drawn.size,
            lambda: dl.add_at(x, drawn, values),
            lambda: t[0].index_add_(0, t[1], t[2]),
            lambda: cupy.add.at(c[0], c[1], c[2]),
        )

    def sorts(self, dtype):
        n = max(1, self.size // 16 // BYTES[dtype])
        raw = self.rng.integers(0, 256, n * BYTES[dtype], dtype="u1")
        x = dl.asarray(
            raw.view("i4" if dtype == "int32" else "u1") if dtype != "float32" else self.rng.standard_normal(n, "f4")
        ).to("cuda")
        t, c = twins(x)
        self.rate(
            f"sort {dtype}", n, lambda: dl.sort(x), lambda: torch.sort(t[0], stable=True), lambda: cupy.sort(c[0])
        )
        self.rate(
            f"argsort {dtype}",
            n,
            lambda: dl.argsort(x),
            lambda: torch.argsort(t[0], stable=True),
            lambda: cupy.argsort(c[0]),
        )
        lines = x[: n // 1024 * 1024].reshape((-1, 1024))
        p, q = twins(lines)
        self.rate(
            f"sort of rows of 1024, {dtype}",
            lines.size,
            lambda: dl.sort(lines, axis=1),
            lambda: torch.sort(p[0], dim=1, stable=True),
            lambda: cupy.sort(q[0], axis=1),
        )
        self.rate(
            f"unique_values {dtype}",
            n,
            lambda: dl.unique_values(x),
            lambda: torch.unique(t[0]),
            lambda: cupy.unique(c[0]),
        )
        inside = dl.sort(x)
        u, v = twins(inside, x)
        self.rate(
            f"searchsorted {dtype}",
            n,
            lambda: dl.searchsorted(inside, x),
            lambda: torch.searchsorted(u[0], u[1]),
            lambda: cupy.searchsorted(v[0], v[1]),
        )

    # -- products, linear algebra, FFT
    def products(self):
        size = 64 if self.small else 4096
        for dtype in ("float32", "float16", "bfloat16", "float64"):
            a, b = (data((size, size), dtype, 7) for _ in range(2))
            c = dl.empty((size, size), dtype=dtype, device="cuda")
            t, _ = twins(a, b, c)
            ours = functools.partial(dl.gemm, a, b, c)
            self.work(f"gemm {dtype} {size}^3", 2 * size**3, ours, lambda t=t: torch.mm(t[0], t[1], out=t[2]))
            if dtype != "bfloat16":
                with dl.reproducible():
                    self.work(f"gemm {dtype} {size}^3, reproducible", 2 * size**3, ours)
            if dtype == "float32":
                with dl.cuda.tf32():
                    self.work(f"gemm tf32 {size}^3", 2 * size**3, ours)

    def small_products(self):
        for dtype in ("float32", "float16"):
            for count, side in ((10000, 16), (1000, 64), (100, 256)):
                a, b = (data((2 if self.small else count, side, side), dtype, 7) for _ in range(2))
                t, c = twins(a, b)
                self.work(
                    f"{count} products of {side}^3, {dtype}",
                    2 * count * side**3,
                    lambda a=a, b=b: a @ b,
                    lambda t=t: torch.matmul(*t),
                    lambda c=c: cupy.matmul(*c),
                )
        for dtype in ("int32", "uint8"):
            side = 64 if self.small else 1024
            a, b = (data((side, side), dtype, 7) for _ in range(2))
            t, c = twins(a, b)
            name = f"product of {side}^3, {dtype}"
            self.work(name, 2 * side**3, lambda a=a, b=b: a @ b, lambda t=t: t[0] @ t[1], lambda c=c: c[0] @ c[1])

    def matrices(self):
        """Batches of small matrices, and one of 512 rows."""
        for count, side in ((1000, 4), (1000, 16), (100, 64), (1, 512)):
            shape = (2, min(side, 16), min(side, 16)) if self.small else (count, side, side)
            host = self.rng.standard_normal(shape, "f4")
            positive = host @ host.transpose(0, 2, 1) + side * np.eye(shape[1], dtype="f4")
            a, s = (dl.asarray(x).to("cuda") for x in (host, positive))
            t, c = twins(a, s)
            for name in ("solve", "inv", "cholesky", "qr", "eigh", "svd"):
                self.time(
                    f"{name} of {count} float32 {side}^2",
                    functools.partial(call_linalg, dl, name, (a, s)),
                    functools.partial(call_linalg, torch, name, t),
                    functools.partial(call_linalg, cupy, name, c),
                )

    def transforms(self):
        n = 1024 if self.small else self.size // 16
        line = data((n,), "complex64")
        side = int(n**0.5) // 16 * 16
        real = data((2 * n,), "float32").reshape((-1, 1024))
        for name, x, f in (
            (f"fft of {n}", line, "fft"),
            ("fft of rows of 1024", line[: n // 1024 * 1024].reshape((-1, 1024)), "fft"),
            (f"fft2 of {side}^2", line[: side * side].reshape((side, side)), "fft2"),
            ("rfft of rows of 1024", real, "rfft"),
        ):
            t, c = twins(x)
            self.row(
                f"{name}, {x.dtype.name}",
                2 * x.nbytes,
                lambda x=x, f=f: (dl.fft.fftn if f == "fft2" else getattr(dl.fft, f))(x),
                lambda t=t, f=f: getattr(torch.fft, f)(t[0]),
                lambda c=c, f=f: getattr(cupy.fft, f)(c[0]),
                torch=1.0,
            )

    def steps(self):
        """The name and the work of every step; `--only` chooses by name."""
        for method, dtypes in (
            (self.composed, ("float32", "float16")),
            (self.sorts, ("float32", "int32", "uint8")),
            (self.scans, ("float32", "int32")),
            (self.reductions, ("float32", "float16", "int32", "float64")),
            (self.gathers, ("float32", "uint8")),
            (self.masks, ("float32", "uint8")),
            (self.statistics, ("float32", "float16")),
            (self.contiguous, ("float32", "float16", "bfloat16", "uint8", "float64", "int32")),
            (self.layouts, ("float32", "float16", "uint8", "float64", "complex128")),
            (self.casts, ("uint8", "float16", "bfloat16", "float32", "float8_e4m3fn")),
        ):
            for dtype in dtypes:
                yield f"{method.__name__} {dtype}", functools.partial(method, dtype)
        for method in (
            *(self.matrices, self.selections, self.creation, self.randoms, self.concat, self.transforms),
            *(self.products, self.small_products),
        ):
            yield method.__name__.replace("_", " "), method


class HostCosts:
    """Time calls on the host, copies over the bus and first uses, by the host's clock."""

    def __init__(self, rounds, report):
        self.rounds, self.report = rounds, report

    def burst(self, call):
        best, calls = float("inf"), 200 if self.rounds > 1 else 3
        for _ in range(self.rounds):
            dl.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(calls):
                call()
            best = min(best, (time.perf_counter() - began) / calls * 1e9)
        return best

    def row(self, name, calls, **goals):
        """Nanoseconds of a call in a row of 200; calls that wait are measured with their wait."""
        if not self.report.wants(name):
            return
        numbers = {}
        for who, call in self.report.unmeasured(name, calls).items():
            try:
                numbers[who] = self.burst(call)
            except Exception as error:
                if who == "dltensor":
                    return self.report.fail(name)
                print(f"without {who}: {type(error).__name__}: {str(error)[:100]}")
        self.report.add(name, "ns", numbers, goals)

    def small(self):
        libraries = {"dltensor": dl, "torch": torch, "cupy": cupy}
        trios = {"dltensor": [dl.ones((64,), device="cuda") for _ in range(3)]}
        squares = {"dltensor": dl.ones((64, 64), device="cuda")}
        for who, t, s in zip(("torch", "cupy"), twins(*trios["dltensor"]), twins(*squares.values()), strict=True):
            if t:
                trios[who], squares[who] = [libraries[who].ones_like(x) for x in t], s[0]
        calls = {
            "a + b": lambda who, x, y, z: lambda: x + y,
            "a + 1.5": lambda who, x, y, z: lambda: x + 1.5,
            "add(a, b, out=c)": lambda who, x, y, z: lambda f=libraries[who].add: f(x, y, out=z),
        }
        for name, make in calls.items():
            works = {who: make(who, *trio) for who, trio in trios.items()}
            self.row(f"host: {name}, 64 float32", works, torch=0.65, cupy=0.35)
        works = {who: lambda x=x: x @ x for who, x in squares.items() if who != "cupy"}
        self.row("host: 64^3 product", works, torch=0.7)

    def exchange(self):
        if torch:
            t, x = torch.ones(64, 32, device="cuda"), dl.ones((64, 32), device="cuda")
            there = {"dltensor": lambda: dl.from_dlpack(t), "torch": lambda: torch.from_dlpack(t)}
            self.row("host: from_dlpack(torch tensor)", there, torch=0.5)
            back = {"dltensor": lambda: dl.into(x, torch.Tensor), "torch": lambda: torch.from_dlpack(x)}
            self.row("host: our tensor to torch", back, torch=0.5)
        if cupy:
            c = cupy.ones((64, 32), "float32")
            self.row("host: asarray(CuPy array)", {"dltensor": lambda: dl.asarray(c)})

    def latencies(self):
        """Reads and writes of 50 rows of an embedding, and what waits for a result."""
        x = dl.ones((1000, 64), device="cuda")
        i = dl.asarray(np.random.default_rng(5).permutation(1000)[:50]).to("cuda")
        v, mask = dl.ones((50, 64), device="cuda"), x > 0
        t, c = twins(x, i, v, mask)
        for name, call in (
            ("x[i] of 50 rows", lambda a: a[0][a[1]]),
            ("x[i] = v of 50 rows", lambda a: a[0].__setitem__(a[1], a[2])),
            ("x[mask] of 64000", lambda a: a[0][a[3]]),
            ("x[3, 5].item()", lambda a: a[0][3, 5].item()),
            ("x[3:7] + 1", lambda a: a[0][3:7] + 1),
            ("repr(x)", lambda a: repr(a[0])),
        ):
            whole = {"dltensor": (x, i, v, mask), "torch": t, "cupy": c}
            self.row(f"call: {name}", {who: functools.partial(call, a) for who, a in whole.items() if a}, torch=1.0)

    def transfers(self):
        host = np.random.default_rng(2).standard_normal(1 << (26 if self.rounds > 1 else 16), "f4")
        there, page_locked = dl.asarray(host).to("cuda"), dl.asarray(host).to("cuda_host")
        theirs = torch and torch.from_numpy(host)
        far, pinned = torch and theirs.cuda(), torch and theirs.pin_memory()
        for name, ours, other in (
            ("host to device, 256 MiB pageable", lambda: dl.asarray(host).to("cuda"), lambda: theirs.cuda()),
            ("device to host, 256 MiB pageable", there.numpy, lambda: far.cpu()),
            ("host to device, 256 MiB pinned", lambda: page_locked.to("cuda"), lambda: pinned.cuda(non_blocking=True)),
            (
                "device to host, 256 MiB pinned",
                lambda: dl.copy(there, page_locked),
                lambda: pinned.copy_(far, non_blocking=True),
            ),
        ):
            if not self.report.wants(name):
                continue
            numbers = {}
            for who, work in self.report.unmeasured(name, {"dltensor": ours, "torch": other}).items():
                best = float("inf")
                for _ in range(5):
                    dl.cuda.synchronize()
                    began = time.perf_counter()
                    kept = work()
                    dl.cuda.synchronize()
                    best = min(best, time.perf_counter() - began)
                    del kept
                numbers[who] = host.nbytes / best / 1e9
            self.report.add(name, "GB/s", numbers, {"torch": 1.0})

    def first_use(self):
        """The first use of an operation in a process whose kernel is compiled, and is read from disk: milliseconds."""
        code = (
            "import time, dltensor as dl; x = dl.ones((64,), dtype='int16', device='cuda'); y = x.copy(); "
            "dl.cuda.synchronize(); b = time.perf_counter(); z = dl.bitwise_xor(x, y); dl.cuda.synchronize(); "
            "print((time.perf_counter() - b) * 1e3)"
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "DLTENSOR_CACHE_DIR": folder}
            for name, goal in (("cold", 120.0), ("from disk", 5.0)):
                run = subprocess.run(
                    [sys.executable, "-c", code],
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=True,
                )
                self.report.add(
                    f"first use, {name}", "ms", {"dltensor": float(run.stdout), "goal": goal}, {"goal": 1.0}
                )

    def steps(self):
        yield "host costs", self.small
        yield "exchange", self.exchange
        yield "latencies", self.latencies
        yield "transfers", self.transfers
        yield "first use", self.first_use


def launches(rows):
    """The same operations under other numbers of blocks, to choose the default by."""
    side = rows.side("float32")
    m = data((side, side), "float32")
    out = dl.empty(m.shape, dtype="float32", device="cuda")
    for name, times, work in (
        ("add", 3, lambda: dl.add(m, m, out=out)),
        ("transpose", 2, lambda: dl.copy(m.mT, out)),
    ):
        for blocks in (8, 32, 128, 1024):

            def run(work=work, blocks=blocks):
                with dl.cuda.launch(blocks_per_sm=blocks):
                    return work()

            rows.row(f"{name} float32, {blocks} blocks a multiprocessor", times * m.nbytes, run)


def profile(size):
    """Eight functions once each, between marks for a profiler that starts switched off."""
    side = max(128, int((size // 4) ** 0.5) // 128 * 128)
    m = data((side, side), "float32")
    h, rows, line = m.astype("float16"), m.reshape((-1, 128)), m.reshape((-1,))
    mask, part = line < 30, line[: line.size // 4]
    driver = ctypes.CDLL("libcuda.so.1")
    for work in (
        lambda: m + m,
        lambda: dl.sum(m, axis=1),
        lambda: dl.sum(h, axis=0),
        lambda: dl.argmax(h, axis=1),
        lambda: dl.softmax(rows, axis=1),
        lambda: dl.cumulative_sum(line),
        lambda: dl.sort(part),
        lambda: line[mask],
    ):
        work()
        dl.cuda.synchronize()
        driver.cuProfilerStart()
        work()
        dl.cuda.synchronize()
        driver.cuProfilerStop()


def fold(folder):
    """Append the rows of every bench*.json in a folder, and what its verdict says of tests, to benchmarks/results."""
    entries = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("bench*.json"))]
    if not entries:
        return f"gpu_bench: no bench*.json in {folder}"
    entry = functools.reduce(lambda one, other: one | {"rows": one["rows"] | other["rows"]}, entries)
    verdict = Path(folder) / "verdict.txt"
    rows = re.findall(r"^(\S+) +rc 0 +\d+s  (.+)$", verdict.read_text() if verdict.exists() else "", re.M)
    tests = {name: words for name, words in rows if re.search(r"passed|differ|probes|ERROR SUMMARY|elements:", words)}
    path = RESULTS / (re.sub(r"[^a-z0-9]+", "-", entry["device"].lower()).strip("-") + ".json")
    entries = json.loads(path.read_text()) if path.exists() else []
    entries.append({k: v for k, v in entry.items() if k != "rows"} | {"tests": tests, "rows": entry["rows"]})
    text = []
    for entry in entries:
        head = json.dumps({k: v for k, v in entry.items() if k != "rows"})[:-1]
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in entry["rows"].items())
        text.append(f'{head}, "rows": {{\n{lines}}}}}')
    path.write_text("[\n" + ",\n".join(text) + "\n]\n")
    print(f"gpu_bench: {path}: {len(entries)} runs, the last of {len(entries[-1]['rows'])} rows")
    return 0


def chosen(steps, patterns):
    """The steps whose names begin with a pattern, in the order of the patterns; all without one."""
    if not patterns:
        return steps
    found = {}
    for pattern in patterns:
        matching = {name: step for name, step in steps if re.match(pattern, name)}
        if not matching:
            sys.exit(
                f"gpu_bench: no step's name begins with {pattern!r}; steps: {', '.join(name for name, _ in steps)}"
            )
        found |= {name: step for name, step in matching.items() if name not in found}
    return list(found.items())


def run_steps(steps, report, budget):
    """Run what fits; return the names of the steps left out."""
    left_out = []
    for name, step in steps:
        began = time.monotonic()
        if began - START >= budget:
            left_out.append(name)
            continue
        try:
            step()
        except Exception:
            report.fail(name)
        dl.cuda.empty_cache()
        if torch:
            torch.cuda.empty_cache()
        print(f"--- {name}: {time.monotonic() - began:.1f} s", flush=True)
        report.write()
    return left_out


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=300, help="seconds")
    parser.add_argument("--json", default="")
    parser.add_argument("--size", type=int, default=1 << 29, help="bytes of one operand")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=[], metavar="REGEX", help="steps, in this order")
    parser.add_argument("--rows", default="", metavar="REGEX", help="rows of these steps")
    parser.add_argument("--peers", default="torch,cupy", help="torch, cupy, both with a comma, or none")
    parser.add_argument("--against", default="", metavar="FILE", help="a file of benchmarks/results or of --json")
    parser.add_argument("--commit", default="", help="of the package, where there is no repository")
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--fold", default="", metavar="FOLDER")
    return parser.parse_args()


def main():
    global np, dl, torch, cupy
    options = read_options()
    if options.fold:
        return fold(options.fold)
    np, dl = importlib.import_module("numpy"), importlib.import_module("dltensor")
    if options.once:
        return profile(options.size)
    torch, cupy = (optional(name) if name in options.peers.split(",") else None for name in ("torch", "cupy"))
    report = Report(options, describe_card(options.commit))
    print(f"--- start: {time.monotonic() - START:.1f} s; peers: {[p.__name__ for p in (torch, cupy) if p]}", flush=True)
    rows = Rows(Clock(options.rounds), options.size, report)
    if options.launches:
        steps = [("launches", functools.partial(launches, rows))]
    else:
        steps = chosen([*rows.steps(), *HostCosts(options.rounds, report).steps()], options.only)
    left_out = run_steps(steps, report, options.budget)
    if left_out:
        print("left out for lack of time:", ", ".join(left_out))
    if report.failed:
        print("failed:", ", ".join(report.failed))
    seconds = time.monotonic() - START
    print(f"{len(report.rows)} rows, {len(report.failed)} failed, {len(left_out)} left out, {seconds:.0f} s")
    return 1 if report.failed or not report.rows else 0


if __name__ == "__main__":
    sys.exit(main())
