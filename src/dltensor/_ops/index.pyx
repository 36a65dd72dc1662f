# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the elements at a key of index arrays and masks: ``x[key]`` and ``x[key] = y``."""
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .._core.indexing cimport Place
from .._core.native cimport (MAX_DIMS, TRAILING, Block, Status, broadcast_strides, find_type, is_contiguous, item_bytes,
                             numel, same_dtype, type_bool, type_int64)
from .._core.scalars cimport store_python
from .._core.allocation cimport check_writable, is_packed
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, assign, assign_scalar, assigned_to, copied, new_empty, operations, view_of
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLDataType, DLDevice, DLTensor, is_host,
                            kDLCPU)
from .arguments cimport Operand, as_engine_operand, read_owned, result_for
from .engine cimport (BadIndex, EngineOperand, EngineTable, Indexed, LaunchContext, PyThreadState, check_device,
                      engine_at, finish, is_same_place, release_gil)
from .index_key cimport (IndexPlan, KeyItem, Mask, index_arrays, index_next_to, plan_key, raise_bad_index, read_key,
                         share_bytes, spread_indices, view_at)

cdef extern from "native/cpu/index/gather.h" namespace "dlt" nogil:
    int64_t gather_rows(char*, const char*, const int64_t*, int64_t, int64_t, int64_t)
    int64_t scatter_few(char*, const char*, int64_t, int64_t, const int64_t*, int64_t, int64_t)

cdef extern from "native/cpu/index/mask.h" namespace "dlt" nogil:
    void compress(void*, const void*, int64_t, int64_t, const uint64_t*, const int64_t*)
    void expand(void*, const void*, int64_t, int64_t, int64_t, const uint64_t*, const int64_t*)

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    int coalesce(int, int64_t*, int, int64_t**)

cdef enum:
    READ = -2           # instead of the number of an operation
    SHORT_BYTES = 1 << 16


# -- what the engine moves --------------------------------------------------------------------------------------------

cdef char* _first(const IndexPlan* plan, Tensor t) noexcept:
    """The first element that a plan reaches. Strides of an empty tensor may be anything: they lead nowhere."""
    if numel(t.impl.dl.ndim, t.impl.dl.shape) == 0:
        return <char*>t.impl.dl.data
    return <char*>t.impl.dl.data + plan.offset * item_bytes(t.impl.dl.dtype)


cdef int _describe(Indexed* x, const IndexPlan* plan, Tensor t, list arrays) except -1:
    """The side of the tensor."""
    cdef int k
    x.tensor = _first(plan, t)
    x.width = item_bytes(t.impl.dl.dtype)
    x.outer, x.inner, x.spread = plan.outer, plan.inner, 0
    memcpy(x.outer_shape, plan.outer_shape, plan.outer * sizeof(int64_t))
    memcpy(x.outer_tensor, plan.outer_strides, plan.outer * sizeof(int64_t))
    memcpy(x.inner_shape, plan.inner_shape, plan.inner * sizeof(int64_t))
    memcpy(x.inner_tensor, plan.inner_strides, plan.inner * sizeof(int64_t))
    x.count = numel(plan.spread, plan.spread_shape)
    x.arrays = plan.arrays
    for k in range(plan.arrays):
        x.array[k].data = <const int64_t*>(<Tensor>arrays[k]).impl.dl.data
        x.array[k].size = plan.array[k].size
        x.array[k].stride = plan.array[k].stride
    return 0


cdef int _describe_dense(Indexed* x, const IndexPlan* plan, const DLTensor* dense, const int64_t* strides) except -1:
    """The side of what is read or written one after the other; False when its positions have no single stride."""
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t steps[MAX_DIMS]
    cdef int64_t* each[1]
    cdef int n
    x.dense = <char*>dense.data
    memcpy(x.outer_dense, strides, plan.outer * sizeof(int64_t))
    memcpy(x.inner_dense, strides + plan.outer + plan.spread, plan.inner * sizeof(int64_t))
    memcpy(shape, plan.spread_shape, plan.spread * sizeof(int64_t))
    memcpy(steps, strides + plan.outer, plan.spread * sizeof(int64_t))
    each[0] = steps
    n = coalesce(plan.spread, shape, 1, each)
    x.dense_step = steps[0] if n == 1 else 0
    return n <= 1


