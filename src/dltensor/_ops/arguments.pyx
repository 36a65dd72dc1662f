# SPDX-License-Identifier: Apache-2.0
"""Arguments of functions: tensors of any framework, borrowed for the call, Python numbers, and the outputs.

Nothing is computed here.
"""
import operator

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject, Py_TYPE
from libc.math cimport isinf

from .._core.convert cimport is_wide, read_numbers, view_any
from .._core.dlpack cimport NDARRAY, TABLE, TypeEntry, borrow_table, cached_entry, entry_of
from .._core.interop.numpy cimport borrow_numpy, is_readable, keep_in_place
from .._core.interop.torch cimport borrow_plain, hold_storage, is_lazy, is_plain
from .._core.native cimport (KEEP_GIL_BYTES, MAX_DIMS, REAL, SIGNED, TRAILING, TRUNCATE, UNSIGNED, Status,
                             broadcast_shapes, computed_types, contiguous_strides, find_type, item_bytes, numel,
                             promote, same_dtype, store_scalar, type_bool, type_complex64, type_float32, type_int64,
                             type_table, type_uint8)
from .._core.scalars cimport RecordedNumber, integer_range, plain_number, promote_number, shown, tag_number
from .._core.allocation cimport check_writable
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, assign
from .._core.types cimport device_of, dtype_of, is_host, kDLCPU, read_dtype

from .engine cimport PyThreadState, finish, is_same_place, release_gil
from .._core.types import DeviceError

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    enum Overlap "dlt::Overlap":
        OVERLAP_NONE "dlt::Overlap::none"
    Overlap overlap(const DLTensor&, const DLTensor&)


cdef extern from "native/cpu/program/recorder.h" namespace "dlt" nogil:
    void record_number(int, int, const void*)


cdef void read_tensor(Tensor t, Operand* out) noexcept:
    """Read a Tensor as an operand, which is valid while the tensor lives."""
    out.number = False
    out.owner = NULL
    out.view = t.impl.dl
    out.block = t.impl.block
    out.flags = t.impl.flags
    out.type = find_type(t.impl.dl.dtype)


cdef bint _classify(object x, Operand* out, str func) except -1:
    """Read our tensor or a number; of a plain torch tensor or ndarray remember that it can be borrowed as it is.

    False leaves it to `_converted`. BufferError when torch would refuse to export it.
    """
    cdef const TypeEntry* entry
    if type(x) is Tensor:
        read_tensor(<Tensor>x, out)
        return True
    out.number = False
    out.owner = NULL
    out.table = NULL
    out.block = NULL
    out.flags = 0
    if PyFloat_CheckExact(x):
        out.number = True
        out.type = type_float32
        return True
    if PyLong_CheckExact(x) or PyBool_Check(x):
        out.number = True
        out.type = type_bool if PyBool_Check(x) else type_int64
        return True
    if PyComplex_CheckExact(x):
        out.number = True
        out.type = type_complex64
        return True
    if type(x) is RecordedNumber:
        _classify((<RecordedNumber>x).value, out, func)
        return True
    entry = entry_of(x)
    if entry.path == TABLE and entry.table.dltensor_from_py_object_no_sync != NULL:
        out.table = entry.table
        # New dispatch keys count as plain once torch has classified them.
        if entry.is_torch and not is_plain(x) and (is_lazy(x, func) or not is_plain(x)):
            return False
    elif entry.path != NDARRAY or not is_readable(x):
        return False
    out.owner = <PyObject*>x
    return True


cdef bint _borrow(Operand* out, str func) except -1:
    """Borrow the memory of the owner. No Python code runs. False when it is not what it was, or on a device."""
    cdef const TypeEntry* entry
    x = <object>out.owner
    if out.table != NULL:
        entry = cached_entry(<void*>Py_TYPE(x))
        if entry == NULL or entry.is_torch and not (is_plain(x) and borrow_plain(x, &out.view, out.dims)):
            return False
        if not entry.is_torch:
            borrow_table(x, out.table, &out.view, out.dims, func)
        if not is_host(<int>out.view.device.device_type):
            return False
        if out.view.strides == NULL:
            contiguous_strides(out.view.ndim, out.view.shape, out.dims + out.view.ndim)
            out.view.strides = out.dims + out.view.ndim
    else:
        if not is_readable(x):
            return False
        borrow_numpy(x, &out.view, &out.flags, out.dims, func)
    out.type = find_type(out.view.dtype)
    return True


