# SPDX-License-Identifier: Apache-2.0
"""Bytes that tensors are read from, by offset: open files, file objects and buffers. Knows no format."""

import io
import os

from .._core.foreign_text import first_line
from .._ops.promotion import num_threads
from ._paths import check_regular, checked_path, open_regular, shown

_READ_PIECE = 1 << 22
# The kernel copies with one processor for each thread that reads, at half of what memory can do.
_LEAST_PER_THREAD = 1 << 24
_BUFFERS = (bytes, bytearray, memoryview)
# File objects whose descriptor has the bytes that read() gives; that of a GzipFile has the compressed ones.
_PLAIN_FILES = (io.FileIO, io.BufferedReader, io.BufferedRandom)
MODES = ("r", "r+", "c")
"""Modes of `dl.memmap`: read-only, written to the source, and writable copies of what is written."""


def open_source(of, func, mode="r"):
    """Return what tensors are read from.

    Parameters
    ----------
    of : path_like, binary file object, bytes, bytearray or memoryview
        File objects are read from where they stand, and are not closed.
    func : str, which messages name
    mode : one of `MODES`

    Examples
    --------
    >>> source = open_source(b"abc", "load"); source.size, source.read(2, 1)
    (3, b'bc')
    """
    if isinstance(of, _BUFFERS):
        return BufferSource(of, f"{func}: {type(of).__qualname__}", mode)
    if isinstance(of, str | os.PathLike) or not callable(getattr(of, "read", None)):
        path = checked_path(of, func, "file must be a path, a binary file object, bytes, bytearray or a memoryview")
        file, size = open_regular(path, func, os.O_RDWR if mode == "r+" else os.O_RDONLY)
        return FileSource(file, size, shown(path, func), mode)
    prefix = f"{func}: {name_of(of)}"
    if isinstance(of, io.TextIOBase):
        raise TypeError(f"{prefix}: the file is open for text; open it with mode 'rb'")
    if hasattr(of, "seek") and (not hasattr(of, "seekable") or of.seekable()):
        return _source_of_file(of, prefix, func, mode) if type(of) in _PLAIN_FILES else ObjectSource(of, prefix)
    data = of.read()
    if not isinstance(data, _BUFFERS):
        raise TypeError(f"{prefix}: read() must give bytes, got {type(data).__qualname__}")
    return BufferSource(data, prefix, mode)


def name_of(of):
    """Return how messages name a source or a target that is no path.

    >>> name_of(b"abc")
    'bytes'
    """
    name = getattr(of, "name", None)
    return f"'{first_line(name, 200)}'" if isinstance(name, str) else type(of).__qualname__


def _source_of_file(of, prefix, func, mode):
    """A file object of Python's own over a file, by a descriptor of our own."""
    if isinstance(of, io.BufferedRandom):
        of.flush()
    start, file = of.tell(), os.dup(of.fileno())
    try:
        of.tell()  # an error when another thread has closed it: the number may have been another file's by then
        info = os.fstat(file)
        check_regular(info.st_mode, prefix, func)
    except BaseException:
        os.close(file)
        raise
    return FileSource(file, max(info.st_size - start, 0), prefix, mode, start, of)


class _Source:
    """The base of sources: `size`, in bytes; `prefix`, of messages; `can_map`, and `is_local` with it."""

    can_map = is_local = True
    _row = None
    hint = ""  # for messages about contents of no known format

    def read(self, nbytes, offset):
        """Return at most so many bytes; none at the end."""
        data = bytearray(nbytes)
        return bytes(data[: self.read_into(memoryview(data), offset)])

    def row(self):
        """Return all bytes as a row of uint8, which is mapped once."""
        row = self._row  # read once: another thread may map the file too
        if row is None:
            row = self._row = self._map()
        return row

    @property
    def is_shared(self):
        """True if tensors or exports share the memory of the row."""
        from ._mapping import has_views

        return self._row is not None and has_views(self._row)

    def finish(self, offset):
        """Say that the caller has read what begins at `offset` of 0 and ends here."""

    def close(self):
        """Release what the source has of its own."""
        self._row = None


