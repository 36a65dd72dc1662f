# SPDX-License-Identifier: Apache-2.0
"""CUDA streams and events. The public names are in `cuda`."""

from __future__ import annotations

import threading
from typing import Any

from .._core.types import Device, DeviceType
from . import _driver as _cuda
from ._device import ordinal_of, start


class Stream:
    """An ordered queue of work on a device. Work on one stream runs in order; streams run concurrently.

    Tensors may be used on any stream: the device, not the host, waits for what another stream wrote.

    Parameters
    ----------
    device : int, Device or str
    priority : int, 0 or less; lower is more urgent

    {_device.properties: Raises}

    Examples
    --------
    >>> with dl.cuda.Stream() as stream:                                    # doctest: +SKIP
    ...     y = x + 1
    >>> stream.synchronize()                                                # doctest: +SKIP
    """

    def __init__(self, device: Any = 0, *, priority: int = 0) -> None:
        start()
        self._core = _cuda.StreamCore(ordinal_of(device, "Stream"), priority, None, None)
        self._before: list[tuple[int, Stream]] = []

    @classmethod
    def wrap(cls, stream: Any, device: Any = 0) -> Stream:
        """Use a stream of another library.

        Parameters
        ----------
        stream : int (a CUstream), or an object with ``__cuda_stream__``, ``cuda_stream`` (PyTorch) or ``ptr`` (CuPy)
        device : int, Device or str

        Raises
        ------
        TypeError
            It is not a stream.
        {_device.properties: DeviceError}
        ValueError
            The stream is of another device, or of none.

        Examples
        --------
        >>> dl.cuda.Stream.wrap(torch.cuda.current_stream())                # doctest: +SKIP
        <dl.cuda.Stream cuda:0 handle 0x0>
        """
        start()
        if isinstance(stream, Stream):
            return stream
        handle = _raw_handle(stream)
        self = cls.__new__(cls)
        self._core = _cuda.StreamCore(ordinal_of(device, "Stream.wrap"), 0, handle, stream)
        self._before = []
        return self

    @property
    def handle(self) -> int:
        """The raw CUstream."""
        return self._core.handle

    @property
    def device(self) -> Device:
        """The device it runs on."""
        return Device(DeviceType.kDLCUDA, self._core.ordinal)

    @property
    def priority(self) -> int:
        """0, or less for more urgent streams."""
        return self._core.priority

    @property
    def is_capturing(self) -> bool:
        """True if a CUDA graph is being captured on it."""
        return self._core.capturing()

    def __cuda_stream__(self) -> tuple[int, int]:
        """Export the stream to other libraries: version of the protocol and handle."""
        return 0, self._core.handle

    def synchronize(self) -> None:
        """Wait until all its work is done.

        Raises
        ------
        DeviceError
            A kernel failed.
        BufferError
            A graph is being captured.
        """
        self._core.synchronize()

    def query(self) -> bool:
        """Return whether all its work is done.

        {Stream.synchronize: Raises}
        """
        return self._core.query()

    def wait(self, other: Stream | Event) -> None:
        """Wait on the device for the other stream's work up to now, or for the event. The host does not wait.

        Raises
        ------
        TypeError
            `other` is neither.
        BufferError
            The wait would cross the border of a capture.
        """
        if isinstance(other, Event):
            other._core.wait_on(self._core)
        elif isinstance(other, Stream):
            self._core.wait_for(other._core)
        else:
            raise TypeError(f"Stream.wait: expected a Stream or an Event, got {type(other).__qualname__}")

    def record(self, event: Event | None = None) -> Event:
        """Record an event after the work enqueued so far, and return it.

        Raises
        ------
        TypeError
            `event` is not an Event.
        """
        event = Event(self.device) if event is None else event
        _core_of(event, Event, "Stream.record").record(self._core)
        return event

    def activate(self) -> None:
        """Make it this thread's current stream of its device, until `deactivate`."""
        self._before.append((threading.get_ident(), current_stream(self.device)))
        self._core.make_current()
        _held(self._core.ordinal, self)

    def deactivate(self) -> None:
        """Go back to the stream that was current before.

        Raises
        ------
        ValueError
            It was not activated on this thread, or another one was activated since.
        """
        if not self._before or self._before[-1][0] != threading.get_ident() or not self._core.is_current():
            raise ValueError("Stream.deactivate: this stream is not the one that was activated last on this thread")
        before = self._before.pop()[1]
        before._core.make_current()
        _held(self._core.ordinal, before)

    def __enter__(self) -> Stream:
        self.activate()
        return self

    def __exit__(self, *error: object) -> None:
        self.deactivate()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.handle, self._core.ordinal) == (other.handle, other._core.ordinal)

    def __hash__(self) -> int:
        return hash((self.handle, self._core.ordinal))

    def __repr__(self) -> str:
        return f"<dl.cuda.Stream {self.device} handle {self.handle:#x}>"


