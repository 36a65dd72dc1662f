# SPDX-License-Identifier: Apache-2.0
"""Index arrays and masks: what a key of them reads and writes, take, nonzero and accumulation at indices.

A key is read in two steps. First whatever can run Python code: every item becomes an integer, a slice, or a tensor of
ours that keeps its memory. Then masks are packed into bits and indices are staged, both into memory of ours; what was
checked there is what is used, since others may write to the memory of an index array at any time.
"""
cimport cython
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .._core.convert cimport read_array, view_any

from .._core.indexing cimport Place, axis_of, locate
from .._core.native cimport (MAX_DIMS, TRAILING, TRUNCATE, Block, CastOptions, Extent, Status, broadcast_strides,
                             computed_types, extent, find_type, is_contiguous, item_bytes, numel, same_dtype, type_bool,
                             type_int64, type_table)
from .._core.op_numbers cimport op_add, op_maximum, op_minimum
from .._core.scalars cimport shown, store_python
from .._core.tensor cimport (Tensor, as_tuple, assign, assign_scalar, assigned_to, check_writable, copied, is_packed,
                             new_empty, operations, view_of)
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLDataType, DLDevice, DLTensor, is_host,
                            kDLCPU)
from .arguments cimport (HOLDS, Operand, as_engine_operand, check_output, deliver, kind_order, read_out, read_owned,
                         result_for)
from .engine cimport (BadIndex, EngineOperand, EngineTable, Indexed, LaunchContext, PyThreadState, check_device,
                      engine_at, finish, is_same_place, release_gil)

from .._core.convert import asarray
from .._core.types import DeviceError

cdef extern from "Python.h":
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1

cdef extern from "native/layout/index_plan.h" namespace "dlt" nogil:
    enum KeyKind "dlt::KeyKind":
        INTEGER "dlt::KeyKind::integer"
        SLICE "dlt::KeyKind::slice"
        NEW_AXIS "dlt::KeyKind::new_axis"
        ELLIPSIS "dlt::KeyKind::ellipsis"
        ARRAY "dlt::KeyKind::array"
        MASK "dlt::KeyKind::mask"
        TRUTH "dlt::KeyKind::truth"
    ctypedef struct KeyItem:
        KeyKind kind
        int64_t start
        int64_t stop
        int64_t step
        int ndim
        const int64_t* shape
        int64_t count
    int max_items
    ctypedef struct IndexedAxis:
        int item
        int part
        int axis
        int64_t size
        int64_t stride
    enum IndexFault "dlt::IndexFault":
        OUT_OF_RANGE "dlt::IndexFault::out_of_range"
        TOO_MANY "dlt::IndexFault::too_many"
        TWO_ELLIPSES "dlt::IndexFault::two_ellipses"
        MASK_SHAPE "dlt::IndexFault::mask_shape"
        NO_BROADCAST "dlt::IndexFault::no_broadcast"
        TOO_MANY_DIMS "dlt::IndexFault::too_many_dims"
    ctypedef struct IndexPlan:
        IndexFault fault
        int item
        int axis
        int64_t size
        int64_t offset
        int outer
        int inner
        int64_t outer_shape[MAX_DIMS]
        int64_t outer_strides[MAX_DIMS]
        int64_t inner_shape[MAX_DIMS]
        int64_t inner_strides[MAX_DIMS]
        int spread
        int64_t spread_shape[MAX_DIMS]
        int arrays
        IndexedAxis array[MAX_DIMS]
        int ndim
        int64_t shape[MAX_DIMS]
    bint plan_index(int, const int64_t*, const int64_t*, int, const KeyItem*, IndexPlan*)

cdef extern from "native/cpu/index/gather.h" namespace "dlt" nogil:
    int64_t gather_rows(char*, const char*, const int64_t*, int64_t, int64_t, int64_t)
    int64_t scatter_few(char*, const char*, int64_t, int64_t, const int64_t*, int64_t, int64_t)

cdef extern from "native/cpu/index/mask.h" namespace "dlt" nogil:
    int64_t pack_mask(const void*, int64_t, uint64_t, int64_t, uint64_t*, int64_t*)
    void compress(void*, const void*, int64_t, int64_t, const uint64_t*, const int64_t*)
    void expand(void*, const void*, int64_t, int64_t, int64_t, const uint64_t*, const int64_t*)
    void mask_positions(int64_t**, int, const int64_t*, int64_t, const uint64_t*, const int64_t*)

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    int coalesce(int, int64_t*, int, int64_t**)

cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    int compute_type(int, int)

cdef enum:
    READ = -2           # instead of the number of an operation
    WRITE = -1
    SHORT_BYTES = 1 << 16
    SHORT_MASK = 4096   # elements whose bits fit on the stack

cdef DLDevice _HOST = DLDevice(kDLCPU, 0)


