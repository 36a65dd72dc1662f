# SPDX-License-Identifier: Apache-2.0
"""Signed zeros, infinities, NaN and branch cuts: the tables of the array API standard, on both widths of every kind."""

import cmath
import itertools
import math

import numpy as np
import pytest

import dltensor as dl

INF, NAN, PI = math.inf, math.nan, math.pi
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, INF, -INF, NAN)


def check(got, want, what, rel=1e-6):
    """Assert that two numbers are one, the sign of 0 and the kind of infinity seen."""
    if math.isnan(want):
        assert math.isnan(got), f"{what}: expected NaN, got {got}"
    elif want == 0 or math.isinf(want):
        assert got == want, f"{what}: expected {want}, got {got}"
        assert math.copysign(1, got) == math.copysign(1, want), f"{what}: expected {want}, got {got}"
    else:
        assert math.isclose(got, want, rel_tol=rel, abs_tol=1e-30), f"{what}: expected {want}, got {got}"


class Place:
    """Where the functions compute."""

    device = "cpu"


@pytest.fixture(autouse=True, scope="module")
def place(request):
    Place.device = request.config.getoption("--device")
    yield
    Place.device = "cpu"


def each(name, dtype, *operands):
    """What a function gives for numbers, one call for all of them, in runs long enough for the vector loops."""
    columns = [np.repeat(np.array(column, dtype), 5) for column in zip(*operands, strict=True)]
    columns = [dl.asarray(column).to(Place.device) for column in columns]
    return getattr(dl, name)(*columns).numpy()[2::5].tolist()


UNARY = {
    "abs": abs,
    "acos": lambda x: math.acos(x) if abs(x) <= 1 else NAN,
    "acosh": lambda x: math.acosh(x) if x >= 1 else NAN,
    "asin": lambda x: math.asin(x) if abs(x) <= 1 else NAN,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": lambda x: math.copysign(INF, x) if abs(x) == 1 else math.atanh(x) if abs(x) < 1 else NAN,
    "ceil": lambda x: math.copysign(math.ceil(x), x) if math.isfinite(x) else x,
    "cos": lambda x: math.cos(x) if math.isfinite(x) else NAN,
    "cosh": math.cosh,
    "exp": math.exp,
    "expm1": math.expm1,
    "floor": lambda x: math.copysign(math.floor(x), x) if math.isfinite(x) else x,
    "log": lambda x: -INF if x == 0 else math.log(x) if x > 0 else NAN,
    "log1p": lambda x: -INF if x == -1 else math.log1p(x) if x > -1 else NAN,
    "log2": lambda x: -INF if x == 0 else math.log2(x) if x > 0 else NAN,
    "log10": lambda x: -INF if x == 0 else math.log10(x) if x > 0 else NAN,
    "reciprocal": lambda x: math.copysign(INF, x) if x == 0 else 1 / x,
    "round": lambda x: math.copysign(round(x), x) if math.isfinite(x) else x,
    "sign": lambda x: x if math.isnan(x) else 0.0 if x == 0 else math.copysign(1, x),
    "sin": lambda x: math.sin(x) if math.isfinite(x) else NAN,
    "sinh": math.sinh,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else NAN,
    "square": lambda x: x * x,
    "tan": lambda x: math.tan(x) if math.isfinite(x) else NAN,
    "tanh": math.tanh,
    "trunc": lambda x: math.copysign(math.trunc(x), x) if math.isfinite(x) else x,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_real_functions(name, dtype):
    edges = (0.0, *EDGES)  # the first one is also what fills the end of a vector
    for x, got in zip(edges, each(name, dtype, *[(x,) for x in edges]), strict=True):
        want = NAN if math.isnan(x) else UNARY[name](x)
        if name == "sign" and x == 0:
            assert got == 0
        else:
            check(got, want, f"{name}({x})")


def divide_down(a, b):
    """The table of floor_divide."""
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or a == b == 0:
        return NAN
    if math.isinf(a) or b == 0:
        return math.copysign(INF, a) * math.copysign(1, b)
    if math.isinf(b):
        return math.copysign(0.0, a) * math.copysign(1, b) if a == 0 or (a > 0) == (b > 0) else -1.0
    made = math.floor(a / b)
    return math.copysign(made, a * b) if made == 0 else float(made)


def remains(a, b):
    """The table of remainder: Python's modulo, with NaN where that raises."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return NAN
    return a % b


def power(a, b):
    """The table of pow, which is C's."""
    try:
        return math.pow(a, b)
    except ValueError:  # C gives NaN for a negative base, and an infinity for 0
        return NAN if a != 0 else INF if b != int(b) or b % 2 == 0 else math.copysign(INF, a)
    except OverflowError:
        return INF


def larger(a, b):
    return NAN if math.isnan(a) or math.isnan(b) else max(a, b)


BINARY = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "floor_divide": divide_down,
    "hypot": math.hypot,
    "logaddexp": lambda a, b: (
        NAN if math.isnan(a) or math.isnan(b) else INF if INF in (a, b) else
        -INF if a == b == -INF else max(a, b) + math.log1p(math.exp(-abs(a - b)))
    ),
    "maximum": larger,
    "minimum": lambda a, b: -larger(-a, -b),
    "nextafter": None,
    "pow": power,
    "remainder": remains,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name, dtype):
    pairs = list(itertools.product(EDGES, EDGES))
    for (a, b), got in zip(pairs, each(name, dtype, *pairs), strict=True):
        if name in ("maximum", "minimum") and a == b == 0:
            assert got == 0  # which zero is the greater is left open
        elif name == "copysign" and math.isnan(b):
            assert math.isnan(got) == math.isnan(a)
        elif name == "nextafter":
            want = float(np.nextafter(np.dtype(dtype).type(a), np.dtype(dtype).type(b)))
            assert (math.isnan(got) and math.isnan(want)) or got == want, (a, b)
        elif name == "floor_divide" and math.isfinite(a) and math.isinf(b) and a != 0:
            assert got in (divide_down(a, b), 0.0, -1.0)
        else:
            check(got, BINARY[name](a, b), f"{name}({a}, {b})")


