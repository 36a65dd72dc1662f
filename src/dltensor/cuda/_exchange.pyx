# SPDX-License-Identifier: Apache-2.0
"""Import and export of tensors on CUDA devices: which stream waits for which, and when memory may be reused.

Loaded with the first tensor that is exchanged. Nothing here moves elements or computes.
"""
from libc.stdint cimport uintptr_t
from libcpp cimport bool as truth

from ._backend cimport (allocate_for, new_copy, fill_device, move_between, to_device, transfer_to_host)
from ._driver cimport (CUstream, Fault, NativeStream, Status, check, is_capturing, order_after, stream_of, stream_on,
                       stream_or_null)
from .._core.native cimport Block, release
from .._core.tensor cimport DeviceOperations, Tensor, same_view, set_device_operations
from .._core.types cimport DLDevice, device_of, is_host, kDLCUDA

from .._core.types import DeviceError
from ._driver import current_handle

cdef extern from "native/cuda/memory/memory.h" namespace "dlt::cuda" nogil:
    cppclass Memory:
        pass
    Status adopt_foreign(void*, NativeStream&, void*, void (*)(void*) noexcept nogil, Block**) noexcept
    Memory* memory_of(const Block*) noexcept
    Status read_on(Block*, NativeStream&) noexcept
    Status export_to(Block*, NativeStream&, Block**) noexcept
    Block* take_back(Block*) noexcept

cdef extern from "native/cuda/runtime/engine.h" namespace "dlt::cuda" nogil:
    Status pointer_device(const void*, DLDevice*) noexcept

cdef extern from *:
    """
    // The deleter of foreign memory: the imported block is its owner.
    static void dlt_release_owner(void* owner) noexcept { dlt::release(static_cast<dlt::Block*>(owner)); }
    """
    void release_owner "dlt_release_owner"(void*) noexcept nogil


cdef int _adopt(Tensor t, object stream, bint locate) except -1:
    """Watch the memory of a foreign tensor that was just imported: it is released when our work on it is done.

    `stream`, when not None, is the producer's by the standard's numbers: our own stream waits for it. `locate` asks the
    driver which device the memory is on. Without a driver nothing happens, since nothing of ours can use the memory.
    """
    cdef NativeStream* ours = stream_or_null(t.impl.dl.device.device_id)
    cdef NativeStream* theirs = NULL
    cdef DLDevice found
    cdef Block* block = NULL
    cdef uintptr_t handle
    cdef Status status
    if ours == NULL:
        return 0
    if locate and t.impl.dl.data != NULL and pointer_device(t.impl.dl.data, &found).fault == Fault.none:
        if found.device_type == kDLCUDA and found.device_id != t.impl.dl.device.device_id:
            t.impl.dl.device = found
            ours = stream_on(found.device_id)
    if stream is not None:
        handle = stream
        if handle > 1 or ours.number() != 0:  # else both are the legacy default stream
            with nogil:
                status = stream_of(t.impl.dl.device.device_id, <CUstream>handle, &theirs)
                if status.fault == Fault.none:
                    status = order_after(ours[0], theirs[0])
            check(status)
    if memory_of(t.impl.block) != NULL:  # exported by this package and imported again
        t.impl.block = take_back(t.impl.block)
        return 0
    # Gives the GIL up by itself where it calls the driver.
    status = adopt_foreign(t.impl.block.data, ours[0], t.impl.block, release_owner, &block)
    if status.fault == Fault.none:
        t.impl.block = block
    check(status)
    return 0


cdef Tensor _export(Tensor t, object stream, DLDevice target, object copy):
    """The tensor on the device that a consumer of ``__dlpack__`` asked for, ready on its stream.

    For streams of others it is a view whose block orders the consumer's work before ours at its release.
    """
    cdef Tensor source = t
    cdef NativeStream* consumer = NULL
    cdef NativeStream* ours
    cdef uintptr_t handle = 1 if stream is None else 0 if stream == -1 else stream
    cdef Status status
    cdef Block* exported = NULL
    if target.device_type != t.impl.dl.device.device_type or target.device_id != t.impl.dl.device.device_id:
        if copy is not None and not copy:
            raise BufferError(f"__dlpack__: moving from {t.device} to {device_of(target)} needs a copy, but "
                              f"copy=False")
        if is_host(<int>target.device_type) and stream is not None and stream != -1:
            raise ValueError(f"__dlpack__: {device_of(target)} has no streams; stream must be None or -1, got "
                             f"{stream!r}")
        source = to_device(t, target, "__dlpack__")
    elif copy is not None and copy:
        source = new_copy(t, "__dlpack__")
    if handle == 0 or source.impl.dl.device.device_type != kDLCUDA or memory_of(source.impl.block) == NULL:
        return source
    ours = stream_on(source.impl.dl.device.device_id)
    cdef truth capturing = False
    if handle == 1 and ours.number() != 0:
        check(is_capturing(ours[0], &capturing))
        if capturing:
            raise BufferError("__dlpack__: a CUDA graph is being captured on the current stream, and the consumer "
                              "reads on the legacy default stream, which must not wait for it; pass the capturing "
                              "stream's handle as stream, or -1")
    if handle == 1 and ours.number() == 0:
        consumer = ours
    else:
        with nogil:
            status = stream_of(source.impl.dl.device.device_id, <CUstream>handle, &consumer)
        check(status)
    # Gives the GIL up by itself where it calls the driver.
    check(export_to(source.impl.block, consumer[0], &exported))
    if exported == NULL:
        return source
    try:
        source = same_view(source)
    except MemoryError:
        release(exported)
        raise
    release(source.impl.block)
    source.impl.block = exported
    return source


def stream_for_readers(Tensor t not None):
    """Return the stream on which the elements are ready: our own, which waits for the streams that wrote them.
    """
    cdef NativeStream* ours = stream_or_null(t.impl.dl.device.device_id)
    cdef Status status
    if ours == NULL:
        return 1
    with nogil:
        status = read_on(t.impl.block, ours[0])
    check(status)
    return ours.number() or 1


cdef object _current_stream(int device):
    """The current stream by the standard's numbers, 1 for the legacy one, whose handle is 0; None without a driver."""
    try:
        return current_handle(device) or 1
    except (DeviceError, ValueError):
        return None


cdef DeviceOperations _table
_table.allocate = allocate_for
_table.to = to_device
_table.copy = new_copy
_table.fill = fill_device
_table.move = move_between
_table.transfer = transfer_to_host
_table.adopt = _adopt
_table.export = _export
_table.current_stream = _current_stream
set_device_operations(&_table)
