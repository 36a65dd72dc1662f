# SPDX-License-Identifier: Apache-2.0
"""The .npz format: members of a ZIP archive found and checked, decompressed, and written so that they can be mapped."""

import os
import struct
import zipfile
import zlib
from contextlib import contextmanager

from .._core.foreign_text import first_line, quoted
from .._core.views import raw_bytes
from ._npy import ALIGNMENT, header_length, read_header
from ._paths import read_bytes

_LOCAL = 30  # bytes of a local header before its name
_MOST_RATIO = 1032  # of deflate: 258 bytes by two bits
_EXTRA_ID = 0xD935  # the extra field that aligned archives use for padding
_SUFFIX = ".npy"
_PIECE = 1 << 20


@contextmanager
def _as_value_error(where):
    """Faults of an archive, which the library reports in many ways, as one."""
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, struct.error) as error:
        raise ValueError(f"{where}: not a sound .npz file: {first_line(str(error))}") from None
    except (OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: not a sound .npz file: {first_line(str(error))}") from None


class Archive:
    """The members of an .npz file; their headers are read when they are asked for.

    Parameters
    ----------
    file : int, a descriptor, used as long as the object
    size : int, of the file
    where : str, what messages begin with

    Raises
    ------
    ValueError
        It is no archive, or two members have one name or overlap.
    """

    def __init__(self, file, size, where):
        self._file, self._size, self.where, self._headers = file, size, where, {}
        with _as_value_error(where):
            self._stream = open(os.dup(file), "rb")  # noqa: SIM115  closed with the archive
            try:
                self._stream.seek(0)
                self._zip = zipfile.ZipFile(self._stream)
                self.members = self._checked(self._zip.infolist())
            except BaseException:
                self._stream.close()
                raise

    def close(self):
        """Close the archive."""
        self._zip.close()
        self._stream.close()

    def _checked(self, infos):
        end, before, members = 0, "", {}
        for info in sorted(infos, key=lambda one: one.header_offset):
            name = quoted(info.filename, 60)
            if info.header_offset < end:
                raise ValueError(f"{self.where}: the members {before} and {name} overlap")
            end = info.header_offset + _LOCAL + len(info.orig_filename) + info.compress_size
            if end > self._size or info.header_offset < 0:
                raise ValueError(f"{self.where}: the member {name} ends at byte {end}, the file at {self._size}")
            before = name
        for info in infos:
            if not info.filename.endswith(_SUFFIX):
                continue  # no array: .npz files may hold other members
            name = info.filename.removesuffix(_SUFFIX)
            if name in members:
                raise ValueError(f"{self.where}: the name {quoted(name, 60)} is there twice")
            members[name] = info
        return members

    def is_stored(self, name):
        """Whether a member is not compressed, so that it can be mapped."""
        return self.members[name].compress_type == zipfile.ZIP_STORED

    def header(self, name):
        """Return (header, where the member begins in the file; None when it is compressed)."""
        found = self._headers.get(name)
        if found is None:
            found = self._headers[name] = self._read_header(name)
        return found

    def _read_header(self, name):
        info = self.members[name]
        where = f"{self.where}: {quoted(name, 60)}"
        if info.flag_bits & 1:
            raise ValueError(f"{where}: the member is encrypted")
        if info.compress_type == zipfile.ZIP_STORED:
            begin = self._data_offset(info, where)
            if info.compress_size != info.file_size or begin + info.file_size > self._size:
                raise ValueError(f"{where}: the member has {info.file_size} bytes at {begin}, the file {self._size}")
            first = read_bytes(self._file, min(info.file_size, 4096), begin, where)
            length = header_length(first, where)
            if length > len(first):
                first = read_bytes(self._file, min(info.file_size, length), begin, where)
        else:
            begin = None
            if info.file_size > info.compress_size * _MOST_RATIO + ALIGNMENT:
                raise ValueError(
                    f"{where}: {info.compress_size} compressed bytes cannot become {info.file_size}, as it says"
                )
            with _as_value_error(where), self._zip.open(info) as stream:
                first = stream.read(12)
                length = header_length(first, where)
                first += stream.read(length - len(first))
        header = read_header(first, where)
        if header.start + header.nbytes != info.file_size:
            raise ValueError(
                f"{where}: the member has {info.file_size} bytes, its header and elements take "
                f"{header.start + header.nbytes}"
            )
        return header, begin

    def _data_offset(self, info, where):
        local = read_bytes(self._file, _LOCAL, info.header_offset, where)
        if local[:4] != b"PK\x03\x04":
            raise ValueError(f"{where}: the member has no local header at byte {info.header_offset}")
        return info.header_offset + _LOCAL + sum(struct.unpack("<HH", local[26:30]))

    def decompress(self, name, t):
        """Read the elements of a compressed member into a tensor, exactly as many as it has room for."""
        info, (header, _) = self.members[name], self.header(name)
        where = f"{self.where}: {quoted(name, 60)}"
        data, at = memoryview(raw_bytes(t)), 0
        with _as_value_error(where), self._zip.open(info) as stream:
            stream.read(header.start)
            while at < len(data):
                count = stream.readinto(data[at : at + _PIECE])
                if not count:
                    raise ValueError(f"{where}: the member is cut off: expected {len(data)} bytes, got {at}")
                at += count
            if stream.read(1):  # which also compares the checksum
                raise ValueError(f"{where}: the member is longer than its header says")


def write_archive(new, members, progress=None):
    """Write members as (name, header, bytes), not compressed, the elements at multiples of 256 bytes.

    Parameters
    ----------
    new : Replacement
    members : list of (str, bytes, bytes-like)
    progress : callable, optional, called with the number of bytes of each piece

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from dltensor.io._npy import write_header
    >>> from dltensor.io._paths import Replacement
    >>> path = os.path.join(tempfile.mkdtemp(), "a.npz")
    >>> with Replacement(path, 0, "save") as new:
    ...     write_archive(new, [("a", write_header("|u1", (2,), False), b"ab")])
    >>> np.load(path)["a"]
    array([97, 98], dtype=uint8)
    """
    with open(os.dup(new.file), "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, header, data in members:
            info = zipfile.ZipInfo(name + _SUFFIX)
            info.external_attr = 0o644 << 16
            data = memoryview(data)
            info.file_size = len(header) + len(data)
            is_large = info.file_size * 1.05 > zipfile.ZIP64_LIMIT
            encoded = len(info.filename.encode())
            start = stream.tell() + _LOCAL + encoded + 4 + (20 if is_large else 0)
            info.extra = struct.pack("<HH", _EXTRA_ID, -start % ALIGNMENT) + bytes(-start % ALIGNMENT)
            with archive.open(info, "w", force_zip64=is_large) as member:
                member.write(header)
                for at in range(0, len(data), _PIECE):
                    member.write(data[at : at + _PIECE])
                    if progress is not None:
                        progress(len(data[at : at + _PIECE]))