COMPLEX = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "log",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_and_their_branch_cuts(name, dtype):
    """Python's cmath has the tables of C's Annex G, from which the standard's are taken."""
    values = [complex(re, im) for re, im in itertools.product(EDGES, EDGES)]
    checked = 0
    for z, got in zip(values, each(name, dtype, *[(z,) for z in values]), strict=True):
        try:
            want = getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            continue
        for part in ("real", "imag"):
            expected, found = getattr(want, part), getattr(got, part)
            if (math.isinf(expected) and math.isinf(found)) or (expected == 0 and abs(found) < 1e-6):
                if not (cmath.isnan(z) or (math.isinf(z.real) and math.isinf(z.imag))):  # there signs are left open
                    check(math.copysign(1, found), math.copysign(1, expected), f"the sign of {part} of {name}({z})")
            elif cmath.isnan(z):
                # C leaves signs open; its later revisions and Python differ on what stays a number.
                known = 0 if found == 0 else math.copysign(PI / 2, found) if math.isnan(expected) else expected
                assert not math.isfinite(found) or math.isclose(found, known, rel_tol=1e-5), (name, z, got, want)
            else:
                check(found, expected, f"{part} of {name}({z})", 2e-6)
        checked += 1
    assert checked > 100


def test_predicates():
    for x, nan, inf, finite, sign in ((NAN, 1, 0, 0, None), (-INF, 0, 1, 0, 1), (-0.0, 0, 0, 1, 1), (5.0, 0, 0, 1, 0)):
        for dtype in ("float16", "float32", "float64"):
            array = np.array([x] * 3, dtype)
            assert dl.isnan(array).tolist() == [bool(nan)] * 3
            assert dl.isinf(array).tolist() == [bool(inf)] * 3
            assert dl.isfinite(array).tolist() == [bool(finite)] * 3
            if sign is not None:
                assert dl.signbit(array).tolist() == [bool(sign)] * 3
    for z, nan, inf in (
        (complex(NAN, INF), True, True),
        (complex(1, NAN), True, False),
        (complex(-INF, 0), False, True),
    ):
        array = np.array([z])
        assert (dl.isnan(array).tolist(), dl.isinf(array).tolist(), dl.isfinite(array).tolist()) == (
            [nan],
            [inf],
            [False],
        )
