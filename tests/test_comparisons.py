# SPDX-License-Identifier: Apache-2.0
"""Elements of different dtypes compare by exact value, alike in operators, isin, searchsorted and array_equal.

Python's integers and floats compare exactly, and are the oracle.
"""

import bisect
import itertools
import math
import operator

import pytest

import dltensor as dl
from dltensor._core.types import COMPUTED

REALS = [name for name in COMPUTED if not name.startswith("complex")]
COMPLEX = [name for name in COMPUTED if name.startswith("complex")]
PAIRS = list(itertools.product(REALS, REALS))
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
# Where integers and floats stop holding what the others do.
POWERS = [0, 1, 7, 8, 11, 12, 15, 16, 24, 31, 32, 53, 63, 64]


def elements(name):
    """A tensor of a dtype with what lies beside the ends of the others, and its elements as Python has them."""
    near = [sign * (2**power + step) for power in POWERS for step in (-1, 0, 1) for sign in (1, -1)]
    if name == "bool":
        t = dl.asarray([False, True])
    elif "int" in name:
        limits = dl.iinfo(name)
        t = dl.asarray(sorted({n for n in near if limits.min <= n <= limits.max}), dtype=name)
    else:
        floats = [float(n) for n in near] + [0.5, -1.5, -0.0, 1e-5, 65504.0, 3e38, math.inf, -math.inf, math.nan]
        t = dl.asarray(floats, dtype="float64").astype(name)
    return t, t.tolist()


def order(value):
    """The key by which sort() has values: NaN is last."""
    return (value != value, 0 if value != value else value)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_operators_compare_every_pair_of_dtypes_by_value(pair):
    (a, x), (b, y) = (elements(name) for name in pair)
    for compare in COMPARISONS:
        assert compare(a.reshape((-1, 1)), b).tolist() == [[compare(v, w) for w in y] for v in x]
        for i in (0, len(y) - 1):
            assert compare(a, b[i]).tolist() == [compare(v, y[i]) for v in x]
            assert compare(b[i], a).tolist() == [compare(y[i], v) for v in x]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_isin_finds_what_equals_an_element(pair):
    (a, x), (b, y) = (elements(name) for name in pair)
    want = [any(v == w for w in y) for v in x]
    assert dl.isin(a, b).tolist() == want
    assert dl.isin(a, b, invert=True).tolist() == [not found for found in want]
    assert [dl.isin(a, b[i]).tolist() for i in range(len(y))] == [[v == w for v in x] for w in y]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_searchsorted_finds_the_place_in_the_order_of_values(pair):
    (a, x), (b, y) = (elements(name) for name in pair)
    a, x = dl.sort(a), sorted(x, key=order)
    for side, search in (("left", bisect.bisect_left), ("right", bisect.bisect_right)):
        want = [search([order(v) for v in x], order(w)) for w in y]
        assert dl.searchsorted(a, b, side=side).tolist() == want


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_array_equal_compares_by_value(pair):
    (a, x), (b, y) = (elements(name) for name in pair)
    for i, j in itertools.product((0, len(x) // 2, len(x) - 2), (0, len(y) // 2, len(y) - 2)):
        assert dl.array_equal(a[i], b[j]) == (x[i] == y[j])


@pytest.mark.parametrize("pair", list(itertools.product(COMPLEX, REALS)), ids="-".join)
def test_complex_numbers_equal_others_by_value(pair):
    b, y = elements(pair[1])
    halves = [float(v) for v in y if abs(v) < 2**100] + [0.0]
    a = dl.asarray([complex(v, i % 2) for v in halves for i in (0, 1)], dtype="complex128").astype(pair[0])
    x = a.tolist()
    assert (a.reshape((-1, 1)) == b).tolist() == [[v == w for w in y] for v in x]
    assert (b != a.reshape((-1, 1))).tolist() == [[v != w for w in y] for v in x]
    assert dl.isin(a, b).tolist() == [any(v == w for w in y) for v in x]
    assert dl.isin(b, a).tolist() == [any(v == w for v in x) for w in y]
    with pytest.raises(TypeError, match="less: not defined for complex"):
        operator.lt(a[:1], b[:1])


NUMBERS = [n for power in (8, 11, 24, 53, 63, 64, 70, 128, 1024) for n in (2**power - 1, 2**power, 2**power + 1)]


@pytest.mark.parametrize("name", [*REALS, *COMPLEX])
def test_integers_beside_a_tensor_compare_by_value(name):
    if name in COMPLEX:
        a = dl.asarray([2.0**24, 2.0**53, math.inf, 1 + 1j], dtype=name)
    else:
        a, _ = elements(name)
    x = a.tolist()
    for number, compare in itertools.product(
        [*NUMBERS, *[-n for n in NUMBERS]], COMPARISONS[: 2 if name in COMPLEX else 6]
    ):
        assert compare(a, number).tolist() == [compare(v, number) for v in x], (number, compare)
        assert compare(number, a).tolist() == [compare(number, v) for v in x], (number, compare)
    for number in [*NUMBERS, *[-n for n in NUMBERS]]:
        assert dl.isin(a, number).tolist() == [v == number for v in x], number
        if name in REALS:
            ascending = sorted(x, key=order)
            keys = [order(v) for v in ascending]
            places = dl.sort(a)
            assert dl.searchsorted(places, number).item() == bisect.bisect_left(keys, order(number)), number
            assert dl.searchsorted(places, number, side="right").item() == bisect.bisect_right(keys, order(number)), (
                number
            )


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("number", [1e39, -1e39, 1e300])
def test_floats_beyond_the_dtype_are_below_infinity(name, number):
    a = dl.asarray([math.inf, -math.inf, math.nan, 0.0], dtype=name)
    x = a.tolist()
    for compare in COMPARISONS:
        assert compare(a, number).tolist() == [compare(v, number) for v in x]
        assert compare(a[::2], number).tolist() == [compare(v, number) for v in x[::2]]
    assert dl.isin(a, number).tolist() == [False] * 4
    assert dl.array_equal(a[:1], number) is False
    assert not dl.isclose(a[0], number).item()


def test_a_float_in_range_counts_as_the_nearest_element():
    a = dl.asarray([0.1, 0.2], dtype="float32")
    assert (a == 0.1).tolist() == [True, False]
    assert dl.isin(a, 0.2).tolist() == [False, True]


def test_comparisons_by_value_write_to_any_output_and_read_any_layout():
    a = dl.arange(2**53, 2**53 + 8)
    b = dl.asarray([float(2**53)] * 8, dtype="float64")
    want = [n > 2**53 for n in range(2**53, 2**53 + 8)]
    for dtype in ("bool", "uint8", "int32", "float32"):
        out = dl.empty(8, dtype=dtype)
        assert dl.greater(a, b, out).tolist() == want
    assert (a[::-1] > b[::2].reshape((4, 1))).tolist() == [want[::-1]] * 4
    overlapping = dl.copy(a)
    dl.less(b, overlapping, overlapping)
    assert overlapping.tolist() == want
    assert (dl.zeros((0, 3), dtype="int64") == dl.zeros(3, dtype="uint64")).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 31, 32, 33, 64, 67, 130])
