# SPDX-License-Identifier: Apache-2.0
"""quantize, dequantize and quantization_error against a twin with exact rationals, on every level and composed."""

import functools
import itertools
import json
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import quantization_twin as twin

import dltensor as dl
from dltensor._ops import promotion as _engine
from dltensor._ops import quantization

FORMATS = [*quantization.FORMATS, "int8", "int4", "int2", *twin.FLOATS]
RULES = ["floor", "even", "ceil"]
CASES = [(name, rule) for name in FORMATS for rule in (RULES if name in twin.POWERS else RULES[:1])]


@pytest.fixture(params=dl.cpu_features()["supported"])
def level(request):
    before = dl.cpu_features()["used"]
    _engine._set_cpu_level(request.param)
    yield request.param
    _engine._set_cpu_level(before)


def codes_of(t):
    """The codes of elements, one byte each."""
    return np.frombuffer(dl.astype(t, t.dtype, padded=True).tobytes(), np.uint8) if t.dtype.bits < 8 else bits_of(t)


def bits_of(t):
    return np.frombuffer(t.tobytes(), np.uint8)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bool((bits_of(a) == bits_of(b)).all())


def numbers(shape, seed=0):
    """Numbers of all magnitudes, with special blocks along the first axis."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    x *= np.exp2(rng.integers(-140, 120, (*shape[:-1], 1))).astype(np.float32)
    if x.shape[0] >= 8:
        x[0, ..., 3], x[1, ..., 2], x[2], x[3] = np.inf, np.nan, 0, -0.0
        x[4], x[5], x[6] = 1e-44, 3e38, 2.0**-126
    return x


def composed(x, format, rule, block):
    dtype, kind, usual = quantization._read_format(format, "quantize")
    whole = block is None and usual is None
    counts = (
        (1,) * x.ndim if whole else quantization._read_block(usual if block is None else block, x.shape, "quantize")
    )
    return quantization._composed(x, dtype, kind, rule, counts)


def recomposed(q, dtype="float32", zero=None):
    """Numbers by the definition: each scale repeated over its blocks by NumPy, products from the left."""
    y = dl.astype(q.values, "float32").numpy()
    for k, number in enumerate((zero, q.scale, q.scale2)):
        if number is not None:
            factor = dl.astype(dl.asarray(number), "float32").numpy()
            factor = factor.reshape((1,) * (y.ndim - factor.ndim) + factor.shape)
            for axis in range(y.ndim):
                factor = np.repeat(factor, y.shape[axis] // factor.shape[axis], axis)
            with np.errstate(all="ignore"):
                y = y - factor if k == 0 else y * factor
    return dl.astype(dl.asarray(y), dtype)


def test_vectors_are_those_of_the_twin():
    assert twin.VECTORS.read_text() == twin.text()


def test_vectors(level):
    found = json.loads(twin.VECTORS.read_text())
    x = {name: np.frombuffer(bytes.fromhex(bits), ">u4").astype(np.uint32) for name, bits in found["blocks"].items()}
    assert len(found["cases"]) == 320
    for case in found["cases"]:
        q = dl.quantize(x[case["block"]].view(np.float32), case["format"], rule=case["rule"])
        assert codes_of(q.values).tobytes().hex() == case["codes"], case
        scale = q.scale.numpy() if q.scale.dtype == dl.float32 else bits_of(q.scale)
        assert scale.byteswap().tobytes().hex() == case["scale"], case
        if "scale2" in case:
            assert q.scale2.numpy().byteswap().tobytes().hex() == case["scale2"], case


@functools.cache  # the same for every level
def block_of_the_twin(data, name, rule, second):
    return twin.quantize_block(np.frombuffer(data, np.float32).tolist(), name, rule, second)


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_blocks_are_those_of_the_twin(name, rule, level):
    x = numbers((16, 32), seed=len(name))
    q = dl.quantize(x, name, rule=rule, block=16)
    codes, second = codes_of(q.values).reshape(32, 16), None if q.scale2 is None else float(q.scale2)
    if second is not None:
        assert second == twin.tensor_scale_of(x.ravel().tolist())
    scales = np.frombuffer(q.scale.tobytes(), np.uint32 if q.scale.dtype == dl.float32 else np.uint8)
    for k, block in enumerate(x.reshape(32, 16)):
        wanted, scale = block_of_the_twin(block.tobytes(), name, rule, second)
        assert scales[k] == scale, (block, scales[k], scale)
        assert codes[k].tolist() == wanted, block


# Blocks of every form: in lines, over lines, longer than parts, of odd lengths, over the whole tensor.
SHAPES = [
    ((16, 96), [None, 1, 3, 16, 32, (1, -1), (2, 8), (16, 1), (8, 3), (-1, -1)]),
    ((8, 2, 15), [1, 5, (1, -1), (2, 1), (4, 2, 3), (-1, 1, 1), (8, 2, 15)]),
    ((3, 140000), [None, (1, -1), 70000, 8, (3, 1)]),
    ((600, 1024), [None, (1, 128), (200, 128), (-1, 1), (1, -1)]),
]


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_blocks_of_every_form_are_those_of_composed_functions(name, rule, level):
    tested = 0
    for shape, blocks in SHAPES:
        x = dl.asarray(numbers(shape))
        for block in blocks:
            if block is None and name in quantization.FORMATS and shape[-1] % 32:
                continue
            q = dl.quantize(x, name, block=block, rule=rule)
            values, scale, second = composed(x, name, rule, block)
            assert same(q.values, values), (shape, block)
            assert same(q.scale.reshape(scale.shape), scale), (shape, block)
            assert (second is None and q.scale2 is None) or same(q.scale2, second)
            for dtype, zero in itertools.product(("float32", "bfloat16"), (None, 3)):
                assert same(dl.dequantize(*q, zero=zero, dtype=dtype), recomposed(q, dtype, zero)), (
                    shape,
                    block,
                    dtype,
                )
            tested += 1
    assert tested >= 15


def halfway_numbers(name, scales):
    """For each scale a row of its largest number and of all numbers beside those half way between two elements."""
    if name in twin.FLOATS:
        elements = np.asarray(
            [float(twin.magnitude(code, name)) for code in range(twin.FLOATS[name][3] + 1)], np.float32
        )
    else:
        elements = np.arange(2 ** (twin.INTEGERS[name] - 1), dtype=np.float32)
    near = (scales[:, None] * ((elements[1:] + elements[:-1]) / 2)).astype(np.float32)
    for _ in range(2):
        near = np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))], axis=1)
    signs = np.where(np.arange(near.shape[1]) % 2, -1, 1).astype(np.float32)
    return np.concatenate([scales[:, None] * elements[-1], near * signs], axis=1)


@pytest.mark.parametrize("name", ["int8", "int4", "int2", *twin.FLOATS])
def test_codes_change_at_the_quotients_of_a_division(name, level):
    rng = np.random.default_rng(4)
    scales = (1 + rng.random(1000, dtype=np.float32)) * np.exp2(rng.integers(-58, 60, 1000)).astype(np.float32)
    x = dl.asarray(halfway_numbers(name, scales))
    q = dl.quantize(x, name, block=(1, -1))
    values, scale, _ = composed(x, name, "floor", (1, -1))
    assert same(q.scale, scale)
    assert same(q.values, values)


def rounded(number):
    """Round a positive rational to 24 bits, half to even."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length() - 24
    exponent += number >= Fraction(2) ** (exponent + 24)
    return round(number / Fraction(2) ** exponent) * Fraction(2) ** exponent


