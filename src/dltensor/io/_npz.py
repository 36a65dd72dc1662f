# SPDX-License-Identifier: Apache-2.0
"""The .npz format: members of a ZIP archive found and checked, decompressed, and written so that they can be mapped."""

import io
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import NamedTuple

from .._core.foreign_text import first_line, quoted
from ._npy import ALIGNMENT, header_length, read_header
from ._sources import Stream, read_bytes, read_into

header_alignment = 64  # NumPy's alignment
# Bytes of a local header before its name, of its extra field for sizes of 64 bits, of a directory entry before its
# name, of the end of an archive, and of what comes before that for numbers of 64 bits.
_LOCAL, _LOCAL_64, _CENTRAL, _END, _END_64 = 30, 20, 46, 22, 56 + 20
_LIMIT = _ELSEWHERE = 0xFFFFFFFF  # from here on numbers take 64 bits, which this number says
_UNIX, _UTF_8 = 3 << 8, 0x800  # the system whose permissions are stored; names that are not ASCII
_LEAST_ALIGNED, _SMALL_ALIGNMENT = 4096, 16  # padding of smaller arrays would be a noticeable part of the file
_MOST_RATIO = 1032  # deflate's limit: 258 bytes by two bits
_EXTRA_ID = 0xD935  # the extra field that aligned archives use for padding
_SUFFIX = ".npy"
_PIECE = 1 << 20


@contextmanager
def _as_value_error(prefix):
    """Faults of an archive, which the library reports in many ways, as one."""
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, struct.error) as error:
        raise ValueError(f"{prefix}: not a sound .npz file: {first_line(str(error))}") from None
    except (OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"{prefix}: not a sound .npz file: {first_line(str(error))}") from None


_POLYNOMIAL = 0xEDB88320  # CRC-32, the bit of the highest power last


def _product(a, b):
    """The product of two polynomials over bits, modulo that of CRC-32."""
    result = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            result ^= b
        b = b >> 1 ^ _POLYNOMIAL if b & 1 else b >> 1
    return result


def _power(nbytes):
    """Return x to the power of the number of bits of so many bytes, modulo the polynomial of CRC-32."""
    result, factor, exponent = 1 << 31, 1 << 30, 8 * nbytes
    while exponent:
        if exponent & 1:
            result = _product(factor, result)
        factor, exponent = _product(factor, factor), exponent >> 1
    return result


class Checksum:
    """The CRC-32 of bytes whose pieces come in any order, from any thread.

    >>> checksum = Checksum(); checksum.add(2, b"cd"); checksum.add(0, b"ab")
    >>> checksum.value() == zlib.crc32(b"abcd")
    True
    """

    def __init__(self):
        self._pieces = {}

    def add(self, at, data):
        """Add the piece that begins at byte `at`."""
        self._pieces[at] = zlib.crc32(data), len(data)

    def value(self, before=0):
        """Return the CRC-32 of all, behind bytes whose CRC-32 is `before`."""
        powers = {}
        for _, (checksum, nbytes) in sorted(self._pieces.items()):
            if nbytes not in powers:
                powers[nbytes] = _power(nbytes)
            before = _product(powers[nbytes], before) ^ checksum
        return before


