# SPDX-License-Identifier: Apache-2.0
"""Every op of the table over every dtype, layout and instruction set, against NumPy."""

import ctypes
import itertools
import math

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
import native
from native import COMPUTED, OPS, ROWS, dtype_of, result_of, run

LN2, PI = np.log(np.longdouble(2)), 4 * np.arctan(np.longdouble(1))


def sine_of_turns(x):
    """Return sin(pi x) / (pi x), by the rest of x to the nearest whole number."""
    whole = np.rint(x.real)
    sine = np.sin((x - whole) * PI) * np.where(whole % 2 == 0, 1, -1)
    return np.where(x == 0, 1, sine / np.where(x == 0, 1, x * PI))


# Python's own loses digits near the zeros at 1 and 2.
log_gamma = ctypes.CDLL("libm.so.6").lgamma
log_gamma.restype, log_gamma.argtypes = ctypes.c_double, [ctypes.c_double]


ORACLES = {
    "bitwise_invert": np.invert, "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
    "conj": np.conjugate, "atan": np.arctan, "atan2": np.arctan2, "acos": np.arccos, "acosh": np.arccosh,
    "asin": np.arcsin, "asinh": np.arcsinh, "atanh": np.arctanh, "pow": np.power, "round": np.rint,
    "fma": lambda a, b, c: a * b + c, "exp2": lambda a: np.exp(a * LN2), "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "sinc": lambda a: sine_of_turns(a), "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]), "gammaln": np.vectorize(log_gamma, otypes=[float]),
    "real": np.real, "imag": np.imag, "clip": lambda a, b, c: np.minimum(np.maximum(a, b), c),
}  # fmt: skip
# Functions of ops/elementary: within a unit in the last place, complex ones within a few; all else is exact to the bit.
LOOSE = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "gammaln", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "pow", "sigmoid", "sin", "sinc", "sinh",
    "sqrt", "tan", "tanh",
}  # fmt: skip
ULPS = {"f": 1, "c": 4}
FROM_LIBM = {"erf": 1, "erfc": 1, "gammaln": 4}  # units of float64 by which the oracle may be wrong itself


WIDER = {"float32": "float64", "float64": "longdouble", "complex64": "complex128", "complex128": "clongdouble"}


def oracle(name):
    return ORACLES.get(name) or getattr(np, name)


def values(dtype, n, seed):
    """Return numbers with every special case among the first."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype) == np.bool_:
        return random.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = random.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        small = random.integers(max(info.min, -9), 10, n).astype(dtype)
        x = np.where(random.random(n) < 0.6, small, x)
        special = np.array([info.min, info.max, 0, 1, info.min + 1, info.max - 1, 2, 7, max(info.min, -1)], dtype)
    elif dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        both = np.empty(n, dtype)
        both.real, both.imag = values(part, n, seed), np.roll(values(part, n, seed + 1), 3)
        return both
    else:
        wide = random.normal(size=n) * 10.0 ** random.integers(-3, 4, n)
        x = wide.astype(dtype)
        special = np.array(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 1.5, 2.5, -0.5, -2.5, 1e-7, 3e4], np.float64
        ).astype(dtype)
    special = np.roll(np.resize(special, n // 2), seed * 5)
    x[: n // 2] = special
    return x


def bits(x):
    """Return the bytes with one NaN pattern: NaN payloads are unspecified."""
    parts = x.copy()
    parts = parts.view(f"f{x.itemsize // 2}") if x.dtype.kind == "c" else parts
    if parts.dtype.kind not in "biu":
        parts[np.isnan(parts)] = 0
    return parts.tobytes()


def expected(name, operands, dtype):
    """NumPy's answer, for 16-bit floats computed in float32 and rounded once."""
    f = oracle(name)
    short = operands[0].dtype.kind not in "biufc" or operands[0].dtype == np.float16
    inner = native.dtype_of("float32") if short and name != "nextafter" else operands[0].dtype
    with np.errstate(all="ignore"):
        if name == "fma" and inner.kind in "f":
            return None
        if name == "pow" and inner.kind in "i":
            return integer_power(*operands)
        if name == "sign" and inner.kind == "c":
            return None
        if name == "round" and inner.kind in "iu":
            return operands[0]
        wider = WIDER.get(inner.name) if name in LOOSE else None
        got = f(*[x.astype(wider or inner) for x in operands])
        if name == "floor_divide" and inner.kind == "f":
            a, b = (x.astype(inner) for x in operands)
            got = np.where(np.isinf(a) | np.isinf(b), a / b, got)  # the array API's table
        return np.asarray(got).astype(dtype)


