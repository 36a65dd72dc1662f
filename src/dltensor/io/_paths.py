# SPDX-License-Identifier: Apache-2.0
"""Files of the system: opened only when regular, read whole, and replaced at once or not at all. Knows no format."""

import errno
import os
import stat
from contextlib import suppress

from .._core.foreign_text import first_line
from .._core.views import raw_bytes
from .._ops.promotion import num_threads

# Larger writes take several times as long: the kernel then cleans pages in between.
_PIECE = 1 << 20
_READ_PIECE = 1 << 22
# The kernel copies with one processor for each thread that reads, at half of what memory can do.
_LEAST_PER_THREAD = 1 << 24
_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def shown(path, func):
    """Return what messages about a file begin with.

    Examples
    --------
    >>> shown("a.npy", "load")
    "load: 'a.npy'"
    """
    return f"{func}: '{first_line(os.fsdecode(path), 200)}'"


def checked_path(path, func):
    """Return a path as str or bytes.

    Raises
    ------
    TypeError
        It is no path.

    Examples
    --------
    >>> from pathlib import Path
    >>> checked_path(Path("a.npy"), "load")
    'a.npy'
    """
    if isinstance(path, bool | int) or not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{func}: path must be a str, bytes or path-like object, got {type(path).__qualname__}")
    return os.fspath(path)


def check_regular(mode, path, func):
    """Refuse what is not a regular file, by its mode.

    Raises
    ------
    OSError
        It is a directory (IsADirectoryError), a FIFO, a socket or a device.

    Examples
    --------
    >>> import os
    >>> check_regular(os.stat("/").st_mode, "/", "load")
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] Is a directory: '/'
    """
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    kind = next((name for test, name in _KINDS if test(mode)), "not a file")
    raise OSError(errno.EINVAL, f"{shown(path, func)}: expected a regular file, it is {kind}")


def open_regular(path, func, flags=os.O_RDONLY):
    """Open a regular file; returns its descriptor and its size. A FIFO does not block.

    Raises
    ------
    OSError
        There is none, or it cannot be opened.

    Examples
    --------
    >>> import os
    >>> file, size = open_regular(os.__file__, "load"); os.close(file); size > 0
    True
    """
    file = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        info = os.fstat(file)
        check_regular(info.st_mode, path, func)
    except BaseException:
        os.close(file)
        raise
    return file, info.st_size


def read_bytes(file, nbytes, offset, where):
    """Return exactly so many bytes of a file.

    Raises
    ------
    ValueError
        The file ends before.

    Examples
    --------
    >>> import os
    >>> file = os.memfd_create("example"); _ = os.write(file, b"abc")
    >>> read_bytes(file, 2, 1, "example"); os.close(file)
    b'bc'
    """
    data = os.pread(file, nbytes, offset)
    while len(data) < nbytes:
        more = os.pread(file, nbytes - len(data), offset + len(data))
        if not more:
            raise ValueError(f"{where}: the file is cut off: expected {nbytes} bytes at {offset}, got {len(data)}")
        data += more
    return data


