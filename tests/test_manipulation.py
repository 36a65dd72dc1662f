# SPDX-License-Identifier: Apache-2.0
"""Manipulation functions against NumPy, and which of them share memory."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dltensor as dl

CUBE = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def numbers(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)


def same(ours, theirs):
    assert ours.shape == theirs.shape
    assert ours.tolist() == theirs.tolist()


VIEWS = [
    (dl.expand_dims, np.expand_dims, {"axis": 0}),
    (dl.expand_dims, np.expand_dims, {"axis": -1}),
    (dl.expand_dims, np.expand_dims, {"axis": (1, -1)}),
    (dl.flip, np.flip, {}),
    (dl.flip, np.flip, {"axis": 1}),
    (dl.flip, np.flip, {"axis": (0, -1)}),
    (dl.permute_dims, np.transpose, {"axes": (2, 0, 1)}),
    (dl.permute_dims, np.transpose, {"axes": (-1, 1, 0)}),
    (dl.matrix_transpose, np.matrix_transpose, {}),
    (dl.reshape, np.reshape, {"shape": (4, -1)}),
]


@pytest.mark.parametrize(("ours", "theirs", "options"), VIEWS)
def test_views_show_what_numpy_shows_and_share_memory(ours, theirs, options):
    source = dl.from_dlpack(CUBE)
    made = ours(source, **options)
    same(made, theirs(CUBE, **options))
    assert made.same_memory(source)


@pytest.mark.parametrize(("source", "destination"), [(0, -1), (2, 0), ((0, 1), (2, 0)), ((0, 2), (-1, -2)), ((), ())])
def test_moveaxis_moves_as_numpy_does(source, destination):
    same(dl.moveaxis(CUBE, source, destination), np.moveaxis(CUBE, source, destination))


def test_squeeze_drops_only_what_is_named():
    same(dl.squeeze(CUBE.reshape(1, 24, 1), axis=-1), CUBE.reshape(1, 24))
    same(dl.squeeze(CUBE.reshape(1, 24, 1), axis=(0, 2)), CUBE.reshape(24))


def test_broadcast_to_is_a_read_only_view():
    made = dl.broadcast_to(dl.asarray([[1], [2]]), (4, 2, 3))
    same(made, np.broadcast_to([[1], [2]], (4, 2, 3)))
    assert made.strides == (0, 1, 0)
    assert made.readonly
    with pytest.raises(ValueError, match="read-only"):
        made[0, 0, 0] = 1


def test_broadcast_arrays_names_itself_in_its_messages():
    with pytest.raises(ValueError, match=r"^broadcast_arrays: \(2,\), \(3,\) do not broadcast"):
        dl.broadcast_arrays(dl.zeros(2), dl.zeros(3))


def test_broadcast_arrays_stretches_all_to_one_shape():
    made = dl.broadcast_arrays(np.zeros((2, 1)), np.ones(3), 5)
    assert isinstance(made, tuple)
    for ours, theirs in zip(made, np.broadcast_arrays(np.zeros((2, 1)), np.ones(3), 5), strict=True):
        same(ours, theirs)


def test_broadcast_shapes_is_numpys():
    assert dl.broadcast_shapes((2, 1, 4), (3, 1), ()) == (2, 3, 4)


@given(shapes, st.data())
def test_concat_joins_as_numpy_does(shape, data):
    shape = (*shape, 2)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    parts = []
    for size in sizes:
        part = list(shape)
        part[axis] = size
        parts.append(numbers(part))
    same(dl.concat(parts, axis=axis), np.concatenate(parts, axis=axis))


def test_concat_without_axis_joins_all_elements():
    same(dl.concat([CUBE, np.int16(5), CUBE[:0]], axis=None), np.concatenate([CUBE, np.int16(5), CUBE[:0]], axis=None))


@pytest.mark.parametrize("count", [2, 3, 5, 8, 13, 64, 65])
@pytest.mark.parametrize("dtype", ["bool", "u1", "i2", "f4", "i8", "c8", "c16"])
def test_many_elements_are_interleaved(dtype, count):
    """Along a new last axis, and along a last one of one element: within a block, and over several."""
    random = np.random.default_rng(count)
    for shape in ((255,), (256,), (70_001 if count < 9 else 9001,), (41, 17)):
        parts = [random.integers(0, 100, shape).astype(dtype) for _ in range(count)]
        same(dl.stack(parts, axis=-1), np.stack(parts, axis=-1))
        same(dl.concat([part[..., None] for part in parts], axis=-1), np.stack(parts, axis=-1))
        same(dl.stack([part.T for part in parts], axis=-1), np.stack([part.T for part in parts], axis=-1))
    parts[1] = parts[1].real.astype("f4")
    wanted = dl.stack(parts[:2], axis=0)
    made = dl.stack(parts[:2], axis=-1)
    assert made.dtype == wanted.dtype
    same(made, np.moveaxis(wanted.numpy(), 0, -1))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_few_columns_are_transposed(dtype):
    random = np.random.default_rng(0)
    for columns in range(1, 20):
        for rows in (*range(1, 20), 100, 1001):
            array = random.integers(0, 250, (columns, rows)).astype(dtype)
            same(dl.asarray(array.T).copy(), array.T)
            same(dl.asarray(array).T.copy(), array.T)


@given(shapes, st.integers(1, 3), st.data())
def test_stack_and_unstack_are_inverse(shape, count, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    parts = [numbers(shape) + 100 * k for k in range(count)]
    made = dl.stack(parts, axis=axis)
    same(made, np.stack(parts, axis=axis))
    back = dl.unstack(made, axis=axis)
    assert isinstance(back, tuple)
    assert len(back) == count
    for ours, theirs in zip(back, parts, strict=True):
        same(ours, theirs)
        assert ours.same_memory(made)


@given(shapes, st.data())
def test_roll_shifts_as_numpy_does(shape, data):
    shift = st.integers(-9, 9)
    same(dl.roll(numbers(shape), by := data.draw(shift)), np.roll(numbers(shape), by))
    if shape:
        axis = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=3).map(tuple))
        by = data.draw(st.tuples(*[shift] * len(axis)) | shift)
        same(dl.roll(numbers(shape), by, axis=axis), np.roll(numbers(shape), by, axis=axis))


@given(shapes, st.data())
def test_repeat_repeats_as_numpy_does(shape, data):
    times = data.draw(st.integers(0, 3))
    same(dl.repeat(numbers(shape), times), np.repeat(numbers(shape), times))
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        each = data.draw(st.lists(st.integers(0, 3), min_size=shape[axis], max_size=shape[axis]))
        same(dl.repeat(numbers(shape), times, axis=axis), np.repeat(numbers(shape), times, axis=axis))
        each = np.array(each, dtype=np.int64)
        same(dl.repeat(numbers(shape), each, axis=axis), np.repeat(numbers(shape), each, axis=axis))


@given(shapes, st.lists(st.integers(0, 3), max_size=5).map(tuple) | st.integers(0, 3))
def test_tile_lays_out_as_numpy_does(shape, times):
    same(dl.tile(numbers(shape), times), np.tile(numbers(shape), times))


def test_results_of_copying_functions_share_nothing_with_their_source():
    source = dl.asarray([1, 2, 3])
    for made in (dl.roll(source, 0), dl.repeat(source, 1), dl.tile(source, 1), dl.concat([source])):
        assert not made.same_memory(source)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dl.concat([]), ValueError, "concat: expected at least one tensor, got none"),
        (lambda: dl.concat([CUBE, CUBE[0]]), ValueError, r"number 0 has \(2, 3, 4\) and number 1 has \(3, 4\)"),
        (
            lambda: dl.concat([np.zeros(2, "i8"), np.ones(2, "u8")]),
            TypeError,
            "concat: int64 and uint64 have no dtype in common",
        ),
        (lambda: dl.concat([CUBE], axis=3), IndexError, "concat: axis 3 is out of range for 3 dimensions"),
        (lambda: dl.concat([1], axis=0), IndexError, "concat: axis 0 is out of range for 0 dimensions"),
        (lambda: dl.stack([CUBE, CUBE[:1]]), ValueError, r"stack: shapes must agree, .* number 1 has \(1, 3, 4\)"),
        (lambda: dl.unstack(CUBE, axis=-4), IndexError, "unstack: axis -4 is out of range for 3 dimensions"),
        (lambda: dl.expand_dims(CUBE, axis=4), IndexError, "expand_dims: axis 4 is out of range for 4 dimensions"),
        (
            lambda: dl.expand_dims(CUBE, axis=(0, 0)),
            ValueError,
            r"expand_dims: axes \(0, 0\) name a dimension of 5 twice",
        ),
        (lambda: dl.squeeze(CUBE, 1), ValueError, r"squeeze: axis 1 of shape \(2, 3, 4\) has 3 elements, expected 1"),
        (lambda: dl.flip(CUBE, axis="x"), TypeError, "flip: axis must be an integer, got 'x'"),
        (lambda: dl.permute_dims(CUBE, (0, 1)), ValueError, r"axes \(0, 1\) must name each of the 3 dimensions once"),
        (lambda: dl.permute_dims(CUBE, (0, 1, 1)), ValueError, "name a dimension of 3 twice"),
        (lambda: dl.moveaxis(CUBE, (0, 1), 2), ValueError, r"source \(0, 1\) and destination 2 differ in length"),
        (lambda: dl.matrix_transpose(np.zeros(2)), ValueError, r"expected at least 2 dimensions, got shape \(2,\)"),
        (lambda: dl.broadcast_to(CUBE, (2, 3, 5)), ValueError, r"shape \(2, 3, 4\) does not broadcast to \(2, 3, 5\)"),
        (lambda: dl.roll(CUBE, (1, 2)), ValueError, r"roll: shift \(1, 2\) needs as many axes"),
        (lambda: dl.roll(CUBE, (1, 2), axis=0), ValueError, "roll: expected as many shifts as axes, got 2 and 1"),
        (lambda: dl.repeat(CUBE, -1), ValueError, "repeat: a number of repeats must be at least 0, got -1"),
        (lambda: dl.repeat(CUBE, [1, 2], axis=1), ValueError, r"expected 1 or 3 numbers for axis 1 .* got 2"),
        (lambda: dl.repeat(CUBE, 1.5), TypeError, "repeat: repeats must be an integer"),
        (lambda: dl.tile(CUBE, -1), ValueError, "tile: repetitions must be at least 0, got -1"),
        (lambda: dl.tile(CUBE, 1.0), TypeError, "tile: repetitions must be integers, got 1.0"),
    ],
)
def test_wrong_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_repeat_of_64_dimensions():
    made = dl.repeat(dl.reshape(dl.arange(3), (1,) * 63 + (3,)), 2, axis=63)
    assert made.shape == (1,) * 63 + (6,)
    assert dl.reshape(made, (-1,)).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn", "float6_e3m2fn"])
def test_parts_of_packed_tensors_that_begin_inside_a_byte(dtype):
    here = np.arange(9).reshape(3, 3) % 2
    x = dl.asarray(here).astype(dtype)
    assert [row.astype("int8").tolist() for row in dl.unstack(x)] == here.tolist()
    assert [row.astype("int8").tolist() for row in dl.unstack(x, axis=1)] == here.T.tolist()
    rows = dl.zeros((3, 8), dtype=dtype)
    for row in dl.unstack(rows):  # whole bytes: views
        row[:] = dl.ones(8, dtype=dtype)
    assert rows.astype("int8").tolist() == [[1] * 8] * 3
    assert dl.repeat(x, [1, 0, 2], axis=1).astype("int8").tolist() == np.repeat(here, [1, 0, 2], axis=1).tolist()
    assert dl.repeat(x, 3, axis=0).astype("int8").tolist() == np.repeat(here, 3, axis=0).tolist()
    for k in (-1, 0, 1):
        assert dl.tril(x, k=k).dtype == x.dtype
        assert dl.tril(x, k=k).astype("int8").tolist() == np.tril(here, k).tolist()
        assert dl.triu(x, k=k).astype("int8").tolist() == np.triu(here, k).tolist()


@pytest.mark.parametrize("several", [range, lambda n: np.arange(n), lambda n: dl.arange(n), lambda n: iter(range(n))])
def test_axes_and_shapes_are_any_sequence_of_integers(several):
    x = dl.zeros((1, 2, 3))
    assert dl.moveaxis(x, several(2), [1, 2]).shape == (3, 1, 2)
    assert dl.flip(x, axis=several(2)).shape == (1, 2, 3)
    assert dl.squeeze(x, axis=several(1)).shape == (2, 3)
    assert dl.expand_dims(x, axis=several(2)).shape == (1, 1, 1, 2, 3)
    assert dl.permute_dims(x, several(3)).shape == x.permute(several(3)).shape == (1, 2, 3)
    assert dl.roll(x, several(2), axis=several(2)).shape == (1, 2, 3)
    assert dl.tile(x, several(3)).shape == (0, 2, 6)
    assert dl.sum(x, axis=several(2)).shape == x.sum(axis=several(2)).shape == (3,)
    assert dl.median(x, axis=several(2)).shape == (3,)
    assert dl.linalg.vector_norm(x, axis=several(2)).shape == (3,)
    assert dl.tensordot(x, x, axes=(several(3), several(3))).shape == ()
    assert dl.ones(several(3)).shape == dl.zeros(0).reshape(several(3)).shape == (0, 1, 2)
    assert dl.broadcast_to(dl.zeros((0, 1, 2)), several(3)).shape == (0, 1, 2)


def test_a_sequence_of_axes_that_never_ends_is_refused():
    for call in (dl.ones, lambda axes: dl.flip(dl.ones(2), axis=axes), dl.zeros(1).reshape):
        with pytest.raises((ValueError, IndexError)):
            call(itertools.count(1))
