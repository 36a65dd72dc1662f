# SPDX-License-Identifier: Apache-2.0
"""Arrow's C data interface: what is exported and imported, who releases it when, and which structs are refused."""

import ctypes
import gc
import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from arrow_structs import (
    Array,
    DeviceArray,
    DeviceProducer,
    Producer,
    StreamProducer,
    _pointer,
    call_release,
    metadata_of,
    moved,
    structs_of,
)

import dltensor as dl

LETTERS = {
    "int8": b"c", "uint8": b"C", "int16": b"s", "uint16": b"S", "int32": b"i", "uint32": b"I", "int64": b"l",
    "uint64": b"L", "float16": b"e", "float32": b"f", "float64": b"g",
}  # fmt: skip


@pytest.mark.parametrize("name", LETTERS)
def test_a_row_of_numbers_is_exported_in_place(name):
    t = dl.arange(5).astype(name)
    schema, array, capsules = structs_of(t)
    assert (schema.format, schema.n_children, schema.metadata) == (LETTERS[name], 0, None)
    assert (array.length, array.null_count, array.offset, array.n_buffers) == (5, 0, 0, 2)
    assert (array.buffers[0], array.buffers[1]) == (None, t.data_ptr)
    del capsules


class Exported:
    """An object of another class that exports what a tensor does."""

    def __init__(self, t):
        self.t = t

    def __arrow_c_array__(self, requested_schema=None):
        return self.t.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("name", LETTERS)
@pytest.mark.parametrize("shape", [(4,), (0,), (2, 3), (3, 0), (0, 3), (2, 3, 4), (1, 2, 1, 2)])
def test_what_is_exported_comes_back_in_the_same_memory(name, shape):
    t = dl.arange(max(1, dl.layout.numel(shape))).astype(name)[: dl.layout.numel(shape)].reshape(shape)
    back = dl.from_arrow(Exported(t))
    assert (back.shape, back.dtype, back.readonly, back.tolist()) == (t.shape, t.dtype, True, t.tolist())
    assert not t.size or back.data_ptr == t.data_ptr


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1)])
def test_dimensions_after_the_first_may_be_in_any_order_in_memory(order):
    t = dl.permute_dims(dl.arange(120).reshape(2, 3, 4, 5), order)
    _, array, capsules = structs_of(t)
    assert array.children[0][0].buffers[1] == t.data_ptr
    back = dl.from_arrow(Exported(t))
    assert (back.data_ptr, back.strides, back.tolist()) == (t.data_ptr, t.strides, t.tolist())
    del capsules


@pytest.mark.parametrize("key", [(slice(None, None, 2),), (slice(None), slice(1, 3)), (slice(None, None, -1),)])
def test_elements_that_do_not_fill_their_memory_are_copied(key):
    t = dl.arange(24).reshape(6, 4)[key]
    back = dl.from_arrow(Exported(t))
    assert back.data_ptr != t.data_ptr
    assert back.tolist() == t.tolist()
    broadcast = dl.broadcast_to(dl.arange(3), (4, 3))
    assert dl.from_arrow(Exported(broadcast)).tolist() == broadcast.tolist()
    assert dl.from_arrow(Exported(dl.arange(6).reshape(2, 3).T)).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_tensors_have_the_metadata_of_the_extension_type():
    schema, _, capsules = structs_of(dl.permute_dims(dl.zeros((2, 3, 4)), (0, 2, 1)))
    pairs = metadata_of(schema)
    assert list(pairs) == [b"ARROW:extension:name", b"ARROW:extension:metadata"]
    assert pairs[b"ARROW:extension:name"] == b"arrow.fixed_shape_tensor"
    assert json.loads(pairs[b"ARROW:extension:metadata"]) == {"shape": [3, 4], "permutation": [1, 0]}
    assert (schema.format, schema.children[0][0].format) == (b"+w:12", b"f")
    del capsules


