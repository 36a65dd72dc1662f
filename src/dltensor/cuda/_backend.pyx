# SPDX-License-Identifier: Apache-2.0
"""Tensors on CUDA devices: memory, moves and operations, each on the calling thread's stream.

Dtypes and shapes of results are decided by the modules that also compute on the host. Exchange is in _exchange.

Loaded at the first use of a CUDA device.
"""
cimport cython
from cpython.object cimport PyTypeObject
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from libcpp cimport bool
from ._driver cimport (CUevent, Fault, NativeLaunch, NativeStream, Status, check, destroy_event, query_event,
                       read_launch, start, stream_on, synchronize_event)
from .._core.native cimport Block, contiguous_strides, is_contiguous, type_table, type_uint8
from .._ops.arguments cimport read_owned
from .._ops.engine cimport CudaLaunch, Engine, EngineOperand, EngineTable, FourierCall, LaunchContext, Run, set_engine
from .._core.scalars cimport store_python
from .._core.tensor cimport Tensor, assign, copied, new_empty, new_tensor
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLDataType, DLDevice, DLDeviceType, DLTensor,
                            device_of, is_host, kDLCPU, kDLCUDA, kDLCUDAManaged)

from .._core.types import DeviceError

cdef extern from "dltensor/dlpack.h" nogil:
    DLDeviceType kDLCUDAHost

cdef extern from "native/cuda/memory/memory.h" namespace "dlt::cuda" nogil:
    Status allocate_device "dlt::cuda::allocate"(NativeStream&, size_t, Block**) noexcept
    Status allocate_pinned(int, size_t, Block**) noexcept
    Status allocate_managed(int, size_t, Block**) noexcept

cdef extern from "native/cuda/runtime/engine.h" namespace "dlt::cuda" nogil:
    Status runs_here(int, int, int, int, int64_t, const Run*, int, bint, Run*) noexcept
    Status native_copy "dlt::cuda::copy"(const EngineOperand&, const EngineOperand&, const LaunchContext&) noexcept
    const EngineTable cuda_engine
    Status to_host(void*, const EngineOperand&, NativeStream&) noexcept
    Status from_host(const void*, const EngineOperand&, NativeStream&) noexcept
    Status multiply_scaled_float8(const EngineOperand&, const EngineOperand&, const EngineOperand&,
                                  const EngineOperand&, bool*, const LaunchContext&) noexcept
    Status to_pinned(const EngineOperand&, NativeStream&, Block**, CUevent*) noexcept

cdef extern from "native/cuda/reduce/reduce.h" namespace "dlt::cuda" nogil:
    Status reduce_rows_here(int, int, int, double, const Run&, int64_t, int64_t, int64_t, int, Run*) noexcept

cdef extern from "native/cuda/linalg/fft.h" namespace "dlt::cuda" nogil:
    Status native_fourier "dlt::cuda::fourier"(const FourierCall&, const EngineOperand&, const EngineOperand&,
                                               const LaunchContext&) noexcept

cdef inline bint _is_cuda(DLDevice device) noexcept:
    return device.device_type == kDLCUDA or device.device_type == kDLCUDAManaged


# -- operands ---------------------------------------------------------------------------------------------------------

cdef void _read_moved(Tensor t, DLTensor* view, EngineOperand* out) noexcept:
    """Read a tensor whose elements are only moved: those padded to bytes are moved as bytes, by `view`."""
    read_owned(t, out)
    if out.padded:
        view[0] = t.impl.dl
        view.dtype = type_table[type_uint8].dtype
        out.tensor = view
        out.padded = False


# -- the engine -------------------------------------------------------------------------------------------------------

cdef int _fourier(const FourierCall* call, Tensor x, Tensor out) except -1:
    cdef LaunchContext launch
    cdef EngineOperand source, target
    cdef Status status
    read_owned(x, &source)
    read_owned(out, &target)
    _launch_on(out.impl.dl.device.device_id, &launch)
    with nogil:
        status = native_fourier(call[0], source, target, launch)
    return check(status)


