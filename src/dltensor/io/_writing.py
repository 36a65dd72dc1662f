# SPDX-License-Identifier: Apache-2.0
"""Tensors to files of each format, and raw bytes as tensors. Arguments are converted before anything is opened."""

import io
import os
from collections.abc import Mapping
from operator import index

from .._core.byte_sizes import bytes_of, read_shape
from .._core.convert import asarray
from .._core.foreign_text import quoted
from .._core.tensor import Tensor
from .._core.types import Flags, as_dtype
from .._core.views import from_raw, move_for, on_host, permute_for, raw_bytes
from ._mapping import map_file
from ._npy import ALIGNMENT, descr_of, write_header
from ._paths import WRITE_PIECE, Replacement, checked_path, open_regular, shown
from ._progress import progress
from ._safetensors_header import DTYPES, METADATA
from ._sources import name_of

_FORMATS = ("npy", "npz", "safetensors")
_LONGEST_NAME = 65_000  # bytes, of a member of an archive


_SMALL = 1 << 16  # bytes; smaller parts are written together


def save_as(file, tensors, form, metadata, fsync, is_compressed=False):
    """Save tensors; arguments as for `save`. `is_compressed` is about .npz files alone."""
    is_path = isinstance(file, str | bytes | os.PathLike) or not callable(getattr(file, "write", None))
    if is_path:
        expected = "file must be a path or a binary file object"
        if isinstance(file, Mapping):
            raise TypeError(f"save: {expected}, got {type(file).__qualname__}; write save('a.npz', tensors)")
        path = checked_path(file, "save", expected)
        prefix, name = shown(path, "save"), os.fsdecode(path)
    else:
        name = getattr(file, "name", None)
        prefix, name = f"save: {name_of(file)}", name if isinstance(name, str) else ""
        if isinstance(file, io.TextIOBase):
            raise TypeError(f"{prefix}: the file is open for text; open it with mode 'wb'")
    form = _format_of(name, form, prefix)
    total, parts = _parts_of(form, tensors, metadata, prefix, is_compressed)
    target = Replacement(path, total, "save", fsync) if is_path else _Stream(file, prefix, fsync)
    with progress(prefix, total) as add, target as new:
        for part in _joined(parts):
            new.write(part, add)


def _parts_of(form, tensors, metadata, prefix, is_compressed):
    """The size of a file, and its bytes as parts that follow one another."""
    if metadata is not None and form != "safetensors":
        raise ValueError(f"{prefix}: .{form} files hold no metadata; .safetensors files do")
    metadata = _checked_metadata(metadata, prefix)
    if form == "npy":
        if isinstance(tensors, Mapping):
            raise TypeError(f"{prefix}: a .npy file holds one tensor; save a dictionary as .npz or .safetensors")
        t = _on_host(tensors)
        parts = _as_npy(t, descr_of(t.dtype, prefix), ALIGNMENT)
        return sum(map(len, parts)), parts
    if not isinstance(tensors, Mapping):
        raise TypeError(f"{prefix}: a .{form} file holds a dictionary of tensors, got {type(tensors).__qualname__}; "
                        f"write {{'name': t}}")  # fmt: skip
    items = [(_checked_name(name, form, prefix), t) for name, t in list(tensors.items())]
    sources = {name: _on_host(t) for name, t in items}
    if form == "safetensors":
        return _as_safetensors(sources, metadata, prefix)
    return _as_npz(sources, prefix, is_compressed)


def _joined(parts):
    """The same bytes in fewer parts: small ones together, since each costs a call of the system."""
    small, nbytes = [], 0
    for part in parts:
        if len(part) < _SMALL and nbytes < _SMALL:
            small.append(part)
            nbytes += len(part)
            continue
        if small:
            yield b"".join(small)
        small, nbytes = ([part], len(part)) if len(part) < _SMALL else ([], 0)
        if not small:
            yield part
    if small:
        yield b"".join(small)


