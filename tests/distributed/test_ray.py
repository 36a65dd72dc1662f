# SPDX-License-Identifier: Apache-2.0
"""Tensors in the object store of Ray, with two workers: shared memory, read-only, of every layout."""

import os

import numpy as np
import pytest

import dltensor as dl

ray = pytest.importorskip("ray", reason="ray is not installed")


@pytest.fixture(scope="module")
def store():
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(
        num_cpus=2, object_store_memory=256 << 20, include_dashboard=False, log_to_driver=False, logging_level="error"
    )
    yield
    ray.shutdown()


pytestmark = [pytest.mark.usefixtures("store"), pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64", "float8_e4m3fn"])
def test_two_gets_share_one_memory_that_is_read_only(dtype):
    t = (dl.arange(1 << 20) % 2).astype(dtype)
    reference = ray.put(t)
    a, b = ray.get(reference), ray.get(reference)
    assert type(a) is dl.Tensor
    assert (a.dtype, a.readonly, a.data_ptr) == (t.dtype, True, b.data_ptr)
    assert a.data_ptr != t.data_ptr
    assert dl.array_equal(a.view("uint8"), t.view("uint8"))
    with pytest.raises(ValueError, match="read-only; write to a copy"):
        a[0] = 1


def test_memory_outlives_the_reference():
    a = ray.get(ray.put(dl.arange(1 << 18)))
    ray.get(ray.put(dl.zeros(1 << 18)))
    assert int(a.sum()) == (1 << 18) * ((1 << 18) - 1) // 2


@pytest.mark.parametrize("layout", ["in Fortran's order", "broadcast", "strided", "backwards"])
def test_layouts_come_back(layout):
    t = {
        "in Fortran's order": dl.arange(10000.0).reshape(100, 100).T,
        "broadcast": dl.broadcast_to(dl.arange(100.0), (1000, 100)),
        "strided": dl.arange(10000.0)[::3],
        "backwards": dl.arange(10000.0)[::-1],
    }[layout]
    back = ray.get(ray.put(t))
    assert (back.shape, back.tolist()) == (t.shape, t.tolist())


def test_tasks_take_and_return_tensors():
    @ray.remote
    def work(x):
        return os.getpid(), type(x).__module__, x.readonly, x * 2

    t = dl.arange(1 << 16)
    made = ray.get([work.remote(ray.put(t)) for _ in range(4)])
    assert {one[1:3] for one in made} == {("dltensor", True)}
    assert os.getpid() not in {one[0] for one in made}
    assert all(dl.array_equal(one[3], t * 2) for one in made)


def test_a_task_that_writes_is_told_to_copy():
    @ray.remote
    def write(x):
        x[0] = 1

    with pytest.raises(ValueError, match="read-only; write to a copy"):
        ray.get(write.remote(ray.put(dl.arange(1 << 18))))


def test_a_get_takes_no_memory_for_the_elements():
    reference = ray.put(dl.zeros(8 << 20))
    before = dl.debug.live_bytes()
    a = ray.get(reference)
    assert dl.debug.live_bytes() - before < 1024
    assert np.asarray(a).ctypes.data == a.data_ptr
