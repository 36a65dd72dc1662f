# SPDX-License-Identifier: Apache-2.0
"""Import from NumPy arrays by their struct, the buffer protocol and array interfaces. No capsules here."""
import sys

from cpython.buffer cimport (PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_FULL_RO,
                             PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer)
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .dlpack cimport adopt_object, check_tensor
from .indexing cimport items_of, wrapped_product
from .native cimport MAX_DIMS, Block, Extent, adopt, contiguous_strides, extent, is_contiguous, item_bytes, numel
from .threads cimport Published
from .types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DType,
                     dtype_of, format_of, is_host, kDLComplex, kDLCPU, kDLCUDA, kDLBool, kDLFloat, kDLInt, kDLUInt,
                     numpy_dtype, read_dtype)

from .foreign_text import quoted
from .once import Once
from .types import as_dtype

cdef extern from "_core/numpy_abi.h" namespace "dlt" nogil:
    ctypedef struct NumpyArray:
        char* data
        int ndim
        Py_ssize_t* shape
        Py_ssize_t* strides
        PyObject* descr
        int flags
    ctypedef struct NumpyDescr:
        char byteorder
        int number
    int numpy_writeable
    int numpy_aligned
    int numpy_array_type
    int numpy_owns_data

cdef extern from "_core/numpy_abi.h" namespace "dlt":
    object numpy_array(void**, object descr, int, const Py_ssize_t*, const Py_ssize_t*, void*, int, object owner)
    int numpy_layout(const NumpyArray*, int64_t width, int64_t* dims) noexcept
    PyObject* numpy_owner(object array, PyObject* ndarray) noexcept
    PyObject* numpy_keep_in_place(object array, PyObject* ndarray) except NULL
    bint numpy_is_new(object array, PyObject* ndarray) noexcept
    void free_array(Block*) noexcept nogil

cdef extern from "native/memory/block.h" namespace "dlt" nogil:
    void recycle(Block*) noexcept

cdef extern from *:
    """
    // A buffer outlives its view and must be released with the GIL held.
    static void dlt_free_buffer(dlt::Block* block) noexcept {
      auto* buffer = static_cast<Py_buffer*>(block->owner);
      dlt::recycle(block);
      dlt::with_python([buffer] {
        PyBuffer_Release(buffer);
        free(buffer);
      });
    }
    """
    void dlt_free_buffer(Block*) noexcept nogil

# -- NumPy, by the fields of its struct -------------------------------------------------------------------------------

cdef enum:
    NUMBERS = 32    # NumPy's own dtype numbers are below; those of ml_dtypes begin at 256
cdef struct NumpyFields:
    DLDataType of_number[NUMBERS]  # 0 bits: not one of NumPy's own numbers, or the fields are not what is expected
    void** table
    PyObject* ndarray              # NumPy's class, NULL unless its fields are proven
cdef Published[NumpyFields] _numpy  # NULL until the first array comes
cdef enum:
    CODES = 32
cdef Published[PyObject] _descrs[CODES][17]   # by code and bytes: a cache of NumPy dtypes, which are never freed
cdef dict _of_descr = {}            # id of a numpy dtype of other packages -> (dtype, DType)


def _find_numpy():
    """Compare the fields of the struct with NumPy's answers. If they differ, NumPy's protocols are used."""
    cdef NumpyFields* found = <NumpyFields*>calloc(1, sizeof(NumpyFields))
    if found == NULL:
        raise MemoryError("allocation failed for the fields of NumPy's arrays")
    try:
        if not _prove_numpy(found):
            memset(found, 0, sizeof(NumpyFields))
    except BaseException:
        free(found)
        raise
    _numpy.set(found)  # for as long as the process lives


cdef object _know_numpy = Once(_find_numpy)


cdef inline NumpyFields* _fields_of_numpy() except NULL:
    cdef NumpyFields* numpy = _numpy.get()
    if numpy == NULL:
        _know_numpy()
        numpy = _numpy.get()
    return numpy


