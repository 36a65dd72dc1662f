# SPDX-License-Identifier: Apache-2.0
"""What it costs to hand a tensor over, beside the peers that do the same thing.

Run: ``make bench`` or ``python benchmarks/bench_exchange.py [--json FILE]``. Each row times our call and the peer's by
turns in one process; medians, the empty loop taken off. Rows whose peer is not installed are left out and named.
Bias: small tensors, warm caches, one thread; the peers do more in some of their calls and less in others.
"""

import argparse
import json
import subprocess
import sys

from interleave import measure

import dltensor as dl

# Row: what is done, our statement, goal as a ratio, the peer's statement, modules needed.
ROWS = [
    ("from_dlpack(torch tensor)", "dl_from(x)", 0.45, "tvm_from(x)", "torch tvm_ffi"),
    ("torch tensor as an argument", "data_ptr(x)", 0.33, "nop(x)", "torch tvm_ffi"),
    ("from_dlpack(numpy array)", "dl_from(a)", 0.7, "np_from(a)", "numpy"),
    ("np.from_dlpack(ours)", "np_from(t)", 1.0, "np_from(a)", "numpy"),
    ("t.numpy()", "t.numpy()", 0.4, "np_from(a)", "numpy"),
    ("into(t, torch.Tensor)", "into(t, Torch)", 0.75, "from_numpy(a)", "torch"),
    ("tvm_ffi.from_dlpack(ours)", "tvm_from(t)", 0.85, "tvm_from(x)", "torch tvm_ffi"),
    ("__dlpack__(max_version=(1, 3))", "t.__dlpack__(max_version=v)", 0.9, "a.__dlpack__(max_version=v)", "numpy"),
    ("x[1]", "t[1]", 0.7, "a[1]", "numpy"),
    ("x[1:]", "t[1:]", 0.7, "a[1:]", "numpy"),
    ("x[1:, ::2]", "t[1:, ::2]", 0.7, "a[1:, ::2]", "numpy"),
    ("empty(64 bytes)", "dl_empty(16)", 0.5, "np_empty(16, f4)", "numpy"),
]
# Row: what is done, our statement, nanoseconds allowed above an empty call.
ALONE = [
    ("from_dlpack(own tensor)", "dl_from(t)", 30),
    ("asarray(own tensor)", "asarray(t)", 30),
]


def _names():
    """What the statements refer to; modules that are not installed leave their names out."""
    names = {"dl_from": dl.from_dlpack, "into": dl.into, "asarray": dl.asarray, "dl_empty": dl.empty, "data_ptr": dl.data_ptr, "v": (1, 3),
             "empty_call": lambda x: None}
    missing = set()
    try:
        import numpy as np

        a = np.arange(24, dtype=np.float32).reshape(4, 6)
        names |= {"a": a, "np_from": np.from_dlpack, "np_empty": np.empty, "f4": np.dtype("float32")}
    except ImportError:
        missing.add("numpy")
    try:
        import torch

        torch.set_num_threads(1)
        names |= {"x": torch.arange(24.0).reshape(4, 6), "Torch": torch.Tensor, "from_numpy": torch.from_numpy}
    except ImportError:
        missing.add("torch")
    try:
        import tvm_ffi

        names |= {"tvm_from": tvm_ffi.from_dlpack, "nop": tvm_ffi.get_global_func("testing.nop")}
    except ImportError:
        missing.add("tvm_ffi")
    names["t"] = dl.asarray([[float(6 * i + k) for k in range(6)] for i in range(4)], dtype="float32")
    return names, missing


def _import_time():
    """Median milliseconds of `import dltensor` in fresh interpreters, beside an empty one, and whether NumPy came along."""
    code = ("import time; s = time.perf_counter(); import dltensor; e = time.perf_counter(); import sys; "
            "print((e - s) * 1e3, 'numpy' in sys.modules)")
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(9)]
    return sorted(float(run[0]) for run in runs)[4], any(run[1] == "True" for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures here too")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    names, missing = _names()
    cases = {"empty call": "empty_call(t)"}
    for what, ours, _, peer, needed in ROWS:
        if not missing & set(needed.split()):
            cases[what], cases[f"peer of {what}"] = ours, peer
    for what, ours, _ in ALONE:
        cases[what] = ours
    result = measure(cases, names, options.rounds)
    print(f"{'call':34}{'ns':>8}{'peer ns':>9}{'ratio':>8}{'goal':>7}")
    for what, _, goal, peer, needed in ROWS:
        if what in result:
            mine, other = result[what], result[f"peer of {what}"]
            print(f"{what:34}{mine:8.0f}{other:9.0f}{mine / other:8.2f}{goal:7.2f}  {'met' if mine <= goal * other else 'MISSED'}  ({peer})")
        else:
            print(f"{what:34} not measured: needs {needed}")
    for what, _, goal in ALONE:
        over = result[what] - result["empty call"]
        print(f"{what:34}{result[what]:8.0f}{'':9}{over:+8.0f}{goal:7}  {'met' if over <= goal else 'MISSED'}  (ns above an empty call)")
    milliseconds, numpy_came = _import_time()
    print(f"{'import dltensor':34}{milliseconds:8.1f} ms, goal 30 ms, NumPy {'imported' if numpy_came else 'not imported'}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"ns": result, "import_ms": milliseconds}, file, indent=1)


if __name__ == "__main__":
    main()
