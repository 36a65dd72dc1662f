# SPDX-License-Identifier: Apache-2.0
"""Tensors to files of each format, and raw bytes as tensors. Arguments are converted before anything is opened."""

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
from ._paths import Replacement, open_regular, shown
from ._progress import progress
from ._safetensors_header import DTYPES, METADATA

_FORMATS = ("npy", "npz", "safetensors")
_LONGEST_NAME = 65_000  # bytes, of a member of an archive


def save_as(path, tensors, form, metadata, fsync):
    """Save tensors; arguments as for `save`.

    Raises
    ------
    ValueError, TypeError, OSError
        As `save`.
    """
    form = _format_of(path, form)
    where = shown(path, "save")
    if metadata is not None and form != "safetensors":
        raise ValueError(f"{where}: .{form} files hold no metadata; .safetensors files do")
    metadata = _checked_metadata(metadata, where)
    if form == "npy":
        if isinstance(tensors, Mapping):
            raise TypeError(f"{where}: a .npy file holds one tensor; save a dictionary as .npz or .safetensors")
        header, data = _as_npy(_on_host(tensors), where)
        _write_parts(path, [header, data], fsync)
        return
    if not isinstance(tensors, Mapping):
        raise TypeError(f"{where}: a .{form} file holds a dictionary of tensors, got {type(tensors).__qualname__}; "
                        f"write {{'name': t}}")  # fmt: skip
    items = [(_checked_name(name, form, where), t) for name, t in list(tensors.items())]
    sources = {name: _on_host(t) for name, t in items}
    if form == "safetensors":
        _write_parts(path, _as_safetensors(sources, metadata, where), fsync)
    else:
        _write_npz(path, sources, where, fsync)


def _format_of(path, form):
    if form is None:
        suffix = os.fsdecode(path).rpartition(".")[2].lower()
        if suffix not in _FORMATS or "." not in os.path.basename(os.fsdecode(path)):
            raise ValueError(
                f"{shown(path, 'save')}: the suffix must be .npy, .npz or .safetensors, or format must say which"
            )
        return suffix
    if form not in _FORMATS:
        raise ValueError(f"save: format must be one of {', '.join(_FORMATS)}, got {quoted(form)}")
    return form


def _checked_metadata(metadata, where):
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"{where}: metadata must be a dictionary of str, got {type(metadata).__qualname__}")
    metadata = dict(metadata)
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"{where}: metadata must hold str, got {quoted(key, 60)}: {quoted(value, 60)}")
        _check_unicode(key, where)
        _check_unicode(value, where)
    return metadata


def _check_unicode(text, where):
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where}: {quoted(text, 60)} holds half of a surrogate pair, which is not Unicode") from None


def _checked_name(name, form, where):
    if not isinstance(name, str):
        raise TypeError(f"{where}: names must be str, got {quoted(name, 60)}")
    length = len(_check_unicode(name, where))
    if form == "safetensors" and name == METADATA:
        raise ValueError(f"{where}: the name {METADATA!r} is taken by the metadata")
    if form == "npz" and ("\0" in name or length > _LONGEST_NAME):
        raise ValueError(f"{where}: the name {quoted(name, 60)} has a NUL, or more than {_LONGEST_NAME} bytes")
    return name


def _on_host(x):
    """Any array_like as a tensor that the host can read."""
    t = x if type(x) is Tensor else asarray(x)
    return t if on_host(t) else move_for("save", t, "cpu")


def _is_padded(t):
    return bool(t.flags & Flags.IS_SUBBYTE_TYPE_PADDED)


def _as_npy(t, where):
    """The header of a .npy file, and the bytes of the elements in C or Fortran order."""
    descr, shape, fortran_order = descr_of(t.dtype, where), t.shape, False
    if t.dtype.bits < 8 and not _is_padded(t):
        t = t.astype(t.dtype, padded=True)
    if not t.is_contiguous:
        turned = permute_for("save", t, tuple(range(t.ndim))[::-1])
        fortran_order = turned.is_contiguous
        t = turned if fortran_order else t.copy()
    return write_header(descr, shape, fortran_order), memoryview(raw_bytes(t))