def integer_power(a, b):
    out = [
        pow(int(x), int(y)) if y >= 0 else {1: 1, -1: 1 if y % 2 == 0 else -1}.get(int(x), 0)
        for x, y in zip(a, b, strict=True)
    ]
    mask = (1 << (8 * a.itemsize)) - 1
    return np.array([v & mask for v in out], np.dtype(f"u{a.itemsize}")).view(a.dtype)


def units(got, want):
    """How many values of the dtype lie between; 0 for two NaNs."""
    unsigned = np.dtype(f"i{got.itemsize}")
    order = [
        np.where(x.view(unsigned) < 0, np.iinfo(unsigned).min - x.view(unsigned), x.view(unsigned)) for x in (got, want)
    ]
    distance = np.abs(order[0] - order[1])
    nans = np.isnan(got) & np.isnan(want)
    return np.where(nans, 0, distance)


def check(name, got, want, ulps):
    if want.dtype.kind == "c":
        part = np.dtype(f"f{want.itemsize // 2}")
        scale = np.maximum(np.abs(want), np.finfo(part).tiny).repeat(2)
        pair = [np.ascontiguousarray(x).view(part) for x in (got, want)]
        with np.errstate(all="ignore"):
            near = np.abs(pair[0] - pair[1]) <= 8 * np.finfo(part).eps * np.where(np.isfinite(scale), scale, 1) * (
                ulps or 0.5
            )
        good = near | (pair[0] == pair[1]) | (np.isnan(pair[0]) & np.isnan(pair[1]))
        assert good.all() or special_only(good, want), (
            name,
            got[~good.reshape(-1, 2).all(1)][:3],
            want[~good.reshape(-1, 2).all(1)][:3],
        )
    elif want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, err_msg=name)
    else:
        far = units(got, want)
        assert (far <= ulps).all(), (name, got[far > ulps][:5], want[far > ulps][:5])


def special_only(good, want):
    """Complex infinities and NaNs are left to the test of the array API's tables: NumPy itself differs there."""
    bad = ~good.reshape(-1, 2).all(1)
    return not np.isfinite(want[bad]).any()


def pairs():
    for name, type_name in itertools.product(OPS, COMPUTED):
        dtype = dtype_of(type_name)
        if (
            result_of(name, dtype) is not None
            and native.library.engine_compute_type(OPS[name], native.TYPES[type_name]) == native.TYPES[type_name]
        ):
            yield name, type_name


PAIRS = list(pairs())
LEVELS = native.levels()