cdef object _converted(object x, str func):
    """An argument as our tensor, which owns what it shows, or as a Python number. May run Python code."""
    t = view_any(x, None, func)
    if t is not None:
        return t
    if hasattr(x, "__index__"):
        return operator.index(x)
    if isinstance(x, float):  # numpy.float64 is one, and numpy.complex128 the other
        return float(x)
    if isinstance(x, complex):
        return complex(x)
    raise TypeError(f"{func}: expected a tensor, an object with __dlpack__, a number or nested sequences of numbers, "
                    f"got {type(x).__qualname__}")


cdef object _converted_output(object x, str func):
    """An `out` argument as our tensor over its memory."""
    cdef const TypeEntry* entry = entry_of(x)
    cdef bint immutable = entry.is_immutable
    if entry.is_torch and not entry.overrides_export and is_lazy(x, func):
        raise ValueError(f"{func}: out is a lazy conjugate or negation; give out.resolve_conj().resolve_neg(), or its "
                         f"base")
    if immutable:
        raise ValueError(f"{func}: out is of type {type(x).__qualname__}, which is immutable; give a writable "
                         f"tensor")
    t = view_any(x, False, func)
    if t is None:
        raise TypeError(f"{func}: out must be a tensor or a writable object with __dlpack__, got "
                        f"{type(x).__qualname__}")
    return t


cdef object read_operands(PyObject** arguments, int count, PyObject* output, Operand* operands, PyObject** used,
                          str func):
    """Read all arguments of a call, and `output` (None: there is none) into the place after them.

    This is the one way in: everything that can run Python code runs first, and what is borrowed is borrowed after it,
    so that no argument's code can free or change what was read of another. `used` gets the objects that were read in
    place of those given; what this function returns must be held as long as they are in use.
    """
    cdef int i, lists = 0, total = count
    cdef list owners = None
    if output != NULL:
        total += 1
    for i in range(total):
        used[i] = output if i == count else arguments[i]
        if not _classify(<object>used[i], &operands[i], func) or i == count and operands[i].number:
            if i < count and isinstance(<object>used[i], (list, tuple, range)):
                operands[i].number = True
                lists |= 1 << i
                continue
            result = (_converted_output if i == count else _converted)(<object>used[i], func)
            owners = owners or []
            owners.append(result)
            used[i] = <PyObject*>result
            _classify(result, &operands[i], func)
    if lists:
        owners = owners or []
        _read_lists(lists, used, count, total, operands, owners, func)
    for i in range(total):
        if operands[i].owner != NULL and not _borrow(&operands[i], func):
            # Work on a device outlives the call, so the memory must too; and code of another argument may have changed
            # this one. What is owned stays good whatever runs.
            owners = owners or []
            own_operands(used, total, operands, owners, func)
            break
    if total > count:
        check_writable(&operands[count].view, operands[count].flags, func, "out")
    return owners


cdef int _read_lists(int lists, PyObject** used, int count, int total, Operand* operands, list owners,
                     str func) except -1:
    """Read the arguments that are lists, whose places are set in `lists`, in the precision of the others."""
    cdef int i
    cdef bint wide = False
    own_operands(used, total, operands, owners, func)  # code of an item may change what others show
    for i in range(count):
        wide |= not operands[i].number and is_wide(operands[i].type)
    for i in range(count):
        if lists >> i & 1:
            result = read_numbers(<object>used[i], wide, func)
            owners.append(result)
            used[i] = <PyObject*>result
            read_tensor(<Tensor>result, &operands[i])
    return 0


cdef int own_operands(PyObject** used, int count, Operand* operands, list owners, str func) except -1:
    """Replace borrowed operands by Tensors, appended to `held`, which stay valid when Python code runs."""
    cdef int i
    cdef Tensor t
    for i in range(count):
        if operands[i].owner != NULL:
            t = view_any(<object>used[i], None, func)
            owners.append(t)
            used[i] = <PyObject*>t
            read_tensor(t, &operands[i])
    return 0


cdef object read_operand(object x, Operand* out, str func):
    """Read one argument. Returns what the caller must hold on to while it uses `out`."""
    cdef PyObject* arguments = <PyObject*>x
    cdef PyObject* used
    _owners = read_operands(&arguments, 1, NULL, out, &used, func)
    return <object>used