cdef bint _prove_numpy(NumpyFields* found) except -1:
    cdef NumpyArray* fields
    cdef DLDataType value
    numpy = sys.modules["numpy"]
    if sys.implementation.name != "cpython" or int(numpy.__version__.partition(".")[0]) not in (1, 2):
        return False
    for kind, codes in (("i", "bhilq"), ("u", "BHILQ"), ("f", "efd"), ("c", "FD"), ("b", "?")):
        for code in codes:
            descr = numpy.dtype(code)
            value.code = {"i": kDLInt, "u": kDLUInt, "f": kDLFloat, "c": kDLComplex, "b": kDLBool}[kind]
            value.bits = 8 * descr.itemsize
            value.lanes = 1
            if not 0 <= descr.num < NUMBERS:
                return False
            found.of_number[descr.num] = value
            base = numpy.zeros((5, 7), descr)[1::2, ::-3]
            base.flags.writeable = code != "h"
            fields = <NumpyArray*><void*>base
            interface = base.__array_interface__
            if (fields.flags & numpy_owns_data or not (<NumpyArray*><void*>base.base).flags & numpy_owns_data or
                    numpy_owner(base, <PyObject*>numpy.ndarray) != <PyObject*>base.base or
                    <size_t>fields.data != interface["data"][0] or fields.ndim != 2 or
                    <object>fields.descr is not base.dtype or
                    (fields.shape[0], fields.shape[1]) != base.shape or
                    (fields.strides[0], fields.strides[1]) != base.strides or
                    ((fields.flags & numpy_writeable) != 0) != base.flags.writeable or
                    (<NumpyDescr*>fields.descr).number != descr.num):
                return False
    swapped = numpy.zeros(1, numpy.dtype("f4").newbyteorder())
    if chr((<NumpyDescr*>(<NumpyArray*><void*>swapped).descr).byteorder) != swapped.dtype.byteorder:
        return False
    core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get("numpy.core._multiarray_umath")
    if core is not None:
        found.table = <void**>PyCapsule_GetPointer(core._ARRAY_API, NULL)
        if found.table[numpy_array_type] != <void*>numpy.ndarray:
            found.table = NULL
    found.ndarray = <PyObject*>numpy.ndarray
    return True


cdef inline bint _has_own_number(const NumpyFields* numpy, const NumpyDescr* descr) noexcept:
    return 0 <= descr.number < NUMBERS and numpy.of_number[descr.number].bits != 0 and descr.byteorder != b">"


cdef bint is_readable(object array) except -1:
    """Test whether an ndarray can be read by its fields without any Python code, NumPy's neither."""
    cdef const NumpyFields* numpy = _fields_of_numpy()
    return numpy.ndarray != NULL and _has_own_number(numpy, <NumpyDescr*>(<NumpyArray*><void*>array).descr)


cdef int borrow_numpy(object array, DLTensor* view, uint64_t* flags, int64_t* dims, str func) except -1:
    """Read an ndarray by its fields: no call into NumPy at all. Shape and strides are copied to `dims`."""
    cdef NumpyArray* fields = <NumpyArray*><void*>array
    cdef NumpyDescr* descr
    cdef int64_t width
    cdef int bad
    cdef const NumpyFields* numpy = _fields_of_numpy()
    if numpy.ndarray == NULL:
        return read_interface(array.__array_interface__, array, False, view, flags, dims, func)
    descr = <NumpyDescr*>fields.descr
    if _has_own_number(numpy, descr):
        view.dtype = numpy.of_number[descr.number]
    else:
        view.dtype = _foreign_dtype(<object><PyObject*>descr, func)
    width = item_bytes(view.dtype)
    view.data = fields.data
    view.device.device_type = kDLCPU
    view.device.device_id = 0
    view.ndim = fields.ndim
    view.shape = dims
    view.strides = dims + view.ndim
    view.byte_offset = 0
    bad = numpy_layout(fields, width, dims)
    if bad >= 0:
        raise BufferError(f"{func}: strides[{bad}] is {fields.strides[bad]} bytes, not a multiple of the {width} bytes "
                          f"of {dtype_of(view.dtype)}; copy it with asarray(x, copy=True)")
    flags[0] = 0 if fields.flags & numpy_writeable else DLPACK_FLAG_BITMASK_READ_ONLY
    if view.dtype.bits < 8:
        flags[0] |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return check_tensor(view, func)


