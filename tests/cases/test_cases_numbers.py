# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases 43 to 91 and 120: arithmetic, broadcasting, comparison, products."""

from fractions import Fraction

import numpy as np
import pytest
from case_tools import same, values

import dltensor as dl

INF, NAN = float("inf"), float("nan")
PAIRS = [
    ((1, 5), (4, 5)),
    ((4, 1), (4, 5)),
    ((4, 1), (1, 5)),
    ((2, 1, 4), (2, 3, 4)),
    ((2, 3, 1), (2, 3, 4)),
    ((1, 3, 4), (2, 3, 4)),
]

# -- arithmetic ------------------------------------------------------------------------------------------------------

ENDS = [0, 1, 5, 250, 255]


def test_case_43_adding_numbers(t):
    for number, want in (
        (10, [10, 11, 15, 255, 255]),
        (-10, [0, 0, 0, 240, 245]),
        (0.5, [0, 2, 6, 250, 255]),
        (300, [255] * 5),
    ):
        made = dl.add(t("uint8", ENDS), number, saturate=True)
        assert (values(made), made.dtype) == (want, dl.uint8)


def test_case_44_subtracting_numbers(t):
    assert values(dl.subtract(t("uint8", ENDS), 10, saturate=True)) == [0, 0, 0, 240, 245]
    assert values(dl.subtract(10, t("uint8", ENDS), saturate=True)) == [10, 9, 5, 0, 0]


def test_case_45_multiplying_by_numbers(t):
    assert values(dl.multiply(t("uint8", ENDS), 1.5, saturate=True)) == [0, 2, 8, 255, 255]
    assert values(dl.multiply(t("uint8", ENDS), -1, saturate=True)) == [0] * 5


def test_case_46_halving(t):
    made = dl.divide(t("uint8", [1, 3, 5, 7, 9, 255]), 2, saturate=True)
    assert (values(made), made.dtype) == ([0, 2, 2, 4, 4, 128], dl.uint8)


def test_case_47_dividing_by_zero(t):
    assert values(dl.divide(t("uint8", [0, 1, 255]), 0, saturate=True)) == [0, 255, 255]
    assert values(dl.divide(t("int8", [-128, -1, 0, 1, 127]), 0, saturate=True)) == [-128, -128, 0, 127, 127]


def test_case_48_dividing_a_number(t):
    assert values(dl.rdiv(t("uint8", [0, 1, 3, 4, 20, 21, 255]), 10, saturate=True)) == [255, 10, 3, 2, 0, 0, 0]


def test_case_49_division_is_exact(t):
    assert values(dl.divide(t("uint8", [91]), 14, saturate=True)) == [6]


def test_case_50_int8_sums(t):
    made = dl.add(t("int8", [127, -128, 100, -100, 1]), t("int8", [1, -1, 100, -100, 2]), saturate=True)
    assert values(made) == [127, -128, 127, -128, 3]


def test_case_51_uint8_differences(t):
    assert values(dl.subtract(t("uint8", [1, 5, 255]), t("uint8", [2, 5, 0]), saturate=True)) == [0, 0, 255]


def test_case_52_int8_products(t):
    made = dl.multiply(t("int8", [-128, 16, -16, 11]), t("int8", [-1, 8, 8, 11]), saturate=True)
    assert values(made) == [127, 127, -128, 121]


def test_case_53_int8_quotients(t):
    made = dl.divide(t("int8", [7, -7, 5, -128, 1, -1, 0]), t("int8", [2, 2, 2, -1, 0, 0, 0]), saturate=True)
    assert values(made) == [4, -4, 2, 127, 127, -128, 0]


def test_case_54_products_of_wider_integers(t):
    made = dl.multiply(t("uint16", [300, 65535, 200]), t("uint16", [300, 1, 200]), saturate=True)
    assert values(made) == [65535, 65535, 40000]
    assert values(dl.multiply(t("uint32", [65536]), t("uint32", [65536]), saturate=True)) == [4294967295]


