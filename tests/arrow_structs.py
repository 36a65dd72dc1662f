# SPDX-License-Identifier: Apache-2.0
"""Structs of Arrow's C data interface by ctypes: a producer whose every field can be set, and a consumer."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int64, c_void_p

RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, (ctypes.py_object, c_char_p)


class Schema(Structure):
    """struct ArrowSchema"""


Schema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))), ("dictionary", c_void_p), ("release", c_void_p), ("private", c_void_p),
]  # fmt: skip


class Array(Structure):
    """struct ArrowArray"""


Array._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(Array))), ("dictionary", c_void_p),
    ("release", c_void_p), ("private", c_void_p),
]  # fmt: skip


class DeviceArray(Structure):
    """struct ArrowDeviceArray"""

    _fields_ = (
        ("array", Array), ("device_id", c_int64), ("device_type", ctypes.c_int32), ("sync_event", c_void_p),
        ("reserved", c_int64 * 3),
    )  # fmt: skip


class Stream(Structure):
    """struct ArrowArrayStream"""

    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private")]


def metadata_of(schema):
    """The keys and values of a schema's metadata: a count, then length and bytes of each text."""
    at = schema.metadata

    def number():
        nonlocal at
        at += 4
        return ctypes.c_int32.from_address(at - 4).value

    def text():
        nonlocal at
        length = number()
        at += length
        return ctypes.string_at(at - length, length)

    return {text(): text() for _ in range(number())}


# Producers whose array was exported and is not released: their memory and callbacks must live until then.
_exported = {}


class Producer:
    """An object with ``__arrow_c_array__`` over four numbers; `released` counts the calls of its two callbacks."""

    def __init__(self, letter=b"i", numbers=(1, 2, 3, 4), of=ctypes.c_int32):
        self.released = []
        self.memory = (of * max(len(numbers), 1))(*numbers)
        self.buffers = (c_void_p * 3)(None, ctypes.addressof(self.memory), None)
        self._callbacks = [RELEASE(self._release_schema), RELEASE(self._release_array)]
        on_schema, on_array = (ctypes.cast(one, c_void_p).value for one in self._callbacks)
        self.schema = Schema(letter, b"", None, 0, 0, None, None, on_schema, None)
        self.array = Array(len(numbers), 0, 0, 2, 0, self.buffers, None, None, on_array, None)
        self.names = [b"arrow_schema", b"arrow_array"]

    def _release_schema(self, address):
        self.released.append("schema")
        Schema.from_address(address).release = None

    def _release_array(self, address):
        self.released.append("array")
        Array.from_address(address).release = None
        _exported.pop(id(self), None)

    def in_lists(self, size, length):
        """Put the array into one of fixed-size lists."""
        child, array = self.schema, self.array
        self.child_schema, self.child_array = Schema(), Array()
        ctypes.pointer(self.child_schema)[0], ctypes.pointer(self.child_array)[0] = child, array
        self.child_schemas = (POINTER(Schema) * 1)(ctypes.pointer(self.child_schema))
        self.child_arrays = (POINTER(Array) * 1)(ctypes.pointer(self.child_array))
        self.list_buffers = (c_void_p * 1)(None)
        self.schema = Schema(b"+w:%d" % size, b"", None, 0, 1, self.child_schemas, None, child.release, None)
        self.array = Array(length, 0, 0, 1, 1, self.list_buffers, self.child_arrays, None, array.release, None)
        return self

    def with_metadata(self, *pairs, count=None):
        """Set the metadata of the schema: pairs of bytes, or a whole block of bytes."""
        made = (len(pairs) if count is None else count).to_bytes(4, "little", signed=True)
        for pair in pairs:
            for item in pair:
                made += len(item).to_bytes(4, "little") + item
        self.metadata = ctypes.create_string_buffer(made)
        self.schema.metadata = ctypes.addressof(self.metadata)
        return self

    def __arrow_c_array__(self, requested_schema=None):
        _exported[id(self)] = self
        structs = (self.schema, self.array)
        return tuple(
            _new_capsule(ctypes.addressof(one), name, None) for one, name in zip(structs, self.names, strict=True)
        )


class DeviceProducer:
    """An object with ``__arrow_c_device_array__`` over the numbers of a `Producer`."""

    def __init__(self, producer, device_type=1, device_id=-1, event=None):
        self.producer = producer
        self.device = DeviceArray(producer.array, device_id, device_type, event)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        schema, _ = self.producer.__arrow_c_array__()
        return schema, _new_capsule(ctypes.addressof(self.device), b"arrow_device_array", None)


class StreamProducer:
    """An object with ``__arrow_c_stream__`` over chunks, each of them a `Producer`.

    `codes` are what the calls of get_next return instead of chunks, where they are not 0; `released` counts the calls
    of the stream's own callback.
    """

    def __init__(self, chunks, kind=None, schema_code=0, codes=(), message=b"its own words"):
        self.chunks, self.kind, self.schema_code, self.message = list(chunks), kind or chunks[0], schema_code, message
        self.codes, self.calls, self.released = list(codes), 0, 0
        two = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)
        one = ctypes.CFUNCTYPE(c_void_p, c_void_p)
        self._callbacks = [two(self._get_schema), two(self._get_next), one(self._error), RELEASE(self._release)]
        self.stream = Stream(*(ctypes.cast(one, c_void_p).value for one in self._callbacks), None)

    def _get_schema(self, _, out):
        if self.schema_code == 0:
            _exported[id(self.kind)] = self.kind
            ctypes.memmove(out, ctypes.byref(self.kind.schema), ctypes.sizeof(Schema))
        return self.schema_code

    def _get_next(self, _, out):
        code = self.codes[self.calls] if self.calls < len(self.codes) else 0
        self.calls += 1
        if code:
            return code
        if self.calls > len(self.chunks):
            Array.from_address(out).release = None
            return 0
        chunk = self.chunks[self.calls - 1]
        _exported[id(chunk)] = chunk
        ctypes.memmove(out, ctypes.byref(chunk.array), ctypes.sizeof(Array))
        return 0

    def _error(self, _):
        self.text = self.message and ctypes.create_string_buffer(self.message)
        return self.text and ctypes.addressof(self.text)

    def _release(self, address):
        self.released += 1
        Stream.from_address(address).release = None

    def __arrow_c_stream__(self, requested_schema=None):
        return _new_capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def structs_of(obj):
    """The schema and the array that an object exports, and the capsules that own them."""
    capsules = obj.__arrow_c_array__()
    schema = Schema.from_address(_pointer(capsules[0], b"arrow_schema"))
    return schema, Array.from_address(_pointer(capsules[1], b"arrow_array")), capsules


def call_release(struct):
    """Release a struct as a consumer does."""
    RELEASE(struct.release)(ctypes.addressof(struct))


def moved(struct):
    """A struct moved to another place: the old one counts as released."""
    made = type(struct).from_buffer_copy(struct)
    struct.release = None
    return made