class FileSource(_Source):
    """An open regular file, from some byte on.

    Parameters
    ----------
    file : int, a descriptor, which the source closes
    size : int
    prefix : str, of messages
    mode : one of `MODES`
    start : int, default 0
    of : file object that has the file too, optional
    """

    def __init__(self, file, size, prefix, mode, start=0, of=None):
        self.file, self.size, self.prefix, self._mode, self._start, self._of = file, size, prefix, mode, start, of

    @property
    def is_local(self):
        """True if no other machine serves the file."""
        from . import _mapping

        return not _mapping.is_remote(self.file)

    def read_into(self, data, offset):
        """Read at most as many bytes as there is room for; return how many, 0 at the end."""
        return os.preadv(self.file, [data], self._start + offset)

    def _map(self):
        from ._mapping import map_file

        if os.fstat(self.file).st_size < self._start + self.size:
            raise ValueError(f"{self.prefix}: the file was cut off since it was opened")
        return map_file(self.file, self.size, self._start, self._mode, self.prefix)

    def finish(self, offset):
        """Move the file object behind what was read."""
        if self._of is not None:
            self._of.seek(self._start + offset)

    def close(self):
        """Drop the row and close the descriptor."""
        super().close()
        os.close(self.file)


class BufferSource(_Source):
    """The bytes of an object.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
    prefix : str, of messages
    mode : one of `MODES`
    """

    hint = "; the bytes are read as the contents of a file, a path is given as os.fsdecode(path)"

    def __init__(self, data, prefix, mode):
        self.prefix, self._mode = prefix, mode
        try:
            self._data = memoryview(data).cast("B")
        except TypeError:
            raise TypeError(f"{self.prefix}: the bytes must be contiguous, in C order") from None
        self.size = len(self._data)

    def read_into(self, data, offset):
        """Copy at most as many bytes as there is room for; return how many, 0 at the end."""
        part = self._data[offset : offset + len(data)]
        data[: len(part)] = part
        return len(part)

    def _map(self):
        from .._core.convert import asarray
        from ._mapping import as_read_only

        if self._mode == "r+" and self._data.readonly:
            raise ValueError(f"{self.prefix}: mode 'r+' needs bytes that can be written, such as a bytearray")
        if self._mode == "c":
            return asarray(self._data, copy=True)
        row = asarray(self._data)
        return row if self._mode == "r+" else as_read_only(row)

    def close(self):
        """Release the memory of the object."""
        self._row = self._data = None


class ObjectSource(_Source):
    """A file object whose bytes only its own methods give.

    Parameters
    ----------
    of : file object that can seek
    prefix : str, what messages begin with
    """

    can_map = is_local = False

    def __init__(self, of, prefix):
        from _thread import allocate_lock

        self._of, self.prefix, self._lock = of, prefix, allocate_lock()
        self._start = of.tell()
        of.seek(0, os.SEEK_END)
        self.size = max(of.tell() - self._start, 0)
        of.seek(self._start)

    def read_into(self, data, offset):
        """Read at most as many bytes as there is room for; return how many, 0 at the end."""
        with self._lock:
            self._of.seek(self._start + offset)
            if hasattr(self._of, "readinto"):
                count = self._of.readinto(data)
            else:
                got = self._of.read(len(data))
                count = None if got is None else len(got)
                if count is not None and count <= len(data):
                    data[:count] = got
        if not isinstance(count, int) or not 0 <= count <= len(data):
            raise OSError(
                f"{self.prefix}: expected at most {len(data)} bytes at {offset}, the file object gave {count}"
            )
        return count

    def _map(self):
        raise ValueError(f"{self.prefix}: a {type(self._of).__qualname__} cannot be mapped; pass mmap=False or 'auto'")

    def finish(self, offset):
        """Move the file object behind what was read."""
        with self._lock:
            self._of.seek(self._start + offset)


class LastUse:
    """Closes a source when nothing refers to this object any more: neither the open file nor a call that reads.

    Each call reads within ``with last_use:``, which refers to it. No lock or count is needed, so that a process which
    is forked during a read has neither a lock that is never released nor a wrong count.

    Parameters
    ----------
    source : what `open_source` returns
    """

    __slots__ = ("_source",)

    def __init__(self, source):
        self._source = source

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        pass

    def __del__(self):
        self._source.close()


