# SPDX-License-Identifier: Apache-2.0
"""Creation functions: NumPy is the oracle, the default types are the array API's kinds in our widths."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dltensor as dl

NUMBERS = [d for d in dl.DTYPES.values() if d.name not in ("float8_e8m0fnu",)]


def same(ours, theirs):
    assert ours.shape == theirs.shape
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_zeros_are_zero_in_every_dtype(dtype):
    made = dl.zeros((2, 3), dtype=dtype)
    assert made.dtype == dtype
    assert made.tolist() == [[0] * 3] * 2


ONES = [d for d in dl.DTYPES.values() if d.name not in ("int2", "uint32", "uint64")]


@pytest.mark.parametrize("dtype", ONES, ids=str)
def test_ones_are_one_in_every_dtype(dtype):
    made = dl.ones((2, 3), dtype=dtype)
    assert made.dtype == dtype
    assert made.tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("dtype", ["float32", "uint4", "float6_e2m3fn", "float32x4"])
def test_large_zeros_are_zeros_in_used_memory_and_in_new(dtype):
    size = 3 * (1 << 20) + 1
    bytes_of_one = dl.zeros(size, dtype=dtype).nbytes
    used = dl.full(bytes_of_one, 7, dtype="uint8")
    del used
    assert not any(dl.zeros(size, dtype=dtype).tobytes())
    dl.empty_cache()
    assert not any(dl.zeros(size, dtype=dtype).tobytes())


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system has no /proc/self/statm")
@pytest.mark.skipif("DLTENSOR_SANITIZED" in os.environ, reason="sanitized builds do not map memory")
def test_zeros_in_memory_that_the_system_has_just_mapped_touch_no_page():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    dl.empty_cache()
    before = resident()
    made = dl.zeros(64 << 20, dtype="uint8")
    assert resident() - before < 32 << 20
    assert made[-1] == 0


def test_zeros_of_an_unknown_type_are_bytes_of_zero():
    made = dl.zeros((3,), dtype=dl.DType(99, 24))
    assert made.view(dl.DType(1, 8)).tolist() == [0] * 9


def test_zeros_and_ones_are_float32_by_default():
    assert dl.zeros(()).dtype == dl.ones(1).dtype == dl.float32


@pytest.mark.parametrize(
    ("number", "dtype"), [(True, dl.bool), (3, dl.int64), (2.5, dl.float32), (1 + 2j, dl.complex64)]
)
def test_full_takes_the_default_type_of_the_number(number, dtype):
    made = dl.full((2, 2), number)
    assert made.dtype == dtype
    assert made.tolist() == [[number] * 2] * 2


def test_full_refuses_a_number_outside_the_type():
    with pytest.raises(OverflowError, match="300 is outside uint8, which holds 0 to 255"):
        dl.full((2,), 300, dtype="uint8")


@pytest.mark.parametrize(
    ("make", "value"), [(dl.zeros_like, 0), (dl.ones_like, 1), (lambda x, **kw: dl.full_like(x, 7, **kw), 7)]
)
def test_like_functions_take_shape_and_type_of_any_framework_unless_told(make, value):
    source = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert make(source).dtype == dl.int16
    assert make(source).tolist() == [[value] * 3] * 2
    assert make(source, dtype="float64").dtype == dl.float64


def test_empty_like_is_contiguous_whatever_its_source_is():
    made = dl.empty_like(dl.zeros((2, 3)).T)
    assert made.shape == (3, 2)
    assert made.is_contiguous


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_arange_of_integers_is_range(start, stop, step):
    made = dl.arange(start, stop, step)
    assert made.dtype == dl.int64
    assert made.tolist() == list(range(start, stop, step))


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.1, 7))
def test_arange_of_floats_is_rounded_once_from_double_precision(start, stop, step):
    made = dl.arange(start, stop, step, dtype="float64")
    assert made.size == max(0, math.ceil((stop - start) / step))
    assert made.tolist() == [start + i * step for i in range(made.size)]
    single = dl.arange(start, stop, step)
    assert single.dtype == dl.float32
    assert single.tolist() == [float(np.float32(number)) for number in made.tolist()]


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0.0, 3000, 1), (-5.0, 70_000, 3), (9.0, -9000, -1.0), (-0.0, -40, -1), (-0.0, 40, 1), (2.0**29, 2.0**31, 2.0**24),
     (2.0**30, 2.0**30 + 99, 1.0), (-1e12, -1e12 + 99, 1.0), (0.5, 99, 1), (0.0, 1e11, 1e6)],
)  # fmt: skip
def test_arange_of_whole_floats(start, stop, step):
    for dtype in ("float32", "float64"):
        made = dl.arange(start, stop, step, dtype=dtype).numpy()
        wanted = start + np.arange(made.size, dtype="float64") * step
        assert made.tobytes() == wanted.astype(dtype).tobytes()


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_ones_are_one_in_wide_unsigned_types(dtype):
    assert dl.ones(2, dtype=dtype).tolist() == [1, 1]


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70).filter(bool), st.integers(0, 8))
def test_arange_of_integers_beyond_64_bits_is_exact_in_floats(start, step, size):
    arguments = start, start + step * size, step
    want = [float(number) for number in range(*arguments)]
    assert dl.arange(*arguments, dtype="float64").tolist() == want
    assert dl.arange(*arguments, dtype="complex128").tolist() == [complex(number) for number in want]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize("size", [65_535, 65_537, 200_003])
def test_long_ranges_are_those_of_numpy(dtype, size):
    start = -size // 2 if dtype not in ("uint64", "float16") else 0
    step = 0.25 if dtype.startswith(("float", "complex")) else 1
    want = (start + step * np.arange(size)).astype(np.float64 if dtype != "uint64" else np.uint64)
    assert dl.arange(start, start + step * size, step, dtype=dtype).tobytes() == want.astype(dtype).tobytes()


def test_arange_is_exact_beyond_double_precision():
    assert dl.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert dl.arange(2**64 - 3, 2**64, dtype="uint64").tolist() == [2**64 - 3, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "complex64", "int4", "float8_e5m2"])
def test_arange_makes_any_type(dtype):
    assert dl.arange(5, dtype=dtype).tolist() == [0, 1, 2, 3, 4]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(0, 40), st.booleans())
def test_linspace_agrees_with_numpy(start, stop, num, endpoint):
    made = dl.linspace(start, stop, num, dtype="float64", endpoint=endpoint)
    expected = np.linspace(start, stop, num, endpoint=endpoint)
    np.testing.assert_allclose(made.tolist(), expected, rtol=1e-14, atol=1e-9)
    if num > 1 and endpoint:
        assert made[-1].item() == stop


def exact(start, stop, num, endpoint):
    """The numbers of linspace as fractions."""
    steps = max(num - 1, 1) if endpoint else num
    return [Fraction(start) + (Fraction(stop) - Fraction(start)) * i / steps for i in range(num)]


ANY_FLOAT = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(-3, 3), st.integers(-5, 5), st.integers(-(2**70), 2**70)
)


@given(ANY_FLOAT, ANY_FLOAT, st.integers(0, 40), st.booleans())
def test_linspace_gives_the_float_nearest_to_each_exact_number(start, stop, num, endpoint):
    made = dl.linspace(start, stop, num, dtype="float64", endpoint=endpoint).tolist()
    assert made == [number.numerator / number.denominator for number in exact(start, stop, num, endpoint)]


NARROW_FLOATS = st.sampled_from(["float32", "float16", "bfloat16"])


@given(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5), st.integers(2, 40), NARROW_FLOATS)
def test_linspace_rounds_once_to_narrow_floats(start, stop, num, dtype):
    made = dl.linspace(start, stop, num, dtype=dtype)
    for got, number in zip(made.tolist()[1:-1], exact(start, stop, num, True)[1:-1], strict=True):
        nearest = dl.asarray([float(number)], dtype=dtype)
        around = [dl.nextafter(nearest, end).tolist()[0] for end in (-math.inf, math.inf)] + nearest.tolist()
        errors = [abs(Fraction(other) - number) for other in around if math.isfinite(other)]
        assert math.isinf(got) or abs(Fraction(got) - number) == min(errors)


def nearest(number, dtype):
    """The float of NumPy's `dtype` nearest to a fraction, of two the even one."""
    kind = np.dtype(dtype).type
    near = kind(number.numerator / number.denominator)
    around = [near, np.nextafter(near, kind(-np.inf)), np.nextafter(near, kind(np.inf))]
    return min(around, key=lambda x: (abs(Fraction(float(x)) - number), x.view(f"u{x.itemsize}") & 1))


