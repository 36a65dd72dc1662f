# SPDX-License-Identifier: Apache-2.0
"""The cost of an exchange: the rows, and the names their statements use. Only the import is timed here."""

import subprocess
import sys
from array import array

import dltensor as dl

# Row: what is done, our statement, gate and goal as ratios of our time over the peer's, its statement, modules needed.
# Statements are written as users write them, with the look-up in the module.
ROWS = [
    ("from_dlpack(torch tensor)", "dl.from_dlpack(x)", 0.8, 0.45, "tvm_ffi.from_dlpack(x)", "torch tvm_ffi"),
    ("torch tensor as an argument", "dl.data_ptr(x)", 0.45, 0.3, "nop(x)", "torch tvm_ffi"),
    ("from_dlpack(numpy array)", "dl.from_dlpack(a)", 0.7, 0.35, "np.from_dlpack(a)", "numpy"),
    ("from_dlpack(tvm-ffi tensor)", "dl.from_dlpack(f)", 0.85, 0.75, "np.from_dlpack(f)", "numpy tvm_ffi"),
    ("from_dlpack(pyarrow array)", "dl.from_dlpack(p)", 1.0, 0.9, "np.from_dlpack(p)", "numpy pyarrow"),
    ("from_dlpack(jax array)", "dl.from_dlpack(j)", 1.0, 0.98, "np.from_dlpack(j)", "numpy jax"),
    ("asarray(memoryview)", "dl.asarray(m)", 0.6, 0.45, "np.asarray(m)", "numpy"),
    ("np.from_dlpack(ours)", "np.from_dlpack(t)", 1.0, 0.9, "np.from_dlpack(a)", "numpy"),
    ("t.numpy()", "t.numpy()", 0.4, 0.3, "np.from_dlpack(a)", "numpy"),
    ("into(t, torch.Tensor)", "dl.into(t, torch.Tensor)", 0.75, 0.6, "torch.from_numpy(a)", "torch"),
    ("into(t, tvm_ffi.Tensor)", "dl.into(t, tvm_ffi.Tensor)", 0.85, 0.75, "tvm_ffi.from_dlpack(a)", "numpy tvm_ffi"),
    ("tvm_ffi.from_dlpack(ours)", "tvm_ffi.from_dlpack(t)", 0.85, 0.75, "tvm_ffi.from_dlpack(x)", "torch tvm_ffi"),
    ("__dlpack__(max_version=(1, 3))", "t.__dlpack__(max_version=v)", 0.9, 0.8, "a.__dlpack__(max_version=v)", "numpy"),
    ("x[1]", "t[1]", 0.7, 0.4, "a[1]", "numpy"),
    ("x[1:]", "t[1:]", 0.7, 0.5, "a[1:]", "numpy"),
    ("x[1:, ::2]", "t[1:, ::2]", 0.75, 0.65, "a[1:, ::2]", "numpy"),
    ("empty(64 bytes)", "dl.empty(16)", 0.7, 0.5, "np.empty(16, f4)", "numpy"),
]
# Row: what is done, our statement, nanoseconds allowed above an empty call.
ALONE = [
    ("from_dlpack(own tensor)", "dl.from_dlpack(t)", 30),
    ("asarray(own tensor)", "dl.asarray(t)", 30),
]


def names():
    """Import the modules of the statements and return their variables, and the set of modules that are missing."""
    known = {"dl": dl, "v": (1, 3), "empty_call": lambda x: None, "m": memoryview(array("f", range(24)))}
    missing = set()
    try:
        import numpy as np

        a = np.arange(24, dtype=np.float32).reshape(4, 6)
        known |= {"np": np, "a": a, "f4": np.dtype("float32")}
    except ImportError:
        missing.add("numpy")
    try:
        import torch

        torch.set_num_threads(1)
        known |= {"torch": torch, "x": torch.arange(24.0).reshape(4, 6)}
    except ImportError:
        missing.add("torch")
    try:
        import tvm_ffi

        known |= {"tvm_ffi": tvm_ffi, "nop": tvm_ffi.get_global_func("testing.nop")}
        if "a" in known:
            known["f"] = tvm_ffi.from_dlpack(known["a"])
    except ImportError:
        missing.add("tvm_ffi")
    try:
        import pyarrow

        known["p"] = pyarrow.array([float(i) for i in range(24)], type=pyarrow.float32())
    except ImportError:
        missing.add("pyarrow")
    try:
        import jax.numpy

        known["j"] = jax.numpy.arange(24, dtype="float32")
    except ImportError:
        missing.add("jax")
    known["t"] = dl.asarray([[float(6 * i + k) for k in range(6)] for i in range(4)], dtype="float32")
    return known, missing


def import_time(rounds=9):
    """Return median milliseconds of ``import dltensor`` in new interpreters, and whether it imported NumPy."""
    code = (
        "import time; s = time.perf_counter(); import dltensor; e = time.perf_counter(); import sys; "
        "print((e - s) * 1e3, 'numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(rounds)]
    return sorted(float(run[0]) for run in runs)[rounds // 2], any(run[1] == "True" for run in runs)
