# SPDX-License-Identifier: Apache-2.0
"""What only a card can show: PyTorch and CuPy in the same process, their streams and captures, lifetimes, wide batches.

On the host driver neither of them runs. Everything here is enqueued in amounts that a missing wait would show.
"""

import gc
import subprocess
import sys
import time

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not setup.ON_CARD, reason="needs a card (DLTENSOR_TEST_GPU=1)"),
]
SIZE = 1 << 24


@pytest.fixture(scope="module")
def torch():
    found = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not found.cuda.is_available():
        pytest.skip("PyTorch is built without CUDA")
    return found


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy", reason="CuPy is not installed")


def test_torch_tensors_go_both_ways_without_a_copy(torch):
    t = torch.arange(12, device="cuda", dtype=torch.float32).reshape(3, 4)
    x = dl.from_dlpack(t)
    assert x.data_ptr == t.data_ptr()
    assert x.tolist() == t.tolist()
    back = torch.from_dlpack(x.mT)
    assert back.data_ptr() == t.data_ptr()
    assert back.tolist() == t.t().tolist()
    assert dl.into(x, torch.Tensor).data_ptr() == t.data_ptr()


def test_work_of_a_torch_stream_is_waited_for(torch):
    side = torch.cuda.Stream()
    for k in range(20):
        with torch.cuda.stream(side):
            t = torch.zeros(SIZE, device="cuda")
            for _ in range(20):
                t += 1
            x = dl.from_dlpack(t)
        assert (x + k)[SIZE - 1].item() == 20 + k


def test_torch_waits_for_our_side_stream(torch):
    for _ in range(20):
        with cuda.Stream():
            x = dl.zeros((SIZE,), dtype="float32", device="cuda")
            for _ in range(20):
                x += 1
            t = torch.from_dlpack(x)
        assert t[SIZE - 1].item() == 20


def test_memory_is_not_reused_before_torch_has_read_it(torch):
    side = torch.cuda.Stream()
    for _ in range(20):
        x = dl.full((SIZE,), 3.0, dtype="float32", device="cuda")
        with torch.cuda.stream(side):
            t = torch.from_dlpack(x)
            total = sum(t for _ in range(20))
        del x, t
        late = dl.full((SIZE,), -9.0, dtype="float32", device="cuda")
        torch.cuda.synchronize()
        assert (total.min().item(), total.max().item()) == (60, 60)
        del late


@pytest.mark.parametrize("where", ["default stream", "captured stream"])
def test_torch_captures_our_operations(torch, where):
    t, result = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    a, out = dl.from_dlpack(t), dl.from_dlpack(result)
    dl.add(a, 1, out=out)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), cuda.Stream.wrap(side):
        if where == "captured stream":
            a = a.copy()
        dl.add(a * 2, 1, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side), cuda.Stream.wrap(side):
        dl.add(a * 2, 1, out=out)
    result.zero_()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert result.tolist() == [3.0] * 1000
    del graph
    gc.collect()
    end = time.monotonic() + 10  # the driver tells of the graph's end from a thread of its own
    while cuda.memory_stats()["captured_bytes"] and time.monotonic() < end:
        time.sleep(0.01)
        cuda.empty_cache()
    assert cuda.memory_stats()["captured_bytes"] == 0


def test_our_work_goes_on_beside_a_capture_of_torch(torch):
    side, x = torch.cuda.Stream(), dl.ones((1000,), device="cuda")
    torch.cuda.synchronize()
    graph, t = torch.cuda.CUDAGraph(), torch.zeros(100, device="cuda")
    with torch.cuda.graph(graph, stream=side):
        t += 1
        with cuda.Stream() as own:
            y = x + 1
        own.synchronize()
        assert y.numpy().tolist() == [2.0] * 1000
        cuda.empty_cache()
    graph.replay()
    torch.cuda.synchronize()
    assert t.tolist() == [1.0] * 100


def test_products_beside_torch(torch):
    a, b = torch.randn(300, 200, device="cuda"), torch.randn(200, 100, device="cuda")
    want = a.double() @ b.double()
    for x, y in ((a, b), (a.t().contiguous().t(), b), (a, b.t().contiguous().t())):
        got = torch.from_dlpack(dl.from_dlpack(x) @ dl.from_dlpack(y)).double()
        assert ((got - want).norm() / want.norm()).item() < 1e-6


def test_a_batch_of_more_than_65535_products():
    z = dl.ones((70_000, 4, 4), dtype="float16", device="cuda")
    got = (z @ z).to("cpu")
    assert got[0, 0, 0].item() == got[69_999, 3, 3].item() == 4


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "less", "equal"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_bytes_and_words_in_wide_packs(name, dtype):
    """A compiler of CUDA 13.0 is known to have made wrong code of 16 bytes to a pack (pytorch#174977)."""
    rng, limits = np.random.default_rng(5), np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, 1_000_003, dtype=dtype, endpoint=True) for _ in range(2))
    got = getattr(dl, name)(dl.asarray(a).to("cuda"), dl.asarray(b).to("cuda")).numpy()
    np.testing.assert_array_equal(got, getattr(np, name)(a, b))


def test_cupy_arrays_go_both_ways(cupy):
    c = cupy.arange(12, dtype="float32").reshape(3, 4)
    x = dl.from_dlpack(c)
    assert x.tolist() == c.tolist() == cupy.from_dlpack(x).tolist()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        d = cupy.from_dlpack(x + 1)
        assert d.tolist() == (c + 1).tolist()
        stream.synchronize()
    del d


def test_a_wrapped_stream_of_cupy_may_end_before_our_memory(cupy):
    """CuPy destroys a stream with its object; memory that names it keeps the object."""
    for _ in range(20):
        with cuda.Stream.wrap(cupy.cuda.Stream(non_blocking=True)):
            x = dl.ones((SIZE // 16,), device="cuda")
            y = x + 1
        gc.collect()
        assert (y + x)[0].item() == 3
        del x, y
    cuda.empty_cache()
    assert cuda.memory_stats()["waiting"] == 0


def test_the_process_ends_without_a_word(torch):
    code = (
        "import dltensor as dl; s = dl.cuda.Stream(); s.activate(); x = dl.ones((1000,), device='cuda') + 1; "
        "e = s.record(); import torch; t = torch.from_dlpack(x); y = dl.from_dlpack(torch.ones(9, device='cuda')); "
        "z = x @ x"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
