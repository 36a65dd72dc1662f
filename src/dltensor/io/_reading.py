# SPDX-License-Identifier: Apache-2.0
"""Tensors from open files of each format: as views of mapped bytes, or read. The caller has opened the file."""

from types import MappingProxyType

from .._core.byte_sizes import bytes_of
from .._core.convert import empty
from .._core.foreign_text import quoted
from .._core.types import DeviceType, Flags, as_device, as_dtype
from .._core.views import from_raw, on_host, permute_for, raw_bytes
from ._npy import MAGIC, header_length, read_header
from ._progress import progress
from ._safetensors_header import Header
from ._sources import read_bytes, read_into

LONGEST_HEADER = 100_000_000
"""Bytes of a safetensors header, the limit of the format."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ONLY = "arr_0"  # NumPy's name of an array that was saved without one


def open_format(source):
    """Return what reads the tensors of a source, by its first bytes.

    Parameters
    ----------
    source : what `dltensor.io._sources.open_source` returns

    Examples
    --------
    >>> from dltensor.io._sources import open_source
    >>> text = b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    >>> open_format(open_source(len(text).to_bytes(8, "little") + text + b"x", "load")).names
    ['w']
    """
    size, prefix = source.size, source.prefix
    first = read_bytes(source, min(size, 4096), 0, prefix)
    if first[:6] == MAGIC:
        return NpyFormat(source, first)
    if first[:4] in _ZIP:
        from ._npz import Archive  # loaded with the first archive

        return NpzFormat(source, Archive(source))
    length = int.from_bytes(first[:8], "little")
    begins_header = first[8:].lstrip(b" \t\r\n").startswith(b"{")
    if not begins_header:
        from ._other_formats import refuse  # loaded for files that are not read

        refuse(first, prefix)
    if size < 10 or (length > LONGEST_HEADER and not begins_header):
        raise ValueError(f"{prefix}: not a .npy, .npz or .safetensors file: it has {size} bytes and begins with "
                         f"{quoted(first[:8])}{source.hint}")  # fmt: skip
    if length > LONGEST_HEADER:
        raise ValueError(f"{prefix}: the header length is {length} bytes; at most {LONGEST_HEADER} are read")
    if 8 + length > size:
        raise ValueError(f"{prefix}: the file is cut off: its header has {length} bytes, the file {size}")
    text = first[8 : 8 + length] if 8 + length <= len(first) else read_bytes(source, length, 8, prefix)
    return SafetensorsFormat(source, Header(text, size - 8 - length, prefix))


def _fresh(shape, dtype, padded):
    """A new tensor of the host."""
    nbytes = bytes_of(shape, dtype, padded, "load")
    return from_raw(empty((nbytes,), dtype="uint8"), shape, dtype, padded)


def _is_padded(t):
    return bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)


class SafetensorsFormat:
    """The tensors of a .safetensors file."""

    name = "safetensors"

    def __init__(self, source, header):
        self._source, self._header, self.info = source, header, header.info
        self.names, self.metadata, self.end = header.names, header.metadata, source.size

    def __contains__(self, name):
        return isinstance(name, str) and name in self._header

    def view(self, name, dtype):
        """Return a tensor as a view of the file's bytes."""
        return self._header.view(self._source.row(), name)

    def views(self):
        """Return all tensors as views of the file's bytes."""
        return self._header.views(self._source.row())

    def read(self, name, dtype, out, add=None):
        """Read a tensor into new memory, or into `out`."""
        dtype, shape, _, begin = self._header.info(name)
        is_direct = (
            out is not None and out.dtype == dtype and out.is_contiguous and on_host(out) and not _is_padded(out)
        )
        result = out if is_direct else _fresh(shape, dtype, False)
        read_into(self._source, memoryview(raw_bytes(result)), begin, self._header.prefix, add)
        if out is not None and not is_direct:
            out[...] = result
        return result

    def forget_views(self):
        """Drop what refers to the map; it is created again when it is needed."""
        self._rows = None


