# SPDX-License-Identifier: Apache-2.0
"""cuda.core and numba on the host driver, which they take for CUDA's own: device arrays and streams go both ways.

Each test has a process of its own, since a driver is for life and is loaded before any of them is imported."""

import os
import subprocess
import sys
import textwrap

import pytest
from conftest import ON_CARD
from engine import scratch
from native_tools import require_module

pytest.importorskip("dltensor.cuda._driver", reason="the package is not installed")
pytestmark = pytest.mark.skipif(ON_CARD, reason="needs the host driver, this run uses a card")
ORDERS = ("eager", "lazy", "random:1")
HEAD = """
    import numpy as np
    import pytest
    import dltensor as dl
    from dltensor.testing import hostcuda

    machine = hostcuda.load(order={order!r})
"""


def run(order, body):
    env = {**os.environ, "DLTENSOR_CACHE_DIR": str(scratch()), "DLTENSOR_CUDA_NVRTC": "off"}
    script = textwrap.dedent(HEAD.format(order=order)) + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


CORE = """
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
"""


@pytest.mark.parametrize("order", ORDERS)
def test_a_buffer_of_cuda_core_comes_in_and_is_kept(order):
    require_module("cuda.core", "cuda-core")
    body = """
    theirs = device.allocate(400, stream=stream)
    address = int(theirs.handle)
    t = dl.from_dlpack(theirs)
    assert (t.shape, str(t.dtype), str(t.device), t.data_ptr) == ((400,), "int8", "cuda:0", address)
    t.fill(7)
    stream.sync()
    dl.cuda.synchronize()
    again = dl.from_dlpack(theirs)
    assert set((again + 1).tolist()) == {8}
    """
    run(order, textwrap.dedent(CORE) + textwrap.dedent(body))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("way", ["from_dlpack", "from_cuda_array_interface"])
def test_cuda_core_sees_our_tensor_in_order(order, way):
    """What we have enqueued is done before their stream goes on: their copy finds the sum."""
    require_module("cuda.core", "cuda-core")
    body = f"""
    ours = dl.cuda.Stream()
    with ours:
        x = dl.zeros((30, 40), device="cuda")
        for _ in range(5):
            x += 1
        view = StridedMemoryView.{way}(x, stream_ptr=int(stream.handle))
    assert (view.shape, view.ptr, view.device_id, view.is_device_accessible) == ((30, 40), x.data_ptr, 0, True)
    out = np.zeros((30, 40), "f4")
    def call(name, *arguments):
        import ctypes
        assert getattr(machine.library, name)(*[ctypes.c_void_p(int(a)) for a in arguments]) == 0
    call("cuMemcpyDtoHAsync_v2", out.ctypes.data, view.ptr, out.nbytes, int(stream.handle))
    stream.sync()
    assert set(out.ravel().tolist()) == {{5.0}}
    """
    run(order, textwrap.dedent(CORE) + textwrap.dedent(body))


def test_streams_of_cuda_core_go_both_ways():
    require_module("cuda.core", "cuda-core")
    body = """
    wrapped = dl.cuda.Stream.wrap(stream)
    assert wrapped.handle == int(stream.handle)
    with wrapped:
        assert dl.cuda.current_stream() == wrapped
        x = dl.ones(100, device="cuda") * 3
    stream.sync()
    assert set(x.tolist()) == {3.0}
    mine = dl.cuda.Stream()
    theirs = device.create_stream(mine)  # by __cuda_stream__
    assert int(theirs.handle) == mine.handle
    assert mine.__cuda_stream__() == (0, mine.handle)
    """
    run("lazy", textwrap.dedent(CORE) + textwrap.dedent(body))


NUMBA = """
    import _numba_cuda_redirector  # what its .pth file does in an environment of its own
    from numba import cuda
"""


@pytest.mark.parametrize("order", ORDERS)
def test_arrays_of_numba_go_both_ways(order):
    require_module("numba", "numba-cuda")
    require_module("_numba_cuda_redirector", "numba-cuda")
    body = """
    plain = np.arange(12, dtype="f4").reshape(3, 4)
    theirs = cuda.to_device(plain)
    t = dl.asarray(theirs)
    assert t.data_ptr == theirs.__cuda_array_interface__["data"][0]
    assert t.tolist() == plain.tolist()
    back = cuda.as_cuda_array(t.mT + 1)
    np.testing.assert_array_equal(back.copy_to_host(), plain.T + 1)
    strided = cuda.to_device(np.arange(20, dtype="i8").reshape(4, 5))[::2, 1:4]
    assert dl.asarray(strided).tolist() == [[1, 2, 3], [11, 12, 13]]
    """
    run(order, textwrap.dedent(NUMBA) + textwrap.dedent(body))


def test_streams_of_numba_go_both_ways():
    require_module("numba", "numba-cuda")
    require_module("_numba_cuda_redirector", "numba-cuda")
    body = """
    stream = cuda.stream()
    with dl.cuda.Stream.wrap(stream) as wrapped:
        x = dl.full(1000, 2.0, device="cuda") + 1
        array = cuda.as_cuda_array(x)
    assert array.stream.handle.value == wrapped.handle if hasattr(array.stream.handle, "value") else True
    assert set(array.copy_to_host(stream=stream)) == {3.0}
    ours = dl.cuda.Stream()
    theirs = cuda.external_stream(ours.handle)
    filled = cuda.to_device(np.full(1000, 5.0), stream=theirs)
    with ours:
        assert set((dl.asarray(filled) + 1).tolist()) == {6.0}
    """
    run("lazy", textwrap.dedent(NUMBA) + textwrap.dedent(body))
