# SPDX-License-Identifier: Apache-2.0
"""Sums of products along axes, reductions that leave NaN out, and differences: against NumPy and exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from test_reductions import exact, numbers

import dltensor as dl

REAL = ["float16", "float32", "float64"]


def exact_dot(a, b):
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)), Fraction(0))


@pytest.mark.parametrize("dtype", REAL)
def test_vecdot_is_exact_and_rounded_once(dtype):
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 3, 10, 100, 1000):
        for _ in range(20):
            scale = 2.0 ** rng.integers(-6, 6, n)
            a, b = (rng.standard_normal(n) * scale).astype(dtype), (rng.standard_normal(n) / scale).astype(dtype)
            true = exact_dot(a, b)
            made = dl.vecdot(a, b)
            assert made.dtype == dtype
            assert made.item() == exact.round_ratio(true.numerator, true.denominator, exact.FORMATS[dtype])
            shuffled = rng.permutation(n)
            assert dl.vecdot(a[shuffled], b[shuffled]).item() == made.item()


def test_vecdot_conjugates_the_first_and_broadcasts():
    a, b = numbers("complex64", (3, 4)), numbers("complex64", (2, 1, 4), seed=5)
    made = dl.vecdot(a, b)
    assert (made.shape, made.dtype) == ((2, 3), "complex64")
    assert np.allclose(made.numpy(), np.vecdot(a, b))
    assert np.allclose(dl.vecdot(a.astype("c16"), b.astype("c16")).numpy(), np.vecdot(a.astype("c16"), b.astype("c16")))
    x, y = numbers("int16", (5, 3)), numbers("int8", (5, 3))
    assert dl.vecdot(x, y, axis=-2).dtype == dl.int16
    assert np.array_equal(dl.vecdot(x, y, axis=-2).numpy(), (x * y).sum(0, dtype="i2"))
    assert (
        dl.vecdot(dl.asarray([1e308, 1.0], dtype="float64"), dl.asarray([10.0, 1.0], dtype="float64")).item()
        == math.inf
    )


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "every third": lambda x: np.repeat(x, 3, axis=-1)[..., ::3],
}


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "complex128", "int8", "uint32", "int64"]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_vecdot_has_the_same_bits_in_every_layout(dtype, layout):
    for shape in ((5, 7), (3, 2050), (40, 33), (2500, 3), (1, 1), (4, 0)):
        a, b = numbers(dtype, shape, seed=2), numbers(dtype, shape, seed=3)
        want = np.stack([dl.vecdot(x.copy(), y.copy()).numpy() for x, y in zip(a, b, strict=True)])
        got = dl.vecdot(LAYOUTS[layout](a), LAYOUTS[layout](b.copy()))
        assert got.numpy().tobytes() == want.tobytes()
        by_first = dl.vecdot(np.ascontiguousarray(a.T), LAYOUTS[layout](np.ascontiguousarray(b.T)), axis=-2)
        assert by_first.numpy().tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", REAL)
def test_vecdot_of_columns_has_the_bits_of_rows(dtype):
    rng = np.random.default_rng(4)
    for n, columns in [(3, 9), (70, 33), (2500, 64), (9, 3000)]:
        a, b = ((rng.standard_normal((n, columns)) * 2.0 ** rng.integers(-9, 9, (n, 1))).astype(dtype) for _ in "ab")
        a[n // 2, 1], b[n // 2, 2] = np.inf, np.nan
        wanted = dl.vecdot(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)).numpy()
        for x, y in ((a, b), (np.repeat(a, 2, 0)[::2], b), (np.repeat(a, 2, 1)[:, ::2], b[::-1][::-1])):
            made = dl.vecdot(x, y, axis=-2).numpy()
            assert np.array_equal(np.isnan(made), np.isnan(wanted))
            assert made[~np.isnan(made)].tobytes() == wanted[~np.isnan(wanted)].tobytes()


def test_vecdot_of_integers_wraps_in_its_dtype():
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        a, b = numbers(dtype, (5000,), seed=4), numbers(dtype, (5000,), seed=5)
        want = np.sum(a.astype("u8") * b.astype("u8"), dtype="u8").astype(dtype)
        assert dl.vecdot(a, b).item() == want.item()


def test_vecdot_converts_operands_to_the_common_dtype_first():
    made = dl.vecdot(dl.asarray([2**24 + 1, 1], dtype="int64"), dl.asarray([1.0, 1.0], dtype="float32"))
    assert (made.dtype, made.item()) == ("float32", 2.0**24)
    assert dl.vecdot(dl.asarray([3, 4], dtype="int8"), dl.asarray([1j, 2.0], dtype="complex64")).item() == 8 + 3j


@pytest.mark.parametrize("dtype", REAL)
def test_vecdot_of_special_numbers(dtype):
    def dot(a, b):
        return dl.vecdot(dl.asarray(a, dtype=dtype), dl.asarray(b, dtype=dtype)).item()

    assert math.copysign(1, dot([-0.0, 0.0], [1.0, -1.0])) == 1
    assert math.copysign(1, dot([0.0, -0.0], [1.0, 1.0])) == 1
    assert dot([math.inf, 1.0], [1.0, 2.0]) == math.inf
    assert math.isnan(dot([math.inf, 1.0], [0.0, 2.0]))
    assert math.isnan(dot([math.inf, math.inf], [1.0, -1.0]))
    assert math.isnan(dot([math.nan], [1.0]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_vecdot_of_complex_numbers_is_exact_in_both_parts(dtype):
    part = {"complex64": "float32", "complex128": "float64"}[dtype]
    for n in (1, 3, 2049, 5000):
        a, b = numbers(dtype, (n,), seed=6), numbers(dtype, (n,), seed=7)
        got = dl.vecdot(a, b).item()
        pairs = [(Fraction(x.real), Fraction(x.imag), Fraction(y.real), Fraction(y.imag))
                 for x, y in zip(a.tolist(), b.tolist(), strict=True)]  # fmt: skip
        for value, true in ((got.real, sum(p * r + q * s for p, q, r, s in pairs)),
                            (got.imag, sum(p * s - q * r for p, q, r, s in pairs))):  # fmt: skip
            assert value == exact.round_ratio(true.numerator, true.denominator, exact.FORMATS[part])


def test_vecdot_of_long_vectors_has_the_same_bits_with_any_number_of_threads():
    a, b = numbers("float64", (300_000,), seed=8), numbers("float64", (300_000,), seed=9)
    before = dl.num_threads()
    try:
        made = set()
        for count in (1, 2, 3):
            dl.set_num_threads(count)
            made.add(dl.vecdot(a, b).item())
    finally:
        dl.set_num_threads(before)
    true = exact_dot(a, b)
    assert made == {exact.round_ratio(true.numerator, true.denominator, exact.FORMATS["float64"])}


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dl.vecdot(dl.zeros(2), dl.zeros(3)), ValueError, "vecdot: extents along axis -1 differ"),
        (lambda: dl.vecdot(dl.zeros(1), dl.zeros(3)), ValueError, "vecdot: extents along axis -1 differ"),
        (lambda: dl.vecdot(dl.zeros((2, 2)), dl.zeros(2), axis=-2), IndexError, "vecdot: axis -2 is out of range"),
        (lambda: dl.vecdot(dl.zeros(2), dl.zeros(2), axis=0), IndexError, "vecdot: axis 0 is out of range"),
        (lambda: dl.vecdot(dl.asarray([True]), dl.asarray([True])), TypeError, "vecdot: not defined for"),
        (lambda: dl.vecdot(dl.zeros(2, dtype="int4"), dl.zeros(2, dtype="int4")), TypeError, "vecdot: not defined for"),
        (lambda: dl.vecdot(dl.zeros((2, 3)), dl.zeros((4, 3))), ValueError, r"vecdot: \(2,\), \(4,\) do not"),
        (lambda: dl.tensordot(dl.zeros((2, 3)), dl.zeros((2, 3)), axes=1), ValueError, "tensordot: shapes"),
        (
            lambda: dl.tensordot(dl.arange(2), dl.zeros(2, dtype="uint64"), axes=1),
            TypeError,
            "tensordot: int64 and uint64",
        ),
        (lambda: dl.tensordot(dl.zeros(2), dl.zeros(2), axes=2), IndexError, "tensordot: axes is 2; expected 0 to 1"),
        (
            lambda: dl.tensordot(dl.zeros(2), dl.zeros(2), axes=((0,),)),
            ValueError,
            "tensordot: axes must be an integer",
        ),
        (lambda: dl.diff(dl.zeros(())), ValueError, "diff: expected at least one dimension"),
        (
            lambda: dl.diff(dl.zeros((2, 3)), append=dl.zeros((3, 3))),
            ValueError,
            "diff: shapes must agree but for axis 1",
        ),
        (lambda: dl.diff(dl.zeros(3), append=dl.zeros((3, 3))), ValueError, "diff: shapes must agree but for axis 0"),
        (
            lambda: dl.diff(dl.arange(3), append=dl.zeros(1, dtype="uint64")),
            TypeError,
            "diff: int64 and uint64 have no",
        ),
        (lambda: dl.diff(dl.zeros(3), n=-1), ValueError, "diff: n must be 0 or more, got -1"),
        (lambda: dl.diff(dl.zeros(3), axis=1), IndexError, "diff: axis 1 is out of range"),
        (lambda: dl.nanmax(dl.zeros(0)), ValueError, "max: a tensor of shape"),
    ],
)
def test_what_is_refused_says_why(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0)), ((-1,), (0,)), ((), ())])
def test_tensordot_gives_numpys_values(axes):
    a = np.arange(12.0).reshape(3, 4) if axes != 2 else np.arange(24.0).reshape(2, 3, 4)
    b = np.arange(12.0).reshape(4, 3) if axes != 2 else np.arange(60.0).reshape(3, 4, 5)
    made, wanted = dl.tensordot(a, b, axes=axes), np.tensordot(a, b, axes=axes)
    assert made.shape == wanted.shape
    assert np.array_equal(made.numpy(), wanted)


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_nan_is_left_out(name, dtype):
    a = numbers(dtype, (6, 7)) % 50
    if np.dtype(dtype).kind == "f":
        a[np.random.default_rng(3).random((6, 7)) < 0.4] = np.nan
        a[2] = np.nan
    for axis in (None, 0, 1):
        made = getattr(dl, name)(a, axis=axis, keepdims=True).numpy()
        for position, value in np.ndenumerate(made):
            line = a[:, position[1]] if axis == 0 else a[position[0]] if axis == 1 else a.ravel()
            kept = line[line == line]
            if kept.size or name == "nansum":
                assert value == getattr(dl, name[3:])(np.ascontiguousarray(kept)).item()
            else:
                assert math.isnan(value)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex64"])
def test_diff_gives_numpys_values(dtype):
    a = numbers(dtype, (4, 5))
    for axis in (-2, -1, 0, 1):
        for n in (0, 1, 2, 6):
            assert np.array_equal(dl.diff(a, axis=axis, n=n).numpy(), np.diff(a, axis=axis, n=n)), (axis, n)
    assert np.array_equal(
        dl.diff(a, prepend=a[:, :1], append=a[:, :2]).numpy(), np.diff(a, prepend=a[:, :1], append=a[:, :2])
    )
    x = dl.asarray(a)
    assert not dl.diff(x, n=0).same_memory(x)


@pytest.mark.parametrize("name", ["nanmax", "nanmin", "nansum", "nanmean"])
def test_out_of_nan_reductions_is_written_and_returned(name):
    a = np.asarray([[1.0, np.nan], [np.nan, np.nan], [-3.0, 2.0]], "f4")
    for out in (np.zeros(3, "f4"), dl.zeros(3, dtype="float64")):
        assert getattr(dl, name)(a, axis=1, out=out) is out
        assert np.array_equal(np.asarray(out), getattr(dl, name)(a, axis=1).numpy(), equal_nan=True)
    with pytest.raises(ValueError, match=r"the result has shape \(3,\), out has shape \(2,\)"):
        getattr(dl, name)(a, axis=1, out=np.zeros(2))
    with pytest.raises(TypeError, match="the result is float32, out is int32"):
        getattr(dl, name)(a, axis=1, out=np.zeros(3, "i4"))
    with pytest.raises(ValueError, match=r"read-only"):
        getattr(dl, name)(a, axis=1, out=np.broadcast_to(np.zeros(1, "f4"), 3))


DOT_SHAPES = [
    *(((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (3,)), ((2, 3), ())),
    *(((2, 4, 3), (5, 3, 2)), ((0,), (0,)), ((2, 0), (0, 3))),
]


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize(("first", "second"), DOT_SHAPES)
def test_dot_gives_numpys_values(dtype, first, second):
    rng = np.random.default_rng(8)
    a, b = rng.integers(-9, 9, first).astype(dtype), rng.integers(-9, 9, second).astype(dtype)
    if dtype == "complex128":
        a = a * (2 + 1j)
    made = dl.asarray(a).dot(b)
    assert made.dtype == dtype
    assert np.array_equal(made.numpy(), np.dot(a, b))


def test_dot_of_vectors_is_exact_and_other_shapes_are_refused():
    a = dl.asarray([1e30, 1.0, -1e30])
    assert a.dot(dl.ones(3)).item() == 1.0
    with pytest.raises(ValueError, match=r"dot: inner dimensions differ: a has shape \(3,\), b has shape \(2, 3\)"):
        a.dot(dl.zeros((2, 3)))
    with pytest.raises(TypeError, match="dot: not defined for bool"):
        dl.asarray([True]).dot(dl.asarray([True]))


def test_round_is_python_round_with_digits():
    t = dl.asarray([0.5, 1.5, -2.5, 1.26, math.inf, math.nan])
    assert np.array_equal(t.round().numpy(), np.round(t.numpy()), equal_nan=True)
    assert np.array_equal(t.round(1).numpy(), np.round(t.numpy(), 1), equal_nan=True)
    assert dl.asarray([14, 15, 25]).round(-1).tolist() == [10, 20, 20]
    with pytest.raises(TypeError, match="round: ndigits must be an integer, got"):
        t.round(1.5)


def test_diff_joins_numbers():
    x = np.asarray([[1, 4, 9], [2, 3, 5]], np.int16)
    for axis in (0, 1):
        made = dl.diff(x, axis=axis, prepend=1, append=0)
        assert made.dtype == dl.int16
        assert made.tolist() == np.diff(x, axis=axis, prepend=1, append=0).tolist()
    assert dl.diff(x, append=np.float64(0.5)).dtype == dl.float64
    assert dl.diff(x, append=0.5).dtype == dl.float32