# -- reading a key ----------------------------------------------------------------------------------------------------

cdef str _kinds = "an integer, a slice, '...', None, or an array or list of integers or bools"


cdef int _read_number(object number, KeyItem* item) except -1:
    """A position. One that int64 does not hold becomes its nearest end, which is out of range of every axis."""
    cdef int overflow = 0
    item.kind = INTEGER
    item.start = PyLong_AsLongLongAndOverflow(number, &overflow)
    if overflow != 0:
        item.start = 0x7FFFFFFFFFFFFFFF if overflow > 0 else -0x7FFFFFFFFFFFFFFF - 1
    return 0


cdef Tensor _from_list(object items):
    """A list as an index array. NumPy counts an empty one as integers."""
    cdef Tensor result
    try:
        result = asarray(items)
    except OverflowError as error:
        raise IndexError(f"a list of indices must hold 64-bit integers: {error}") from None
    if numel(result.impl.dl.ndim, result.impl.dl.shape) == 0:
        return new_empty(result.impl.dl.ndim, result.impl.dl.shape, type_table[type_int64].dtype, _HOST, "__getitem__")
    return result


cdef object _read_item(object key, KeyItem* item):
    """One item of a key; returns what stands for it: the item itself, an integer, or a tensor. May run Python code."""
    cdef Py_ssize_t start, stop, step
    cdef Tensor t = None
    cdef int type
    if PyLong_CheckExact(key):
        _read_number(key, item)
        return key
    if key is None:
        item.kind = NEW_AXIS
        return key
    if key is Ellipsis:
        item.kind = ELLIPSIS
        return key
    if PySlice_Check(key):
        PySlice_Unpack(key, &start, &stop, &step)
        item.kind = SLICE
        item.start, item.stop, item.step = start, stop, step
        return key
    if isinstance(key, bool):
        item.kind = TRUTH
        item.count = key
        return key
    if isinstance(key, (list, tuple, range)):
        t = _from_list(key)
    elif not isinstance(key, (str, bytes, bytearray, float, complex)):
        if getattr(getattr(key, "dtype", None), "kind", None) not in ("i", "u") or getattr(key, "ndim", 0) != 0:
            t = view_any(key, None, "__getitem__")
    if t is None:
        if not PyIndex_Check(key):
            raise IndexError(f"an index must be {_kinds}, got {_class_of(key)}")
        try:
            number = PyNumber_Index(key)
        except TypeError as error:
            raise IndexError(f"an index must be {_kinds}, got {_class_of(key)}: {error}") from None
        _read_number(number, item)
        return number
    type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or kind_order(type) > 1:
        raise IndexError(f"an index must be {_kinds}, got {_class_of(key)} of {t.dtype}")
    if t.impl.dl.ndim == 0:
        if type == type_bool:
            item.kind = TRUTH
            item.count = bool(t.item())
            return t
        number = t.item()
        _read_number(number, item)
        return number
    item.kind = MASK if type == type_bool else ARRAY
    item.ndim = t.impl.dl.ndim
    item.shape = t.impl.dl.shape
    return t


cdef str _class_of(object x):
    return type(x).__qualname__


cdef bint _read_key(object key, KeyItem* items, list read, str func) except -1:
    """Every item of a key, appended to `read`. Whether an index array, a mask or a truth is among them."""
    cdef tuple keys = tuple(key) if isinstance(key, tuple) else (key,)
    cdef bint indexed = False
    cdef Py_ssize_t i, n = PyTuple_GET_SIZE(keys)
    if n > max_items:
        raise IndexError(f"{func}: an index of {n} items; at most {max_items} are supported")
    for i in range(n):
        read.append(_read_item(<object>PyTuple_GET_ITEM(keys, i), &items[i]))
        indexed = indexed or items[i].kind >= ARRAY
    return indexed


# -- masks ------------------------------------------------------------------------------------------------------------

@cython.final
@cython.internal
@cython.auto_pickle(False)
cdef class _Mask:
    """A mask as it was when it was read: one bit per element, and counts."""
    cdef Tensor words, before
    cdef const uint64_t* bits
    cdef const int64_t* counts  # ahead of each chunk
    cdef int64_t n, count


cdef Tensor _new_indices(int ndim, const int64_t* shape, str func):
    return new_empty(ndim, shape, type_table[type_int64].dtype, _HOST, func)


cdef uint64_t _significant(int type) noexcept:
    """The bits of which one must be set in an element that is not 0: of floats all but the sign."""
    cdef int bits = type_table[type].dtype.bits
    if kind_order(type) < 2:
        return <uint64_t>0xFFFFFFFFFFFFFFFF
    if kind_order(type) == 3:
        return <uint64_t>0x7FFFFFFF7FFFFFFF if bits == 64 else <uint64_t>0x7FFFFFFFFFFFFFFF
    return ((<uint64_t>1) << (bits - 1)) - 1


