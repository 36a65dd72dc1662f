# SPDX-License-Identifier: Apache-2.0
"""Quantization of tensors on a device: the bytes of the host; order and equality of floats without arithmetic."""

import json
from pathlib import Path

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

from dltensor._ops import quantization  # noqa: E402

pytestmark = [pytest.mark.usefixtures("eager_machine"), *([pytest.mark.gpu] if setup.ON_CARD else [])]
VECTORS = json.loads((Path(__file__).parents[1] / "data/quantization.json").read_text())
FORMATS = [*quantization.FORMATS, "int8", "int4", "int2", "float8_e4m3fn", "float8_e4m3fnuz", "float6_e3m2fn"]
RULES = {name: quantization.RULES if name.startswith("mx") else quantization.RULES[:1] for name in FORMATS}


def numbers(shape=(16, 64), seed=0):
    """Numbers of all magnitudes, with special blocks along the first axis."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    x *= np.exp2(rng.integers(-140, 120, (*shape[:-1], 1))).astype(np.float32)
    if shape[0] >= 8:
        rows = x.reshape(shape[0], -1)
        rows[0, 3 % rows.shape[1]], rows[1, 2 % rows.shape[1]], rows[2], rows[3] = np.inf, np.nan, 0, -0.0
        rows[4], rows[5], rows[6] = 1e-44, 3e38, 2.0**-126
    return dl.asarray(x)


def same(got, want):
    """Compare a tensor of a device with one of the host, to the byte."""
    return got.shape == want.shape and got.dtype == want.dtype and got.to("cpu").tobytes() == want.tobytes()


def check(x, name, block=None, rule="floor"):
    """Compare both ways of a format on the device with those on the host; return the tensors there."""
    there, want = dl.quantize(x.to("cuda"), name, block=block, rule=rule), dl.quantize(x, name, block=block, rule=rule)
    for got, expected in zip(there, want, strict=True):
        assert (got is None) == (expected is None)
        assert got is None or (got.device == "cuda:0" and same(got, expected)), (name, block, rule)
    assert same(dl.dequantize(*there), dl.dequantize(*want)), (name, block, rule)
    return there


@pytest.mark.parametrize("name", sorted({case["format"] for case in VECTORS["cases"]}))
def test_vectors(name):
    tested = 0
    for case in VECTORS["cases"]:
        if case["format"] != name:
            continue
        x = np.frombuffer(bytes.fromhex(VECTORS["blocks"][case["block"]]), ">u4").astype(np.uint32).view(np.float32)
        q = [None if t is None else t.to("cpu") for t in dl.quantize(dl.asarray(x).to("cuda"), name, rule=case["rule"])]
        codes = dl.astype(q[0], q[0].dtype, padded=True) if q[0].dtype.bits < 8 else q[0]
        assert codes.tobytes().hex() == case["codes"], case
        scales = np.frombuffer(q[1].tobytes(), np.uint32 if q[1].dtype == dl.float32 else np.uint8)
        assert scales.byteswap().tobytes().hex() == case["scale"], case
        if "scale2" in case:
            assert q[2].numpy().byteswap().tobytes().hex() == case["scale2"], case
        tested += 1
    assert tested >= 10


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_are_those_of_the_host(name):
    x = numbers()
    for block in (None, 8, 16, 64, (1, -1), (4, 8), (16, 1), (2, 4), 1, (-1, -1)):
        for rule in RULES[name]:
            check(x, name, block, rule)


@pytest.mark.parametrize("name", ["mxfp8", "mxfp6_e2m3", "mxfp4", "nvfp4", "int8", "int4", "int2"])
def test_blocks_of_every_form(name):
    """Lengths that no pack of eight divides, long ones, many axes, over the whole tensor, and one element more."""
    for shape, blocks in [
        ((9, 33), [(1, 33), (3, 11), (9, 1), 1, (-1, -1)]),
        ((8, 2, 15), [1, 5, (1, -1), (2, 1), (4, 2, 3), (-1, 1, 1), (8, 2, 15)]),
        ((3, 4096), [512, 1024, 2048, (1, -1), (3, 32)]),
        ((8, 3, 2, 4, 2, 2, 2, 2, 2), [(2, 3, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 4, 1, 2, 1, 2, 2)]),
        ((1,), [1]),
        ((17,), [17]),
    ]:
        x = numbers(shape, len(shape))
        for block in blocks:
            check(x, name, block)
    check(numbers((2, 70000), 5), name, (1, -1))
    check(numbers((70001,), 6), name, -1)


def test_values_and_numbers_of_every_dtype():
    """Of all dtypes that values can have, with zero points and several scales, to every dtype of results."""
    names = [n for n, d in dl.DTYPES.items() if dl.isdtype(d, ("integral", "real floating"))]
    assert len(names) > 25
    rng, tested = np.random.default_rng(3), 0
    for name in names:
        dtype = dl.DTYPES[name]
        if dtype.bits <= 8:
            raw = rng.integers(0, 256, 12 * 10 * dtype.bits // 8, dtype=np.uint8)
            values = dl.asarray(raw).view(name).reshape((12, 10))
        else:
            values = dl.astype(dl.asarray(rng.integers(0, 100, (12, 10))), name)
        numbers = [dl.asarray(rng.random(shape, dtype=np.float32) * 3) for shape in [(6, 5), (), (12, 1), (4, 2)]]
        there = [t.to("cuda") for t in (values, *numbers)]
        for result in ("float32", "bfloat16", "float16", "float64") if name in ("int4", "float32") else ("float32",):
            want = dl.dequantize(values, *numbers[:3], zero=numbers[3], dtype=result)
            assert same(dl.dequantize(*there[:4], zero=there[4], dtype=result), want), (name, result)
            assert same(dl.dequantize(there[0], 0.5, dtype=result), dl.dequantize(values, 0.5, dtype=result))
            tested += 1
    assert tested == len(names) + 6


def test_numbers_of_every_form():
    values = dl.asarray(np.arange(-128, 128, dtype=np.int8).reshape(16, 16))
    rng = np.random.default_rng(2)
    for shape in [(), (1,), (16,), (4,), (16, 1), (4, 8), (1, 2), (2, 16)]:
        scale = dl.asarray(rng.random(shape, dtype=np.float32))
        assert same(dl.dequantize(values.to("cuda"), scale.to("cuda")), dl.dequantize(values, scale))
    deep = dl.asarray(rng.integers(0, 200, (2, 3, 2, 3, 2, 3, 2, 3, 2), dtype=np.uint8))
    scales = [dl.asarray(rng.random(s, dtype=np.float32)) for s in [(1, 3) * 4 + (1,), (2, 1) * 4 + (2,), (3, 1)]]
    want = dl.dequantize(deep, *scales, zero=7, dtype="bfloat16")
    assert same(dl.dequantize(deep.to("cuda"), *(t.to("cuda") for t in scales), zero=7, dtype="bfloat16"), want)
    six = [dl.asarray(rng.random((16, 1), dtype=np.float32)) for _ in range(6)]
    codes = values.reshape((-1,))[:128].view("uint4").reshape((16, 16))
    assert same(
        dl.dequantize(codes.to("cuda"), *(t.to("cuda") for t in six), zero=8), dl.dequantize(codes, *six, zero=8)
    )


def test_nan_and_infinity_are_those_of_the_operands():
    x = dl.asarray(np.array([1.0, -2.0, np.nan, np.inf, -np.inf, 0.0], np.float32))
    bits = dl.asarray(np.array([0x7FC00001, 0xFFC00002, 0x7F800005, 0xFF800000, 0, 0], np.uint32)).view("float32")
    for values in (x, bits):
        for scale in (2.0, float("inf"), float("nan")):
            got, want = dl.dequantize(values.to("cuda"), scale).to("cpu").numpy(), dl.dequantize(values, scale).numpy()
            made = np.isnan(want) & ~np.isnan(values.numpy()) & ~np.isnan(scale)  # by arithmetic, with bits of its own
            assert np.array_equal(got.view(np.uint32)[~made], want.view(np.uint32)[~made])
            assert np.isnan(got[made]).all()


def test_operands_at_any_address():
    raw = np.random.default_rng(4).integers(0, 256, 4096 + 64, dtype=np.uint8)
    raw[3::4] &= 0x3F
    host, there = dl.asarray(raw), dl.asarray(raw).to("cuda")
    for by in (1, 2, 4, 8):
        x, y = (t[by : by + 2048].view("float32").reshape((16, 32)) for t in (host, there))
        for name in ("mxfp4", "mxfp6_e3m2", "nvfp4", "int8"):
            for block in (8, (4, 4), (1, -1)):
                want, got = dl.quantize(x, name, block=block), dl.quantize(y, name, block=block)
                assert all(s is None or same(t, s) for s, t in zip(want, got, strict=True)), (by, name)
        for name in ("float4_e2m1fn", "float6_e2m3fn", "int2", "float8_e5m2", "int16", "float32"):
            a, b = (t[by : by + 96].view(name).reshape((4, -1)) for t in (host, there))
            s, t = (t[by + 128 : by + 144].view("float32").reshape((4, 1)) for t in (host, there))
            assert same(dl.dequantize(b, t), dl.dequantize(a, s)), (by, name)


def test_launches(eager_machine):
    machine = eager_machine or pytest.skip("needs the emulator")
    x = numbers((64, 256)).to("cuda")

    def launches(call):
        before = machine.statistics().launches
        result = call()
        return machine.statistics().launches - before, result

    for name, block, wanted in [
        ("mxfp4", None, 1),
        ("mxfp8", None, 1),
        ("int4", (1, 128), 1),
        ("int8", (1, -1), 1),
        ("nvfp4", None, 2),
        ("float8_e4m3fn", None, 1),
        ("float8_e4m3fn", (32, 32), 2),
    ]:
        count, q = launches(lambda name=name, block=block: dl.quantize(x, name, block=block))
        assert count == wanted, (name, block)
        converted = q.scale.dtype != dl.float32  # whose scales are float32 first
        assert launches(lambda q=q: dl.dequantize(*q, dtype="bfloat16"))[0] == 1 + converted
    large = numbers((128, 1024)).to("cuda")
    assert launches(lambda: dl.quantize(large, "float8_e4m3fn"))[0] == 2


def test_streams_and_captures_and_errors():
    x = numbers((8, 64))
    with dl.cuda.Stream() as stream:
        q = dl.quantize(x.to("cuda"), "nvfp4")
    assert all(same(a, b) for a, b in zip(q, dl.quantize(x, "nvfp4"), strict=True))
    assert stream is not None
    y = x.to("cuda")
    error = dl.quantization_error(y, dl.quantize(y, "mxfp6_e2m3"))
    want = dl.quantization_error(x, dl.quantize(x, "mxfp6_e2m3"))
    np.testing.assert_array_equal(np.array(error), np.array(want))
    y = numbers((4, 32)).to("cuda")
    error, want = (dl.quantization_error(t, dl.quantize(t, "mxfp4")) for t in (y, y.to("cpu")))
    assert error == want
    assert error.clamped > 0


def test_empty_tensors():
    for name in FORMATS:
        q = dl.quantize(dl.zeros((0, 32), device="cuda"), name)
        want = dl.quantize(dl.zeros((0, 32)), name)
        assert all(a is b is None or same(a, b) for a, b in zip(q, want, strict=True))
        assert dl.dequantize(*q).shape == (0, 32)


def test_a_scale_on_another_device_is_refused():
    with pytest.raises(ValueError, match="dequantize: values are on cuda:0, scale is on cpu; move it with to"):
        dl.dequantize(dl.ones(4, device="cuda"), dl.ones(2))
    assert dl.dequantize(dl.ones(4, device="cuda"), 0.5).to("cpu").tolist() == [0.5] * 4


def test_products_are_those_of_the_dequantized_matrix():
    rng = np.random.default_rng(3)
    w, x = (dl.asarray(rng.standard_normal((rows, 64)).astype(np.float32)) for rows in (24, 3))
    for name in ("mxfp4", "nvfp4", "int8"):
        q = dl.quantize(w, name)
        for t in (x, x[0], x[:, None]):
            got = dl.quantized_matmul(t.to("cuda"), *(None if s is None else s.to("cuda") for s in q))
            assert got.device == "cuda"
            assert dl.allclose(got.to("cpu"), dl.quantized_matmul(t, *q), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="quantized_matmul: values are on cpu, x is on cuda:0; move it with to"):
        dl.quantized_matmul(x.to("cuda"), *q)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_order_and_equality(name):
    x = dl.asarray(np.arange(256, dtype=np.uint8)).view(name)
    there = x.to("cuda")
    for op in (dl.isnan, dl.isfinite, dl.abs, dl.sign, dl.sort, dl.argsort, dl.unique_values):
        got, want = op(there), op(x)
        assert got.dtype == want.dtype
        assert got.to("cpu").tobytes() == want.tobytes(), op.__name__
    for op in (dl.equal, dl.less, dl.maximum, dl.isin):
        assert op(there, dl.flip(there)).to("cpu").tobytes() == op(x, dl.flip(x)).tobytes(), op.__name__
    assert same(dl.nonzero(there)[0], dl.nonzero(x)[0])
    assert same(dl.searchsorted(dl.sort(there), there), dl.searchsorted(dl.sort(x), x))
    for op in (dl.max, dl.argmax, dl.count_nonzero):
        assert op(there[:100]).to("cpu").tobytes() == op(x[:100]).tobytes(), op.__name__
    got = dl.where(dl.less(there, there[10]), there, there[3])
    assert got.to("cpu").tobytes() == dl.where(dl.less(x, x[10]), x, x[3]).tobytes()


BYTES = [(a, b) for a in ("int8", "uint8") for b in ("int8", "uint8")]
SHAPES = [
    ((9, 70), (70, 5)),
    ((64, 128), (128, 32)),
    ((3, 8, 16), (16, 12)),
    ((2, 1, 8, 4), (3, 4, 8)),
    ((16,), (16, 4)),
    ((4, 0), (0, 4)),
]


@pytest.mark.parametrize(("left", "right"), BYTES)
def test_products_of_bytes_are_those_of_the_host(left, right):
    rng = np.random.default_rng(1)

    def drawn(shape, dtype):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return dl.asarray(rng.integers(low, high, shape, dtype=dtype, endpoint=True))

    for first, second in SHAPES:
        a, b = drawn(first, left), drawn(second, right)
        x, y = a.to("cuda"), b.to("cuda")
        turned = dl.matrix_transpose(dl.matrix_transpose(b).copy().to("cuda"))
        assert same(dl.matmul(x, y, dtype="int32"), dl.matmul(a, b, dtype="int32")), first
        assert same(dl.matmul(x, turned, dtype="int32"), dl.matmul(a, b, dtype="int32")), first
        if a.ndim == 2:
            assert same(
                dl.matmul(x[::-1, ::-1], y[::-1], dtype="int32"), dl.matmul(a[::-1, ::-1], b[::-1], dtype="int32")
            )
    low, high = np.iinfo(left).min, np.iinfo(right).min
    a, b = dl.full((4, 1 << 18), low, dtype=left), dl.full((1 << 18, 4), high or 255, dtype=right)
    assert same(dl.matmul(a.to("cuda"), b.to("cuda"), dtype="int32"), dl.matmul(a, b, dtype="int32"))


def test_products_of_int8_are_those_of_cublas(eager_machine):
    if eager_machine is None:
        pytest.skip("needs the emulator")
    x = dl.asarray(np.random.default_rng(2).integers(-128, 128, (32, 66), dtype=np.int8)).to("cuda")
    for a, b, launches in [(x[:, :64].copy(), x[:, :64].copy().T, 0), (x, x.T, 1), (x.view("uint8"), x.T, 1)]:
        before = eager_machine.statistics().launches
        got = dl.matmul(a, b, dtype="int32")
        assert eager_machine.statistics().launches - before == launches
        assert same(got, dl.matmul(a.to("cpu"), b.to("cpu"), dtype="int32"))


# -- products of float8 -----------------------------------------------------------------------------------------------

FLOAT8 = [("float8_e4m3fn", "float8_e4m3fn"), ("float8_e5m2", "float8_e4m3fn"), ("float8_e4m3fn", "float8_e5m2")]
BITS = {"bfloat16": 8, "float16": 11, "float32": 13}


def float8_operands(left, right, m=48, k=64, n=32):
    draw = dl.random.Generator(7).normal
    return draw(shape=(m, k)).astype(left), draw(shape=(n, k)).astype(right)


def near(got, want, dtype):
    """Of the device, with the digits of a tensor core's sum or of the dtype."""
    assert (str(got.device), got.dtype.name, got.shape) == ("cuda:0", dtype, want.shape)
    got, want = (t.to("cpu").astype("float64").numpy() for t in (got, want))
    np.testing.assert_allclose(got, want, rtol=0, atol=2.0 ** (1 - BITS[dtype]) * np.abs(want).max())


