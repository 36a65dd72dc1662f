# SPDX-License-Identifier: Apache-2.0
"""Import and export: capsules, signatures of every age, devices, flags, copies. Hostile input: test_faults.py."""

import ctypes
import gc
import itertools
import os
import struct
import subprocess
import sys
import sysconfig
import types
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest
from faults.producer import struct_of

import dltensor as dl

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
SMALL_FLOATS = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]


class Producer:
    """Speaks DLPack through an array of NumPy, in whatever way a test wants."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class OldProducer(Producer):
    """As `__dlpack__` was before 2023."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class OldestProducer(Producer):
    def __dlpack__(self):
        return self.array.__dlpack__()


@pytest.fixture
def array():
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4)


# -- in -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        Producer,
        OldProducer,
        OldestProducer,
        lambda a: a.__dlpack__(),
        lambda a: a.__dlpack__(max_version=(1, 0)),
    ],
    ids=["ndarray", "2023", "2021", "bare", "legacy capsule", "versioned capsule"],
)
def test_every_way_in_shares_the_memory(array, make):
    tensor = dl.from_dlpack(make(array))
    assert tensor.data_ptr == array.ctypes.data
    assert tensor.shape == array.shape
    assert tensor.strides == (12, 4, 1)
    assert tensor.tolist() == array.tolist()


def test_the_signature_that_worked_is_remembered_per_type(array):
    calls = []

    class Remembered(Producer):
        def __dlpack__(self, stream=None):
            calls.append(1)
            return self.array.__dlpack__()

    dl.from_dlpack(Remembered(array))
    dl.from_dlpack(Remembered(array))
    assert len(calls) == 2


class Forwarding(Producer):
    """As a decorator makes it: any keyword is passed on, so that the TypeError of an old signature has a frame."""

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


def test_old_signatures_behind_a_forwarder_are_taken(array):
    tensor = dl.from_dlpack(Forwarding(OldProducer(array)))
    assert tensor.data_ptr == array.ctypes.data


def test_the_signature_of_what_one_object_forwards_to_is_not_remembered_for_its_class(array):
    readonly = array.copy()
    readonly.flags.writeable = False
    dl.from_dlpack(Forwarding(OldProducer(array)))
    assert dl.from_dlpack(Forwarding(readonly)).readonly


def test_the_signature_behind_a_property_is_not_remembered_for_its_class(array):
    class Property(Producer):
        __dlpack__ = property(lambda self: self.array.__dlpack__)

    readonly = array.copy()
    readonly.flags.writeable = False
    dl.from_dlpack(Property(OldProducer(array)))
    assert dl.from_dlpack(Property(readonly)).readonly


def test_a_type_error_of_the_export_itself_is_raised_as_it_is(array):
    calls = []

    class Broken(Producer):
        def __dlpack__(self, **options):
            calls.append(options)
            return len(5)

    with pytest.raises(TypeError, match="has no len") as caught:
        dl.from_dlpack(Broken(array))
    assert calls == [{"max_version": (1, 3)}, {}]
    assert caught.value.__cause__ is None


def test_a_type_error_of_the_export_is_not_replaced_by_the_refusal_of_an_older_signature(array):
    class Broken(Producer):
        def __dlpack__(self, *, max_version=None):
            if max_version is None:
                raise BufferError("ask with max_version")
            return len(5)

    with pytest.raises(TypeError, match="has no len"):
        dl.from_dlpack(Broken(array))


def test_an_error_that_is_more_than_a_type_error_is_not_about_the_signature(array):
    calls = []

    class Refused(TypeError):
        pass

    class Arrow(Producer):
        def __dlpack__(self, **options):
            calls.append(options)
            raise Refused("no nulls")

    with pytest.raises(Refused, match="no nulls"):
        dl.from_dlpack(Arrow(array))
    assert calls == [{"max_version": (1, 3)}]


