# SPDX-License-Identifier: Apache-2.0
"""Headers of safetensors files: parsed, checked whole, and turned into views. Opens no file.

The grammar is the part of JSON that the format needs, read in one pass. A general parser took four fifths of the time
of opening a file of a thousand tensors, and accepts what the format forbids: names twice, halves of surrogate pairs.
"""
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memchr, memcmp, memcpy

from .._core.indexing cimport Place
from .._core.native cimport MAX_DIMS, contiguous_strides
from .._core.signals cimport check_signals
from .._core.tensor cimport Tensor, view_of
from .._core.types cimport DLDataType, dtype_of, read_dtype

from .._core.foreign_text import quoted

# Every type of the format, by its name there, and the element type here.
DTYPES = {
    "F32": "float32", "BF16": "bfloat16", "F16": "float16", "U8": "uint8", "I64": "int64", "I32": "int32",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "BOOL": "bool", "I8": "int8", "U16": "uint16",
    "I16": "int16", "U32": "uint32", "U64": "uint64", "F64": "float64", "C64": "complex64",
    "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn", "F4": "float4_e2m1fn",
}
METADATA = "__metadata__"

cdef enum:
    LONGEST = 12  # characters of a type's name

cdef struct Row:
    char name[LONGEST]
    size_t length
    DLDataType dtype

cdef struct Entry:
    int row
    int ndim
    int64_t dims    # start of its shape among those of all entries
    int64_t begin
    int64_t end

cdef struct FilePlace:
    int64_t begin
    int64_t end
    int64_t number  # number of the entry

cdef Row[32] _rows
cdef int _row_count = 0


cdef int _by_offset(const void* a, const void* b) noexcept nogil:
    """Order of places in a file. Tensors without elements come before the one that begins there."""
    cdef const FilePlace* first = <const FilePlace*>a
    cdef const FilePlace* second = <const FilePlace*>b
    if first.begin != second.begin:
        return -1 if first.begin < second.begin else 1
    return -1 if first.end < second.end else 1 if first.end > second.end else 0


cdef int _fill_rows() except -1:
    global _row_count
    cdef bytes text
    for name, dtype in DTYPES.items():
        text = name.encode()
        memcpy(_rows[_row_count].name, <const char*>text, len(text))
        _rows[_row_count].length = len(text)
        _rows[_row_count].dtype = read_dtype(dtype, "safetensors")
        _row_count += 1
    return 0


_fill_rows()


