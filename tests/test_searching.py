# SPDX-License-Identifier: Apache-2.0
"""searchsorted, bincount and histogram against NumPy."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sorting import ORDERED, numbers

import dltensor as dl


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ORDERED)
def test_places_agree_with_numpy(name, side):
    for size, count in [(0, 3), (1, 40), (7, 100), (1000, 3000), (5000, 3), (5000, 5000), (100_000, 50_000)]:
        haystack = numbers(name, (size,), "few" if size % 2 else "random")
        haystack = (
            np.sort(haystack.astype(np.float64)).astype(haystack.dtype) if name == "bfloat16" else np.sort(haystack)
        )
        values = numbers(name, (count,), seed=1)
        wide = np.float64 if haystack.dtype.kind not in "iub" else haystack.dtype
        wanted = np.searchsorted(haystack.astype(wide), values.astype(wide), side)
        assert (dl.searchsorted(dl.asarray(haystack), dl.asarray(values), side=side).numpy() == wanted).all()


def test_nan_is_the_greatest_value_as_in_sort():
    x = dl.asarray([1.0, 2.0, dl.nan, dl.nan])
    for many in (1, 100):
        values = dl.asarray([dl.nan, dl.inf, -dl.inf] * many)
        assert dl.searchsorted(x, values).tolist() == [2, 2, 0] * many
        assert dl.searchsorted(x, values, side="right").tolist() == [4, 2, 0] * many
    assert dl.searchsorted(dl.asarray([-0.0, 0.0]), dl.asarray([0.0, -0.0])).tolist() == [0, 0]


def test_scalars_shapes_dtypes_and_layouts():
    x = dl.asarray([1, 2, 2, 5])
    assert dl.searchsorted(x, 2).shape == ()
    assert dl.searchsorted(x, 2, side="right").item() == 3
    assert dl.searchsorted(x, 2.5).item() == 3
    assert dl.searchsorted(dl.asarray([1, 200], dtype="uint8"), 300).item() == 2
    assert dl.searchsorted(dl.asarray([1, 200], dtype="uint8"), -1).item() == 0
    assert dl.searchsorted(x[::-1][::-1], dl.asarray([[0, 9], [2, 3]]).T).tolist() == [[0, 1], [4, 3]]
    assert dl.searchsorted(x, dl.asarray([1.5, 9.0])).tolist() == [1, 4]
    assert dl.searchsorted(x, dl.zeros((0, 2))).shape == (0, 2)
    assert np.searchsorted(x, dl.asarray([5])).tolist() == [3]
    out = dl.zeros(2, dtype="int64")
    assert dl.searchsorted(x, dl.asarray([2, 7]), out=out) is out
    assert out.tolist() == [1, 4]


def test_sorter_puts_x1_in_order():
    a = numbers("float32", (1000,))
    values = numbers("float32", (500,), seed=2)
    order = np.argsort(a)
    made = dl.searchsorted(dl.asarray(a), dl.asarray(values), sorter=dl.asarray(order))
    assert (made.numpy() == np.searchsorted(a, values, sorter=order)).all()
    assert dl.searchsorted(dl.asarray([3, 1]), 2, sorter=dl.asarray([1, 0], dtype="uint8")).item() == 1


FAULTS = [
    (lambda: dl.searchsorted(dl.zeros((2, 2)), 1.0), ValueError, "x1 must have one dimension, got shape (2, 2)"),
    (lambda: dl.searchsorted(dl.zeros(2), 1.0, side="up"), ValueError, "side must be 'left' or 'right', got 'up'"),
    (lambda: dl.searchsorted(dl.zeros(2), 1j), TypeError, "searchsorted: x2"),
    (lambda: dl.searchsorted(dl.zeros(2), dl.asarray([1j])), TypeError, "searchsorted: x2 is complex64"),
    (lambda: dl.searchsorted(dl.zeros(2), 1.0, sorter=dl.asarray([0])), ValueError, "sorter must have the shape of x1"),
    (lambda: dl.searchsorted(dl.zeros(2), 1.0, sorter=dl.zeros(2)), TypeError, "sorter must be of an integer dtype"),
    (lambda: dl.searchsorted(dl.zeros(2), 1.0, sorter=dl.asarray([0, 2])), ValueError,
     "searchsorted: sorter must hold indices from 0 to 1, got 2 at place 1"),
    (lambda: dl.searchsorted(dl.zeros(2), 1.0, sorter=dl.asarray([-1, 0])), ValueError, "got -1 at place 0"),
    (lambda: dl.searchsorted(dl.zeros(2), dl.zeros(2), out=dl.zeros(2)), TypeError, "result is int64, out is float32"),
    (lambda: dl.bincount(dl.zeros(2)), TypeError, "bincount: x must be of an integer dtype, got float32"),
    (lambda: dl.bincount(dl.asarray([[1]])), ValueError, "bincount: x must have one dimension, got shape (1, 1)"),
    (lambda: dl.bincount(dl.asarray([1, -2])), ValueError, "bincount: x must not hold values below 0, got -2"),
    (lambda: dl.bincount(dl.asarray([2**63], dtype="uint64")), ValueError, "values of 2^63 or more, got 9223372036854"),
    (lambda: dl.bincount(dl.asarray([2**50])), MemoryError, "bincount: cannot allocate"),
    (lambda: dl.bincount(dl.asarray([2**62])), MemoryError, "bincount: cannot allocate"),
    (lambda: dl.bincount(dl.asarray([1]), dl.zeros(2)), ValueError, "weights must have the shape of x, (1,), got (2,)"),
    (lambda: dl.bincount(dl.asarray([1]), minlength=-1), ValueError, "minlength must be at least 0, got -1"),
    (lambda: dl.histogram(dl.zeros(2), bins=0), ValueError, "histogram: bins must be at least 1, got 0"),
    (lambda: dl.histogram(dl.zeros(2), bins=[2.0, 1.0]), ValueError, "histogram: bins must ascend"),
    (lambda: dl.histogram(dl.zeros(2), bins=[2.0]), ValueError, "bins must be one-dimensional with at least 2 edges"),
    (lambda: dl.histogram(dl.asarray([dl.nan])), ValueError, "histogram: expected finite limits, got nan to nan"),
    (lambda: dl.histogram(dl.zeros(2), range=(1, 0)), ValueError, "histogram: range must ascend, got (1, 0)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), FAULTS, ids=[words for _, _, words in FAULTS])
def test_faults(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [name for name in ORDERED if "int" in name])
def test_bincount_agrees_with_numpy(name):
    for size in (0, 1, 10, 5000):
        a = (numbers(name, (size,)) % 100).astype(name)
        a = abs(a)
        for least in (0, 5, 500):
            assert (
                dl.bincount(dl.asarray(a), minlength=least).tolist()
                == np.bincount(a.astype(int), minlength=least).tolist()
            )
        weights = numbers("float32", (size,), seed=3)
        made = dl.bincount(dl.asarray(a), dl.asarray(weights))
        assert made.dtype == dl.float64
        assert made.tolist() == np.bincount(a.astype(int), weights).tolist()


@pytest.mark.parametrize("name", ["bool", "int8", "int32", "uint64", "float16", "float32", "float64"])
def test_histogram_agrees_with_numpy(name):
    a = numbers(name, (60, 50))
    if name == "float16":
        a = np.round(a * 4) / 4
    t = dl.asarray(a)
    if name not in ("bool", "float16", "uint64"):
        for arguments in [{}, {"bins": 7}, {"bins": 3, "range": (-1, 2)}]:
            counts, edges = dl.histogram(t, **arguments)
            wanted, wanted_edges = np.histogram(a, **arguments)
            np.testing.assert_allclose(edges.numpy(), wanted_edges, rtol=1e-6, atol=1e-6)
            assert counts.tolist() == np.histogram(a, edges.numpy())[0].tolist()
            assert abs(counts.numpy() - wanted).sum() <= 2  # edges rounded to float32 may move an element
    edges = [0, 1, 2, 4, 4.5]
    assert dl.histogram(t, edges)[0].tolist() == np.histogram(a.astype(np.float64), edges)[0].tolist()
    weights = numbers("float64", a.shape, seed=1)
    made, _ = dl.histogram(t, edges, weights=dl.asarray(weights))
    np.testing.assert_allclose(made.numpy(), np.histogram(a.astype(np.float64), edges, weights=weights)[0], atol=1e-9)
    if np.histogram(a.astype(np.float64), edges)[0].sum():
        density, _ = dl.histogram(t, edges, density=True)
        np.testing.assert_allclose(
            density.numpy(), np.histogram(a.astype(np.float64), edges, density=True)[0], rtol=1e-12
        )


def test_histogram_of_special_values():
    x = dl.asarray([0.0, -0.0, dl.nan, dl.inf, -dl.inf, 1.0, 2.0])
    assert dl.histogram(x, [0.0, 1.0, 2.0])[0].tolist() == [2, 2]
    assert dl.histogram(x, [0.0, 1.0, dl.inf])[0].tolist() == [2, 3]
    assert dl.histogram(dl.zeros(0), bins=2)[0].tolist() == [0, 0]
    assert dl.histogram(dl.asarray([3, 3]), bins=2)[1].tolist() == [2.5, 3.0, 3.5]
    assert np.histogram(dl.asarray([3.0]), bins=1)[0].tolist() == [1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histogram_between_the_ends_of_a_dtype(dtype):
    top = np.finfo(dtype).max
    x = dl.asarray(np.array([-top, -top / 2, 0, top], dtype))
    counts, edges = dl.histogram(x, bins=4)
    assert edges.tolist() == [-top, -top / 2, 0, top / 2, top]
    assert counts.tolist() == [1, 1, 1, 1]
    assert dl.histogram(x, bins=2, range=(-float(top), float(top)), density=True)[0].tolist() == [0.5 / top] * 2
    assert dl.histogram(x, bins=1, density=True)[0].item() == 0.5 / top


def test_histogram_refuses_more_bins_than_the_dtype_has_values_between():
    for x in (dl.asarray([1e300, 1e300], dtype="float64"), dl.asarray([1.0, 1 + 2.0**-22])):
        with pytest.raises(ValueError, match=r"histogram: 10 bins from .* do not have 11 edges in float"):
            dl.histogram(x)


@pytest.mark.parametrize("bins", [np.array(3), np.int8(3), dl.asarray(3), True + 2])
def test_histogram_takes_a_number_of_bins_without_dimensions(bins):
    a = np.arange(9.0)
    assert dl.histogram(a, bins=bins)[0].tolist() == [3, 3, 3]
    assert np.histogram(dl.asarray(a), bins=bins)[0].tolist() == [3, 3, 3]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False), max_size=100), st.lists(st.floats(), max_size=100), st.booleans())
def test_any_floats(sorted_values, values, after):
    haystack, needles = np.sort(np.array(sorted_values, np.float64)), np.array(values, np.float64)
    side = "right" if after else "left"
    made = dl.searchsorted(dl.asarray(haystack), dl.asarray(needles), side=side)
    assert made.tolist() == np.searchsorted(haystack, needles, side).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histogram_of_equal_bins_counts_as_a_search_of_the_edges_does(dtype):
    rng = np.random.default_rng(5)
    for n, bins in [(1, 1), (1000, 7), (200_000, 100), (70_000, 1000), (5000, 3000)]:
        x = rng.standard_normal(n).astype(dtype)
        counts, edges = dl.histogram(x, bins=bins)
        edges = edges.numpy()
        places = np.searchsorted(edges, x, side="right") - 1
        places[x == edges[-1]] = bins - 1
        assert np.array_equal(counts.numpy(), np.bincount(places, minlength=bins))
        misaligned = np.frombuffer(b"." + x.tobytes(), dtype, offset=1)
        assert np.array_equal(dl.histogram(misaligned, bins=bins)[0].numpy(), counts.numpy())
        on_edges = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]).astype(dtype)
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0], dtype)
        for values in (on_edges, special):
            inside = values[(values >= edges[0]) & (values <= edges[-1])]
            wanted = np.minimum(np.searchsorted(edges, inside, side="right") - 1, bins - 1)
            made, _ = dl.histogram(values, bins=edges)
            assert np.array_equal(made.numpy(), np.bincount(wanted, minlength=bins))


def test_counts_do_not_depend_on_threads():
    rng = np.random.default_rng(6)
    integers, floats = rng.integers(0, 900, 300_001), rng.standard_normal(300_001)
    before, made = dl.num_threads(), []
    try:
        for threads in (1, 2, 8):
            dl.set_num_threads(threads)
            made.append((dl.bincount(integers).tolist(), dl.histogram(floats, bins=64)[0].tolist()))
    finally:
        dl.set_num_threads(before)
    assert made[0] == made[1] == made[2]
    assert made[0][0] == np.bincount(integers).tolist()
    integers[200_000] = -3
    with pytest.raises(ValueError, match="bincount: x must not hold values below 0, got -3"):
        dl.bincount(integers)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("high", [50, 1 << 53, (1 << 53) + 1, 1 << 60])
def test_histogram_of_wide_integers_counts_exact_values(dtype, high):
    low = 0 if dtype == "uint64" else -high
    a = np.random.default_rng(3).integers(low, high, 4000, dtype=dtype, endpoint=True)
    a[:9] = high
    for bins in (20, dl.asarray([low / 2, 1.0, high / 3 + 0.5, float(high)], dtype="float64")):
        counts, edges = dl.histogram(a, bins)
        borders = [Fraction(edge) for edge in edges.tolist()]
        inside = [Fraction(int(x)) for x in a if borders[0] <= int(x) <= borders[-1]]
        wanted = [sum(below <= x < above for x in inside) for below, above in itertools.pairwise(borders)]
        wanted[-1] += inside.count(borders[-1])
        assert counts.tolist() == wanted


def test_histogram_of_unequal_and_of_degenerate_edges():
    x = np.array([0.0, 1e-9, 0.5, 1.0, 2.0, 3.0])
    for edges in ([0.0, 1e-9, 3.0], [0.0, 0.0, 3.0], [1.0, 1.0], [-np.inf, 0.5, np.inf], [0.0, 5e-324]):
        assert np.array_equal(dl.histogram(x, bins=np.array(edges))[0].numpy(), np.histogram(x, np.array(edges))[0])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_densities_divide_by_widths_beyond_the_dtype_of_the_edges(dtype):
    limits = (np.iinfo if "int" in dtype else np.finfo)(dtype)
    least, greatest = limits.min, limits.max
    edges = np.array([least, 1, 3, greatest], dtype)
    x = np.array([1, 2, 1, greatest], dtype)
    widths = [above - below for below, above in itertools.pairwise(Fraction(edge.item()) for edge in edges)]
    wanted = [float(count / width / 4) for count, width in zip([0, 3, 1], widths, strict=True)]
    assert dl.histogram(x, edges, density=True)[0].tolist() == pytest.approx(wanted, rel=1e-15)
    assert dl.histogramdd(x[:, None], [edges], density=True)[0].tolist() == pytest.approx(wanted, rel=1e-15)
    plane = dl.histogram2d(x, x, [edges, edges], density=True)[0]
    wanted = [[0, 0, 0], [0, 3 / 4 / 4, 0], [0, 0, float(1 / widths[2] / widths[2] / 4)]]
    np.testing.assert_allclose(plane.numpy(), wanted, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_densities_of_equal_bins_are_of_the_edges_that_are_returned(dtype):
    x = dl.asarray(np.random.default_rng(5).uniform(0, 100, (200, 2)), dtype=dtype)
    density, edges = dl.histogram(x[:, 0], 7, density=True)
    assert edges.dtype.name == dtype
    widths = np.diff(edges.astype("float64").numpy())
    np.testing.assert_allclose(density.numpy() * widths, dl.histogram(x[:, 0], 7)[0].numpy() / 200, rtol=1e-15)
    density, edges = dl.histogramdd(x, (7, 3), density=True)
    first, second = (np.diff(border.astype("float64").numpy()) for border in edges)
    counts = dl.histogramdd(x, (7, 3))[0].numpy()
    np.testing.assert_allclose(density.numpy() * first[:, None] * second, counts / 200, rtol=1e-15)


def test_densities_between_false_and_true():
    density, edges = dl.histogram([True, False, True], [False, True], density=True)
    assert (density.tolist(), edges.tolist()) == ([1.0], [False, True])


def test_edges_with_nan_before_a_number_do_not_ascend():
    x = [0.5, 1.5, dl.nan]
    for edges in ([dl.nan, 0.0, 1.0], [0.0, dl.nan, 1.0]):
        for call in (dl.histogram, dl.histogram_bin_edges):
            with pytest.raises(ValueError, match="bins must ascend"):
                call(x, edges)
        with pytest.raises(ValueError, match="bins must ascend or descend"):
            dl.digitize(x, [*edges, 0.5])
    assert dl.histogram(x, [0.0, 1.0, dl.nan])[0].tolist() == [1, 1]
    for edges in ([0.0, 1.0, dl.nan, dl.nan], [dl.nan, dl.nan, 1.0, 0.0], [1.0], [2, 1]):
        for right in (False, True):
            assert dl.digitize(x, edges, right).tolist() == np.digitize(x, edges, right).tolist()
    assert dl.digitize(x, [dl.nan, dl.nan]).tolist() == [0, 0, 2]
