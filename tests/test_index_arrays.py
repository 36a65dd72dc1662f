# SPDX-License-Identifier: Apache-2.0
"""Index arrays, masks and lists in brackets, read and written, held against NumPy over random keys."""

import contextlib
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dltensor as dl
from dltensor._ops import promotion as _engine

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*INTEGERS, "bool", "float16", "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def array_of(shape, dtype="int32"):
    return (np.arange(int(np.prod(shape))) % 251).astype(dtype).reshape(shape)


@st.composite
def layouts(draw, shape, dtype):
    """An array of a shape whose elements differ, in C order, transposed, strided or backwards."""
    array = array_of(shape, dtype)
    order = draw(st.permutations(range(len(shape))))
    array = array.transpose(order).copy().transpose(np.argsort(order))
    for axis in range(len(shape)):
        step = draw(st.sampled_from([1, 1, 1, -1, 2]))
        if step == 2:
            room = np.zeros([2 * n if d == axis else n for d, n in enumerate(shape)], dtype)
            room = room[(slice(None),) * axis + (slice(None, None, 2),)]
            room[...] = array
            array = room
        elif step == -1:
            array = np.flip(np.flip(array, axis).copy(), axis)
    return array


@st.composite
def index_arrays(draw, size, shape, outside):
    """Indices of one axis: an array of any integer dtype, a list, or one of them with strides."""
    dtype = draw(st.sampled_from(INTEGERS))
    low = 0 if dtype.startswith("u") else -size
    high = size - 1
    if outside and draw(st.integers(0, 9)) == 0:
        low, high = (0 if dtype.startswith("u") else -size - 2), size + 2
    if high < low:
        shape = (*shape[:-1], 0)
        low = high = 0
    array = draw(hnp.arrays(dtype, shape, elements=st.integers(low, high)))
    how = draw(st.integers(0, 4))
    if how == 0 and array.size:
        return array.tolist()
    if how == 1:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


@st.composite
def keys(draw, shape, outside=False):
    """A key with integers, slices, None, Ellipsis, index arrays, masks and truths for an array of a shape."""
    common = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    items, axis, ellipsis = [], 0, False
    while axis < len(shape):
        kind = draw(st.sampled_from(["array", "array", "mask", "slice", "integer", "none", "ellipsis", "truth", "end"]))
        size = shape[axis]
        if kind == "array":
            own = tuple(draw(st.sampled_from([n, n, n, 1])) for n in common[draw(st.integers(0, len(common) - 1)) :])
            items.append(draw(index_arrays(size, own, outside)))
            axis += 1
        elif kind == "mask":
            dims = draw(st.integers(1, min(2, len(shape) - axis)))
            extents = shape[axis : axis + dims]
            mask = draw(hnp.arrays(bool, extents))
            items.append(mask.tolist() if draw(st.booleans()) and mask.size and dims == 1 else mask)
            axis += dims
        elif kind == "slice":
            items.append(draw(st.slices(size)))
            axis += 1
        elif kind == "integer":
            if size == 0:
                break
            number = draw(st.integers(-size, size - 1))
            items.append(draw(st.sampled_from([number, np.int16(number), np.asarray(number)])))
            axis += 1
        elif kind == "none":
            items.append(None)
        elif kind == "ellipsis" and not ellipsis:
            ellipsis = True
            items.append(...)
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "truth":
            items.append(draw(st.sampled_from([True, False, np.True_, np.asarray(False)])))
        elif kind == "end":
            break
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


@st.composite
def cases(draw, outside=False):
    shape = draw(SHAPES)
    return draw(layouts(shape, draw(st.sampled_from(DTYPES)))), draw(keys(shape, outside))


def as_tensors(key, how):
    """The key with index arrays as tensors of ours, as they are, or as objects with __dlpack__ only."""

    def one(item):
        return dl.asarray(item) if how == 1 and isinstance(item, np.ndarray) else item

    return tuple(map(one, key)) if isinstance(key, tuple) else one(key)


def outcome(function):
    """The result of a call, or the class of its IndexError or ValueError."""
    try:
        return function()
    except (IndexError, ValueError) as error:
        return type(error)


