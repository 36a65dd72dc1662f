# SPDX-License-Identifier: Apache-2.0
"""Reductions: one builtin per row of reductions.h, and the one way that all of them go. No loops here."""
import operator
import sys

from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from .._core.native cimport (BOOLEAN, COMPLEX, KEEP_GIL_BYTES, MAX_DIMS, REAL, TRAILING, UNSIGNED, Block, CastOptions,
                             Kind, Status, allocate, broadcast_strides, computed_types, find_type, type_bool,
                             type_complex64, type_complex128, type_float32, type_float64, type_int64, type_table,
                             type_uint64)
from .arguments cimport (SAME_DTYPE, SAME_KIND, Operand, as_engine_operand, check_output, common_device,
                         hold_without_gil, kind_order, narrow_float, promote_operands, read_operands, read_owned,
                         store_number)
from .engine cimport (Engine, EngineOperand, EngineTable, LaunchContext, PyThreadState, ReduceOptions, check_device,
                      engine_at, engine_of, finish, loaded_engine, release_gil)
from .._core.convert cimport read_array
from .._core.default_dtype cimport default_real
from .._core.indexing cimport axis_of, sequence_of
from .._core.scalars cimport plain_number, shown
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, new_empty, new_tensor, operations
from .._core.types cimport DLDataType, DLDevice, DLTensor, dtype_of, kDLCPU, kDLCUDA, read_dtype

from .._core.types import as_dtype
from .arguments import written

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    enum Overlap "dlt::Overlap":
        OVERLAP_NONE "dlt::Overlap::none"
    Overlap overlap(const DLTensor&, const DLTensor&)

cdef extern from "native/cpu/reduce/reduce.h" namespace "dlt" nogil:
    ctypedef struct ReductionRow:
        const char* name
        unsigned kinds
        const char* result
        const char* empty
        unsigned takes
        const char* text
        const char* doc
    const ReductionRow reduction_table[1]
    int reduction_count, reduction_sum, reduction_max, reduction_min, reduction_mean
    int reduction_result(int, int, bint)
    bint reduce_runs(int, int, const void*, int64_t, int64_t, double, void*)

cdef extern from "reductions_texts.h" namespace "dlt":
    const char* const reduction_texts[1]
    const char* const reduction_method_texts[1]

cdef extern from "_ops/reduction_builtins.h" namespace "dlt":
    ctypedef struct ReduceArguments:
        PyObject* x
        PyObject* axis
        PyObject* keepdims
        PyObject* out
        PyObject* dtype
        PyObject* correction
        PyObject* where
        PyObject* initial
        PyObject* saturate
        bint axis_is_named
    ctypedef object (*ReduceHook)(int, ReduceArguments*)
    int add_reductions(object, const char* const*, ReduceHook) except -1
    int add_reduction_methods(object, const char* const*) except -1
    unsigned TAKES_DTYPE "DLT_TAKES_DTYPE"
    unsigned TAKES_SATURATE "DLT_TAKES_SATURATE"
    unsigned TAKES_WHERE "DLT_TAKES_WHERE"
    unsigned TAKES_INITIAL "DLT_TAKES_INITIAL"
    unsigned TAKES_CORRECTION "DLT_TAKES_CORRECTION"
    unsigned TAKES_ONE_AXIS "DLT_TAKES_ONE_AXIS"

cdef enum:
    # So many are fastest in one run on one thread; more goes to reduce(), which shares.
    PLAIN_BYTES = 1 << 16
    MOST_REDUCTIONS = 32
    MOST_TYPES = 32

_KIND_NAMES = ("bool", "integers", "floats", "complex")
cdef list _names = [sys.intern(reduction_table[_i].name.decode()) for _i in range(reduction_count)]

# reduction_result(reduction, type, False) of all rows, read by the fast path.
cdef signed char _results[MOST_REDUCTIONS][MOST_TYPES]

