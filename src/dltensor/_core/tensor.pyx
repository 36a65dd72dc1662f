# SPDX-License-Identifier: Apache-2.0
"""The Tensor class: attributes, views, elements, operators and protocols. Import is in convert.pyx."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItem
from cpython.float cimport PyFloat_CheckExact
from cpython.list cimport PyList_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport Py_TYPE, PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.tuple cimport PyTuple_Check, PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memset
from libcpp cimport bool as cbool

from .allocation cimport (allocate_host, byte_count, check_writable, clear_bytes, copy_elements, fill_elements,
                          is_packed, owned_bytes, packed_offset, set_layout, share_memory)
from .dlpack cimport (CAPSULE, NONE, UNKNOWN, ImportedTensor, TypeEntry, check_cuda_stream, check_stream_type, entry_of,
                      export_capsule, export_legacy_capsule, read_version)
from .indexing cimport Place, axis_of, checked_index, locate, stepped
from .buffers cimport fill_buffer, free_buffer
from .interop.numpy cimport make_numpy
from .native cimport (MAX_DIMS, TRAILING, Block, broadcast_strides, contiguous_strides, find_type,
                      is_contiguous, item_bytes, numel, op_count, op_table, release, same_dtype, type_table, type_uint8)
from .op_numbers cimport (op_abs, op_add, op_bitwise_and, op_bitwise_invert, op_bitwise_left_shift, op_bitwise_or,
                          op_bitwise_right_shift, op_bitwise_xor, op_divide, op_equal, op_floor_divide, op_greater,
                          op_greater_equal, op_less, op_less_equal, op_multiply, op_negative, op_not_equal, op_positive,
                          op_pow, op_remainder, op_subtract)
from .scalars cimport RecordedNumber, is_int, load_python, nested, store_element
from .shapes cimport (as_tuple, complete_shape, is_contiguous_in, joined_shape, one_or_many, permute, read_shape,
                      reinterpret, reverse, shape_of, squeeze, strides_of, take_dims, takes_fortran)
from .signals cimport check_signals
from .threads cimport Published
from .types cimport (DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                     DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLDevice, DLTensor, device_of, dtype_of,
                     dtype_unless_device, flags_with_layout, is_handle, is_host, kDLComplex, kDLCPU, kDLCUDA,
                     kDLCUDAManaged, kDLExtDev, known_dtype, read_copy_flag, read_device, read_dtype)

import sys

from .callable_numbers import Address, call_ufunc_with_ints
from .foreign_text import quoted
from .types import DeviceError

cdef extern from "native/cpu/program/recorder.h" namespace "dlt" nogil:
    bint is_recording()
    bint record_constant(const DLTensor&, Block*)
    bint record_fill(const DLTensor&, Block*, const void*)
    void record_shape_read()

cdef extern from "native/layout/reshape.h" namespace "dlt" nogil:
    bint reshape_strides(int, const int64_t*, const int64_t*, int, const int64_t*, int64_t*)

cdef extern from "native/memory/shared.h" namespace "dlt" nogil:
    bint is_shared_block(const Block*) noexcept

cdef extern from "native/cuda/memory/shared.h" namespace "dlt::cuda" nogil:
    bint is_shared_on_device "dlt::cuda::is_shared"(const Block*) noexcept

cdef extern from *:
    """
    static int forget_new(PyTypeObject* type) {
      const int failed = PyDict_DelItemString(type->tp_dict, "__new__");
      PyType_Modified(type);
      return failed;
    }
    // Returns whether the interpreter takes a product with `x` for a repetition: of str, deque and other sequences.
    static bool can_repeat(PyObject* x) {
      const PyTypeObject* const type = Py_TYPE(x);
      return type->tp_as_sequence && type->tp_as_sequence->sq_repeat &&
             !(type->tp_as_number && type->tp_as_number->nb_multiply);
    }
    """
    int forget_new(PyTypeObject*) except -1
    bint can_repeat(object) noexcept

cdef extern from "_core/element_count.h" namespace "dlt":
    object new_element_count(int, const int64_t*)
    PyTypeObject* ready_element_count(dict) except NULL


# -- operators and NumPy's ufuncs, which call functions of _ops -------------------------------------------------------

cdef inline bint is_operand(object x) except -1:
    """Test whether a function would take `x`: an operator must leave everything else to the other side."""
    return type(x) is Tensor or PyFloat_CheckExact(x) or is_int(x) or _is_foreign_operand(x)


cdef bint _is_foreign_operand(object x) except -1:
    cdef const TypeEntry* entry
    if isinstance(x, RecordedNumber):
        return True
    entry = entry_of(x)
    if entry.wraps_arrays:
        return False
    if entry.path not in (UNKNOWN, CAPSULE, NONE):
        return True
    return isinstance(x, (int, float, complex, list, tuple, range))  # bool, and subclasses


cdef object _unsupported(int op, object a, object b):
    """NotImplemented, or the TypeError of a product that the interpreter would take for repetition of a sequence."""
    if op == op_multiply:
        other, tensor = (b, a) if type(a) is Tensor else (a, b)
        if can_repeat(other) and not _is_count(tensor):
            raise TypeError(f"multiply: expected a tensor, a number or nested sequences of numbers, got "
                            f"{type(other).__qualname__}; convert it with asarray() first")
    return NotImplemented


cdef bint _is_count(object x):
    """Test whether `x` can be the number of repetitions of a sequence: ``[0] * t`` with a 0-d integer tensor."""
    return type(x) is Tensor and (<Tensor>x).impl.dl.ndim == 0 and x.dtype.kind in "iu"


cdef inline bint _repeats(object a, object b):
    """Test whether a product is the repetition of a list, as it is with an integer of Python or NumPy."""
    return (type(a) is not type(b) and ((PyList_Check(b) or PyTuple_Check(b)) and _is_count(a) or
                                        (PyList_Check(a) or PyTuple_Check(a)) and _is_count(b)))


cdef inline object operate(int op, object a, object b, object out):
    cdef PyObject* operands[2]
    if not is_operand(a) or not is_operand(b):
        return _unsupported(op, a, b)
    operands[0] = <PyObject*>a
    operands[1] = <PyObject*>b
    return operations.element(op, False, operands, <PyObject*>out, False, <PyObject*>None)


cdef inline object operate_multiply(object a, object b, object out):
    return _unsupported(op_multiply, a, b) if _repeats(a, b) else operate(op_multiply, a, b, out)


cdef inline object operate_alone(int op, object a):
    cdef PyObject* operands[1]
    operands[0] = <PyObject*>a
    return operations.element(op, False, operands, <PyObject*>None, False, <PyObject*>None)


cdef object _read_once(object x):
    """A foreign operand as a tensor, for two operations that must see the same elements; anything else as it is."""
    if type(x) is Tensor or isinstance(x, (int, float, complex)):
        return x
    return operations.assignable(x, None, "divmod")


cdef inline object operate_divmod(object a, object b):
    if not is_operand(a) or not is_operand(b):
        return NotImplemented
    a, b = _read_once(a), _read_once(b)
    return operate(op_floor_divide, a, b, None), operate(op_remainder, a, b, None)


cdef inline object operate_matmul(object a, object b):
    if not is_operand(a) or not is_operand(b):
        return NotImplemented
    return operations.matmul(a, b, None)


# -- NumPy's ufuncs ---------------------------------------------------------------------------------------------------

cdef dict _ufuncs = {}      # ufunc -> number of the operation that it is
cdef Published[PyObject] _ndarray  # the class of NumPy's arrays


def set_ufuncs(dict rows, ndarray):
    """Register which ufuncs of NumPy are operations here, ufunc -> name of the row, and the class of its arrays."""
    Py_INCREF(ndarray)  # for as long as the process lives
    _ndarray.set(<PyObject*>ndarray)
    numbers = {op_table[i].name.decode(): i for i in range(op_count)}
    for ufunc, name in rows.items():
        _ufuncs[ufunc] = numbers[name]


cdef inline bint _is_plain_operand(object x) noexcept:
    """Test whether `x` is of a type whose own ``__array_ufunc__`` need not be called."""
    return type(x) is Tensor or PyFloat_CheckExact(x) or is_int(x) or <PyObject*>Py_TYPE(x) == _ndarray.get()


cdef inline object call_ufunc(object ufunc, str method, tuple inputs, dict kwargs):
    """The operation that a ufunc is, on plain operands; everything else is decided in _ops/numpy_dispatch.py."""
    cdef PyObject* operands[2]
    cdef PyObject* number = PyDict_GetItem(_ufuncs, ufunc)
    cdef Py_ssize_t count = PyTuple_GET_SIZE(inputs)
    out = None
    if number != NULL and count <= 2 and method == "__call__":
        for i in range(count):
            operands[i] = PyTuple_GET_ITEM(inputs, i)
            if not _is_plain_operand(<object>operands[i]):
                break
        else:
            if len(kwargs) == 0:
                return operations.element(<object>number, False, operands, <PyObject*>None, False, <PyObject*>None)
            if len(kwargs) == 1 and "out" in kwargs:
                out = kwargs["out"][0]
                if _is_plain_operand(out):
                    return operations.element(<object>number, False, operands, <PyObject*>out, False, <PyObject*>None)
    from .._ops.numpy_dispatch import call_ufunc as call_other_ufunc
    return call_other_ufunc(ufunc, method, inputs, kwargs)

# -- memory: allocation, sharing, copies, assignment ------------------------------------------------------------------

cdef inline Tensor new_tensor(int ndim):  # no-cython-lint  inlined in this module
    """A tensor with room for `ndim` dimensions and nothing else set."""
    cdef Tensor t = Tensor.__new__(Tensor)
    if not t.impl.reserve_dims(ndim):
        raise MemoryError(f"allocation failed for {ndim} dimensions")
    return t


cdef int fill_from_import(Tensor t, ImportedTensor* imported) except -1:
    """Fill a new tensor from an import; it takes the reference to the block first, so that no error can leak it."""
    cdef int i
    cdef int ndim = imported.view.ndim
    t.impl.block = imported.block
    t.is_view = True
    t.impl.flags = imported.flags
    if not t.impl.reserve_dims(ndim):
        raise MemoryError(f"allocation failed for {ndim} dimensions")
    t.impl.dl.data = imported.view.data
    t.impl.dl.device = imported.view.device
    t.impl.dl.dtype = imported.view.dtype
    t.impl.dl.byte_offset = imported.view.byte_offset
    for i in range(ndim):
        t.impl.dl.shape[i] = imported.view.shape[i]
    if imported.view.strides != NULL:
        for i in range(ndim):
            t.impl.dl.strides[i] = imported.view.strides[i]
    else:
        # NULL strides were legal until DLPack 1.2: fill them, so that no loop has to ask.
        contiguous_strides(ndim, t.impl.dl.shape, t.impl.dl.strides)
    return 0


cdef Tensor bytes_of(Block* block, int64_t nbytes, DLDevice device, uint64_t flags):
    """Return a row of bytes over a block, whose reference it takes."""
    cdef ImportedTensor imported
    cdef Tensor t
    try:
        t = Tensor.__new__(Tensor)
    except MemoryError:
        release(block)
        raise
    imported.block = block
    imported.dims[0] = nbytes
    imported.flags = flags
    imported.view = DLTensor(data=block.data, device=device, ndim=1, dtype=type_table[type_uint8].dtype,
                             shape=&imported.dims[0], strides=NULL, byte_offset=0)
    fill_from_import(t, &imported)
    return t


cdef Published[const DeviceOperations] _device_operations  # NULL until the CUDA package is loaded


cdef void set_device_operations(const DeviceOperations* table) noexcept:
    _device_operations.set(table)


cdef const DeviceOperations* device_operations() except NULL:
    """The functions for CUDA memory; the first call loads the package that registers them."""
    if _device_operations.get() == NULL:
        from ..cuda import _exchange  # no-cython-lint: it registers them
    return _device_operations.get()


cdef bint uses_cuda() noexcept:
    """Test whether the CUDA package is loaded, so that streams matter."""
    return _device_operations.get() != NULL


cdef object current_stream(int device):
    """The current stream of a CUDA device, by the standard's numbers; None while nothing here uses CUDA."""
    return None if _device_operations.get() == NULL else _device_operations.get().current_stream(device)


