# SPDX-License-Identifier: Apache-2.0
"""Scalar operands: Python's own, NumPy's scalars, arrays of 0 dimensions, integers of any size."""

import ctypes
import enum
from fractions import Fraction

import numpy as np
import pytest

import dltensor as dl


class Level(enum.IntEnum):
    FIVE = 5


class Position:
    """A number by ``__index__`` alone."""

    def __index__(self):
        return 5


# The number first, and what stands for it.
FIVES = [(5, Level.FIVE), (5, Position()), (5.0, np.float64(5)), (5 + 0j, np.complex128(5))]


@pytest.mark.parametrize(("number", "stand_in"), FIVES, ids=lambda x: type(x).__name__)
def test_a_subclass_of_a_number_is_that_number(number, stand_in):
    x = dl.asarray([1, 5, 250], dtype="uint8")
    names = ["add", "subtract", "equal"] + ([] if isinstance(number, complex) else ["less", "greater_equal", "maximum"])
    for name in names:
        function = getattr(dl, name)
        for made, want in ((function(x, stand_in), function(x, number)), (function(stand_in, x), function(number, x))):
            assert made.dtype == want.dtype, name
            assert made.tolist() == want.tolist(), name
    if type(stand_in) is not Position:
        assert (x - stand_in).tolist() == (x - number).tolist()
        assert (stand_in == x).tolist() == (number == x).tolist()


@pytest.mark.parametrize("stand_in", [Level.FIVE, Position(), np.float64(5), np.float64(5.5)])
def test_saturation_takes_subclasses_of_numbers(stand_in):
    x = dl.asarray([1, 5, 250], dtype="uint8")
    number = float(stand_in) if isinstance(stand_in, float) else 5
    for name in ("add", "subtract", "multiply", "divide"):
        assert (
            getattr(dl, name)(x, stand_in, saturate=True).tolist()
            == getattr(dl, name)(x, number, saturate=True).tolist()
        ), name
    assert dl.fma(stand_in, x, x, saturate=True).tolist() == dl.fma(number, x, x, saturate=True).tolist()
    assert dl.fill(stand_in, x, saturate=True).tolist() == dl.fill(number, dl.copy(x), saturate=True).tolist()


def zero_dimensional(number):
    yield dl.asarray(number)
    yield np.array(number)
    yield np.asarray(number)[()]
    torch = pytest.importorskip("torch", reason="torch is not installed")
    yield torch.tensor(number)


@pytest.mark.parametrize("number", [True, 3, 2.5, 1.5 + 1j])
def test_an_array_of_0_dimensions_is_a_number(number):
    for zero in zero_dimensional(number):
        want = dl.asarray(zero).dtype
        for made in (dl.asarray([zero, zero]), dl.full(2, zero), dl.fill(zero, dl.empty(2, dtype=want))):
            assert made.dtype == want, type(zero)
            assert made.tolist() == [number, number], type(zero)
        if type(number) in (int, float):
            assert dl.arange(zero).tolist() == dl.arange(number).tolist()


def test_what_has_dimensions_is_no_number():
    x = dl.ones(3)
    for call in (lambda: dl.full(2, x), lambda: x.fill(x)):
        with pytest.raises(
            TypeError, match=r"expected .*number.*, got \w+ of shape \(3,\); stack\(\) and concat\(\) join"
        ):
            call()
    for call in (lambda: dl.full(2, None), lambda: dl.full(2, "7"), lambda: dl.asarray({1}, dtype="int8")):
        with pytest.raises(TypeError, match=r"expected .*number"):
            call()


def test_a_scalar_of_numpy_that_is_no_number_is_refused():
    with pytest.raises(BufferError, match=r"NumPy dtype '<M8\[D\]' has no DLPack equivalent"):
        dl.asarray(np.datetime64("2026-11-22"))
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    assert dl.asarray(ml_dtypes.bfloat16(1.5)).dtype == dl.bfloat16


@pytest.mark.parametrize("text", [np.str_("3"), np.bytes_(b"3"), "3"])
def test_text_is_no_number(text):
    for call in (lambda: dl.full(2, text), lambda: dl.asarray([text]), lambda: dl.ones(2).fill(text)):
        with pytest.raises(TypeError, match=r"expected .*number"):
            call()
    with pytest.raises((TypeError, BufferError)):
        dl.asarray(text, dtype="float32")


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_a_scalar_of_numpy_keeps_its_dtype(dtype):
    scalar = np.dtype(dtype).type(1)
    for made in (dl.asarray(scalar), dl.zeros_like(scalar), dl.full_like(scalar, 2), dl.stack([scalar, scalar])):
        assert made.dtype.name == dtype
    assert dl.asarray(scalar).tolist() == 1
    assert dl.asarray(scalar, dtype="complex64").dtype == dl.complex64
    assert dl.asarray(1.0).dtype == dl.float32