def test_every_length_and_place_of_a_single_element(dtype, n):
    """Beside the registers of every level: whole ones, their rests, and one operand with steps of 0."""
    if dtype.startswith("f"):
        pool = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
    else:
        pool = [0, 1, dl.iinfo(dtype).min, dl.iinfo(dtype).max, dl.iinfo(dtype).max - 1]
    x, y = ([pool[(k * step + k // 5) % len(pool)] for k in range(n + 1)] for step in (3, 4))
    a, b = dl.asarray(x, dtype=dtype)[1:], dl.asarray(y, dtype=dtype)[1:]  # at any address
    x, y = x[1:], y[1:]
    for compare in COMPARISONS:
        assert compare(a, b).view("uint8").tolist() == [int(compare(v, w)) for v, w in zip(x, y, strict=True)]
        for one in range(min(n, len(pool))):
            single = dl.broadcast_to(b[one], (n,))
            assert compare(a, single).view("uint8").tolist() == [int(compare(v, y[one])) for v in x]
            assert compare(single, a).view("uint8").tolist() == [int(compare(y[one], v)) for v in x]
    if dtype.startswith("f"):
        for name in ("isnan", "isinf", "isfinite"):
            assert getattr(dl, name)(a).view("uint8").tolist() == [int(getattr(math, name)(v)) for v in x]


def test_lists_beside_a_tensor_are_compared_element_by_element():
    t = dl.asarray([[1, 2], [3, 4]])
    assert (t == [[1, 0], [3, 0]]).tolist() == [[True, False], [True, False]]
    assert (t != (1, 2)).tolist() == [[False, False], [True, True]]
    assert operator.lt([2, 2], t).tolist() == [[False, False], [True, True]]
    assert (t * [1, 10]).tolist() == [[1, 20], [3, 40]]
    assert ([1, 10] * t).tolist() == [[1, 20], [3, 40]]
    assert dl.add(t, [[1], [2]]).tolist() == [[2, 3], [5, 6]]
    with pytest.raises(ValueError, match="do not broadcast"):
        operator.eq(t, [1, 2, 3])
    assert operator.eq(t, None) is False
    assert (t == "ab") is False