cdef _Mask _pack(Tensor t, int type, str func):
    """Find the elements of a tensor that are not 0, in C order. The host waits for a device to count them."""
    cdef _Mask mask = _Mask.__new__(_Mask)
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(t.impl.dl.device, &launch, func)
    cdef EngineOperand source, words, before
    cdef PyThreadState* state
    cdef Status status
    cdef int64_t tiles, length
    if not is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides):
        t = copied(t, func)
    mask.n = numel(t.impl.dl.ndim, t.impl.dl.shape)
    mask.count = 0
    tiles = (mask.n + engine.mask_tile - 1) // engine.mask_tile
    length = tiles * (engine.mask_tile // 64)
    mask.words = result_for(None, t, 1, &length, type_table[type_int64].dtype, func)
    length = tiles + 1
    mask.before = result_for(None, t, 1, &length, type_table[type_int64].dtype, func)
    mask.bits = <const uint64_t*>mask.words.impl.dl.data
    mask.counts = <const int64_t*>mask.before.impl.dl.data
    if mask.n == 0:
        return mask
    read_owned(t, &source)
    read_owned(mask.words, &words)
    read_owned(mask.before, &before)
    state = release_gil(launch, mask.n * type_table[type].bytes)
    status = engine.pack_mask(source, _significant(type), mask.n, words, before, &mask.count, launch)
    finish(state, status, launch, func)
    return mask


cdef list _positions(_Mask mask, int ndim, const int64_t* shape, str func):
    """The indices of what is set along each dimension of a shape."""
    cdef LaunchContext launch
    cdef const EngineTable* engine = engine_at(mask.words.impl.dl.device, &launch, func)
    cdef EngineOperand to[MAX_DIMS]
    cdef EngineOperand words, before
    cdef PyThreadState* state
    cdef Status status
    cdef list found = []
    cdef int d
    for d in range(ndim):
        found.append(result_for(None, mask.words, 1, &mask.count, type_table[type_int64].dtype, func))
        read_owned(<Tensor>found[d], &to[d])
    if mask.count == 0:
        return found
    read_owned(mask.words, &words)
    read_owned(mask.before, &before)
    state = release_gil(launch, mask.n + 8 * ndim * mask.count)
    status = engine.mask_positions(to, ndim, shape, mask.n, words, before, launch)
    finish(state, status, launch, func)
    return found


# -- from a plan to elements ------------------------------------------------------------------------------------------

cdef object _place_of(int64_t at, int ndim, const int64_t* shape):
    """The indices of a position in C order."""
    places = []
    for d in range(ndim - 1, -1, -1):
        places.append(at % shape[d])
        at //= shape[d]
    return tuple(reversed(places))


cdef int _raise_bad(BadIndex bad, const IndexPlan* plan, list read, str prefix) except -1:
    cdef const IndexedAxis* array = &plan.array[bad.array]
    cdef Tensor index = read[array.item]
    cdef int d
    value = bad.value
    place = _place_of(bad.at, plan.spread, plan.spread_shape)
    if index.impl.dl.dtype.code == 1 and value == 0x7FFFFFFFFFFFFFFF:  # what an index above it was clamped to
        own = place[plan.spread - index.impl.dl.ndim:]
        value = index.item(*[0 if index.impl.dl.shape[d] == 1 else own[d] for d in range(index.impl.dl.ndim)])
    raise IndexError(f"{prefix}index {value} is out of range for axis {array.axis} with size {array.size}, at position "
                     f"{place} of the index array")


cdef int _raise_fault(const IndexPlan* plan, const KeyItem* items, list read, Tensor t, str prefix) except -1:
    cdef Py_ssize_t i
    if plan.fault == OUT_OF_RANGE:
        raise IndexError(f"{prefix}index {shown(read[plan.item])} is out of range for axis {plan.axis} with size "
                         f"{plan.size}")
    if plan.fault == TOO_MANY:
        raise IndexError(f"{prefix}too many indices: the tensor has {t.ndim} dimension{'' if t.ndim == 1 else 's'}, "
                         f"but {plan.size} were indexed")
    if plan.fault == TWO_ELLIPSES:
        raise IndexError(f"{prefix}an index may contain '...' once, got it more than once")
    if plan.fault == MASK_SHAPE:
        raise IndexError(f"{prefix}a mask of shape {(<Tensor>read[plan.item]).shape} does not fit a tensor of shape "
                         f"{t.shape}: axis {plan.axis} has size {plan.size}")
    if plan.fault == NO_BROADCAST:
        shapes = [str(as_tuple(items[i].ndim, items[i].shape)) if items[i].kind == ARRAY else f"({items[i].count},)"
                  for i in range(len(read)) if items[i].kind >= ARRAY]
        raise IndexError(f"{prefix}index arrays do not broadcast: their shapes are {', '.join(shapes)}")
    raise IndexError(f"{prefix}at most {MAX_DIMS} dimensions are supported, this index makes more")


cdef bint _share_bytes(Tensor a, Tensor b) noexcept:
    """Test whether the memory that two tensors span has a byte in common."""
    cdef Extent ea = extent(a.impl.dl.ndim, a.impl.dl.shape, a.impl.dl.strides)
    cdef Extent eb = extent(b.impl.dl.ndim, b.impl.dl.shape, b.impl.dl.strides)
    cdef int64_t wa = item_bytes(a.impl.dl.dtype), wb = item_bytes(b.impl.dl.dtype)
    return (<size_t>a.impl.dl.data + ea.low * wa < <size_t>b.impl.dl.data + eb.high * wb and
            <size_t>b.impl.dl.data + eb.low * wb < <size_t>a.impl.dl.data + ea.high * wa)


cdef Tensor _spread_indices(Tensor index, int ndim, const int64_t* shape, Tensor written, str func):
    """An index array as int64, in C order, of the shape that all index arrays share; itself when it is that.

    `written` is None, or the tensor whose memory must not be that of the indices.
    """
    cdef int64_t strides[MAX_DIMS]
    cdef DLTensor spread = index.impl.dl
    cdef CastOptions options
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef EngineOperand source, target
    cdef PyThreadState* state
    cdef Tensor indices
    cdef bint same = index.impl.dl.ndim == ndim, wide = find_type(index.impl.dl.dtype) == type_int64
    cdef int d
    for d in range(ndim if same else 0):
        same = same and index.impl.dl.shape[d] == shape[d]
    if (same and wide and is_contiguous(ndim, index.impl.dl.shape, index.impl.dl.strides) and
            (written is None or not _share_bytes(index, written))):
        return index
    broadcast_strides(index.impl.dl.ndim, index.impl.dl.shape, index.impl.dl.strides, ndim, shape, TRAILING, strides)
    spread.ndim = ndim
    spread.shape = <int64_t*>shape
    spread.strides = strides
    options.rounding = TRUNCATE
    options.saturate = True     # uint64 beyond int64 must not become negative, which would count from the end
    options.scaled = False
    options.scale, options.offset = 1.0, 0.0
    engine = engine_at(index.impl.dl.device, &launch, func)
    indices = result_for(None, index, ndim, shape, type_table[type_int64].dtype, func)
    source.tensor, source.block = &spread, index.impl.block
    read_owned(indices, &target)
    state = release_gil(launch, 16 * numel(ndim, shape))
    finish(state, engine.cast(source, target, options, launch), launch, func)
    return indices


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
    if not is_host(<int>t.impl.dl.device.device_type):  # devices go by positions
        return False
    return (plan.arrays == 1 and plan.array[0].part < 0 and plan.outer == 0 and plan.inner == 0 and plan.spread == 1 and
            plan.spread_shape[0] == items[plan.array[0].item].count and
            (plan.array[0].stride == 1 or plan.array[0].size <= 1) and
            width <= 16 and width & (width - 1) == 0)


cdef list _make_arrays(const IndexPlan* plan, list read, list masks, Tensor written, str func):
    """Describe each index array of a plan in memory."""
    cdef int k, item = -1
    cdef Tensor index
    cdef list arrays = [], parts = []
    for k in range(plan.arrays):
        index = read[plan.array[k].item]
        if masks[plan.array[k].item] is not None:
            if plan.array[k].item != item:
                item = plan.array[k].item
                parts = (_positions(masks[item], 1, &plan.array[k].size, func) if plan.array[k].part < 0 else
                         _positions(masks[item], index.impl.dl.ndim, index.impl.dl.shape, func))
            index = parts[max(0, plan.array[k].part)]
        arrays.append(_spread_indices(index, plan.spread, plan.spread_shape, written, func))
    return arrays


cdef Tensor _next_to(Tensor t, Tensor index, str func):
    """An index array on the device of `t`: those of the host are copied there."""
    if is_same_place(index.impl.dl.device, t.impl.dl.device):
        return index
    if is_host(<int>index.impl.dl.device.device_type):
        return index.to(t.device)
    raise DeviceError(f"{func}: the tensor is on {t.device} and an index array on {index.device}; move it with "
                      f".to(\"{t.device}\")")


cdef int _plan(Tensor t, KeyItem* items, list read, list masks, IndexPlan* plan, str prefix, str func) except -1:
    """Masks packed, index arrays where the tensor is, and the plan of a key."""
    cdef Py_ssize_t i
    cdef Tensor index
    check_device(t, func)
    for i in range(len(read)):
        masks.append(None)
        if items[i].kind == MASK or items[i].kind == ARRAY:
            read[i] = index = _next_to(t, read[i], func)
            items[i].shape = index.impl.dl.shape
            if items[i].kind == MASK:
                mask = _pack(index, type_bool, func)
                masks[i] = mask
                items[i].count = (<_Mask>mask).count
    if not plan_index(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides, <int>len(read), items, plan):
        _raise_fault(plan, items, read, t, prefix)
    return 0


cdef Tensor _view(Tensor t, list read):
    """The view that a key names in which nothing but integers, slices, None and Ellipsis was found."""
    cdef Place place
    if locate(&t.impl.dl, tuple(read), &place):
        raise IndexError(f"an index must be {_kinds}")
    return view_of(t, &place)


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


cdef inline bint _is_short_mask(Tensor t, Tensor key, int64_t n, int64_t width) noexcept:
    return n <= SHORT_MASK and width <= 16 and width & (width - 1) == 0 and _same_shape(t, key)


cdef Tensor _short(Tensor t, Tensor key):
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
        result = new_empty(ndim + t.impl.dl.ndim - 1, shape, t.impl.dl.dtype, _HOST, "__getitem__")
        count = gather_rows(<char*>result.impl.dl.data, <const char*>t.impl.dl.data, <const int64_t*>key.impl.dl.data,
                            n, t.impl.dl.shape[0], row)
        return result if count == n else None
    if type != type_bool or not _is_short_mask(t, key, n, width):
        return None
    count = pack_mask(key.impl.dl.data, 1, 255, n, words, before)
    result = new_empty(1, &count, t.impl.dl.dtype, _HOST, "__getitem__")
    compress(result.impl.dl.data, t.impl.dl.data, width, n, words, before)
    return result


cdef object _get(Tensor t, object key):
    if type(key) is Tensor:
        result = _short(t, <Tensor>key)
        if result is not None:
            return result
    return _read(t, key, "__getitem__", "", False)


cdef Tensor _read(Tensor t, object key, str func, str prefix, bint copy):
    """Return what a key selects: a view for a basic key, unless `copy`, else a new tensor."""
    cdef KeyItem items[192]
    cdef IndexPlan plan
    cdef Indexed x
    cdef BadIndex bad
    cdef list read = [], masks = []
    cdef Tensor out
    if not _read_key(key, items, read, func):
        out = _view(t, read)
        return copied(out, func) if copy else out
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        _plan(t, items, read, masks, &plan, prefix, func)
        return _unpacked(t, func)[tuple(read)].astype(t.dtype)
    _plan(t, items, read, masks, &plan, prefix, func)
    result = _new_like(t, plan.ndim, plan.shape, func)
    if _takes_whole_mask(&plan, items, t):
        _move_by_mask(t, _first(&plan, t), <char*>result.impl.dl.data, 1, True, masks[plan.array[0].item], func)
        return result
    arrays = _make_arrays(&plan, read, masks, None, func)
    _describe(&x, &plan, t, arrays)
    _describe_dense(&x, &plan, &result.impl.dl, result.impl.dl.strides)
    bad = _run(&x, READ, t, result, arrays, _only_masks(&plan, masks), func)
    if bad.at >= 0:
        _raise_bad(bad, &plan, read, prefix)
    return result


cdef int _move_by_mask(Tensor t, char* elements, char* dense, int64_t step, bint read, _Mask mask, str func) except -1:
    """Move what a mask of all of `t`, of which `elements` are, selects, to dense memory or from there."""
    cdef LaunchContext launch
    cdef Status done
    cdef int64_t width = item_bytes(t.impl.dl.dtype)
    cdef PyThreadState* state = release_gil(launch, mask.n * width)
    if read:
        compress(dense, elements, width, mask.n, mask.bits, mask.counts)
    else:
        expand(elements, dense, step, width, mask.n, mask.bits, mask.counts)
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

cdef bint _short_write(Tensor t, Tensor key, object value) except -1:
    """Few elements by one index array or mask, all in C order, without a plan; False when it is for `_write`."""
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
        if not _is_short_mask(t, key, n, width):
            return False
    elif kind != type_int64 or n > SHORT_MASK or t.impl.dl.ndim != 1 or width > 16 or width & (width - 1) != 0:
        return False
    check_writable(&t.impl.dl, t.impl.flags, "__setitem__")
    if type(value) is Tensor:
        values = value
        if (not _is_plain(values) or not same_dtype(values.impl.dl.dtype, t.impl.dl.dtype) or
                _share_bytes(values, t) or kind == type_int64 and not _same_shape(values, key) or
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
    """On a device, a number wherever a mask of the shape of `t` is true; False when it is for `_write`.

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
    if type(key) is Tensor and (_short_write(t, <Tensor>key, value) or _masked_fill(t, <Tensor>key, value)):
        return 0
    return _write(t, key, value, WRITE, "__setitem__", "")


cdef int _write(Tensor t, object key, object value, int op, str func, str prefix) except -1:
    """Write to what a key selects, or with an operation join it with what is there."""
    cdef KeyItem items[192]
    cdef IndexPlan plan
    cdef list read = [], masks = []
    cdef int64_t strides[MAX_DIMS]
    cdef Tensor source, whole, view
    cdef bint indexed = _read_key(key, items, read, func)
    if not isinstance(value, (bool, int, float, complex)) and type(value) is not Tensor:
        value = _assignable(value, t, func)
    if not indexed:
        view = _view(t, read)
        if op == WRITE:
            return assign(view, value, func)
        return _join(view, value, op, func)
    check_device(t, func)
    check_writable(&t.impl.dl, t.impl.flags, func)
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        whole = _unpacked(t, func)
        _write(whole, tuple(read), value, op, func, prefix)
        return assign(t, whole, func)
    _plan(t, items, read, masks, &plan, prefix, func)
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
        if (is_same_place(source.impl.dl.device, t.impl.dl.device) and not _share_bytes(source, t) and
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
    cdef _Mask mask
    cdef Tensor spread
    cdef Place place
    cdef int64_t step
    if op == WRITE and _takes_whole_mask(plan, items, t):
        mask = masks[plan.array[0].item]
        step = strides[0] if mask.count > 1 else 1
        if step == 0 or step == 1:
            return _move_by_mask(t, _first(plan, t), <char*>source.impl.dl.data, step, False, mask, func)
    arrays = _make_arrays(plan, read, masks, t, func)
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
        _raise_bad(bad, plan, read, prefix)
    return 0


# -- accumulation -----------------------------------------------------------------------------------------------------

cdef int _join(Tensor view, object value, int op, str func) except -1:
    """Do what `_write` does where a basic key selects every element once: a row of positions of which there is one."""
    return _write(view, (True, Ellipsis), value, op, func, f"{func}: ")


def _accumulate(x, indices, values, int op, str func):
    cdef Tensor t = view_any(x, False, func)
    cdef int type
    if t is None:
        raise TypeError(f"{func}: expected a writable tensor, got {_class_of(x)}")
    type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or compute_type(op, type) != type:
        raise TypeError(f"{func}: not defined for {t.dtype}")
    check_writable(&t.impl.dl, t.impl.flags, func, "x")
    _write(t, indices, values, op, func, f"{func}: ")
    return x


def add_at(x, indices, values, /):
    """Add values to the elements that an index selects, in place; an element that is named twice gets both.

    ``x[indices] += values`` adds once to each element. Positions are taken in C order, and every sum is rounded to the
    dtype of `x`: the result does not depend on the number of threads.

    Parameters
    ----------
    x : array_like
        Writable tensor.
    indices : index
        Key as in ``x[...]``: integers, slices, index arrays, masks, or a tuple of them.
    values : array_like or number
        Broadcast to the shape of ``x[indices]`` and converted to the dtype of `x`.

    Returns
    -------
    array_like
        `x` itself.

    Raises
    ------
    IndexError
        An index is out of range; nothing is written then.
    ValueError
        `values` does not broadcast, or `x` is read-only or its elements share memory.
    TypeError
        `x` has a dtype that cannot be added.
    OverflowError
        A Python integer is outside the dtype.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    See Also
    --------
    maximum_at : Maximum instead of a sum.
    minimum_at : Minimum instead.

    Examples
    --------
    >>> dl.add_at(dl.zeros(3), dl.asarray([0, 2, 0]), dl.asarray([1.0, 2.0, 3.0])).tolist()
    [4.0, 0.0, 2.0]
    """
    return _accumulate(x, indices, values, op_add, "add_at")


def maximum_at(x, indices, values, /):
    """Raise the elements that an index selects to values where these are larger, in place.

    Parameters
    ----------
    x : array_like
        Writable tensor.
    indices : index
        Key as in ``x[...]``.
    values : array_like or number
        Broadcast to the shape of ``x[indices]`` and converted to the dtype of `x`. NaN wins.

    {add_at: Returns}

    Raises
    ------
    {add_at: IndexError, ValueError}
    TypeError
        `x` has a dtype without order.
    {add_at: OverflowError, DeviceError}

    See Also
    --------
    minimum_at : Minimum instead.
    add_at : Sum instead.

    Examples
    --------
    >>> dl.maximum_at(dl.asarray([5, 5]), dl.asarray([0, 0, 1]), dl.asarray([9, 7, 1])).tolist()
    [9, 5]
    """
    return _accumulate(x, indices, values, op_maximum, "maximum_at")


def minimum_at(x, indices, values, /):
    """Lower the elements that an index selects to values where these are smaller, in place.

    {maximum_at: Parameters, Returns, Raises}

    See Also
    --------
    maximum_at : Maximum instead of a sum.
    add_at : Sum instead.

    Examples
    --------
    >>> dl.minimum_at(dl.asarray([5, 5]), dl.asarray([0, 0, 1]), dl.asarray([3, 4, 9])).tolist()
    [3, 5]
    """
    return _accumulate(x, indices, values, op_minimum, "minimum_at")


# -- functions --------------------------------------------------------------------------------------------------------

cdef Tensor _indices_argument(object indices, str func):
    """Positions as a tensor of integers; sequences are read."""
    cdef Tensor t
    cdef int type
    if isinstance(indices, (list, tuple, range)) or PyLong_CheckExact(indices):
        t = _from_list(indices)
    else:
        t = read_array(indices, func)
    type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or kind_order(type) != 1:
        raise IndexError(f"{func}: indices must be integers, got {t.dtype}")
    return t


cdef object _deliver(Tensor result, object out, Tensor target, str func):
    """Return the result, or `out` after it was written there."""
    if target is not None:
        check_output(&target.impl.dl, result.impl.dl.ndim, result.impl.dl.shape, result.impl.dl.dtype,
                     result.impl.dl.device, HOLDS, func)
    return deliver(result, target, out, func)


def take(x, indices: TensorLike | Sequence[int] | int, /, *, axis=None, out=None):
    """Return the elements at positions along an axis, as ``x[..., indices, ...]`` does.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    indices : array_like of int, or sequence of int
        Positions, of any shape. Negative ones count from the end.
    axis : int, optional
        Dimension to index. It may be left out when `x` has one dimension.
    out : array_like, optional
        Writable tensor for the result.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`, with the dimensions of `indices` in place of `axis`. `out`, when it is given.

    Raises
    ------
    IndexError
        An index or the axis is out of range, or `indices` are no integers.
    ValueError
        `axis` is None and `x` has not one dimension. `out` has another shape or is read-only.
    TypeError
        An argument is no tensor, or `axis` is no integer. The dtype of `out` does not hold the result.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    See Also
    --------
    take_along_axis : Select elements by one index for each.

    Notes
    -----
    Array API 2025.12: ``take``.

    Examples
    --------
    >>> dl.take(dl.asarray([[1, 2, 3], [4, 5, 6]]), dl.asarray([2, 0]), axis=1).tolist()
    [[3, 1], [6, 4]]
    """
    cdef Tensor t, target, at
    cdef int where
    if type(x) is Tensor and type(indices) is Tensor and axis is None and out is None:
        t, at = x, indices
        if t.impl.dl.ndim == 1 and find_type(at.impl.dl.dtype) == type_int64:
            result = _short(t, at)
            if result is not None:
                return result
    t, target = read_array(x, "take"), read_out(out, "take")
    if axis is None:
        if t.impl.dl.ndim != 1:
            raise ValueError(f"take: axis may be None for one dimension only, x has shape {t.shape}; give an axis")
        where = 0
    else:
        where = axis_of(axis, t.impl.dl.ndim, "take")
    at = _indices_argument(indices, "take")
    if at.impl.dl.ndim == 0:
        key = at.item()
    else:
        key = at
    return _deliver(_read(t, (slice(None),) * where + (key,), "take", "take: ", True), out, target, "take")


def take_along_axis(x, indices, /, *, axis=-1, out=None):
    """Return elements whose position along an axis is given one by one, as `argsort` and `argmax` give them.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.
    indices : array_like of int
        Positions, with as many dimensions as `x`, which broadcast except for `axis`. Negative ones count from the end.
    axis : int or None, default -1
        Dimension to index. None indexes the elements of `x` in C order, by one dimension of positions.
    out : array_like, optional
        Writable tensor for the result.

    Returns
    -------
    Tensor
        A copy of the dtype of `x`, with the extent of `indices` along `axis`; or `out`.

    Raises
    ------
    IndexError
        An index or the axis is out of range, or `indices` are no integers.
    ValueError
        The numbers of dimensions differ, the other dimensions do not broadcast, or `out` has another shape or is
        read-only.
    {take: TypeError, DeviceError}

    See Also
    --------
    take : Select elements at positions along an axis.

    Notes
    -----
    Array API 2025.12: ``take_along_axis``.

    Examples
    --------
    >>> dl.take_along_axis(dl.asarray([[3, 1], [2, 4]]), dl.asarray([[1], [0]])).tolist()
    [[1], [2]]
    """
    func = "take_along_axis"
    cdef Tensor t = read_array(x, func), target = read_out(out, func), at = _indices_argument(indices, func), result
    cdef Tensor packed = None
    if axis is None:
        t, axis = t.reshape((-1,)), 0
    cdef int where = axis_of(axis, t.impl.dl.ndim, func), d
    cdef int64_t shape[MAX_DIMS]
    cdef IndexPlan plan
    cdef Indexed indexed
    cdef BadIndex bad
    if at.impl.dl.ndim != t.impl.dl.ndim:
        raise ValueError(f"{func}: x has shape {t.shape}, indices have {at.shape}; expected as many dimensions")
    for d in range(t.impl.dl.ndim):
        shape[d] = at.impl.dl.shape[d]
        if d != where and shape[d] == 1:
            shape[d] = t.impl.dl.shape[d]
        if d != where and shape[d] != t.impl.dl.shape[d] and t.impl.dl.shape[d] != 1:
            raise ValueError(f"{func}: x has shape {t.shape}, indices have {at.shape}, which do not broadcast along "
                             f"axis {d}")
    check_device(t, func)
    at = _next_to(t, at, func)
    if is_packed(t.impl.dl.dtype, t.impl.flags):
        packed, t = t, _unpacked(t, func)
    result = _new_like(t, t.impl.dl.ndim, shape, func)
    plan.offset = 0
    plan.outer = plan.inner = 0
    plan.spread = t.impl.dl.ndim
    memcpy(plan.spread_shape, shape, plan.spread * sizeof(int64_t))
    plan.arrays = 1
    plan.array[0].item = 0
    plan.array[0].axis = where
    plan.array[0].size = t.impl.dl.shape[where]
    plan.array[0].stride = t.impl.dl.strides[where]
    arrays = [_spread_indices(at, plan.spread, shape, None, func)]
    _describe(&indexed, &plan, t, arrays)
    _describe_dense(&indexed, &plan, &result.impl.dl, result.impl.dl.strides)
    indexed.spread = plan.spread
    memcpy(indexed.spread_shape, shape, plan.spread * sizeof(int64_t))
    for d in range(plan.spread):
        indexed.spread_tensor[d] = 0 if d == where or t.impl.dl.shape[d] == 1 else t.impl.dl.strides[d]
    bad = _run(&indexed, READ, t, result, arrays, False, func)
    if bad.at >= 0:
        _raise_bad(bad, &plan, [at], f"{func}: ")
    if packed is not None:
        result = result.astype(packed.dtype)
    return _deliver(result, out, target, func)


def nonzero(x, /):
    """Return where elements differ from 0, as one tensor of indices for each dimension, in C order.

    Parameters
    ----------
    x : array_like
        Tensor, or any object that supports DLPack.

    Returns
    -------
    tuple of Tensor
        int64 indices along each dimension; ``x[nonzero(x)]`` are the elements.

    Raises
    ------
    ValueError
        `x` has no dimensions.
    TypeError
        `x` is no tensor, or its dtype has no arithmetic.
    DeviceError
        `x` is neither on the host nor on a CUDA device.

    Notes
    -----
    Array API 2025.12: ``nonzero``. On a CUDA device the host waits for the count.

    Examples
    --------
    >>> [at.tolist() for at in dl.nonzero(dl.asarray([[0, 5], [7, 0]]))]
    [[0, 1], [1, 0]]
    """
    cdef Tensor t = read_array(x, "nonzero"), result
    cdef int type = find_type(t.impl.dl.dtype)
    cdef uint64_t words[64]
    cdef int64_t before[2]
    cdef int64_t* to[1]
    cdef int64_t n, count
    if t.impl.dl.ndim == 0:
        raise ValueError("nonzero: a tensor of 0 dimensions has no indices; reshape it to (1,), or compare it with 0")
    if type < 0 or type >= computed_types:
        raise TypeError(f"nonzero: {t.dtype} has no arithmetic; convert with astype() first")
    if (t.impl.dl.device.device_type == kDLCPU and t.impl.dl.ndim == 1 and t.impl.dl.shape[0] <= SHORT_MASK and (
            t.impl.dl.strides[0] == 1 or t.impl.dl.shape[0] <= 1)):
        n = t.impl.dl.shape[0]
        count = pack_mask(t.impl.dl.data, type_table[type].bytes, _significant(type), n, words, before)
        result = _new_indices(1, &count, "nonzero")
        to[0] = <int64_t*>result.impl.dl.data
        mask_positions(to, 1, t.impl.dl.shape, n, words, before)
        return (result,)
    return tuple(_positions(_pack(t, type, "nonzero"), t.impl.dl.ndim, t.impl.dl.shape, "nonzero"))


cdef object _take(object x, object indices, object axis):
    return take(x, indices, axis=axis)


cdef object _nonzero(object x):
    return nonzero(x)


operations.get_indexed = _get
operations.set_indexed = _set
operations.take = _take
operations.nonzero = _nonzero
