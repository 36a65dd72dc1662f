# SPDX-License-Identifier: Apache-2.0
"""Quantization of tensors on a device: the bytes of the host; order and equality of floats without arithmetic."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

from dltensor._ops import quantization  # noqa: E402

pytestmark = [pytest.mark.usefixtures("eager_machine"), *([pytest.mark.gpu] if setup.ON_CARD else [])]
FORMATS = ["mxfp8", "mxfp8_e5m2", "int8", "float8_e4m3fn"]
PACKED = [*(name for name in quantization.FORMATS if name not in FORMATS), "int4"]


def numbers():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 64)).astype(np.float32) * np.exp2(rng.integers(-140, 120, (16, 1))).astype(np.float32)
    x[0, 3], x[1, 2], x[2], x[3], x[4], x[5] = np.inf, np.nan, 0, -0.0, 1e-44, 3e38
    return dl.asarray(x)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_are_those_of_the_host(name):
    x = numbers()
    tested = 0
    for block in (None, 16, (1, -1), (4, 8)):
        for rule in quantization.RULES if name.startswith("mx") else quantization.RULES[:1]:
            q, want = (
                dl.quantize(x.to("cuda"), name, block=block, rule=rule),
                dl.quantize(x, name, block=block, rule=rule),
            )
            for got, expected in zip(q, want, strict=True):
                assert (got is None) == (expected is None)
                if got is not None:
                    assert got.device == "cuda:0"
                    assert got.to("cpu").tobytes() == expected.tobytes(), (block, rule)
            y = dl.dequantize(*q, zero=2, dtype="bfloat16")
            assert y.device == "cuda:0"
            assert y.to("cpu").tobytes() == dl.dequantize(*want, zero=2, dtype="bfloat16").tobytes(), (block, rule)
            tested += 1
    assert tested >= 4


@pytest.mark.parametrize("name", PACKED)
def test_packed_values_are_refused(name):
    x = dl.ones((2, 32))
    with pytest.raises(
        TypeError, match=r'quantize: .* is packed, several elements to a byte, .* with .to."cpu". first'
    ):
        dl.quantize(x.to("cuda"), name)
    q = dl.quantize(x, name)
    there = [None if t is None else t.to("cuda") for t in q]
    with pytest.raises(TypeError, match=f"{q.values.dtype} is packed, several elements to a byte"):
        dl.dequantize(*there)


def test_a_scale_on_another_device_is_refused():
    with pytest.raises(ValueError, match="dequantize: values are on cuda:0, scale is on cpu; move it with to"):
        dl.dequantize(dl.ones(4, device="cuda"), dl.ones(2))
    assert dl.dequantize(dl.ones(4, device="cuda"), 0.5).to("cpu").tolist() == [0.5] * 4


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_order_and_equality(name):
    x = dl.asarray(np.arange(256, dtype=np.uint8)).view(name)
    there = x.to("cuda")
    for op in (dl.isnan, dl.isfinite, dl.abs, dl.sort, dl.argsort, dl.unique_values):
        got, want = op(there), op(x)
        assert got.dtype == want.dtype
        assert got.to("cpu").tobytes() == want.tobytes(), op.__name__
    for op in (dl.equal, dl.less, dl.maximum):
        assert op(there, dl.flip(there)).to("cpu").tobytes() == op(x, dl.flip(x)).tobytes(), op.__name__
    for op in (dl.max, dl.argmax, dl.count_nonzero):
        assert op(there[:100]).to("cpu").tobytes() == op(x[:100]).tobytes(), op.__name__
    got = dl.where(dl.less(there, there[10]), there, there[3])
    assert got.to("cpu").tobytes() == dl.where(dl.less(x, x[10]), x, x[3]).tobytes()


def test_products_with_a_dtype():
    a = dl.asarray(np.random.default_rng(1).integers(-128, 128, (9, 70), dtype=np.int8))
    got = dl.matmul(a.to("cuda"), a.T.copy().to("cuda"), dtype="int32")
    assert got.to("cpu").tolist() == dl.matmul(a, a.T, dtype="int32").tolist()