cdef object keep_in_place(object array):
    """Return an object that keeps NumPy from resizing an array in place, as long as it lives."""
    cdef const NumpyFields* numpy = _fields_of_numpy()
    if numpy.ndarray == NULL:
        return None
    reference = <object>numpy_keep_in_place(array, numpy.ndarray)
    Py_DECREF(reference)
    return reference


cdef bint is_new_array(object array) except -1:
    """Test whether nothing but the caller keeps the memory of an ndarray, so that it is a copy."""
    cdef const NumpyFields* numpy = _fields_of_numpy()
    return numpy.ndarray != NULL and numpy_is_new(array, numpy.ndarray)


cdef int import_numpy(object array, ImportedTensor* out, str func) except -1:
    """Take an ndarray: borrow it, keep it, and keep NumPy from resizing it in place."""
    cdef Block* block
    cdef PyObject* reference = NULL
    cdef const NumpyFields* numpy = _fields_of_numpy()
    borrow_numpy(array, &out.view, &out.flags, out.dims, func)
    if numpy.ndarray != NULL:
        reference = numpy_keep_in_place(array, numpy.ndarray)
    block = adopt(out.view.data, <void*>array, free_array)
    if block == NULL:
        Py_XDECREF(reference)
        raise MemoryError(f"{func}: allocation failed for a block header")
    block.second_owner = reference
    Py_INCREF(array)
    out.block = block
    return 0


cdef DLDataType _foreign_dtype(object descr, str func) except *:
    """The element type of a NumPy dtype that is not one of NumPy's numbers: those of ml_dtypes, or none at all."""
    known = _of_descr.get(id(descr))
    if known is not None and known[0] is descr:
        return (<DType>known[1]).value
    try:
        value = read_dtype(descr, func)
    except ValueError as error:  # the byte order
        raise BufferError(f"{error}, or asarray(x, copy=True)") from None
    except TypeError as error:
        raise BufferError(str(error)) from None
    if len(_of_descr) >= 256:
        _of_descr.clear()  # a program may make dtype objects without end
    _of_descr[id(descr)] = descr, dtype_of(value)
    return value


cdef object make_numpy(const DLTensor* view, uint64_t flags, object owner):
    """An ndarray over the memory of `owner`. The caller has seen to host memory and to packed types."""
    cdef int i
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef int64_t width = item_bytes(view.dtype)
    cdef bint writable = not flags & DLPACK_FLAG_BITMASK_READ_ONLY
    cdef Published[PyObject]* known = NULL
    cdef const NumpyFields* fields
    if view.dtype.code < CODES and view.dtype.lanes == 1 and view.dtype.bits <= 128:
        known = &_descrs[view.dtype.code][(view.dtype.bits + 7) >> 3] if view.dtype.bits >= 8 else NULL
    if known != NULL and known.get() != NULL:
        descr = <object>known.get()
    else:
        descr = numpy_dtype(view.dtype, "numpy")
        if descr is None:
            raise TypeError(f"numpy: neither NumPy nor ml_dtypes has {dtype_of(view.dtype)}; view() an integer type "
                            f"of the same width")
        if known != NULL:
            Py_INCREF(descr)
            if not known.offer(<PyObject*>descr):
                Py_DECREF(descr)
    fields = _fields_of_numpy()
    for i in range(view.ndim):
        strides[i] = wrapped_product(view.strides[i], width)
    if fields.table != NULL:
        return numpy_array(fields.table, descr, view.ndim, <const Py_ssize_t*>view.shape, strides, view.data,
                           (numpy_writeable if writable else 0) |
                           (numpy_aligned if <size_t>view.data % width == 0 else 0),
                           owner)
    import numpy
    interface = {"version": 3, "data": (<size_t>view.data, not writable), "typestr": f"|V{width}",
                 "shape": tuple([view.shape[i] for i in range(view.ndim)]),
                 "strides": tuple([strides[i] for i in range(view.ndim)])}
    return numpy.asarray(_Holder(interface, owner)).view(descr)