cdef bint _takes_whole_mask(const IndexPlan* plan, const KeyItem* items, Tensor t) noexcept:
    """The key is one mask of all dimensions of a tensor in C order, whose elements are as wide as a register has them.

    A False beside a mask leaves nothing of what it selects.
    """
    cdef int64_t width = item_bytes(t.impl.dl.dtype)
    return (plan.arrays == 1 and plan.array[0].part < 0 and plan.outer == 0 and plan.inner == 0 and plan.spread == 1 and
            plan.spread_shape[0] == items[plan.array[0].item].count and
            (plan.array[0].stride == 1 or plan.array[0].size <= 1) and
            width <= 16 and width & (width - 1) == 0)


# -- reading ----------------------------------------------------------------------------------------------------------

cdef inline bint _is_plain(Tensor t) noexcept:
    return (t.impl.dl.device.device_type == kDLCPU and t.impl.dl.ndim > 0 and t.impl.dl.dtype.bits >= 8 and
            is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides))


cdef inline bint _same_shape(Tensor a, Tensor b) noexcept:
    cdef int d
    if a.impl.dl.ndim != b.impl.dl.ndim:
        return False
    for d in range(a.impl.dl.ndim):
        if a.impl.dl.shape[d] != b.impl.dl.shape[d]:
            return False
    return True


cdef inline bint _is_small_mask(Tensor t, Tensor key, int64_t n, int64_t width) noexcept:
    return n <= SHORT_MASK and width <= 16 and width & (width - 1) == 0 and _same_shape(t, key)


cdef Tensor read_few(Tensor t, Tensor key):
    """Few elements or rows by one index array or mask, all in C order, without a plan; None for everything else."""
    cdef int64_t shape[MAX_DIMS]
    cdef uint64_t words[64]
    cdef int64_t before[2]
    cdef int64_t width = item_bytes(t.impl.dl.dtype), row = width, n, count
    cdef int d, type = find_type(key.impl.dl.dtype), ndim = key.impl.dl.ndim
    cdef Tensor result
    if not _is_plain(t) or not _is_plain(key):
        return None
    n = numel(ndim, key.impl.dl.shape)
    if type == type_int64:
        if ndim + t.impl.dl.ndim > MAX_DIMS:
            return None
        for d in range(ndim):
            shape[d] = key.impl.dl.shape[d]
        for d in range(1, t.impl.dl.ndim):
            shape[ndim + d - 1] = t.impl.dl.shape[d]
            row *= t.impl.dl.shape[d]
        if row == 0 or n > SHORT_BYTES // row:
            return None
        result = new_empty(ndim + t.impl.dl.ndim - 1, shape, t.impl.dl.dtype, DLDevice(kDLCPU, 0), "__getitem__")
        count = gather_rows(<char*>result.impl.dl.data, <const char*>t.impl.dl.data, <const int64_t*>key.impl.dl.data,
                            n, t.impl.dl.shape[0], row)
        return result if count == n else None
    if type != type_bool or not _is_small_mask(t, key, n, width):
        return None
    count = pack_mask(key.impl.dl.data, 1, 255, n, words, before)
    result = new_empty(1, &count, t.impl.dl.dtype, DLDevice(kDLCPU, 0), "__getitem__")
    compress(result.impl.dl.data, t.impl.dl.data, width, n, words, before)
    return result


cdef object _get(Tensor t, object key):
    if type(key) is Tensor:
        result = read_few(t, <Tensor>key)
        if result is not None:
            return result
    return read_at(t, key, "__getitem__", "", False)


cdef Tensor read_at(Tensor t, object key, str func, str prefix, bint copy):
    """Return what a key selects: a view for a basic key, unless `copy`, else a new tensor."""
    cdef KeyItem items[192]
    cdef IndexPlan plan
    cdef Indexed x
    cdef BadIndex bad
    cdef list read = [], masks = []
    cdef Tensor out
    if not read_key(key, items, read, func):
        out = view_at(t, read)
        return copied(out, func) if copy else out
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        plan_key(t, items, read, masks, &plan, prefix, func)
        return _unpacked(t, func)[tuple(read)].astype(t.dtype)
    plan_key(t, items, read, masks, &plan, prefix, func)
    result = _new_like(t, plan.ndim, plan.shape, func)
    if _takes_whole_mask(&plan, items, t):
        _read_by_mask(t, _first(&plan, t), result, masks[plan.array[0].item], func)
        return result
    arrays = index_arrays(&plan, read, masks, None, func)
    _describe(&x, &plan, t, arrays)
    _describe_dense(&x, &plan, &result.impl.dl, result.impl.dl.strides)
    bad = _run(&x, READ, t, result, arrays, _only_masks(&plan, masks), func)
    if bad.at >= 0:
        raise_bad_index(bad, &plan, read, prefix)
    return result


