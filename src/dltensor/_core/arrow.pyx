# SPDX-License-Identifier: Apache-2.0
"""Arrow's C data interface: tensors as arrays of numbers or fixed-shape tensors, and back."""
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.pycapsule cimport (PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
                                PyCapsule_New)
from libc.errno cimport ENOMEM
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .dlpack cimport ImportedTensor
from .indexing cimport product_of
from .native cimport MAX_DIMS, Block, adopt, numel
from .allocation cimport check_host
from .tensor cimport Tensor, copied, fill_from_import, new_empty, permuted, reshaped, same_view
from .types cimport (DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLDevice, dtype_of, kDLBool, kDLCPU, kDLFloat, kDLInt,
                     kDLUInt, is_host, read_copy_flag)

from .foreign_text import first_line, quoted
from .types import DeviceError

cdef extern from "_core/arrow.h" nogil:
    ctypedef struct ArrowSchema:
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*)
        void* private_data
    ctypedef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*)
        void* private_data
    ctypedef struct ArrowDeviceArray:
        ArrowArray array
        int64_t device_id
        int32_t device_type
        void* sync_event
    ctypedef struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*)

cdef extern from "_core/arrow.h" namespace "dlt" nogil:
    cppclass ArrowLayout:
        const char* format
        int64_t length
        int64_t list_size
        const char* metadata
        size_t metadata_bytes
    bint export_arrow_schema(const ArrowLayout&, ArrowSchema*) noexcept
    bint export_arrow_array(const ArrowLayout&, const void*, Block*, ArrowArray*) noexcept
    ArrowSchema take_schema "dlt::take_arrow"(ArrowSchema*) noexcept
    ArrowArray take_array "dlt::take_arrow"(ArrowArray*) noexcept
    ArrowArrayStream take_stream "dlt::take_arrow"(ArrowArrayStream*) noexcept
    void release_schema "dlt::release_arrow"(ArrowSchema*) noexcept
    void release_array "dlt::release_arrow"(ArrowArray*) noexcept
    void release_stream "dlt::release_arrow"(ArrowArrayStream*) noexcept
    void free_arrow(Block*) noexcept

cdef extern from "dltensor/validate.h" nogil:
    int dlt_check_pointer(const void*)

cdef extern from "<string.h>" nogil:
    size_t strnlen(const char*, size_t)

cdef extern from *:
    void* PyCapsule_GetPointerRaw "PyCapsule_GetPointer"(PyObject*, const char*) noexcept

# Arrow's letter of each width in bits: signed and unsigned integers, floats.
cdef dict _SIGNED = {8: b"c", 16: b"s", 32: b"i", 64: b"l"}
cdef dict _UNSIGNED = {8: b"C", 16: b"S", 32: b"I", 64: b"L"}
cdef dict _FLOATS = {16: b"e", 32: b"f", 64: b"g"}
cdef dict _TYPES = {}
for _code, _letters in ((<int>kDLInt, _SIGNED), (<int>kDLUInt, _UNSIGNED), (<int>kDLFloat, _FLOATS)):
    for _bits, _letter in _letters.items():
        _TYPES[_letter] = (_code, _bits)

cdef enum:
    LARGEST_TEXT = 1 << 16     # bytes of metadata, or of one key in it; an extension type needs a few hundred
    LARGEST_LIST = 2147483647  # the size of a fixed-size list is an int32
# Extension types that Arrow itself defines.
cdef bytes _BOOL8 = b"arrow.bool8"
cdef bytes _TENSOR = b"arrow.fixed_shape_tensor"


# -- out --------------------------------------------------------------------------------------------------------------

cdef bytes _letter_of(DLDataType dtype, str func):
    """Arrow's format of an element type; TypeError when it has none."""
    letter = None
    if dtype.lanes == 1:
        if dtype.code == kDLBool and dtype.bits == 8:
            letter = b"c"  # the storage of the extension type bool8
        else:
            letter = {<int>kDLInt: _SIGNED, <int>kDLUInt: _UNSIGNED, <int>kDLFloat: _FLOATS}.get(
                dtype.code, {}).get(dtype.bits)
    if letter is None:
        name = dtype_of(dtype)
        raise TypeError(f"{func}: Arrow has no type for {name}; convert with astype('float32'), or view() "
                        f"the bits as integers or, of complex numbers, as floats")
    return letter


cdef bytes _encoded(list pairs):
    """Keys and values in Arrow's encoding: a count, then lengths and bytes, as native int32."""
    cdef int32_t number
    cdef bytes result = b""
    for value in (len(pairs), *[item for pair in pairs for item in pair]):
        if isinstance(value, bytes):
            size = len(value)
            if size > INT32_MAX:
                raise OverflowError(f"a text of {size} bytes; Arrow's metadata has 32-bit lengths")
            number = <int32_t>size
            result += (<char*>&number)[:sizeof(int32_t)] + value
        else:
            number = value
            result += (<char*>&number)[:sizeof(int32_t)]
    return result


