# SPDX-License-Identifier: Apache-2.0
"""sort, argsort, top_k, median and quantile against a stable sort of Python, and against NumPy."""

import itertools
import os
import subprocess
import sys
import threading
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from children import MODULES
from hypothesis import given, settings
from hypothesis import strategies as st

import dltensor as dl
from dltensor._core.types import COMPUTED

ORDERED = [name for name in COMPUTED if not name.startswith("complex")]
# Around the sizes where another way of sorting begins.
SIZES = [0, 1, 2, 3, 16, 17, 64, 65, 127, 128, 129, 256, 257, 513, 1000, 1025, 8191, 8192, 40000]
PATTERNS = ["random", "few", "special", "sorted", "reverse", "organ pipe", "equal"]


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def numbers(name, shape, pattern="random", seed=0):
    """Elements of a dtype by NumPy; `special` has NaNs of both signs, infinities and zeros of both signs."""
    rng = np.random.default_rng(seed)
    dtype = numpy_dtype(name)
    size = int(np.prod(shape))
    if name == "bool":
        made = rng.random(size) < 0.5
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        made = rng.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
    else:
        made = rng.standard_normal(size).astype(np.float32).astype(dtype)
    if pattern == "few":
        made = made % 4 if dtype.kind in "iu" else np.round(made * 2).astype(dtype) if name != "bool" else made
    elif pattern == "special" and dtype.kind not in "iub" and size:
        values = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], np.float32).astype(dtype)
        made[rng.integers(0, size, size // 2 + 1)] = rng.choice(values, size // 2 + 1)
    elif pattern == "equal" and size:
        made[:] = made[0]
    elif pattern in ("sorted", "reverse", "organ pipe"):
        made = made[np.argsort(made.astype(np.float64), kind="stable")]
        made = made[::-1] if pattern == "reverse" else made
        if pattern == "organ pipe":
            made = np.concatenate([made[::2], made[1::2][::-1]])
    return np.ascontiguousarray(made.astype(dtype)).reshape(shape)


def stable_order(line, descending=False):
    """The indices that sort one line: stable in both orders, NaNs last."""
    values = line.tolist() if line.dtype.kind in "iub" else line.astype(np.float64).tolist()
    there = [i for i, value in enumerate(values) if value == value]
    there.sort(key=values.__getitem__, reverse=descending)
    return np.array(there + [i for i, value in enumerate(values) if value != value], np.int64)


def expected_order(a, axis, descending=False):
    """The same for every line along an axis."""
    lines = np.moveaxis(a, axis, -1)
    made = np.empty(lines.shape, np.int64)
    for place in np.ndindex(lines.shape[:-1]):
        made[place] = stable_order(lines[place], descending)
    return np.moveaxis(made, -1, axis)


def array_of(t):
    """The elements as NumPy's, bit for bit."""
    return np.from_dlpack(t) if t.dtype.name != "bfloat16" else t.numpy()


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", ORDERED)
def test_sort_and_argsort_are_stable_in_both_orders(name, pattern):
    for size in SIZES:
        a = numbers(name, (size,), pattern, seed=size)
        t = dl.asarray(a)
        for descending in (False, True):
            order = stable_order(a, descending)
            assert dl.argsort(t, descending=descending).tolist() == order.tolist(), (size, descending)
            # Bits: also the signs of zeros and the NaNs are in the order of the input.
            assert dl.sort(t, descending=descending).tobytes() == a[order].tobytes(), (size, descending)


@pytest.mark.parametrize("name", ["uint8", "int16", "float16", "float32", "int64", "float64"])
@pytest.mark.parametrize("shape", [(3, 5, 7), (200, 3), (3, 200), (2, 0, 3), (1, 1), (130, 1, 4), (), (70, 140)])
def test_any_axis_of_any_layout(name, shape):
    a = numbers(name, shape, "special")
    base = np.zeros([2 * n for n in shape], a.dtype)
    layouts = [a, np.asfortranarray(a), a[::-1] if a.ndim else a]
    base[tuple(slice(None, None, 2) for _ in shape)] = a
    layouts.append(base[tuple(slice(None, None, 2) for _ in shape)])
    for each in layouts:
        for axis in range(-a.ndim, a.ndim):
            for descending in (False, True):
                order = expected_order(each, axis, descending)
                assert (dl.argsort(dl.asarray(each), axis=axis, descending=descending).numpy() == order).all()
                made = dl.sort(dl.asarray(each), axis=axis, descending=descending)
                assert made.tobytes() == np.take_along_axis(each, order, axis).tobytes()


WIDE = ["int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("distinct", [2, 8, 9, 300])
@pytest.mark.parametrize("name", WIDE)
def test_few_distinct_values_and_a_rare_one(name, distinct):
    """Few values are counted, unless one turns up that is not among them."""
    rng = np.random.default_rng(distinct)
    for size in (200, 300, 5000, 70_001):
        for rare, place in ((0, -1), (distinct, -1), (distinct, size // 2), (2**30, 0)):
            a = rng.integers(0, distinct, size).astype(name)
            a[place] = rare
            assert dl.sort(dl.asarray(a)).tobytes() == np.sort(a).tobytes(), (size, rare, place)
            assert dl.sort(dl.asarray(a), descending=True).tobytes() == np.sort(a)[::-1].tobytes(), (size, rare, place)


@pytest.mark.parametrize("name", WIDE)
def test_least_and_greatest_values(name):
    """The greatest key is also that of padding in registers, and of NaNs."""
    limits = np.finfo(name) if name.startswith("float") else np.iinfo(name)
    ends = [limits.max, limits.min, 0, 1]
    if name.startswith("float"):
        ends += [np.inf, -np.inf, limits.smallest_subnormal]
    rng = np.random.default_rng(0)
    for size in (1, 7, 31, 100, 255, 1000, 20_000):
        for part in (1, 2, len(ends)):
            a = rng.choice(np.array(ends[:part], name), size)
            a[: size // 3] = rng.integers(0, 100, size // 3).astype(name) if part == len(ends) else a[: size // 3]
            assert dl.sort(dl.asarray(a)).tobytes() == np.sort(a).tobytes(), (size, part)
            assert dl.sort(dl.asarray(a), descending=True).tobytes() == np.sort(a)[::-1].tobytes(), (size, part)


@pytest.mark.parametrize("name", WIDE)
def test_samples_that_mislead(name):
    """Evenly spaced elements, of which pivots are chosen, are the least of all, or nearly all equal."""
    for size in (3000, 70_000):
        for step in (3, 31, 64, 273, size // 64, size // 256):
            for least in (np.arange(size), np.zeros(size)):
                a = np.random.default_rng(step).integers(size, 2**31 - 1, size)
                for first in range(0, step, max(1, step // 5)):
                    a[first::step] = least[first::step]
                a = a.astype(name)
                assert dl.sort(dl.asarray(a)).tobytes() == np.sort(a).tobytes(), (size, step)


def short_lines(name, n, pattern):
    """Lines of n elements in several layouts, from one line to more than a tile of any dtype."""
    for count in (1, 5, 9, 300):
        a = numbers(name, (count, n), pattern, seed=n)
        yield a
        yield np.asfortranarray(a)
        yield np.repeat(a, 2, axis=1)[::-1, ::2]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 9, 16, 17, 33, 64, 65, 100, 128])
@pytest.mark.parametrize("name", ORDERED)
def test_many_short_lines_are_sorted_as_one_is(name, n):
    """Tiles of lines go through networks; zeros of both signs and NaNs leave them."""
    for pattern in ("few", "special"):
        for lines in short_lines(name, n, pattern):
            t = dl.asarray(lines)
            for descending in (False, True):
                order = dl.argsort(t, descending=descending).numpy()
                ordered = array_of(dl.sort(t, descending=descending))
                for line, indices, made in zip(lines[:12], order, ordered, strict=False):
                    wanted = stable_order(line, descending)
                    assert np.array_equal(indices, wanted), (lines.shape, lines.strides)
                    assert made.tobytes() == line[wanted].tobytes(), (lines.shape, lines.strides)
                rest = np.take_along_axis(lines[-3:], order[-3:], -1)
                assert ordered[-3:].tobytes() == np.ascontiguousarray(rest).tobytes()


def test_0_d_and_repeated_elements():
    assert dl.sort(dl.asarray(3)).item() == 3
    assert dl.argsort(dl.asarray(3)).item() == 0
    assert dl.sort(dl.broadcast_to(dl.asarray([[2], [1]]), (2, 3)), axis=0).tolist() == [[1] * 3, [2] * 3]


LEVELS = """
import sys
import numpy as np
import dltensor as dl
from test_sorting import numbers
from hashlib import sha256
made = sha256()
for name in ("uint8", "int16", "int32", "float16", "float32", "float64"):
    for size in (0, 5, 100, 128, 129, 3000, 20_000, 150_000):
        for pattern in ("random", "few", "special", "organ pipe"):
            t = dl.asarray(numbers(name, (size,), pattern))
            for descending in (False, True):
                made.update(dl.sort(t, descending=descending).tobytes())
                made.update(dl.argsort(t, descending=descending).tobytes())
            made.update(dl.top_k(t, size // 10)[0].tobytes())
            made.update(dl.unique_all(t).inverse_indices.tobytes())
            made.update(dl.quantile(t, [0.1, 0.5]).tobytes())
            made.update(dl.searchsorted(dl.sort(t), t[: size // 2]).tobytes())
print(dl.cpu_features()["used"], made.hexdigest())
"""


def test_levels_give_the_same_bits():
    made = {}
    for level in dl.cpu_features()["supported"]:
        environment = os.environ | {"DLTENSOR_CPU": level, "PYTHONPATH": MODULES}
        run = subprocess.run(
            [sys.executable, "-c", LEVELS], env=environment, capture_output=True, text=True, check=True
        )
        made[level] = run.stdout.split()
    assert [level for level, _ in made.values()] == list(made)
    assert len({digest for _, digest in made.values()}) == 1


@pytest.mark.parametrize("name", ["int32", "float32", "float64", "float16"])
def test_threads_give_the_same_bits(name):
    a = numbers(name, (2_500_000 if name != "float16" else 400_000,), "special")  # enough for several runs
    t = dl.asarray(a)
    before = dl.num_threads()
    made = set()
    try:
        for threads in (1, 2, 3, 4, 8):
            dl.set_num_threads(threads)
            for descending in (False, True):
                made.add((descending, dl.sort(t, descending=descending).tobytes()))
                made.add((descending, dl.argsort(t, descending=descending).tobytes()))
    finally:
        dl.set_num_threads(before)
    assert len(made) == 4
    assert (False, a[np.argsort(a.astype(np.float64), kind="stable")].tobytes()) in made


def test_methods():
    t = dl.asarray([[3, 1], [2, 5]])
    assert t.sort().tolist() == [[1, 3], [2, 5]]
    assert t.sort(axis=0, descending=True).tolist() == [[3, 5], [2, 1]]
    assert t.argsort(axis=0).tolist() == [[1, 0], [0, 1]]
    assert t.tolist() == [[3, 1], [2, 5]]


def test_out_is_written_and_returned():
    x = dl.asarray([3.0, 1.0, 2.0])
    out = dl.zeros(3)
    assert dl.sort(x, out=out) is out
    assert out.tolist() == [1, 2, 3]
    assert dl.sort(x, out=x) is x
    assert x.tolist() == [1, 2, 3]
    wide = dl.zeros(3, dtype="float64")
    dl.sort(x, descending=True, out=wide)
    assert wide.tolist() == [3, 2, 1]
    strided = np.zeros((3, 2), np.int64)
    assert dl.argsort(x, descending=True, out=strided[:, 0]) is not None
    assert strided.tolist() == [[2, 0], [1, 0], [0, 0]]
    matrix = dl.asarray(numbers("int32", (40, 30)))
    wanted = np.sort(matrix.numpy(), axis=0)
    dl.sort(matrix.T, axis=1, out=matrix.T)  # the memory of the operand, in another order of axes
    assert (matrix.numpy() == wanted).all()


def test_overlapping_out_is_as_if_through_a_temporary():
    buffer = dl.asarray([5, 4, 3, 2, 1, 0])
    dl.sort(buffer[:5], out=buffer[1:])
    assert buffer.tolist() == [5, 1, 2, 3, 4, 5]


def test_foreign_operands():
    assert dl.sort(np.array([2, 1])).tolist() == [1, 2]
    assert np.sort(dl.asarray([2, 1])).tolist() == [1, 2]
    assert type(np.sort(dl.asarray([2, 1]))) is dl.Tensor
    assert np.argsort(dl.asarray([[2, 1], [0, 3]]), axis=None).tolist() == [2, 1, 0, 3]
    assert np.median(dl.asarray([2.0, 1.0])).item() == 1.5
    assert np.quantile(dl.asarray([2.0, 1.0]), 0.5, method="closest_observation") == 1.0


FAULTS = [
    (lambda: dl.sort(dl.asarray([1j])), TypeError, "sort: x is complex64, expected bool, an integer or a float dtype"),
    (lambda: dl.argsort(dl.zeros(2, dtype="int4")), TypeError, "argsort: x is int4"),
    (lambda: dl.sort({3}), TypeError, "sort: expected numbers, nested sequences of numbers, or an object with"),
    (lambda: dl.sort(dl.zeros(2), axis=1), IndexError, "sort: axis 1 is out of range for 1 dimensions; expected -1"),
    (lambda: dl.sort(dl.zeros(2), axis=0.5), TypeError, "sort: axis must be an integer, got 0.5"),
    (lambda: dl.sort(dl.asarray(1), axis=1), IndexError, "sort: axis 1 is out of range for 0 dimensions"),
    (lambda: dl.sort(dl.zeros(2), out=dl.zeros(3)), ValueError, "sort: the result has shape (2,), out has shape (3,)"),
    (lambda: dl.sort(dl.zeros(2), out=dl.zeros(2, dtype="int32")), TypeError, "the result is float32, out is int32"),
    (lambda: dl.argsort(dl.zeros(2), out=dl.zeros(2)), TypeError, "argsort: the result is int64, out is float32"),
    (lambda: dl.sort(dl.zeros(2), out=dl.broadcast_to(dl.zeros(1), (2,))), ValueError, "out is read-only"),
    (lambda: dl.top_k(dl.zeros(2), 3), ValueError, "top_k: k must be from 0 to 2, the extent of axis 0, got 3"),
    (lambda: dl.top_k(dl.zeros(2), -1), ValueError, "top_k: k must be from 0 to 2"),
    (lambda: dl.top_k(dl.zeros(2), 1.0), TypeError, "top_k: k must be an integer, got 1.0"),
    (lambda: dl.top_k(dl.zeros(2), 1, mode="best"), ValueError, "top_k: mode must be 'largest' or 'smallest', got"),
    (lambda: dl.top_k(dl.asarray(1), 1), ValueError, "top_k: x must have at least one dimension"),
    (lambda: dl.median(dl.asarray([1j])), TypeError, "median: x is complex64"),
    (lambda: dl.median(dl.zeros(2), axis=1), IndexError, "median: axis 1 is out of range"),
    (lambda: dl.quantile(dl.zeros(2), 1.5), ValueError, "quantile: q must be from 0 to 1, got 1.5"),
    (lambda: dl.quantile(dl.zeros(2), dl.nan), ValueError, "quantile: q must be from 0 to 1, got nan"),
    (lambda: dl.quantile(dl.zeros(2), 0.5, method="best"), ValueError, "quantile: method must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), FAULTS, ids=[words for _, _, words in FAULTS])
def test_faults(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_tensors_on_devices_are_refused_with_a_remedy():
    t = dl.wrap(4096, (2,), "float32", device="cuda:0")
    here = dl.zeros(2)
    with pytest.raises(dl.DeviceError, match="sort: x is on cpu and out on cuda:0; give an out on cpu"):
        dl.sort(here, out=t)
    with pytest.raises(dl.DeviceError, match="searchsorted: x1 is on cpu and x2 on cuda:0; move it with"):
        dl.searchsorted(here, t)
    with pytest.raises(dl.DeviceError, match="isin: x1 is on cuda:0 and x2 on cpu; move it with"):
        dl.isin(t, here)
    other = dl.wrap(4096, (2,), "float32", device="rocm:0")
    calls = [dl.sort, dl.argsort, lambda x: dl.top_k(x, 1), dl.median, lambda x: dl.quantile(x, 0.5), dl.bincount]
    for call in (*calls, lambda x: dl.histogram(x, here)):
        with pytest.raises(dl.DeviceError, match="nothing here computes on rocm:0; move the tensor"):
            call(other)


def test_memory_that_runs_out_leaves_the_output_as_it_was():
    huge = dl.broadcast_to(dl.asarray([1], dtype="int8"), (1 << 52,))
    out = dl.asarray([7])
    for call in (dl.argsort, dl.sort, dl.unique_values, dl.median):
        with pytest.raises(MemoryError):
            call(huge)
    assert out.tolist() == [7]


def test_an_operand_that_changes_meanwhile_does_no_harm():
    a = numbers("int32", (200_000,))
    t = dl.from_dlpack(a)
    end = threading.Event()

    def change():
        rng = np.random.default_rng(1)
        while not end.is_set():
            a[rng.integers(0, a.size, 1000)] = rng.integers(-100, 100, 1000)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            made = dl.sort(t).numpy()
            assert (made[1:] >= made[:-1]).all()
            assert (np.bincount(dl.argsort(t).numpy(), minlength=a.size) == 1).all()
            assert len(dl.unique_all(t).counts) > 0
    finally:
        end.set()
        thread.join()


@pytest.mark.parametrize("name", ["int32", "float64"])
def test_an_output_that_changes_meanwhile_does_no_harm(name):
    """Lines are sorted in the memory of the output: the elements around it stay, and the call returns."""
    memory = numbers(name, (200_000,))
    out, kept = memory[1000:-1000], memory.copy()
    a = dl.asarray(numbers(name, out.shape, seed=1))
    end = threading.Event()

    def change():
        rng = np.random.default_rng(1)
        while not end.is_set():
            out[rng.integers(0, out.size, 1000)] = rng.integers(-100, 100, 1000)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            dl.sort(a, out=dl.from_dlpack(out))
    finally:
        end.set()
        thread.join()
    assert memory[:1000].tobytes() == kept[:1000].tobytes()
    assert memory[-1000:].tobytes() == kept[-1000:].tobytes()
    assert dl.sort(a, out=dl.from_dlpack(out)).tobytes() == np.sort(a.numpy()).tobytes()


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (2, 3)])
def test_top_0_of_lines_is_empty(shape):
    values, indices = dl.top_k(dl.zeros(shape, dtype="uint16"), 0)
    assert values.shape == indices.shape == (shape[0], 0)
    assert (values.dtype, indices.dtype) == ("uint16", "int64")


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "float16", "bfloat16", "float32", "int64", "float64"])
@pytest.mark.parametrize("pattern", ["random", "few", "special"])
def test_top_k_is_the_head_of_the_sorted_lines(name, pattern):
    for shape, axis in [((5,), 0), ((300, 3), 0), ((3, 9000), 1), ((50_000,), -1)]:
        a = numbers(name, shape, pattern)
        for mode in ("largest", "smallest"):
            order = expected_order(a, axis, mode == "largest")
            for k in {0, 1, 3, a.shape[axis] // 9, a.shape[axis]}:
                values, indices = dl.top_k(dl.asarray(a), k, axis=axis, mode=mode)
                head = np.take(order, range(k), axis)
                assert (indices.numpy() == head).all()
                assert values.tobytes() == np.take_along_axis(a, head, axis).tobytes()


@pytest.mark.parametrize("name", ["uint8", "int8", "uint16", "int16"])
def test_selection_of_narrow_numbers_counts_more_than_they_hold(name):
    info = np.iinfo(name)
    for half in (200, 1_050_000):  # more than 65,535 for each lane of a register
        a = np.repeat(np.array([info.min, info.max], name), half)
        assert dl.median(a).item() == (info.min + info.max) / 2
        a[half] = info.max - 1
        assert dl.quantile(a, [0.0, 0.5, 1.0], method="higher").tolist() == [info.min, info.max - 1, info.max]
        assert dl.top_k(a, half, mode="smallest")[1].tolist() == list(range(half))
        values, indices = dl.top_k(a, 3)
        assert (values.tolist(), indices.tolist()) == ([info.max] * 3, [half + 1, half + 2, half + 3])


@pytest.mark.parametrize("name", ["uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("pattern", ["random", "few", "sorted", "equal", "organ pipe"])
def test_median_and_quantile_agree_with_numpy(name, pattern):
    for shape, axis in [((1,), 0), ((2,), 0), ((7, 9), 0), ((6, 5, 4), (0, 2)), ((3, 5001), 1), ((50_000,), None)]:
        a = numbers(name, shape, pattern)
        wide = a.astype(np.float64)
        t = dl.asarray(a)
        result = t.dtype if name.startswith("float") else dl.float32 if name == "uint8" else dl.float64
        # NumPy rounds a float64 more than once.
        tolerance = {"float16": 1e-3, "float64": 4e-16}.get(result.name, 1e-6)
        near = 4e-16 * np.abs(wide).max()
        for keepdims in (False, True):
            made = dl.median(t, axis=axis, keepdims=keepdims)
            assert made.dtype == result
            np.testing.assert_allclose(made.numpy(), np.median(wide, axis=axis, keepdims=keepdims), tolerance, near)
            for q in (0.0, 0.3, [0.1, 0.5, 0.99], [[0.25, 1.0]]):
                made = dl.quantile(t, q, axis=axis, keepdims=keepdims)
                wanted = np.quantile(wide, q, axis=axis, keepdims=keepdims)
                assert made.dtype == result
                assert made.shape == wanted.shape
                np.testing.assert_allclose(made.numpy(), wanted, tolerance, near)


METHODS = [
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_quantile_agree_with_numpy(method):
    for n in (1, 2, 3, 10, 11, 200):
        a = numbers("float64", (n,))
        q = np.linspace(0, 1, 21)
        np.testing.assert_allclose(
            dl.quantile(a, q, method=method).numpy(), np.quantile(a, q, method=method), rtol=1e-14, atol=1e-15
        )


def test_quantiles_of_nan_infinity_and_nothing():
    x = dl.asarray([[1.0, dl.nan, 2.0], [1.0, 5.0, 2.0]])
    assert str(dl.median(x, axis=1).tolist()) == "[nan, 2.0]"
    assert str(dl.quantile(x, [0.0, 1.0], axis=1).tolist()) == "[[nan, 1.0], [nan, 5.0]]"
    assert dl.median(dl.asarray([dl.inf, dl.inf])).item() == dl.inf
    assert dl.quantile(dl.asarray([1.0, dl.inf]), 0.0).item() == 1
    assert str(dl.median(dl.zeros((2, 0)), axis=1).tolist()) == "[nan, nan]"
    assert dl.quantile(dl.zeros(3), []).shape == (0,)
    assert dl.median(dl.asarray([True, True, False])).item() == 1


INF, NAN, TOP = dl.inf, dl.nan, 1.7e308


@pytest.mark.parametrize(
    ("values", "q", "wanted"),
    [
        ([1.0, INF], 0.5, INF),
        ([1.0, INF], 0.25, INF),
        ([1.0, INF], 0.0, 1.0),
        ([-INF, 1.0], 0.75, -INF),
        ([-INF, 1.0], 1.0, 1.0),
        ([-INF, INF], 0.5, NAN),
        ([-INF, INF], 0.25, NAN),
        ([INF, INF], 0.25, INF),
        ([-INF, -INF], 0.5, -INF),
        ([TOP, -TOP], 0.5, 0.0),
        ([TOP, -TOP], 0.25, -TOP / 2),
        ([TOP, TOP], 0.5, TOP),
        ([TOP, TOP], 0.3, TOP),
        ([2.0**-1074, 3 * 2.0**-1074], 0.5, 2 * 2.0**-1074),
        ([-0.0, -0.0], 0.0, 0.0),
        ([-0.0, -0.0], 0.25, 0.0),
        ([NAN, 1.0], 0.25, NAN),
    ],
)
def test_quantiles_of_infinities_huge_values_and_zeros(values, q, wanted):
    x = dl.asarray(values, dtype="float64")
    for made in [dl.quantile(x, q).item(), dl.quantile(dl.broadcast_to(x[:, None], (2, 3)), q, axis=0)[1].item()] + (
        [dl.median(x).item()] if q == 0.5 else []
    ):
        assert repr(made) == repr(wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_quantiles_of_the_ends_of_narrow_floats(dtype):
    top = dl.finfo(dtype).max
    x = dl.asarray([top, -top], dtype=dtype)
    assert (dl.median(x).item(), dl.quantile(x, 0.25).item()) == (0.0, -top / 2)
    assert dl.median(dl.asarray([top, top], dtype=dtype)).item() == top


def lerp(values, q):
    """The linear quantile of integers or finite floats as a fraction; its place is a float64."""
    ordered, place = sorted(values), (len(values) - 1) * q
    low, part = int(place), Fraction(place - int(place))
    high = ordered[min(low + 1, len(values) - 1)]
    return ordered[low] + (Fraction(high) - Fraction(ordered[low])) * part


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_quantiles_of_wide_integers_are_exact(dtype):
    bounds, rng = np.iinfo(dtype), np.random.default_rng(8)
    for size, q in itertools.product((2, 3, 8, 41), (0.0, 0.1, 0.3, 0.5, 0.77, 1.0)):
        for a in (
            rng.integers(bounds.min, bounds.max, size, dtype=dtype),
            np.array([bounds.max - k for k in range(size)], dtype),
        ):
            made = dl.quantile(a, q)
            assert made.dtype == dl.float64
            assert made.item() == float(lerp(a.tolist(), q))
            assert dl.median(a).item() == float(lerp(a.tolist(), 0.5))


@pytest.mark.parametrize("name", ["median", "quantile"])
def test_dtype_is_what_an_order_statistic_is_rounded_to(name):
    call = dl.median if name == "median" else lambda x, **options: dl.quantile(x, 0.5, **options)
    assert call(dl.asarray([1, 2], dtype="int8"), dtype="float64").dtype == dl.float64
    assert call(dl.asarray([1.0, 1.0 + 2.0**-10], dtype="float32"), dtype="float16").item() == 1.0
    assert call(dl.zeros((0,), dtype="int64")).dtype == dl.float64
    with pytest.raises(TypeError, match=f"{name}: dtype must be a real float one, got int32"):
        call(dl.asarray([1, 2]), dtype="int32")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), max_size=300), st.booleans())
def test_any_floats(values, descending):
    a = np.array(values, np.float32)
    order = stable_order(a, descending)
    assert dl.argsort(dl.asarray(a), descending=descending).tolist() == order.tolist()
    assert dl.sort(dl.asarray(a), descending=descending).tobytes() == a[order].tobytes()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=300), st.data())
def test_any_integers(values, data):
    k = data.draw(st.integers(0, len(values)))
    x = dl.asarray(values, dtype="int64")
    assert dl.sort(x).tolist() == sorted(values)
    assert dl.top_k(x, k)[0].tolist() == sorted(values, reverse=True)[:k]
    assert [values[i] for i in dl.argsort(x, descending=True).tolist()] == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("dtype", "n"), [("uint8", 2**63 - 1), ("int16", 2**61 - 1), ("float64", 2**60 - 1), ("float64", 2**49)]
)
@pytest.mark.parametrize(
    "call", [dl.median, lambda x: dl.quantile(x, 0.3), lambda x: dl.top_k(x, 3), dl.sort, dl.argsort, dl.unique_values]
)
def test_a_broadcast_line_whose_keys_no_memory_holds_is_refused(call, dtype, n):
    with pytest.raises((MemoryError, ValueError), match=r"allocat|memory|takes more than 2\^63 - 1 bytes"):
        call(dl.broadcast_to(dl.asarray([1], dtype=dtype), (n,)))


@pytest.mark.parametrize("function", [dl.sort, dl.argsort])
def test_names_of_numpys_algorithms_are_taken(function):
    x = dl.asarray([3, 1, 2, 1])
    for kind in (None, "quicksort", "heapsort", "mergesort", "stable", "quick"):
        assert function(x, kind=kind).tolist() == function(x).tolist()
    for kind in ("radix", "", 1):
        with pytest.raises(ValueError, match=r"sort: kind must be 'quicksort', .*, got "):
            function(x, kind=kind)
