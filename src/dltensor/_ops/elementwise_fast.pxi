# SPDX-License-Identifier: Apache-2.0
# Part of elementwise.pyx: the fast paths of operations on plain tensors and numbers, one loop on the host or one launch
# on a device. Each answers None for whatever needs more thought.

# -- the fast path ----------------------------------------------------------------------------------------------------

cdef object _same(int op, Tensor x, Tensor y, object out):
    """Two tensors of one dtype and shape, both in C order, on the host and not large: one loop and no more.

    None when that is not so, or when `out` is not just like them and apart from them or one of them.
    """
    cdef Tensor target
    cdef int ndim = x.impl.dl.ndim, i, type, to
    cdef int64_t size = 1, width, bytes
    cdef DLDataType dtype = x.impl.dl.dtype
    cdef loop_t loop
    if (ndim != y.impl.dl.ndim or dtype.code != y.impl.dl.dtype.code or dtype.bits != y.impl.dl.dtype.bits or
            x.impl.dl.device.device_type != kDLCPU or y.impl.dl.device.device_type != kDLCPU):
        return None
    for i in range(ndim - 1, -1, -1):
        if x.impl.dl.shape[i] != y.impl.dl.shape[i] or x.impl.dl.strides[i] != size or y.impl.dl.strides[i] != size:
            return None
        size *= x.impl.dl.shape[i]
    type = type_of(dtype)
    if type < 0 or type >= computed_types or type_of(y.impl.dl.dtype) != type:
        return None
    to = result_type(op, type)
    loop = find_loop(op, type)
    width = size * type_table[type].bytes
    bytes = size * type_table[to].bytes
    if loop == NULL or width > PLAIN_BYTES:
        return None
    if out is not None:
        if type_of_tensor(out) != to:
            return None
        target = <Tensor>out
        if (target.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY or not _same_order(&x.impl.dl, &target.impl.dl) or
                _mixed(target.impl.dl.data, bytes, x.impl.dl.data, width) or
                _mixed(target.impl.dl.data, bytes, y.impl.dl.data, width)):
            return None
    else:
        target = _new_like(op, &x.impl.dl, to, bytes)
    loop(target.impl.dl.data, x.impl.dl.data, y.impl.dl.data, NULL, size, 0)
    return target


cdef inline bint _mixed(const void* target, int64_t target_bytes, const void* source, int64_t source_bytes) noexcept:
    """Whether writing one would spoil the other: memory in common, unless element for element the same."""
    cdef const char* a = <const char*>target
    cdef const char* b = <const char*>source
    if a == b:
        return target_bytes != source_bytes
    return a < b + source_bytes and b < a + target_bytes


cdef inline Tensor _new_like(int op, const DLTensor* like, int to, int64_t bytes):
    """A new tensor for results of so many bytes, of the shape of `like`, which is in C order, and on its device."""
    cdef int i
    cdef Tensor made = new_tensor(like.ndim)
    made.impl.block = allocate(bytes)
    if made.impl.block == NULL:
        raise MemoryError(f"{_names[op]}: cannot allocate {bytes} bytes")
    made.impl.dl.data = made.impl.block.data
    made.impl.dl.dtype = type_table[to].dtype
    made.impl.dl.device = like.device
    for i in range(like.ndim):
        made.impl.dl.shape[i] = like.shape[i]
        made.impl.dl.strides[i] = like.strides[i]
    return made


# -- the plain way ----------------------------------------------------------------------------------------------------

cdef inline bint _store_plain(object x, int type, void* element) noexcept:
    """Make a number an element where that is exact, or rounded once; False leaves it to the slow path."""
    cdef Kind kind = type_table[type].kind
    cdef int bytes = type_table[type].bytes, overflow = 0
    cdef int64_t value = 0
    cdef double number
    if PyFloat_CheckExact(x):
        number = PyFloat_AS_DOUBLE(x)
    elif PyLong_CheckExact(x):
        value = PyLong_AsLongLongAndOverflow(x, &overflow)
        if overflow != 0:
            return False
        number = <double>value
        if kind == REAL and <int64_t>number != value:
            return False
    else:
        return False
    if kind == REAL:
        if bytes == 4:
            (<float*>element)[0] = <float>number
            return True
        if bytes == 8:
            (<double*>element)[0] = number
        return bytes == 8
    if not PyLong_CheckExact(x):
        return False
    if kind == SIGNED and bytes < 8 and value != value << (64 - 8 * bytes) >> (64 - 8 * bytes):
        return False
    if kind == UNSIGNED and (value < 0 or bytes < 8 and value >> (8 * bytes) != 0):
        return False
    if kind != SIGNED and kind != UNSIGNED:
        return False
    if bytes == 1:
        (<int8_t*>element)[0] = <int8_t>value
    elif bytes == 2:
        (<int16_t*>element)[0] = <int16_t>value
    elif bytes == 4:
        (<int32_t*>element)[0] = <int32_t>value
    else:
        (<int64_t*>element)[0] = value
    return True