cdef bytes _metadata_of(name, text):
    return _encoded([(b"ARROW:extension:name", name), (b"ARROW:extension:metadata", text)])


cdef void _end_schema(PyObject* capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointerRaw(capsule, b"arrow_schema")
    release_schema(schema)  # does nothing once a consumer has moved it
    free(schema)


cdef void _end_array(PyObject* capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointerRaw(capsule, b"arrow_array")
    release_array(array)
    free(array)


cdef void _end_device_array(PyObject* capsule) noexcept:
    cdef ArrowDeviceArray* device = <ArrowDeviceArray*>PyCapsule_GetPointerRaw(capsule, b"arrow_device_array")
    release_array(&device.array)
    free(device)


cdef object _schema_capsule(const ArrowLayout* layout, str func):
    cdef ArrowSchema* schema = <ArrowSchema*>malloc(sizeof(ArrowSchema))
    if schema == NULL or not export_arrow_schema(layout[0], schema):
        free(schema)
        raise MemoryError(f"{func}: allocation failed for the exported schema")
    try:
        return PyCapsule_New(schema, b"arrow_schema", <void (*)(object) noexcept>_end_schema)
    except BaseException:
        release_schema(schema)
        free(schema)
        raise


cdef object _array_capsule(const ArrowLayout* layout, Tensor t, bint is_device, str func):
    """A capsule of the array alone, or with the device, whose struct begins with it."""
    cdef ArrowDeviceArray* device = <ArrowDeviceArray*>calloc(1, sizeof(ArrowDeviceArray))
    if device == NULL or not export_arrow_array(layout[0], t.impl.dl.data, t.impl.block, &device.array):
        free(device)
        raise MemoryError(f"{func}: allocation failed for the exported array")
    device.device_type, device.device_id = kDLCPU, -1  # no event: the host has written everything already
    try:
        if is_device:
            return PyCapsule_New(device, b"arrow_device_array", <void (*)(object) noexcept>_end_device_array)
        return PyCapsule_New(device, b"arrow_array", <void (*)(object) noexcept>_end_array)
    except BaseException:
        release_array(&device.array)
        free(device)
        raise


cdef tuple _memory_order(Tensor t):
    """The dimensions after the first from the largest stride to the smallest; those of one element stay in place."""
    cdef int i
    strides = {i: t.impl.dl.strides[i] for i in range(1, t.impl.dl.ndim) if t.impl.dl.shape[i] != 1}
    moved = sorted(strides, key=strides.get, reverse=True)
    places = iter(moved)
    return (0, *[next(places) if i in strides else i for i in range(1, t.impl.dl.ndim)])


cdef bytes _requested_bytes(object requested, str func):
    """The metadata of bools that a requested schema asks for with a byte each: of the extension type bool8, or of int8,
    which has none. None where it asks for something else."""
    cdef ArrowSchema* schema
    if requested is None:
        return None
    if not PyCapsule_IsValid(requested, b"arrow_schema"):
        raise TypeError(f"{func}: requested_schema must be a capsule named 'arrow_schema', got {quoted(requested)}")
    schema = <ArrowSchema*>PyCapsule_GetPointer(requested, b"arrow_schema")
    if dlt_check_pointer(schema) != 0 or schema.release == NULL:
        raise BufferError(f"{func}: requested_schema holds no schema, or one that is released already")
    extension = _read_metadata(schema.metadata, func).get(b"ARROW:extension:name")
    if extension == _BOOL8:
        return _metadata_of(_BOOL8, b"")
    return b"" if extension is None and _text_of(schema.format, func) == b"c" else None


cdef Tensor _packed_bits(Tensor t, str func):
    """The elements of a contiguous bool tensor as bits, from the least significant bit of each byte."""
    cdef int64_t i, count = numel(t.impl.dl.ndim, t.impl.dl.shape), bytes_ = (count + 7) // 8
    cdef Tensor bits = new_empty(1, &bytes_, DLDataType(kDLUInt, 8, 1), DLDevice(kDLCPU, 0), func)
    cdef const unsigned char* source = <const unsigned char*>t.impl.dl.data
    cdef unsigned char* target = <unsigned char*>bits.impl.dl.data
    with nogil:
        memset(target, 0, bytes_)
        for i in range(count):
            target[i >> 3] |= <unsigned char>((source[i] != 0) << (i & 7))
    return bits


def export_arrow(Tensor t, requested_schema=None, bint is_device=False):
    """Implement ``__arrow_c_array__`` and, of a tensor of the host, ``__arrow_c_device_array__``: two capsules.

    A tensor of one dimension is an array of numbers. One of more dimensions is an array of fixed-shape tensors, one for
    each index of the first dimension, with the permutation that says their memory order. Nothing is copied if the
    elements fill their memory and the first dimension has the largest stride; else a copy is exported. Bools are copied
    to bits, unless `requested_schema` asks for the extension type bool8 or for int8.

    >>> [type(one).__name__ for one in export_arrow(dl.arange(3))]
    ['PyCapsule', 'PyCapsule']
    """
    cdef ArrowLayout layout
    cdef Tensor ordered = t
    cdef bytes letter, metadata = b""
    cdef str func = "__arrow_c_device_array__" if is_device else "__arrow_c_array__"
    check_host(&t.impl.dl, func)
    if t.impl.dl.ndim == 0:
        raise ValueError(f"{func}: an array has at least one dimension, got shape (); take reshape(1)")
    letter = _letter_of(t.impl.dl.dtype, func)
    layout.format = letter  # kept by a dictionary of the module
    layout.length = t.impl.dl.shape[0]
    layout.list_size = -1
    order = _memory_order(t)
    if order != tuple(range(t.impl.dl.ndim)):
        ordered = permuted(t, order, func)
    if not ordered.is_contiguous:
        order, ordered = tuple(range(t.impl.dl.ndim)), copied(t, func)
    if t.impl.dl.ndim > 1:
        shape = ordered.shape[1:]
        size = product_of(shape)
        if size > LARGEST_LIST:
            raise ValueError(f"{func}: a tensor of Arrow has at most 2^31 - 1 elements, got shape "
                             f"{t.shape[1:]} for each index of the first dimension")
        layout.list_size = size
        described = {"shape": list(shape)}
        if order != tuple(range(t.impl.dl.ndim)):
            described["permutation"] = [order.index(axis) - 1 for axis in range(1, t.impl.dl.ndim)]
        import json  # on use: it takes longer to load than this module

        metadata = _metadata_of(_TENSOR, json.dumps(described).encode())
    elif t.impl.dl.dtype.code == kDLBool:
        metadata = _requested_bytes(requested_schema, func)
        if metadata is None:
            metadata, ordered = b"", _packed_bits(ordered, func)
            layout.format = b"b"
    if t.impl.dl.ndim > 1 and t.impl.dl.dtype.code == kDLBool:
        raise TypeError(f"{func}: Arrow has no tensors of bool; take view('uint8') or reshape(-1)")
    layout.metadata = metadata
    layout.metadata_bytes = len(metadata)
    return _schema_capsule(&layout, func), _array_capsule(&layout, ordered, is_device, func)


# -- in ---------------------------------------------------------------------------------------------------------------

cdef void* _pointer_of(object capsule, const char* name, str method, str func) except NULL:
    """The struct of a capsule of a name, which a method has returned."""
    cdef const char* found
    wanted = (<bytes>name).decode()
    if not PyCapsule_CheckExact(capsule):
        expected = "a capsule" if method == "__arrow_c_stream__" else "a pair of capsules"
        raise TypeError(f"{func}: {method} must return {expected}, got {type(capsule).__qualname__} for {wanted!r}")
    found = PyCapsule_GetName(capsule)
    if not PyCapsule_IsValid(capsule, name):
        text = "no name" if found == NULL else repr((<bytes>found).decode("utf-8", "replace"))
        raise BufferError(f"{func}: expected a capsule named {wanted!r}, got {text}")
    pointer = PyCapsule_GetPointer(capsule, name)
    if dlt_check_pointer(pointer) != 0:
        raise BufferError(f"{func}: the capsule {wanted!r} holds {hex(<size_t>pointer)}, which cannot be the address "
                          f"of a struct")
    return pointer


cdef bytes _text_of(const char* text, str func):
    """A format: a short string of a foreign struct."""
    cdef int n = 0
    if text == NULL or <size_t>text < 4096:
        raise BufferError(f"{func}: ArrowSchema.format is {hex(<size_t>text)}, which cannot be an address")
    while text[n] != 0 and n < 64:
        n += 1
    return text[:n]


cdef int32_t _length_at(const char* at) noexcept:
    cdef int32_t number
    memcpy(&number, at, sizeof(number))
    return number


cdef dict _read_metadata(const char* at, str func):
    """Keys and values of a schema. Arrow does not say how long they are in all, so every length is bounded."""
    cdef int32_t count, size
    cdef dict found = {}
    cdef list pair
    if at == NULL:
        return found
    if dlt_check_pointer(at) != 0:
        raise BufferError(f"{func}: ArrowSchema.metadata is {hex(<size_t>at)}, which cannot be an address")
    count = _length_at(at)
    at += sizeof(int32_t)
    if not 0 <= count <= 1024:
        raise BufferError(f"{func}: ArrowSchema.metadata has {count} entries, expected at most 1024")
    for _ in range(count):
        pair = []
        for _part in range(2):
            size = _length_at(at)
            if not 0 <= size <= LARGEST_TEXT:
                raise BufferError(f"{func}: ArrowSchema.metadata has an entry of {size} bytes, expected at most "
                                  f"{LARGEST_TEXT}")
            at += sizeof(int32_t)
            pair.append(at[:size])
            at += size
        found[pair[0]] = pair[1]
    return found


cdef class _Schema:
    """Read a schema: the letter of an element, the extents of nested lists, and the extension type."""
    cdef bytes letter
    cdef list sizes         # extents of fixed-size lists, from the outside
    cdef bytes extension, text
    cdef bint is_table
    cdef list shape         # found out with the array: of all numbers, and the first bit of booleans
    cdef int first_bit

    @staticmethod
    cdef _Schema read(const ArrowSchema* schema, bint tables, str func):
        cdef _Schema result = _Schema.__new__(_Schema)
        cdef ArrowSchema now = schema[0]
        result.sizes = []
        metadata = _read_metadata(now.metadata, func)
        result.extension = metadata.get(b"ARROW:extension:name")
        result.text = metadata.get(b"ARROW:extension:metadata", b"")
        while True:
            form = _text_of(now.format, func)
            if now.dictionary != NULL:
                raise TypeError(f"{func}: a dictionary-encoded array has no numbers of its own; decode it first "
                                f"(pyarrow: dictionary_decode())")
            if not form.startswith(b"+w:"):
                break
            digits = form[3:]
            if not digits.isdigit() or len(digits) > 10 or int(digits) > LARGEST_LIST:
                raise BufferError(f"{func}: ArrowSchema.format {quoted(form)} is no size of a list")
            result.sizes.append(int(digits))
            if len(result.sizes) >= MAX_DIMS:
                raise ValueError(f"{func}: lists are nested {len(result.sizes)} deep; at most {MAX_DIMS - 1} are "
                                 f"supported")
            if now.n_children != 1 or now.children == NULL or now.children[0] == NULL:
                raise BufferError(f"{func}: ArrowSchema of a fixed-size list has {now.n_children} children, expected 1")
            now = now.children[0][0]
        result.letter = form
        result.is_table = tables and form == b"+s"
        if result.is_table:
            return result
        if form not in _TYPES and form != b"b":
            raise TypeError(f"{func}: Arrow's type {quoted(form)} is no number that a tensor has; cast the array first")
        if now.n_children != 0:
            raise BufferError(f"{func}: ArrowSchema of format {quoted(form)} has {now.n_children} children, expected 0")
        return result


cdef int _check_nulls(const ArrowArray* array, str func) except -1:
    """BufferError when elements are null. The length has been checked: it says how much of the bitmap is read."""
    cdef const unsigned char* bits = <const unsigned char*>array.buffers[0]
    cdef int64_t i, missing = 0, end
    if array.null_count < -1 or array.null_count > array.length:
        raise BufferError(f"{func}: ArrowArray.null_count is {array.null_count} for {array.length} elements")
    if array.null_count == 0 or bits == NULL:
        if array.null_count > 0:
            raise BufferError(f"{func}: ArrowArray.null_count is {array.null_count} without a validity bitmap")
        return 0
    if dlt_check_pointer(bits) != 0:
        raise BufferError(f"{func}: ArrowArray.buffers[0] is {hex(<size_t>bits)}, which cannot be an address")
    end = array.offset + array.length
    with nogil:
        for i in range(array.offset, end):
            missing += not bits[i >> 3] >> (i & 7) & 1
    if missing:
        raise BufferError(f"{func}: {missing} of {array.length} elements are null, which a tensor cannot express; fill "
                          f"them first (fill_null())")
    return 0


cdef int _check_array(const ArrowArray* array, int64_t buffers, int64_t children, str func) except -1:
    """The counts of one struct, whose pointers are read afterwards."""
    if array.length < 0 or array.offset < 0 or array.length > INT64_MAX - array.offset:
        raise BufferError(f"{func}: ArrowArray.length is {array.length} from offset {array.offset}, expected counts of "
                          f"elements")
    if array.n_buffers != buffers or array.n_children != children:
        raise BufferError(f"{func}: ArrowArray has {array.n_buffers} buffers and {array.n_children} children, expected "
                          f"{buffers} and {children} by its schema")
    if array.dictionary != NULL:
        raise BufferError(f"{func}: ArrowArray has a dictionary, and its schema none")
    if array.buffers == NULL or children and (array.children == NULL or array.children[0] == NULL):
        raise BufferError(f"{func}: ArrowArray.buffers or ArrowArray.children is NULL")
    return 0


cdef tuple _find_values(const ArrowArray* array, _Schema schema, ArrowArray* levels, str func):
    """The lists from the outside and the array of the numbers, into `levels`, each with the offset and the length that
    are used of it; returns the shape, and the first element and the count of the numbers."""
    cdef ArrowArray now = array[0]
    cdef list shape = [now.length]
    cdef int depth = 0
    first, count = now.offset, now.length
    for size in schema.sizes:
        _check_array(&now, 1, 1, func)
        levels[depth] = now
        levels[depth].offset, levels[depth].length = first, count
        depth += 1
        shape.append(size)
        now = now.children[0][0]
        if now.release == NULL:
            raise BufferError(f"{func}: a child of the ArrowArray is released")
        first, count = first * size, count * size
        if now.length < first + count:
            raise BufferError(f"{func}: ArrowArray of a list has {now.length} values, expected {first + count}")
        first += now.offset
        if first + count >= 1 << 62:
            raise BufferError(f"{func}: ArrowArray.offset is {now.offset}, from which {count} elements cannot be "
                              f"counted")
    _check_array(&now, 2, 0, func)
    levels[depth] = now
    levels[depth].offset, levels[depth].length = first, count
    return shape, first, count


cdef int _check_table(const ArrowArray* array, str func) except -1:
    """BufferError when an element of a column is null. The columns are read by ``__array__``."""
    cdef const ArrowArray* column
    cdef int64_t i
    if array.n_children < 0 or array.n_children > 0 and array.children == NULL or array.buffers == NULL:
        raise BufferError(f"{func}: ArrowArray of a table has {array.n_children} children, or its pointers are NULL")
    for i in range(array.n_children):
        column = array.children[i]
        if column == NULL or column.length < 0 or column.offset < 0 or column.length > 1 << 47 or (
                column.offset > 1 << 47):
            raise BufferError(f"{func}: column {i} of an ArrowArray is NULL, or its length cannot be counted")
        if column.n_buffers > 0 and column.buffers != NULL:
            _check_nulls(column, func)
    return 0


cdef Tensor _take(ArrowArray* array, _Schema schema, str func):
    """The numbers as a tensor that owns the array. On an error the array is still the caller's."""
    cdef ImportedTensor imported
    cdef ArrowArray[MAX_DIMS] levels
    cdef Tensor result = Tensor.__new__(Tensor)
    cdef int64_t start, stop
    cdef int depth, lists = <int>len(schema.sizes)
    shape, first, count = _find_values(array, schema, levels, func)
    bits = schema.letter == b"b"
    code, width = (<int>kDLUInt, 8) if bits else _TYPES[schema.letter]
    schema.shape, schema.first_bit = shape, first % 8
    if bits:  # eight to a byte: the bytes, to be unpacked
        start, stop = first // 8, (first + count + 7) // 8 if count else first // 8
        shape = [stop - start]
    else:
        start, stop = first, first + count
    if stop > (1 << 47) // (width // 8):
        raise BufferError(f"{func}: ArrowArray has {stop} elements from its start, more than memory can hold")
    data = <size_t>levels[lists].buffers[1]
    if start < stop and (data < 4096 or data + stop * (width // 8) >= 1 << 63):
        raise BufferError(f"{func}: ArrowArray.buffers[1] is {hex(data)}, which cannot be the address of {stop} "
                          f"elements")
    for depth in range(lists + 1):
        _check_nulls(&levels[depth], func)
    imported.view.data = <void*><size_t>(data + start * (width // 8) if start < stop else 0)
    imported.view.device = DLDevice(kDLCPU, 0)
    imported.view.dtype = DLDataType(code, width, 1)
    imported.view.ndim = <int>len(shape)
    imported.view.byte_offset = 0
    imported.view.strides = NULL
    imported.view.shape = imported.dims
    for i in range(len(shape)):
        imported.dims[i] = shape[i]
    imported.flags = DLPACK_FLAG_BITMASK_READ_ONLY  # arrays of Arrow never change
    imported.block = adopt(imported.view.data, array, free_arrow)
    if imported.block == NULL:
        raise MemoryError(f"{func}: allocation failed for a block header")
    fill_from_import(result, &imported)
    return result


cdef Tensor _as_tensors(Tensor t, _Schema schema, str func):
    """Lists of a fixed-shape tensor under their own shape, with its dimensions in their order."""
    import json

    try:
        described = json.loads(schema.text)
        shape = tuple(described["shape"])
        order = described.get("permutation") or range(len(shape))
        if (sorted(order) != list(range(len(shape))) or
                not all([type(n) is int and n >= 0 for n in (*shape, *order)])):
            raise ValueError("no shape or no permutation")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BufferError(f"{func}: the metadata of a fixed-shape tensor, {quoted(schema.text)}, cannot be read: "
                          f"{first_line(str(error))}") from None
    if len(shape) >= MAX_DIMS or [product_of(shape)] != schema.sizes:
        raise BufferError(f"{func}: a fixed-shape tensor of shape {shape} is stored in lists of {schema.sizes}")
    t = reshaped(t, (t.shape[0], *shape), None, func)
    # permutation[i] is the place in memory of the dimension i of the tensor.
    return permuted(t, (0, *[place + 1 for place in order]), func)


def from_arrow(obj: SupportsArrowArray | SupportsArrowDeviceArray | SupportsArrowStream, /, *, copy=None):
    """Return an array of Arrow as a tensor.

    Parameters
    ----------
    obj : object with ``__arrow_c_array__``, ``__arrow_c_device_array__`` or ``__arrow_c_stream__``
        An array of numbers without nulls, of fixed-size lists of such, or of fixed-shape tensors; of pyarrow, polars,
        nanoarrow, arro3 or another library. Of a stream, such as ``pyarrow.ChunkedArray``, all chunks are read.
    copy : bool, optional
        None copies only booleans that Arrow stores as bits, True always copies, False never does. Chunks become one
        tensor with True only, unless all elements are in one of them.

    Returns
    -------
    Tensor
        Read-only, since arrays of Arrow never change; writable if it was copied. Of shape ``(n,)`` for `n` numbers,
        ``(n, k)`` for lists of size `k`, and ``(n, *shape)`` for tensors.

    Raises
    ------
    TypeError
        `obj` has none of the methods, or its elements are no numbers that a tensor can have.
    ValueError
        A copy is needed that `copy` does not allow.
    BufferError
        Elements are null, or the exported structs break a rule of Arrow's C data interface; the message names the field
        and its value.
    DeviceError
        The memory is on another device than the host.
    OSError
        The producer of a stream failed.

    {See Also: from_dlpack}

    Notes
    -----
    Arrow C data, C device data and C stream interfaces and PyCapsule interface, with the extension types
    ``arrow.fixed_shape_tensor`` and ``arrow.bool8``. A tensor has ``__arrow_c_array__`` and
    ``__arrow_c_device_array__`` itself: ``pyarrow.array(t)`` copies bools only.

    Examples
    --------
    >>> class Array:
    ...     def __arrow_c_array__(self, requested_schema=None):
    ...         return dl.asarray([[1, 2], [3, 4]]).__arrow_c_array__()
    >>> dl.from_arrow(Array())
    Tensor([[1, 2],
            [3, 4]], shape=(2, 2), device=cpu, dtype=int64, readonly=True)
    """
    return _import(obj, read_copy_flag(copy, "from_arrow"), False, "from_arrow")


def import_column(obj, copy, str func):
    """Import as `from_arrow` does, for `asarray`: chunks are joined where `copy` allows it.

    Returns None for a table, which ``__array__`` must read; no element of it is null.

    >>> import_column(dl.arange(3), None, "asarray").tolist()
    [0, 1, 2]
    """
    return _import(obj, copy, True, func)


cdef Tensor _import(object obj, object copy, bint column, str func):
    """The tensor of what an object exports; None for a table, which is refused unless `column`."""
    for method in ("__arrow_c_array__", "__arrow_c_device_array__"):
        export = getattr(obj, method, None)
        if export is not None:
            return _from_pair(export(), method, copy, column, func)
    export = getattr(obj, "__arrow_c_stream__", None)
    if export is not None:
        return _from_stream(export(), copy, column, func)
    raise TypeError(f"{func}: {type(obj).__qualname__} has no __arrow_c_array__, __arrow_c_device_array__ or "
                    f"__arrow_c_stream__")


cdef Tensor _from_pair(object pair, str method, object copy, bint column, str func):
    """The tensor of a schema and an array, which are moved out of their capsules."""
    cdef ArrowSchema taken
    cdef ArrowArray* array = NULL
    cdef ArrowArray* source
    cdef ArrowDeviceArray* device
    cdef ArrowSchema* description
    cdef Tensor t
    cdef _Schema schema
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"{func}: {method} must return a pair of capsules, got {quoted(pair)}")
    description = <ArrowSchema*>_pointer_of(pair[0], b"arrow_schema", method, func)
    if method == "__arrow_c_array__":
        source = <ArrowArray*>_pointer_of(pair[1], b"arrow_array", method, func)
    else:
        device = <ArrowDeviceArray*>_pointer_of(pair[1], b"arrow_device_array", method, func)
        if not is_host(device.device_type):
            raise DeviceError(f"{func}: the array is on device type {device.device_type}, {device.device_id}, expected "
                              f"the host; copy it to the host first, or import it by DLPack")
        if device.sync_event != NULL:
            raise BufferError(f"{func}: ArrowDeviceArray.sync_event is {hex(<size_t>device.sync_event)} for an array "
                              f"of the host, expected NULL")
        source = &device.array
    if description.release == NULL or source.release == NULL:
        raise BufferError(f"{func}: the capsules hold structs that are released already; export again")
    array = <ArrowArray*>malloc(sizeof(ArrowArray))
    if array == NULL:
        raise MemoryError(f"{func}: allocation failed for a struct")
    # One of several threads takes the array, and the others leave its schema alone.
    array[0] = take_array(source)
    taken.release = NULL
    if array.release != NULL:
        taken = take_schema(description)
    if taken.release == NULL:
        release_array(array)
        free(array)
        raise BufferError(f"{func}: the capsules hold structs that are released already; export again")
    try:
        schema = _Schema.read(&taken, column, func)
        if schema.is_table:
            _check_table(array, func)
            release_array(array)
            free(array)
            return None
        t = _take(array, schema, func)
    except BaseException:
        release_array(array)
        free(array)
        raise
    finally:
        release_schema(&taken)
    return _decoded(t, schema, copy, func)


cdef class _Stream:
    """A stream that was moved out of its capsule, released with this object."""
    cdef ArrowArrayStream stream

    def __dealloc__(self):
        release_stream(&self.stream)

    cdef object failure(self, str what, int code, str func):
        """The exception of a call that returned an error number."""
        cdef const char* text = NULL
        if code == ENOMEM:
            return MemoryError(f"{func}: {what} of the stream has no memory left")
        with nogil:
            text = self.stream.get_last_error(&self.stream)
        said = "without a message" if text == NULL else first_line(
            text[:strnlen(text, LARGEST_TEXT)].decode("utf-8", "replace"))
        return OSError(code, f"{func}: {what} of the stream failed: {said}")

    cdef _Schema schema(self, bint column, str func):
        cdef ArrowSchema taken
        cdef int code
        taken.release = NULL
        with nogil:
            code = self.stream.get_schema(&self.stream, &taken)
        if code != 0:
            raise self.failure("get_schema", code, func)
        if taken.release == NULL:
            raise BufferError(f"{func}: get_schema of the stream gave a schema that is released already")
        try:
            return _Schema.read(&taken, column, func)
        finally:
            release_schema(&taken)

    cdef Tensor next_chunk(self, _Schema schema, object copy, bint* more, str func):
        """The next chunk, None of a table; `more` is False after the last."""
        cdef ArrowArray* array = <ArrowArray*>calloc(1, sizeof(ArrowArray))
        cdef Tensor t = None
        cdef int code
        if array == NULL:
            raise MemoryError(f"{func}: allocation failed for a struct")
        with nogil:
            code = self.stream.get_next(&self.stream, array)
        try:
            if code != 0:
                array.release = NULL
                raise self.failure("get_next", code, func)
            more[0] = array.release != NULL
            if more[0] and not schema.is_table:
                t = _take(array, schema, func)  # and the struct with it
                return _decoded(t, schema, copy, func)
            if more[0]:
                _check_table(array, func)
        except BaseException:
            if t is None:
                release_array(array)
                free(array)
            raise
        release_array(array)
        free(array)
        return None


cdef Tensor _from_stream(object capsule, object copy, bint column, str func):
    """The elements of all chunks of a stream; of a `column`, whose chunks are joined unless `copy` is False."""
    cdef ArrowArrayStream* source = <ArrowArrayStream*>_pointer_of(capsule, b"arrow_array_stream", "__arrow_c_stream__",
                                                                   func)
    cdef _Stream stream = _Stream.__new__(_Stream)
    cdef _Schema schema
    cdef Tensor chunk, found = None
    cdef list chunks = []
    cdef bint more = True
    stream.stream = take_stream(source)
    if stream.stream.release == NULL:
        raise BufferError(f"{func}: the capsule holds a stream that is released already; export again")
    for name, is_given in (("get_schema", stream.stream.get_schema != NULL),
                           ("get_next", stream.stream.get_next != NULL),
                           ("get_last_error", stream.stream.get_last_error != NULL)):
        if not is_given:
            raise BufferError(f"{func}: ArrowArrayStream.{name} is NULL, expected a function")
    schema = stream.schema(column, func)
    while True:
        PyErr_CheckSignals()  # the stream of another library may have no end
        chunk = stream.next_chunk(schema, None if copy else copy, &more, func)
        if not more:
            break
        if schema.is_table:
            continue
        found = chunk
        if chunk.impl.dl.shape[0] == 0:
            continue
        chunks.append(chunk)
        if len(chunks) > 1 and not copy and not (column and copy is None):
            raise ValueError(f"{func}: the stream has several chunks, which are one tensor only by a copy; pass "
                             f"copy=True, or combine them first (pyarrow: combine_chunks())")
    if schema.is_table:
        return None
    if not chunks:
        return _decoded(_no_elements(schema, func), schema, True, func) if found is None else found
    found = chunks[0]
    if len(chunks) > 1:
        return _joined(chunks, func)
    return copied(found, func) if copy and found.readonly else found


cdef Tensor _no_elements(_Schema schema, str func):
    """A tensor of the shape of a schema's elements, and of none of them."""
    cdef int64_t dims[MAX_DIMS]
    cdef Py_ssize_t i
    code, width = (<int>kDLUInt, 8) if schema.letter == b"b" else _TYPES[schema.letter]
    schema.shape, schema.first_bit = [0, *schema.sizes], 0
    for i in range(len(schema.shape)):
        dims[i] = schema.shape[i]
    return new_empty(<int>len(schema.shape), dims, DLDataType(code, width, 1), DLDevice(kDLCPU, 0), func)


cdef Tensor _joined(list chunks, str func):
    """The elements of tensors, which differ in the first extent only, one after another."""
    cdef int64_t dims[MAX_DIMS]
    cdef Tensor first = chunks[0], result
    cdef int i
    for i in range(first.impl.dl.ndim):
        dims[i] = first.impl.dl.shape[i]
    dims[0] = sum([chunk.shape[0] for chunk in chunks])
    result = new_empty(first.impl.dl.ndim, dims, first.impl.dl.dtype, DLDevice(kDLCPU, 0), func)
    at = 0
    for chunk in chunks:
        result[at : at + chunk.shape[0]] = chunk
        at += chunk.shape[0]
    return result


cdef Tensor _decoded(Tensor t, _Schema schema, object copy, str func):
    """The tensor that the extension type and the encoding mean."""
    if schema.letter == b"b":
        if copy is not None and not copy:
            raise ValueError(f"{func}: Arrow stores booleans as bits, which a tensor cannot share, but copy=False")
        t, copy = _unpacked(t, schema, func), None
    if schema.extension == _BOOL8 and schema.letter == b"c" and not schema.sizes:
        return _as_bool(t, copy, func)
    if schema.extension == _TENSOR:
        t = _as_tensors(t, schema, func)
    return copied(t, func) if copy else t


cdef Tensor _new_bool(list shape, str func):
    cdef int64_t dims[MAX_DIMS]
    for i in range(len(shape)):
        dims[i] = shape[i]
    return new_empty(<int>len(shape), dims, DLDataType(kDLBool, 8, 1), DLDevice(kDLCPU, 0), func)


cdef Tensor _unpacked(Tensor t, _Schema schema, str func):
    """Booleans that are stored as bits, from the least significant bit of each byte, with a byte each."""
    cdef Tensor result = _new_bool(schema.shape, func)
    cdef int64_t i, count = result.size, first = schema.first_bit
    cdef const unsigned char* source = <const unsigned char*>t.impl.dl.data
    cdef unsigned char* target = <unsigned char*>result.impl.dl.data
    with nogil:
        for i in range(count):
            target[i] = source[(first + i) >> 3] >> ((first + i) & 7) & 1
    return result


cdef Tensor _as_bool(Tensor t, object copy, str func):
    """Bytes of the extension type bool8, of which every one but 0 is true, as bool: 0 and 1 without a copy."""
    cdef Tensor result
    cdef int64_t i, count = numel(t.impl.dl.ndim, t.impl.dl.shape)
    cdef unsigned char largest = 0
    cdef const unsigned char* source = <const unsigned char*>t.impl.dl.data
    cdef unsigned char* target
    with nogil:
        for i in range(count):
            largest |= source[i]
    if largest <= 1 and not copy:
        result = same_view(t)
        result.impl.dl.dtype = DLDataType(kDLBool, 8, 1)
        return result
    if copy is not None and not copy:
        raise ValueError(f"{func}: a byte of a bool8 array is neither 0 nor 1, which needs a copy, but copy=False")
    result = _new_bool([count], func)
    target = <unsigned char*>result.impl.dl.data
    with nogil:
        for i in range(count):
            target[i] = source[i] != 0
    return result