HARD_ENDS = {
    "every second number between two float32": (2**24, 2**24 + 1000, 1001, "float32"),
    "every sixth number between two float32": (2**24, 2**24 + 1000, 3001, "float32"),
    "every sixth number between two float64": (2**53, 2**53 + 1000, 3001, "float64"),
    "every second number between two float64": (-(2**53) - 1000, -(2**53), 1001, "float64"),
    "just above the middle of two float32": (2**24 + 1 + 2**-28, 2**24 + 1201 + 2**-28, 601, "float32"),
    "just below the middle of two float32": (2**24 + 1 - 2**-28, 2**24 + 1201 - 2**-28, 601, "float32"),
    "just above the middle of two float64": (2**100 + 2**47 + 1, 2**100 + 2**47 + 1 + 600 * 2**48, 601, "float64"),
    "just below the middle of two float64": (2**100 + 2**47 - 1, 2**100 + 2**47 - 1 + 600 * 2**48, 601, "float64"),
    "from above to below the middle": (2**100 + 2**47 + 300, 2**100 + 2**47 - 300, 601, "float64"),
    "through 0": (-1, 1, 1001, "float64"),
    "through 0, which is no element": (-1 / 3, 1 / 7, 777, "float32"),
    "through 0 beside it": (-1e-9, 1e6, 3000, "float64"),
    "subnormal float32": (-1e-40, 1e-40, 1001, "float32"),
    "subnormal float16": (-1e-6, 1e-6, 1001, "float16"),
    "between two float16": (2**11, 2**12, 4097, "float16"),
    "ends of the range": (-1.7e308, 1.7e308, 600, "float64"),
    "smallest normal": (2.3e-308, 2.9e-308, 600, "float64"),
    "one chunk less 1": (-3.7, 11.3, 65_535, "float32"),
    "one chunk": (-3.7, 11.3, 65_536, "float64"),
    "one chunk and 1": (-3.7, 11.3, 65_537, "float32"),
    "some chunks": (11.3, -3.7, 200_003, "float64"),
}


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("case", HARD_ENDS)
def test_linspace_rounds_once_where_rounding_is_in_doubt(case, endpoint):
    start, stop, num, dtype = HARD_ENDS[case]
    steps = num - 1 if endpoint else num
    made = dl.linspace(start, stop, num, dtype=dtype, endpoint=endpoint).numpy()
    edges = {i for edge in range(0, num + 1, 65_536) for i in range(edge - 20, edge + 20)} | set(range(num - 20, num))
    for i in range(num) if num <= 5000 else sorted(edges & set(range(num)) | set(range(0, num, 97))):
        number = Fraction(start) + (Fraction(stop) - Fraction(start)) * i / steps
        assert made[i] == nearest(number, dtype), i


