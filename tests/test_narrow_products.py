# SPDX-License-Identifier: Apache-2.0
"""matmul(dtype="float32") of operands of 8 and 16 bits: the bits of the product of the converted operands.

Matrices of bfloat16 have an order of their own.
"""

import itertools

import numpy as np
import pytest

import dltensor as dl
from dltensor._ops import promotion as _engine

NARROW = [
    "bfloat16",
    "float16",
    "int8",
    "uint8",
    "int16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e3m4",
    "float8_e4m3fnuz",
    "float8_e8m0fnu",
]
# Rows, depth, columns: a vector and a matrix around the ends of registers and blocks, and products by panels.
SHAPES = [
    (1, 9, 2),
    (1, 31, 5),
    (1, 32, 4),
    (1, 33, 7),
    (1, 64, 1),
    (1, 4095, 9),
    (1, 4097, 6),
    (1, 9000, 3),
    (7, 40, 1),
    (301, 100, 1),
    (2, 3, 4),
    (3, 7, 9),
    (8, 513, 70),
    (65, 300, 130),
    (5, 2500, 40),
    (1, 300, 600),
]


@pytest.fixture(params=dl.cpu_features()["supported"])
def level(request):
    before = dl.cpu_features()["used"]
    _engine._set_cpu_level(request.param)
    yield request.param
    _engine._set_cpu_level(before)


def narrow(shape, name, seed=0, finite=True):
    """Elements of every pattern, but infinities and NaN."""
    width = dl.DTYPES[name].bits // 8
    patterns = np.random.default_rng(seed).integers(0, 256**width, shape, dtype=f"u{width}")
    t = dl.asarray(patterns).view(name)
    if not finite or not dl.isdtype(dl.DTYPES[name], "real floating"):
        return t
    wide = dl.astype(t, "float32").numpy()
    with np.errstate(over="ignore"):
        patterns[~(np.abs(wide) < 1e30)] = 0x11
    return dl.asarray(patterns).view(name)


def floats(shape, seed=1):
    return dl.asarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def same(a, b):
    """Equal bits, but for those of NaN."""
    x, y = a.numpy(), b.numpy()
    return x.shape == y.shape and bool(((x.view("u4") == y.view("u4")) | (np.isnan(x) & np.isnan(y))).all())


def layouts(t):
    """The same elements in rows, in columns, apart, backwards and in longer rows."""
    yield t
    yield t.T.copy().T
    yield dl.repeat(dl.repeat(t, 2, axis=0), 3, axis=1)[::2, ::3]
    yield dl.flip(dl.flip(t).copy())
    yield dl.concat([t, t], axis=1)[:, : t.shape[1]]


@np.errstate(over="ignore", invalid="ignore")
def alternating(x, w):
    """Return the product of matrices of bfloat16 in the order of decision 76, rounding sums from float64.

    Level v2 has no fused multiply-add: it rounds products too.
    """
    wide = "float32" if dl.cpu_features()["used"] == "v2" else "float64"
    a, b = (dl.astype(t, wide).numpy() for t in (x, w))
    total = None
    for first in range(0, a.shape[1], 512):
        chain = np.float32(0)
        for k in range(first, min(first + 512, a.shape[1]), 32):
            sums = [np.zeros((a.shape[0], b.shape[1]), np.float32) for _ in range(2)]
            for term in range(k, min(k + 32, a.shape[1])):
                sums[term % 2] = (sums[term % 2] + a[:, term, None] * b[term]).astype(np.float32)
            chain = chain + (sums[0] + sums[1])
        total = chain if total is None else total + chain
    return dl.asarray(total)


def is_alternating(x, w):
    """Test whether a product has the order of decision 76: a row or column of more than 8 terms has partial sums."""
    is_vector = min(x.shape[0], w.shape[1]) == 1 and x.shape[1] > 8
    return x.dtype == w.dtype == dl.bfloat16 and not is_vector


def both_ways(x, w):
    if is_alternating(x, w):
        return dl.matmul(x, w, dtype="float32"), alternating(x, w)
    a, b = dl.astype(x, "float32", copy=False), dl.astype(w, "float32", copy=False)
    return dl.matmul(x, w, dtype="float32"), dl.matmul(a, b)


@pytest.mark.parametrize("name", NARROW)
def test_bits_are_those_of_the_converted_matrix(name, level):
    for m, k, n in SHAPES:
        x, w = floats((m, k)), narrow((k, n), name)
        for left, right in itertools.product([x, x.T.copy().T], layouts(w)):
            got, want = both_ways(left, right)
            assert got.dtype == dl.float32
            assert same(got, want), (m, k, n, right.strides)
        got, want = both_ways(w.T, x.T)
        assert same(got, want), (m, k, n)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(NARROW[:7], NARROW[:7])))
