# SPDX-License-Identifier: Apache-2.0
"""Memory of CUDA devices that processes share: allocation, descriptors, and the devices that they belong to.

`dltensor.shared` sends the descriptors. Loaded with the first such memory.
"""
from libc.errno cimport errno
from libc.stddef cimport size_t
from libc.stdint cimport int64_t

from ._driver cimport NativeStream, Status, check, start, stream_on
from .._core.native cimport Block, retain
from .._core.tensor cimport Tensor, bytes_of
from .._core.types cimport DLDevice, kDLCUDA

import os
from uuid import UUID

from .._core.types import DeviceError

cdef extern from "native/cuda/memory/shared.h" namespace "dlt::cuda" nogil:
    size_t device_uuid_bytes
    Status allocate_shared(NativeStream&, size_t, Block**) noexcept
    Status open_shared(NativeStream&, int, size_t, Block**) noexcept
    bint is_shared(const Block*) noexcept
    Block* shared_block(Block*) noexcept
    size_t native_mapped_bytes "dlt::cuda::mapped_bytes"(const Block*) noexcept
    Status export_shared(const Block*, int*) noexcept
    Status native_device_uuid "dlt::cuda::device_uuid"(int, char*) noexcept
    Status device_of_uuid(const char*, int*) noexcept


cdef Block* _block_of(Tensor t) except NULL:
    if not is_shared(t.impl.block):
        raise ValueError("send: the tensor is not in shared memory of a device")
    return shared_block(t.impl.block)


def allocate(int64_t nbytes, int device):
    """Return uninitialized memory of a device that processes share, as a row of uint8.

    >>> allocate(3, 0).is_shared                                            # doctest: +SKIP
    True
    """
    cdef NativeStream* stream = stream_on(device)
    cdef Block* block = NULL
    # Gives the GIL up by itself where it calls the driver.
    check(allocate_shared(stream[0], <size_t>nbytes, &block))
    return bytes_of(block, nbytes, DLDevice(kDLCUDA, device), 0)


def receive(int file, bytes uuid, int64_t nbytes):
    """Return the memory of a descriptor, which is closed in any case, as a row of uint8.

    DeviceError if the driver cannot open it, or has no device with that UUID.

    >>> t = allocate(3, 0)                                                  # doctest: +SKIP
    >>> receive(descriptor_of(t), uuid_of(t), whole_block(t).size).is_shared  # doctest: +SKIP
    True
    """
    cdef NativeStream* stream
    cdef Block* block = NULL
    cdef int device
    try:
        if nbytes <= 0:
            raise ValueError(f"shared tensor: the memory has at least one byte, got {nbytes}")
        device = find_device(uuid)
        stream = stream_on(device)
    except BaseException:
        os.close(file)
        raise
    check(open_shared(stream[0], file, <size_t>nbytes, &block))
    return bytes_of(block, nbytes, DLDevice(kDLCUDA, device), 0)


def find_device(bytes uuid):
    """Return the number that the device with a UUID has in this process; DeviceError if it is not visible here.

    >>> find_device(uuid_of(allocate(3, 0)))                                # doctest: +SKIP
    0
    """
    cdef int device = -1
    if len(uuid) != <Py_ssize_t>device_uuid_bytes:
        raise ValueError(f"shared tensor: a UUID has {device_uuid_bytes} bytes, got {len(uuid)}")
    start()
    check(device_of_uuid(uuid, &device))
    if device < 0:
        raise DeviceError(f"shared tensor: the memory is on the device GPU-{UUID(bytes=uuid)}, which is not visible in "
                          f"this process; compare CUDA_VISIBLE_DEVICES of both processes, or send t.to('cpu').share()")
    return device


def uuid_of(Tensor t):
    """Return the UUID of the device that a tensor is on.

    >>> len(uuid_of(allocate(3, 0)))                                        # doctest: +SKIP
    16
    """
    cdef char uuid[16]
    check(native_device_uuid(t.impl.dl.device.device_id, uuid))
    return uuid[:16]


def descriptor_of(Tensor t):
    """Return a new descriptor of a shared tensor's memory, after the work with it that is enqueued in this process.

    >>> os.close(descriptor_of(allocate(3, 0)))                             # doctest: +SKIP
    """
    cdef int file = -1
    check(export_shared(_block_of(t), &file))
    if file < 0:
        raise OSError(errno, f"shared tensor: {os.strerror(errno)}")
    return file


def whole_block(Tensor t):
    """Return all of the memory that a shared tensor is in as a row of uint8.

    >>> whole_block(allocate(3, 0)).size                                    # doctest: +SKIP
    2097152
    """
    cdef Block* block = _block_of(t)
    retain(block)
    return bytes_of(block, native_mapped_bytes(block), t.impl.dl.device, 0)


def block_id(Tensor t):
    """Return a number that identifies the memory of a tensor as long as it is in use.

    >>> block_id(allocate(3, 0)) > 0                                        # doctest: +SKIP
    True
    """
    return <size_t>_block_of(t)