cdef Tensor new_empty(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, str func):
    """A tensor in fresh memory, C order, uninitialized."""
    return _allocated(ndim, shape, dtype, device, NULL, func)


cdef Tensor new_zeros(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, str func):
    """A tensor in fresh memory, C order: of the number 0, or of zero bytes where the dtype has no conversion."""
    cdef cbool clear = False
    cdef Tensor t = _allocated(ndim, shape, dtype, device, &clear, func)
    cdef bint converted = find_type(dtype) >= 0 and dtype.lanes == 1
    cdef char zero[32]
    cdef char none[32]
    cdef Place place
    cdef int64_t bytes = byte_count(&t.impl.dl, 0)
    memset(none, 0, sizeof(none))
    memset(zero, 0, sizeof(zero))
    if converted:
        store_element(zero, 0, dtype, func)
        if memcmp(zero, none, sizeof(zero)) != 0:  # a dtype without 0
            assign_scalar(t, 0, func)
            return t
    if clear:
        return t
    if is_host(<int>device.device_type):
        clear_bytes(t.impl.dl.data, bytes)
    elif converted:
        assign_scalar(t, 0, func)
    else:
        place.ndim, place.offset, place.shape[0], place.strides[0] = 1, 0, bytes, 1
        raw = view_of(t, &place)
        raw.impl.dl.dtype = type_table[type_uint8].dtype
        assign_scalar(raw, 0, func)
    return t


cdef Tensor _allocated(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, cbool* clear, str func):
    """The tensor of new_empty(). `clear`, unless NULL, is set where all bytes are 0."""
    cdef Tensor t = Tensor.__new__(Tensor)
    cdef int64_t bytes = set_layout(&t.impl, ndim, shape, dtype, device, func)
    if device.device_type == kDLCPU:
        allocate_host(&t.impl, bytes, clear, func)
    elif device.device_type == kDLExtDev and is_recording():
        allocate_host(&t.impl, 1, NULL, func)  # no elements; the block says which value it is
    else:
        t.impl.block = device_operations().allocate(bytes, device, func)
        t.impl.dl.data = t.impl.block.data
    return t


cdef inline Tensor _row(Tensor source, int64_t index):
    """``source[index]``, for elements of whole bytes: the most frequent key of all."""
    cdef int i
    cdef int ndim = source.impl.dl.ndim - 1
    cdef Tensor t = new_tensor(ndim)
    t.is_view = True
    share_memory(&t.impl, &source.impl, <uint64_t>index * <uint64_t>source.impl.dl.strides[0] *
                 <uint64_t>item_bytes(source.impl.dl.dtype))
    for i in range(ndim):
        t.impl.dl.shape[i] = source.impl.dl.shape[i + 1]
        t.impl.dl.strides[i] = source.impl.dl.strides[i + 1]
    return t


cdef Tensor view_of(Tensor source, const Place* place):
    """A tensor that shares the memory of `source` at a place inside it."""
    cdef int i
    cdef Tensor t = new_tensor(place.ndim)
    cdef uint64_t bytes
    if not is_packed(source.impl.dl.dtype, source.impl.flags):
        bytes = <uint64_t>place.offset * <uint64_t>item_bytes(source.impl.dl.dtype)
    else:
        bytes = packed_offset(source.impl.dl.dtype, place.offset)
    t.is_view = True
    share_memory(&t.impl, &source.impl, bytes)
    for i in range(place.ndim):
        t.impl.dl.shape[i] = place.shape[i]
        t.impl.dl.strides[i] = place.strides[i]
    return t


cdef Tensor same_view(Tensor source):
    return share_view(Tensor.__new__(Tensor), source)


cdef Tensor share_view(Tensor t, Tensor source):
    """Let a tensor without memory show that of another."""
    cdef int i
    cdef int ndim = source.impl.dl.ndim
    if not t.impl.reserve_dims(ndim):
        raise MemoryError(f"allocation failed for {ndim} dimensions")
    t.is_view = True
    share_memory(&t.impl, &source.impl, 0)
    for i in range(2 * ndim):
        t.impl.dl.shape[i] = source.impl.dl.shape[i]
    return t


cdef inline void _note_shape(Tensor self) noexcept:
    """Tell a recording that its program holds for these shapes alone."""
    if self.impl.dl.device.device_type == kDLExtDev:
        record_shape_read()


cdef inline bint _is_shared(Tensor self) noexcept:
    return is_shared_block(self.impl.block) or (self.impl.dl.device.device_type == kDLCUDA and
                                                is_shared_on_device(self.impl.block))


cdef Tensor on_host(Tensor self, str func):
    """A tensor that the host can read: `self`, or a copy that waits for the device."""
    if is_host(<int>self.impl.dl.device.device_type):
        return self
    return device_operations().to(self, DLDevice(kDLCPU, 0), func)


cdef Tensor _constant(Tensor self, DLDevice recording, str func):
    """The tensor as a constant of the function that is recorded."""
    cdef Tensor t = new_empty(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.dtype, recording, func)
    if not record_constant(self.impl.dl, t.impl.block):
        raise DeviceError(f"{func}: a tensor of shape {self.shape} is no argument of the fused function; pass it as "
                          f"one")
    return t


cdef Tensor on_device(Tensor self, object device, str func):
    """The tensor on a device: itself when it is there, else a copy."""
    cdef DLDevice target = read_device(device, func)
    if target.device_type == self.impl.dl.device.device_type and target.device_id == self.impl.dl.device.device_id:
        return self
    if target.device_type == kDLCPU and is_host(<int>self.impl.dl.device.device_type):
        return copied(self, func)
    if target.device_type == kDLExtDev and is_recording():
        return _constant(self, target, func)
    return device_operations().to(self, target, func)


