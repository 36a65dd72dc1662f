# SPDX-License-Identifier: Apache-2.0
# What a consumer may ask of an export: versions, streams, devices, copies. Part of _tensor.pyx; no methods here.

cdef object _read_version(object max_version):
    try:
        major, minor = max_version
        return int(major.__index__()), int(minor.__index__())
    except (TypeError, ValueError, AttributeError):
        raise TypeError(f"__dlpack__: max_version must be None or two integers such as (1, 3), got "
                        f"{max_version!r}") from None


cdef int _check_cuda_stream(object stream) except -1:
    if stream is None:
        return 0
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"__dlpack__: stream must be None or an integer, got {stream!r}")
    if stream < -1 or stream == 0:
        raise ValueError(f"__dlpack__: a CUDA stream is -1 (no synchronization), 1 (legacy default), 2 (per-thread "
                         f"default) or an address; {stream} is ambiguous or none of these")
    return 0


cdef Tensor _prepare_export(Tensor self, object stream, object dl_device, object copy):
    """Obey a consumer's stream and device: `self`, or a copy where it was asked to be."""
    cdef DLDevice target
    cdef bint host = is_host(<int>self.its.dl.device.device_type)
    if dl_device is not None:
        target = read_device(dl_device, "__dlpack__")
    else:
        target = self.its.dl.device
    if (self.its.dl.device.device_type == kDLCUDA or self.its.dl.device.device_type == kDLCUDAManaged or
            target.device_type == kDLCUDA):
        _check_cuda_stream(stream)
        hook = _hooks.get("export")
        if hook is not None:
            try:
                return hook(self, stream, device_of(target), copy)
            except DeviceError as error:
                # The standard's word for a device that cannot be offered.
                raise BufferError(f"__dlpack__: cannot offer the tensor on {device_of(target)}: {error}") from error
    elif stream is not None and stream != -1:
        raise ValueError(f"__dlpack__: {self.device} has no streams; stream must be None or -1, got {stream!r}")
    if target.device_type == self.its.dl.device.device_type and target.device_id == self.its.dl.device.device_id:
        return self
    if host and target.device_type == kDLCPU and target.device_id == 0:
        if copy is not None and not copy:
            raise BufferError(f"__dlpack__: moving from {self.device} to {device_of(target)} needs a copy, and "
                              f"copy=False forbids it")
        return copied(self, "__dlpack__")
    raise BufferError(f"__dlpack__: the tensor is on {self.device} and cannot be offered on {device_of(target)}")