def test_the_error_of_an_old_signature_names_the_refusal_of_the_newer_one_as_its_cause(array):
    class Old(Producer):
        def __dlpack__(self, stream=None):
            raise BufferError("requires grad")

    with pytest.raises(BufferError, match="requires grad") as caught:
        dl.from_dlpack(Forwarding(Old(array)))
    assert "unexpected keyword argument 'max_version'" in str(caught.value.__cause__)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_errors_of_the_second_try_are_raised(array, error):
    class Broken(Producer):
        def __dlpack__(self, **options):
            raise TypeError("of the export") if options else error("of the second try")

    with pytest.raises(error, match="of the second try"):
        dl.from_dlpack(Broken(array))


@pytest.mark.parametrize("error", [BufferError, ValueError, KeyboardInterrupt, MemoryError])
def test_errors_of_the_producer_pass_unchanged(array, error):
    class Broken(Producer):
        def __dlpack__(self, **options):
            raise error("mine")

    with pytest.raises(error, match="mine"):
        dl.from_dlpack(Broken(array))


def test_a_capsule_is_consumed_once(array):
    capsule = array.__dlpack__()
    dl.from_dlpack(capsule)
    with pytest.raises(BufferError, match="already consumed"):
        dl.from_dlpack(capsule)


def test_a_capsule_of_another_kind_is_left_alone():
    new = ctypes.PyDLL(None).PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    with pytest.raises(BufferError, match="got 'something'"):
        dl.from_dlpack(new(4096, b"something", None))


def test_what_does_not_speak_dlpack_is_told_what_to_do():
    with pytest.raises(AttributeError, match=r"list has no __dlpack__.*asarray"):
        dl.from_dlpack([1, 2])


def test_a_missing_device_method_is_a_warning(array):
    class NoDevice:
        def __dlpack__(self, **options):
            return array.__dlpack__(**options)

    with pytest.warns(dl.ConformanceWarning, match="no __dlpack_device__"):
        assert dl.from_dlpack(NoDevice()).shape == (2, 3, 4)


def test_a_device_type_that_is_an_enumeration_is_read_with_a_warning(array):
    class Kind:
        value = 1

    with pytest.warns(dl.ConformanceWarning, match="which is not an integer"):
        assert dl.from_dlpack(Producer(array, (Kind(), 0))).device == dl.Device("cpu")
    Kind.value = "1"
    with pytest.warns(dl.ConformanceWarning), pytest.raises(TypeError, match="must return two integers"):
        dl.from_dlpack(Producer(array, (Kind(), 0)))


@pytest.mark.parametrize("device", [(2, 0), (1, 0, 0), None, ("cpu", 0)])
def test_a_device_that_is_not_the_tensors_is_refused(array, device):
    with pytest.raises((BufferError, TypeError), match="__dlpack_device__"):
        dl.from_dlpack(Producer(array, device))


def test_copy_true_copies_and_says_so(array):
    tensor = dl.from_dlpack(array, copy=True)
    assert tensor.data_ptr != array.ctypes.data
    assert tensor.flags & dl.Flags.IS_COPIED
    assert tensor.tolist() == array.tolist()


def test_copy_false_shares(array):
    assert dl.from_dlpack(array, copy=False).data_ptr == array.ctypes.data


def test_the_device_argument_takes_what_is_there(array):
    assert dl.from_dlpack(array, device="cpu").data_ptr == array.ctypes.data
    with pytest.raises(dl.DeviceError):
        dl.from_dlpack(array, device="vulkan:0")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (1,) * 8])