_current = threading.local()


def _held(device: int, stream: Stream) -> None:
    """Keep a thread's current stream alive: the engine only has its address."""
    _current.__dict__.setdefault("streams", {})[device] = stream


def _core_of(x: Any, kind: type[Stream] | type[Event], func: str) -> Any:
    if not isinstance(x, kind):
        raise TypeError(f"{func}: expected a dltensor.cuda.{kind.__name__}, got {type(x).__qualname__}")
    return x._core


def _raw_handle(stream: Any) -> int:
    if isinstance(stream, bool):
        raise TypeError("Stream.wrap: expected a stream, got bool")
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        answer = protocol() if callable(protocol) else protocol
        version, handle = answer
        if version != 0:
            raise TypeError(f"Stream.wrap: __cuda_stream__ of version {version}, this package reads version 0")
        return int(handle)
    for name in ("cuda_stream", "ptr", "handle"):
        if isinstance(value := getattr(stream, name, None), int):
            return value
    raise TypeError(f"Stream.wrap: expected an int or an object with __cuda_stream__, got {type(stream).__qualname__}")


def current_stream(device: Any = 0) -> Stream:
    """Return this thread's current stream of a device: the legacy default stream unless one was activated.

    {Stream: Raises}

    Examples
    --------
    >>> dl.cuda.current_stream().handle                                     # doctest: +SKIP
    0
    """
    start()
    ordinal = ordinal_of(device, "current_stream")
    handle = _cuda.current_handle(ordinal)
    current = _current.__dict__.get("streams", {}).get(ordinal)
    return current if current is not None and current.handle == handle else Stream.wrap(handle, ordinal)


class Event:
    """An event in a stream: streams and the host can wait for it, and two of them measure time.

    Parameters
    ----------
    device : int, Device or str
    timing : bool; without it an event costs less
    blocking : bool; the host sleeps in `synchronize` instead of spinning

    {Stream: Raises}

    Examples
    --------
    >>> done = dl.cuda.Event().record()                                     # doctest: +SKIP
    >>> done.query()                                                        # doctest: +SKIP
    True
    """

    def __init__(self, device: Any = 0, *, timing: bool = False, blocking: bool = False) -> None:
        start()
        self._core = _cuda.EventCore(ordinal_of(device, "Event"), timing, blocking)

    @property
    def handle(self) -> int:
        """The raw CUevent."""
        return self._core.handle

    def record(self, stream: Stream | None = None) -> Event:
        """Record the work enqueued on a stream (this thread's current one) so far; return self.

        Raises
        ------
        TypeError
            `stream` is not a Stream.
        """
        stream = current_stream(self._core.ordinal) if stream is None else stream
        self._core.record(_core_of(stream, Stream, "Event.record"))
        return self

    def query(self) -> bool:
        """Return whether it has happened.

        Raises
        ------
        {Stream.synchronize: DeviceError}
        BufferError
            It was recorded in a capture.
        """
        return self._core.query()

    def synchronize(self) -> None:
        """Wait until it has happened.

        {Event.query: Raises}
        """
        self._core.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds from this event to `end`. Both need ``timing=True``.

        Raises
        ------
        TypeError
            `end` is not an Event.
        DeviceError
            One has not happened, or was created without timing.
        BufferError
            One was recorded in a capture.
        """
        return self._core.elapsed_time(_core_of(end, Event, "Event.elapsed_time"))
