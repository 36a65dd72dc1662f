# SPDX-License-Identifier: Apache-2.0
"""Where memory is and who let go of it: counts, and a trace of lifetimes. What a tensor looks like is elsewhere."""

import _thread
from collections import namedtuple

from ._core import memory as _debug

__all__ = ["Event", "Trace", "cached_bytes", "live_blocks", "live_bytes", "trace"]

_CAPACITY = 100_000


def live_blocks():
    """Count the pieces of memory that are alive, those of other frameworks that we keep alive included.

    Raises
    ------
    Nothing.

    Examples
    --------
    >>> before = dl.debug.live_blocks(); t = dl.zeros(3); dl.debug.live_blocks() - before
    1
    """
    return _debug.stats()[0]


def live_bytes():
    """Count the bytes of our own memory that is alive, as asked for.

    Raises
    ------
    Nothing.

    Examples
    --------
    >>> before = dl.debug.live_bytes(); t = dl.zeros(3); dl.debug.live_bytes() - before
    12
    """
    return _debug.stats()[1]


def cached_bytes():
    """Count the bytes that wait for reuse; `dltensor.empty_cache` gives them back.

    Raises
    ------
    Nothing.

    Examples
    --------
    >>> _ = dl.empty_cache(); dl.debug.cached_bytes()
    0
    """
    return _debug.stats()[2]


Event = namedtuple("Event", "event block loan bytes thread gil time")
Event.__doc__ = """One thing that happened to a piece of memory.

Attributes
----------
event : str
    ``"allocated"``, ``"adopted"`` (memory of somebody else), ``"lent"`` (exported), ``"returned"`` (the consumer called
    the deleter), ``"freed"`` (our memory), ``"recycled"`` (somebody else's let go of).
block, loan : int
    Which memory and which export; addresses, which stand for them while they live. `loan` is 0 when there is none.
bytes : int
    Of the memory; 0 when it is somebody else's.
thread : int
    The system's number of the thread.
gil : bool or None
    Whether the thread held the GIL; None when that is not known.
time : int
    Nanoseconds on the monotonic clock.
"""

# Only one trace at a time: the engine has one switch for all threads.
_lock = _thread.allocate_lock()


class Trace:
    """Follows memory from being made to being freed while a ``with`` block runs, on all threads. Made by `trace`.

    Attributes
    ----------
    lost : int
        Events that were pushed out by later ones.

    Raises
    ------
    RuntimeError
        It is entered while a trace is running, or left while it is not.
    """

    def __init__(self, capacity):
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

    def __exit__(self, *error):
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
            import threading  # only here: it is a noticeable part of what importing this package costs

            self._names |= {thread.native_id: thread.name for thread in threading.enumerate()}

    @property
    def events(self):
        """What has happened so far: a list of `Event`, oldest first."""
        self._collect()
        return list(self._events)

    def _still_out(self):
        """Loans that were not returned and blocks that were not let go of, by address."""
        loans, blocks = {}, {}
        for event in self.events:
            if event.event == "lent":
                loans[event.loan] = event
            elif event.event == "returned":
                loans.pop(event.loan, None)
            elif event.event in ("allocated", "adopted"):
                blocks[event.block] = event
            else:
                blocks.pop(event.block, None)
        return loans, blocks

    @property
    def outstanding(self):
        """The exports that nobody has returned: a list of `Event`."""
        return list(self._still_out()[0].values())

    @property
    def alive(self):
        """The blocks made since the start that still live: a list of `Event`."""
        return list(self._still_out()[1].values())

    def report(self):
        """Say who made, exported, released and freed what, on which thread, with or without the GIL, and what is out.

        Raises
        ------
        Nothing.

        Examples
        --------
        >>> with dl.debug.trace() as t:
        ...     capsule = dl.zeros(3).__dlpack__(max_version=(1, 3))
        ...     del capsule
        >>> print(t.report().splitlines()[-1])
        still out: no export, no memory
        """
        events = self.events
        start = events[0].time if events else 0
        blocks, loans, made = _Numbers("block"), _Numbers("export"), {}
        lines = []
        for event in events:
            # Addresses are used again: what is made or lent anew gets a number of its own.
            block = blocks.of(event.block, anew=event.event in ("allocated", "adopted"))
            gil = {True: "with the GIL", False: "without the GIL", None: "GIL unknown"}[event.gil]
            thread = f"{self._names.get(event.thread, 'a thread that has ended')} ({event.thread})"
            what = block
            if event.loan:
                loan = loans.of(event.loan, anew=event.event == "lent")
                what = f"{loan} of {block}"
                if event.event == "lent":
                    made[loan] = thread
                elif made.get(loan, thread) != thread:
                    what += f", lent by {made[loan]}"
            size = f", {event.bytes:,} bytes" if event.bytes and not event.loan else ""
            lines.append(f"{(event.time - start) / 1e6:10.3f} ms  {event.event:9} {what}{size}, on {thread}, {gil}")
        if self.lost:
            lines.append(f"{self.lost:,} earlier events were pushed out; trace(capacity=...) holds more")
        out, alive = self._still_out()
        exports = [f"{loans.of(event.loan)} of {blocks.of(event.block)}" for event in out.values()]
        memory = [blocks.of(address) for address in alive]
        lines.append(f"still out: {', '.join(exports) or 'no export'}, {', '.join(memory) or 'no memory'}")
        return "\n".join(lines)


class _Numbers:
    """Small numbers for addresses."""

    def __init__(self, noun):
        self._noun, self._count, self._known = noun, 0, {}

    def of(self, address, anew=False):
        if anew or address not in self._known:
            self._count += 1
            self._known[address] = f"{self._noun} {self._count}"
        return self._known[address]


def trace(capacity=_CAPACITY):
    """Follow every piece of memory while a ``with`` block runs: who exported it, who released it, on which thread.

    Costs one load per event while it does not run. There is one trace at a time, for all threads.

    Parameters
    ----------
    capacity : int, default 100000
        Events that are kept; later ones push the earliest out.

    Returns
    -------
    Trace
        A context manager with ``.events``, ``.outstanding``, ``.alive`` and ``.report()``, during and after the block.

    Raises
    ------
    ValueError
        `capacity` is not positive.
    RuntimeError
        Another trace is running, when the block is entered.
    MemoryError, OverflowError
        There is no memory for so many events, when the block is entered.

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
