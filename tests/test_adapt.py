# SPDX-License-Identifier: Apache-2.0
"""Adapting: the export has the requested form, lists its changes, and leaks nothing. Real consumers
are in test_quirks_peers.py."""

import gc
import sys

import numpy as np
import pytest

import dltensor as dl
from dltensor._core import introspect as _report
from dltensor.inspection.quirks import load


def fields(x, **arguments):
    capsule = x.__dlpack__(**arguments)
    return _report.read_capsule(capsule)


NEW = {"max_version": (1, 3)}


def readonly_array():
    array = np.arange(6.0)
    array.flags.writeable = False
    return array


def test_without_arguments_the_memory_is_shared_as_it_is():
    array = np.arange(6).reshape(2, 3)[:, ::2]
    adapted = dl.adapt(array)
    made = fields(adapted, **NEW)
    assert made["data"] == array.ctypes.data
    assert made["strides"] == (3, 2)
    assert made["flags"] == 0
    assert adapted.changes == ()
    assert not adapted.copies
    assert fields(adapted)["layout"] == "DLManagedTensor"
    assert adapted.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    ("legacy", "asked", "layout"),
    [
        (True, {"max_version": (1, 3)}, "DLManagedTensor"),
        (True, {}, "DLManagedTensor"),
        (False, {}, "DLManagedTensorVersioned"),
        (False, {"max_version": (0, 8)}, "DLManagedTensorVersioned"),
        (None, {}, "DLManagedTensor"),
        (None, {"max_version": (1, 0)}, "DLManagedTensorVersioned"),
    ],
)
def test_the_layout_is_the_one_that_was_asked_for(legacy, asked, layout):
    assert fields(dl.adapt(dl.arange(3), legacy=legacy), **asked)["layout"] == layout


def test_each_export_has_a_copy_of_its_own_that_says_so():
    adapted = dl.adapt(np.arange(6)[::-1], contiguous=True)
    first, second = adapted.__dlpack__(**NEW), adapted.__dlpack__(**NEW)
    one, two = _report.read_capsule(first), _report.read_capsule(second)
    assert one["flags"] == two["flags"] == dl.Flags.IS_COPIED
    assert one["data"] != two["data"]
    assert one["strides"] == (1,)
    assert adapted.strides == (1,)
    assert dl.from_dlpack(first).tolist() == [5, 4, 3, 2, 1, 0]


def test_contiguous_memory_is_not_copied():
    adapted = dl.adapt(np.arange(6), contiguous=True)
    assert not adapted.copies
    assert adapted.changes == ()


def test_readonly_stays_unless_it_is_asked_away():
    array = readonly_array()
    assert fields(dl.adapt(array), **NEW)["flags"] == dl.Flags.READ_ONLY
    dropped = dl.adapt(array, readonly=False)
    assert fields(dropped, **NEW)["flags"] == 0
    assert fields(dropped, **NEW)["data"] == array.ctypes.data
    assert "on request" in repr(dropped)
    assert fields(dl.adapt(np.arange(3.0), readonly=True), **NEW)["flags"] == dl.Flags.READ_ONLY
    assert fields(dl.adapt(array, copy=True), **NEW)["flags"] == dl.Flags.IS_COPIED
    both = fields(dl.adapt(array, copy=True, readonly=True), **NEW)["flags"]
    assert both == dl.Flags.IS_COPIED | dl.Flags.READ_ONLY


def test_legacy_never_hides_that_memory_is_readonly():
    with pytest.raises(BufferError, match=r"cannot mark the tensor read-only.*readonly=False"):
        dl.adapt(readonly_array(), legacy=True)
    with pytest.raises(BufferError, match="legacy capsule cannot represent"):
        dl.adapt(readonly_array()).__dlpack__()
    assert fields(dl.adapt(readonly_array(), legacy=True, copy=True))["flags"] is None


@pytest.mark.parametrize("offset", [8, 64, 4096])
def test_byte_offset_moves_data_and_not_the_elements(offset):
    t = dl.arange(6)
    adapted = dl.adapt(t, byte_offset=offset)
    made = fields(adapted, **NEW)
    assert made["byte_offset"] == offset
    assert made["data"] + offset == t.data_ptr
    assert dl.from_dlpack(adapted).data_ptr == t.data_ptr


def test_data_is_put_where_the_standard_wants_it():
    made = fields(dl.adapt(dl.arange(100)[3:], byte_offset="256"), **NEW)
    assert made["data"] % 256 == 0
    assert made["byte_offset"] == 24