cdef int _fill_results() except -1:
    cdef int reduction, type
    if reduction_count > MOST_REDUCTIONS or computed_types > MOST_TYPES:
        raise RuntimeError(f"reductions: {reduction_count} reductions of {computed_types} dtypes, expected at most "
                           f"{MOST_REDUCTIONS} of {MOST_TYPES}")
    for reduction in range(reduction_count):
        for type in range(computed_types):
            _results[reduction][type] = reduction_result(reduction, type, False)

_fill_results()


# -- fast path ----------------------------------------------------------------------------------------------------

cdef inline bint _has_default_result(int type, int to) noexcept:
    """Test whether a float statistic of integers, which is float32 in the table, is float64 by the default dtype."""
    return to == type_float32 and kind_order(type) < 2 and default_real() != type_float32


cdef inline bint _is_given(PyObject* argument):
    return argument != NULL and <object>argument is not None


cdef object _plain(int reduction, const ReduceArguments* arguments, double correction):
    """A tensor of ours in C order, over all axes or the last one, and not large: one run for each result.

    None when that is not so.
    """
    cdef Tensor x = <Tensor>arguments.x
    cdef Tensor result
    cdef int64_t n = 1, rows = 1, bytes
    cdef int64_t axis = 0
    cdef int overflow = 0
    cdef int i, to, ndim = x.impl.dl.ndim, type, left = 0
    cdef bint keepdims = False
    if x.impl.dl.device.device_type != kDLCPU:
        return _launch_rows(reduction, arguments, correction) if x.impl.dl.device.device_type == kDLCUDA else None
    if arguments.keepdims != NULL:
        if <object>arguments.keepdims is True:
            keepdims = True
        elif <object>arguments.keepdims is not False:
            return None
    type = find_type(x.impl.dl.dtype)
    if type < 0 or type >= computed_types:
        return None
    for i in range(ndim - 1, -1, -1):
        if x.impl.dl.strides[i] != n:
            return None
        n *= x.impl.dl.shape[i]
    if n * type_table[type].bytes > PLAIN_BYTES or n == 0:
        return None
    if _is_given(arguments.axis):
        if not PyLong_CheckExact(<object>arguments.axis):
            return None
        axis = PyLong_AsLongLongAndOverflow(<object>arguments.axis, &overflow)
        if overflow != 0 or ndim == 0 or axis != -1 and axis != ndim - 1:
            return None
        rows = n // x.impl.dl.shape[ndim - 1]
        n = x.impl.dl.shape[ndim - 1]
        left = ndim - 1
        if rows >= 32 or rows > 1 and n < 16 or rows >= 12 and n >= 32 and type_table[type].kind == REAL and (
                reduction == reduction_sum or reduction == reduction_mean):
            return None  # many or short runs: reduce() takes them together
    to = _results[reduction][type]
    if to < 0 or _has_default_result(type, to):
        return None
    result = new_tensor(ndim if keepdims else left)
    bytes = rows * type_table[to].bytes
    result.impl.block = allocate(bytes)
    if result.impl.block == NULL:
        raise MemoryError(f"{_names[reduction]}: cannot allocate {bytes} bytes")
    result.impl.dl.data = result.impl.block.data
    result.impl.dl.dtype = type_table[to].dtype
    result.impl.dl.device = x.impl.dl.device
    bytes = 1
    for i in range((ndim if keepdims else left) - 1, -1, -1):
        result.impl.dl.shape[i] = x.impl.dl.shape[i] if i < left else 1
        result.impl.dl.strides[i] = bytes
        bytes *= result.impl.dl.shape[i]
    if not reduce_runs(reduction, type, x.impl.dl.data, n, rows, correction, result.impl.dl.data):
        return None
    return result


cdef bint _split_at_axis(const DLTensor* x, int axis, int64_t* outer, int64_t* count, int64_t* inner) noexcept:
    """Count the elements before an axis, along it (-1: along all axes) and after it, of a tensor in C order.

    False if it is not in C order, or has no elements.
    """
    cdef int64_t n = 1
    cdef int i
    outer[0] = count[0] = inner[0] = 1
    for i in range(x.ndim - 1, -1, -1):
        if x.strides[i] != n:
            return False
        n *= x.shape[i]
        if axis < 0 or i == axis:
            count[0] *= x.shape[i]
        elif i > axis:
            inner[0] *= x.shape[i]
        else:
            outer[0] *= x.shape[i]
    return n != 0