cdef object hold_without_gil(Operand* operands, int count):
    """Keep alive what is borrowed while the GIL is released, so that it keeps its memory.

    Another thread may otherwise resize it, or give its object other memory.
    """
    cdef int i
    cdef const TypeEntry* entry
    cdef list owners = []
    for i in range(count):
        if operands[i].owner == NULL:
            continue
        owner = <object>operands[i].owner
        entry = cached_entry(<void*>Py_TYPE(owner))
        if entry != NULL and entry.is_torch:
            owners.append(hold_storage(owner))
        elif entry != NULL and entry.path == NDARRAY:
            owners.append(keep_in_place(owner))
    return owners


cdef int read_number(object x, Scalar* out, str func) except -1:
    """Convert a number to a tagged value."""
    return tag_number(plain_number(x, func), out)


cdef int store_number(object x, Operand* out, int type, str func) except -1:
    """Make a number an element of a dtype, and its operand a view of that. OverflowError outside integer dtypes."""
    cdef Scalar value
    cdef DLDataType dtype = type_table[type].dtype
    cdef int index = -1
    if isinstance(x, RecordedNumber):
        x, index = (<RecordedNumber>x).value, (<RecordedNumber>x).index
    if type == type_float32 and PyFloat_CheckExact(x):
        (<float*>out.element)[0] = <float>PyFloat_AS_DOUBLE(x)
    else:
        if type_table[type].kind == SIGNED or type_table[type].kind == UNSIGNED:
            low, high = integer_range(type_table[type].kind == SIGNED, dtype.bits)
            if not low <= x <= high:
                raise OverflowError(f"{func}: {shown(x)} is outside {dtype_of(dtype)}, which holds {low} to {high}; "
                                    f"use a wider dtype, or saturate=True where the function has it")
        read_number(x, &value, func)
        if value.kind == REAL and isinf(value.re) and isinstance(x, int):
            raise OverflowError(f"{func}: {shown(x)} is outside {dtype_of(dtype)}")
        store_scalar(out.element, 0, dtype, True, value, TRUNCATE, False)
    out.view.data = out.element
    out.view.ndim = 0
    out.view.dtype = dtype
    out.view.shape = out.dims
    out.view.strides = out.dims
    out.view.byte_offset = 0
    out.view.device.device_type = kDLCPU
    out.view.device.device_id = 0
    out.type = type
    record_number(index, type, out.element)
    return 0


cdef int narrow_float(const Operand* operands, int count) noexcept:
    """Return the row of the float dtype without arithmetic that all tensors have; -1: there is none.

    float32 holds all values of such a dtype, so that order and equality are computed there.
    """
    cdef int i, type = -1
    for i in range(count):
        if operands[i].number:
            continue
        if not is_narrow_float(operands[i].type) or type >= 0 and type != operands[i].type:
            return -1
        type = operands[i].type
    return type


cdef int promote_operands(Operand* operands, int count, str func) except -1:
    """The dtype that all operands meet in: tensors by the table, numbers by kind. Returns its row."""
    cdef int i, type = -1, joined
    for i in range(count):
        if operands[i].number:
            continue
        if operands[i].type < 0 or operands[i].type >= computed_types:
            raise TypeError(f"{func}: {dtype_of(operands[i].view.dtype)} has no arithmetic; convert with "
                            f"astype() first")
        joined = operands[i].type if type < 0 else promote(type, operands[i].type)
        if joined < 0:
            raise TypeError(f"{func}: {type_table[type].name.decode()} and {dtype_of(operands[i].view.dtype)} have no "
                            f"dtype in common; convert one with astype()")
        type = joined
    for i in range(count):
        if operands[i].number:
            type = promote_number(type, operands[i].type)
    return type


cdef int common_device(Operand* operands, int count, DLDevice* device, str func) except -1:
    """The one device of all tensors; see computing_device()."""
    cdef int i
    cdef bint found = False
    cdef DLDevice here
    device.device_type = kDLCPU
    device.device_id = 0
    for i in range(count):
        if operands[i].number:
            continue
        here = computing_device(operands[i].view.device)
        if found and (here.device_type != device.device_type or here.device_id != device.device_id):
            raise ValueError(f"{func}: tensors are on {device_of(device[0])} and {device_of(here)}; move one with "
                             f"to()")
        device[0] = here
        found = True
    return 0


