# SPDX-License-Identifier: Apache-2.0
"""The engine and its kernels under AddressSanitizer, on the host driver: clean, and able to find a planted fault."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def sanitizer():
    try:
        path = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("g++ is not installed")
    if "/" not in path:
        pytest.skip("libasan.so is not installed")
    return path.strip()


def environment():
    return {
        **os.environ,
        "LD_PRELOAD": sanitizer(),
        # The driver carries its own operator new, and the process its delete.
        "ASAN_OPTIONS": "detect_leaks=0:alloc_dealloc_mismatch=0:exitcode=77",
        "DLTENSOR_TEST_ASAN": "1",
        "DLTENSOR_CUDA_NVRTC": "off",
    }


def test_views_broadcasts_and_memory_are_clean():
    choice = "broadcasting or views or overlap or another or misaligned or tile or batches or round_trip"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", choice]
    command += [str(HERE / f"test_cuda_{name}.py") for name in ("elements", "memory", "moves")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.parametrize("fault", ["past the end", "after the free"])
def test_a_kernel_that_leaves_its_memory_is_reported_with_its_line(fault):
    script = f"""
    import ctypes, sys
    import numpy as np
    sys.path.insert(0, {str(HERE)!r})
    import conftest
    engine = conftest.load_engine()
    hostcuda = conftest.module("hostcuda_under_test", str(conftest.SOURCE / "testing" / "hostcuda.py"))
    machine = hostcuda.load(sanitize=True)
    cuda = engine.Engine(engine.build(engine.scratch() / "engine", ["-fsanitize=address"]))
    x = cuda.upload(np.ones(128, "f4"))
    out = cuda.empty((300,), "float32")
    if {fault!r} == "past the end":
        x.shape = (300,)
    else:
        context = ctypes.c_void_p()
        machine.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        machine.library.cuCtxSetCurrent(context)
        assert machine.library.cuMemFreeAsync(ctypes.c_uint64(cuda.c.shim_data(x.block)), None) == 0
        out.shape = x.shape
    cuda.run("negative", [x], "float32", out=out)
    print("not found")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=environment(), capture_output=True, text=True, timeout=900
    )
    assert "not found" not in done.stdout
    assert "ERROR: AddressSanitizer: use-after-poison" in done.stderr, done.stderr[-3000:]
    assert "element.cuh:" in done.stderr