def test_corrected_quotients_have_the_codes_of_a_division():
    # codes.cc computes q + (x - q d) y with q = x y and y = 1 / d, each rounded. Before its last rounding it differs
    # from x / d by less than 2**-22 units of the last place. So it can be on another side of t, half way between two
    # elements, only where x = d t + r with an integer r that is as near to half a unit of t, which few d have. t is a
    # power of two times an odd number below 256.
    tried = 0
    for t in range(1, 256, 2):
        unit = 1 << (t.bit_length() - 1)
        for r, away in itertools.product(range(max(unit // 2 - 1, 0), unit + 1), range(-12, 13)):
            d = r * (1 << 24) // unit + away
            for p in (d * t + r, d * t - r):
                extra = max(p.bit_length() - 24, 0)
                if not 1 << 23 <= d < 1 << 24 or p % (1 << extra):
                    continue
                x, y = Fraction(p), rounded(Fraction(1, d))
                q, quotient = rounded(x * y), rounded(x / d)
                rest = x - q * d
                rest = rounded(abs(rest)) * (1 if rest > 0 else -1) if rest else rest
                corrected = rounded(q + rest * y)
                assert (corrected < t, corrected > t) == (quotient < t, quotient > t), (t, d, p)
                tried += 1
    assert tried > 2000


@pytest.mark.parametrize("exponent", [-149, -127, -100, -63, -60, -59, 90, 99, 100, 101, 125, 127])
def test_scales_of_any_magnitude(exponent, level):
    x = (np.random.default_rng(5).random((16, 40), dtype=np.float32) - np.float32(0.5)) * np.float32(2.0**exponent)
    for name in ("int8", "int4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "nvfp4"):
        block = 8 if name == "nvfp4" else (1, -1)
        q, (values, scale, second) = dl.quantize(x, name, block=block), composed(dl.asarray(x), name, "floor", block)
        assert same(q.values, values)
        assert same(q.scale, scale)
        assert (second is None) == (q.scale2 is None)


def test_threads_do_not_change_bytes():
    x = dl.asarray(numbers((1024, 1024)))
    before = dl.num_threads()
    found = []
    try:
        for threads in (1, 4):
            dl.set_num_threads(threads)
            made = [dl.quantize(x, name) for name in FORMATS]
            found.append([bits_of(t).tobytes() for q in made for t in (*q, dl.dequantize(*q)) if t is not None])
    finally:
        dl.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "int8", "int64", "float8_e4m3fn"])
def test_other_dtypes_are_converted_to_float32(name):
    x = dl.astype(dl.asarray(np.random.default_rng(1).normal(size=(4, 64)) * 20), name)
    a, b = dl.quantize(x, "mxfp4"), dl.quantize(dl.astype(x, "float32"), "mxfp4")
    assert same(a.values, b.values)
    assert same(a.scale, b.scale)


def test_strided_and_foreign_operands():
    x = numbers((64, 32))
    for view in (x.T, x[::-1], x[:, ::2][:, :16]):
        a, b = dl.quantize(view, "nvfp4"), dl.quantize(np.ascontiguousarray(view), "nvfp4")
        assert all(same(s, t) for s, t in zip(a, b, strict=True))
    q = dl.quantize(x, "int8", block=(1, -1))
    turned = dl.dequantize(q.values.T, q.scale.T)
    assert same(dl.copy(turned.T), dl.dequantize(*q))


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_misaligned_operands(shift):
    raw = np.zeros(64 * 33 * 4 + 8, np.uint8)
    x = raw[shift : shift + 64 * 33 * 4].view(np.float32).reshape(64, 33)
    x[...] = numbers((64, 33))
    a, b = dl.quantize(x, "int8", block=(1, -1)), dl.quantize(x.copy(), "int8", block=(1, -1))
    assert same(a.values, b.values)
    assert same(a.scale, b.scale)


def test_scales_of_every_form():
    values = dl.asarray(np.arange(-128, 128, dtype=np.int8).reshape(16, 16))
    for shape in [(), (1,), (16,), (4,), (16, 1), (4, 8), (1, 2), (2, 16)]:
        scale = dl.asarray(np.random.default_rng(2).random(shape, dtype=np.float32))
        got = dl.dequantize(values, scale)
        assert same(got, recomposed(quantization.Quantized(values, scale)))
    got = dl.dequantize(values, dl.ones((16, 1)), dl.ones((4,)), 0.5, 2.0, 4.0, zero=dl.ones((2, 1)))
    assert got.tolist() == ((values.numpy().astype(np.float32) - 1) * 4).tolist()


def test_further_scales_follow_from_the_left():
    codes = dl.asarray(np.array([3, 5], np.int8))
    a, b = np.float32(0.1), np.float32(0.7)
    want = np.array([3, 5], np.float32) * a * b
    assert dl.dequantize(codes, float(a), float(b)).numpy().tolist() == want.tolist()


def test_zero_keeps_its_sign():
    q = dl.quantize([[-0.0] * 31 + [1.0]], "mxfp4")
    assert math.copysign(1, float(dl.dequantize(*q)[0, 0])) == -1


def test_empty_tensors():
    for name in FORMATS:
        q = dl.quantize(dl.zeros((0, 32)), name)
        assert q.values.shape == (0, 32)
        assert dl.dequantize(*q).shape == (0, 32)
    q = dl.quantize(dl.zeros((0, 32)), "int8", block=(-1, 1))
    assert q.scale.tolist() == [[1.0] * 32]
    assert dl.quantization_error(dl.zeros((0, 32)), q) == (0.0, 0.0, math.inf, 0, 0)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "nvfp4"])  # whose scales are not exact