class Archive:
    """The members of an .npz file; their headers are read when they are asked for.

    Parameters
    ----------
    source : what `dltensor.io._sources.open_source` returns
    """

    def __init__(self, source):
        self._source, self._size, self.prefix, self._headers = source, source.size, source.prefix, {}
        with _as_value_error(self.prefix):
            self._zip = zipfile.ZipFile(io.BufferedReader(Stream(source)))
            infos = self._zip.infolist()
            self.members = self._checked(infos)
        if infos and not self.members:
            from ._other_formats import refuse_archive  # loaded for files that are not read

            refuse_archive([info.filename for info in infos], self.prefix)

    def _checked(self, infos):
        end, before, members = 0, "", {}
        for info in sorted(infos, key=lambda one: one.header_offset):
            name = quoted(info.filename, 60)
            if info.header_offset < end:
                raise ValueError(f"{self.prefix}: the members {before} and {name} overlap")
            end = info.header_offset + _LOCAL + len(info.orig_filename) + info.compress_size
            if end > self._size or info.header_offset < 0:
                raise ValueError(f"{self.prefix}: the member {name} ends at byte {end}, the file at {self._size}")
            before = name
        for info in infos:
            if not info.filename.endswith(_SUFFIX):
                continue  # no array: .npz files may hold other members
            name = info.filename.removesuffix(_SUFFIX)
            if name in members:
                raise ValueError(f"{self.prefix}: the name {quoted(name, 60)} is there twice")
            members[name] = info
        return members

    def header(self, name):
        """Return (header, where the member begins in the file; None when it is compressed)."""
        return self._found(name)[:2]

    def _found(self, name):
        found = self._headers.get(name)
        if found is None:
            found = self._headers[name] = self._read_header(name)
        return found

    def _read_header(self, name):
        info = self.members[name]
        prefix = f"{self.prefix}: {quoted(name, 60)}"
        if info.flag_bits & 1:
            raise ValueError(f"{prefix}: the member is encrypted")
        if info.compress_type == zipfile.ZIP_STORED:
            begin = self._data_offset(info, prefix)
            if info.compress_size != info.file_size or begin + info.file_size > self._size:
                raise ValueError(f"{prefix}: the member has {info.file_size} bytes at {begin}, the file {self._size}")
            first = read_bytes(self._source, min(info.file_size, 4096), begin, prefix)
            length = header_length(first, prefix)
            if length > len(first):
                first = read_bytes(self._source, min(info.file_size, length), begin, prefix)
        else:
            begin = None
            if info.file_size > info.compress_size * _MOST_RATIO + ALIGNMENT:
                raise ValueError(
                    f"{prefix}: {info.compress_size} compressed bytes cannot become {info.file_size}, as it says"
                )
            with _as_value_error(prefix), self._zip.open(info) as stream:
                first = stream.read(12)
                length = header_length(first, prefix)
                first += stream.read(length - len(first))
        header = read_header(first, prefix)
        if header.start + header.nbytes != info.file_size:
            raise ValueError(
                f"{prefix}: the member has {info.file_size} bytes, its header and elements take "
                f"{header.start + header.nbytes}"
            )
        return header, begin, zlib.crc32(first[: header.start])

    def _data_offset(self, info, prefix):
        local = read_bytes(self._source, _LOCAL, info.header_offset, prefix)
        if local[:4] != b"PK\x03\x04":
            raise ValueError(f"{prefix}: the member has no local header at byte {info.header_offset}")
        return info.header_offset + _LOCAL + sum(struct.unpack("<HH", local[26:30]))

    def read(self, name, data, progress=None):
        """Read the elements of a member into memory, exactly as many as it has room for, and compare the checksum."""
        info, (header, begin, checksum) = self.members[name], self._found(name)
        prefix = f"{self.prefix}: {quoted(name, 60)}"
        if begin is None:
            self._decompress(info, header, data, prefix)
            return
        elements = Checksum()
        read_into(self._source, data, begin + header.start, prefix, progress, elements)
        if elements.value(checksum) != info.CRC:
            raise ValueError(f"{prefix}: the CRC-32 of the member is {elements.value(checksum):#010x}, the archive "
                             f"says {info.CRC:#010x}: the file is damaged")  # fmt: skip

    def _decompress(self, info, header, data, prefix):
        at = 0
        with _as_value_error(prefix), self._zip.open(info) as stream:
            stream.read(header.start)
            while at < len(data):
                count = stream.readinto(data[at : at + _PIECE])
                if not count:
                    raise ValueError(f"{prefix}: the member is cut off: expected {len(data)} bytes, got {at}")
                at += count
            if stream.read(1):  # a read at the end also compares the checksum
                raise ValueError(f"{prefix}: the member is longer than its header says")