@pytest.mark.parametrize(
    ("t", "error", "words"),
    [
        (dl.zeros(()), ValueError, r"at least one dimension, got shape \(\); take reshape\(1\)"),
        (dl.zeros(2, dtype="bfloat16"), TypeError, "Arrow has no type for bfloat16; convert with astype"),
        (dl.zeros(2, dtype="complex64"), TypeError, "Arrow has no type for complex64"),
        (dl.zeros(2, dtype="int4"), TypeError, "Arrow has no type for int4"),
        (dl.zeros((2, 2), dtype="bool"), TypeError, r"no tensors of bool; take view\('uint8'\)"),
        (dl.broadcast_to(dl.zeros(1, dtype="int8"), (0, 2**31)), ValueError, r"at most 2\^31 - 1 elements"),
    ],
)
def test_what_arrow_cannot_express_is_refused(t, error, words):
    with pytest.raises(error, match=f"__arrow_c_array__: .*{words}"):
        t.__arrow_c_array__()


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 1001])
def test_bools_leave_as_bits_by_a_copy(n):
    values = [i % 3 == 0 for i in range(n)]
    for t in (dl.asarray(values, dtype="bool"), dl.asarray([v for v in values for _ in range(2)], dtype="bool")[::2]):
        schema, array, capsules = structs_of(t)
        assert (schema.format, array.length, array.null_count, bool(schema.metadata)) == (b"b", n, 0, False)
        assert dl.from_arrow(t).tolist() == values
        del capsules


class Requests:
    """An exporter whose consumer requests the schema of another array."""

    def __init__(self, t, schema):
        self.t, self.schema = t, schema

    def __arrow_c_array__(self, requested_schema=None):
        return self.t.__arrow_c_array__(requested_schema=self.schema)


def test_bools_leave_without_a_copy_where_bool8_is_requested():
    t = dl.asarray([True, False, True])
    pairs = (b"ARROW:extension:name", b"arrow.bool8"), (b"ARROW:extension:metadata", b"")
    producer = Producer(b"c", (0,), ctypes.c_int8).with_metadata(*pairs)
    schema, array = producer.__arrow_c_array__()
    back = dl.from_arrow(Requests(t, schema))
    assert (back.dtype, back.data_ptr, back.tolist()) == (dl.bool, t.data_ptr, [True, False, True])
    bytes_ = Producer(b"c", (0,), ctypes.c_int8)
    schema, array = bytes_.__arrow_c_array__()
    back = dl.from_arrow(Requests(t, schema))
    assert (back.dtype, back.data_ptr, back.tolist()) == (dl.int8, t.data_ptr, [1, 0, 1])
    other = Producer()
    schema, array = other.__arrow_c_array__()
    assert dl.from_arrow(Requests(t, schema)).data_ptr != t.data_ptr
    for bad in (5, array, t.__dlpack__()):
        with pytest.raises(TypeError, match="requested_schema must be a capsule named 'arrow_schema'"):
            t.__arrow_c_array__(requested_schema=bad)


# -- ownership --------------------------------------------------------------------------------------------------------


def test_the_memory_lives_until_the_last_struct_is_released():
    gc.collect()  # what earlier tests left
    before = dl.debug.live_blocks()
    t = dl.arange(1000)
    _, array, capsules = structs_of(t)
    assert dl.debug.live_blocks() == before + 1
    del t
    kept = moved(array)
    del capsules
    gc.collect()
    assert ctypes.c_int64.from_address(kept.buffers[1] + 999 * 8).value == 999
    assert dl.debug.live_blocks() == before + 1
    call_release(kept)
    assert kept.release is None
    assert dl.debug.live_blocks() == before