def test_every_dtype_goes_through_and_back(dtype, shape):
    array = np.ones(shape, dtype)
    tensor = dl.from_dlpack(array)
    assert str(tensor.dtype) == dtype
    back = tensor.numpy()
    assert back.dtype == array.dtype
    assert back.shape == shape
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(np.from_dlpack(tensor), array)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_dtypes_of_ml_dtypes_go_through_and_back(dtype):
    array = np.arange(1, 7).astype(getattr(ml_dtypes, dtype)).reshape(2, 3)
    tensor = dl.from_dlpack(array)
    assert str(tensor.dtype) == dtype
    assert tensor.numpy().dtype == array.dtype
    assert tensor.numpy().ctypes.data == array.ctypes.data
    assert [[float(x) for x in row] for row in tensor.tolist()] == array.astype(float).tolist()


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, ">f4"), np.zeros(3, "M8[s]"), np.zeros(3, "U4"), np.zeros(3, "O"), np.zeros(3, [("a", "i4")])],
    ids=lambda a: str(a.dtype),
)
def test_numpy_dtypes_that_dlpack_cannot_say_are_refused(array):
    with pytest.raises(BufferError, match=r"has no DLPack equivalent|has non-native byte order"):
        dl.from_dlpack(array)


def test_strides_that_are_no_whole_elements_are_refused():
    packed = np.zeros(4, [("a", "u1"), ("b", "f4")])["b"]
    with pytest.raises(BufferError, match=r"strides\[0\] is 5 bytes"):
        dl.from_dlpack(packed)


@pytest.mark.parametrize("key", [np.s_[::-1], np.s_[:, ::2], np.s_[1:, ::-2, 1:3], np.s_[..., 0], np.s_[0:0]])
def test_views_of_numpy_come_in_as_they_are(array, key):
    view = array[key]
    tensor = dl.from_dlpack(view)
    assert tensor.shape == view.shape
    assert tensor.tolist() == view.tolist()
    np.testing.assert_array_equal(tensor.numpy(), view)


# -- out ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(1, 0), (1, 3), (2, 0), (1, 99)])
def test_a_reader_of_1_gets_version_1_3(version):
    capsule = dl.asarray([1, 2]).__dlpack__(max_version=version)
    managed = struct_of(capsule)
    assert (managed.major, managed.minor, managed.flags) == (1, 3, 0)
    assert managed.deleter
    assert managed.context


@pytest.mark.parametrize("version", [None, (0, 8)])
def test_an_older_reader_gets_the_older_layout(version):
    assert 'capsule object "dltensor"' in repr(dl.asarray([1, 2]).__dlpack__(max_version=version))


@pytest.mark.parametrize("version", [5, "1.0", (1,), (1, 2, 3), (1.5, 0)])
def test_a_max_version_of_another_form_is_refused(version):
    with pytest.raises(TypeError, match=r"max_version must be None or two integers"):
        dl.asarray([1, 2]).__dlpack__(max_version=version)


def test_strides_are_always_filled_and_empty_data_is_null():
    capsule = dl.empty((0, 3)).__dlpack__(max_version=(1, 3))
    managed = struct_of(capsule)
    assert managed.tensor.data is None
    assert list((ctypes.c_int64 * 2).from_address(managed.tensor.strides)) == [3, 1]


def test_a_read_only_tensor_says_so_or_refuses():
    tensor = dl.asarray(b"abc")
    assert struct_of(capsule := tensor.__dlpack__(max_version=(1, 0))).flags == 1
    assert capsule
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()


def test_a_copy_on_the_way_out_is_flagged_and_writable():
    tensor = dl.asarray(b"abc")
    capsule = tensor.__dlpack__(max_version=(1, 3), copy=True)
    managed = struct_of(capsule)
    assert managed.flags == 2
    assert managed.tensor.data != tensor.data_ptr


@pytest.mark.parametrize("stream", [None, -1])
def test_streams_that_mean_nothing_are_taken(stream):
    assert dl.asarray([1]).__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", [0, 1, 5])
def test_streams_that_the_host_does_not_have_are_refused(stream):
    with pytest.raises(ValueError, match="has no streams"):
        dl.asarray([1]).__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", [object(), "1", 1.0, True, [], float("nan")], ids=str)