cdef class _Holder:
    """An object with an array interface that keeps another one alive."""
    cdef readonly object __array_interface__
    cdef object owner

    def __init__(self, interface, owner):
        self.__array_interface__ = interface
        self.owner = owner


# -- the buffer protocol ----------------------------------------------------------------------------------------------

cdef dict _formats = {}

for _dtype in map(as_dtype, ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                             "float16", "float32", "float64", "complex64", "complex128")):
    _formats[format_of((<DType>_dtype).value).decode()] = _dtype
for _letters, _codes in (("bhilqn", "int"), ("BHILQN", "uint")):
    import struct as _struct
    for _letter in _letters:
        _formats[_letter] = as_dtype(f"{_codes}{8 * _struct.calcsize(_letter)}")
_formats["c"] = as_dtype("uint8")


cdef DLDataType[128] _by_letter  # of formats that are one letter; 0 bits where there is none
for _letter, _dtype in _formats.items():
    if len(_letter) == 1:
        _by_letter[<int>ord(_letter)] = (<DType>_dtype).value


cdef DLDataType _read_format(const char* format, Py_ssize_t width, object x, str func) except *:
    cdef unsigned char letter = c"B" if format == NULL else format[0]
    if (format == NULL or letter != 0 and format[1] == 0) and letter < 128 and width * 8 == _by_letter[letter].bits:
        return _by_letter[letter]
    text = "B" if format == NULL else format.decode()
    order = text[:1] if text[:1] in "@=<>!" else ""
    known = _formats.get(text[len(order):])
    if known is None or known.itemsize != width:
        raise BufferError(f"{func}: {type(x).__qualname__} has elements of format {text!r} and {width} bytes, which "
                          f"DLPack cannot express")
    if width > 1 and (order in (">", "!") and sys.byteorder == "little" or order == "<" and sys.byteorder == "big"):
        raise BufferError(f"{func}: {type(x).__qualname__} has the other byte order (format {text!r}); copy "
                          f"it with asarray(x, copy=True)")
    return (<DType>known).value


cdef int take_buffer(object x, ImportedTensor* out, str func) except -1:
    """Take any object with the buffer protocol; the buffer is released when the last view is gone."""
    cdef int i
    cdef Py_buffer* buffer = <Py_buffer*>malloc(sizeof(Py_buffer))
    cdef Block* block
    if buffer == NULL:
        raise MemoryError(f"{func}: allocation failed for a buffer")
    try:
        PyObject_GetBuffer(x, buffer, PyBUF_FULL_RO)
    except BaseException:
        free(buffer)
        raise
    try:
        if buffer.suboffsets != NULL and any([buffer.suboffsets[i] >= 0 for i in range(buffer.ndim)]):
            raise BufferError(f"{func}: {type(x).__qualname__} stores pointers (suboffsets), which DLPack "
                              f"cannot express")
        if buffer.ndim > MAX_DIMS:
            raise BufferError(f"{func}: at most {MAX_DIMS} dimensions are supported, got {buffer.ndim}")
        out.view.dtype = _read_format(buffer.format, buffer.itemsize, x, func)
        out.view.data = buffer.buf
        out.view.device.device_type = kDLCPU
        out.view.device.device_id = 0
        out.view.ndim = buffer.ndim
        out.view.byte_offset = 0
        out.view.shape = out.dims
        out.view.strides = NULL
        if buffer.strides != NULL:
            out.view.strides = out.dims + buffer.ndim
        for i in range(buffer.ndim):
            out.dims[i] = buffer.shape[i] if buffer.shape != NULL else buffer.len // buffer.itemsize
            if buffer.strides != NULL:
                _set_stride(out.dims + buffer.ndim, i, buffer.strides[i], out.dims[i], buffer.itemsize, func)
        out.flags = DLPACK_FLAG_BITMASK_READ_ONLY if buffer.readonly else 0
        check_tensor(&out.view, func)
        block = adopt(out.view.data, buffer, dlt_free_buffer)
        if block == NULL:
            raise MemoryError(f"{func}: allocation failed for a block header")
    except BaseException:
        PyBuffer_Release(buffer)
        free(buffer)
        raise
    out.block = block
    return 0


