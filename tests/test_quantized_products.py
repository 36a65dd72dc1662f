# SPDX-License-Identifier: Apache-2.0
"""quantized_matmul: the bits of the product with the dequantized matrix, on every level, for every layout of scales."""

import numpy as np
import pytest

import dltensor as dl
from dltensor._ops import promotion as _engine

# A format of quantize() or a dtype, and the block.
FORMATS = [
    ("mxfp4", None),
    ("nvfp4", None),
    ("mxfp8", None),
    ("mxfp8_e5m2", None),
    ("mxfp6_e2m3", None),
    ("int4", (1, 128)),
    ("int4", (1, -1)),
    ("int4", 16),
    ("int4", 8),
    ("int8", (1, -1)),
    ("int8", (4, 64)),
    ("int8", None),
    ("int2", 32),
    ("float8_e4m3fn", None),
    ("float8_e4m3fn", (1, 16)),
    ("float8_e4m3fn", (2, 128)),
    ("float8_e5m2", (1, -1)),
    ("float4_e2m1fn", 64),
]
# Rows of x, depth, rows of the matrix: around the ends of registers, parts and blocks of terms.
SHAPES = [
    (1, 384, 4),
    (1, 384, 64),
    (1, 4096 + 384, 12),
    (1, 2 * 4096, 8),
    (2, 384, 4),
    (3, 1152, 72),
    (8, 384, 200),
    (60, 768, 40),
]


@pytest.fixture(params=dl.cpu_features()["supported"])
def level(request):
    before = dl.cpu_features()["used"]
    _engine._set_cpu_level(request.param)
    yield request.param
    _engine._set_cpu_level(before)


def floats(shape, seed=1):
    return dl.asarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def same(a, b):
    """Equal bits, but for those of NaN."""
    x, y = a.numpy(), b.numpy()
    return x.shape == y.shape and bool(((x.view("u4") == y.view("u4")) | (np.isnan(x) & np.isnan(y))).all())


def expanded(x, values, *scales, zero=None):
    return dl.matmul(dl.astype(x, "float32"), dl.dequantize(values, *scales, zero=zero).mT)


@pytest.mark.parametrize(("name", "block"), FORMATS)
def test_bits_are_those_of_the_dequantized_matrix(name, block, level):
    for m, k, n in SHAPES:
        q = dl.quantize(floats((n, k)), name, block=block)
        x = floats((m, k), 2)
        got = dl.quantized_matmul(x, *q)
        assert got.shape == (m, n)
        assert got.dtype == dl.float32
        assert same(got, expanded(x, *q)), (m, k, n)


def test_vectors_and_stacks(level):
    q = dl.quantize(floats((24, 64)), "mxfp4")
    for shape in [(64,), (1, 64), (3, 1, 64), (2, 3, 1, 64), (3, 2, 64), (2, 1, 5, 64)]:
        x = floats(shape, 3)
        assert same(dl.quantized_matmul(x, *q), expanded(x, *q)), shape


@pytest.mark.parametrize("k", [1, 2, 7, 8, 9, 15, 31, 33, 100, 600])
def test_depths_that_are_no_registers(k, level):
    for name, block in [("int4", (1, -1)), ("int8", (1, -1)), ("float8_e4m3fn", None), ("int2", (1, -1))]:
        for m, n in [(1, 1), (1, 5), (2, 1), (2, 7), (9, 70)]:
            q = dl.quantize(floats((n, k)), name, block=block)
            x = floats((m, k), 4)
            assert same(dl.quantized_matmul(x, *q), expanded(x, *q)), (name, m, n)


@pytest.mark.parametrize("block", [1, 3, 5, 24, 48, 80, 1200])
def test_blocks_that_end_within_parts_of_rows(block, level):
    for name in ("int4", "int8"):
        q = dl.quantize(floats((30, 1200)), name, block=block)
        for m in (1, 4):
            x = floats((m, 1200), 5)
            assert same(dl.quantized_matmul(x, *q), expanded(x, *q)), (name, m)


def test_blocks_of_several_rows_that_end_within_tasks(level):
    q = dl.quantize(floats((300, 256)), "int8", block=(100, 128))
    for m in (1, 4):
        x = floats((m, 256), 5)
        assert same(dl.quantized_matmul(x, *q), expanded(x, *q))


