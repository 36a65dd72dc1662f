# SPDX-License-Identifier: Apache-2.0
"""Fused functions: a function is recorded once for each kind of its arguments, and its steps run together after that.

Recording is done by an engine that computes nothing, on tensors of a device of its own: native/cpu/program/recorder.h.
"""
from functools import update_wrapper
from inspect import signature
from types import BuiltinFunctionType, FunctionType, MethodType

from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from .._core.convert cimport view_any
from .._core.default_dtype cimport default_real
from .._core.native cimport (Block, Status, allocate, find_type, is_contiguous, same_dtype,
                             type_complex64, type_float32, type_int64, type_table, work_bytes)
from .._core.scalars cimport RecordedNumber, store_exact
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, new_empty, new_tensor
from .._core.types cimport DLDevice, DLTensor, kDLCPU, kDLCUDA, kDLCUDAManaged, kDLExtDev
from .arguments cimport SAME_KIND, Operand, deliver, order_as, read_output, read_owned, read_tensor, store_number
from .engine cimport (EngineOperand, LaunchContext, PyThreadState, computing_device, device_engine_at, finish,
                      is_same_place, release_gil)

from .._core.types import Device, DeviceError, DType

cdef extern from "native/cpu/program/program.h" namespace "dlt" nogil:
    enum: most_axes
    cppclass ProgramOperand:
        int value
        int ndim
    enum Origin "dlt::Origin":
        ORIGIN_ARGUMENT "dlt::Origin::argument"
        ORIGIN_NUMBER "dlt::Origin::number"
        ORIGIN_CONSTANT "dlt::Origin::constant"
    enum StepKind "dlt::StepKind":
        STEP_ELEMENT "dlt::StepKind::element"
        STEP_REAL "dlt::StepKind::real"
        STEP_CAST "dlt::StepKind::cast"
        STEP_CHOOSE "dlt::StepKind::choose"
        STEP_REDUCE "dlt::StepKind::reduce"
    cppclass ProgramValue:
        Origin origin
        int index
        int type
        int ndim
        unsigned char* element
    cppclass ProgramStep:
        StepKind kind
        int op
        int type
        bint saturate
        int inputs
        ProgramOperand* ins "in"
        int out
        unsigned long long axes
    cppclass ProgramGroup:
        int first
        int last
    cppclass Program:
        vector[ProgramValue] values
        vector[ProgramStep] steps
        vector[ProgramOperand] results
        vector[ProgramGroup] together
        vector[int] number_of
        vector[int] small
        int small_kept
        signed char* small_result
        int arguments
        int numbers
        bint fixed
    bint plan_program(Program*)
    bint same_program(const Program&, const Program&)
    bint run_small(const Program&, const void**, const void**, void**, int64_t, int64_t)
    bint shape_results(const Program&, const DLTensor*, int64_t (*)[8])
    Status run_program(const Program&, const DLTensor*, const void**, const DLTensor*, cbool*)

cdef extern from "native/cuda/program/program.h" namespace "dlt::cuda" nogil:
    Status run_on_device "dlt::cuda::run_program"(const Program&, const EngineOperand*, const void**,
                                                  const EngineOperand*, const LaunchContext&, cbool*)

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    enum Overlap "dlt::Overlap":
        OVERLAP_NONE "dlt::Overlap::none"
    Overlap overlap(const DLTensor&, const DLTensor&)

cdef extern from "native/cpu/program/recorder.h" namespace "dlt" nogil:
    bint start_recording(Program*)
    void end_recording()
    bint is_recording()
    bint was_refused()
    int unclear_number()
    void record_argument(const DLTensor&, Block*)
    bint record_result(const DLTensor&, const Block*)

cdef extern from "native/cpu/reduce/reduce.h" namespace "dlt" nogil:
    ctypedef struct ReductionRow:
        const char* name
    const ReductionRow reduction_table[1]

cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    ctypedef struct OpRow:
        const char* name
    const OpRow op_table[1]

cdef enum:
    MOST_ARGUMENTS = 16
    MOST_PLANS = 32
    MOST_NUMBERS = 64  # that steps take

cdef enum Kind:
    TENSOR
    NUMBER  # an operand: another value needs no other plan
    FIXED   # any other object, and a number whose value the function has read