cdef Tensor read_along_axis(Tensor t, Tensor at, int axis, str func):
    """The elements of `t` at a position along an axis for each; other axes of size 1 of both broadcast."""
    cdef Tensor packed = None, result
    cdef int64_t shape[MAX_DIMS]
    cdef IndexPlan plan
    cdef Indexed x
    cdef BadIndex bad
    cdef int d
    if at.impl.dl.ndim != t.impl.dl.ndim:
        raise ValueError(f"{func}: x has shape {t.shape}, indices have {at.shape}; expected as many dimensions")
    for d in range(t.impl.dl.ndim):
        shape[d] = at.impl.dl.shape[d]
        if d != axis and shape[d] == 1:
            shape[d] = t.impl.dl.shape[d]
        if d != axis and shape[d] != t.impl.dl.shape[d] and t.impl.dl.shape[d] != 1:
            raise ValueError(f"{func}: x has shape {t.shape}, indices have {at.shape}, which do not broadcast along "
                             f"axis {d}")
    check_device(t, func)
    at = index_next_to(t, at, func)
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        packed, t = t, _unpacked(t, func)
    result = _new_like(t, t.impl.dl.ndim, shape, func)
    plan.offset = 0
    plan.outer = plan.inner = 0
    plan.spread = t.impl.dl.ndim
    memcpy(plan.spread_shape, shape, plan.spread * sizeof(int64_t))
    plan.arrays = 1
    plan.array[0].item = 0
    plan.array[0].axis = axis
    plan.array[0].size = t.impl.dl.shape[axis]
    plan.array[0].stride = t.impl.dl.strides[axis]
    arrays = [spread_indices(at, plan.spread, shape, None, func)]
    _describe(&x, &plan, t, arrays)
    _describe_dense(&x, &plan, &result.impl.dl, result.impl.dl.strides)
    x.spread = plan.spread
    memcpy(x.spread_shape, shape, plan.spread * sizeof(int64_t))
    for d in range(plan.spread):
        x.spread_tensor[d] = 0 if d == axis or t.impl.dl.shape[d] == 1 else t.impl.dl.strides[d]
    bad = _run(&x, READ, t, result, arrays, False, func)
    if bad.at >= 0:
        raise_bad_index(bad, &plan, [at], f"{func}: ")
    return result if packed is None else result.astype(packed.dtype)


cdef int _read_by_mask(Tensor t, char* first, Tensor result, Mask mask, str func) except -1:
    """Copy what a mask selects of the elements of `t` from `first` on."""
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(t.impl.dl.device, &launch, func)
    cdef EngineOperand source, words, before, out
    cdef DLTensor line = t.impl.dl
    cdef int64_t step = 1
    cdef PyThreadState* state
    if mask.count == 0:
        return 0
    read_owned(mask.words, &words)
    read_owned(mask.before, &before)
    read_owned(t, &source)
    read_owned(result, &out)
    line.data, line.byte_offset = first, 0
    line.ndim, line.shape, line.strides = 1, &mask.n, &step
    source.tensor = &line
    state = release_gil(launch, mask.n * item_bytes(line.dtype))
    return finish(state, engine.mask_elements(source, mask.n, words, before, out, launch), launch, func)


cdef int _write_by_mask(Tensor t, char* first, const char* dense, int64_t step, Mask mask, str func) except -1:
    """Store dense elements, `step` apart, in what a mask selects of the host's elements of `t` from `first` on."""
    cdef LaunchContext launch
    cdef Status done
    cdef int64_t width = item_bytes(t.impl.dl.dtype)
    cdef PyThreadState* state = release_gil(launch, mask.n * width)
    expand(first, dense, step, width, mask.n, mask.bits, mask.counts)
    return finish(state, done, launch, func)


cdef Tensor _new_like(Tensor t, int ndim, const int64_t* shape, str func):
    """Memory for elements of `t`, where it is."""
    cdef DLDataType dtype = t.impl.dl.dtype
    cdef uint64_t padded = t.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    cdef Tensor result
    if padded:
        dtype.bits = 8
    result = result_for(None, t, ndim, shape, dtype, func)
    result.impl.dl.dtype = t.impl.dl.dtype
    result.impl.flags |= padded
    return result


cdef bint _only_masks(const IndexPlan* plan, list masks):
    """Test whether all index arrays of a plan are positions in masks, which are in range and name an element once."""
    cdef int k
    for k in range(plan.arrays):
        if masks[plan.array[k].item] is None:
            return False
    return True


