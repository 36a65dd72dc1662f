# SPDX-License-Identifier: Apache-2.0
# How tensors come to their memory, share it and write to it. Part of _core/tensor.pyx; no methods here.

cdef inline Tensor new_tensor(int ndim):
    """A tensor with room for `ndim` dimensions and nothing else set."""
    cdef Tensor t = Tensor.__new__(Tensor)
    if not t.impl.reserve_dims(ndim):
        raise MemoryError(f"no memory left for {ndim} dimensions")
    return t


cdef int fill_from_import(Tensor t, ImportedTensor* imported) except -1:
    """Fill a new tensor with what a door has taken; the block's reference moves in first, so that nothing is lost."""
    cdef int i
    cdef int ndim = imported.view.ndim
    t.impl.block = imported.block
    t.is_view = True
    t.impl.flags = imported.flags
    if not t.impl.reserve_dims(ndim):
        raise MemoryError(f"no memory left for {ndim} dimensions")
    t.impl.dl.data = imported.view.data
    t.impl.dl.device = imported.view.device
    t.impl.dl.dtype = imported.view.dtype
    t.impl.dl.byte_offset = imported.view.byte_offset
    for i in range(ndim):
        t.impl.dl.shape[i] = imported.view.shape[i]
    if imported.view.strides != NULL:
        for i in range(ndim):
            t.impl.dl.strides[i] = imported.view.strides[i]
    else:
        # NULL strides were legal until DLPack 1.2: fill them, so that no loop has to ask.
        contiguous_strides(ndim, t.impl.dl.shape, t.impl.dl.strides)
    return 0


cdef inline bint is_packed(DLDataType dtype, uint64_t flags) noexcept:
    return (dtype.bits < 8 and (dtype.bits * dtype.lanes & 7) != 0 and
            not flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)


cdef inline int64_t _bytes(const DLTensor* view, int64_t size, uint64_t flags) noexcept:
    return bytes_of(size, view.dtype, flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0)


cdef inline int64_t _size(const DLTensor* view) noexcept:
    return numel(view.ndim, view.shape)


cdef extern from *:
    """
    static bool is_shared(const dlt::Block* block) {
      return block->references.load(std::memory_order_relaxed) != 1;
    }
    """
    bint is_shared(const Block*) noexcept


cdef inline size_t _owned_bytes(Tensor t) noexcept:
    """Bytes of host memory that are this tensor's: its block, unless it is a view of a block that others hold too."""
    cdef Block* block = t.impl.block
    if block == NULL or not is_host(<int>t.impl.dl.device.device_type) or t.is_view and is_shared(block):
        return 0
    return block.bytes  # 0 for memory of somebody else


cdef int64_t counted(int ndim, const int64_t* shape, DLDataType dtype, str func) except -1:
    """The number of elements of a requested shape; ValueError when an extent is negative or int64 cannot count them."""
    cdef int i
    cdef int64_t count
    for i in range(ndim):
        if shape[i] < 0:
            raise ValueError(f"{func}: shape[{i}] must be at least 0, got {shape[i]}")
    if not count_elements(ndim, shape, dtype, &count):
        raise ValueError(f"{func}: shape {as_tuple(ndim, shape)} of {dtype_of(dtype)} takes more than 2^63 - 1 bytes, "
                         f"the most that can be counted")
    return count


cdef allocate_t _allocate = NULL


cdef void set_allocate(allocate_t function) noexcept:
    global _allocate
    _allocate = function


cdef Tensor new_empty(int ndim, const int64_t* shape, DLDataType dtype, DLDevice device, str func):
    """A tensor in fresh memory, C order, uninitialised."""
    cdef int i
    cdef Tensor t
    cdef int64_t size = counted(ndim, shape, dtype, func)
    # What no address reaches is not asked for: 2^47 bytes.
    if size > (<int64_t>1 << 47) * 8 // (dtype.bits * dtype.lanes):
        raise MemoryError(_out_of_memory(ndim, shape, dtype, func))
    t = new_tensor(ndim)
    for i in range(ndim):
        t.impl.dl.shape[i] = shape[i]
    contiguous_strides(ndim, t.impl.dl.shape, t.impl.dl.strides)
    t.impl.dl.dtype = dtype
    t.impl.dl.device = device
    if device.device_type != kDLCPU:
        if _allocate == NULL:
            _hook("engine", func, "dltensor.cuda")()
        t.impl.block = _allocate(_bytes(&t.impl.dl, size, 0), device, func)
        t.impl.dl.data = t.impl.block.data
        return t
    t.impl.block = allocate(_bytes(&t.impl.dl, size, 0))
    if t.impl.block == NULL:
        raise MemoryError(_out_of_memory(ndim, shape, dtype, func))
    t.impl.dl.data = t.impl.block.data
    if dtype.bits < 8 and size > 0:
        # The bits after the last packed element are exported with it: by tobytes(), pickles and files.
        (<char*>t.impl.dl.data)[_bytes(&t.impl.dl, size, 0) - 1] = 0
    return t