cdef int _float8_product(Tensor x, Tensor values, Tensor scale, Tensor out, bint* is_done) except -1:
    cdef LaunchContext launch
    cdef EngineOperand first, second, factor, target
    cdef Status status
    cdef bool found = False
    read_owned(x, &first)
    read_owned(values, &second)
    read_owned(scale, &factor)
    read_owned(out, &target)
    _launch_on(out.impl.dl.device.device_id, &launch)
    with nogil:
        status = multiply_scaled_float8(first, second, factor, target, &found, launch)
    is_done[0] = found
    return check(status)


cdef int _reduce_rows(int reduction, int type, int to, double correction, Tensor x, int64_t outer, int64_t count,
                      int64_t inner, Tensor result) except -1:
    cdef Run rows, target
    cdef Status status
    result.impl.dl.dtype = type_table[to].dtype
    result.impl.dl.device = x.impl.dl.device
    rows.data, rows.block, rows.number = <char*>x.impl.dl.data + x.impl.dl.byte_offset, x.impl.block, False
    target.data = NULL
    target.block = NULL
    target.number = False
    with nogil:  # see _same
        status = reduce_rows_here(x.impl.dl.device.device_id, reduction, type, correction, rows, outer, count, inner,
                                  to, &target)
    result.impl.block = target.block
    result.impl.dl.data = target.data
    return check(status)


cdef int _launch_on(int device, LaunchContext* out) except -1:
    out.stream = stream_on(device)
    return 0


cdef int _set_launch(object settings, LaunchContext* out) except -1:
    read_launch(settings, <NativeLaunch*>out.settings, "launch")
    out.launch = <const CudaLaunch*>out.settings
    return 0


cdef object _same(int op, int type, int to, int64_t size, const DLTensor* like, const Run* items, int count,
                  object out):
    """The fast path: tensors of one dtype and shape on one device, all in C order, and numbers."""
    cdef Run target
    cdef Status status
    cdef Tensor result
    cdef int64_t* shape
    cdef int64_t* strides
    cdef int i
    cdef bint fresh = out is None
    if fresh:
        result = new_tensor(like.ndim)
        result.impl.dl.dtype = type_table[to].dtype
        result.impl.dl.device = like.device
        shape, strides = result.impl.dl.shape, result.impl.dl.strides
        for i in range(like.ndim):
            shape[i] = like.shape[i]
            strides[i] = like.strides[i]
        target.data = NULL
        target.block = NULL
    else:
        result = <Tensor>out
        target.data, target.block = <char*>result.impl.dl.data + result.impl.dl.byte_offset, result.impl.block
    target.number = False
    # The launch blocks while the driver's queue is full, and queued work may need the GIL: a host callback of another
    # library. The driver does not report how full the queue is.
    with nogil:
        status = runs_here(like.device.device_id, op, type, to, size, items, count, fresh, &target)
    if fresh:
        result.impl.block = target.block
        check(status)
        result.impl.dl.data = target.data
    else:
        check(status)
    return result


cdef Engine _engine
_engine.same = _same
_engine.reduce_rows = _reduce_rows
_engine.table = &cuda_engine
_engine.launch_on = _launch_on
_engine.set_launch = _set_launch
_engine.fourier = _fourier
_engine.float8_product = _float8_product
set_engine(&_engine)


# -- memory -----------------------------------------------------------------------------------------------------------

cdef Block* allocate_for(int64_t bytes, DLDevice device, str func) except NULL:
    cdef Block* block = NULL
    cdef NativeStream* stream
    cdef Status status
    if device.device_type == kDLCUDA:
        stream = stream_on(device.device_id)
        status = allocate_device(stream[0], bytes, &block)
    elif device.device_type == kDLCUDAHost or device.device_type == kDLCUDAManaged:
        start()
        with nogil:
            if device.device_type == kDLCUDAHost:
                status = allocate_pinned(device.device_id, bytes, &block)
            else:
                status = allocate_managed(device.device_id, bytes, &block)
    else:
        raise DeviceError(f"{func}: memory of {device_of(device)} cannot be allocated here; supported devices are "
                          f"cpu, cuda, cuda_host and cuda_managed")
    check(status)
    return block


