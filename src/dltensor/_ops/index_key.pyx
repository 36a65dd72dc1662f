# SPDX-License-Identifier: Apache-2.0
"""Reads a key of index arrays and masks, and plans where it leads. What lies there is read and written in index.pyx.

A key is read in two steps. First whatever can run Python code: every item becomes an integer, a slice, or a tensor of
ours that keeps its memory. Then masks are packed into bits and indices are staged, both into memory of ours; what was
checked there is what is used, since others may write to the memory of an index array at any time.
"""
cimport cython
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t

from .._core.convert cimport view_any

from .._core.indexing cimport Place, locate
from .._core.native cimport (MAX_DIMS, TRAILING, TRUNCATE, CastOptions, Extent, Status, broadcast_strides,
                             computed_types, extent, find_type, is_contiguous, item_bytes, numel, type_bool, type_int64,
                             type_table, work_bytes)
from .._core.scalars cimport shown
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, copied, view_of
from .._core.types cimport DLTensor, is_host
from .arguments cimport kind_order, read_owned, result_for
from .engine cimport (BadIndex, EngineOperand, EngineTable, LaunchContext, PyThreadState, check_device, engine_at,
                      finish, is_same_place, release_gil)

from .._core.convert import asarray
from .._core.types import DeviceError

cdef extern from "Python.h":
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1

cdef extern from "native/layout/index_plan.h" namespace "dlt" nogil:
    int max_items
    bint plan_index(int, const int64_t*, const int64_t*, int, const KeyItem*, IndexPlan*)


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


cdef Tensor index_from_list(object items):
    """A list as an index array. NumPy counts an empty one as integers."""
    cdef Tensor result
    try:
        result = asarray(items)
    except OverflowError as error:
        raise IndexError(f"a list of indices must hold 64-bit integers: {error}") from None
    if numel(result.impl.dl.ndim, result.impl.dl.shape) == 0:
        return result_for(None, result, result.impl.dl.ndim, result.impl.dl.shape, type_table[type_int64].dtype,
                          "__getitem__")
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
        t = index_from_list(key)
    elif not isinstance(key, (str, bytes, bytearray, float, complex)):
        if getattr(getattr(key, "dtype", None), "kind", None) not in ("i", "u") or getattr(key, "ndim", 0) != 0:
            t = view_any(key, None, "__getitem__")
    if t is None:
        if not PyIndex_Check(key):
            raise IndexError(f"an index must be {_kinds}, got {class_of(key)}")
        try:
            number = PyNumber_Index(key)
        except TypeError as error:
            raise IndexError(f"an index must be {_kinds}, got {class_of(key)}: {error}") from None
        _read_number(number, item)
        return number
    type = find_type(t.impl.dl.dtype)
    if type < 0 or type >= computed_types or kind_order(type) > 1:
        raise IndexError(f"an index must be {_kinds}, got {class_of(key)} of {t.dtype}")
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


cdef str class_of(object x):
    return type(x).__qualname__


cdef bint read_key(object key, KeyItem* items, list read, str func) except -1:
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
@cython.auto_pickle(False)
cdef class Mask:
    pass


cdef uint64_t significant_bits(int type) noexcept:
    """The bits of which one must be set in an element that is not 0: of floats all but the sign."""
    cdef int bits = type_table[type].dtype.bits
    if kind_order(type) < 2:
        return <uint64_t>0xFFFFFFFFFFFFFFFF
    if kind_order(type) == 3:
        return <uint64_t>0x7FFFFFFF7FFFFFFF if bits == 64 else <uint64_t>0x7FFFFFFFFFFFFFFF
    return ((<uint64_t>1) << (bits - 1)) - 1


cdef Mask pack_nonzero(Tensor t, int type, str func):
    """Find the elements of a tensor that are not 0, in C order. The host waits for a device to count them."""
    cdef Mask mask = Mask.__new__(Mask)
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
    status = engine.pack_mask(source, significant_bits(type), mask.n, words, before, &mask.count, launch)
    finish(state, status, launch, func)
    return mask