def test_the_table_is_what_the_array_api_asks_for():
    asked = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
    round sign signbit sin sinh square sqrt subtract tan tanh trunc""".split()  # noqa: SIM905
    assert len(asked) == 67
    added = {"cbrt", "erf", "erfc", "exp2", "fma", "gammaln", "sigmoid", "sinc"}
    assert set(asked) | added == set(OPS)


@pytest.mark.parametrize(("name", "type_name"), PAIRS)
def test_contiguous_runs_agree_with_numpy(name, type_name, level):
    dtype, n = dtype_of(type_name), 521
    operands = [values(dtype, n, k) for k in range(ROWS[name].operands)]
    if name == "pow" and dtype.kind in "iu":
        operands[1] = (operands[1] % dtype.type(9)).astype(dtype)
    got = run(name, *operands, out=np.empty(n, result_of(name, dtype)))
    want = expected(name, operands, got.dtype)
    if want is not None:
        loose = (name in LOOSE and name != "sqrt") or dtype.kind == "c"
        # The last digits of the product with the logarithm are the exponent of the result.
        logarithms = name == "pow" and dtype == np.complex128
        units = ULPS["c" if dtype.kind == "c" else "f"] + (FROM_LIBM.get(name, 0) if dtype == np.float64 else 0)
        check(name, got, want, 1000 if logarithms else units if loose else 0)
    for which in range(len(operands)):
        scalar = list(operands)
        scalar[which] = operands[which][7:8].reshape(())
        full = list(operands)
        full[which] = np.full(n, operands[which][7], dtype)
        one = run(name, *scalar, out=np.empty_like(got))
        all_ = run(name, *full, out=np.empty_like(got))
        assert bits(one) == bits(all_), f"{name}: a scalar operand {which} gives other bits than an array of it"


def layouts(x):
    """The same values in other places of memory."""
    n = x.size
    yield "strided", np.repeat(x, 2)[::2]
    yield "third", np.repeat(x, 3)[::3]
    yield "reversed", x[::-1].copy()[::-1]
    raw = np.empty(x.nbytes + 64, np.uint8)
    if x.itemsize > 1:
        odd = np.ndarray((n,), x.dtype, raw, 1)
        odd[:] = x
        yield "unaligned", odd
    yield "columns", np.ascontiguousarray(x.reshape(-1, 5).T).T
    yield "rows", x.reshape(5, -1)


@pytest.mark.parametrize(("name", "type_name"), PAIRS)
def test_layouts_do_not_change_a_bit(name, type_name, level):
    dtype, n = dtype_of(type_name), 520
    operands = [values(dtype, n, k) for k in range(ROWS[name].operands)]
    result = result_of(name, dtype)
    want = bits(run(name, *operands, out=np.empty(n, result)))
    for which, operand in enumerate(operands):
        for layout, view in layouts(operand):
            moved = [x.reshape(view.shape) for x in operands]
            moved[which] = view
            out = run(name, *moved, out=np.empty(view.shape, result))
            assert bits(out) == want, (name, layout)
    for layout, view in layouts(np.zeros(n, result)):
        run(name, *[x.reshape(view.shape) for x in operands], out=view)
        assert bits(np.ascontiguousarray(view)) == want, (name, "out", layout)


@pytest.mark.parametrize(("name", "type_name"), PAIRS)
def test_no_level_changes_a_bit_of_what_is_exact(name, type_name):
    dtype, n = dtype_of(type_name), 999
    operands = [values(dtype, n, k + 10) for k in range(ROWS[name].operands)]
    seen = set()
    for level in LEVELS:
        assert native.library.engine_set_level(level.encode())
        got = run(name, *operands, out=np.empty(n, result_of(name, dtype)))
        seen.add(bits(got))
    assert len(seen) == 1


@pytest.mark.parametrize("type_name", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["ceil", "floor", "reciprocal", "round", "sign", "sqrt", "square", "trunc"])
def test_every_pattern_of_16_bits_is_rounded_once_from_float32(name, type_name, level):
    dtype = dtype_of(type_name)
    x = np.arange(2**16, dtype=np.uint16).view(dtype)
    wide = run(name, x.astype(np.float32), out=np.empty(x.size, np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        want = bits(wide.astype(dtype))
    assert bits(run(name, x, out=np.empty_like(x))) == want
    at = x.copy()
    run(name, at, out=at)
    assert bits(at) == want


@pytest.mark.parametrize("type_name", ["float16", "bfloat16", "float32", "float64"])
def test_fma_rounds_once(type_name, level):
    from fractions import Fraction

    dtype = dtype_of(type_name)
    random = np.random.default_rng(5)
    a, b, c = (random.normal(size=3000).astype(dtype) for _ in range(3))
    c[::2] = (-(a.astype(np.float64) * b.astype(np.float64))).astype(dtype)[::2]
    got = run("fma", a, b, c, out=np.empty_like(a))
    for x, y, z, r in zip(a, b, c, got, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        below, above = (np.nextafter(r, dtype.type(s)) for s in (-np.inf, np.inf))
        assert abs(exact - Fraction(float(r))) <= min(
            abs(exact - Fraction(float(below))), abs(exact - Fraction(float(above)))
        )


@pytest.mark.parametrize("type_name", ["float32", "float64"])
def test_quotients_by_one_number_are_rounded_once(type_name, level):
    dtype = dtype_of(type_name)
    info, random = np.finfo(dtype), np.random.default_rng(6)
    near = np.nextafter(dtype.type(1), dtype.type([0, 2]))
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max, *near, 3.0, -7.0]
    n = 4000
    whole = random.integers(1, 1 << 24, n).astype(dtype)
    spread = (random.standard_normal(n) * 2.0 ** random.integers(-140, 120, n)).astype(dtype)
    ordinary = random.standard_normal(n).astype(dtype)
    few = np.concatenate([edges, ordinary[:600]]).astype(dtype)
    numbers = [*edges, 10.0, *whole[:6], *ordinary[:30], *spread[:30], dtype.type(1) / 3]
    for dividends in (whole, ordinary, spread, np.abs(ordinary[:17]), few, np.where(ordinary > 0, ordinary, 0)):
        for y in (np.array(one, dtype) for one in numbers):
            got = run("divide", dividends, y, out=np.empty_like(dividends))
            with np.errstate(all="ignore"):
                want = dividends / y
            assert bits(got) == bits(np.where(np.isnan(want), got, want))
            assert np.array_equal(np.isnan(got), np.isnan(want))
            own = dividends.copy()
            assert bits(run("divide", own, y, out=own)) == bits(got)


@pytest.mark.parametrize("columns", [2, 3, 7, 8, 15, 16, 31, 33, 62])
def test_short_rows_between_gaps(columns, level):
    for type_name in ("uint8", "int16", "float32", "float64"):
        dtype = dtype_of(type_name)
        wide = values(dtype, 50 * (columns + 3), 2).reshape(50, columns + 3)
        x, y = wide[:, 1 : columns + 1], wide[:, 2 : columns + 2]
        for name, operands in (
            ("add", (x, y)),
            ("multiply", (x, y[:1])),
            ("subtract", (x, y[:, :1])),
            ("square", (x,)),
        ):
            operands = [np.broadcast_to(one, x.shape) for one in operands]
            plain = [np.ascontiguousarray(one) for one in operands]
            want = run(name, *plain, out=np.empty(x.shape, dtype))
            assert bits(run(name, *operands, out=np.empty(x.shape, dtype))) == bits(want)
            out = np.full((50, columns + 3), 7, dtype)
            run(name, *operands, out=out[:, 2:-1])
            assert bits(out[:, 2:-1].copy()) == bits(want)
            assert (out[:, :2] == 7).all()
            assert (out[:, -1:] == 7).all()


@pytest.mark.parametrize("type_name", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_division_never_traps(type_name, level):
    dtype = dtype_of(type_name)
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, 0, 5, info.min], dtype)
    zero, minus = np.zeros(5, dtype), np.full(5, -1 if info.min < 0 else 1, dtype)
    for name in ("floor_divide", "remainder"):
        assert not run(name, a, zero, out=np.empty_like(a)).any()
    if info.min < 0:
        assert run("floor_divide", a, minus, out=np.empty_like(a)).tolist() == [info.min, -info.max, 0, -5, info.min]
        assert not run("remainder", a, minus, out=np.empty_like(a)).any()
    for count in (64, 100, -1):
        if info.min <= count <= info.max:
            assert not run("bitwise_left_shift", a, np.full(5, count, dtype), out=np.empty_like(a)).any()
            want = [-1 if x < 0 else 0 for x in a.tolist()]
            assert run("bitwise_right_shift", a, np.full(5, count, dtype), out=np.empty_like(a)).tolist() == want


@pytest.mark.parametrize("type_name", ["int64", "uint64"])
def test_quotients_by_one_number_beside_its_multiples_and_the_limit_of_products(type_name, level):
    dtype = dtype_of(type_name)
    low, limit = np.iinfo(dtype).min, 1 << 51
    random = np.random.default_rng(5)
    divisors = [2, 3, 5, 7, 10, 1000, (1 << 26) + 1, (1 << 50) - 1, limit - 1, limit, limit + 1, (1 << 62) + 3]
    for divisor in [d * sign for d in divisors for sign in (1, -1) if d * sign >= low]:
        magnitude = abs(divisor)
        multiples = [magnitude * int(k) for k in random.integers(0, max(1, limit // magnitude), 200)]
        multiples += [limit // magnitude * magnitude, 0, magnitude, limit - 1 - magnitude]
        near = [sign * m + step for m in multiples for step in (-1, 0, 1) for sign in (1, -1)]
        near = [v for v in near if max(low, -limit) <= v < limit] + [limit - 1, max(low, -limit)]
        for x in (near, [*near, limit], [*near, max(low, -limit - 1)]):
            x = np.resize(np.array(x, dtype), len(x) + 1)[1:]
            for name in ("floor_divide", "remainder"):
                want = getattr(np, name)(x, dtype.type(divisor))
                np.testing.assert_array_equal(run(name, x, np.array(divisor, dtype), out=np.empty_like(x)), want)
                own = x.copy()
                np.testing.assert_array_equal(run(name, own, np.array(divisor, dtype), out=own), want)


def test_overlap_is_as_if_through_a_temporary(level):
    for n in (5, 700, 5000):
        x = np.arange(n, dtype=np.int32)
        want = x.copy()
        want[1:] = want[1:] + want[:-1]
        run("add", x[1:], x[:-1], out=x[1:])
        np.testing.assert_array_equal(x, want)
        y = np.arange(float(n))
        run("subtract", y[::-1], y, out=y)
        np.testing.assert_array_equal(y, np.arange(float(n))[::-1] - np.arange(float(n)))
        native.copy(y[1:], y[:-1])
        assert math.isclose(y[1], n - 1)


@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((1, 5), (4, 5)), ((4, 1), (4, 5)), ((4, 1), (1, 5)), ((2, 1, 4), (2, 3, 4)), ((2, 3, 1), (2, 3, 4)),
        ((1, 3, 4), (2, 3, 4)), ((), (4, 5)), ((0,), (1,)), ((70, 1), (1, 900)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("type_name", ["int32", "float16", "uint8", "complex128"])
def test_broadcasting_is_numpys(shape_a, shape_b, type_name, level):
    dtype = dtype_of(type_name)
    a = np.arange(math.prod(shape_a)).reshape(shape_a).astype(dtype)
    b = (np.arange(math.prod(shape_b)).reshape(shape_b) % 50).astype(dtype)
    for x, y in ((a, b), (b, a)):
        want = np.subtract(x, y)
        np.testing.assert_array_equal(run("subtract", x, y, out=np.empty_like(want)), want)
