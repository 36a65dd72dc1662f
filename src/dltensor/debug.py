# SPDX-License-Identifier: Apache-2.0
"""Counters of live memory, and a trace of its lifetime: allocations, imports, exports and releases."""

import _thread
from collections import namedtuple

from ._core import memory as _debug

__all__ = ["Event", "Trace", "cached_bytes", "live_blocks", "live_bytes", "trace"]

_CAPACITY = 100_000


def live_blocks():
    """Return the number of live memory blocks, imported ones included.

    Returns
    -------
    int
        Number of blocks.

    See Also
    --------
    live_bytes : Return the size of the blocks that this package allocated.

    Examples
    --------
    >>> before = dl.debug.live_blocks(); t = dl.zeros(3); dl.debug.live_blocks() - before
    1
    """
    return _debug.stats()[0]


def live_bytes():
    """Return the size of the live memory that this package allocated, as requested.

    Returns
    -------
    int
        Size in bytes, without imported memory.

    See Also
    --------
    cached_bytes : Return the size of the cache.

    Examples
    --------
    >>> before = dl.debug.live_bytes(); t = dl.zeros(3); dl.debug.live_bytes() - before
    12
    """
    return _debug.stats()[1]


def cached_bytes():
    """Return the size of the memory that is cached for reuse.

    Returns
    -------
    int
        Size in bytes.

    See Also
    --------
    dltensor.empty_cache : Return cached memory to the system.

    Examples
    --------
    >>> _ = dl.empty_cache(); dl.debug.cached_bytes()
    0
    """
    return _debug.stats()[2]


Event = namedtuple("Event", "event block export bytes thread gil time")
Event.__doc__ = """Event in the lifetime of a memory block.

Attributes
----------
event : str
    "allocated", "adopted" (imported), "exported", "returned" (the consumer called the deleter), "freed" (memory that
    this package allocated), "released" (imported memory).
block : int
    Address that identifies the block while it lives.
export : int
    Address that identifies the export while it lives; 0 for events of the block itself.
bytes : int
    Size of the block; 0 for imported memory.
thread : int
    Native thread id.
gil : bool or None
    Whether the thread held the GIL; None when that is not known.
time : int
    Time in nanoseconds on the monotonic clock.

See Also
--------
trace : Record events.

Examples
--------
>>> with dl.debug.trace() as t:
...     tensor = dl.zeros(3)
>>> t.events[0].event, t.events[0].bytes, t.events[0].gil
('allocated', 12, True)
"""

# The engine records one trace at a time, for all threads.
_lock = _thread.allocate_lock()


