# SPDX-License-Identifier: Apache-2.0
"""Work on 128 MiB as a fraction of what the memory allows: the limit is taken by C loops in the same process.

Run: python benchmarks/bench_memory.py [part of a row's name ...] [--json FILE] [--turns 18] (needs g++, x86-64)
Each turn times our call and the C loops of a row in all their ways, with one thread and with two. A row is the limit's
minimum over ours. There is no verdict where the limit's own median is 1.5 times its minimum: others use the memory.
"""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dltensor as dl
from dltensor._tools.timing import processor

SIDE = 4096
COUNT = 1 << 25
WAYS = 3
SWING = 1.5
# Row: work (the place is its number in limits.cc), statement, gate and goal as limit over ours; elements per element of a.
ROWS = [
    ("add", "dl.add(a, b, out=o)", 0.88, 0.95),
    ("multiply by a number", "dl.multiply(a, 2.5, out=o)", 0.90, 0.95),
    ("less", "dl.less(a, b, out=m)", 0.83, 0.95),
    ("fill", "dl.fill(3.0, o)", 0.93, 0.97),
    ("copy", "dl.copy(a, o)", 0.93, 0.97),
    ("uint8 to float32", "dl.cast(u, o)", 0.90, 0.95),
    ("float16 add", "dl.add(h, k, out=e)", 0.88, 0.95),
    ("4096 x 4096 + row", "dl.add(s, r, out=q)", 0.90, 1.0),
]
OPERANDS = [("o", "a", "b"), ("o", "a", "a"), ("m", "a", "b"), ("o", "a", "a"), ("o", "a", "a"), ("o", "u", "u"), ("e", "h", "k"), ("q", "s", "r")]  # fmt: skip
FRESH = "fresh result over out=", "a + b", "dl.add(a, b, out=o)", 1.1, 1.0


def limits(folder):
    """The C loops, compiled for this processor."""
    source = Path(__file__).parent / "native" / "limits.cc"
    made = Path(folder) / "limits.so"
    subprocess.run(
        ["g++", "-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-pthread", source, "-o", made], check=True
    )
    function = ctypes.CDLL(str(made)).limit
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int]
    return function


def tensors():
    a = dl.arange(COUNT, dtype="float32")
    square = a[: SIDE * SIDE].reshape(SIDE, SIDE)
    h = dl.astype(a[: 1 << 20], "float16").reshape(1, -1)
    half = dl.copy(dl.broadcast_to(h, (COUNT >> 20, 1 << 20))).reshape(-1)
    return {
        "dl": dl, "a": a, "b": dl.add(a, 1), "o": dl.zeros(COUNT), "m": dl.zeros(COUNT, dtype="bool"), "u": dl.ones(COUNT, dtype="uint8"),
        "h": half, "k": half.copy(), "e": dl.zeros(COUNT, dtype="float16"),
        "s": square, "r": dl.arange(SIDE, dtype="float32"), "q": dl.zeros((SIDE, SIDE)),
    }  # fmt: skip


def once(code, names):
    start = time.perf_counter()
    exec(code, names)
    return time.perf_counter() - start


def measure(number, names, function, threads, turns):
    """Seconds of every turn: ours, and the fastest of the C loops."""
    what, statement, _, _ = ROWS[number]
    out, a, b = (names[name] for name in OPERANDS[number])
    code = compile(statement, what, "exec")
    dl.set_num_threads(threads)
    ours, limit = [], []
    for turn in range(turns + 1):
        took = once(code, names)
        ways = [function(number, way, out.data_ptr, a.data_ptr, b.data_ptr, out.size, threads) for way in range(WAYS)]
        if turn:  # the first one wakes threads and touches pages
            ours.append(took)
            limit.append(min(ways))
    return ours, limit


def verdict_on(ours, limit, gate, goal):
    """The fraction of the limit that was reached, by minima, and what it means."""
    fraction = min(limit) / min(ours)
    if statistics.median(limit) > SWING * min(limit):
        return fraction, "no verdict: the memory is in use"
    return fraction, "goal" if fraction >= goal else "met" if fraction >= gate else "MISSED"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="parts of names of rows; without one, all rows")
    parser.add_argument("--turns", type=int, default=18)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.turns < 9:
        sys.exit("--turns: at least 9, as minima of fewer turns say little")
    names, kept, before = tensors(), [], dl.num_threads()
    print(
        f"processor: {processor()}\n{'128 MiB':26}{'threads':>8}{'ours ms':>9}{'limit ms':>9}{'reached':>9}{'gate':>6}{'goal':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        function = limits(folder)
        for number, (what, statement, gate, goal) in enumerate(ROWS):
            if options.part and not any(part in what for part in options.part):
                continue
            for threads in options.threads:
                ours, limit = measure(number, names, function, threads, options.turns)
                fraction, verdict = verdict_on(ours, limit, gate, goal)
                kept.append({"name": f"{what}, {threads} threads", "statement": statement, "gate": gate, "goal": goal,
                             "ratio": fraction, "verdict": verdict, "ours": min(ours), "limit": min(limit)})  # fmt: skip
                print(f"{what:26}{threads:8}{min(ours) * 1e3:9.2f}{min(limit) * 1e3:9.2f}{fraction:9.2f}{gate:6.2f}{goal:6.2f}  {verdict}", flush=True)  # fmt: skip
    what, fresh, written, gate, goal = FRESH
    if not options.part or any(part in what for part in options.part):
        for threads in options.threads:
            dl.set_num_threads(threads)
            new, old = (
                [once(compile(code, what, "exec"), names) for _ in range(options.turns)] for code in (fresh, written)
            )
            ratio = min(new) / min(old)
            verdict = "goal" if ratio <= goal else "met" if ratio <= gate else "MISSED"
            kept.append({"name": f"{what}, {threads} threads", "statement": fresh, "gate": gate, "goal": goal, "ratio": ratio,
                         "verdict": verdict, "ours": min(new), "limit": min(old)})  # fmt: skip
            print(
                f"{what:26}{threads:8}{min(new) * 1e3:9.2f}{min(old) * 1e3:9.2f}{ratio:9.2f}{gate:6.2f}{goal:6.2f}  {verdict} (at most)"
            )
    dl.set_num_threads(before)
    if options.json:
        Path(options.json).write_text(json.dumps({"processor": processor(), "rows": kept}, indent=1))


if __name__ == "__main__":
    main()