cdef BadIndex _run(Indexed* x, int op, Tensor t, Tensor dense, list arrays, bint good, str func) except *:
    """Move elements from the places of `t` to the dense side, or from there, or join them with what is there.

    Returns the first bad index; `good` indices are in range, and name an element once.
    """
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(t.impl.dl.device, &launch, func)
    cdef Block* blocks[MAX_DIMS]
    cdef EngineOperand named, other
    cdef PyThreadState* state
    cdef Status status
    cdef BadIndex bad
    cdef BadIndex* first = NULL
    cdef int k
    for k in range(x.arrays):
        blocks[k] = (<Tensor>arrays[k]).impl.block
    read_owned(t, &named)
    read_owned(dense, &other)
    bad.at = -1
    if not good:
        first = &bad
    state = release_gil(launch, x.count * 8 + numel(dense.impl.dl.ndim, dense.impl.dl.shape) * x.width)
    if op == READ:
        status = engine.gather(x[0], named, other, blocks, first, launch)
    else:
        status = engine.scatter(x[0], op, find_type(t.impl.dl.dtype), other, named, blocks, first, launch)
    finish(state, status, launch, func)
    return bad


cdef Tensor _unpacked(Tensor t, str func):
    """The elements of a packed tensor with a byte each."""
    if find_type(t.impl.dl.dtype) < 0:
        raise TypeError(f"{func}: elements of {t.dtype} share bytes, and index arrays and masks cannot name them; use "
                        f"integers and slices")
    return t.astype(t.dtype, padded=True)


# -- writing ----------------------------------------------------------------------------------------------------------

cdef bint _write_few(Tensor t, Tensor key, object value) except -1:
    """Few elements by one index array or mask, all in C order, without a plan; False when it is for `write_at`."""
    cdef uint64_t words[64]
    cdef int64_t before[2]
    cdef char element[32]
    cdef int64_t width = item_bytes(t.impl.dl.dtype), n, count, step = 0
    cdef int kind = find_type(key.impl.dl.dtype)
    cdef const char* source = element
    cdef Tensor values
    if not _is_plain(t) or not _is_plain(key):
        return False
    n = numel(key.impl.dl.ndim, key.impl.dl.shape)
    if kind == type_bool:
        if not _is_small_mask(t, key, n, width):
            return False
    elif kind != type_int64 or n > SHORT_MASK or t.impl.dl.ndim != 1 or width > 16 or width & (width - 1) != 0:
        return False
    check_writable(&t.impl.dl, t.impl.flags, "__setitem__")
    if type(value) is Tensor:
        values = value
        if (not _is_plain(values) or not same_dtype(values.impl.dl.dtype, t.impl.dl.dtype) or
                share_bytes(values, t) or kind == type_int64 and not _same_shape(values, key) or
                kind == type_bool and values.impl.dl.ndim != 1):
            return False
        source = <const char*>values.impl.dl.data
        step = 1
    elif PyFloat_CheckExact(value) or PyLong_CheckExact(value):
        store_python(element, 0, value, t.impl.dl.dtype, True, "__setitem__")
    else:
        return False
    if kind == type_int64:
        return scatter_few(<char*>t.impl.dl.data, source, step, width, <const int64_t*>key.impl.dl.data, n,
                           t.impl.dl.shape[0]) == n
    count = pack_mask(key.impl.dl.data, 1, 255, n, words, before)
    if step != 0 and values.impl.dl.shape[0] != count:
        return False
    expand(t.impl.dl.data, source, step, width, n, words, before)
    return True


cdef bint _masked_fill(Tensor t, Tensor mask, object value) except -1:
    """On a device, a number wherever a mask of the shape of `t` is true; False when it is for `write_at`.

    How many elements that are is not asked for, so the host waits for nothing.
    """
    cdef Operand number
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef EngineOperand condition, element, target
    cdef PyThreadState* state
    if is_host(<int>t.impl.dl.device.device_type):  # there, what is set is counted faster than all is written
        return False
    if (find_type(mask.impl.dl.dtype) != type_bool or not _same_shape(t, mask) or
            not is_same_place(mask.impl.dl.device, t.impl.dl.device) or
            not (PyFloat_CheckExact(value) or PyLong_CheckExact(value) or type(value) is bool)):
        return False
    number.number = True
    number.type = find_type(t.impl.dl.dtype)
    if number.type < 0 or t.impl.dl.dtype.bits % 8 != 0:
        return False
    check_writable(&t.impl.dl, t.impl.flags, "__setitem__")
    store_python(number.element, 0, value, t.impl.dl.dtype, True, "__setitem__")
    engine = engine_at(t.impl.dl.device, &launch, "__setitem__")
    read_owned(mask, &condition)
    as_engine_operand(&number, &element)
    read_owned(t, &target)
    state = release_gil(launch, numel(t.impl.dl.ndim, t.impl.dl.shape) * item_bytes(t.impl.dl.dtype))
    finish(state, engine.choose(condition, element, target, target, launch), launch, "__setitem__")
    return True


