# SPDX-License-Identifier: Apache-2.0
"""Files loaded to CUDA devices: the elements of the file, in one allocation, by few copies.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import live_blocks, machine_order, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []


def some_tensors():
    """Small and large ones, of any dtype, some without elements."""
    draw = dl.random.Generator(3).normal
    return {
        "first": draw(shape=(3, 5)),
        "large": draw(shape=(700, 500)),
        "half": draw(shape=(33,)).astype("bfloat16"),
        "none": dl.zeros((0, 4), dtype="int16"),
        "packed": dl.asarray([1, 2, 3, 4, 5], dtype="int32").astype("float4_e2m1fn")[:4].copy(),
        "scalar": dl.asarray(7.5),
        "byte": dl.asarray([1, 2, 3], dtype="uint8"),
        "flags": dl.asarray([True, False, True]),
        "last": draw(shape=(1000, 400)),
    }


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
def test_tensors_of_a_file_are_loaded_to_a_device(tmp_path, suffix, mmap):
    tensors = some_tensors()
    if suffix == "npz":
        tensors["columns"] = dl.arange(12, dtype="float64").reshape((3, 4)).mT
    dl.save(tmp_path / f"a.{suffix}", tensors)
    wanted = dl.load(tmp_path / f"a.{suffix}")
    loaded = dl.load(tmp_path / f"a.{suffix}", device="cuda", mmap=mmap)
    assert list(loaded) == list(tensors)
    for name, t in loaded.items():
        if t.dtype.bits >= 8:
            same(t, wanted[name].copy())
        assert (str(t.device), t.dtype, t.shape) == ("cuda:0", wanted[name].dtype, wanted[name].shape)
        assert t.to("cpu").astype("float32").tolist() == tensors[name].astype("float32").tolist()
        assert not t.readonly
        if t.size:
            assert t.data_ptr % 256 == 0
    few = dl.load(tmp_path / f"a.{suffix}", device="cuda", names=["last", "first", "first"], dtype="float16")
    assert list(few) == ["last", "first"]
    for name, t in few.items():
        same(t, tensors[name].astype("float16"))


@pytest.mark.skipif(setup.ON_CARD, reason="the allocations are counted by the host driver")
def test_tensors_of_a_file_share_an_allocation_and_copies(tmp_path, machine_order):  # noqa: F811
    dl.save(tmp_path / "a.safetensors", {f"t{i}": dl.full((300,), i, dtype="int32") for i in range(100)})
    dl.load(tmp_path / "a.safetensors", device="cuda")
    live, before = live_blocks(), machine_order.statistics()
    loaded = dl.load(tmp_path / "a.safetensors", device="cuda")
    assert machine_order.statistics().copies - before.copies == 1
    assert live_blocks() - live == 1
    memory = {t.data_ptr for t in loaded.values()}
    assert len(memory) == 100
    assert max(memory) - min(memory) == 99 * 1280
    for name in list(loaded)[1:]:
        del loaded[name]
    assert live_blocks() - live == 1
    own = loaded["t0"].copy()
    del loaded["t0"]
    assert live_blocks() - live == 1  # the copy's
    assert own.tolist() == [0] * 300


@pytest.mark.usefixtures("machine_order")
def test_a_file_that_breaks_off_leaves_nothing(tmp_path):
    dl.save(tmp_path / "a.npz", {"a": dl.zeros(3), "b": dl.zeros((2, 2), dtype="complex64")})
    live = live_blocks()
    with pytest.raises(KeyError):
        dl.load(tmp_path / "a.npz", names=["a", "z"], device="cuda")
    with pytest.raises(TypeError):
        dl.load(tmp_path / "a.npz", dtype="str", device="cuda")
    assert live_blocks() == live