cdef list mask_indices(Mask mask, int ndim, const int64_t* shape, str func):
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


cdef int raise_bad_index(BadIndex bad, const IndexPlan* plan, list read, str prefix) except -1:
    cdef const IndexedAxis* array = &plan.array[bad.array]
    cdef Tensor index = read[array.item]
    cdef int d
    value = bad.value
    place = _place_of(bad.at, plan.spread, plan.spread_shape)
    if index.impl.dl.dtype.code == 1 and value == 0x7FFFFFFFFFFFFFFF:  # an index above it was clamped to this
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


cdef bint share_bytes(Tensor a, Tensor b) noexcept:
    """Test whether the memory that two tensors span has a byte in common."""
    cdef Extent ea = extent(a.impl.dl.ndim, a.impl.dl.shape, a.impl.dl.strides)
    cdef Extent eb = extent(b.impl.dl.ndim, b.impl.dl.shape, b.impl.dl.strides)
    cdef int64_t wa = item_bytes(a.impl.dl.dtype), wb = item_bytes(b.impl.dl.dtype)
    return (<size_t>a.impl.dl.data + ea.low * wa < <size_t>b.impl.dl.data + eb.high * wb and
            <size_t>b.impl.dl.data + eb.low * wb < <size_t>a.impl.dl.data + ea.high * wa)


cdef Tensor spread_indices(Tensor index, int ndim, const int64_t* shape, Tensor written, str func):
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
            (written is None or not share_bytes(index, written))):
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
    state = release_gil(launch, work_bytes(ndim, shape, 16))
    finish(state, engine.cast(source, target, options, launch), launch, func)
    return indices


cdef list index_arrays(const IndexPlan* plan, list read, list masks, Tensor written, str func):
    """Describe each index array of a plan in memory."""
    cdef int k, item = -1
    cdef Tensor index
    cdef list arrays = [], parts = []
    for k in range(plan.arrays):
        index = read[plan.array[k].item]
        if masks[plan.array[k].item] is not None:
            if plan.array[k].item != item:
                item = plan.array[k].item
                parts = (mask_indices(masks[item], 1, &plan.array[k].size, func) if plan.array[k].part < 0 else
                         mask_indices(masks[item], index.impl.dl.ndim, index.impl.dl.shape, func))
            index = parts[max(0, plan.array[k].part)]
        arrays.append(spread_indices(index, plan.spread, plan.spread_shape, written, func))
    return arrays


cdef Tensor index_next_to(Tensor t, Tensor index, str func):
    """An index array on the device of `t`: those of the host are copied there."""
    if is_same_place(index.impl.dl.device, t.impl.dl.device):
        return index
    if is_host(<int>index.impl.dl.device.device_type):
        return index.to(t.device)
    raise DeviceError(f"{func}: the tensor is on {t.device} and an index array on {index.device}; move it with "
                      f".to(\"{t.device}\")")


cdef int plan_key(Tensor t, KeyItem* items, list read, list masks, IndexPlan* plan, str prefix, str func) except -1:
    """Masks packed, index arrays where the tensor is, and the plan of a key."""
    cdef Py_ssize_t i
    cdef Tensor index
    check_device(t, func)
    for i in range(len(read)):
        masks.append(None)
        if items[i].kind == MASK or items[i].kind == ARRAY:
            read[i] = index = index_next_to(t, read[i], func)
            items[i].shape = index.impl.dl.shape
            if items[i].kind == MASK:
                mask = pack_nonzero(index, type_bool, func)
                masks[i] = mask
                items[i].count = (<Mask>mask).count
    if not plan_index(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides, <int>len(read), items, plan):
        _raise_fault(plan, items, read, t, prefix)
    return 0


cdef Tensor view_at(Tensor t, list read):
    """The view that a key names in which nothing but integers, slices, None and Ellipsis was found."""
    cdef Place place
    if locate(&t.impl.dl, tuple(read), &place):
        raise IndexError(f"an index must be {_kinds}")
    return view_of(t, &place)
