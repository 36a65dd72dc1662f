# SPDX-License-Identifier: Apache-2.0
"""Reductions, driven by their table: against NumPy and exact arithmetic, in every dtype, layout and choice of axes.

The same bits for every order of elements, number of threads and instruction set; what is refused, and how it is said.
"""

import importlib.util
import inspect
import itertools
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from children import MODULES

import dltensor as dl
from dltensor._core.types import COMPUTED
from dltensor._ops.reduce import REDUCTIONS

EXACT = Path(__file__).parent.parent / "fuzz" / "exact_reductions.py"
spec = importlib.util.spec_from_file_location("exact_reductions", EXACT)
exact = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exact)

KIND = {"b": "bool", "i": "integers", "u": "integers", "f": "floats", "c": "complex"}
NUMPY_DTYPES = [name for name in COMPUTED if name != "bfloat16"]
SHAPES = [(), (1,), (7,), (100,), (3, 4), (40, 7), (7, 40), (5, 1, 6), (0,), (0, 3), (3, 0), (17, 3, 10), (2, 3, 4, 5)]


def numbers(dtype, shape, seed=3):
    """Values of a dtype whose sums and products mostly stay in range."""
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.7)
    if kind in "iu":
        bounds = np.iinfo(dtype)
        return np.asarray(rng.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True))
    made = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    return np.asarray(made + 1j * rng.uniform(-1, 1, shape) if kind == "c" else made).astype(dtype)


def layouts(a):
    """The same elements, as they may lie in memory."""
    yield a
    if a.ndim:
        yield np.ascontiguousarray(a.T).T
        backward = tuple(slice(None, None, -1) for _ in a.shape)
        yield np.ascontiguousarray(a[backward])[backward]
        wide = np.zeros([2 * size for size in a.shape], a.dtype)
        part = wide[tuple(slice(None, None, 2) for _ in a.shape)]
        part[...] = a
        yield part


def axes_of(ndim, one):
    """None, every axis from both ends, and every tuple of axes."""
    yield None
    yield from range(-ndim, ndim)
    if not one:
        yield from (c for r in range(2, ndim + 1) for c in itertools.combinations(range(ndim), r))
        yield ()


def takes(name, dtype):
    return KIND[np.dtype(dtype).kind] in REDUCTIONS[name]["kinds"]


def exact_reduction(name, values, correction=0):
    """Sum, mean or var of any values as a fraction, or complex of two."""
    if any(isinstance(value, complex) for value in values):
        parts = [[value.real for value in values], [value.imag for value in values]]
        made = [exact_reduction(name, part, correction) for part in parts]
        return made[0] + made[1] if name == "var" else tuple(made)
    values = [Fraction(value) for value in values]
    total = sum(values, Fraction(0))
    if name == "sum":
        return total
    mean = total / len(values)
    return mean if name == "mean" else sum((x - mean) ** 2 for x in values) / (len(values) - correction)


def rounded(value, dtype):
    """A fraction rounded once to a format, or a pair of them to a complex one."""
    if isinstance(value, tuple):
        return complex(*(rounded(part, "float32" if dtype == "complex64" else "float64") for part in value))
    return exact.round_ratio(value.numerator, value.denominator, exact.FORMATS[dtype])


def lines(a, axis):
    """The elements that each result is made of, in C order of the results."""
    axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(one % a.ndim for one in axes) if a.ndim else ()
    kept = [d for d in range(a.ndim) if d not in axes]
    flat = a.transpose([*kept, *axes]).reshape(math.prod(a.shape[d] for d in kept), -1)
    return [line.tolist() for line in flat]


# -- against NumPy ----------------------------------------------------------------------------------------------------

SAME_AS_NUMPY = ["max", "min", "all", "any", "count_nonzero", "argmax", "argmin"]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("name", [*SAME_AS_NUMPY, "sum", "prod"])
def test_a_reduction_gives_numpys_values(name, dtype):
    if not takes(name, dtype):
        with pytest.raises(TypeError, match=f"{name}: not defined for {dtype}; it takes"):
            getattr(dl, name)(dl.zeros(2, dtype=dtype))
        return
    approximate = name in ("sum", "prod") and np.dtype(dtype).kind in "fc"
    compared = 0
    for shape in SHAPES:
        a = numbers(dtype, shape)
        for x, axis, keepdims in itertools.product(
            layouts(a), axes_of(a.ndim, REDUCTIONS[name]["one_axis"]), (False, True)
        ):
            try:
                with np.errstate(all="ignore"):
                    wanted = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
            except ValueError:
                with pytest.raises(ValueError, match=f"{name}: a tensor of shape .* has no elements there"):
                    getattr(dl, name)(x, axis=axis, keepdims=keepdims)
                continue
            made = getattr(dl, name)(x, axis=axis, keepdims=keepdims).numpy()
            assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
            if approximate:
                digits = np.finfo(dtype).eps
                size = np.asarray(
                    np.sum(np.abs(x), axis=axis, keepdims=keepdims, dtype="f8" if np.dtype(dtype).kind == "f" else None)
                )
                slack = digits * (abs(size) if name == "sum" else abs(wanted)) * max(a.size, 4)
                assert np.all((abs(made - wanted) <= slack) | (made == wanted)), (shape, axis)
            else:
                assert np.array_equal(made, wanted), (shape, axis, keepdims)
            compared += 1
    assert compared > 300


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_sums_means_and_variances_are_exact(name, dtype):
    real = dtype if np.dtype(dtype).kind in "fc" else "float64" if np.dtype(dtype).itemsize >= 4 else "float32"
    result = {"complex64": "float32", "complex128": "float64"}.get(real, real) if name == "var" else real
    for shape in [(1,), (7,), (100,), (5, 9), (33, 4), (3, 2, 5)]:
        a = numbers(dtype, shape)
        for x, axis in itertools.product(layouts(a), axes_of(a.ndim, one=False)):
            if axis == ():
                continue
            made = getattr(dl, name)(x, axis=axis)
            for value, line in zip(np.ravel(made.numpy()).tolist(), lines(a, axis), strict=True):
                true = exact_reduction(name, line)
                if a.dtype.kind in "biu" and name == "sum":
                    assert value == int(true) % 2**64 or value == (int(true) + 2**63) % 2**64 - 2**63
                elif name == "var" and dtype in ("float64", "complex128"):
                    assert abs(Fraction(value) - true) <= Fraction(math.ulp(value))
                else:
                    assert value == rounded(true, result)


def test_random_results_are_those_of_exact_arithmetic():
    wrong = []
    assert exact.run(6000, int(os.environ.get("DLTENSOR_SEED", "11")), wrong.append) >= 6000
    assert wrong == []


def test_the_comparison_finds_initial_values_in_the_dtype_of_the_elements(monkeypatch):
    real, wrong = dl.sum, []

    def converted_first(x, *, initial=None, **options):
        if isinstance(initial, float):
            initial = dl.asarray(initial, dtype="float64").astype(x.dtype).item()
        return real(x, **options) if initial is None else real(x, initial=initial, **options)

    monkeypatch.setattr(dl, "sum", converted_first)
    exact.run(30000, 11, wrong.append)
    assert any(text.startswith("sum of float") and "initial" in text for text in wrong)


def test_the_comparison_finds_quantiles_of_differences_of_infinities(monkeypatch):
    real, wrong = dl.quantile, []

    def by_differences(x, q, *, axis, dtype):
        low, high = (real(x, q, axis=axis, method=method, dtype="float64") for method in ("lower", "higher"))
        place = (x.shape[axis] - 1) * q
        return (low + (high - low) * (place - math.floor(place))).astype(dtype)

    monkeypatch.setattr(dl, "quantile", by_differences)
    exact.run(30000, 11, wrong.append)
    assert any(text.startswith("quantile") and "expected inf, got nan" in text for text in wrong)


def test_the_exact_check_finds_a_sum_that_is_rounded_twice(monkeypatch):
    real = dl.sum

    def plain(x, axis, **options):
        if dl.isdtype(x.dtype, "integral"):
            return real(x, axis=axis, **options)
        a = (x.astype("float32") if x.dtype == dl.bfloat16 else x).numpy()
        with np.errstate(all="ignore"):
            made = np.sum(a, axis=axis, initial=float(options.get("initial", 0)))
            return dl.asarray(made).astype(options.get("dtype", x.dtype))

    monkeypatch.setattr(dl, "sum", plain)
    wrong = []
    exact.run(20000, 11, wrong.append)
    assert any(text.startswith("sum of float64") for text in wrong)
    assert not any(text.startswith(("mean", "var", "std")) for text in wrong)


def test_bfloat16_is_rounded_once():
    # In float32, 1 + 2**-8 + 2**-24 would first lose its last bit and then be half way between two values.
    x = dl.asarray([1.0, 2.0**-8, 2.0**-24]).astype("bfloat16")
    assert dl.sum(x).astype("float32").item() == 1 + 2.0**-7
    assert dl.max(x).dtype == dl.sum(x).dtype == dl.mean(x).dtype == dl.bfloat16