cdef Tensor new_padded(int ndim, const int64_t* shape, DLDataType dtype, str func):
    """A tensor in fresh memory whose elements have a byte each where their dtype has fewer bits."""
    cdef DLDataType stored = dtype
    cdef Tensor result
    stored.bits = max(dtype.bits, 8)
    result = new_empty(ndim, shape, stored, DLDevice(kDLCPU, 0), func)
    if dtype.bits < 8:
        result.impl.dl.dtype = dtype
        result.impl.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return result


cdef Tensor copied(Tensor self, str func):
    """The elements in fresh memory, C order, host to host; other devices have their own way."""
    cdef Tensor result
    if self.impl.dl.device.device_type == kDLExtDev and is_recording():
        result = new_empty(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.dtype, self.impl.dl.device, func)
        operations.assign(result, self, func)
        return result
    if not is_host(<int>self.impl.dl.device.device_type):
        return device_operations().copy(self, func)
    if self.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        result = new_padded(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.dtype, func)
    else:
        result = new_empty(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.dtype, DLDevice(kDLCPU, 0), func)
    copy_elements(&result.impl.dl, &self.impl.dl, self.impl.flags)
    return result


cdef int assign_scalar(Tensor self, object value, str func) except -1:
    cdef char element[32]
    check_writable(&self.impl.dl, self.impl.flags, func)
    store_element(element, value, self.impl.dl.dtype, func)
    if self.impl.dl.device.device_type == kDLExtDev and record_fill(self.impl.dl, self.impl.block, element):
        return 0
    if not is_host(<int>self.impl.dl.device.device_type):
        return device_operations().fill(self, value, func)
    fill_elements(&self.impl.dl, element, self.impl.flags)
    return 0


cdef Tensor assigned_to(Tensor source, int ndim):
    """The source of an assignment without leading dimensions of one element that the target has not, as in NumPy."""
    cdef Place place
    cdef int i, extra = source.impl.dl.ndim - ndim
    for i in range(extra):
        if source.impl.dl.shape[i] != 1:
            return source
    if extra <= 0:
        return source
    take_dims(&source.impl.dl, extra, &place)
    return view_of(source, &place)


cdef int assign(Tensor self, object value, str func) except -1:
    """Write a number or a tensor, broadcast, to every element of `self`; overlapping memory is as if copied first."""
    cdef Tensor source
    cdef DLTensor spread
    cdef int64_t strides[MAX_DIMS]
    check_writable(&self.impl.dl, self.impl.flags, func)
    if type(value) is Tensor:
        source = <Tensor>value
    elif isinstance(value, (bool, int, float, complex)):
        return assign_scalar(self, value, func)
    else:
        source = operations.assignable(value, self.dtype, func)
    if source.impl.dl.ndim > self.impl.dl.ndim:
        source = assigned_to(source, self.impl.dl.ndim)
    if (not same_dtype(source.impl.dl.dtype, self.impl.dl.dtype) or
            (source.impl.flags ^ self.impl.flags) & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED or
            not is_host(<int>self.impl.dl.device.device_type) or not is_host(<int>source.impl.dl.device.device_type)):
        return operations.assign(self, source, func)
    if not broadcast_strides(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides, self.impl.dl.ndim,
                             self.impl.dl.shape, TRAILING, strides):
        raise ValueError(f"{func}: shape {source.shape} does not broadcast to {self.shape}")
    spread = source.impl.dl
    spread.ndim = self.impl.dl.ndim
    spread.shape = self.impl.dl.shape
    spread.strides = strides
    return copy_elements(&self.impl.dl, &spread, self.impl.flags)


cdef object single(Tensor self, str func):
    """The one element as a number, for the conversions that Python asks for by name."""
    if numel(self.impl.dl.ndim, self.impl.dl.shape) != 1:
        if func == "bool":
            raise ValueError(f"bool: the truth value of a tensor of shape {self.shape} is ambiguous; "
                             f"use t.any() or t.all()")
        whole = func in ("round", "trunc", "floor", "ceil")
        others = f"dl.{func}() takes every element" if whole else "take tolist()"
        raise ValueError(f"{func}: expected a tensor of one element, got shape {self.shape}; index one, or {others}")
    if is_host(<int>self.impl.dl.device.device_type):
        return load_python(self.impl.dl.data, 0, self.impl.dl.dtype, self.impl.flags, "item")
    return self.item()

# -- views of other shapes --------------------------------------------------------------------------------------------

cdef Tensor permuted(Tensor self, tuple axes, str func):
    """A view with the dimensions in another order."""
    cdef Place place
    permute(&self.impl.dl, axes, &place, func)
    return view_of(self, &place)


cdef Tensor squeezed(Tensor self, object axes, str func):
    """A view without some dimensions of one element, or without all of them when `axes` is None."""
    cdef Place place
    squeeze(&self.impl.dl, axes, &place, func)
    return view_of(self, &place)


cdef Tensor _transposed(Tensor self):
    """A view with all dimensions in the opposite order."""
    cdef Place place
    reverse(&self.impl.dl, &place)
    return view_of(self, &place)


cdef Tensor _swap_last(Tensor self):
    cdef Place place
    cdef int n = self.impl.dl.ndim
    take_dims(&self.impl.dl, 0, &place)
    place.shape[n - 1], place.shape[n - 2] = place.shape[n - 2], place.shape[n - 1]
    place.strides[n - 1], place.strides[n - 2] = place.strides[n - 2], place.strides[n - 1]
    return view_of(self, &place)


cdef Tensor reshaped(Tensor self, object shape, object copy, str func):
    """The elements, in C order, under another shape: a copy when `copy` is True, or None and no view can show them."""
    cdef Place place
    cdef Tensor source = self
    cdef int n = read_shape(shape, place.shape, func)
    complete_shape(&self.impl.dl, n, place.shape, func)
    place.ndim = n
    place.offset = 0
    if copy is not None and copy:
        source = copied(self, func)
    if not reshape_strides(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides, n, place.shape,
                           place.strides):
        if copy is not None:
            raise ValueError(f"{func}: shape {self.shape} with strides {self.strides} has no view of shape "
                             f"{as_tuple(n, place.shape)}; allow a copy with copy=None")
        source = copied(self, func)
        contiguous_strides(n, place.shape, place.strides)
    return view_of(source, &place)


cdef str _C_ORDER = "C"  # the default of `order`, known by identity
cdef tuple _FLAT = (-1,)


cdef Tensor reshaped_in(Tensor self, object shape, object copy, object order, str func):
    """The elements under another shape, read and placed in an order."""
    cdef int64_t extents[MAX_DIMS]
    cdef int n
    if order is _C_ORDER or not takes_fortran(&self.impl.dl, order, func):
        return reshaped(self, shape, copy, func)
    n = read_shape(shape, extents, func)
    return _transposed(reshaped(_transposed(self), as_tuple(n, extents)[::-1], copy, func))


# -- what a consumer may ask of an export -----------------------------------------------------------------------------

cdef Tensor _prepare_export(Tensor self, object stream, object dl_device, object copy):
    """Apply a consumer's stream and device: `self`, another view of its memory, or a copy on the requested device."""
    cdef DLDevice target
    cdef bint host = is_host(<int>self.impl.dl.device.device_type)
    if dl_device is not None:
        target = read_device(dl_device, "__dlpack__")
    else:
        target = self.impl.dl.device
    if (self.impl.dl.device.device_type == kDLCUDA or self.impl.dl.device.device_type == kDLCUDAManaged or
            target.device_type == kDLCUDA):
        check_cuda_stream(stream)
        try:
            return device_operations().export(self, stream, target, copy)
        except DeviceError as error:
            # The standard's word for a device that cannot be offered.
            raise BufferError(f"__dlpack__: cannot offer the tensor on {device_of(target)}: {error}") from error
    elif stream is not None and (check_stream_type(stream) != 0 or stream != -1):
        raise ValueError(f"__dlpack__: {self.device} has no streams; stream must be None or -1, got {stream!r}")
    if target.device_type == self.impl.dl.device.device_type and target.device_id == self.impl.dl.device.device_id:
        return self
    if host and target.device_type == kDLCPU and target.device_id == 0:
        if copy is not None and not copy:
            raise BufferError(f"__dlpack__: moving from {self.device} to {device_of(target)} needs a copy, but "
                              f"copy=False")
        return copied(self, "__dlpack__")
    raise BufferError(f"__dlpack__: the tensor is on {self.device} and cannot be offered on {device_of(target)}")