class _Stream:
    """A file object that is written, for a with statement."""

    def __init__(self, file, prefix, fsync):
        self._file, self._where, self._fsync = file, prefix, fsync

    def write(self, data, progress=None):
        """Write bytes, in as many calls as the file object takes."""
        data, at = memoryview(data), 0
        while at < len(data):
            count = self._file.write(data[at : at + WRITE_PIECE])
            if not isinstance(count, int) or not 0 < count <= len(data) - at:
                raise OSError(f"{self._where}: write() of {len(data) - at} bytes gave {quoted(count, 40)}, expected "
                              f"how many were written")  # fmt: skip
            at += count
            if progress is not None:
                progress(count)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None and self._fsync:
            self._file.flush()
            os.fsync(self._file.fileno())


def _format_of(name, form, prefix):
    if form is None:
        suffix = name.rpartition(".")[2].lower()
        if suffix not in _FORMATS or "." not in os.path.basename(name):
            raise ValueError(f"{prefix}: the suffix must be .npy, .npz or .safetensors, or format must say which")
        return suffix
    if form not in _FORMATS:
        raise ValueError(f"save: format must be one of {', '.join(_FORMATS)}, got {quoted(form)}")
    return form


def _checked_metadata(metadata, prefix):
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"{prefix}: metadata must be a dictionary of str, got {type(metadata).__qualname__}")
    metadata = dict(metadata)
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"{prefix}: metadata must hold str, got {quoted(key, 60)}: {quoted(value, 60)}")
        _check_unicode(key, prefix)
        _check_unicode(value, prefix)
    return metadata


def _check_unicode(text, prefix):
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{prefix}: {quoted(text, 60)} holds half of a surrogate pair, which is not Unicode") from None


def _checked_name(name, form, prefix):
    if not isinstance(name, str):
        raise TypeError(f"{prefix}: names must be str, got {quoted(name, 60)}")
    length = len(_check_unicode(name, prefix))
    if form == "safetensors" and name == METADATA:
        raise ValueError(f"{prefix}: the name {METADATA!r} is taken by the metadata")
    if form == "npz" and ("\0" in name or length > _LONGEST_NAME):
        raise ValueError(f"{prefix}: the name {quoted(name, 60)} has a NUL, or more than {_LONGEST_NAME} bytes")
    return name


def _on_host(x):
    """Any array_like as a tensor that the host can read."""
    t = x if type(x) is Tensor else asarray(x)
    return t if on_host(t) else move_for("save", t, "cpu")


def _is_padded(t):
    return t.dtype.bits < 8 and bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)


def _as_npy(t, descr, alignment):
    """The header of a .npy file, and the bytes of the elements in C or Fortran order."""
    shape, fortran_order = t.shape, False
    if t.dtype.bits < 8 and not _is_padded(t):
        t = t.astype(t.dtype, padded=True)
    if not t.is_contiguous:
        turned = permute_for("save", t, tuple(range(t.ndim))[::-1])
        fortran_order = turned.is_contiguous
        t = turned if fortran_order else t.copy()
    return write_header(descr, shape, fortran_order, alignment), memoryview(raw_bytes(t))


def _as_npz(sources, prefix, is_compressed):
    """The size and the parts of an .npz file."""
    from ._npz import archive_parts, compressed_archive, header_alignment  # loaded with the first archive

    descrs, members = {}, []
    for name, t in sources.items():
        descr = descrs.get(t.dtype)
        if descr is None:
            descr = descrs[t.dtype] = descr_of(t.dtype, f"{prefix}: {quoted(name, 60)}")
        members.append((name, *_as_npy(t, descr, header_alignment)))
    if is_compressed:
        archive = compressed_archive(members)
        return len(archive), [archive]
    return archive_parts(members)


def _as_safetensors(sources, metadata, prefix):
    """The size and the parts of a .safetensors file.

    Tensors whose sizes are multiples of 256 bytes come first, so that all of them begin at such; the others are in
    order of the size of an element. The header keeps the order of the caller.
    """
    data, described = {}, {}
    for name, t in sources.items():
        check_safetensors(name, t.dtype, t.size, prefix)
        t = t.astype(t.dtype, padded=False) if _is_padded(t) else t
        data[name] = memoryview(raw_bytes(t if t.is_contiguous else t.copy()))
        described[name] = t.dtype, t.shape, len(data[name])
    header, order = safetensors_header(described, metadata, prefix)
    return len(header) + sum(map(len, data.values())), [header, *(data[name] for name in order)]