def test_a_stream_that_is_no_integer_is_a_type_error(stream):
    for producer in (dl.asarray([1]), dl.adapt(dl.asarray([1]))):
        with pytest.raises(TypeError, match="__dlpack__: stream must be None or an integer, got"):
            producer.__dlpack__(stream=stream)


@pytest.mark.parametrize("copy", ["yes", "no", "", 0, 1, 2.0, [], dl.asarray(True)], ids=repr)
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("from_dlpack", dl.from_dlpack),
        ("asarray", dl.asarray),
        ("numpy", dl.Tensor.numpy),
        ("__dlpack__", dl.Tensor.__dlpack__),
    ],
)
def test_copy_is_a_bool_or_none(name, function, copy):
    t = dl.asarray([1, 2])
    with pytest.raises(TypeError, match=f"{name}: copy must be True, False or None, got"):
        function(t, copy=copy)


def test_a_bool_of_numpy_is_a_bool():
    t = dl.asarray([1, 2])
    assert dl.from_dlpack(t, copy=np.False_).data_ptr == t.data_ptr
    assert dl.from_dlpack(t, copy=np.True_).data_ptr != t.data_ptr


def test_the_device_is_two_plain_integers():
    device = dl.asarray([1]).__dlpack_device__()
    assert device == (1, 0)
    assert [type(x) for x in device] == [int, int]


def test_a_device_out_of_reach_is_refused():
    tensor = dl.asarray([1])
    assert tensor.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="cannot be offered on vulkan:0"):
        tensor.__dlpack__(dl_device=(7, 0))


def test_exports_are_independent():
    tensor = dl.asarray([1, 2, 3])
    first, second = tensor.__dlpack__(), tensor.__dlpack__()
    kept = np.from_dlpack(Capsule(first))
    del second
    gc.collect()
    assert kept.tolist() == [1, 2, 3]
    assert tensor.tolist() == [1, 2, 3]


