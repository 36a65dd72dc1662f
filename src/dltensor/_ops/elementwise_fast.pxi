# SPDX-License-Identifier: Apache-2.0
# Part of elementwise.pyx: the fast paths of operations on plain tensors and numbers, one loop on the host or one launch
# on a device. Each answers None for whatever needs more thought.

# -- the fast path ----------------------------------------------------------------------------------------------------

cdef inline bint _mixed(const void* target, int64_t target_bytes, const void* source, int64_t source_bytes) noexcept:
    """Test whether writing one would spoil the other: memory in common, unless element for element the same."""
    cdef const char* a = <const char*>target
    cdef const char* b = <const char*>source
    if a == b:
        return target_bytes != source_bytes
    return a < b + source_bytes and b < a + target_bytes


cdef inline Tensor _new_like(int op, const DLTensor* like, int to, int64_t bytes):
    """A new tensor for results of so many bytes, of the shape of `like`, which is in C order, and on its device."""
    cdef int i
    cdef Tensor result = new_tensor(like.ndim)
    result.impl.block = allocate(bytes)
    if unlikely(result.impl.block == NULL):
        raise MemoryError(f"{_names[op]}: cannot allocate {bytes} bytes")
    result.impl.dl.data = result.impl.block.data
    result.impl.dl.dtype = type_table[to].dtype
    result.impl.dl.device = like.device
    for i in range(like.ndim):
        result.impl.dl.shape[i] = like.shape[i]
        result.impl.dl.strides[i] = like.strides[i]
    return result


cdef inline bint _same_order(const DLTensor* x, const DLTensor* y) noexcept:
    """Same device and shape, and `y` in C order as `x` is known to be."""
    cdef int i
    if unlikely(not same_dims(x[0], y[0])):
        return False
    for i in range(x.ndim):
        if unlikely(x.shape[i] != y.shape[i] or x.strides[i] != y.strides[i]):
            return False
    return True


cdef inline bint _takes(object out, const DLTensor* like, int to) noexcept:
    """Test whether `out` is a writable tensor of dtype number `to` in the order of `like`."""
    return (type(out) is Tensor and same_dtype((<Tensor>out).impl.dl.dtype, type_table[to].dtype) and
            not (<Tensor>out).impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY and _same_order(like, &(<Tensor>out).impl.dl))


cdef inline object _pair(int op, const DLTensor* x, const DLTensor* y, object out):
    """Two of our tensors: `_contiguous` without what numbers, other counts of operands and saturation need."""
    cdef int i, type, to
    cdef int64_t size = 1, bytes, width
    cdef loop_t loop
    cdef Tensor target
    if unlikely(x.device.device_type != kDLCPU or not (same_dtype(x.dtype, y.dtype) and same_dims(x[0], y[0]))):
        return None
    for i in range(x.ndim - 1, -1, -1):
        if unlikely(x.strides[i] != size or y.strides[i] != size or x.shape[i] != y.shape[i]):
            return None
        size *= x.shape[i]
    type = find_type(x.dtype)
    loop = find_loop(op, type)
    if unlikely(loop == NULL):
        return None
    width = size * type_table[type].bytes
    if unlikely(width > PLAIN_BYTES):
        return None
    to = result_type(op, type)
    bytes = size * type_table[to].bytes
    if out is None:
        target = _new_like(op, x, to, bytes)
    else:
        if not _takes(out, x, to):
            return None
        target = <Tensor>out
        if _mixed(target.impl.dl.data, bytes, x.data, width) or _mixed(target.impl.dl.data, bytes, y.data, width):
            return None
    loop(target.impl.dl.data, x.data, y.data, NULL, size, 0)
    return target


cdef object _contiguous(int op, const DLTensor** views, PyObject** arguments, int count, object out, bint saturate):
    """Tensors of one dtype and shape in C order on the host, and numbers that are elements of it: one call of a loop.

    `views[i]` is NULL where ``arguments[i]`` is a number. None when an operand or `out` is anything else, when `out`
    overlaps an operand otherwise than element for element, or when there is more work than for one thread.
    """
    cdef const DLTensor* first = NULL
    cdef const void* data[3]
    cdef double elements[3]
    cdef unsigned scalars = 0
    cdef int i, type, to
    cdef int64_t size = 1, bytes, width
    cdef loop_t loop
    cdef Tensor target
    for i in range(count):
        if views[i] != NULL:
            first = views[i]
            break
    if unlikely(first == NULL or first.device.device_type != kDLCPU):
        return None
    type = find_type(first.dtype)
    if unlikely(type < 0 or type >= computed_types):
        return None
    loop = find_saturating_loop(op, type) if saturate else find_loop(op, type)
    if unlikely(loop == NULL):
        return None
    for i in range(first.ndim - 1, -1, -1):
        if unlikely(first.strides[i] != size):
            return None
        size *= first.shape[i]
    width = size * type_table[type].bytes
    if unlikely(width > PLAIN_BYTES):
        return None
    to = type if saturate else result_type(op, type)
    for i in range(count):
        if views[i] == NULL:
            if unlikely(not store_exact(<object>arguments[i], type, &elements[i]) or
                        to == type_bool and type == type_float32 and not _is_in_float(<object>arguments[i], type)):
                return None
            data[i] = &elements[i]
            scalars |= 1 << i
        else:
            if unlikely(views[i] != first and
                        not (same_dtype(first.dtype, views[i].dtype) and _same_order(first, views[i]))):
                return None
            data[i] = views[i].data
    bytes = size * type_table[to].bytes
    if out is not None:
        if not _takes(out, first, to):
            return None
        target = <Tensor>out
        for i in range(count):
            if not scalars >> i & 1 and _mixed(target.impl.dl.data, bytes, data[i], width):
                return None
    else:
        target = _new_like(op, first, to, bytes)
    loop(target.impl.dl.data, data[0], data[1], data[2], size, scalars)
    return target