def check_safetensors(name, dtype, size, prefix):
    """Refuse a tensor that no .safetensors file holds.

    Raises
    ------
    TypeError
        The format lacks the dtype.
    ValueError
        The elements end inside a byte.

    Examples
    --------
    >>> check_safetensors("w", dl.float32, 4, "save")
    """
    if dtype not in _spelled():
        raise TypeError(f"{prefix}: {quoted(name, 60)} has elements of type {dtype}, which .safetensors files "
                        f"cannot hold; .npz files can")  # fmt: skip
    if dtype.bits < 8 and size * dtype.bits % 8:
        raise ValueError(f"{prefix}: {quoted(name, 60)} has {size} elements of {dtype.bits} bits, which end "
                         f"inside a byte; .safetensors files hold whole bytes")  # fmt: skip


def _spelled():
    return {as_dtype(name): code for code, name in DTYPES.items()}


def safetensors_header(described, metadata, prefix):
    """Return the header of a .safetensors file, and the names of its tensors in the order of their bytes.

    `described` has the dtype, shape and bytes of each tensor by its name.

    >>> header, order = safetensors_header({"w": (dl.uint8, (2,), 2)}, {}, "save"); len(header), order
    (256, ['w'])
    """
    import json

    spelled, begins, at = _spelled(), {}, 0
    # Multiples of the alignment first, then wider elements: the sort is stable.
    order = sorted(described, key=lambda name: _place_of(*described[name]))
    for name in order:
        begins[name] = at
        at += described[name][2]
    # One text for each tensor: json.dumps() keeps a dozen of them until the end.
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    text = bytearray(8)
    text += f"{{{encode(METADATA)}:{encode(metadata)},".encode() if metadata else b"{"
    for name, (dtype, shape, nbytes) in described.items():
        sizes, begin = ",".join(map(str, shape)), begins[name]
        offsets = f"[{begin},{begin + nbytes}]"
        row = f'{encode(name)}:{{"dtype":"{spelled[dtype]}","shape":[{sizes}],"data_offsets":{offsets}}},'
        text += row.encode()
    if text.endswith(b","):
        text.pop()
    text += b"}"
    text += b" " * (-len(text) % ALIGNMENT)
    if len(text) - 8 > 100_000_000:
        raise ValueError(f"{prefix}: the header takes {len(text) - 8} bytes; .safetensors files have at most 100000000")
    text[:8] = (len(text) - 8).to_bytes(8, "little")
    return bytes(text), order


def _place_of(dtype, shape, nbytes):
    """The rank of a tensor in a file: elements that begin at a multiple of their size are ahead of others."""
    return 1000 - dtype.itemsize if nbytes % ALIGNMENT else 0


def map_raw(path, shape, dtype, mode, offset):
    """Map raw elements of a file; arguments as for `memmap`."""
    prefix = shown(path, "memmap")
    dtype, shape, offset = as_dtype(dtype), read_shape(shape, "memmap"), index(offset)
    nbytes = bytes_of(shape, dtype, False, "memmap")
    if not 0 <= offset < 2**63 - nbytes:
        raise ValueError(f"memmap: offset must be from 0 to 2^63 - 1 bytes, got {offset}")
    if mode == "w+":
        with Replacement(path, offset + nbytes, "memmap") as new:
            os.ftruncate(new.file, offset + nbytes)
            row = map_file(new.file, nbytes, offset, mode, prefix)
        return from_raw(row, shape, dtype)
    file, size = open_regular(path, "memmap", os.O_RDWR if mode == "r+" else os.O_RDONLY)
    try:
        if offset + nbytes > size:
            raise ValueError(f"{prefix}: shape {shape} of {dtype} ends at byte {offset + nbytes}, the file at {size}")
        row = map_file(file, nbytes, offset, mode, prefix)
    finally:
        os.close(file)
    return from_raw(row, shape, dtype)