@settings(max_examples=1500, deadline=None)
@given(cases(outside=True), st.integers(0, 1))
def test_reading_gives_what_numpy_gives(case, how):
    array, key = case
    want = outcome(lambda: array[key])
    got = outcome(lambda: dl.asarray(array)[as_tensors(key, how)])
    if want is IndexError:
        assert got is IndexError
        return
    assert isinstance(got, dl.Tensor), (got, want)
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.numpy(), want)


@settings(max_examples=1500, deadline=None)
@given(cases(outside=True), st.integers(0, 3), st.integers(0, 1), st.data())
def test_writing_does_what_numpy_does(case, kind, how, data):
    array, key = case
    selected = outcome(lambda: np.asarray(array[key]))
    if selected is IndexError:
        value = 1
    elif kind == 0:
        value = data.draw(st.integers(0, 1))
    else:
        shape = tuple(data.draw(st.sampled_from([n, n, n, 1])) for n in selected.shape)
        shape = shape[data.draw(st.integers(0, len(shape))) if kind == 1 else 0 :]
        other = array.dtype if kind < 3 else data.draw(st.sampled_from(["uint8", "float32", array.dtype]))
        value = array_of(shape, other)[..., ::-1] if shape else array_of(shape, other)
    want = array.copy()
    if want.dtype.kind in "biu" and getattr(value, "dtype", want.dtype).kind == "f":
        value = value.astype(want.dtype)  # how floats become integers is this package's own
    expected = outcome(lambda: want.__setitem__(key, value))
    target = array[...]
    before = array.copy()
    tensor = dl.asarray(target)
    if how and isinstance(value, np.ndarray):
        value = dl.asarray(value)
    got = outcome(lambda: tensor.__setitem__(as_tensors(key, how), value))
    if expected is not None:
        assert got in (IndexError, ValueError)
        np.testing.assert_array_equal(array, before)  # nothing was written
        return
    assert got is None, got
    np.testing.assert_array_equal(array, want)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, 65])
def test_rows_of_every_width_are_taken_and_written(width):
    array = np.random.default_rng(width).integers(0, 256, (70, width + 3), dtype="uint8")
    index = np.random.default_rng(1).integers(-70, 70, 300)
    for rows in (np.ascontiguousarray(array[:, :width]), array[:, :width], array[::2, 1 : width + 1]):
        places = index % len(rows)
        np.testing.assert_array_equal(dl.take(rows, places, axis=0).numpy(), rows[places])
        np.testing.assert_array_equal(dl.asarray(rows)[places].numpy(), rows[places])
        np.testing.assert_array_equal(dl.repeat(rows, 3, axis=0).numpy(), np.repeat(rows, 3, 0))
        np.testing.assert_array_equal(dl.reshape(dl.asarray(rows).T, (-1,)).numpy(), rows.T.ravel())
        order = np.argsort(rows[:, 0], kind="stable")
        for beside in (0, 1, 32):
            memory = dl.zeros((len(rows), width + beside), dtype="uint8")
            memory[order, :width] = dl.asarray(rows)
            np.testing.assert_array_equal(memory[:, :width].numpy()[order], rows)
            assert not dl.any(memory[:, width:])


@pytest.mark.parametrize("dtype", ["int16", "float32", "int64", "complex128"])
def test_rows_of_four_become_planes(dtype):
    for n in (1, 3, 4, 5, 63, 700):
        array = np.random.default_rng(n).standard_normal((n, 4)).astype(dtype)
        np.testing.assert_array_equal(dl.reshape(dl.asarray(array).T, (-1,)).numpy(), array.T.ravel())
        np.testing.assert_array_equal(dl.asarray(array).T.copy().numpy(), array.T)


# -- sizes that take several chunks, threads and instruction sets -----------------------------------------------------

LEVELS = [level for level in ("base", "v2", "v3", "v4") if level in dl.cpu_features()["supported"]]
WIDTHS = ["uint8", "uint16", "float32", "float64", "complex128"]


@pytest.fixture(params=LEVELS)
def level(request):
    """Every instruction set that this processor has, in turn."""
    before = dl.cpu_features()["used"]
    _engine._set_cpu_level(request.param)
    yield request.param
    _engine._set_cpu_level(before)