cdef object _launch_rows(int reduction, const ReduceArguments* arguments, double correction):
    """The same of a CUDA tensor of any size, over all axes or one."""
    cdef Tensor x = <Tensor>arguments.x
    cdef Tensor result
    cdef const Engine* engine
    cdef int64_t outer, inner, count, size = 1
    cdef int64_t axis = -1
    cdef int overflow = 0
    cdef int i, k, to, ndim = x.impl.dl.ndim, type = find_type(x.impl.dl.dtype)
    cdef bint keepdims = False, whole = not _is_given(arguments.axis)
    if arguments.keepdims != NULL:
        if <object>arguments.keepdims is True:
            keepdims = True
        elif <object>arguments.keepdims is not False:
            return None
    if not whole:
        if not PyLong_CheckExact(<object>arguments.axis):
            return None
        axis = PyLong_AsLongLongAndOverflow(<object>arguments.axis, &overflow)
        if overflow != 0 or not -ndim <= axis < ndim:
            return None
        axis += ndim if axis < 0 else 0
    if type < 0 or type >= computed_types:
        return None
    to = _results[reduction][type]
    if to < 0 or _has_default_result(type, to):
        return None
    if not _split_at_axis(&x.impl.dl, <int>axis, &outer, &count, &inner):
        return None
    result = new_tensor(ndim if keepdims else 0 if whole else ndim - 1)
    for i in range(ndim - 1, -1, -1):
        if (whole or i == axis) and not keepdims:
            continue
        k = i if keepdims or i < <int>axis else i - 1
        result.impl.dl.shape[k] = 1 if whole or i == axis else x.impl.dl.shape[i]
        result.impl.dl.strides[k] = size
        size *= result.impl.dl.shape[k]
    engine = loaded_engine()
    if engine == NULL:
        engine = engine_of(x.impl.dl.device, _names[reduction])
    engine.reduce_rows(reduction, type, to, correction, x, outer, count, inner, result)
    return result


cdef object reduce_any(int reduction, ReduceArguments* arguments):
    cdef double correction = 0.0
    if (type(<object>arguments.x) is Tensor and not _is_given(arguments.out) and not _is_given(arguments.dtype) and
            not _is_given(arguments.where) and not _is_given(arguments.initial) and
            (arguments.saturate == NULL or <object>arguments.saturate is False)):
        if _is_given(arguments.correction):
            correction = _read_correction(<object>arguments.correction, _names[reduction])
        result = _plain(reduction, arguments, correction)
        if result is not None:
            return result
    return _general(reduction, arguments)


# -- the way of all ---------------------------------------------------------------------------------------------------

cdef uint64_t _read_axes(object axis, int ndim, bint one, str func) except? 0xffffffffffffffff:
    """The axes that are named, one bit each; each in [-ndim, ndim), and none twice."""
    cdef uint64_t axes = 0
    cdef list numbers
    cdef int number
    numbers = sequence_of(axis, "axis", func)
    if numbers is not None and one:
        raise TypeError(f"{func}: axis must be an integer or None, got {type(axis).__qualname__}")
    for value in [axis] if numbers is None else numbers:
        number = axis_of(value, ndim, func)
        if axes >> number & 1:
            raise ValueError(f"{func}: axis {axis} names dimension {number} twice")
        axes |= <uint64_t>1 << number
    return axes


cdef object _index_axes(object axis, str func):
    """`axis` as an int, a tuple of ints or None: what may run Python code, before any tensor is read."""
    if axis is None:
        return None
    try:
        items = sequence_of(axis, "axis", func)
        return operator.index(axis) if items is None else tuple([operator.index(one) for one in items])
    except TypeError:
        raise TypeError(f"{func}: axis must be an integer, a sequence of integers or None, got "
                        f"{type(axis).__qualname__}") from None