def test_lanes_join_and_split_neighbours():
    t = dl.asarray([[1, 2, 3, 4], [5, 6, 7, 8]], dtype="float32")
    pairs = dl.adapt(t, lanes=2)
    assert pairs.shape == (2, 2)
    assert fields(pairs, **NEW)["dtype"] == (2, 32, 2)
    assert fields(pairs, **NEW)["strides"] == (2, 1)
    back = dl.adapt(pairs, lanes=1)
    assert dl.from_dlpack(back).tolist() == t.tolist()
    assert dl.from_dlpack(back).data_ptr == t.data_ptr
    with pytest.raises(ValueError, match="does not divide"):
        dl.adapt(t, lanes=3)


def test_fp4_joins_in_pairs():
    t = dl.asarray([1, 2, 3, 4], dtype="float32").astype("float4_e2m1fn")
    made = fields(dl.adapt(t, lanes=2), **NEW)
    assert made["dtype"] == (17, 4, 2)
    assert made["shape"] == (2,)
    assert made["data"] == t.data_ptr


def test_lanes_are_split_before_values_are_converted():
    pairs = dl.adapt(dl.asarray([1, 2, 3, 4], dtype="bfloat16"), lanes=2)
    assert dl.from_dlpack(dl.adapt(pairs, lanes=1, dtype="float32")).tolist() == [1, 2, 3, 4]
    assert np.from_dlpack(dl.adapt(pairs, to="numpy")).tolist() == [1, 2, 3, 4]


def test_a_conversion_is_a_copy_and_says_so():
    adapted = dl.adapt(dl.asarray([1.5, -2], dtype="bfloat16"), dtype="float32")
    assert adapted.copies
    assert fields(adapted, **NEW)["flags"] == dl.Flags.IS_COPIED
    assert np.from_dlpack(adapted).tolist() == [1.5, -2]
    assert dl.adapt(dl.arange(3), dtype="int64").copies is False


def test_copy_false_forbids():
    with pytest.raises(BufferError, match=r"contiguous=True needs C order, strides are \(-1,\).*copy=False"):
        dl.adapt(np.arange(3)[::-1], contiguous=True, copy=False)
    with pytest.raises(BufferError, match="dtype=float32 converts int64"):
        dl.adapt(np.arange(3), dtype="float32", copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        dl.adapt(np.arange(3), copy=True).__dlpack__(copy=False)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"to": "abacus"}, ValueError, "to must be one of numpy"),
        ({"byte_offset": -1}, ValueError, "byte_offset must be"),
        ({"byte_offset": "64"}, ValueError, "byte_offset must be"),
        ({"lanes": 0}, ValueError, "lanes must be"),
        ({"legacy": True, "table": True}, ValueError, "contradict"),
        ({"dtype": "nothing"}, TypeError, "nothing"),
    ],
)
def test_senseless_arguments_are_refused(arguments, error, words):
    with pytest.raises((error, ValueError), match=words):
        dl.adapt(dl.arange(3), **arguments)


def test_what_has_no_memory_cannot_be_adapted():
    for x in (3, [1, 2], "text"):
        with pytest.raises(TypeError, match="has no memory to share"):
            dl.adapt(x)
        with pytest.raises(TypeError, match="has no memory to share"):
            dl.adapt(x, to="jax")
    with pytest.raises(TypeError, match=r"^adapt: expected numbers"):
        dl.adapt(object())


def test_adapted_objects_are_made_by_the_function_alone():
    for kind in {type(dl.adapt(dl.arange(3))), type(dl.adapt(dl.arange(3), table=False))}:
        with pytest.raises(TypeError, match=r"are made by dltensor\.adapt"):
            kind(dl.arange(3), {}, "name")


@pytest.mark.parametrize(("device", "stream"), [("metal", 5), ("rocm", 0), ("cuda", 0), ("cuda", "legacy")])
def test_a_stream_that_the_device_does_not_have_is_refused_as_by_the_tensor_itself(device, stream):
    memory = np.zeros(2, np.int32)
    source = dl.wrap(memory.ctypes.data, (2,), "int32", device=device, owner=memory)
    errors = []
    for producer in (source, dl.adapt(source, readonly=True)):
        with pytest.raises((ValueError, TypeError)) as error:
            producer.__dlpack__(stream=stream, max_version=(1, 3))
        errors.append((type(error.value), str(error.value)))
    assert errors[0] == errors[1]