cdef int _set(Tensor t, object key, object value) except -1:
    if type(key) is Tensor and (_write_few(t, <Tensor>key, value) or _masked_fill(t, <Tensor>key, value)):
        return 0
    return write_at(t, key, value, WRITE, "__setitem__", "")


cdef int write_at(Tensor t, object key, object value, int op, str func, str prefix) except -1:
    """Write to what a key selects, or with an operation join it with what is there."""
    cdef KeyItem items[192]
    cdef IndexPlan plan
    cdef list read = [], masks = []
    cdef int64_t strides[MAX_DIMS]
    cdef Tensor source, whole, view
    cdef bint indexed = read_key(key, items, read, func)
    if not isinstance(value, (bool, int, float, complex)) and type(value) is not Tensor:
        value = _assignable(value, t, func)
    if not indexed:
        view = view_at(t, read)
        if op == WRITE:
            return assign(view, value, func)
        # Every element is at one place of the view: as by a key with a row of positions of which there is one.
        return write_at(view, (True, Ellipsis), value, op, func, prefix)
    check_device(t, func)
    check_writable(&t.impl.dl, t.impl.flags, func)
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        whole = _unpacked(t, func)
        write_at(whole, tuple(read), value, op, func, prefix)
        return assign(t, whole, func)
    plan_key(t, items, read, masks, &plan, prefix, func)
    source = assigned_to(_as_source(t, value, func), plan.ndim)
    if not broadcast_strides(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides, plan.ndim, plan.shape,
                             TRAILING, strides):
        raise ValueError(f"{func}: shape {source.shape} does not broadcast to {as_tuple(plan.ndim, plan.shape)}")
    _write_planned(t, items, &plan, read, masks, source, strides, op, func, prefix)
    return 0


cdef object _assignable(object value, Tensor t, str func):
    """A value that is no number and no tensor of ours, as one."""
    return operations.assignable(value, t.dtype, func)


cdef Tensor _as_source(Tensor t, object value, str func):
    """A value as elements of the dtype of `t`, where `t` is, in memory that `t` does not have."""
    cdef Tensor result, source
    if type(value) is Tensor:
        source = value
        if (is_same_place(source.impl.dl.device, t.impl.dl.device) and not share_bytes(source, t) and
                source.impl.dl.dtype.code == t.impl.dl.dtype.code and
                source.impl.dl.dtype.bits == t.impl.dl.dtype.bits and
                source.impl.dl.dtype.lanes == t.impl.dl.dtype.lanes and
                not (source.impl.flags ^ t.impl.flags) & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED):
            return source
        result = _new_like(t, source.impl.dl.ndim, source.impl.dl.shape, func)
        assign(result, source, func)
        return result
    result = _new_like(t, 0, NULL, func)
    assign_scalar(result, value, func)
    return result


cdef int _write_planned(Tensor t, KeyItem* items, const IndexPlan* plan, list read, list masks, Tensor source,
                        const int64_t* strides, int op, str func, str prefix) except -1:
    cdef Indexed x
    cdef BadIndex bad
    cdef Mask mask
    cdef Tensor spread
    cdef Place place
    cdef int64_t step
    if op == WRITE and is_host(<int>t.impl.dl.device.device_type) and _takes_whole_mask(plan, items, t):
        mask = masks[plan.array[0].item]
        step = strides[0] if mask.count > 1 else 1
        if step == 0 or step == 1:
            return _write_by_mask(t, _first(plan, t), <char*>source.impl.dl.data, step, mask, func)
    arrays = index_arrays(plan, read, masks, t, func)
    _describe(&x, plan, t, arrays)
    if not _describe_dense(&x, plan, &source.impl.dl, strides):
        place.ndim = plan.ndim
        place.offset = 0
        memcpy(place.shape, plan.shape, plan.ndim * sizeof(int64_t))
        memcpy(place.strides, strides, plan.ndim * sizeof(int64_t))
        spread = copied(view_of(source, &place), func)
        source = spread
        _describe_dense(&x, plan, &source.impl.dl, source.impl.dl.strides)
    bad = _run(&x, op, t, source, arrays, _only_masks(plan, masks), func)
    if bad.at >= 0:
        raise_bad_index(bad, plan, read, prefix)
    return 0


operations.get_indexed = _get
operations.set_indexed = _set