class _Arrays:
    """The common part of .npy files and of members of .npz files.

    A subclass adds ``_find(name)``, which gives the header, where it begins in the file or None, and what messages
    begin with, and ``_read_bytes(name, data, add)``, which reads the elements of an array into memory.
    """

    metadata = MappingProxyType({})

    def __contains__(self, name):
        return name in self.names

    def info(self, name):
        """Return dtype, shape, bytes and offset of an array; None for an offset in compressed bytes."""
        header, begin, _ = self._find(name)
        offset = None if begin is None else begin + header.start
        return header.dtype, header.shape, header.nbytes, offset

    def _dtype(self, name, dtype):
        """The element type of an array; raw elements are of the type that the caller names."""
        header, _, prefix = self._find(name)
        if header.dtype is not None:
            return header.dtype
        if dtype is None:
            raise TypeError(f"{prefix}: elements of type {header.descr!r} have lost their type; name it: "
                            f"load(path, dtype='bfloat16')")  # fmt: skip
        if -(-dtype.bits * dtype.lanes // 8) != header.itemsize:
            raise TypeError(f"{prefix}: raw elements of {header.itemsize} bytes are not of type {dtype}")
        return dtype

    def view(self, name, dtype):
        """Return an array as a view of the file's bytes; None where they are compressed or swapped."""
        header, begin, _ = self._find(name)
        if begin is None or header.is_swapped:
            return None
        dtype, start = self._dtype(name, dtype), begin + header.start
        row = self._source.row()[start : start + header.nbytes]
        if not header.fortran_order:
            return from_raw(row, header.shape, dtype, dtype.bits < 8)
        return _transposed(from_raw(row, header.shape[::-1], dtype, dtype.bits < 8))

    def read(self, name, dtype, out, add=None):
        """Read an array into new memory, or into `out`."""
        header, _, _ = self._find(name)
        dtype = self._dtype(name, dtype)
        padded, is_plain = dtype.bits < 8, not header.fortran_order or len(header.shape) < 2
        is_direct = (out is not None and is_plain and out.dtype == dtype and out.is_contiguous and on_host(out)
                     and _is_padded(out) == padded)  # fmt: skip
        result = out if is_direct else _fresh(header.shape[:: 1 if is_plain else -1], dtype, padded)
        self._read_bytes(name, memoryview(raw_bytes(result)), add)
        if header.is_swapped:
            _swap(result)
        result = result if is_plain else _transposed(result)
        if out is not None and not is_direct:
            out[...] = result
        return result


def _transposed(t):
    return permute_for("load", t, tuple(range(t.ndim))[::-1])


def _swap(t):
    """Reverse the bytes of each element, of each part of a complex one."""
    width = t.itemsize // (2 if t.dtype.name.startswith("complex") else 1)
    parts = raw_bytes(t).reshape(-1, width) if t.size else None
    if parts is not None:
        parts[...] = parts[:, ::-1]


class NpyFormat(_Arrays):
    """The array of a .npy file."""

    name = "npy"

    def __init__(self, source, first):
        prefix = source.prefix
        self._source, self.names = source, [_ONLY]
        length = header_length(first, prefix)
        if length > len(first):
            first = read_bytes(source, min(source.size, length), 0, prefix)
        self._header = read_header(first, prefix)
        self.end = self._header.start + self._header.nbytes
        if self.end > source.size:
            raise ValueError(
                f"{prefix}: the file is cut off: shape {self._header.shape} of {self._header.descr} takes "
                f"{self._header.nbytes} bytes behind the header, the file has {source.size - self._header.start}"
            )

    def _find(self, name):
        return self._header, 0, self._source.prefix

    def _read_bytes(self, name, data, add):
        read_into(self._source, data, self._header.start, self._source.prefix, add)


class NpzFormat(_Arrays):
    """The arrays of an .npz file."""

    name = "npz"

    def __init__(self, source, archive):
        self._source, self._archive = source, archive
        self.names, self.end = list(archive.members), source.size

    def __contains__(self, name):
        return isinstance(name, str) and name in self._archive.members

    def _find(self, name):
        header, begin = self._archive.header(name)
        return header, begin, f"{self._archive.prefix}: {quoted(name, 60)}"

    def _read_bytes(self, name, data, add):
        self._archive.read(name, data, add)


def load_all(file, names, dtype, device, packed):
    """Return what `load` does of an open file.

    Parameters
    ----------
    file : TensorFile
    names : list of str, or None for all
    dtype : dtype_like or None
    device : device_like or None
    packed : bool
    """
    dtype = None if dtype is None else as_dtype(dtype)
    device = None if device is None else as_device(device)
    form = file._format
    if names is not None and form.name == "npy":
        raise ValueError(f"{file._source.prefix}: names are for files of many tensors; a .npy file has one")
    wanted = form.names if names is None else names
    for name in wanted:
        file._check(name)
    if names is None and dtype is None and device is None and form.name == "safetensors" and file._maps:
        return form.views()
    total = 0 if file._maps else sum(nbytes for _, _, nbytes, _ in map(form.info, wanted))
    row = None
    if device is not None and device.type == DeviceType.kDLCUDA and len(wanted) > 1:
        layouts = [_layout(form, name, dtype, packed) for name in wanted]
        if None not in layouts:
            from ._device_row import DeviceRow  # loaded with the first file that is loaded to a device

            row = DeviceRow(device, layouts)
    with progress(file._source.prefix, total) as add:
        result = {name: _finished(file._get(name, dtype, add), dtype, device, packed, row) for name in wanted}
    if row is not None:
        row.finish()
    return result[_ONLY] if form.name == "npy" else result


def _layout(form, name, dtype, packed):
    """Shape, dtype and padding that `_finished` gives a tensor; None where a conversion decides on the padding."""
    stored, shape, _, _ = form.info(name)
    if stored is None:
        stored = dtype
    if stored is None or (dtype is not None and dtype != stored and dtype.bits < 8):
        return None
    final = stored if dtype is None else dtype
    return shape, final, final.bits < 8 and form.name != "safetensors" and not packed


def _finished(t, dtype, device, packed, row):
    """A tensor as its caller wants it."""
    if dtype is not None and t.dtype != dtype:
        t = t.astype(dtype)
    if packed and _is_padded(t):
        t = t.astype(t.dtype, padded=False)
    if row is not None:
        return row.add(t)
    return t if device is None else t.to(device)
