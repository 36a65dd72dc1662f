# SPDX-License-Identifier: Apache-2.0
"""ptp, average, logsumexp, softmax and log_softmax: against NumPy, and against formulas in extended precision."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from test_reductions import NUMPY_DTYPES, bits_of, layouts, numbers

import dltensor as dl

REAL = ["float16", "float32", "float64"]
SHAPES = [(1,), (7,), (3, 4), (40, 7), (5, 1, 6), (2, 3, 4, 5)]
EXTENDED = np.finfo(np.longdouble).nmant >= 63


def axes_of(ndim):
    yield None
    yield from range(-ndim, ndim)
    yield from itertools.combinations(range(ndim), 2)


def formula(name, a, axis, keepdims=False):
    """What SciPy's functions of these names are, of finite values, in extended precision."""
    a = a.astype(np.longdouble)
    axis = tuple(range(a.ndim)) if axis is None else axis
    greatest = a.max(axis=axis, keepdims=True)
    parts = np.exp(a - greatest)
    # The ones of the greatest elements apart, so that log1p keeps the digits of the others.
    rest = np.where(a < greatest, parts, 0).sum(axis=axis, keepdims=True)
    rest += (a == greatest).sum(axis=axis, keepdims=True) - 1
    if name == "softmax":
        return parts / (1 + rest)
    if name == "log_softmax":
        return a - greatest - np.log1p(rest)
    made = np.log1p(rest) + greatest
    return made if keepdims else np.squeeze(made, axis)


def ulps(made, wanted):
    """Greatest error in units in the last place of the wanted values."""
    size = np.spacing(np.abs(wanted).astype(made.dtype)).astype(np.longdouble)
    return np.max(np.abs(made.astype(np.longdouble) - wanted) / size, initial=0)


@pytest.mark.skipif(not EXTENDED, reason="long double has no more digits than double")
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_values_are_those_of_the_formula(name, dtype):
    compared = 0
    for shape, scale in itertools.product(SHAPES, (1, 30, 200)):
        a = (np.random.default_rng(4).standard_normal(shape) * scale).astype(dtype)
        for axis in axes_of(a.ndim):
            options = [{"keepdims": True}, {"keepdims": False}] if name == "logsumexp" else [{}]
            for option in options:
                made = getattr(dl, name)(a, axis=axis, **option)
                wanted = formula(name, a, axis, **option)
                assert (made.dtype, made.shape) == (dtype, wanted.shape)
                # What rounds to a subnormal or 0 has an absolute error.
                kept = (np.abs(wanted) > np.finfo(dtype).tiny) | (wanted == 0)
                computed_in_it = dtype in ("float32", "float64")  # narrower ones are computed in float32
                if computed_in_it and name != "softmax":
                    # Near 0 the rounding errors of the terms show: they are those of numbers of the size of `a`.
                    assert np.max(np.abs(made.numpy() - wanted)) <= 4 * np.spacing(np.abs(a).max())
                else:
                    # The exponential multiplies the rounding error of its argument.
                    bound = 4 + 2 * np.abs(a).max() if computed_in_it else 0.51
                    assert ulps(made.numpy()[kept], wanted[kept]) <= bound, (shape, scale, axis)
                compared += 1
    assert compared > 60


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_neither_layout_nor_threads_show(name):
    before = dl.num_threads()
    try:
        for shape, axis in (((40, 30), 0), ((40, 30), 1), ((40, 30), None), ((300, 900), 1)):
            a = np.random.default_rng(9).standard_normal(shape) * 20
            made = set()
            for threads in (1, 3):
                dl.set_num_threads(threads)
                made |= {bits_of(getattr(dl, name)(x, axis=axis).numpy()) for x in layouts(a)}
            assert len(made) == 1
    finally:
        dl.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((4096, 64), 0), ((1000, 262), 0), ((20_000, 3), 0), ((3, 9000), 0), ((64, 4096), 1), ((2, 40_000), 1),
     ((9000, 5), 1), ((60, 70, 50), 1), ((60, 70, 50), (0, 2))],
)  # fmt: skip
def test_the_bits_are_those_of_the_steps(shape, axis, dtype):
    a = np.random.default_rng(3).standard_normal(shape) * 3
    a[..., 1] = a[..., 2]
    a[..., -1] = 0.0
    wide = "float64" if dtype == "float64" else "float32"
    x = dl.asarray(a).astype(dtype)
    elements = x.astype(wide)
    less = elements - dl.max(elements, axis=axis, keepdims=True)
    parts = dl.exp(less)
    rest = dl.log1p(dl.sum(parts, axis=axis, keepdims=True, initial=-1.0))
    wanted = (parts / dl.sum(parts, axis=axis, keepdims=True)).astype(dtype)
    total = (rest + dl.max(elements, axis=axis, keepdims=True)).astype(dtype)
    turned = dl.asarray(np.asfortranarray(a)).astype(dtype)
    for of in (x, turned):
        assert dl.softmax(of, axis=axis).tobytes() == wanted.tobytes()
        assert dl.logsumexp(of, axis=axis, keepdims=True).tobytes() == total.tobytes()
        assert dl.log_softmax(of, axis=axis).tobytes() == (less - rest).astype(dtype).tobytes()


