# SPDX-License-Identifier: Apache-2.0
"""The primitives behind the faces: they refuse whatever would leave the memory that a tensor shows."""

import numpy as np
import pytest
from dltensor._views import element_bytes, from_raw, raw_bytes, restride
from hypothesis import given
from hypothesis import strategies as st

import dltensor as dl
from dltensor import layout

small = st.integers(-7, 7)


@given(st.lists(st.tuples(st.integers(0, 4), small), max_size=3), st.integers(-2, 25), st.booleans())
def test_restride_gives_exactly_the_views_that_stay_inside(dims, offset, backwards):
    source = dl.from_dlpack(np.arange(24))
    if backwards:
        source = source[::-1]
    shape, strides = tuple(n for n, _ in dims), tuple(s for _, s in dims)
    low, high = layout.extent(shape, strides)
    start, end = layout.extent(source.shape, source.strides)
    if 0 not in shape and not (start <= offset + low and offset + high <= end):
        with pytest.raises(ValueError, match="leaves the elements"):
            restride(source, shape, strides, offset)
        return
    made = restride(source, shape, strides, offset)
    where = [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]
    expected = [23 - at * -1 if backwards else at for at in where]
    assert np.array(made.tolist()).ravel().tolist() == expected


@pytest.mark.parametrize("stride", [2**62, -(2**63), 2**63 - 1])
def test_restride_is_not_fooled_by_overflow(stride):
    with pytest.raises(ValueError, match="leaves the elements"):
        restride(dl.zeros(8), (4, 4), (stride, stride))


def test_restride_of_an_empty_tensor_shows_nothing():
    with pytest.raises(ValueError, match="leaves the elements"):
        restride(dl.zeros((0,)), (1,), (1,))
    assert restride(dl.zeros((0,)), (0, 5), (1, 1), 99).shape == (0, 5)


def test_a_read_only_tensor_stays_so():
    assert restride(dl.asarray(b"abc"), (1,), (1,)).readonly


@pytest.mark.parametrize("dtype", dl.DTYPES.values(), ids=str)
def test_bytes_and_back_for_every_dtype(dtype):
    source = dl.empty((3, 5), dtype=dtype)
    data = raw_bytes(source)
    data[:] = np.arange(source.nbytes, dtype=np.uint8)
    assert data.shape == (source.nbytes,)
    back = from_raw(data, (3, 5), dtype)
    assert back.dtype == dtype
    assert back.same_memory(source)
    assert raw_bytes(back).tolist() == list(range(source.nbytes))


def test_from_raw_counts_the_bytes():
    with pytest.raises(ValueError, match=r"shape \(2, 2\) of float32 takes 16 bytes, got 15"):
        from_raw(dl.asarray(bytes(15)), (2, 2), "float32")
    with pytest.raises(ValueError, match="takes 5316911983139663491615228241121378304 bytes"):
        from_raw(dl.asarray(b""), (2**40, 2**40, 2**40), "float32")


def test_element_bytes_reads_one_element_where_it_has_bytes_of_its_own():
    assert element_bytes(dl.asarray([[1, 2], [3, 4]], dtype="int16").T, 0, 1) == b"\x03\x00"
    assert element_bytes(dl.empty(3, dtype="int4"), 1) is None
    with pytest.raises(IndexError, match="index 2 is out of range for axis 0 with size 2"):
        element_bytes(dl.zeros(2), 2)