class Capsule:
    """A capsule as an object, for readers that take objects only."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


# -- lifetimes ------------------------------------------------------------------------------------------------------


def test_the_producer_lives_as_long_as_the_last_view(array):
    count = sys.getrefcount(array)
    tensor = dl.from_dlpack(array)
    view = tensor[1:]
    del tensor
    assert sys.getrefcount(array) == count + 1
    del view
    assert sys.getrefcount(array) == count


def test_an_export_that_is_imported_again_shares_the_memory():
    tensor = dl.asarray([1, 2, 3])
    back = dl.from_dlpack(tensor.__dlpack__(max_version=(1, 3)))
    assert back.same_memory(tensor)


@pytest.mark.parametrize(
    ("field", "value", "rule"), [("ndim", 65, "ndim"), ("ndim", -1, "ndim"), ("shape", 8, "shape.pointer")]
)
def test_an_export_of_ours_with_changed_fields_is_refused(field, value, rule):
    """It was trusted, and 65 dimensions overflow the array of 64."""
    blocks = dl.debug.live_blocks()
    capsule = dl.asarray([1, 2, 3]).__dlpack__(max_version=(1, 3))
    view = struct_of(capsule).tensor
    setattr(view, field, value)
    with pytest.raises(BufferError, match=rule):
        dl.from_dlpack(capsule)
    del capsule, view
    assert dl.debug.live_blocks() == blocks


def test_an_export_of_ours_may_be_imported_without_strides():
    capsule = dl.asarray([[1, 2], [3, 4]]).__dlpack__(max_version=(1, 3))
    struct_of(capsule).tensor.strides = None
    assert dl.from_dlpack(capsule).strides == (2, 1)


def test_whole_bytes_have_room_whatever_the_flag_for_padding_says():
    """A flag that means nothing for float32 made copies of a byte for each element."""
    capsule = dl.ones(1000).__dlpack__(max_version=(1, 3))
    struct_of(capsule).flags = dl.Flags.IS_SUBBYTE_TYPE_PADDED
    tensor, before = dl.from_dlpack(capsule), dl.debug.live_bytes()
    copy = tensor.copy()
    assert dl.debug.live_bytes() - before == 4000
    assert copy.tolist() == [1.0] * 1000


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14),
    reason="free-threaded CPython 3.13 keeps all classes once a thread was started",
)
def test_a_class_that_was_read_may_go():
    """What is remembered of a type must not keep it, nor what its functions hold."""
    kind = type("Local", (Producer,), {})
    dl.from_dlpack(kind(np.arange(3)))
    kind = weakref.ref(kind)
    gc.collect()
    assert kind() is None


def test_wrapped_memory_calls_its_deleter_once():
    memory = (ctypes.c_int16 * 4)(1, 2, 3, 4)
    calls = []
    tensor = dl.wrap(ctypes.addressof(memory), (2, 2), "int16", owner=memory, deleter=lambda: calls.append(1))
    view = tensor[0]
    del tensor
    gc.collect()
    assert calls == []
    assert view.tolist() == [1, 2]
    del view
    gc.collect()
    assert calls == [1]


def test_a_deleter_is_not_called_when_wrapping_fails():
    calls = []
    with pytest.raises(BufferError):
        dl.wrap(4096, (2, 2), "int16", strides=(2**62, 1), deleter=lambda: calls.append(1))
    gc.collect()
    assert calls == []


# -- other protocols -----------------------------------------------------------------------------------------------


def test_buffers_come_in_and_keep_their_exporter_locked():
    memory = bytearray(b"abcd")
    tensor = dl.asarray(memory)
    tensor[0] = 120
    assert memory == b"xbcd"
    with pytest.raises(BufferError):
        memory.append(1)
    del tensor
    gc.collect()
    memory.append(1)


def test_bytes_are_read_only():
    assert dl.asarray(b"abc").readonly


@pytest.mark.parametrize("dtype", DTYPES)
def test_memoryviews_go_both_ways(dtype):
    array = np.ones((2, 3), dtype)
    tensor = dl.asarray(memoryview(array))
    assert str(tensor.dtype) == dtype
    view = memoryview(tensor)
    assert (view.shape, view.strides, view.format) == (array.shape, array.strides, memoryview(array).format)
    assert bytes(view) == array.tobytes()


def test_a_buffer_of_a_strided_tensor_needs_a_reader_of_strides():
    tensor = dl.asarray(np.arange(6).reshape(2, 3)).T
    assert memoryview(tensor).tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(BufferError, match="copy"):
        struct.unpack_from("b", tensor)


def test_array_interfaces_come_in():
    class Interface:
        def __init__(self, array):
            self.kept = array
            self.__array_interface__ = array.__array_interface__

    array = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1]
    tensor = dl.asarray(Interface(array))
    assert tensor.tolist() == array.tolist()


def test_a_cuda_array_is_held_and_described_without_a_driver():
    class OnDevice:
        __cuda_array_interface__ = {  # noqa: RUF012 (the protocol's own spelling)
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (0x7F0000000000, True),
            "version": 3,
            "strides": None,
        }

    tensor = dl.asarray(OnDevice())
    assert str(tensor.device) == "cuda:0"
    assert tensor.readonly
    assert tensor[1].data_ptr == 0x7F0000000000 + 12
    with pytest.raises(dl.DeviceError, match="CUDA driver cannot be loaded"):
        tensor.tolist()


def test_a_cuda_array_that_describes_nothing_is_refused():
    class Nothing:
        __cuda_array_interface__ = None

    with pytest.raises(TypeError, match="__cuda_array_interface__ must be a dictionary, got NoneType"):
        dl.asarray(Nothing())


def test_sequences_and_numbers_become_tensors():
    assert str(dl.asarray([True, False]).dtype) == "bool"
    assert str(dl.asarray([1, 2]).dtype) == "int64"
    assert str(dl.asarray([1, 2.5]).dtype) == "float32"
    assert str(dl.asarray([1, 2j]).dtype) == "complex64"
    assert dl.asarray(5).shape == ()
    assert dl.asarray([[], []]).shape == (2, 0)


@pytest.mark.parametrize("ragged", [[[1], [1, 2]], [1, [2]], [[1], 2]])
def test_ragged_sequences_are_refused(ragged):
    with pytest.raises(ValueError, match="ragged"):
        dl.asarray(ragged)


X, Y = np.arange(6.0).reshape(2, 3), np.arange(6, 12, dtype="int16").reshape(3, 2)


@pytest.mark.parametrize(
    "items",
    [
        [X, X], (X[0], X[1]), [X, Y.T], [Y.T[::-1], X[:, ::-1]], [X[0], [7, 8, 9]], [[7, 8, 9], X[0]], [[X, X], [X, X]],
        [[[7, 8, 9], X[0]], X], [np.zeros((0, 2)), np.zeros((0, 2))], [[X[:0]], [X[:0]]], [X.astype("f4"), 1j * X],
        [X[0] > 0, X[1] > 3],
    ],
)  # fmt: skip
@pytest.mark.parametrize("of", [np.asarray, dl.asarray])
def test_arrays_are_items_of_sequences(items, of):
    def converted(item):
        return [*map(converted, item)] if isinstance(item, (list, tuple)) else of(item)

    given = [item if isinstance(item, list) and type(item[0]) is int else converted(item) for item in items]
    found = dl.asarray(given)
    assert (found.shape, str(found.dtype)) == (np.array(items).shape, str(np.array(items).dtype))
    assert found.tolist() == np.array(items).tolist()
    assert dl.mean([[1.0, 2.0], of(X[0, 1:])], axis=0).tolist() == [1.0, 2.0]


def test_arrays_in_sequences_have_the_dtype_that_is_given():
    assert dl.asarray([X[0] + 0.5, [1, 2, 3]], dtype="int8").tolist() == [[0, 1, 2], [1, 2, 3]]
    assert dl.asarray([dl.zeros(3, dtype="int4"), [1, 2, 3]], dtype="int4").tolist() == [[0, 0, 0], [1, 2, 3]]
    narrow = dl.asarray([dl.asarray([1.5, 2.0], dtype="float8_e4m3fn")] * 2)
    assert (str(narrow.dtype), narrow.tolist()) == ("float8_e4m3fn", [[1.5, 2.0]] * 2)
    assert dl.asarray([narrow[0], narrow[1]], dtype="float32").tolist() == [[1.5, 2.0]] * 2
    with pytest.raises(TypeError, match="complex128 to float64 would drop the imaginary part"):
        dl.asarray([1j * X], dtype="float64")


def test_an_array_in_a_sequence_is_copied():
    t = dl.zeros(2)
    both = dl.asarray([t, t])
    both[0] = 1
    assert t.tolist() == both[1].tolist() == [0, 0]
    with pytest.raises(ValueError, match="copy=False forbids a copy"):
        dl.asarray([t], copy=False)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([X, Y], r"ragged: found an array of shape \(3, 2\) where the first item has shape \(2, 3\)"),
        ([X[0], 1.0], "ragged: expected 3 items at depth 1, got float"),
        ([1.0, X[0]], r"ragged: found an array of shape \(3,\) where the first item has shape \(\)"),
        ([[1.0], X], r"ragged: found an array of shape \(2, 3\) where the first item has shape \(1,\)"),
        ([X[0], [[1], [2], [3]]], r"ragged: found list where shape \(2, 3\) has a number"),
        ([[np.zeros((1,) * 63)]], "nested more than 64 deep"),
    ],
)
def test_arrays_of_other_shapes_in_sequences_are_refused(items, words):
    with pytest.raises(ValueError, match=words):
        dl.asarray(items)


class Liar(tuple):
    """Three items, of which iterating gives another number."""

    def __new__(cls, items):
        made = super().__new__(cls, (1, 2, 3))
        made.items = items
        return made

    def __iter__(self):
        return iter(self.items)


@pytest.mark.parametrize("given", [0, 1, 3])
def test_a_sequence_is_what_iterating_over_it_gives_whatever_its_length_says(given):
    """What was too much was once written behind the tensor's memory."""
    assert dl.asarray(Liar(range(given))).tolist() == list(range(given))
    with pytest.raises(ValueError, match="ragged"):
        dl.asarray([[1] * (given + 1), Liar(range(given))])


