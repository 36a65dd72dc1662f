# SPDX-License-Identifier: Apache-2.0
"""Counters of the memory engine, its cache, and the lifetime trace as tuples. debug.py makes text of them."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from .indexing cimport integer_of
from .scalars cimport shown

cdef extern from "native/memory/block.h" namespace "dlt" nogil:
    ctypedef struct MemoryStats:
        int64_t live_blocks
        int64_t live_bytes
        int64_t cached_bytes
    MemoryStats memory_stats() noexcept
    size_t release_cache "dlt::empty_cache"() noexcept
    void limit_cache "dlt::set_cache_limit"(size_t) noexcept

cdef extern from "native/memory/shared.h" namespace "dlt" nogil:
    size_t empty_shared_cache() noexcept
    size_t cached_shared_bytes() noexcept

cdef extern from "native/memory/trace.h" namespace "dlt" nogil:
    ctypedef struct TraceRecord:
        int32_t gil
        uint64_t thread
        uint64_t time
        uint64_t block
        uint64_t managed
        uint64_t bytes
    bint trace_start(size_t) noexcept
    void trace_stop() noexcept
    size_t trace_take(TraceRecord*, size_t, uint64_t*) noexcept
    void trace_gil_probe(int (*)() noexcept) noexcept

cdef extern from "_core/interop/gil.h" namespace "dlt" nogil:
    int gil_is_held() noexcept

cdef extern from *:
    """
    static inline uint32_t dlt_event_number(const dlt::TraceRecord& record) {
        return static_cast<uint32_t>(record.event);
    }
    """
    uint32_t dlt_event_number(const TraceRecord&) nogil

# In the order of dlt::Event.
EVENTS = ("allocated", "adopted", "exported", "returned", "freed", "released")

trace_gil_probe(gil_is_held)


def stats():
    """Return live blocks, live bytes and cached bytes of the memory engine.

    >>> len(stats())
    3
    """
    cdef MemoryStats now = memory_stats()
    return now.live_blocks, now.live_bytes, now.cached_bytes + <int64_t>cached_shared_bytes()


def empty_cache():
    """Return cached memory of all threads to the system.

    Returns
    -------
    int
        Number of bytes that were returned.

    {See Also: set_cache_limit}

    Examples
    --------
    >>> _ = dl.empty_cache(); dl.debug.cached_bytes()
    0
    """
    cdef size_t freed
    with nogil:
        freed = release_cache() + empty_shared_cache()
    return freed


def set_cache_limit(nbytes):
    """Limit the memory that is cached for reuse, by all threads together.

    The initial limit is an eighth of the memory of the machine, at most 4 GiB. Cached memory beyond a new limit is
    returned to the system at once, also that of idle threads.

    Parameters
    ----------
    nbytes : int
        Limit in bytes; 0 disables the cache.

    Raises
    ------
    TypeError
        `nbytes` is not an integer.
    ValueError
        `nbytes` is negative.
    OverflowError
        `nbytes` exceeds the address space.

    {See Also: empty_cache}

    Examples
    --------
    >>> dl.set_cache_limit(2**30)
    """
    nbytes = integer_of(nbytes, "nbytes", "set_cache_limit")
    if nbytes < 0:
        raise ValueError(f"set_cache_limit: a number of bytes must be at least 0, got {shown(nbytes)}")
    if nbytes >= 1 << 64:
        raise OverflowError(f"set_cache_limit: a number of bytes must be below 2^64, got {shown(nbytes)}")
    cdef size_t limit = nbytes
    with nogil:
        limit_cache(limit)


def start(capacity):
    """Start the trace of all threads; beyond `capacity` records the oldest are replaced."""
    if capacity >= 1 << 63:
        raise OverflowError(f"trace: capacity must be below 2^63, got {shown(capacity)}")
    if not trace_start(capacity):
        raise MemoryError(f"trace: allocation failed for {capacity} events; use a smaller capacity")


def stop():
    """Stop the trace; its records can still be taken."""
    trace_stop()


def take():
    """Take the records: (list of (event, block, managed, bytes, thread, gil, time), number of replaced records)."""
    cdef TraceRecord records[256]
    cdef uint64_t lost = 0, total = 0
    cdef size_t i, n = 256
    result = []
    while n == 256:
        n = trace_take(records, 256, &lost)
        total += lost
        for i in range(n):
            result.append((EVENTS[dlt_event_number(records[i])], records[i].block, records[i].managed, records[i].bytes,
                           records[i].thread, None if records[i].gil < 0 else records[i].gil != 0, records[i].time))
    return result, total
