# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy by the fields of their struct, proved at first use, and arrays made through NumPy's function table.

``DLTENSOR_NUMPY=public`` reads and makes arrays by their attributes and the array interface instead. So does a NumPy
whose fields cannot be proved.
"""
import sys

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from ..buffers cimport read_interface
from ..dlpack cimport ImportedTensor, check_tensor
from ..indexing cimport wrapped_product
from ..native cimport MAX_DIMS, Block, adopt, item_bytes
from ..threads cimport Published
from ..types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLTensor,
                      DType, dtype_of, kDLBool, kDLComplex, kDLCPU, kDLFloat, kDLInt, kDLUInt, numpy_dtype, read_dtype)

from ..once import Once
from . import takes_public_way

cdef extern from "_core/interop/numpy_abi.h" namespace "dlt" nogil:
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

cdef extern from "_core/interop/numpy_abi.h" namespace "dlt":
    object numpy_array(void**, object descr, int, const Py_ssize_t*, const Py_ssize_t*, void*, int, object owner)
    int numpy_layout(const NumpyArray*, int64_t width, int64_t* dims) noexcept
    PyObject* numpy_owner(object array, PyObject* ndarray) noexcept
    PyObject* numpy_keep_in_place(object array, PyObject* ndarray) except NULL
    bint numpy_is_new(object array, PyObject* ndarray) noexcept
    void free_array(Block*) noexcept nogil

cdef enum:
    NUMBERS = 32    # NumPy's own dtype numbers are below; those of ml_dtypes begin at 256
cdef struct NumpyFields:
    DLDataType of_number[NUMBERS]  # 0 bits: not one of NumPy's own numbers
    void** table                   # NumPy's functions, NULL unless they are where they are expected
    PyObject* ndarray              # NumPy's class, NULL unless its fields are proved
cdef Published[NumpyFields] _numpy  # NULL until the first array comes
cdef bint _is_public = takes_public_way("DLTENSOR_NUMPY")
cdef enum:
    CODES = 32
cdef Published[PyObject] _descrs[CODES][17]   # by code and bytes: a cache of NumPy dtypes, which are never freed
cdef dict _of_descr = {}            # id of a numpy dtype of other packages -> (dtype, DType)


def _find_numpy():
    """Compare the fields of the struct with NumPy's attributes. If they differ, the attributes are used."""
    cdef NumpyFields* found = <NumpyFields*>calloc(1, sizeof(NumpyFields))
    if found == NULL:
        raise MemoryError("allocation failed for the fields of NumPy's arrays")
    try:
        if _is_public or not _prove_numpy(found):
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
        return _borrow_by_attributes(array, view, flags, dims, func)
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


cdef int _borrow_by_attributes(object array, DLTensor* view, uint64_t* flags, int64_t* dims, str func) except -1:
    """Read an ndarray by its dtype, which a typestr does not always express, and its array interface."""
    ndarray = sys.modules["numpy"].ndarray  # a subclass may have attributes of its own by these names
    view.dtype = _foreign_dtype(ndarray.dtype.__get__(array), func)
    read_interface(ndarray.__array_interface__.__get__(array), array, False, view, flags, dims, func)
    if view.dtype.bits < 8:
        flags[0] |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return 0


cdef object keep_in_place(object array):
    """Return an object that keeps NumPy from resizing an array in place, as long as it lives."""
    cdef const NumpyFields* numpy = _fields_of_numpy()
    reference = <object>(numpy_keep_in_place(array, numpy.ndarray) if numpy.ndarray != NULL else
                         _keep_by_attributes(array))
    Py_DECREF(reference)
    return reference


cdef PyObject* _keep_by_attributes(object array) except NULL:
    """A new weak reference to the array that owns the memory, which NumPy then does not resize."""
    ndarray = sys.modules["numpy"].ndarray
    while not array.flags.owndata and isinstance(array.base, ndarray):
        array = array.base
    reference = PyWeakref_NewRef(array, None)
    Py_INCREF(reference)
    return <PyObject*>reference


cdef bint is_new_array(object array) except -1:
    """Test whether nothing but the caller keeps the memory of an ndarray, so that it is a copy."""
    cdef const NumpyFields* numpy = _fields_of_numpy()
    return numpy.ndarray != NULL and numpy_is_new(array, numpy.ndarray)


cdef int import_numpy(object array, ImportedTensor* out, str func) except -1:
    """Take an ndarray: borrow it, keep it, and keep NumPy from resizing it in place."""
    cdef Block* block
    cdef PyObject* reference
    cdef const NumpyFields* numpy = _fields_of_numpy()
    borrow_numpy(array, &out.view, &out.flags, out.dims, func)
    reference = (numpy_keep_in_place(array, numpy.ndarray) if numpy.ndarray != NULL else
                 _keep_by_attributes(array))
    block = adopt(out.view.data, <void*>array, free_array)
    if block == NULL:
        Py_DECREF(<object>reference)
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
