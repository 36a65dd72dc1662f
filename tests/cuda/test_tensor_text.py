# SPDX-License-Identifier: Apache-2.0
"""Tensors on CUDA devices as text, and through pickle: as the same on the CPU, with one copy to the host."""

import copy
import pickle

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
BIG = dl.arange(3 * 2000 * 5, dtype="float32").reshape((3, 2000, 5))
SHOWN = {
    "small": BIG[:, :2],
    "summarised": BIG,
    "large": dl.arange(2000000),
    "transposed": BIG.mT,
    "reversed": BIG[::-1, ::-2],
    "broadcast": dl.broadcast_to(dl.arange(5), (1000, 5)),
    "one long dimension": BIG[:, :, :1],
    "vectors": dl.arange(4000, dtype="int16").view(dl.DType(0, 16, 2)),
    "no number": dl.arange(4000, dtype="int16").view(dl.DType(99, 16)),
    "packed": dl.ones((2000,), dtype="int8").astype("int4"),
    "empty": dl.zeros((0, 3)),
    "scalar": dl.asarray(2.5),
    "many dimensions": dl.zeros((1,) * 62 + (40, 40)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_text_is_that_of_the_cpu(eager_machine, name):
    host, turned = SHOWN[name], tuple(reversed(range(SHOWN[name].ndim)))
    on_device = host.to("cuda")
    if name != "packed":  # in Fortran order, which is gathered
        host, on_device = (dl.permute_dims(dl.permute_dims(SHOWN[name], turned).copy().to(device), turned)
                           for device in ("cpu", "cuda"))  # fmt: skip
    assert repr(on_device).replace("device=cuda:0", "device=cpu") == repr(host)
    assert on_device._repr_html_().replace("cuda:0", "cpu") == host._repr_html_()


@pytest.mark.skipif(setup.ON_CARD, reason="counts the calls of the host driver")
def test_a_summary_takes_one_kernel_and_one_copy(eager_machine):
    x = dl.zeros((100, 100, 100), device="cuda")
    repr(x)
    before = eager_machine.statistics()
    repr(x)
    after = eager_machine.statistics()
    assert (after.launches - before.launches, after.copies - before.copies) == (1, 1)


PICKLED = {
    "C order": lambda x: x,
    "transposed": lambda x: x.mT,
    "far apart": lambda x: x[:, ::3],
    "broadcast": lambda x: dl.broadcast_to(x[0], (1000, 5)),
    "empty": lambda x: x[:0],
    "scalar": lambda x: x[1, 2],
}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("layout", PICKLED)
def test_a_tensor_comes_back_on_its_device(eager_machine, layout, protocol):
    x = PICKLED[layout](dl.arange(15, dtype="int32").reshape((3, 5)).to("cuda"))
    back = pickle.loads(pickle.dumps(x, protocol))
    assert (str(back.device), back.dtype, back.shape, back.readonly) == ("cuda:0", x.dtype, x.shape, x.readonly)
    np.testing.assert_array_equal(back.numpy(), x.numpy())
    assert not back.same_memory(x)


def test_repeated_rows_are_pickled_once(eager_machine):
    x = dl.broadcast_to(dl.arange(5).to("cuda"), (100000, 5))
    data = pickle.dumps(x)
    assert len(data) < 300
    assert pickle.loads(data).strides == (0, 1)


def test_bytes_may_go_out_of_band(eager_machine):
    x, buffers = dl.arange(1000).to("cuda"), []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert (len(buffers), len(data) < 300) == (1, True)
    back = pickle.loads(data, buffers=buffers)
    assert str(back.device) == "cuda:0"
    assert back.tolist() == list(range(1000))


@pytest.mark.skipif(setup.ON_CARD, reason="needs two devices")
def test_the_device_is_named(eager_machine):
    assert str(pickle.loads(pickle.dumps(dl.arange(3).to("cuda:1"))).device) == "cuda:1"


def test_a_device_that_is_missing_is_named_with_a_remedy(eager_machine):
    data = pickle.dumps(dl.arange(3).to("cuda"), 2).replace(b"cuda:0", b"cuda:9")
    with pytest.raises(dl.DeviceError, match=r"pickle: the tensor was on 'cuda:9': .*; pickle t.to\('cpu'\)"):
        pickle.loads(data)


@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy])
def test_copies_stay_on_the_device(eager_machine, function):
    x = dl.arange(6).reshape((2, 3)).to("cuda").mT
    made = function(x)
    assert (str(made.device), made.tolist(), made.same_memory(x)) == ("cuda:0", x.tolist(), False)