cdef int common_shape(Operand* operands, int count, int64_t* shape, str func) except -2:
    """The broadcast shape of the operands into `shape`; returns how many dimensions."""
    cdef int ndims[4]
    cdef const int64_t* shapes[4]
    cdef int i, ndim, used = 0
    for i in range(count):
        if not operands[i].number:
            ndims[used] = operands[i].view.ndim
            shapes[used] = operands[i].view.shape
            used += 1
    ndim = broadcast_shapes(used, ndims, shapes, TRAILING, shape)
    if ndim < 0:
        shapes_shown = [str(as_tuple(ndims[i], shapes[i])) for i in range(used)]
        raise ValueError(f"{func}: shapes {' and '.join(shapes_shown)} do not broadcast")
    return ndim


cdef inline int64_t _distance(const Operand* operand, int axis, int ndim) noexcept:
    """The distance of neighbours along an axis of the result in an operand; 0 where it broadcasts."""
    axis -= ndim - operand.view.ndim
    if operand.number or axis < 0 or operand.view.shape[axis] == 1:
        return 0
    return abs(operand.view.strides[axis])


cdef int _nesting(const Operand* operands, int count, int outer, int inner, int ndim) noexcept:
    """1 if the axis `outer` lies within `inner` in all operands that have both, -1 if no operand has, else 0."""
    cdef int result = -1, i
    cdef int64_t first, second
    for i in range(count):
        first, second = _distance(&operands[i], outer, ndim), _distance(&operands[i], inner, ndim)
        if first and second:
            if second <= first:
                return 0
            result = 1
    return result


cdef void order_as(const Operand* operands, int count, Tensor result) noexcept:
    """Give a new result in C order the memory order of the operands' axes, where they agree, as NumPy does."""
    cdef int order[MAX_DIMS]  # from the inside
    cdef int ndim = result.impl.dl.ndim, sorted_axes = 0, axis, place, other, nesting
    cdef int64_t step = 1
    if ndim < 2 or numel(ndim, result.impl.dl.shape) == 0:
        return
    for axis in range(ndim - 1, -1, -1):
        place = sorted_axes
        for other in range(sorted_axes - 1, -1, -1):
            nesting = _nesting(operands, count, axis, order[other], ndim)
            if nesting == 0:
                break
            if nesting == 1:
                place = other
        for other in range(sorted_axes, place, -1):
            order[other] = order[other - 1]
        order[place] = axis
        sorted_axes += 1
    for place in range(ndim):
        result.impl.dl.strides[order[place]] = step
        step *= result.impl.dl.shape[order[place]]


cdef int fill_operand(const EngineTable* engine, const LaunchContext& launch, const void* element, Operand* target,
                      str func) except -1:
    """Write one element of the dtype of `target` to all of it."""
    cdef EngineOperand out
    cdef int64_t bytes = numel(target.view.ndim, target.view.shape) * item_bytes(target.view.dtype)
    as_engine_operand(target, &out)
    _owner = hold_without_gil(target, 1) if bytes > KEEP_GIL_BYTES else None
    cdef PyThreadState* state = release_gil(launch, bytes)
    cdef Status status = engine.fill(element, out, launch)
    return finish(state, status, launch, func)


# -- the one treatment of `out` ---------------------------------------------------------------------------------------

cdef Tensor read_out(object out, str func):
    """Read an `out` argument as a tensor over its memory. None for None."""
    cdef Operand operand
    cdef PyObject* used
    if out is None:
        return None
    cdef list owners = read_operands(NULL, 0, <PyObject*>out, &operand, &used, func) or []
    own_operands(&used, 1, &operand, owners, func)
    return <Tensor><object>used