# -- special values ---------------------------------------------------------------------------------------------------

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([INF, 1.0], INF),
        ([-INF, 1.0], -INF),
        ([INF, -INF], NAN),
        ([NAN, 1.0], NAN),
        ([NAN, INF], NAN),
        ([-0.0, -0.0], 0.0),
        ([-0.0, 0.0], 0.0),
        ([1.0, -1.0, -0.0], 0.0),
        ([], 0.0),
    ],
)
@pytest.mark.parametrize("repeats", [1, 40])
def test_special_values_of_sums(dtype, values, total, repeats):
    x = dl.asarray(values * repeats, dtype=dtype)
    got = dl.sum(x).astype("float64").item()
    assert (math.isnan(got) and math.isnan(total)) or exact.same(got, total)
    if values:
        mean = dl.mean(x).astype("float64").item()
        assert math.isnan(mean) if math.isnan(total) else exact.same(mean, total / repeats / len(values))
        finite = all(map(math.isfinite, values))
        assert math.isnan(dl.var(x).astype("float64").item()) == (not finite)


def test_what_overflows_in_between_does_not_matter():
    top = 1.7e308
    assert dl.sum(dl.asarray([top, top, -top], dtype="float64")).item() == top
    assert dl.mean(dl.asarray([top, top], dtype="float64")).item() == top
    assert dl.mean(dl.ones(100000, dtype="float16")).item() == 1.0
    assert dl.sum(dl.ones(100000, dtype="float16")).item() == INF
    assert dl.std(dl.asarray([1e200, -1e200], dtype="float64")).item() == 1e200
    assert dl.var(dl.asarray([1e200, -1e200], dtype="float64")).item() == INF
    assert dl.std(dl.asarray([3e-200, 1e-200], dtype="float64")).item() == 1e-200
    assert dl.var(dl.full(1000, 0.1, dtype="float64")).item() == 0.0
    assert dl.var(dl.full(1000, 0.1)).item() == 0.0


def test_the_divisor_of_var_must_be_above_zero():
    x = dl.asarray([1.0, 2.0])
    assert [math.isnan(dl.var(x, correction=c).item()) for c in (0, 1, 2, 3, -1)] == [False, False, True, True, False]
    assert math.isnan(dl.var(dl.zeros(0), correction=-1).item())
    assert dl.var(x, correction=0.5).item() == np.float32(0.5 / 1.5)
    assert math.isnan(dl.mean(dl.zeros(0)).item())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_max_and_min_order_zeros_and_keep_nan(dtype):
    for order in itertools.permutations([0.0, -0.0, -1.0]):
        assert exact.same(dl.max(dl.asarray(order, dtype=dtype)).item(), 0.0)
    for order in itertools.permutations([0.0, -0.0, 1.0]):
        assert exact.same(dl.min(dl.asarray(order, dtype=dtype)).item(), -0.0)
    for place in range(0, 5000, 997):
        a = np.arange(5000, dtype=dtype)
        a[place] = -NAN
        for name in ("max", "min"):
            assert math.isnan(getattr(dl, name)(a).item())
        a[4999] = NAN
        assert dl.argmax(a).item() == dl.argmin(a).item() == place
    assert dl.argmax(dl.asarray([-0.0, 0.0], dtype=dtype)).item() == 0
    assert dl.argmin(dl.asarray([0.0, -0.0], dtype=dtype)).item() == 0
    assert dl.max(dl.asarray([-INF, -INF], dtype=dtype)).item() == -INF


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float32", "bool"])
def test_the_first_of_equals_is_found(name, dtype):
    a = np.zeros((50, 60), dtype)
    extremes = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    a[...] = 1 if name == "argmin" else 0
    for value in [1 - a[0, 0]] if extremes is None else [extremes.max if name == "argmax" else extremes.min]:
        a[20:30, 7:50:3] = value
        for x, axis in itertools.product(layouts(a), (None, 0, 1)):
            assert np.array_equal(getattr(dl, name)(x, axis=axis).numpy(), getattr(np, name)(a, axis=axis))


# -- integers ---------------------------------------------------------------------------------------------------------

