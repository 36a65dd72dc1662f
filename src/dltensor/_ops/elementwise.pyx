# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions: one builtin per row of ops.h, and the dispatch that they share. No loops here."""
import sys

from cpython.object cimport PyObject
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int64_t
from libc.string cimport memcpy


from .._core.native cimport (KEEP_GIL_BYTES, MAX_DIMS, REAL, SIGNED, TRUNCATE, UNSIGNED, Real, Scalar, Status,
                             allocate, computed_types, find_type, op_count, op_table, same_dims, same_dtype,
                             store_scalar, type_bfloat16, type_bool, type_float16, type_float32, type_float64,
                             type_table, work_bytes)
from .._core.op_numbers cimport (REAL_ADD, REAL_DIVIDE, REAL_FMA, REAL_MULTIPLY, REAL_RDIVIDE, REAL_RSUB, comparison_of,
                                 op_abs, op_add, op_clip, op_copysign, op_divide, op_fma, op_isfinite, op_isinf,
                                 op_isnan, op_logical_and, op_logical_not, op_logical_or, op_logical_xor, op_maximum,
                                 op_minimum, op_multiply, op_negative, op_positive, op_pow, op_sign, op_signbit,
                                 op_subtract)
from .arguments cimport (SAME_DTYPE, SAME_KIND, Operand, as_engine_operand, check_output, common_device, common_shape,
                         fill_operand, hold_without_gil, kind_order, narrow_float, order_as, promote_operands,
                         read_number, read_operands, read_tensor, store_number)
from .engine cimport (ElementCall, Engine, EngineOperand, EngineTable, LaunchContext, PyThreadState, Run, engine_at,
                      engine_of, finish, loaded_engine, release_gil, set_launch)
from .._core.scalars cimport RecordedNumber, integer_range, is_int, shown, store_exact
from .._core.default_dtype cimport default_real
from .._core.allocation cimport check_writable
from .._core.tensor cimport Tensor, new_empty, new_tensor, operations
from .._core.types cimport DLPACK_FLAG_BITMASK_READ_ONLY, DLDataType, DLDevice, DLTensor, dtype_of, kDLCPU, kDLCUDA


cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    ctypedef void (*loop_t)(void*, const void*, const void*, const void*, int64_t, unsigned) noexcept
    cppclass ExactComparison:
        int always
        int op
        Scalar value
    unsigned run_saturate
    int compute_type(int, int)
    int result_type(int, int)
    loop_t find_loop(int, int)
    loop_t find_saturating_loop(int, int)
    int comparison_type(int, int)
    int mirrored_comparison(int)
    ExactComparison exact_comparison(int, int, const Scalar&, int)

cdef extern from *:  # Cython's: the branch that the compiler lays out as the straight one
    bint likely(bint) noexcept nogil
    bint unlikely(bint) noexcept nogil

cdef extern from "_ops/builtins.h" namespace "dlt":
    ctypedef object (*Element)(int, bint, PyObject**, PyObject*, bint, PyObject*)
    ctypedef struct FunctionRow:
        const char* name
        int op
        bint swapped
    const FunctionRow function_rows[1]
    int function_count
    ctypedef object (*Rounded)(PyObject*, PyObject*, PyObject*)
    int add_functions(object, const char* const*, Element, Rounded) except -1

cdef extern from "operations_texts.h" namespace "dlt":
    const char* const operation_texts[1]

cdef enum:
    # So many are fastest in one plain loop on one thread; more goes to run(), which shares and streams.
    PLAIN_BYTES = 1 << 16


_KIND_NAMES = ("bool", "integers", "floats", "complex")
cdef list _names = [op_table[_i].name.decode() for _i in range(op_count)]


include "elementwise_fast.pxi"


# -- slow path --------------------------------------------------------------------------------------------------------

cdef object element(int op, bint swapped, PyObject** arguments, PyObject* out, bint saturate, PyObject* launch):
    cdef PyObject* turned[2]
    cdef int count = op_table[op].operands
    if swapped:
        turned[0] = arguments[1]
        turned[1] = arguments[0]
        arguments = turned
    if likely(not saturate and <object>launch is None):
        if unlikely(_is_elsewhere(<object>arguments[0]) or count > 1 and _is_elsewhere(<object>arguments[1])):
            result = _launch(op, arguments, count, <object>out)
        else:
            result = _own(op, arguments, count, <object>out)
        if likely(result is not None):
            return result
    return _converted(op, arguments, count, out, saturate, launch)


cdef object _converted(int op, PyObject** arguments, int count, PyObject* out, bint saturate, PyObject* launch):
    """The operation after its operands were read: a function of its own, because its frame is large."""
    cdef PyObject* used[4]
    cdef Operand[4] operands
    cdef PyObject* output = NULL
    func = _names[op]
    if <object>out is not None and type(<object>out) is not Tensor:
        output = out
    settings = None if <object>launch is None else _launch_settings(<object>launch, func)
    _owners = read_operands(arguments, count, output, operands, used, func)
    if op == op_pow and operands[1].number:
        _check_exponent(&operands[0], <object>used[1])
    if settings is None and output == NULL:
        result = _read(op, operands, used, count, <object>out, saturate)
        if result is not None:
            return result
    return _general(op, operands, used, <object>out, saturate, settings)