class Stream(io.RawIOBase):
    """A source as a file object, for libraries that read such.

    {LastUse: Parameters}
    """

    def __init__(self, source):
        self._source, self._at = source, 0

    def readable(self):
        """Return True."""
        return True

    def seekable(self):
        """Return True."""
        return True

    def seek(self, offset, whence=0):
        """Move to a place; return it."""
        self._at = offset + (0, self._at, self._source.size)[whence]
        if self._at < 0:
            raise OSError(22, os.strerror(22))
        return self._at

    def readinto(self, data):
        """Read at most as many bytes as there is room for; return how many."""
        data = memoryview(data)[: max(0, self._source.size - self._at)]
        count = self._source.read_into(data, self._at) if data else 0
        self._at += count
        return count


def read_bytes(source, nbytes, offset, prefix):
    """Return exactly so many bytes of a source.

    >>> read_bytes(open_source(b"abc", "load"), 2, 1, "example")
    b'bc'
    """
    data = source.read(nbytes, offset)
    while len(data) < nbytes:
        more = source.read(nbytes - len(data), offset + len(data))
        if not more:
            raise ValueError(f"{prefix}: the file is cut off: expected {nbytes} bytes at {offset}, got {len(data)}")
        data += more
    return data


def read_into(source, data, offset, prefix, progress=None, checksum=None):
    """Read bytes of a source into memory.

    Parameters
    ----------
    source : what `open_source` returns
    data : memoryview of bytes, writable
    offset : int, in the source
    prefix : str, what messages begin with
    progress : callable, optional, called with the number of bytes of each piece
    checksum : `dltensor.io._npz.Checksum`, optional, to which each piece is added

    Examples
    --------
    >>> data = bytearray(2); read_into(open_source(b"abc", "load"), memoryview(data), 1, "example"); data
    bytearray(b'bc')
    """
    read = _Read(source, data, offset, prefix, progress, checksum)
    threads = min(num_threads(), len(data) // _LEAST_PER_THREAD) if source.can_map else 1
    if threads > 1:
        read.share(threads - 1)
    else:
        read.run()


class _Read:
    """A read in pieces, which several threads may take in order; the calling thread is one of them."""

    def __init__(self, source, data, offset, prefix, progress, checksum):
        self._source, self._data, self._offset, self._where = source, data, offset, prefix
        self._pieces = iter(range(0, len(data), _READ_PIECE))
        self._progress, self._checksum = progress, checksum
        self._done, self._error, self._lock = 0, None, None

    def run(self):
        """Read everything on this thread."""
        for at in self._pieces:
            self._read_piece(at)
            if self._progress is not None:
                self._progress(min(_READ_PIECE, len(self._data) - at))

    def _read_piece(self, at):
        """Read the piece that begins at byte `at`."""
        stop, begin = min(at + _READ_PIECE, len(self._data)), at
        while at < stop:
            count = self._source.read_into(self._data[at:stop], self._offset + at)
            if count == 0:
                raise ValueError(f"{self._where}: the file is cut off: expected {len(self._data)} bytes at "
                                 f"{self._offset}, got {at}")  # fmt: skip
            at += count
        if self._checksum is not None:
            self._checksum.add(begin, self._data[begin:stop])

    def share(self, helpers):
        """Read everything with so many threads beside this one, which have ended on return."""
        import threading  # loaded with the first large file: a noticeable part of the import time of the package

        self._lock, threads = threading.Lock(), []
        try:
            for _ in range(helpers):
                threads.append(threading.Thread(target=self._help))
                try:
                    threads[-1].start()
                except RuntimeError:  # no more threads are allowed: those that there are read everything
                    break
            self._take(self._report)
        except BaseException as error:
            self._error = error
        # The caller may close the source and use the memory once this returns, also after an interrupt of the wait.
        for thread in threads:
            while thread.is_alive():
                try:
                    thread.join()
                except BaseException as error:
                    self._error = error
        if self._error is not None:
            raise self._error
        self._report()

    def _help(self):
        try:
            self._take()
        except BaseException as error:
            self._error = error

    def _take(self, report=None):
        """Read pieces until none is left or any thread has failed."""
        while self._error is None:
            with self._lock:
                at = next(self._pieces, None)
            if at is None:
                return
            self._read_piece(at)
            with self._lock:
                self._done += min(_READ_PIECE, len(self._data) - at)
            if report is not None:
                report()

    def _report(self):
        """Tell how many bytes all threads have read since the last time."""
        with self._lock:
            done, self._done = self._done, 0
        if self._progress is not None and done:
            self._progress(done)