INTEGERS = [name for name in NUMPY_DTYPES if np.dtype(name).kind in "iu"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_saturating_gives_the_exact_value_clamped(name, dtype):
    bounds = np.iinfo(dtype)
    rng = np.random.default_rng(5)
    for size, high in itertools.product((0, 1, 2, 5, 40, 300), (3, bounds.max)):
        a = rng.integers(max(bounds.min, -high), high, size, dtype=dtype, endpoint=True)
        if name == "prod" and size % 2:
            a[a == 0] = 1
        values = a.tolist()
        true = sum(values) if name == "sum" else math.prod(values)
        made = getattr(dl, name)(a, saturate=True)
        assert (made.dtype, made.item()) == (dtype, min(max(true, bounds.min), bounds.max))
        columns = np.repeat(a[:, None], 40, 1)
        assert set(getattr(dl, name)(columns, axis=0, saturate=True).tolist()) == {made.item()}


def test_sums_of_integers_wrap_at_64_bits_and_named_dtypes_keep_their_low_bits():
    top = 2**63 - 1
    assert dl.sum(dl.asarray([top, 1])).item() == -(2**63)
    assert dl.mean(dl.asarray([top, top])).item() == 2.0**63
    assert dl.sum(dl.asarray([200, 100]), dtype="uint8").item() == 300 - 256
    assert dl.sum(dl.asarray([200, 100], dtype="uint8")).dtype == dl.uint64
    assert dl.sum(dl.asarray([True, True])).dtype == dl.int64
    assert dl.sum(dl.asarray([1.5, 1.5]), dtype="int32").item() == 2
    assert dl.sum(dl.asarray([16777217, 1]), dtype="float64").item() == 16777218


def test_a_byte_that_is_not_0_is_one_true():
    x = dl.asarray(bytearray([2, 0, 255] * 50)).view("bool")
    assert (dl.sum(x).item(), dl.count_nonzero(x).item(), dl.all(x[::3]).item(), dl.max(x).item()) == (
        100,
        100,
        True,
        True,
    )


# -- out, where, initial ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "float16", "complex64", "uint8"])
@pytest.mark.parametrize("name", [name for name, row in REDUCTIONS.items() if "where" in row["takes"]])
def test_where_leaves_elements_out(name, dtype):
    if not takes(name, dtype):
        pytest.skip(f"{name} does not take {dtype}")
    initial = {"initial": 3} if REDUCTIONS[name]["empty"] == "" else {}
    for shape in [(6,), (40, 7), (7, 40), (3, 4, 5), (9, 70)]:
        a = numbers(dtype, shape)
        mask = np.random.default_rng(2).random(shape) < 0.5
        mask[..., 0] = False
        for x, axis in itertools.product(layouts(a), axes_of(a.ndim, one=False)):
            if axis == ():
                continue
            made = getattr(dl, name)(x, axis=axis, where=mask, **initial)
            got = np.ravel(made.numpy()).tolist()
            for value, line, kept in zip(got, lines(a, axis), lines(mask, axis), strict=True):
                chosen = np.asarray([v for v, keep in zip(line, kept, strict=True) if keep], dtype)
                wanted = getattr(dl, name)(chosen, **initial).item()
                close = name == "prod" and a.dtype.kind in "fc" and abs(value - wanted) <= 1e-2 * abs(wanted)
                assert value == wanted or close or (value != value and wanted != wanted), (shape, axis)


def test_a_mask_broadcasts():
    a = np.arange(12.0, dtype="f4").reshape(3, 4)
    assert dl.sum(a, axis=0, where=np.asarray([[True], [False], [True]])).tolist() == [8, 10, 12, 14]
    assert exact.same(dl.sum(dl.asarray([-0.0, -0.0]), where=dl.asarray([False, False])).item(), 0.0)
    assert exact.same(dl.sum(dl.asarray([-0.0, 5.0]), where=dl.asarray([True, False])).item(), 0.0)


def test_initial_is_one_more_element():
    a = np.arange(6, dtype="i4").reshape(2, 3)
    assert dl.sum(a, axis=0, initial=10).tolist() == [13, 15, 17]
    assert dl.prod(a, axis=1, initial=2).tolist() == [0, 120]
    assert dl.max(a, axis=1, initial=4).tolist() == [4, 5]
    assert dl.min(dl.zeros(0), initial=7).item() == 7
    assert dl.sum(dl.asarray([1.0, 2.0**-24]), initial=2.0**-24).item() == 1 + 2.0**-23
    assert dl.prod(dl.asarray([2.0, 3.0]), initial=0.5).item() == 3.0
    assert dl.sum(dl.asarray([1 + 2j]), initial=1j).item() == 1 + 3j


@pytest.mark.parametrize(
    ("name", "values", "dtype", "initial", "wanted"),
    [
        ("sum", [True, True, False], "bool", 5, 7),
        ("prod", [True, True], "bool", 5, 5),
        ("sum", [1, 2], "int8", 1000, 1003),
        ("sum", [250, 5], "uint8", 2**64 - 256, 2**64 - 1),
        ("prod", [2, 3], "int8", -1000, -6000),
        ("sum", [-60000.0], "float16", 1e5, 40000.0),
        ("sum", [-60000.0], "bfloat16", 59904.0 + 2.0**-30, 2.0**-30),
        ("sum", [-1.0], "float32", 1 + 2.0**-40, 2.0**-40),
        ("sum", [-3e38, -3e38], "float32", 6e38, np.float32(6e38 - 2 * float(np.float32(3e38)))),
        ("sum", [1e-30, -1.0], "float64", 1.0, 1e-30),
        ("sum", [-1j], "complex64", (1 + 2.0**-40) * 1j, 2.0**-40 * 1j),
        ("prod", [2.0**-100], "float32", 2.0**200, 2.0**100),
        ("prod", [2.0**-20], "float16", 2.0**20, 1.0),
        ("prod", [2.0**-100 * 1j], "complex64", 2.0**200, 2.0**100 * 1j),
        ("max", [1.0], "float16", 1e5, INF),
        ("max", [1.0], "float16", 2049.0, 2048.0),
        ("min", [True], "bool", 0, False),
    ],
)
@pytest.mark.parametrize("shape", [(1, -1), (-1, 1, 1)])
def test_initial_has_the_dtype_of_the_result_and_of_floats_every_digit(name, values, dtype, initial, wanted, shape):
    x = dl.asarray(values, dtype=dtype).reshape(shape)
    many = dl.broadcast_to(x[..., None], (*x.shape, 40))  # columns
    axes = tuple(range(x.ndim))
    assert getattr(dl, name)(x, initial=initial).item() == wanted
    assert set(getattr(dl, name)(many, axis=axes, initial=initial).tolist()) == {wanted}
    assert getattr(dl, name)(x, initial=initial, where=dl.ones(x.shape, dtype="bool")).item() == wanted


def test_initial_of_a_saturating_sum_or_product_is_clamped_at_the_end_alone():
    x = dl.asarray([100, 27], dtype="int8")
    assert dl.sum(x, initial=1000, saturate=True).item() == 127
    assert dl.sum(x, initial=-200, saturate=True).item() == -73
    assert dl.sum(dl.asarray([255, 255], dtype="uint8"), initial=2**64 - 1, saturate=True).item() == 255
    assert dl.prod(dl.asarray([0, 5], dtype="int8"), initial=10**6, saturate=True).item() == 0
    assert dl.prod(x, initial=-(2**62), saturate=True).item() == -128
    assert dl.sum(dl.asarray([False]), initial=3, saturate=True).item() is True


def test_initial_by_numpy_is_the_same():
    assert np.sum(dl.asarray([True, True, False]), initial=5).item() == 7
    assert np.prod(dl.asarray([True, True]), initial=5).item() == 5
    assert np.sum(dl.asarray([-60000.0], dtype="float16"), initial=1e5).item() == 40000


# -- dtype ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_statistics_of_narrow_integers_are_float32(name, dtype):
    assert getattr(dl, name)(dl.ones(3, dtype=dtype)).dtype == dl.float32


def test_means_of_wide_integers_are_exact():
    assert dl.mean(dl.arange(1_700_000_000, 1_701_000_000, dtype="int64")).item() == 1_700_499_999.5
    assert dl.mean(dl.asarray([2**53, 2**53 + 4], dtype="int64")).item() == 2.0**53 + 2
    assert dl.mean(dl.asarray([2**53 + 1, 2**53 + 2], dtype="uint64")).item() == 2.0**53 + 2
    assert dl.mean(dl.asarray([2**31 - 1, -1], dtype="int32")).item() == 2.0**30 - 1


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("correction", [0, 1])
def test_variances_of_wide_integers_are_exact(dtype, correction):
    bounds, rng = np.iinfo(dtype), np.random.default_rng(3)
    near = bounds.max - rng.integers(0, 9, 2100).astype(dtype)  # deviations far smaller than the elements
    ends = np.where(rng.random(2100) < 0.5, bounds.min, bounds.max).astype(dtype)
    wide = rng.integers(bounds.min, bounds.max, 2100, dtype=dtype, endpoint=True)
    for a in (near, ends, wide, near[:2], wide[:3], np.full(300, bounds.max, dtype)):
        true = exact_reduction("var", a.tolist(), correction)
        top, bottom = true.numerator, true.denominator
        root = exact.round_root(top, bottom, exact.FORMATS["float64"])
        columns = np.repeat(a[:, None], 20, 1)
        for x, axis in ((a, None), (columns, 0), (columns.T, 1)):
            made, std = dl.var(x, axis=axis, correction=correction), dl.std(x, axis=axis, correction=correction)
            assert set(np.ravel(made.numpy()).tolist()) == {rounded(true, "float64")}
            assert set(np.ravel(std.numpy()).tolist()) == {root}
        kept = np.arange(a.size) % 3 != 1
        part = exact_reduction("var", a[kept].tolist(), correction) if kept.sum() > correction else None
        if part is not None:
            assert dl.var(a, correction=correction, where=kept).item() == rounded(part, "float64")


@pytest.mark.parametrize(
    ("name", "values", "given", "dtype", "wanted"),
    [
        ("sum", [1 + 2.0**-24, 2.0**-24], "float64", "float32", 1 + 2.0**-23),
        ("sum", [40000.0, 40000.0, -30000.0], "float32", "float16", 49984.0),
        ("sum", [1.0, 2.0**-40], "float32", "float64", 1 + 2.0**-40),
        ("prod", [1 + 2.0**-24, 1 + 2.0**-24], "float64", "float32", 1 + 2.0**-23),
        ("prod", [1e200, 1e-200], "float64", "float32", 1.0),
        ("sum", [16777217, 1], "int64", "float32", 16777218.0),
        ("sum", [1.5, 1.5], "float32", "int32", 2),
        ("sum", [200, 100], "int64", "int8", 44),
        ("sum", [1, 1], "int64", "bool", True),
        ("sum", [2**24 + 1, 1], "int64", "complex64", 2**24 + 2),
        ("sum", [(1 + 2.0**-24) * 1j, 2.0**-24 * 1j], "complex128", "complex64", (1 + 2.0**-23) * 1j),
        ("mean", [1, 2], "int8", "float64", 1.5),
        ("mean", [2**53 + 1, 2**53 + 2], "int64", "float32", 2.0**53),
        ("mean", [60000.0, 60000.0], "float64", "float16", 60000.0),
        ("mean", [1, 2], "int64", "complex64", 1.5),
        ("var", [1, 2], "int64", "float16", 0.25),
        ("var", [1, 2], "int8", "float64", 0.25),
        ("std", [1e-30, 3e-30], "float32", "float64", None),
        ("var", [1j, 3j], "complex128", "complex64", 1.0),
    ],
)
def test_dtype_is_what_the_exact_result_is_rounded_to(name, values, given, dtype, wanted):
    made = getattr(dl, name)(dl.asarray(values, dtype=given), dtype=dtype)
    assert made.dtype == {"var": {"complex64": "float32"}}.get(name, {}).get(dtype, dtype)
    assert made.item() == pytest.approx(1e-30, rel=1e-7) if wanted is None else made.item() == wanted


@pytest.mark.parametrize("axis", [range(2), [0, 1], np.array([0, 1]), (np.int8(0), 1), dl.asarray([0, -2])])
@pytest.mark.parametrize("name", ["sum", "max", "var", "any"])
def test_axes_are_any_sequence(name, axis):
    x = dl.asarray(np.arange(24.0, dtype="f4").reshape(2, 3, 4))
    assert getattr(dl, name)(x, axis=axis).tolist() == getattr(dl, name)(x, axis=(0, 1)).tolist()


def test_a_sequence_of_axes_that_never_ends_is_refused():
    class Endless(list):
        def __iter__(self):
            return itertools.cycle([0])

    with pytest.raises(ValueError, match="sum: at most 64 dimensions are supported, axis has more"):
        dl.sum(dl.zeros((2, 2)), axis=Endless())


def test_out_is_written_and_returned():
    a = numbers("float32", (5, 6))
    for out in (np.zeros(6, "f4"), np.zeros((2, 6), "f8")[1], np.zeros(12, "f4")[::2], dl.zeros(6)):
        assert dl.sum(a, axis=0, out=out) is out
        assert out.tolist() == dl.sum(a, axis=0).tolist()
    out = dl.zeros((), dtype="uint8")
    assert dl.any(a, out=out) is out
    assert out.item() == 1
    out = dl.zeros((1, 6), dtype="int64")
    assert dl.argmax(a, axis=0, keepdims=True, out=out) is out


@pytest.mark.parametrize("name", REDUCTIONS)
def test_out_may_share_memory_with_the_operand(name):
    result = dl.asarray(getattr(dl, name)(dl.zeros(2))).dtype
    a = (np.arange(64 * 64) % 7 - 3).astype(str(result).replace("dltensor.", "")).reshape(64, 64)
    for out_of in (lambda x: x[0], lambda x: x[:, 3], lambda x: x[63, ::-1]):
        memory = a.copy()
        wanted = getattr(dl, name)(a, axis=0)
        assert getattr(dl, name)(memory, axis=0, out=out_of(memory)).tolist() == wanted.tolist()


@pytest.mark.parametrize("n", [64, 1000, 4096, 100_000])
def test_squares_that_a_plain_sum_would_lose_decide_a_tie(n):
    # Half of the squares are 4097**2, which lies half way between two float32; the others are too small to change a
    # float64 sum of them.
    large, small = np.float32(4097), np.float32(4097 * 2.0**-26)
    values = np.tile(np.array([large, -large, small, -small], "f4"), n // 4)
    wanted = exact.round_ratio(2**24 + 2**13 + 2, 2, exact.FORMATS["float32"])  # the upper one
    assert wanted == 16785410 / 2
    assert dl.var(values).item() == wanted
    assert dl.var(np.repeat(values[:, None], 40, axis=1), axis=0).tolist() == [wanted] * 40
    assert dl.var(np.repeat(values[None], 3, axis=0), axis=1).tolist() == [wanted] * 3
    assert dl.var(values.astype("c8")).item() == wanted
    assert dl.var(values * np.complex64(1j)).item() == wanted


@pytest.mark.parametrize("mean", [0.0, 2.5, 3.9, 4.1, 50.0])
@pytest.mark.parametrize("n", [63, 64, 200, 5000])
def test_variances_of_blocks_with_some_far_from_zero(n, mean):
    rng = np.random.default_rng(n)
    values = (rng.standard_normal((40, n)) + mean).astype("f4")
    values[::3, n // 2 :] += 1000  # other blocks
    wanted = [rounded(exact_reduction("var", row.tolist()), "float32") for row in values]
    assert dl.var(values, axis=1).tolist() == wanted
    assert dl.var(np.ascontiguousarray(values.T), axis=0).tolist() == wanted


@pytest.mark.parametrize("n", [1, 2, 70, 5000])
@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, -3e38, 1e-45])
def test_what_does_not_vary_has_no_variance(n, value):
    for dtype in ("float32", "complex64", "float64"):
        assert dl.var(dl.full(n, value, dtype=dtype)).item() == 0.0
    mixed = np.full(n, value, "f4") + 1j * np.arange(n, dtype="f4")
    assert dl.var(mixed.astype("c8")).item() == rounded(exact_reduction("var", list(range(n))), "float32")
    for bad in (INF, -INF, math.nan):
        assert math.isnan(dl.var(dl.full(n, bad)).item())
        assert math.isnan(dl.var(mixed.astype("c8") + np.complex64(bad)).item())
    masked = dl.var(dl.full(n, value), where=dl.arange(n) == 0).item()
    assert masked == 0.0


# -- the same bits ----------------------------------------------------------------------------------------------------


def bits_of(x):
    return x.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_no_order_of_elements_shows(name, dtype):
    rng = np.random.default_rng(9)
    real = dtype.replace("complex64", "float32")
    a = (rng.standard_normal(3000) * 2.0 ** rng.integers(-30, 30, 3000)).astype(real).view(dtype)
    wanted = bits_of(getattr(dl, name)(a).numpy().reshape(1))
    for _ in range(20):
        rng.shuffle(a)
        assert bits_of(getattr(dl, name)(a).numpy().reshape(1)) == wanted
    cube = a[:1440].reshape(8, 9, 20)
    wanted = bits_of(getattr(dl, name)(cube, axis=(0, 2)).numpy())
    for order in itertools.permutations(range(3)):
        moved = np.ascontiguousarray(cube.transpose(order)).transpose(np.argsort(order))
        assert bits_of(getattr(dl, name)(moved, axis=(2, 0)).numpy()) == wanted


def all_bits():
    """A digest of every reduction over tensors that several threads share, in layouts that need staging too."""
    made = []
    rng = np.random.default_rng(4)
    plane = (rng.standard_normal((900, 700)) * 2.0 ** rng.integers(-20, 20, (900, 700))).astype("f4")
    plane[17, 33] = -0.0
    for dtype in ("float32", "float64", "float16", "complex64", "int32", "uint8", "bool"):
        with np.errstate(all="ignore"):
            a = (plane if np.dtype(dtype).kind in "fc" else plane * 9).astype(dtype)
        if dtype == "complex64":
            a.imag = plane[::-1]
        for name in REDUCTIONS:
            if not takes(name, dtype):
                continue
            for x, axis in itertools.product((a, a.T, a[::2, ::-1]), (None, 0, 1)):
                near = x / 1e3 + 1 if name == "prod" and x.dtype.kind == "f" else x
                made.append(
                    bits_of(
                        getattr(dl, name)(
                            near.astype(dtype, copy=False) if near is not x else x, axis=axis, keepdims=True
                        ).numpy()
                    )
                )
    return made


def digest():
    import hashlib

    return hashlib.sha256(b"".join(all_bits())).hexdigest()


@pytest.mark.parametrize("width", [2, 3, 7, 8, 15, 16, 17, 33, 64, 127, 128, 300])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_short_rows_have_the_bits_of_columns(name, width):
    reduction = getattr(dl, name)
    for dtype in COMPUTED:
        plain = "float32" if dtype == "bfloat16" else dtype
        if KIND[np.dtype(plain).kind] not in REDUCTIONS[name]["kinds"]:
            continue
        x = dl.astype(dl.asarray(numbers(plain, (3, 131, width + 2))), dtype)
        for rows in (x[0, :, :width], x[1, ::-1, 1:-1], x[2, :33, 1 + width : 1 : -1], x[:, :32, 2:]):
            columns = dl.copy(dl.moveaxis(rows, -1, 0))
            assert reduction(rows, axis=-1).tobytes() == reduction(columns, axis=0).tobytes(), (dtype, rows.strides)


# Rows of few columns: taken several at a time, in blocks, and by two threads where they are many bytes.
@pytest.mark.parametrize("shape", [(255, 3), (300, 5), (1025, 10), (4097, 7), (5000, 31), (1100, 40), (150_000, 2)])
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if not name.startswith("arg")])
def test_tall_columns_have_the_bits_of_each_alone(name, shape):
    reduction, rng = getattr(dl, name), np.random.default_rng(len(name) + shape[0])
    for dtype in ("float32", "float64", "bfloat16", "float16", "int32", "uint8"):
        plain = "float32" if dtype == "bfloat16" else dtype
        if KIND[np.dtype(plain).kind] not in REDUCTIONS[name]["kinds"]:
            continue
        values = rng.standard_normal(shape) * (30 if dtype in ("int32", "uint8") else 1)
        if plain.startswith("float"):
            values[:, -1] *= np.exp2(rng.integers(-14, 14, shape[0]))  # no sum of them is exact
            values[:, 0] = np.round(values[:, 0] * 8)
        x = dl.astype(dl.asarray(values), dtype)
        wider = dl.zeros((shape[0], shape[1] + 3), dtype=dtype)
        wider[:, 1:-2] = x
        wanted = dl.stack([reduction(dl.copy(x[:, c])) for c in range(shape[1])])
        for rows in (x, wider[:, 1:-2], dl.flip(dl.copy(dl.flip(x, axis=0)), axis=0)):
            assert reduction(rows, axis=0).tobytes() == wanted.tobytes(), (dtype, rows.strides)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_one_column_that_is_not_finite_leaves_the_others(value):
    x = np.random.default_rng(2).standard_normal((3000, 6)).astype("f4")
    x[1234:1236, 2] = value
    found = dl.sum(dl.asarray(x), axis=0).numpy()
    alone = [dl.sum(dl.asarray(x[:, c].copy())).item() for c in range(6)]
    np.testing.assert_array_equal(found, np.array(alone, "f4"))