@pytest.mark.parametrize("items", [range(5), itertools.repeat(1)], ids=["more", "endless"])
def test_a_sequence_that_gives_more_items_than_its_length_is_refused(items):
    with pytest.raises(ValueError, match="asarray: Liar has a length of 3 and gives more items"):
        dl.asarray(Liar(items))


def test_strings_are_no_numbers():
    with pytest.raises(TypeError, match="got str"):
        dl.asarray(["a"])


def test_asarray_of_a_tensor_is_the_tensor():
    tensor = dl.asarray([1])
    assert dl.asarray(tensor) is tensor
    assert dl.asarray(tensor, copy=True) is not tensor
    with pytest.raises(ValueError, match="copy=False"):
        dl.asarray([1, 2], copy=False)


@pytest.mark.parametrize("dtype", [None, "int16"])
@pytest.mark.parametrize("obj", [[1, 2], b"ab"], ids=["numbers", "memory"])
def test_asarray_copies_once_at_most(obj, dtype):
    with dl.debug.trace() as trace:
        dl.asarray(obj, dtype=dtype, copy=True)
    assert [event.event for event in trace.events].count("allocated") == 1


def test_the_exchange_table_can_be_turned_off(monkeypatch):
    code = "import dltensor as dl; t = dl.asarray([1]); print(dl.from_dlpack(t).tolist())"
    environment = {**os.environ, "DLTENSOR_NO_EXCHANGE_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[1]", done.stderr


def test_into_numpy_shares_memory():
    tensor = dl.asarray([1, 2, 3])
    assert dl.into(tensor, np.ndarray).ctypes.data == tensor.data_ptr


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("numpy", r"into: expected a type such as torch.Tensor, got 'numpy'; pass the type of an array, type\(x\)"),
        (dict, r"into: builtins.dict has no exchange table, and no from_dlpack .*; pass .* or default=numpy.ndarray"),
        (np.float32, r"into: expected a type of arrays, got numpy.float32: .* numpy.ndarray; pass that type"),
    ],
)
def test_into_a_kind_that_is_no_type_of_arrays_names_the_remedy(kind, text):
    with pytest.raises(TypeError, match=text):
        dl.into(dl.asarray([1.0]), kind)