cdef bint _is_pair(int reduction, ReduceArguments* arguments) except -1:
    """Test for PyTorch's max(x, y) and min(x, y): no tensor but a single integer is an axis."""
    if reduction != reduction_max and reduction != reduction_min or arguments.axis == NULL or arguments.axis_is_named:
        return False
    other = <object>arguments.axis
    return (type(other) is Tensor and (other.ndim > 0 or other.dtype.kind not in "iu") and
            arguments.keepdims == NULL and not _is_given(arguments.where) and not _is_given(arguments.initial))


cdef double _read_correction(object correction, str func) except? -1:
    value = plain_number(correction, f"{func}: correction")
    if isinstance(value, complex) or not -9007199254740992 < value < 9007199254740992:
        raise ValueError(f"{func}: correction must be a finite real number below 2**53, got {value}")
    return value


cdef object _general(int reduction, ReduceArguments* arguments):
    cdef str func = _names[reduction]
    cdef Operand[3] operands
    cdef Operand number
    cdef PyObject* used[3]
    cdef PyObject* passed[2]
    cdef PyObject* output = NULL
    cdef const ReductionRow* row = &reduction_table[reduction]
    cdef ReduceOptions options
    cdef DLDataType wanted
    cdef DLDevice device
    cdef uint64_t axes
    cdef int count = 1, type, to, ndim, dtype = -1, narrow
    cdef bint keepdims = arguments.keepdims != NULL and bool(<object>arguments.keepdims)
    if _is_pair(reduction, arguments):
        from . import elementwise
        return getattr(elementwise, func + "imum")(<object>arguments.x, <object>arguments.axis,
                                                   out=<object>arguments.out if arguments.out != NULL else None)
    axis = _index_axes(<object>arguments.axis, func) if arguments.axis != NULL else None
    options.saturate = arguments.saturate != NULL and bool(<object>arguments.saturate)
    options.keep = False
    options.correction = 0.0
    options.initial = NULL
    if _is_given(arguments.correction):
        options.correction = _read_correction(<object>arguments.correction, func)
    if _is_given(arguments.dtype):
        wanted = read_dtype(<object>arguments.dtype, func)
        dtype = find_type(wanted)
        options.keep = True
        if dtype < 0 or dtype >= computed_types:
            raise TypeError(f"{func}: {dtype_of(wanted)} has no arithmetic")
        if options.saturate:
            raise TypeError(f"{func}: saturate=True keeps the tensor's dtype; leave dtype out, or convert with "
                            f"astype()")
    initial = plain_number(<object>arguments.initial, f"{func}: initial") if _is_given(arguments.initial) else None
    passed[0] = arguments.x
    if _is_given(arguments.where) and <object>arguments.where is not True:
        passed[1] = arguments.where
        count = 2
    if _is_given(arguments.out):
        output = arguments.out
    _owners = read_operands(passed, count, output, operands, used, func)
    if operands[0].number:
        element = read_array(<object>arguments.x, func)
        arguments.x = <PyObject*>element
        return _general(reduction, arguments)
    common_device(operands, count + (output != NULL), &device, func)
    # Extremes, counts and tests compute nothing, so that floats without arithmetic have them.
    narrow = narrow_float(operands, 1) if dtype < 0 and row.result[0] in b"smi" else -1
    if narrow >= 0 and type_table[narrow].dtype.bits < 8:
        return _of_packed(reduction, arguments, narrow, func)
    type = type_float32 if narrow >= 0 else promote_operands(operands, 1, func)
    if dtype < 0 and _has_default_result(type, _results[reduction][type]):
        dtype = type_float64
    if dtype >= 0:
        type = _with_result(reduction, type, dtype, &options, func)
    to = reduction_result(reduction, type, options.saturate or options.keep)
    if to < 0:
        raise TypeError(f"{func}: not defined for {type_table[type].name.decode()}; it takes "
                        f"{', '.join(_kinds_of(reduction))}")
    if options.result >= 0:
        to = options.result
    if narrow >= 0 and to == type_float32:
        to = narrow
    ndim = operands[0].view.ndim
    axes = _read_axes(axis, ndim, row.takes & TAKES_ONE_AXIS, func) if axis is not None else _all_axes(ndim)
    if initial is not None:
        options.initial_type = _store_initial(reduction, initial, &number, type, to, options.saturate, func)
        options.initial = number.element
    return _reduce(reduction, &options, type, to, operands, count, <object>output if output != NULL else None, axes,
                   keepdims, device, func)


