# SPDX-License-Identifier: Apache-2.0
"""Masked arrays: a tensor has no mask, so a masked element is refused wherever a tensor is read."""

import numpy as np
import pytest

import dltensor as dl

ONES = dl.ones(3, dtype="float64")


def masked():
    return np.ma.masked_array([1.0, 2.0, 1e20], mask=[False, False, True])


class Variable:
    """A variable of netCDF4: ``__array__`` returns a masked array."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class WithMask(np.ndarray):
    """An array of astropy: another class of ndarray with a mask."""

    mask = property(lambda self: np.asarray(self) > 2)


CALLS = {
    "asarray": dl.asarray,
    "asarray with copy": lambda x: dl.asarray(x, copy=True),
    "from_dlpack": dl.from_dlpack,
    "from_dlpack with copy": lambda x: dl.from_dlpack(x, copy=True),
    "mean": dl.mean,
    "sum": dl.sum,
    "add": lambda x: dl.add(x, ONES),
    "median": dl.median,
    "sort": dl.sort,
    "matmul": lambda x: dl.matmul(x, ONES),
    "concat": lambda x: dl.concat([ONES, x]),
    "where": lambda x: dl.where(ONES > 0, x, ONES),
    "reshape": lambda x: dl.reshape(x, (3, 1)),
    "astype": lambda x: dl.astype(x, "float32"),
    "copy": dl.copy,
    "out": lambda x: dl.add(ONES, ONES, out=x),
    "fill": lambda x: dl.fill(0, x),
    "norm": dl.linalg.vector_norm,
    "fft": dl.fft.fft,
    "operator": lambda x: ONES + x,
    "comparison": lambda x: dl.less(ONES, x),
    "matmul operator": lambda x: ONES @ x,
    "in-place operator": lambda x: ONES.copy().__iadd__(x),
    "assignment": lambda x: ONES.copy().__setitem__(..., x),
    "OpaqueArray": dl.opaque.OpaqueArray,
}


@pytest.mark.parametrize("make", [masked, lambda: Variable(masked()), lambda: np.arange(1.0, 4).view(WithMask)])
@pytest.mark.parametrize("call", CALLS)
def test_masked_elements_are_refused_with_a_remedy(call, make):
    x = make()
    if call.startswith("from_dlpack") and isinstance(x, Variable):
        pytest.skip("no DLPack")
    with pytest.raises(BufferError, match=r"has masked elements, which a tensor cannot express; .*filled\(\)"):
        CALLS[call](x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dl.asarray([1.0, x]),
        lambda x: dl.asarray([1.0, x], dtype="float64"),
        lambda x: dl.full(2, x),
        lambda x: dl.full(2, x, dtype="float32"),
        lambda x: ONES.copy().fill(x),
        lambda x: ONES.copy().__setitem__(0, x),
        lambda x: ONES.copy().__setitem__(..., [1, 2, x]),
        lambda x: ONES + x,
        dl.asarray,
    ],
)
@pytest.mark.parametrize("x", [np.ma.masked, np.ma.array(5.0, mask=True)], ids=["constant", "0-d"])
def test_a_masked_number_is_refused(call, x):
    with pytest.raises(BufferError, match="has masked elements"):
        call(x)


@pytest.mark.parametrize("mask", [np.ma.nomask, False, [False] * 3])
def test_a_masked_array_without_a_masked_element_shares_its_memory(mask):
    x = np.ma.masked_array([1.0, 2.0, 3.0], mask=mask)
    t = dl.asarray(x)
    t[0] = 7
    assert x.data.tolist() == [7, 2, 3]
    assert (ONES + x).tolist() == [8, 3, 4]
    assert dl.asarray([x[1], 5]).tolist() == [2, 5]


def test_numpy_functions_keep_the_mask():
    made = np.add(ONES, masked())
    assert (masked() > ONES).mask.tolist() == [False, False, True]
    assert isinstance(made, np.ma.MaskedArray)
    assert made.mask.tolist() == [False, False, True]


def test_a_masked_array_of_fields_is_refused_by_its_dtype():
    x = np.ma.masked_array([(1, 2.0)], mask=[(True, False)], dtype=[("a", "i4"), ("b", "f4")])
    with pytest.raises(BufferError, match="has no DLPack equivalent"):
        dl.asarray(x)


def test_into_a_masked_array_makes_one():
    made = dl.into(dl.arange(3), np.ma.MaskedArray)
    assert (type(made), made.tolist()) == (np.ma.MaskedArray, [0, 1, 2])