INF, NAN = math.inf, math.nan
SPECIAL = [
    ([-INF, -INF], -INF, [NAN, NAN], [NAN, NAN]),
    ([INF, 0.0], INF, [NAN, NAN], [NAN, NAN]),
    ([INF, -INF], INF, [NAN, NAN], [NAN, NAN]),
    ([INF, INF], INF, [NAN, NAN], [NAN, NAN]),
    ([NAN, 0.0], NAN, [NAN, NAN], [NAN, NAN]),
    ([NAN, INF], NAN, [NAN, NAN], [NAN, NAN]),
    ([-INF, 3.0], 3.0, [0.0, 1.0], [-INF, 0.0]),
    ([-INF], -INF, [NAN], [NAN]),
    ([1e4], 1e4, [1.0], [0.0]),
    ([], -INF, [], []),
    ([-6e4, 6e4], 6e4, [0.0, 1.0], [-12e4, 0.0]),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("given", "total", "parts", "logs"), SPECIAL)
def test_special_values(dtype, given, total, parts, logs):
    x = dl.asarray(given, dtype=dtype)
    assert repr(dl.logsumexp(x).item()) == repr(total)
    assert repr(dl.softmax(x).tolist()) == repr(parts)
    assert repr(dl.log_softmax(x).tolist()) == repr(logs)


def test_logsumexp_keeps_the_digits_of_results_near_zero():
    x = np.asarray([0.0, -40.0])
    wanted = math.log1p(math.exp(-40.0))  # whose last digit the instruction sets' exp do not share
    assert dl.logsumexp(x).item() == pytest.approx(wanted, rel=1e-15, abs=0)
    assert dl.log_softmax(x).tolist()[0] == pytest.approx(-wanted, rel=1e-15, abs=0)


def test_averages_that_float64_holds_do_not_overflow_on_the_way():
    top = 1.7e308
    x = dl.asarray([[top, top], [-top, top], [1.0, 2.0]], dtype="float64")
    assert dl.average(x, axis=1, weights=dl.asarray([1.0, 1.0])).tolist() == [top, 0.0, 1.5]
    assert dl.average(x[2], weights=dl.asarray([top, top], dtype="float64")).item() == 1.5
    assert dl.average(dl.asarray([1.0, INF]), weights=dl.asarray([1e-200, 1e-200], dtype="float64")).item() == INF
    assert math.isnan(dl.average(dl.asarray([NAN, top], dtype="float64"), weights=dl.asarray([1, 1])).item())


def test_averages_of_wide_integers_are_float64():
    x = dl.asarray([2**40, 2**40 + 1])
    assert dl.average(x).item() == 2.0**40 + 0.5
    assert dl.average(x, weights=dl.asarray([1, 1])).item() == 2.0**40 + 0.5
    assert dl.average(dl.asarray([1, 2], dtype="int8"), weights=dl.asarray([1, 1], dtype="int8")).dtype == dl.float32
    assert dl.average(x, weights=dl.asarray([1, 1]), dtype="float32").dtype == dl.float32
    with pytest.raises(TypeError, match="average: dtype must be a real float one, got int8"):
        dl.average(x, weights=dl.asarray([1, 1]), dtype="int8")


