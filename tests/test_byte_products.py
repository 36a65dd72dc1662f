# SPDX-License-Identifier: Apache-2.0
"""matmul with a dtype: exact products of bytes in int32 on every level, and products of converted operands."""

import itertools

import numpy as np
import pytest

import dltensor as dl
from dltensor._ops import promotion as _engine

BYTES = ("int8", "uint8")
SHAPES = [
    (1, 1, 1),
    (3, 5, 7),
    (17, 64, 65),
    (96, 513, 64),
    (97, 1030, 130),
    (1, 4096, 33),
    (33, 4096, 1),
    (2, 0, 3),
    (128, 70, 257),
]


@pytest.fixture(params=dl.cpu_features()["supported"])
def level(request):
    before = dl.cpu_features()["used"]
    _engine._set_cpu_level(request.param)
    yield request.param
    _engine._set_cpu_level(before)


def integers(shape, dtype, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def exact(a, b):
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(BYTES, BYTES)))
def test_products_of_bytes_are_exact(left, right, level):
    for m, k, n in SHAPES:
        a, b = integers((m, k), left, 1), integers((k, n), right, 2)
        turned = np.asfortranarray(a), np.asfortranarray(b)
        for x, y in [(a, b), turned, (a[::-1], b[:, ::-1]), (a, turned[1])]:
            got = dl.matmul(x, y, dtype="int32")
            assert got.dtype == dl.int32
            assert np.array_equal(got.numpy(), exact(x, y)), (m, k, n)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(BYTES, BYTES)))
def test_corner_values_and_long_rows(left, right, level):
    ends = [(np.iinfo(t).min, np.iinfo(t).max) for t in (left, right)]
    for p, q in itertools.product(*ends):
        a, b = np.full((7, 1 << 16), p, left), np.full((1 << 16, 3), q, right)
        a[:, 1::2] = ends[0][0]
        assert np.array_equal(dl.matmul(a, b, dtype="int32").numpy(), exact(a, b))


def test_every_pair_of_bytes(level):
    for left, right in itertools.product(BYTES, BYTES):
        a, b = np.arange(256).astype(np.uint8).view(left)[:, None], np.arange(256).astype(np.uint8).view(right)[None]
        assert np.array_equal(dl.matmul(a, b, dtype="int32").numpy(), exact(a, b))


def test_stacks_vectors_and_out(level):
    a, b = integers((2, 1, 5, 70), "int8"), integers((3, 70, 6), "int8", 1)
    assert np.array_equal(dl.matmul(a, b, dtype="int32").numpy(), exact(a, b))
    v, w = integers((70,), "int8", 2), integers((4, 70), "uint8", 3)
    assert np.array_equal(dl.matmul(w, v, dtype="int32").numpy(), exact(w, v))
    assert dl.matmul(v, v, dtype="int32").item() == int(exact(v, v))
    many = integers((4, 1, 70), "int8", 4), integers((4, 70, 1), "int8", 5)
    assert np.array_equal(dl.matmul(*many, dtype="int32").numpy(), exact(*many))
    out = dl.zeros((4,), dtype="int32")
    assert dl.matmul(w, v, out, dtype="int32") is out
    assert np.array_equal(out.numpy(), exact(w, v))
    wide = dl.zeros((4, 8), dtype="int32")
    dl.matmul(w, w.T, wide[:, ::2], dtype="int32")
    assert np.array_equal(wide[:, ::2].numpy(), exact(w, w.T))
    assert not wide[:, 1::2].numpy().any()


def test_threads_do_not_change_products():
    a, b = integers((300, 700), "int8"), integers((700, 300), "int8", 1)
    before = dl.num_threads()
    try:
        dl.set_num_threads(4)
        assert np.array_equal(dl.matmul(a, b, dtype="int32").numpy(), exact(a, b))
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn", "int4", "int8", "float16", "bfloat16"])
def test_operands_are_converted(name):
    x = np.random.default_rng(6).standard_normal((9, 64)).astype(np.float32)
    w = dl.astype(dl.asarray(np.random.default_rng(7).standard_normal((64, 12)).astype(np.float32) * 3), name)
    got = dl.matmul(x, w, dtype="float32")
    assert got.tobytes() == dl.matmul(x, dl.astype(w, "float32")).tobytes()
    assert (
        dl.matmul(w.T, w, dtype="float64").tobytes()
        == dl.matmul(*(dl.astype(t, "float64") for t in (w.T, w))).tobytes()
    )


def test_other_integers_are_converted():
    a = integers((3, 4), "int8")
    assert dl.matmul(a, a.T, dtype="int64").tolist() == (a.astype(np.int64) @ a.T.astype(np.int64)).tolist()
    assert dl.matmul(a, a.T.astype(np.int16), dtype="int32").tolist() == exact(a, a.T).tolist()
    assert dl.matmul(a, a.T).dtype == dl.int8


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda a: dl.matmul(a, a, dtype="bool"),
            "matmul: dtype must be an integer, float or complex one with arithmetic",
        ),
        (
            lambda a: dl.matmul(a, a, dtype="int4"),
            "matmul: dtype must be an integer, float or complex one with arithmetic",
        ),
        (lambda a: dl.matmul(a, a, dtype="int32"), "an operand is float32, which does not become int32; convert it"),
        (lambda a: dl.matmul(a, 2.0, dtype="float32"), "both operands need at least one dimension"),
        (lambda a: dl.matmul(a, a, dl.zeros((2, 2)), dtype="float64"), "the result is float64, out is float32"),
    ],
)
def test_errors(call, text):
    with pytest.raises(TypeError, match=text):
        call(dl.ones((2, 2)))
    a = dl.ones((2, 3), dtype="int8")
    with pytest.raises(ValueError, match=r"matmul: shapes \(2, 3\) and \(2, 3\) do not chain"):
        dl.matmul(a, a, dtype="int32")