cdef bint _is_in_float(object x, int type) noexcept:
    """Test whether a comparison with a number is that with the float it rounds to: one in range, or a small integer.

    False also for some other numbers, which the slow path compares.
    """
    cdef double number
    cdef int overflow = 0
    cdef int64_t value, most
    if PyFloat_CheckExact(x):
        number = PyFloat_AS_DOUBLE(x)
        return abs(number) <= (65504.0 if type == type_float16 else 3.38e38) or number - number != 0
    value = PyLong_AsLongLongAndOverflow(x, &overflow)
    most = 2048 if type == type_float16 else 256 if type == type_bfloat16 else 1 << 24
    return overflow == 0 and -most <= value <= most


cdef inline bint _is_number(object x) noexcept:
    return PyFloat_CheckExact(x) or is_int(x)


cdef inline object _own(int op, PyObject** arguments, int count, object out):
    """The fast path of our own tensors and numbers, which need not be read; None when it is not for it."""
    cdef const DLTensor* views[3]
    cdef int i
    if count == 2 and type(<object>arguments[0]) is Tensor and type(<object>arguments[1]) is Tensor:
        return _pair(op, &(<Tensor>arguments[0]).impl.dl, &(<Tensor>arguments[1]).impl.dl, out)
    for i in range(count):
        if type(<object>arguments[i]) is Tensor:
            views[i] = &(<Tensor>arguments[i]).impl.dl
        elif _is_number(<object>arguments[i]) and not (op == op_pow and i == 1):  # the sign of an exponent is checked
            views[i] = NULL
        else:
            return None
    return _contiguous(op, views, arguments, count, out, False)


cdef inline object _read(int op, Operand* operands, PyObject** arguments, int count, object out, bint saturate):
    """The fast path of operands that were read, foreign tensors among them."""
    cdef const DLTensor* views[3]
    cdef int i
    for i in range(count):
        if operands[i].number:
            views[i] = NULL
        else:
            views[i] = &operands[i].view
    return _contiguous(op, views, arguments, count, out, saturate)


cdef inline bint _is_elsewhere(object x) noexcept:
    """Test whether it is a Tensor that the host may not be able to read."""
    return type(x) is Tensor and (<Tensor>x).impl.dl.device.device_type != kDLCPU


# -- the fast path on devices -----------------------------------------------------------------------------------------

cdef object _launch(int op, PyObject** arguments, int count, object out):
    """Our tensors of one dtype and shape in C order on one CUDA device, and numbers: one launch and no more.

    None when that is not so, or when `out` is not just like them.
    """
    cdef Run[3] items
    cdef double elements[3][2]
    cdef Operand number
    cdef const DLTensor* first = NULL
    cdef const DLTensor* view
    cdef const Engine* engine
    cdef int i, row = -1, to
    cdef int64_t size = 1
    for i in range(count):
        items[i].number = type(<object>arguments[i]) is not Tensor
        if items[i].number:
            items[i].data = elements[i]
            items[i].block = NULL
            continue
        view = &(<Tensor>arguments[i]).impl.dl
        items[i].data = <char*>view.data + view.byte_offset
        items[i].block = (<Tensor>arguments[i]).impl.block
        if first == NULL:
            first = view
            row = find_type(view.dtype)
        elif not (same_dtype(first.dtype, view.dtype) and _same_order(first, view)):
            return None
    if (first == NULL or row < 0 or row >= computed_types or first.device.device_type != kDLCUDA or
            compute_type(op, row) != row):
        return None
    if op == op_pow and items[1].number and kind_order(row) < 2:
        return None  # not every number is an exponent of integers
    for i in range(first.ndim - 1, -1, -1):
        if first.strides[i] != size:
            return None
        size *= first.shape[i]
    for i in range(count):
        if items[i].number and comparison_of(op) >= 0 and kind_order(row) == 2 and row != type_float64:
            if not (_is_number(<object>arguments[i]) and _is_in_float(<object>arguments[i], row)):
                return None
        if items[i].number and not store_exact(<object>arguments[i], row, elements[i]):
            if comparison_of(op) >= 0 and row == type_float64:
                return None
            # The other floats and complex numbers take what promotion would leave to them.
            if kind_order(row) < 2 or not _is_number(<object>arguments[i]):
                return None
            _store_operand(op, i, <object>arguments[i], &number, row)
            memcpy(elements[i], number.element, type_table[row].bytes)
    to = result_type(op, row)
    if out is not None:
        if not _takes(out, first, to):
            return None
    engine = loaded_engine()
    if unlikely(engine == NULL):
        engine = engine_of(first.device, _names[op])
    return engine.same(op, row, to, size, first, items, count, out)