def test_linspace_of_complex_numbers_has_the_parts_of_two_real_ones():
    made = dl.linspace(-1 + 3j, 2 + 0.1j, 70_001, dtype="complex64").numpy()
    assert made.real.tolist() == dl.linspace(-1, 2, 70_001).tolist()
    assert made.imag.tolist() == dl.linspace(3, 0.1, 70_001).tolist()


@pytest.mark.parametrize("dtype", ["uint4", "int8", "uint16", "int32", "int64"])
def test_long_linspace_of_integers_is_exact(dtype):
    assert dl.linspace(0, 7, 200_003, dtype=dtype).tolist() == [7 * i // 200_002 for i in range(200_003)]


SOME_INTEGERS = st.sampled_from(["int8", "uint8", "int32", "int64", "uint64", "int4"])


@given(st.data(), SOME_INTEGERS, st.integers(1, 40), st.booleans())
def test_linspace_of_integers_is_exact_and_rounded_down(data, dtype, num, endpoint):
    info = dl.iinfo(dtype)
    end = st.one_of(st.integers(info.min, info.max), st.floats(max(info.min, -100), min(info.max, 100)))
    start, stop = data.draw(end), data.draw(end)
    made = dl.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
    assert made.tolist() == [math.floor(number) for number in exact(start, stop, num, endpoint)]


@pytest.mark.parametrize(
    ("arguments", "dtype", "want"),
    [
        ((2**53 + 1, 2**53 + 3, 3), "int64", [2**53 + 1, 2**53 + 2, 2**53 + 3]),
        ((0, 2**63 - 1, 2), "int64", [0, 2**63 - 1]),
        ((-(2**63), 2**63 - 1, 3), "int64", [-(2**63), -1, 2**63 - 1]),
        ((0, 2**64 - 1, 4), "uint64", [0, (2**64 - 1) // 3, (2**64 - 1) // 3 * 2, 2**64 - 1]),
        ((-1.7e308, 1.7e308, 5), "float64", [-1.7e308, -8.5e307, 0.0, 8.5e307, 1.7e308]),
        ((0, 5e-324, 3), "float64", [0.0, 0.0, 5e-324]),
        ((0, 3e-323, 4), "float64", [0.0, 1e-323, 2e-323, 3e-323]),
        ((1e-300, 1e300, 2), "float64", [1e-300, 1e300]),
        ((-1, 1, 3), "bool", [True, False, True]),
        ((0, math.inf, 3), "float64", [0.0, math.inf, math.inf]),
        ((0, 7, 8), "int4", [0, 1, 2, 3, 4, 5, 6, 7]),
        ((0, 6, 4), "float4_e2m1fn", [0.0, 2.0, 4.0, 6.0]),
    ],
)
def test_linspace_at_the_ends_of_the_types(arguments, dtype, want):
    assert dl.linspace(*arguments, dtype=dtype).tolist() == want


def test_linspace_may_stop_beyond_the_type_when_it_stops_before():
    assert dl.linspace(0, 256, 256, dtype="uint8", endpoint=False).tolist() == list(range(256))
    with pytest.raises(OverflowError, match="linspace: 257 is outside uint8"):
        dl.linspace(0, 258, 258, dtype="uint8", endpoint=False)


def test_linspace_keeps_the_sign_of_zero_at_its_ends():
    assert str(dl.linspace(-0.0, 1, 2).tolist()) == "[-0.0, 1.0]"
    assert str(dl.linspace(-1, -0.0, 2).tolist()) == "[-1.0, -0.0]"


@given(*[st.complex_numbers(max_magnitude=1e30, allow_nan=False)] * 2, st.integers(0, 20), st.booleans())
def test_linspace_of_complex_numbers_is_exact_in_both_parts(start, stop, num, endpoint):
    made = dl.linspace(start, stop, num, dtype="complex128", endpoint=endpoint).tolist()
    for part in ("real", "imag"):
        numbers = exact(getattr(start, part), getattr(stop, part), num, endpoint)
        assert [getattr(number, part) for number in made] == [float(number) for number in numbers]


def test_arange_between_the_ends_of_floats_neither_overflows_nor_loses_count():
    made = dl.arange(-1.7e308, 1.7e308, 1e308, dtype="float64").tolist()
    step = Fraction(1e308)
    assert made == [float(Fraction(-1.7e308) + i * step) for i in range(4)]


@pytest.mark.parametrize("num", [1, 2, 5])
@pytest.mark.parametrize("ends", [(2.5, 1j), (1j, 2.5)])
def test_linspace_refuses_complex_ends_of_real_types(ends, num):
    with pytest.raises(TypeError, match="linspace: the complex number 1j cannot be written to int8"):
        dl.linspace(*ends, num, dtype="int8")


def test_linspace_goes_through_the_complex_plane():
    made = dl.linspace(0, 1 + 2j, 3)
    assert made.dtype == dl.complex64
    assert made.tolist() == [0, 0.5 + 1j, 1 + 2j]


def test_eye_agrees_with_numpy_on_every_diagonal():
    for rows in range(4):
        for columns in range(4):
            for k in range(-5, 6):
                same(dl.eye(rows, columns, k=k), np.eye(rows, columns, k=k))
    same(dl.eye(3, dtype="int8"), np.eye(3, dtype=np.int8))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (2, 3, 4), (2, 0)])
def test_meshgrid_agrees_with_numpy_and_copies_nothing(indexing, sizes):
    axes = [dl.arange(size) for size in sizes]
    made = dl.meshgrid(*axes, indexing=indexing)
    assert isinstance(made, tuple)
    for ours, theirs, axis in zip(made, np.meshgrid(*map(np.arange, sizes), indexing=indexing), axes, strict=True):
        same(ours, theirs)
        assert ours.same_memory(axis)
        assert ours.readonly


def test_triangles_agree_with_numpy_on_every_diagonal():
    few, many = np.arange(1, 25).reshape(2, 3, 4), np.arange(1, 2101).reshape(42, 50)
    for source in (few, few.astype("uint8"), few.astype("complex128"), few[:, :, ::-1], few[:, :0], few[..., :0]):
        for k in (*range(-4, 6), -(2**70), 2**70):
            near = max(min(k, 9), -9)
            same(dl.tril(source, k=k), np.tril(source, k=near))
            same(dl.triu(source, k=k), np.triu(source, k=near))
    for k in (-60, -41, -7, 0, 1, 49, 60):
        same(dl.tril(many, k=k), np.tril(many, k=k))
        same(dl.triu(many, k=k), np.triu(many, k=k))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dl.zeros((2, -1)), ValueError, r"shape\[1\] must be at least 0, got -1"),
        (lambda: dl.zeros(2**50, dtype="int8"), MemoryError, rf"zeros: cannot allocate {2**50} bytes for shape \("),
        (lambda: dl.empty(2**60, dtype="int4"), MemoryError, rf"empty: cannot allocate {2**59} bytes .* of int4"),
        (lambda: dl.full(2**59, 0, dtype="int64"), MemoryError, rf"full: cannot allocate {2**62} bytes"),
        (lambda: dl.zeros(2**61), ValueError, r"zeros: shape .* of float32 takes more than 2\^63 - 1 bytes"),
        (lambda: dl.zeros((2**40, 2**40)), ValueError, r"zeros: shape \(\d+, 1099511627776\) of float32 takes"),
        (lambda: dl.full((2,), "x"), TypeError, "full: expected a number, got str"),
        (lambda: dl.arange(0, 5, 0), ValueError, "arange: step must not be 0"),
        (lambda: dl.arange(float("nan")), ValueError, "arange: start, stop and step must be finite"),
        (lambda: dl.arange(float("inf")), ValueError, "arange: start, stop and step must be finite"),
        (lambda: dl.arange("5"), TypeError, "arange: stop must be a real number, got '5'"),
        (lambda: dl.arange(300, dtype="uint8"), OverflowError, "299 is outside uint8"),
        (lambda: dl.arange(-1, 5, dtype="uint8"), OverflowError, "-1 is outside uint8"),
        (lambda: dl.linspace(0, 1, -1), ValueError, "linspace: num must be at least 0, got -1"),
        (lambda: dl.linspace(0, 1, 2.0), TypeError, "linspace: num must be an integer, got 2.0"),
        (lambda: dl.linspace(0, "a", 2), TypeError, "linspace: stop must be a number, got 'a'"),
        (lambda: dl.linspace("1", 2, 2), TypeError, "linspace: start must be a number, got '1'"),
        (lambda: dl.meshgrid(dl.zeros((2, 2))), ValueError, r"meshgrid: .* number 0 has shape \(2, 2\)"),
        (lambda: dl.meshgrid(indexing="yx"), ValueError, "indexing must be 'xy' or 'ij', got 'yx'"),
        (lambda: dl.tril(dl.zeros(3)), ValueError, r"tril: expected at least 2 dimensions, got shape \(3,\)"),
    ],
)
def test_wrong_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_messages_name_the_function_that_was_called():
    like = dl.zeros((2, 2), dtype="uint8")
    calls = {
        "zeros": lambda: dl.zeros(-1), "ones": lambda: dl.ones((2, -1)), "full": lambda: dl.full(-1, 0),
        "eye": lambda: dl.eye(-1), "arange": lambda: dl.arange(300, dtype="uint8"),
        "full_like": lambda: dl.full_like(like, 300), "ones_like": lambda: dl.ones_like(like, dtype=dl.DType(99, 8)),
        "linspace": lambda: dl.linspace(0, 300, 3, dtype="uint8"), "empty": lambda: dl.empty("2"),
    }  # fmt: skip
    for name, call in calls.items():
        with pytest.raises((ValueError, TypeError, OverflowError), match=rf"^{name}: "):
            call()


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn", "float6_e2m3fn"])
def test_eye_of_packed_elements(dtype):
    assert dl.eye(3, 4, k=1, dtype=dtype).tolist() == np.eye(3, 4, k=1).tolist()


def test_triangles_of_a_dtype_without_zero_have_what_stands_for_it():
    made = dl.tril(dl.ones((2, 2), dtype="float8_e8m0fnu"))
    assert np.isnan(made.tolist()).tolist() == [[False, True], [False, False]]