def test_both_operands_may_be_narrow(left, right):
    for m, k, n in [(1, 70, 9), (9, 70, 1), (3, 5, 4), (20, 300, 90)]:
        assert same(*both_ways(narrow((m, k), left), narrow((k, n), right, seed=2))), (m, k, n)


@pytest.mark.parametrize("name", NARROW)
def test_infinities_and_nan(name, level):
    for m, k, n in [(1, 100, 40), (1, 4100, 12), (9, 100, 40)]:
        got, want = both_ways(floats((m, k)), narrow((k, n), name, finite=False))
        assert same(got, want), (m, k, n)
        x = floats((m, k)).numpy()
        x[0, 3], x[-1, 7] = np.inf, np.nan
        assert same(*both_ways(dl.asarray(x), narrow((k, n), name)))


@pytest.mark.parametrize("scale", [2.0**-149, 2.0**-126, 2.0**-100, 2.0**118, 2.0**119, 2.0**120, 2.0**127])
def test_vectors_of_any_magnitude(scale, level):
    x = floats((1, 200)).numpy()
    x = dl.asarray((np.sign(x) * np.minimum(np.abs(x) + 1, 1.5) * scale).astype(np.float32))
    for name in NARROW[:7]:
        assert same(*both_ways(x, narrow((30, 200), name).T)), name


def test_every_code_times_one(level):
    for name in NARROW:
        width = dl.DTYPES[name].bits // 8
        codes = dl.asarray(np.arange(256**width, dtype=f"u{width}")).view(name)
        spread = np.zeros((codes.size, 16), f"u{width}")
        spread[:, 3] = np.arange(codes.size)
        got, want = both_ways(dl.ones((1, 16)), dl.asarray(spread).view(name).T)
        assert same(got, want), name


@pytest.mark.parametrize("shift", [1, 3])
def test_misaligned_matrices(shift, level):
    for name in ("bfloat16", "int8", "float8_e4m3fn"):
        w = narrow((40, 100), name)
        width = w.dtype.bits // 8
        raw = np.zeros(40 * 100 * width + 8, np.uint8)
        raw[shift : shift + 4000 * width] = np.frombuffer(w.tobytes(), np.uint8)
        moved = dl.asarray(raw[shift : shift + 4000 * width].view(f"u{width}").reshape(40, 100)).view(name)
        for rows in (1, 9):
            got = dl.matmul(floats((rows, 100)), moved.T, dtype="float32")
            assert same(got, dl.matmul(floats((rows, 100)), dl.astype(w, "float32").T))


def test_stacks_vectors_and_out():
    w = narrow((3, 70, 6), "float8_e4m3fn")
    wide = dl.astype(w, "float32")
    x, v = floats((2, 1, 5, 70)), floats((70,))
    assert same(dl.matmul(x, w, dtype="float32"), dl.matmul(x, wide))
    assert same(dl.matmul(v, w[0], dtype="float32"), dl.matmul(v, wide[0]))
    assert same(dl.matmul(w[0].T, v, dtype="float32"), dl.matmul(wide[0].T, v))
    many, more = narrow((4, 1, 70), "bfloat16"), narrow((4, 70, 1), "int8")
    assert same(*both_ways(many, more))
    out = dl.zeros((5, 12))
    dl.matmul(x[0, 0], w[0], out[:, ::2], dtype="float32")
    assert same(out[:, ::2].copy(), dl.matmul(x[0, 0], wide[0]))
    assert not out[:, 1::2].numpy().any()
    assert dl.matmul(dl.zeros((2, 0)), dl.zeros((0, 3), dtype="int8"), dtype="float32").tolist() == [[0.0] * 3] * 2


def test_out_may_overlap_an_operand():
    raw = dl.zeros((16, 64), dtype="uint8")
    raw[...] = narrow((16, 64), "uint8")
    w = raw.view("float8_e4m3fn")[:, :16]
    want = dl.matmul(floats((16, 16)), dl.astype(w, "float32"))
    assert same(dl.matmul(floats((16, 16)), w, raw.view("float32"), dtype="float32"), want)


