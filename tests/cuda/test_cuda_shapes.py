# SPDX-License-Identifier: Apache-2.0
"""What makes, moves and reshapes tensors on CUDA devices: how often it launches, and sizes that no device holds."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []


def launches(machine, call):
    """What a call gives, and how often it launches a kernel."""
    before = 0 if machine is None else machine.statistics().launches
    made = call()
    return made, 1 if machine is None else machine.statistics().launches - before


@pytest.mark.parametrize("dtype", ["float32", "bool", "float8_e5m2", "complex128"])
@pytest.mark.parametrize("shape", [(7, 5), (2, 3, 4)])
def test_a_triangle_is_one_launch(eager_machine, dtype, shape):
    size = int(np.prod(shape))
    values = np.arange(1, size + 1) % 2 == 1 if dtype == "bool" else np.arange(1, size + 1) % 40
    here = dl.asarray(values.reshape(shape)).astype(dtype)
    there = here.to("cuda")
    for function in (dl.tril, dl.triu):
        for k in (-8, -1, 0, 2, 8):
            made, count = launches(eager_machine, lambda f=function, k=k: f(there, k=k))
            assert count == 1
            assert str(made.device) == "cuda:0"
            assert made.dtype == here.dtype
            assert made.tolist() == function(here, k=k).tolist()


@pytest.mark.parametrize(
    ("dtype", "value", "kernels"),
    [
        ("uint8", 7, 0),
        ("float16", 1.5, 0),
        ("float32", 1.5, 0),
        ("float64", 0.0, 0),
        ("float64", -0.0, 1),
        ("float64", 1.5, 1),
        ("complex64", 2 + 2j, 0),
        ("complex64", 2 + 3j, 1),
        ("complex128", 0j, 0),
        ("complex128", 2 + 2j, 1),
        ("int64", -1, 0),
        ("int64", 5 << 32 | 5, 0),
        ("int64", 5, 1),
    ],
)
def test_fill_launches_no_kernel_for_a_value_of_equal_words(eager_machine, dtype, value, kernels):
    """What repeats itself every 4 bytes at most is the driver's memset, for any width."""
    there = dl.empty((3, 5), dtype=dtype, device="cuda")
    _, count = launches(eager_machine, lambda: there.fill(value))
    if eager_machine is not None:
        assert count == kernels
    expected = dl.full((3, 5), value, dtype=dtype)
    assert bytes(there.to("cpu").view("uint8")) == bytes(expected.view("uint8"))


def test_a_triangle_of_a_transposed_view_is_one_launch(eager_machine):
    here = dl.asarray(np.arange(20.0, dtype="float32").reshape(4, 5))
    there = here.to("cuda")
    made, count = launches(eager_machine, lambda: dl.tril(there.T))
    assert count == 1
    assert made.tolist() == np.tril(here.T.numpy()).tolist()


def test_cuda_and_cpu_move_as_to_does(eager_machine):
    here = dl.asarray([1, 2, 3])
    assert str(here.cuda().device) == str(here.cuda(0).device) == str(here.cuda("cuda:0").device) == "cuda:0"
    there = here.cuda()
    assert there.cuda() is there
    assert there.cpu().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="got cuda:99"):
        here.cuda(99)


def test_the_new_methods_work_on_devices(eager_machine):
    there = dl.asarray(np.arange(6, dtype="int16").reshape(2, 3)).cuda()
    assert there.T.tobytes() == there.cpu().numpy().T.tobytes()
    assert there.permute(1, 0).flatten().tolist() == [0, 3, 1, 4, 2, 5]
    assert there.reshape(3, 2).squeeze().clone().shape == (3, 2)
    rounded = round(dl.asarray([1.26, -0.0, float("inf")]).cuda(), 1)
    assert str(rounded.device) == "cuda:0"
    assert str(rounded.tolist()) == str(round(dl.asarray([1.26, -0.0, float("inf")]), 1).tolist())
    assert round(dl.asarray([25, 35]).cuda(), -1).tolist() == [20, 40]


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int4"])
def test_a_transfer_of_more_than_any_memory_holds_is_a_memory_error(eager_machine, dtype):
    # As many bits as 64 of them do not count: an earlier version allocated 0 bytes for them.
    there = dl.broadcast_to(dl.zeros((1,), dtype=dtype).to("cuda"), (2**59 if dtype == "float32" else 2**61,))
    for call in (lambda: there.numpy(non_blocking=True), there.copy, lambda: there.to("cpu"), lambda: there.numpy()):
        with pytest.raises(MemoryError):
            call()