def _write_parts(path, parts, fsync):
    """Write bytes one after another as a new file."""
    total = sum(map(len, parts))
    with progress(shown(path, "save"), total) as add, Replacement(path, total, "save", fsync) as new:
        for part in parts:
            new.write(part, add)


def _write_npz(path, sources, where, fsync):
    from ._npz import write_archive  # loaded with the first archive

    members = [(name, *_as_npy(t, f"{where}: {quoted(name, 60)}")) for name, t in sources.items()]
    total = sum(len(header) + len(data) for _, header, data in members)
    with progress(shown(path, "save"), total) as add, Replacement(path, 0, "save", fsync) as new:
        new.reserve(total)
        write_archive(new, members, add)


def _as_safetensors(sources, metadata, where):
    """The parts of a .safetensors file.

    Tensors whose sizes are multiples of 256 bytes come first, so that all of them begin at such; the others are in
    order of the size of an element. The header keeps the order of the caller.
    """
    import json

    spelled = {as_dtype(name): code for code, name in DTYPES.items()}
    codes, data = {}, {}
    for name, t in sources.items():
        if t.dtype not in spelled:
            raise TypeError(f"{where}: {quoted(name, 60)} has elements of type {t.dtype}, which .safetensors files "
                            f"cannot hold; .npz files can")  # fmt: skip
        if t.size * t.dtype.bits % 8:
            raise ValueError(f"{where}: {quoted(name, 60)} has {t.size} elements of {t.dtype.bits} bits, which end "
                             f"inside a byte; .safetensors files hold whole bytes")  # fmt: skip
        t = t.astype(t.dtype, padded=False) if _is_padded(t) else t
        codes[name], data[name] = spelled[t.dtype], memoryview(raw_bytes(t if t.is_contiguous else t.copy()))

    def place(name):
        is_odd = len(data[name]) % ALIGNMENT != 0
        return is_odd, -sources[name].itemsize if is_odd else 0

    order, at, begins = sorted(data, key=place), 0, {}
    for name in order:
        begins[name], at = at, at + len(data[name])
    entries = {METADATA: metadata} if metadata else {}
    for name, code in codes.items():
        offsets = [begins[name], begins[name] + len(data[name])]
        entries[name] = {"dtype": code, "shape": list(sources[name].shape), "data_offsets": offsets}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > 100_000_000:
        raise ValueError(f"{where}: the header takes {len(text)} bytes; .safetensors files have at most 100000000")
    return [len(text).to_bytes(8, "little") + text, *(data[name] for name in order)]


def map_raw(path, shape, dtype, mode, offset):
    """Map raw elements of a file; arguments as for `memmap`.

    Raises
    ------
    ValueError, TypeError, OSError
        As `memmap`.
    """
    where = shown(path, "memmap")
    dtype, shape, offset = as_dtype(dtype), read_shape(shape, "memmap"), index(offset)
    nbytes = bytes_of(shape, dtype, False, "memmap")
    if not 0 <= offset < 2**63 - nbytes:
        raise ValueError(f"memmap: offset must be from 0 to 2^63 - 1 bytes, got {offset}")
    if mode == "w+":
        with Replacement(path, offset + nbytes, "memmap") as new:
            os.ftruncate(new.file, offset + nbytes)
            row = map_file(new.file, nbytes, offset, mode, where)
        return from_raw(row, shape, dtype)
    file, size = open_regular(path, "memmap", os.O_RDWR if mode == "r+" else os.O_RDONLY)
    try:
        if offset + nbytes > size:
            raise ValueError(f"{where}: shape {shape} of {dtype} ends at byte {offset + nbytes}, the file at {size}")
        row = map_file(file, nbytes, offset, mode, where)
    finally:
        os.close(file)
    return from_raw(row, shape, dtype)