def typed(dtype, number):
    """A number of one dtype as every kind of object that has one."""
    yield np.dtype(dtype).type(number)
    yield np.asarray(number, dtype)
    yield dl.asarray(number, dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("bool", True), ("int8", -128), ("uint8", 255), ("int16", -3), ("uint32", 2**32 - 1), ("int64", -(2**63)),
        ("uint64", 2**64 - 1), ("float16", 0.5), ("float32", 2.0**100), ("float64", 1e300), ("complex64", 1 + 2j),
        ("complex128", 1e300 + 1e-300j),
    ],
)  # fmt: skip
def test_typed_numbers_in_a_sequence_keep_their_dtype_and_value(dtype, number):
    for one in typed(dtype, number):
        for made in (dl.asarray([one]), dl.asarray([(one, one)])[0], dl.full(1, one)):
            assert (made.dtype.name, made.tolist()[0]) == (dtype, number), type(one)


def test_scalars_and_arrays_without_numpy_dtypes_keep_theirs():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    assert dl.asarray([ml_dtypes.bfloat16(1.5), ml_dtypes.bfloat16(2)]).dtype == dl.bfloat16
    assert dl.asarray([dl.ones((), dtype="float8_e5m2")] * 2).dtype == dl.float8_e5m2
    assert dl.asarray([dl.ones((), dtype="int4"), 3]).tolist() == [1, 3]
    assert dl.asarray([ctypes.c_int16(7)]).dtype == dl.int16


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([np.int8(1), np.int16(2)], "int16"),
        ([np.int8(1), np.uint8(2)], "int16"),
        ([np.float32(1), np.int64(2**40)], "float32"),
        ([np.float16(1), np.float64(2)], "float64"),
        ([np.bool_(True), np.uint8(2)], "uint8"),
        ([np.float64(1), np.complex64(1j)], "complex128"),
        ([np.int8(1), 2], "int8"),
        ([np.uint64(2**64 - 1), 2], "uint64"),
        ([np.bool_(True), 2], "int64"),
        ([np.int8(1), 2.5], "float32"),
        ([np.float64(1), 2, True], "float64"),
        ([np.float32(1), 2j], "complex64"),
        ([np.float64(1), 2j], "complex128"),
        ([dl.asarray(1, dtype="float16"), np.float32(2)], "float32"),
        ([[np.float64(1)], [2]], "float64"),
        ([True, 2, 2.5], "float32"),
    ],
)
def test_typed_numbers_promote_by_their_dtypes_and_python_numbers_by_their_kind(numbers, dtype):
    assert dl.asarray(numbers).dtype.name == dtype
    assert dl.asarray(numbers[::-1]).dtype.name == dtype


def test_statistics_in_a_list_stay_what_they_are():
    a = dl.asarray([1e300, 3e300], dtype="float64")
    made = dl.asarray([dl.mean(a), dl.max(a)])
    assert (made.dtype, made.tolist()) == (dl.float64, [2e300, 3e300])


def test_numbers_without_a_common_dtype_are_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"asarray: int64 and uint64 have no dtype in common; pass dtype="):
        dl.asarray([np.int64(1), np.uint64(2)])
    assert dl.asarray([np.int64(1), np.uint64(2)], dtype="int64").tolist() == [1, 2]
    with pytest.raises(OverflowError, match="300 is outside int8"):
        dl.asarray([np.int8(1), 300])
    with pytest.raises(TypeError, match="float8_e5m2 and a number of complex64 have no dtype in common"):
        dl.asarray([dl.ones((), dtype="float8_e5m2"), 1j])


def test_a_range_is_a_sequence():
    assert dl.asarray(range(3)).tolist() == [0, 1, 2]
    assert dl.asarray([range(2), [5, 6]], dtype="float32").tolist() == [[0, 1], [5, 6]]
    x = dl.zeros(3)
    x[:] = range(3)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("digits", [30, 5000])
