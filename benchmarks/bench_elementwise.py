# SPDX-License-Identifier: Apache-2.0
"""Element-wise work of every kind and size: in the caches, in memory, saturating, transcendental; and how cost grows.

Run: python benchmarks/bench_elementwise.py [part of a row's name ...] [--json FILE] [--plot FILE]
With --plot a second picture, FILE with "-linear" before its ending, shows nanoseconds per element from 1 to 2**22 elements
(--most 28: to 2**28).
"""

import time
from pathlib import Path

import ml_dtypes
import numpy as np
from compare import Row, linear, main, torch

import dltensor as dl

KINDS = {"f4": "float32", "f8": "float64", "i4": "int32", "u1": "uint8", "f2": "float16", "bf16": "bfloat16"}
FUNCTIONS = ("exp", "log", "sin", "tanh", "sqrt")
IN_CACHE = (10_000, 100_000, 1_000_000)
LARGE = 1 << 25  # float32 elements: 128 MiB


def _aligned(n, dtype):
    """An array that begins at a line of the cache, as every tensor of ours does: the same for all."""
    dtype = np.dtype(dtype)
    memory = np.empty(n * dtype.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + n * dtype.itemsize].view(dtype)


def _torch(array):
    if torch is None:
        return None
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _names(n, kind):
    dtype = np.dtype(getattr(ml_dtypes, KINDS[kind], KINDS[kind]))
    made = {"np": np, "dl": dl, "torch": torch, "one": dtype.type(3)}
    random = np.random.default_rng(0)
    for name in "abo":
        array = _aligned(n, dtype)
        array[:] = random.integers(1, 100, n) if name != "o" else 0
        made |= {f"n{name}": array, name: dl.asarray(array), f"t_{name}": _torch(array)}
    mask = _aligned(n, bool)
    return made | {"nm": mask, "m": dl.asarray(mask), "t_m": _torch(mask)}


def in_cache():
    for n in IN_CACHE:
        for kind in KINDS:
            small = kind in ("f2", "bf16")
            names = _names(n, kind)
            gate, goal = (1.15, 1.7) if small else (0.95, 1.05)
            yield Row(
                kind,
                f"add {n}",
                gate,
                goal,
                "dl.add(a, b, out=o)",
                {"numpy": "np.add(na, nb, out=no)", "torch": "torch.add(t_a, t_b, out=t_o)"},
                names,
            )
            yield Row(
                kind,
                f"add scalar {n}",
                gate,
                goal,
                "dl.add(a, 3, out=o)",
                {"numpy": "np.add(na, one, out=no)", "torch": "torch.add(t_a, 3, out=t_o)"},
                names,
            )
            yield Row(
                kind,
                f"multiply {n}",
                gate,
                goal,
                "dl.multiply(a, b, out=o)",
                {"numpy": "np.multiply(na, nb, out=no)", "torch": "torch.mul(t_a, t_b, out=t_o)"},
                names,
            )
            gate, goal = (4, 8) if small else (0.95, 1.05)
            yield Row(
                kind,
                f"less {n}",
                gate,
                goal,
                "dl.less(a, b, out=m)",
                {"numpy": "np.less(na, nb, out=nm)", "torch": "torch.lt(t_a, t_b, out=t_m)"},
                names,
            )
            if kind == "f4":
                yield Row(
                    kind,
                    f"fma {n}",
                    0.95,
                    1.05,
                    "dl.fma(2.0, a, b, out=o)",
                    {
                        "numpy": "np.add(np.multiply(na, 2.0, out=no), nb, out=no)",
                        "torch": "torch.add(t_b, t_a, alpha=2.0, out=t_o)",
                    },
                    names,
                )
                yield Row(
                    kind, f"fresh a + b {n}", 0.95, 1.2, "a + b", {"numpy": "na + nb", "torch": "t_a + t_b"}, names
                )


def saturating():
    for n in IN_CACHE:
        names = _names(n, "f4") | {"n8": np.empty(n, np.uint8), "o8": dl.empty(n, dtype="uint8")}
        names["t_8"] = _torch(names["n8"])
        names["na"] *= 3
        yield Row(
            "saturating",
            f"f32 to u8 {n}",
            2,
            3,
            "dl.cast(a, o8, rounding='nearest')",
            {
                "numpy": "np.copyto(n8, np.clip(na, 0, 255, out=no), casting='unsafe')",
                "torch": "t_8.copy_(torch.clamp(t_a, 0, 255, out=t_o))",
            },
            names,
        )
        names = _names(n, "u1") | {"wide": np.empty(n, np.uint16)}
        names["t_wide"] = torch.empty(n, dtype=torch.int16) if torch is not None else None
        yield Row(
            "saturating",
            f"u8 + u8 {n}",
            2,
            3,
            "dl.add(a, b, out=o, saturate=True)",
            {
                "numpy": "np.copyto(no, np.minimum(np.add(na, nb, out=wide, dtype=np.uint16), 255, out=wide), casting='unsafe')",
                "torch": "t_o.copy_(torch.clamp(torch.add(t_a.short(), t_b), max=255))",
            },
            names,
        )