def test_numbers_that_a_format_holds_come_back(name):
    dtype = quantization._read_format(name, "quantize")[0]
    codes = np.arange(1 << dtype.bits, dtype=np.uint8)
    values = dl.astype(dl.asarray(codes.view(getattr(ml_dtypes, dtype.name, np.int8))), "float32").numpy()
    if dtype.name.startswith("int"):
        values = values[values > values.min()]  # symmetric
    x = values[np.isfinite(values)]
    q = dl.quantize(x, name, block=-1)
    assert same(dl.dequantize(*q), dl.asarray(x))
    error = dl.quantization_error(x, q)
    assert error == (0.0, 0.0, math.inf, 0, 0)


def test_quantization_error_against_numpy():
    x = numbers((8, 64), seed=3)[7:]
    q = dl.quantize(x, "mxfp4")
    y = dl.dequantize(*q).numpy().astype(np.float64)
    error = dl.quantization_error(x, q)
    assert error.largest == np.abs(np.float32(y) - x).max()
    relative = math.sqrt(((y - x) ** 2).sum() / (x.astype(np.float64) ** 2).sum())
    assert math.isclose(error.relative_rms, relative, rel_tol=1e-6)
    assert math.isclose(error.decibels, -20 * math.log10(relative), rel_tol=1e-6)
    assert error.flushed == ((y == 0) & (x != 0)).sum()
    codes = codes_of(q.values).reshape(x.shape) & 7
    assert error.clamped == ((codes == 7) & (np.abs(x) > np.abs(y))).sum()
    assert dl.quantization_error(x, tuple(q)) == error
    assert dl.quantization_error([1.0, 2.0], dl.quantize([0.0, 0.0], "int8")).decibels == 0
    assert dl.quantization_error([0.0], dl.quantize([1.0], "int8")).decibels == -math.inf


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dl.quantize([1.0], "mxfp5"), ValueError, "quantize: format must be one of mxfp8, .* got 'mxfp5'"),
        (lambda: dl.quantize([1.0], "float32"), ValueError, "quantize: format must be one of"),
        (lambda: dl.quantize([1.0], "float8_e8m0fnu"), ValueError, "quantize: format must be one of"),
        (lambda: dl.quantize([1.0], "uint4"), ValueError, "quantize: format must be one of"),
        (lambda: dl.quantize([1.0], "mxfp4", rule="up"), ValueError, "rule must be one of floor, even, ceil, got 'up'"),
        (lambda: dl.quantize(dl.ones((2, 33)), "mxfp4"), ValueError, "dimension 1 has 33 elements, a multiple of 32"),
        (lambda: dl.quantize(dl.ones(4), "int8", block=(1, 2)), ValueError, "has 2 dimensions, x has shape"),
        (lambda: dl.quantize(1.0, "mxfp4"), ValueError, r"block \(32,\) has 1 dimensions, x has shape \(\)"),
        (
            lambda: dl.quantize(dl.ones(4), "int8", block=0),
            ValueError,
            "at least 1, or -1 for a whole dimension, got 0",
        ),
        (lambda: dl.quantize(dl.ones(4), "int8", block=1.5), TypeError, "quantize: block must be an integer"),
        (lambda: dl.quantize([True], "int8"), TypeError, "x must have an integer or float dtype, got bool"),
        (lambda: dl.quantize([1j], "int8"), TypeError, "x must have an integer or float dtype, got complex64"),
        (lambda: dl.dequantize([1j], 1.0), TypeError, "values must have an integer or float dtype, got complex64"),
        (lambda: dl.dequantize([1], [True]), TypeError, "scale must have an integer or float dtype, got bool"),
        (lambda: dl.dequantize([1], 1.0, dtype="int8"), TypeError, "dtype must be float16, .* got int8"),
        (
            lambda: dl.dequantize(dl.ones((4, 6)), dl.ones((4, 4))),
            ValueError,
            r"scale of shape \(4, 4\) does not divide",
        ),
        (lambda: dl.dequantize([1], 1.0, dl.ones((1, 1))), ValueError, r"scale 2 of shape \(1, 1\) does not divide"),
        (lambda: dl.dequantize(dl.ones(4), 1.0, zero=dl.ones(3)), ValueError, r"zero of shape \(3,\) does not divide"),
        (lambda: dl.quantization_error([1.0, 2.0], dl.quantize([1.0], "int8")), ValueError, r"x has shape \(2,\)"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
