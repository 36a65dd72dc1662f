# SPDX-License-Identifier: Apache-2.0
"""Signed zeros, infinities, NaN and branch cuts: the tables of the array API standard, for both widths of each kind."""

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
        return math.copysign(0.0, a) * math.copysign(1, b)
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
    """Python's cmath has the tables of C's Annex G, from which the standard's are taken, but for tanh at infinity."""
    values = [complex(re, im) for re, im in itertools.product(EDGES, EDGES)]
    if name in ("tan", "tanh"):
        values = [z for z in values if not math.isinf(z.real if name == "tanh" else z.imag)]
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


# The tables of the standard for complex operands: real part, imaginary part, and those of the result. `0` and `inf` are
# both signs of an operand, and either sign of a result; `cos` and `sin` are those of the imaginary part.
SPECIAL = {
    "acos": """
        0 +0 pi/2 -0; 0 nan pi/2 nan; finite +inf pi/2 -inf; nonzero nan nan nan; -inf positive pi -inf
        +inf positive +0 -inf; -inf +inf 3pi/4 -inf; +inf +inf pi/4 -inf; inf nan nan inf; nan finite nan nan
        nan +inf nan -inf; nan nan nan nan""",
    "acosh": """
        0 +0 +0 pi/2; finite +inf +inf pi/2; nonzero nan nan nan; +0 nan nan ±pi/2; -inf positive +inf pi
        +inf positive +inf +0; -inf +inf +inf 3pi/4; +inf +inf +inf pi/4; inf nan +inf nan; nan finite nan nan
        nan +inf +inf nan; nan nan nan nan""",
    "asinh": """
        +0 +0 +0 +0; positive +inf +inf pi/2; finite nan nan nan; +inf positive +inf +0; +inf +inf +inf pi/4
        nan +0 nan +0; nan nonzero nan nan; nan +inf inf nan; nan nan nan nan""",
    "atanh": """
        +0 +0 +0 +0; +0 nan +0 nan; 1 +0 +inf +0; positive +inf +0 pi/2; nonzero nan nan nan; +inf positive +0 pi/2
        +inf +inf +0 pi/2; +inf nan +0 nan; nan finite nan nan; nan +inf 0 pi/2; nan nan nan nan""",
    "cosh": """
        +0 +0 1 +0; +0 +inf nan 0; +0 nan nan 0; nonzero +inf nan nan; nonzero nan nan nan; +inf +0 +inf +0
        +inf nonzero inf*cos inf*sin; +inf +inf inf nan; +inf nan +inf nan; nan 0 nan 0; nan nonzero nan nan
        nan nan nan nan""",
    "exp": """
        0 +0 1 +0; finite +inf nan nan; finite nan nan nan; +inf +0 +inf +0; -inf finite 0*cos 0*sin
        +inf nonzero inf*cos inf*sin; -inf +inf 0 0; +inf +inf inf nan; -inf nan 0 0; +inf nan inf nan; nan +0 nan +0
        nan nonzero nan nan; nan +inf nan nan; nan nan nan nan""",
    "expm1": """
        0 +0 +0 +0; finite +inf nan nan; finite nan nan nan; +inf +0 +inf +0; -inf finite -1 0*sin
        +inf nonzero inf*cos inf*sin; -inf +inf -1 0; +inf +inf inf nan; -inf nan -1 0; +inf nan inf nan; nan +0 nan +0
        nan nonzero nan nan; nan +inf nan nan; nan nan nan nan""",
    "log": """
        -0 +0 -inf pi; +0 +0 -inf +0; finite +inf +inf pi/2; finite nan nan nan; -inf positive +inf pi
        +inf positive +inf +0; -inf +inf +inf 3pi/4; +inf +inf +inf pi/4; inf nan +inf nan; nan finite nan nan
        nan +inf +inf nan; nan nan nan nan""",
    "log1p": """
        -1 +0 -inf +0; finite +inf +inf pi/2; finite nan nan nan; -inf positive +inf pi; +inf positive +inf +0
        -inf +inf +inf 3pi/4; +inf +inf +inf pi/4; inf nan +inf nan; nan finite nan nan; nan +inf +inf nan
        nan nan nan nan""",
    "sign": "0 0 0 0; nan finite nan nan; nan inf nan nan; finite nan nan nan; inf nan nan nan; nan nan nan nan",
    "sinh": """
        +0 +0 +0 +0; +0 +inf 0 nan; +0 nan 0 nan; positive +inf nan nan; positive nan nan nan; +inf +0 +inf +0
        +inf positive inf*cos inf*sin; +inf +inf inf nan; +inf nan inf nan; nan +0 nan +0; nan nonzero nan nan
        nan nan nan nan""",
    "sqrt": """
        0 +0 +0 +0; finite +inf +inf +inf; inf +inf +inf +inf; nan +inf +inf +inf; finite nan nan nan
        -inf positive +0 +inf; +inf positive +inf +0; -inf nan nan inf; +inf nan +inf nan; nan finite nan nan
        nan nan nan nan""",
    "tanh": """
        +0 +0 +0 +0; nonzero +inf nan nan; +0 +inf +0 nan; nonzero nan nan nan; +0 nan +0 nan; +inf positive 1 +0
        +inf +inf 1 0; +inf nan 1 0; nan +0 nan +0; nan nonzero nan nan; nan nan nan nan""",
}
ODD = {"asinh", "atanh", "sinh", "tanh"}
POSITIVE = [0.5, 1.0, 2.0, 3.0, 4.0, 100.0]
OPERANDS = {
    "0": [0.0, -0.0], "+0": [0.0], "-0": [-0.0], "inf": [INF, -INF], "+inf": [INF], "-inf": [-INF], "nan": [NAN],
    "1": [1.0], "-1": [-1.0], "positive": POSITIVE, "nonzero": POSITIVE + [-x for x in POSITIVE],
    "finite": [0.0, -0.0, *POSITIVE, *[-x for x in POSITIVE]],
}  # fmt: skip


