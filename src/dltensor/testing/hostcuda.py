# SPDX-License-Identifier: Apache-2.0
"""CUDA emulator: a CUDA driver that runs on the host. Builds, loads and configures it, and reads its counters.

It is a real ``libcuda.so.1``: modules are loaded, streams order work, kernels run (compiled from the same source by
``g++``). It finds faults that a GPU shows rarely or never, so the test chooses the order in which streams run:
``eager`` at the call, ``lazy`` only when something waits, ``random:SEED`` at random. A missing event wait gives wrong
data under the last two, the same wrong data in every run. Host code that dereferences a device pointer faults; a
kernel that accesses memory out of bounds is reported with its source line when built with ``sanitize=True``.

>>> from dltensor.testing import hostcuda                                   # doctest: +SKIP
>>> machine = hostcuda.load(order="lazy")         # before the first use of CUDA # doctest: +SKIP
>>> import dltensor as dl                                                   # doctest: +SKIP
>>> t = dl.ones((2, 3), device="cuda")                                      # doctest: +SKIP
>>> machine.statistics().launches                                           # doctest: +SKIP
1

Needs ``g++`` (C++20) at the time of use. Not for production: it is slow, and the whole process sees a GPU.
With ``threads="random:SEED"`` the threads of a block are preempted at any access, so that a missing barrier gives wrong
data. It cannot show speed, or a missing fence between blocks, which run one after the other.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["ORDERS", "Build", "Machine", "Statistics", "build", "cache_folder", "load"]

#: Orders that a test suite should run under.
ORDERS = ("eager", "lazy", "random:1")

_HERE = Path(__file__).resolve().parent
_PACKAGE = _HERE.parent
_SOURCES = _HERE / "hostcuda"
# Libraries by their only source file.
_LIBRARIES = {"blas.cc": "libcublas.so.13", "fft.cc": "libcufft.so.12", "solver.cc": "libcusolver.so.12"}
_DRIVER_FILES = (
    "machine.cc",
    "streams.cc",
    "graphs.cc",
    "memory.cc",
    "mappings.cc",
    "copies.cc",
    "devices.cc",
    "modules.cc",
    "simt.cc",
)


@functools.cache
def _errors() -> dict[str, int]:
    """Return errors of the driver that the package knows, by CUDA name: the rows of native/cuda/runtime/abi.h."""
    rows = (_PACKAGE / "native/cuda/runtime/abi.h").read_text()
    return {name: int(value) for value, name in re.findall(r"X\(k\w+, (\d+), (CUDA_ERROR_\w+)\)", rows)}


class Build(NamedTuple):
    """Paths of a built driver."""

    driver: Path
    cublas: Path
    cufft: Path
    cusolver: Path
    cache: Path


class Statistics(NamedTuple):
    """Counters since the driver was loaded; see `machine.h`."""

    calls: int
    launches: int
    synchronisations: int
    forced_synchronisations: int
    allocations: int
    live_allocations: int
    live_bytes: int
    peak_bytes: int
    live_pinned: int
    copies: int
    bytes_copied: int
    events_live: int
    streams_live: int
    modules_live: int
    host_compilations: int
    bytes_read: int
    bytes_written: int
    sectors_read: int
    sectors_written: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in Statistics._fields[:-2]] + [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
    ]


def cache_folder() -> Path:
    """Return the folder for built files, ``$DLTENSOR_CACHE_DIR/hostcuda``, created with mode 0700.

    Raises
    ------
    PermissionError
        The folder belongs to another user or others may write to it: code is loaded from there.

    Examples
    --------
    >>> cache_folder().name
    'hostcuda'
    """
    base = os.environ.get("DLTENSOR_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) if base else Path(home) / "dltensor"
    folder = folder / "hostcuda"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = folder.stat()
    if state.st_uid != os.geteuid() or stat.S_IMODE(state.st_mode) & 0o022:
        raise PermissionError(
            f"hostcuda: the cache folder {folder} must belong to this user and be writable by no other user; "
            "libraries are loaded from it. Give another one in DLTENSOR_CACHE_DIR, or chmod 700 it"
        )
    return folder


def _include_folders() -> list[Path]:
    return [_SOURCES, _PACKAGE, _PACKAGE / "include"]


def _compile(command: list[str], target: Path) -> None:
    part = target.with_name(f"{target.name}.{os.getpid()}")
    run = subprocess.run([*command, "-o", str(part)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"hostcuda: the compiler failed with code {run.returncode}:\n{run.stderr[-4000:]}")
    part.replace(target)


def build(*, sanitize: bool = False, compiler: str = "g++") -> Build:
    """Build the driver, its cuBLAS, cuFFT and cuSOLVER, unless they are in the cache.

    Parameters
    ----------
    sanitize : bool
        Build for a process that runs under AddressSanitizer (``LD_PRELOAD=libasan.so``).
    compiler : str

    Returns
    -------
    Build

    Raises
    ------
    FileNotFoundError
        There is no such compiler.
    RuntimeError
        The compiler failed; its output is in the message.
    PermissionError
        See `cache_folder`.

    Examples
    --------
    >>> build().driver.name                                                 # doctest: +SKIP
    'libcuda.so.1'
    """
    if shutil.which(compiler) is None:
        raise FileNotFoundError(f"hostcuda: needs the compiler {compiler!r} to build its driver; install g++")
    texts = [_SOURCES / name for name in (*_DRIVER_FILES, "machine.h", "kernel.h", "library.h", *_LIBRARIES)]
    texts.append(_PACKAGE / "native/cuda/runtime/abi.h")
    flags = ["-std=c++20", "-O2", "-g1", "-fPIC", "-shared", "-fvisibility=hidden", "-ftls-model=initial-exec"]
    flags += [f"-I{folder}" for folder in _include_folders()]
    # A peer may load another C++ runtime: ours stays inside.
    link = ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-ldl", "-lpthread"]
    key = hashlib.sha256(repr((compiler, flags, link, sanitize)).encode())
    for path in texts:
        key.update(path.read_bytes())
    cache = cache_folder()
    folder = cache / f"driver-{key.hexdigest()[:16]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    driver = folder / "libcuda.so.1"
    if sys.stderr is not None and not all((folder / name).exists() for name in (driver.name, *_LIBRARIES.values())):
        sys.stderr.write(f"hostcuda: compiling its driver with {compiler}, once; it is kept in {folder}\n")
        sys.stderr.flush()
    if not driver.exists():
        files = [str(_SOURCES / name) for name in _DRIVER_FILES]
        _compile([compiler, *flags, *files, "-Wl,-soname,libcuda.so.1", *link], driver)
    for source, name in _LIBRARIES.items():
        if not (folder / name).exists():
            _compile([compiler, *flags, str(_SOURCES / source), f"-Wl,-soname,{name}", *link], folder / name)
    return Build(driver, *(folder / name for name in _LIBRARIES.values()), cache)


class Machine:
    """The loaded driver, one a process. `load` returns it."""

    def __init__(self, library: ctypes.CDLL, built: Build) -> None:
        self._library = library
        self.build = built
        library.hostcuda_configure.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.hostcuda_fail.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int]
        library.hostcuda_fail.restype = None
        library.hostcuda_last_kernel.restype = ctypes.c_char_p
        library.hostcuda_pending.restype = ctypes.c_int64

    def configure(self, **settings: object) -> None:
        """Change settings.

        Parameters
        ----------
        order : "eager", "lazy" or "random:SEED"
        threads : "random:SEED", the threads of a block are preempted between any two accesses to memory, and the
            32-byte sectors that each warp touches are counted; "whole" (default), only at barriers
        launches : bool; False measures the cost of calling alone
        descriptors : bool; False: processes cannot share memory, as under WSL
        memory : int, bytes of a device
        dead_streams : "abort" the process where a destroyed stream is used (undefined on a real driver), or "error"
        capability : int, 90 for sm_90; devices : int; first_device : int, the number that device 0 has among all of the
            machine, as with CUDA_VISIBLE_DEVICES. All only before the first use
        header : str, where kernels of a foreign CUBIN are defined
        compiler_flags : str, for kernels

        Raises
        ------
        ValueError
            The setting or its value is not known, or it came too late.

        Examples
        --------
        >>> machine.configure(order="random:7", launches=True)              # doctest: +SKIP
        """
        for key, value in settings.items():
            text = ("on" if value else "off") if isinstance(value, bool) else str(value)
            if self._library.hostcuda_configure(key.encode(), text.encode()):
                raise ValueError(
                    f"hostcuda: {key}={value!r} is not a setting, not one of its values, or comes after the first use"
                )

    @contextlib.contextmanager
    def order(self, order: str):
        """Run the body under another order, then go back to eager, which runs what is pending.

        Examples
        --------
        >>> with machine.order("lazy"):                                     # doctest: +SKIP
        ...     pass
        """
        self.configure(order=order)
        try:
            yield self
        finally:
            self.configure(order="eager")

    def fail(
        self, function: str = "*", *, nth: int = 1, times: int = 1, error: str = "CUDA_ERROR_OUT_OF_MEMORY"
    ) -> None:
        """Make the nth call from now of a driver function fail, and the ``times - 1`` calls after it.

        An error that a failed kernel leaves (``CUDA_ERROR_ILLEGAL_ADDRESS`` and its like) loses the context: every
        later call returns it, until `fail_no_more`.

        Raises
        ------
        ValueError
            The error's name is not known.

        Examples
        --------
        >>> machine.fail("cuMemAllocFromPoolAsync", nth=3)                  # doctest: +SKIP
        """
        if error not in _errors():
            raise ValueError(f"hostcuda: error must be one of {', '.join(_errors())}; got {error!r}")
        self._library.hostcuda_fail(function.encode(), nth, times, _errors()[error])

    def fail_no_more(self) -> None:
        """Remove every `fail` that has not happened yet, and restore a lost context."""
        self._library.hostcuda_fail_no_more()

    def statistics(self) -> Statistics:
        """Return the counters."""
        raw = _Statistics()
        self._library.hostcuda_statistics(ctypes.byref(raw))
        plain = [getattr(raw, name) for name in Statistics._fields[:-2]]
        return Statistics(*plain, tuple(raw.grid), tuple(raw.block))

    def pending(self) -> int:
        """Return how many operations are enqueued and have not run."""
        return self._library.hostcuda_pending()

    def context_depth(self) -> int:
        """Return how many contexts the calling thread has on its stack."""
        return self._library.hostcuda_context_depth()

    @contextlib.contextmanager
    def context(self, device: int = 0):
        """Make the primary context of a device current for the calling thread, as most CUDA libraries do.

        Raises
        ------
        RuntimeError
            There is no such device.

        Examples
        --------
        >>> with machine.context(0):                                        # doctest: +SKIP
        ...     machine.context_depth()
        1
        """
        context = ctypes.c_void_p()
        self._library.cuInit(0)
        if self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
            raise RuntimeError(f"hostcuda: there is no device {device}")
        self._library.cuCtxPushCurrent_v2(context)
        try:
            yield self
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(context))
            self._library.cuDevicePrimaryCtxRelease_v2(device)

    def last_kernel(self) -> str:
        """Return the C++ expression of the kernel launched last."""
        return self._library.hostcuda_last_kernel().decode()

    @property
    def library(self) -> ctypes.CDLL:
        """The driver, for functions without a method."""
        return self._library


_loaded: Machine | None = None


def load(*, sanitize: bool = False, **settings: object) -> Machine:
    """Build if needed, load the driver into this process, and make dltensor use it.

    Comes before the first use of CUDA in the process; later calls return the same machine. Other packages that open
    ``libcuda.so.1`` afterwards get this one too.

    Raises
    ------
    RuntimeError
        Another CUDA driver is loaded already, or building failed.
    ValueError
        A setting is not known, see `Machine.configure`.

    Examples
    --------
    >>> load(order="lazy", devices=2).statistics().launches                 # doctest: +SKIP
    0
    """
    global _loaded
    if _loaded is None:
        with open("/proc/self/maps") as maps:
            others = {line.split()[-1] for line in maps if "libcuda.so" in line}
        if others:
            raise RuntimeError(f"hostcuda: another CUDA driver is loaded already: {', '.join(sorted(others))}")
        built = build(sanitize=sanitize)
        machine = Machine(ctypes.CDLL(str(built.driver), mode=ctypes.RTLD_GLOBAL), built)
        machine.configure(cache=built.cache, include=":".join(map(str, _include_folders())))
        if sanitize:
            machine.configure(compiler_flags="-fsanitize=address -g1")
        os.environ["DLTENSOR_CUDA_DRIVER"] = str(built.driver)
        os.environ.setdefault("DLTENSOR_CUDA_CUBLAS", str(built.cublas))
        os.environ.setdefault("DLTENSOR_CUDA_CUFFT", str(built.cufft))
        os.environ.setdefault("DLTENSOR_CUDA_CUSOLVER", str(built.cusolver))
        _loaded = machine
    _loaded.configure(**settings)
    return _loaded
