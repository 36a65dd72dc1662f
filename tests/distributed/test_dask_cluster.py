# SPDX-License-Identifier: Apache-2.0
"""Tensors in two worker processes of Dask: messages, results, and workers that are killed in the middle."""

import os
import signal
import time

import numpy as np
import pytest

import dltensor as dl

pytest.importorskip("dask.array", reason="dask[array] is not installed")  # a folder here has the name of the other one
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

import dask.array as da  # noqa: E402
from distributed.protocol import deserialize, serialize  # noqa: E402

# Sockets of workers that were killed stay open.
pytestmark = pytest.mark.filterwarnings("ignore")
TENSORS = {
    "contiguous": lambda: dl.arange(1000.0),
    "in Fortran's order": lambda: dl.arange(1000.0).reshape(10, 100).T,
    "broadcast": lambda: dl.broadcast_to(dl.arange(10.0), (1000, 10)),
    "strided": lambda: dl.arange(1000.0)[::7],
    "backwards": lambda: dl.arange(1000.0)[::-1],
    "bfloat16": lambda: dl.arange(100).astype("bfloat16"),
    "packed": lambda: dl.ones(101, dtype="int4"),
    "empty": lambda: dl.zeros((0, 4)),
    "of no dimensions": lambda: dl.asarray(3.5),
    "read-only": lambda: dl.asarray(b"0123456789"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_message_has_no_more_bytes_than_the_elements_take(name):
    t = TENSORS[name]()
    header, frames = serialize(t)
    back = deserialize(header, [bytes(f) if memoryview(f).readonly else bytearray(f) for f in frames])
    assert (back.shape, back.dtype, back.readonly) == (t.shape, t.dtype, t.readonly or "broadcast" in name)
    assert back.tolist() == t.tolist()
    touched = min(t.nbytes, dl.layout.numel([n for n, s in zip(t.shape, t.strides, strict=True) if s]) * t.itemsize)
    assert sum(memoryview(f).nbytes for f in frames) <= touched + 400


def test_a_message_shares_the_memory_of_contiguous_and_broadcast_tensors():
    for name in ("contiguous", "in Fortran's order", "broadcast", "backwards"):
        t = TENSORS[name]()
        header, frames = serialize(t)
        back = deserialize(header, frames)
        assert back.data_ptr == t.data_ptr
        assert back.strides == t.strides


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_goes_to_a_worker_and_back(cluster, name):
    t = TENSORS[name]()
    future = cluster.scatter(t, hash=False)
    same = cluster.submit(lambda x: (type(x).__module__, x.readonly, x), future).result(30)
    assert same[0] == "dltensor"
    assert same[2].dtype == t.dtype
    assert same[2].tolist() == t.tolist()


def test_the_scheduler_knows_the_size_of_results(cluster):
    future = cluster.submit(dl.zeros, (1 << 20,))
    distributed.wait(future, 30)
    assert cluster.run_on_scheduler(lambda dask_scheduler: dask_scheduler.tasks[future.key].nbytes) == 4 << 20


def test_a_sum_over_two_workers_is_right_and_a_tensor(cluster):
    x = da.from_array(dl.arange(1 << 20).reshape(1024, 1024), chunks=256)
    made = (x.map_blocks(lambda b: b * 2 + 1).sum()).compute(timeout=60)
    assert type(made) is dl.Tensor
    assert int(made) == ((1 << 20) - 1) * (1 << 20) + (1 << 20)


def test_chunks_that_are_made_in_workers_stay_tensors(cluster):
    x = da.random.RandomState(3).normal(size=(1000, 100), chunks=(300, 50)).map_blocks(dl.asarray)
    wanted = np.asarray(x.map_blocks(np.asarray).compute())
    # No tensor has been in this process: everything is registered in the workers alone.
    for call in (
        lambda a: a.mean(axis=0),
        lambda a: a.std(),
        lambda a: a.T @ a,
        lambda a: da.percentile(a.ravel(), [50], internal_method="dask"),
        lambda a: a[::3, [5, 1]],
    ):
        made = call(x).compute()
        assert type(made) is dl.Tensor
        same = call(da.from_array(wanted, chunks=(300, 50))).compute()
        np.testing.assert_allclose(np.asarray(made), same, rtol=1e-10)


def slow_block(block, seconds):
    time.sleep(seconds)
    return block * 3


def workers_of(client):
    return {address: info["pid"] for address, info in client.run(lambda: {"pid": os.getpid()}).items()}


def test_a_computation_finishes_right_when_workers_are_killed():
    # A cluster of its own: the nannies start new workers, which the other tests should not wait for.
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        t = dl.arange(1 << 16).reshape(256, 256)
        x = da.from_array(t, chunks=32)
        total = x.map_blocks(slow_block, 0.05, dtype=x.dtype).sum(axis=0).persist()
        for _ in range(2):
            time.sleep(0.8)
            done = sum(status == "memory" for status in client.run_on_scheduler(states).values())
            victims = workers_of(client)
            assert victims
            os.kill(next(iter(victims.values())), signal.SIGKILL)
            assert done < 8 * 8 + 8
        made = total.compute()
        assert type(made) is dl.Tensor
        assert made.tolist() == (t * 3).sum(axis=0).tolist()


def states(dask_scheduler):
    return {key: task.state for key, task in dask_scheduler.tasks.items()}