def test_messages_show_integers_of_any_size(digits):
    huge = 10**digits
    x = dl.zeros(2, dtype="int64")
    calls = [
        (lambda: dl.add(x, huge), OverflowError), (lambda: x.fill(huge), OverflowError),
        (lambda: dl.asarray([huge]), OverflowError), (lambda: dl.full(2, huge, dtype="uint8"), OverflowError),
        (lambda: x[huge], IndexError), (lambda: dl.zeros((huge,)), ValueError), (lambda: dl.zeros(huge), ValueError),
        (lambda: dl.arange(huge), (OverflowError, ValueError)),
    ]  # fmt: skip
    for call, error in calls:
        with pytest.raises(error, match=str(huge) if digits == 30 else "an integer of 16610 bits"):
            call()
    with pytest.raises(OverflowError, match="full: an integer of 16610 bits is outside float32"):
        dl.full(2, 10**5000, dtype="float32")


def nearest(value, low, high):
    """The integer nearest to a fraction, half to even, inside a range."""
    return min(max(round(Fraction(value)), low), high)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8"])
def test_saturating_sums_with_integers_beyond_the_dtype_are_exact(dtype):
    info = dl.iinfo(dtype)
    elements = [info.min, info.min + 1, info.min + 2, 0, 1, 2, info.max // 2, info.max - 1, info.max]
    x = dl.asarray(elements, dtype=dtype)
    for near in (2**53, 2**60, 2**63, 2**64, 3 * 2**63, 2**70, 2**128, 2**200):
        for number in (near - 1, near, near + 1, 1 - near, -near, -near - 1):
            for name, exact in (
                ("add", lambda a, s: a + s), ("subtract", lambda a, s: a - s), ("rsub", lambda a, s: s - a),
                ("multiply", lambda a, s: a * s),
            ):  # fmt: skip
                made = getattr(dl, name)(x, number, saturate=True)
                want = [nearest(exact(a, number), info.min, info.max) for a in elements]
                assert made.tolist() == want, (name, number)
    out = x.copy()
    assert dl.add(out, -(2**63) - 1, out=out, saturate=True) is out
    assert out.tolist() == [nearest(a - 2**63 - 1, info.min, info.max) for a in elements]


def test_a_quotient_that_no_double_decides_is_refused():
    x = dl.asarray([2, 3], dtype="int64")
    for call in (
        lambda: dl.rdiv(x, 2**63 + 2, saturate=True),
        lambda: dl.div(x, 2**64 - 1, saturate=True),
        lambda: dl.fma(2**63 + 1, x, x, saturate=True),
    ):
        with pytest.raises(OverflowError, match="beyond the dtype and no exact float64; give the float"):
            call()
    assert dl.rdiv(x, 2.0**63, saturate=True).tolist() == [2**62, 3074457345618258603]
    assert dl.div(dl.asarray([200], dtype="uint8"), 2**63 + 1, saturate=True).tolist() == [0]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool"])
def test_integers_have_no_negative_integer_as_exponent(dtype):
    x = dl.asarray([1, 1], dtype=dtype)
    calls = [lambda: x**-1, lambda: dl.pow(x, -2), lambda: dl.pow(x.numpy(), -1), lambda: dl.pow(3, -1)]
    for call in [*calls, lambda: dl.pow(x, -1, out=dl.ones(2))]:
        with pytest.raises(ValueError, match=r"pow: integers to the power of -\d are fractions; give the exponent"):
            call()
    before = y = dl.asarray([2, 5])
    with pytest.raises(ValueError, match="pow"):
        y **= -1
    assert (y is before, y.tolist()) == (True, [2, 5])
    assert (x**-1.0).tolist() == (x.astype("float32") ** -1).tolist() == [1, 1]
    assert (x**0).tolist() == [1, 1]
    # An exponent among many is not an error of the caller: the integer next to the fraction, toward 0.
    assert (dl.asarray([2, 1, -1, -1]) ** dl.asarray([-1, -5, -3, -2])).tolist() == [0, 1, -1, 1]


def test_an_integer_is_rounded_once_on_every_way_to_a_float():
    # Just above the middle between two neighbours of float32: by way of float64 it would be taken for the middle.
    n, zero = 2**54 + 2**30 + 1, dl.zeros((), dtype="float32")
    ways = [dl.full((), n, dtype="float32"), dl.asarray(n, dtype="float32"), dl.add(zero, n), dl.fill(n, zero)]
    assert [t.item() for t in ways] == [2**54 + 2**31] * 4
    assert dl.full((), n, dtype="complex64").item() == 2**54 + 2**31


def test_an_output_of_another_dtype_is_the_wrong_kind_and_one_of_another_shape_the_wrong_value():
    x, other, large = dl.ones((2, 2)), dl.zeros((2, 2), dtype="int32"), dl.zeros((2, 3))
    for call in (lambda out: dl.add(x, x, out), lambda out: dl.matmul(x, x, out), lambda out: dl.gemm(x, x, out)):
        with pytest.raises(TypeError, match="int32"):
            call(other)
        with pytest.raises(ValueError, match=r"\(2, 3\)"):
            call(large)


def test_an_argument_that_must_be_a_number_says_which():
    x = dl.ones((2, 2))
    cases = [
        (lambda: dl.gemm(x, x, alpha="x"), "gemm: expected a number.* got str"),
        (lambda: dl.gemm(x, x, x, beta=None), "gemm: expected a number.* got NoneType"),
        (lambda: dl.cast(x, "int8", scale="x"), "cast: scale: expected a number.* got str"),
        (lambda: dl.cast(x, "int8", offset=1j), "cast: offset must be a real number, got 1j"),
        (lambda: dl.fill("x", x, saturate=True), "fill: expected a number.* got str"),
        (lambda: dl.roll(x, 1.5), "roll: shift must be an integer, got 1.5"),
        (lambda: dl.wrap("x", (1,), "int8"), "wrap: ptr must be an integer, got str"),
        (lambda: dl.wrap(4096, (1,), "int8", strides="x"), "wrap: strides are an integer or a sequence of integers"),
        (lambda: dl.DType("x", 8), "DType: code must be an integer, got str"),
    ]
    for call, words in cases:
        with pytest.raises(TypeError, match=words):
            call()
    assert dl.gemm(x, x, alpha=dl.asarray(0.5)).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("bounds", [(0, 4550), (-1, 1), (None, 2**70), (-(2**70), None), (300, 2**65), (2**70, 2**70)])
def test_clip_takes_bounds_outside_the_dtype(dtype, bounds):
    info = dl.iinfo(dtype)
    x = dl.asarray([info.min, 0, 1, 100, info.max], dtype=dtype)
    low, high = bounds
    made = dl.clip(x, low, high)
    want = [v if low is None else max(v, low) for v in x.tolist()]
    want = [v if high is None else min(v, high) for v in want]
    assert made.dtype == x.dtype
    assert made.tolist() == [min(max(v, info.min), info.max) for v in want]
    assert dl.clip(x, low, high, out=x) is x
    assert x.tolist() == made.tolist()


def test_clip_of_floats_takes_integers_that_no_float_holds():
    x = dl.asarray([-np.inf, 0.5, np.inf])
    assert dl.clip(x, -(10**400), 10**400).tolist() == [-np.inf, 0.5, np.inf]
    assert dl.clip(x, 10**400).tolist() == [np.inf] * 3


def test_clip_of_float64_is_limited_by_integers_up_to_its_largest_number():
    x = dl.asarray([-1.5e308, 1.5e308], dtype="float64")
    assert dl.clip(x, -(2**1023), 2**1023).tolist() == [-(2.0**1023), 2.0**1023]
    assert dl.clip(x, None, int(np.finfo("float64").max)).tolist() == x.tolist()


@pytest.mark.parametrize("bounds", [(-5, None), (None, 300), (-5, 300)])
def test_clip_reads_a_tensor_of_others_once(bounds):
    class Producer:
        exports = 0

        def __dlpack__(self, **options):
            self.exports += 1
            return dl.asarray([1, 200], dtype="uint8").__dlpack__(**options)

        def __dlpack_device__(self):
            return 1, 0

    x = Producer()
    assert dl.clip(x, *bounds).tolist() == [1, 200]
    assert x.exports == 1


def test_clip_of_a_number_outside_the_dtype_of_its_bounds_is_refused():
    with pytest.raises(OverflowError, match="outside uint8"):
        dl.clip(300, dl.asarray([1], dtype="uint8"), 500)


def test_floats_beyond_a_float_dtype_are_infinite():
    assert dl.asarray(1e40).item() == dl.asarray([1e40], dtype="float16")[0].item() == np.inf
    assert (dl.zeros(2) + 1e40).tolist() == (dl.zeros((2, 2))[:, 0] - -1e40).tolist() == [np.inf, np.inf]
    assert dl.full(1, -1e40).tolist() == [-np.inf]
    for call in (
        lambda: dl.asarray(10**400, dtype="float64"),
        lambda: dl.zeros(2) + 10**400,
        lambda: dl.full(1, 10**400, dtype="float32"),
    ):
        with pytest.raises(OverflowError, match="an integer of 1329 bits is outside float"):
            call()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_cast_with_a_scale_keeps_the_sign_of_zero(dtype):
    x = dl.asarray([-0.0, 0.0, -1e-300], dtype="float64")
    made = dl.cast(x, dtype, scale=0.5)
    assert dl.signbit(made).tolist() == [True, False, True]
    assert dl.signbit(dl.cast(x, dtype, scale=0.5, offset=0.0)).tolist()[:2] == [False, False]
    assert dl.signbit(dl.cast(x, dtype, scale=-1)).tolist() == [False, True, False]


def test_round_takes_decimals():
    x = dl.asarray([1.25, -17.75])
    assert dl.round(x, 1).tolist() == dl.round(x, decimals=1).tolist() == round(x, 1).tolist() == x.round(1).tolist()
    assert dl.round(x, -1).tolist() == [0, -20]
    assert dl.round(x, 0).tolist() == dl.round(x).tolist() == [1, -18]
    assert dl.round(dl.asarray([25, 35]), -1).tolist() == [20, 40]
    out = dl.empty(2)
    assert dl.round(x, out) is dl.round(x, 1, out=out) is dl.round(x, out=out, decimals=1) is out
    assert out.tolist() == dl.round(x, 1).tolist()
    with pytest.raises(TypeError, match="decimals must be an integer"):
        dl.round(x, decimals=1.5)
    with pytest.raises(TypeError, match="there is no parameter 'decimals'"):
        dl.floor(x, decimals=1)


@pytest.mark.parametrize(("name", "want"), [("isnan", False), ("isinf", False), ("isfinite", True)])
def test_tests_of_floats_take_every_dtype(name, want):
    for dtype in ("bool", "int8", "uint64"):
        assert getattr(dl, name)(dl.ones(3, dtype=dtype)).tolist() == [want] * 3
    assert getattr(dl, name)(True).item() is getattr(dl, name)(5).item() is want


def quotient_operands(dtype, rng, size):
    """Dividends and divisors: any bits, near multiples of the divisor, of far magnitudes, special ones."""
    plain = np.dtype(dtype)
    anything = rng.integers(0, 256, size * plain.itemsize, dtype=np.uint8).view(plain)
    yield anything, rng.permutation(anything)
    if plain.kind in "iu":
        edges = np.array([0, 1, 2, 3, np.iinfo(plain).max, np.iinfo(plain).min, 2 ** (plain.itemsize * 4)], plain)
        edges = np.concatenate([edges, np.array([-1 % 2 ** (8 * plain.itemsize)], f"u{plain.itemsize}").view(plain)])
        yield rng.choice(edges, size), rng.choice(edges, size)
        divisors = rng.integers(1, 1 << 20, size).astype(plain)
        yield (divisors * rng.integers(1, 1000, size).astype(plain) - rng.integers(0, 2, size).astype(plain)), divisors
        return
    divisors = rng.standard_normal(size).astype(plain)
    multiples = (divisors.astype("f8") * rng.integers(-1000, 1000, size)).astype(plain)
    yield np.nextafter(multiples, rng.standard_normal(size).astype(plain) * plain.type(1e9)), divisors
    yield multiples * plain.type(2) ** rng.integers(-60, 60, size).astype(plain), divisors
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -3, np.finfo(plain).tiny, np.finfo(plain).max], plain)
    yield rng.choice(special, size), rng.choice(special, size)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("function", [dl.floor_divide, dl.remainder])
def test_quotients_of_many_numbers_have_the_bits_of_few(function, dtype):
    """Loops over many divide by float64 where that is exact; those over up to 7 do not."""
    for a, b in quotient_operands(dtype, np.random.default_rng(8), 7 * 300):
        x, y = dl.asarray(a), dl.asarray(b)
        few = dl.concat([function(x[i : i + 7], y[i : i + 7]) for i in range(0, x.size, 7)])
        assert same_or_nan(function(x, y), few)
        for number in (x[3], x[11]):
            few = dl.concat([function(x[i : i + 7], number) for i in range(0, x.size, 7)])
            assert same_or_nan(function(x, number), few)
            few = dl.concat([function(number, x[i : i + 7]) for i in range(0, x.size, 7)])
            assert same_or_nan(function(number, x), few)


def same_or_nan(x, y):
    if x.dtype.name.startswith("float"):
        return np.all(
            (x.numpy() == y.numpy()) & (np.signbit(x.numpy()) == np.signbit(y.numpy()))
            | dl.isnan(x).numpy() & dl.isnan(y).numpy()
        )
    return x.tobytes() == y.tobytes()