cdef int _set_stride(int64_t* strides, int axis, int64_t step, int64_t size, int64_t width, str func) except -1:
    if step % width != 0 and size > 1:
        raise BufferError(f"{func}: strides[{axis}] is {step} bytes, not a multiple of the {width} bytes of an "
                          f"element; copy it with asarray(x, copy=True)")
    strides[axis] = step // width if step % width == 0 else 1
    return 0


cdef int fill_buffer(Py_buffer* buffer, int flags, const DLTensor* view, uint64_t tensor_flags) except -1:
    """Describe a tensor to a reader of the buffer protocol; `obj` is the caller's to set."""
    cdef int i
    cdef int ndim = view.ndim
    cdef const char* format = format_of(view.dtype)
    cdef Py_ssize_t* numbers
    cdef int64_t width = item_bytes(view.dtype), size = 1
    cdef bint readonly = tensor_flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0
    cdef bint in_c_order = is_contiguous(ndim, view.shape, view.strides)
    cdef bint strided = flags & PyBUF_STRIDES == PyBUF_STRIDES
    buffer.obj = None
    if not is_host(<int>view.device.device_type):
        raise BufferError("buffer: the host cannot read the memory; move it with to('cpu')")
    if view.dtype.bits * view.dtype.lanes & 7 and not tensor_flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        raise BufferError(f"buffer: the protocol cannot express packed {dtype_of(view.dtype)}; use view('uint8') or "
                          f"astype()")
    if format == NULL and flags & PyBUF_FORMAT:
        raise BufferError(f"buffer: the protocol has no format for {dtype_of(view.dtype)}; use numpy(), or view an "
                          f"integer type of the same width")
    if readonly and flags & PyBUF_WRITABLE:
        raise BufferError("buffer: the tensor is read-only; write to a copy()")
    if not in_c_order and (not strided or flags & PyBUF_C_CONTIGUOUS == PyBUF_C_CONTIGUOUS or
                           (flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS or
                            flags & PyBUF_ANY_CONTIGUOUS == PyBUF_ANY_CONTIGUOUS) and not _in_f_order(view)):
        raise BufferError("buffer: the reader cannot take these strides; copy() first")
    if in_c_order and flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS and not _in_f_order(view):
        raise BufferError("buffer: the reader asks for Fortran order and the tensor is in C order; copy the transpose")
    numbers = <Py_ssize_t*>malloc((2 * ndim + 1) * sizeof(Py_ssize_t))
    if numbers == NULL:
        raise MemoryError("buffer: allocation failed for shape and strides")
    for i in range(ndim):
        numbers[i] = view.shape[i]
        numbers[ndim + i] = wrapped_product(view.strides[i], width)
        size *= view.shape[i]
    buffer.buf = view.data
    buffer.len = size * width
    buffer.itemsize = width
    buffer.readonly = readonly
    buffer.ndim = ndim if flags & PyBUF_ND else 1
    buffer.format = <char*>format if flags & PyBUF_FORMAT else NULL
    buffer.shape = numbers if flags & PyBUF_ND else NULL
    buffer.strides = numbers + ndim if strided else NULL
    buffer.suboffsets = NULL
    buffer.internal = numbers
    return 0