def test_a_truth_beside_a_mask_leaves_all_of_it_or_nothing():
    for array, key in (
        (np.array([[0, 1]]), (False, 0, np.array([False, True]))),
        (np.array([[0, 1]]), (0, np.array([False, True]), True)),
        (np.array([3, 4]), (np.array([False, True]), False)),
    ):
        tensor = dl.asarray(array)
        assert tensor[key].tolist() == array[key].tolist()
        want = array.copy()
        want[key] = 9
        tensor[key] = 9
        assert tensor.tolist() == want.tolist()


@pytest.mark.parametrize("shape", [(2, 5, 3, 4), (2, 1, 0, 5), (0, 1, 0, 0), (5, 1)])
@pytest.mark.parametrize("whole", [False, True])
def test_what_stands_between_an_ellipsis_and_a_mask(shape, whole):
    array, rest = array_of(shape), shape[2:] or shape[1:]
    mask = np.arange(int(np.prod(rest))).reshape(rest) % 2 == 0
    last = shape[-len(rest) - 1] - 1
    key = (..., slice(last, None) if whole else last, mask)
    tensor = dl.asarray(array.copy())
    np.testing.assert_array_equal(tensor[key].numpy(), array[key])
    tensor[key] = 9
    array[key] = 9
    np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 300, 70_001, 300_007])
def test_masks_of_any_size_and_share(level, dtype, share, n):
    random = np.random.default_rng(n)
    array = random.integers(0, 250, n).astype(dtype)
    mask = random.random(n) < share
    x, m = dl.asarray(array), dl.asarray(mask)
    np.testing.assert_array_equal(x[m].numpy(), array[mask])
    np.testing.assert_array_equal(dl.nonzero(x)[0].numpy(), np.nonzero(array)[0])
    np.testing.assert_array_equal(m.nonzero()[0].numpy(), np.nonzero(mask)[0])
    want = array.copy()
    x[m] = 7
    want[mask] = 7
    np.testing.assert_array_equal(array, want)
    values = random.integers(0, 250, int(mask.sum())).astype(dtype)
    x[m] = dl.asarray(values)
    want[mask] = values
    np.testing.assert_array_equal(array, want)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("shape", [(1000,), (1000, 3), (1000, 40), (30, 1000), (3, 50, 20)])
def test_many_indices_of_elements_and_rows(level, dtype, shape):
    random = np.random.default_rng(0)
    array = random.integers(0, 250, shape).astype(dtype)
    x = dl.asarray(array)
    for axis in range(len(shape)):
        index = random.integers(-shape[axis], shape[axis], 2001 if axis else 9001)
        key = (slice(None),) * axis + (index,)
        np.testing.assert_array_equal(x[key].numpy(), array[key])
        np.testing.assert_array_equal(dl.take(x, index, axis=axis).numpy(), array[key])
        want, target = array.copy(), array.copy()
        values = random.integers(0, 250, want[key].shape).astype(dtype)
        want[key] = values
        dl.asarray(target)[key] = values
        np.testing.assert_array_equal(target, want)


def test_the_last_of_equal_indices_wins_whatever_the_threads():
    random = np.random.default_rng(0)
    index = random.integers(0, 1000, 400_000)
    values = np.arange(400_000)
    want = np.zeros(1000, np.int64)
    want[index] = values
    rows = np.zeros((40, 1000), np.int64)
    rows[:, index] = values
    before = dl.num_threads()
    try:
        for count in (1, 2, 5):
            dl.set_num_threads(count)
            x, y = dl.zeros(1000, dtype="int64"), dl.zeros((40, 1000), dtype="int64")
            x[index] = values
            y[:, index] = values
            assert x.tobytes() == want.tobytes()
            assert y.tobytes() == rows.tobytes()
    finally:
        dl.set_num_threads(before)


