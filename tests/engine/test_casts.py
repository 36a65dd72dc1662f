# SPDX-License-Identifier: Apache-2.0
"""Casts between all dtypes, packed ones too, and copies and fills in any layout."""

import ctypes as c
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
import native
from native import TYPES, cast, copy, dtype_of, library, tensor
from test_elements import bits, values

REAL = [n for n in TYPES if not n.startswith("complex")]
INTEGERS = [n for n in REAL if "int" in n]
WIDTH = {"float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}


def limits(name):
    n = int(name.lstrip("uint"))
    return (0, 2**n - 1) if name[0] == "u" else (-(2 ** (n - 1)), 2 ** (n - 1) - 1)


def source(name, n=300):
    dtype = dtype_of(name)
    if name in WIDTH or (dtype.itemsize == 1 and name not in ("bool", "int8", "uint8")):
        return np.resize(np.arange(1 << WIDTH.get(name, 8), dtype=np.uint8), n).view(dtype)
    return values(dtype, n, 3)


def numbers(x):
    """Return exact Python numbers of an array."""
    if x.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return [int(v) for v in x.astype(np.int32)]
    return [int(v) for v in x] if x.dtype.kind in "biu" else [float(v) for v in x.astype(np.float64)]


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize(("nearest", "saturate"), list(itertools.product([False, True], repeat=2)))
def test_to_integers(name, to, nearest, saturate, level):
    x = source(name)
    got = numbers(cast(x, np.empty(x.size, dtype_of(to)), nearest, saturate, padded=9))
    low, high = limits(to)
    for v, g in zip(numbers(x), got, strict=True):
        if isinstance(v, float):
            want = 0 if math.isnan(v) else v if math.isinf(v) else round(v) if nearest else int(v)
            want = max(low, min(high, want))
        elif saturate:
            want = max(low, min(high, v))
        else:
            want = (v - low) % (high - low + 1) + low
        assert g == want, (v, g, want)


@pytest.mark.parametrize("to", [n for n in REAL if "float" in n and n not in ("float32", "float64", "float8_e8m0fnu")])
@pytest.mark.parametrize("name", [n for n in REAL if n != "bool"])
def test_to_small_floats_rounds_once(name, to, level):
    dtype = dtype_of(to)
    x = source(name)
    got = cast(x, np.empty(x.size, dtype), padded=9).astype(np.float64)
    every = np.arange(1 << WIDTH.get(to, 8 * dtype.itemsize)).astype(f"u{dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        finite = np.unique(every.astype(np.float64)[np.isfinite(every.astype(np.float64))])
    step = finite[-1] - finite[-2]
    for v, g in zip(numbers(x), got, strict=True):
        if isinstance(v, float) and not math.isfinite(v):
            continue
        if abs(v) >= finite[-1] + step / 2:
            assert not math.isfinite(g) or (to in WIDTH and abs(g) == finite[-1]), (v, g)
        else:
            at = int(np.searchsorted(finite, float(v)))
            around = finite[max(at - 2, 0) : at + 2]
            assert abs(Fraction(v) - Fraction(g)) == min(abs(Fraction(v) - Fraction(k)) for k in around), (v, g)


def finite_halves(to):
    """Return the positive numbers of a float of 16 bits, in order."""
    return np.arange(0x7C00 if to == "float16" else 0x7F80, dtype=np.uint16).view(dtype_of(to)).astype(np.float64)


def halfway(name, to):
    """Return numbers halfway between two of a float of 16 bits, and those beside them."""
    finite = finite_halves(to)
    at = np.r_[:9, 9 : finite.size - 1 : 37, finite.size - 2]
    middles = finite[at] + (finite[at + 1] - finite[at]) / 2
    dtype = np.dtype(name)
    if dtype.kind == "f":
        x = np.concatenate([middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf)])
        return np.concatenate([x, -x, [1e300, -1e300, 1e-300, np.inf, np.nan, 0.0, -0.0]])
    info = np.iinfo(dtype)
    whole = {int(m) for m in np.concatenate([2.0 ** np.arange(64), middles]) if m < 2.0**64 and m == int(m)}
    steps = (0, 1, -1, 2, 127, 128, 255, 256, -255, -256, -257)
    near = {sign * m + s for m in whole for s in steps for sign in (1, -1)}
    return np.array(sorted(v for v in near | {info.min, info.max} if info.min <= v <= info.max), dtype)


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["int16", "uint16", "int32", "uint32", "int64", "uint64", "float64"])
def test_numbers_halfway_between_two_are_rounded_once(name, to, level):
    x = halfway(name, to)
    got = cast(x, np.empty(x.size, dtype_of(to)))
    finite = finite_halves(to)
    wanted = []
    for v in numbers(x):
        magnitude = abs(v)
        if magnitude != magnitude:
            wanted.append(np.nan)
            continue
        at = int(np.searchsorted(finite, float(magnitude) if magnitude < finite[-1] else finite[-1]))
        around = range(max(at - 2, 0), min(at + 2, finite.size))
        if magnitude >= finite[-1] + (finite[-1] - finite[-2]) / 2:
            best = np.inf
        else:
            best = finite[min(around, key=lambda k: (abs(Fraction(magnitude) - Fraction(finite[k])), k % 2))]
        wanted.append(math.copysign(best, v))
    assert bits(got) == bits(np.array(wanted).astype(dtype_of(to)))


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("to", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("nearest", [False, True])
def test_floats_beside_the_limits_of_integers(name, to, nearest, level):
    low, high = limits(to)
    ends = np.array([low - 1, low - 0.5, low, high, high + 0.5, high + 1, 2.0**31, 2.0**32, -(2.0**31)], name)
    above, below = (np.nextafter(ends, ends.dtype.type(end)) for end in (np.inf, -np.inf))
    x = np.concatenate([ends, above, below])
    x = np.concatenate([x, np.array([np.nan, -np.nan, np.inf, -np.inf, 1e-45, -0.75, 0.5, 1.5, 2.5], name)])
    wanted = [
        0 if v != v else max(low, min(high, v if math.isinf(v) else round(v) if nearest else int(v)))
        for v in numbers(x)
    ]
    for n in (x.size, 67, 300, 1031):
        y, want = np.resize(x, n + 1)[1:], np.resize(np.array(wanted, to), n + 1)[1:]
        np.testing.assert_array_equal(cast(y, np.empty(n + 1, to)[1:], nearest), want)


@pytest.mark.parametrize("name", [n for n in TYPES if n != "complex32"])
@pytest.mark.parametrize("to", ["float32", "float64", "bool", "complex64", "complex128"])
def test_to_wide_types_agrees_with_numpy(name, to, level):
    x = source(name)
    with np.errstate(all="ignore"):
        wide = x if x.dtype.kind in "biufc" else x.astype(np.float32)
        if to.startswith("float") and x.dtype.kind == "c":
            wide = x.real
        want = wide.astype(to)
    got = cast(x, np.empty(x.size, to), padded=9)
    assert bits(got) == bits(want)


def test_complex32_holds_two_halves(level):
    x = values(np.dtype(np.complex64), 200, 1)
    pairs = np.empty((200, 2), np.float16)
    row = library.engine_type(TYPES["complex32"]).contents
    target = tensor(np.empty(200, np.int32))
    keep = target.kept[0]
    target.dtype = row.dtype
    for dtype in (np.complex64, np.complex128):
        y = x.astype(dtype)
        assert library.engine_cast(c.byref(target), c.byref(tensor(y)), 0, 0, 0, c.c_double(1), c.c_double(0), 0) == 0
        with np.errstate(all="ignore"):
            want = y.view(f"f{y.itemsize // 2}").astype(np.float16).view(np.int32)
        pairs = keep.copy()
        assert bits(pairs.view(np.float16)) == bits(want.view(np.float16))


def pack(patterns, width):
    """Pack values of `width` bits, the first in the lowest bits."""
    whole = sum(int(p) << (i * width) for i, p in enumerate(patterns))
    return np.frombuffer(whole.to_bytes((len(patterns) * width + 7) // 8 + 1, "little"), np.uint8).copy()


@pytest.mark.parametrize("name", list(WIDTH))
def test_packed_types_are_read_and_written_in_their_bits(name, level):
    width, n = WIDTH[name], 77
    patterns = np.random.default_rng(0).integers(0, 1 << width, n).astype(np.uint8)
    want = patterns.view(dtype_of(name)).astype(np.float32)
    memory = pack(patterns, width)
    view = (
        np.ndarray((n,), np.uint8, memory, 0, (1,))
        if memory.size >= n
        else np.lib.stride_tricks.as_strided(memory, (n,), (1,))
    )
    got = cast(view, np.empty(n, np.float32), names=(name, None))
    np.testing.assert_array_equal(got, want)
    back = np.full_like(memory, 0xA5)
    out = np.lib.stride_tricks.as_strided(back, (n,), (1,))
    cast(want, out, names=(None, name))
    used = n * width
    mask = pack(np.full(n, (1 << width) - 1), width)
    assert ((back & mask) == (memory & mask)).all(), used
    assert ((back & ~mask) == (0xA5 & ~mask)).all(), used
    step = np.lib.stride_tricks.as_strided(memory, ((n + 2) // 3,), (3,))
    np.testing.assert_array_equal(cast(step, np.empty((n + 2) // 3, np.float32), names=(name, None)), want[::3])


@pytest.mark.parametrize(("scale", "offset"), [(1 / 255, -0.5), (2.0, 1.0)])
def test_scale_and_offset_ride_along(scale, offset, level):
    x = np.random.default_rng(0).integers(0, 256, (2, 33, 70, 3)).astype(np.uint8)
    got = cast(x.transpose(0, 3, 1, 2), np.empty((2, 3, 33, 70), np.float32), scale=scale, offset=offset)
    exact = x.transpose(0, 3, 1, 2).astype(np.float64) * np.float32(scale) + np.float32(offset)
    np.testing.assert_array_equal(got, exact.astype(np.float32))


SHAPES = [(), (0,), (1,), (5,), (67,), (64, 64), (65, 33), (3, 1000), (1000, 3), (2, 3, 4, 5), (130, 2), (17, 16, 4)]


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8", "c16", "S3", "S40"])
def test_copies_are_numpys(kind, level):
    for shape in SHAPES:
        x = np.arange(math.prod(shape) * np.dtype(kind).itemsize, dtype=np.uint32).astype(np.uint8)
        x = x.view(kind).reshape(shape) if x.size else np.zeros(shape, kind)
        for order in itertools.islice(itertools.permutations(range(len(shape))), 24):
            view = x.transpose(order)
            for turned in (view, view[tuple(slice(None, None, -1) for _ in order)], view[..., ::2] if order else view):
                got = np.zeros(turned.shape, kind)
                source_, target = lanes(turned), lanes(got)
                assert library.engine_copy(c.byref(target), c.byref(source_), 1)
                assert got.tobytes() == turned.tobytes()


def lanes(x):
    """Return a DLTensor of whatever width, as bytes in lanes."""
    t = tensor(np.empty(0, np.uint8))
    shape, strides = (
        (c.c_int64 * max(x.ndim, 1))(*x.shape),
        (c.c_int64 * max(x.ndim, 1))(*[s // x.itemsize for s in x.strides]),
    )
    t.data, t.ndim, t.shape, t.strides, t.kept = (
        x.__array_interface__["data"][0],
        x.ndim,
        shape,
        strides,
        (x, shape, strides),
    )
    t.dtype = native.DataType(1, 8, x.itemsize)
    return t


def test_large_copies_and_fills_past_the_cache(level):
    x = np.arange(9 << 20, dtype=np.uint32)
    out = np.zeros(x.size + 3, np.uint32)[3:]
    copy(out, x)
    assert (out == x).all()
    square = x[: 3000 * 3000].reshape(3000, 3000)
    assert (copy(np.empty_like(square), square.T) == square.T).all()
    value = np.array(7, np.uint32)
    library.engine_fill(c.byref(tensor(out)), value.ctypes.data_as(c.c_void_p), 1)
    assert (out == 7).all()
    third = np.zeros(300, np.uint16)
    library.engine_fill(c.byref(tensor(third[1::3])), np.array(9, np.uint16).ctypes.data_as(c.c_void_p), 1)
    assert third.sum() == 900
    assert (third[1::3] == 9).all()


def test_where_chooses(level):
    for dtype in (np.uint8, np.int16, np.float32, np.float64, np.complex128):
        mask = np.random.default_rng(0).integers(0, 2, (40, 30)).astype(bool)
        a, b = np.arange(1200).reshape(40, 30).astype(dtype), np.full((), 5, dtype)
        out = np.empty((40, 30), dtype)
        assert (
            library.engine_where(c.byref(tensor(mask)), c.byref(tensor(a)), c.byref(tensor(b)), c.byref(tensor(out)))
            == 0
        )
        np.testing.assert_array_equal(out, np.where(mask, a, b))
