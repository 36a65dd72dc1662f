# SPDX-License-Identifier: Apache-2.0
"""saturate=True against exact fractions: over all pairs of 8 bits, over chosen ones of more."""

import ctypes as c
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
from native import OPS, TYPES, ExactComparison, Scalar, dtype_of, library, run, tensor
from test_elements import values

OPERATIONS = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b}
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
REALS = ["real_add", "real_rsub", "real_multiply", "real_divide", "real_rdivide", "real_fma"]


def rounded(exact, dtype):
    """Round half to even and clamp; what Python's round does with a Fraction is exact."""
    info = np.iinfo(dtype)
    if isinstance(exact, float):
        return 0 if math.isnan(exact) else info.max if exact > 0 else info.min
    return max(info.min, min(info.max, round(exact)))


def divide(a, b):
    return Fraction(a, b) if b else math.nan if a == 0 else math.copysign(math.inf, a)


@pytest.mark.parametrize("type_name", ["int8", "uint8"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_all_pairs_of_8_bits(name, type_name, level):
    dtype = dtype_of(type_name)
    every = np.arange(256, dtype=np.uint8).view(dtype)
    a, b = np.repeat(every, 256), np.tile(every, 256)
    operation = OPERATIONS.get(name, divide)
    want = np.array([rounded(operation(x, y), dtype) for x, y in zip(a.tolist(), b.tolist(), strict=True)], dtype)
    np.testing.assert_array_equal(run(name, a, b, out=np.empty_like(a), type=type_name, saturate=True), want)


@pytest.mark.parametrize("type_name", INTEGERS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_wider_integers(name, type_name, level):
    dtype = dtype_of(type_name)
    a, b = values(dtype, 3000, 0), values(dtype, 3000, 1)
    operation = OPERATIONS.get(name, divide)
    want = np.array([rounded(operation(x, y), dtype) for x, y in zip(a.tolist(), b.tolist(), strict=True)], dtype)
    np.testing.assert_array_equal(run(name, a, b, out=np.empty_like(a), type=type_name, saturate=True), want)


@pytest.mark.parametrize("type_name", INTEGERS)
def test_fma_and_signs(type_name, level):
    dtype = dtype_of(type_name)
    a, b, d = (values(dtype, 2000, k) for k in range(3))
    rows = list(zip(a.tolist(), b.tolist(), d.tolist(), strict=True))
    want = np.array([rounded(Fraction(x * y + z), dtype) for x, y, z in rows], dtype)
    np.testing.assert_array_equal(run("fma", a, b, d, out=np.empty_like(a), type=type_name, saturate=True), want)
    for name, f in (("negative", lambda x: -x), ("abs", abs)):
        want = np.array([rounded(Fraction(f(x)), dtype) for x in a.tolist()], dtype)
        np.testing.assert_array_equal(run(name, a, out=np.empty_like(a), type=type_name, saturate=True), want)
    if type_name[0] == "u":
        signed = np.dtype(type_name[1:])
        s, t = values(signed, 2000, 4), values(signed, 2000, 5)
        want = np.array(
            [rounded(Fraction(x * y + z), dtype) for x, y, z in zip(s.tolist(), t.tolist(), d.tolist(), strict=True)],
            dtype,
        )
        np.testing.assert_array_equal(run("fma", s, t, d, out=np.empty_like(d), type=type_name, saturate=True), want)


SCALARS = [
    0.5, 1.5, -0.5, 2.5, 0.1, 1 / 3, 10.0, -1.0, 300.0, 1e19, -1e19, 1e300, 5e-324, 2.0**-70, 3.0**40, math.inf,
    -math.inf, math.nan, 0.0, 2.0**63, 1.0000000000000002, 4503599627370497.5, 14.0,
]  # fmt: skip


@pytest.mark.parametrize("type_name", INTEGERS)
@pytest.mark.parametrize("name", REALS)
def test_any_real_scalar_is_exact(name, type_name, level):
    dtype = dtype_of(type_name)
    a, d = values(dtype, 200, 0), values(dtype, 200, 1)
    for scalar in SCALARS:
        if not math.isfinite(scalar) and name in ("real_fma", "real_multiply"):
            want = [rounded(float(x) * scalar, dtype) for x in a.tolist()]
        elif name in ("real_divide", "real_rdivide"):
            want = []
            for x in a.tolist():
                top, bottom = (x, scalar) if name == "real_divide" else (scalar, x)
                if math.isnan(scalar):
                    exact = math.nan
                elif math.isinf(scalar):
                    exact = Fraction(0) if name == "real_divide" else scalar * (-1 if x < 0 else 1)
                elif bottom == 0:
                    exact = math.nan if top == 0 else math.copysign(math.inf, top)
                else:
                    exact = Fraction(top) / Fraction(bottom)
                want.append(rounded(exact, dtype))
        elif not math.isfinite(scalar):
            want = [rounded(scalar, dtype)] * a.size
        else:
            s = Fraction(scalar)
            f = {
                "real_add": lambda x, z, s=s: x + s,
                "real_rsub": lambda x, z, s=s: s - x,
                "real_multiply": lambda x, z, s=s: x * s,
                "real_fma": lambda x, z, s=s: s * x + z,
            }[name]
            want = [rounded(f(x, z), dtype) for x, z in zip(a.tolist(), d.tolist(), strict=True)]
        out = np.empty_like(a)
        views = tensor(a), tensor(d), tensor(out)
        status = library.engine_run_real(REALS.index(name), c.c_double(scalar), *map(c.byref, views))
        assert status == 0
        bad = np.flatnonzero(out != np.array(want, dtype))
        assert not bad.size, (scalar, a[bad[:3]], d[bad[:3]], out[bad[:3]], np.array(want, dtype)[bad[:3]])


def test_half_way_products_that_a_double_cannot_tell(level):
    """x * s lies a hair off a half: rounding the rounded product would go wrong."""
    x = np.arange(1, 2**16, dtype=np.uint16)
    for scalar in (0.5 + 2**-53, 0.5 - 2**-54, 1.5 + 2**-52, 0.1, 0.7):
        out = np.empty_like(x)
        assert library.engine_run_real(2, c.c_double(scalar), c.byref(tensor(x)), None, c.byref(tensor(out))) == 0
        want = np.array([rounded(Fraction(scalar) * v, x.dtype) for v in x.tolist()], x.dtype)
        np.testing.assert_array_equal(out, want)


def test_comparisons_with_scalars_are_exact():
    symbols = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
    scalars = [
        2.5,
        256,
        -1,
        2.4,
        300,
        3,
        0,
        255,
        254.5,
        -0.5,
        math.nan,
        math.inf,
        -math.inf,
        2**53 + 1,
        2.0**53,
        2**63,
        -(2**63),
        2**64 - 1,
        1 + 0j,
        1j,
    ]
    for type_name, (name, symbol), scalar in itertools.product([*INTEGERS, "bool"], symbols.items(), scalars):
        if isinstance(scalar, complex) and name not in ("equal", "not_equal"):
            continue
        info = (0, 1) if type_name == "bool" else (np.iinfo(type_name).min, np.iinfo(type_name).max)
        answer = ExactComparison()
        library.engine_exact_comparison(OPS[name], TYPES[type_name], c.byref(Scalar.of(scalar)), c.byref(answer))
        for v in (x for x in (info[0], info[1], 0, 1, 2, 3, 254, 255, 2**53, 2**53 + 1, -1) if info[0] <= x <= info[1]):
            want = eval(f"v {symbol} scalar")
            if answer.always >= 0:
                got = bool(answer.always)
            else:
                value = answer.value.i if answer.value.kind == 1 else answer.value.u
                assert info[0] <= value <= info[1]
                got = eval(f"v {symbols[list(OPS)[answer.op]]} value")
            assert got == want, (type_name, v, symbol, scalar)
