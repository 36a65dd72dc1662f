# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: work that is captured once and launched by one call. The public names are in `cuda`."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .._core.convert import asarray, empty
from .._core.foreign_text import quoted
from .._core.indexing import integer_of
from .._core.tensor import Tensor
from .._core.types import Device, DeviceType
from .._ops.casting import copy
from . import _driver as _cuda
from ._device import ordinal_of, start
from ._stream import Stream, current_stream


class Graph:
    """Work that is captured once, and launched any number of times by one call of the host.

    The graph keeps every tensor alive that it reads or writes. A launch is ordered as one operation on all of them: it
    waits for what other streams wrote, and other streams wait for it. Tensors that are made in the capture hold values
    after the first launch, and others after each later one; they stay valid after the graph is gone.

    Parameters
    ----------
    device : int, Device or str

    {_device.properties: Raises}

    See Also
    --------
    graph : Capture a function for each combination of shapes.

    Notes
    -----
    Numbers are part of the graph, as are the seeds of random values, and shapes. Two threads may launch one graph; the
    launches run one after the other.

    Examples
    --------
    >>> g = dl.cuda.Graph()                                                 # doctest: +SKIP
    >>> with g.capture():                                                   # doctest: +SKIP
    ...     y = x * 2 + 1
    >>> g.launch()                                                          # doctest: +SKIP
    """

    def __init__(self, device: Any = 0) -> None:
        start()
        self._ordinal = ordinal_of(device, "Graph")
        _cuda.properties(self._ordinal)
        self._core = _cuda.GraphCore()
        self._state = "empty"
        self._lock = threading.RLock()

    @property
    def device(self) -> Device:
        """The device it runs on."""
        return Device(DeviceType.kDLCUDA, self._ordinal)

    @contextlib.contextmanager
    def capture(self, stream: Any = None) -> Iterator[Stream]:
        """Capture the work of the block, which does not run, into the graph.

        The stream is current inside the block. After an exception in the block the capture has ended, the graph is
        empty, and the stream can be used.

        Parameters
        ----------
        stream : Stream, or a stream of another library, optional
            A new stream unless given. The legacy default stream cannot be captured.

        Raises
        ------
        TypeError
            `stream` is not a stream.
        ValueError
            The graph was captured before or released, or the stream is of another device, or is the legacy default
            stream.
        BufferError
            A graph is being captured on the stream, or the block contains what cannot be captured, such as work on
            another stream that was not joined.

        Examples
        --------
        >>> with g.capture() as stream:                                     # doctest: +SKIP
        ...     y = x + 1
        """
        stream = Stream(self._ordinal) if stream is None else Stream.wrap(stream, self._ordinal)
        if stream.device != self.device:
            raise ValueError(f"Graph.capture: expected a stream of {self.device}, got one of {stream.device}")
        with self._lock:
            if self._state != "empty":
                raise ValueError(
                    f"Graph.capture: expected an empty graph, this one is {self._state}; make another dl.cuda.Graph()"
                )
            self._core.begin(stream._core)
            self._state = "being captured"
        keep = False
        try:
            with stream:
                yield stream
            keep = True
        finally:
            with self._lock:
                self._state = "empty"
                self._core.end(keep)
                self._state = "captured" if keep else "empty"

    def launch(self, stream: Stream | None = None) -> None:
        """Run the captured work on a stream; the host does not wait.

        Parameters
        ----------
        stream : Stream, optional
            This thread's current stream unless given.

        Raises
        ------
        TypeError
            `stream` is not a Stream.
        ValueError
            Nothing was captured, the graph was released, or the stream is of another device.
        BufferError
            A graph is being captured on the stream.

        Examples
        --------
        >>> g.launch()                                                      # doctest: +SKIP
        """
        stream = current_stream(self._ordinal) if stream is None else stream
        if not isinstance(stream, Stream):
            raise TypeError(f"Graph.launch: expected a dltensor.cuda.Stream, got {type(stream).__qualname__}")
        if stream.device != self.device:
            raise ValueError(f"Graph.launch: expected a stream of {self.device}, got one of {stream.device}")
        with self._lock:
            if self._state != "captured":
                raise ValueError(f"Graph.launch: expected a captured graph, this one is {self._state}")
            self._core.launch(stream._core)

    def release(self) -> None:
        """Release the graph and what it keeps alive; launches under way end first.

        Raises
        ------
        ValueError
            It is being captured.

        Examples
        --------
        >>> g.release()                                                     # doctest: +SKIP
        """
        with self._lock:
            if self._state == "being captured":
                raise ValueError("Graph.release: the graph is being captured; release it after the capture")
            self._state = "released"
            self._core.release()

    def __repr__(self) -> str:
        return f"<dl.cuda.Graph {self.device} {self._state}>"