cdef Tensor _like(Tensor t, DLDevice device, str func):
    """Fresh memory on a device for the elements of `t`, in C order."""
    cdef DLDataType dtype = t.impl.dl.dtype
    cdef Tensor result
    if t.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
        dtype.bits = 8
    result = new_empty(t.impl.dl.ndim, t.impl.dl.shape, dtype, device, func)
    result.impl.dl.dtype = t.impl.dl.dtype
    result.impl.flags = t.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    return result


# -- moves ------------------------------------------------------------------------------------------------------------

cdef int _copy(Tensor source, Tensor target) except -1:
    """Elements from device to device, broadcast; ordered on the target's stream."""
    cdef DLTensor views[2]
    cdef EngineOperand x, out
    cdef LaunchContext launch
    cdef Status status
    _read_moved(source, &views[0], &x)
    _read_moved(target, &views[1], &out)
    _launch_on(target.impl.dl.device.device_id, &launch)
    with nogil:
        status = native_copy(x, out, launch)
    return check(status)


cdef int _upload(Tensor source, Tensor target, str func) except -1:
    """Elements of host memory to a tensor of the same shape on a device."""
    cdef DLTensor view
    cdef EngineOperand out
    cdef NativeStream* stream = stream_on(target.impl.dl.device.device_id)
    cdef void* data
    cdef Status status
    if not is_contiguous(source.impl.dl.ndim, source.impl.dl.shape, source.impl.dl.strides):
        source = copied(source, func)
    _read_moved(target, &view, &out)
    data = source.impl.dl.data
    with nogil:
        status = from_host(data, out, stream[0])
    return check(status)


cdef int _download(Tensor source, Tensor target) except -1:
    """Elements of a device to host memory in C order; waits."""
    cdef DLTensor view
    cdef EngineOperand x
    cdef NativeStream* stream = stream_on(source.impl.dl.device.device_id)
    cdef void* data = target.impl.dl.data
    cdef Status status
    _read_moved(source, &view, &x)
    with nogil:
        status = to_host(data, x, stream[0])
    return check(status)


cdef Tensor to_device(Tensor t, DLDevice target, str func):
    """Answer ``Tensor.to``: a copy of `t` on another device."""
    cdef bint here = is_host(<int>t.impl.dl.device.device_type)
    cdef Tensor result
    if not here and not _is_cuda(t.impl.dl.device):
        raise DeviceError(f"{func}: the data is on {t.device}, which the host cannot read and nothing here can move; "
                          f"use the framework that made it")
    result = _like(t, target, func)
    if here and is_host(<int>target.device_type):
        assign(result, t, func)
    elif here:
        _upload(t, result, func)
    elif is_host(<int>target.device_type):
        _download(t, result)
    else:
        _copy(t, result)
    return result


cdef Tensor new_copy(Tensor t, str func):
    """Answer ``Tensor.copy``: the elements in fresh memory of the same device, in C order."""
    if not _is_cuda(t.impl.dl.device):
        raise DeviceError(f"{func}: the data is on {t.device}, which nothing here can copy; use the framework that "
                          f"made it")
    cdef Tensor result = _like(t, t.impl.dl.device, func)
    _copy(t, result)
    return result


cdef int fill_device(Tensor t, object value, str func) except -1:
    """Answer ``Tensor.fill``: write one number to every element."""
    cdef char element[32]
    cdef EngineOperand place
    cdef LaunchContext launch
    cdef Status status
    store_python(element, 0, value, t.impl.dl.dtype, True, func)
    if not _is_cuda(t.impl.dl.device):
        raise DeviceError(f"{func}: the data is on {t.device}, which nothing here can write; use the framework that "
                          f"made it")
    _launch_on(t.impl.dl.device.device_id, &launch)
    read_owned(t, &place)
    with nogil:
        status = cuda_engine.fill(element, place, launch)
    return check(status)


