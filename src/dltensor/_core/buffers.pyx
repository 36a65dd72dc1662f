# SPDX-License-Identifier: Apache-2.0
"""Import and export by the buffer protocol, and import from array interfaces. No capsules here."""
import sys

from cpython.buffer cimport (PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_FULL_RO,
                             PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer)
from cpython.number cimport PyNumber_Index
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .dlpack cimport adopt_object, check_tensor
from .indexing cimport items_of, wrapped_product
from .native cimport MAX_DIMS, Block, Extent, adopt, contiguous_strides, extent, is_contiguous, item_bytes, numel
from .types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DType,
                     dtype_of, format_of, is_host, kDLCPU, kDLCUDA, read_dtype)

from .foreign_text import quoted
from .types import as_dtype

cdef extern from "native/memory/block.h" namespace "dlt" nogil:
    void recycle(Block*) noexcept

cdef extern from *:
    """
    #include "_core/interop/gil.h"
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

# -- the buffer protocol ----------------------------------------------------------------------------------------------

cdef dict _formats = {}

for _dtype in map(as_dtype, ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                             "float16", "float32", "float64", "complex64", "complex128")):
    _formats[format_of((<DType>_dtype).value).decode()] = _dtype
for _letter, _size in (("b", sizeof(char)), ("h", sizeof(short)), ("i", sizeof(int)), ("l", sizeof(long)),
                       ("q", sizeof(long long)), ("n", sizeof(Py_ssize_t))):
    _formats[_letter] = as_dtype(f"int{8 * _size}")
    _formats[_letter.upper()] = as_dtype(f"uint{8 * _size}")
_formats["c"] = as_dtype("uint8")


cdef DLDataType[128] _by_letter  # dtypes of formats of one letter; 0 bits where there is none
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


cdef DLDataType _interface_dtype(dict interface, object owner, str name, str func) except *:
    """The element type that the typestr of an array interface says."""
    for key in ("shape", "typestr"):
        if key not in interface:
            raise BufferError(f"{func}: {name} of {type(owner).__qualname__} has no {key!r}")
    typestr = interface["typestr"]
    parts = _split_typestr(typestr)
    if parts is None:
        raise BufferError(f"{func}: {name} has typestr {quoted(typestr)}, which DLPack cannot express")
    order, kind, size = parts
    if order == (">" if sys.byteorder == "little" else "<") and size != 1:
        raise BufferError(f"{func}: {name} has typestr {quoted(typestr)} of non-native byte order; copy it with "
                          f"asarray(x, copy=True)")
    try:
        return read_dtype(kind if kind == "bool" else f"{kind}{8 * size}", func)
    except TypeError as error:
        raise BufferError(str(error)) from None


cdef int read_interface(dict interface, object owner, bint cuda, DLTensor* view, uint64_t* flags, int64_t* dims,
                        str func, list kept=None) except -1:
    """Read memory and layout of elements of `view.dtype` from an array interface; shape and strides go to `dims`.

    A buffer that holds the memory is appended to `kept`.
    """
    cdef int i
    cdef tuple shape, strides = None
    name = _interface_name(cuda)
    if interface.get("mask") is not None:
        raise BufferError(f"{func}: {name} has a mask, which DLPack cannot express")
    shape = _interface_tuple(interface["shape"], "shape", name, func)
    if interface.get("strides") is not None:
        strides = _interface_tuple(interface["strides"], "strides", name, func)
    if len(shape) > MAX_DIMS:
        raise BufferError(f"{func}: at most {MAX_DIMS} dimensions are supported, got {len(shape)}")
    if strides is not None and len(strides) != len(shape):
        raise BufferError(f"{func}: {name} has {len(shape)} extents and {len(strides)} strides")
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


cdef str _interface_name(bint cuda):
    return "__cuda_array_interface__" if cuda else "__array_interface__"


cdef int take_interface(object interface, object owner, bint cuda, ImportedTensor* out, str func) except -1:
    """Take what an array interface describes; `owner` keeps the memory."""
    cdef list kept = [owner]
    if not isinstance(interface, dict):
        raise TypeError(f"{func}: {_interface_name(cuda)} must be a dictionary, got {type(interface).__qualname__}")
    interface = dict(interface)  # another thread, or code that reading it runs, may change it
    out.view.dtype = _interface_dtype(interface, owner, _interface_name(cuda), func)
    read_interface(interface, owner, cuda, &out.view, &out.flags, out.dims, func, kept)
    return adopt_object(owner if len(kept) == 1 else kept, out, func)
