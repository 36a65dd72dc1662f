# SPDX-License-Identifier: Apache-2.0
"""isclose, allclose and array_equal: against NumPy, in every pair of dtypes, with special values and tolerances."""

import itertools
import math

import numpy as np
import pytest
from test_reductions import NUMPY_DTYPES, layouts

import dltensor as dl

SPECIAL = [0.0, -0.0, 1.0, 1.0 + 1e-9, 1.00001, 1.0000101, -1.0, 1e-8, 1e-9, 1e30, 1e300, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize(("rtol", "atol"), [(1e-5, 1e-8), (0.0, 0.0), (0.0, 1e-8), (1e-9, 0.0), (2.0, 3.0)])
def test_isclose_of_special_values_is_numpys(rtol, atol, equal_nan):
    a, b = np.asarray(SPECIAL)[:, None], np.asarray(SPECIAL)
    with np.errstate(all="ignore"):
        wanted = np.isclose(a, b, rtol, atol, equal_nan)
        complex_pair = a + 1j * b, b + 1j * a
        wanted_complex = np.isclose(*complex_pair, rtol, atol, equal_nan)
    assert np.array_equal(dl.isclose(a, b, rtol, atol, equal_nan).numpy(), wanted)
    assert dl.isclose(a, b, rtol, atol, equal_nan).dtype == dl.bool
    assert np.array_equal(dl.isclose(*complex_pair, rtol, atol, equal_nan).numpy(), wanted_complex)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(NUMPY_DTYPES, NUMPY_DTYPES)))
def test_every_pair_of_dtypes(first, second):
    a, b = np.asarray([0, 1, 2, 100]).astype(first), np.asarray([0, 1, 3, 100]).astype(second)
    wanted = np.isclose(a, b)
    for x, y in zip(layouts(a), layouts(b), strict=True):
        assert np.array_equal(dl.isclose(x, y).numpy(), wanted)
        assert dl.allclose(x, y) is bool(wanted.all())
        assert dl.array_equal(x, y) is bool(np.array_equal(a, b))
        assert dl.array_equal(x, x, equal_nan=True) is True


def test_shapes_broadcast_but_for_array_equal():
    a = dl.asarray([[1.0, 2.0], [1.0, 2.0]])
    assert dl.isclose(a, dl.asarray([1.0, 2.0])).tolist() == [[True, True], [True, True]]
    assert dl.allclose(a, dl.asarray([1.0, 2.0]))
    assert not dl.array_equal(a, dl.asarray([1.0, 2.0]))
    assert dl.allclose(dl.zeros(0), dl.ones(0))
    assert dl.array_equal(dl.zeros(0), dl.ones(0))
    assert not dl.array_equal(dl.zeros((0, 2)), dl.zeros((2, 0)))
    assert dl.isclose(1.0, 1.0 + 1e-9).shape == ()
    with pytest.raises(ValueError, match="broadcast"):
        dl.isclose(dl.zeros(2), dl.zeros(3))


def test_numbers_have_the_dtype_of_the_tensor_beside_them():
    assert dl.array_equal(dl.asarray(0.1), 0.1)
    assert dl.isclose(0.1, dl.asarray([0.1, 0.2], dtype="float16"), 0.0, 0.0).tolist() == [True, False]
    assert dl.isclose(dl.asarray([0.1], dtype="float64"), 0.1, 0.0, 0.0).tolist() == [True]
    assert not dl.isclose(0.1, 0.1 + 1e-12, 0.0, 0.0)
    assert dl.isclose(dl.asarray([1, 2]), 1.0 + 1e-9).tolist() == [True, False]
    assert dl.isclose(dl.asarray([1.0]), 1 + 1e-9j).tolist() == [True]
    assert dl.allclose(dl.asarray([300], dtype="int16"), 300)


def test_differences_do_not_overflow_in_narrow_dtypes():
    top = dl.finfo("float16").max
    assert not dl.allclose(dl.asarray([top], dtype="float16"), dl.asarray([-top], dtype="float16"))
    assert dl.allclose(dl.asarray([top], dtype="float16"), dl.asarray([-top], dtype="float16"), rtol=2.0)
    assert not dl.allclose(dl.asarray([0], dtype="uint8"), dl.asarray([255], dtype="uint8"), atol=2.0)


def test_nan_is_equal_on_request():
    a = dl.asarray([1.0, dl.nan])
    assert not dl.array_equal(a, a)
    assert dl.array_equal(a, a, equal_nan=True)
    assert not dl.array_equal(a, dl.asarray([1.0, 2.0]), equal_nan=True)
    assert dl.allclose(a, a, equal_nan=True)
    assert not dl.allclose(a, a)


def test_out_of_isclose_is_written_and_returned():
    out = np.zeros(2, bool)
    assert dl.isclose(dl.asarray([1.0, 2.0]), 1.0, out=out) is out
    assert out.tolist() == [True, False]


@pytest.mark.parametrize("function", [dl.allclose, dl.array_equal])
def test_tensors_of_a_device_are_refused(function):
    t = dl.wrap(4096, (3,), "float32", device="cuda", owner=object())
    with pytest.raises(dl.DeviceError):
        function(t, t)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64"])
def test_large_tensors_are_compared_in_blocks(dtype):
    n = (1 << 17) + 77
    x = np.arange(n).astype(dtype)
    y = x.copy()
    y[[5, (1 << 16) - 1, 1 << 16, n - 1]] += 1
    with np.errstate(all="ignore"):
        want = np.isclose(x, y)
    for shape in ((n,), (n, 1)):
        a, b = dl.asarray(x.reshape(shape)), dl.asarray(y.reshape(shape))
        assert (dl.isclose(a, b).numpy() == want.reshape(shape)).all()
        assert not dl.allclose(a, b)
        assert dl.allclose(a, dl.copy(a))
    for place in (0, n - 1):  # the first block, and the last
        y = x.copy()
        y[place] += 1000
        assert not dl.allclose(x, y)
    assert dl.allclose(x[::-1], x[::-1].copy())


def test_integers_beside_floats_are_compared_as_float64():
    integers, floats = dl.asarray([2**31 - 1, 3], dtype="int32"), dl.asarray([2.0**31, 3.0], dtype="float32")
    assert dl.isclose(integers, floats, rtol=0, atol=0).tolist() == [False, True]
    assert dl.isclose(floats.astype("complex64"), integers, rtol=0, atol=0).tolist() == [False, True]
    assert not dl.array_equal(integers, floats)
    assert dl.array_equal(integers[1:], floats[1:].astype("bfloat16"))


def test_tolerances_broadcast_with_the_operands():
    a, b = np.asarray([1.0, 2.0, 3.0]), np.asarray([[1.1], [2.1]])
    for tolerances in ({"atol": [0.2, 0.05, 2.0]}, {"rtol": np.asarray([[0.5], [0.01]])}, {"atol": dl.asarray([0.2])}):
        wanted = np.isclose(a, b, **{name: np.asarray(value) for name, value in tolerances.items()})
        assert np.array_equal(dl.isclose(a, b, **tolerances).numpy(), wanted)
        assert dl.allclose(a, b, **tolerances) is bool(wanted.all())