cdef class Header:
    """The tensors that a header describes; everything is checked at construction.

    Parameters
    ----------
    text : bytes, the header as it is in the file
    nbytes : int, of data after it
    prefix : str, what messages begin with

    Examples
    --------
    >>> text = b'{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}'
    >>> header = Header(text, 2, "example"); header.names
    ['w']
    >>> header.view(dl.asarray(len(text).to_bytes(8, "little") + text + b"\\x01\\x02"), "w").tolist()
    [1, 2]
    """

    cdef readonly list names
    cdef readonly dict metadata
    cdef readonly str prefix
    cdef readonly int64_t start  # byte of the file at which the data begins
    cdef dict _index
    cdef Entry* _entries
    cdef int64_t* _dims
    cdef int64_t _count, _room, _dims_count, _dims_room
    cdef const char* _start
    cdef const char* _at
    cdef const char* _end

    def __cinit__(self, bytes text, int64_t nbytes, str prefix):
        self.names, self.metadata, self.prefix, self._index = [], {}, prefix, {}
        self._start = self._at = <const char*>text
        self._end = self._start + len(text)
        self.start = 8 + len(text)
        self._read()
        self._check_offsets(nbytes)
        self._start = self._at = self._end = NULL

    def __dealloc__(self):
        PyMem_Free(self._entries)
        PyMem_Free(self._dims)

    def __len__(self):
        return self._count

    def __contains__(self, name):
        return name in self._index

    def info(self, name):
        """Return the dtype, the shape, the number of bytes and the byte of the file at which the elements begin."""
        cdef Entry* entry = self._find(name)
        return (dtype_of(_rows[entry.row].dtype), tuple([self._dims[entry.dims + i] for i in range(entry.ndim)]),
                entry.end - entry.begin, self.start + entry.begin)

    def view(self, Tensor data, name):
        """Return a tensor as a view of the file, a row of uint8."""
        return self._view(data, self._find(name))

    def views(self, Tensor data):
        """Return all tensors by name, as views of the file."""
        cdef dict result = {}
        cdef int64_t i = 0
        for name in self.names:
            check_signals(i)
            result[name] = self._view(data, &self._entries[i])
            i += 1
        return result

    cdef Entry* _find(self, name) except NULL:
        at = self._index.get(name)
        if at is None:
            raise KeyError(name)
        return &self._entries[<int64_t>at]

    cdef Tensor _view(self, Tensor data, Entry* entry):
        cdef Place place
        cdef Tensor result
        cdef int i
        if self.start + entry.end > data.impl.dl.shape[0]:
            raise ValueError(f"{self.prefix}: the file has {data.impl.dl.shape[0]} bytes, a tensor ends at "
                             f"{self.start + entry.end}")
        place.ndim = entry.ndim
        place.offset = self.start + entry.begin
        for i in range(entry.ndim):
            place.shape[i] = self._dims[entry.dims + i]
        contiguous_strides(place.ndim, place.shape, place.strides)
        result = view_of(data, &place)
        result.impl.dl.dtype = _rows[entry.row].dtype
        return result

    # -- the grammar

    cdef int _fail(self, str what) except -1:
        raise ValueError(f"{self.prefix}: {what}, at byte {self._at - self._start} of the header")

    cdef inline char _peek(self) noexcept:
        """The next character that is no white space; 0 at the end."""
        while self._at < self._end and (self._at[0] == c' ' or self._at[0] == c'\n' or self._at[0] == c'\t' or
                                        self._at[0] == c'\r'):
            self._at += 1
        return self._at[0] if self._at < self._end else 0

    cdef inline int _expect(self, char wanted) except -1:
        if self._peek() != wanted or self._at == self._end:
            got = quoted(bytes(self._at[:min(8, self._end - self._at)]).decode("latin1"))
            self._fail(f"expected {chr(wanted)!r}, got {got}")
        self._at += 1
        return 0

    cdef inline bint _separator(self, char end) except -1:
        """Read a comma, or the end of a list or an object: whether it was the comma."""
        if self._peek() == c',':
            self._at += 1
            return True
        self._expect(end)
        return False

    cdef int _span(self, const char** start, Py_ssize_t* length, bint* is_plain) except -1:
        """Read a string: where it is between its quotes, and whether it has no escapes."""
        cdef char c
        self._expect(c'"')
        start[0] = self._at
        is_plain[0] = True
        while self._at < self._end:
            c = self._at[0]
            if c == c'"':
                length[0] = self._at - start[0]
                self._at += 1
                return 0
            if <unsigned char>c < 0x20:
                self._fail("a string holds a control character")
            if c == c'\\':
                is_plain[0] = False
                self._at += 1
            self._at += 1
        self._at = self._end
        self._fail("a string does not end")

    cdef str _string(self):
        cdef const char* start = NULL
        cdef Py_ssize_t length = 0
        cdef bint is_plain = True
        self._span(&start, &length, &is_plain)
        try:
            if is_plain:
                return PyUnicode_DecodeUTF8(start, length, NULL)
            import json  # for the rare names with escapes

            text = json.loads(b'"' + start[:length] + b'"')
            text.encode()  # halves of surrogate pairs raise
            return text
        except ValueError:
            self._fail(f"the string {quoted(bytes(start[:min(length, 60)]).decode('latin1'))} is not Unicode in UTF-8")

    cdef int64_t _number(self) except -1:
        """Read an integer from 0 to 2^63 - 1."""
        cdef int64_t value = 0
        cdef int digit
        cdef const char* start
        self._peek()
        start = self._at
        while self._at < self._end and c'0' <= self._at[0] <= c'9':
            digit = self._at[0] - c'0'
            if value > (INT64_MAX - digit) // 10:
                self._fail("a size or offset is larger than 2^63 - 1")
            value = 10 * value + digit
            self._at += 1
        if (self._at == start or start[0] == c'0' and self._at - start > 1 or
                self._at < self._end and memchr(b".eE", self._at[0], 3) != NULL):
            self._at = start
            got = quoted(bytes(start[:min(20, self._end - start)]).decode("latin1"))
            self._fail(f"expected a size or offset, an integer of at least 0, got {got}")
        return value

    cdef int _read(self) except -1:
        self._expect(c'{')
        if self._peek() == c'}':
            self._at += 1
        else:
            while True:
                check_signals(self._count)
                name = self._string()
                self._expect(c':')
                if name == METADATA:
                    self._read_metadata()
                else:
                    self._read_entry(name)
                if not self._separator(c'}'):
                    break
        if self._peek() != 0 or self._at != self._end:
            self._fail("expected the end of the header")
        return 0

    cdef int _read_metadata(self) except -1:
        if METADATA in self._index:
            self._fail(f"{METADATA} is there twice")
        self._index[METADATA] = None
        self._expect(c'{')
        if self._peek() == c'}':
            self._at += 1
            return 0
        while True:
            key = self._string()
            self._expect(c':')
            if key in self.metadata:
                self._fail(f"{METADATA} has {quoted(key)} twice")
            if self._peek() != c'"':
                self._fail(f"{METADATA} must hold strings, but {quoted(key)} is none")
            self.metadata[key] = self._string()
            if not self._separator(c'}'):
                return 0

    cdef int _read_entry(self, str name) except -1:
        cdef Entry* entry
        cdef const char* start = NULL
        cdef Py_ssize_t length = 0
        cdef bint is_plain = True
        cdef int seen = 0, field
        if name in self._index:
            self._fail(f"the name {quoted(name)} is there twice")
        entry = self._new_entry()
        self._expect(c'{')
        while True:
            self._span(&start, &length, &is_plain)
            self._expect(c':')
            if length == 5 and memcmp(start, b"dtype", 5) == 0:
                field = 1
                entry.row = self._row(name)
            elif length == 5 and memcmp(start, b"shape", 5) == 0:
                field = 2
                self._read_shape(entry, name)
            elif length == 12 and memcmp(start, b"data_offsets", 12) == 0:
                field = 4
                self._expect(c'[')
                entry.begin = self._number()
                self._expect(c',')
                entry.end = self._number()
                self._expect(c']')
            else:
                got = quoted(bytes(start[:min(length, 60)]).decode("latin1"))
                self._fail(f"{quoted(name)} has a field {got}; expected dtype, shape and data_offsets")
            if seen & field:
                self._fail(f"{quoted(name)} has a field twice")
            seen |= field
            if not self._separator(c'}'):
                break
        if seen != 7:
            missing = "dtype" if not seen & 1 else "shape" if not seen & 2 else "data_offsets"
            self._fail(f"{quoted(name)} lacks {missing}")
        self._check_size(entry, name)
        self._index[name] = self._count
        self.names.append(name)
        self._count += 1
        return 0

    cdef int _row(self, str name) except -1:
        """The row of a type by its name, that of the entry before first."""
        cdef const char* start = NULL
        cdef Py_ssize_t length = 0
        cdef bint is_plain = True
        cdef int i, row
        cdef int before = self._entries[self._count - 1].row if self._count else 0
        self._span(&start, &length, &is_plain)
        for i in range(-1, _row_count):
            row = before if i < 0 else i
            if <Py_ssize_t>_rows[row].length == length and memcmp(_rows[row].name, start, length) == 0:
                return row
        got = quoted(bytes(start[:min(length, 60)]).decode("latin1"))
        self._fail(f"the dtype of {quoted(name)} must be one of {', '.join(DTYPES)}, got {got}")

    cdef int _read_shape(self, Entry* entry, str name) except -1:
        entry.dims = self._dims_count
        entry.ndim = 0
        self._expect(c'[')
        if self._peek() == c']':
            self._at += 1
            return 0
        while True:
            if entry.ndim == MAX_DIMS:
                self._fail(f"the shape of {quoted(name)} has more than {MAX_DIMS} dimensions")
            if self._dims_count == self._dims_room:
                self._grow_dims()
            self._dims[self._dims_count] = self._number()
            self._dims_count += 1
            entry.ndim += 1
            if not self._separator(c']'):
                return 0

    cdef Entry* _new_entry(self) except NULL:
        cdef Entry* entries
        if self._count == self._room:
            self._room = 2 * self._room + 64
            entries = <Entry*>PyMem_Realloc(self._entries, self._room * sizeof(Entry))
            if entries == NULL:
                raise MemoryError(f"{self.prefix}: allocation failed for {self._room} entries")
            self._entries = entries
        return &self._entries[self._count]

    cdef int _grow_dims(self) except -1:
        cdef int64_t* dims
        cdef int64_t room = 2 * self._dims_room + 256
        dims = <int64_t*>PyMem_Realloc(self._dims, room * sizeof(int64_t))
        if dims == NULL:
            raise MemoryError(f"{self.prefix}: allocation failed for the shapes of {self._count} entries")
        self._dims, self._dims_room = dims, room
        return 0

    # -- the rules about sizes

    cdef int _check_size(self, Entry* entry, str name) except -1:
        """Compare the bytes that a shape takes with those that its offsets span."""
        cdef int64_t bits = _rows[entry.row].dtype.bits, size = 1, extent
        cdef int i
        for i in range(entry.ndim):
            extent = self._dims[entry.dims + i]
            if extent != 0 and size > INT64_MAX // extent:
                size = -1
                break
            size *= extent
        if size < 0 or size > INT64_MAX // bits:
            self._fail(f"the shape of {quoted(name)} has more than 2^63 - 1 bits")
        if size * bits % 8:
            self._fail(f"the shape of {quoted(name)} has {size} elements of {bits} bits, which end inside a byte")
        if entry.end < entry.begin or entry.end - entry.begin != size * bits // 8:
            self._fail(f"data_offsets of {quoted(name)} must span {size * bits // 8} bytes, as its shape does, got "
                       f"[{entry.begin}, {entry.end}]")
        return 0

    cdef int _check_offsets(self, int64_t nbytes) except -1:
        """Check that the tensors follow one another without a hole or an overlap, from 0 to the end of the file."""
        cdef int64_t i, at = 0
        for i in range(self._count):
            if self._entries[i].begin != at:
                break
            at = self._entries[i].end
        else:
            return self._check_end(at, nbytes)
        return self._check_sorted(nbytes)

    cdef int _check_sorted(self, int64_t nbytes) except -1:
        cdef int64_t i, at = 0
        cdef FilePlace* order = <FilePlace*>PyMem_Malloc(self._count * sizeof(FilePlace))
        if order == NULL:
            raise MemoryError(f"{self.prefix}: allocation failed for {self._count} offsets")
        try:
            for i in range(self._count):
                order[i] = FilePlace(self._entries[i].begin, self._entries[i].end, i)
            qsort(order, self._count, sizeof(FilePlace), _by_offset)
            for i in range(self._count):
                if order[i].begin != at:
                    kind = "overlaps the one before" if order[i].begin < at else "leaves a hole after the one before"
                    raise ValueError(f"{self.prefix}: data_offsets of {quoted(self.names[order[i].number])} begin at "
                                     f"{order[i].begin}: the tensor {kind}, which ends at {at}")
                at = order[i].end
        finally:
            PyMem_Free(order)
        return self._check_end(at, nbytes)

    cdef int _check_end(self, int64_t at, int64_t nbytes) except -1:
        if at > nbytes:
            raise ValueError(f"{self.prefix}: the file is cut off: its tensors take {at} bytes of data, it has "
                             f"{nbytes}")
        if at < nbytes:
            raise ValueError(f"{self.prefix}: the file has {nbytes - at} bytes behind its last tensor, which ends at "
                             f"{at}")
        return 0