cdef object _of_packed(int reduction, ReduceArguments* arguments, int narrow, str func):
    """Reduce floats of fewer than 8 bits as bfloat16, which holds their values."""
    cdef PyObject* out = arguments.out
    elements = operations.astype(read_array(<object>arguments.x, func), "bfloat16", True, False)
    arguments.x = <PyObject*>elements
    arguments.out = NULL
    result = _general(reduction, arguments)
    if result.dtype == elements.dtype:
        result = operations.astype(result, dtype_of(type_table[narrow].dtype), True, False)
    return written(result, <object>out, func) if _is_given(out) else result


cdef uint64_t _all_axes(int ndim) noexcept:
    return ~<uint64_t>0 if ndim == 64 else (<uint64_t>1 << ndim) - 1


cdef list _kinds_of(int reduction):
    """Name the kinds of element that a reduction takes."""
    return [_KIND_NAMES[bit] for bit in range(4) if reduction_table[reduction].kinds >> bit & 1]


cdef int _with_result(int reduction, int type, int dtype, ReduceOptions* options, str func) except -1:
    """The dtype that elements are reduced in where the result has another one than theirs, `dtype`."""
    cdef int kind = kind_order(dtype)
    cdef bint part = reduction_table[reduction].result[0] == b"p"  # complex elements give the real dtype of their parts
    if not reduction_table[reduction].takes & TAKES_SATURATE and kind < 2:
        raise TypeError(f"{func}: dtype must be a float or complex one, got {type_table[dtype].name.decode()}; convert "
                        f"the result with astype()")
    if kind_order(type) == 3 and kind < 3 and not part:
        raise TypeError(f"{func}: {type_table[type].name.decode()} to {type_table[dtype].name.decode()} would drop the "
                        f"imaginary part; take real() first")
    if kind < 2:
        return dtype
    if part and kind == 3:
        dtype = type_float32 if dtype == type_complex64 else type_float64
    options.result = dtype
    if part or kind_order(type) == kind:
        return type
    if kind == 3:
        return type_complex128
    return type_float64 if reduction_table[reduction].takes & TAKES_SATURATE else type


cdef int _store_initial(int reduction, object initial, Operand* number, int type, int to, bint saturate,
                        str func) except -1:
    """Make `initial` an element of the dtype that the engine takes it in, and return that.

    Of an integer result it must be in the range; clamped ones are only clamped at the end.
    """
    cdef Kind kind = type_table[type].kind
    cdef int wide
    order = 3 if isinstance(initial, complex) else 2 if isinstance(initial, float) else 0
    if order > kind_order(type) and order > 1:
        raise TypeError(f"{func}: initial is {initial}, and elements are {type_table[type].name.decode()}; give a "
                        f"number of that kind")
    if reduction == reduction_max or reduction == reduction_min:
        wide = type
    elif kind == COMPLEX or kind == REAL:
        if order == 0 and abs(initial) >= 1 << 1024:
            raise OverflowError(f"{func}: initial is {shown(initial)}, which is outside float64")
        wide = type_complex128 if kind == COMPLEX else type_float64
    else:
        if not saturate:
            store_number(initial, number, to, func)
            kind = type_table[to].kind
        wide = type_uint64 if kind == UNSIGNED or saturate and kind == BOOLEAN else type_int64
    store_number(initial, number, wide, func)
    return wide


