# SPDX-License-Identifier: Apache-2.0
"""The cost of an exchange: the rows, and the names their statements use. Only the import is timed here."""

import subprocess
import sys

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


def names():
    """What the statements refer to, and which modules are missing; these leave their names out.

    Returns
    -------
    (dict of str to object, set of str)

    Raises
    ------
    Nothing.
    """
    known = {
        "dl_from": dl.from_dlpack,
        "into": dl.into,
        "asarray": dl.asarray,
        "dl_empty": dl.empty,
        "data_ptr": dl.data_ptr,
        "v": (1, 3),
        "empty_call": lambda x: None,
    }
    missing = set()
    try:
        import numpy as np

        a = np.arange(24, dtype=np.float32).reshape(4, 6)
        known |= {"a": a, "np_from": np.from_dlpack, "np_empty": np.empty, "f4": np.dtype("float32")}
    except ImportError:
        missing.add("numpy")
    try:
        import torch

        torch.set_num_threads(1)
        known |= {"x": torch.arange(24.0).reshape(4, 6), "Torch": torch.Tensor, "from_numpy": torch.from_numpy}
    except ImportError:
        missing.add("torch")
    try:
        import tvm_ffi

        known |= {"tvm_from": tvm_ffi.from_dlpack, "nop": tvm_ffi.get_global_func("testing.nop")}
    except ImportError:
        missing.add("tvm_ffi")
    known["t"] = dl.asarray([[float(6 * i + k) for k in range(6)] for i in range(4)], dtype="float32")
    return known, missing


def import_time(rounds=9):
    """Median milliseconds of ``import dltensor`` in fresh interpreters, and whether NumPy came along.

    Raises
    ------
    subprocess.CalledProcessError
        The import fails.
    """
    code = (
        "import time; s = time.perf_counter(); import dltensor; e = time.perf_counter(); import sys; "
        "print((e - s) * 1e3, 'numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(rounds)]
    return sorted(float(run[0]) for run in runs)[rounds // 2], any(run[1] == "True" for run in runs)