def test_integers_bools_and_no_dimensions():
    for dtype, wanted in (("int8", dl.float32), ("uint64", dl.float64), ("bool", dl.float32)):
        x = dl.asarray([0, 1, 1], dtype=dtype)
        assert dl.logsumexp(x).dtype == dl.softmax(x).dtype == dl.log_softmax(x).dtype == wanted
        assert math.isclose(dl.logsumexp(x).item(), math.log(1 + 2 * math.e), rel_tol=1e-6)
    x = dl.asarray(2.5)
    assert (dl.logsumexp(x).item(), dl.softmax(x).item(), dl.log_softmax(x).item(), dl.ptp(x).item()) == (2.5, 1, 0, 0)
    assert dl.logsumexp(dl.zeros((0, 3)), axis=0).tolist() == [-INF] * 3
    assert dl.softmax(dl.zeros((0, 3)), axis=1).shape == (0, 3)
    assert dl.logsumexp(dl.asarray([1.0, 2.0], dtype="bfloat16")).dtype == dl.bfloat16


@pytest.mark.parametrize("dtype", [name for name in NUMPY_DTYPES if np.dtype(name).kind in "iuf"])
def test_ptp_is_numpys(dtype):
    for shape in SHAPES:
        a = numbers(dtype, shape)
        for axis, keepdims in itertools.product(axes_of(a.ndim), (False, True)):
            wanted = np.ptp(a, axis=axis, keepdims=keepdims)
            for x in layouts(a):
                made = dl.ptp(x, axis=axis, keepdims=keepdims)
                assert made.dtype == dtype
                assert np.array_equal(made.numpy(), wanted)


def test_ptp_of_special_values():
    assert dl.ptp(dl.asarray([-128, 127], dtype="int8")).item() == -1
    assert math.isnan(dl.ptp(dl.asarray([1.0, NAN])).item())
    assert math.isnan(dl.ptp(dl.asarray([INF, INF])).item())
    assert dl.ptp(dl.asarray([INF, 0.0])).item() == INF


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64", "complex64", "complex128"])
def test_average_is_numpys(dtype):
    for shape in SHAPES:
        a, w = (
            numbers(dtype, shape) % 50 if dtype == "int32" else numbers(dtype, shape),
            np.abs(numbers("float32", shape)),
        )
        for axis in axes_of(a.ndim):
            made, total = dl.average(a, axis=axis, weights=w, returned=True)
            wanted, weights = np.average(a.astype("c16"), axis=axis, weights=w.astype("f8"), returned=True)
            assert made.dtype == ("float32" if dtype in ("int32", "float16") else dtype)
            assert made.shape == total.shape == wanted.shape
            loose = {"rtol": 1e-5, "atol": 1e-5}
            assert np.allclose(made.numpy(), wanted, **loose)
            assert np.allclose(total.numpy(), weights, **loose)
            assert np.array_equal(dl.average(a, axis=axis).numpy(), dl.mean(a, axis=axis).numpy())


def test_weighted_averages_of_narrow_floats_are_close_to_exact():
    rng = np.random.default_rng(6)
    for _ in range(50):
        a, w = rng.standard_normal(30).astype("f4"), rng.uniform(1, 2, 30).astype("f4")
        true = sum(Fraction(x.item()) * Fraction(y.item()) for x, y in zip(a, w, strict=True))
        true /= sum(Fraction(y.item()) for y in w)
        assert dl.average(a, weights=w).item() == np.float32(float(true))