def functions():
    for n in IN_CACHE:
        for kind in ("f4", "f8"):
            names = _names(n, kind)
            names["na"] /= 30
            for name in FUNCTIONS:
                yield Row(
                    kind,
                    f"{name} {n}",
                    0.9,
                    1.0,
                    f"dl.{name}(a, o)",
                    {"numpy": f"np.{name}(na, out=no)", "torch": f"torch.{name}(t_a, out=t_o)"},
                    names,
                )


def in_memory():
    n = LARGE
    names = _names(n, "f4")
    for what, gate, goal, ours, numpy, peer in (
        ("add", 1.08, 1.2, "dl.add(a, b, out=o)", "np.add(na, nb, out=no)", "torch.add(t_a, t_b, out=t_o)"),
        ("fma", 1.08, 1.2, "dl.fma(2.0, a, b, out=o)", "np.add(np.multiply(na, 2.0, out=no), nb, out=no)", "torch.add(t_b, t_a, alpha=2.0, out=t_o)"),
        ("add scalar", 1.3, 1.4, "dl.add(a, 3.0, out=o)", "np.add(na, 3.0, out=no)", "torch.add(t_a, 3.0, out=t_o)"),
        ("fill", 2, 2.4, "dl.fill(3.0, o)", "no.fill(3.0)", "t_o.fill_(3.0)"),
        ("less", 0.95, 1.05, "dl.less(a, b, out=m)", "np.less(na, nb, out=nm)", "torch.lt(t_a, t_b, out=t_m)"),
        ("copy", 0.95, 1.05, "dl.copy(a, o)", "np.copyto(no, na)", "t_o.copy_(t_a)"),
    ):  # fmt: skip
        yield Row("128 MiB", what, gate, goal, ours, {"numpy": numpy, "torch": peer}, names)
    bytes_ = np.ones(n, np.uint8)
    yield Row(
        "128 MiB",
        "u8 to f32",
        1.8,
        2.2,
        "dl.cast(u, o)",
        {"numpy": "np.copyto(no, nu)", "torch": "t_o.copy_(t_u)"},
        names | {"nu": bytes_, "u": dl.asarray(bytes_), "t_u": _torch(bytes_)},
    )
    for count, gate, goal in (
        (1 << 15, 0.95, 1.2),
        (1 << 18, 0.95, 1.2),
        (1 << 20, 0.95, 1.2),
        (1 << 22, 0.95, 1.2),
        (1 << 24, 2, 3),
        (LARGE, 2, 3),
    ):
        part = {name: value[:count] if getattr(value, "ndim", 0) == 1 else value for name, value in names.items()}
        yield Row(
            "fresh result",
            f"a + b, {count * 4 / 2**20:g} MiB",
            gate,
            goal,
            "a + b",
            {"numpy": "na + nb", "torch": "t_a + t_b"},
            part,
        )


def idle():
    """The first threaded call after 10 ms of nothing, beside one thread alone. A peer's is printed without a gate."""
    n = 300_000
    names = _names(n, "f4")
    import statistics

    found = {}
    calls = {
        "ours 1": (1, lambda: dl.add(names["a"], names["b"], out=names["o"])),
        "ours 2": (2, lambda: dl.add(names["a"], names["b"], out=names["o"])),
    }
    if torch is not None:
        calls["torch 2"] = 2, lambda: torch.add(names["t_a"], names["t_b"], out=names["t_o"])
    samples = {name: [] for name in calls}
    for _ in range(40):
        for name, (threads, call) in calls.items():
            dl.set_num_threads(threads)
            if torch is not None:
                torch.set_num_threads(threads)
            call()
            time.sleep(0.01)
            start = time.perf_counter_ns()
            call()
            samples[name].append(time.perf_counter_ns() - start)
    found = {name: statistics.median(taken) for name, taken in samples.items()}
    ratio = found["ours 2"] / found["ours 1"]
    print(
        f"first threaded add of {n} after 10 ms idle, over one thread: {ratio:.2f} (gate 1.2, goal 1.05); "
        + ", ".join(f"{name} {ns / 1e3:.0f} us" for name, ns in found.items())
    )
    return found


def add_of(n):
    peers = {"numpy": "np.add(na, nb, out=no)", "torch": "torch.add(t_a, t_b, out=t_o)"}
    return Row("linear", str(n), 0, 0, "dl.add(a, b, out=o)", peers, _names(n, "u1"))


def rows():
    yield from in_cache()
    yield from saturating()
    yield from functions()
    yield from in_memory()


def extra(options, kept):
    if not options.part or "idle" in options.part:
        found = idle()
        kept.append(
            {
                "name": "first threaded call after 10 ms idle",
                "gate": 1 / 1.2,
                "goal": 1 / 1.05,
                "ns": found,
                "ratio": found["ours 1"] / found["ours 2"],
                "ratio_1": 1,
                "best": "ours 1",
                "ours": found["ours 2"],
            }
        )
    if options.plot and not options.part:
        path = Path(options.plot)
        linear({"uint8 add(out=)": add_of}, path.with_name(f"{path.stem}-linear{path.suffix}"), options.most)


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0], extra)
