# SPDX-License-Identifier: Apache-2.0
"""Files of the system: opened only when regular, and replaced at once or not at all. Knows no format."""

import errno
import os
import stat
from contextlib import contextmanager, suppress

from .._core.foreign_text import first_line

# Larger writes take several times as long: the kernel then cleans pages in between.
WRITE_PIECE = 1 << 20
_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def shown(path, func):
    """Return what messages about a file begin with.

    >>> shown("a.npy", "load")
    "load: 'a.npy'"
    """
    return f"{func}: '{first_line(os.fsdecode(path), 200)}'"


def checked_path(path, func, expected="path must be a str, bytes or path-like object"):
    """Return a path as str or bytes.

    >>> from pathlib import Path
    >>> checked_path(Path("a.npy"), "load")
    'a.npy'
    """
    if isinstance(path, bool | int) or not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{func}: {expected}, got {type(path).__qualname__}")
    return os.fspath(path)


def check_regular(mode, path, func):
    """Refuse what is not a regular file, by its mode.

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


@contextmanager
def _naming(path):
    """Errors of the system name the path that the caller gave, not a folder or a temporary file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fsdecode(path)) from None


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
        if not os.path.basename(path):  # realpath() would take it for a folder
            number = errno.EISDIR if path else errno.ENOENT
            raise OSError(number, os.strerror(number), os.fsdecode(path))
        self._path, self._fsync, self._temporary = path, fsync, None
        self._target, self._where = os.path.realpath(path), shown(path, func)
        mode = None
        with suppress(FileNotFoundError):
            info = os.stat(path)
            check_regular(info.st_mode, path, func)
            mode = stat.S_IMODE(info.st_mode)
            # A file that may not be written may not be replaced either.
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(path))
        self._folder = os.path.dirname(self._target)
        with _naming(path):
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
            count = os.write(self.file, data[at : at + WRITE_PIECE])
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
                with _naming(self._path):
                    self.commit()
        finally:
            self._discard()
