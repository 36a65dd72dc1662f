# SPDX-License-Identifier: Apache-2.0
"""The argument `copy`: False never copies, so that no write is lost, and True copies what cannot be shared."""

import ctypes
import math
import pickle

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl


class File:
    """An object with ``__array__`` over numbers that it keeps; `copies` says whether it can share them."""

    def __init__(self, copies, data=(1.0, 2.0)):
        self.data, self.copies, self.asked = np.array(data), copies, []

    def __array__(self, dtype=None, copy=None):
        self.asked.append(copy)
        if copy is False and self.copies:
            raise ValueError("its own words")
        return self.data.copy() if self.copies else self.data


class OldFile(File):
    """The signature of before NumPy 2."""

    def __array__(self, dtype=None):
        return super().__array__(dtype)


class ViewOfCopy(OldFile):
    def __array__(self, dtype=None):
        return self.data.copy()[::-1]


class Ignores(File):
    """dask: takes the argument and copies nevertheless."""

    def __array__(self, dtype=None, copy=None):
        return self.data.copy()


# -- False ------------------------------------------------------------------------------------------------------------


def test_copy_false_is_passed_on_to_array():
    file = File(copies=True)
    with pytest.raises(ValueError, match="its own words"):
        dl.asarray(file, copy=False)
    assert file.asked == [False]


@pytest.mark.parametrize("kind", [OldFile, Ignores, ViewOfCopy])
def test_an_array_method_that_copies_anyway_is_refused(kind):
    with pytest.raises(ValueError, match=rf"asarray: {kind.__name__}\.__array__ returns a copy, but copy=False"):
        dl.asarray(kind(copies=True), copy=False)


@pytest.mark.parametrize("kind", [File, OldFile])
def test_copy_false_shares_what_array_shares(kind):
    file = kind(copies=False)
    dl.asarray(file, copy=False)[0] = 7
    assert file.data.tolist() == [7, 2]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: dl.fill(0, x),
        lambda x: dl.copy(dl.ones(2, dtype="float64"), x),
        lambda x: dl.add(dl.ones(2), dl.ones(2), out=x),
        lambda x: dl.add_at(x, dl.asarray([0]), 1.0),
        lambda x: dl.random.Generator(1).shuffle(x),
        lambda x: dl.random.Generator(1).random(out=x),
    ],
)
def test_no_write_into_a_copy_is_lost(write):
    with pytest.raises(ValueError, match=r"copy=False|its own words"):
        write(File(copies=True))
    with pytest.raises(ValueError, match="copy=False"):
        write(OldFile(copies=True))


@pytest.mark.parametrize("number", [1, 2.5, True, 1j, np.float64(1), np.int8(1), np.complex128(1), np.bool_(True), [1]])
def test_numbers_have_no_memory_to_share(number):
    with pytest.raises(ValueError, match="copy=False"):
        dl.asarray(number, copy=False)


class Producer:
    """An object with ``__dlpack__`` that keeps what it was asked."""

    def __init__(self, copies):
        self.t, self.copies, self.asked = dl.asarray([1.0, 2.0]), copies, []

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append(copy)
        if self.copies and copy is False:
            raise BufferError("its own words")
        return self.t.__dlpack__(max_version=max_version, copy=self.copies or copy)


class OldProducer(Producer):
    def __dlpack__(self, *, stream=None, max_version=None):
        return super().__dlpack__(max_version=max_version)


@pytest.mark.parametrize("read", [dl.asarray, dl.from_dlpack])
def test_copy_false_is_passed_on_to_dlpack(read):
    with pytest.raises(BufferError, match="its own words"):
        read(Producer(copies=True), copy=False)
    shared = Producer(copies=False)
    read(shared, copy=False)[0] = 7
    assert (shared.t.tolist(), shared.asked) == ([7, 2], [False])


@pytest.mark.parametrize("read", [dl.asarray, dl.from_dlpack])
def test_a_producer_without_the_argument_that_says_it_copied_is_refused(read):
    with pytest.raises(BufferError, match=r"OldProducer\.__dlpack__ exports a copy, but copy=False"):
        read(OldProducer(copies=True), copy=False)
    shared = OldProducer(copies=False)
    read(shared, copy=False)[0] = 7
    assert shared.t.tolist() == [7, 2]


@pytest.mark.parametrize("read", [dl.asarray, dl.from_dlpack])
def test_copy_true_copies_whatever_the_producer_says(read):
    class Claims(Producer):
        """jax 0.10: sets the flag without a copy."""

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            capsule = self.t.__dlpack__(max_version=(1, 0))
            struct = ctypes.pythonapi.PyCapsule_GetPointer
            struct.restype, struct.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            ctypes.c_uint64.from_address(struct(capsule, b"dltensor_versioned") + 24).value |= 2
            return capsule

    producer = Claims(copies=False)
    made = read(producer, copy=True)
    made[0] = 7
    assert producer.t.tolist() == [1, 2]


# -- True -------------------------------------------------------------------------------------------------------------

FIELDS = np.array([(1, 2.5), (2, -3.5)], dtype=[("a", "u1"), ("b", "f4")])


class Interface:
    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