cdef inline bint _same_order(const DLTensor* x, const DLTensor* y) noexcept:
    """Same device and shape, and `y` in C order as `x` is known to be."""
    cdef int i
    if (x.ndim != y.ndim or y.device.device_type != x.device.device_type or
            y.device.device_id != x.device.device_id):
        return False
    for i in range(x.ndim):
        if x.shape[i] != y.shape[i] or x.strides[i] != y.strides[i]:
            return False
    return True


cdef object _plain(int op, Operand* operands, PyObject** arguments, int count, object out, bint saturate):
    """Operands of one dtype and shape in C order, and numbers that fit: one loop. None when that is not so."""
    cdef const DLTensor* first = NULL
    cdef const void* data[3]
    cdef unsigned scalars = 0
    cdef int i, type = -1, to
    cdef int64_t size = 1, bytes, width
    cdef loop_t loop
    cdef Tensor target
    for i in range(count):
        if not operands[i].number:
            first = &operands[i].view
            type = operands[i].type
            break
    if first == NULL or type < 0 or type >= computed_types or first.device.device_type != kDLCPU:
        return None
    loop = find_saturating_loop(op, type) if saturate else find_loop(op, type)
    if loop == NULL:
        return None
    to = type if saturate else result_type(op, type)
    for i in range(first.ndim - 1, -1, -1):
        if first.strides[i] != size:
            return None
        size *= first.shape[i]
    width = size * type_table[type].bytes
    if width > PLAIN_BYTES:
        return None
    for i in range(count):
        if operands[i].number:
            if not _store_plain(<object>arguments[i], type, operands[i].element):
                return None
            data[i] = operands[i].element
            scalars |= 1 << i
        elif operands[i].type != type or not _same_order(first, &operands[i].view):
            return None
        else:
            data[i] = operands[i].view.data
    bytes = size * type_table[to].bytes
    if out is not None:
        if type_of_tensor(out) != to or not _same_order(first, &(<Tensor>out).impl.dl):
            return None
        target = <Tensor>out
        if target.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY:
            return None
        for i in range(count):
            if not scalars >> i & 1 and _mixed(target.impl.dl.data, bytes, data[i], width):
                return None
    else:
        target = _new_like(op, first, to, bytes)
    loop(target.impl.dl.data, data[0], data[1], data[2], size, scalars)
    return target


cdef inline bint _is_elsewhere(object x) noexcept:
    """Whether it is a Tensor that the host may not be able to read."""
    return type(x) is Tensor and (<Tensor>x).impl.dl.device.device_type != kDLCPU


cdef inline int type_of_tensor(object x) noexcept:
    """The dtype's row of a Tensor, -1 for anything else."""
    return type_of((<Tensor>x).impl.dl.dtype) if type(x) is Tensor else -1


# -- the fast path on devices -----------------------------------------------------------------------------------------

cdef object _on_device(int op, PyObject** arguments, int count, object out):
    """Our tensors of one dtype and shape in C order on one CUDA device, and numbers: one launch and no more.

    None when that is not so, or when `out` is not just like them.
    """
    cdef Item[3] items
    cdef Operand number
    cdef const DLTensor* first = NULL
    cdef const DLTensor* view
    cdef int i, row = -1, to
    cdef int64_t size = 1
    for i in range(count):
        if type(<object>arguments[i]) is not Tensor:
            items[i].view = NULL
            items[i].block = NULL
            continue
        view = items[i].view = &(<Tensor>arguments[i]).impl.dl
        items[i].block = (<Tensor>arguments[i]).impl.block
        if first == NULL:
            first = view
            row = type_of(view.dtype)
        elif (view.dtype.code != first.dtype.code or view.dtype.bits != first.dtype.bits or
                view.dtype.lanes != first.dtype.lanes or not _same_order(first, view)):
            return None
    if (first == NULL or row < 0 or row >= computed_types or first.device.device_type != kDLCUDA or
            compute_type(op, row) != row):
        return None
    if op == op_pow and items[1].view == NULL and kind_order(row) < 2:
        return None  # not every number is an exponent of integers
    for i in range(first.ndim - 1, -1, -1):
        if first.strides[i] != size:
            return None
        size *= first.shape[i]
    for i in range(count):
        if items[i].view == NULL and not _store_plain(<object>arguments[i], row, items[i].element):
            # The other floats and complex numbers take what promotion would leave to them.
            if kind_order(row) < 2 or not (PyFloat_CheckExact(<object>arguments[i]) or
                                           PyLong_CheckExact(<object>arguments[i])):
                return None
            store_number(<object>arguments[i], &number, row, _names[op])
            memcpy(items[i].element, number.element, type_table[row].bytes)
    to = result_type(op, row)
    if out is not None:
        if (type_of_tensor(out) != to or (<Tensor>out).impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY or
                not _same_order(first, &(<Tensor>out).impl.dl)):
            return None
    return engine_of(first.device, _names[op]).same(op, row, to, size, items, count, out)