cdef object _reduce(int reduction, ReduceOptions* options, int type, int to, Operand* operands, int count,
                    object out, uint64_t axes, bint keepdims, DLDevice device, str func):
    """Check what depends on the tensors, then reduce into a new tensor or into `out`, operand `count`."""
    cdef int64_t kept[MAX_DIMS]
    cdef int64_t inserted_shape[MAX_DIMS]
    cdef int64_t inserted_strides[MAX_DIMS]
    cdef int64_t mask_strides[MAX_DIMS]
    cdef DLTensor view, mask
    cdef const DLTensor* x = &operands[0].view
    cdef const DLTensor* target
    cdef const DLTensor* mask_view = NULL
    cdef const ReductionRow* row = &reduction_table[reduction]
    cdef Tensor result
    cdef Operand* output = &operands[count]
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(device, &launch, func)
    cdef bint direct = False
    cdef int i, ndim = 0, k = 0
    cdef int64_t reduced = 1, left = 1
    for i in range(x.ndim):
        if axes >> i & 1:
            reduced *= x.shape[i]
            if keepdims:
                kept[ndim] = 1
                ndim += 1
        else:
            left *= x.shape[i]
            kept[ndim] = x.shape[i]
            ndim += 1
    if reduced == 0 and left != 0 and row.empty[0] == 0 and options.initial == NULL:
        raise ValueError(f"{func}: a tensor of shape {as_tuple(x.ndim, x.shape)} has no elements there, and the result "
                         f"of none is not defined{'; give initial' if row.takes & TAKES_INITIAL else ''}")
    if count > 1:
        _check_mask(&operands[1], x, mask_strides, row, options, func)
        mask = operands[1].view
        mask.ndim = x.ndim
        mask.shape = x.shape
        mask.strides = mask_strides
        mask_view = &mask
    if out is not None:
        check_output(&output.view, ndim, kept, type_table[to].dtype, device,
                     SAME_DTYPE if options.saturate else SAME_KIND, func)
        direct = overlap(output.view, x[0]) == OVERLAP_NONE and (
            count == 1 or overlap(output.view, operands[1].view) == OVERLAP_NONE)
    result = None if direct else new_empty(ndim, kept, output.view.dtype if out is not None else type_table[to].dtype,
                                           device, func)
    target = &output.view if direct else &result.impl.dl
    view = target[0]
    for i in range(x.ndim):
        inserted_shape[i] = 1
        inserted_strides[i] = 0
        if axes >> i & 1:
            k += keepdims
            continue
        inserted_shape[i] = target.shape[k]
        inserted_strides[i] = target.strides[k]
        k += 1
    view.ndim = x.ndim
    view.shape = inserted_shape
    view.strides = inserted_strides
    _run(engine, launch, reduction, options, type, operands, mask_view, axes, &view,
         output.block if direct else result.impl.block, left * reduced * type_table[type].bytes,
         count + (out is not None), func)
    if out is None:
        return result
    if not direct:
        _copy(engine, launch, result, output, func)
    return out


cdef int _run(const EngineTable* engine, const LaunchContext& launch, int reduction, const ReduceOptions* options,
              int type, Operand* operands, const DLTensor* mask, uint64_t axes, const DLTensor* out, Block* block,
              int64_t bytes, int count, str func) except -1:
    """Reduce operand 0 into `out`, whose memory `block` owns; `mask` is operand 1, broadcast, or NULL."""
    cdef EngineOperand x, where, target
    cdef const EngineOperand* only = NULL
    as_engine_operand(&operands[0], &x)
    target.tensor, target.block = out, block
    if mask != NULL:
        where.tensor, where.block = mask, operands[1].block
        only = &where
    _owners = hold_without_gil(operands, count) if bytes > KEEP_GIL_BYTES else None
    cdef PyThreadState* state = release_gil(launch, bytes)
    cdef Status status = engine.reduce(reduction, options[0], type, x, only, axes, target, launch)
    return finish(state, status, launch, func)


cdef int _copy(const EngineTable* engine, const LaunchContext& launch, Tensor result, Operand* out, str func) except -1:
    """Copy a result to an output of its dtype."""
    cdef EngineOperand x, target
    cdef CastOptions exactly
    read_owned(result, &x)
    as_engine_operand(out, &target)
    cdef Status status = engine.cast(x, target, exactly, launch)
    return finish(NULL, status, launch, func)