cdef int _check_exponent(const Operand* base, object exponent) except -1:
    """Refuse a negative integer as the exponent of integers: nearly every result would be 0."""
    if isinstance(exponent, RecordedNumber):
        (<RecordedNumber>exponent).refuse()
    if isinstance(exponent, int) and exponent < 0 and 0 <= base.type < computed_types and kind_order(base.type) < 2:
        raise ValueError(f"pow: integers to the power of {shown(exponent)} are fractions; give the exponent as a "
                         f"float, or convert the base with astype()")
    return 0


cdef Tensor _target(Operand* operands, int count, object out, int ndim, const int64_t* shape, int to, DLDevice device,
                    bint saturate, str func):
    """The operand that results go to, after the others: a new tensor, which is returned, or `out`, which was read."""
    cdef Operand* target = &operands[count]
    cdef Tensor result
    if out is None:
        result = new_empty(ndim, shape, type_table[to].dtype, device, func)
        order_as(operands, count, result)
        read_tensor(result, target)
        return result
    if type(out) is Tensor:
        read_tensor(<Tensor>out, target)
        check_writable(&target.view, target.flags, func, "out")
    check_output(&target.view, ndim, shape, type_table[to].dtype, device, SAME_DTYPE if saturate else SAME_KIND, func)
    return None


cdef bint _is_exact(int op) noexcept:
    """Test whether an operation compares or selects, so that floats without arithmetic have it."""
    return comparison_of(op) >= 0 or op in (op_abs, op_clip, op_copysign, op_isfinite, op_isinf, op_isnan,
                                            op_logical_and, op_logical_not, op_logical_or, op_logical_xor, op_maximum,
                                            op_minimum, op_negative, op_positive, op_sign, op_signbit)


cdef object _launch_settings(object launch, str func):
    from ..cuda._launch import settings_of
    return settings_of(launch, func)


cdef object _general(int op, Operand* operands, PyObject** arguments, object out, bint saturate, object settings):
    cdef int64_t shape[MAX_DIMS]
    cdef int count = op_table[op].operands, i, k, type, to, ndim, numbers = 0, narrow
    cdef DLDevice device
    cdef Operand* target = &operands[count]
    cdef Tensor result
    cdef LaunchContext launch
    cdef const EngineTable* engine
    func = _names[op]
    for i in range(count):
        numbers += operands[i].number
    common_device(operands, count, &device, func)
    engine = engine_at(device, &launch, func)
    if settings is not None:
        set_launch(&launch, settings)
    ndim = 0 if numbers == count else common_shape(operands, count, shape, func)
    narrow = narrow_float(operands, count) if _is_exact(op) and not saturate else -1
    if saturate:
        type = to = _saturated_type(op, operands, count, func)
    elif narrow >= 0:
        type, to = type_float32, narrow if result_type(op, type_float32) == type_float32 else type_bool
    elif count == 2 and numbers == 0 and comparison_of(op) >= 0:
        type = _compared_type(op, operands, func)
        to = type_bool
    else:
        type = _computed_type(op, promote_operands(operands, count, func), func)
        to = result_type(op, type)
        if count == 2 and numbers == 1 and comparison_of(op) >= 0:
            k = 0 if operands[0].number else 1
            if kind_order(operands[1 - k].type) != 2 or kind_order(operands[k].type) < 3:
                return _compare_exactly(op, operands, k, <object>arguments[k], ndim, shape, out, device, engine, launch,
                                        func)
    result = _target(operands, count, out, ndim, shape, to, device, saturate, func)
    if saturate and _needs_real(operands, count, type, arguments):
        _run_real(engine, launch, op, operands, count, arguments, target, func)
    else:
        for i in range(count):
            if operands[i].number:
                _store_operand(op, i, <object>arguments[i], &operands[i], type)
        _run(engine, launch, op, saturate, type, operands, count, target, func)
    return result if out is None else out


_LARGEST = int(sys.float_info.max)


cdef int _store_operand(int op, int i, object x, Operand* out, int type) except -1:
    """Make a number an element. A bound of `clip` outside the dtype is the end of its range, which limits as much."""
    if op == op_clip and i > 0 and isinstance(x, int):
        if type_table[type].kind == SIGNED or type_table[type].kind == UNSIGNED:
            low, high = integer_range(type_table[type].kind == SIGNED, type_table[type].dtype.bits)
            x = low if x < low else high if x > high else x
        elif not -_LARGEST <= x <= _LARGEST:
            x = float("inf") if x > 0 else -float("inf")
    return store_number(x, out, type, _names[op])