cdef str _out_of_memory(int ndim, const int64_t* shape, DLDataType dtype, str func):
    bits = int(dtype.bits) * int(dtype.lanes)
    for i in range(ndim):
        bits *= shape[i]
    return (f"{func}: cannot allocate {(bits + 7) // 8} bytes for shape {as_tuple(ndim, shape)} of "
            f"{dtype_of(dtype)}")


cdef inline void _share(Tensor t, Tensor source) noexcept:
    t.impl.dl.device = source.impl.dl.device
    t.impl.dl.dtype = source.impl.dl.dtype
    t.impl.dl.byte_offset = source.impl.dl.byte_offset
    t.impl.dl.data = source.impl.dl.data
    t.impl.flags = source.impl.flags & ~<uint64_t>DLPACK_FLAG_BITMASK_IS_COPIED
    retain(source.impl.block)
    t.impl.block = source.impl.block
    t.is_view = True


cdef inline void _advance(Tensor t, uint64_t bytes) noexcept:
    # Unsigned arithmetic wraps: strides of a foreign empty tensor may be anything. On devices whose data is a handle
    # the offset must stay where it is.
    if is_handle(<int>t.impl.dl.device.device_type):
        t.impl.dl.byte_offset += bytes
    else:
        t.impl.dl.data = <void*>(<size_t>t.impl.dl.data + bytes)


cdef inline Tensor _row(Tensor source, int64_t index):
    """``source[index]``, for elements of whole bytes: the most frequent key of all."""
    cdef int i
    cdef int ndim = source.impl.dl.ndim - 1
    cdef Tensor t = new_tensor(ndim)
    _share(t, source)
    _advance(t, <uint64_t>index * <uint64_t>source.impl.dl.strides[0] * <uint64_t>item_bytes(source.impl.dl.dtype))
    for i in range(ndim):
        t.impl.dl.shape[i] = source.impl.dl.shape[i + 1]
        t.impl.dl.strides[i] = source.impl.dl.strides[i + 1]
    return t


cdef Tensor view_of(Tensor source, const Place* place):
    """A tensor that shares the memory of `source` at a place inside it."""
    cdef int i
    cdef Tensor t = new_tensor(place.ndim)
    cdef uint64_t bytes
    cdef int64_t bits = source.impl.dl.dtype.bits * source.impl.dl.dtype.lanes
    if not is_packed(source.impl.dl.dtype, source.impl.flags):
        bytes = <uint64_t>place.offset * <uint64_t>item_bytes(source.impl.dl.dtype)
    else:
        # By eights, whose bits are whole bytes, so that all together need not be counted in bits.
        bytes = <uint64_t>((place.offset >> 3) * bits + ((place.offset & 7) * bits >> 3))
        if (place.offset & 7) * bits & 7:
            raise ValueError(f"element {place.offset} of a packed {dtype_of(source.impl.dl.dtype)} tensor starts "
                             f"inside a byte, where no view can begin; read it with item() or tolist(), or widen the "
                             f"tensor "
                             f"with astype()")
    _share(t, source)
    _advance(t, bytes)
    for i in range(place.ndim):
        t.impl.dl.shape[i] = place.shape[i]
        t.impl.dl.strides[i] = place.strides[i]
    return t


cdef Tensor same_view(Tensor source):
    cdef int i
    cdef int ndim = source.impl.dl.ndim
    cdef Tensor t = new_tensor(ndim)
    _share(t, source)
    for i in range(2 * ndim):
        t.impl.dl.shape[i] = source.impl.dl.shape[i]
    return t


cdef object _hook(str name, str func, str needed):
    function = _hooks.get(name)
    if function is None:
        raise DeviceError(f"{func}: this needs {needed}, which is not loaded")
    return function


cdef int check_host(Tensor self, str func) except -1:
    if not is_host(<int>self.impl.dl.device.device_type):
        raise DeviceError(f"{func}: the data is on {device_of(self.impl.dl.device)}, which the host cannot read; move "
                          f"it with to('cpu')")
    return 0


cdef Tensor on_host(Tensor self, str func):
    """A tensor that the host can read: `self`, or a copy that waits for the device."""
    if is_host(<int>self.impl.dl.device.device_type):
        return self
    return _hook("to", func, "dltensor.cuda")(self, device_of(DLDevice(kDLCPU, 0)), func)


cdef Tensor on_device(Tensor self, object device, str func):
    """The tensor on a device: itself when it is there, else a copy."""
    cdef DLDevice target = read_device(device, func)
    if target.device_type == self.impl.dl.device.device_type and target.device_id == self.impl.dl.device.device_id:
        return self
    if target.device_type == kDLCPU and is_host(<int>self.impl.dl.device.device_type):
        return copied(self, func)
    return _hook("to", func, "dltensor.cuda")(self, device_of(target), func)