def test_every_code(level):
    for name in ("int4", "uint4", "float4_e2m1fn", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"):
        bits = dl.DTYPES[name].bits
        values = dl.zeros((2**bits, 32), dtype="uint8")
        values[:, 5] = dl.arange(2**bits).astype("uint8")
        codes = values.view(name) if bits == 8 else values.astype("uint4").view(name)
        for scale in (0.1, 1e38, 1e-44, dl.inf, -dl.inf, dl.nan, 0.0):
            for x in (floats((1, 32)), floats((2, 32)), dl.full((1, 32), 3e38)):
                assert same(dl.quantized_matmul(x, codes, scale), expanded(x, codes, scale)), (name, scale)


def test_scales_that_are_infinite_or_nan_change_their_rows_only(level):
    for name, block in FORMATS[:4]:
        w = floats((16, 256)).numpy()
        w[2, 40], w[9, 255] = np.inf, np.nan
        q = dl.quantize(dl.asarray(w), name, block=block)
        for m in (1, 3):
            x = floats((m, 256), 6)
            got = dl.quantized_matmul(x, *q)
            assert same(got, expanded(x, *q))
            assert np.isnan(got.numpy()).any(axis=0).tolist() == [r in (2, 9) for r in range(16)]


@pytest.mark.parametrize("number", [np.inf, np.nan, 3e38, 1e-45])
def test_special_numbers_of_the_vector(number, level):
    for name, block in FORMATS:
        q = dl.quantize(floats((8, 384)), name, block=block)
        x = floats((1, 384), 7).numpy()
        x[0, 3], x[0, 200] = number, -number
        assert same(dl.quantized_matmul(dl.asarray(x), *q), expanded(dl.asarray(x), *q)), name


def test_zero_points_and_more_scales(level):
    codes = dl.quantize(floats((40, 256)), "int4", block=64).values.view("uint4")
    scale, zero = floats((40, 4), 8), dl.asarray(np.arange(160).reshape(40, 4) % 16)
    for m in (1, 3):
        x = floats((m, 256), 9)
        for scales in [
            (scale,),
            (scale, 0.7),
            (0.3, scale),
            (scale, floats((1, 2))),
            (scale, 0.5, 3.0, 7.0, 1.1, scale),
        ]:
            assert same(dl.quantized_matmul(x, codes, *scales), expanded(x, codes, *scales))
            assert same(dl.quantized_matmul(x, codes, *scales, zero=zero), expanded(x, codes, *scales, zero=zero))
        assert same(dl.quantized_matmul(x, codes, None, zero=8), expanded(x, codes, None, zero=8))
        assert same(dl.quantized_matmul(x, codes, None), expanded(x, codes, None))


def test_values_of_any_dtype(level):
    x = floats((1, 64))
    for name in ("bfloat16", "float32", "float64", "int32", "float8_e3m4", "float8_e8m0fnu"):
        values = dl.astype(dl.abs(floats((12, 64), 3)) * 4, name)
        assert same(dl.quantized_matmul(x, values, 0.5), expanded(x, values, 0.5)), name


@pytest.mark.parametrize("name", ["int4", "float8_e4m3fn"])
def test_layouts(name):
    q = dl.quantize(floats((48, 128)), name, block=(1, 64))
    x = floats((3, 128), 2)
    want = expanded(x, *q)
    assert same(dl.quantized_matmul(x.T.copy().T, *q), want)
    assert same(dl.quantized_matmul(x, q.values, q.scale.T.copy().T), want)
    assert same(dl.quantized_matmul(x, dl.astype(q.values, name, padded=True), q.scale), want)
    assert same(dl.quantized_matmul(x[:1], dl.astype(q.values, name, padded=True), q.scale), expanded(x[:1], *q))
    for m in (1, 3):
        assert same(dl.quantized_matmul(x[:m], q.values[8:40:2], q.scale[8:40:2]), expanded(x[:m], *q)[:, 8:40:2])
        assert same(dl.quantized_matmul(x[:m], q.values[1:7], q.scale[1:7]), expanded(x[:m], *q)[:, 1:7])


def misaligned(t, shift):
    """The same elements, so many bytes after a multiple of 8."""
    data = t.tobytes()
    raw = np.zeros(len(data) + 8, np.uint8)
    raw[shift : shift + len(data)] = np.frombuffer(data, np.uint8)
    return dl.wrap(raw.ctypes.data + shift, t.shape, t.dtype, owner=raw)


@pytest.mark.parametrize("shift", [1, 3])
def test_misaligned_operands(shift, level):
    for name in ("float8_e4m3fn", "int8", "int4"):
        q = dl.quantize(floats((40, 128)), name, block=(1, 32))
        for m in (1, 3):
            x = floats((m, 128), 2)
            got = dl.quantized_matmul(misaligned(x, shift), misaligned(q.values, shift), misaligned(q.scale, shift))
            assert same(got, expanded(x, *q))


def test_converts_numbers_of_other_dtypes():
    q = dl.quantize(floats((8, 32)), "mxfp8")
    for name in ("bfloat16", "float16", "float64", "int8", "uint64"):
        x = dl.astype(dl.abs(floats((2, 32), 3)) * 9, name)
        assert same(dl.quantized_matmul(x, *q), expanded(x, *q)), name
    assert same(dl.quantized_matmul([1] * 32, *q), expanded(dl.ones(32), *q))


def test_threads_do_not_change_bits():
    before = dl.num_threads()
    try:
        for name, block in FORMATS:
            q = dl.quantize(floats((1000, 1152)), name, block=block)
            for m in (1, 5, 70):
                found = []
                for threads in (1, 2, 4):
                    dl.set_num_threads(threads)
                    found.append(dl.quantized_matmul(floats((m, 1152), 2), *q).tobytes())
                assert found[0] == found[1] == found[2], (name, m)
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", None])
def test_the_result_is_rounded_to_a_dtype(dtype):
    weights = dl.quantize(dl.random.Generator(1).normal(shape=(40, 64)), "float8_e4m3fn")
    for shape in ((3, 64), (64,), (2, 5, 64), (0, 64)):
        x = dl.random.Generator(2).normal(shape=shape)
        for each in (x, x.astype("float8_e4m3fn"), x.astype("float8_e5m2")):
            got, want = dl.quantized_matmul(each, *weights, 0.5, dtype=dtype), dl.quantized_matmul(each, *weights, 0.5)
            assert got.dtype.name == (dtype or "float32")
            assert got.view("uint8").tolist() == want.astype(got.dtype).view("uint8").tolist()


def test_empty_operands():
    for m, n, k in [(0, 4, 32), (1, 0, 32), (3, 0, 32), (2, 4, 0), (1, 4, 0), (0, 0, 0)]:
        got = dl.quantized_matmul(dl.zeros((m, k)), dl.zeros((n, k), dtype="int8"), 1.0)
        assert got.shape == (m, n)
        assert got.tolist() == [[0.0] * n] * m
    assert dl.quantized_matmul(dl.zeros((0, 3, 32)), dl.zeros((4, 32), dtype="int8"), 1.0).shape == (0, 3, 4)


def test_a_fused_function_refuses_it_as_it_refuses_matmul():
    q = dl.quantize(floats((8, 32)), "mxfp4")
    for product in (lambda t: dl.quantized_matmul(t, *q), lambda t: dl.matmul(t, dl.dequantize(*q).mT)):
        with pytest.raises(TypeError, match="cannot be fused"):
            dl.fuse(product)(floats((3, 32)))


def test_refuses_operands_that_do_not_fit():
    q = dl.quantize(floats((8, 32)), "mxfp4")
    for x, values in [(dl.ones(31), q.values), (dl.ones((2, 31)), q.values), (dl.ones(32), q.values.reshape(-1))]:
        with pytest.raises(ValueError, match=r"values must be a matrix of shape \(n, \d+\), one row for each output"):
            dl.quantized_matmul(x, values, q.scale)
    with pytest.raises(TypeError, match=r"quantized_matmul: dtype must be float32, bfloat16 or float16, got .*int8"):
        dl.quantized_matmul(dl.ones(4), dl.ones((2, 4)), 1.0, dtype="int8")
    with pytest.raises(ValueError, match=r"quantized_matmul: scale of shape \(8, 3\) does not divide values of shape"):
        dl.quantized_matmul(dl.ones(32), q.values, dl.ones((8, 3)))
    with pytest.raises(ValueError, match=r"quantized_matmul: zero of shape \(3,\) does not divide values"):
        dl.quantized_matmul(dl.ones(32), q.values, q.scale, zero=dl.ones(3))
    with pytest.raises(TypeError, match="quantized_matmul: x needs at least one dimension, got a number"):
        dl.quantized_matmul(1.0, *q)
    with pytest.raises(TypeError, match="quantized_matmul: x must have an integer or float dtype, got complex64"):
        dl.quantized_matmul(dl.ones(32, dtype="complex64"), *q)
    with pytest.raises(TypeError, match="quantized_matmul: values must have an integer or float dtype, got bool"):
        dl.quantized_matmul(dl.ones(2), dl.ones((3, 2), dtype="bool"), 1.0)