def test_no_number_of_threads_shows():
    before = dl.num_threads()
    try:
        dl.set_num_threads(1)
        wanted = all_bits()
        for threads in (2, 3, 8):
            dl.set_num_threads(threads)
            assert all_bits() == wanted
    finally:
        dl.set_num_threads(before)


def test_no_instruction_set_shows():
    levels = [level for level in dl.cpu_features()["supported"] if level != dl.cpu_features()["used"]]
    if not levels:
        pytest.skip("this processor has one level")
    here = digest()
    for level in levels:
        made = subprocess.run(
            [sys.executable, "-c", "import test_reductions as t; print(t.digest())"],
            env=os.environ | {"DLTENSOR_CPU": level, "PYTHONPATH": MODULES},
            capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
        )  # fmt: skip
        assert made.stdout.strip() == here, level


def test_products_of_floats_have_one_order():
    rng = np.random.default_rng(8)
    a = rng.uniform(0.9, 1.1, (300000,)).astype("f8")
    lanes = np.ones(16)
    total = group = 1.0
    for start in range(0, a.size, 4096):
        lanes[:] = 1
        for row in range(start, min(start + 4096, a.size), 16):
            part = a[row : min(row + 16, a.size)]
            lanes[: part.size] *= part
        tree = lanes.copy()
        while tree.size > 1:
            tree = tree[: tree.size // 2] * tree[tree.size // 2 :]
        group *= float(tree[0])
        if (start // 4096 + 1) % 64 == 0 or start + 4096 >= a.size:
            total, group = total * group, 1.0
    assert dl.prod(a).item() == total
    columns = np.stack([a, a[::-1]], 1)
    assert dl.prod(columns, axis=0).tolist() == [dl.prod(a).item(), dl.prod(a[::-1]).item()]


# -- operands ---------------------------------------------------------------------------------------------------------


def test_broadcast_and_zero_stride_operands_count_every_element():
    x = dl.broadcast_to(dl.asarray([[1.5], [2.0]]), (2, 1000))
    assert dl.sum(x, axis=1).tolist() == [1500.0, 2000.0]
    assert dl.sum(x, axis=0).tolist() == [3.5] * 1000
    assert dl.argmax(x, axis=1).tolist() == [0, 0]
    assert dl.std(dl.broadcast_to(dl.asarray(0.1), (300, 400))).item() == 0


def test_64_dimensions_are_reduced():
    x = dl.reshape(dl.arange(8), (2, 2, 2) + (1,) * 61)
    assert dl.sum(x).item() == 28
    assert dl.sum(x, axis=tuple(range(0, 64, 2)), keepdims=True).shape == (1, 2) + (1,) * 62


class Hostile:
    """An axis that changes the array which is being reduced."""

    def __init__(self, array):
        self.array = array

    def __index__(self):
        self.array.resize(2, refcheck=False)
        return 0


def test_arguments_are_converted_before_a_tensor_is_read():
    a = np.ones(100000)
    assert dl.sum(a, axis=Hostile(a)).item() == 2.0


def test_methods_are_the_functions():
    x = dl.asarray([[1.0, 5.0], [7.0, 3.0]])
    for name, row in REDUCTIONS.items():
        if name == "count_nonzero":
            continue
        assert getattr(x, name)(0).tolist() == getattr(dl, name)(x, axis=0).tolist()
        assert getattr(x, name)(axis=1, keepdims=True).shape == (2, 1)
        assert getattr(x, name)().tolist() == getattr(dl, name)(x).tolist(), row


def test_methods_have_the_parameters_and_the_text_of_their_row():
    methods = [name for name in REDUCTIONS if name != "count_nonzero"]  # a spelling, which calls the function
    for name in methods:
        method, row = getattr(dl.Tensor, name), REDUCTIONS[name]
        assert list(inspect.signature(method).parameters) == ["self", "axis", "keepdims", "out", *row["takes"]]
        assert method.__doc__.startswith(row["doc"])
        assert "`x`" not in method.__doc__
        assert f".{name}()\n" in method.__doc__
        assert method.__qualname__ == f"Tensor.{name}"
        assert method is vars(dl.Tensor)[name]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: x.sum(0, True),
            "sum: expected at most 1 positional argument, the axis, got 2",
        ),
        (lambda x: x.sum(0, axis=1), "sum: axis is given twice"),
        (lambda x: x.max(dtype="int8"), "max: there is no parameter 'dtype'; help(dltensor.max) lists what there is"),
        (lambda x: dl.Tensor.sum(), "unbound method Tensor.sum() needs an argument"),
        (lambda x: dl.Tensor.sum(3), "descriptor 'sum' for 'dltensor.Tensor' objects doesn't apply to a 'int' object"),
    ],
)
def test_methods_refuse_wrong_arguments(call, text):
    with pytest.raises(TypeError) as caught:
        call(dl.zeros((2, 3)))
    assert text in str(caught.value)