cdef void free_buffer(Py_buffer* buffer) noexcept:
    free(buffer.internal)


cdef bint _in_f_order(const DLTensor* view) noexcept:
    cdef int i
    cdef int64_t expected = 1
    for i in range(view.ndim):
        if view.shape[i] != 1 and view.strides[i] != expected:
            return False
        expected *= view.shape[i]
    return True


# -- the array interfaces ---------------------------------------------------------------------------------------------

cdef dict _KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


cdef tuple _split_typestr(object typestr):
    """Byte order, name and bytes of the elements that an array interface's typestr says; None if DLPack cannot."""
    if not isinstance(typestr, str):
        return None
    order = typestr[:1] if typestr.startswith(("<", ">", "|", "=")) else ""
    name = _KINDS.get(typestr[len(order):len(order) + 1])
    width = typestr[len(order) + 1:]
    if name is None or not (width.isascii() and width.isdecimal()) or name == "bool" and width != "1":
        return None
    return order, name, int(width)


cdef tuple _interface_tuple(object value, str field, str name, str func):
    """A sequence of an interface, read once."""
    try:
        return tuple([PyNumber_Index(number) for number in items_of(value, f"{field} of {name}", func)])
    except (TypeError, AttributeError):
        raise BufferError(f"{func}: {name} must give {field} as a sequence of integers, got {quoted(value)}") from None


cdef tuple _interface_memory(object data, object interface, object owner, bint cuda, str name, str func):
    """Address, read-only flag and, for a buffer, its view, from an array interface."""
    if type(data) is tuple and len(data) == 2:
        address, readonly = data
        if not isinstance(address, int) or not 0 <= address < 2**64:
            raise BufferError(f"{func}: {name} must give an address from 0 to 2^64 - 1 in data, got "
                              f"{quoted(address)}")
        return address, bool(readonly), None
    if cuda:
        raise BufferError(f"{func}: {name} must give data as (address, read-only), got {quoted(data)}")
    # The protocol: an object with the buffer protocol, None being the owner itself, and an offset into it.
    try:
        buffer = memoryview(owner if data is None else data)
    except TypeError:
        raise BufferError(f"{func}: {name} must give data as (address, read-only) or as a buffer, got "
                          f"{quoted(data)}") from None
    if not buffer.contiguous:
        raise BufferError(f"{func}: {name} gives data as a buffer that is not contiguous")
    offset = interface.get("offset", 0)
    skipped = PyNumber_Index(offset) if isinstance(offset, int) else -1
    if not 0 <= skipped <= buffer.nbytes:
        raise BufferError(f"{func}: {name} must give an offset from 0 to the {buffer.nbytes} bytes of its buffer, "
                          f"got {quoted(offset)}")
    return address_of(buffer) + skipped, buffer.readonly, buffer


cdef size_t address_of(object buffer) except? 0:
    cdef Py_buffer view
    PyObject_GetBuffer(buffer, &view, PyBUF_FULL_RO)
    address = <size_t>view.buf
    PyBuffer_Release(&view)
    return address


