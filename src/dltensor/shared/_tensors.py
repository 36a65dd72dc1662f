# SPDX-License-Identifier: Apache-2.0
"""Tensors in shared memory: uninitialized, copies, and many in one block. `_sending` sends them."""

from .._core.byte_sizes import bytes_of, read_shape
from .._core.convert import asarray
from .._core.default_dtype import get_default_dtype
from .._core.tensor import Tensor
from .._core.types import Flags, as_dtype
from .._core.views import from_raw
from ._blocks import allocate
from ._sending import register

_ALIGNMENT = 256


def empty(shape, dtype=None):
    """Return an uninitialized tensor in memory that processes share.

    `multiprocessing` sends it, and views of it, to other processes as a descriptor: through queues and pipes, as an
    argument of a process, and by inheritance through fork. Each of them sees what another one writes. The memory is
    freed when the last process has released it or has ended, however it ended.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the tensor.
    dtype : dtype_like, optional
        Element type; by default `get_default_dtype`.

    Returns
    -------
    Tensor
        In C order, writable.

    Raises
    ------
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

    Examples
    --------
    >>> t = dl.shared.empty((2, 3), "int32")
    >>> t.fill(7); t.is_shared, t.tolist()
    (True, [[7, 7, 7], [7, 7, 7]])
    """
    return _new_shared("shared.empty", shape, get_default_dtype() if dtype is None else as_dtype(dtype), False)


def _new_shared(func, shape, dtype, padded):
    shape = read_shape(shape, func)
    nbytes = bytes_of(shape, dtype, padded, func)
    register()
    return from_raw(allocate(nbytes, func), shape, dtype, padded)


def copy_to_shared(t):
    """Return a copy of a tensor of the host in shared memory, in C order; `Tensor.share` calls it.

    >>> copy_to_shared(dl.arange(3)).tolist()
    [0, 1, 2]
    """
    result = _new_shared("share", t.shape, t.dtype, _is_padded(t))
    result[...] = t
    return result


def _is_padded(t):
    return bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)


def pack(tensors):
    """Copy tensors to one block of memory that processes share.

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
    MemoryError, OSError
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
    places, end = {}, 0
    for name, t in sources.items():
        nbytes = bytes_of(t.shape, t.dtype, _is_padded(t), "shared.pack")
        places[name] = end, nbytes
        end += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
    register()
    data = allocate(end, "shared.pack")
    copies = {}
    for name, t in sources.items():
        begin, nbytes = places[name]
        copies[name] = from_raw(data[begin : begin + nbytes], t.shape, t.dtype, _is_padded(t))
        copies[name][...] = t
    return copies