def read_into(file, t, offset, where, progress=None):
    """Read a tensor's bytes from a file, in C order.

    Parameters
    ----------
    file : int, a descriptor
    t : Tensor, contiguous, writable, on the host
    offset : int, in the file
    where : str, what messages begin with
    progress : callable, optional, called with the number of bytes of each piece

    Raises
    ------
    ValueError
        The file ends before.
    OSError
        The system reports an error.

    Examples
    --------
    >>> import os
    >>> file = os.memfd_create("example"); _ = os.write(file, b"\\x01\\x02\\x03")
    >>> t = dl.empty(2, dtype="uint8"); read_into(file, t, 1, "example"); os.close(file); t.tolist()
    [2, 3]
    """
    data = memoryview(raw_bytes(t))
    threads = min(num_threads(), len(data) // _LEAST_PER_THREAD)
    if threads > 1:
        _SharedRead(file, data, offset, where, progress).run(threads - 1)
    else:
        for at in range(0, len(data), _READ_PIECE):
            _read_piece(file, data, at, offset, where)
            if progress is not None:
                progress(min(_READ_PIECE, len(data) - at))


def _read_piece(file, data, at, offset, where):
    """Read the piece of a tensor that begins at byte `at`."""
    stop = min(at + _READ_PIECE, len(data))
    while at < stop:
        count = os.preadv(file, [data[at:stop]], offset + at)
        if count == 0:
            raise ValueError(f"{where}: the file is cut off: expected {len(data)} bytes at {offset}, got {at}")
        at += count


class _SharedRead:
    """A read whose pieces several threads take in order; the calling thread is one of them and reports progress."""

    def __init__(self, file, data, offset, where, progress):
        self._file, self._data, self._offset, self._where = file, data, offset, where
        self._pieces = iter(range(0, len(data), _READ_PIECE))
        self._progress, self._done, self._error = progress, 0, None

    def run(self, helpers):
        """Read everything with so many threads beside this one, which have ended on return."""
        import threading  # loaded with the first large file: a noticeable part of the import time of the package

        self._lock, threads = threading.Lock(), []
        try:
            for _ in range(helpers):
                file = os.dup(self._file)  # stays open as long as its thread reads, whatever interrupts this one
                try:
                    thread = threading.Thread(target=self._help, args=(file,))
                    thread.start()
                except RuntimeError:  # no more threads are allowed: those that there are read everything
                    os.close(file)
                    break
                threads.append(thread)
            self._read(self._file, self._report)
        except BaseException as error:
            self._error = error
            raise
        finally:
            for thread in threads:
                thread.join()
        if self._error is not None:
            raise self._error
        self._report()

    def _help(self, file):
        try:
            self._read(file)
        except BaseException as error:
            self._error = error
        finally:
            os.close(file)

    def _read(self, file, report=None):
        """Read pieces until none is left or any thread has failed."""
        while self._error is None:
            with self._lock:
                at = next(self._pieces, None)
            if at is None:
                return
            _read_piece(file, self._data, at, self._offset, self._where)
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


class Replacement:
    """A new file that takes the place of another one when it is complete, and leaves no trace when it is not.

    Parameters
    ----------
    path : str or bytes
        The file to replace or to make. A symbolic link is followed.
    nbytes : int
        Reserved at once, so that a full disk is noticed before anything is written.
    func : str
        The function that messages name.
    fsync : bool, default False
        Whether the data is on the disk before the name is changed.

    Raises
    ------
    OSError
        The folder cannot be written, the disk is full, or `path` is something other than a file.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp(); path = os.path.join(folder, "a")
    >>> with Replacement(path, 2, "save") as new:
    ...     new.write(b"ab")
    >>> os.path.getsize(path), os.listdir(folder)
    (2, ['a'])
    """

    def __init__(self, path, nbytes, func, fsync=False):
        if not os.path.basename(path):  # which realpath() would take for a folder
            number = errno.EISDIR if path else errno.ENOENT
            raise OSError(number, os.strerror(number), os.fsdecode(path))
        self._target, self._fsync, self._temporary = os.path.realpath(path), fsync, None
        self._where = shown(path, func)
        mode = None
        with suppress(FileNotFoundError):
            info = os.stat(path)
            check_regular(info.st_mode, path, func)
            mode = stat.S_IMODE(info.st_mode)
            # Where a file may not be written, it may not be replaced either.
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(path))
        self._folder = os.path.dirname(self._target)
        self.file = self._create()
        try:
            if mode is not None:
                os.fchmod(self.file, mode)
            if nbytes:
                self.reserve(nbytes)
        except BaseException:
            self._discard()
            raise

    def _name(self):
        """A name beside the target that no other file has."""
        name = f".{os.urandom(8).hex()}.tmp"
        return os.path.join(self._folder, os.fsencode(name) if isinstance(self._folder, bytes) else name)

    def _create(self):
        """The descriptor of a file without a name, where the file system has such: a kill leaves nothing behind."""
        flags = os.O_RDWR | os.O_CLOEXEC
        if os.path.isdir("/proc/self/fd"):
            try:
                return os.open(self._folder, flags | os.O_TMPFILE, 0o666)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                    raise
        self._temporary = self._name()
        try:
            return os.open(self._temporary, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except BaseException:
            self._temporary = None
            raise

    def reserve(self, nbytes):
        """Reserve room for so many bytes; the file is not longer than them then."""
        try:
            os.posix_fallocate(self.file, 0, nbytes)
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                return
            raise OSError(
                error.errno, f"{self._where}: no room for {nbytes} bytes: {os.strerror(error.errno)}"
            ) from None

    def write(self, data, progress=None):
        """Append bytes, in pieces."""
        data = memoryview(data)
        at, nbytes = 0, len(data)
        while at < nbytes:
            count = os.write(self.file, data[at : at + _PIECE])
            at += count
            if progress is not None:
                progress(count)

    def commit(self):
        """Give the file its name, which until then is the old file's."""
        if self._fsync:
            os.fsync(self.file)
        if self._temporary is None:
            name = self._name()
            # With a descriptor, which the absolute path makes unused, Python calls linkat(), which follows the link.
            os.link(f"/proc/self/fd/{self.file}", name, src_dir_fd=self.file, follow_symlinks=True)
            self._temporary = name
        os.replace(self._temporary, self._target)
        self._temporary = None
        if self._fsync:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _discard(self):
        if self.file is not None:
            os.close(self.file)
            self.file = None
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self.commit()
        finally:
            self._discard()