cdef inline object exported(Tensor self, object stream, object max_version, object dl_device, object copy):
    """Return the capsule of ``__dlpack__``."""
    cdef bint versioned = False
    cdef int beyond = 0
    cdef Tensor source = self
    cdef uint64_t flags = self.impl.flags & ~<uint64_t>DLPACK_FLAG_BITMASK_IS_COPIED
    cdef DLTensor view
    if copy is not None:
        copy = read_copy_flag(copy, "__dlpack__")
    if max_version is not None:
        if not PyTuple_CheckExact(max_version) or PyTuple_GET_SIZE(max_version) != 2:
            max_version = read_version(max_version)
        major = <object>PyTuple_GET_ITEM(max_version, 0)
        if not PyLong_CheckExact(major):
            major = read_version(max_version)[0]
        versioned = PyLong_AsLongLongAndOverflow(major, &beyond) >= 1 or beyond > 0
    if dl_device is not None or stream is not None or self.impl.dl.device.device_type != kDLCPU:
        source = _prepare_export(self, stream, dl_device, copy)
    if copy is not None and copy and source is self:
        source = copied(self, "__dlpack__")
    if source.impl.dl.data != self.impl.dl.data:
        flags = source.impl.flags | DLPACK_FLAG_BITMASK_IS_COPIED
    view = source.impl.dl
    if numel(view.ndim, view.shape) == 0:
        view.data = NULL  # recommended by the standard, and taken by every reader
    if versioned:
        return export_capsule(&view, source.impl.block, flags)
    return export_legacy_capsule(&view, source.impl.block, flags)