class Trace:
    """Record of allocations, imports, exports and releases on all threads, made by `trace`.

    Parameters
    ----------
    capacity : int
        Number of events that are kept.

    Attributes
    ----------
    lost : int
        Number of events that later ones replaced.

    Raises
    ------
    RuntimeError
        It is entered while a trace is running, or exited while it is not.

    See Also
    --------
    trace : Make a trace.

    Examples
    --------
    >>> with dl.debug.trace() as t:
    ...     tensor = dl.zeros(3)
    >>> len(t.events), len(t.outstanding), len(t.alive)
    (1, 0, 1)
    """

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._events = []
        self._running = False
        self._names = {}
        self.lost = 0

    def __enter__(self):
        if not _lock.acquire(blocking=False):
            raise RuntimeError("trace: another trace is running; there is one at a time for all threads")
        try:
            _debug.start(self._capacity)
        except BaseException:
            _lock.release()
            raise
        self._events, self.lost, self._running = [], 0, True
        return self

    def __exit__(self, *error: object) -> None:
        if not self._running:
            raise RuntimeError("trace: this trace is not running; enter it with a with block")
        _debug.stop()
        self._collect()
        self._running = False
        _lock.release()

    def _collect(self):
        if self._running:
            records, lost = _debug.take()
            self._events += map(Event._make, records)
            self.lost += lost
            import threading  # imported on use: it is a noticeable part of the import time of the package

            self._names |= {thread.native_id: thread.name for thread in threading.enumerate()}

    @property
    def events(self) -> list[Event]:
        """Events so far, a list of `Event`, oldest first.

        Examples
        --------
        >>> with dl.debug.trace() as t:
        ...     tensor = dl.zeros(3)
        >>> [event.event for event in t.events]
        ['allocated']
        """
        self._collect()
        return list(self._events)

    def _still_out(self):
        """Return exports that are not returned and blocks that are not released, by address."""
        exports, blocks = {}, {}
        for event in self.events:
            if event.event == "exported":
                exports[event.export] = event
            elif event.event == "returned":
                exports.pop(event.export, None)
            elif event.event in ("allocated", "adopted"):
                blocks[event.block] = event
            else:
                blocks.pop(event.block, None)
        return exports, blocks

    @property
    def outstanding(self) -> list[Event]:
        """Exports that are not returned, a list of `Event`.

        Examples
        --------
        >>> with dl.debug.trace() as t:
        ...     capsule = dl.zeros(3).__dlpack__(max_version=(1, 3))
        >>> [event.event for event in t.outstanding]
        ['exported']
        """
        return list(self._still_out()[0].values())

    @property
    def alive(self) -> list[Event]:
        """Blocks made since the start of the trace that are alive, a list of `Event`.

        Examples
        --------
        >>> with dl.debug.trace() as t:
        ...     tensor = dl.zeros(3)
        >>> [event.bytes for event in t.alive]
        [12]
        """
        return list(self._still_out()[1].values())

    def report(self):
        """Return the events as text: thread, GIL, and the exports and blocks that are still alive.

        Returns
        -------
        str
            One line per event, and one for what is still alive.

        Examples
        --------
        >>> with dl.debug.trace() as t:
        ...     capsule = dl.zeros(3).__dlpack__(max_version=(1, 3))
        ...     del capsule
        >>> print(t.report().splitlines()[-1])
        still alive: no export, no memory
        """
        events = self.events
        start = events[0].time if events else 0
        blocks, exports, exporters = _Numbers("block"), _Numbers("export"), {}
        lines = []
        for event in events:
            # Addresses are reused: a new block or export gets a new number.
            block = blocks.of(event.block, anew=event.event in ("allocated", "adopted"))
            gil = {True: "with the GIL", False: "without the GIL", None: "GIL unknown"}[event.gil]
            thread = f"{self._names.get(event.thread, 'a thread that has ended')} ({event.thread})"
            what = block
            if event.export:
                export = exports.of(event.export, anew=event.event == "exported")
                what = f"{export} of {block}"
                if event.event == "exported":
                    exporters[export] = thread
                elif exporters.get(export, thread) != thread:
                    what += f", exported by {exporters[export]}"
            size = f", {event.bytes:,} bytes" if event.bytes and not event.export else ""
            lines.append(f"{(event.time - start) / 1e6:10.3f} ms  {event.event:9} {what}{size}, on {thread}, {gil}")
        if self.lost:
            lines.append(f"{self.lost:,} earlier events were replaced; trace(capacity=...) keeps more")
        out, alive = self._still_out()
        open_exports = [f"{exports.of(event.export)} of {blocks.of(event.block)}" for event in out.values()]
        memory = [blocks.of(address) for address in alive]
        lines.append(f"still alive: {', '.join(open_exports) or 'no export'}, {', '.join(memory) or 'no memory'}")
        return "\n".join(lines)


class _Numbers:
    """Consecutive numbers for addresses."""

    def __init__(self, noun):
        self._noun, self._count, self._known = noun, 0, {}

    def of(self, address, anew=False):
        if anew or address not in self._known:
            self._count += 1
            self._known[address] = f"{self._noun} {self._count}"
        return self._known[address]


def trace(capacity: int = _CAPACITY):
    """Trace the lifetime of every memory block while a ``with`` block runs.

    Each event is recorded with its thread and whether the thread held the GIL. A trace that is not running costs one
    load per event. There is one trace at a time, for all threads.

    Parameters
    ----------
    capacity : int, default 100000
        Number of events that are kept; later events replace the earliest.

    Returns
    -------
    Trace
        A context manager with ``events``, ``outstanding``, ``alive`` and ``report()``, during and after the block.

    Raises
    ------
    ValueError
        `capacity` is not positive.
    RuntimeError
        Another trace is running when the block is entered.
    MemoryError, OverflowError
        The allocation for so many events failed when the block is entered.

    See Also
    --------
    live_blocks : Return the number of live blocks.

    Examples
    --------
    >>> with dl.debug.trace() as t:
    ...     _ = dl.zeros(3)
    >>> t.events[0].event, t.events[0].bytes
    ('allocated', 12)
    """
    if capacity < 1:
        raise ValueError(f"trace: capacity must be at least 1, got {capacity}")
    return Trace(capacity)