cdef int check_writable(const DLTensor* view, uint64_t flags, str func, str what="the tensor") except -1:
    if flags & DLPACK_FLAG_BITMASK_READ_ONLY:
        raise ValueError(f"{func}: {what} is read-only; write to a copy()")
    if repeats_elements(view.ndim, view.shape, view.strides):
        raise ValueError(f"{func}: elements of {what}, of shape {as_tuple(view.ndim, view.shape)} with strides "
                         f"{as_tuple(view.ndim, view.strides)}, share memory; write to a copy()")
    return 0


cdef Tensor new_padded(int ndim, const int64_t* shape, DLDataType dtype, str func):
    """A tensor in fresh memory whose elements have a byte each where their dtype has fewer bits."""
    cdef DLDataType byte = dtype
    cdef Tensor made
    if dtype.bits >= 8:
        return new_empty(ndim, shape, dtype, DLDevice(kDLCPU, 0), func)
    byte.bits = 8
    made = new_empty(ndim, shape, byte, DLDevice(kDLCPU, 0), func)
    made.impl.dl.dtype = dtype
    made.impl.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return made


cdef Tensor copied(Tensor self, str func):
    """The elements in fresh memory, C order, host to host; other devices have their own way."""
    cdef Tensor made
    if not is_host(<int>self.impl.dl.device.device_type):
        return _hook("copy", func, "dltensor.cuda")(self, func)
    if self.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        made = new_padded(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.dtype, func)
    else:
        made = new_empty(self.impl.dl.ndim, self.impl.dl.shape, self.impl.dl.dtype, DLDevice(kDLCPU, 0), func)
    copy_elements(&made.impl.dl, &self.impl.dl, self.impl.flags)
    return made


cdef int copy_elements(const DLTensor* to, const DLTensor* source, uint64_t flags) except -1:
    cdef bint padded = flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0, done
    if _bytes(to, _size(to), flags) > KEEP_GIL_BYTES:
        with nogil:
            done = copy_tensor(to[0], source[0], padded)
    else:
        done = copy_tensor(to[0], source[0], padded)
    if not done:
        raise MemoryError("copy: no memory left for the temporary that overlapping memory needs")
    return 0


cdef void fill_elements(const DLTensor* to, const void* element, uint64_t flags) noexcept:
    cdef bint padded = flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0
    if _bytes(to, _size(to), flags) > KEEP_GIL_BYTES:
        with nogil:
            fill_tensor(to[0], element, padded)
    else:
        fill_tensor(to[0], element, padded)


cdef int assign_scalar(Tensor self, object value, str func) except -1:
    cdef char element[32]
    check_writable(&self.impl.dl, self.impl.flags, func)
    store_python(element, 0, value, self.impl.dl.dtype, True, func)
    if not is_host(<int>self.impl.dl.device.device_type):
        _hook("fill", func, "dltensor.cuda")(self, value, func)
        return 0
    fill_elements(&self.impl.dl, element, self.impl.flags)
    return 0


cdef int assign(Tensor self, object value, str func) except -1:
    """Write a number or a tensor, broadcast, to every element of `self`; overlapping memory is as if copied first."""
    cdef Tensor source
    cdef DLTensor spread
    cdef int64_t strides[64]
    check_writable(&self.impl.dl, self.impl.flags, func)
    if type(value) is Tensor:
        source = <Tensor>value
    elif isinstance(value, (bool, int, float, complex)):
        return assign_scalar(self, value, func)
    else:
        source = _hooks["asarray"](value, self.dtype, func)
    if (source.impl.dl.dtype.code != self.impl.dl.dtype.code or source.impl.dl.dtype.bits != self.impl.dl.dtype.bits or
            source.impl.dl.dtype.lanes != self.impl.dl.dtype.lanes or
            (source.impl.flags ^ self.impl.flags) & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED or
            not is_host(<int>self.impl.dl.device.device_type) or not is_host(<int>source.impl.dl.device.device_type)):
        _hook("assign", func, f"a conversion from {source.dtype} on {source.device} to {self.dtype} on {self.device}")(
            self, source, func)
        return 0
    if not broadcast_strides(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides, self.impl.dl.ndim,
                             self.impl.dl.shape, TRAILING, strides):
        raise ValueError(f"{func}: shape {source.shape} does not broadcast to {self.shape}")
    spread = source.impl.dl
    spread.ndim = self.impl.dl.ndim
    spread.shape = self.impl.dl.shape
    spread.strides = strides
    return copy_elements(&self.impl.dl, &spread, self.impl.flags)


cdef object single(Tensor self, str func):
    """The one element as a number, for the conversions that Python asks for by name."""
    if _size(&self.impl.dl) != 1:
        if func == "bool":
            raise ValueError(f"bool: the truth value of a tensor of shape {self.shape} is ambiguous; use .any() or "
                             f".all(), for example t.numpy().any()")
        whole = func in ("round", "trunc", "floor", "ceil")
        others = f"dl.{func}() takes every element" if whole else "take tolist()"
        raise ValueError(f"{func}: expected a tensor of one element, got shape {self.shape}; index one, or {others}")
    return self.item()
