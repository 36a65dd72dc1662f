# SPDX-License-Identifier: Apache-2.0
"""Powers of complex numbers against exact rational arithmetic, and what infinities, NaN and zeros give."""

import math
from fractions import Fraction

import numpy as np
import pytest

import dltensor as dl

NAN, INF = math.nan, math.inf
EPS = {"complex64": 2.0**-23, "complex128": 2.0**-52}
BASES = [
    0,
    1,
    -2,
    1j,
    1e-200,
    3 + 4j,
    complex(INF, 0),
    complex(-INF, 0),
    complex(0, INF),
    complex(NAN, 0),
    complex(INF, NAN),
]


def exact_power(z, n):
    """Real and imaginary part of a whole power as fractions."""
    re, im = Fraction(z.real), Fraction(z.imag)
    if n < 0:
        size = re * re + im * im
        re, im = re / size, -im / size
    real, imaginary = Fraction(1), Fraction(0)
    for _ in range(abs(n)):
        real, imaginary = real * re - imaginary * im, real * im + imaginary * re
    return real, imaginary


@pytest.mark.parametrize("name", EPS)
@pytest.mark.parametrize("n", [-7, -3, -2, -1, 2, 3, 4, 5, 10, 33])
def test_whole_powers_are_within_two_eps(name, n):
    rng = np.random.default_rng(n % 100)
    z = (rng.uniform(0.5, 2, 200) * np.exp(1j * rng.uniform(-4, 4, 200))).astype(name)
    made = (dl.asarray(z) ** n).tolist()
    for base, power in zip(z.tolist(), made, strict=True):
        real, imaginary = exact_power(base, n)
        error = (Fraction(power.real) - real) ** 2 + (Fraction(power.imag) - imaginary) ** 2
        assert error <= (2 * Fraction(EPS[name])) ** 2 * (real**2 + imaginary**2), (base, power)


@pytest.mark.parametrize("name", EPS)
def test_the_power_to_zero_is_one(name):
    z = dl.asarray(BASES, dtype=name)
    assert (z**0).tolist() == [1] * len(BASES)
    assert dl.pow(z, dl.zeros(len(BASES), dtype=name)).tolist() == [1] * len(BASES)


@pytest.mark.parametrize("name", EPS)
def test_powers_to_a_half_and_minus_one_are_root_and_reciprocal(name):
    z = dl.asarray(BASES, dtype=name)
    assert (z**0.5).tobytes() == dl.sqrt(z).tobytes()
    assert (z**-1).tobytes() == dl.reciprocal(z).tobytes()


@pytest.mark.parametrize("name", EPS)
def test_powers_of_zero_are_zero_infinite_or_undefined(name):
    for zero in (0.0, complex(-0.0, 0.0), complex(0.0, -0.0)):
        z = dl.asarray(zero, dtype=name)
        for exponent in (1 + 1j, 0.5 - 2j, 1e-3j + 1e-3):
            assert dl.pow(z, exponent).item() == 0
        for exponent in (-1 + 1j, -0.5 - 2j):
            power = dl.pow(z, exponent).item()
            assert power.real == INF
            assert math.isnan(power.imag)
        for exponent in (1j, -1j, complex(NAN, 0), complex(NAN, 1), complex(1, NAN), complex(-1, NAN)):
            power = dl.pow(z, exponent).item()
            assert math.isnan(power.imag), exponent
            assert math.isnan(power.real) or exponent.real < 0, exponent


def test_powers_of_infinities_have_no_nan():
    z = dl.asarray([complex(INF, 0), complex(-INF, 0), complex(0, INF)], dtype="complex128")
    assert (z**3).tolist() == [complex(INF, 0), complex(-INF, 0), complex(0, -INF)]
    assert (z**-3).tolist() == [0, 0, 0]
    assert (z[:1] ** 2.5).tolist() == [complex(INF, 0)]


@pytest.mark.parametrize("exponent", [0.3, 2.7, -1.9])
def test_other_real_powers_of_complex128_lose_few_digits(exponent):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(5)
    z = (rng.normal(size=200) + 1j * rng.normal(size=200)) * 10.0 ** rng.integers(-60, 60, 200)
    with mpmath.workprec(120):
        for base, power in zip(z.tolist(), (dl.asarray(z) ** exponent).tolist(), strict=True):
            want = mpmath.mpc(base) ** exponent
            assert abs(mpmath.mpc(power) - want) <= 16 * EPS["complex128"] * abs(want)


def test_a_reciprocal_of_nan_has_no_infinity():
    made = dl.reciprocal(dl.asarray([complex(NAN, 0), complex(0, NAN)], dtype="complex128")).tolist()
    assert all(math.isnan(z.real) and math.isnan(z.imag) for z in made)