def test_a_method_is_called_from_the_class_and_pickled():
    x = dl.asarray([1, 2])
    assert dl.Tensor.sum(x, axis=None, keepdims=True).tolist() == [3]
    assert pickle.loads(pickle.dumps(x.sum))().item() == 3


# -- what is refused --------------------------------------------------------------------------------------------------

X = dl.zeros((2, 3))
READ_ONLY = np.zeros(3, "f4")
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dl.sum(X, axis=2), IndexError, "sum: axis 2 is out of range for 2 dimensions; expected -2 to 1"),
        (lambda: dl.sum(X, axis=-3), IndexError, "sum: axis -3 is out of range for 2 dimensions"),
        (lambda: dl.sum(X, axis=2**70), IndexError, "sum: axis 1180591620717411303424 is out of range"),
        (lambda: dl.sum(X, axis=(0, -2)), ValueError, r"sum: axis \(0, -2\) names dimension 0 twice"),
        (lambda: dl.argmax(X, axis=(0, 1)), TypeError, "argmax: axis must be an integer or None, got tuple"),
        (lambda: dl.sum(X, axis=1.0), TypeError, "sum: axis must be an integer, a sequence of integers or None, got f"),
        (lambda: dl.sum(X, axis="01"), TypeError,
         "sum: axis must be an integer, a sequence of integers or None, got str"),
        (lambda: dl.mean(X, dtype="int8"), TypeError, "mean: dtype must be a float or complex one, got int8"),
        (lambda: dl.mean(X.astype("complex64"), dtype="float32"), TypeError, "mean: complex64 to float32 would drop"),
        (lambda: dl.sum(dl.zeros(2, dtype="int64"), initial=2**63), OverflowError,
         "sum: 9223372036854775808 is outside"),
        (lambda: dl.sum(dl.zeros(2, dtype="uint8"), initial=-1), OverflowError, "sum: -1 is outside uint64"),
        (lambda: dl.sum(dl.zeros(2), dtype="int8", initial=128), OverflowError, "sum: 128 is outside int8"),
        (lambda: dl.sum(X, 0, None), TypeError, "sum: expected 1 or 2 positional arguments, x and axis, got 3"),
        (lambda: dl.sum(X, ddof=1), TypeError, "sum: there is no parameter 'ddof'"),
        (lambda: dl.max(X, dtype="int8"), TypeError, "max: there is no parameter 'dtype'"),
        (lambda: dl.sum("12"), TypeError, "sum: expected a tensor"),
        (lambda: dl.max(dl.zeros((2, 0)), axis=1), ValueError,
         r"max: a tensor of shape \(2, 0\) has no elements there, and the result of none is not defined; give initial"),
        (lambda: dl.argmin(dl.zeros(0)), ValueError, r"argmin: a tensor of shape \(0,\) has no elements there"),
        (lambda: dl.max(dl.zeros(2, dtype="complex64")), TypeError, "max: not defined for complex64; it takes bool"),
        (lambda: dl.sum(dl.zeros(2, dtype="int4")), TypeError, "sum: int4 has no arithmetic"),
        (lambda: dl.sum(X, dtype="float8_e5m2"), TypeError, "sum: float8_e5m2 has no arithmetic"),
        (lambda: dl.sum(X.astype("complex64"), dtype="float32"), TypeError, "would drop the imaginary part"),
        (lambda: dl.sum(X, dtype="int8", saturate=True), TypeError, "sum: saturate=True keeps the tensor's dtype"),
        (lambda: dl.sum(X, axis=0, out=dl.zeros(2)), ValueError,
         r"sum: the result has shape \(3,\), out has shape \(2,\); give an out of that shape"),
        (lambda: dl.sum(X, axis=0, out=READ_ONLY), ValueError, "sum: out is read-only"),
        (lambda: dl.sum(X, axis=0, out=dl.zeros(3, dtype="int64")), TypeError,
         "sum: the result is float32, out is int64; give an out of that dtype"),
        (lambda: dl.sum(X, out=dl.broadcast_to(dl.zeros(1), (3,)), axis=0), ValueError, "sum: "),
        (lambda: dl.sum(X, where=dl.zeros(3)), TypeError, "sum: where must be a tensor of bool, got float32"),
        (lambda: dl.sum(X, where=dl.zeros(2, dtype="bool")), ValueError,
         r"sum: where has shape \(2,\), which does not broadcast to \(2, 3\)"),
        (lambda: dl.max(X, where=dl.zeros(3, dtype="bool")), ValueError, "max: where may leave no element"),
        (lambda: dl.sum(dl.zeros(2, dtype="int32"), initial=1.5), TypeError, "sum: initial is 1.5, and elements are"),
        (lambda: dl.max(dl.zeros(2, dtype="int8"), initial=200), OverflowError, "max: 200 is outside int8"),
        (lambda: dl.nanmax(dl.zeros((2, 0)), axis=1), ValueError, "nanmax: a tensor of shape .* the result of none"),
        (lambda: dl.nanmin(dl.zeros(2, dtype="complex64")), TypeError, "nanmin: not defined for complex64"),
        (lambda: dl.nansum(X, axis=2), IndexError, "nansum: axis 2 is out of range"),
        (lambda: dl.nanmean(X, dtype="int32"), TypeError, "nanmean: dtype must be a float or complex one, got int32"),
        (lambda: dl.nanvar(X, dtype="int32"), TypeError, "nanvar: dtype must be a float or complex one, got int32"),
        (lambda: dl.nanstd(X, correction=math.inf), ValueError, "nanstd: correction must be a finite real number"),
        (lambda: dl.nansum(X, out=dl.zeros(2)), ValueError, "nansum: the result has shape"),
        (lambda: dl.var(X, correction=math.inf), ValueError, "var: correction must be a finite real number"),
        (lambda: dl.var(X, correction="1"), TypeError, "var: correction"),
        (lambda: dl.sum(dl.wrap(4096, (3,), "float32", device="rocm", owner=object())), dl.DeviceError,
         "sum: nothing here computes on rocm:0; move the tensor with its own framework"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_after_an_error_out_is_as_before():
    out = dl.full(3, 9.0)
    for options in ({"axis": 5}, {"where": dl.zeros(2, dtype="bool")}, {"axis": 1}):
        with pytest.raises((IndexError, ValueError)):
            dl.sum(X, out=out, **options)
    assert out.tolist() == [9, 9, 9]


@pytest.mark.parametrize("dtype", [name for name in NUMPY_DTYPES if not name.startswith("complex")])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_extreme_of_long_lines_and_of_many_rows(name, dtype):
    kind = np.dtype(dtype)
    rng = np.random.default_rng(11)
    for shape in [(5000,), (2049,), (64, 3), (300, 5), (33000, 2), (700, 600)]:
        a = rng.integers(0, 2 if kind.kind == "b" else 100, shape).astype(dtype)
        lowest = -np.inf if kind.kind == "f" else False if kind.kind == "b" else np.iinfo(dtype).min
        highest = np.inf if kind.kind == "f" else True if kind.kind == "b" else np.iinfo(dtype).max
        some = a.copy()
        some.reshape(-1)[[a.size // 3, a.size // 2]] = highest
        some.reshape(-1)[[a.size // 4, a.size // 2 + 1]] = lowest
        cases = [a, some, np.full(shape, lowest, dtype), np.full(shape, highest, dtype)]
        if kind.kind == "f":
            nan, zeros = some.copy(), -np.abs(a)
            nan.reshape(-1)[[a.size - 1, a.size - 2]] = [np.nan, -np.nan]
            cases += [nan, zeros, np.where(a > 50, -0.0, 0.0).astype(dtype)]
        for case in cases:
            for axis in (None, *range(case.ndim)):
                assert np.array_equal(getattr(dl, name)(case, axis=axis).numpy(), getattr(np, name)(case, axis=axis))


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "uint32", "float32", "int64", "float64"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_any_number_of_rows(name, dtype):
    for rows, columns in itertools.product(range(1, 10), (1, 15, 64, 1030)):
        a = numbers(dtype, (rows, columns))
        want = getattr(np, name)(a, axis=0)
        for x in (a, a[::-1], np.asfortranarray(a)):
            assert getattr(dl, name)(x, axis=0).numpy().tobytes() == want.tobytes()
        if "float" in dtype:
            for row in range(rows):
                a[row, :: row + 2] = np.nan
            np.testing.assert_array_equal(getattr(dl, name)(a, axis=0).numpy(), getattr(np, name)(a, axis=0))


def nearest_float32(exact):
    """The float32 nearest to a fraction, half to even."""
    near = np.float32(float(exact))
    with np.errstate(over="ignore"):
        around = [near, np.nextafter(near, np.float32(INF)), np.nextafter(near, np.float32(-INF))]
    return min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view("u4")) & 1)) + np.float32(0)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 12, 31, 33, 48, 63, 64, 65, 255, 257, 700, 2048])