def test_case_55_int32_and_a_number(t):
    made = dl.add(t("int32", [2147483647, -2147483648, 7]), 1, saturate=True)
    assert values(made) == [2147483647, -2147483647, 8]


def test_case_56_int64_is_exact(t):
    assert values(dl.add(t("int64", [2**53 + 1]), 0, saturate=True)) == [2**53 + 1]
    assert values(dl.add(t("int64", [2**62]), t("int64", [2**62]), saturate=True)) == [2**63 - 1]
    assert values(dl.add(t("int64", [2**53 + 1]), t("int64", [2]), saturate=True)) == [2**53 + 3]


def test_case_57_float_division_rounds_once(t):
    same(t("float32", [1, 3, 7, 9]) / 10, (np.array([1, 3, 7, 9], np.float32) / np.float32(10)).tolist())


def test_case_58_floats_divided_by_zero(t):
    got = np.asarray(values(t("float32", [1, -1, 0, INF, NAN]) / 0.0))
    np.testing.assert_array_equal(got, [INF, -INF, NAN, INF, NAN])


def test_case_59_negative_zero_stays(t):
    same(t("float32", [-0.0]) * 1.0, [-0.0])


def test_case_60_reflected_names(t):
    assert values(dl.rsub(t("uint8", [2]), 10, saturate=True)) == [8]
    assert values(dl.rdiv(t("uint8", [2]), 10, saturate=True)) == [5]


def test_case_61_out_is_returned(t):
    x, out = t("int32", [1, 2]), t("int32", [0, 0])
    assert dl.add(x, 1, out=out) is out
    assert dl.add(x, 1, out=x) is x
    assert values(x) == values(out) == [2, 3]


def test_case_62_saturation_does_not_mix_dtypes(t):
    for a, b in (("uint8", "uint16"), ("uint8", "float32"), ("int8", "uint8")):
        with pytest.raises(TypeError, match=f"{a} and {b}"):
            dl.add(t(a, [1]), t(b, [1]), saturate=True)
    with pytest.raises(TypeError, match="uint8, out is uint16"):
        dl.add(t("uint8", [1]), t("uint8", [1]), out=t("uint16", [1]), saturate=True)


def test_case_63_float16(t):
    assert values(t("float16", [1.5]) + t("float16", [0.25])) == [1.75]


def test_case_64_fma(t):
    ramp = t("float32", [0, 1, 2, 3, 4])
    assert values(dl.fma(2, ramp, ramp)) == [0, 3, 6, 9, 12]


def test_case_65_fma_of_signed_to_unsigned(t):
    made = dl.fma(2, t("int8", [-128, -3, 0, 5, 127]), t("uint8", [10] * 5), saturate=True)
    assert (values(made), made.dtype) == ([0, 4, 10, 20, 255], dl.uint8)


def test_case_66_fma_with_a_fraction(t):
    made = dl.fma(0.5, t("int8", [1, 3, 5, -1]), t("uint8", [0] * 4), saturate=True)
    assert (values(made), made.dtype) == ([0, 2, 2, 0], dl.uint8)


def test_case_67_fma_rounds_once(t):
    made = dl.fma(1 + 2**-12, t("float32", [1 + 2**-12]), t("float32", [-(1 + 2**-11)]))
    assert values(made) == [2**-24]


def test_case_68_fma_of_unsigned_to_signed(t):
    with pytest.raises(TypeError, match="uint8 and int8"):
        dl.fma(2, t("uint8", [1]), t("int8", [1]), saturate=True)


# -- broadcasting ----------------------------------------------------------------------------------------------------


def test_case_69_six_pairs(t):
    random = np.random.default_rng(1)
    for pair in PAIRS:
        a, b = (random.integers(-50, 50, shape).astype(np.int32) for shape in pair)
        for x, y in ((a, b), (b, a)):
            assert values(t("int32", x.tolist()) + t("int32", y.tolist())) == (x + y).tolist()


