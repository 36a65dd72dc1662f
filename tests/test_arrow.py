# SPDX-License-Identifier: Apache-2.0
"""Arrow's C data interface: what is exported and imported, who releases it when, and which structs are refused."""

import ctypes
import gc
import json
import subprocess
import sys
import threading

import pytest
from arrow_structs import Array, Producer, call_release, metadata_of, moved, structs_of

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


@pytest.mark.parametrize("name", [*LETTERS, "bool"])
@pytest.mark.parametrize("shape", [(4,), (0,), (2, 3), (3, 0), (0, 3), (2, 3, 4), (1, 2, 1, 2)])
def test_what_is_exported_comes_back_in_the_same_memory(name, shape):
    if name == "bool" and len(shape) > 1:
        pytest.skip("Arrow has no tensors of bool")
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
    with pytest.raises(ValueError, match=r"1 of 4 elements are null.*fill_null"):
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


HOSTILE = {
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
        (5, TypeError, "int has no __arrow_c_array__"),
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


def test_an_object_with_a_stream_only_is_refused_with_the_remedy():
    class Chunked:
        def __arrow_c_stream__(self, requested_schema=None):
            raise NotImplementedError

    with pytest.raises(TypeError, match="take its chunks, or combine them"):
        dl.from_arrow(Chunked())


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
