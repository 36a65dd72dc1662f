# SPDX-License-Identifier: Apache-2.0
"""Basic indexing and assignment, compared with NumPy."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dltensor as dl

SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)


def array_of(shape):
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


@st.composite
def arrays_and_keys(draw):
    array = array_of(draw(SHAPES))
    key = draw(hnp.basic_indices(array.shape, max_dims=8, allow_newaxis=True))
    return array, key


@settings(max_examples=400)
@given(arrays_and_keys())
def test_every_basic_index_shows_what_numpy_shows(case):
    array, key = case
    want = np.asarray(array[key])
    got = dl.from_dlpack(array)[key]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)
    if want.size and isinstance(array[key], np.ndarray):  # NumPy gives a number, not a view, for a single element
        assert got.data_ptr == want.ctypes.data


@settings(max_examples=300)
@given(arrays_and_keys(), st.data())
def test_assignment_broadcasts_as_numpy_does(case, data):
    array, key = case
    target = array[key]
    if not isinstance(target, np.ndarray):
        target = np.asarray(target)
    shape = tuple(data.draw(st.sampled_from([n, 1])) for n in target.shape)[data.draw(st.integers(0, target.ndim)) :]
    value = np.asarray(-array_of(shape) - 1)
    want = array.copy()
    want[key] = value
    got = dl.from_dlpack(array.copy())
    got[key] = dl.from_dlpack(value)
    np.testing.assert_array_equal(got.numpy(), want)


@settings(max_examples=300)
@given(st.integers(1, 40), st.data())
def test_overlapping_assignment_is_as_if_copied_first(n, data):
    array = np.arange(n)
    length = data.draw(st.integers(1, n))
    steps = st.sampled_from([1, -1])
    starts = st.integers(0, n - length)

    def window():
        start, step = data.draw(starts), data.draw(steps)
        return (
            slice(start, start + length) if step == 1 else slice(start + length - 1, start - 1 if start else None, -1)
        )

    to, source = window(), window()
    want = array.copy()
    want[to] = array[source].copy()
    tensor = dl.from_dlpack(array)
    tensor[to] = tensor[source]
    np.testing.assert_array_equal(array, want)


@pytest.mark.parametrize("key", [3, -4, 2**70, (0, 5), (0, 0, 0)])
def test_positions_out_of_range_are_index_errors(key):
    tensor = dl.from_dlpack(array_of((3, 4)))
    with pytest.raises(IndexError):
        tensor[key]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (3, "index 3 is out of range for axis 0 with size 3"),
        ((0, -5), "index -5 is out of range for axis 1 with size 4"),
        ((0, 0, 0), "the tensor has 2 dimensions, but 3 were indexed"),
        ((..., ...), "once"),
        (1.5, "got float"),
        ("x", "got str"),
        ([0.5], "got list of float32"),
        ({}, "got dict"),
    ],
)
def test_index_errors_say_what_is_wrong(key, text):
    with pytest.raises(IndexError, match=text.replace("...", r"\.\.\.")):
        dl.from_dlpack(array_of((3, 4)))[key]


def test_a_zero_dimensional_tensor_has_nothing_to_index():
    tensor = dl.asarray(5)
    assert tensor[()].item() == 5
    assert tensor[None].shape == (1,)
    with pytest.raises(IndexError, match="0 dimensions"):
        tensor[0]
    with pytest.raises(TypeError, match="no length"):
        len(tensor)
    with pytest.raises(TypeError, match="iterated"):
        iter(tensor)


def test_numpy_integers_are_positions():
    assert dl.from_dlpack(array_of((3, 4)))[np.int8(1), np.uint64(2)].item() == 6


def test_a_step_of_zero_is_refused():
    with pytest.raises(ValueError, match="zero"):
        dl.from_dlpack(array_of((3,)))[::0]


def test_more_than_64_dimensions_are_refused():
    tensor = dl.from_dlpack(array_of((2,)))
    assert tensor[(None,) * 63].ndim == 64
    with pytest.raises(IndexError, match="64"):
        tensor[(None,) * 64]


def test_iteration_gives_views():
    tensor = dl.from_dlpack(array := array_of((3, 2)))
    for row in tensor:
        row[0] = -1
    assert array[:, 0].tolist() == [-1, -1, -1]
    assert [row.tolist() for row in tensor] == array.tolist()


def test_a_shape_that_does_not_broadcast_is_named():
    tensor = dl.from_dlpack(array_of((3, 4)))
    with pytest.raises(ValueError, match=r"shape \(3,\) does not broadcast to \(3, 4\)"):
        tensor[:] = dl.from_dlpack(array_of((3,)))
    assert tensor.tolist() == array_of((3, 4)).tolist()


def test_elements_that_share_memory_are_not_written():
    tensor = dl.from_dlpack(np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,)))
    with pytest.raises(ValueError, match="share memory"):
        tensor[:] = 1


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("uint8", 256, OverflowError),
        ("uint8", -1, OverflowError),
        ("int64", 2**63, OverflowError),
        ("int8", float("inf"), OverflowError),
        ("int8", float("nan"), ValueError),
        ("float32", 1j, TypeError),
        ("float32", "x", TypeError),
    ],
)
def test_numbers_outside_the_dtype_are_refused(dtype, value, error):
    tensor = dl.from_dlpack(np.zeros(2, dtype))
    with pytest.raises(error):
        tensor[0] = value
    assert tensor.tolist() == [0, 0]


def test_numbers_are_written_as_the_dtype_holds_them():
    tensor = dl.from_dlpack(np.zeros((3, 2), "uint8"))
    tensor[1] = 5.7
    tensor[:, 0] = 7
    tensor[-1, ::-1] = 9
    assert tensor.tolist() == [[7, 0], [7, 5], [9, 9]]


def test_a_subclass_of_tuple_is_a_key():
    class Point(NamedTuple):
        row: object
        column: object

    t = dl.asarray([[1, 2], [3, 4]])
    assert t[Point(1, 0)].item() == 3
    assert t[Point(slice(None), 1)].tolist() == [2, 4]
    assert t[Point([1, 0], [0, 0])].tolist() == [3, 1]
    t[Point(0, 0)] = 7
    t[Point([1], [1])] = 8
    assert t.tolist() == [[7, 2], [3, 8]]


def test_assigned_values_may_have_more_leading_dimensions_of_one():
    t = dl.zeros((2, 4))
    t[0] = dl.arange(4).reshape((1, 1, 4))
    t[1] = [[5, 6, 7, 8]]
    assert t.tolist() == [[0, 1, 2, 3], [5, 6, 7, 8]]
    t[0, 0] = dl.asarray([[9.0]])
    t[[1, 1], [0, 1]] = dl.asarray([[[10.0, 11.0]]])
    t[t == 8] = np.asarray([[12.0]])
    assert t.tolist() == [[9, 1, 2, 3], [10, 11, 7, 12]]
    with pytest.raises(ValueError, match=r"shape \(2, 4\) does not broadcast to \(4,\)"):
        t[0] = dl.zeros((2, 4))