def part_is(got, want, angle):
    """Whether one part of a result is what the table says; its sign counts where the table gives one."""
    if want == "nan":
        return math.isnan(got)
    if want in ("0", "inf", "±pi/2"):
        return math.isclose(abs(got), {"0": 0.0, "inf": INF, "±pi/2": PI / 2}[want], rel_tol=1e-6)
    signed = {"+0": 0.0, "-0": -0.0, "+inf": INF, "-inf": -INF, "1": 1.0, "-1": -1.0, "pi": PI, "pi/2": PI / 2}
    signed |= {"pi/4": PI / 4, "3pi/4": 3 * PI / 4}
    if "*" in want:
        size, function = want.split("*")
        turned = {"cos": math.cos, "sin": math.sin}[function](angle)
        signed[want] = math.copysign({"0": 0.0, "inf": INF}[size], turned)
    return math.isclose(got, signed[want], rel_tol=1e-6) and math.copysign(1, got) == math.copysign(1, signed[want])


def is_special(got, want, z):
    """Whether both parts of a result are what the table says of an operand."""
    return part_is(got.real, want[0], z.imag) and part_is(got.imag, want[1], z.imag)


def conjugated(z):
    return complex(z.real, -z.imag)


def special_values():
    """Name, operand, and what the standard says of the parts of its result, for every row of the tables."""
    for name, table in SPECIAL.items():
        for row in table.replace("\n", ";").split(";"):
            if row.strip():
                a, b, *want = row.split()
                yield from ((name, complex(x, y), want) for x in OPERANDS[a] for y in OPERANDS[b])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", SPECIAL)
def test_complex_special_values_are_those_of_the_standard(name, dtype):
    cases = [(z, want) for function, z, want in special_values() if function == name]
    assert len(cases) > 5
    operands = [z for z, _ in cases]
    found = each(name, dtype, *[(z,) for z in operands])
    mirrored = each(name, dtype, *[(conjugated(z),) for z in operands])
    turned = each(name, dtype, *[(-z,) for z in operands])
    for (z, want), got, mirror, turn in zip(cases, found, mirrored, turned, strict=True):
        assert is_special(got, want, z), (name, z, got, want)
        assert is_special(conjugated(mirror), want, z), (name, z, mirror, want)
        if name in ODD or name == "cosh":
            assert is_special(-turn if name in ODD else turn, want, z), (name, z, turn, want)


def product_of(a, b):
    """The textbook formula, in which infinities may give NaN."""
    return complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def quotient_of(a, b):
    """Smith's method, by NumPy's numbers, which divide by 0."""
    a_real, a_imag, real, imag = (np.float64(x) for x in (a.real, a.imag, b.real, b.imag))
    if real == imag == 0:
        return complex(a_real / abs(real), a_imag / abs(real))
    if abs(real) < abs(imag):
        ratio = real / imag
        scale = 1 / (imag + real * ratio)
        return complex((a_real * ratio + a_imag) * scale, (a_imag * ratio - a_real) * scale)
    ratio = imag / real
    scale = 1 / (real + imag * ratio)
    return complex((a_real + a_imag * ratio) * scale, (a_imag - a_real * ratio) * scale)