def test_streams_and_devices_are_checked_as_by_every_producer():
    adapted = dl.adapt(dl.arange(3))
    with pytest.raises(ValueError, match="has no streams"):
        adapted.__dlpack__(stream=5)
    with pytest.raises(BufferError, match="offered nowhere else"):
        adapted.__dlpack__(dl_device=(2, 0))
    assert fields(adapted, stream=-1, dl_device=(1, 0), copy=True, **NEW)["flags"] == dl.Flags.IS_COPIED


def test_handles_keep_their_offset():
    handle = dl.wrap(1 << 20, (4,), "float32", device="metal:0")
    with pytest.raises(BufferError, match="handle"):
        dl.adapt(handle, byte_offset=64).__dlpack__(**NEW)


def test_the_exchange_table_lends_the_form():
    adapted = dl.adapt(np.arange(6)[::-1], contiguous=True)
    table = type(adapted).__dlpack_c_exchange_api__
    made = _report.read_exported(adapted, table)
    assert made["strides"] == (1,)
    assert made["flags"] == dl.Flags.IS_COPIED
    found = _report.read_table(table)
    assert found["problem"] is None
    assert found["chain"][0]["functions"]["dltensor_from_py_object_no_sync"] == 0
    assert dl.from_dlpack(adapted).tolist() == [5, 4, 3, 2, 1, 0]
    assert not hasattr(dl.adapt(dl.arange(3), table=False), "__dlpack_c_exchange_api__")
    assert not hasattr(dl.adapt(dl.arange(3), legacy=True), "__dlpack_c_exchange_api__")
    assert dl.from_dlpack(dl.adapt(np.arange(3), table=False)).tolist() == [0, 1, 2]


def test_the_source_is_kept_and_nothing_else():
    array = np.arange(6.0)
    gc.collect()
    references, blocks = sys.getrefcount(array), dl.debug.live_blocks()
    for form in ({}, {"copy": True}, {"lanes": 2}, {"byte_offset": 64}, {"to": "torch"}, {"dtype": "float32"}):
        adapted = dl.adapt(array, **form)
        dl.from_dlpack(adapted), adapted.__dlpack__(**NEW), dl.inspect(adapted)
        assert sys.getrefcount(array) > references
        del adapted
    gc.collect()
    assert sys.getrefcount(array) == references
    assert dl.debug.live_blocks() == blocks
    kept = dl.from_dlpack(dl.adapt(np.arange(6.0)))
    assert kept.tolist() == [0, 1, 2, 3, 4, 5]


SOURCES = {
    "backwards": lambda: np.arange(6.0)[::-1],
    "readonly": readonly_array,
    "broadcast": lambda: np.broadcast_to(1.0, (3, 2)),
    "bfloat16": lambda: dl.asarray([1, 2, 3, 4], dtype="bfloat16"),
    "offset": lambda: dl.adapt(dl.arange(6), byte_offset=8),
    "fp4": lambda: dl.asarray([1, 2, 3, 4], dtype="float32").astype("float4_e2m1fn"),
    "uint16": lambda: dl.asarray([1, 2], dtype="uint16"),
    "versioned": lambda: dl.adapt(dl.arange(6), legacy=False),
    "legacy": lambda: dl.adapt(dl.arange(6), legacy=True),
    "pairs": lambda: dl.adapt(dl.arange(6), lanes=2),
}


@pytest.mark.parametrize("to", [name for name, row in load().frameworks.items() if row.take])
@pytest.mark.parametrize("source", SOURCES)
def test_the_form_that_is_chosen_has_none_of_the_quirks_left_that_it_is_meant_for(source, to):
    x = SOURCES[source]()
    cured = [row for row in load().about(dl.inspect(x).facts, to) if row.role == "consumer" and row.adapt]
    left = [row.id for row in load().about(dl.inspect(dl.adapt(x, to=to)).facts, to)]
    assert [row.id for row in cured if row.id in left] == []


def test_for_a_reader_that_cannot_keep_readonly_a_copy_is_made_unless_the_alias_is_accepted():
    array = readonly_array()
    assert dl.adapt(array, to="torch").copies
    shared = dl.adapt(array, to="torch", readonly=False)
    assert not shared.copies
    assert fields(shared, **NEW)["data"] == array.ctypes.data
    shared = dl.adapt(array, to="jax", readonly=False)
    assert fields(shared)["layout"] == "DLManagedTensor"
    assert fields(shared)["data"] == array.ctypes.data
    with pytest.raises(BufferError, match="read-only"):
        dl.adapt(array, to="jax", copy=False)
