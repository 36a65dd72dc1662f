# SPDX-License-Identifier: Apache-2.0
"""CUDA devices: whether there are any, their numbers and their memory. The public names are in `cuda`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .._core.indexing import integer_of
from .._core.once import Once
from .._core.types import DeviceError, DeviceType, as_device
from . import _driver as _cuda


def _wheel_libraries(name: str) -> list[str]:
    """Find a library of NVIDIA wheels, every version of it: beside the other packages, else by cuda-pathfinder.

    The engine takes the one that fits the driver.
    """
    found = [str(p) for folder in sys.path for p in Path(folder or ".").glob(f"nvidia/*/lib/lib{name}.so.[0-9]*")]
    if found:
        return sorted(dict.fromkeys(found))
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path = load_nvidia_dynamic_lib(name).abs_path
        return [path] if path else []
    except Exception:  # absent, or it found nothing: the engine searches further and reports what it tried
        return []


def _compiled_kernels() -> str:
    """Find the folder of kernels that were compiled beforehand, that of the package dltensor-cuda-kernels, or ""."""
    found = find_spec("dltensor_cuda_kernels")
    return os.path.dirname(found.origin) if found and found.origin else ""


def _pass_paths() -> None:
    """Pass the paths of libraries and kernels to the engine. Loads no CUDA library."""
    here = Path(__file__).resolve().parent.parent
    _cuda.set_folders(str(here), _compiled_kernels())
    for number, name in ((1, "nvrtc"), (2, "cublas"), (3, "cufft"), (4, "cusolver")):
        if not os.environ.get(f"DLTENSOR_CUDA_{name.upper()}"):
            for path in _wheel_libraries(name):
                _cuda.hint(number, path)


start = Once(_pass_paths)


def ordinal_of(device: Any, func: str) -> int:
    if device is None:
        return 0
    if isinstance(device, int) and not isinstance(device, (bool, DeviceType)):
        if not 0 <= device < 1 << 31:
            raise ValueError(f"{func}: expected the number of a CUDA device, got {device}; see dl.cuda.device_count()")
        return device
    found = as_device(device, func)
    if found.type != DeviceType.kDLCUDA:
        raise ValueError(f"{func}: expected a CUDA device such as 0 or 'cuda:0', got {found}")
    return found.id


def is_available() -> bool:
    """Return whether there is a driver with at least one device.

    Examples
    --------
    >>> dl.cuda.is_available() in (True, False)
    True
    """
    try:
        return device_count() > 0
    except DeviceError:
        return False


def device_count() -> int:
    """Count the devices: 0 without a driver.

    Raises
    ------
    DeviceError
        A driver is installed and does not start; the message names the reason and the remedy.

    Examples
    --------
    >>> (dl.cuda.device_count() > 0) == dl.cuda.is_available()
    True
    """
    start()
    return _cuda.count()


class Properties:
    """The properties of a device, as attributes: ``multiprocessor_count``, ``total_memory``, ``name`` and so on."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor version of the architecture."""
        return self.major, self.minor

    def __repr__(self) -> str:
        return f"Properties({', '.join(f'{key}={value!r}' for key, value in self.__dict__.items())})"


def properties(device: Any = 0) -> Properties:
    """Return the properties of a device.

    Parameters
    ----------
    device : int, Device or str

    Raises
    ------
    DeviceError
        There is no driver.
    ValueError
        There is no such device.

    Examples
    --------
    >>> dl.cuda.properties(0).multiprocessor_count                          # doctest: +SKIP
    132
    """
    start()
    return Properties(_cuda.properties(ordinal_of(device, "properties")))


def cores_per_sm(device: Any = 0) -> int:
    """Return the CUDA cores of one multiprocessor; for an unknown, newer architecture those of the newest known.

    Parameters
    ----------
    device : int, Device, str, or a compute capability as a tuple, which needs no driver

    {properties: Raises}

    Examples
    --------
    >>> dl.cuda.cores_per_sm((7, 5)), dl.cuda.cores_per_sm((9, 0))
    (64, 128)
    """
    return cores_of(device, "cores_per_sm")


def cores_of(device: Any, func: str) -> int:
    if isinstance(device, tuple):
        return _cuda.cores(*device)
    start()
    return _cuda.cores(*Properties(_cuda.properties(ordinal_of(device, func))).compute_capability)


def synchronize(device: Any = 0) -> None:
    """Wait for all work of a device.

    Raises
    ------
    DeviceError
        There is no driver, or a kernel failed.
    {properties: ValueError}
    BufferError
        A graph is being captured.

    Examples
    --------
    >>> dl.cuda.synchronize()                                               # doctest: +SKIP
    """
    start()
    _cuda.synchronize(ordinal_of(device, "synchronize"))


class MemInfo(NamedTuple):
    """Bytes of a whole device, other processes included."""

    used: int
    free: int
    total: int


def mem_info(device: Any = 0) -> MemInfo:
    """Return used, free and total bytes of a device.

    {properties: Raises}

    Examples
    --------
    >>> used, free, total = dl.cuda.mem_info()                              # doctest: +SKIP
    >>> used + free == total                                                # doctest: +SKIP
    True
    """
    start()
    free, total = _cuda.mem_info(ordinal_of(device, "mem_info"))
    return MemInfo(total - free, free, total)


def memory_stats(device: Any = 0) -> dict[str, int]:
    """Return the memory this package holds on a device: live and cached bytes, pinned memory, memory of graphs.

    ``peak_bytes`` is the most that was live at once, on all streams together, since the start or `reset_peak_memory`.

    {properties: Raises}

    Examples
    --------
    >>> dl.cuda.memory_stats()["live_bytes"]                                # doctest: +SKIP
    0
    """
    start()
    return _cuda.memory_usage(ordinal_of(device, "memory_stats"))


def reset_peak_memory(device: Any = 0) -> None:
    """Let ``memory_stats()["peak_bytes"]`` count from what is live now.

    {properties: Raises}

    Examples
    --------
    >>> dl.cuda.reset_peak_memory()                                         # doctest: +SKIP
    """
    start()
    _cuda.reset_peak(ordinal_of(device, "reset_peak_memory"))


def empty_cache(device: Any = None) -> int:
    """Free idle memory of a device, or of all; return the number of bytes.

    Raises
    ------
    ValueError
        It is not a CUDA device.

    Examples
    --------
    >>> dl.cuda.empty_cache()                                               # doctest: +SKIP
    0
    """
    start()
    return _cuda.empty_cache(-1 if device is None else ordinal_of(device, "empty_cache"))


def set_cache_limit(bytes_per_stream: int) -> None:
    """Set how much memory each stream may keep for reuse. There is no limit unless one is set.

    Raises
    ------
    TypeError
        It is not an integer.
    ValueError
        It is negative, or exceeds the address space.

    Examples
    --------
    >>> dl.cuda.set_cache_limit(1 << 30)                                    # doctest: +SKIP
    """
    limit = integer_of(bytes_per_stream, "bytes_per_stream", "set_cache_limit")
    if not 0 <= limit < 1 << 64:
        raise ValueError(f"set_cache_limit: a number of bytes must be from 0 to 2^64 - 1, got {limit}")
    _cuda.set_cache_limit(limit)