# -- errors, which leave everything as it was -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([0, 3], r"index 3 is out of range for axis 0 with size 3, at position \(1,\) of the index array"),
        ((slice(None), [[1, -5]]), r"index -5 is out of range for axis 1 with size 4, at position \(0, 1\)"),
        ((slice(None, 0), [4]), "index 4 is out of range for axis 1 with size 4"),
        ((np.array([0]), np.array([2**63 + 1], "uint64")), "index 9223372036854775809 is out of range for axis 1"),
        ((7, [0]), "index 7 is out of range for axis 0 with size 3"),
        (([0], 2**70), "index 1180591620717411303424 is out of range for axis 1"),
        (([0], [0], [0]), "too many indices: the tensor has 2 dimensions, but 3 were indexed"),
        ((..., [0], ...), "'...' once".replace(".", r"\.")),
        ([True, False], r"a mask of shape \(2,\) does not fit a tensor of shape \(3, 4\): axis 0 has size 3"),
        (np.ones((3, 5), bool), "axis 1 has size 4"),
        (([0, 1], [0, 1, 2]), r"index arrays do not broadcast: their shapes are \(2,\), \(3,\)"),
        (np.array([0.5]), "got ndarray of float64"),
        ([2**70], "a list of indices must hold 64-bit integers"),
        (b"\0", "got bytes"),
        ((None,) * 63 + ([[0]],), "at most 64 dimensions"),
        ((True,) * 200, "an index of 200 items"),
    ],
)
def test_errors_name_index_axis_and_size(key, text):
    array = array_of((3, 4))
    tensor = dl.asarray(array)
    with pytest.raises(IndexError, match=text):
        tensor[key]
    with pytest.raises(IndexError, match=text):
        tensor[key] = 99
    assert array.tolist() == array_of((3, 4)).tolist()


def test_nothing_is_written_when_any_index_is_out_of_range():
    array = np.zeros(10)
    index = np.arange(300_000) % 10
    index[299_999] = 10
    index[150_000] = -11
    for key in (index, index.astype("int32"), index[::-1]):
        first = int(np.flatnonzero((key > 9) | (key < -10))[0])
        with pytest.raises(IndexError, match=rf"at position \({first},\)"):
            dl.asarray(array)[key] = 1
        with pytest.raises(IndexError, match=rf"at position \({first},\)"):
            dl.asarray(array)[key]
    assert not array.any()


def test_nothing_is_written_when_values_do_not_broadcast_or_convert():
    tensor = dl.zeros(4, dtype="int8")
    for key in ([0, 1], dl.asarray([0, 1]), [True, True, False, False], dl.asarray([True, True, False, False])):
        with pytest.raises(ValueError, match=r"shape \(3,\) does not broadcast to \(2,\)"):
            tensor[key] = dl.asarray([1, 2, 3], dtype="int8")
        with pytest.raises(OverflowError, match="300 is outside int8"):
            tensor[key] = 300
    assert tensor.tolist() == [0] * 4


def test_read_only_and_repeated_elements_are_not_written():
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))
    for key in ([0], dl.asarray([0]), [True, False, False], dl.asarray([True, False, False])):
        with pytest.raises(ValueError, match="read-only"):
            dl.asarray(fixed)[key] = 1
    with pytest.raises(ValueError, match="share memory"):
        dl.asarray(repeated)[[0]] = 1
    assert not fixed.any()
    assert dl.asarray(repeated)[[0, 3]].tolist() == [0, 0]


# -- memory in common -------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 30), st.data())
def test_values_that_are_the_target_are_as_if_copied_first(n, data):
    array = np.arange(n)
    index = data.draw(hnp.arrays("int64", data.draw(st.integers(0, n)), elements=st.integers(-n, n - 1)))
    start = data.draw(st.integers(0, n - index.size))
    source = data.draw(st.sampled_from([slice(start, start + index.size), slice(None, index.size)]))
    want = array.copy()
    want[index] = array[source].copy()
    tensor = dl.asarray(array)
    tensor[index] = tensor[source]
    np.testing.assert_array_equal(array, want)


def test_an_index_array_that_is_the_target_is_read_first():
    array = np.array([3, 2, 1, 0, 4] * 2000)
    want = array.copy()
    want[want.copy()] = 0
    tensor = dl.asarray(array)
    tensor[tensor] = 0
    np.testing.assert_array_equal(array, want)
    mask = dl.asarray(np.array([True, False, True]))
    mask[mask] = False
    assert mask.tolist() == [False, False, False]
    assert tensor[tensor].shape == (10000,)