# One argument of a call.
cdef struct Argument:
    Kind kind
    int type     # of elements, or the default one of a number's kind
    int ndim
    PyObject* object


cdef class _Plan:
    """The program that was recorded for arguments of some kinds."""
    cdef Program program
    cdef Argument arguments[MOST_ARGUMENTS]
    cdef int count
    cdef list fixed    # by argument: the object that it was, frozen, or None
    cdef list constants
    cdef int default   # the dtype of functions of integers
    cdef list layouts  # by argument: shape and strides where the program holds for no others
    cdef list results  # numbers of results, or of arguments as ~k; one more of them for each tensor that is returned
    cdef object kind   # of the sequence that is returned, None for one tensor


cdef object _frozen(object x, str func):
    """An argument that is no tensor as it is now: sequences and dictionaries copied. TypeError for what may change."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)([_frozen(item, func) for item in x])
    if type(x) is dict:
        return {key: _frozen(item, func) for key, item in x.items()}
    if isinstance(x, _CONSTANT):
        return x
    raise TypeError(f"{func}: an argument of type {type(x).__qualname__} may change between calls of a fused function; "
                    f"pass the tensors and numbers that it has")


cdef bint _same_fixed(object a, object b) except -1:
    """Test whether an argument is the frozen one `a` to a function: numbers by type and sign too."""
    if type(a) is not type(b):
        return False
    if a is b:
        return True
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all([_same_fixed(one, other) for one, other in zip(a, b)])
    if type(a) is dict:
        return list(a) == list(b) and all([_same_fixed(one, b[key]) for key, one in a.items()])
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else bool(a == b)


cdef list _constants_of(object function):
    """The numbers and texts from outside that a function names: each its dictionary or cell, its name and its value."""
    cdef list found = []
    code = getattr(function, "__code__", None)
    names = getattr(function, "__globals__", None)
    if code is None or names is None:
        return found
    for name in code.co_names:
        if name in names and isinstance(names[name], (int, float, complex, str, tuple)):
            found.append((names, name, names[name]))
    for cell in function.__closure__ or ():
        try:
            if isinstance(cell.cell_contents, (int, float, complex, str, tuple)):
                found.append((cell, None, cell.cell_contents))
        except ValueError:  # it is empty yet
            pass
    return found


cdef bint _holds(_Plan plan) except -1:
    """Test whether the constants and the default dtype are those that the program was recorded with."""
    if plan.default != default_real():
        return False
    for place, name, value in plan.constants:
        now = place.cell_contents if name is None else place.get(name)
        if now is not value and not (type(now) is type(value) and repr(now) == repr(value)):
            return False
    return True


cdef bint _fits(_Plan plan, const Argument* arguments, int count) except -1:
    """Test whether a plan is for arguments like these."""
    cdef int i
    cdef const Argument* own
    cdef Tensor t
    if plan.count != count or not _holds(plan):
        return False
    for i in range(count):
        own = &plan.arguments[i]
        if own.kind == FIXED:
            if arguments[i].kind == TENSOR or not _same_fixed(plan.fixed[i], <object>arguments[i].object):
                return False
        elif own.kind != arguments[i].kind or own.type != arguments[i].type or own.ndim != arguments[i].ndim:
            return False
        elif own.kind == TENSOR:
            t = <Tensor>arguments[i].object
            if plan.program.fixed:
                if plan.layouts[i] != _layout(t):
                    return False
            elif _has_unit(t):
                return False  # broadcast where the recorded one was not
    return True


cdef tuple _layout(Tensor t):
    return as_tuple(t.impl.dl.ndim, t.impl.dl.shape), as_tuple(t.impl.dl.ndim, t.impl.dl.strides)


cdef inline bint _has_unit(Tensor t) noexcept:
    cdef int d
    for d in range(t.impl.dl.ndim):
        if t.impl.dl.shape[d] < 2:
            return True
    return False


cdef class FusedFunction:
    """A function of tensors whose steps run together, block by block, with the same results. See `fuse`."""
    cdef object function
    cdef list plans
    cdef _Plan last  # the plan of the last call, if it may be `_quick`
    cdef bint checks
    cdef str name
    cdef object parameters
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, function, bint check):
        self.function = function
        self.checks = check
        self.plans = []
        self.parameters = None
        update_wrapper(self, function)
        self.name = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args, out=None, **keywords):
        cdef Argument arguments[MOST_ARGUMENTS]
        cdef int count
        cdef DLDevice device
        cdef bint elsewhere = False
        if keywords:
            args = self._bound(args, keywords)
        elif out is None and self.last is not None:
            result = _quick(self.last, args)
            if result is not None:
                if self.checks:
                    _compare(result, self.function(*args), self.name)
                return result
        count = <int>len(args)
        cdef list held = _read(args, arguments, &device, &elsewhere)
        if held is None or elsewhere or is_recording():
            return self._stepwise(args, out)
        try:
            plan = self._plan(args, arguments, count)
        except Exception as error:
            if device.device_type == kDLCPU or error.__cause__ is not None:  # a refusal; steps have errors of their own
                raise
            return self._stepwise(args, out)
        self.last = None if plan.program.small.size() == 0 else plan
        result = _run(plan, arguments, device, out, self.name)
        if result is None:
            return self._stepwise(args, out)
        if self.checks:
            _compare(result, self.function(*args), self.name)
        return result

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self):
        return getattr(self, "__qualname__", self.name)

    def __repr__(self):
        return f"<fused function {getattr(self, '__qualname__', self.name)}>"

    def plan(self, *args, **keywords):
        """Return the steps for arguments like these as text, one line for each; see `fuse`."""
        cdef Argument arguments[MOST_ARGUMENTS]
        cdef DLDevice device
        cdef bint elsewhere = False
        if keywords:
            args = self._bound(args, keywords)
        cdef list held = _read(args, arguments, &device, &elsewhere)
        if held is None:
            raise TypeError(f"{self.name}: a fused function takes at most {MOST_ARGUMENTS} arguments")
        return _text(self._plan(args, arguments, <int>len(args)))

    cdef tuple _bound(self, tuple args, dict keywords):
        if self.parameters is None:
            self.parameters = signature(self.function)
        bound = self.parameters.bind(*args, **keywords)
        if bound.kwargs:
            raise TypeError(f"{self.name}: parameters that are taken by keyword alone cannot be fused")
        return bound.args

    cdef object _stepwise(self, tuple args, object out):
        """The function itself: its steps one by one."""
        result = self.function(*args)
        if out is None:
            return result
        if type(result) is not Tensor:
            raise TypeError(f"{self.name}: out takes the result of a function that returns one tensor")
        return deliver(result, read_output(out, result, (<Tensor>result).impl.dl.ndim, (<Tensor>result).impl.dl.shape,
                                           (<Tensor>result).impl.dl.dtype, SAME_KIND, self.name), out,
                       self.name)

    cdef _Plan _plan(self, tuple args, const Argument* arguments, int count):
        cdef _Plan plan
        cdef list plans = self.plans
        for plan in plans:
            if _fits(plan, arguments, count):
                return plan
        plan = _record(self.function, args, arguments, count, self.name)
        self.plans = [plan, *plans[:MOST_PLANS - 1]]
        return plan


# Objects that stay as they are, so that a recording may hold for them.
_CONSTANT = (bool, int, float, complex, str, bytes, type(None), type(...), slice, type, DType, Device, FunctionType,
             BuiltinFunctionType, FusedFunction)


cdef list _read(tuple args, Argument* arguments, DLDevice* device, bint* elsewhere):
    """Read arguments and their device; returns what must be held while in use, None where they are too many."""
    cdef Argument* to
    cdef Tensor t
    cdef int i = 0
    cdef bint first = True
    device.device_type, device.device_id = kDLCPU, 0
    cdef list held = []
    if len(args) > MOST_ARGUMENTS:
        return None
    for x in args:
        to = &arguments[i]
        i += 1
        to.ndim = 0
        to.type = -1
        to.object = <PyObject*>x
        if type(x) is Tensor:
            t = <Tensor>x
        elif PyFloat_CheckExact(x) or PyLong_CheckExact(x) or type(x) is complex:
            to.kind = NUMBER
            to.type = type_float32 if PyFloat_CheckExact(x) else type_int64 if PyLong_CheckExact(x) else type_complex64
            continue
        elif x is None or isinstance(x, (bool, int, float, complex, str, list, tuple, dict, type)):
            to.kind = FIXED
            continue
        else:
            t = view_any(x, None, "fuse")
            if t is None:
                to.kind = FIXED
                continue
            held.append(t)
            to.object = <PyObject*>t
        to.kind = TENSOR
        to.type = find_type(t.impl.dl.dtype)
        to.ndim = t.impl.dl.ndim
        if first:
            device[0], first = _device_of(t), False
            elsewhere[0] = device.device_type not in (kDLCPU, kDLCUDA)
        elsewhere[0] |= (not is_same_place(device[0], _device_of(t)) or to.type < 0 or to.ndim > most_axes or
                         t.impl.dl.dtype.bits < 8)
    return held


cdef inline DLDevice _device_of(Tensor t) noexcept:
    """The device that computes: pinned memory of the host is none."""
    return computing_device(t.impl.dl.device) if t.impl.dl.device.device_type == kDLCUDAManaged else t.impl.dl.device


# -- recording --------------------------------------------------------------------------------------------------------

cdef _Plan _record(object function, tuple args, const Argument* arguments, int count, str func):
    """Record the function with its numbers as operands, but for those that it reads: these are constants."""
    cdef int i
    cdef set fixed = set(), every = {i for i in range(count) if arguments[i].kind == NUMBER}, read
    cdef _Plan plan, constant
    while fixed != every:
        read = set()
        try:
            plan = _recorded(function, args, arguments, count, fixed, read, func)
        except Exception:
            fixed = fixed | read if read - fixed else every
            continue
        if read:  # and it caught the error
            fixed = fixed | read
            continue
        constant = _recorded(function, args, arguments, count, every, set(), func)
        if same_program(plan.program, constant.program):
            return _planned(plan, func)
        return _planned(constant, func)  # it has read a number in a way that is not seen
    return _planned(_recorded(function, args, arguments, count, every, set(), func), func)


cdef _Plan _planned(_Plan plan, str func):
    if not plan_program(&plan.program):
        raise TypeError(f"{func}: the function has too many steps to be fused; divide it")
    return plan


cdef _Plan _recorded(object function, tuple args, const Argument* arguments, int count, set fixed, set read, str func):
    """Record the function; `fixed` are the numbers that are constants, and `read` gets others whose values it reads."""
    cdef _Plan plan = _Plan()
    cdef int i
    cdef list stand_ins = []
    plan.count = count
    plan.fixed, plan.layouts, plan.results = [None] * count, [None] * count, []
    plan.constants, plan.default = _constants_of(function), default_real()
    if not start_recording(&plan.program):
        raise MemoryError(f"{func}: no memory left to record the function")
    try:
        for i in range(count):
            plan.arguments[i] = arguments[i]
            plan.arguments[i].object = NULL
            if arguments[i].kind == TENSOR:
                plan.layouts[i] = _layout(<Tensor>arguments[i].object)
                stand_ins.append(_stand_in(<Tensor>arguments[i].object))
            elif arguments[i].kind == NUMBER and i not in fixed:
                stand_ins.append(RecordedNumber(args[i], i, read))
            else:
                plan.arguments[i].kind = FIXED
                plan.fixed[i] = _frozen(args[i], func)
                stand_ins.append(args[i])
        try:
            _take_results(plan, function(*stand_ins), stand_ins, func)
            if unclear_number() >= 0:
                read.add(unclear_number())
        except Exception as error:
            if was_refused() or isinstance(error, DeviceError) or "ext_dev" in str(error):
                raise TypeError(_refusal(function, error, func)) from error
            raise
    finally:
        end_recording()
    return plan


cdef Tensor _stand_in(Tensor x):
    """A tensor of the same layout without elements, on the device of recordings."""
    cdef Tensor t = new_tensor(x.impl.dl.ndim)
    cdef int d
    t.impl.block = allocate(64)
    if t.impl.block == NULL:
        raise MemoryError("fuse: no memory left to record the function")
    t.impl.dl.data = t.impl.block.data
    t.impl.dl.dtype = x.impl.dl.dtype
    t.impl.dl.device.device_type = kDLExtDev
    t.impl.dl.device.device_id = 0
    for d in range(x.impl.dl.ndim):
        t.impl.dl.shape[d] = x.impl.dl.shape[d]
        t.impl.dl.strides[d] = x.impl.dl.strides[d]
    record_argument(t.impl.dl, t.impl.block)
    return t


cdef int _take_results(_Plan plan, object returned, list stand_ins, str func) except -1:
    cdef list seen = []
    if type(returned) in (tuple, list):
        plan.kind = type(returned)
    for x in (returned if plan.kind is not None else (returned,)):
        for k, other in seen:
            if x is other:
                plan.results.append(k)
                break
        else:
            plan.results.append(_take_result(plan, x, stand_ins, func))
            seen.append((plan.results[-1], x))
    return 0


cdef int _take_result(_Plan plan, object x, list stand_ins, str func) except? -1:
    """The number of a result, or that of an argument as ~k."""
    cdef Tensor t
    for i, argument in enumerate(stand_ins):
        if x is argument and type(x) is Tensor:
            return ~i
    if type(x) is not Tensor:
        raise TypeError(f"{func}: a fused function returns tensors, got {type(x).__qualname__}")
    t = <Tensor>x
    if t.impl.dl.device.device_type != kDLExtDev:
        raise TypeError(f"{func}: a fused function returns what it computes of its arguments; this result is a tensor "
                        f"of its own")
    if not record_result(t.impl.dl, t.impl.block):
        raise TypeError(f"{func}: a fused function returns what it computes, in the shape of the last step; take views "
                        f"of its result")
    return <int>plan.program.results.size() - 1


cdef str _refusal(object function, object error, str func):
    """The message of an error that only recording brings, with the line of the function."""
    code, line, trace = getattr(function, "__code__", None), 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {line} of {code.co_filename}" if line else "the function"
    reason = str(error).removeprefix(f"{func}: ")
    if "ext_dev" in reason and not was_refused():
        reason = ("it reads values, or computes with a tensor that is no argument; use where() for conditions, and "
                  "pass tensors as arguments")
    return f"{func}: {where} cannot be fused: {reason}"


# -- running ----------------------------------------------------------------------------------------------------------

cdef object _run(_Plan plan, const Argument* arguments, DLDevice device, object out, str func):
    """The results; None where the steps must run one by one."""
    cdef DLTensor views[MOST_ARGUMENTS]
    cdef DLTensor targets[MOST_ARGUMENTS]
    cdef EngineOperand on_device[MOST_ARGUMENTS]
    cdef EngineOperand to_device[MOST_ARGUMENTS]
    cdef int64_t shapes[MOST_ARGUMENTS][8]
    cdef Operand operands[MOST_ARGUMENTS]
    cdef double numbers[MOST_NUMBERS][2]
    cdef const void* elements[MOST_NUMBERS]
    cdef int i, k, count = 0, results = <int>plan.program.results.size()
    cdef bint in_order = True
    cdef cbool ran = False
    cdef int64_t work = 0
    cdef bint direct
    cdef LaunchContext launch
    cdef Tensor t = None, target = None
    cdef list tensors = [], returned = []
    if results > MOST_ARGUMENTS or plan.program.numbers > MOST_NUMBERS:
        return None
    for i in range(plan.count):
        if plan.arguments[i].kind != TENSOR:
            continue
        t = <Tensor>arguments[i].object
        views[count] = t.impl.dl
        read_owned(t, &on_device[count])
        in_order = in_order and is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides)
        count += 1
        work += work_bytes(t.impl.dl.ndim, t.impl.dl.shape, 8)
    if plan.program.numbers > 0 and not _store_numbers(plan, arguments, numbers, elements, func):
        return None
    if not shape_results(plan.program, views, shapes):
        return None
    if not in_order:
        for i in range(plan.count):
            if plan.arguments[i].kind == TENSOR:
                read_tensor(<Tensor>arguments[i].object, &operands[i])
            else:
                operands[i].number = True
    for k in range(results):
        i = plan.program.results[k].value
        t = new_empty(plan.program.results[k].ndim, shapes[k], type_table[plan.program.values[i].type].dtype,
                      device, func)
        if not in_order:
            order_as(operands, plan.count, t)
        tensors.append(t)
        targets[k] = t.impl.dl
        read_owned(t, &to_device[k])
        work += work_bytes(t.impl.dl.ndim, t.impl.dl.shape, 8)
    if out is not None:
        if plan.kind is not None or plan.results != [0]:
            raise TypeError(f"{func}: out takes the result of a function that returns one tensor it computes")
        target = read_output(out, t, t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.dtype, SAME_KIND, func)
        direct = same_dtype(target.impl.dl.dtype, t.impl.dl.dtype)
        for i in range(count):
            direct = direct and overlap(target.impl.dl, views[i]) == OVERLAP_NONE
        if direct:
            t = target
            targets[0] = t.impl.dl
            read_owned(t, &to_device[0])
    if device.device_type != kDLCPU:
        device_engine_at(device, &launch, func)
    cdef PyThreadState* state = release_gil(launch, work)
    cdef Status status
    if device.device_type == kDLCPU:
        status = run_program(plan.program, views, elements, targets, &ran)
    else:
        status = run_on_device(plan.program, on_device, elements, to_device, launch, &ran)
    finish(state, status, launch, func)
    if not ran:
        return None
    if out is not None:
        return deliver(t, target, out, func)
    for k in plan.results:
        returned.append(tensors[k] if k >= 0 else <object>arguments[~k].object)
    return returned[0] if plan.kind is None else plan.kind(returned)


cdef object _quick(_Plan plan, tuple args):
    """The result of few elements of our tensors of one shape in C order, and numbers; None where it is more to do."""
    cdef const DLTensor* first = NULL
    cdef const DLTensor* view
    cdef const void* data[MOST_ARGUMENTS]
    cdef void* targets[MOST_ARGUMENTS]
    cdef double numbers[MOST_NUMBERS][2]
    cdef const void* elements[MOST_NUMBERS]
    cdef int i, d, count = 0
    cdef int64_t size = 1
    cdef int64_t count_of_result = 1, rows = 1
    cdef int v
    cdef Tensor result
    if <int>len(args) != plan.count or plan.kind is not None or plan.program.results.size() != 1:
        return None
    if not _holds(plan):
        return None
    for i in range(plan.count):
        x = <object>PyTuple_GET_ITEM(args, i)
        if plan.arguments[i].kind == NUMBER:
            if not (PyFloat_CheckExact(x) if plan.arguments[i].type == type_float32 else PyLong_CheckExact(x)):
                return None
            continue
        if plan.arguments[i].kind == FIXED:
            if not _same_fixed(plan.fixed[i], x):
                return None
            continue
        if type(x) is not Tensor:
            return None
        view = &(<Tensor>x).impl.dl
        if (view.device.device_type != kDLCPU or view.ndim != plan.arguments[i].ndim or
                find_type(view.dtype) != plan.arguments[i].type):
            return None
        if first == NULL:
            first = view
            for d in range(view.ndim - 1, -1, -1):
                if view.strides[d] != size:
                    return None
                size *= view.shape[d]
        else:
            if view.ndim != first.ndim:
                return None
            for d in range(view.ndim):
                if view.shape[d] != first.shape[d] or view.strides[d] != first.strides[d]:
                    return None
        data[count] = view.data
        count += 1
    if first == NULL or plan.program.numbers > MOST_NUMBERS or size > 1024:
        return None
    if plan.program.numbers > 0:
        for v in range(<int>plan.program.values.size()):
            if plan.program.values[v].origin == ORIGIN_NUMBER:
                d = plan.program.values[v].index
                i = plan.program.number_of[d]
                if not store_exact(<object>PyTuple_GET_ITEM(args, i), plan.program.values[v].type, numbers[d]):
                    return None
                elements[d] = numbers[d]
    i = plan.program.values[plan.program.results[0].value].type
    result = new_tensor(plan.program.results[0].ndim)
    for d in range(result.impl.dl.ndim - 1, -1, -1):
        v = plan.program.small_result[d]
        result.impl.dl.shape[d] = 1 if v < 0 else first.shape[v]
        result.impl.dl.strides[d] = count_of_result
        count_of_result *= result.impl.dl.shape[d]
    result.impl.block = allocate(count_of_result * type_table[i].bytes)
    if result.impl.block == NULL:
        return None
    result.impl.dl.data = result.impl.block.data
    result.impl.dl.dtype = type_table[i].dtype
    result.impl.dl.device = first.device
    targets[0] = result.impl.dl.data
    for d in range(plan.program.small_kept):
        rows *= first.shape[d]
    return result if run_small(plan.program, data, elements, targets, rows, size // rows if rows > 0 else 0) else None


cdef bint _store_numbers(_Plan plan, const Argument* arguments, double (*numbers)[2], const void** elements,
                         str func) except -1:
    """Make the numbers of a call elements of the dtypes that the steps take them in; False where one is outside."""
    cdef Operand number
    cdef int i
    cdef int v
    for v in range(<int>plan.program.values.size()):
        if plan.program.values[v].origin != ORIGIN_NUMBER:
            continue
        i = plan.program.values[v].index
        try:
            store_number(<object>arguments[plan.program.number_of[i]].object, &number, plan.program.values[v].type,
                         func)
        except OverflowError:
            return False
        memcpy(numbers[i], number.element, type_table[plan.program.values[v].type].bytes)
        elements[i] = numbers[i]
    return True


# -- plans as text, and their check -----------------------------------------------------------------------------------

cdef str _value_text(_Plan plan, int v):
    cdef const ProgramValue* value = &plan.program.values[v]
    if value.origin == ORIGIN_ARGUMENT:
        return f"argument {_place(plan, value.index)}"
    if value.origin == ORIGIN_NUMBER:
        return f"number {plan.program.number_of[value.index]}"
    if value.origin == ORIGIN_CONSTANT:
        t = new_empty(0, NULL, type_table[value.type].dtype, DLDevice(kDLCPU, 0), "plan")
        memcpy((<Tensor>t).impl.dl.data, value.element, type_table[value.type].bytes)
        return repr(t.item())
    return f"%{v}"


cdef int _place(_Plan plan, int number):
    """The place among all arguments of a tensor."""
    cdef int i
    for i in range(plan.count):
        if plan.arguments[i].kind == TENSOR:
            if number == 0:
                return i
            number -= 1
    return -1


cdef str _step_text(_Plan plan, const ProgramStep* step):
    cdef int k
    operands = ", ".join([_value_text(plan, step.ins[k].value) for k in range(step.inputs)])
    name = "where"
    if step.kind == STEP_ELEMENT:
        name = op_table[step.op].name.decode()
    elif step.kind == STEP_REDUCE:
        name = reduction_table[step.op].name.decode()
        operands += f", axis={tuple([d for d in range(64) if step.axes >> d & 1])}"
    elif step.kind == STEP_CAST:
        name = "cast"
    elif step.kind == STEP_REAL:
        name = "saturating " + ("add", "rsub", "multiply", "divide", "rdivide", "fma")[step.op]
    dtype = type_table[plan.program.values[step.out].type].name.decode()
    return f"%{step.out} = {name}({operands}): {dtype}" + (", saturating" if step.saturate else "")


cdef str _text(_Plan plan):
    cdef int g, s
    cdef list lines = []
    for g in range(<int>plan.program.together.size()):
        lines.append(f"pass {g + 1}:")
        for s in range(plan.program.together[g].first, plan.program.together[g].last):
            lines.append("    " + _step_text(plan, &plan.program.steps[s]))
    returned = [f"argument {~k}" if k < 0 else _value_text(plan, plan.program.results[<int>k].value)
                for k in plan.results]
    lines.append("return " + ", ".join(returned))
    if plan.program.fixed:
        lines.append("for these shapes and strides alone")
    return "\n".join(lines)


cdef bytes _bits(Tensor t):
    """The elements as bytes; all NaNs are alike, since their signs and payloads are no result."""
    from .casting import where
    from .dtypes import isdtype
    from .elementwise import imag, isnan, real
    if isdtype(t.dtype, "complex floating"):
        return _bits(real(t)) + _bits(imag(t))
    return where(isnan(t), float("nan"), t).tobytes() if isdtype(t.dtype, "real floating") else t.tobytes()


cdef int _compare(object result, object expected, str func) except -1:
    """Raise RuntimeError where the bits of a fused function are not those of its steps."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    for i, (own, other) in enumerate(zip(results, expected if isinstance(expected, (tuple, list)) else (expected,))):
        if own.shape != other.shape or own.dtype != other.dtype or _bits(own) != _bits(other):
            raise RuntimeError(f"fuse: result {i} of {func} differs from that of its steps; please report "
                               f"this with the text of plan()")
    return 0