@pytest.mark.parametrize(
    "make",
    [
        lambda: FIELDS["b"],
        lambda: memoryview(FIELDS["b"]),
        lambda: Interface(FIELDS["b"]),
        lambda: np.array([2.5, -3.5], ">f4"),
        lambda: memoryview(np.array([2.5, -3.5], ">f4")),
        lambda: Interface(np.array([2.5, -3.5], ">f4")),
        lambda: File(False, np.array([2.5, -3.5], ">f8")),
        lambda: np.array([-3.5, 2.5], ">c16")[::-1],
        lambda: np.frombuffer(b"x" + np.array([2.5, -3.5], "f4").tobytes(), "f4", offset=1),
        lambda: np.array([-3.5, 2.5])[::-1],
        lambda: np.array([2.5, -3.5], ml_dtypes.bfloat16),
        lambda: (ctypes.c_float.__ctype_be__ * 2)(2.5, -3.5),
    ],
)
def test_copy_true_takes_what_cannot_be_shared(make):
    x = make()
    made = dl.asarray(x, copy=True)
    assert made.tolist() == [2.5, -3.5]
    made[0] = 1
    assert dl.asarray(x, copy=True).tolist() == [2.5, -3.5]


@pytest.mark.parametrize("x", [FIELDS["b"], np.array([2.5, -3.5], ">f4")])
def test_from_dlpack_copies_arrays_that_dlpack_cannot_express(x):
    with pytest.raises(BufferError, match="copy=True"):
        dl.from_dlpack(x)
    with pytest.raises(BufferError):
        dl.from_dlpack(x, copy=False)
    assert dl.from_dlpack(x, copy=True).tolist() == [2.5, -3.5]


def test_the_remedy_of_arrays_that_cannot_be_shared_is_a_copy():
    for x in (FIELDS["b"], np.array([1.5], ">f4"), memoryview(FIELDS["b"]), memoryview(np.array([1.5], ">f4")),
              Interface(FIELDS["b"]), Interface(np.array([1.5], ">f4"))):  # fmt: skip
        with pytest.raises(BufferError, match=r"asarray: .*copy=True"):
            dl.asarray(x)


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([object()]), np.array([1], "M8[s]"), FIELDS])
def test_copy_true_does_not_make_numbers_of_what_has_none(x):
    with pytest.raises(BufferError, match="has no DLPack equivalent"):
        dl.asarray(x, copy=True)


def test_copy_true_asks_a_producer_that_exports_copies_alone():
    class CopiesAlone(Producer):
        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            if not copy:
                raise BufferError("only a copy")
            return self.t.__dlpack__(max_version=max_version, copy=True)

    assert dl.from_dlpack(CopiesAlone(True), copy=True).tolist() == [1, 2]
    with pytest.raises(BufferError, match="only a copy"):
        dl.from_dlpack(CopiesAlone(True))


# -- on the way out ---------------------------------------------------------------------------------------------------

OUT = {
    "numpy": lambda t, copy: t.numpy(copy=copy),
    "__array__": lambda t, copy: t.__array__(copy=copy),
    "reshape": lambda t, copy: t.reshape(-1, copy=copy).numpy(),
    "dl.reshape": lambda t, copy: dl.reshape(t, (-1,), copy=copy).numpy(),
    "__dlpack__": lambda t, copy: dl.from_dlpack(t.__dlpack__(max_version=(1, 0), copy=copy)).numpy(),
    "astype": lambda t, copy: t.astype(t.dtype, copy=bool(copy)).numpy(),
    "asarray": lambda t, copy: dl.asarray(t, copy=copy).numpy(),
    "from_dlpack": lambda t, copy: dl.from_dlpack(t, copy=copy).numpy(),
}


@pytest.mark.parametrize("name", OUT)
def test_false_shares_and_true_copies_on_every_way(name):
    t = dl.arange(4)
    assert OUT[name](t, False).ctypes.data == t.data_ptr
    assert OUT[name](t, True).ctypes.data != t.data_ptr


def test_pickled_copies_are_copies():
    t = dl.arange(4)
    assert pickle.loads(pickle.dumps(t)).data_ptr != t.data_ptr


def test_moves_of_any_shape_are_those_of_numpy():
    """Short rows, broadcast and reversed axes, orders of axes: copies, and assignments into permuted memory."""
    random = np.random.default_rng(5)
    dtypes = ["uint8", "int16", "float32", "float64", "complex128"]
    for _ in range(600):
        ndim = int(random.integers(1, 6))
        shape = tuple(int(n) for n in random.choice([1, 2, 3, 4, 5, 7, 16, 33, 200], ndim))
        if math.prod(shape) > 100_000:
            continue
        x = (random.normal(size=shape) * 50).astype(random.choice(dtypes))
        axes = tuple(int(d) for d in random.permutation(ndim))
        key = tuple(slice(None, None, int(random.choice([1, 1, 2, -1, -2]))) for _ in range(ndim))
        expected, moved = x.transpose(axes)[key], dl.permute_dims(dl.asarray(x), axes)[key]
        if random.random() < 0.4:
            larger = (int(random.choice([1, 2, 3, 40])), *expected.shape)
            expected, moved = np.broadcast_to(expected, larger), dl.broadcast_to(moved, larger)
        assert (moved.copy().numpy() == expected).all(), (shape, axes, key)
        reverse = dl.permute_dims(dl.zeros(expected.shape[::-1], dtype=str(x.dtype)), tuple(range(expected.ndim))[::-1])
        reverse[...] = moved
        assert (reverse.numpy() == expected).all(), (shape, axes, key)
