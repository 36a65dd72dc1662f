# SPDX-License-Identifier: Apache-2.0
"""Order and equality of floats without arithmetic, on all patterns of bits, against ml_dtypes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl

NAMES = [
    name
    for name, dtype in dl.DTYPES.items()
    if name.startswith("float") and dtype.bits <= 8 and dl.isdtype(dtype, "real floating")
]
PACKED = [name for name in NAMES if dl.DTYPES[name].bits < 8]


def patterns(name):
    return np.arange(1 << dl.DTYPES[name].bits, dtype=np.uint8).view(getattr(ml_dtypes, name))


def tensor(x):
    """Elements as a tensor; those of fewer than 8 bits are packed."""
    return dl.copy(dl.astype(dl.asarray(x), x.dtype.name))


def values(t):
    return dl.astype(t, "float32").numpy() if isinstance(t, dl.Tensor) else np.asarray(t).astype(np.float32)


def same(got, want):
    """Equal numbers, with the signs of zeros; a NaN is equal to every NaN."""
    a, b = values(got), values(want)
    return a.shape == b.shape and bool(np.all((a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))))


def test_every_float_of_8_bits_and_less_is_tested():
    assert len(NAMES) == 11
    assert len(PACKED) == 3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "op", ["isnan", "isinf", "isfinite", "abs", "negative", "positive", "sign", "signbit", "logical_not"]
)
def test_one_operand(op, name):
    x = patterns(name)
    with np.errstate(all="ignore"):
        want = getattr(np, op)(x.astype(np.float32))
        want = want if want.dtype == bool else want.astype(x.dtype)
    got = getattr(dl, op)(tensor(x))
    assert got.dtype.name == ("bool" if want.dtype == bool else name)
    if op in ("signbit", "logical_not"):  # of NaN, the sign is not a value
        want = want | np.isnan(x.astype(np.float32)) if op == "signbit" else want
        got = dl.logical_or(got, dl.isnan(tensor(x))) if op == "signbit" else got
    assert same(got, want)


@pytest.mark.parametrize("name", NAMES)
def test_every_pair(name):
    x = patterns(name)
    a, b = (np.ascontiguousarray(t) for t in np.meshgrid(x, x))
    s, t = a.astype(np.float32), b.astype(np.float32)
    for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_xor"):
        got = getattr(dl, op)(tensor(a), tensor(b))
        assert got.dtype == dl.bool
        assert np.array_equal(got.numpy(), getattr(np, op)(s, t)), op
        if op in ("equal", "less"):
            assert np.array_equal(got.numpy(), getattr(np, op)(a, b)), op
    for op in ("maximum", "minimum"):
        got = getattr(dl, op)(tensor(a), tensor(b))
        want = getattr(dl, op)(dl.asarray(s), dl.asarray(t))
        assert got.dtype.name == name
        assert same(got, dl.astype(want, name))
    with np.errstate(all="ignore"):
        assert same(dl.copysign(tensor(a), tensor(b)), np.copysign(s, t).astype(a.dtype))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_compared_by_value(name):
    x = patterns(name)
    s = x.astype(np.float32)
    for number in (0, 1, 1.5, -2.0, 0.3, 500.0, float("inf"), float("nan")):
        assert np.array_equal(dl.less(tensor(x), number).numpy(), s < number)
        assert np.array_equal((tensor(x) == number).numpy(), s == number)
        assert np.array_equal((number >= tensor(x)).numpy(), number >= s)
    finite = [v for v in np.sort(s[np.isfinite(s)]).tolist() if v != 0]
    low, high = finite[1], finite[-2]
    with np.errstate(invalid="ignore"):
        assert same(dl.clip(tensor(x), low, high), np.clip(s, low, high))


@pytest.mark.parametrize("name", NAMES)
def test_sorts(name):
    x = np.random.default_rng(4).permutation(np.tile(patterns(name), 3)).reshape(3, -1)
    s = dl.asarray(x.astype(np.float32))
    for descending in (False, True):
        got = dl.sort(tensor(x), descending=descending)
        assert got.dtype.name == name
        assert same(got, dl.sort(s, descending=descending))
        assert dl.argsort(tensor(x), descending=descending).tolist() == dl.argsort(s, descending=descending).tolist()
    found, wanted = dl.top_k(tensor(x), 5), dl.top_k(s, 5)
    assert found[0].dtype.name == name
    assert same(found[0], wanted[0])
    assert found[1].tolist() == wanted[1].tolist()
    out = dl.empty(x.shape, dtype=name)
    assert dl.sort(tensor(x), out=out) is out
    assert same(out, dl.sort(s))


@pytest.mark.parametrize("name", NAMES)
def test_distinct_values(name):
    x = np.tile(patterns(name), 2)
    s = dl.asarray(x.astype(np.float32))
    got, want = dl.unique_all(tensor(x)), dl.unique_all(s)
    assert got.values.dtype.name == name
    assert same(got.values, want.values)
    assert [t.tolist() for t in got[1:]] == [t.tolist() for t in want[1:]]
    assert same(dl.unique_values(tensor(x)), want.values)
    assert dl.unique_counts(tensor(x)).counts.tolist() == want.counts.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_places(name):
    x = np.random.default_rng(6).permutation(np.tile(patterns(name), 3)).reshape(3, -1)
    s = x.astype(np.float32)
    assert [t.tolist() for t in dl.nonzero(tensor(x))] == [t.tolist() for t in np.nonzero(s)]
    assert dl.nonzero(tensor(x[0]))[0].tolist() == np.nonzero(s[0])[0].tolist()
    if name != "float8_e8m0fnu":  # which has no zero
        assert dl.nonzero(tensor(x[:, :0]))[1].size == 0
        assert 0 < dl.nonzero(tensor(x))[0].size < x.size
    ordered, wide = dl.sort(tensor(x.ravel())), dl.sort(dl.asarray(s.ravel()))
    for side in ("left", "right"):
        want = dl.searchsorted(wide, dl.asarray(s), side=side)
        assert dl.searchsorted(ordered, tensor(x), side=side).tolist() == want.tolist()
        assert dl.searchsorted(ordered, 0.7, side=side).tolist() == dl.searchsorted(wide, 0.7, side=side).tolist()
    order = dl.argsort(tensor(x.ravel()))
    want = dl.searchsorted(wide, dl.asarray(s)).tolist()
    assert dl.searchsorted(tensor(x.ravel()), tensor(x), sorter=order).tolist() == want
    out = dl.empty(x.shape, dtype="int64")
    assert dl.searchsorted(ordered, tensor(x), out=out) is out


@pytest.mark.parametrize("name", NAMES)
def test_membership(name):
    x = patterns(name)
    s, among = x.astype(np.float32), x[3::7]
    for invert in (False, True):
        want = np.isin(s, among.astype(np.float32), invert=invert)
        assert np.array_equal(dl.isin(tensor(x), tensor(among), invert=invert).numpy(), want)
    for number in (1, 0.0, -0.5, 0.3, 10**30, 1 << 70, float("nan")):
        want = dl.equal(tensor(x), number).numpy()
        assert np.array_equal(dl.isin(tensor(x), number).numpy(), want), number
        assert bool(dl.isin(number, tensor(x))) == want.any(), number
    with pytest.raises(TypeError, match=f"isin: {name} has no arithmetic; convert with astype"):
        dl.isin(tensor(x), dl.ones(3))
    with pytest.raises(TypeError, match=f"searchsorted: {name} has no arithmetic; convert with astype"):
        dl.searchsorted(dl.ones(3), tensor(x))


@pytest.mark.parametrize("name", NAMES)
def test_reductions(name):
    x = np.random.default_rng(5).permutation(np.tile(patterns(name), 8)).reshape(8, -1)
    s = x.astype(np.float32)
    finite = np.where(np.isfinite(s), x, x[np.isfinite(s)][0])
    for data in (x, finite):
        wide = dl.asarray(data.astype(np.float32))
        for op, axis in itertools.product(
            ("max", "min", "argmax", "argmin", "count_nonzero", "any", "all"), (None, 0, 1)
        ):
            got, want = getattr(dl, op)(tensor(data), axis=axis), getattr(dl, op)(wide, axis=axis)
            assert got.dtype == (dl.DTYPES[name] if op in ("max", "min") else want.dtype)
            assert same(got, want), (op, axis)
    out = dl.empty((8,), dtype=name)
    assert dl.max(tensor(finite), axis=1, out=out) is out
    assert same(out, dl.max(dl.asarray(finite.astype(np.float32)), axis=1))
    mask = np.arange(finite.size).reshape(finite.shape) % 3 == 0
    want = dl.max(dl.asarray(finite.astype(np.float32)), axis=1, where=mask, initial=-1.0)
    assert same(dl.max(tensor(finite), axis=1, where=mask, initial=-1.0), dl.astype(want, name))


@pytest.mark.parametrize("name", NAMES)
def test_where(name):
    x = patterns(name)
    mask = np.arange(x.size) % 3 == 0
    got = dl.where(mask, tensor(x), tensor(x[::-1].copy()))
    assert got.dtype.name == name
    assert same(got, np.where(mask, x, x[::-1]))
    assert same(dl.where(mask, tensor(x), 1.0), np.where(mask, x.astype(np.float32), 1.0))


@pytest.mark.parametrize("name", NAMES)
def test_arithmetic_is_refused(name):
    x = tensor(patterns(name))
    for op in (dl.add, dl.multiply, dl.divide, dl.nextafter):
        with pytest.raises(TypeError, match=f"{name} has no arithmetic; convert with astype"):
            op(x, x)
    for op in (dl.sum, dl.mean, dl.var, dl.prod, dl.sqrt):
        with pytest.raises(TypeError, match=f"{name} has no arithmetic; convert with astype"):
            op(x)
    with pytest.raises(TypeError, match="has no arithmetic"):
        dl.equal(x, dl.ones(x.shape))


def test_two_dtypes_without_arithmetic_are_not_compared():
    with pytest.raises(TypeError, match="float8_e4m3fn has no arithmetic"):
        dl.less(dl.zeros(2, dtype="float8_e4m3fn"), dl.zeros(2, dtype="float8_e5m2"))


@pytest.mark.parametrize("name", ["int2", "uint4", "float4_e2m1fn", "float6_e3m2fn"])
@pytest.mark.parametrize("length", [1 << 20, (1 << 20) + 3])
def test_packed_results_of_several_threads(name, length):
    x = dl.astype(dl.random.Generator(5).integers(0, 2, length), "float32")
    joined = dl.concat([x, x]).reshape((2, length))
    before = dl.num_threads()
    try:
        for t in (x, joined, joined[:, 1:], x[::2]):
            found = []
            for threads in (1, 2, 4):
                dl.set_num_threads(threads)
                result = dl.cast(t, name)
                assert dl.array_equal(dl.astype(result, "float32"), t)
                found.append(result.tobytes())
            assert found[0] == found[1] == found[2]
    finally:
        dl.set_num_threads(before)