def test_case_70_a_row_goes_to_every_row(t):
    assert values(t("int32", [10, 20, 30]) + t("int32", [[0] * 3] * 3)) == [[10, 20, 30]] * 3
    strides = dl.layout.broadcast_strides((3,), (1,), (3, 3), align="leading")
    assert strides == (1, 0)


def test_case_71_trailing_and_leading(t):
    assert (t("int32", [1] * 4) + t("int32", [[1] * 4] * 3)).shape == (3, 4)
    with pytest.raises(ValueError, match=r"\(3,\) and \(3, 4\) do not broadcast"):
        t("int32", [1] * 3) + t("int32", [[1] * 4] * 3)
    assert dl.layout.broadcast_shapes((3,), (3, 4), align="leading") == (3, 4)
    with pytest.raises(ValueError):
        dl.layout.broadcast_shapes((4,), (3, 4), align="leading")


def test_case_72_no_elements_and_no_dimensions(device):
    for a, b, want in (((0,), (1,), (0,)), ((0, 3), (1, 3), (0, 3)), ((), (4, 5), (4, 5))):
        assert (dl.zeros(a, device=device) + dl.zeros(b, device=device)).shape == want


def test_case_73_shapes_that_do_not_meet(device):
    with pytest.raises(ValueError, match=r"\(9, 10\) and \(10, 10\)"):
        dl.add(
            dl.zeros((9, 10), device=device), dl.zeros((10, 10), device=device), out=dl.zeros((10, 10), device=device)
        )


def test_case_74_out_is_too_small(device):
    out = dl.full((1, 5), 7.0, device=device)
    with pytest.raises(ValueError, match=r"\(4, 5\), out has shape \(1, 5\)"):
        dl.add(dl.zeros((4, 5), device=device), 1, out=out)
    assert values(out) == [[7.0] * 5]


def test_case_75_broadcast_strides():
    broadcast = dl.layout.broadcast_strides
    assert broadcast((3, 1), (1, 1), (3, 4)) == (1, 0)
    assert broadcast((3,), (1,), (3, 4), align="leading") == (1, 0)
    assert broadcast((3, 4), (4, 1), (3, 4)) == (4, 1)


def test_case_76_broadcast_shapes():
    assert dl.layout.broadcast_shapes((4, 1), (1, 5)) == (4, 5)
    assert dl.layout.broadcast_shapes((2, 3), (2,), align="leading") == (2, 3)
    with pytest.raises(ValueError):
        dl.layout.broadcast_shapes((2,), (3,))


# -- comparisons -----------------------------------------------------------------------------------------------------


def truths(made):
    assert made.dtype == dl.bool
    return "".join(str(int(truth)) for truth in values(made))


def test_case_77_integers(t):
    x = t("uint8", [0, 1, 2, 3, 255])
    got = [truths(made) for made in (x < 3, x <= 3, x > 3, x >= 3, x == 3, x != 3)]
    assert got == ["11100", "11110", "00001", "00011", "00010", "11101"]


def test_case_78_fractions(t):
    x = t("uint8", [0, 1, 2, 3, 255])
    assert [truths(made) for made in (x < 2.5, x >= 2.5, x == 2.4, x <= 2.4)] == ["11100", "00011", "00000", "11100"]


def test_case_79_numbers_beyond_the_dtype(t):
    x = t("uint8", [0, 1, 2, 3, 255])
    assert [truths(made) for made in (x < 256, x > -1, x == 300, x == -1)] == ["11111", "11111", "00000", "00000"]


def test_case_80_floats(t):
    assert truths(t("float32", [0.1]) == 0.1) == "1"
    assert truths(t("float32", [NAN, 1]) < 2) == "01"
    nan = t("float32", [NAN])
    assert truths(nan == nan) == "0"


def test_case_81_integers_beyond_doubles(t):
    x = t("int64", [2**53 + 1])
    assert (truths(x == 2**53 + 1), truths(x == 2**53)) == ("1", "0")