class _Place(NamedTuple):
    """Place of a member in an archive that is written."""

    name: bytes
    begin: int
    padding: int
    size: int


def compressed_archive(members):
    """Return the bytes of an archive whose members are compressed; each is a name, a header and bytes of elements."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, *parts in members:  # with the same time always
            archive.writestr(zipfile.ZipInfo(name + _SUFFIX), b"".join(parts), zipfile.ZIP_DEFLATED)
    return written.getbuffer()


def archive_parts(members):
    """Return the size of an archive, and its bytes as parts that follow one another. Members are not compressed.

    The elements of large arrays begin at multiples of 256 bytes, those of small ones at multiples of 16.

    Parameters
    ----------
    members : list of (str, bytes, bytes-like)
        Names, headers and elements.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from dltensor.io._npy import write_header
    >>> size, parts = archive_parts([("a", write_header("|u1", (2,), False), b"ab")])
    >>> np.load(io.BytesIO(b"".join(parts)))["a"]
    array([97, 98], dtype=uint8)
    """
    places, at = [], 0
    for name, header, data in members:
        encoded, size = (name + _SUFFIX).encode(), len(header) + len(data)
        begin = at + _LOCAL + len(encoded) + (_LOCAL_64 if size >= _LIMIT else 0)
        alignment = ALIGNMENT if len(data) >= _LEAST_ALIGNED else _SMALL_ALIGNMENT
        padding = -(begin + len(header)) % alignment
        if 0 < padding < 4:  # less than an extra field takes
            padding += alignment
        places.append(_Place(encoded, at, padding, size))
        at = begin + padding + size
    directory = sum(_CENTRAL + len(place.name) + len(_central_64(place)) for place in places)
    end = _END + (_END_64 if len(places) >= 0xFFFF or at + directory >= _LIMIT else 0)
    return at + directory + end, _parts(members, places, at, directory)


def _central_64(place):
    """The extra field of a directory entry for what takes more than 32 bits."""
    sizes = [place.size, place.size] if place.size >= _LIMIT else []
    numbers = sizes + ([place.begin] if place.begin >= _LIMIT else [])
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def _short(number):
    """A number of 32 bits; of larger ones that they are in another field."""
    return number if number < _LIMIT else _ELSEWHERE


def _parts(members, places, at, directory):
    entries = []
    for (_, header, data), place in zip(members, places, strict=True):
        is_large, flags = place.size >= _LIMIT, 0 if place.name.isascii() else _UTF_8
        extra = struct.pack("<HHQQ", 1, 16, place.size, place.size) if is_large else b""
        if place.padding:
            extra += struct.pack("<HH", _EXTRA_ID, place.padding - 4) + bytes(place.padding - 4)
        size = _short(place.size)
        # Version 4.5 of the format has sizes of 64 bits; the other numbers are method, time and day (1 January 1980).
        common = (45 if is_large else 20, flags, 0, 0, 33, zlib.crc32(data, zlib.crc32(header)), size, size)
        local = struct.pack("<4s5H3I2H", b"PK\x03\x04", *common, len(place.name), len(extra))
        yield local + place.name + extra + header
        yield data
        extra = _central_64(place)
        entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", _UNIX | 45, *common, len(place.name), len(extra), 0, 0, 0,
                            0o644 << 16, _short(place.begin))  # fmt: skip
        entries.append(entry + place.name + extra)
    yield b"".join(entries)
    count = len(places)
    if count >= 0xFFFF or at + directory >= _LIMIT:
        yield struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, _UNIX | 45, 45, 0, 0, count, count, directory, at)
        yield struct.pack("<4sIQI", b"PK\x06\x07", 0, at + directory, 1)
    count = min(count, 0xFFFF)
    yield struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, _short(directory), _short(at), 0)