@pytest.mark.parametrize("kind", [list, float, np.float32, np.ndarray, memoryview])
def test_into_the_same_kind_else_numpy(kind):
    tensor = dl.asarray([1.0, 2.0])
    result = dl.into(tensor, kind, default=np.ndarray)
    assert type(result) is np.ndarray
    assert result.ctypes.data == tensor.data_ptr


def test_the_default_of_into_must_be_a_type_of_arrays():
    with pytest.raises(TypeError, match="into: expected a type"):
        dl.into(dl.asarray([1.0]), list, default="numpy")


def _package(monkeypatch, name, **members):
    """A loaded package with a class of arrays, that only reads capsules of before 1.0 and never writes."""
    kind = type("Tensor", (), {"__module__": name})
    monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(Tensor=kind, **members))
    return kind


@pytest.mark.parametrize("name", ["jax", "jaxlib.core"])
def test_into_jax_shares_read_only_tensors(monkeypatch, name):
    def from_dlpack(source):
        array = kind()
        array.capsule = source.__dlpack__()
        return array

    kind = _package(monkeypatch, "jax", dlpack=types.SimpleNamespace(from_dlpack=from_dlpack))
    kind = kind if name == "jax" else _package(monkeypatch, name)
    tensor = dl.from_dlpack(np.frombuffer(b"abcd", dtype=np.uint8))
    array = dl.into(tensor, kind)
    assert dl.from_dlpack(array.capsule).data_ptr == tensor.data_ptr
    assert tensor.readonly