def test_case_82_two_tensors(t):
    a, b = t("int32", [1, 2, 3]), t("int32", [2, 2, 2])
    assert [truths(made) for made in (a < b, a <= b, a > b, a >= b, a == b)] == ["100", "110", "001", "011", "010"]


def test_case_83_comparisons_broadcast(t):
    made = t("int32", [[0], [1], [2], [3]]) < t("int32", [[0, 1, 2, 3, 4]])
    assert (made.shape, made.dtype) == ((4, 5), dl.bool)


def test_case_84_none_is_another_thing(t):
    assert (t("int32", [1]) == None) is False  # noqa: E711  what is tested


# -- gemm ------------------------------------------------------------------------------------------------------------

A, B = [[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10], [11, 12]]


def test_case_85_a_product(t):
    assert values(dl.gemm(t("float32", A), t("float32", B))) == [[58, 64], [139, 154]]


def test_case_86_alpha_and_beta(t):
    c = t("float32", [[1, 1], [1, 1]])
    assert dl.gemm(t("float32", A), t("float32", B), c, alpha=0.5, beta=2) is c
    assert values(c) == [[31, 34], [71.5, 79]]


def test_case_87_without_beta_c_is_not_read(t):
    c = t("float32", [[NAN, NAN], [NAN, NAN]])
    assert values(dl.gemm(t("float32", A), t("float32", B), c, beta=0)) == [[58, 64], [139, 154]]


def test_case_88_double_precision(t):
    assert values(dl.gemm(t("float64", A), t("float64", B), alpha=1e-300))[0][0] == 58e-300
    assert values(dl.gemm(t("float64", [[2**53 - 1]]), t("float64", [[1]]))) == [[2.0**53 - 1]]


def test_case_89_shapes_must_chain(device):
    a, b = dl.ones((100, 21), device=device), dl.ones((20, 300), device=device)
    with pytest.raises(ValueError, match=r"a.shape\[1\] must match b.shape\[0\]"):
        dl.gemm(a, b)
    with pytest.raises(ValueError, match="shape of c must match"):
        dl.gemm(dl.ones((200, 20), device=device), b, dl.ones((100, 300), device=device))


def test_case_90_dtypes_and_dimensions(t):
    assert values(dl.gemm(t("int32", A), t("int32", B))) == [[58, 64], [139, 154]]
    with pytest.raises(TypeError, match="a is float32, b is float64"):
        dl.gemm(t("float32", A), t("float64", B))
    with pytest.raises(ValueError, match="must have 2 dimensions"):
        dl.gemm(t("float32", [1, 2]), t("float32", B))
    assert values(dl.gemm(t("float32", B).T, t("float32", A).T)) == [[58, 139], [64, 154]]


def test_case_91_nothing_to_add_up(device):
    assert values(dl.zeros((2, 0), device=device) @ dl.zeros((0, 3), device=device)) == [[0.0] * 3] * 2


# -- one oracle for every device --------------------------------------------------------------------------------------


def test_case_120_both_devices_give_the_same_bits(device):
    """Saturating and plain arithmetic, against exact rational numbers on whichever device is asked for."""
    random = np.random.default_rng(4)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        info = np.iinfo(name)
        a, b = (random.integers(info.min, info.max, 200, endpoint=True).astype(name) for _ in range(2))
        x, y = dl.asarray(a).to(device), dl.asarray(b).to(device)
        for op, exact in (
            ("add", Fraction.__add__),
            ("subtract", Fraction.__sub__),
            ("multiply", Fraction.__mul__),
            ("divide", Fraction.__truediv__),
        ):
            want = []
            for p, q in zip(a.tolist(), b.tolist(), strict=True):
                limit = (p > 0) * info.max + (p < 0) * info.min
                want.append(
                    limit
                    if op == "divide" and q == 0
                    else min(max(round(exact(Fraction(p), Fraction(q))), info.min), info.max)
                )
            assert values(getattr(dl, op)(x, y, saturate=True)) == [int(number) for number in want], (name, op)