@cython.final
@cython.freelist(64)
@cython.c_api_binop_methods(True)
cdef class Tensor:
    """Tensor(*data)\n--\n\nA strided view of memory, on any device and of any element type, that supports DLPack.

    Tensors are made by `from_dlpack`, `asarray`, `wrap`, `empty` and other functions. Shape, strides, dtype and device
    of a tensor do not change: reshaping, slicing and transposing return new tensors that share memory.

    Parameters
    ----------
    *data : array_like, nested sequence of numbers, or ints
        As PyTorch's class takes it: elements that are converted to float32, or extents of a tensor whose elements are
        not set. `asarray` keeps dtypes, and shares memory.

    Raises
    ------
    TypeError
        `data` is neither.

    {See Also: asarray, from_dlpack}

    Examples
    --------
    >>> t = dl.asarray([[1, 2, 3], [4, 5, 6]])
    >>> t[:, ::2]
    Tensor([[1, 3],
            [4, 6]], shape=(2, 2), device=cpu, dtype=int64)
    >>> t.T.strides, t.dtype
    ((1, 3), dltensor.int64)
    """
    __dlpack_c_exchange_api__ = PyCapsule_New(&exchange_table, b"dlpack_exchange_api", NULL)
    __hash__ = None
    # Above ndarray's 0.0: Dask computes blocks of both types by the functions of the one with the higher number.
    __array_priority__ = 100.0
    requires_grad = False

    def __init__(self, *data):
        if self.impl.block != NULL:
            raise TypeError("Tensor: __init__ cannot be called for a tensor; use asarray() for another one")
        try:
            source = sys.modules["dltensor"].FloatTensor(*data)
            if type(source) is not Tensor:  # the name was replaced
                raise TypeError(f"Tensor: dltensor.FloatTensor returned {type(source).__qualname__}, expected a Tensor")
            share_view(self, source)
        except Exception as error:
            from .call_errors import rename
            rename(error, "Tensor")
            raise

    # attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the dimensions, a tuple of int.

        Examples
        --------
        >>> dl.zeros((2, 3)).shape
        (2, 3)
        """
        _note_shape(self)
        return shape_of(&self.impl.dl)

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of the dimensions, in elements (not bytes), a tuple of int.

        Examples
        --------
        >>> dl.zeros((2, 3)).strides, dl.zeros((2, 3)).T.strides
        ((3, 1), (1, 3))
        """
        _note_shape(self)
        return strides_of(&self.impl.dl)

    @property
    def ndim(self) -> int:
        """Number of dimensions, from 0 to 64.

        Examples
        --------
        >>> dl.zeros((2, 3)).ndim
        2
        """
        return self.impl.dl.ndim

    @property
    def dtype(self) -> DType:
        """Element type, a `DType`.

        Examples
        --------
        >>> dl.zeros(3).dtype
        dltensor.float32
        """
        return dtype_of(self.impl.dl.dtype)

    @property
    def device(self) -> Device:
        """Device of the memory, a `Device`.

        Examples
        --------
        >>> dl.zeros(3).device
        dltensor.Device('cpu')
        """
        return device_of(self.impl.dl.device)

    @property
    def size(self) -> ElementCount:
        """Number of elements.

        An integer that may be called, as PyTorch's ``size()``: it returns the shape, or the extent of a dimension.

        Examples
        --------
        >>> t = dl.zeros((2, 3))
        >>> t.size, t.size(), t.size(-1)
        (6, (2, 3), 3)
        """
        _note_shape(self)
        return new_element_count(self.impl.dl.ndim, self.impl.dl.shape)

    @property
    def data(self) -> Tensor:
        """The tensor itself, as there are no gradients to leave out.

        Examples
        --------
        >>> t = dl.zeros(2)
        >>> t.data is t
        True
        """
        return self

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, rounded up for packed dtypes.

        Examples
        --------
        >>> dl.zeros(3).itemsize, dl.zeros(3, dtype="int4").itemsize
        (4, 1)
        """
        return item_bytes(self.impl.dl.dtype)

    @property
    def nbytes(self) -> int:
        """Size of the elements in bytes when they are contiguous; packed dtypes are counted packed.

        Examples
        --------
        >>> dl.zeros((2, 3)).nbytes, dl.zeros(3, dtype="int4").nbytes
        (24, 2)
        """
        _note_shape(self)
        return byte_count(&self.impl.dl, self.impl.flags)

    @property
    def data_ptr(self) -> Address:
        """Address of the first element, or the handle on devices whose ``data`` field is a handle.

        An integer that may be called, as PyTorch's ``data_ptr()``.

        Examples
        --------
        >>> t = dl.arange(3)
        >>> t[1:].data_ptr - t.data_ptr, t.data_ptr() == t.data_ptr
        (8, True)
        """
        if _address_class is None:
            _load_callable_numbers()
        return _address_class(<size_t>self.impl.dl.data)

    @property
    def byte_offset(self) -> int:
        """Offset of the first element in bytes from the start of the memory block.

        Examples
        --------
        >>> dl.arange(3)[1:].byte_offset
        8
        """
        if is_handle(<int>self.impl.dl.device.device_type):
            return self.impl.dl.byte_offset
        return <char*>self.impl.dl.data - <char*>self.impl.block.data

    @property
    def is_contiguous(self) -> Truth:
        """True if the elements are contiguous in C order. Strides of dimensions of one element are ignored.

        An integer that may be called, as PyTorch's ``is_contiguous()``, which returns a bool.

        Examples
        --------
        >>> dl.zeros((2, 3)).is_contiguous, dl.zeros((2, 3)).T.is_contiguous()
        (True, False)
        """
        if _yes is None:
            _load_callable_numbers()
        return _yes if is_contiguous(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.strides) else _no

    @property
    def readonly(self) -> bool:
        """True if the tensor is read-only.

        Examples
        --------
        >>> dl.asarray(b"ab").readonly
        True
        """
        return self.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0

    @property
    def is_shared(self) -> bool:
        """True if the memory is shared memory, which other processes receive without a copy; see `share`.

        Examples
        --------
        >>> t = dl.arange(3)
        >>> t.is_shared, t.share().is_shared, t.share()[1:].is_shared
        (False, True, True)
        """
        return _is_shared(self)

    @property
    def flags(self) -> Flags:
        """DLPack flags, a `Flags`, as the producer or this package set them, with NumPy's names for the layout.

        Examples
        --------
        >>> flags = dl.asarray(b"ab").flags
        >>> dl.Flags.READ_ONLY in flags, flags.writeable, flags.c_contiguous, flags.f_contiguous
        (True, False, True, True)
        """
        return flags_with_layout(self.impl.flags, is_contiguous_in(&self.impl.dl, False),
                                 is_contiguous_in(&self.impl.dl, True))

    @property
    def T(self) -> Tensor:
        """The transposed matrix, a view.

        Raises
        ------
        ValueError
            The tensor does not have 2 dimensions.

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]]).T
        Tensor([[1, 3],
                [2, 4]], shape=(2, 2), device=cpu, dtype=int64)
        """
        if self.impl.dl.ndim != 2:
            raise ValueError(f"T: expected 2 dimensions, got {self.impl.dl.ndim}; "
                             f"{'leave it out' if self.impl.dl.ndim < 2 else 'use mT or permute_dims'}")
        return _swap_last(self)

    @property
    def mT(self) -> Tensor:
        """View with the last two dimensions swapped.

        Raises
        ------
        ValueError
            There are fewer than 2 dimensions.

        Examples
        --------
        >>> dl.zeros((5, 2, 3)).mT.shape
        (5, 3, 2)
        """
        if self.impl.dl.ndim < 2:
            raise ValueError(f"mT: expected at least 2 dimensions, got {self.impl.dl.ndim}")
        return _swap_last(self)

    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of matrices in the last two dimensions: of real dtypes the view ``mT``, else a copy.

        {Tensor.mT: Raises}

        Examples
        --------
        >>> dl.asarray([[1, 2 + 1j]]).mH.tolist()
        [[(1-0j)], [(2-1j)]]
        """
        if self.impl.dl.ndim < 2:
            raise ValueError(f"mH: expected at least 2 dimensions, got {self.impl.dl.ndim}")
        return self.mT.conj() if self.impl.dl.dtype.code == kDLComplex else self.mT

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix, as ``mH``.

        {Tensor.T: Raises}

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]]).H.tolist()
        [[1, 3], [2, 4]]
        """
        if self.impl.dl.ndim != 2:
            raise ValueError(f"H: expected 2 dimensions, got {self.impl.dl.ndim}; use mH or permute_dims")
        return self.T.conj() if self.impl.dl.dtype.code == kDLComplex else self.T

    @property
    def real(self) -> Tensor:
        """The real parts, a view; the tensor's elements if they are real.

        Examples
        --------
        >>> z = dl.asarray([1 + 2j])
        >>> z.real[0] = 5
        >>> z.tolist()
        [(5+2j)]
        """
        from .views import part_of
        return part_of(self, False)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, a view; read-only zeros if the elements are real.

        Examples
        --------
        >>> dl.asarray([1 + 2j, 3]).imag
        Tensor([2., 0.], shape=(2,), device=cpu, dtype=float32)
        """
        from .views import part_of
        return part_of(self, True)

    def same_memory(self, other):
        """Test whether two tensors hold a reference to the same memory block, whether or not they overlap.

        Parameters
        ----------
        other : Tensor
            Tensor to compare with.

        Returns
        -------
        bool
            Whether the memory block is the same.

        Raises
        ------
        TypeError
            `other` is not a Tensor.

        Examples
        --------
        >>> t = dl.arange(4)
        >>> t[:2].same_memory(t[2:]), t.copy().same_memory(t)
        (True, False)
        """
        if type(other) is not Tensor:
            raise TypeError(f"same_memory: expected a Tensor, got {type(other).__qualname__}")
        return self.impl.block == (<Tensor>other).impl.block

    # elements

    def __len__(self):
        if self.impl.dl.ndim == 0:
            raise TypeError("len: a tensor of 0 dimensions has no length")
        _note_shape(self)
        return self.impl.dl.shape[0]

    def __getitem__(self, key: Index) -> Tensor:
        cdef Place place
        if PyLong_CheckExact(key) and self.impl.dl.ndim > 0 and self.impl.dl.dtype.bits & 7 == 0:
            return _row(self, checked_index(key, self.impl.dl.shape[0], 0))
        if type(key) is Tensor or locate(&self.impl.dl, key, &place):
            return operations.get_indexed(self, key)
        return view_of(self, &place)

    def __setitem__(self, key: Index, value: Operand) -> None:
        cdef Place place
        if locate(&self.impl.dl, key, &place):
            operations.set_indexed(self, key, value)
        else:
            assign(view_of(self, &place), value, "__setitem__")

    def __delitem__(self, key):
        raise TypeError("__delitem__: elements of a tensor cannot be deleted; index the ones to keep")

    def __iter__(self) -> Iterator[Tensor]:
        if self.impl.dl.ndim == 0:
            raise TypeError("iter: a tensor of 0 dimensions cannot be iterated over")
        rows = <_Rows>_Rows.__new__(_Rows)
        rows.tensor = self
        return rows

    def item(self, *index):
        """Return one element as a Python number.

        Parameters
        ----------
        *index : int, optional
            One index per dimension, or one in C order for all; none for a tensor of one element.

        Returns
        -------
        bool, int, float or complex
            The element.

        Raises
        ------
        ValueError
            There is more than one element, or the dtype has no Python counterpart.
        IndexError
            An index is out of range, or their number is not that of the dimensions.
        DeviceError
            The memory cannot be copied to the host.

        {See Also: tolist}

        Examples
        --------
        >>> t = dl.asarray([[1, 2], [3, 4]])
        >>> t.item(1, 0), t.item(2)
        (3, 3)
        """
        cdef int i
        cdef int64_t at = 0, flat
        cdef Place place
        if len(index) == 1 and self.impl.dl.ndim > 1:
            try:
                flat = checked_index(index[0], numel(self.impl.dl.ndim, self.impl.dl.shape), 0)
            except IndexError:
                raise IndexError(f"item: index {index[0]} is out of range for {self.size} elements") from None
            for i in reversed(range(self.impl.dl.ndim)):
                at = stepped(at, flat % self.impl.dl.shape[i], self.impl.dl.strides[i])
                flat //= self.impl.dl.shape[i]
        elif index:
            if len(index) != self.impl.dl.ndim:
                raise IndexError(f"item: expected {self.impl.dl.ndim} positions, got {len(index)}")
            for i in range(self.impl.dl.ndim):
                try:
                    at = stepped(at, checked_index(index[i], self.impl.dl.shape[i], i), self.impl.dl.strides[i])
                except IndexError as error:
                    raise IndexError(f"item: {error}") from None
        elif numel(self.impl.dl.ndim, self.impl.dl.shape) != 1:
            raise ValueError(f"item: expected one element, got shape {self.shape}; give one position per dimension")
        if not is_host(<int>self.impl.dl.device.device_type):
            # Packed elements start anywhere in a byte, where no view can: they travel with all others.
            if is_packed(self.impl.dl.dtype, self.impl.flags):
                return on_host(self, "item").item(*index)
            place.ndim = 0
            place.offset = at
            return on_host(view_of(self, &place), "item").item()
        return load_python(self.impl.dl.data, at, self.impl.dl.dtype, self.impl.flags, "item")

    def tolist(self):
        """Return the elements as nested lists of Python numbers.

        Returns
        -------
        list or number
            A number for a tensor of 0 dimensions.

        Raises
        ------
        {Tensor.item: DeviceError}
        ValueError
            The dtype has no Python counterpart.

        {See Also: item}

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]])[:, ::-1].tolist()
        [[2, 1], [4, 3]]
        """
        cdef Tensor here = on_host(self, "tolist")
        return nested(&here.impl.dl, here.impl.flags, 0, 0)

    def __contains__(self, value):
        if not is_operand(value):
            return False
        from .._ops.array_api import contains
        return contains(self, value)

    def __bool__(self): return bool(single(self, "bool"))
    def __int__(self): return int(single(self, "int"))
    def __float__(self): return float(single(self, "float"))
    def __complex__(self): return complex(single(self, "complex"))

    def __round__(self, ndigits=None):
        # An integer, as Python has it of one number; with digits a tensor, whatever the shape.
        if ndigits is None:
            return round(single(self, "round"))
        from .._ops.rounding import round_tensor
        return round_tensor(self, ndigits)

    # math is a file more to load.
    def __trunc__(self):
        import math
        return math.trunc(single(self, "trunc"))

    def __floor__(self):
        import math
        return math.floor(single(self, "floor"))

    def __ceil__(self):
        import math
        return math.ceil(single(self, "ceil"))

    def __index__(self):
        if self.impl.dl.ndim != 0:
            # A TypeError, so that bytes(t) and its like go on to the buffer protocol.
            raise TypeError(f"__index__: only integer tensors of 0 dimensions are indices, got shape {self.shape}")
        value = self.item()
        if type(value) is not int:
            raise TypeError(f"__index__: only integer tensors of 0 dimensions are indices, got {self.dtype}")
        return value

    def tobytes(self, order="C"):
        """Return the bytes of the elements; packed elements stay packed.

        Parameters
        ----------
        order : {"C", "F", "A"}, default "C"
            As for `reshape`.

        Returns
        -------
        bytes
            A copy of `nbytes` bytes.

        Raises
        ------
        MemoryError
            The allocation failed.
        ValueError
            There is no such order.

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]], dtype="uint8").T.tobytes()
        b'\\x01\\x03\\x02\\x04'
        """
        cdef Tensor source = on_host(_transposed(self) if takes_fortran(&self.impl.dl, order, "tobytes") else self,
                                     "tobytes")
        cdef int64_t count = byte_count(&source.impl.dl, source.impl.flags)
        if not is_contiguous(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides):
            source = copied(source, "tobytes")
        try:
            return PyBytes_FromStringAndSize(<char*>source.impl.dl.data, count)
        except MemoryError:
            raise MemoryError(f"tobytes: cannot allocate {count} bytes") from None

    def numel(self):
        """Return the number of elements, as `size` does.

        Returns
        -------
        int
            Number of elements.

        Examples
        --------
        >>> dl.zeros((2, 3)).numel()
        6
        """
        _note_shape(self)
        return numel(self.impl.dl.ndim, self.impl.dl.shape)

    # elements chosen

    def take(self, indices: TensorLike | Sequence[int] | int, axis=None, *, mode="raise"):
        """{take.take}"""
        if mode == "raise":
            return operations.take(self, indices, axis)
        from .._ops.take import take

        return take(self, indices, axis=axis, mode=mode)

    def nonzero(self):
        """{take.nonzero}"""
        return operations.nonzero(self)

    # The reductions (sum, mean, max ...) are methods that _ops/reduce.pyx adds, one for each row of
    # native/ops/reduce/rows.h, as it makes the functions of the same names.

    def conj(self):
        """Return the complex conjugates; real numbers as they are.

        Returns
        -------
        Tensor
            Of the same shape and dtype.

        Raises
        ------
        TypeError
            The dtype has no arithmetic.

        See Also
        --------
        conj : The function.

        Examples
        --------
        >>> dl.asarray([1 + 2j]).conj()
        Tensor([1.-2.j], shape=(1,), device=cpu, dtype=complex64)
        """
        from .._ops.elementwise import conj
        return conj(self)

    def round(self, decimals=0):
        """Round to a number of decimals, half to even, as ``round(t, decimals)`` does.

        Parameters
        ----------
        decimals : int, default 0
            Negative ones round to tens, hundreds and so on.

        Returns
        -------
        Tensor
            A new tensor of the same shape and dtype.

        Raises
        ------
        TypeError
            `decimals` is not an integer, or the dtype is bool or has no arithmetic.

        Examples
        --------
        >>> dl.asarray([0.5, 1.26, 2.5]).round().tolist(), dl.asarray([14, 15, 25]).round(-1).tolist()
        ([0.0, 1.0, 2.0], [10, 20, 20])
        """
        from .._ops.rounding import round_tensor
        return round_tensor(self, decimals)

    # copies and other shapes

    def copy(self):
        """Return a copy in new memory, in C order, on the same device.

        Returns
        -------
        Tensor
            The copy.

        Raises
        ------
        {Tensor.tobytes: MemoryError}

        See Also
        --------
        clone : The same, under the name of PyTorch.

        Examples
        --------
        >>> t = dl.asarray([1, 2, 3])[::-1].copy()
        >>> t.tolist(), t.strides
        ([3, 2, 1], (1,))
        """
        return copied(self, "copy")

    def clone(self):
        """Return a copy in new memory, as `copy` does.

        {Tensor.copy: Returns, Raises}

        See Also
        --------
        copy : The same, under the name of NumPy.

        Examples
        --------
        >>> t = dl.asarray([1, 2])
        >>> t.clone().tolist(), t.clone().same_memory(t)
        ([1, 2], False)
        """
        return copied(self, "clone")

    def flatten(self, order="C", end_dim=-1, *, start_dim=None):
        """Return a copy of the elements with one dimension, or with one for several, as PyTorch does.

        Parameters
        ----------
        order : {"C", "F", "A"} or int, default "C"
            As for `reshape`. An integer is `start_dim`.
        end_dim : int, default -1
            The last dimension that is joined, where `start_dim` is there.
        start_dim : int, optional
            The first dimension that is joined.

        Returns
        -------
        Tensor
            Of shape ``(size,)``, or of fewer dimensions.

        Raises
        ------
        MemoryError
            The allocation failed.
        ValueError
            There is no such order, or `end_dim` comes before `start_dim`.
        IndexError
            A dimension is out of range.

        {See Also: ravel}

        Examples
        --------
        >>> dl.asarray([[1, 2], [3, 4]]).T.flatten()
        Tensor([1, 3, 2, 4], shape=(4,), device=cpu, dtype=int64)
        >>> dl.zeros((2, 3, 4)).flatten(1).shape
        (2, 12)
        """
        if start_dim is None and not isinstance(order, str):
            start_dim = order
        if start_dim is None:
            return reshaped_in(self, _FLAT, True, order, "flatten")
        return reshaped_in(self, joined_shape(shape_of(&self.impl.dl), start_dim, end_dim), True, "C", "flatten")

    def ravel(self, order="C"):
        """Return the elements with one dimension, as a view where possible.

        Returns
        -------
        Tensor
            Of shape ``(size,)``.

        {Tensor.tobytes: Parameters, Raises}

        {See Also: flatten}

        Examples
        --------
        >>> t = dl.asarray([[1, 2], [3, 4]])
        >>> t.ravel().tolist(), t.ravel().same_memory(t)
        ([1, 2, 3, 4], True)
        """
        return reshaped_in(self, _FLAT, None, order, "ravel")

    def transpose(self, *axes):
        """Return a view with the dimensions in another order.

        Parameters
        ----------
        *axes : int, sequence of int or None
            For each dimension of the result, the dimension of this tensor that it is. Without arguments the order is
            reversed. Two integers of a tensor of three dimensions or more are those that are swapped, as in PyTorch; of
            two dimensions they are their order, as in NumPy.

        {manipulation.permute_dims: Returns, Raises}

        Raises
        ------
        TypeError
            An axis is not an integer.

        See Also
        --------
        permute : The same, under the name of PyTorch.

        Examples
        --------
        >>> dl.asarray([[1, 2, 3], [4, 5, 6]]).transpose().tolist()
        [[1, 4], [2, 5], [3, 6]]
        >>> dl.zeros((2, 3, 4)).transpose(1, 0, 2).shape, dl.zeros((2, 3, 4)).transpose(1, 2).shape
        ((3, 2, 4), (2, 4, 3))
        """
        cdef int ndim = self.impl.dl.ndim
        if len(axes) == 0 or len(axes) == 1 and axes[0] is None:
            return _transposed(self)
        if len(axes) == 2 and ndim > 2:
            first, second = axis_of(axes[0], ndim, "transpose"), axis_of(axes[1], ndim, "transpose")
            axes = tuple([second if d == first else first if d == second else d for d in range(ndim)])
        return permuted(self, one_or_many(axes, "transpose"), "transpose")

    def permute(self, *dims):
        """Return a view with the dimensions in another order.

        Parameters
        ----------
        *dims : int or sequence of int
            For each dimension of the result, the dimension of this tensor that it is.

        {Tensor.transpose: Returns, Raises}

        Raises
        ------
        ValueError
            `dims` is not a permutation of all dimensions.

        See Also
        --------
        permute_dims : The function of the array API.

        Examples
        --------
        >>> dl.zeros((2, 3, 4)).permute(2, 0, 1).shape
        (4, 2, 3)
        """
        return permuted(self, one_or_many(dims, "permute"), "permute")

    def squeeze(self, axis=None):
        """{manipulation.squeeze}"""
        return squeezed(self, axis, "squeeze")

    def fill(self, value):
        """Write one number to every element, in place.

        Parameters
        ----------
        value : number
            Value to write.

        Raises
        ------
        ValueError
            The tensor is read-only, or its elements share memory.
        OverflowError
            The number is outside the range of an integer dtype, or an integer that no float holds.

        See Also
        --------
        dltensor.fill : Write to a tensor of any framework, with saturation.

        Examples
        --------
        >>> t = dl.empty(3, dtype="int8")
        >>> t.fill(7)
        >>> t
        Tensor([7, 7, 7], shape=(3,), device=cpu, dtype=int8)
        """
        assign_scalar(self, value, "fill")

    def reshape(self, *shape, copy=None, order="C"):
        """Return the elements with another shape.

        Parameters
        ----------
        *shape : int or sequence of int
            New shape. One extent may be -1; it is computed from the others.

        {manipulation.reshape: Parameters, Returns, Raises}

        Raises
        ------
        TypeError
            There is no shape, or it is neither integers nor one sequence of integers.

        Examples
        --------
        >>> dl.arange(6).reshape(2, -1)
        Tensor([[0, 1, 2],
                [3, 4, 5]], shape=(2, 3), device=cpu, dtype=int64)
        """
        if len(shape) == 0:
            raise TypeError("reshape: expected a shape, got nothing; the shape of one element without dimensions is ()")
        return reshaped_in(self, shape[0] if len(shape) == 1 else shape, copy, order, "reshape")

    def view(self, dtype, *extents):
        """Return a view of the same bytes with another dtype, or of the same elements with another shape.

        Parameters
        ----------
        dtype : dtype_like, int or sequence of int
            Dtype of the same width, or a shape as of `reshape`, as in PyTorch. Another width needs a contiguous last
            dimension whose bytes it divides. NumPy's raw bytes, "V1", "V2", "V4" and "V8", are unsigned integers of
            that width.
        *extents : int
            The other extents of a shape whose first one is `dtype`.

        {Tensor.transpose: Returns}

        Raises
        ------
        TypeError
            `dtype` is neither a dtype nor a shape.
        ValueError
            The widths differ and the last dimension cannot be divided into elements of the new dtype; or the shape has
            another number of elements, or needs a copy.

        Examples
        --------
        >>> dl.asarray([1.0], dtype="float32").view("uint32")
        Tensor([1065353216], shape=(1,), device=cpu, dtype=uint32)
        >>> dl.zeros((2, 3)).view(-1).shape, dl.zeros((2, 3)).view(3, 2).shape
        ((6,), (3, 2))
        """
        if extents or isinstance(dtype, (int, tuple, list)):
            return reshaped_in(self, (dtype, *extents) if extents else dtype, False, "C", "view")
        cdef Tensor result = same_view(self)
        reinterpret(&self.impl.dl, self.impl.flags, read_dtype(known_dtype(dtype), "view"), &result.impl.dl)
        result.impl.flags &= ~<uint64_t>DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
        return result

    def astype(self, dtype, *, copy=True, padded=False):
        """{casting.astype}"""
        return operations.astype(self, dtype, copy, padded)

    def sort(self, axis=-1, *, descending=False, stable=True):
        """Return a new tensor with the elements sorted along an axis. The tensor itself does not change.

        {sort.sort: Parameters, Returns, Raises, See Also, Notes, Examples}
        """
        from .._ops.sort import sort

        return sort(self, axis=axis, descending=descending, stable=stable)

    def to(self, device=None, dtype=None, *, non_blocking=False):
        """Return the tensor on a device, or converted to a dtype, or both.

        Parameters
        ----------
        device : device_like, dtype_like or Tensor, optional
            Device of the result, or its dtype, or a tensor whose device and dtype it has.
        dtype : dtype_like, optional
            Element type of the result.
        non_blocking : bool, default False
            Taken for code of PyTorch, and without effect: a copy to a CUDA device does not wait for the device, and one
            to the host waits, so that the values are there. ``numpy(non_blocking=True)`` does not wait.

        Returns
        -------
        Tensor
            The tensor itself if it is on that device or has that dtype, else a copy.

        Raises
        ------
        DeviceError
            The device, its driver or its library is not available.
        TypeError
            There is neither a device nor a dtype, or two dtypes.

        {See Also: cpu, cuda}

        Examples
        --------
        >>> t = dl.asarray([1])
        >>> t.to("cpu") is t
        True
        >>> t.to("cpu", dl.float32)
        Tensor([1.], shape=(1,), device=cpu, dtype=float32)
        """
        cdef Tensor result = self
        if type(device) is Tensor:
            device, own = device.device, device.dtype
        else:
            own = None if device is None else dtype_unless_device(device)
            if own is not None:
                device = None
        if own is not None and dtype is not None:
            raise TypeError(f"to: expected one dtype, got {own} and {dtype}")
        dtype = own if dtype is None else dtype
        if dtype is not None:
            result = result.astype(dtype, copy=False)
        elif device is None:
            raise TypeError("to: expected a device, a dtype or both, got neither")
        return result if device is None else on_device(result, device, "to")

    def share(self):
        """Return the tensor in memory that processes share: of the host, or of the CUDA device that it is on.

        `multiprocessing` sends a tensor in shared memory as a descriptor: what one process writes, all see.

        Returns
        -------
        Tensor
            The tensor itself if its memory is shared, else a copy in C order that is.

        Raises
        ------
        DeviceError
            The driver of the device cannot share memory.
        MemoryError
            There is not enough memory.
        OSError
            The process has too many open files, or the system has no shared memory without a name.

        See Also
        --------
        is_shared : Whether the memory is shared.
        dltensor.shared.empty : Make a tensor there without a copy.

        Examples
        --------
        >>> t = dl.asarray([1, 2, 3]).share()
        >>> t.is_shared, t.tolist(), t.share() is t
        (True, [1, 2, 3], True)
        """
        if _is_shared(self):
            return self
        from ..shared._tensors import copy_to_shared
        return copy_to_shared(self if self.impl.dl.device.device_type == kDLCUDA else on_host(self, "share"))

    def cpu(self):
        """Return the tensor on the host, as ``to("cpu")`` does.

        Returns
        -------
        Tensor
            The tensor itself if it is on the host, else a copy.

        Raises
        ------
        {Tensor.item: DeviceError}

        Examples
        --------
        >>> t = dl.asarray([1])
        >>> t.cpu() is t
        True
        """
        return on_device(self, "cpu", "cpu")

    def cuda(self, device: DeviceLike | int | None = None, *, non_blocking=False):
        """Return the tensor on a CUDA device, as ``to("cuda")`` does.

        Parameters
        ----------
        device : int or device_like, default "cuda"
            CUDA device, or its number.
        non_blocking : bool, default False
            Taken for code of PyTorch, and without effect: the copy does not wait for the device.

        Returns
        -------
        Tensor
            The tensor itself if it is on that device, else a copy.

        Raises
        ------
        {Tensor.to: DeviceError}
        ValueError
            `device` is not a CUDA device, or there is no such device.

        Examples
        --------
        >>> dl.asarray([1, 2]).cuda(0).device  # doctest: +SKIP
        dltensor.Device('cuda:0')
        """
        named = "cuda" if device is None else f"cuda:{device}" if PyLong_CheckExact(device) else device
        if read_device(named, "cuda").device_type != kDLCUDA:
            raise ValueError(f"cuda: expected a CUDA device, got {device!r}; use to()")
        return on_device(self, named, "cuda")

    def to_device(self, device, /, *, stream=None):
        """Return the tensor on a device, as `to` does.

        Parameters
        ----------
        device : device_like
            Device of the result.
        stream : None
            Work is ordered by the current streams; see `dltensor.cuda`.

        {Tensor.cuda: Returns, Raises}

        Raises
        ------
        ValueError
            `stream` is not None.

        Examples
        --------
        >>> dl.asarray([1]).to_device("cpu").device
        dltensor.Device('cpu')
        """
        if stream is not None:
            raise ValueError(f"to_device: stream must be None, got {stream!r}; make it the current one instead")
        return on_device(self, device, "to_device")

    def numpy(self, copy=None, *, non_blocking=False):
        """Return a NumPy array, without a copy if NumPy or ml_dtypes has the dtype and the memory is on the host.

        Parameters
        ----------
        copy : bool, optional
            None shares memory unless the dtype is packed, which NumPy does not support, or the host cannot read the
            memory. True always copies, False never does.
        non_blocking : bool, default False
            Do not wait for the device: return a `cuda.Transfer`, whose ``result()`` waits and returns the array.

        Returns
        -------
        numpy.ndarray
            Read-only if the tensor is.

        Raises
        ------
        ImportError
            NumPy, or ml_dtypes for its dtypes, is not installed.
        TypeError
            Neither NumPy nor ml_dtypes has the dtype, or `copy` is not a bool.
        ValueError
            `copy` is False and a copy is needed.
        {Tensor.item: DeviceError}

        {See Also: into}

        Examples
        --------
        >>> t = dl.arange(3)
        >>> a = t.numpy()
        >>> a[0] = 9
        >>> t
        Tensor([9, 1, 2], shape=(3,), device=cpu, dtype=int64)
        """
        cdef Tensor source = self
        copy = read_copy_flag(copy, "numpy")
        if non_blocking:
            return device_operations().transfer(self, copy)
        if not is_host(<int>self.impl.dl.device.device_type):
            if copy is not None and not copy:
                raise ValueError(f"numpy: the data is on {self.device}, which NumPy cannot show without a copy, but "
                                 f"copy=False")
            return on_host(self, "numpy").numpy()
        if is_packed(self.impl.dl.dtype, self.impl.flags):
            if copy is not None and not copy:
                raise ValueError(f"numpy: NumPy holds {self.dtype} one byte each, this tensor is packed, but "
                                 f"copy=False")
            source = self.astype(self.dtype, padded=True)
        elif copy is not None and copy:
            source = copied(self, "numpy")
        return make_numpy(&source.impl.dl, source.impl.flags, source)

    # text

    def __repr__(self):
        from .format import repr_tensor
        return repr_tensor(self)

    def __format__(self, spec):
        from .format import format_tensor
        return format_tensor(self, spec)

    def _repr_html_(self) -> str:
        from .html import html_tensor
        return html_tensor(self)

    # arithmetic: every operator is a row of ops.h; a test holds this list to the table. Of `a` and `b` one is a tensor,
    # as in the interpreter's own slots: a call for each order would cost a check of types more.
    def __add__(a, b): return operate(op_add, a, b, None)
    def __iadd__(self, other): return operate(op_add, self, other, self)
    def __sub__(a, b): return operate(op_subtract, a, b, None)
    def __isub__(self, other): return operate(op_subtract, self, other, self)
    def __mul__(a, b): return operate_multiply(a, b, None)
    def __imul__(self, other): return operate_multiply(self, other, self)
    def __truediv__(a, b): return operate(op_divide, a, b, None)
    def __itruediv__(self, other): return operate(op_divide, self, other, self)
    def __floordiv__(a, b): return operate(op_floor_divide, a, b, None)
    def __ifloordiv__(self, other): return operate(op_floor_divide, self, other, self)
    def __mod__(a, b): return operate(op_remainder, a, b, None)
    def __imod__(self, other): return operate(op_remainder, self, other, self)
    def __and__(a, b): return operate(op_bitwise_and, a, b, None)
    def __iand__(self, other): return operate(op_bitwise_and, self, other, self)
    def __or__(a, b): return operate(op_bitwise_or, a, b, None)
    def __ior__(self, other): return operate(op_bitwise_or, self, other, self)
    def __xor__(a, b): return operate(op_bitwise_xor, a, b, None)
    def __ixor__(self, other): return operate(op_bitwise_xor, self, other, self)
    def __lshift__(a, b): return operate(op_bitwise_left_shift, a, b, None)
    def __ilshift__(self, other): return operate(op_bitwise_left_shift, self, other, self)
    def __rshift__(a, b): return operate(op_bitwise_right_shift, a, b, None)
    def __irshift__(self, other): return operate(op_bitwise_right_shift, self, other, self)
    def __divmod__(a, b): return operate_divmod(a, b)
    def __pow__(a, b, modulo): return operate(op_pow, a, b, None) if modulo is None else NotImplemented
    def __ipow__(self, other): return operate(op_pow, self, other, self)
    def __lt__(self, other): return operate(op_less, self, other, None)
    def __le__(self, other): return operate(op_less_equal, self, other, None)
    def __gt__(self, other): return operate(op_greater, self, other, None)
    def __ge__(self, other): return operate(op_greater_equal, self, other, None)
    def __eq__(self, other): return operate(op_equal, self, other, None)
    def __ne__(self, other): return operate(op_not_equal, self, other, None)
    def __neg__(self): return operate_alone(op_negative, self)
    def __pos__(self): return operate_alone(op_positive, self)
    def __abs__(self): return operate_alone(op_abs, self)
    def __invert__(self): return operate_alone(op_bitwise_invert, self)
    def __matmul__(a, b): return operate_matmul(a, b)

    def __imatmul__(self, other):
        return operations.matmul(self, other, self) if is_operand(other) else NotImplemented

    # protocols

    def __dlpack_device__(self):
        """Return the device as DLPack numbers.

        Returns
        -------
        tuple of two ints
            ``(device_type, device_id)``.

        Examples
        --------
        >>> dl.zeros(3).__dlpack_device__()
        (1, 0)
        """
        if self.impl.dl.device.device_type == kDLCPU and self.impl.dl.device.device_id == 0:
            return _CPU
        return <int>self.impl.dl.device.device_type, self.impl.dl.device.device_id

    def __dlpack__(self, *, stream: int | None = None, max_version=None, dl_device=None, copy=None):
        """Export the tensor as a DLPack capsule.

        Parameters
        ----------
        stream : int, optional
            Stream of the consumer. None or -1 for host memory.
        max_version : tuple of two ints, optional
            Newest DLPack version, ``(major, minor)``, that the consumer supports. None or major 0 gives the struct of
            DLPack before 1.0.
        dl_device : tuple of two ints, optional
            Device, ``(device_type, device_id)``, on which the consumer needs the data; None exports without a copy.
        copy : bool, optional
            True always copies (and sets the flag IS_COPIED), False never does.

        Returns
        -------
        capsule
            Named "dltensor_versioned", or "dltensor" for the struct before 1.0.

        Raises
        ------
        BufferError
            The tensor is read-only, which the struct before 1.0 cannot express, or the device cannot be reached as
            requested.
        TypeError
            `max_version` is not a pair of integers, `stream` is not an integer, or `copy` is not a bool.
        ValueError
            The device has no such stream.

        {Notes: Array API 2025.12: ``array.__dlpack__``; DLPack 1.3.}

        Examples
        --------
        >>> type(dl.arange(3).__dlpack__(max_version=(1, 3))).__name__
        'PyCapsule'
        """
        return exported(self, stream, max_version, dl_device, copy)

    def __arrow_c_array__(self, requested_schema=None):
        """Export the tensor by Arrow's C data interface.

        Parameters
        ----------
        requested_schema : capsule, optional
            The schema of ``arrow.bool8`` or int8 exports a bool tensor without a copy; any other is ignored, as a
            consumer casts what it gets.

        Returns
        -------
        tuple of two capsules
            Named "arrow_schema" and "arrow_array": numbers, or fixed-shape tensors for more than one dimension.

        Raises
        ------
        TypeError
            Arrow has no such element type.
        ValueError
            The tensor has no dimension, or more than 2^31 - 1 elements for an index of the first.
        DeviceError
            The host cannot read the memory.

        {See Also: from_arrow}

        Notes
        -----
        Arrow PyCapsule interface. Nothing is copied if the elements fill their memory and the first dimension has the
        largest stride, except bools: they are copied to bits, Arrow's own bool, unless the extension type
        ``arrow.bool8`` or int8 is requested (``pyarrow.array(t, type=pyarrow.int8())``).

        Examples
        --------
        >>> [type(one).__name__ for one in dl.arange(3).__arrow_c_array__()]
        ['PyCapsule', 'PyCapsule']
        """
        from .arrow import export_arrow
        return export_arrow(self, requested_schema)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs: None):
        """Export a tensor of the host by Arrow's C device data interface.

        Parameters
        ----------
        {Tensor.__arrow_c_array__: requested_schema}
        **kwargs
            Those of later versions of Arrow, all None.

        Returns
        -------
        tuple of two capsules
            Named "arrow_schema" and "arrow_device_array"; what is in them is as for `__arrow_c_array__`.

        Raises
        ------
        {Tensor.__arrow_c_array__: TypeError, ValueError, DeviceError}
        NotImplementedError
            An argument of a later version is not None.

        {See Also: from_arrow}

        {Notes: Arrow PyCapsule interface, ``ArrowDeviceArrayExportable``.}

        Examples
        --------
        >>> [type(one).__name__ for one in dl.arange(3).__arrow_c_device_array__()]
        ['PyCapsule', 'PyCapsule']
        """
        from .arrow import export_arrow
        for key, value in kwargs.items():
            if value is not None:
                raise NotImplementedError(f"__arrow_c_device_array__: expected no argument {quoted(key)}; leave it out")
        return export_arrow(self, requested_schema, True)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        fill_buffer(buffer, flags, &self.impl.dl, self.impl.flags)
        buffer.obj = self

    def __releasebuffer__(self, Py_buffer* buffer):
        free_buffer(buffer)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Implement a ufunc of NumPy by the operation of the same name; the result is a Tensor."""
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call the function of this package of the same name, else NumPy's on arrays that share the memory."""
        from .._ops.numpy_dispatch import call_function
        return call_function(func, types, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        from .protocols import to_numpy
        return to_numpy(self, dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        from .protocols import array_interface
        return array_interface(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.impl.dl.device.device_type != kDLCUDA and self.impl.dl.device.device_type != kDLCUDAManaged:
            raise AttributeError(f"__cuda_array_interface__: the data is on {self.device}")
        from .protocols import cuda_array_interface
        return cuda_array_interface(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from .._ops.array_api import namespace
        return namespace(api_version)

    def __reduce_ex__(self, protocol):
        from .pickling import reduce_tensor
        return reduce_tensor(self, protocol)

    def __dask_tokenize__(self) -> tuple[object, ...]:
        """Return what names the tensor in a graph of Dask; the first call registers tensors with Dask's dispatches."""
        from ..distributed._registration import token_of
        return token_of(self)

    def __dir__(self):
        """The attributes; those that only raise are none."""
        from .members import names_of
        return names_of(self)

    def __sizeof__(self):
        """Bytes of the object and of the memory that it owns, as ``sys.getsizeof`` asks; as for an ndarray."""
        dims = 16 * self.impl.dl.ndim if self.impl.dl.ndim > 6 else 0
        return Tensor.__basicsize__ + dims + owned_bytes(&self.impl, self.is_view)

    def __copy__(self):
        return copied(self, "copy")

    def __deepcopy__(self, memo):
        return copied(self, "deepcopy")


cdef tuple _CPU = (1, 0)
# Of callable_numbers, which the first of these attributes loads.
cdef object _address_class = None, _yes = None, _no = None


cdef int _load_callable_numbers() except -1:
    global _address_class, _yes, _no
    from .callable_numbers import Address, Truth
    _address_class, _no, _yes = Address, Truth(0), Truth(1)
    return 0


cdef class _Rows:
    """Iterator over the first dimension."""
    cdef Tensor tensor
    cdef int64_t next

    def __iter__(self):
        return self

    def __next__(self):
        cdef int64_t i = self.next
        if i >= self.tensor.impl.dl.shape[0]:
            raise StopIteration
        check_signals(i)
        self.next = i + 1
        return self.tensor[i]


# The public name, in errors, pickles and help.
(<PyTypeObject*>Tensor).tp_name = "dltensor.Tensor"
# Without this entry object.__new__ is called and refuses, so that no Tensor without memory can be made.
forget_new(<PyTypeObject*>Tensor)

ElementCount = <object>ready_element_count({"__reduce__": Address.__reduce__, "__array_ufunc__": call_ufunc_with_ints})
