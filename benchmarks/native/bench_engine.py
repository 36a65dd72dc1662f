# SPDX-License-Identifier: Apache-2.0
"""The engine's loops beside NumPy and PyTorch, interleaved in one process: medians, as ratios to the best peer.

Run: python benchmarks/native/bench_engine.py [part of a row's name ...]
Calls go through ctypes, which adds about half a microsecond to ours: rows of fewer than 10,000 elements say little here.
"""

import ctypes as c
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "engine"))
import native
import numpy as np
import torch
from native import OPS, Tensor, library, tensor, type_of

THREADS = torch.get_num_threads()


def prepared(name, *operands, out, saturate=False):
    """Return a call of run() with everything but the call done."""
    views, target = [tensor(x) for x in operands], tensor(out)
    pointers = (c.POINTER(Tensor) * 3)(*[c.pointer(v) for v in views])
    arguments = (OPS[name], int(saturate), type_of(operands[0].dtype), pointers, c.byref(target), 0)
    return lambda run=library.engine_run, arguments=arguments, keep=(views, target): run(*arguments)


def cast(x, out, nearest=False, saturate=False, scale=None, offset=0.0):
    source, target = tensor(x), tensor(out)
    arguments = (
        c.byref(target),
        c.byref(source),
        int(nearest),
        int(saturate),
        int(scale is not None),
        c.c_double(scale or 1),
        c.c_double(offset),
        0,
    )
    return lambda keep=(source, target): library.engine_cast(*arguments)


def copy(dst, src):
    a, b = tensor(dst), tensor(src)
    return lambda: library.engine_copy(c.byref(a), c.byref(b), 1)


def gemm(a, b, out):
    x, y, z = tensor(out), tensor(a), tensor(b)
    return lambda: library.engine_gemm(c.byref(x), c.byref(y), c.byref(z), c.c_double(1), c.c_double(0))


