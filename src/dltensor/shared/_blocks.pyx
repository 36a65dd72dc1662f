# SPDX-License-Identifier: Apache-2.0
"""Tensors in shared memory: allocation, recognition, and lookup by a descriptor and a key."""
from libc.errno cimport EBADF, EMFILE, ENFILE, ENOMEM, ENOSPC, errno
from libc.stdint cimport int64_t

from .._core.native cimport Block, retain
from .._core.tensor cimport Tensor, bytes_of
from .._core.types cimport DLDevice, kDLCPU

import os

cdef extern from "native/memory/shared.h" namespace "dlt" nogil:
    size_t shared_key_bytes
    Block* allocate_shared(size_t) noexcept
    Block* receive_shared(int, bint, const unsigned char*) noexcept
    bint is_shared_block(const Block*) noexcept
    int shared_file(const Block*) noexcept
    const unsigned char* shared_key(const Block*) noexcept
    void native_mark_sent "dlt::mark_sent"(Block*) noexcept
    void native_forget_sent "dlt::forget_sent"(Block*) noexcept
    bint native_is_received "dlt::is_received"(const Block*) noexcept


def allocate(int64_t nbytes, str func):
    """Return uninitialized shared memory as a row of uint8; MemoryError or OSError if there is none.

    >>> allocate(3, "example").is_shared
    True
    """
    cdef Block* block
    with nogil:
        block = allocate_shared(<size_t>nbytes)
    if block != NULL:
        return bytes_of(block, nbytes, DLDevice(kDLCPU, 0), 0)
    number = errno
    if number in (ENOMEM, ENOSPC):
        raise MemoryError(f"{func}: cannot allocate {nbytes} bytes of shared memory")
    remedy = "; put many tensors into one block with dl.shared.pack()" if number in (EMFILE, ENFILE) else ""
    raise OSError(number, f"{func}: no shared memory: {os.strerror(number)}{remedy}")


def receive(int file, bytes key, int64_t nbytes, bint is_own=False):
    """Return the shared memory of a descriptor, which is closed in any case, as a row of uint8.

    ValueError if it is not shared memory of this package with that key and size, OSError if it cannot be mapped.

    With `is_own` this process has opened the file, and shares its description with no other.

    >>> import os
    >>> t = allocate(3, "example"); file, key = handle_of(t)
    >>> receive(os.dup(file), key, 3).is_shared
    True
    """
    cdef Block* block = NULL
    cdef Tensor t
    cdef const unsigned char* wanted = key
    cdef bint has_key = len(key) == <Py_ssize_t>shared_key_bytes
    if has_key:
        with nogil:
            block = receive_shared(file, is_own, wanted)
    else:
        os.close(file)
    if block == NULL:
        number = errno
        if number == EBADF or not has_key:
            raise ValueError("shared tensor: the memory that was sent does not exist any more: its sender has released "
                             "it, or the message was read before")
        raise OSError(number, f"shared tensor: {os.strerror(number)}")
    t = bytes_of(block, nbytes, DLDevice(kDLCPU, 0), 0)
    if not 0 <= nbytes <= <int64_t>_room(t):
        raise ValueError(f"shared tensor: {nbytes} bytes were sent, the memory has {_room(t)}")
    return t


cdef int64_t _room(Tensor t):
    return os.fstat(shared_file(t.impl.block)).st_size - 4096


def handle_of(Tensor t):
    """Return the descriptor of a shared tensor's memory, open as long as the memory is in use, and its key.

    >>> len(handle_of(allocate(3, "example"))[1])
    16
    """
    if not is_shared_block(t.impl.block):
        raise ValueError("handle_of: the tensor is not in shared memory")
    return shared_file(t.impl.block), (<const char*>shared_key(t.impl.block))[:shared_key_bytes]


def whole_block(Tensor t):
    """Return all of the memory that a shared tensor is in as a row of uint8.

    >>> whole_block(allocate(3, "example")[2:]).size >= 3
    True
    """
    handle_of(t)
    room = _room(t)
    retain(t.impl.block)
    return bytes_of(t.impl.block, room, DLDevice(kDLCPU, 0), 0)


def block_id(Tensor t):
    """Return a number that identifies the memory of a tensor as long as it is in use.

    >>> t = allocate(3, "example")
    >>> block_id(t) == block_id(t[1:])
    True
    """
    return <size_t>t.impl.block


def mark_sent(Tensor t):
    """Count that a shared tensor's memory is sent once more.

    >>> mark_sent(allocate(3, "example"))
    """
    handle_of(t)
    native_mark_sent(t.impl.block)


def forget_sent(Tensor t):
    """Count a shared tensor's memory as received as often as it was sent, so that it can be used again.

    >>> t = allocate(3, "example"); mark_sent(t); forget_sent(t); is_received(t)
    True
    """
    handle_of(t)
    native_forget_sent(t.impl.block)


def is_received(Tensor t):
    """Test whether a shared tensor's memory has been received as often as it was sent.

    >>> t = allocate(3, "example"); mark_sent(t)
    >>> is_received(t)
    False
    """
    handle_of(t)
    return native_is_received(t.impl.block)
