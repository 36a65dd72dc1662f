# SPDX-License-Identifier: Apache-2.0
# What a consumer may ask of an export: versions, streams, devices, copies. Part of _core/tensor.pyx; no methods here.

cdef object _read_version(object max_version):
    try:
        major, minor = max_version
        return int(major.__index__()), int(minor.__index__())
    except (TypeError, ValueError, AttributeError):
        raise TypeError(f"__dlpack__: max_version must be None or two integers such as (1, 3), got "
                        f"{max_version!r}") from None


cdef int _check_stream_type(object stream) except -1:
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"__dlpack__: stream must be None or an integer, got {stream!r}")
    return 0


cdef int _check_cuda_stream(object stream) except -1:
    if stream is None:
        return 0
    _check_stream_type(stream)
    if stream < -1 or stream == 0:
        raise ValueError(f"__dlpack__: a CUDA stream is -1 (no synchronization), 1 (legacy default), 2 (per-thread "
                         f"default) or an address; {stream} is ambiguous or none of these")
    return 0


cdef Tensor _prepare_export(Tensor self, object stream, object dl_device, object copy):
    """Obey a consumer's stream and device: `self`, or a copy where it was asked to be."""
    cdef DLDevice target
    cdef bint host = is_host(<int>self.impl.dl.device.device_type)
    if dl_device is not None:
        target = read_device(dl_device, "__dlpack__")
    else:
        target = self.impl.dl.device
    if (self.impl.dl.device.device_type == kDLCUDA or self.impl.dl.device.device_type == kDLCUDAManaged or
            target.device_type == kDLCUDA):
        _check_cuda_stream(stream)
        hook = _hooks.get("export")
        if hook is not None:
            try:
                return hook(self, stream, device_of(target), copy)
            except DeviceError as error:
                # The standard's word for a device that cannot be offered.
                raise BufferError(f"__dlpack__: cannot offer the tensor on {device_of(target)}: {error}") from error
    elif stream is not None and (_check_stream_type(stream) != 0 or stream != -1):
        raise ValueError(f"__dlpack__: {self.device} has no streams; stream must be None or -1, got {stream!r}")
    if target.device_type == self.impl.dl.device.device_type and target.device_id == self.impl.dl.device.device_id:
        return self
    if host and target.device_type == kDLCPU and target.device_id == 0:
        if copy is not None and not copy:
            raise BufferError(f"__dlpack__: moving from {self.device} to {device_of(target)} needs a copy, and "
                              f"copy=False forbids it")
        return copied(self, "__dlpack__")
    raise BufferError(f"__dlpack__: the tensor is on {self.device} and cannot be offered on {device_of(target)}")


cdef inline object exported(Tensor self, object stream, object max_version, object dl_device, object copy):
    """What ``__dlpack__`` returns."""
    cdef bint versioned = False
    cdef Tensor source = self
    cdef uint64_t flags = self.impl.flags & ~<uint64_t>DLPACK_FLAG_BITMASK_IS_COPIED
    cdef DLTensor view
    if copy is not None:
        copy = read_copy_flag(copy, "__dlpack__")
    if max_version is not None:
        if not PyTuple_CheckExact(max_version) or PyTuple_GET_SIZE(max_version) != 2:
            max_version = _read_version(max_version)
        major = <object>PyTuple_GET_ITEM(max_version, 0)
        if not PyLong_CheckExact(major):
            major = _read_version(max_version)[0]
        versioned = major >= 1
    if dl_device is not None or stream is not None or self.impl.dl.device.device_type != kDLCPU:
        source = _prepare_export(self, stream, dl_device, copy)
    if copy is not None and copy and source is self:
        source = copied(self, "__dlpack__")
    if source is not self:
        flags = source.impl.flags | DLPACK_FLAG_BITMASK_IS_COPIED
    view = source.impl.dl
    if _size(&view) == 0:
        view.data = NULL  # what the standard recommends, and every reader takes
    if versioned:
        return export_capsule(&view, source.impl.block, flags)
    if flags & DLPACK_FLAG_BITMASK_READ_ONLY:
        raise BufferError("__dlpack__: the tensor is read-only, which a capsule of the layout before 1.0 cannot "
                          "say; ask with max_version=(1, 0), or export a copy()")
    if flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        raise BufferError("__dlpack__: elements are padded to bytes, which a capsule of the layout before 1.0 "
                          "cannot say; ask with max_version=(1, 1)")
    return export_legacy_capsule(&view, source.impl.block)