def test_another_thread_that_writes_indices_leads_nowhere_else():
    """The value that is checked is the value that is used: every result is an element or an IndexError."""
    index = np.zeros(200_000, np.int64)
    room = np.arange(3000)
    inside = dl.asarray(room)[1000:2000]
    stop = threading.Event()

    def write():
        while not stop.is_set():
            index[:] = 10**12
            index[:] = 999

    thread = threading.Thread(target=write)
    thread.start()
    try:
        outcomes = set()
        for _ in range(300):
            try:
                made = inside[index]
                assert set(np.unique(made.numpy())) <= {1000, 1999}
                inside[index] = 1999
                outcomes.add("read")
            except IndexError:
                outcomes.add("refused")
    finally:
        stop.set()
        thread.join()
    assert outcomes
    assert room[:1000].tolist() == list(range(1000))
    assert room[2000:].tolist() == list(range(2000, 3000))


def test_another_thread_that_writes_a_mask_changes_no_size():
    mask = np.zeros(500_000, bool)
    tensor = dl.arange(500_000)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            mask[:] = True
            mask[:] = False

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            made = tensor[mask].numpy()
            assert (np.diff(made) > 0).all()
            (at,) = dl.nonzero(mask)
            assert (np.diff(at.numpy()) > 0).all()
            tensor[mask] = tensor[:1]
            tensor = dl.arange(500_000)
    finally:
        stop.set()
        thread.join()


class Resizing:
    """An index object that, when it is read, tries to take the target's memory away."""

    def __init__(self, target, index):
        self.target, self.index = target, index

    def __dlpack__(self, **keywords):
        with contextlib.suppress(ValueError):
            self.target.resize(0, refcheck=False)
        self.target[...] = 5
        return self.index.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.index.__dlpack_device__()


def test_an_index_object_that_changes_the_target_is_read_before_it():
    target = np.zeros(1000)
    tensor = dl.asarray(target)
    key = Resizing(target, np.array([1, 999]))
    assert tensor[key].tolist() == [5, 5]
    tensor[key] = 7
    assert (tensor[0].item(), tensor[999].item()) == (5, 7)
    assert dl.take(tensor, key).tolist() == [5, 5]


def test_a_sequence_is_read_once():
    class Growing(list):
        calls = 0

        def __iter__(self):
            Growing.calls += 1
            return iter([1] * Growing.calls)

    assert dl.arange(3)[Growing([0])].tolist() == [1]
    assert Growing.calls == 1


# -- elements of other kinds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn", "float6_e2m3fn"])
@pytest.mark.parametrize("padded", [False, True])
def test_elements_below_a_byte(dtype, padded):
    array = (np.arange(35) % 2).reshape(5, 7)
    tensor = dl.astype(dl.asarray(array), dtype, padded=padded)
    key = (slice(None), [0, 6, -1])
    assert tensor[key].tolist() == array[key].tolist()
    alike = dl.astype(dl.asarray(array[key]), dtype, padded=padded)
    assert (tensor[key].dtype, tensor[key].nbytes) == (alike.dtype, alike.nbytes)
    mask = array.astype(bool)
    assert tensor[mask].tolist() == array[mask].tolist()
    tensor[mask] = 0
    tensor[[1, 1], [0, 1]] = 1
    array[mask] = 0
    array[[1, 1], [0, 1]] = 1
    assert tensor.tolist() == array.tolist()


@pytest.mark.parametrize("width", [3, 5, 12, 24])
def test_elements_of_unknown_meaning_are_moved_by_their_width(width):
    raw = np.random.default_rng(0).integers(0, 256, (50, width)).astype("uint8")
    memory = raw.copy()
    tensor = dl.wrap(memory.ctypes.data, (50,), dl.DType(1, 8, width), owner=memory)
    index = np.array([3, -1, 3, 0])
    assert tensor[index].tobytes() == raw[index].tobytes()
    mask = np.arange(50) % 3 == 0
    assert tensor[mask].tobytes() == raw[mask].tobytes()
    tensor[index] = tensor[:4]
    raw[index] = raw[:4].copy()
    assert memory.tobytes() == raw.tobytes()


# -- functions --------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_take_along_axis_does_what_numpy_does(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    array = data.draw(layouts(shape, data.draw(st.sampled_from(DTYPES))))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    extents = [data.draw(st.sampled_from([n, n, 1])) for n in shape]
    extents[axis] = data.draw(st.integers(0, 5))
    n = shape[axis]
    low = -n - (data.draw(st.integers(0, 9)) == 0)
    index = data.draw(hnp.arrays("int64", tuple(extents), elements=st.integers(low, n - 1)))
    want = outcome(lambda: np.take_along_axis(array, index, axis))
    if want is IndexError:
        text = f"take_along_axis: index -{n + 1} is out of range for axis {axis % len(shape)} with size {n}"
        with pytest.raises(IndexError, match=text):
            dl.take_along_axis(array, index, axis=axis)
        return
    got = dl.take_along_axis(array, index, axis=axis)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)