cdef int read_interface(dict interface, object owner, bint cuda, DLTensor* view, uint64_t* flags, int64_t* dims,
                        str func, list kept=None) except -1:
    """Read what ``__array_interface__`` or ``__cuda_array_interface__`` describes; shape and strides go to `dims`.

    A buffer that holds the memory is appended to `kept`.
    """
    cdef int i
    cdef tuple shape, strides = None
    name = "__cuda_array_interface__" if cuda else "__array_interface__"
    for key in ("shape", "typestr"):
        if key not in interface:
            raise BufferError(f"{func}: {name} of {type(owner).__qualname__} has no {key!r}")
    typestr = interface["typestr"]
    said = _split_typestr(typestr)
    if said is None:
        raise BufferError(f"{func}: {name} has typestr {quoted(typestr)}, which DLPack cannot express")
    order, kind, size = said
    if order == (">" if sys.byteorder == "little" else "<") and size != 1:
        raise BufferError(f"{func}: {name} has typestr {quoted(typestr)} of non-native byte order; copy it with "
                          f"asarray(x, copy=True)")
    if interface.get("mask") is not None:
        raise BufferError(f"{func}: {name} has a mask, which DLPack cannot express")
    shape = _interface_tuple(interface["shape"], "shape", name, func)
    if interface.get("strides") is not None:
        strides = _interface_tuple(interface["strides"], "strides", name, func)
    if len(shape) > MAX_DIMS:
        raise BufferError(f"{func}: at most {MAX_DIMS} dimensions are supported, got {len(shape)}")
    if strides is not None and len(strides) != len(shape):
        raise BufferError(f"{func}: {name} has {len(shape)} extents and {len(strides)} strides")
    try:
        view.dtype = read_dtype(kind if kind == "bool" else f"{kind}{8 * size}", func)
    except TypeError as error:
        raise BufferError(str(error)) from None
    address, readonly, buffer = _interface_memory(interface.get("data"), interface, owner, cuda, name, func)
    width = item_bytes(view.dtype)
    view.data = <void*><size_t>address
    view.device.device_type = kDLCUDA if cuda else kDLCPU
    view.device.device_id = 0
    view.ndim = <int>len(shape)
    view.byte_offset = 0
    view.shape = dims
    view.strides = NULL
    if strides is not None:
        view.strides = dims + view.ndim
    try:
        for i in range(view.ndim):
            dims[i] = shape[i]
            if strides is not None:
                _set_stride(dims + view.ndim, i, strides[i], dims[i], width, func)
    except OverflowError:
        raise BufferError(f"{func}: {name} gives an extent or a stride beyond 64 bits") from None
    flags[0] = DLPACK_FLAG_BITMASK_READ_ONLY if readonly else 0
    check_tensor(view, func)
    if buffer is not None:
        _check_inside(view, address_of(buffer), buffer.nbytes, name, func)
        if kept is not None:
            kept.append(buffer)
    return 0


cdef int _check_inside(const DLTensor* view, size_t start, size_t nbytes, str name, str func) except -1:
    """Check that every element is inside a buffer. The view is validated, so nothing here overflows."""
    cdef int64_t width = item_bytes(view.dtype)
    cdef int64_t steps[MAX_DIMS]
    cdef Extent reach
    if numel(view.ndim, view.shape) == 0:
        return 0
    if view.strides == NULL:
        contiguous_strides(view.ndim, view.shape, steps)
    else:
        memcpy(steps, view.strides, view.ndim * sizeof(int64_t))
    reach = extent(view.ndim, view.shape, steps)
    if (<size_t>view.data - start < <size_t>(-reach.low * width) or
            <size_t>view.data - start + <size_t>(reach.high * width) > nbytes):
        raise BufferError(f"{func}: {name} describes elements outside of its buffer of {nbytes} bytes")
    return 0


cdef int take_interface(object interface, object owner, bint cuda, ImportedTensor* out, str func) except -1:
    """Take what an array interface describes; `owner` keeps the memory."""
    cdef list kept = [owner]
    if not isinstance(interface, dict):
        raise TypeError(f"{func}: {'__cuda_array_interface__' if cuda else '__array_interface__'} must be a "
                        f"dictionary, got {type(interface).__qualname__}")
    # Another thread, or code that reading it runs, may change a dictionary: it is copied first.
    read_interface(dict(interface), owner, cuda, &out.view, &out.flags, out.dims, func, kept)
    return adopt_object(owner if len(kept) == 1 else kept, out, func)