def launches_of(machine, call):
    if machine is None:
        return call(), None
    call()
    before = machine.statistics().launches
    return call(), machine.statistics().launches - before


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize(("left", "right"), [*FLOAT8, ("float8_e5m2", "float8_e5m2")])
def test_tensor_cores_multiply_float8(eager_machine, left, right, dtype):
    a, b = float8_operands(left, right)
    x, y = a.to("cuda"), b.to("cuda")
    want = a.astype("float32") @ b.astype("float32").mT
    with cuda.tf32():
        got, launches = launches_of(eager_machine, lambda: dl.matmul(x, y.mT, dtype=dtype))
        near(got, want, dtype)
        # No core has two operands of e5m2, which are converted.
        assert launches in (None, 2 if left == right == "float8_e5m2" else 0)
        out = dl.zeros((32, 48), dtype=dtype, device="cuda")
        assert dl.matmul(x, y.mT, out.mT, dtype=dtype) is not None
        near(out.mT, want, dtype)
        near(dl.matmul(x.mT.copy().mT, y.mT.copy(), dtype=dtype), want, dtype)  # in another layout
        near(
            dl.matmul(x[:, 16:], y[:, 16:].mT, dtype=dtype),
            a[:, 16:].astype("float32") @ b[:, 16:].astype("float32").mT,
            dtype,
        )