ARITHMETIC = {
    "multiply": product_of,
    "divide": quotient_of,
    "square": lambda z: product_of(z, z),
    "reciprocal": lambda z: quotient_of(1 + 0j, z),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_complex_products_and_quotients_compute_their_parts_as_real_numbers(name, dtype):
    edges = (0.0, -0.0, 1.0, -2.0, INF, -INF, NAN)  # of which quotients are exact, or of another order
    numbers = [complex(re, im) for re, im in itertools.product(edges, edges)]
    operands = list(itertools.product(numbers, repeat=2 if name in ("multiply", "divide") else 1))
    with np.errstate(all="ignore"):
        wanted = [ARITHMETIC[name](*each_operand) for each_operand in operands]
    for z, got, want in zip(operands, each(name, dtype, *operands), wanted, strict=True):
        check(got.real, want.real, f"real part of {name}{z}")
        check(got.imag, want.imag, f"imaginary part of {name}{z}")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_to_negative_elements_are_truncated_fractions(dtype):
    operands = list(itertools.product((-3, -1, 0, 1, 2, 10), (-1, -2, -3)))
    wanted = [int(a**b) if a else 0 for a, b in operands]
    assert each("pow", dtype, *operands) == wanted


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("mode", "order"), [("largest", [2, 0, 3]), ("smallest", [3, 0, 2])])
def test_top_k_takes_nan_only_where_numbers_are_missing(mode, order, dtype):
    x = dl.asarray([2.0, NAN, INF, -1.0, NAN], dtype=dtype).to(Place.device)
    for k in range(6):
        values, indices = dl.top_k(x, k, mode=mode)
        assert indices.tolist() == [*order, 1, 4][:k]
        assert [math.isnan(value) for value in values.tolist()] == [False, False, False, True, True][:k]


CIRCULAR = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CIRCULAR)
def test_circular_functions_have_the_special_values_of_the_hyperbolic_ones(name, dtype):
    """``-1j * sinh(z * 1j)`` and its like, with products that only exchange parts; ``cosh(z * 1j)`` as it is."""
    edges = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, INF, -INF, NAN]
    operands = [complex(x, y) for x in edges for y in edges]
    found = each(name, dtype, *[(z,) for z in operands])
    turned = each(CIRCULAR[name], dtype, *[(complex(-z.imag, z.real),) for z in operands])
    signs = 0
    for z, got, other in zip(operands, found, turned, strict=True):
        want = other if name == "cos" else complex(other.imag, -other.real)
        for part in ("real", "imag"):
            a, b = getattr(got, part), getattr(want, part)
            if math.isnan(b):
                assert math.isnan(a), (name, z, got, want)
            else:
                # The standard leaves signs open beside a NaN, and where neither part of the operand is finite.
                signed = not cmath.isnan(want) and (math.isfinite(z.real) or math.isfinite(z.imag))
                a, b = (a, b) if signed else (abs(a), abs(b))
                assert math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6), (name, z, got, want)
                if b == 0 and signed and name != "cos":  # cos(x + 0j) is as good as real, its other part exactly 0
                    assert math.copysign(1, a) == math.copysign(1, b), (name, z, got, want)
                    signs += 1
    assert signs > 10 or name == "cos"


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_sign_of_a_complex_number_has_length_one_at_every_magnitude(dtype):
    tiny, huge = (1e-44, 3e38) if dtype == "complex64" else (5e-323, 1.7e308)
    places = [(x * size, y * size) for size in (1.0, tiny, huge) for x in (1, -1, 0) for y in (1, -1, 0) if x or y]
    places += [(huge, 1.0), (1.0, -huge), (huge, tiny), (tiny, huge)]
    found = each("sign", dtype, *[(complex(x, y),) for x, y in places])
    for (x, y), got in zip(places, found, strict=True):
        x, y = float(np.dtype(dtype).type(x).real), float(np.dtype(dtype).type(y).real)
        scale = max(abs(x), abs(y))
        length = math.hypot(x / scale, y / scale)
        assert math.isclose(got.real, x / scale / length, rel_tol=1e-6, abs_tol=1e-30), (x, y, got)
        assert math.isclose(got.imag, y / scale / length, rel_tol=1e-6, abs_tol=1e-30), (x, y, got)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_sign_of_an_infinite_complex_number_is_a_unit_where_there_is_one(dtype):
    cases = {complex(INF, 2): 1, complex(-INF, -2): -1, complex(3, INF): 1j, complex(0, -INF): -1j}
    assert each("sign", dtype, *[(z,) for z in cases]) == list(cases.values())
    assert all(cmath.isnan(z) for z in each("sign", dtype, (complex(INF, INF),), (complex(INF, -INF),)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_division_by_infinity_is_a_zero_and_the_remainder_is_pythons(dtype):
    cases = [(1.0, -INF), (-1.0, INF), (1.0, INF), (-1.0, -INF), (0.0, -INF), (-0.0, INF)]
    quotients = each("floor_divide", dtype, *cases)
    remainders = each("remainder", dtype, *cases)
    for (a, b), quotient, rest in zip(cases, quotients, remainders, strict=True):
        check(quotient, a / b, f"{a} // {b}")
        check(rest, math.copysign(0.0, b) if a == 0 else a % b, f"{a} % {b}")
    x = dl.asarray([1.0, -1.0], dtype=dtype).to(Place.device)
    quotient, rest = divmod(x, -INF)
    check(quotient.tolist()[0], -0.0, "divmod(1, -inf)[0]")
    assert rest.tolist() == [-INF, -1.0]


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