def graph(
    function: Callable[..., Any] | None = None,
    /,
    *,
    device: Any = 0,
    warmup: int = 1,
    copy_results: bool = True,
    max_graphs: int = 8,
) -> Callable[..., Any]:
    """Return a function that captures the work of `function` once, and launches it by one call of the host after that.

    The first call with tensors of new shapes or dtypes, or with another value of an argument that is no tensor, runs
    `function` and then captures it. Calls after that copy the arguments to the tensors of the capture, and launch it.

    Parameters
    ----------
    function : callable, optional
        Function of tensors on the device, of any framework, in tuples, lists and dicts too, and of hashable values. It
        returns such values. Without it a decorator is returned.
    device : int, Device or str
    warmup : int
        How often `function` runs before a capture.
    copy_results : bool
        Whether results are copies. The tensors that are returned otherwise have new values after each call.
    max_graphs : int
        How many graphs are kept: beyond that, the one that was used least recently is released.

    Returns
    -------
    callable
        The function; ``release()`` of it releases the graphs. While another graph is being captured, it calls
        `function`, whose work is then a part of that graph.

    Raises
    ------
    TypeError
        `function` is not callable, or a number is no integer. By calls: an argument is neither a tensor nor hashable.
    ValueError
        A number is out of range. By calls: a tensor is not on the device, or `function` writes to its arguments, which
        are copies.

    See Also
    --------
    Graph : Capture a block of code.

    Notes
    -----
    Everything but tensors is constant in a graph: numbers, the values of `dl.random`, and what Python code decides.
    Tensors that are no arguments are read when the graph runs, and kept alive by it.

    Examples
    --------
    >>> @dl.cuda.graph                                                      # doctest: +SKIP
    ... def step(x, y):
    ...     return (x @ y).sum()
    >>> step(x, y)                                                          # doctest: +SKIP
    """
    if function is None:
        return functools.partial(graph, device=device, warmup=warmup, copy_results=copy_results, max_graphs=max_graphs)
    if not callable(function):
        raise TypeError(f"graph: expected a function, got {type(function).__qualname__}")
    numbers = []
    for name, value, least in (("warmup", warmup, 0), ("max_graphs", max_graphs, 1)):
        numbers.append(integer_of(value, name, "graph"))
        if numbers[-1] < least:
            raise ValueError(f"graph: {name} must be at least {least}, got {quoted(value)}")
    return _Captured(function, ordinal_of(device, "graph"), numbers[0], bool(copy_results), numbers[1])


class _Captured:
    """A function with a graph for each combination of arguments."""

    def __init__(self, function: Callable[..., Any], ordinal: int, warmup: int, copy_results: bool, most: int) -> None:
        functools.update_wrapper(self, function)
        self._function, self._ordinal, self._device = function, ordinal, Device(DeviceType.kDLCUDA, ordinal)
        self._warmup, self._copy_results, self._most = warmup, copy_results, most
        self._lock = threading.RLock()
        self._stream: Stream | None = None
        self._graphs: dict[Any, tuple[Graph, list[Tensor], Any]] = {}  # by arguments, the last used last

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_stream(self._ordinal).is_capturing:
            return self._function(*args, **kwargs)
        arguments = _mapped((args, kwargs), self._read)
        key = _key(arguments)
        with self._lock:
            found = self._graphs.pop(key, None) or self._capture(arguments)
            self._graphs[key] = found
            while len(self._graphs) > self._most:
                self._graphs.pop(next(iter(self._graphs)))[0].release()
            captured, inputs, results = found
            for source, into in zip(_tensors(arguments), inputs, strict=True):
                copy(source, into)
            captured.launch()
            return _mapped(results, self._result)

    def release(self) -> None:
        """Release all graphs; calls capture anew."""
        with self._lock:
            while self._graphs:
                self._graphs.popitem()[1][0].release()

    def __repr__(self) -> str:
        return f"<dl.cuda.graph of {quoted(self._function)}, {len(self._graphs)} captured>"

    def _read(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            if not (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")):
                return x
            x = asarray(x)
        if x.device != self._device:
            raise ValueError(
                f'graph: expected tensors on {self._device}, got one on {x.device}; pass t.to("{self._device}")'
                f", or device= to dl.cuda.graph"
            )
        return x

    def _result(self, x: Any) -> Any:
        return x.copy() if self._copy_results and isinstance(x, Tensor) else x

    def _capture(self, arguments: Any) -> tuple[Graph, list[Tensor], Any]:
        sources = _tensors(arguments)
        if self._stream is None:
            self._stream = Stream(self._ordinal)
        with self._stream:
            inputs = [empty(t.shape, dtype=t.dtype, device=self._device) for t in sources]
            places = iter(inputs)
            args, kwargs = _mapped(arguments, lambda x: next(places) if isinstance(x, Tensor) else x)
            for _ in range(self._warmup):
                for source, into in zip(sources, inputs, strict=True):
                    copy(source, into)
                self._function(*args, **kwargs)
        captured = Graph(self._ordinal)
        with captured.capture(self._stream):
            results = self._function(*args, **kwargs)
        for number, into in enumerate(inputs):
            if captured._core.writes(into.data_ptr):
                captured.release()
                raise ValueError(
                    f"graph: the function writes to tensor {number} of its arguments, which is a copy of the caller's; "
                    "return the result instead, or capture a dl.cuda.Graph"
                )
        return captured, inputs, results


def _mapped(x: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return the same tuples, lists and dicts with `leaf` called on what they hold."""
    if isinstance(x, tuple):
        parts = [_mapped(each, leaf) for each in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if isinstance(x, list):
        return [_mapped(each, leaf) for each in x]
    if isinstance(x, dict):
        return {key: _mapped(each, leaf) for key, each in x.items()}
    return leaf(x)


def _tensors(x: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _mapped(x, lambda each: found.append(each) if isinstance(each, Tensor) else None)
    return found


def _key(x: Any) -> Any:
    """Return what a capture depends on: shapes and dtypes of tensors, and all else by type and value."""
    if isinstance(x, (tuple, list)):
        return type(x), tuple(map(_key, x))
    if isinstance(x, dict):
        return dict, tuple((key, _key(each)) for key, each in x.items())
    if isinstance(x, Tensor):
        return Tensor, x.shape, x.dtype
    if isinstance(x, (float, complex)):
        return type(x), repr(x)  # 0.0 and -0.0 are two values, and nan is one
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"graph: arguments must be tensors or hashable values, got {type(x).__qualname__}: {quoted(x)}"
        ) from None
    return type(x), x
