# SPDX-License-Identifier: Apache-2.0
"""Quantization by the CUDA engine on the host driver, in every order of streams, to the bytes of the CPU."""

import ctypes

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")

from dltensor._ops import quantization  # noqa: E402
from dltensor._ops.block_scales import KINDS  # noqa: E402

FORMATS = ["mxfp4", "mxfp6_e3m2", "mxfp8", "nvfp4", "int8", "int4", "int2", "float8_e4m3fnuz"]


class Bytes:
    """A tensor of a dtype of the package, packed too, on the device, `ahead` bytes behind an aligned address."""

    def __init__(self, cuda, t, ahead=0):
        self.cuda, self.t, self.ahead = cuda, t, ahead
        data = np.frombuffer(t.tobytes(), np.uint8)
        self.raw = cuda.upload(np.concatenate([np.full(ahead, 0xA5, np.uint8), data, np.full(5, 0xA5, np.uint8)]))

    def flat(self):
        n, keep = self.t.ndim, []
        flat = self.raw.flat()
        flat.type, flat.ndim, flat.offset = self.cuda.c.shim_type(str(self.t.dtype).encode()), n, self.ahead
        steps = np.cumprod([1, *reversed(self.t.shape)])[:n][::-1]
        for numbers in (self.t.shape, steps):
            keep.append((ctypes.c_int64 * max(n, 1))(*map(int, numbers)))
        flat.shape, flat.strides = (ctypes.cast(k, ctypes.POINTER(ctypes.c_int64)) for k in keep)
        flat.keep = keep
        return flat

    def get(self):
        """The bytes; those around them are as they were."""
        found = self.raw.get()
        around = np.concatenate([found[: self.ahead], found[-5:]])
        assert (around == 0xA5).all()
        return found[self.ahead : -5].tobytes()


def blank(dtype, shape):
    """A tensor to be overwritten, of bytes that no result has all over."""
    t = dl.empty(shape, dtype=dtype)
    raw = np.full(len(t.tobytes()), 0xFF if t.dtype.bits >= 8 else 0, np.uint8)
    return dl.asarray(raw).view(t.dtype).reshape(shape) if t.dtype.bits >= 8 else dl.zeros(shape, dtype=dtype)


def quantize(cuda, x, name, block, rule, want, ahead=0):
    """The tensors of the device that quantize() fills."""
    dtype, kind, _ = quantization._read_format(name, "quantize")
    there = [None if t is None else Bytes(cuda, blank(t.dtype, t.shape), ahead) for t in want]
    operand = Bytes(cuda, x, ahead)
    flats = [None if t is None else ctypes.byref(t.flat()) for t in (operand, *there)]
    numbers = KINDS.index(kind), quantization.RULES.index(rule), cuda.c.shim_type(str(dtype).encode())
    cuda("quantize", *numbers, *flats, cuda.stream())
    return there


def dequantize(cuda, values, numbers, zero, dtype, ahead=0):
    """The bytes of the numbers, from a tensor of the device and scales of the host."""
    each = [Bytes(cuda, dl.astype(t, "float32"), ahead) for t in numbers]
    point = None if zero is None else Bytes(cuda, dl.astype(zero, "float32"), ahead)
    out = Bytes(cuda, blank(dtype, values.t.shape), ahead)
    flats = [t.flat() for t in each]
    scales = (type(out.flat()) * max(len(flats), 1))(*flats)
    first = None if point is None else ctypes.byref(point.flat())
    cuda("dequantize", ctypes.byref(values.flat()), first, scales, len(flats), ctypes.byref(out.flat()), cuda.stream())
    return out.get()


