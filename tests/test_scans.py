# SPDX-License-Identifier: Apache-2.0
"""Running sums, products and extremes: against NumPy, exact arithmetic and their own order, in every dtype, layout."""

from itertools import accumulate

import numpy as np
import pytest
from test_reductions import NUMPY_DTYPES, bits_of, layouts, numbers

import dltensor as dl

NAMES = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_scan_gives_numpys_values(name, dtype):
    for shape in [(1,), (7,), (0,), (3, 0), (0, 3), (3, 4), (40, 7), (2, 3, 4)]:
        a = numbers(dtype, shape)
        for axis in range(-a.ndim, a.ndim):
            wanted = NAMES[name](a, axis=axis)
            for x in layouts(a):
                made = getattr(dl, name)(x, axis=axis)
                assert made.dtype == (wanted.dtype if wanted.dtype.kind != "c" else dtype)
                if np.dtype(dtype).kind in "fc":
                    assert np.allclose(made.numpy(), wanted, rtol=2e-2 if dtype == "float16" else 1e-4, atol=1e-2)
                else:
                    assert np.array_equal(made.numpy(), wanted)
                longer = getattr(dl, name)(x, axis=axis, include_initial=True).numpy()
                first, rest = np.split(longer, [1], axis=axis)
                assert np.array_equal(rest, made.numpy())
                assert np.all(first == (0 if name == "cumulative_sum" else 1))


def joined(one, other):
    """The sum of two numbers of two parts."""
    total = one[0] + other[0]
    part = total - one[0]
    return total, one[1] + other[1] + ((one[0] - (total - part)) + (other[0] - part))