cdef int check_output(const DLTensor* out, int ndim, const int64_t* shape, DLDataType dtype, DLDevice device,
                      OutputRule rule, str func) except -1:
    """Compare an output with the result: its shape, its device and its dtype."""
    cdef int i, type = find_type(dtype), own = find_type(out.dtype)
    cdef bint fits = out.ndim == ndim
    for i in range(ndim if fits else 0):
        fits = fits and out.shape[i] == shape[i]
    if not fits:
        raise ValueError(f"{func}: the result has shape {as_tuple(ndim, shape)}, out has shape "
                         f"{as_tuple(out.ndim, out.shape)}; give an out of that shape")
    if not is_same_place(out.device, device):
        raise ValueError(f"{func}: the operands are on {device_of(device)}, out is on {device_of(out.device)}; give an "
                         f"out on {device_of(device)}")
    if same_dtype(out.dtype, dtype) or rule != SAME_DTYPE and type == type_bool and own == type_uint8:
        return 0
    if rule == SAME_KIND:
        fits = type >= 0 and 0 <= own < computed_types and kind_order(own) >= kind_order(type)
    else:
        fits = rule == HOLDS and type >= 0 and own >= 0 and promote(type, own) == own
    if not fits:
        raise TypeError(f"{func}: the result is {dtype_of(dtype)}, out is {dtype_of(out.dtype)}; give an out of that "
                        f"dtype, or convert the result with astype()")
    return 0


cdef Tensor read_output(object out, Tensor x, int ndim, const int64_t* shape, DLDataType dtype, OutputRule rule,
                        str func):
    """Read an `out` argument, which must be where `x` is, for a result of this shape and dtype. None for None."""
    cdef Tensor target = read_out(out, func)
    if target is None:
        return None
    if not is_same_place(target.impl.dl.device, x.impl.dl.device):
        raise DeviceError(f"{func}: x is on {x.device} and out on {target.device}; give an out on {x.device}")
    check_output(&target.impl.dl, ndim, shape, dtype, x.impl.dl.device, rule, func)
    return target


def written(Tensor result, out, str func):
    """Convert a result to the dtype of `out`, which is returned; the result itself if `out` is None.

    Raises
    ------
    ValueError
        `out` has another shape or is read-only.
    TypeError
        `out` has a dtype of a lower kind than the result, or is no tensor.

    Examples
    --------
    >>> written(dl.asarray([1.5]), dl.zeros(1, dtype="float64"), "f").tolist()
    [1.5]
    """
    cdef Tensor target = read_out(out, func)
    if target is None:
        return result
    check_output(&target.impl.dl, result.impl.dl.ndim, result.impl.dl.shape, result.impl.dl.dtype,
                 result.impl.dl.device, SAME_KIND, func)
    assign(target, result, func)
    return out


def output_of(out, tuple shape, dtype, str func):
    """Return an `out` argument as a tensor of exactly this shape and dtype, or None for None.

    >>> output_of(dl.zeros(2), (2,), dl.float32, "f")
    Tensor([0., 0.], shape=(2,), device=cpu, dtype=float32)
    """
    cdef int64_t extents[MAX_DIMS]
    cdef Tensor target = read_out(out, func)
    cdef int i
    if target is None:
        return None
    if len(shape) > MAX_DIMS:
        raise ValueError(f"{func}: at most {MAX_DIMS} dimensions are supported, got {len(shape)}")
    for i in range(<int>len(shape)):
        extents[i] = shape[i]
    check_output(&target.impl.dl, <int>len(shape), extents, read_dtype(dtype, func), target.impl.dl.device, SAME_DTYPE,
                 func)
    return target


cdef bint is_written_at_once(Tensor target, Tensor x, DLDataType dtype) noexcept:
    return same_dtype(target.impl.dl.dtype, dtype) and overlap(target.impl.dl, x.impl.dl) == OVERLAP_NONE


def data_ptr(x, /):
    """Return the address of the first element of a tensor of any framework, for foreign functions.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack, on any device. It is borrowed for the call; the caller must keep it
        alive while the address is in use.

    Returns
    -------
    int
        The address.

    Raises
    ------
    TypeError
        `x` is not a tensor.
    BufferError
        `x` is not usable because it breaks a rule.

    See Also
    --------
    Tensor.data_ptr : The address of a Tensor.

    Examples
    --------
    >>> t = dl.asarray([1, 2, 3])
    >>> dl.data_ptr(t) == t.data_ptr, dl.data_ptr(t[1:]) - t.data_ptr
    (True, 8)
    """
    cdef Operand operand
    _owners = read_operand(x, &operand, "data_ptr")
    if operand.number:
        raise TypeError(f"data_ptr: expected a tensor, got {type(x).__qualname__}")
    return <size_t>operand.view.data