def numbers(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    x *= np.exp2(rng.integers(-140, 120, (*shape[:-1], 1))).astype(np.float32)
    if shape[0] >= 8:
        rows = x.reshape(shape[0], -1)
        rows[0, 3 % rows.shape[1]], rows[1, 2 % rows.shape[1]], rows[2], rows[3], rows[4], rows[5] = (
            np.inf,
            np.nan,
            0,
            -0.0,
            1e-44,
            3e38,
        )
    return dl.asarray(x)


def check(cuda, x, name, block, rule="floor", ahead=0):
    want = dl.quantize(x, name, block=block, rule=rule)
    there = quantize(cuda, x, name, block, rule, want, ahead)
    for got, expected in zip(there, want, strict=True):
        assert got is None or got.get() == expected.tobytes(), (name, x.shape, block, rule, expected.dtype)
    scales = [t for t in want[1:] if t is not None]
    got = dequantize(cuda, there[0], scales, dl.asarray(2.0), "bfloat16", ahead)
    assert got == dl.dequantize(*want, zero=2, dtype="bfloat16").tobytes(), (name, x.shape, block, rule)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_are_those_of_the_cpu(cuda, name):
    x = numbers((8, 48), len(name))
    for block in [16, 24, 3, (4, 8), (8, 1), (1, -1), (-1, -1), (2, 12)]:
        for rule in quantization.RULES if name.startswith("mx") else quantization.RULES[:1]:
            check(cuda, x, name, block, rule)


@pytest.mark.parametrize("name", ["mxfp4", "mxfp6_e3m2", "nvfp4", "int8", "int2"])
def test_blocks_of_every_form(eager, name):
    """Lengths that no pack of eight divides, long ones, many axes, over the whole tensor, and one element more."""
    for shape, blocks in [
        ((9, 33), [(1, 33), (3, 11), (9, 1), 1, (-1, -1)]),
        ((8, 2, 15), [1, 5, (1, -1), (2, 1), (4, 2, 3), (-1, 1, 1), (8, 2, 15)]),
        ((3, 4096), [512, 1024, 2048, (1, -1), (3, 32)]),
        ((8, 3, 2, 4, 2, 2, 2, 2, 2), [(2, 3, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 4, 1, 2, 1, 2, 2)]),
        ((1,), [1]),
        ((17,), [17]),
        ((2, 70000), [(1, -1)]),
        ((70001,), [-1]),
        ((2048, 3), [(1024, 1), (1024, 3)]),
    ]:
        for block in blocks:
            check(eager, numbers(shape, len(shape)), name, block)


@pytest.mark.parametrize("name", ["mxfp4", "mxfp6_e3m2", "nvfp4", "int8", "int2"])
def test_operands_at_any_address(eager, name):
    for ahead in (1, 2, 4, 8):
        for block in (8, (4, 4), (1, -1), 3):
            check(eager, numbers((8, 48), 3), name, block, ahead=ahead)


def test_numbers_of_every_form(eager):
    rng = np.random.default_rng(5)
    for dtype in ("int8", "uint4", "float6_e2m3fn", "float4_e2m1fn", "float8_e8m0fnu", "int32", "float16", "float32"):
        if dl.DTYPES[dtype].bits <= 8:
            raw = rng.integers(0, 256, 16 * 24 * dl.DTYPES[dtype].bits // 8, dtype=np.uint8)
            values = dl.asarray(raw).view(dtype).reshape((16, 24))
        else:
            values = dl.astype(dl.asarray(rng.integers(-99, 99, (16, 24))), dtype)
        for shapes in ([()], [(24,), (16, 1)], [(4, 3), (1, 8), (16, 24)], [(2, 1), (), (8, 6)]):
            scales = [dl.asarray(rng.random(shape, dtype=np.float32) + 0.5) for shape in shapes]
            for zero, result in ((None, "float32"), (dl.asarray(rng.random((8, 1), dtype=np.float32)), "float16")):
                want = dl.dequantize(values, *scales, zero=zero, dtype=result).tobytes()
                for ahead in (0, 1):
                    got = dequantize(eager, Bytes(eager, values, ahead), scales, zero, result, ahead)
                    assert got == want, (dtype, shapes, result, ahead)
    deep = dl.asarray(rng.integers(0, 200, (2, 3, 2, 3, 2, 3, 2, 3, 2), dtype=np.uint8))
    scales = [dl.asarray(rng.random(s, dtype=np.float32)) for s in [(1, 3) * 4 + (1,), (2, 1) * 4 + (2,), (3, 1)]]
    want = dl.dequantize(deep, *scales, zero=7, dtype="bfloat16").tobytes()
    assert dequantize(eager, Bytes(eager, deep), scales, dl.asarray(7.0), "bfloat16") == want


def test_nan_and_infinity_are_those_of_the_operands(eager):
    bits = np.array([0x7FC00001, 0xFFC00002, 0x7F800005, 0xFF800000, 0x7F800000, 0, 0x3F800000], np.uint32)
    values = dl.asarray(bits).view("float32")
    for scale in (2.0, float("inf"), float("nan")):
        got = np.frombuffer(dequantize(eager, Bytes(eager, values), [dl.asarray(scale)], None, "float32"), np.uint32)
        want = dl.dequantize(values, scale).numpy()
        made = np.isnan(want) & ~np.isnan(values.numpy()) & ~np.isnan(scale)  # by arithmetic, with bits of its own
        assert np.array_equal(got[~made], want.view(np.uint32)[~made])
        assert np.isnan(got.view(np.float32)[made]).all()


def test_launches(eager, machine):
    def launches(call):
        before = machine.statistics().launches
        result = call()
        return machine.statistics().launches - before, result

    x = numbers((64, 256), 6)
    large = numbers((128, 1024), 7)
    for t, name, block, wanted in [
        (x, "mxfp4", None, 1),
        (x, "mxfp6_e3m2", None, 1),
        (x, "int4", (1, 128), 1),
        (x, "int8", (1, -1), 1),
        (x, "nvfp4", None, 2),
        (x, "int8", (32, 32), 2),
        (x, "int8", (-1, -1), 1),
        (large, "int8", (-1, -1), 2),
    ]:
        want = dl.quantize(t, name, block=block)
        count, there = launches(
            lambda t=t, name=name, block=block, want=want: quantize(eager, t, name, block, "floor", want)
        )
        assert count == wanted, (name, block)
        assert there[0].get() == want.values.tobytes()
        scales = [s for s in want[1:] if s is not None]
        assert launches(lambda there=there, scales=scales: dequantize(eager, there[0], scales, None, "float32"))[0] == 1


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in ("int8", "uint8") for b in ("int8", "uint8")])
def test_products_of_bytes_in_int32(cuda, machine, left, right):
    rng = np.random.default_rng(8)
    for first, second, batch in [
        ((9, 70), (70, 5), ()),
        ((64, 128), (128, 32), ()),
        ((8, 16), (16, 12), (3,)),
        ((1, 16), (16, 4), ()),
    ]:
        a = rng.integers(np.iinfo(left).min, np.iinfo(left).max, batch + first, left, endpoint=True)
        b = rng.integers(np.iinfo(right).min, np.iinfo(right).max, batch + second, right, endpoint=True)
        want = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
        turned = cuda.upload(np.ascontiguousarray(np.swapaxes(b, -1, -2)))
        steps = [*turned.strides[:-2], 1, turned.strides[-2]]
        for y in (cuda.upload(b), turned.view(b.shape, steps)):
            before = machine.statistics().launches
            got = cuda.gemm(cuda.upload(a), y, cuda.empty(want.shape, "i4")).get()
            np.testing.assert_array_equal(got, want)
            in_words = first[1] % 4 == 0 and second[1] % 4 == 0
            by_cublas = left == right == "int8" and in_words
            assert machine.statistics().launches - before == (0 if by_cublas else 1)
    low = np.full((4, 1 << 18), np.iinfo(left).min, left), np.full((1 << 18, 4), np.iinfo(right).max, right)
    want = (low[0].astype(np.int64) @ low[1].astype(np.int64)).astype(np.int32)  # modulo 2^32
    got = cuda.gemm(cuda.upload(low[0]), cuda.upload(low[1]), cuda.empty((4, 4), "i4")).get()
    np.testing.assert_array_equal(got, want)
