# SPDX-License-Identifier: Apache-2.0
"""Device memory of other libraries: allocators, and hooks where there is none. The public names are in `cuda`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._core.foreign_text import quoted
from .._core.introspect import engine_path
from . import _driver as _cuda


class _Functions:
    """The functions of an allocator, and the objects that own its memory."""

    def __init__(self, allocate: Callable[..., Any], free: Callable[..., Any] | None) -> None:
        self._allocate, self._free = allocate, free
        self._objects: dict[int, Any] = {}

    def allocate(self, size: int, device: int, stream: int) -> int:
        memory = self._allocate(size, device, stream)
        pointer = memory if isinstance(memory, int) or memory is None else getattr(memory, "ptr", memory)
        if not pointer:
            raise MemoryError(f"allocate: the allocator of dl.cuda.set_allocator has no {size} bytes on cuda:{device}")
        if isinstance(pointer, bool) or not isinstance(pointer, int) or not 0 < pointer < 1 << 64:
            raise TypeError(
                "set_allocator: allocate must return an address, or an object that has it as ptr, got "
                f"{type(memory).__qualname__}: {quoted(memory)}"
            )
        if pointer is not memory or self._free is None:
            if memory is pointer:
                raise TypeError(
                    "set_allocator: without free, allocate must return an object that has an address as ptr"
                )
            self._objects[pointer] = memory
        return pointer

    def free(self, pointer: int, size: int, device: int, stream: int) -> None:
        memory = self._objects.pop(pointer, pointer)
        if self._free is not None:
            self._free(memory, size, device, stream)

    @staticmethod
    def is_exhausted(error: BaseException) -> bool:
        """Return whether an exception says that there is no memory; that of PyTorch is a RuntimeError."""
        return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def set_allocator(allocate: Callable[..., Any] | None = None, free: Callable[..., Any] | None = None) -> None:
    """Take device memory from another library, such as RMM, CuPy or PyTorch, from now on.

    Memory goes back to the allocator that gave it, as soon as the last tensor in it is released: this package keeps
    none of it idle. Idle memory of before is freed. Pinned and managed memory still come from the driver.

    Parameters
    ----------
    allocate : callable, optional
        Called as ``allocate(size, device, stream)`` with bytes, the number of the device and a raw CUstream, on which
        the memory may be used at once. It returns an address, or an object with the attribute ``ptr``, which is kept
        until the memory is freed. Without it the driver's memory is used again.
    free : callable, optional
        Called as ``free(memory, size, device, stream)`` with what `allocate` returned, when all work with the memory is
        ordered before later work of the stream. Without it, objects are released.

    Raises
    ------
    TypeError
        One of them is not callable, or `free` is passed alone.

    See Also
    --------
    torch_allocator : The other direction for PyTorch.
    on_out_of_memory : Let another library free memory.

    Notes
    -----
    An exception of `allocate` is raised by the operation that needed memory. One that says that there is no memory is
    raised after idle memory was freed and the hooks of `on_out_of_memory` were called. What `free` raises is passed to
    `sys.unraisablehook`. Both may be called in any thread, with the device's context current, and must not use tensors
    of this package.

    Examples
    --------
    >>> delete = torch.cuda.caching_allocator_delete                        # doctest: +SKIP
    >>> allocate = torch.cuda.caching_allocator_alloc                       # doctest: +SKIP
    >>> dl.cuda.set_allocator(allocate, lambda memory, *_: delete(memory))  # doctest: +SKIP
    """
    if allocate is None and free is not None:
        raise TypeError("set_allocator: expected allocate where free is passed")
    for name, function in (("allocate", allocate), ("free", free)):
        if function is not None and not callable(function):
            raise TypeError(f"set_allocator: {name} must be callable, got {type(function).__qualname__}")
    _cuda.set_allocator(None if allocate is None else _Functions(allocate, free))


def torch_allocator() -> tuple[str, str, str]:
    """Return the arguments by which PyTorch takes its device memory from this package: a library and two functions.

    The functions have the signatures of ``torch.cuda.memory.CUDAPluggableAllocator``, and are exported from the library
    of the engine: ``void* dlt_torch_malloc(ssize_t size, int device, cudaStream_t stream)`` and
    ``void dlt_torch_free(void* pointer, ssize_t size, int device, cudaStream_t stream)``.

    Returns
    -------
    path : str
    malloc : str
    free : str

    See Also
    --------
    set_allocator : The other direction.

    Examples
    --------
    >>> dl.cuda.torch_allocator()[1:]
    ('dlt_torch_malloc', 'dlt_torch_free')
    >>> memory = torch.cuda.memory                                          # doctest: +SKIP
    >>> pool = memory.CUDAPluggableAllocator(*dl.cuda.torch_allocator())    # doctest: +SKIP
    >>> memory.change_current_allocator(pool)                               # doctest: +SKIP
    """
    return engine_path(), "dlt_torch_malloc", "dlt_torch_free"


_hooks: list[tuple[object, Callable[[], Any]]] = []
_calling = threading.local()


def _call_hooks() -> bool:
    """Call all hooks; return whether there are any. They are not called for memory that a hook itself asks for."""
    if not _hooks or getattr(_calling, "now", False):
        return False
    _calling.now = True
    try:
        for _, hook in list(_hooks):
            hook()
    finally:
        _calling.now = False
    return True


def on_out_of_memory(hook: Callable[[], Any]) -> Callable[[], None]:
    """Call a function when there is no device memory, after idle memory was freed and before an allocation fails.

    Parameters
    ----------
    hook : callable
        Called without arguments, such as ``torch.cuda.empty_cache``. What it raises is raised by the operation.

    Returns
    -------
    callable
        Calling it removes the hook.

    Raises
    ------
    TypeError
        `hook` is not callable.

    Examples
    --------
    >>> remove = dl.cuda.on_out_of_memory(lambda: None)
    >>> remove()
    """
    if not callable(hook):
        raise TypeError(f"on_out_of_memory: expected a function, got {type(hook).__qualname__}")
    entry = (object(), hook)
    _hooks.append(entry)
    _cuda.set_memory_hook(_call_hooks)

    def remove() -> None:
        """Remove the hook; nothing happens if it was removed before."""
        if entry in _hooks:
            _hooks.remove(entry)

    return remove