cdef int _computed_type(int op, int type, str func) except -1:
    """The dtype that an operation computes in, for operands that meet in `type`."""
    cdef int computed = compute_type(op, type)
    if computed < 0:
        raise TypeError(f"{func}: not defined for {type_table[type].name.decode()}; it takes "
                        f"{', '.join(_kinds_of(op))}")
    return computed if computed == type else default_real()  # a function of floats, of integers


cdef int _compared_type(int op, Operand* operands, str func) except -2:
    """The dtype in which two tensors are compared by value; -1 where none holds the values of both."""
    cdef int a = operands[0].type, b = operands[1].type
    if not (0 <= a < computed_types and 0 <= b < computed_types):
        promote_operands(operands, 2, func)  # raises the error
    _computed_type(op, a if kind_order(a) > kind_order(b) else b, func)
    return comparison_type(a, b)


cdef int _run(const EngineTable* engine, const LaunchContext& launch, int op, bint saturate, int type,
              Operand* operands, int count, Operand* target, str func) except -1:
    cdef EngineOperand inputs[3]
    cdef EngineOperand out
    cdef ElementCall call
    cdef int i
    cdef int64_t bytes = work_bytes(target.view.ndim, target.view.shape, 8 if type < 0 else type_table[type].bytes)
    call.op, call.saturate, call.type = op, saturate, type
    call.saturating = op_table[op].saturating
    for i in range(count):
        as_engine_operand(&operands[i], &inputs[i])
    as_engine_operand(target, &out)
    _owners = None if bytes <= KEEP_GIL_BYTES else (hold_without_gil(operands, count), hold_without_gil(target, 1))
    cdef PyThreadState* state = release_gil(launch, bytes)
    cdef Status status = engine.element(call, inputs, count, out, launch)
    return finish(state, status, launch, func)


# -- comparison with a number -----------------------------------------------------------------------------------------

cdef object _compare_exactly(int op, Operand* operands, int k, object number, int ndim, const int64_t* shape,
                             object out, DLDevice device, const EngineTable* engine, const LaunchContext& launch,
                             str func):
    """Compare a tensor with a number, operand `k`, by exact value, which promotion could not keep."""
    cdef Scalar value
    cdef ExactComparison plan
    cdef Operand* scalar = &operands[k]
    cdef Operand* tensor = &operands[1 - k]
    cdef Operand* target = &operands[2]
    cdef Operand[2] both
    cdef Tensor result
    cdef int rest = 0
    read_number(number, &value, func)
    if value.kind == REAL and isinstance(number, int):  # an integer of more than 64 bits
        rest = (number > value.re) - (number < value.re)
    plan = exact_comparison(mirrored_comparison(op) if k == 0 else op, tensor.type, value, rest)
    result = _target(operands, 2, out, ndim, shape, type_bool, device, False, func)
    if plan.always >= 0:
        value.kind = UNSIGNED
        value.u = plan.always
        store_scalar(scalar.element, 0, target.view.dtype, True, value, TRUNCATE, False)
        fill_operand(engine, launch, scalar.element, target, func)
    else:
        store_scalar(scalar.element, 0, type_table[tensor.type].dtype, True, plan.value, TRUNCATE, False)
        scalar.type = tensor.type
        if k == 0:
            both[0] = tensor[0]
            both[1] = scalar[0]
            _run(engine, launch, plan.op, False, tensor.type, both, 2, target, func)
        else:
            _run(engine, launch, plan.op, False, tensor.type, operands, 2, target, func)
    return result if out is None else out


cdef list _kinds_of(int op):
    """Names of the kinds of dtype that an operation takes."""
    return [_KIND_NAMES[bit] for bit in range(4) if op_table[op].kinds >> bit & 1]


include "saturating.pxi"


cdef object _rounded(PyObject* x, PyObject* decimals, PyObject* out):
    """``round(x, decimals, out)``."""
    from .rounding import round_to
    return round_to(<object>x, <object>decimals, <object>out)


# -- the builtins -----------------------------------------------------------------------------------------------------

OPS = {}


def _read_rows():
    """Fill OPS from the compiled table."""
    for i in range(function_count):
        # Not another string than the name in a caller's code: without a GIL, looking such a name up locks.
        name, op = sys.intern(function_rows[i].name.decode()), function_rows[i].op
        row = op_table[op]
        OPS[name] = {"name": name, "row": row.name.decode(), "operands": row.operands, "kinds": _kinds_of(op),
                     "result": row.result_name.decode(), "symbol": row.symbol.decode(), "text": row.text.decode(),
                     "doc": row.doc.decode(), "saturating": row.saturating >= 0,
                     "swapped": bool(function_rows[i].swapped)}


_read_rows()
add_functions(sys.modules[__name__], operation_texts, element, _rounded)
operations.element = element
# clip of the array API may have one bound or none: it is in _casts, on top of this row.
__all__ = [name for name in OPS if name != "clip"]