@pytest.mark.parametrize("dtype", BITS)
def test_other_products_of_float8_are_those_of_converted_operands(eager_machine, dtype):
    a, b = float8_operands("float8_e4m3fn", "float8_e4m3fn")
    x, y = a.to("cuda"), b.to("cuda")
    for rows, columns, depth in ((48, 31, 64), (3, 32, 60), (1, 1, 1)):
        left, right = x[:rows, :depth], y[:columns, :depth].mT
        got = dl.matmul(left, right, dtype=dtype)
        assert same(got, dl.matmul(left.astype(dtype), right.astype(dtype)).to("cpu"))
    stack = dl.broadcast_to(x, (2, 48, 64))
    assert same(dl.matmul(stack, y.mT, dtype=dtype), dl.matmul(stack.astype(dtype), y.mT.astype(dtype)).to("cpu"))
    assert dl.matmul(x[:0], y.mT, dtype=dtype).shape == (0, 32)
    exact = dl.matmul(x, y.mT, dtype="float32")  # not by the cores
    assert same(exact, dl.matmul(x.astype("float32"), y.mT.astype("float32")).to("cpu"))


@pytest.mark.parametrize("order", setup.ORDERS)
@pytest.mark.parametrize(("left", "right"), FLOAT8)
def test_tensor_cores_multiply_by_scales(request, order, left, right):
    machine = None if setup.ON_CARD else request.getfixturevalue("machine")
    setup.clean(machine, order)
    a, b = float8_operands(left, right)
    x, y = a.to("cuda"), b.to("cuda")
    scales = dl.asarray(0.25), dl.asarray([[3.0]])
    on_device = [s.to("cuda") for s in scales]
    for dtype in BITS:
        want = dl.quantized_matmul(a, b, *scales, dtype=dtype)
        near(dl.quantized_matmul(x, y, *on_device, dtype=dtype), want, dtype)
        near(dl.quantized_matmul(x, y, 0.75, dtype=dtype), want, dtype)
        near(
            dl.quantized_matmul(x[:5, ::2], y[:, ::2], 0.75, dtype=dtype),
            dl.quantized_matmul(a[:5, ::2], b[:, ::2], 0.75),
            dtype,
        )
        near(dl.quantized_matmul(x[0], y, 0.75, dtype=dtype), dl.quantized_matmul(a[0], b, 0.75), dtype)
        near(dl.quantized_matmul(x, y[:3], 0.75, dtype=dtype), dl.quantized_matmul(a, b[:3], 0.75), dtype)
        near(
            dl.quantized_matmul(dl.reshape(x, (2, 24, 64)), y, 0.75, None, dtype=dtype),
            dl.reshape(want, (2, 24, 32)),
            dtype,
        )
    setup.clean(machine, "eager")


def test_products_of_float8_with_scales_are_one_call(eager_machine):
    x, y = (t.to("cuda") for t in float8_operands("float8_e4m3fn", "float8_e4m3fn"))
    scale = dl.asarray(0.25, device="cuda")
    _, launches = launches_of(eager_machine, lambda: dl.quantized_matmul(x, y, scale, dtype="bfloat16"))
    assert launches in (None, 1)  # the scale times 1