def test_into_tensorflow_passes_a_capsule(monkeypatch):
    def from_dlpack(capsule):
        array = kind()
        array.capsule = capsule
        return array

    experimental = types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=from_dlpack))
    _package(monkeypatch, "tensorflow", experimental=experimental)
    kind = _package(monkeypatch, "tensorflow.python.framework.tensor")
    tensor = dl.from_dlpack(np.frombuffer(b"abcd", dtype=np.uint8))
    array = dl.into(tensor, kind)
    assert dl.from_dlpack(array.capsule).data_ptr == tensor.data_ptr


def test_into_another_framework_keeps_read_only_tensors_read_only(monkeypatch):
    kind = _package(monkeypatch, "another", from_dlpack=lambda source: source.__dlpack__())
    with pytest.raises(BufferError, match="read-only"):
        dl.into(dl.from_dlpack(np.frombuffer(b"abcd", dtype=np.uint8)), kind)


def test_into_a_type_of_jaxlib_asks_jax(monkeypatch):
    array_of_jaxlib = type("ArrayImpl", (), {"__module__": "jaxlib._jax"})
    array = array_of_jaxlib()
    of_jax = types.SimpleNamespace(from_dlpack=lambda source: setattr(array, "source", source) or array)
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(dlpack=of_jax))
    tensor = dl.asarray([1, 2, 3])
    assert dl.into(tensor, array_of_jaxlib) is array
    assert array.source is tensor


def test_into_finds_the_function_of_every_type_whether_it_is_remembered_or_not():
    def kind_of(number):
        return type(f"Kind{number}", (), {"from_dlpack": classmethod(lambda kind, source: kind())})

    kinds = [kind_of(number) for number in range(300)]  # more than are remembered
    tensor = dl.asarray([1, 2, 3])
    for _ in range(2):
        assert [type(dl.into(tensor, kind)) for kind in kinds] == kinds


def test_the_exchange_table_gives_no_address_for_an_empty_tensor():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(dl.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    # After the header (version, previous table) and the allocator.
    address = ctypes.c_void_p.from_address(table + 24).value
    export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(address)
    made = ctypes.c_void_p()
    for shape in ((2, 3), (0,), (2, 0, 2**40), ()):
        tensor = dl.zeros(shape)
        assert export(tensor, ctypes.byref(made)) == 0
        data = ctypes.c_void_p.from_address(made.value + 32).value  # after version, manager_ctx, deleter, flags
        deleter = ctypes.c_void_p.from_address(made.value + 16).value
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(deleter)(made.value)
        assert data == (None if 0 in shape else tensor.data_ptr)


@pytest.mark.parametrize("versioned", [False, True])
def test_jax_is_asked_without_a_version_once_it_answered_with_a_legacy_capsule(monkeypatch, versioned):
    asked = []

    class Array:
        def __dlpack__(self, **keywords):
            asked.append(keywords)
            return dl.arange(3).__dlpack__(max_version=keywords.get("max_version") if versioned else None)

        def __dlpack_device__(self):
            return 1, 0

    Array.__module__, Array.__qualname__ = "jaxlib.made_up", "Array"
    monkeypatch.setitem(sys.modules, "jaxlib.made_up", types.SimpleNamespace(Array=Array))
    tensors = [dl.from_dlpack(Array()) for _ in range(3)]
    assert [tensor.tolist() for tensor in tensors] == [[0, 1, 2]] * 3
    assert all(tensor.readonly for tensor in tensors)
    with_version = {"max_version": (1, 3)}
    assert asked == [with_version] * 3 if versioned else [with_version, {}, {}]


def test_no_warning_escapes_on_the_plain_paths(array):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dl.from_dlpack(array).numpy()
