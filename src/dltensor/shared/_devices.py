# SPDX-License-Identifier: Apache-2.0
"""Messages with memory of CUDA devices: who opens which descriptor, and when a message has been received.

A descriptor of the driver cannot be opened by its path below /proc, so the server of `multiprocessing` sends one. It
does not say when it has. So what it sends is one end of a pair of sockets, in which the descriptor waits: the sender
sees whether the descriptor has been taken out, and can take it out itself.
"""

import os
import secrets
import socket
from array import array
from contextlib import suppress
from multiprocessing import reduction, resource_sharer

_KEY_BYTES = 16
# Errors of a server that has ended, or does not know the message any more.
_GONE = (OSError, EOFError, RuntimeError)


def _cuda():
    from ..cuda import _shared

    return _shared


def allocate(nbytes, device):
    """Return uninitialized memory of a CUDA device that processes share, as a row of uint8."""
    return _cuda().allocate(nbytes, device)


def block_id(t):
    """Return a number that identifies the memory of a tensor as long as it is in use."""
    return _cuda().block_id(t)


def whole_block(t):
    """Return all of the memory that a shared tensor is in as a row of uint8."""
    return _cuda().whole_block(t)


class DeviceMessage:
    """A descriptor of memory in a socket, from which one process takes it; `found` is how that gets the socket."""

    __slots__ = ("end", "found")

    def __init__(self, file, key):
        start, self.end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with start:
            start.sendmsg([key], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [file]))])
        self.found = reduction.DupFd(self.end.fileno())

    def is_received(self):
        """Test whether the descriptor has been taken out."""
        return not self.end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)

    def forget(self):
        """Take the descriptor out, so that no process can receive it any more, and the server's end of the socket."""
        self.end.recv(1, socket.MSG_DONTWAIT)
        if isinstance(self.found, resource_sharer.DupFd):
            with suppress(*_GONE):
                os.close(self.found.detach())


def send(data):
    """Return the `DeviceMessage` of a block, and the arguments with which another process calls `receive`.

    It waits for the work with the memory that is enqueued in this process.
    """
    cuda = _cuda()
    file = cuda.descriptor_of(data)
    try:
        key = secrets.token_bytes(_KEY_BYTES)
        message = DeviceMessage(file, key)
    finally:
        os.close(file)
    return message, (message.found, key, cuda.uuid_of(data), data.size)


def receive(found, key, uuid, nbytes):
    """Return the memory that a message names as a row of uint8.

    ValueError if it does not exist any more, DeviceError if this process has no such device or cannot open the memory.
    """
    _cuda().find_device(uuid)  # an error here leaves the message as it is
    return _cuda().receive(_taken(found, key), uuid, nbytes)


def _taken(found, key):
    """Return the descriptor in the socket that the server of `multiprocessing` sends."""
    gone = ValueError(
        "shared tensor: the memory that was sent does not exist any more: its sender has ended or released it, or the "
        "message was read before"
    )
    try:
        number = found.detach()
        end = socket.socket(fileno=number)
    except _GONE:
        raise gone from None
    files = array("i")
    with end:
        try:
            answer, parts, _, _ = end.recvmsg(
                _KEY_BYTES, socket.CMSG_SPACE(files.itemsize), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
            )
        except OSError:
            raise gone from None
    for level, kind, data in parts:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) // files.itemsize * files.itemsize])
    if answer != key or not files:
        for file in files:
            os.close(file)
        raise gone
    return files[0]