cdef int _check_mask(Operand* mask, const DLTensor* x, int64_t* strides, const ReductionRow* row,
                     const ReduceOptions* options, str func) except -1:
    if mask.number or mask.type != type_bool:
        got = type_table[mask.type].dtype if mask.number else mask.view.dtype
        raise TypeError(f"{func}: where must be a tensor of bool, got {dtype_of(got)}; compare it with 0")
    if row.empty[0] == 0 and options.initial == NULL:
        raise ValueError(f"{func}: where may leave no element, and the result of none is not defined; give initial")
    if not broadcast_strides(mask.view.ndim, mask.view.shape, mask.view.strides, x.ndim, x.shape, TRAILING, strides):
        raise ValueError(f"{func}: where has shape {as_tuple(mask.view.ndim, mask.view.shape)}, which does not "
                         f"broadcast to {as_tuple(x.ndim, x.shape)}")
    return 0


def rounded_sum(x, axes, dtype, str func):
    """Return the exact sum of a float64 tensor of ours along a tuple of axes, rounded once to another float dtype.
    """
    cdef Operand[1] operands
    cdef ReduceOptions options
    cdef DLDataType wanted = read_dtype(dtype, func)
    cdef PyObject* operand = <PyObject*>x
    cdef PyObject* used
    cdef DLDevice device
    options.saturate = options.keep = False
    options.correction = 0.0
    options.initial = NULL
    options.result = find_type(wanted)
    _owners = read_operands(&operand, 1, NULL, operands, &used, func)
    common_device(operands, 1, &device, func)
    return _reduce(reduction_sum, &options, operands[0].type, options.result, operands, 1, None,
                   _read_axes(axes, operands[0].view.ndim, False, func), False, device, func)


def dtype_of_statistic(elements, dtype):
    """Return the dtype of a mean, or of what is computed like one: `dtype`, or what the dtype of the elements leads to.

    >>> dtype_of_statistic(dl.int64, None), dtype_of_statistic(dl.int16, None)
    (dltensor.float64, dltensor.float32)
    """
    cdef int row = reduction_result(reduction_mean, find_type(read_dtype(elements, "mean")), False)
    if row < 0:
        raise TypeError(f"mean: {elements} has no arithmetic; convert with astype() first")
    if dtype is not None:
        row = find_type(read_dtype(dtype, "mean"))
        if row < 0 or row >= computed_types or type_table[row].kind != REAL:
            raise TypeError(f"mean: dtype must be a real float one, got {as_dtype(dtype)}; convert the result "
                            f"with astype()")
    elif _has_default_result(find_type(read_dtype(elements, "mean")), row):
        row = type_float64
    return dtype_of(type_table[row].dtype)


def computable(x, str func):
    """Return an operand as a tensor of ours, on the host or on a device that computes.
    """
    cdef Tensor t = read_array(x, func)
    check_device(t, func)
    return t


# -- the builtins -----------------------------------------------------------------------------------------------------

REDUCTIONS = {}


def _read_rows():
    """Fill REDUCTIONS from the compiled table."""
    takes = {"dtype": TAKES_DTYPE, "correction": TAKES_CORRECTION, "where": TAKES_WHERE, "initial": TAKES_INITIAL,
             "saturate": TAKES_SATURATE}
    for i in range(reduction_count):
        row = reduction_table[i]
        REDUCTIONS[_names[i]] = {"name": _names[i], "kinds": _kinds_of(i), "result": row.result.decode(),
                                 "empty": row.empty.decode(), "text": row.text.decode(), "doc": row.doc.decode(),
                                 "one_axis": bool(row.takes & TAKES_ONE_AXIS),
                                 "takes": [name for name, bit in takes.items() if row.takes & bit]}


_read_rows()
add_reductions(sys.modules[__name__], reduction_texts, reduce_any)
add_reduction_methods(Tensor, reduction_method_texts)
__all__ = list(REDUCTIONS)
