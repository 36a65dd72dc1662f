# SPDX-License-Identifier: Apache-2.0
"""Tensors in shared memory: uninitialized, copies, and many in one block. `_sending` sends them."""

from .._core.byte_sizes import bytes_of, read_shape
from .._core.convert import asarray
from .._core.default_dtype import get_default_dtype
from .._core.tensor import Tensor
from .._core.types import Device, DeviceError, DeviceType, Flags, as_device, as_dtype
from .._core.views import from_raw, on_host, raw_bytes
from ._blocks import allocate
from ._sending import register

_ALIGNMENT = 256
_HOST = Device("cpu")


def empty(shape, dtype=None, *, device=None):
    """Return an uninitialized tensor in memory that processes share, of the host or of a CUDA device.

    `multiprocessing` sends it, and views of it, to other processes as a descriptor: through queues and pipes, as an
    argument of a process, and on the host by inheritance through fork, which CUDA does not survive. Each of them sees
    what another one writes. The memory is freed when the last process has released it or has ended, however it ended.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the tensor.
    dtype : dtype_like, optional
        Element type; by default `get_default_dtype`.
    device : device_like, optional
        The host, which is the default, or a CUDA device.

    Returns
    -------
    Tensor
        In C order, writable.

    Raises
    ------
    DeviceError
        Memory of the device cannot be shared.
    ValueError
        An extent is negative, or the size exceeds 2^63 - 1 bytes.
    MemoryError
        There is not that much memory. All of it is reserved here, so that no later write can fail.
    OSError
        The process has too many open files: each call makes one. `pack` puts many tensors into one.

    See Also
    --------
    pack : Copy many tensors to one block.
    dltensor.Tensor.share : Copy one tensor.

    Notes
    -----
    The memory is a sealed ``memfd`` (Linux): no process can change its size. Pickles other than those of
    `multiprocessing` hold a copy of the elements.

    On a CUDA device the memory is a multiple of 2 MiB and is not kept for reuse. To send it waits for the work of this
    process with it; later work of several processes is not ordered by streams.

    Examples
    --------
    >>> t = dl.shared.empty((2, 3), "int32")
    >>> t.fill(7); t.is_shared, t.tolist()
    (True, [[7, 7, 7], [7, 7, 7]])
    """
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    return _new_shared(
        "shared.empty", shape, dtype, False, _HOST if device is None else as_device(device, "shared.empty")
    )


def _new_shared(func, shape, dtype, padded, device):
    shape = read_shape(shape, func)
    nbytes = bytes_of(shape, dtype, padded, func)
    return from_raw(_allocate(nbytes, device, func), shape, dtype, padded)


def _allocate(nbytes, device, func):
    """Return shared memory of a device as a row of uint8."""
    register()
    if device == _HOST:
        return allocate(nbytes, func)
    if device.type != DeviceType.kDLCUDA:
        raise DeviceError(f"{func}: memory of {device} cannot be shared; supported devices are cpu and cuda")
    from ._devices import allocate as allocate_on

    return allocate_on(nbytes, device.id)


def copy_to_shared(t):
    """Return a copy of a tensor in shared memory of its device, in C order; `Tensor.share` calls it.

    >>> copy_to_shared(dl.arange(3)).tolist()
    [0, 1, 2]
    """
    result = _new_shared("share", t.shape, t.dtype, _is_padded(t), _place_of(t))
    _write(result, t)
    return result


def _write(target, t):
    """Copy the elements of `t`; those of less than a byte, which no kernel takes, as bytes."""
    if t.dtype.bits * t.dtype.lanes % 8 and target.device != _HOST:
        target, t = raw_bytes(target), raw_bytes(t if t.is_contiguous else t.copy())
    target[...] = t


def _place_of(t):
    """Return the device whose shared memory a copy of a tensor is in."""
    return _HOST if on_host(t) or t.device.type == DeviceType.kDLCUDAManaged else t.device


def _is_padded(t):
    return bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)


def pack(tensors):
    """Copy tensors to one block of memory that processes share: of the host, or of the CUDA device that all are on.

    One block needs one descriptor, however many tensors are in it, and is sent at once.

    Parameters
    ----------
    tensors : dict of str to array_like
        Tensors by name.

    Returns
    -------
    dict of str to Tensor
        Copies in C order, each at an address divisible by 256, in the order of `tensors`.

    Raises
    ------
    TypeError
        `tensors` is no dictionary, or holds something that is no tensor.
    ValueError
        The tensors are on several devices.
    DeviceError, MemoryError, OSError
        As `empty`.

    See Also
    --------
    empty : Make one tensor.

    Examples
    --------
    >>> weights = dl.shared.pack({"w": dl.ones((2, 2)), "b": dl.zeros(2)})
    >>> weights["w"].is_shared, weights["w"].same_memory(weights["b"])
    (True, True)
    """
    if not isinstance(tensors, dict):
        raise TypeError(f"shared.pack: expected a dictionary of tensors, got {type(tensors).__qualname__}")
    sources = {name: t if type(t) is Tensor else asarray(t) for name, t in tensors.items()}
    device = _common_device(sources)
    places, end = {}, 0
    for name, t in sources.items():
        nbytes = bytes_of(t.shape, t.dtype, _is_padded(t), "shared.pack")
        places[name] = end, nbytes
        end += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
    data = _allocate(end, device, "shared.pack")
    copies = {}
    for name, t in sources.items():
        begin, nbytes = places[name]
        copies[name] = from_raw(data[begin : begin + nbytes], t.shape, t.dtype, _is_padded(t))
        _write(copies[name], t)
    return copies


def _common_device(sources):
    """Return the device of the block for these tensors; ValueError if they are on several."""
    devices = {name: _place_of(t) for name, t in sources.items()}
    first = next(iter(devices), None)
    for name, device in devices.items():
        if device != devices[first]:
            raise ValueError(
                f"shared.pack: expected tensors of one device, got {first!r} on {devices[first]} and {name!r} on "
                f"{device}; call pack for each device"
            )
    return devices.get(first, _HOST)