def running_sums(a):
    """Sums of float64 in the documented order: groups of 8 by distances 1, 2, 4; blocks of 4096; batches of 64."""
    made, batches, blocks = np.empty(a.size), None, None
    for number, first in enumerate(range(0, a.size, 4096)):
        block = a[first : first + 4096]
        groups = np.full((-(-block.size // 8), 8), -0.0)
        groups.reshape(-1)[: block.size] = block
        for distance in (1, 2, 4):
            groups[:, distance:] += groups[:, :-distance].copy()
        before = np.add.accumulate(np.concatenate([[-0.0], groups[:, 7]]))
        ahead = joined(batches, blocks) if batches and blocks else batches or blocks
        starts = ahead[0] + (ahead[1] + before) if ahead else before
        made[first : first + 4096] = (groups + starts[:-1, None]).reshape(-1)[: block.size]
        blocks = joined(blocks, (before[-1], 0.0)) if blocks else (before[-1], 0.0)
        if number % 64 == 63:
            batches, blocks = joined(batches, blocks) if batches else blocks, None
    return made


@pytest.mark.parametrize("n", [1, 7, 8, 9, 4095, 4096, 4097, 30000, 262144, 300000, 800001])
def test_sums_of_floats_follow_one_order(n):
    a = np.random.default_rng(7).standard_normal(n).astype("f4")
    made = dl.cumulative_sum(a)
    assert np.array_equal(made.numpy(), running_sums(a.astype("f8")).astype("f4"))
    exact = np.add.accumulate(a.astype(np.longdouble))
    assert np.max(np.abs(made.numpy() - exact) / np.spacing(np.abs(made.numpy()))) < 0.51
    double = np.random.default_rng(8).standard_normal(n)
    assert np.array_equal(dl.cumulative_sum(double).numpy(), running_sums(double))
    for x in layouts(double):
        assert bits_of(dl.cumulative_sum(x).numpy()) == bits_of(dl.cumulative_sum(double).numpy())
    parts = dl.cumulative_sum(double + 1j * double[::-1]).numpy()
    assert bits_of(parts.real.copy()) == bits_of(running_sums(double))
    assert bits_of(parts.imag.copy()) == bits_of(running_sums(double[::-1].copy()))


def test_sums_of_special_floats():
    assert dl.cumulative_sum(dl.asarray([-0.0, -0.0])).tolist() == [-0.0, -0.0]
    assert str(dl.cumulative_sum(dl.asarray([-0.0, -0.0])).tolist()) == "[-0.0, -0.0]"
    for dtype in ("float32", "float64"):
        for at in (0, 5, 8, 4095, 4096, 5000):
            a = np.ones(9000, dtype)
            a[at] = np.inf
            wanted = np.cumsum(a)
            assert np.array_equal(dl.cumulative_sum(a).numpy(), wanted)
            for bad in (-np.inf, np.nan):
                a[at + 3] = bad
                made = dl.cumulative_sum(a).numpy()
                assert np.array_equal(made[: at + 3], wanted[: at + 3])
                assert np.isnan(made[at + 3 :]).all()
                assert len({made[i].tobytes() for i in range(at + 3, a.size)}) == 1
        largest = np.full(5000, np.finfo(dtype).max, dtype)
        with np.errstate(over="ignore"):
            assert np.array_equal(dl.cumulative_sum(largest).numpy() == np.inf, np.cumsum(largest) == np.inf)


@pytest.mark.parametrize("dtype", [name for name in NUMPY_DTYPES if np.dtype(name).kind in "iu"])
def test_saturating_scans_clamp_the_exact_value(dtype):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    for values in (
        rng.integers(limits.min, limits.max, 40, dtype=dtype, endpoint=True),
        np.array([limits.max, limits.max, limits.min, 1, limits.min, 2], dtype),
        np.array([limits.max, 2, 2, 3, 0, 5], dtype),
    ):
        for name, step in (("cumulative_sum", int.__add__), ("cumulative_prod", int.__mul__)):
            exact = list(accumulate(map(int, values), step))
            wanted = [min(max(value, limits.min), limits.max) for value in exact]
            made = getattr(dl, name)(values, saturate=True)
            assert (made.dtype, made.tolist()) == (dtype, wanted)
            first = 0 if name == "cumulative_sum" else 1
            assert getattr(dl, name)(values, saturate=True, include_initial=True).tolist() == [first, *wanted]
            two = getattr(dl, name)(np.stack([values, values], 1), axis=0, saturate=True)
            assert two.tolist() == [[value, value] for value in wanted]


def test_saturate_keeps_floats_and_bools():
    a = np.random.default_rng(4).standard_normal(20).astype("f4")
    assert dl.array_equal(dl.cumulative_sum(a, saturate=True), dl.cumulative_sum(a))
    assert dl.cumulative_sum(dl.asarray([False, True, True]), saturate=True).tolist() == [False, True, True]
    with pytest.raises(TypeError, match="cumulative_sum: saturate=True keeps the tensor's dtype"):
        dl.cumulative_sum(a, saturate=True, dtype="float64")


EXTREMES = {"cumulative_max": np.maximum.accumulate, "cumulative_min": np.minimum.accumulate}


@pytest.mark.parametrize("dtype", [name for name in NUMPY_DTYPES if not name.startswith("complex")])
@pytest.mark.parametrize("name", EXTREMES)
def test_running_extremes_are_numpys(name, dtype):
    for shape in [(1,), (7,), (0,), (3, 0), (0, 3), (3, 4), (40, 7), (2, 3, 4)]:
        a = numbers(dtype, shape)
        for axis in range(-a.ndim, a.ndim):
            wanted = EXTREMES[name](a, axis=axis)
            for x in layouts(a):
                made = getattr(dl, name)(x, axis=axis)
                assert (made.dtype, made.shape) == (dtype, shape)
                assert np.array_equal(made.numpy(), wanted)
            out = np.empty(shape, dtype)
            assert getattr(dl, name)(a, axis=axis, out=out) is out
            assert np.array_equal(out, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_running_extremes_of_special_values(dtype):
    x = dl.asarray([0.0, -0.0, 1.0, -dl.inf, dl.inf, dl.nan, 2.0, dl.inf], dtype=dtype)
    assert repr(dl.cumulative_max(x).tolist()) == "[0.0, 0.0, 1.0, 1.0, inf, nan, nan, nan]"
    assert repr(dl.cumulative_min(x).tolist()) == "[0.0, -0.0, -0.0, -inf, -inf, nan, nan, nan]"
    for name, whole in (("cumulative_max", dl.max), ("cumulative_min", dl.min)):
        for n in range(1, 9):
            assert repr(getattr(dl, name)(x[:n])[-1].item()) == repr(whole(x[:n]).item())


def test_running_extremes_reach_the_limits_of_integers():
    for dtype in ("int64", "uint64", "int8", "bool"):
        a = np.asarray([0, 1]) > 0 if dtype == "bool" else np.asarray([np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        for name in EXTREMES:
            assert np.array_equal(getattr(dl, name)(a).numpy(), EXTREMES[name](a))


def test_no_number_of_threads_shows():
    a = np.random.default_rng(2).standard_normal((300, 700))
    long = np.random.default_rng(3).standard_normal(500_001)
    before = dl.num_threads()
    try:
        made = []
        for threads in (1, 2, 8):
            dl.set_num_threads(threads)
            made.append(
                [bits_of(getattr(dl, name)(a, axis=axis).numpy()) for name in (*NAMES, *EXTREMES) for axis in (0, 1)]
                + [bits_of(dl.cumulative_sum(x).numpy()) for x in (long, long.astype("f4"), dl.asarray(long)[::-3])]
            )
        assert made[0] == made[1] == made[2]
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_no_number_of_threads_shows_where_calls_follow_one_another(dtype):
    # Then lines of 2**15 elements and more are shared, too, by two threads in unequal parts.
    rng, before = np.random.default_rng(4), dl.num_threads()
    lines = [
        (rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)).astype(dtype) for n in (40_000, 100_001, 131_071)
    ]
    for at, value in ((30_000, np.inf), (5, np.nan), (90_000, -np.inf)):
        lines.append(lines[1].copy())
        lines[-1][at] = value
    lines += [np.full(100_000, -0.0, dtype), lines[1][::-1], dl.asarray(lines[2])[::3]]
    try:
        dl.set_num_threads(1)
        expected = [(bits_of(dl.cumulative_sum(x).numpy()), dl.asarray(x).sum().tobytes()) for x in lines]
        for threads in (2, 3):
            dl.set_num_threads(threads)
            for x, (running, total) in zip(lines, expected, strict=True):
                out = dl.empty(len(x), dtype=dl.asarray(x).dtype)
                for _ in range(5):
                    assert bits_of(dl.cumulative_sum(x).numpy()) == running
                    assert bits_of(dl.cumulative_sum(x, out=out).numpy()) == running
                    assert dl.asarray(x).sum().tobytes() == total
                own = dl.asarray(x, copy=True)
                assert bits_of(dl.cumulative_sum(own, out=own).numpy()) == running
    finally:
        dl.set_num_threads(before)


def test_results_are_written_to_out_itself():
    a = np.random.default_rng(6).standard_normal((3, 5000)).astype("f4")
    for x in (a, dl.asarray(a), np.asfortranarray(a), dl.asarray(a)[::-1, ::-1]):
        for axis in (0, 1, -1):
            for initial in (False, True):
                expected = dl.cumulative_sum(x, axis=axis, include_initial=initial)
                for out in (dl.full(expected.shape, 7, dtype="f4"), np.full(expected.shape[::-1], 7, "f4").T):
                    assert dl.cumulative_sum(x, axis=axis, include_initial=initial, out=out) is out
                    assert bits_of(np.array(out, order="C")) == bits_of(expected.numpy())
    # Memory that overlaps the operand's is written last.
    memory = dl.asarray(a.ravel().copy())
    expected = bits_of(dl.cumulative_sum(memory[:-1]).numpy())
    dl.cumulative_sum(memory[:-1], out=memory[1:])
    assert bits_of(memory[1:].numpy()) == expected
    # What does not fit is refused before anything is computed.
    read_only = np.zeros(3, "f4")
    read_only.flags.writeable = False
    for out, error in ((dl.zeros(4), ValueError), (dl.zeros((3, 1)), ValueError), (dl.zeros(3, dtype="f8"), TypeError),
                       (read_only, (ValueError, BufferError)), ([1.0, 2.0, 3.0], TypeError)):  # fmt: skip
        with pytest.raises(error, match="cumulative_sum"):
            dl.cumulative_sum(dl.ones(3), out=out)


def test_dtype_and_out():
    a = dl.asarray([200, 100, 1])
    assert dl.cumulative_sum(a, dtype="uint8").tolist() == [200, 44, 45]
    assert dl.cumulative_sum(dl.asarray([1.5, 1.5]), dtype="int32").tolist() == [1, 2]
    out = np.zeros(3, "i8")
    assert dl.cumulative_prod(a, out=out) is out
    assert out.tolist() == [200, 20000, 20000]
    memory = dl.asarray([1, 2, 3])
    assert dl.cumulative_sum(memory, out=memory).tolist() == [1, 3, 6]


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(), (4,), (0,), (3, 4), (0, 3)])
def test_the_methods_have_numpys_meaning(name, shape):
    a = np.random.default_rng(5).integers(-9, 9, shape)
    for x in layouts(a):
        for axis in (None, *range(-a.ndim, a.ndim)):
            made = getattr(dl.asarray(x), name)(axis)
            assert np.array_equal(made.numpy(), getattr(a, name)(axis))
    out = dl.zeros(2)
    assert getattr(dl.asarray([1, 2]), name)(dtype="float32", out=out) is out
    assert out.tolist() == [1.0, 3.0 if name == "cumsum" else 2.0]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dl.cumulative_sum(dl.zeros(())), ValueError, "cumulative_sum: expected at least one dimension"),
        (lambda: dl.cumulative_sum(dl.zeros((2, 3))), ValueError, "cumulative_sum: axis must be given"),
        (lambda: dl.cumulative_max(dl.zeros((2, 3))), ValueError, "cumulative_max: axis must be given"),
        (lambda: dl.cumulative_max(dl.asarray([1j])), TypeError, "cumulative_max: not defined for complex64"),
        (lambda: dl.cumulative_min(dl.zeros(3), axis=-2), IndexError, "cumulative_min: axis -2 is out of range"),
        (lambda: dl.cumulative_prod(dl.zeros(3), axis=1), IndexError, "cumulative_prod: axis 1 is out of range"),
        (lambda: dl.cumulative_sum(dl.zeros(3), out=dl.zeros(2)), ValueError, r"the result has shape \(3,\), out has"),
        (lambda: dl.cumulative_sum(dl.zeros(3), out=dl.zeros(3, dtype="int8")), TypeError, "the result is float32"),
        (lambda: dl.cumulative_sum(dl.zeros(2, dtype="int4")), TypeError, "int4 has no arithmetic"),
        (lambda: dl.cumulative_sum(dl.zeros(2), dtype="float32x2"), TypeError, "float32x2 has no arithmetic"),
        (lambda: dl.cumulative_prod(dl.zeros(2), dtype="int8x4"), TypeError, "int8x4 has no arithmetic"),
        (lambda: dl.cumulative_sum(dl.asarray([1j]), dtype="float32"), TypeError, "would drop the imaginary part"),
        (lambda: dl.cumulative_sum(dl.wrap(4096, (3,), "float32", device="rocm", owner=object())), dl.DeviceError,
         "cumulative_sum: nothing here computes on rocm:0"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("n", [*range(1, 14), 15, 16, 17, 23, 63, 64])
def test_short_lines_have_the_bits_of_long_ones(n, dtype):
    x = dl.asarray(np.random.default_rng(n).standard_normal((2, 301, 100)) * 1e3).astype(dtype)
    x[0, 3, 0], x[1, 5, 2], x[1, 6, 1] = float("nan"), float("inf"), -float("inf")
    wanted = dl.cumulative_sum(x, axis=-1)[..., :n]
    for part in (x[..., :n], x[..., :n].copy(), x.transpose(2, 0, 1).copy()[:n].transpose(1, 2, 0)):
        assert dl.cumulative_sum(part, axis=-1).tobytes() == wanted.tobytes()
    columns = dl.moveaxis(x[..., :n], -1, 1).copy()
    assert dl.moveaxis(dl.cumulative_sum(columns, axis=1), 1, -1).tobytes() == wanted.tobytes()
    out = dl.empty((2, n, 602), dtype=dtype)[:, :, ::2][..., :301]
    assert dl.cumulative_sum(columns, axis=1, out=out).tobytes() == dl.moveaxis(wanted, -1, 1).tobytes()
    target = columns.copy()
    assert dl.cumulative_sum(target, axis=1, out=target).tobytes() == dl.moveaxis(wanted, -1, 1).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_columns_of_floats_have_the_bits_of_rows(dtype):
    rng = np.random.default_rng(11)
    for n, columns in [(2, 8), (8, 9), (9, 8), (16, 300), (700, 33), (4096, 9), (4097, 9), (24, 129)]:
        a = (rng.standard_normal((3, n, columns)) * 1e3).astype(dtype)
        a[0, n // 2, 3], a[1, n // 3, 5], a[2, n // 2, 7] = np.inf, np.nan, -np.inf
        a[0, n - 1, 3] = -np.inf
        lines = [dl.cumulative_sum(line.copy()).numpy() for line in np.moveaxis(a, 1, 2).reshape(-1, n)]
        wanted = np.moveaxis(np.stack(lines).reshape(3, columns, n), 1, 2)
        rows = np.ascontiguousarray(np.moveaxis(a, 1, 2))
        assert bits_of(dl.cumulative_sum(rows, axis=2).numpy()) == bits_of(np.moveaxis(wanted, 1, 2))
        for x in layouts(a):
            assert bits_of(dl.cumulative_sum(x, axis=1).numpy()) == bits_of(wanted)
        out = dl.asarray(a, copy=True)
        assert bits_of(dl.cumulative_sum(out, axis=1, out=out).numpy()) == bits_of(wanted)


INTEGERS = [name for name in NUMPY_DTYPES if np.dtype(name).kind in "iub"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_of_integers_wrap_in_any_layout(dtype):
    rng = np.random.default_rng(12)
    for shape in [(1500,), (2, 5000), (900, 3), (900, 8), (700, 17), (3, 40, 60), (5, 3000)]:
        if dtype == "bool":
            a = rng.random(shape) < 0.5
        else:
            limits = np.iinfo(dtype)
            a = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        wide = np.repeat(a[..., None], 3, -1)
        views = [*layouts(a), wide[..., 1], a[..., ::-1], np.broadcast_to(a[..., :1], shape)]
        for axis in range(a.ndim):
            for x in views:
                assert np.array_equal(dl.cumulative_sum(x, axis=axis).numpy(), np.cumsum(x, axis=axis))
            if np.dtype(dtype).itemsize == 8:
                out = dl.asarray(a, copy=True)
                assert dl.cumulative_sum(out, axis=axis, out=out) is out
                assert np.array_equal(out.numpy(), np.cumsum(a, axis=axis))