def test_weights_of_one_axis_and_of_several():
    a = np.arange(24.0).reshape(2, 3, 4)
    for axis, shape in ((1, (3,)), (-1, (4,)), ((0, 2), (2, 4)), ((2, 0), (4, 2))):
        w = np.random.default_rng(1).uniform(1, 2, shape)
        full = np.ones((2, 3, 4))
        axes = [k % 3 for k in (axis if isinstance(axis, tuple) else (axis,))]
        order = np.argsort(axes)
        full *= w.transpose(order).reshape([a.shape[k] if k in axes else 1 for k in range(3)])
        wanted = (a * full).sum(axis) / full.sum(axis)
        for keepdims in (False, True):
            made = dl.average(a, axis=axis, weights=w, keepdims=keepdims)
            assert np.allclose(made.numpy().ravel(), wanted.ravel(), rtol=1e-14)
            assert made.ndim == (3 if keepdims else wanted.ndim)
    made, count = dl.average(dl.asarray([[1, 2], [3, 6]]), axis=0, returned=True)
    assert (made.tolist(), count.tolist(), count.dtype) == ([2.0, 4.0], [2.0, 2.0], dl.float64)


@pytest.mark.parametrize("name", ["logsumexp", "ptp", "average", "softmax", "log_softmax"])
def test_out_is_written_and_returned(name):
    a = np.random.default_rng(2).standard_normal((3, 4)).astype("f4")
    wanted = getattr(dl, name)(a, axis=1).numpy()
    for out in (np.zeros(wanted.shape, "f4"), dl.zeros(wanted.shape, dtype="float64")):
        assert getattr(dl, name)(a, axis=1, out=out) is out
        assert np.array_equal(np.asarray(out), wanted)
    with pytest.raises(ValueError, match=f"{name}: the result has shape .*, out has"):
        getattr(dl, name)(a, axis=1, out=np.zeros(5, "f4"))
    with pytest.raises(TypeError, match=f"{name}: the result is float32, out is int64"):
        getattr(dl, name)(a, axis=1, out=np.zeros(wanted.shape, "i8"))
    if name in ("softmax", "log_softmax"):
        memory = dl.asarray(a, copy=True)
        assert np.array_equal(getattr(dl, name)(memory, axis=1, out=memory).numpy(), wanted)


def test_the_counts_of_an_average_need_no_shape_of_out():
    class Out:
        def __init__(self, memory):
            self.memory = memory

        def __dlpack__(self, **options):
            return self.memory.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.memory.__dlpack_device__()

    out = Out(dl.zeros(2))
    average, count = dl.average([[1.0, 2.0], [3.0, 6.0]], axis=0, out=out, returned=True)
    assert average is out
    assert (out.memory.tolist(), count.tolist()) == ([2.0, 4.0], [2.0, 2.0])


DEVICE = dl.wrap(4096, (3,), "float32", device="rocm", owner=object())


@pytest.mark.parametrize("name", ["logsumexp", "ptp", "average", "softmax", "log_softmax"])
def test_what_is_refused_says_why(name):
    function = getattr(dl, name)
    with pytest.raises(dl.DeviceError, match=f"{name}: nothing here computes on rocm:0; move the tensor"):
        function(DEVICE)
    with pytest.raises(IndexError, match=f"{name}: axis 2 is out of range"):
        function(dl.zeros((2, 3)), axis=2)
    with pytest.raises(ValueError, match=f"{name}: axes .* name a dimension of 2 twice"):
        function(dl.zeros((2, 3)), axis=(0, -2))
    if name != "average":
        with pytest.raises(TypeError, match=f"{name}: not defined for complex64; it takes"):
            function(dl.asarray([1j]))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dl.ptp(dl.zeros((0, 3)), axis=0), ValueError, r"ptp: a tensor of shape \(0, 3\) has no elements"),
        (lambda: dl.ptp(dl.asarray([True])), TypeError, "ptp: not defined for bool; it takes integers, floats"),
        (
            lambda: dl.average(dl.zeros((2, 3)), weights=dl.zeros(3)),
            TypeError,
            r"average: weights have shape \(3,\) and x has \(2, 3\); name the axis",
        ),
        (
            lambda: dl.average(dl.zeros((2, 3)), weights=dl.zeros(3), axis=0),
            ValueError,
            r"average: weights have shape \(3,\); expected \(2, 3\), or \(2,\) for axis 0",
        ),
        (
            lambda: dl.average(dl.zeros(2), weights=dl.asarray([1.0, -1.0])),
            ZeroDivisionError,
            r"average: weights of shape \(2,\) sum to 0",
        ),
    ],
)
def test_other_refusals(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
