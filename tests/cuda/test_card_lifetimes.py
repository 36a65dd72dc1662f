# SPDX-License-Identifier: Apache-2.0
"""Lifetimes across libraries on a card: consumers' streams, outputs of graphs, imported memory.

Each program runs in a process of its own, since what fails here may end the process.
"""

import os
import subprocess
import sys

import conftest as setup  # beside this file: whether a card or the host driver runs
import pytest
from native_tools import require_module

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not setup.ON_CARD, reason="needs a card (DLTENSOR_TEST_GPU=1)"),
]


def run_alone(program):
    """Run a program in a process of its own; return what it printed last."""
    done = subprocess.run(
        [sys.executable, "-c", "import dltensor as dl\n" + program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    return done.stdout.strip().splitlines()[-1]


CUPY_STREAM = """
import gc, cupy
for k in range(20):
    x = dl.full((1 << 20,), 3.0, dtype="float32", device="cuda")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = cupy.from_dlpack(x)
        z = y + k
    del y
    stream.synchronize()
    del stream
    gc.collect()   # CuPy destroys the stream with its object
    del x
    late = dl.full((1 << 20,), -7.0, dtype="float32", device="cuda")
    assert float(z[5]) == 3 + k and late[7].item() == -7
    del late, z
dl.cuda.synchronize()
dl.cuda.empty_cache()
print("waiting", dl.cuda.memory_stats()["waiting"])
"""
CUDA_CORE_STREAM = """
try:
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView
except ImportError:
    from cuda.core.experimental import Device
    from cuda.core.experimental.utils import StridedMemoryView
device = Device(0)
device.set_current()
for k in range(20):
    x = dl.full((1 << 20,), 3.0, dtype="float32", device="cuda")
    stream = device.create_stream()
    view = StridedMemoryView.from_dlpack(x, stream_ptr=int(stream.handle))
    assert view.ptr == x.data_ptr
    del view
    stream.sync()
    stream.close()
    del stream, x
    late = dl.full((1 << 20,), -7.0, dtype="float32", device="cuda")
    assert late[7].item() == -7
    del late
dl.cuda.synchronize()
dl.cuda.empty_cache()
print("waiting", dl.cuda.memory_stats()["waiting"])
"""


@pytest.mark.parametrize(("module", "program"), [("cupy", CUPY_STREAM), ("cuda.core", CUDA_CORE_STREAM)])
def test_a_consumer_may_destroy_its_stream_before_the_tensor_is_released(module, program):
    require_module(module)
    assert run_alone(program) == "waiting 0"


GRAPH_OUTPUT = """
import ctypes, sys, time
P, n, user = ctypes.c_void_p, 1 << 25, "{user}"
cu = ctypes.CDLL("libcuda.so.1")
s, t = dl.cuda.Stream(), dl.cuda.Stream()
with s:
    x = dl.ones((n,), dtype="float32", device="cuda")
    dl.add(x * 2.0, 1.0), dl.full((n,), 1.0, dtype="float32", device="cuda")
s.synchronize()
context, graph, run, h = P(), P(), P(), P(s.handle)
cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cu.cuCtxPushCurrent_v2(context)
for turn in range(10):
    assert cu.cuStreamBeginCapture_v2(h, 2) == 0
    with s:
        y = x * 2.0
    assert cu.cuStreamEndCapture(h, ctypes.byref(graph)) == 0
    assert cu.cuGraphInstantiateWithFlags(ctypes.byref(run), graph, ctypes.c_uint64(0)) == 0
    assert cu.cuGraphLaunch(run, h) == 0
    s.synchronize()
    with s if user == "same" else t:
        z = y
        for _ in range(1000):  # the device is behind: y is read long after these calls
            z = dl.add(y, z)
    assert cu.cuGraphExecDestroy(run) == 0 and cu.cuGraphDestroy(graph) == 0
    del y
    end = time.monotonic() + 1
    while dl.cuda.memory_stats()["captured_bytes"] and time.monotonic() < end:
        dl.cuda.empty_cache()
    with dl.cuda.Stream() as u:
        late = [dl.full((n,), -7.0, dtype="float32", device="cuda") for _ in range(8)]
    u.synchronize()
    assert float(z[0].item()) == float(z[n - 1].item()) == 2002, (turn, z[0].item(), z[n - 1].item())
    del z, late
print("right")
"""


@pytest.mark.parametrize("user", ["same", "other"])
def test_an_output_of_a_destroyed_graph_is_kept_while_it_is_read(user):
    assert run_alone(GRAPH_OUTPUT.replace("{user}", user)) == "right"


IMPORTS = """
import gc, torch
count, n = 200, 1 << 22
out, other = (dl.empty((n,), dtype="float32", device="cuda") for _ in range(2))
torch.ones(n, device="cuda").sum().item()
dl.add(out, 1, out=other), other * 2
dl.cuda.synchronize()
gc.collect()
before, most = torch.cuda.memory_allocated(), 0
for k in range(count):
    t = torch.full((n,), float(k), device="cuda")
    x = dl.from_dlpack(t)
    del t
    for _ in range(20):
        dl.add(x, 1, out=out)
    y = x * 2
    del x, y
    most = max(most, torch.cuda.memory_allocated() - before)
dl.cuda.synchronize()
x = dl.from_dlpack(torch.ones(4, device="cuda"))
del x
dl.cuda.synchronize()
left = torch.cuda.memory_allocated() - before
print("most", most // (4 * n), "left", left // (4 * n), out[5].item())
"""


def test_imported_tensors_are_given_back_in_a_steady_loop():
    """The host is ahead of the device: some tensors are read at their release, but never all of the loop."""
    require_module("torch")
    _, most, _, left, last = run_alone(IMPORTS).split()
    assert (int(left), float(last)) == (0, 200)
    assert int(most) < 200