def test_a_child_may_be_moved_out_and_outlive_its_parent():
    gc.collect()  # what earlier tests left
    before = dl.debug.live_blocks()
    _, array, capsules = structs_of(dl.arange(6).reshape(2, 3))
    parent, child = moved(array), None
    child = moved(parent.children[0][0])
    call_release(parent)
    del capsules
    gc.collect()
    assert ctypes.c_int64.from_address(child.buffers[1] + 5 * 8).value == 5
    assert dl.debug.live_blocks() == before + 1
    threads = [threading.Thread(target=call_release, args=(child,))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert dl.debug.live_blocks() == before


def test_unconsumed_capsules_release_their_structs():
    gc.collect()  # what earlier tests left
    before = dl.debug.live_blocks()
    for _ in range(100):
        dl.zeros((2, 3)).__arrow_c_array__()
    assert dl.debug.live_blocks() == before


def test_an_imported_array_is_released_once_with_its_last_view():
    producer = Producer()
    t = dl.from_arrow(producer)
    assert producer.released == ["schema"]
    assert (producer.schema.release, producer.array.release) == (None, None)
    view = t[1:]
    del t
    gc.collect()
    assert producer.released == ["schema"]
    assert view.tolist() == [2, 3, 4]
    del view
    gc.collect()
    assert producer.released == ["schema", "array"]


def test_structs_are_taken_once():
    producer = Producer()
    t = dl.from_arrow(producer)
    with pytest.raises(BufferError, match="released already; export again"):
        dl.from_arrow(producer)
    assert t.tolist() == [1, 2, 3, 4]


def test_the_result_is_read_only_and_a_copy_is_not():
    t = dl.from_arrow(Producer())
    with pytest.raises(ValueError, match="read-only"):
        t[0] = 9
    producer = Producer()
    copied = dl.from_arrow(producer, copy=True)
    copied[0] = 9
    assert copied.tolist() == [9, 2, 3, 4]
    assert producer.memory[0] == 1
    assert producer.released == ["schema", "array"]


def test_structs_are_released_after_the_interpreter_is_gone():
    # A C consumer may hold the array longer than Python lives; the callback is called from atexit of C.
    code = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from arrow_structs import moved, structs_of
import dltensor as dl
schema, array, capsules = structs_of(dl.arange(1000).reshape(10, 100))
kept = moved(array)
address = ctypes.addressof(kept)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
libc = ctypes.CDLL(None)
at_exit = libc.__cxa_atexit
at_exit.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
assert at_exit(kept.release, address, None) == 0
"""
    from pathlib import Path

    ended = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


# -- other producers --------------------------------------------------------------------------------------------------


def test_offset_and_length_say_which_elements():
    producer = Producer()
    producer.array.offset, producer.array.length = 1, 2
    assert dl.from_arrow(producer).tolist() == [2, 3]


def test_offsets_of_lists_and_of_their_values_add_up():
    producer = Producer(numbers=range(12)).in_lists(2, 3)
    producer.array.offset = 2
    producer.child_array.length, producer.child_array.offset = 11, 1
    assert dl.from_arrow(producer).tolist() == [[5, 6], [7, 8], [9, 10]]


def test_lists_in_lists_are_dimensions():
    producer = Producer(numbers=range(12)).in_lists(2, 6)
    child_schema, child_array, keep = producer.schema, producer.array, (producer.child_schemas, producer.child_arrays)
    producer.in_lists(3, 2)
    assert dl.from_arrow(producer).tolist() == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]
    assert child_schema is not None
    assert child_array is not None
    assert keep


def test_a_bitmap_without_a_null_is_no_obstacle():
    producer = Producer()
    bits = ctypes.c_uint8(0b11101)
    producer.buffers[0] = ctypes.addressof(bits)
    producer.array.null_count, producer.array.offset, producer.array.length = -1, 2, 2
    assert dl.from_arrow(producer).tolist() == [3, 4]
    producer = Producer()
    producer.buffers[0] = ctypes.addressof(bits)
    producer.array.null_count = -1
    with pytest.raises(BufferError, match=r"1 of 4 elements are null.*fill_null"):
        dl.from_arrow(producer)
    assert sorted(producer.released) == ["array", "schema"]


def test_booleans_are_unpacked_from_bits():
    producer = Producer(b"b", (0b10110100, 0b00000001), ctypes.c_uint8)
    producer.array.length, producer.array.offset = 7, 2
    t = dl.from_arrow(producer)
    assert (t.dtype, t.tolist(), t.readonly) == (dl.bool, [True, False, True, True, False, True, True], False)
    with pytest.raises(ValueError, match="booleans as bits, which a tensor cannot share, but copy=False"):
        dl.from_arrow(Producer(b"b", (1,), ctypes.c_uint8), copy=False)
    lists = Producer(b"b", (0b00110110,), ctypes.c_uint8)
    lists.array.length = 6
    assert dl.from_arrow(lists.in_lists(3, 2)).tolist() == [[False, True, True], [False, True, True]]


def test_bytes_of_bool8_are_true_unless_they_are_0():
    def made():
        pair = (b"ARROW:extension:name", b"arrow.bool8"), (b"ARROW:extension:metadata", b"")
        return Producer(b"c", (0, 1, -5, 0), ctypes.c_int8).with_metadata(*pair)

    t = dl.from_arrow(made())
    assert (t.dtype, t.tolist()) == (dl.bool, [False, True, True, False])
    assert dl.from_arrow(made()).view("uint8").tolist() == [0, 1, 1, 0]
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        dl.from_arrow(made(), copy=False)


def as_tensors(shape=b'{"shape": [2, 3]}', size=6, **more):
    producer = Producer(numbers=range(12)).in_lists(size, 12 // size)
    return producer.with_metadata(
        (b"ARROW:extension:name", b"arrow.fixed_shape_tensor"), (b"ARROW:extension:metadata", shape), **more
    )


def test_the_permutation_of_a_tensor_is_applied():
    t = dl.from_arrow(as_tensors(b'{"shape": [2, 3], "permutation": [1, 0], "dim_names": ["a", "b"]}'))
    assert (t.shape, t.strides) == ((2, 3, 2), (6, 1, 3))
    assert t[0].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert dl.from_arrow(as_tensors(b'{"shape": []}', 1)).shape == (12,)


# -- hostile structs --------------------------------------------------------------------------------------------------

BIG = 2**62


def changed(**fields):
    producer = Producer()
    for name, value in fields.items():
        setattr(producer.schema if hasattr(producer.schema, name) and name != "n_children" else producer.array, name,
                value)  # fmt: skip
    return producer


def listed(size=2, length=2, numbers=4, **fields):
    producer = Producer(numbers=range(numbers)).in_lists(size, length)
    for name, value in fields.items():
        setattr(
            producer.child_array if name.startswith("child_") else producer.array, name.removeprefix("child_"), value
        )
    return producer


def no_buffer():
    producer = Producer()
    producer.buffers[1] = None
    return producer


def low_buffer():
    producer = Producer()
    producer.buffers[1] = 64
    return producer


def released_child():
    producer = listed()
    producer.child_array.release = None
    return producer


def schema_children(count, pointer=True):
    producer = listed()
    producer.schema.n_children = count
    if not pointer:
        producer.schema.children = None
    return producer


def bitmap(address=8192, null_count=1, **fields):
    """Nulls of which a bitmap tells that is not there: it must not be read."""
    producer = changed(null_count=null_count, **fields)
    producer.buffers[0] = address
    return producer


def list_with_bitmap(**fields):
    producer = listed(null_count=1, **fields)
    producer.list_buffers[0] = 8192
    return producer


def with_text(text, **more):
    """Numbers, in no lists, that say they are tensors."""
    pairs = (b"ARROW:extension:name", b"arrow.fixed_shape_tensor"), (b"ARROW:extension:metadata", text)
    return Producer(**more).with_metadata(*pairs)


HOSTILE = {
    "a bitmap of a length beyond memory": (lambda: bitmap(length=2**50), "more than memory can hold"),
    "a bitmap of a list longer than its values": (lambda: list_with_bitmap(length=2**40), "values, expected"),
    "a bitmap at 8": (lambda: bitmap(8), r"buffers\[0\] is 0x8"),
    "more nulls than elements": (lambda: bitmap(null_count=5), "null_count is 5 for 4 elements"),
    "fewer nulls than none": (lambda: bitmap(null_count=-2), "null_count is -2 for 4 elements"),
    "metadata at 16": (lambda: [setattr((p := Producer()).schema, "metadata", 16), p][1], "metadata is 0x10"),
    "tensors in no lists": (lambda: with_text(b'{"shape": [2, 2]}'), r"stored in lists of \[\]"),
    "tensors of no dimensions in no lists": (lambda: with_text(b'{"shape": []}'), r"stored in lists of \[\]"),
    "a permutation of floats": (lambda: as_tensors(b'{"shape": [2, 3], "permutation": [1.0, 0.0]}'), "no permutation"),
    "a permutation of bools": (lambda: as_tensors(b'{"shape": [2, 3], "permutation": [true, false]}'), "no permut"),
    "a permutation that is a number": (lambda: as_tensors(b'{"shape": [2, 3], "permutation": 5}'), "cannot be read"),
    "a shape of words": (lambda: as_tensors(b'{"shape": ["2", "3"]}'), "cannot be read"),
    "a shape that is a number": (lambda: as_tensors(b'{"shape": 6}'), "cannot be read"),
    "a shape of floats": (lambda: as_tensors(b'{"shape": [2.0, 3.0]}'), "cannot be read"),
    "JSON that is a word": (lambda: as_tensors(b'"shape"'), "cannot be read"),
    "negative length": (lambda: changed(length=-1), "ArrowArray.length is -1 from offset 0"),
    "negative offset": (lambda: changed(offset=-1), "ArrowArray.length is 4 from offset -1"),
    "overflowing end": (lambda: changed(offset=2**63 - 2), "from offset 9223372036854775806"),
    "more than memory": (lambda: changed(length=BIG), "more than memory can hold"),
    "no buffers": (lambda: changed(buffers=None), "ArrowArray.buffers or ArrowArray.children is NULL"),
    "three buffers": (lambda: changed(n_buffers=3), "has 3 buffers and 0 children, expected 2 and 0"),
    "negative buffers": (lambda: changed(n_buffers=-1), "has -1 buffers"),
    "a child too many": (lambda: changed(n_children=1), "has 2 buffers and 1 children"),
    "a dictionary": (lambda: [setattr((p := Producer()).array, "dictionary", 8192), p][1], "has a dictionary"),
    "null data": (no_buffer, r"buffers\[1\] is 0x0"),
    "data at 64": (low_buffer, r"buffers\[1\] is 0x40"),
    "nulls without bitmap": (lambda: changed(null_count=2), "null_count is 2 without a validity bitmap"),
    "no format": (lambda: changed(format=None), "ArrowSchema.format is 0x0"),
    "a negative list": (lambda: [setattr((p := listed()).schema, "format", b"+w:-2"), p][1], "no size of a list"),
    "a list of 2^31": (lambda: [setattr((p := listed()).schema, "format", b"+w:2147483648"), p][1], "no size of a"),
    "a list of letters": (lambda: [setattr((p := listed()).schema, "format", b"+w:2x"), p][1], "no size of a list"),
    "a schema without child": (lambda: schema_children(0), "has 0 children, expected 1"),
    "a schema with NULL children": (lambda: schema_children(1, False), "has 1 children, expected 1"),
    "an array without child": (lambda: listed(n_children=0), "has 1 buffers and 0 children, expected 1 and 1"),
    "NULL children": (lambda: listed(children=None), "ArrowArray.children is NULL"),
    "a short child": (lambda: listed(length=3), "has 4 values, expected 6"),
    "an offset past the child": (lambda: listed(offset=1), "has 4 values, expected 6"),
    "an overflowing list": (lambda: listed(length=BIG, child_length=2**63 - 1), "has 9223372036854775807 values, exp"),
    "an overflowing child": (lambda: listed(child_offset=2**63 - 5), "cannot be counted|from offset 9223372036854775"),
    "a released child": (released_child, "a child of the ArrowArray is released"),
    "another shape": (lambda: as_tensors(b'{"shape": [2, 2]}'), r"shape \(2, 2\) is stored in lists of \[6\]"),
    "a negative extent": (lambda: as_tensors(b'{"shape": [-2, -3]}'), "cannot be read"),
    "no shape": (lambda: as_tensors(b"{}"), "cannot be read"),
    "no JSON": (lambda: as_tensors(b"\xff{"), "cannot be read"),
    "JSON of another kind": (lambda: as_tensors(b"[1]"), "cannot be read"),
    "deep JSON": (lambda: as_tensors(b"[" * 60000), "cannot be read"),
    "a permutation that is none": (lambda: as_tensors(b'{"shape": [2, 3], "permutation": [0, 0]}'), "no permutation"),
    "a permutation of words": (lambda: as_tensors(b'{"shape": [2, 3], "permutation": "ab"}'), "cannot be read"),
    "negative metadata": (lambda: Producer().with_metadata(count=-1), "metadata has -1 entries"),
    "much metadata": (lambda: Producer().with_metadata(count=2**31 - 1), "metadata has 2147483647 entries"),
    "a long entry": (
        lambda: Producer().with_metadata((b"a" * 70000, b"")),
        "metadata has an entry of 70000 bytes, expected at most 65536",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_struct_that_breaks_a_rule_is_refused_and_released_once(name):
    make, words = HOSTILE[name]
    producer = make()
    with pytest.raises(BufferError, match=f"from_arrow: .*({words})"):
        dl.from_arrow(producer)
    gc.collect()
    assert sorted(producer.released) == ["array", "schema"]


@pytest.mark.parametrize("letter", [b"u", b"n", b"z", b"tdD", b"+s", b"+l", b"d:5,2", b"", b"ii", b"x" * 100])
def test_types_that_no_tensor_has_are_refused_by_name(letter):
    producer = Producer(letter)
    with pytest.raises(TypeError, match="is no number that a tensor has; cast the array first"):
        dl.from_arrow(producer)
    assert sorted(producer.released) == ["array", "schema"]


def test_lists_are_not_nested_without_end():
    producer = Producer(numbers=[1]).in_lists(1, 1)
    producer.child_schemas[0] = ctypes.pointer(producer.schema)
    with pytest.raises(ValueError, match="lists are nested 64 deep"):
        dl.from_arrow(producer)
    assert sorted(producer.released) == ["array", "schema"]


class Returns:
    def __init__(self, made):
        self.made = made

    def __arrow_c_array__(self, requested_schema=None):
        return self.made


@pytest.mark.parametrize(
    ("obj", "error", "words"),
    [
        (5, TypeError, "int has no __arrow_c_array__, __arrow_c_device_array__ or __arrow_c_stream__"),
        (Returns(None), TypeError, "must return a pair of capsules, got None"),
        (Returns((1, 2)), TypeError, "must return a pair of capsules, got int for 'arrow_schema'"),
        (Returns((1, 2, 3)), TypeError, "must return a pair of capsules"),
        (Returns(dl.arange(2).__arrow_c_array__()[::-1]), BufferError, "named 'arrow_schema', got 'arrow_array'"),
        (Returns((dl.arange(2).__dlpack__(),) * 2), BufferError, "named 'arrow_schema', got 'dltensor'"),
    ],
)
def test_what_is_no_array_is_refused(obj, error, words):
    with pytest.raises(error, match=words):
        dl.from_arrow(obj)


def test_an_error_of_the_producer_passes_through():
    class Fails:
        def __arrow_c_array__(self, requested_schema=None):
            raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        dl.from_arrow(Fails())


def test_an_exception_that_is_pending_outlives_the_release():
    producer = Producer()
    assert isinstance(producer.array, Array)
    t = dl.from_arrow(producer)
    error = None
    try:
        try:
            raise ValueError("pending")
        finally:
            del t
            gc.collect()
    except ValueError as caught:
        error = caught
    assert str(error) == "pending"
    assert producer.released == ["schema", "array"]


# -- streams ----------------------------------------------------------------------------------------------------------


def chunks_of(*sizes):
    """Producers of 0, 1, 2 ... in chunks."""
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [Producer(numbers=range(at, at + size)) for at, size in zip(starts, sizes, strict=True)]


@pytest.mark.parametrize("sizes", [(4,), (0, 4), (4, 0, 0), (0, 0, 3, 0)])
@pytest.mark.parametrize("copy", [None, False])
def test_the_one_chunk_with_elements_is_not_copied(sizes, copy):
    chunks = chunks_of(*sizes)
    stream = StreamProducer(chunks)
    t = dl.from_arrow(stream, copy=copy)
    full = next(chunk for chunk in chunks if chunk.array.length)
    assert (t.data_ptr, t.readonly, t.tolist()) == (ctypes.addressof(full.memory), True, list(range(sum(sizes))))
    assert stream.released == 1
    assert [chunk.released.count("array") for chunk in chunks] == [int(chunk is not full) for chunk in chunks]
    del t
    gc.collect()
    assert [chunk.released.count("array") for chunk in chunks] == [1] * len(chunks)
    assert stream.kind.released.count("schema") == 1


def test_several_chunks_are_joined_by_a_copy_only():
    for copy in (None, False):
        chunks = chunks_of(2, 3, 1)
        stream = StreamProducer(chunks)
        with pytest.raises(ValueError, match=r"several chunks.*copy=True, or combine them first.*combine_chunks"):
            dl.from_arrow(stream, copy=copy)
        gc.collect()
        assert stream.released == 1
        assert [chunk.released.count("array") for chunk in chunks] == [1, 1, 0]  # the third was never asked for
    chunks = chunks_of(2, 3, 0, 1)
    t = dl.from_arrow(StreamProducer(chunks), copy=True)
    assert (t.readonly, t.tolist()) == (False, [0, 1, 2, 3, 4, 5])
    gc.collect()
    assert [chunk.released.count("array") for chunk in chunks] == [1] * 4
    one = Producer()
    t = dl.from_arrow(StreamProducer([one]), copy=True)
    t[0] = 9
    assert (t.tolist(), one.memory[0]) == ([9, 2, 3, 4], 1)


def test_chunks_of_tensors_booleans_and_lists_are_joined():
    t = dl.from_arrow(StreamProducer([as_tensors(), as_tensors()]), copy=True)
    assert (t.shape, t[2].tolist()) == ((4, 2, 3), [[0, 1, 2], [3, 4, 5]])
    lists = [Producer(numbers=range(6)).in_lists(2, 3), Producer(numbers=range(2)).in_lists(2, 1)]
    assert dl.from_arrow(StreamProducer(lists), copy=True).tolist() == [[0, 1], [2, 3], [4, 5], [0, 1]]
    bits = [Producer(b"b", (0b101,), ctypes.c_uint8) for _ in range(2)]
    for one in bits:
        one.array.length = 3
    assert dl.from_arrow(StreamProducer(bits), copy=True).tolist() == [True, False, True] * 2


def test_a_stream_without_chunks_is_a_tensor_without_elements():
    for kind, shape, dtype in (
        (Producer(), (0,), "int32"),
        (Producer(b"b"), (0,), "bool"),
        (as_tensors(), (0, 2, 3), "int32"),
        (Producer(b"g", of=ctypes.c_double).in_lists(2, 2), (0, 2), "float64"),
    ):
        t = dl.from_arrow(StreamProducer([], kind))
        assert (t.shape, t.dtype) == (shape, dl.DType(dtype))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: StreamProducer(chunks_of(2), schema_code=5),
            OSError,
            "get_schema of the stream failed: its own words",
        ),
        (
            lambda: StreamProducer(chunks_of(2, 2), codes=[0, 22]),
            OSError,
            "get_next of the stream failed: its own words",
        ),
        (lambda: StreamProducer(chunks_of(2), codes=[5], message=None), OSError, "failed: without a message"),
        (lambda: StreamProducer(chunks_of(2), codes=[5], message=b"a\xff\nb"), OSError, "failed: a\ufffd"),
        (lambda: StreamProducer(chunks_of(2), codes=[12]), MemoryError, "get_next of the stream has no memory left"),
        (lambda: StreamProducer([changed(length=-1)]), BufferError, "ArrowArray.length is -1"),
        (lambda: StreamProducer([Producer(b"u")]), TypeError, "is no number that a tensor has"),
    ],
)
def test_errors_of_a_stream_are_raised_and_everything_is_released(make, error, words):
    stream = make()
    with pytest.raises(error, match=f"from_arrow: .*{words}"):
        dl.from_arrow(stream, copy=True)
    gc.collect()
    assert stream.released == 1
    given = stream.chunks[: stream.calls]
    assert all(
        chunk.released.count("array") == 1
        for chunk, code in zip(given, [*stream.codes, 0, 0], strict=False)
        if not code
    )


@pytest.mark.parametrize("name", ["get_schema", "get_next", "get_last_error"])
def test_a_stream_without_a_function_is_refused(name):
    stream = StreamProducer(chunks_of(2))
    setattr(stream.stream, name, None)
    with pytest.raises(BufferError, match=f"ArrowArrayStream.{name} is NULL, expected a function"):
        dl.from_arrow(stream)
    gc.collect()
    assert stream.released == 1


def test_a_stream_is_taken_once_and_only_from_a_capsule():
    stream = StreamProducer(chunks_of(2))
    dl.from_arrow(stream)
    with pytest.raises(BufferError, match="a stream that is released already; export again"):
        dl.from_arrow(stream)
    stream.__class__ = type("Wrong", (StreamProducer,), {"__arrow_c_stream__": lambda self: 5})
    with pytest.raises(TypeError, match="__arrow_c_stream__ must return a capsule, got int for 'arrow_array_stream'"):
        dl.from_arrow(stream)


# -- device arrays ----------------------------------------------------------------------------------------------------


class ExportedWithDevice:
    """An object of another class that exports what a tensor does, with its device."""

    def __init__(self, t):
        self.t = t

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.t.__arrow_c_device_array__(requested_schema, **kwargs)


@pytest.mark.parametrize("shape", [(4,), (0,), (2, 3), (2, 3, 4)])
def test_device_arrays_of_the_host_are_the_same_memory_both_ways(shape):
    t = dl.arange(dl.layout.numel(shape)).reshape(shape)
    capsules = t.__arrow_c_device_array__(None, later_argument=None)
    device = DeviceArray.from_address(_pointer(capsules[1], b"arrow_device_array"))
    assert (device.device_type, device.device_id, device.sync_event, list(device.reserved)) == (1, -1, None, [0] * 3)
    assert device.array.length == shape[0]
    del capsules, device
    back = dl.from_arrow(ExportedWithDevice(t))
    assert (back.shape, back.readonly, back.tolist()) == (t.shape, True, t.tolist())
    assert not t.size or back.data_ptr == t.data_ptr


def test_device_arrays_are_released_once():
    gc.collect()
    before = dl.debug.live_blocks()
    for _ in range(100):
        dl.zeros((2, 3)).__arrow_c_device_array__()
        dl.from_arrow(ExportedWithDevice(dl.zeros(3)))
    assert dl.debug.live_blocks() == before
    producer = Producer()
    t = dl.from_arrow(DeviceProducer(producer))
    assert (t.tolist(), producer.released) == ([1, 2, 3, 4], ["schema"])
    del t
    gc.collect()
    assert producer.released == ["schema", "array"]


def test_device_arrays_of_other_devices_and_with_events_are_refused():
    with pytest.raises(dl.DeviceError, match="the array is on device type 2, 1, expected the host; copy it"):
        dl.from_arrow(DeviceProducer(Producer(), device_type=2, device_id=1))
    with pytest.raises(BufferError, match="sync_event is 0x1000 for an array of the host, expected NULL"):
        dl.from_arrow(DeviceProducer(Producer(), event=4096))
    assert dl.from_arrow(DeviceProducer(Producer(), device_type=3)).tolist() == [1, 2, 3, 4]


def test_arguments_of_later_versions_of_arrow_are_refused():
    with pytest.raises(NotImplementedError, match="expected no argument 'later'; leave it out"):
        dl.zeros(2).__arrow_c_device_array__(later=1)
    with pytest.raises(TypeError, match="__arrow_c_device_array__: Arrow has no type for bfloat16"):
        dl.zeros(2, dtype="bfloat16").__arrow_c_device_array__()


# -- columns in asarray -----------------------------------------------------------------------------------------------


class Column:
    """A column of another library: Arrow, and an ``__array__`` that makes NaN of nulls."""

    def __init__(self, producer):
        self.producer = producer

    def __arrow_c_array__(self, requested_schema=None):
        return self.producer.__arrow_c_array__()

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, np.nan])


def with_null():
    producer = Producer()
    producer.keep = ctypes.c_uint8(0b1101)
    producer.buffers[0] = ctypes.addressof(producer.keep)
    producer.array.null_count = 1
    return producer


@pytest.mark.parametrize(
    "call",
    [dl.asarray, lambda x: dl.asarray(x, copy=True), dl.sum, dl.mean, lambda x: dl.ones(4) + x, dl.sort, dl.copy],
)
def test_nulls_of_a_column_are_refused_everywhere(call):
    with pytest.raises(BufferError, match=r"1 of 4 elements are null, which a tensor cannot express; .*fill_null"):
        call(Column(with_null()))


def test_a_column_is_read_by_arrow_before_array():
    producer = Producer()
    t = dl.asarray(Column(producer))
    assert (t.tolist(), t.data_ptr, t.readonly) == ([1, 2, 3, 4], ctypes.addressof(producer.memory), True)
    assert dl.asarray(Column(Producer()), copy=False).readonly
    with pytest.raises(ValueError, match="copy=False"):
        dl.asarray(Column(Producer(b"b", (1,), ctypes.c_uint8)), copy=False)


def test_chunks_of_a_column_are_joined_unless_copies_are_forbidden():
    t = dl.asarray(StreamProducer(chunks_of(2, 0, 3)))
    assert (t.tolist(), t.readonly) == ([0, 1, 2, 3, 4], False)
    assert dl.sum(StreamProducer(chunks_of(2, 3))).item() == 10
    with pytest.raises(ValueError, match="asarray: the stream has several chunks"):
        dl.asarray(StreamProducer(chunks_of(2, 3)), copy=False)
    with pytest.raises(BufferError, match="1 of 4 elements are null"):
        dl.asarray(StreamProducer([Producer(), with_null()]))


class Table(StreamProducer):
    """A table of one column, of which NumPy sees two dimensions."""

    def __init__(self, column):
        self.columns = [Producer(b"+s"), column]
        rows, column = self.columns
        self.children = (ctypes.POINTER(Array) * 1)(ctypes.pointer(column.array))
        rows.array.n_children, rows.array.n_buffers, rows.array.children = 1, 1, self.children
        super().__init__([rows])

    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0], [2.0]])


def test_a_table_is_read_by_array_where_no_element_is_null():
    table = Table(Producer())
    assert dl.asarray(table).tolist() == [[1], [2]]
    assert (table.released, table.chunks[0].released.count("array")) == (1, 1)
    with pytest.raises(BufferError, match="1 of 4 elements are null"):
        dl.asarray(Table(with_null()))
    broken = Table(Producer())
    broken.columns[1].array.length = -1
    with pytest.raises(BufferError, match="column 0 of an ArrowArray is NULL, or its length cannot be counted"):
        dl.asarray(broken)
    with pytest.raises(TypeError, match="is no number that a tensor has"):
        dl.from_arrow(Table(Producer()))


def test_numpy_dtypes_have_no_nulls():
    class Series(Column):
        """A series of pandas over an array of NumPy: Arrow would make nulls of its NaN."""

        dtype = np.dtype("float64")

    assert np.isnan(dl.asarray(Series(with_null())).tolist()[1])


class Pandas(Column):
    """A series of pandas with a dtype of its own."""

    dtype = "Int64"

    def __init__(self, missing):
        super().__init__(Producer())
        self.missing = missing

    def isna(self):
        return np.array([False, self.missing])


def test_missing_elements_of_pandas_are_refused():
    with pytest.raises(BufferError, match=r"Pandas has missing elements, which a tensor cannot express; .*fillna"):
        dl.asarray(Pandas(True))
    assert dl.asarray(Pandas(False)).tolist()[0] == 1