def test_sums_and_means_of_few_float32_are_rounded_once(n):
    rng = np.random.default_rng(n)
    normal, columns = rng.standard_normal((n, 37)), 37
    quarters = rng.integers(-40, 40, (n, columns)) / 4
    wide = normal * 2.0 ** rng.integers(-140, 100, (n, columns))  # subnormal ones too, and no plain sum is exact
    tiny = rng.integers(-5, 6, (n, columns)) * 2.0**-149
    for values in (normal, quarters, wide, tiny, normal * 2.0**-130):
        x = values.astype("f4")
        exact = [sum(map(Fraction, column)) for column in x.astype("f8").T.tolist()]
        for made in (dl.sum(x, axis=0), dl.sum(x.T.copy(), axis=1), dl.sum(x[::-1], axis=0)):
            assert made.tolist() == [nearest_float32(total) for total in exact]
        for made in (dl.mean(x, axis=0), dl.mean(x.T.copy(), axis=-1)):
            assert made.tolist() == [nearest_float32(total / n) for total in exact]
        for initial in (-1.0, 0.1, -float(exact[0])):
            wanted = [nearest_float32(total + Fraction(initial)) for total in exact]
            for y, axis in ((x, 0), (x.T.copy(), 1)):
                assert dl.sum(y, axis=axis, initial=initial).tolist() == wanted
        pairs = dl.sum((x + 1j * x[:, ::-1]).astype("c8"), axis=0)
        assert pairs.tolist() == [
            complex(nearest_float32(a), nearest_float32(b)) for a, b in zip(exact, exact[::-1], strict=True)
        ]
        out = dl.empty((2 * columns,), dtype="float32")[::2]
        assert dl.sum(x, axis=0, out=out).tolist() == dl.sum(x, axis=0).tolist()


@pytest.mark.parametrize("correction", [0, 1, 2.5])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 17, 33, 64])
def test_variances_of_few_float32_are_rounded_once(n, correction):
    if n <= correction:
        pytest.skip("the divisor is not above zero")
    rng = np.random.default_rng(n)
    normal = rng.standard_normal((n, 41))
    wide = normal * 2.0 ** rng.integers(-60, 60, (n, 41))
    for values in (normal, rng.integers(-4, 5, (n, 41)), normal + 1e4, wide, normal * 1e-42, np.full((n, 41), 0.1)):
        x = values.astype("f4")
        columns = [list(map(Fraction, column)) for column in x.astype("f8").T.tolist()]
        means = [sum(column) / n for column in columns]
        exact = [
            sum((v - mean) ** 2 for v in column) / (n - Fraction(correction))
            for column, mean in zip(columns, means, strict=True)
        ]
        for y, axis in ((x, 0), (x.T.copy(), 1), (np.asfortranarray(x), 0)):
            made = dl.var(y, axis=axis, correction=correction).numpy()
            assert made.tolist() == [nearest_float32(one) for one in exact]
            roots = dl.std(y, axis=axis, correction=correction).numpy()
            above, below = np.nextafter(roots, np.float32(INF)), np.nextafter(roots, np.float32(-INF))
            for root, up, down, one in zip(roots.tolist(), above.tolist(), below.tolist(), exact, strict=True):
                middles = [(Fraction(root) + Fraction(other)) / 2 for other in (down, up)]
                assert max(middles[0], 0) ** 2 <= one <= middles[1] ** 2
    x = normal.astype("f4")
    x[0, 3], x[-1, 5], x[0, 7] = np.inf, np.nan, -np.inf
    everything = np.ones(x.shape, bool)
    for narrow in (dl.asarray(x), dl.asarray(x).astype("bfloat16"), dl.asarray(x).astype("float16")):
        made = dl.std(narrow, axis=0, correction=correction)
        assert made.tobytes() == dl.std(narrow, axis=0, correction=correction, where=everything).tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 16, 33, 64])
def test_sums_and_means_of_few_float64_are_rounded_once(n):
    rng = np.random.default_rng(n)
    normal = rng.standard_normal((n, 131))
    halves = rng.integers(2**52, 2**53, (n, 131)).astype("f8")  # most means are ties
    wide = normal * 2.0 ** rng.integers(-1000, 900, (n, 131))
    for x in (normal, halves, wide, rng.integers(-5, 6, (n, 131)) * 2.0**-1074, np.zeros((n, 131))):
        columns = x.T.tolist()
        for made in (dl.sum(x, axis=0), dl.sum(x.T.copy(), axis=1)):
            assert made.tolist() == list(map(math.fsum, columns))
        exact = [float(sum(map(Fraction, column)) / n) for column in columns]
        for made in (dl.mean(x, axis=0), dl.mean(x.T.copy(), axis=1)):
            assert made.tolist() == exact
    x = normal.copy()
    x[0, 3], x[-1, 5], x[0, 7] = np.inf, np.nan, 1.7e308
    made, everything = dl.sum(x, axis=0), np.ones(x.shape, bool)
    assert made.tobytes() == dl.sum(x, axis=0, where=everything).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 7, 15, 16, 17, 31, 47, 48, 100, 256, 257, 4096, 4097, 8192])
def test_products_of_few_elements_have_the_bits_of_those_under_a_mask(n, dtype):
    rng = np.random.default_rng(n)
    x = (rng.uniform(0.97, 1.03, (n, 53)) * rng.choice([-1, 1], (n, 53))).astype(dtype)
    x[0, 1], x[-1, 2], x[0, 3] = np.inf, np.nan, 0
    everything = np.ones(x.shape, bool)
    expected = dl.prod(x, axis=0, where=everything).tobytes()
    assert dl.prod(x, axis=0).tobytes() == expected
    assert dl.prod(x.T.copy(), axis=1).tobytes() == expected
    assert dl.prod(np.asfortranarray(x), axis=0).tobytes() == expected


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_means_of_few_numbers_between_two_of_a_narrow_dtype(n, dtype):
    """Of small integers many means lie in the middle of two numbers of 8 bits."""
    x = np.random.default_rng(n).integers(0, 1000 if dtype == "float64" else 250, (n, 200)).astype("f4")
    wanted = dl.asarray([float(Fraction(int(total), n)) for total in x.sum(0)], dtype="float64")
    made = dl.mean(dl.astype(dl.asarray(x), dtype), axis=0)
    if dtype != "bfloat16" or n in (2, 6):
        assert made.tolist() == dl.astype(wanted, dtype).tolist()
    assert dl.mean(dl.asarray(x), axis=0, dtype="float64").tolist() == wanted.tolist()


def test_few_elements_that_are_not_finite():
    x = np.zeros((3, 40), "f4")
    x[0, 3], x[1, 3], x[0, 5], x[2, 7] = np.inf, -np.inf, np.inf, np.nan
    for function in (dl.sum, dl.mean):
        np.testing.assert_array_equal(
            function(x, axis=0).numpy()[[3, 5, 7, 8]], np.array([np.nan, np.inf, np.nan, 0], "f4")
        )
    large = np.full((3, 40), 3e38, "f4")
    assert set(dl.sum(large, axis=0).tolist()) == {INF}
    assert set(dl.mean(large, axis=0).tolist()) == {float(np.float32(3e38))}
    assert not np.signbit(dl.sum(np.full((2, 40), -0.0, "f4"), axis=0).numpy()).any()