cdef int move_between(Tensor target, Tensor source, str func) except -1:
    """Answer an assignment between devices: elements of one dtype, broadcast."""
    cdef bint same = source.impl.dl.ndim == target.impl.dl.ndim
    cdef int i
    for i in range(target.impl.dl.ndim):
        same = same and source.impl.dl.shape[i] == target.impl.dl.shape[i]
    if is_host(<int>target.impl.dl.device.device_type):
        assign(target, to_device(source, DLDevice(kDLCPU, 0), func), func)
    elif not _is_cuda(target.impl.dl.device):
        raise DeviceError(f"{func}: the data is on {target.device}, which nothing here can write; use the framework "
                          f"that made it")
    elif not is_host(<int>source.impl.dl.device.device_type):
        _copy(source, target)
    elif same:
        _upload(source, target, func)
    else:
        _copy(to_device(source, target.impl.dl.device, func), target)
    return 0


@cython.final
@cython.auto_pickle(False)
cdef class Transfer:
    """A pending copy from a device to the host, as returned by ``Tensor.numpy(non_blocking=True)``.

    Raises
    ------
    TypeError
        The class is called.

    Examples
    --------
    >>> transfer = dl.arange(3).numpy(non_blocking=True)
    >>> transfer.result()
    array([0, 1, 2])
    """
    cdef Tensor arriving
    cdef CUevent event
    cdef int ordinal
    cdef object array

    def __init__(self):
        raise TypeError("Transfer: made by Tensor.numpy(non_blocking=True), not by calling the class")

    def __dealloc__(self):
        if self.event != NULL:
            destroy_event(self.ordinal, self.event)

    @property
    def done(self) -> bool:
        """True if the copy is complete; never waits."""
        if self.event == NULL:
            return True
        cdef Status status
        with nogil:
            status = query_event(self.ordinal, self.event)
        if status.fault == Fault.not_ready:
            return False
        check(status)
        return True

    def wait(self):
        """Wait until the copy is complete.

        Raises
        ------
        DeviceError
            Work on the device failed.
        """
        cdef Status status
        if self.event != NULL:
            with nogil:
                status = synchronize_event(self.ordinal, self.event)
            check(status)

    def result(self) -> NDArray[Any]:
        """Wait, then return the NumPy array, the same one each time. Its memory is page-locked.

        Raises
        ------
        DeviceError
            Work on the device failed.
        ImportError
            NumPy, or ml_dtypes for its types, is not installed.
        """
        self.wait()
        array = None if self.arriving is None else self.arriving.numpy()  # None: there was nothing to transfer
        with cython.critical_section(self):
            if self.array is None:
                self.array = array
            return self.array


cdef object transfer_to_host(Tensor t, object copy):
    """Answer ``Tensor.numpy(non_blocking=True)``."""
    cdef Transfer result = Transfer.__new__(Transfer)
    cdef Tensor arriving
    cdef NativeStream* stream
    cdef DLTensor view
    cdef EngineOperand source
    cdef Status status
    cdef Block* block = NULL
    if is_host(<int>t.impl.dl.device.device_type):
        result.array = t.numpy(copy=copy)
        return result
    if copy is not None and not copy:
        raise ValueError(f"numpy: the data is on {t.device}, which NumPy cannot show without a copy, but copy=False")
    if not _is_cuda(t.impl.dl.device):
        raise DeviceError(f"numpy: the data is on {t.device}, which the host cannot read and nothing here can move")
    arriving = new_tensor(t.impl.dl.ndim)
    memcpy(arriving.impl.dl.shape, t.impl.dl.shape, t.impl.dl.ndim * sizeof(int64_t))
    contiguous_strides(t.impl.dl.ndim, arriving.impl.dl.shape, arriving.impl.dl.strides)
    arriving.impl.dl.dtype = t.impl.dl.dtype
    arriving.impl.dl.device = DLDevice(kDLCUDAHost, 0)
    arriving.impl.flags = t.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    _read_moved(t, &view, &source)
    result.ordinal = t.impl.dl.device.device_id
    stream = stream_on(result.ordinal)
    with nogil:
        status = to_pinned(source, stream[0], &block, &result.event)
    check(status)
    arriving.impl.block = block
    arriving.impl.dl.data = block.data
    result.arriving = arriving
    return result


# The public module name in errors, pickles and help.
(<PyTypeObject*>Transfer).tp_name = "dltensor.cuda.Transfer"