def test_take_along_axis_of_many_rows(level):
    array = np.random.default_rng(0).standard_normal((300, 701))
    for axis in (0, 1):
        index = np.argsort(array, axis)
        np.testing.assert_array_equal(dl.take_along_axis(array, index, axis=axis).numpy(), np.sort(array, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_does_what_numpy_does(dtype):
    array = (np.arange(60) % 3).astype(dtype)
    if array.dtype.kind in "fcV":
        array[5::6] *= -0.0
        array[1] = np.nan
    for shape in ((60,), (12, 5), (3, 4, 5), (5, 0, 3)):
        view = array[: int(np.prod(shape))].reshape(shape)
        for each in (view, view.T, view[::-1]):
            got = dl.nonzero(each)
            assert {at.dtype for at in got} == {dl.int64}
            for one, want in zip(got, np.nonzero(each), strict=True):
                assert one.tolist() == want.tolist()


def test_nonzero_needs_a_dimension():
    with pytest.raises(ValueError, match="0 dimensions"):
        dl.nonzero(dl.asarray(1))
    with pytest.raises(ValueError, match="0 dimensions"):
        dl.where(dl.asarray(True))
    with pytest.raises(TypeError, match="where: expected a condition alone, or with both"):
        dl.where(dl.asarray([True]), 1)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_has_numpys_modes(mode):
    array = np.arange(12).reshape(3, 4)
    tensor = dl.asarray(array)
    far = [] if mode == "raise" else [[7, -9, 2], 7, -9, range(3, 9), np.uint8([255]), np.int8([-128, 127])]
    for index in [*far, [0, 1], 2, [[0], [-1]], np.zeros((0, 2), dtype=np.int64), np.uint64([2])]:
        for axis in (0, 1):
            want = np.take(array, index, axis, mode=mode)
            assert dl.take(tensor, index, axis=axis, mode=mode).tolist() == want.tolist()
            assert tensor.take(index, axis, mode=mode).tolist() == want.tolist()
            assert np.take(tensor, index, axis, mode=mode).tolist() == want.tolist()
            out = np.empty_like(want) if want.ndim else dl.zeros((), dtype="int64")
            assert dl.take(tensor, index, axis=axis, mode=mode, out=out) is out
            assert out.tolist() == want.tolist()
        assert np.take(tensor, index, mode=mode).tolist() == np.take(array, index, mode=mode).tolist()
    many = dl.arange(1000)  # a dtype of indices that does not hold the extent
    assert dl.take(many, np.uint8([255]), mode=mode).tolist() == [255]
    assert dl.take(dl.zeros((0, 2)), np.zeros(0, dtype=np.int64), axis=0, mode=mode).shape == (0, 2)


def test_take_refuses_other_modes_and_axes_without_elements():
    out = dl.full(1, 7)
    for mode in ("raises", None, 2):
        with pytest.raises(ValueError, match="take: mode must be 'raise', 'wrap' or 'clip', got"):
            dl.take(dl.arange(3), [0], mode=mode, out=out)
    for mode in ("wrap", "clip"):
        with pytest.raises(IndexError, match="take: the axis has no element for 1 indices"):
            dl.take(dl.zeros(0), [0], mode=mode, out=out)
        with pytest.raises(IndexError, match="take: indices must be integers, got float32"):
            dl.take(dl.arange(3), [0.5], mode=mode, out=out)
    assert out.tolist() == [7]


def test_take_has_numpys_shapes_and_copies():
    array = array_of((3, 4))
    tensor = dl.asarray(array)
    for index in (1, np.array([[0, 1], [2, 0]]), [2, -1], np.array(1, "uint8")):
        got = dl.take(tensor, index, axis=0)
        assert got.tolist() == np.take(array, index, 0).tolist()
        assert not got.same_memory(tensor)
    assert tensor.take([0], axis=-1).shape == (3, 1)
    assert dl.take(tensor, [5, -1]).tolist() == tensor.take([5, -1]).tolist() == np.take(array, [5, -1]).tolist()
    assert dl.take(dl.asarray(7), [0, -1]).tolist() == [7, 7]
    assert dl.take(tensor.mT, [1, 4]).tolist() == np.take(array.T, [1, 4]).tolist()
    with pytest.raises(IndexError, match="take: index 4 is out of range for axis 1 with size 4"):
        dl.take(tensor, [0, 4], axis=1)
    with pytest.raises(IndexError, match="take: axis 2 is out of range for 2 dimensions"):
        dl.take(tensor, [0], axis=2)
    with pytest.raises(IndexError, match="take: indices must be integers, got bool"):
        dl.take(tensor, dl.asarray([True]), axis=0)


def test_out_is_written_and_nothing_past_it():
    room = np.full(10, -1, "int32")
    out = room[:3]
    assert dl.take(dl.arange(5, dtype="int32"), [4, 0, 4], out=out) is out
    assert room.tolist() == [4, 0, 4, *[-1] * 7]
    wide = dl.zeros((2, 1), dtype="float64")
    assert dl.take_along_axis(dl.asarray([[3.0, 1.0], [2.0, 4.0]]), dl.asarray([[1], [0]]), out=wide) is wide
    assert wide.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match=r"take: the result has shape \(1,\), out has shape \(3,\)"):
        dl.take(dl.arange(5, dtype="int32"), [4], out=out)
    with pytest.raises(TypeError, match="take: the result is int64, out is int32"):
        dl.take(dl.arange(5), [4, 0, 4], out=out)
    same = dl.arange(4)
    dl.take(same, [3, 2, 1, 0], out=same)
    assert same.tolist() == [3, 2, 1, 0]


AT = {"add_at": np.add, "maximum_at": np.maximum, "minimum_at": np.minimum}


@pytest.mark.parametrize("name", AT)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_accumulation_does_what_ufuncs_at_do(name, dtype):
    if np.dtype(dtype).kind == "c" and name != "add_at":
        with pytest.raises(TypeError, match=f"{name}: not defined for complex"):
            getattr(dl, name)(dl.zeros(2, dtype=dtype), 0, 1)
        return
    random = np.random.default_rng(0)
    for shape, key in [
        ((20,), random.integers(-20, 20, 500)),
        ((20, 6), (random.integers(0, 20, 50), slice(None, None, 2))),
        ((6, 20), (slice(None), random.integers(0, 20, 50))),
        ((5, 4), random.random((5, 4)) < 0.5),
        ((5, 4), (slice(1, 4), 2)),
    ]:
        array = random.integers(0, 9, shape).astype(dtype)
        values = random.integers(0, 9, array[key].shape).astype(dtype)
        want = array.copy()
        AT[name].at(want, key, values)
        assert getattr(dl, name)(array, key, values) is array
        np.testing.assert_array_equal(array, want)
        AT[name].at(want, key, values.dtype.type(3))
        getattr(dl, name)(dl.asarray(array), key, 3)
        np.testing.assert_array_equal(array, want)


def test_accumulation_writes_nothing_on_error():
    tensor = dl.zeros(3)
    with pytest.raises(IndexError, match="add_at: index 3 is out of range for axis 0 with size 3"):
        dl.add_at(tensor, [0, 3], 1.0)
    with pytest.raises(ValueError, match="add_at: shape"):
        dl.add_at(tensor, [0, 1], dl.ones(3))
    assert tensor.tolist() == [0, 0, 0]


def test_the_namespace_says_what_it_can():
    capabilities = dl.__array_namespace_info__().capabilities()
    assert capabilities["boolean indexing"] is True
    assert capabilities["data-dependent shapes"] is True


def test_take_along_axis_none_indexes_the_flat_elements():
    x = np.asarray([[3, 1], [2, 4]])
    indices = np.asarray([3, 0, -2])
    assert dl.take_along_axis(x, indices, axis=None).tolist() == np.take_along_axis(x, indices, axis=None).tolist()
    assert np.take_along_axis(dl.asarray(x), indices, axis=None).tolist() == [4, 3, 2]
    with pytest.raises(ValueError, match="expected as many dimensions"):
        dl.take_along_axis(x, indices.reshape(1, 3), axis=None)