def test_sums_of_rows_of_any_span_are_exact_in_every_group_of_rows():
    rng = np.random.default_rng(12)
    for rows, columns in [(7, 33), (8, 16), (9, 1100), (64, 17), (71, 64), (200, 1025)]:
        a = (rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-20, 20, (rows, columns))).astype("f4")
        for array in (a, rng.standard_normal((rows, columns)).astype("f4")):
            wanted = np.array([math.fsum(column) for column in array.T.tolist()]).astype("f4")
            assert np.array_equal(dl.sum(array, axis=0).numpy(), wanted)


@pytest.mark.parametrize("n", [3, 10, 31, 32, 33, 100, 4097, 40_003])
def test_sums_far_smaller_than_their_elements_are_exact(n):
    """Read again with the errors of errors: as runs, rows, backwards, complex numbers, under a mask, in float32."""
    values = np.random.default_rng(n).standard_normal((4, n))
    values -= values.mean(axis=1, keepdims=True)
    values[3, : n // 2], values[3, n - n // 2 :] = 0.1, -0.1
    totals = [math.fsum(row) for row in values]
    x = dl.asarray(values)
    assert dl.sum(x, axis=1).tolist() == totals
    assert dl.sum(x[:, ::-1], axis=1).tolist() == totals
    assert dl.sum(dl.asarray(values.T.copy()), axis=0).tolist() == totals
    assert dl.mean(x, axis=1).tolist() == [float(sum(map(Fraction, row.tolist())) / n) for row in values]
    pairs = values[0] + 1j * values[3]
    assert dl.sum(dl.asarray(pairs)).item() == complex(totals[0], totals[3])
    assert dl.sum(dl.asarray(values[0] + 0j)).item() == totals[0]
    keep = np.random.default_rng(n).random(n) < 0.9
    assert dl.sum(x, axis=1, where=dl.asarray(keep)).tolist() == [math.fsum(row[keep]) for row in values]
    narrow = values.astype("f4")
    assert dl.sum(dl.asarray(narrow), axis=1).tolist() == [np.float32(math.fsum(row)) for row in narrow]


@pytest.mark.parametrize("n", [3, 16, 33, 200, 2000])
@pytest.mark.parametrize("gap", [30, 53, 54, 60, 104, 107, 160, 300, 600])
def test_sums_are_exact_where_large_elements_leave_small_ones_only(n, gap):
    """Elements of two sizes, the larger of which cancel: the rest has more bits than two words keep."""
    random = np.random.default_rng(n + gap)
    values = random.standard_normal((6, n)) * 2.0**-gap
    values[:, 0], values[:, n // 2] = 1.0, -1.0
    values[3, 0] = np.nextafter(1, 2)
    values[4, 1:] = 2.0 ** -(gap + 53)  # half a unit of the next one, many times over
    values[4, n // 2], values[5, n // 2] = -1 + 2.0**-gap, 0
    wanted = [math.fsum(row) for row in values]
    assert dl.sum(values, axis=1).tolist() == wanted
    assert dl.sum(values.T.copy(), axis=0).tolist() == wanted
    assert dl.sum(values[:, 1:], axis=1, initial=1.0).tolist() == [math.fsum([1.0, *row[1:]]) for row in values]
    assert dl.sum(values[0] + 1j * values[4]).item() == complex(wanted[0], wanted[4])


def test_means_between_two_floats_are_rounded_to_even():
    """Of two numbers, half of the means that are no float64 lie in the middle of two."""
    values = np.random.default_rng(0).integers(1 << 52, 1 << 53, (4, 1000)).astype("f8")
    for n in (2, 4):
        wanted = [float(Fraction(sum(map(int, column)), n)) for column in values[:n].T]
        assert dl.mean(dl.asarray(values[:n]), axis=0).tolist() == wanted
        assert dl.mean(dl.asarray(values[:n].T.copy()), axis=1).tolist() == wanted


@pytest.mark.parametrize("exponent", range(32))
def test_sums_of_many_elements_of_one_magnitude_that_cancel_are_exact(exponent):
    # The sum is made by integers then, in words of which the place of a mantissa depends on the exponent.
    values = np.ldexp(1 + np.random.default_rng(exponent).random(20_000), exponent)
    values = np.append(values, -math.fsum(values))
    assert dl.sum(values).item() == math.fsum(values)
    assert dl.mean(values).item() == float(sum(map(Fraction, values.tolist())) / values.size)


def _float64_runs():
    random = np.random.default_rng(26)
    normal = random.standard_normal(150_001)
    yield "normal", normal
    yield "integers", np.trunc(1000 * normal)
    yield "integers, then fractions", np.where(np.arange(normal.size) < 70_000, np.trunc(1000 * normal), normal)
    yield "one far larger in the middle of a block", np.where(np.arange(normal.size) == 70_001, 2.0**80, normal)
    yield (
        "one far larger taken back",
        np.where(np.arange(normal.size) % 75_000 == 7, 2.0**90, 0) * np.sign(normal) + normal,
    )
    yield "exponents of the whole range", normal * 2.0 ** random.integers(-1000, 900, normal.size)
    yield "beyond what a block can take", 2.0**1005 * normal[:9000]
    yield "subnormal", normal[:9000] * 2.0**-1060
    yield "centered", np.concatenate([normal, -normal[::-1]])
    yield "nearly centered", np.concatenate([normal, [2.0**-70], -normal[::-1]])
    for n in (511, 512, 513, 543, 4095, 4097, 131_072, 131_073):
        yield f"{n} normal", normal[:n]


@pytest.mark.parametrize(
    ("name", "array"), list(_float64_runs()), ids=lambda part: part if isinstance(part, str) else "array"
)
def test_long_sums_of_float64_are_exact_for_any_number_of_threads(name, array):
    before = dl.num_threads()
    try:
        for threads in (1, 2, 5, 8):
            dl.set_num_threads(threads)
            for part in (array, array[1:]):
                found = float(dl.sum(dl.asarray(part)))
                assert found == math.fsum(part), (name, threads)
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("n", [512, 5000, 200_000])
def test_long_sums_of_zeros_and_specials_of_float64(n):
    minus = np.full(n, -0.0)
    assert math.copysign(1, float(dl.sum(dl.asarray(minus)))) == 1
    for place in (0, n // 2, n - 1):
        mixed = minus.copy()
        mixed[place] = 0.0
        assert math.copysign(1, float(dl.sum(dl.asarray(mixed)))) == 1
        mixed[place] = np.inf
        assert float(dl.sum(dl.asarray(mixed))) == np.inf
        mixed[(place + 300) % n] = -np.inf
        assert math.isnan(float(dl.sum(dl.asarray(mixed))))
    pair = minus.copy()
    pair[1], pair[n - 1] = 3.5, -3.5
    assert math.copysign(1, float(dl.sum(dl.asarray(pair)))) == 1


@pytest.mark.parametrize("name", ["var", "std", "mean", "sum", "prod", "max", "min"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 65, 300, 513])
def test_few_rows_have_the_bits_of_each_column_alone(name, rows):
    random = np.random.default_rng(rows)
    far = random.choice([0.0, 1e9, 1e16], size=(1, 37))
    odd = random.normal(size=(rows, 37))
    odd[random.random(odd.shape) < 0.05] = random.choice([np.inf, np.nan, 0.0, -0.0, 5e-324, 1e308])
    tied = np.round(random.normal(size=(rows, 37)) * 50)
    scaled = random.normal(size=(rows, 37)) * 10.0 ** random.integers(-300, 300, size=(1, 37))
    for x in (random.normal(size=(rows, 37)) + far, odd, tied, scaled, np.repeat(scaled[:1], rows, 0)):
        for dtype in ("float64", "float32", "float16"):
            with np.errstate(over="ignore"):
                t = dl.asarray(x.astype(dtype))
            for correction in (0, 1) if name in ("var", "std") else (None,):
                options = {} if correction is None else {"correction": correction}
                whole = getattr(dl, name)(t, axis=0, **options)
                alone = dl.stack([getattr(dl, name)(t[:, k].copy(), **options) for k in range(37)])
                nan = dl.isnan(whole) & dl.isnan(alone)
                word = f"uint{8 * whole.itemsize}"
                assert dl.all(nan | (whole.view(word) == alone.view(word))), (dtype, correction)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 15, 16, 33, 128, 129, 1000, 9000])
def test_dots_of_short_rows_have_the_bits_of_each_row_alone(size, dtype):
    random = np.random.default_rng(size)
    x, y = random.normal(size=(2, 41, size))
    zero = y.copy()
    zero[:, 0] = -(x[:, 1:] * y[:, 1:]).sum(1) / x[:, 0]
    odd = x.copy()
    odd[random.random(odd.shape) < 0.1] = random.choice([np.inf, np.nan, 0.0, -0.0, 1e-320])
    for a, b in ((x, y), (x, zero), (odd, y), (np.round(x * 9), np.round(y * 9)), (x * 1e-160, y)):
        a, b = dl.astype(dl.asarray(a), dtype), dl.astype(dl.asarray(b), dtype)
        whole, alone = dl.vecdot(a, b), dl.stack([dl.vecdot(a[k].copy(), b[k].copy()) for k in range(41)])
        word = f"uint{8 * whole.itemsize}"
        assert dl.all((dl.isnan(whole) & dl.isnan(alone)) | (whole.view(word) == alone.view(word)))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_broadcast_axis_repeats_its_results(name):
    """A kept axis is reduced once, and equal elements along a reduced one are one element so many times."""
    for dtype in COMPUTED:
        plain = "float32" if dtype == "bfloat16" else dtype
        if KIND[np.dtype(plain).kind] not in REDUCTIONS[name]["kinds"]:
            continue
        x = dl.astype(dl.asarray(numbers(plain, (5, 1, 3, 1))), dtype)
        wide = dl.broadcast_to(x, (5, 7, 3, 4))
        for axis in (0, 2, 1, 3):
            wanted = getattr(dl, name)(dl.copy(wide), axis=axis)
            assert getattr(dl, name)(wide, axis=axis).tobytes() == wanted.tobytes(), (dtype, axis)
            out = dl.permute_dims(dl.zeros(wanted.shape[::-1], dtype=wanted.dtype), (2, 1, 0))
            assert getattr(dl, name)(wide, axis=axis, out=out) is out
            assert out.tobytes() == wanted.tobytes(), (dtype, axis)
        mask = dl.broadcast_to(dl.asarray([True, False, True])[:, None], (5, 7, 3, 4))
        made = getattr(dl, name)(wide, axis=0, where=mask) if name not in ("argmax", "argmin", "max", "min") else None
        if made is not None:
            assert made.tobytes() == getattr(dl, name)(dl.copy(wide), axis=0, where=dl.copy(mask)).tobytes(), dtype


@pytest.mark.parametrize("size", [15, 16, 17, 40, 100, 1000, 5000])
def test_sums_of_rows_where_they_lie_are_rounded_once(size):
    """Rows of float64 where many sums lie between two numbers, and where elements cancel."""
    rng = np.random.default_rng(size)
    tied = rng.integers(2**52, 2**53, (40, size)).astype("f8")
    far = rng.standard_normal((40, size)) * 10.0 ** rng.integers(-30, 30, (40, size))
    opposite = np.concatenate([far, -far[:, ::-1]], axis=1)
    for a in (tied, far, opposite):
        assert dl.sum(a, axis=1).tolist() == [math.fsum(row) for row in a]
        wanted = [float(sum(map(Fraction, row.tolist())) / a.shape[1]) for row in a]
        assert dl.mean(a, axis=1).tolist() == wanted


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [64, 128, 300, 4096])
def test_sums_of_numbers_near_the_largest_one(dtype, length):
    largest = dl.finfo(dtype).max
    for value in (largest, -largest, largest / 4):
        x = dl.full((40, length), value, dtype=dtype)
        number = x[0, 0].item()
        for a, axis in ((x, 1), (dl.copy(x.T), 0)):
            assert dl.mean(a, axis=axis).tolist() == [number] * 40
            assert dl.sum(a, axis=axis).tolist() == [math.copysign(math.inf, value)] * 40
            signs = dl.asarray([1, -1] * (length // 2), dtype=dtype)
            assert dl.sum(a * (signs if axis == 1 else signs[:, None]), axis=axis).tolist() == [0.0] * 40


def narrow_values(rng, shape):
    """Yield numbers of one size, of many, with one far above the others, below all normal ones, and that cancel."""
    normal = rng.standard_normal(shape)
    yield rng.random(shape) * 4 - 0.8
    yield normal * 2.0 ** rng.integers(-30, 30, shape)
    for large in (70.0, 1e6, 1e30, -3e38, np.inf, np.nan):
        yield np.where(np.arange(normal.size).reshape(shape) == normal.size // 2 + 3, large, normal)
    yield rng.integers(-5, 6, shape) * 2.0**-149
    yield normal * 1e7 - normal[:, ::-1] * 1e7 + normal * 1e-3


def narrow_numbers(rng, shape, dtype):
    """Yield the same as tensors."""
    for values in narrow_values(rng, shape):
        with np.errstate(over="ignore", invalid="ignore"):
            yield dl.asarray(values.astype("f4")).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("length", [63, 64, 65, 100, 128, 200, 256, 257, 513, 1000])
def test_sums_of_narrow_numbers_are_those_under_a_mask(length, dtype):
    """A mask takes every element one by one into an exact state; without one, the margin of near sums decides."""
    rng = np.random.default_rng(length)
    everything = np.ones((70, length), bool)
    for rows in narrow_numbers(rng, (70, length), dtype):
        columns = dl.copy(rows.T)
        for function in (dl.sum, dl.mean):
            wanted = function(rows, axis=1, where=everything).tobytes()
            for count in (70, 33, 16, 7, 1):
                short = wanted[: count * rows.itemsize]
                assert function(rows[:count], axis=1).tobytes() == short
                assert function(columns[:, :count], axis=0).tobytes() == short
            cube, mask = dl.reshape(rows, (7, 10, length)), np.reshape(everything, (7, 10, length))
            for axis in (None, (0, 2), (1, 2)):
                assert function(cube, axis=axis).tobytes() == function(cube, axis=axis, where=mask).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("size", [4095, 4096, 4097, 8193, 20_000])
def test_sums_of_all_narrow_numbers_are_those_under_a_mask(size, dtype):
    rng = np.random.default_rng(size)
    everything = np.ones((1, size), bool)
    for x in narrow_numbers(rng, (1, size), dtype):
        for function in (dl.sum, dl.mean):
            wanted = function(x, where=everything).tobytes()
            assert function(x).tobytes() == function(x[0][::-1]).tobytes() == wanted
            assert (
                function(dl.concat([x, x * 3])[:1, 1:]).tobytes()
                == function(x[:, 1:], where=everything[:, 1:]).tobytes()
            )


def beside_a_tie(rng, dtype, length):
    """Return numbers whose sum is nearer to the middle of two numbers than sums in float32 are exact, and the sum."""
    form = exact.FORMATS[dtype]
    row = np.asarray(dl.asarray(rng.standard_normal(length)).astype(dtype).astype("float64"))
    row[-6:] = 0
    total = sum(map(Fraction, row.tolist()))
    near = Fraction(exact.round_ratio(total.numerator, total.denominator, form))
    middle = near + Fraction(2) ** (math.frexp(near)[1] - form[0] - 1)
    for k in range(1, 7):
        left = middle - sum(map(Fraction, row.tolist()))
        if abs(left) < abs(middle) / 2 ** (42 if dtype == "float32" else 27):
            break
        row[-k] = exact.round_ratio(left.numerator, left.denominator, form)
    total = sum(map(Fraction, row.tolist()))
    return rng.permutation(row), exact.round_ratio(total.numerator, total.denominator, form)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("length", [16, 33, 128, 300, 1000, 4100])
def test_sums_that_float32_leaves_in_doubt_are_added_again(length, dtype):
    for seed in range(40 if length < 1000 else 10):
        rows, wanted = zip(
            *(beside_a_tie(np.random.default_rng([seed, k]), dtype, length) for k in range(5)), strict=True
        )
        x, wanted = dl.asarray(np.array(rows)).astype(dtype), list(wanted)
        assert dl.sum(x, axis=1).tolist() == wanted
        assert dl.sum(dl.copy(x.T), axis=0).tolist() == wanted
        assert [dl.sum(row).item() for row in x] == wanted
        # The others are decided by a bound: few in doubt are added again by themselves.
        others = dl.sum(dl.ones((70, length), dtype=dtype), axis=1).tolist()
        many = dl.concat([dl.ones((70, length), dtype=dtype), x], axis=0)
        assert dl.sum(many, axis=1).tolist() == others + wanted
        assert dl.sum(dl.copy(many.T), axis=0).tolist() == others + wanted


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_elements_far_above_the_first_row_are_added_exactly(dtype):
    x = np.random.default_rng(0).standard_normal((70, 300))
    for large in (3.0, 1000.0, 60000.0, -(2.0**14)):
        x[69, 299], x[11, 3] = large, -large
        rows = dl.asarray(x).astype(dtype)
        values = np.asarray(rows.astype("float64"))
        for axis, of in ((1, values), (0, values.T)):
            wanted = [sum(map(Fraction, row.tolist())) for row in of]
            wanted = [exact.round_ratio(one.numerator, one.denominator, exact.FORMATS[dtype]) for one in wanted]
            assert dl.sum(rows, axis=axis).tolist() == wanted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [*range(1, 20), 31, 33, 37, 50])
def test_norms_of_columns_are_those_of_rows(count, dtype):
    """Few columns are taken several rows at a time, and the last of many twice where they fill no register."""
    rng = np.random.default_rng(count)
    for n in (1, 2, 7, 8, 9, 100, 131):
        a = rng.standard_normal((n, count)).astype(dtype)
        for special in (None, 1e-300, 1e300, np.inf, np.nan):
            if special is not None:
                with np.errstate(over="ignore"):
                    a[n // 2, count - 1] = special
            wanted = [dl.linalg.vector_norm(a[:, c].copy()).item() for c in range(count)]
            np.testing.assert_array_equal(np.asarray(dl.linalg.vector_norm(a, axis=0)), np.asarray(wanted, dtype))
            wide = np.zeros((n, count + 3), dtype)[:, :count]
            wide[:] = a
            np.testing.assert_array_equal(np.asarray(dl.linalg.vector_norm(wide, axis=0)), np.asarray(wanted, dtype))
