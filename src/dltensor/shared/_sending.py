# SPDX-License-Identifier: Apache-2.0
"""Shared tensors through `multiprocessing`: their pickles, and how another process finds the memory.

A pickle names a block of memory once, however many of its tensors it holds. To a running process it names the
descriptor by its path below /proc, which the receiver opens: a fifth of the time that the server of
`multiprocessing.resource_sharer` takes. The sender keeps the memory until it has been received. A process that is being
started inherits a descriptor, and where /proc is closed to others that server sends one. `_devices` sends memory of
CUDA devices.
"""

import os
from collections import OrderedDict
from multiprocessing import context, reduction
from threading import Lock
from weakref import WeakValueDictionary

from .._core.layout import extent
from .._core.once import Once
from .._core.pickling import rebuild
from .._core.tensor import Tensor
from .._core.types import DeviceType, Flags
from ._blocks import block_id, forget_sent, handle_of, is_received, mark_sent, receive, whole_block

_lock = Lock()
_handles = WeakValueDictionary()  # block -> Handle, so that a pickle names a block once
# Block -> Handle, or DeviceMessage -> itself: memory that messages name which have not been received.
_in_transit = OrderedDict()
_CHECKED_AT_ONCE = 2  # blocks that are still in transit, at each message


class Handle:
    """The memory of a block of tensors, all of it as a row of uint8: what a pickle names."""

    __slots__ = ("__weakref__", "data")

    def __init__(self, data):
        self.data = data

    def is_received(self):
        """Test whether the memory has been received as often as it was sent."""
        return is_received(self.data)

    def forget(self):
        """Count the memory as received."""
        forget_sent(self.data)


def _register():
    """Tell the pickler of `multiprocessing` how tensors are sent."""
    reduction.ForkingPickler.register(Tensor, reduce_tensor)
    reduction.ForkingPickler.register(Handle, reduce_handle)
    os.register_at_fork(after_in_child=_forget)


register = Once(_register)


def _forget():
    """Clear the state of a forked process: its parent keeps the memory that it has sent."""
    global _lock
    _lock = Lock()
    _in_transit.clear()
    _handles.clear()


def reduce_tensor(t):
    """Implement ``__reduce__`` for messages to other processes; memory of this process alone is copied.

    >>> reduce_tensor(dl.arange(3).share())[1][2:4]
    (24, (3,))
    """
    if not t.is_shared:
        return t.__reduce_ex__(4)
    find_id, find_block = block_id, whole_block
    if t.device.type == DeviceType.kDLCUDA:
        from ._devices import block_id as find_id
        from ._devices import whole_block as find_block
    with _lock:
        handle = _handles.get(find_id(t))
        if handle is None:
            handle = _handles[find_id(t)] = Handle(find_block(t))
    padded = bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)
    begin, layout = t.byte_offset, ()
    end = begin + t.nbytes
    if t.size and not t.is_contiguous:
        low, high = extent(t.shape, t.strides)
        begin, end = begin + low * t.itemsize, begin + high * t.itemsize
        layout = (t.strides, -low)
    dtype = t.dtype.__dlpack_data_type__()
    return rebuild_tensor, (handle, begin, end, t.shape, dtype, padded, t.readonly, *layout)


def rebuild_tensor(handle, begin, end, shape, dtype, padded, readonly, strides=None, offset=0):
    """Return a tensor that another process has sent; ValueError if an element is outside of the memory.

    >>> function, arguments = reduce_tensor(dl.arange(3).share())
    >>> function(*arguments).tolist()
    [0, 1, 2]
    """
    size = handle.data.size
    if not 0 <= begin <= end <= size:
        raise ValueError(f"shared tensor: bytes {begin} to {end} are outside of the memory, which has {size}")
    return rebuild(handle.data[begin:end], shape, dtype, padded, readonly, strides, offset)


def _release_received():
    """Release memory that was kept for messages which have all been received.

    Each call checks the next blocks, as many as it releases and two more, which move to the end: sending takes no
    longer when many messages wait.
    """
    released, waiting = [], 0  # released after the lock: the end of a tensor may run foreign code
    with _lock:
        for _ in range(len(_in_transit)):
            block, handle = _in_transit.popitem(last=False)
            if handle.is_received():
                released.append(handle)
                continue
            _in_transit[block] = handle
            waiting += 1
            if waiting == _CHECKED_AT_ONCE:
                break


def release_unreceived():
    """Release memory that this process keeps for messages which no process has received.

    A message that is lost, as in a queue that is not read or at a process that has ended, keeps its memory and its
    descriptor as long as the sender runs. After this call such messages can no longer be received: reading one raises
    ValueError.

    Returns
    -------
    int
        How many blocks of memory were kept; of CUDA devices, how many messages.

    See Also
    --------
    empty : Make a shared tensor.
    dltensor.empty_cache : Return memory that is free to the system.

    Examples
    --------
    >>> from multiprocessing.reduction import ForkingPickler
    >>> message = ForkingPickler.dumps(dl.shared.empty(3))
    >>> dl.shared.release_unreceived() >= 1
    True
    """
    _release_received()
    with _lock:
        handles = list(_in_transit.values())
        _in_transit.clear()
    kept = [handle for handle in handles if not handle.is_received()]
    for handle in kept:
        handle.forget()
    return len(kept)


def _is_visible():
    """Test whether other processes of this user may open the descriptors of this one by their paths."""
    try:
        return os.stat("/proc/self/fd").st_uid == os.geteuid()
    except OSError:
        return False


def reduce_handle(handle):
    """Implement ``__reduce__`` of a `Handle`: how the receiver of this message gets the descriptor.

    >>> reduce_handle(Handle(whole_block(dl.arange(3).share())))[0].__name__
    'receive_handle'
    """
    _release_received()
    if handle.data.device.type == DeviceType.kDLCUDA:
        from ._devices import send

        message, parts = send(handle.data)
        with _lock:
            _in_transit[message] = message
        return receive_device_handle, parts
    file, key = handle_of(handle.data)
    mark_sent(handle.data)
    if context.get_spawning_popen() is None and _is_visible():
        with _lock:
            _in_transit[block_id(handle.data)] = handle
        found = f"/proc/{os.getpid()}/fd/{file}"
    else:
        found = reduction.DupFd(file)
    return receive_handle, (found, key, handle.data.size)


def receive_handle(found, key, nbytes):
    """Return the `Handle` that a message names; ValueError if its memory does not exist any more.

    >>> t = dl.arange(3).share()
    >>> function, arguments = reduce_handle(Handle(whole_block(t)))
    >>> function(*arguments).data[:8].view("int64").tolist()
    [0]
    """
    register()
    if isinstance(found, str):
        is_own = True
        try:
            file = os.open(found, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise ValueError(
                "shared tensor: the memory that was sent does not exist any more: its sender has ended or released it"
            ) from None
    else:
        file, is_own = found.detach(), False
    handle = Handle(receive(file, key, nbytes, is_own))
    _handles[block_id(handle.data)] = handle
    return handle


def receive_device_handle(found, key, uuid, nbytes):
    """Return the `Handle` of memory of a CUDA device that a message names.

    ValueError if the memory does not exist any more, DeviceError if this process cannot open it.
    """
    from ._devices import block_id, receive

    register()
    handle = Handle(receive(found, key, uuid, nbytes))
    _handles[block_id(handle.data)] = handle
    return handle
