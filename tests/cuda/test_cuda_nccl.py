# SPDX-License-Identifier: Apache-2.0
"""Collectives of NCCL on tensors by nccl4py, over a libnccl.so.2 of ours on the host driver, between two processes:
calls, order of arguments, streams and errors."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import ON_CARD
from engine import SOURCE, scratch
from native_tools import require, require_module

pytest.importorskip("dltensor.cuda._driver", reason="the package is not installed")
pytestmark = pytest.mark.skipif(ON_CARD, reason="needs the host driver, this run uses a card")
HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "examples" / "distributed" / "data_parallel.py"
ORDERS = ("eager", "lazy", "random:1")
HEAD = """
    import os, pathlib, pickle, time
    import pytest
    from dltensor.testing import hostcuda
    machine = hostcuda.load()
    import dltensor as dl
    import nccl.core as nccl
    from cuda.core import Device

    rank, size = int(os.environ["RANK"]), 2
    Device(0).set_current()
    told = pathlib.Path(os.environ["IDENTIFIER"])
    if rank == 0:
        told.with_suffix(".part").write_bytes(pickle.dumps(nccl.get_unique_id()))
        told.with_suffix(".part").rename(told)
    while not told.exists():
        time.sleep(0.01)
    comm = nccl.Communicator.init(nranks=size, rank=rank, unique_id=pickle.loads(told.read_bytes()))
    stream = dl.cuda.Stream()

    def mine(start, count=4, dtype="float32"):
        return dl.arange(start, start + count, dtype="int32", device="cuda").astype(dtype)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with the double of NCCL."""
    require("g++")
    require_module("nccl", "nccl4py")
    folder = tmp_path_factory.mktemp("nccl")
    include = [f"-I{SOURCE}", f"-I{SOURCE / 'testing/hostcuda'}"]
    flags = ["-std=c++20", "-O1", "-Wall", "-fPIC", "-shared", "-fvisibility=hidden"]
    target = folder / "libnccl.so.2"
    subprocess.run(["g++", *flags, *include, str(HERE / "fake_nccl.cc"), "-o", str(target), "-ldl"], check=True)
    return folder


def environment(library, order):
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(library),
        "DLTENSOR_CACHE_DIR": str(scratch()),
        "DLTENSOR_CUDA_NVRTC": "off",
        "HOSTCUDA_ORDER": order,
    }


def run(library, tmp_path, body, order="eager"):
    """Run a program as two ranks."""
    script = textwrap.dedent(HEAD) + textwrap.dedent(body)
    env = environment(library, order) | {"IDENTIFIER": str(tmp_path / "identifier")}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", script], env={**env, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    errors = [process.communicate(timeout=300)[1] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], "\n".join(text[-3000:] for text in errors)


@pytest.mark.parametrize("order", ORDERS)
def test_collectives_take_tensors_on_their_stream(library, tmp_path, order):
    """Work before a call is done when NCCL reads, and what NCCL writes is there for the work after it."""
    body = """
    with stream:
        x = mine(10 * rank)
        total = dl.zeros(4, device="cuda")
        comm.allreduce(x, total, nccl.SUM, stream=stream)
        assert (total + 1).tolist() == [11, 13, 15, 17]
        comm.allreduce(x, x, nccl.MAX, stream=stream)  # in place
        assert x.tolist() == [10, 11, 12, 13]
        x = mine(10 * rank)
        every = dl.zeros((2, 4), device="cuda")
        comm.allgather(x, every, stream=stream)
        assert every.tolist() == [[0, 1, 2, 3], [10, 11, 12, 13]]
        part = dl.zeros(2, device="cuda")
        comm.reduce_scatter(x, part, nccl.SUM, stream=stream)
        assert part.tolist() == ([10, 12] if rank == 0 else [14, 16])
        comm.broadcast(x, x, root=1, stream=stream)
        assert x.tolist() == [10, 11, 12, 13]
        x = mine(10 * rank)
        y = dl.zeros(4, device="cuda")
        with nccl.group():
            comm.send(x, 1 - rank, stream=stream)
            comm.recv(y, 1 - rank, stream=stream)
        assert y.tolist() == mine(10 * (1 - rank)).tolist()
        # A part of a tensor, in C order.
        grid = dl.zeros((3, 2), device="cuda")
        comm.allreduce(x[1:3], grid[1], nccl.SUM, stream=stream)
        assert grid.tolist() == [[0, 0], [12, 14], [0, 0]]
    """
    run(library, tmp_path, body, order)


def test_all_dtypes_of_nccl_arrive(library, tmp_path):
    body = """
    with stream:
        integers = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
        for name in (*integers, "float16", "float32", "float64", "bfloat16"):
            x, every = mine(4 * rank, dtype=name), dl.zeros((2, 4), device="cuda").astype(name)
            comm.allgather(x, every, stream=stream)
            assert every.astype("float32").tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]], name
        for name in ("int32", "int64", "float32", "float64", "bfloat16"):
            x = mine(4 * rank, dtype=name)
            comm.allreduce(x, x, nccl.SUM, stream=stream)
            assert x.astype("float32").tolist() == [4, 6, 8, 10], name
        with pytest.raises(TypeError, match="Unsupported dtype"):  # cuda.core has no view of them
            comm.allgather(mine(0, dtype="float8_e5m2"), mine(0, 8, dtype="float8_e5m2"), stream=stream)
        x, every = mine(4 * rank, dtype="float8_e5m2"), dl.zeros((2, 4), device="cuda").astype("float8_e5m2")
        comm.allgather(x.view("uint8"), every.view("uint8"), stream=stream)
        assert every.astype("float32").tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
        z = mine(rank, dtype="complex64")
        with pytest.raises(Exception, match="complex64"):
            comm.allreduce(z, z, nccl.SUM, stream=stream)
        comm.allreduce(z.view("float32"), z.view("float32"), nccl.SUM, stream=stream)
        assert z.tolist() == [1, 3, 5, 7]
    """
    run(library, tmp_path, body)


@pytest.mark.parametrize("order", ORDERS)
def test_other_streams_are_waited_for_by_the_user(library, tmp_path, order):
    """NCCL's stream waits for the stream that wrote, and that one for NCCL's: the rule of the page."""
    body = """
    other = dl.cuda.Stream()
    with other:
        x = mine(10 * rank)
        for _ in range(5):
            x += 1
    stream.wait(other)
    comm.allreduce(x, x, nccl.SUM, stream=stream)
    other.wait(stream)
    with other:
        assert (x * 2).tolist() == [40, 44, 48, 52]
    """
    run(library, tmp_path, body, order)


def test_memory_that_processes_share_is_reduced(library, tmp_path):
    body = """
    with stream:
        x = mine(10 * rank).share()
        comm.allreduce(x, x, nccl.SUM, stream=stream)
        assert x.is_shared and x.tolist() == [10, 12, 14, 16]
    """
    run(library, tmp_path, body, "lazy")


def test_errors_of_nccl_are_raised_with_its_words(library, tmp_path):
    body = """
    x = mine(rank)
    with pytest.raises(Exception, match="invalid argument"):
        comm.send(x, 7, stream=stream)
    assert "Invalid rank 7 (nranks = 2)" in comm.get_last_error()
    with pytest.raises(nccl.NcclInvalid, match="must have at least 4 elements, got 3"):
        comm.allreduce(x, x[:3], nccl.SUM, stream=stream)
    with pytest.raises(nccl.NcclInvalid, match="Dtype mismatch"):
        comm.allreduce(x, mine(0, dtype="int32"), nccl.SUM, stream=stream)
    with pytest.raises(Exception):
        comm.allreduce(dl.zeros(4), dl.zeros(4), nccl.SUM, stream=stream)  # memory of the host
    """
    run(library, tmp_path, body)


def test_the_example_trains_the_same_weights_on_two_devices(library, tmp_path):
    script = tmp_path / "data_parallel.py"  # with the host driver, in each of its processes
    load = "from dltensor.testing import hostcuda\nhostcuda.load(devices=2)\n"
    script.write_text(
        load + PROGRAM.read_text().replace("STEPS, RATE, ROWS = 100, 0.2, 4096", "STEPS, RATE, ROWS = 40, 0.2, 64")
    )
    done = subprocess.run(
        [sys.executable, str(script), "2"],
        env=environment(library, "lazy"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = sorted(re.findall(r"rank (\d): \[([^]]*)\]", done.stdout))
    assert [rank for rank, _ in found] == ["0", "1"]
    assert found[0][1] == found[1][1]
    assert [round(float(w), 1) for w in found[0][1].split(", ")] == [2.0, -3.0, 0.5]