def test_threads_do_not_change_bits():
    x, w = floats((1, 4096)), narrow((1500, 4096), "float8_e4m3fn")
    batch = floats((40, 4096))
    before, found = dl.num_threads(), []
    try:
        for threads in (1, 2, 4):
            dl.set_num_threads(threads)
            found.append([dl.matmul(t, w.T, dtype="float32").tobytes() for t in (x, batch)])
    finally:
        dl.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_products_of_16_bit_floats_keep_their_bits(level):
    for name in ("bfloat16", "float16"):
        for m, k, n in [(1, 300, 40), (40, 300, 1), (1, 4100, 9), (30, 600, 70)]:
            x, w = dl.astype(floats((m, k)), name), dl.astype(floats((k, n), 2), name)
            for right in layouts(w):
                want = dl.astype(both_ways(x, right)[1], name)
                got = dl.matmul(x, right)
                assert got.dtype == want.dtype
                assert got.view("uint16").tolist() == want.view("uint16").tolist(), (name, m, k, n)


@pytest.mark.parametrize("scale", [1.0, 2.0**-50, 2.0**-60, 2.0**-66, 2.0**-120, 2.0**50, 2.0**57, 2.0**60])
def test_matrices_of_bfloat16_of_any_magnitude(scale, level):
    """Some instructions for bfloat16 take subnormal numbers for zeros: results do not depend on them."""
    for m, k, n in [(2, 3, 4), (16, 64, 32), (40, 100, 50), (65, 700, 33), (130, 1025, 70), (33, 513, 520)]:
        x, w = (dl.astype(floats(shape, seed) * scale, "bfloat16") for seed, shape in enumerate([(m, k), (k, n)]))
        for left, right in itertools.product([x, x.T.copy().T, x[::-1]], layouts(w)):
            got, want = both_ways(left, right)
            assert same(got, want), (m, k, n)
        assert same(dl.matmul(w.T, x.T, dtype="float32").T.copy(), dl.matmul(x, w, dtype="float32"))


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0**-130, -(2.0**-133), 3e38, float("inf"), float("nan")])
def test_matrices_of_bfloat16_with_special_values(value, level):
    x, w = (dl.astype(floats(shape, seed), "bfloat16") for seed, shape in enumerate([(40, 300), (300, 60)]))
    whole = dl.full((40, 300), value, dtype="bfloat16")
    x[3, 17], w[299, 59] = value, value
    assert same(*both_ways(x, w))
    assert same(*both_ways(whole, w))


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@pytest.mark.parametrize("count", [15, 63, 64, 65, 130, 201])
def test_stacks_of_small_matrices_have_the_bits_of_single_products(name, count, level):
    for m, k, n in [(1, 3, 3), (2, 2, 2), (4, 4, 1), (3, 5, 2), (1, 8, 4), (2, 32, 1), (2, 33, 1), (4, 4, 4)]:
        x, w = (
            dl.astype(floats((count, *shape), seed) * 100, name)
            for seed, shape in enumerate([(m, k), (k, n)], start=count)
        )
        x[3, 0, 0], w[5, 0, 0], w[7, k - 1, 0] = float("inf"), float("nan"), -0.0
        want = [[dl.matmul(a, b, dtype=dtype) for a, b in zip(x, w, strict=True)] for dtype in ("float32", name)]
        turned, spaced = dl.copy(w.mT).mT, dl.repeat(w, 2, axis=0)[::2]
        for left, right in [(x, w), (dl.copy(x.mT).mT, w), (x, turned), (x[::-1][::-1], spaced)]:
            for one, dtype in zip(want, ("float32", name), strict=True):
                assert dl.matmul(left, right, dtype=dtype).tobytes() == dl.stack(one).tobytes(), (m, k, n)
        alike = [dl.matmul(x[1], b, dtype="float32") for b in w]
        assert dl.matmul(dl.broadcast_to(x[1], x.shape), w, dtype="float32").tobytes() == dl.stack(alike).tobytes()


def test_threads_do_not_change_bits_of_bfloat16():
    x, w = (dl.astype(floats(shape, seed), "bfloat16") for seed, shape in enumerate([(300, 1100), (1100, 600)]))
    before, found = dl.num_threads(), []
    try:
        for threads in (1, 2, 4):
            dl.set_num_threads(threads)
            found.append([dl.matmul(x, w).tobytes(), dl.matmul(x, w, dtype="float32").tobytes()])
    finally:
        dl.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_packed_operands_are_converted_in_memory():
    x, w = floats((3, 32)), dl.asarray(np.arange(64, dtype=np.uint8).reshape(2, 32)).view("float4_e2m1fn")
    assert same(*both_ways(x, w.reshape((4, 32)).T))
    with pytest.raises(TypeError, match="an operand is complex64, which does not become float32"):
        dl.matmul(x, dl.ones((32, 2), dtype="complex64"), dtype="float32")
