# SPDX-License-Identifier: Apache-2.0
"""Launch configuration of CUDA kernels: settings and formulas. The public names are in `cuda`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from operator import index
from typing import Any, NamedTuple

from .._core.foreign_text import quoted
from .._core.indexing import items_of
from . import _driver as _cuda
from ._device import cores_of, properties


class Launch(NamedTuple):
    """Launch settings of kernels. Results do not depend on them. 0 means automatic."""

    blocks_per_sm: int = 8
    num_threads: int = 0
    values_per_thread: int = 0


def settings_of(settings: Any, func: str) -> Launch:
    """Read a `launch=` argument."""
    try:
        blocks_per_sm, num_threads, values_per_thread = map(index, settings)
    except (TypeError, ValueError):
        raise TypeError(f"{func}: launch must be a Launch or three integers, got {quoted(settings)}") from None
    read = Launch(blocks_per_sm, num_threads, values_per_thread)
    _cuda.check_settings(read, func)
    return read


@contextlib.contextmanager
def launch(blocks_per_sm: int = 8, num_threads: int = 0, values_per_thread: int = 0) -> Iterator[Launch]:
    """Use launch settings for all operations of this thread inside the block.

    Raises
    ------
    TypeError
        One of them is not an integer.
    ValueError
        A number is negative, or `num_threads` is above 1024.

    Examples
    --------
    >>> with dl.cuda.launch(num_threads=256) as settings:
    ...     settings.num_threads
    256
    """
    settings = settings_of((blocks_per_sm, num_threads, values_per_thread), "launch")
    before = _cuda.thread_launch()
    _cuda.set_thread_launch(settings)
    try:
        yield settings
    finally:
        _cuda.set_thread_launch(before)


@contextlib.contextmanager
def tf32(allowed: bool = True) -> Iterator[None]:
    """Let cuBLAS round float32 factors of this thread's products to TF32 inside the block, or disable it again.

    TF32 keeps 10 bits after the point of float32's 23, and tensor cores multiply it several times faster. Sums stay
    float32. Other dtypes, the CPU and the kernel that multiplies where cuBLAS is not installed do not change.

    Parameters
    ----------
    allowed : bool

    Raises
    ------
    TypeError
        `allowed` is not True or False.

    Examples
    --------
    >>> with dl.cuda.tf32():
    ...     product = dl.ones((2, 2)) @ dl.ones((2, 2))
    """
    if not isinstance(allowed, bool):
        raise TypeError(f"tf32: allowed must be True or False, got {quoted(allowed)}")
    before = _cuda.thread_tf32()
    _cuda.set_thread_tf32(allowed)
    try:
        yield
    finally:
        _cuda.set_thread_tf32(before)


@contextlib.contextmanager
def index_checks(when: str) -> Iterator[None]:
    """Choose when this thread's indexing of CUDA tensors raises for an index out of range.

    Without it, reads and writes by index arrays wait for the device, which has checked each index, before anything is
    moved. With "later" they do not wait, and reads are one kernel. An index out of range then raises by the next call
    that waits for the device, of any thread: `synchronize`, or a read of elements. Until then what was read for it is
    undefined, and a write for it may have changed the first element of its axis.

    Parameters
    ----------
    when : {'now', 'later'}
        "now" is the default outside of any block.

    Raises
    ------
    ValueError
        `when` is neither word.

    Examples
    --------
    >>> with dl.cuda.index_checks("later"):
    ...     rows = dl.asarray([[1.0], [2.0]])[dl.asarray([1, 0])]
    """
    if when not in ("now", "later"):
        raise ValueError(f'index_checks: when must be "now" or "later", got {quoted(when)}')
    before = _cuda.late_index_checks()
    _cuda.set_late_index_checks(when == "later")
    try:
        yield
    finally:
        _cuda.set_late_index_checks(before)


def calc_threads(num_threads: int = 0, device: Any = 0) -> int:
    """Return `num_threads`, or when that is 0 the cores of one multiprocessor of the device.

    Parameters
    ----------
    num_threads : int
    device : int, Device, str, or a compute capability as a tuple, which needs no driver

    Raises
    ------
    ValueError
        Negative or above 1024, or no such device.
    DeviceError
        There is no driver.

    Examples
    --------
    >>> dl.cuda.calc_threads(0, (7, 5)), dl.cuda.calc_threads(96)
    (64, 96)
    """
    _cuda.check_settings((0, num_threads, 0), "calc_threads")
    return num_threads or cores_of(device, "calc_threads")


class Blocks1d(NamedTuple):
    """A launch over one dimension."""

    num_blocks: int
    values_per_thread: int
    numel: int


class BlocksNd(NamedTuple):
    """A launch over several dimensions; `count` is the number of elements of one entry of dimension 0."""

    grid: tuple[int, int, int]
    values_per_thread: int
    count: int


def _multiprocessors(count: int | None, func: str) -> int:
    if count is None:
        return properties(0).__dict__["multiprocessor_count"]
    if count < 1:
        raise ValueError(f"{func}: multiprocessors must be 1 or more, got {count}")
    return count


def blocks_values_1d(
    numel: int,
    *,
    num_threads: int,
    blocks_per_sm: int = 8,
    values_per_thread: int = 0,
    multiprocessors: int | None = None,
) -> Blocks1d:
    """Compute how a kernel over `numel` elements is launched.

    ``values = ceil(numel / (multiprocessors * max(1, blocks_per_sm) * num_threads))`` unless given, and
    ``blocks = ceil(ceil(numel / values) / num_threads)``. No elements need no blocks.

    Raises
    ------
    ValueError
        A number is out of range.
    DeviceError
        `multiprocessors` is not given and there is no driver.

    Examples
    --------
    >>> dl.cuda.blocks_values_1d(10**6, num_threads=512, multiprocessors=80)
    Blocks1d(num_blocks=489, values_per_thread=4, numel=1000000)
    """
    if numel < 0:
        raise ValueError(f"blocks_values_1d: numel must be 0 or more, got {numel}")
    settings = (blocks_per_sm, num_threads, values_per_thread)
    return Blocks1d(*_cuda.blocks_1d(numel, _multiprocessors(multiprocessors, "blocks_values_1d"), settings))


def blocks_values_nd(
    shape: Sequence[int],
    *,
    num_threads: int,
    blocks_per_sm: int = 8,
    values_per_thread: int = 0,
    multiprocessors: int | None = None,
) -> BlocksNd:
    """Compute how a kernel over a shape is launched.

    ``count = prod(shape[1:])``, values as in `blocks_values_1d` but at most ``shape[0]``, and
    ``grid = (ceil(shape[0] / values), ceil(count / num_threads), 1)``. A second number above 65,535, which no device
    takes, is what the formula says; kernels of this package use grid strides and never need it.

    Raises
    ------
    ValueError
        A number is out of range, or more than 64 dimensions.
    DeviceError
        `multiprocessors` is not given and there is no driver.

    Examples
    --------
    >>> dl.cuda.blocks_values_nd((3, 224, 224), num_threads=512, multiprocessors=80)
    BlocksNd(grid=(3, 98, 1), values_per_thread=1, count=50176)
    """
    extents = tuple(items_of(shape, "shape", "blocks_values_nd"))
    if any(extent < 0 for extent in extents):
        raise ValueError(f"blocks_values_nd: extents must be 0 or more, got {extents}")
    settings = (blocks_per_sm, num_threads, values_per_thread)
    return BlocksNd(*_cuda.blocks_nd(extents, _multiprocessors(multiprocessors, "blocks_values_nd"), settings))
