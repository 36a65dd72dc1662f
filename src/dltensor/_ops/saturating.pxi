# SPDX-License-Identifier: Apache-2.0
# saturate=True: which dtype is kept, and numbers that are no element of it. Part of elementwise.pyx; no builtins here.

cdef int _saturated_type(int op, Operand* operands, int count, str func) except -1:
    """With saturation all tensors share one dtype; fma also takes signed factors to an unsigned sum."""
    cdef int i, type = -1
    for i in range(count):
        if operands[i].number:
            continue
        if operands[i].type < 0 or operands[i].type >= computed_types:
            raise TypeError(f"{func}: {dtype_of(operands[i].view.dtype)} has no arithmetic; convert with "
                            f"astype() first")
        if type >= 0 and operands[i].type != type:
            if (op == op_fma and i == 2 and type_table[type].kind == SIGNED and
                    type_table[operands[i].type].kind == UNSIGNED and
                    type_table[type].bytes == type_table[operands[i].type].bytes):
                return operands[i].type
            raise TypeError(f"{func}: with saturate=True all tensors share one dtype, got "
                            f"{type_table[type].name.decode()} and {type_table[operands[i].type].name.decode()}; "
                            f"cast() one")
        type = operands[i].type
    if type < 0:
        raise TypeError(f"{func}: saturate=True needs a tensor, whose dtype it keeps")
    return type


cdef bint _needs_real(Operand* operands, int count, int type, PyObject** values):
    """Test whether a number is not an integer of the dtype, so that the exact real result must be rounded."""
    cdef int i
    cdef DLDataType dtype = type_table[type].dtype
    if type_table[type].kind != SIGNED and type_table[type].kind != UNSIGNED:
        return False
    low, high = integer_range(type_table[type].kind == SIGNED, dtype.bits)
    for i in range(count):
        if operands[i].number and not (isinstance(<object>values[i], int) and low <= <object>values[i] <= high):
            return True
    return False


cdef int _check_exact(object number, int bytes, str func) except -1:
    """Refuse an integer that the loops, which take a double, would round where the result could show it.

    Beyond twice the bits of the dtype every quotient and sum is at the end of the range, or the number's sign alone.
    """
    if number.bit_length() <= 16 * bytes + 1 and int(float(number)) != number:
        raise OverflowError(f"{func}: with saturate=True {number} is beyond the dtype and no exact float64; give the "
                            f"float that is meant")
    return 0


cdef bint _run_in_steps(const EngineTable* engine, const LaunchContext& launch, int op, Operand* operands, int type,
                        PyObject** numbers, Operand* target, str func) except *:
    """Add or subtract an integer beyond the dtype that no double is: in steps of one sign, each of which saturates.

    Clamping after each step of one sign is clamping the sum. False when a double does as well.
    """
    cdef int k = 0 if operands[0].number else 1, step_op
    cdef Operand[2] both
    if op not in (op_add, op_subtract) or not isinstance(<object>numbers[k], int) or type_table[type].bytes < 8:
        return False
    low, high = integer_range(type_table[type].kind == SIGNED, type_table[type].dtype.bits)
    rest = <object>numbers[k]
    if rest.bit_length() > 128 or int(float(rest)) == rest:
        return False
    if op == op_subtract and k == 1:
        rest = -rest
    # The first step leaves an element of the dtype in the target: x itself, or an end of the range less x.
    both[0], both[1] = operands[0], operands[1]
    first = min(max(rest, low), high) if op == op_subtract and k == 0 else 0
    store_number(first, &both[k], type, func)
    _run(engine, launch, op, True, type, both, 2, target, func)
    rest -= first
    step_op = op_add if rest > 0 else op_subtract
    both[0] = target[0]
    both[1].number = True
    rest = abs(rest)
    for _ in range(3):  # three steps reach from one end of the range to the other
        step = min(rest, high)
        store_number(step, &both[1], type, func)
        _run(engine, launch, step_op, True, type, both, 2, target, func)
        rest -= step
    return True


cdef int _run_real(const EngineTable* engine, const LaunchContext& launch, int op, Operand* operands, int count,
                   PyObject** numbers, Operand* target, str func) except -1:
    cdef int k
    cdef Real form
    cdef Scalar value
    cdef double number
    cdef Operand* tensor
    cdef Operand* addend = NULL
    cdef EngineOperand x, out, c
    cdef const EngineOperand* third = NULL
    cdef PyThreadState* state
    cdef Status status
    cdef int64_t bytes
    for k in range(count):
        if operands[k].number:
            break
    if isinstance(<object>numbers[k], complex):
        raise TypeError(f"{func}: saturate=True takes real numbers, got {<object>numbers[k]}")
    if count == 2 and _run_in_steps(engine, launch, op, operands, find_type(target.view.dtype), numbers, target, func):
        return 0
    if isinstance(<object>numbers[k], int) and op in (op_divide, op_fma):
        _check_exact(<object>numbers[k], type_table[find_type(target.view.dtype)].bytes, func)
    read_number(<object>numbers[k], &value, func)
    number = (value.re if value.kind == REAL else <double>value.i if value.kind == SIGNED else <double>value.u)
    if op == op_fma:
        if k != 0 or operands[1].number or operands[2].number:
            raise TypeError(f"{func}: with saturate=True a number outside the dtype may only be the first operand")
        form = REAL_FMA
        addend = &operands[2]
    elif op == op_add:
        form = REAL_ADD
    elif op == op_subtract:
        form = REAL_RSUB if k == 0 else REAL_ADD
        number = number if k == 0 else -number
    elif op == op_multiply:
        form = REAL_MULTIPLY
    elif op == op_divide:
        form = REAL_RDIVIDE if k == 0 else REAL_DIVIDE
    else:
        raise TypeError(f"{func}: not defined for {type_table[find_type(target.view.dtype)].name.decode()} with "
                        f"saturate=True")
    tensor = &operands[0 if k else 1]
    bytes = work_bytes(target.view.ndim, target.view.shape, type_table[tensor.type].bytes)
    as_engine_operand(tensor, &x)
    as_engine_operand(target, &out)
    if addend != NULL:
        as_engine_operand(addend, &c)
        third = &c
    _owners = None if bytes <= KEEP_GIL_BYTES else (hold_without_gil(operands, count), hold_without_gil(target, 1))
    state = release_gil(launch, bytes)
    status = engine.real(form, number, x, third, out, launch)
    return finish(state, status, launch, func)
