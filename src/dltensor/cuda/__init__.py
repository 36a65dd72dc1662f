# SPDX-License-Identifier: Apache-2.0
"""CUDA devices, streams, events, memory and launch settings. Nothing is loaded before the first call."""

from .._core.naming import set_module as _set_module
from .._core.types import Device
from ._allocator import on_out_of_memory, set_allocator, torch_allocator
from ._backend import Transfer
from ._device import (
    MemInfo,
    Properties,
    cores_per_sm,
    device_count,
    empty_cache,
    is_available,
    mem_info,
    memory_stats,
    properties,
    reset_peak_memory,
    set_cache_limit,
    synchronize,
)
from ._graph import Graph, graph
from ._kernels import ElementwiseKernel, RawKernel, elementwise
from ._launch import (
    Blocks1d,
    BlocksNd,
    Launch,
    blocks_values_1d,
    blocks_values_nd,
    calc_threads,
    index_checks,
    launch,
    tf32,
)
from ._stream import Event, Stream, current_stream

__all__ = [
    "Blocks1d",
    "BlocksNd",
    "Device",
    "ElementwiseKernel",
    "Event",
    "Graph",
    "Launch",
    "MemInfo",
    "Properties",
    "RawKernel",
    "Stream",
    "Transfer",
    "blocks_values_1d",
    "blocks_values_nd",
    "calc_threads",
    "cores_per_sm",
    "current_stream",
    "device_count",
    "elementwise",
    "empty_cache",
    "graph",
    "index_checks",
    "is_available",
    "launch",
    "mem_info",
    "memory_stats",
    "on_out_of_memory",
    "properties",
    "reset_peak_memory",
    "set_allocator",
    "set_cache_limit",
    "synchronize",
    "tf32",
    "torch_allocator",
]
_set_module(globals())