def rows():
    """Yield (name, ours, {peer: call})."""
    r = np.random.default_rng(0)
    for n in (10_000, 100_000, 1_000_000, 32 << 20):
        for kind in ("f4", "f8", "i4", "u1"):
            a, b = (r.integers(1, 100, n).astype(kind) for _ in range(2))
            o, t = np.empty_like(a), [torch.from_numpy(x) for x in (a, b)]
            ot = torch.empty_like(t[0])
            yield (
                f"add {kind} {n}",
                prepared("add", a, b, out=o),
                {"numpy": lambda: np.add(a, b, out=o), "torch": lambda: torch.add(*t, out=ot)},
            )
            if n > 1_000_000 and kind != "f4":
                continue
            m, mt = np.empty(n, bool), torch.empty(n, dtype=torch.bool)
            yield (
                f"less {kind} {n}",
                prepared("less", a, b, out=m),
                {"numpy": lambda: np.less(a, b, out=m), "torch": lambda: torch.lt(*t, out=mt)},
            )
        for kind in ("float16", "bfloat16"):
            a = r.normal(size=n).astype(native.dtype_of(kind))
            t = torch.from_numpy(a.astype(np.float32)).to(getattr(torch, kind))
            o, m, ot, mt = np.empty_like(a), np.empty(n, bool), torch.empty_like(t), torch.empty(n, dtype=torch.bool)
            if n <= 1_000_000:
                yield f"add {kind} {n}", prepared("add", a, a, out=o), {"torch": lambda: torch.add(t, t, out=ot)}
                yield f"less {kind} {n}", prepared("less", a, a, out=m), {"torch": lambda: torch.lt(t, t, out=mt)}
        x = (r.normal(size=n) * 100).astype("f4")
        u, v, xt = np.empty(n, "u1"), np.empty(n, "f4"), torch.from_numpy(x)
        ut, vt = torch.empty(n, dtype=torch.uint8), torch.empty(n)
        s = np.full((), 2.5, "f4")
        yield (
            f"scalar add f4 {n}",
            prepared("add", x, s, out=v),
            {"numpy": lambda: np.add(x, s, out=v), "torch": lambda: torch.add(xt, 2.5, out=vt)},
        )
        yield f"fma f4 {n}", prepared("fma", x, x, x, out=v), {"torch": lambda: torch.addcmul(xt, xt, xt, out=vt)}
        yield f"saturating f4 to u1 {n}", cast(x, u, True, True), {
            "numpy": lambda: np.clip(x, 0, 255).astype("u1"), "torch": lambda: ut.copy_(xt.clamp(0, 255))}  # fmt: skip
        yield f"saturating add u1 {n}", prepared("add", u, u, out=u.copy(), saturate=True), {
            "numpy": lambda: np.clip(u.astype("i2") + u, 0, 255).astype("u1")}  # fmt: skip
        yield f"cast u1 to f4 {n}", cast(u, v), {"numpy": lambda: np.copyto(v, u), "torch": lambda: vt.copy_(ut)}
        if n <= 1_000_000:
            p = np.abs(x) + 0.1
            pt = torch.from_numpy(p)
            p8, v8 = p.astype("f8"), np.empty(n)
            p8t, v8t = torch.from_numpy(p8), torch.empty(n, dtype=torch.float64)
            for f in ("exp", "log", "sin", "tanh", "sqrt"):
                q = p / 10 if f == "exp" else p
                yield (
                    f"{f} f4 {n}",
                    prepared(f, q, out=v),
                    {
                        "numpy": lambda f=f, q=q: getattr(np, f)(q, out=v),
                        "torch": lambda f=f: getattr(torch, f)(pt, out=vt),
                    },
                )
                yield (
                    f"{f} f8 {n}",
                    prepared(f, p8, out=v8),
                    {
                        "numpy": lambda f=f: getattr(np, f)(p8, out=v8),
                        "torch": lambda f=f: getattr(torch, f)(p8t, out=v8t),
                    },
                )
            e, et = np.empty(n // 2, "f4"), torch.empty(n // 2)
            yield (
                f"every second copy f4 {n}",
                copy(e, x[::2]),
                {"numpy": lambda: np.copyto(e, x[::2]), "torch": lambda: et.copy_(xt[::2])},
            )
            yield f"every second add f4 {n}", prepared("add", x[::2], x[1::2], out=e), {
                "numpy": lambda: np.add(x[::2], x[1::2], out=e), "torch": lambda: torch.add(xt[::2], xt[1::2], out=et)}  # fmt: skip
    for side in (64, 1000, 4096):
        for kind in ("f4", "f8", "u1"):
            a = r.integers(0, 100, (side, side)).astype(kind)
            o, t = np.empty_like(a), torch.from_numpy(a)
            ot = torch.empty_like(t)
            yield (
                f"transpose {kind} {side}",
                copy(o, a.T),
                {"numpy": lambda: np.copyto(o, a.T), "torch": lambda: ot.copy_(t.T)},
            )
            if kind == "f4":
                for what, b in (("row", a[:1]), ("column", a[:, :1]), ("b.T", a.T)):
                    bt = torch.from_numpy(b)
                    yield (
                        f"a + {what} {side}",
                        prepared("add", a, b, out=o),
                        {"numpy": lambda b=b: np.add(a, b, out=o), "torch": lambda bt=bt: torch.add(t, bt, out=ot)},
                    )
    for kind in ("u1", "f4"):
        h = r.integers(0, 255, (8, 512, 512, 3)).astype(kind)
        w = np.empty((8, 3, 512, 512), kind)
        ht, wt = torch.from_numpy(h), torch.from_numpy(w)
        yield (
            f"NHWC to NCHW {kind}",
            copy(w, h.transpose(0, 3, 1, 2)),
            {"numpy": lambda: np.copyto(w, h.transpose(0, 3, 1, 2)), "torch": lambda: wt.copy_(ht.permute(0, 3, 1, 2))},
        )
        yield (
            f"NCHW to NHWC {kind}",
            copy(h, w.transpose(0, 2, 3, 1)),
            {"numpy": lambda: np.copyto(h, w.transpose(0, 2, 3, 1)), "torch": lambda: ht.copy_(wt.permute(0, 2, 3, 1))},
        )
        if kind == "u1":
            f = np.empty((8, 3, 512, 512), "f4")
            ft = torch.from_numpy(f)
            yield "HWC u1 to CHW f4 scaled", cast(h.transpose(0, 3, 1, 2), f, scale=1 / 255, offset=-0.5), {
                "torch": lambda: ft.copy_(ht.permute(0, 3, 1, 2)).mul_(1 / 255).sub_(0.5)}  # fmt: skip
    for side in (8, 16, 32, 48, 64, 128, 256, 512):
        a = r.normal(size=(side, side)).astype("f4")
        o, t = np.empty_like(a), torch.from_numpy(a)
        ot = torch.empty_like(t)
        yield (
            f"gemm f4 {side}",
            gemm(a, a, o),
            {"numpy": lambda: np.matmul(a, a, out=o), "torch": lambda: torch.mm(t, t, out=ot)},
        )


def measure(calls, seconds=0.25):
    """Round-robin; medians in microseconds."""
    times = {k: [] for k in calls}
    repeats = {}
    for k, f in calls.items():
        f()
        start = time.perf_counter()
        f()
        repeats[k] = max(1, int(2e-5 / max(time.perf_counter() - start, 1e-7)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[next(iter(times))]) < 5:
        for k, f in calls.items():
            start = time.perf_counter()
            for _ in range(repeats[k]):
                f()
            times[k].append((time.perf_counter() - start) / repeats[k] * 1e6)
    return {k: statistics.median(v) for k, v in times.items()}


def main():
    results = {}
    for threads in (1, THREADS):
        library.engine_set_threads(threads)
        torch.set_num_threads(threads)
        for name, ours, peers in rows():
            if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
                continue
            got = measure({"ours": ours, **peers})
            best = min(v for k, v in got.items() if k != "ours")
            results[f"{name} {threads}T"] = {**got, "ratio": best / got["ours"]}
            print(
                f"{name:34s} {threads}T  "
                + "  ".join(f"{k} {v:10.1f}" for k, v in got.items())
                + f"   {best / got['ours']:6.2f} x",
                flush=True,
            )
    pathlib.Path("bench_engine.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
